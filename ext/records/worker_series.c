/* WorkerSeries: samples of the workers over time. */
#include "records/worker_series.h"

#include "common/errors.h"
#include "common/pairs.h"
#include "common/values.h"
#include "common/when.h"
#include "records/tracking_data.h"

#include <math.h>

/* ---- the part ---- */

static roast_status create(void **out, roast_error *err) {
    roast_series *series;
    ROAST_TRY(roast_series_new(&series, err));
    *out = series;
    return ROAST_OK;
}

static roast_status encode(const void *part, roast_sink *sink, roast_error *err) {
    return roast_series_encode(part, sink, err);
}

static roast_status decode(const void *data, size_t len, void **out, roast_error *err) {
    roast_series *series;
    ROAST_TRY(roast_series_decode(data, len, &series, err));
    *out = series;
    return ROAST_OK;
}

static void free_part(void *part) {
    roast_series_free(part);
}

static const ext_part_kind kind_of_series = {create, encode, decode, free_part};

static ext_state *state_of(PyObject *op) {
    return ext_state_of_final(Py_TYPE(op));
}

const roast_series *ext_series_view(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_worker_series ? ext_part_get(object) : NULL;
}

ext_shared *ext_series_hold(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_worker_series
               ? ext_shared_hold(((ext_part *)object)->shared)
               : NULL;
}

ext_shared *ext_series_share(roast_series *series) {
    return ext_shared_new(series, &kind_of_series);
}

PyObject *ext_series_of(ext_state *state, ext_shared *shared) {
    return ext_part_looking_at(state->type_worker_series, shared);
}

PyObject *ext_series_new(ext_state *state, roast_series *series) {
    return ext_part_owning(state->type_worker_series, series, &kind_of_series);
}

static PyObject *series_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return ext_part_new(type, args, kwargs, &kind_of_series);
}

static PyObject *series_from_bytes(PyObject *type, PyObject *data) {
    return ext_part_from_bytes(type, data, &kind_of_series);
}

/* ---- a tick of rows ---- */

/* The number of a worker in a series that is the object's own. */
static int number_of_worker(PyObject *op, PyObject *name, uint32_t *number) {
    roast_str text;
    roast_error err;
    if (ext_part_text(name, "worker", &text) != 0)
        return -1;
    return ext_raised(roast_series_worker(ext_part_get(op), text, number, &err), &err);
}

static int set_host(PyObject *op, uint32_t worker, PyObject *host) {
    roast_str text;
    roast_error err;
    if (host == NULL || host == Py_None)
        return 0;
    if (ext_part_text(host, "host", &text) != 0)
        return -1;
    return ext_raised(roast_series_set_host(ext_part_get(op), worker, text, &err), &err);
}

/* None is now, but never before the last tick: the system's clock may have been put back. */
static int tick_moment(PyObject *op, PyObject *when, roast_utc *out) {
    if (when != NULL && when != Py_None)
        return ext_when_parse(when, "when", out);
    const roast_series *series = ext_part_get(op);
    uint64_t ticks = roast_series_tick_count(series);
    *out = roast_utc_now();
    if (ticks > 0) {
        roast_utc last = roast_series_tick_time(series, ticks - 1);
        if (out->ns < last.ns)
            *out = last;
    }
    return 0;
}

int ext_series_begin_tick(PyObject *op, PyObject *when, size_t workers) {
    roast_utc moment;
    roast_error err;
    if (tick_moment(op, when, &moment) != 0 || ext_part_make_own(op) != 0)
        return -1;
    uint32_t count = workers < UINT32_MAX ? (uint32_t)workers : UINT32_MAX;
    return ext_raised(roast_series_tick(ext_part_get(op), moment, count, &err), &err);
}

int ext_series_add_row(PyObject *op, const ext_row *row) {
    uint32_t worker;
    roast_error err;
    if (number_of_worker(op, row->worker, &worker) != 0 || set_host(op, worker, row->host) != 0)
        return -1;
    return ext_raised(roast_series_append(ext_part_get(op), worker, row->value, &err), &err);
}

/* ---- rows that the caller has ---- */

/* Worker and host are references of the row's own. */
static void begin_row(ext_row *row, PyObject *worker) {
    *row = (ext_row){.worker = Py_NewRef(worker)};
    for (int column = 0; column < ROAST_COLUMNS; column++)
        row->value[column] = NAN;
}

static void end_row(ext_row *row) {
    Py_CLEAR(row->worker);
    Py_CLEAR(row->host);
}

