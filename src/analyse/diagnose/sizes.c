/* The sizes of chunks, and the time before process(). */
#include <math.h>
#include <string.h>

#include "analyse/diagnose/chunk_cost.h"
#include "analyse/diagnose/internal.h"

/* The time before process() without the first, cold chunk of each worker. */
static double usual_before(const roast_diagnosis *d) {
    return fmin(d->facts.before, 1.5 * d->facts.median_before * (double)d->facts.with_before);
}

/* ---- the model: a fixed cost per chunk and a cost per event ---- */

/* Standard errors on either side: 95 %. */
#define FIT_ERRORS 2

/* *error: standard error of the fixed cost. */
static bool fit_dataset(const roast_diagnosis *d, roast_fact_group *dataset, double *error) {
    roast_chunk_cost cost;
    if (!roast_chunk_cost_fit(&dataset->line, &cost))
        return false;
    dataset->fixed = cost.fixed + d->facts.untold_before;
    dataset->slope = cost.slope;
    *error = cost.error;
    return true;
}

/* Chunks of one size give no fixed cost: the time before process() is used instead. How much of process() is a fixed
 * cost as well is not known: nothing, all of it, or anything between. */
static bool guess_dataset(const roast_diagnosis *d, roast_fact_group *dataset) {
    if (isnan(d->facts.median_before) || !(dataset->events > 0))
        return false;
    dataset->fixed = usual_before(d) / (double)d->facts.with_before;
    dataset->slope = dataset->sum_duration / dataset->events;
    return true;
}

/* Many chunks, or some in which the time before process() is most of the time. */
static bool has_enough_chunks(const roast_diagnosis *d) {
    double count = (double)d->facts.count;
    return count >= roast_limit.least_chunks ||
           (count >= roast_limit.group_chunks &&
            usual_before(d) >= roast_limit.before_share * d->facts.cost);
}

static void find_model(roast_diagnosis *d) {
    const roast_groups *datasets = &d->facts.datasets;
    double chunks = 0, events = 0, fixed = 0, slope = 0, by_fit = 0, less = 0, more = 0;
    if (!has_enough_chunks(d))
        return;
    for (uint32_t i = 0; i < roast_groups_count(datasets); i++) {
        roast_fact_group *dataset = roast_fact_group_at(datasets, i);
        double error = 0;
        bool fitted = fit_dataset(d, dataset, &error);
        if (!fitted && !guess_dataset(d, dataset))
            continue;
        less += fitted ? FIT_ERRORS * error * (double)dataset->chunks : 0;
        more += fitted ? FIT_ERRORS * error * (double)dataset->chunks
                       : dataset->slope * dataset->events;
        chunks += (double)dataset->chunks;
        events += dataset->events;
        fixed += dataset->fixed * (double)dataset->chunks;
        slope += dataset->slope * dataset->events;
        by_fit += fitted ? (double)dataset->chunks : 0;
    }
    /* Most of them must be known. */
    if (!(events > 0) || chunks * 2 < (double)d->facts.count)
        return;
    d->overhead = (roast_diagnosis_part(d, ROAST_PART_after_process) +
                   roast_diagnosis_part(d, ROAST_PART_cold_start) +
                   roast_diagnosis_part(d, ROAST_PART_worker_overhead) +
                   roast_diagnosis_part(d, ROAST_PART_idle_between)) /
                  (double)d->facts.count;
    d->fixed = fixed / chunks + d->overhead;
    d->slope = slope / events;
    d->fixed_least = fmax(0, d->fixed - less / chunks);
    d->fixed_most = d->fixed + more / chunks;
    d->fitted = by_fit * 2 > chunks;
    d->has_model = true;
}

/* ---- predictions ---- */

static double chunks_of_size(const roast_facts *facts, double size) {
    double chunks = 0;
    for (uint32_t i = 0; i < roast_groups_count(&facts->files); i++)
        chunks += roast_chunks_of_file(roast_fact_group_at(&facts->files, i)->events, size);
    return chunks;
}

