/* What plots of chunks, files and tasks show: distributions, pairs, stretches of many values, sums. */
#include "plot_data.h"

#include "convert_run.h"
#include "errors.h"
#include "values.h"

#include "roast/bins.h"
#include "roast/metrics.h"

#include <math.h>
#include <stdlib.h>

static int raised(roast_status status, const roast_error *err) {
    if (status == ROAST_OK)
        return 0;
    ext_raise(err);
    return -1;
}

/* The edges of all bins. */
static PyObject *edges_of(const roast_bins *bins) {
    double *edges = ext_zeroed((size_t)bins->count + 1, sizeof *edges);
    if (edges == NULL)
        return NULL;
    for (uint32_t i = 0; i <= bins->count; i++)
        edges[i] = roast_bins_edge(bins, i);
    PyObject *view = ext_reals_view(edges, (size_t)bins->count + 1);
    roast_free(edges);
    return view;
}

/* 1: fitted; 0: there is no value; -1 with an exception set. */
static int fit(const ext_reals *values, unsigned count, roast_bins *bins) {
    roast_error err;
    roast_status status = roast_bins_fit(values->values, values->count, count, bins, &err);
    if (status == ROAST_ENOTFOUND)
        return 0;
    return raised(status, &err) == 0 ? 1 : -1;
}

/* ---- one kind of value ---- */

static int put_statistics(PyObject *dict, const ext_reals *values) {
    roast_stats stats = {0};
    roast_quantiles *quantiles = NULL;
    roast_error err;
    if (raised(roast_quantiles_new(&quantiles, &err), &err) != 0)
        return -1;
    int result = 0;
    for (size_t i = 0; result == 0 && i < values->count; i++) {
        if (!isfinite(values->values[i]))
            continue;
        roast_stats_add(&stats, values->values[i]);
        result = raised(roast_quantiles_add(quantiles, values->values[i], &err), &err);
    }
    if (result == 0)
        result =
            ext_put_item(dict, "n", PyLong_FromUnsignedLongLong(stats.count)) != 0 ||
                    ext_put_item(dict, "mean", PyFloat_FromDouble(stats.mean)) != 0 ||
                    ext_put_item(dict, "min", PyFloat_FromDouble(stats.min)) != 0 ||
                    ext_put_item(dict, "max", PyFloat_FromDouble(stats.max)) != 0 ||
                    ext_put_item(dict, "median",
                                 PyFloat_FromDouble(roast_quantiles_get(quantiles, 0.5))) != 0 ||
                    ext_put_item(dict, "p95",
                                 PyFloat_FromDouble(roast_quantiles_get(quantiles, 0.95))) != 0
                ? -1
                : 0;
    roast_quantiles_free(quantiles);
    return result;
}

static PyObject *histogram_dict(const ext_reals *values, const roast_bins *bins) {
    uint64_t *counts = ext_zeroed(bins->count, sizeof *counts);
    PyObject *dict = counts != NULL ? PyDict_New() : NULL;
    if (dict != NULL) {
        roast_bins_count(bins, values->values, values->count, counts);
        if (ext_put_item(dict, "edges", edges_of(bins)) != 0 ||
            ext_put_item(dict, "counts", ext_counts_view(counts, bins->count)) != 0 ||
            put_statistics(dict, values) != 0)
            Py_CLEAR(dict);
    }
    roast_free(counts);
    return dict;
}

PyObject *ext_plot_histogram(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"values", "bins", "skip", NULL};
    PyObject *object, *skip = NULL, *dict = NULL;
    unsigned count;
    ext_reals values;
    roast_bins bins;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OI|O:plot_histogram", keywords, &object, &count,
                                     &skip) ||
        ext_reals_from(object, "values", &values) != 0)
        return NULL;
    int fitted = ext_reals_skip(&values, skip) == 0 ? fit(&values, count, &bins) : -1;
    if (fitted >= 0)
        dict = fitted > 0 ? histogram_dict(&values, &bins) : Py_NewRef(Py_None);
    ext_reals_reset(&values);
    return dict;
}

/* ---- pairs ---- */

/* Where one is absent, so is the other; returns how many are left. */
static size_t match(ext_reals *x, ext_reals *y) {
    size_t n = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (isfinite(x->values[i]) && isfinite(y->values[i]))
            n++;
        else
            x->values[i] = y->values[i] = NAN;
    }
    return n;
}

static int put_fit(PyObject *dict, const ext_reals *x, const ext_reals *y) {
    roast_line line = {0};
    double intercept = NAN, slope = NAN, r = NAN;
    for (size_t i = 0; i < x->count; i++)
        if (!isnan(x->values[i]))
            roast_line_add(&line, x->values[i], y->values[i]);
    roast_line_fit(&line, &intercept, &slope);
    roast_line_correlation(&line, &r);
    return ext_put_item(dict, "intercept", ext_real_or_none(intercept)) != 0 ||
                   ext_put_item(dict, "slope", ext_real_or_none(slope)) != 0 ||
                   ext_put_item(dict, "r", ext_real_or_none(r)) != 0
               ? -1
               : 0;
}

