/* What plots over time show: workers on one grid, throughput, chunks in their lanes. */
#include "plot_data.h"

#include "convert_run.h"
#include "errors.h"
#include "pairs.h"
#include "values.h"

#include "roast/bins.h"
#include "roast/timeline.h"

#include <math.h>
#include <stdlib.h>

static int raised(roast_status status, const roast_error *err) {
    if (status == ROAST_OK)
        return 0;
    ext_raise(err);
    return -1;
}

static PyObject *seconds_of(roast_utc when) {
    return PyFloat_FromDouble((double)(when.ns / 1000000000) +
                              (double)(when.ns % 1000000000) / 1e9);
}

/* ---- workers ---- */

typedef struct ranked {
    uint32_t worker;
    roast_stats stats;
} ranked;

/* Those with the highest peak first, then with the highest mean, then as they were named. */
static int by_height(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->stats.max != y->stats.max)
        return x->stats.max > y->stats.max ? -1 : 1;
    if (x->stats.mean != y->stats.mean)
        return x->stats.mean > y->stats.mean ? -1 : 1;
    return x->worker < y->worker ? -1 : 1;
}

/* What a line is made of. */
typedef struct line_input {
    const roast_series *series;
    const roast_measure *measure;
    roast_utc start;
    unsigned points;
    roast_fewer fewer;
    double *times, *values; /* room for the points */
} line_input;

/* (name, times, values, mean, max) */
static PyObject *line_tuple(const line_input *line, const ranked *of) {
    size_t count;
    roast_error err;
    if (raised(roast_timeline_line(line->series, line->measure, of->worker, line->start,
                                   line->points, line->fewer, line->times, line->values, &count,
                                   &err),
               &err) != 0)
        return NULL;
    return Py_BuildValue("(NNNdd)", ext_text(roast_series_worker_name(line->series, of->worker)),
                         ext_reals_view(line->times, count), ext_reals_view(line->values, count),
                         of->stats.mean, of->stats.max);
}

static PyObject *line_list(const line_input *line, const ranked *workers, size_t n) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *tuple = line_tuple(line, &workers[i]);
        if (tuple == NULL || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

/* How many workers have the measure, and the lines of the first of them by height. */
static int put_lines(PyObject *dict, const roast_series *series, const roast_measure *measure,
                     const roast_timeline *timeline, size_t wanted, unsigned points,
                     roast_fewer fewer) {
    uint32_t workers = roast_series_worker_count(series);
    size_t n = 0;
    ranked *all = ext_zeroed(workers, sizeof *all);
    double *room = all != NULL ? ext_zeroed((size_t)points * 2, sizeof *room) : NULL;
    for (uint32_t worker = 0; room != NULL && worker < workers; worker++) {
        roast_stats stats = roast_timeline_stats(timeline, worker);
        if (stats.count > 0)
            all[n++] = (ranked){worker, stats};
    }
    int result = -1;
    if (room != NULL) {
        line_input line = {.series = series,
                           .measure = measure,
                           .start = roast_timeline_start(timeline),
                           .points = points,
                           .fewer = fewer,
                           .times = room,
                           .values = room + points};
        qsort(all, n, sizeof *all, by_height);
        if (ext_put_item(dict, "n_workers", PyLong_FromSize_t(n)) == 0)
            result = ext_put_item(dict, "lines", line_list(&line, all, wanted < n ? wanted : n));
    }
    roast_free(all);
    roast_free(room);
    return result;
}

static int put_rows(PyObject *dict, const roast_timeline *timeline) {
    size_t points = roast_timeline_points(timeline);
    for (int row = 0; row < ROAST_TIMELINE_ROW_COUNT; row++)
        if (ext_put_item(dict, roast_timeline_row_name(row),
                         ext_reals_view(roast_timeline_values(timeline, row), points)) != 0)
            return -1;
    return ext_put_item(dict, "start", seconds_of(roast_timeline_start(timeline)));
}

static PyObject *timeline_dict(const roast_series *series, const roast_measure *measure,
                               unsigned points, size_t lines, unsigned line_points,
                               roast_fewer fewer) {
    roast_timeline *timeline;
    roast_error err;
    roast_status status = roast_timeline_new(series, measure, points, &timeline, &err);
    if (status == ROAST_ENOTFOUND)
        Py_RETURN_NONE;
    if (raised(status, &err) != 0)
        return NULL;
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        (put_rows(dict, timeline) != 0 ||
         put_lines(dict, series, measure, timeline, lines, line_points, fewer) != 0))
        Py_CLEAR(dict);
    roast_timeline_free(timeline);
    return dict;
}

