/* A worker's readings of one moment make one row. As a rule they come column after column in order of time: then the
 * row of a reading follows the row of the reading before, or is the last one, or is found by bisection. A reading that
 * comes out of order gets a row of its own; rows of one moment are merged when the array is full, and at the end. */
#include "roast/points.h"

#include <math.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "model/series_internal.h"

typedef struct reading_row {
    int64_t when;
    uint32_t order; /* of being added; set before sorting */
    uint32_t given; /* one bit per column that has a reading, NaN included */
    double value[ROAST_COLUMNS];
} reading_row;

typedef struct worker_rows {
    reading_row *rows;
    size_t count, capacity;
    size_t expected; /* the row of the next reading, if it follows the one before */
    bool unordered;  /* not in order of time, or two rows of one moment */
} worker_rows;

typedef struct count_point {
    int64_t when;
    uint64_t order;
    uint32_t workers;
} count_point;

/* Different moments: the first `ordered` ones in order of time, the others as they came. */
typedef struct moment_list {
    int64_t *at;
    size_t count, capacity, ordered;
} moment_list;

struct roast_points {
    roast_series *series; /* gives the workers their numbers; NULL once it was handed out */
    worker_rows *workers;
    size_t workers_capacity, n_workers;
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
    for (size_t i = 0; i < points->n_workers; i++)
        roast_free(points->workers[i].rows);
    roast_free(points->workers);
    roast_free(points->counts);
    roast_free(points);
}

/* ---- rows ---- */

static int compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_rows(const void *a, const void *b) {
    const reading_row *x = a, *y = b;
    int order = compare(x->when, y->when);
    return order != 0 ? order : compare(x->order, y->order);
}

/* Sorts the rows; of rows of one moment it makes one, in which the last reading of a column counts. */
static void put_in_order(worker_rows *worker) {
    if (!worker->unordered)
        return;
    for (size_t i = 0; i < worker->count; i++)
        worker->rows[i].order = (uint32_t)i;
    qsort(worker->rows, worker->count, sizeof *worker->rows, compare_rows);
    size_t kept = 0;
    for (size_t i = 1; i < worker->count; i++) {
        reading_row *into = &worker->rows[kept], *row = &worker->rows[i];
        if (row->when != into->when) {
            worker->rows[++kept] = *row;
            continue;
        }
        for (unsigned column = 0; column < ROAST_COLUMNS; column++)
            if (row->given >> column & 1)
                into->value[column] = row->value[column];
        into->given |= row->given;
    }
    worker->count = kept + 1;
    worker->unordered = false;
}

/* The index of the first row of ordered rows that is not before `when`. */
static size_t find_row(const worker_rows *worker, int64_t when) {
    size_t at;
    ROAST_BISECT(at, worker->count, worker->rows[at].when < when);
    return at;
}

/* The row of this very moment, or NULL. */
static reading_row *row_at(worker_rows *worker, int64_t when) {
    size_t at = worker->expected;
    if (worker->unordered)
        return NULL;
    if (at >= worker->count || worker->rows[at].when != when) {
        if (worker->count == 0 || worker->rows[worker->count - 1].when < when)
            return NULL;
        at = find_row(worker, when);
    }
    worker->expected = at + 1;
    return at < worker->count && worker->rows[at].when == when ? &worker->rows[at] : NULL;
}

static roast_status add_row(worker_rows *worker, int64_t when, reading_row **out) {
    void *rows = worker->rows;
    if (worker->count == worker->capacity) {
        put_in_order(
            worker); /* a third of the array is free afterwards: so many rows pay for a sort */
        if (worker->count >= UINT32_MAX / 2 ||
            roast_array_reserve(&rows, &worker->capacity, sizeof *worker->rows,
                                worker->count + worker->count / 2 + 1) != ROAST_OK)
            return ROAST_ENOMEM;
        worker->rows = rows;
    }
    reading_row *row = &worker->rows[worker->count];
    worker->unordered = worker->unordered || (worker->count > 0 && row[-1].when >= when);
    *row = (reading_row){.when = when};
    for (unsigned column = 0; column < ROAST_COLUMNS; column++)
        row->value[column] = NAN;
    worker->expected = ++worker->count;
    *out = row;
    return ROAST_OK;
}

/* ---- in ---- */

static roast_status check_open(const roast_points *points, roast_error *err) {
    return points->series != NULL ? ROAST_OK
                                  : roast_error_set(err, ROAST_ESTATE, "points", -1,
                                                    "the series of these readings was made");
}

roast_status roast_points_worker(roast_points *points, roast_str name, uint32_t *worker,
                                 roast_error *err) {
    void *workers = points->workers;
    ROAST_TRY(check_open(points, err));
    ROAST_TRY(roast_series_worker(points->series, name, worker, err));
    if (*worker < points->n_workers)
        return ROAST_OK;
    if (roast_array_reserve_zero(&workers, &points->workers_capacity, sizeof *points->workers,
                                 (size_t)*worker + 1) != ROAST_OK)
        return no_memory(err);
    points->workers = workers;
    points->n_workers = (size_t)*worker + 1;
    return ROAST_OK;
}

