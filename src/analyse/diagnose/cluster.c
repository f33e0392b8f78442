/* The cluster: memory, and what was not measured. */
#include <math.h>

#include "analyse/diagnose/internal.h"
#include "roast/figures.h"
#include "roast/failures.h"

/* ---- memory ---- */

roast_status roast_lost_to_memory(const roast_diagnosis *d, double *seconds, uint32_t *workers) {
    const roast_attempts *attempts = roast_run_attempts_view(d->run);
    roast_lost_workers *lost = NULL;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    *seconds = 0;
    *workers = 0;
    if (attempts == NULL || roast_attempts_departure_count(attempts) == 0)
        return ROAST_OK;
    ROAST_TRY(roast_lost_workers_find(d->run, &lost, NULL));
    for (uint32_t i = 0; i < roast_lost_workers_count(lost); i++) {
        roast_lost_worker worker = roast_lost_workers_at(lost, i);
        *workers +=
            !worker.departure.expected && worker.memory_fraction >= roast_limit.memory_cause;
    }
    roast_attempt_cursor_init(&cursor, attempts);
    while (*workers > 0 && roast_attempt_cursor_next(&cursor, &attempt)) {
        if (attempt.departure == ROAST_NO_DEPARTURE)
            continue;
        roast_lost_worker worker = roast_lost_workers_at(lost, attempt.departure);
        double wasted = roast_attempt_wasted_seconds(&attempt);
        if (!worker.departure.expected && worker.memory_fraction >= roast_limit.memory_cause &&
            wasted > 0)
            *seconds += wasted;
    }
    roast_lost_workers_free(lost);
    return ROAST_OK;
}

/* The worker that came nearest to its limit, by its samples and by its chunks. */
typedef struct fullest {
    roast_str name;
    double percent, bytes, limit; /* percent NaN: nobody has a limit */
    uint32_t paused;              /* workers beyond the threshold of a warning */
    uint32_t workers;             /* with a limit */
} fullest;

static roast_status find_fullest(roast_diagnosis *d, fullest *found) {
    uint32_t count, id;
    const roast_worker_row *rows =
        roast_row_table_rows(d->metrics, ROAST_ROWS_worker_health, &count);
    *found = (fullest){.percent = NAN};
    for (uint32_t i = 0; i < count; i++) {
        double limit = roast_value_number(rows[i].memory_limit_bytes);
        double peak = roast_value_number(rows[i].peak_memory_bytes);
        ROAST_TRY(roast_facts_group(&d->facts, ROAST_BY_worker, rows[i].name, &id));
        if (id != ROAST_NOBODY && roast_fact_group_at(&d->facts.workers, id)->rss_peak > 0)
            peak = fmax(peak, roast_fact_group_at(&d->facts.workers, id)->rss_peak);
        if (!(limit > 0) || isnan(peak))
            continue;
        double percent = fmax(100 * peak / limit, roast_value_number(rows[i].peak_memory_percent));
        found->workers++;
        found->paused += percent >= roast_limit.memory_warning;
        if (!(found->percent >= percent)) {
            found->name = rows[i].name;
            found->percent = percent;
            found->bytes = peak;
            found->limit = limit;
        }
    }
    return ROAST_OK;
}