/* The number of points of a line, checked. */
static int check_points(unsigned points) {
    if (points >= 4 && points <= ROAST_MAX_BINS)
        return 0;
    PyErr_Format(PyExc_ValueError, "points: 4 to %u are possible, not %u", ROAST_MAX_BINS, points);
    return -1;
}

PyObject *ext_plot_timeline(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"tracking_data", "measure", "points", "lines",
                               "line_points",   "means",   NULL};
    PyObject *tracking, *dict = NULL;
    const char *name;
    Py_ssize_t name_len, lines = 0;
    unsigned points = 1000, line_points = 1000;
    int means = 0;
    roast_measure measure;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os#|InIp:plot_timeline", keywords, &tracking,
                                     &name, &name_len, &points, &lines, &line_points, &means) ||
        check_points(points) != 0 || check_points(line_points) != 0)
        return NULL;
    if (!roast_measure_find((roast_str){name, (size_t)name_len}, &measure)) {
        PyErr_Format(PyExc_ValueError, "nothing that is called '%s' is measured of a worker", name);
        return NULL;
    }
    if (run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_tracking(&input, tracking) == 0)
        dict = timeline_dict(roast_run_series_view(input.run), &measure, points,
                             lines < 0 ? 0 : (size_t)lines, line_points,
                             means ? ROAST_FEWER_MEANS : ROAST_FEWER_EXTREMES);
    run_input_reset(&input);
    return dict;
}

/* ---- how many workers ---- */

static PyObject *counts_dict(const roast_series *series, unsigned points) {
    size_t count;
    roast_error err;
    if (roast_series_tick_count(series) == 0)
        Py_RETURN_NONE;
    double *room = ext_zeroed((size_t)points * 2, sizeof *room);
    PyObject *dict = room != NULL ? PyDict_New() : NULL;
    if (dict != NULL &&
        (raised(roast_timeline_workers(series, points, room, room + points, &count, &err), &err) !=
             0 ||
         ext_put_item(dict, "start", seconds_of(roast_series_tick_time(series, 0))) != 0 ||
         ext_put_item(dict, "time", ext_reals_view(room, count)) != 0 ||
         ext_put_item(dict, "workers", ext_reals_view(room + points, count)) != 0))
        Py_CLEAR(dict);
    roast_free(room);
    return dict;
}

PyObject *ext_plot_worker_counts(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"tracking_data", "points", NULL};
    PyObject *tracking, *dict = NULL;
    unsigned points = 1000;
    run_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|I:plot_worker_counts", keywords, &tracking,
                                     &points) ||
        check_points(points) != 0 || run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_tracking(&input, tracking) == 0) {
        const roast_series *counts = roast_run_counts_view(input.run);
        dict = counts_dict(counts != NULL ? counts : roast_run_series_view(input.run), points);
    }
    run_input_reset(&input);
    return dict;
}

/* ---- intervals ---- */

typedef struct intervals {
    ext_reals starts, ends, amounts;
} intervals;

static void intervals_reset(intervals *all) {
    ext_reals_reset(&all->starts);
    ext_reals_reset(&all->ends);
    ext_reals_reset(&all->amounts);
}

static int real_item(PyObject *tuple, Py_ssize_t index, double *out) {
    PyObject *item = PySequence_GetItem(tuple, index);
    *out = item == NULL || item == Py_None ? NAN : PyFloat_AsDouble(item);
    Py_XDECREF(item);
    if (!PyErr_Occurred())
        return 0;
    if (ext_drop_exception() == 0)
        PyErr_Format(PyExc_ValueError, "chunk_info: %R is no (t_start, t_end, bytes_read)", tuple);
    return -1;
}

static int intervals_of_info(PyObject *info, intervals *out) {
    ext_pairs pairs;
    if (ext_pairs_open(&pairs, info, "chunk_info") != 0)
        return -1;
    size_t n = (size_t)pairs.count;
    int result = -1;
    if ((out->starts.values = ext_zeroed(n, sizeof(double))) != NULL &&
        (out->ends.values = ext_zeroed(n, sizeof(double))) != NULL &&
        (out->amounts.values = ext_zeroed(n, sizeof(double))) != NULL)
        result = 0;
    for (size_t i = 0; result == 0 && ext_pairs_next(&pairs); i++)
        if (real_item(pairs.value, 0, &out->starts.values[i]) != 0 ||
            real_item(pairs.value, 1, &out->ends.values[i]) != 0 ||
            real_item(pairs.value, 2, &out->amounts.values[i]) != 0)
            result = -1;
    out->starts.count = out->ends.count = out->amounts.count = n;
    ext_pairs_close(&pairs);
    return result;
}

