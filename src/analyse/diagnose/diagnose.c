/* The diagnosis: gathers facts, runs the rules, and ranks their findings. */
#include <math.h>

#include "analyse/budget/internal.h"
#include "analyse/diagnose/internal.h"
#include "metrics/formulas.h"

/* ---- for the rules ---- */

double roast_diagnosis_part(const roast_diagnosis *d, roast_budget_part part) {
    double seconds = d->budget != NULL ? roast_budget_total(d->budget)->parts[part] : 0;
    return seconds > 0 ? seconds : 0;
}

double roast_diagnosis_tail(const roast_diagnosis *d) {
    double after = d->after;
    /* Where the client has a part of its own, only tasks can follow the last chunk. */
    if (d->budget != NULL && !isnan(roast_budget_total(d->budget)->parts[ROAST_PART_client]))
        after = d->tries.last_reduction - d->facts.origin - d->facts.last_end;
    return roast_diagnosis_part(d, ROAST_PART_idle_tail) - (after > 0 ? after * d->threads : 0);
}

const roast_executor_words *roast_diagnosis_executor(const roast_diagnosis *d) {
    static const roast_executor_words engines[] = {
        {"Dask", "DaskExecutor(treereduction=...)", "DaskExecutor(compression=None)", false},
        {"TaskVine", "TaskVineExecutor(treereduction=...)", NULL, true},
        {"Parsl", "ParslExecutor(merging=...)", "ParslExecutor(compression=None)", false},
        {"processes of this machine", "FuturesExecutor(merging=...)",
         "FuturesExecutor(compression=None)", false},
    };
    roast_str engine = roast_run_meta(d->run, roast_str_of("engine"));
    for (size_t i = 0; engine.data != NULL && i < sizeof engines / sizeof *engines; i++) {
        size_t len = strlen(engines[i].engine);
        if (engine.len >= len && memcmp(engine.data, engines[i].engine, len) == 0)
            return &engines[i];
    }
    return &engines[0];
}

double roast_diagnosis_metric(const roast_diagnosis *d, const char *key) {
    return roast_value_number(roast_metrics_get(d->metrics, key));
}

bool roast_diagnosis_matters(const roast_diagnosis *d, double saving) {
    double seconds = d->threads > 0 ? saving / d->threads : saving;
    return saving >= roast_limit.least_saving * d->available &&
           seconds >= roast_limit.least_seconds;
}

void roast_verdict_init(roast_verdict *verdict, roast_finding_kind kind, double saving,
                        double confidence) {
    verdict->kind = kind;
    verdict->saving = saving > 0 ? saving : 0;
    verdict->confidence = confidence;
    verdict->least = ROAST_SEVERITY_note;
    verdict->most = ROAST_SEVERITY_critical;
    verdict->title.len = verdict->evidence.len = verdict->advice.len = 0;
    verdict->title.text[0] = verdict->evidence.text[0] = verdict->advice.text[0] = '\0';
}

static roast_severity severity_of(const roast_diagnosis *d, const roast_verdict *verdict) {
    double share = d->available > 0 ? verdict->saving / d->available : 0;
    double seconds = d->threads > 0 ? verdict->saving / d->threads : verdict->saving;
    roast_severity severity = share >= roast_limit.critical_share  ? ROAST_SEVERITY_critical
                              : share >= roast_limit.warning_share ? ROAST_SEVERITY_warning
                                                                   : ROAST_SEVERITY_note;
    if (seconds < roast_limit.noticed_seconds)
        severity = ROAST_SEVERITY_note;
    if (verdict->confidence < roast_limit.sure && severity > ROAST_SEVERITY_warning)
        severity = ROAST_SEVERITY_warning;
    /* Nothing matters as much as what made a run fail. */
    if (roast_ending_outcome(roast_run_ending_view(d->run)) == ROAST_END_failed &&
        severity > ROAST_SEVERITY_warning)
        severity = ROAST_SEVERITY_warning;
    if (severity < verdict->least)
        severity = verdict->least;
    return severity > verdict->most ? verdict->most : severity;
}

roast_status roast_diagnosis_add(roast_diagnosis *d, roast_verdict *verdict) {
    /* A saving cannot exceed the available time. */
    if (verdict->saving > d->available)
        verdict->saving = d->available;
    const roast_finding finding = {
        .kind = verdict->kind,
        .severity = severity_of(d, verdict),
        .title = {verdict->title.text, verdict->title.len},
        .evidence = {verdict->evidence.text, verdict->evidence.len},
        .advice = {verdict->advice.text, verdict->advice.len},
        .saving_core_seconds = verdict->saving,
        .confidence = verdict->confidence,
    };
    d->made[verdict->kind] = true;
    return roast_findings_add(d->findings, &finding, NULL);
}

/* ---- all ---- */

/* Chunks without a known worker are missing in the budget: then its idle time is not idle. Without attempts they are
 * unaccounted for. */
static bool knows_the_chunks(const roast_budget *budget, const roast_facts *facts) {
    static const roast_budget_part parts[] = {ROAST_PART_before_process, ROAST_PART_read,
                                              ROAST_PART_compute_cpu, ROAST_PART_compute_offcpu,
                                              ROAST_PART_after_process};
    double seconds = roast_budget_has_attempts(budget)
                         ? fmax(0, roast_budget_total(budget)->parts[ROAST_PART_unaccounted])
                         : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        seconds += fmax(0, roast_budget_total(budget)->parts[parts[i]]);
    return seconds >= facts->cost / 2;
}

