#include "tracking_data.h"

#include "errors.h"
#include "values.h"
#include "when.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- in: what was found ---- */

typedef struct found_value {
    int64_t when;
    double value;
    uint32_t worker;
    uint32_t column;
} found_value;

typedef struct found_count {
    int64_t when;
    uint32_t workers;
} found_count;

typedef struct parse {
    roast_series *series; /* gives the workers their numbers */
    found_value *values;
    size_t n_values, values_capacity;
    found_count *counts;
    size_t n_counts, counts_capacity;
} parse;

/* Room for one more; 0 or -1 with an exception set. */
static int reserve(void **items, size_t *capacity, size_t count, size_t size) {
    if (count < *capacity)
        return 0;
    size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *moved = wanted <= SIZE_MAX / 2 / size ? roast_realloc(*items, wanted * size) : NULL;
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *items = moved;
    *capacity = wanted;
    return 0;
}

static int keep_value(parse *p, found_value value) {
    void *values = p->values;
    if (reserve(&values, &p->values_capacity, p->n_values, sizeof value) != 0)
        return -1;
    p->values = values;
    p->values[p->n_values++] = value;
    return 0;
}

static int keep_count(parse *p, PyObject *when, PyObject *number) {
    void *counts = p->counts;
    roast_utc time;
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
    if (reserve(&counts, &p->counts_capacity, p->n_counts, sizeof *p->counts) != 0)
        return -1;
    p->counts = counts;
    p->counts[p->n_counts++] = (found_count){time.ns, (uint32_t)workers};
    return 0;
}

/* ---- in: one point ---- */

int ext_sample_number(PyObject *value, const char *what, PyObject *of, double *out) {
    *out = value == Py_None ? NAN : PyFloat_AsDouble(value);
    if (*out != -1.0 || !PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s of %R: a number is expected, not %s", what, of,
                     Py_TYPE(value)->tp_name);
    return -1;
}

/* The value of a point in JSON form: under its own name, or the one thing beside the time. */
static PyObject *point_value(PyObject *point, const char *value_key) {
    PyObject *value = PyDict_GetItemString(point, value_key), *key, *other;
    Py_ssize_t at = 0;
    while (value == NULL && PyDict_GET_SIZE(point) == 2 && PyDict_Next(point, &at, &key, &other))
        if (!PyUnicode_Check(key) || PyUnicode_CompareWithASCIIString(key, "timestamp") != 0)
            value = other;
    return Py_XNewRef(value);
}

/* (when, value), or {"timestamp": when, value_key: value}: two new references. */
static int split_point(PyObject *point, const char *key, const char *value_key, PyObject **when,
                       PyObject **value) {
    *when = *value = NULL;
    if (PyDict_Check(point)) {
        *when = Py_XNewRef(PyDict_GetItemString(point, "timestamp"));
        *value = point_value(point, value_key);
    } else if ((PyTuple_Check(point) || PyList_Check(point)) && PySequence_Size(point) == 2) {
        *when = PySequence_GetItem(point, 0);
        *value = PySequence_GetItem(point, 1);
    }
    if (*when != NULL && *value != NULL)
        return 0;
    Py_CLEAR(*when);
    Py_CLEAR(*value);
    PyErr_Format(PyExc_ValueError, "%s: %R is neither (time, value) nor {'timestamp', '%s'}", key,
                 point, value_key);
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

/* List of pairs, of any mapping. */
static PyObject *items_of(PyObject *mapping, const char *key) {
    PyObject *items = PyDict_Check(mapping) || PyObject_HasAttrString(mapping, "items")
                          ? PyMapping_Items(mapping)
                          : NULL;
    if (items == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: a dict is expected, not %s", key,
                     Py_TYPE(mapping)->tp_name);
    return items;
}

static int parse_counts(parse *p, PyObject *counts) {
    bool listed = PyList_Check(counts) || PyTuple_Check(counts);
    PyObject *points = listed ? list_of(counts, counts_key) : items_of(counts, counts_key);
    int result = points != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(points); i++) {
        PyObject *when, *number;
        result =
            split_point(PyList_GET_ITEM(points, i), counts_key, "worker_count", &when, &number);
        if (result == 0) {
            result = keep_count(p, when, number);
            Py_DECREF(when);
            Py_DECREF(number);
        }
    }
    Py_XDECREF(points);
    return result;
}

static int parse_point(parse *p, PyObject *point, PyObject *name, uint32_t worker,
                       roast_series_column column) {
    const roast_series_column_info *info = roast_series_column_at(column);
    PyObject *when, *number;
    roast_utc time;
    double value;
    if (split_point(point, info->key, info->json_key, &when, &number) != 0)
        return -1;
    int result = ext_when_parse(when, info->key, &time);
    if (result == 0)
        result = ext_sample_number(number, info->key, name, &value);
    if (result == 0)
        result = keep_value(p, (found_value){time.ns, value, worker, (uint32_t)column});
    Py_DECREF(when);
    Py_DECREF(number);
    return result;
}

static int worker_number(roast_series *series, PyObject *name, uint32_t *worker) {
    PyObject *text = PyObject_Str(name);
    Py_ssize_t len;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    roast_error err;
    int result = -1;
    if (utf8 != NULL &&
        roast_series_worker(series, (roast_str){utf8, (size_t)len}, worker, &err) == ROAST_OK)
        result = 0;
    else if (utf8 != NULL)
        ext_raise(&err);
    Py_XDECREF(text);
    return result;
}

static int parse_worker(parse *p, PyObject *name, PyObject *points, roast_series_column column) {
    uint32_t worker;
    PyObject *list = list_of(points, roast_series_column_at(column)->key);
    int result = list != NULL ? worker_number(p->series, name, &worker) : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = parse_point(p, PyList_GET_ITEM(list, i), name, worker, column);
    Py_XDECREF(list);
    return result;
}

