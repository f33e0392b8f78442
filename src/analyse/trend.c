#include "roast/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/statistics/levels.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/intern.h"
#include "metrics/formulas.h"

static const char where[] = "trend";
/* The events of comparable runs differ by at most so much. */
static const double same_events = 0.1;
/* A test by ranks places a change within some runs; a cause is looked for so far away from it. */
enum { NEAR = 2 };

struct roast_trend {
    const roast_metric_info *metric;
    double error_rate;
    uint32_t left[ROAST_LEFT_COUNT];
    roast_arena arena;
    roast_intern known; /* every text once ... */
    roast_str *texts;   /* ... and where it is in the arena, by its number */
    size_t texts_capacity;
    roast_trend_run **runs; /* in the arena */
    size_t n_runs, runs_capacity;
    roast_trend_group *groups;
    size_t n_groups, groups_capacity;
    size_t least_runs;
    bool finished;
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for the trend");
}

/* ---- words ---- */

static const char *const fact_names[] = {
#define X(name, label) #name,
    ROAST_TREND_FACTS(X)
#undef X
};
static const char *const fact_labels[] = {
#define X(name, label) label,
    ROAST_TREND_FACTS(X)
#undef X
};
static const char *const left_names[] = {
#define X(name, words) #name,
    ROAST_TREND_LEFT(X)
#undef X
};
static const char *const left_words[] = {
#define X(name, words) words,
    ROAST_TREND_LEFT(X)
#undef X
};

const char *roast_trend_fact_name(roast_trend_fact fact) {
    return fact_names[fact];
}

const char *roast_trend_fact_label(roast_trend_fact fact) {
    return fact_labels[fact];
}

const char *roast_trend_left_name(roast_trend_left left) {
    return left_names[left];
}

const char *roast_trend_left_words(roast_trend_left left) {
    return left_words[left];
}

/* ---- life ---- */

roast_status roast_trend_new(const char *metric, double error_rate, roast_trend **out,
                             roast_error *err) {
    const roast_metric_info *info = roast_catalogue_find(metric, NULL);
    if (info == NULL)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "no metric has the name \"%s\"",
                               metric != NULL ? metric : "");
    if (info->scope != ROAST_IN_METRICS ||
        (info->type != ROAST_TYPE_INT && info->type != ROAST_TYPE_REAL))
        return roast_error_set(err, ROAST_EINVAL, where, -1, "\"%s\" is not a number of a run",
                               metric);
    if (!(error_rate >= ROAST_TREND_LEAST_RATE && error_rate <= ROAST_TREND_LARGEST_RATE))
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "an error rate is a number from %g to %g", ROAST_TREND_LEAST_RATE,
                               ROAST_TREND_LARGEST_RATE);
    roast_trend *trend = roast_alloc_zero(sizeof *trend);
    if (trend == NULL)
        return no_memory(err);
    trend->metric = info;
    trend->error_rate = error_rate;
    *out = trend;
    return ROAST_OK;
}

void roast_trend_free(roast_trend *trend) {
    if (trend == NULL)
        return;
    roast_arena_reset(&trend->arena);
    roast_intern_reset(&trend->known);
    roast_free(trend->texts);
    roast_free(trend->runs);
    roast_free(trend->groups);
    roast_free(trend);
}

/* Replaces a text by its only copy: equal texts have equal addresses. */
static roast_status keep(roast_trend *trend, roast_str *text) {
    uint32_t id, before = trend->known.count;
    void *texts = trend->texts;
    if (text->data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_array_reserve(&texts, &trend->texts_capacity, sizeof *trend->texts,
                                  (size_t)before + 1));
    trend->texts = texts;
    ROAST_TRY(roast_intern_add(&trend->known, *text, &id));
    if (id == before) {
        roast_status status = roast_arena_str(&trend->arena, *text, &trend->texts[id]);
        if (status != ROAST_OK) {
            roast_intern_truncate(&trend->known, before);
            return status;
        }
    }
    *text = trend->texts[id];
    return ROAST_OK;
}

static roast_status keep_run(roast_trend *trend, const roast_trend_run *run) {
    void *runs = trend->runs;
    roast_trend_run *kept = roast_arena_alloc(&trend->arena, sizeof *kept);
    if (kept == NULL)
        return ROAST_ENOMEM;
    *kept = *run;
    ROAST_TRY(
        roast_array_reserve(&runs, &trend->runs_capacity, sizeof *trend->runs, trend->n_runs + 1));
    trend->runs = runs;
    ROAST_TRY(roast_arena_str(&trend->arena, run->name, &kept->name));
    ROAST_TRY(keep(trend, &kept->processor));
    ROAST_TRY(keep(trend, &kept->datasets));
    for (int i = 0; i < ROAST_FACT_COUNT; i++)
        ROAST_TRY(keep(trend, &kept->facts[i]));
    trend->runs[trend->n_runs++] = kept;
    return ROAST_OK;
}

