/* One worker, or the number of them, as a line. */
#include "roast/bins.h"
#include "roast/timeline.h"

#include <math.h>

#include "metrics/timeline_internal.h"

enum { LEAST_POINTS = 4 };

static roast_status check_points(uint32_t max_points, roast_error *err) {
    if (max_points >= LEAST_POINTS)
        return ROAST_OK;
    return roast_error_set(err, ROAST_EINVAL, "line", -1, "at least %d points, not %u",
                           LEAST_POINTS, max_points);
}

/* Room for n times and, behind them, n values. */
static roast_status new_points(uint64_t n, double **out, roast_error *err) {
    *out =
        n <= SIZE_MAX / 4 / sizeof **out ? roast_alloc((size_t)(n + 1) * 2 * sizeof **out) : NULL;
    if (*out != NULL)
        return ROAST_OK;
    return roast_error_set(err, ROAST_ENOMEM, "line", -1, "no memory for a line");
}

static uint64_t count_samples(const roast_series *series, uint32_t worker) {
    roast_series_cursor cursor;
    roast_sample sample;
    uint64_t n = 0;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample))
        n++;
    return n;
}

/* The mean time and the mean value of each group of neighbours. */
static roast_status group_points(const double *from_times, const double *from_values, size_t n,
                                 uint32_t groups, double *times, double *values, size_t *count,
                                 roast_error *err) {
    double *extremes;
    ROAST_TRY(new_points(groups, &extremes, err));
    roast_group_ranges(from_times, n, groups, times, extremes, extremes + groups);
    roast_group_ranges(from_values, n, groups, values, extremes, extremes + groups);
    roast_free(extremes);
    *count = groups;
    return ROAST_OK;
}

roast_status roast_timeline_line(const roast_series *series, const roast_measure *measure,
                                 uint32_t worker, roast_utc start, uint32_t max_points,
                                 roast_fewer fewer, double *times, double *values, size_t *count,
                                 roast_error *err) {
    double *points;
    ROAST_TRY(check_points(max_points, err));
    if (worker >= roast_series_worker_count(series))
        return roast_error_set(err, ROAST_EINVAL, "line", -1, "there is no worker %u", worker);
    uint64_t most = count_samples(series, worker);
    ROAST_TRY(new_points(most, &points, err));

    roast_series_cursor cursor;
    roast_sample sample;
    size_t n = 0;
    roast_series_cursor_init(&cursor, series, worker);
    while (n < most && roast_series_cursor_next(&cursor, &sample)) {
        double value = roast_measure_of(measure, &sample);
        if (isnan(value))
            continue;
        points[n] = roast_seconds_since(start, sample.when);
        points[most + n++] = value;
    }
    roast_status status = ROAST_OK;
    if (fewer == ROAST_FEWER_MEANS && n > max_points)
        status = group_points(points, points + most, n, max_points, times, values, count, err);
    else
        *count = roast_thin(points, points + most, n, max_points, times, values);
    roast_free(points);
    return status;
}

roast_status roast_timeline_workers(const roast_series *series, uint32_t max_points, double *times,
                                    double *values, size_t *count, roast_error *err) {
    double *points;
    ROAST_TRY(check_points(max_points, err));
    uint64_t ticks = roast_series_tick_count(series);
    ROAST_TRY(new_points(ticks, &points, err));
    for (uint64_t tick = 0; tick < ticks; tick++) {
        points[tick] = roast_seconds_since(roast_series_tick_time(series, 0),
                                           roast_series_tick_time(series, tick));
        points[ticks + tick] = roast_series_tick_workers(series, tick);
    }
    *count = roast_thin(points, points + ticks, (size_t)ticks, max_points, times, values);
    roast_free(points);
    return ROAST_OK;
}