/* Seconds from the first chunk to the last: the work over the threads, and half a chunk until the last
 * thread is done. `fixed`: of the cost of a chunk as it is now, the part that does not depend on its events. */
static double predict_span(const roast_diagnosis *d, double fixed, double events, double chunks) {
    double now = events / (double)d->facts.count, rest = d->fixed + d->slope * now - fixed;
    double one = fixed + fmax(0, rest) / now * (events / chunks);
    double even = chunks * one / d->threads;
    return fmax(one, even + one / 2 * (1 - 1 / d->threads));
}

typedef struct size_advice {
    double size;                  /* events */
    double least_wall, most_wall; /* s */
    double saving;                /* core-s */
    bool whole_files;             /* no file is longer */
} size_advice;

typedef struct size_search {
    double events, now; /* in all; a chunk */
    double least, most; /* sizes to try */
    double present;     /* predicted span of the present size */
    bool larger;
} size_search;

double roast_round_events(double events) {
    if (!(events >= 1))
        return 1;
    double digits = pow(10, floor(log10(events)));
    return fmax(1, floor(events / digits * 2) / 2 * digits);
}

double roast_diagnosis_longest_file(const roast_diagnosis *d) {
    double longest = 0;
    for (uint32_t i = 0; i < roast_groups_count(&d->facts.files); i++)
        longest = fmax(longest, roast_fact_group_at(&d->facts.files, i)->events);
    return longest;
}

double roast_diagnosis_most_events(const roast_diagnosis *d) {
    uint32_t count;
    const roast_worker_row *rows =
        roast_row_table_rows(d->metrics, ROAST_ROWS_worker_health, &count);
    double limit = INFINITY, growth, threads = roast_diagnosis_metric(d, "cores_per_worker");
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].memory_limit_bytes.kind != ROAST_VALUE_NONE)
            limit = fmin(limit, roast_value_number(rows[i].memory_limit_bytes));
    /* The chunks that grow most, not the average. */
    growth = d->facts.rss_growth.mean + 2 * roast_stats_std(&d->facts.rss_growth);
    if (d->facts.rss_growth.count == 0 || !(growth > 0))
        return INFINITY;
    /* Of a process that runs one task at a time. */
    double own = roast_limit.size_memory * roast_diagnosis_metric(d, "task_memory_limit_bytes");
    if (isfinite(own))
        return fmax(0, own - d->facts.rss_before.mean) / growth;
    if (!isfinite(limit))
        return INFINITY;
    double room = roast_limit.size_memory * limit - d->facts.rss_before.mean;
    return room > 0 ? room / growth / (threads > 1 ? threads : 1) : 0;
}