roast_status roast_trend_add(roast_trend *trend, const roast_trend_run *run, roast_error *err) {
    if (trend->finished)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "the trend is already computed");
    if (!isfinite(run->value)) {
        roast_trend_leave_out(trend, ROAST_LEFT_no_value);
        return ROAST_OK;
    }
    return keep_run(trend, run) == ROAST_OK ? ROAST_OK : no_memory(err);
}

void roast_trend_leave_out(roast_trend *trend, roast_trend_left why) {
    trend->left[why]++;
}

/* ---- groups ---- */

static int compare_texts(roast_str a, roast_str b) {
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    if (order != 0)
        return order;
    return a.len != b.len ? (a.len > b.len) - (a.len < b.len) : (a.data != NULL) - (b.data != NULL);
}

static double known_events(const roast_trend_run *run) {
    return isnan(run->events) ? -1 : run->events;
}

static int by_input(const void *left, const void *right) {
    const roast_trend_run *a = *(roast_trend_run *const *)left;
    const roast_trend_run *b = *(roast_trend_run *const *)right;
    int order = compare_texts(a->processor, b->processor);
    if (order == 0)
        order = compare_texts(a->datasets, b->datasets);
    double first = known_events(a), second = known_events(b);
    return order != 0 ? order : (first > second) - (first < second);
}

static int by_time(const void *left, const void *right) {
    const roast_trend_run *a = *(roast_trend_run *const *)left;
    const roast_trend_run *b = *(roast_trend_run *const *)right;
    int order = (a->when.ns > b->when.ns) - (a->when.ns < b->when.ns);
    return order != 0 ? order : compare_texts(a->name, b->name);
}

static int by_runs(const void *left, const void *right) {
    const roast_trend_group *a = left, *b = right;
    int order = (a->n_runs < b->n_runs) - (a->n_runs > b->n_runs);
    return order != 0 ? order : by_input(&a->runs[0], &b->runs[0]);
}

static bool is_comparable(const roast_trend_run *a, const roast_trend_run *b) {
    return a->processor.data == b->processor.data && a->datasets.data == b->datasets.data &&
           isnan(a->events) == isnan(b->events) && !(b->events > a->events * (1 + same_events));
}

/* The runs are sorted by their input: a group goes on as long as its runs are comparable with the first one. */
static roast_status make_groups(roast_trend *trend) {
    trend->n_groups = 0;
    if (trend->n_runs > 0)
        qsort(trend->runs, trend->n_runs, sizeof *trend->runs, by_input);
    for (size_t first = 0, next; first < trend->n_runs; first = next) {
        const roast_trend_run *smallest = trend->runs[first];
        void *groups = trend->groups;
        ROAST_TRY(roast_array_reserve(&groups, &trend->groups_capacity, sizeof *trend->groups,
                                      trend->n_groups + 1));
        trend->groups = groups;
        for (next = first; next < trend->n_runs && is_comparable(smallest, trend->runs[next]);
             next++)
            ;
        trend->groups[trend->n_groups++] =
            (roast_trend_group){.processor = smallest->processor,
                                .datasets = smallest->datasets,
                                .least_events = smallest->events,
                                .most_events = trend->runs[next - 1]->events,
                                .runs = (const roast_trend_run *const *)&trend->runs[first],
                                .n_runs = (uint32_t)(next - first)};
        qsort(&trend->runs[first], next - first, sizeof *trend->runs, by_time);
    }
    if (trend->n_groups > 0)
        qsort(trend->groups, trend->n_groups, sizeof *trend->groups, by_runs);
    return ROAST_OK;
}

/* ---- causes ---- */

/* Whether the fact changed at the run `at`, to a value that no run from `first` on had. */
static bool is_new(const roast_trend_group *group, uint32_t first, uint32_t at,
                   roast_trend_fact fact) {
    const char *after = group->runs[at]->facts[fact].data;
    const char *before = group->runs[at - 1]->facts[fact].data;
    if (after == NULL || before == NULL || after == before)
        return false;
    for (uint32_t i = first; i < at; i++)
        if (group->runs[i]->facts[fact].data == after)
            return false;
    return true;
}

