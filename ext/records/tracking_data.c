#include "records/tracking_data.h"

#include "common/errors.h"
#include "common/pairs.h"
#include "common/values.h"
#include "common/when.h"

#include "roast/points.h"

#include <math.h>

static const char counts_key[] = "worker_counts";

/* ---- out ---- */

/* The moments of all ticks as datetimes, made once and shared by all samples. */
static PyObject *tick_times(const roast_series *series) {
    uint64_t ticks = roast_series_tick_count(series);
    PyObject *times = PyList_New(0);
    for (uint64_t tick = 0; times != NULL && tick < ticks; tick++) {
        PyObject *time = ext_when_object(roast_series_tick_time(series, tick));
        if (time == NULL || PyList_Append(times, time) != 0)
            Py_CLEAR(times);
        Py_XDECREF(time);
    }
    return times;
}

static PyObject *count_dict(const roast_series *series, PyObject *times) {
    PyObject *counts = PyDict_New();
    for (Py_ssize_t tick = 0; counts != NULL && tick < PyList_GET_SIZE(times); tick++) {
        PyObject *n = PyLong_FromUnsignedLong(roast_series_tick_workers(series, (uint64_t)tick));
        if (n == NULL || PyDict_SetItem(counts, PyList_GET_ITEM(times, tick), n) != 0)
            Py_CLEAR(counts);
        Py_XDECREF(n);
    }
    return counts;
}

static PyObject *value_object(roast_series_column column, double value) {
    return roast_series_column_at(column)->steps_per_unit <= 1 ? PyLong_FromDouble(value)
                                                               : PyFloat_FromDouble(value);
}

/* Appends (time, value) to a list that is made when the first value comes. */
static int add_value(PyObject **list, PyObject *time, roast_series_column column, double value) {
    if (*list == NULL && (*list = PyList_New(0)) == NULL)
        return -1;
    PyObject *number = value_object(column, value);
    PyObject *pair = number != NULL ? PyTuple_Pack(2, time, number) : NULL;
    int result = pair != NULL ? PyList_Append(*list, pair) : -1;
    Py_XDECREF(number);
    Py_XDECREF(pair);
    return result;
}

static int add_samples(const roast_series *series, uint32_t worker, PyObject *times,
                       PyObject *lists[ROAST_COLUMNS]) {
    roast_series_cursor cursor;
    roast_sample sample;
    Py_ssize_t tick = 0;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        while (tick + 1 < PyList_GET_SIZE(times) &&
               roast_series_tick_time(series, (uint64_t)tick).ns < sample.when.ns)
            tick++;
        if (tick >= PyList_GET_SIZE(times))
            return 0; /* a tick that was taken while we were at it */
        for (int column = 0; column < ROAST_COLUMNS; column++)
            if (!isnan(sample.value[column]) &&
                add_value(&lists[column], PyList_GET_ITEM(times, tick), column,
                          sample.value[column]) != 0)
                return -1;
    }
    return 0;
}

static int add_worker(const roast_series *series, uint32_t worker, PyObject *times,
                      PyObject *const columns[ROAST_COLUMNS]) {
    PyObject *lists[ROAST_COLUMNS] = {NULL};
    PyObject *name = ext_text(roast_series_worker_name(series, worker));
    int result = name != NULL ? add_samples(series, worker, times, lists) : -1;
    for (int column = 0; column < ROAST_COLUMNS; column++) {
        if (result == 0 && lists[column] != NULL)
            result = PyDict_SetItem(columns[column], name, lists[column]);
        Py_XDECREF(lists[column]);
    }
    Py_XDECREF(name);
    return result;
}

/* The dict of all columns, each of them empty; columns[] borrow from it. */
static PyObject *empty_tracking(const roast_series *series, PyObject *times,
                                PyObject *columns[ROAST_COLUMNS]) {
    PyObject *tracking = PyDict_New(), *counts = count_dict(series, times);
    bool made = tracking != NULL && counts != NULL &&
                PyDict_SetItemString(tracking, counts_key, counts) == 0;
    Py_XDECREF(counts);
    for (int column = 0; made && column < ROAST_COLUMNS; column++) {
        columns[column] = PyDict_New();
        made = columns[column] != NULL &&
               PyDict_SetItemString(tracking, roast_series_column_at(column)->key,
                                    columns[column]) == 0;
        Py_XDECREF(columns[column]);
    }
    if (!made)
        Py_CLEAR(tracking);
    return tracking;
}