static int parse_column(parse *p, PyObject *workers, roast_series_column column) {
    PyObject *items = items_of(workers, roast_series_column_at(column)->key);
    int result = items != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
            result = parse_worker(p, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), column);
    }
    Py_XDECREF(items);
    return result;
}

/* *out: the entry, None counted as missing; a new reference or NULL. 0 or -1. */
static int part_of(PyObject *tracking, const char *key, PyObject **out) {
    *out = PyMapping_GetItemString(tracking, key);
    if (*out == NULL && !PyErr_ExceptionMatches(PyExc_KeyError))
        return -1;
    PyErr_Clear();
    if (*out == Py_None)
        Py_CLEAR(*out);
    return 0;
}

static int parse_tracking(parse *p, PyObject *tracking) {
    PyObject *part;
    if (part_of(tracking, counts_key, &part) != 0)
        return -1;
    int result = part != NULL ? parse_counts(p, part) : 0;
    Py_XDECREF(part);
    for (int column = 0; result == 0 && column < ROAST_COLUMNS; column++) {
        if (part_of(tracking, roast_series_column_at(column)->key, &part) != 0)
            return -1;
        if (part != NULL)
            result = parse_column(p, part, column);
        Py_XDECREF(part);
    }
    return result;
}

/* ---- in: ticks ---- */

static int compare_times(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_values(const void *a, const void *b) {
    const found_value *x = a, *y = b;
    int order = compare_times(x->when, y->when);
    return order != 0 ? order : (x->worker > y->worker) - (x->worker < y->worker);
}

static int compare_counts(const void *a, const void *b) {
    return compare_times(((const found_count *)a)->when, ((const found_count *)b)->when);
}

static uint32_t workers_at(const parse *p, size_t first) {
    uint32_t workers = 0;
    for (size_t i = first; i < p->n_values && p->values[i].when == p->values[first].when; i++)
        workers += i == first || p->values[i].worker != p->values[i - 1].worker;
    return workers;
}

/* Appends the rows of one tick and returns where the next one begins in *at. */
static roast_status build_rows(const parse *p, roast_series *series, size_t *at, roast_error *err) {
    const int64_t when = p->values[*at].when;
    while (*at < p->n_values && p->values[*at].when == when) {
        const uint32_t worker = p->values[*at].worker;
        double row[ROAST_COLUMNS];
        for (int column = 0; column < ROAST_COLUMNS; column++)
            row[column] = NAN;
        for (; *at < p->n_values && p->values[*at].when == when && p->values[*at].worker == worker;
             ++*at)
            row[p->values[*at].column] = p->values[*at].value;
        ROAST_TRY(roast_series_append(series, worker, row, err));
    }
    return ROAST_OK;
}

/* Ticks at all moments of counts and of values; *beside: a moment of the values was not counted. */
static roast_status build_series(const parse *p, roast_series *series, bool *beside,
                                 roast_error *err) {
    uint32_t known = p->n_counts > 0 ? p->counts[0].workers : 0;
    size_t value = 0, count = 0;
    *beside = false;
    while (value < p->n_values || count < p->n_counts) {
        bool counted = count < p->n_counts &&
                       (value == p->n_values || p->counts[count].when <= p->values[value].when);
        int64_t when = counted ? p->counts[count].when : p->values[value].when;
        *beside = *beside || !counted;
        for (; count < p->n_counts && p->counts[count].when == when; count++)
            known = p->counts[count].workers;
        uint32_t workers = p->n_counts > 0 ? known : workers_at(p, value);
        ROAST_TRY(roast_series_tick(series, (roast_utc){when}, workers, err));
        if (value < p->n_values && p->values[value].when == when)
            ROAST_TRY(build_rows(p, series, &value, err));
    }
    return ROAST_OK;
}

static roast_status build_counts(const parse *p, roast_series **out, roast_error *err) {
    parse counts = {.counts = p->counts, .n_counts = p->n_counts};
    bool beside;
    roast_series *series = NULL;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = build_series(&counts, series, &beside, err);
    if (status != ROAST_OK) {
        roast_series_free(series);
        return status;
    }
    *out = series;
    return ROAST_OK;
}

static roast_status build_all(parse *p, roast_series **counts, roast_error *err) {
    bool beside;
    if (p->n_values > 1)
        qsort(p->values, p->n_values, sizeof *p->values, compare_values);
    if (p->n_counts > 1)
        qsort(p->counts, p->n_counts, sizeof *p->counts, compare_counts);
    ROAST_TRY(build_series(p, p->series, &beside, err));
    return beside ? build_counts(p, counts, err) : ROAST_OK;
}

int ext_tracking_series(PyObject *tracking, roast_series **series, roast_series **counts) {
    parse p = {.series = NULL};
    roast_error err;
    int result = -1;
    *series = *counts = NULL;
    if (!PyDict_Check(tracking) && !PyObject_HasAttrString(tracking, "keys")) {
        PyErr_Format(PyExc_TypeError, "tracking_data: a dict is expected, not %s",
                     Py_TYPE(tracking)->tp_name);
        return -1;
    }
    if (roast_series_new(&p.series, &err) != ROAST_OK) {
        ext_raise(&err);
    } else if (parse_tracking(&p, tracking) == 0) {
        if (build_all(&p, counts, &err) == ROAST_OK)
            result = 0;
        else
            ext_raise(&err);
    }
    roast_free(p.values);
    roast_free(p.counts);
    if (result == 0)
        *series = p.series;
    else
        roast_series_free(p.series);
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
