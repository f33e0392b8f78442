/* Findings of a run that failed, or lost work, or left out files. */
#include <math.h>

#include "analyse/diagnose/internal.h"
#include "base/utf8.h"
#include "roast/failures.h"

/* ---- losses ---- */

typedef struct loss {
    uint64_t raised, lost, recomputed;
    uint32_t workers; /* that left without being told to */
    uint32_t pieces;  /* of the input that were never processed */
    double seconds;
    roast_str error; /* type of the last one */
} loss;

static void count_tries(const roast_diagnosis *d, const roast_attempts *attempts, loss *sum) {
    sum->raised = d->tries.raised;
    sum->lost = d->tries.lost;
    sum->recomputed = d->tries.recomputed;
    sum->error = d->tries.error;
    for (uint32_t i = 0; i < roast_attempts_departure_count(attempts); i++)
        sum->workers += !roast_attempts_departure(attempts, i).expected;
}

/* Who saw the run end knows the pieces, also those that a later call has made good. Else a watched task is a piece, and
 * all of them are known: also one that died with its worker. */
static roast_status count_pieces(const roast_diagnosis *d, uint32_t *count) {
    const roast_ending *ending = roast_run_ending_view(d->run);
    int64_t failed = roast_ending_get_pieces(ending).failed;
    roast_failed_pieces *pieces;
    roast_failed_tasks *tasks;
    /* The piece that was in work when the user ended the run is no failure. */
    if (roast_ending_outcome(ending) == ROAST_END_interrupted)
        return ROAST_OK;
    if (ending != NULL) {
        *count = failed < 0 ? 0 : failed > UINT32_MAX ? UINT32_MAX : (uint32_t)failed;
        return ROAST_OK;
    }
    if (roast_run_attempts_view(d->run) != NULL) {
        ROAST_TRY(roast_failed_tasks_find(d->run, &tasks, NULL));
        *count = roast_failed_tasks_count(tasks);
        roast_failed_tasks_free(tasks);
        return ROAST_OK;
    }
    ROAST_TRY(roast_failed_pieces_find(d->run, NULL, 0, &pieces, NULL));
    *count = roast_failed_pieces_count(pieces);
    roast_failed_pieces_free(pieces);
    return ROAST_OK;
}

static roast_status find_losses(const roast_diagnosis *d, loss *sum) {
    const roast_attempts *attempts = roast_run_attempts_view(d->run);
    if (attempts != NULL)
        count_tries(d, attempts, sum);
    else
        sum->raised = d->facts.failed;
    sum->seconds =
        d->budget != NULL ? roast_diagnosis_part(d, ROAST_PART_lost) : d->facts.failed_duration;
    return sum->raised + sum->lost > 0 || roast_run_ending_view(d->run) != NULL
               ? count_pieces(d, &sum->pieces)
               : ROAST_OK;
}

static void say_losses(roast_words *words, const loss *sum) {
    if (sum->raised > 0)
        roast_say_next(words, "%s raised", roast_say_many((double)sum->raised, "attempt"));
    if (sum->error.data != NULL)
        roast_say(words, " (%s)", roast_say_name(sum->error));
    if (sum->lost > 0)
        roast_say_next(words, "%s %s lost with a worker or cancelled",
                       roast_say_many((double)sum->lost, "task"), sum->lost == 1 ? "was" : "were");
    if (sum->recomputed > 0)
        roast_say_next(words, "%s had to be made again",
                       roast_say_many((double)sum->recomputed, "result"));
    if (sum->workers > 0)
        roast_say_next(words, "%s left unexpectedly", roast_say_many(sum->workers, "worker"));
    if (sum->pieces > 0)
        roast_say_next(words, "%s of the input %s never processed",
                       roast_say_many(sum->pieces, "piece"), sum->pieces == 1 ? "was" : "were");
    roast_say(words, ".");
}

static bool is_one_of(roast_str text, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text.data != NULL && roast_str_equal(text, roast_str_of(names[i])))
            return true;
    return false;
}

/* The first line of a message: libraries add long explanations. */
static void say_message(roast_words *words, roast_str text) {
    enum { LONGEST = 200 };
    roast_str first = roast_first_line(text), shown = roast_utf8_cut(first, LONGEST);
    if (text.data != NULL)
        roast_say(words, "%.*s%s", (int)shown.len, shown.data, shown.len < first.len ? "…" : "");
}

bool roast_is_error_of_file(const roast_run_error *error) {
    static const char *const types[] = {"FileNotFoundError", "OSError", "PermissionError",
                                        "TimeoutError", "IsADirectoryError"};
    return error != NULL && error->file.data != NULL &&
           is_one_of(error->type, types, sizeof types / sizeof *types);
}

/* What to do about the error that ended the run. */
static void advise_on(roast_words *advice, const roast_diagnosis *d, const roast_run_error *error) {
    static const char *const killed[] = {"BrokenProcessPool", "TerminatedWorkerError",
                                         "BrokenExecutor"};
    if (is_one_of(error->type, killed, sizeof killed / sizeof *killed))
        roast_say(advice,
                  "A process of the pool was killed, most often because memory ran out: use "
                  "fewer workers or smaller chunks. The log of the kernel (dmesg) names a "
                  "process that it killed.");
    else if (roast_is_error_of_file(error))
        roast_say(advice,
                  "Check the file. Runner(skipbadfiles=True) goes on without bad files, and "
                  "metrics[\"skipped_files\"] lists them.");
    else
        roast_say(advice, "Fix the cause: metrics[\"error\"] has the traceback%s.",
                  roast_run_attempts_view(d->run) != NULL ? ", mc.attempts every try of every task"
                                                          : "");
    roast_say(advice, " Then run again; with Runner(checkpointer=...) only what is left.");
}