/* The nearest change of a fact around the change from `before` to `after`. */
static bool find_cause(const roast_trend_group *group, const roast_trend_level *before,
                       const roast_trend_level *after, roast_trend_fact fact,
                       roast_trend_cause *out) {
    for (int step = 0; step <= 2 * NEAR; step++) {
        int away = (step + 1) / 2 * (step % 2 == 1 ? -1 : 1);
        int64_t at = (int64_t)after->first + away;
        if (at <= (int64_t)before->first || at >= (int64_t)after->first + after->count ||
            !is_new(group, before->first, (uint32_t)at, fact))
            continue;
        *out = (roast_trend_cause){fact, away, group->runs[at - 1]->facts[fact],
                                   group->runs[at]->facts[fact]};
        return true;
    }
    return false;
}

static roast_status find_causes(roast_trend *trend, const roast_trend_group *group,
                                const roast_trend_level *before, roast_trend_level *after) {
    roast_trend_cause found[ROAST_FACT_COUNT];
    for (int fact = 0; fact < ROAST_FACT_COUNT; fact++)
        after->n_causes +=
            find_cause(group, before, after, (roast_trend_fact)fact, &found[after->n_causes]);
    if (after->n_causes == 0)
        return ROAST_OK;
    roast_trend_cause *causes = roast_arena_alloc(&trend->arena, after->n_causes * sizeof *causes);
    if (causes == NULL)
        return ROAST_ENOMEM;
    memcpy(causes, found, after->n_causes * sizeof *causes);
    after->causes = causes;
    return ROAST_OK;
}

/* ---- levels ---- */

static roast_status make_levels(roast_trend *trend, roast_trend_group *group, double *values,
                                roast_step *steps, roast_error *err) {
    size_t n_steps;
    for (uint32_t i = 0; i < group->n_runs; i++)
        values[i] = group->runs[i]->value;
    ROAST_TRY(roast_levels_find(values, group->n_runs, trend->error_rate, steps, &n_steps, err));
    roast_trend_level *levels = roast_arena_alloc(&trend->arena, (n_steps + 1) * sizeof *levels);
    if (levels == NULL)
        return no_memory(err);
    for (size_t i = 0; i <= n_steps; i++) {
        size_t first = i > 0 ? steps[i - 1].at : 0;
        size_t end = i < n_steps ? steps[i].at : group->n_runs;
        levels[i] = (roast_trend_level){.first = (uint32_t)first,
                                        .count = (uint32_t)(end - first),
                                        .median = roast_median(&values[first], end - first),
                                        .p = i > 0 ? steps[i - 1].p : (double)NAN};
        if (i > 0 && find_causes(trend, group, &levels[i - 1], &levels[i]) != ROAST_OK)
            return no_memory(err);
    }
    group->levels = levels;
    group->n_levels = (uint32_t)n_steps + 1;
    return ROAST_OK;
}

roast_status roast_trend_finish(roast_trend *trend, roast_error *err) {
    if (trend->finished)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "the trend is already computed");
    if (trend->n_runs > UINT32_MAX || make_groups(trend) != ROAST_OK)
        return no_memory(err);
    double *values = roast_alloc((trend->n_runs + 1) * sizeof *values);
    roast_step *steps = roast_alloc((trend->n_runs + 1) * sizeof *steps);
    roast_status status = values != NULL && steps != NULL
                              ? roast_levels_least(trend->error_rate, &trend->least_runs, err)
                              : no_memory(err);
    for (size_t i = 0; status == ROAST_OK && i < trend->n_groups; i++)
        status = make_levels(trend, &trend->groups[i], values, steps, err);
    roast_free(values);
    roast_free(steps);
    trend->finished = status == ROAST_OK;
    return status;
}

/* ---- results ---- */

const roast_metric_info *roast_trend_metric(const roast_trend *trend) {
    return trend->metric;
}

double roast_trend_error_rate(const roast_trend *trend) {
    return trend->error_rate;
}

uint32_t roast_trend_least_runs(const roast_trend *trend) {
    return (uint32_t)trend->least_runs;
}

uint32_t roast_trend_left_out(const roast_trend *trend, roast_trend_left why) {
    return trend->left[why];
}

uint32_t roast_trend_group_count(const roast_trend *trend) {
    return trend->finished ? (uint32_t)trend->n_groups : 0;
}

const roast_trend_group *roast_trend_group_at(const roast_trend *trend, uint32_t index) {
    return &trend->groups[index];
}