/* A chunk_info, or (starts, ends, amounts). */
static int intervals_from(PyObject *object, intervals *out) {
    PyObject *starts, *ends, *amounts;
    if (!PyTuple_Check(object))
        return intervals_of_info(object, out);
    if (!PyArg_ParseTuple(object, "OOO;(starts, ends, amounts) are expected", &starts, &ends,
                          &amounts) ||
        ext_reals_from(starts, "starts", &out->starts) != 0 ||
        ext_reals_from(ends, "ends", &out->ends) != 0 ||
        ext_reals_from(amounts, "amounts", &out->amounts) != 0 ||
        ext_same_length(out->starts.count, out->ends.count, "starts and ends") != 0)
        return -1;
    return ext_same_length(out->starts.count, out->amounts.count, "starts and amounts");
}

/* The time from the first start to the last end, in `count` bins; false: there is none. Intervals of which
 * something is absent are made absent as a whole. */
static bool span_of(const intervals *all, bool amounts, unsigned count, roast_bins *bins,
                    size_t *n) {
    double low = INFINITY, high = -INFINITY;
    *n = 0;
    for (size_t i = 0; i < all->starts.count; i++) {
        double *start = &all->starts.values[i], *end = &all->ends.values[i];
        if (!isfinite(*start) || !isfinite(*end) ||
            (amounts && !isfinite(all->amounts.values[i]))) {
            *start = *end = NAN;
            continue;
        }
        low = *start < low ? *start : low;
        high = *end > high ? *end : *start > high ? *start : high;
        ++*n;
    }
    /* One moment only: as if it had taken a second. */
    *bins = (roast_bins){count, low, high > low ? high : low + 1};
    return *n > 0;
}

/* The edges of the bins in seconds since the first. */
static PyObject *relative_edges(const roast_bins *bins) {
    roast_bins relative = {bins->count, 0, bins->high - bins->low};
    double *edges = ext_zeroed((size_t)bins->count + 1, sizeof *edges);
    PyObject *view = NULL;
    for (uint32_t i = 0; edges != NULL && i <= bins->count; i++)
        edges[i] = roast_bins_edge(&relative, i);
    if (edges != NULL)
        view = ext_reals_view(edges, (size_t)bins->count + 1);
    roast_free(edges);
    return view;
}

static PyObject *throughput_dict(const intervals *all, unsigned count) {
    roast_bins bins;
    size_t n;
    if (!span_of(all, true, count, &bins, &n))
        Py_RETURN_NONE;
    double *rates = ext_zeroed((size_t)count * 2, sizeof *rates);
    PyObject *dict = rates != NULL ? PyDict_New() : NULL;
    if (dict != NULL) {
        const double *starts = all->starts.values, *ends = all->ends.values;
        roast_bins_spread(&bins, NULL, 1, starts, ends, all->amounts.values, all->starts.count,
                          rates);
        roast_bins_spread(&bins, NULL, 1, starts, ends, NULL, all->starts.count, rates + count);
        if (ext_put_item(dict, "n", PyLong_FromSize_t(n)) != 0 ||
            ext_put_item(dict, "start", PyFloat_FromDouble(bins.low)) != 0 ||
            ext_put_item(dict, "edges", relative_edges(&bins)) != 0 ||
            ext_put_item(dict, "rates", ext_reals_view(rates, count)) != 0 ||
            ext_put_item(dict, "running", ext_reals_view(rates + count, count)) != 0)
            Py_CLEAR(dict);
    }
    roast_free(rates);
    return dict;
}

PyObject *ext_plot_throughput(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"intervals", "bins", NULL};
    PyObject *object, *dict = NULL;
    unsigned bins = 200;
    intervals all = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|I:plot_throughput", keywords, &object, &bins))
        return NULL;
    if (bins == 0 || bins > ROAST_MAX_BINS)
        PyErr_Format(PyExc_ValueError, "bins: 1 to %u are possible, not %u", ROAST_MAX_BINS, bins);
    else if (intervals_from(object, &all) == 0)
        dict = throughput_dict(&all, bins);
    intervals_reset(&all);
    return dict;
}