/* A run that raised has no result. */
static roast_status add_failure(roast_diagnosis *d, const loss *sum, double seconds) {
    const roast_ending *ending = roast_run_ending_view(d->run);
    const roast_run_error *error = roast_ending_error(ending);
    roast_ending_pieces pieces = roast_ending_get_pieces(ending);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_lost_work, seconds, 1);
    v.least = ROAST_SEVERITY_critical;
    roast_say(&v.title, "The run failed");
    if (pieces.all >= 0 && pieces.done >= 0)
        roast_say(&v.title, " after %s of %s", roast_say_count((double)pieces.done),
                  roast_say_many((double)pieces.all, "chunk"));
    if (error != NULL) {
        roast_say(&v.title, ": %s", roast_say_name(error->type));
        roast_say(&v.evidence, "%s: ", roast_say_name(error->type));
        say_message(&v.evidence, error->message);
        if (error->file.data != NULL)
            roast_say(&v.evidence, ", in %s", roast_say_file(error->file));
    }
    if (error == NULL)
        roast_say(&v.evidence, "Its error is not known");
    say_losses(&v.evidence, sum);
    if (error != NULL)
        advise_on(&v.advice, d, error);
    if (sum->workers > 0)
        roast_say(&v.advice, " mc.lost_workers says when each worker left and the likely cause.");
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_losses(roast_diagnosis *d) {
    loss sum = {0};
    double by_memory;
    uint32_t full;
    ROAST_TRY(find_losses(d, &sum));
    ROAST_TRY(roast_lost_to_memory(d, &by_memory, &full));
    /* Losses due to memory are part of memory_pressure. */
    double seconds = fmax(0, sum.seconds - by_memory);
    uint32_t workers = sum.workers - full;
    if (roast_ending_outcome(roast_run_ending_view(d->run)) == ROAST_END_failed)
        return add_failure(d, &sum, seconds);
    if (workers == 0 && sum.pieces == 0 &&
        (seconds < roast_limit.lost_share * d->available || !(seconds > 0)))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_lost_work, seconds, 0.9);
    v.least = sum.pieces > 0 ? ROAST_SEVERITY_critical
              : workers > 0  ? ROAST_SEVERITY_warning
                             : ROAST_SEVERITY_note;
    if (sum.pieces > 0)
        roast_say(&v.title, "%s of the input failed: %s missing in the result",
                  roast_say_many(sum.pieces, "piece"), sum.pieces == 1 ? "it is" : "they are");
    else if (workers > 0)
        roast_say(&v.title, "%s left unexpectedly; %s of work was lost",
                  roast_say_many(workers, "worker"), roast_say_time(seconds));
    else
        roast_say(&v.title, "%s of work was lost", roast_say_time(seconds));
    say_losses(&v.evidence, &sum);
    if (sum.pieces > 0)
        roast_say(&v.advice, "mc.failed_fileset() gives exactly these pieces; run them again. ");
    if (workers > 0)
        roast_say(&v.advice,
                  "mc.lost_workers says when each left and the likely cause; see also its log.");
    else if (roast_ending_skipped_count(roast_run_ending_view(d->run)) > 0)
        roast_say(&v.advice,
                  "metrics[\"skipped_files\"] lists the files that were left out after several "
                  "tries; mend them, or take them out of the fileset.");
    else
        roast_say(&v.advice,
                  "%s the exceptions; fix the cause, or skip bad files "
                  "(Runner(skipbadfiles=...)).",
                  roast_run_attempts_view(d->run) != NULL ? "mc.attempts lists"
                                                          : "mc.chunk_metrics has");
    return roast_diagnosis_add(d, &v);
}

/* ---- files that were left out ---- */

roast_status roast_rules_skipped(roast_diagnosis *d) {
    enum { NAMED = 5 };
    const roast_ending *ending = roast_run_ending_view(d->run);
    uint32_t count = roast_ending_skipped_count(ending);
    bool failed = roast_ending_outcome(ending) == ROAST_END_failed;
    if (count == 0)
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_skipped_files, 0, 1);
    v.least = ROAST_SEVERITY_warning;
    if (failed)
        roast_say(&v.title, "%s could not be read", roast_say_many(count, "file"));
    else
        roast_say(&v.title, "Events of %s are missing in the result",
                  roast_say_many(count, "file"));
    for (uint32_t i = 0; i < count && i < NAMED; i++) {
        roast_skipped_file skipped = roast_ending_skipped(ending, i);
        roast_say_next(&v.evidence, "%s, %s", roast_say_name(skipped.dataset),
                       roast_say_file(skipped.file));
        if (skipped.reason.data == NULL)
            continue;
        roast_say(&v.evidence, " (");
        say_message(&v.evidence, skipped.reason);
        roast_say(&v.evidence, ")");
    }
    if (count > NAMED)
        roast_say_next(&v.evidence, "and %s more", roast_say_count(count - NAMED));
    roast_say(&v.evidence, ".");
    roast_say(&v.advice,
              "metrics[\"skipped_files\"] lists all of them with the reasons. "
              "mc.failed_fileset() gives what is missing to a Runner%s.",
              failed ? "" : "; add its result to this one, or correct the normalisation");
    return roast_diagnosis_add(d, &v);
}