roast_status roast_points_add(roast_points *points, uint32_t worker, roast_series_column column,
                              roast_utc when, double value, roast_error *err) {
    ROAST_TRY(check_open(points, err));
    if (worker >= points->n_workers || (unsigned)column >= ROAST_COLUMNS)
        return roast_error_set(err, ROAST_EINVAL, "points", -1,
                               "there is no such worker or column");
    reading_row *row = row_at(&points->workers[worker], when.ns);
    if (row == NULL && add_row(&points->workers[worker], when.ns, &row) != ROAST_OK)
        return no_memory(err);
    row->value[column] = value;
    row->given |= 1u << column;
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

/* ---- moments ---- */

static int compare_moments(const void *a, const void *b) {
    return compare(*(const int64_t *)a, *(const int64_t *)b);
}

static void order_moments(moment_list *moments) {
    if (moments->ordered == moments->count)
        return;
    qsort(moments->at, moments->count, sizeof *moments->at, compare_moments);
    size_t kept = 0;
    for (size_t i = 1; i < moments->count; i++)
        if (moments->at[i] != moments->at[kept])
            moments->at[++kept] = moments->at[i];
    moments->count = moments->ordered = kept + 1;
}

/* The place of a moment among the ordered ones, or their number; *expected is where it may be, then the one behind. */
static size_t find_moment(const moment_list *moments, int64_t when, size_t *expected) {
    size_t at;
    if (*expected < moments->ordered && moments->at[*expected] == when)
        return (*expected)++;
    ROAST_BISECT(at, moments->ordered, moments->at[at] < when);
    *expected = at + 1;
    return at < moments->ordered && moments->at[at] == when ? at : moments->ordered;
}

static roast_status add_moment(moment_list *moments, int64_t when, size_t *expected,
                               roast_error *err) {
    void *at = moments->at;
    if (find_moment(moments, when, expected) < moments->ordered)
        return ROAST_OK;
    if (moments->count == moments->capacity) {
        order_moments(moments);
        if (roast_array_reserve(&at, &moments->capacity, sizeof *moments->at,
                                moments->count + moments->count / 2 + 1) != ROAST_OK)
            return no_memory(err);
        moments->at = at;
    }
    bool in_order = moments->ordered == moments->count &&
                    (moments->count == 0 || moments->at[moments->count - 1] < when);
    moments->at[moments->count++] = when;
    moments->ordered += in_order;
    return ROAST_OK;
}

static roast_status add_all_moments(const roast_points *points, moment_list *moments,
                                    roast_error *err) {
    size_t expected = 0;
    for (size_t i = 0; i < points->n_counts; i++)
        ROAST_TRY(add_moment(moments, points->counts[i].when, &expected, err));
    for (size_t i = 0; i < points->n_workers; i++) {
        const worker_rows *worker = &points->workers[i];
        expected = 0;
        for (size_t row = 0; row < worker->count; row++)
            ROAST_TRY(add_moment(moments, worker->rows[row].when, &expected, err));
    }
    order_moments(moments);
    return ROAST_OK;
}

/* ---- out ---- */

static int compare_counts(const void *a, const void *b) {
    const count_point *x = a, *y = b;
    int order = compare(x->when, y->when);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* *uncounted: at one of the moments nobody counted the workers. */
static roast_status add_ticks(const roast_points *points, const moment_list *moments,
                              roast_series *series, bool *uncounted, roast_error *err) {
    size_t count = 0;
    uint32_t known = points->n_counts > 0 ? points->counts[0].workers : 0;
    *uncounted = false;
    for (size_t i = 0; i < moments->count; i++) {
        size_t before = count;
        for (; count < points->n_counts && points->counts[count].when == moments->at[i]; count++)
            known = points->counts[count].workers;
        *uncounted = *uncounted || count == before;
        ROAST_TRY(roast_series_tick(series, (roast_utc){moments->at[i]}, known, err));
    }
    return ROAST_OK;
}

/* Straight into the worker's rows: roast_series_append takes those of the last tick only. */
static roast_status add_rows(const roast_points *points, uint32_t worker,
                             const moment_list *moments, roast_error *err) {
    const worker_rows *from = &points->workers[worker];
    roast_series *series = points->series;
    roast_worker_slot *slot = &series->workers[worker];
    size_t expected = 0;
    for (size_t i = 0; i < from->count; i++) {
        size_t tick = find_moment(moments, from->rows[i].when, &expected);
        if (roast_series_row_write(&slot->last, tick, from->rows[i].value, &slot->rows) != ROAST_OK)
            return no_memory(err);
        series->sample_count++;
        if (points->n_counts == 0)
            series->ticks[tick].workers++;
    }
    return ROAST_OK;
}

static roast_status build_series(roast_points *points, moment_list *moments, bool *uncounted,
                                 roast_error *err) {
    for (size_t i = 0; i < points->n_workers; i++)
        put_in_order(&points->workers[i]);
    if (points->n_counts > 0)
        qsort(points->counts, points->n_counts, sizeof *points->counts, compare_counts);
    ROAST_TRY(add_all_moments(points, moments, err));
    ROAST_TRY(add_ticks(points, moments, points->series, uncounted, err));
    for (size_t i = 0; i < points->n_workers; i++)
        ROAST_TRY(add_rows(points, (uint32_t)i, moments, err));
    return ROAST_OK;
}

/* The counted moments alone, as a series. */
static roast_status build_counts(const roast_points *points, roast_series **out, roast_error *err) {
    roast_points counted = {.counts = points->counts, .n_counts = points->n_counts};
    moment_list moments = {.count = 0};
    roast_series *series;
    bool uncounted;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = add_all_moments(&counted, &moments, err);
    if (status == ROAST_OK)
        status = add_ticks(&counted, &moments, series, &uncounted, err);
    roast_free(moments.at);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}

roast_status roast_points_build(roast_points *points, roast_series **series, roast_series **counts,
                                roast_error *err) {
    bool uncounted;
    moment_list moments = {.count = 0};
    roast_series *counted = NULL;
    ROAST_TRY(check_open(points, err));
    roast_status status = build_series(points, &moments, &uncounted, err);
    roast_free(moments.at);
    ROAST_TRY(status);
    if (uncounted)
        ROAST_TRY(build_counts(points, &counted, err));
    *series = points->series;
    *counts = counted;
    points->series = NULL;
    return ROAST_OK;
}