static int add_value(PyObject *key, PyObject *value, ext_row *row) {
    roast_str text;
    if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, "host") == 0) {
        Py_XSETREF(row->host, Py_NewRef(value));
        return ext_part_text(value, "host", &text);
    }
    roast_series_column column = ext_column_of(key);
    if (column == ROAST_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "%R of %R is no column of the worker series", key,
                     row->worker);
        return -1;
    }
    return ext_sample_number(value, roast_series_column_at(column)->name, row->worker,
                             &row->value[column]);
}

/* From a mapping {column: value}. */
static int add_values(ext_row *row, PyObject *values) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, values, "values of a worker");
    while (result == 0 && ext_pairs_next(&pairs))
        result = add_value(pairs.key, pairs.value, row);
    ext_pairs_close(&pairs);
    return result;
}

/* A row that can be added. */
static int parse_row(PyObject *worker, PyObject *values, ext_row *row) {
    roast_str text;
    if (!PyDict_Check(values)) {
        PyErr_Format(PyExc_TypeError, "values of %R: a dict is expected, not %s", worker,
                     Py_TYPE(values)->tp_name);
        return -1;
    }
    if (ext_part_text(worker, "worker", &text) != 0 || add_values(row, values) != 0)
        return -1;
    if (text.len > 0 && text.len <= ROAST_MAX_WORKER_NAME)
        return 0;
    PyErr_Format(PyExc_ValueError, "the name of a worker has %zu bytes", text.len);
    return -1;
}