/* All of them, without gaps. */
static int put_points(PyObject *dict, ext_reals *x, ext_reals *y) {
    size_t used = 0;
    for (size_t i = 0; i < x->count; i++)
        if (!isnan(x->values[i])) {
            x->values[used] = x->values[i];
            y->values[used++] = y->values[i];
        }
    return ext_put_item(dict, "x", ext_reals_view(x->values, used)) != 0 ||
                   ext_put_item(dict, "y", ext_reals_view(y->values, used)) != 0
               ? -1
               : 0;
}

static int put_cells(PyObject *dict, const ext_reals *x, const ext_reals *y,
                     const roast_bins *columns, const roast_bins *rows) {
    size_t cells = (size_t)columns->count * rows->count;
    uint64_t *counts = ext_zeroed(cells, sizeof *counts);
    if (counts == NULL)
        return -1;
    roast_bins_count_pairs(columns, rows, x->values, y->values, x->count, counts);
    int result = ext_put_item(dict, "counts", ext_counts_view(counts, cells));
    roast_free(counts);
    return result;
}

static PyObject *pairs_dict(ext_reals *x, ext_reals *y, size_t limit, unsigned x_bins,
                            unsigned y_bins) {
    roast_bins columns, rows;
    size_t n = match(x, y);
    if (n == 0)
        Py_RETURN_NONE;
    if (fit(x, x_bins, &columns) < 0 || fit(y, y_bins, &rows) < 0)
        return NULL;
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        (ext_put_item(dict, "n", PyLong_FromSize_t(n)) != 0 ||
         ext_put_item(dict, "x_edges", edges_of(&columns)) != 0 ||
         ext_put_item(dict, "y_edges", edges_of(&rows)) != 0 || put_fit(dict, x, y) != 0 ||
         (n > limit ? put_cells(dict, x, y, &columns, &rows) : put_points(dict, x, y)) != 0))
        Py_CLEAR(dict);
    return dict;
}

PyObject *ext_plot_pairs(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"x", "y", "skip", "limit", "x_bins", "y_bins", NULL};
    PyObject *x_object, *y_object, *skip = NULL, *dict = NULL;
    Py_ssize_t limit = 5000;
    unsigned x_bins = 80, y_bins = 60;
    ext_reals x = {NULL, 0}, y = {NULL, 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OnII:plot_pairs", keywords, &x_object,
                                     &y_object, &skip, &limit, &x_bins, &y_bins))
        return NULL;
    if (x_bins > 10000 || y_bins > 10000)
        PyErr_SetString(PyExc_ValueError, "at most 10000 bins each way");
    else if (ext_reals_from(x_object, "x", &x) == 0 && ext_reals_from(y_object, "y", &y) == 0 &&
             ext_same_length(x.count, y.count, "x and y") == 0 && ext_reals_skip(&x, skip) == 0)
        dict = pairs_dict(&x, &y, limit < 0 ? 0 : (size_t)limit, x_bins, y_bins);
    ext_reals_reset(&x);
    ext_reals_reset(&y);
    return dict;
}

/* ---- stretches of a row of values ---- */

typedef struct keyed {
    double key, value;
    size_t place;
} keyed;

/* By key, those without one last; equal ones stay in their order. */
static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (!isnan(x->key) && x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int sort_by(ext_reals *values, PyObject *order) {
    ext_reals keys;
    if (ext_is_none(order))
        return 0;
    if (ext_reals_from(order, "order", &keys) != 0)
        return -1;
    int result = ext_same_length(values->count, keys.count, "order");
    keyed *items = result == 0 ? ext_zeroed(keys.count, sizeof *items) : NULL;
    if (items != NULL) {
        for (size_t i = 0; i < keys.count; i++)
            items[i] = (keyed){keys.values[i], values->values[i], i};
        qsort(items, keys.count, sizeof *items, by_key);
        for (size_t i = 0; i < keys.count; i++)
            values->values[i] = items[i].value;
    }
    roast_free(items);
    ext_reals_reset(&keys);
    return items != NULL ? 0 : -1;
}

static PyObject *ranges_dict(const ext_reals *values, size_t groups) {
    double *rows = ext_zeroed(groups * 3, sizeof *rows);
    PyObject *dict = rows != NULL ? PyDict_New() : NULL;
    if (dict != NULL) {
        double *means = rows, *lows = rows + groups, *highs = rows + 2 * groups;
        roast_group_ranges(values->values, values->count, groups, means, lows, highs);
        if (ext_put_item(dict, "means", ext_reals_view(means, groups)) != 0 ||
            ext_put_item(dict, "lows", ext_reals_view(lows, groups)) != 0 ||
            ext_put_item(dict, "highs", ext_reals_view(highs, groups)) != 0 ||
            put_statistics(dict, values) != 0)
            Py_CLEAR(dict);
    }
    roast_free(rows);
    return dict;
}

static bool any_finite(const ext_reals *values) {
    for (size_t i = 0; i < values->count; i++)
        if (isfinite(values->values[i]))
            return true;
    return false;
}

PyObject *ext_plot_ranges(PyObject *module, PyObject *args, PyObject *kwargs) {
    (void)module;
    static char *keywords[] = {"values", "groups", "order", "skip", NULL};
    PyObject *object, *order = NULL, *skip = NULL, *dict = NULL;
    Py_ssize_t groups;
    ext_reals values;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "On|OO:plot_ranges", keywords, &object, &groups,
                                     &order, &skip))
        return NULL;
    if (groups < 1 || groups > (Py_ssize_t)ROAST_MAX_BINS) {
        PyErr_Format(PyExc_ValueError, "groups: 1 to %u are possible, not %zd", ROAST_MAX_BINS,
                     groups);
        return NULL;
    }
    if (ext_reals_from(object, "values", &values) != 0)
        return NULL;
    if (ext_reals_skip(&values, skip) == 0 && sort_by(&values, order) == 0) {
        size_t wanted = (size_t)groups < values.count ? (size_t)groups : values.count;
        dict = any_finite(&values) ? ranges_dict(&values, wanted) : Py_NewRef(Py_None);
    }
    ext_reals_reset(&values);
    return dict;
}

