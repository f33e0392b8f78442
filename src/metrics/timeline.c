/* All workers on one grid of time. */
#include "roast/timeline.h"

#include <math.h>
#include <stdlib.h>

#include "metrics/timeline_internal.h"

struct roast_timeline {
    roast_utc start;
    size_t points;
    double *rows[ROAST_TIMELINE_ROW_COUNT];
    roast_stats *stats; /* one a worker */
    uint32_t workers;
};

/* How long a worker counts with its last value while it is not looked at, in intervals of its own. */
#define HOLD_INTERVALS 3

/* ---- measures ---- */

bool roast_measure_find(roast_str name, roast_measure *out) {
#define X(share, value, of, factor)                                                                \
    if (roast_str_equal(name, roast_str_of(#share))) {                                             \
        *out = (roast_measure){ROAST_COLUMN_##value, ROAST_COLUMN_##of, factor};                   \
        return true;                                                                               \
    }
    ROAST_MEASURE_SHARES(X)
#undef X
    for (int column = 0; column < ROAST_COLUMNS; column++)
        if (roast_str_equal(name, roast_str_of(roast_series_column_at(column)->name))) {
            *out = (roast_measure){(roast_series_column)column, ROAST_COLUMNS, 1};
            return true;
        }
    return false;
}

double roast_measure_of(const roast_measure *measure, const roast_sample *sample) {
    double value = sample->value[measure->value] * measure->factor;
    if (measure->of == ROAST_COLUMNS)
        return value;
    double whole = sample->value[measure->of];
    return whole > 0 ? value / whole : NAN;
}

const char *roast_timeline_row_name(roast_timeline_row row) {
    static const char *const names[] = {
#define X(name) #name,
        ROAST_TIMELINE_ROWS(X)
#undef X
    };
    return (unsigned)row < ROAST_TIMELINE_ROW_COUNT ? names[row] : "unknown";
}

/* ---- one worker, sample by sample ---- */

typedef struct follower {
    roast_series_cursor cursor;
    bool more, holding;
    double next_time, next_value; /* where there are more */
    double held_time, held_value; /* where it holds one */
    double patience;              /* s that it holds one at most */
} follower;

static void advance(follower *worker, const roast_measure *measure, roast_utc start) {
    roast_sample sample;
    worker->more = false;
    while (!worker->more && roast_series_cursor_next(&worker->cursor, &sample)) {
        worker->next_value = roast_measure_of(measure, &sample);
        worker->next_time = roast_seconds_since(start, sample.when);
        worker->more = !isnan(worker->next_value);
    }
}

/* The worker's samples before `end`, as statistics; or what it holds meanwhile. */
static roast_stats take_until(follower *worker, const roast_measure *measure, roast_utc start,
                              double end) {
    roast_stats stats = {0};
    while (worker->more && worker->next_time < end) {
        roast_stats_add(&stats, worker->next_value);
        worker->holding = true;
        worker->held_time = worker->next_time;
        worker->held_value = worker->next_value;
        advance(worker, measure, start);
    }
    if (stats.count == 0 && worker->holding && worker->more &&
        worker->next_time - worker->held_time <= worker->patience)
        roast_stats_add(&stats, worker->held_value);
    return stats;
}

/* ---- the grid ---- */

typedef struct grid {
    roast_utc first, last; /* samples that have the measure */
    uint64_t first_tick;   /* the tick of the first one */
    bool ticks;            /* a point a tick; otherwise equal stretches */
    size_t points;
} grid;

/* Point i is what lies from its begin to the begin of the next. */
static double begin_of(const roast_series *series, const grid *g, size_t i) {
    if (i >= g->points)
        return INFINITY;
    if (g->ticks)
        return roast_seconds_since(g->first, roast_series_tick_time(series, g->first_tick + i));
    return roast_seconds_since(g->first, g->last) * ((double)i / (double)g->points);
}

static double time_of(const roast_series *series, const grid *g, size_t i) {
    if (g->ticks)
        return begin_of(series, g, i);
    return roast_seconds_since(g->first, g->last) * (((double)i + 0.5) / (double)g->points);
}

/* The first tick at or after a moment. */
static uint64_t tick_at(const roast_series *series, roast_utc when) {
    uint64_t low = 0, high = roast_series_tick_count(series);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (roast_series_tick_time(series, middle).ns < when.ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void set_grid(const roast_series *series, uint32_t max_points, grid *g) {
    g->first_tick = tick_at(series, g->first);
    uint64_t ticks = tick_at(series, g->last) - g->first_tick + 1;
    g->ticks = ticks <= max_points;
    g->points = g->ticks ? (size_t)ticks : max_points;
}

/* ---- a look at everything first ---- */

/* Fills the workers' statistics and patience; false: no sample has the measure. */
static bool look_through(const roast_series *series, const roast_measure *measure,
                         roast_timeline *timeline, follower *workers, grid *g) {
    bool seen = false;
    for (uint32_t w = 0; w < timeline->workers; w++) {
        roast_series_cursor cursor;
        roast_sample sample;
        roast_stats stats = {0};
        roast_utc first = {0}, last = {0};
        roast_series_cursor_init(&cursor, series, w);
        while (roast_series_cursor_next(&cursor, &sample)) {
            double value = roast_measure_of(measure, &sample);
            if (isnan(value))
                continue;
            if (stats.count == 0)
                first = sample.when;
            last = sample.when;
            roast_stats_add(&stats, value);
        }
        timeline->stats[w] = stats;
        if (stats.count == 0)
            continue;
        workers[w].patience = stats.count > 1 ? HOLD_INTERVALS * roast_seconds_since(first, last) /
                                                    (double)(stats.count - 1)
                                              : 0;
        if (!seen || first.ns < g->first.ns)
            g->first = first;
        if (!seen || last.ns > g->last.ns)
            g->last = last;
        seen = true;
    }
    return seen;
}

/* ---- the points ---- */

static int compare_reals(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, with linear interpolation between neighbours. */
static double quantile(const double *sorted, size_t n, double q) {
    double place = (double)(n - 1) * q;
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (sorted[below + 1] - sorted[below]) * (place - (double)below);
}

static void put_point(roast_timeline *timeline, size_t point, double *means, size_t n, double low,
                      double high) {
    double **rows = timeline->rows, sum = 0;
    qsort(means, n, sizeof *means, compare_reals);
    for (size_t i = 0; i < n; i++)
        sum += means[i];
    rows[ROAST_TIMELINE_workers][point] = (double)n;
    rows[ROAST_TIMELINE_sum][point] = n > 0 ? sum : NAN;
    rows[ROAST_TIMELINE_mean][point] = n > 0 ? sum / (double)n : NAN;
    rows[ROAST_TIMELINE_min][point] = n > 0 ? low : NAN;
    rows[ROAST_TIMELINE_max][point] = n > 0 ? high : NAN;
    rows[ROAST_TIMELINE_p10][point] = n > 0 ? quantile(means, n, 0.1) : NAN;
    rows[ROAST_TIMELINE_p50][point] = n > 0 ? quantile(means, n, 0.5) : NAN;
    rows[ROAST_TIMELINE_p90][point] = n > 0 ? quantile(means, n, 0.9) : NAN;
}

static void fill_points(const roast_series *series, const roast_measure *measure, const grid *g,
                        roast_timeline *timeline, follower *workers, double *means) {
    for (uint32_t w = 0; w < timeline->workers; w++) {
        roast_series_cursor_init(&workers[w].cursor, series, w);
        advance(&workers[w], measure, g->first);
    }
    for (size_t point = 0; point < g->points; point++) {
        double end = begin_of(series, g, point + 1), low = INFINITY, high = -INFINITY;
        size_t n = 0;
        for (uint32_t w = 0; w < timeline->workers; w++) {
            roast_stats stats = take_until(&workers[w], measure, g->first, end);
            if (stats.count == 0)
                continue;
            means[n++] = stats.mean;
            low = stats.min < low ? stats.min : low;
            high = stats.max > high ? stats.max : high;
        }
        timeline->rows[ROAST_TIMELINE_time][point] = time_of(series, g, point);
        put_point(timeline, point, means, n, low, high);
    }
}

/* ---- life ---- */

void roast_timeline_free(roast_timeline *timeline) {
    if (timeline == NULL)
        return;
    roast_free(timeline->rows[0]); /* one block for all of them */
    roast_free(timeline->stats);
    roast_free(timeline);
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "timeline", -1, "no memory for a timeline");
}

static roast_status make_rows(roast_timeline *timeline, size_t points, roast_error *err) {
    double *block = roast_alloc(points * ROAST_TIMELINE_ROW_COUNT * sizeof *block);
    if (block == NULL)
        return no_memory(err);
    for (int row = 0; row < ROAST_TIMELINE_ROW_COUNT; row++)
        timeline->rows[row] = block + (size_t)row * points;
    timeline->points = points;
    return ROAST_OK;
}

static roast_status build(const roast_series *series, const roast_measure *measure,
                          uint32_t max_points, follower *workers, double *means,
                          roast_timeline *timeline, roast_error *err) {
    grid g = {0};
    if (!look_through(series, measure, timeline, workers, &g))
        return roast_error_set(
            err, ROAST_ENOTFOUND, "timeline", -1, "no sample has %s%s%s",
            roast_series_column_at(measure->value)->name,
            measure->of == ROAST_COLUMNS ? "" : " and ",
            measure->of == ROAST_COLUMNS ? "" : roast_series_column_at(measure->of)->name);
    set_grid(series, max_points, &g);
    timeline->start = g.first;
    ROAST_TRY(make_rows(timeline, g.points, err));
    fill_points(series, measure, &g, timeline, workers, means);
    return ROAST_OK;
}

roast_status roast_timeline_new(const roast_series *series, const roast_measure *measure,
                                uint32_t max_points, roast_timeline **out, roast_error *err) {
    if (max_points == 0)
        return roast_error_set(err, ROAST_EINVAL, "timeline", -1, "at least one point");
    size_t n = roast_series_worker_count(series);
    roast_timeline *timeline = roast_alloc_zero(sizeof *timeline);
    /* One more, as there may be none. */
    follower *workers = timeline != NULL ? roast_alloc_zero((n + 1) * sizeof *workers) : NULL;
    double *means = workers != NULL ? roast_alloc((n + 1) * sizeof *means) : NULL;
    roast_status status = means != NULL ? ROAST_OK : no_memory(err);
    if (status == ROAST_OK) {
        timeline->workers = (uint32_t)n;
        timeline->stats = roast_alloc_zero((n + 1) * sizeof *timeline->stats);
        status = timeline->stats != NULL
                     ? build(series, measure, max_points, workers, means, timeline, err)
                     : no_memory(err);
    }
    roast_free(workers);
    roast_free(means);
    if (status == ROAST_OK)
        *out = timeline;
    else
        roast_timeline_free(timeline);
    return status;
}

/* ---- out ---- */

roast_utc roast_timeline_start(const roast_timeline *timeline) {
    return timeline->start;
}

size_t roast_timeline_points(const roast_timeline *timeline) {
    return timeline->points;
}

const double *roast_timeline_values(const roast_timeline *timeline, roast_timeline_row row) {
    return (unsigned)row < ROAST_TIMELINE_ROW_COUNT ? timeline->rows[row] : NULL;
}

roast_stats roast_timeline_stats(const roast_timeline *timeline, uint32_t worker) {
    return worker < timeline->workers ? timeline->stats[worker] : (roast_stats){0};
}
