/* Sections of process(), and the handling of its results. */
#include <math.h>

#include "analyse/diagnose/internal.h"

/* ---- sections ---- */

typedef struct top_sections {
    uint32_t longest; /* by self time */
    uint32_t waiting; /* by the time that may have been waiting */
    double runner_up; /* s: of the next one that may have been waiting */
} top_sections;

static const roast_fact_section *section_at(const roast_facts *facts, uint32_t id) {
    return roast_groups_item(&facts->sections, id);
}

static top_sections find_top(const roast_facts *facts) {
    top_sections top = {0};
    uint32_t count = roast_groups_count(&facts->sections);
    for (uint32_t i = 1; i < count; i++) {
        if (section_at(facts, i)->self > section_at(facts, top.longest)->self)
            top.longest = i;
        if (section_at(facts, i)->possible > section_at(facts, top.waiting)->possible)
            top.waiting = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (i != top.waiting)
            top.runner_up = fmax(top.runner_up, section_at(facts, i)->possible);
    return top;
}

static roast_status waiting_section(roast_diagnosis *d, const top_sections *top) {
    const roast_fact_section *section = section_at(&d->facts, top->waiting);
    bool certain = section->certain * 2 >= section->possible;
    double waited = certain ? section->possible : section->possible - top->runner_up;
    if (waited < roast_limit.section_wait * d->facts.cost || !roast_diagnosis_matters(d, waited) ||
        (!certain && top->runner_up * 2 > section->possible))
        return ROAST_OK;
    const char *name = roast_say_name(roast_groups_name(&d->facts.sections, top->waiting));
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_slow_section, waited, certain ? 0.9 : 0.6);
    roast_say(&v.title, "Section %s waits: %s of the task time", name,
              roast_say_percent(waited / d->facts.cost));
    roast_say(
        &v.evidence,
        "It took %s in total; for %s of that its thread neither ran, nor waited for a core, nor "
        "read a branch.",
        roast_say_time(section->self), roast_say_time(waited));
    roast_say(&v.advice,
              "Find what it waits for (a sleep, a lock, a server, a file of its own) and remove it "
              "from process(), or do it once per worker; %s of core time would be saved.",
              roast_say_time(waited));
    return roast_diagnosis_add(d, &v);
}

static roast_status long_section(roast_diagnosis *d, const top_sections *top) {
    double self = section_at(&d->facts, top->longest)->self;
    if (self < roast_limit.section_share * d->facts.duration ||
        !roast_diagnosis_matters(d, self / 2))
        return ROAST_OK;
    const char *name = roast_say_name(roast_groups_name(&d->facts.sections, top->longest));
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_slow_section, self / 2, 0.3);
    v.most = ROAST_SEVERITY_note; /* some section is always the longest */
    roast_say(&v.title, "Section %s is %s of process()", name,
              roast_say_percent(fmin(1, self / d->facts.duration)));
    roast_say(&v.evidence, "%s of %s in process(), without the sections inside it.",
              roast_say_time(self), roast_say_time(d->facts.duration));
    roast_say(&v.advice,
              "Make this section faster first; at twice its speed %s of core time "
              "would be saved.",
              roast_say_time(self / 2));
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_sections(roast_diagnosis *d) {
    if (roast_groups_count(&d->facts.sections) == 0 || !(d->facts.cost > 0))
        return ROAST_OK;
    top_sections top = find_top(&d->facts);
    /* Threads that wait for Python's lock do so wherever they are. */
    if (!d->made[ROAST_FINDING_gil_contention])
        ROAST_TRY(waiting_section(d, &top));
    return d->made[ROAST_FINDING_slow_section] ? ROAST_OK : long_section(d, &top);
}

/* ---- results ---- */

static void say_size(roast_words *words, const roast_tries *tries) {
    if (tries->results > 0)
        roast_say(words, " A chunk's result has %s.",
                  roast_say_bytes(tries->result_bytes / (double)tries->results));
}