/* The best of the round numbers; of those that are as good within 2%, the one nearest to the present. */
static double best_size(const roast_diagnosis *d, const size_search *s, double *span) {
    static const double rounds[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    double best = INFINITY, found = NAN;
    for (int pass = 0; pass < 2; pass++) {
        for (double power = 10; power <= s->most; power *= 10) {
            for (unsigned i = 0; i < sizeof rounds / sizeof *rounds; i++) {
                double size = rounds[i] * power;
                if (size < s->least || size > s->most)
                    continue;
                double took = predict_span(d, d->fixed, s->events, chunks_of_size(&d->facts, size));
                if (pass == 0) {
                    best = fmin(best, took);
                } else if (took <= best * 1.02 && (isnan(found) || !s->larger)) {
                    found = size;
                    *span = took;
                }
            }
        }
    }
    return found;
}

/* The wall time of the run, had its chunks taken so long. */
static double wall_after(const roast_diagnosis *d, const size_search *s, double span) {
    return d->wall - (1 - span / s->present) * d->span;
}

static bool advise_size(const roast_diagnosis *d, bool larger, size_advice *advice) {
    size_search s = {.larger = larger};
    double longest = roast_diagnosis_longest_file(d), span = NAN;
    for (uint32_t i = 0; i < roast_groups_count(&d->facts.files); i++)
        s.events += roast_fact_group_at(&d->facts.files, i)->events;
    if (!d->has_model || !(d->threads > 0) || !(s.events > 0) || !(d->span > 0))
        return false;
    s.now = s.events / (double)d->facts.count;
    s.least = larger ? s.now * roast_limit.size_step : fmax(10, s.now / 1000);
    s.most = larger ? fmin(fmin(longest * 2, s.now * 1e4), roast_diagnosis_most_events(d))
                    : s.now / roast_limit.size_step;
    s.present = predict_span(d, d->fixed, s.events, (double)d->facts.count);
    advice->size = best_size(d, &s, &span);
    if (isnan(advice->size) || !(s.present > 0))
        return false;
    /* The predicted improvement, applied to the measured time. */
    double better = fmax(0, 1 - span / s.present) * d->span;
    double chunks = chunks_of_size(&d->facts, advice->size);
    double one = wall_after(d, &s, predict_span(d, d->fixed_least, s.events, chunks));
    double other = wall_after(d, &s, predict_span(d, d->fixed_most, s.events, chunks));
    advice->least_wall = fmin(one, other);
    advice->most_wall = fmax(one, other);
    advice->saving = better * d->threads;
    advice->whole_files = advice->size >= longest;
    return better > 0;
}

static void say_prediction(roast_words *words, const roast_diagnosis *d,
                           const size_advice *advice) {
    const char *least = roast_say_time(advice->least_wall),
               *most = roast_say_time(advice->most_wall);
    roast_say(words, "chunksize=%s → predicted wall time %s", roast_say_code(advice->size), least);
    if (strcmp(least, most) != 0)
        roast_say(words, " to %s", most);
    roast_say(words, " (now %s).", roast_say_time(d->wall));
    if (!d->fitted && strcmp(least, most) != 0)
        roast_say(words, " The range is wide because all chunks have one size.");
}

/* ---- the rules ---- */

static roast_status too_small(roast_diagnosis *d) {
    size_advice advice;
    double all = d->facts.cost + d->overhead * (double)d->facts.count;
    double share = d->fixed * (double)d->facts.count / all;
    if (!d->has_model || share < roast_limit.fixed_share || !advise_size(d, true, &advice) ||
        !roast_diagnosis_matters(d, advice.saving))
        return ROAST_OK;
    double events = roast_diagnosis_metric(d, "chunk_events_mean");
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_chunks_too_small, advice.saving, d->fitted ? 0.9 : 0.8);
    roast_say(&v.title, "Chunks are too small: %s of their time is a fixed cost per chunk",
              roast_say_percent(fmin(share, 1)));
    roast_say(&v.evidence,
              "%s chunks have %s events on average. Each costs %s before its first event, and %s "
              "for its events.",
              roast_say_count((double)d->facts.count), roast_say_count(events),
              roast_say_time(d->fixed), roast_say_time(d->slope * events));
    if (d->facts.cost > 0 && d->facts.with_before > 0)
        roast_say(&v.evidence, " %s of the task time is spent before process().",
                  roast_say_percent(d->facts.before / d->facts.cost));
    d->remedy[ROAST_FINDING_chunks_too_small] = advice.size;
    say_prediction(&v.advice, d, &advice);
    if (advice.whole_files)
        roast_say(&v.advice, " That is one chunk per file; larger files would save more.");
    return roast_diagnosis_add(d, &v);
}