PyObject *ext_tracking_dict(const roast_series *series) {
    PyObject *columns[ROAST_COLUMNS];
    PyObject *times = tick_times(series);
    PyObject *tracking = times != NULL ? empty_tracking(series, times, columns) : NULL;
    uint32_t workers = roast_series_worker_count(series);
    for (uint32_t worker = 0; tracking != NULL && worker < workers; worker++)
        if (add_worker(series, worker, times, columns) != 0)
            Py_CLEAR(tracking);
    Py_XDECREF(times);
    return tracking;
}

/* ---- in: state ---- */

static int keep_count(roast_points *into, PyObject *when, PyObject *number) {
    roast_utc time;
    roast_error err;
    double workers;
    if (ext_when_parse(when, counts_key, &time) != 0 ||
        ext_sample_number(number, counts_key, when, &workers) != 0)
        return -1;
    if (isnan(workers))
        return 0;
    if (!(workers >= 0 && workers <= ROAST_MAX_WORKERS) || workers != floor(workers)) {
        PyErr_Format(PyExc_ValueError, "%s of %R: %R is no number of workers", counts_key, when,
                     number);
        return -1;
    }
    return ext_raised(roast_points_add_count(into, time, (uint32_t)workers, &err), &err);
}

/* ---- in: one point ---- */

int ext_sample_number(PyObject *value, const char *what, PyObject *of, double *out) {
    if (value == Py_None)
        *out = NAN;
    else /* of an int, PyFloat_AsDouble makes a float object first */
        *out = PyLong_CheckExact(value) ? PyLong_AsDouble(value) : PyFloat_AsDouble(value);
    if (*out != -1.0 || !PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s of %R: a number is expected, not %s", what, of,
                     Py_TYPE(value)->tp_name);
    return -1;
}

static bool is_called(PyObject *key, const char *name) {
    return PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, name) == 0;
}

/* A point in JSON form: the value has its own name, or is the only other entry next to the time. */
static int split_dict(PyObject *point, const char *value_key, PyObject **when, PyObject **value) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, point, value_key);
    while (ext_pairs_next(&pairs)) {
        if (is_called(pairs.key, "timestamp"))
            Py_XSETREF(*when, Py_NewRef(pairs.value));
        else if (is_called(pairs.key, value_key) || pairs.count == 2)
            Py_XSETREF(*value, Py_NewRef(pairs.value));
    }
    ext_pairs_close(&pairs);
    return result;
}

/* (when, value), or {"timestamp": when, value_key: value}: two new references. */
static int split_point(PyObject *point, const char *key, const char *value_key, PyObject **when,
                       PyObject **value) {
    *when = *value = NULL;
    int result = 0;
    if (PyDict_Check(point)) {
        result = split_dict(point, value_key, when, value);
    } else if (PyTuple_Check(point) || PyList_Check(point)) {
        PyObject *pair = PySequence_Tuple(point);
        result = pair != NULL ? 0 : -1;
        if (pair != NULL && PyTuple_GET_SIZE(pair) == 2) {
            *when = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
            *value = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        }
        Py_XDECREF(pair);
    }
    if (*when != NULL && *value != NULL)
        return 0;
    Py_CLEAR(*when);
    Py_CLEAR(*value);
    if (result == 0)
        PyErr_Format(PyExc_ValueError, "%s: %R is neither (time, value) nor {'timestamp', '%s'}",
                     key, point, value_key);
    return -1;
}

/* ---- in: the parts ---- */

static PyObject *list_of(PyObject *points, const char *key) {
    PyObject *list = PyUnicode_Check(points) ? NULL : PySequence_List(points);
    if (list == NULL && (PyErr_ExceptionMatches(PyExc_TypeError) || !PyErr_Occurred()))
        PyErr_Format(PyExc_TypeError, "%s: a list of (time, value) is expected, not %s", key,
                     Py_TYPE(points)->tp_name);
    return list;
}