/* ---- chunks in their lanes ---- */

typedef struct gantt {
    ext_codes owners;
    intervals when;
    uint32_t n_owners;
    int32_t *order;    /* owners that have a chunk, in the order of their first one */
    int32_t *place_of; /* the place of an owner in that order; -1: it has none */
    uint32_t used;
    roast_bins span;
    size_t n;
} gantt;

typedef struct first_start {
    double start;
    int32_t owner;
} first_start;

static int by_start(const void *a, const void *b) {
    const first_start *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->owner < y->owner ? -1 : 1;
}

static int order_owners(gantt *g) {
    first_start *firsts = ext_zeroed(g->n_owners, sizeof *firsts);
    g->order = ext_zeroed(g->n_owners, sizeof *g->order);
    g->place_of = ext_zeroed(g->n_owners, sizeof *g->place_of);
    if (firsts == NULL || g->order == NULL || g->place_of == NULL) {
        roast_free(firsts);
        return -1;
    }
    for (uint32_t owner = 0; owner < g->n_owners; owner++)
        firsts[owner] = (first_start){INFINITY, (int32_t)owner};
    for (size_t i = 0; i < g->owners.count; i++) {
        int32_t owner = g->owners.values[i];
        double start = g->when.starts.values[i];
        if (owner >= 0 && (uint32_t)owner < g->n_owners && start < firsts[owner].start)
            firsts[owner].start = start;
    }
    qsort(firsts, g->n_owners, sizeof *firsts, by_start);
    for (uint32_t i = 0; i < g->n_owners; i++) {
        bool has = isfinite(firsts[i].start);
        g->place_of[firsts[i].owner] = has ? (int32_t)g->used : -1;
        if (has)
            g->order[g->used++] = firsts[i].owner;
    }
    roast_free(firsts);
    return 0;
}

static int32_t place_of_chunk(const gantt *g, size_t i) {
    int32_t owner = g->owners.values[i];
    return owner >= 0 && (uint32_t)owner < g->n_owners && isfinite(g->when.starts.values[i])
               ? g->place_of[owner]
               : -1;
}

/* The bars themselves: which chunk, in which row, from when, how long. */
static int put_bars(PyObject *dict, const gantt *g, const int32_t *lanes, const uint32_t *counts) {
    size_t n = 0;
    int32_t *index = ext_zeroed(g->n * 2, sizeof *index);
    double *bars = index != NULL ? ext_zeroed(g->n * 2, sizeof *bars) : NULL;
    int32_t *first_row = bars != NULL ? ext_zeroed(g->used, sizeof *first_row) : NULL;
    int result = -1;
    if (first_row != NULL) {
        for (uint32_t place = 0; place < g->used; place++)
            first_row[place + 1] = first_row[place] + (int32_t)counts[g->order[place]];
        for (size_t i = 0; i < g->owners.count && n < g->n; i++) {
            if (place_of_chunk(g, i) < 0)
                continue;
            double start = g->when.starts.values[i];
            index[n] = (int32_t)i;
            index[g->n + n] = first_row[place_of_chunk(g, i)] + lanes[i];
            bars[n] = start - g->span.low;
            bars[g->n + n++] = g->when.ends.values[i] - start;
        }
        result = ext_put_item(dict, "chunk", ext_codes_view(index, n)) != 0 ||
                         ext_put_item(dict, "row", ext_codes_view(index + g->n, n)) != 0 ||
                         ext_put_item(dict, "left", ext_reals_view(bars, n)) != 0 ||
                         ext_put_item(dict, "width", ext_reals_view(bars + g->n, n)) != 0 ||
                         ext_put_item(dict, "first_row",
                                      ext_codes_view(first_row, (size_t)g->used + 1)) != 0
                     ? -1
                     : 0;
    }
    roast_free(index);
    roast_free(bars);
    roast_free(first_row);
    return result;
}

static int put_lanes(PyObject *dict, const gantt *g) {
    roast_error err;
    int32_t *lanes = ext_zeroed(g->owners.count, sizeof *lanes);
    uint32_t *counts = lanes != NULL ? ext_zeroed(g->n_owners, sizeof *counts) : NULL;
    int result = -1;
    if (counts != NULL &&
        raised(roast_bins_lanes(g->owners.values, g->n_owners, g->when.starts.values,
                                g->when.ends.values, g->owners.count, lanes, counts, &err),
               &err) == 0)
        result = put_bars(dict, g, lanes, counts);
    roast_free(lanes);
    roast_free(counts);
    return result;
}