/* All rows first, so that an error leaves no half tick. */
static int add_rows(PyObject *op, PyObject *when, const ext_row *rows, size_t count) {
    if (ext_series_begin_tick(op, when, count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (ext_series_add_row(op, &rows[i]) != 0)
            return -1;
    return 0;
}

static PyObject *series_tick_values(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"when", "workers", NULL};
    PyObject *when, *workers;
    ext_pairs pairs;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:tick_values", keywords, &when, &PyDict_Type,
                                     &workers) ||
        ext_pairs_open(&pairs, workers, "workers") != 0)
        return NULL;
    ext_row *rows = roast_alloc(((size_t)pairs.count + 1) * sizeof *rows);
    int result = rows != NULL ? 0 : (PyErr_NoMemory(), -1);
    size_t count = 0;
    while (result == 0 && ext_pairs_next(&pairs)) {
        begin_row(&rows[count], pairs.key);
        result = parse_row(pairs.key, pairs.value, &rows[count++]);
    }
    if (result == 0)
        result = add_rows(op, when, rows, count);
    while (count > 0)
        end_row(&rows[--count]);
    roast_free(rows);
    ext_pairs_close(&pairs);
    if (result != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- one worker at a time ---- */

static int add_change(PyObject *op, PyObject *name, PyObject *when, PyObject *host, int threads,
                      roast_worker_change_kind kind) {
    roast_utc moment = roast_utc_now();
    uint32_t worker;
    roast_str text;
    roast_error err;
    if (ext_part_text(name, "worker", &text) != 0 ||
        (host != NULL && host != Py_None && ext_part_text(host, "host", &text) != 0) ||
        (when != NULL && when != Py_None && ext_when_parse(when, "when", &moment) != 0) ||
        ext_part_make_own(op) != 0 || number_of_worker(op, name, &worker) != 0 ||
        set_host(op, worker, host) != 0)
        return -1;
    return ext_raised(roast_series_change(ext_part_get(op), worker, kind, moment, threads, &err),
                      &err);
}

/* A number of cores from an int or None; 0: not known. -1 with an exception set. */
static int parse_cores(PyObject *value) {
    if (value == Py_None)
        return 0;
    if (!PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "cores: an int or None is expected, not %s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    int overflow;
    long cores = PyLong_AsLongAndOverflow(value, &overflow);
    if (overflow == 0 && cores >= 0 && cores <= INT32_MAX)
        return (int)cores;
    PyErr_Format(PyExc_ValueError, "cores: %R is no number of cores", value);
    return -1;
}

/* No column can be below 0; NaN is absent. */
static int check_amount(double number, const char *column, PyObject *worker) {
    if (!(number < 0))
        return 0;
    PyErr_Format(PyExc_ValueError, "%s of %R: it is below 0", column, worker);
    return -1;
}

static PyObject *series_join(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"worker", "when", "cores", "host", "memory_limit", NULL};
    PyObject *worker, *when = Py_None, *host = Py_None, *cores = Py_None, *limit = Py_None;
    double number;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:join", keywords, &worker, &when, &cores,
                                     &host, &limit))
        return NULL;
    int threads = parse_cores(cores);
    if (threads < 0 || ext_sample_number(limit, "memory_limit", worker, &number) != 0 ||
        check_amount(number, "memory_limit", worker) != 0 ||
        add_change(op, worker, when, host, threads, ROAST_WORKER_JOINED) != 0 ||
        ext_part_remember(op, worker,
                          Py_BuildValue("{s:O,s:O}", "cores", cores, "memory_limit", limit)) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *series_leave(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"worker", "when", NULL};
    PyObject *worker, *when = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:leave", keywords, &worker, &when) ||
        add_change(op, worker, when, NULL, 0, ROAST_WORKER_LEFT) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static int add_sample(PyObject *op, roast_utc when, const ext_row *row) {
    uint32_t worker;
    roast_error err;
    if (ext_part_make_own(op) != 0 || number_of_worker(op, row->worker, &worker) != 0 ||
        set_host(op, worker, row->host) != 0)
        return -1;
    return ext_raised(roast_series_sample(ext_part_get(op), worker, when, row->value, &err), &err);
}

static PyObject *series_sample(PyObject *op, PyObject *args, PyObject *columns) {
    PyObject *worker, *when, *told = ((ext_part *)op)->told;
    roast_utc moment;
    ext_row row;
    if (!PyArg_ParseTuple(args, "UO:sample", &worker, &when) ||
        ext_when_parse(when, "when", &moment) != 0)
        return NULL;
    told = told != NULL ? PyDict_GetItemWithError(told, worker) : NULL;
    if (PyErr_Occurred())
        return NULL;
    begin_row(&row, worker);
    int result = told != NULL ? add_values(&row, told) : 0;
    if (result == 0 && columns != NULL)
        result = add_values(&row, columns);
    for (int column = 0; result == 0 && column < ROAST_COLUMNS; column++)
        result = check_amount(row.value[column], roast_series_column_at(column)->name, worker);
    if (result == 0)
        result = add_sample(op, moment, &row);
    end_row(&row);
    if (result != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- looking ---- */

static PyObject *change_dict(const void *part, uint64_t index) {
    roast_worker_change change = roast_series_change_at(part, index);
    PyObject *threads = change.threads > 0 ? PyLong_FromLong(change.threads) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:N,s:s,s:N,s:N}", "worker",
                         ext_text(roast_series_worker_name(part, change.worker)), "kind",
                         change.kind == ROAST_WORKER_JOINED ? "joined" : "left", "when",
                         ext_when_object(change.when), "threads", threads);
}

static uint64_t change_count(const void *part) {
    return roast_series_change_count(part);
}

static PyObject *series_changes(PyObject *op, void *unused) {
    (void)unused;
    return ext_part_list(op, change_count, change_dict);
}

static PyObject *worker_name(const void *part, uint64_t index) {
    return ext_text(roast_series_worker_name(part, (uint32_t)index));
}

static PyObject *worker_and_host(const void *part, uint64_t index) {
    return Py_BuildValue("(NN)", worker_name(part, index),
                         ext_text(roast_series_worker_host(part, (uint32_t)index)));
}

static uint64_t worker_count(const void *part) {
    return roast_series_worker_count(part);
}

static PyObject *series_workers(PyObject *op, void *unused) {
    (void)unused;
    return ext_part_list(op, worker_count, worker_name);
}

static PyObject *series_hosts(PyObject *op, void *unused) {
    (void)unused;
    PyObject *pairs = ext_part_list(op, worker_count, worker_and_host);
    PyObject *hosts = pairs != NULL ? PyDict_New() : NULL;
    if (hosts != NULL && PyDict_MergeFromSeq2(hosts, pairs, 1) != 0)
        Py_CLEAR(hosts);
    Py_XDECREF(pairs);
    return hosts;
}

static PyObject *series_nbytes(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(roast_series_memory(ext_part_get(op)));
}

static PyObject *series_sample_count(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(roast_series_sample_count(ext_part_get(op)));
}

static Py_ssize_t series_length(PyObject *op) {
    return (Py_ssize_t)roast_series_tick_count(ext_part_get(op));
}

static PyObject *series_repr(PyObject *op) {
    const roast_series *series = ext_part_get(op);
    return PyUnicode_FromFormat("<WorkerSeries: %llu ticks, %u workers, %llu samples>",
                                (unsigned long long)roast_series_tick_count(series),
                                roast_series_worker_count(series),
                                (unsigned long long)roast_series_sample_count(series));
}

/* ---- pickling ---- */

static PyObject *series_as_tracking_data(PyObject *op, PyObject *unused) {
    (void)unused;
    ext_shared *shared = ext_shared_hold(((ext_part *)op)->shared);
    PyObject *tracking = ext_tracking_dict(shared->part);
    ext_shared_let_go(shared);
    return tracking;
}

static PyObject *series_from_tracking_data(PyObject *type, PyObject *tracking) {
    roast_series *series, *counts;
    if (ext_tracking_series(tracking, &series, &counts) != 0)
        return NULL;
    roast_series_free(counts);
    return ext_part_owning((PyTypeObject *)type, series, &kind_of_series);
}

static PyObject *series_samples_equal(PyObject *op, PyObject *object) {
    const roast_series *other = ext_series_view(state_of(op), object);
    if (other == NULL)
        return PyErr_Format(PyExc_TypeError, "samples_equal: a WorkerSeries is expected, not %s",
                            Py_TYPE(object)->tp_name);
    return PyBool_FromLong(roast_series_same_samples(ext_part_get(op), other));
}

/* ---- the type ---- */

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyObject *series_extend(PyObject *op, PyObject *object) {
    const roast_series *more = ext_series_view(state_of(op), object);
    roast_error err;
    if (more == NULL || object == op)
        return PyErr_Format(PyExc_TypeError, "extend: another WorkerSeries is expected, not %s",
                            more == NULL ? Py_TYPE(object)->tp_name : "itself");
    if (ext_part_make_own(op) != 0)
        return NULL;
    if (roast_series_extend(ext_part_get(op), more, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

static PyMethodDef series_methods[] = {
    {"tick_values", WITH_KEYWORDS(series_tick_values),
     "tick_values($self, when, workers)\n--\n\n"
     "Adds a tick, a sample of all workers, from {worker: {column: value}}."},
    {"join", WITH_KEYWORDS(series_join),
     "join($self, worker, when=None, cores=None, host=None, memory_limit=None)\n--\n\n"
     "A worker joined; None: now, or not known. cores and memory_limit are the defaults for later "
     "calls of sample()."},
    {"leave", WITH_KEYWORDS(series_leave), "leave($self, worker, when=None)\n--\n\nA worker left."},
    {"sample", WITH_KEYWORDS(series_sample),
     "sample($self, worker, when, /, **columns)\n--\n\n"
     "Adds a sample of one worker; a column that is not given is absent. Call join, leave and "
     "sample in order of time: a sample before the last one is a ValueError."},
    {"extend", series_extend, METH_O,
     "extend($self, more, /)\n--\n\nAppends the ticks, samples, joins and leaves of another "
     "series."},
    {"as_tracking_data", series_as_tracking_data, METH_NOARGS,
     "as_tracking_data($self)\n--\n\n"
     "{'worker_counts': {datetime: n}, 'worker_memory': {worker: [(datetime, value), ...]}, ...}"},
    {"from_tracking_data", series_from_tracking_data, METH_O | METH_CLASS,
     "from_tracking_data($type, data, /)\n--\n\nA series from such a dict, or from its JSON form."},
    {"samples_equal", series_samples_equal, METH_O,
     "samples_equal($self, other, /)\n--\n\n"
     "Whether as_tracking_data() of both is the same; joins and leaves are not compared."},
    {"to_bytes", ext_part_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\nThe packed form: versioned and checksummed, see "
     "docs/format/worker-series.md."},
    {"from_bytes", series_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\nA series from its packed form; ValueError says what is "
     "wrong with "
     "it."},
    {"__reduce__", ext_part_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef series_getset[] = {
    {"workers", series_workers, NULL, "Addresses of all workers that were ever seen.", NULL},
    {"hosts", series_hosts, NULL, "{worker: host or None}", NULL},
    {"changes", series_changes, NULL, "Joins and leaves, in the order of the calls.", NULL},
    {"nbytes", series_nbytes, NULL, "Bytes of memory that the samples take.", NULL},
    {"sample_count", series_sample_count, NULL, "Rows: one per worker and tick.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot series_slots[] = {
    {Py_tp_doc, (void *)"WorkerSeries()\n--\n\n"
                        "Samples of each worker of a cluster over time, in packed columns."},
    {Py_tp_new, series_new},
    {Py_tp_dealloc, ext_part_dealloc},
    {Py_tp_repr, series_repr},
    {Py_tp_methods, series_methods},
    {Py_tp_getset, series_getset},
    {Py_sq_length, series_length},
    {0, NULL},
};

PyType_Spec ext_spec_worker_series = {"roastcoffea._core.WorkerSeries", sizeof(ext_part), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, series_slots};