/* ---- sums ---- */

PyObject *ext_plot_sums(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *codes_object, *values_object, *view = NULL;
    unsigned groups;
    ext_codes codes = {NULL, 0};
    ext_reals values = {NULL, 0};
    if (!PyArg_ParseTuple(args, "OOI:plot_sums", &codes_object, &values_object, &groups))
        return NULL;
    if (groups > EXT_MAX_OWNERS)
        PyErr_Format(PyExc_ValueError, "at most %d groups", EXT_MAX_OWNERS);
    else if (ext_codes_from(codes_object, "codes", &codes) == 0 &&
             ext_reals_from(values_object, "values", &values) == 0 &&
             ext_same_length(codes.count, values.count, "codes and values") == 0) {
        double *sums = ext_zeroed(groups, sizeof *sums);
        if (sums != NULL) {
            roast_group_sums(codes.values, values.values, codes.count, groups, sums);
            view = ext_reals_view(sums, groups);
        }
        roast_free(sums);
    }
    ext_codes_reset(&codes);
    ext_reals_reset(&values);
    return view;
}

/* ---- tasks ---- */

/* Dask says seconds and counts of every activity, and of these bytes as well, which are what matters. */
static bool is_wanted(const roast_span_value *span) {
    static const char *const in_bytes[] = {"memory-read", "disk-read", "disk-write"};
    const char *unit = "seconds";
    for (size_t i = 0; i < sizeof in_bytes / sizeof *in_bytes; i++)
        if (roast_str_equal(span->activity, roast_str_of(in_bytes[i])))
            unit = "bytes";
    return roast_str_equal(span->unit, roast_str_of(unit));
}

static bool is_of_task(const roast_span_value *span) {
    return span->prefix.data != NULL && roast_str_equal(span->context, roast_str_of("execute"));
}

/* of_task[activity] += value */
static int add_value(PyObject *of_task, PyObject *activity, double value) {
    PyObject *known = PyDict_GetItemWithError(of_task, activity);
    if (known == NULL && PyErr_Occurred())
        return -1;
    PyObject *sum = PyFloat_FromDouble(known != NULL ? PyFloat_AS_DOUBLE(known) + value : value);
    int result = sum != NULL ? PyDict_SetItem(of_task, activity, sum) : -1;
    Py_XDECREF(sum);
    return result;
}

static int put_task(PyObject *tasks, const roast_span_value *span) {
    PyObject *name = ext_text(is_of_task(span) ? span->prefix : span->context);
    PyObject *activity = ext_text(span->activity), *fresh = PyDict_New();
    PyObject *of_task = name != NULL && activity != NULL && fresh != NULL
                            ? PyDict_SetDefault(tasks, name, fresh)
                            : NULL; /* borrowed */
    int result = of_task != NULL ? add_value(of_task, activity, span->value) : -1;
    Py_XDECREF(name);
    Py_XDECREF(activity);
    Py_XDECREF(fresh);
    return result;
}

PyObject *ext_plot_tasks(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"span_metrics", "beside", NULL};
    run_input input;
    PyObject *spans, *tasks = NULL;
    int beside = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:plot_tasks", keywords, &spans, &beside) ||
        run_input_init(&input, ext_state_of_module(module)) != 0)
        return NULL;
    if (run_input_set_spans(&input, spans, NULL) == 0)
        tasks = PyDict_New();
    for (uint32_t i = 0; tasks != NULL && i < roast_run_span_count(input.run); i++) {
        roast_span_value span = roast_run_span(input.run, i);
        if (is_wanted(&span) && (beside || is_of_task(&span)) && put_task(tasks, &span) != 0)
            Py_CLEAR(tasks);
    }
    run_input_reset(&input);
    return tasks;
}