/* How many chunks of an owner ran at a time, in at most `rows` rows of neighbours. */
static int put_busy(PyObject *dict, const gantt *g, uint32_t rows) {
    rows = g->used < rows ? g->used : rows;
    size_t cells = (size_t)rows * g->span.count;
    double *busy = ext_zeroed(cells, sizeof *busy);
    int32_t *row_of = busy != NULL ? ext_zeroed(g->owners.count, sizeof *row_of) : NULL;
    uint32_t *members = row_of != NULL ? ext_zeroed(rows, sizeof *members) : NULL;
    int result = -1;
    if (members != NULL) {
        for (uint32_t place = 0; place < g->used; place++)
            members[(uint64_t)place * rows / g->used]++;
        for (size_t i = 0; i < g->owners.count; i++) {
            int64_t place = place_of_chunk(g, i);
            row_of[i] = place >= 0 ? (int32_t)(place * rows / g->used) : -1;
        }
        roast_bins_spread(&g->span, row_of, rows, g->when.starts.values, g->when.ends.values, NULL,
                          g->owners.count, busy);
        for (size_t cell = 0; cell < cells; cell++)
            busy[cell] /= members[cell / g->span.count];
        result = ext_put_item(dict, "rows", PyLong_FromUnsignedLong(rows)) != 0 ||
                         ext_put_item(dict, "busy", ext_reals_view(busy, cells)) != 0
                     ? -1
                     : 0;
    }
    roast_free(busy);
    roast_free(row_of);
    roast_free(members);
    return result;
}

static PyObject *gantt_dict(gantt *g, size_t limit, uint32_t rows, unsigned bins) {
    size_t with_owner = 0;
    if (!span_of(&g->when, false, bins, &g->span, &g->n))
        Py_RETURN_NONE;
    if (order_owners(g) != 0)
        return NULL;
    for (size_t i = 0; i < g->owners.count; i++)
        with_owner += place_of_chunk(g, i) >= 0;
    g->n = with_owner;
    if (with_owner == 0)
        Py_RETURN_NONE;
    PyObject *dict = PyDict_New();
    bool exact = g->n <= limit && g->used <= rows;
    if (dict != NULL && (ext_put_item(dict, "n", PyLong_FromSize_t(g->n)) != 0 ||
                         ext_put_item(dict, "start", PyFloat_FromDouble(g->span.low)) != 0 ||
                         ext_put_item(dict, "edges", relative_edges(&g->span)) != 0 ||
                         ext_put_item(dict, "owners", ext_codes_view(g->order, g->used)) != 0 ||
                         (exact ? put_lanes(dict, g) : put_busy(dict, g, rows)) != 0))
        Py_CLEAR(dict);
    return dict;
}

PyObject *ext_plot_gantt(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"owners", "starts", "ends", "n_owners",
                               "limit",  "rows",   "bins", NULL};
    PyObject *owners, *starts, *ends, *dict = NULL;
    Py_ssize_t limit = 5000;
    unsigned rows = 100, bins = 600;
    gantt g = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOI|nII:plot_gantt", keywords, &owners,
                                     &starts, &ends, &g.n_owners, &limit, &rows, &bins))
        return NULL;
    if (rows == 0 || rows > 10000 || bins == 0 || bins > 10000 || g.n_owners > EXT_MAX_OWNERS)
        PyErr_Format(PyExc_ValueError, "rows and bins: 1 to 10000 are possible; owners: at most %d",
                     EXT_MAX_OWNERS);
    else if (ext_codes_from(owners, "owners", &g.owners) == 0 &&
             ext_reals_from(starts, "starts", &g.when.starts) == 0 &&
             ext_reals_from(ends, "ends", &g.when.ends) == 0 &&
             ext_same_length(g.owners.count, g.when.starts.count, "owners and starts") == 0 &&
             ext_same_length(g.owners.count, g.when.ends.count, "owners and ends") == 0)
        dict = gantt_dict(&g, limit < 0 ? 0 : (size_t)limit, rows, bins);
    ext_codes_reset(&g.owners);
    intervals_reset(&g.when);
    roast_free(g.order);
    roast_free(g.place_of);
    return dict;
}