/* Seconds at the end in which the last task was done and only the client was at work. */
static double client_seconds(const roast_diagnosis *d, const roast_tries *tries) {
    double tasks = tries->last_reduction - d->facts.origin - d->facts.last_end;
    return d->after > 0 ? fmax(0, tasks > 0 ? d->after - tasks : d->after) : 0;
}

static roast_status reduction(roast_diagnosis *d, const roast_tries *tries) {
    double merging = roast_diagnosis_part(d, ROAST_PART_reduction);
    double client = client_seconds(d, tries);
    double idle =
        roast_diagnosis_part(d, ROAST_PART_idle_tail) + roast_diagnosis_part(d, ROAST_PART_client);
    double after = d->after > 0 ? fmin(d->after * d->threads, idle) : 0;
    /* What is idle after the last chunk, and what merges before. */
    double share = fmax(merging, fmin(after + merging, d->available));
    if (share < roast_limit.reduction_share * d->available || !roast_diagnosis_matters(d, share))
        return ROAST_OK;
    roast_verdict v;
    bool by_client = client * d->threads > share / 2;
    roast_verdict_init(&v, ROAST_FINDING_reduction_bound, share, by_client ? 0.5 : 0.8);
    roast_say(&v.title, "Merging the outputs takes %s of the core time",
              roast_say_percent(share / d->available));
    roast_say(&v.evidence, "Reduction tasks took %s of core time;", roast_say_time(merging));
    roast_say(&v.evidence, " after the last chunk the run went on for %s, %s of it without a task.",
              roast_say_time(d->after > 0 ? d->after : 0), roast_say_time(client));
    say_size(&v.evidence, tries);
    if (by_client)
        roast_say(&v.advice,
                  "Most of it is spent by the client: return smaller outputs (fewer bins, no event "
                  "lists), and leave the collector before work that follows the run; up to %s "
                  "would be saved.",
                  roast_say_time(client));
    else
        roast_say(&v.advice,
                  "Return smaller outputs (fewer bins and categories), and try another %s: more at "
                  "a time for small outputs, fewer for large ones; up to %s of core time would be "
                  "saved.",
                  roast_diagnosis_executor(d)->merging, roast_say_time(share));
    return roast_diagnosis_add(d, &v);
}

static roast_status serialization(roast_diagnosis *d, const roast_tries *tries) {
    double packing = roast_diagnosis_metric(d, "total_serialization_overhead_seconds");
    double squeezing = roast_diagnosis_metric(d, "total_compression_overhead_seconds");
    double after = roast_diagnosis_part(d, ROAST_PART_after_process);
    double all = fmax(0, packing) + fmax(0, squeezing) + after;
    if (all < roast_limit.packing_share * d->available || !roast_diagnosis_matters(d, all))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_serialization_heavy, all, 0.7);
    roast_say(&v.title, "%s of the core time is packing and unpacking",
              roast_say_percent(all / d->available));
    roast_say(&v.evidence,
              "Serialising took %s, compressing %s, and the end of the tasks after process() %s.",
              roast_say_time(fmax(0, packing)), roast_say_time(fmax(0, squeezing)),
              roast_say_time(after));
    say_size(&v.evidence, tries);
    const char *unpacked = roast_diagnosis_executor(d)->unpacked;
    roast_say(&v.advice, "Return smaller outputs, keep large constants out of the processor (load "
                         "them in the worker)");
    if (unpacked != NULL)
        roast_say(&v.advice, ", and turn off compression of small outputs (%s)", unpacked);
    roast_say(&v.advice, "; up to %s of core time would be saved.", roast_say_time(all));
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_results(roast_diagnosis *d) {
    if (d->budget == NULL || !(d->threads > 0) || d->facts.count == 0)
        return ROAST_OK;
    ROAST_TRY(reduction(d, &d->tries));
    return serialization(d, &d->tries);
}