static roast_status pressure(roast_diagnosis *d) {
    double lost;
    uint32_t killed;
    ROAST_TRY(roast_lost_to_memory(d, &lost, &killed));
    fullest found;
    ROAST_TRY(find_fullest(d, &found));
    if (killed == 0 && !(found.percent >= roast_limit.memory_note))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_memory_pressure, lost, 0.9);
    v.least = killed > 0 || found.percent >= roast_limit.memory_critical ? ROAST_SEVERITY_critical
              : found.percent >= roast_limit.memory_warning              ? ROAST_SEVERITY_warning
                                                                         : ROAST_SEVERITY_note;
    if (killed > 0)
        roast_say(&v.title, "%s left with full memory", roast_say_many(killed, "worker"));
    else
        roast_say(&v.title, "Memory reached %s of a worker's limit",
                  roast_say_percent(found.percent / 100));
    if (found.percent > 0)
        roast_say(
            &v.evidence,
            "Worker %s had %s of %s. %u of %s reached %s of the limit, where Dask pauses them.",
            roast_say_name(found.name), roast_say_bytes(found.bytes), roast_say_bytes(found.limit),
            (unsigned)found.paused, roast_say_many(found.workers, "worker"),
            roast_say_percent(roast_limit.memory_warning / 100));
    if (killed > 0)
        roast_say(&v.evidence, " With the workers that left, %s of work was lost.",
                  roast_say_time(lost));
    if (found.percent > 0) {
        double events = roast_diagnosis_metric(d, "chunk_events_mean");
        double most = roast_diagnosis_most_events(d);
        if (most >= 1 && most < events)
            d->remedy[ROAST_FINDING_memory_pressure] = roast_round_events(most);
        roast_say(&v.advice, "memory_limit=\"%s\" per worker",
                  roast_say_bytes(found.bytes / (roast_limit.memory_goal / 100)));
        if (events > 1 && d->facts.rss_growth.mean > 0)
            roast_say(&v.advice, ", or chunks of fewer events (now %s on average)",
                      roast_say_count(events));
        roast_say(&v.advice, ", or fewer threads per worker.");
    } else {
        roast_say(&v.advice, "Give the workers more memory, or make chunks smaller.");
    }
    return roast_diagnosis_add(d, &v);
}

/* Time to write to disk and read back, from spans and attempts. */
static double spill_seconds(const roast_run *run) {
    double seconds = 0;
    for (uint32_t i = 0; i < roast_run_figure_count(run); i++) {
        roast_figure figure = roast_run_figure(run, i);
        if (figure.activity == ROAST_ACTIVITY_disk)
            seconds += fmax(0, figure.value);
    }
    return seconds;
}

static roast_status spilling(roast_diagnosis *d) {
    double peak = roast_diagnosis_metric(d, "peak_spilled_bytes");
    double workers = roast_diagnosis_metric(d, "workers_spilled");
    double seconds = spill_seconds(d->run);
    fullest found;
    ROAST_TRY(find_fullest(d, &found));
    bool much = peak > 0 && peak >= roast_limit.spilled_share * found.limit;
    if (!much && !roast_diagnosis_matters(d, seconds))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_spilling, seconds, 0.8);
    roast_say(&v.title, "Results were spilled to disk");
    if (peak > 0)
        roast_say(&v.evidence, "%s had up to %s on disk, because memory was short.",
                  roast_say_many(workers, "worker"), roast_say_bytes(peak));
    if (seconds > 0)
        roast_say(&v.evidence, "%sWriting and reading them back took %s.",
                  v.evidence.len > 0 ? " " : "", roast_say_time(seconds));
    roast_say(&v.advice,
              "Return smaller outputs, merge more at a time (%s), or give the workers more memory.",
              roast_diagnosis_executor(d)->merging);
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_memory(roast_diagnosis *d) {
    ROAST_TRY(pressure(d));
    return spilling(d);
}

/* ---- measuring ---- */

typedef struct doubts {
    roast_words words;
    bool serious;
} doubts;

/* Chunks leave their records when they are done: until the end some are missing that are not lost. */
static bool goes_on(const roast_run *run) {
    const roast_ending *ending = roast_run_ending_view(run);
    return ending != NULL && roast_ending_outcome(ending) == ROAST_END_unknown;
}

static void doubt_records(const roast_diagnosis *d, doubts *all) {
    roast_report report = roast_run_get_report(d->run);
    double dropped = roast_diagnosis_metric(d, "total_dropped_sections");
    double faults = roast_diagnosis_metric(d, "measurement_faults");
    double records = (double)(d->facts.count);
    double missing = report.have_chunks ? (double)report.chunks - records : 0;
    /* Without the decorator there are no records, as the user knows. */
    if (records > 0 && !goes_on(d->run) &&
        missing > roast_limit.missing_records * (double)report.chunks) {
        roast_say_next(&all->words, "%s of %s chunks left no record", roast_say_count(missing),
                       roast_say_count((double)report.chunks));
        all->serious |= missing > roast_limit.missing_warning * (double)report.chunks;
    }
    if (dropped > 0)
        roast_say_next(&all->words, "%s uses of sections were not kept", roast_say_count(dropped));
    if (faults > 0)
        roast_say_next(&all->words, "%s measurements failed", roast_say_count(faults));
}

