#include "roast/points.h"

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"

typedef struct point {
    int64_t when;
    double value;
    uint64_t order; /* of being added */
    uint32_t worker;
    uint32_t column;
} point;

typedef struct count_point {
    int64_t when;
    uint64_t order;
    uint32_t workers;
} count_point;

struct roast_points {
    roast_series *series; /* gives the workers their numbers; NULL once it was handed out */
    point *values;
    size_t n_values, values_capacity;
    count_point *counts;
    size_t n_counts, counts_capacity;
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "points", -1, "no memory for the readings");
}

/* ---- life ---- */

roast_status roast_points_new(roast_points **out, roast_error *err) {
    roast_points *points = roast_alloc_zero(sizeof *points);
    if (points == NULL)
        return no_memory(err);
    roast_status status = roast_series_new(&points->series, err);
    if (status != ROAST_OK) {
        roast_points_free(points);
        return status;
    }
    *out = points;
    return ROAST_OK;
}

void roast_points_free(roast_points *points) {
    if (points == NULL)
        return;
    roast_series_free(points->series);
    roast_free(points->values);
    roast_free(points->counts);
    roast_free(points);
}

/* ---- in ---- */

static roast_status check_open(const roast_points *points, roast_error *err) {
    return points->series != NULL ? ROAST_OK
                                  : roast_error_set(err, ROAST_ESTATE, "points", -1,
                                                    "the series of these readings was made");
}

roast_status roast_points_worker(roast_points *points, roast_str name, uint32_t *worker,
                                 roast_error *err) {
    ROAST_TRY(check_open(points, err));
    return roast_series_worker(points->series, name, worker, err);
}

roast_status roast_points_add(roast_points *points, uint32_t worker, roast_series_column column,
                              roast_utc when, double value, roast_error *err) {
    void *values = points->values;
    ROAST_TRY(check_open(points, err));
    if (worker >= roast_series_worker_count(points->series) || (unsigned)column >= ROAST_COLUMNS)
        return roast_error_set(err, ROAST_EINVAL, "points", -1,
                               "there is no such worker or column");
    if (roast_array_reserve(&values, &points->values_capacity, sizeof *points->values,
                            points->n_values + 1) != ROAST_OK)
        return no_memory(err);
    points->values = values;
    points->values[points->n_values] =
        (point){when.ns, value, points->n_values, worker, (uint32_t)column};
    points->n_values++;
    return ROAST_OK;
}

roast_status roast_points_add_count(roast_points *points, roast_utc when, uint32_t workers,
                                    roast_error *err) {
    void *counts = points->counts;
    ROAST_TRY(check_open(points, err));
    if (roast_array_reserve(&counts, &points->counts_capacity, sizeof *points->counts,
                            points->n_counts + 1) != ROAST_OK)
        return no_memory(err);
    points->counts = counts;
    points->counts[points->n_counts] = (count_point){when.ns, points->n_counts, workers};
    points->n_counts++;
    return ROAST_OK;
}

/* ---- out ---- */

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_times(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_values(const void *a, const void *b) {
    const point *x = a, *y = b;
    int order = compare_times(x->when, y->when);
    if (order == 0)
        order = compare(x->worker, y->worker);
    return order != 0 ? order : compare(x->order, y->order);
}

static int compare_counts(const void *a, const void *b) {
    const count_point *x = a, *y = b;
    int order = compare_times(x->when, y->when);
    return order != 0 ? order : compare(x->order, y->order);
}

static uint32_t workers_at(const roast_points *points, size_t first) {
    const point *values = points->values;
    uint32_t workers = 0;
    for (size_t i = first; i < points->n_values && values[i].when == values[first].when; i++)
        workers += i == first || values[i].worker != values[i - 1].worker;
    return workers;
}

/* Appends the rows of one tick; *at goes on to the next one. */
static roast_status build_rows(const roast_points *points, size_t *at, roast_series *series,
                               roast_error *err) {
    const point *values = points->values;
    const int64_t when = values[*at].when;
    while (*at < points->n_values && values[*at].when == when) {
        const uint32_t worker = values[*at].worker;
        double row[ROAST_COLUMNS];
        for (int column = 0; column < ROAST_COLUMNS; column++)
            row[column] = NAN;
        for (; *at < points->n_values && values[*at].when == when && values[*at].worker == worker;
             ++*at)
            row[values[*at].column] = values[*at].value;
        ROAST_TRY(roast_series_append(series, worker, row, err));
    }
    return ROAST_OK;
}

/* Ticks at all moments of counts and of values; *uncounted: a moment of the values has no count. */
static roast_status build_series(const roast_points *points, roast_series *series, bool *uncounted,
                                 roast_error *err) {
    const size_t n_values = points->n_values, n_counts = points->n_counts;
    uint32_t known = n_counts > 0 ? points->counts[0].workers : 0;
    size_t value = 0, count = 0;
    *uncounted = false;
    while (value < n_values || count < n_counts) {
        bool counted = count < n_counts && (value == n_values || points->counts[count].when <=
                                                                     points->values[value].when);
        int64_t when = counted ? points->counts[count].when : points->values[value].when;
        *uncounted = *uncounted || !counted;
        for (; count < n_counts && points->counts[count].when == when; count++)
            known = points->counts[count].workers;
        uint32_t workers = n_counts > 0 ? known : workers_at(points, value);
        ROAST_TRY(roast_series_tick(series, (roast_utc){when}, workers, err));
        if (value < n_values && points->values[value].when == when)
            ROAST_TRY(build_rows(points, &value, series, err));
    }
    return ROAST_OK;
}

static roast_status build_counts(const roast_points *points, roast_series **out, roast_error *err) {
    roast_points counted = {.counts = points->counts, .n_counts = points->n_counts};
    bool uncounted;
    roast_series *series;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = build_series(&counted, series, &uncounted, err);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

roast_status roast_points_build(roast_points *points, roast_series **series, roast_series **counts,
                                roast_error *err) {
    bool uncounted;
    roast_series *counted = NULL;
    ROAST_TRY(check_open(points, err));
    if (points->n_values > 0)
        qsort(points->values, points->n_values, sizeof *points->values, compare_values);
    if (points->n_counts > 0)
        qsort(points->counts, points->n_counts, sizeof *points->counts, compare_counts);
    ROAST_TRY(build_series(points, points->series, &uncounted, err));
    if (uncounted)
        ROAST_TRY(build_counts(points, &counted, err));
    *series = points->series;
    *counts = counted;
    points->series = NULL;
    return ROAST_OK;
}
