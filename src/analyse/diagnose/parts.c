/* Large parts of the budget that no other rule is about. */
#include "analyse/diagnose/internal.h"

typedef struct part_rule {
    roast_budget_part part;
    roast_finding_kind kind;
    roast_finding_kind unless[2]; /* one of these explains it */
    double confidence;
    const char *title; /* behind the share */
    const char *evidence;
    const char *advice;
} part_rule;

static const part_rule rules[] = {
    {ROAST_PART_preprocessing,
     ROAST_FINDING_preprocessing_bound,
     {ROAST_FINDING_preprocessing_bound, ROAST_FINDING_preprocessing_bound},
     0.8,
     "of the core time is preprocessing: reading the lengths of the files",
     "of core time passed while the files were opened to count their events.",
     "Preprocess once and keep the result (runner.preprocess(...), saved as a file), or write the "
     "number of entries into the fileset."},
    {ROAST_PART_client,
     ROAST_FINDING_client_bound,
     {ROAST_FINDING_reduction_bound, ROAST_FINDING_reduction_bound},
     0.7,
     "of the core time the workers waited for your program",
     "of core time passed while no task was there: the program was building its input, merging "
     "outputs, or doing something else between two calls.",
     "Do such work before or after the context, start the workers later, or release them before "
     "that "
     "work (adaptive scaling)."},
    {ROAST_PART_idle_ramp_up,
     ROAST_FINDING_ramp_up,
     {ROAST_FINDING_too_many_workers, ROAST_FINDING_too_many_workers},
     0.7,
     "of the core time passed before the workers got their first task",
     "of core time passed from the beginning of the run, or the arrival of a worker, to its first "
     "task.",
     "Enter the context when the workers are there (client.wait_for_workers(n)) and the input is "
     "known, or start workers while the first chunks run; a longer run pays it only once."},
    {ROAST_PART_worker_overhead,
     ROAST_FINDING_worker_overhead,
     {ROAST_FINDING_serialization_heavy, ROAST_FINDING_spilling},
     0.6,
     "of the core time went into handling tasks, not into running them",
     "of core time were spent around the tasks: moving, unpacking and storing what they need and "
     "return.",
     "Make fewer, larger tasks (a larger chunksize), and return smaller outputs."},
    {ROAST_PART_cold_start,
     ROAST_FINDING_cold_start,
     {ROAST_FINDING_chunks_too_small, ROAST_FINDING_chunks_too_small},
     0.8,
     "of the core time is the start of Python in the tasks",
     "of core time passed in processing tasks while Python started, imported Coffea and the "
     "processor's modules, or ended.",
     "Keep the workers for more than one run, and import in the processor's module only what it "
     "needs."},
};

/* Where each task starts a Python. */
static const char per_task[] =
    "Each task starts a Python: make fewer, larger tasks (a larger chunksize), and import in the "
    "processor's module only what it needs. Function calls of a TaskVine library (serverless "
    "tasks) "
    "import once per worker.";

static roast_status tell_part(roast_diagnosis *d, const part_rule *rule) {
    double seconds = roast_diagnosis_part(d, rule->part), share = seconds / d->available;
    if (!(share >= roast_limit.large_part) || seconds < roast_limit.noticed_seconds * d->threads ||
        d->made[rule->unless[0]] || d->made[rule->unless[1]])
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, rule->kind, seconds, rule->confidence);
    roast_say(&v.title, "%s %s", roast_say_percent(share), rule->title);
    roast_say(&v.evidence, "%s %s", roast_say_time(seconds), rule->evidence);
    bool vine = rule->part == ROAST_PART_cold_start && roast_diagnosis_executor(d)->python_per_task;
    roast_say(&v.advice, "%s", vine ? per_task : rule->advice);
    return roast_diagnosis_add(d, &v);
}

/* Of a run that failed before its first chunk was done, the parts say nothing. */
static bool failed_at_once(const roast_diagnosis *d) {
    const roast_ending *ending = roast_run_ending_view(d->run);
    return roast_ending_outcome(ending) == ROAST_END_failed && d->facts.count == 0 &&
           roast_ending_get_pieces(ending).done <= 0;
}

roast_status roast_rules_parts(roast_diagnosis *d) {
    if (d->budget == NULL || !(d->threads > 0) || failed_at_once(d))
        return ROAST_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        ROAST_TRY(tell_part(d, &rules[i]));
    return ROAST_OK;
}