static int parse_count_dict(roast_points *into, PyObject *counts) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, counts, counts_key);
    while (result == 0 && ext_pairs_next(&pairs))
        result = keep_count(into, pairs.key, pairs.value);
    ext_pairs_close(&pairs);
    return result;
}

static int parse_counts(roast_points *into, PyObject *counts) {
    if (!PyList_Check(counts) && !PyTuple_Check(counts))
        return parse_count_dict(into, counts);
    PyObject *points = list_of(counts, counts_key);
    int result = points != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(points); i++) {
        PyObject *when, *number;
        result =
            split_point(PyList_GET_ITEM(points, i), counts_key, "worker_count", &when, &number);
        if (result == 0) {
            result = keep_count(into, when, number);
            Py_DECREF(when);
            Py_DECREF(number);
        }
    }
    Py_XDECREF(points);
    return result;
}

static int parse_point(roast_points *into, PyObject *point, PyObject *name, uint32_t worker,
                       roast_series_column column) {
    const roast_series_column_info *info = roast_series_column_at(column);
    PyObject *when, *number;
    roast_utc time;
    roast_error err;
    double value;
    if (split_point(point, info->key, info->json_key, &when, &number) != 0)
        return -1;
    int result = ext_when_parse(when, info->key, &time);
    if (result == 0)
        result = ext_sample_number(number, info->key, name, &value);
    if (result == 0)
        result = ext_raised(roast_points_add(into, worker, column, time, value, &err), &err);
    Py_DECREF(when);
    Py_DECREF(number);
    return result;
}

static int worker_number(roast_points *into, PyObject *name, uint32_t *worker) {
    PyObject *text = PyObject_Str(name);
    roast_str utf8;
    PyObject *held = text != NULL ? ext_utf8(text, &utf8) : NULL;
    roast_error err;
    int result =
        held != NULL ? ext_raised(roast_points_worker(into, utf8, worker, &err), &err) : -1;
    Py_XDECREF(held);
    Py_XDECREF(text);
    return result;
}

static int parse_worker(roast_points *into, PyObject *name, PyObject *points,
                        roast_series_column column) {
    uint32_t worker;
    PyObject *list = list_of(points, roast_series_column_at(column)->key);
    int result = list != NULL ? worker_number(into, name, &worker) : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = parse_point(into, PyList_GET_ITEM(list, i), name, worker, column);
    Py_XDECREF(list);
    return result;
}

static int parse_column(roast_points *into, PyObject *workers, roast_series_column column) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, workers, roast_series_column_at(column)->key);
    while (result == 0 && ext_pairs_next(&pairs))
        result = parse_worker(into, pairs.key, pairs.value, column);
    ext_pairs_close(&pairs);
    return result;
}

static int parse_tracking(roast_points *into, PyObject *tracking) {
    PyObject *part;
    if (ext_entry(tracking, counts_key, &part) != 0)
        return -1;
    int result = part != NULL ? parse_counts(into, part) : 0;
    Py_XDECREF(part);
    for (int column = 0; result == 0 && column < ROAST_COLUMNS; column++) {
        if (ext_entry(tracking, roast_series_column_at(column)->key, &part) != 0)
            return -1;
        if (part != NULL)
            result = parse_column(into, part, column);
        Py_XDECREF(part);
    }
    return result;
}

int ext_tracking_series(PyObject *tracking, roast_series **series, roast_series **counts) {
    roast_points *into;
    roast_error err;
    *series = *counts = NULL;
    if (ext_check_mapping(tracking, "tracking_data") != 0)
        return -1;
    if (ext_raised(roast_points_new(&into, &err), &err) != 0)
        return -1;
    int result = parse_tracking(into, tracking);
    if (result == 0)
        result = ext_raised(roast_points_build(into, series, counts, &err), &err);
    roast_points_free(into);
    return result;
}

roast_series_column ext_column_of(PyObject *name) {
    int column = 0;
    while (column < ROAST_COLUMNS &&
           !(PyUnicode_Check(name) &&
             PyUnicode_CompareWithASCIIString(name, roast_series_column_at(column)->name) == 0))
        column++;
    return column;
}