static roast_status too_large(roast_diagnosis *d) {
    size_advice advice;
    double tail = roast_diagnosis_tail(d);
    double starved = roast_diagnosis_part(d, ROAST_PART_idle_starved);
    double each = (double)d->facts.count / d->threads;
    if (d->budget == NULL || !(each < roast_limit.few_chunks) ||
        d->made[ROAST_FINDING_straggler_file] || d->made[ROAST_FINDING_straggler_worker] ||
        d->made[ROAST_FINDING_straggler_host] || d->made[ROAST_FINDING_straggler_storage] ||
        tail + starved < roast_limit.tail_share * d->available || !advise_size(d, false, &advice))
        return ROAST_OK;
    /* No more than was idle can be saved. */
    double saving = fmin(advice.saving, tail + starved);
    if (!roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    advice.least_wall = fmax(advice.least_wall, d->wall - saving / d->threads);
    advice.most_wall = fmax(advice.most_wall, advice.least_wall);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_chunks_too_large, saving, d->fitted ? 0.8 : 0.7);
    roast_say(&v.title, "Chunks are too large: %s chunks per thread do not spread evenly",
              roast_say_times(each));
    roast_say(&v.evidence,
              "%s chunks of %s each on %s threads; %s of core time (%s) was idle while the last "
              "ones ran.",
              roast_say_count((double)d->facts.count), roast_say_time(d->facts.median_cost),
              roast_say_count(d->threads), roast_say_time(tail + starved),
              roast_say_percent((tail + starved) / d->available));
    d->remedy[ROAST_FINDING_chunks_too_large] = advice.size;
    say_prediction(&v.advice, d, &advice);
    return roast_diagnosis_add(d, &v);
}

static roast_status metadata(roast_diagnosis *d) {
    double bytes = roast_diagnosis_metric(d, "bytes_read_from_chunks");
    double described = roast_diagnosis_metric(d, "metadata_bytes_read");
    double before = usual_before(d), share = described / bytes;
    /* Few bytes do not take long, whatever their share. */
    double saving = fmin(before * share / 2, described / roast_limit.metadata_rate);
    if (!(share >= roast_limit.metadata_share) ||
        before < roast_limit.metadata_time * d->facts.cost || !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_metadata_bound, saving, 0.6);
    roast_say(&v.title, "%s of the bytes read are the description of the trees",
              roast_say_percent(share));
    roast_say(&v.evidence,
              "%s of %s were read before process() was entered, by %s chunks of %s files; %s of "
              "the task time is before process().",
              roast_say_bytes(described), roast_say_bytes(bytes),
              roast_say_count((double)d->facts.count),
              roast_say_count((double)roast_groups_count(&d->facts.files)),
              roast_say_percent(before / d->facts.cost));
    roast_say(
        &v.advice,
        "Write files with fewer branches (a skim) or more events; with half of these bytes, %s of "
        "core time would be saved.",
        roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

static roast_status before_process(roast_diagnosis *d) {
    double before = usual_before(d), share = before / d->facts.cost;
    double rest = d->facts.cost - d->facts.before;
    double goal = roast_limit.before_goal / (1 - roast_limit.before_goal) * rest;
    double branches = roast_diagnosis_metric(d, "total_branches_read");
    if (!(share >= roast_limit.before_share) || !roast_diagnosis_matters(d, before - goal))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_before_process_dominates, before - goal, 0.6);
    roast_say(&v.title, "%s of the task time is spent before process()", roast_say_percent(share));
    roast_say(
        &v.evidence,
        "Opening the file and building the events takes %s per chunk in the median, process() %s "
        "on average; there are %s chunks in %s files.",
        roast_say_time(d->facts.median_before),
        roast_say_time(d->facts.duration / (double)d->facts.count),
        roast_say_count((double)d->facts.count),
        roast_say_count((double)roast_groups_count(&d->facts.files)));
    roast_say(&v.advice, "Larger chunks do not help: the files have no more events. Merge them "
                         "(hadd), keep fewer branches in them");
    if (branches > 0)
        roast_say(&v.advice, " (%s are used)", roast_say_count(branches));
    roast_say(&v.advice,
              ", or store them closer to the workers. If only %s of the task time were "
              "spent before process(), %s would be saved.",
              roast_say_percent(roast_limit.before_goal), roast_say_time(before - goal));
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_sizes(roast_diagnosis *d) {
    find_model(d);
    ROAST_TRY(too_small(d));
    if (d->made[ROAST_FINDING_chunks_too_small])
        return ROAST_OK;
    ROAST_TRY(too_large(d));
    if (d->facts.with_before == 0 || !has_enough_chunks(d))
        return ROAST_OK;
    ROAST_TRY(metadata(d));
    return d->made[ROAST_FINDING_metadata_bound] ? ROAST_OK : before_process(d);
}