/* Facts of the whole run: duration, threads, and the time span of the chunks. */
static void measure_run(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    roast_run_clock clock = roast_run_get_clock(d->run);
    d->wall = clock.have && clock.end > clock.start ? clock.end - clock.start : NAN;
    d->available = d->budget != NULL ? roast_budget_total(d->budget)->available : facts->cost;
    d->threads = d->budget != NULL && d->wall > 0 ? d->available / d->wall : NAN;
    d->span = facts->count > 0 ? facts->last_end : 0;
    d->after = NAN;
    if (facts->count > 0 && d->wall > 0) {
        double after = clock.end - facts->origin - facts->last_end;
        d->after = after > 0 && after < d->wall ? after : NAN;
    }
}

/* A chunk on an executor of this machine does not know when its task began. The budget knows the time between two
 * chunks of a thread: on average, as nothing tells which chunk is an exception. */
static void take_before(roast_diagnosis *d) {
    roast_facts *facts = &d->facts;
    double before = roast_diagnosis_part(d, ROAST_PART_before_process);
    if (facts->with_before > 0 || facts->count == 0 || !(before > 0))
        return;
    facts->before = before;
    facts->with_before = facts->count;
    facts->untold_before = facts->median_before = before / (double)facts->count;
    facts->cost += before;
}

static roast_status ask_rules(roast_diagnosis *d) {
    ROAST_TRY(roast_rules_stragglers(d));
    ROAST_TRY(roast_rules_sizes(d));
    ROAST_TRY(roast_rules_balance(d));
    ROAST_TRY(roast_rules_threads(d));
    ROAST_TRY(roast_rules_reading(d));
    ROAST_TRY(roast_rules_sections(d));
    ROAST_TRY(roast_rules_results(d));
    ROAST_TRY(roast_rules_memory(d));
    ROAST_TRY(roast_rules_losses(d));
    ROAST_TRY(roast_rules_parts(d));
    ROAST_TRY(roast_rules_skipped(d));
    return roast_rules_measurement(d);
}

static roast_status cannot(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "diagnosis", -1, "the run cannot be diagnosed: %s",
                           roast_status_text(status));
}

typedef struct follower {
    roast_status (*then)(const roast_diagnosis *d, void *context); /* may be NULL */
    void *context;
} follower;

/* Runs the rules; takes ownership of the facts. */
static roast_status judge(roast_diagnosis *d, const follower *next, roast_findings **out,
                          roast_error *err) {
    roast_status status = roast_facts_finish(&d->facts);
    if (status == ROAST_OK)
        status = roast_findings_new(&d->findings, NULL);
    if (status == ROAST_OK) {
        if (d->budget != NULL && !knows_the_chunks(d->budget, &d->facts))
            d->budget = NULL;
        measure_run(d);
        take_before(d);
        d->tries = roast_tries_sum(roast_run_attempts_view(d->run));
        status = ask_rules(d);
        if (status == ROAST_OK && next->then != NULL)
            status = next->then(d, next->context);
    }
    roast_facts_reset(&d->facts);
    if (status != ROAST_OK) {
        roast_findings_free(d->findings);
        return cannot(status, err);
    }
    if (d->budget != NULL)
        roast_findings_set_budget(d->findings, roast_budget_total(d->budget));
    roast_findings_set_current(d->findings, true);
    *out = d->findings;
    return ROAST_OK;
}

/* One walk over the chunks for the facts and for the budget, where there can be one. */
static roast_status walk_chunks(const roast_run *run, roast_facts *facts,
                                roast_budget_work *budget) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    if (roast_chunklog_count(log) >= UINT32_MAX / 4)
        return ROAST_ELIMIT;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        if (budget != NULL)
            ROAST_TRY(roast_budget_add_chunk(budget, log, &chunk));
        ROAST_TRY(roast_facts_add(facts, log, &chunk));
    }
    return ROAST_OK;
}

roast_status roast_diagnose_run(const roast_run *run, const roast_metrics *metrics,
                                roast_findings **out, roast_error *err) {
    return roast_diagnose_then(run, metrics, NULL, NULL, out, err);
}

roast_status roast_diagnose_then(const roast_run *run, const roast_metrics *metrics,
                                 roast_status (*then)(const roast_diagnosis *d, void *context),
                                 void *context, roast_findings **out, roast_error *err) {
    roast_diagnosis d = {.run = run, .metrics = metrics};
    roast_budget_work work;
    roast_budget *budget = NULL;
    roast_status status = roast_budget_begin(run, &work, err);
    bool has_budget = status == ROAST_OK;
    if (!has_budget && status != ROAST_ENOTFOUND)
        return status;
    status = walk_chunks(run, &d.facts, has_budget ? &work : NULL);
    if (has_budget)
        status = roast_budget_end(&work, status, &budget, err);
    d.budget = budget;
    if (status == ROAST_OK) {
        status = judge(&d, &(follower){then, context}, out, err);
    } else {
        roast_facts_reset(&d.facts);
        status = cannot(status, err);
    }
    roast_budget_free(budget);
    return status;
}