/* The longest time without a heartbeat of any worker, in its samples. */
static double longest_silence(const roast_series *series) {
    double longest = 0;
    for (uint32_t worker = 0; worker < roast_series_worker_count(series); worker++) {
        roast_series_cursor cursor;
        roast_sample sample;
        roast_series_cursor_init(&cursor, series, worker);
        while (roast_series_cursor_next(&cursor, &sample)) {
            double silence = (double)sample.when.ns / 1e9 - sample.value[ROAST_COLUMN_last_seen];
            longest = fmax(longest, silence);
        }
    }
    return longest;
}

static roast_status longest_gap(const roast_series *series, double *gap, double *usual) {
    uint64_t ticks = roast_series_tick_count(series);
    *gap = *usual = NAN;
    if (ticks < 10)
        return ROAST_OK;
    double *steps = roast_alloc((size_t)ticks * sizeof *steps);
    if (steps == NULL)
        return ROAST_ENOMEM;
    for (uint64_t i = 1; i < ticks; i++) {
        double step = (double)(roast_series_tick_time(series, i).ns -
                               roast_series_tick_time(series, i - 1).ns) /
                      1e9;
        *gap = fmax(*gap, step);
        steps[i - 1] = step;
    }
    *usual = roast_median(steps, (size_t)ticks - 1);
    roast_free(steps);
    return ROAST_OK;
}

static roast_status doubt_series(const roast_diagnosis *d, doubts *all) {
    const roast_series *series = roast_run_series_view(d->run);
    double gap, usual, silence = longest_silence(series);
    ROAST_TRY(longest_gap(series, &gap, &usual));
    if (gap > roast_limit.tick_gap * usual && gap > roast_limit.noticed_seconds) {
        roast_say_next(&all->words, "for %s the workers were not sampled (usually every %s)",
                       roast_say_time(gap), roast_say_time(usual));
    }
    if (silence > roast_limit.silence) {
        roast_say_next(&all->words, "a worker sent no heartbeat for %s", roast_say_time(silence));
    }
    return ROAST_OK;
}

static void doubt_budget(const roast_diagnosis *d, doubts *all) {
    if (goes_on(d->run))
        return;
    double share = roast_diagnosis_part(d, ROAST_PART_unaccounted) / d->available;
    if (d->budget == NULL || !(share >= roast_limit.unaccounted_note))
        return;
    roast_say_next(&all->words, "%s of the core time is unaccounted for", roast_say_percent(share));
    all->serious |= share >= roast_limit.unaccounted_warning && d->facts.count > 0;
}

/* Chunks that are known to be done, by the executor or in Coffea's report. */
static double processed(const roast_diagnosis *d) {
    int64_t done = roast_ending_get_pieces(roast_run_ending_view(d->run)).done;
    return done > 0 ? (double)done : roast_diagnosis_metric(d, "num_chunks");
}

roast_status roast_rules_measurement(roast_diagnosis *d) {
    doubts all = {.serious = false};
    doubt_records(d, &all);
    ROAST_TRY(doubt_series(d, &all));
    doubt_budget(d, &all);
    for (uint32_t i = 0; i < roast_run_note_count(d->run) && i < 3; i++)
        roast_say_next(&all.words, "%s", roast_say_name(roast_run_note(d->run, i)));
    if (all.words.len == 0)
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_measurement, 0, 1);
    v.least = all.serious ? ROAST_SEVERITY_warning : ROAST_SEVERITY_note;
    v.most = v.least;
    roast_say(&v.title, "The measurement is not complete");
    roast_say(&v.evidence, "%s.", all.words.text);
    if (d->facts.count == 0 && d->facts.failed == 0 && processed(d) > 0)
        roast_say(&v.advice,
                  "Decorate process() with @track_metrics: then each chunk tells where its time "
                  "went.");
    else
        roast_say(&v.advice,
                  "The other findings may be affected; the notes of the run say what could not be "
                  "measured, and why.");
    return roast_diagnosis_add(d, &v);
}
