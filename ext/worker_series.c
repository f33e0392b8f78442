/* WorkerSeries: what the workers did over time, in packed columns.
 *
 * tick() runs on Dask's scheduler, in its event loop, for every worker there is: it makes no Python
 * object a worker and never raises for a worker that cannot be read. */
#include "worker_series.h"

#include "errors.h"
#include "pairs.h"
#include "tracking_data.h"
#include "values.h"
#include "when.h"
#include "worker_state.h"

#include <math.h>

typedef struct series_object {
    PyObject_HEAD
    ext_shared *shared;
    roast_series *series; /* the part that is shared */
    PyObject *numbers;    /* {address: number of the worker}: a look-up by a hash that is known */
    worker_memo *memos;   /* who was where in the list at the last tick */
    Py_ssize_t memo_count;
    bool busy;     /* a tick is being taken; reading a worker may run Python code */
    bool distrust; /* see worker_reader */
} series_object;

static ext_state *state_of(PyObject *op) {
    return ext_state_of_final(Py_TYPE(op));
}

const roast_series *ext_series_view(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_worker_series ? ((series_object *)object)->series : NULL;
}

ext_shared *ext_series_hold(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_worker_series
               ? ext_shared_hold(((series_object *)object)->shared)
               : NULL;
}

/* ---- life ---- */

static void free_series(void *series) {
    roast_series_free(series);
}

ext_shared *ext_series_share(roast_series *series) {
    return ext_shared_new(series, free_series);
}

static PyObject *object_of(PyTypeObject *type, ext_shared *shared) {
    series_object *self = (series_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->shared = ext_shared_hold(shared);
    self->series = shared->part;
    self->numbers = PyDict_New();
    if (self->numbers == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

PyObject *ext_series_of(ext_state *state, ext_shared *shared) {
    return object_of(state->type_worker_series, shared);
}

/* Takes the series over; it is freed on failure. */
static PyObject *wrap(PyTypeObject *type, roast_series *series) {
    ext_shared *shared = ext_series_share(series);
    PyObject *self = shared != NULL ? object_of(type, shared) : NULL;
    ext_shared_let_go(shared);
    return self;
}

PyObject *ext_series_new(ext_state *state, roast_series *series) {
    return wrap(state->type_worker_series, series);
}

/* To be called right before a change: a Run may look at the series. 0 or -1 with an exception set. */
static int make_own(series_object *self) {
    roast_series *copy = NULL;
    roast_error err;
    if (self->shared->refs == 1)
        return 0;
    roast_status status = roast_series_new(&copy, &err);
    if (status == ROAST_OK) /* into an empty one the workers go in order: they keep their numbers */
        status = roast_series_extend(copy, self->series, 0, 0, &err);
    if (status != ROAST_OK) {
        roast_series_free(copy);
        ext_raise(&err);
        return -1;
    }
    ext_shared *shared = ext_series_share(copy);
    if (shared == NULL)
        return -1;
    ext_shared_let_go(self->shared);
    self->shared = shared;
    self->series = copy;
    return 0;
}

static PyObject *series_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {NULL};
    roast_series *series = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":WorkerSeries", keywords))
        return NULL;
    if (roast_series_new(&series, &err) != ROAST_OK)
        return ext_raise(&err);
    return wrap(type, series);
}

static void drop_memos(series_object *self) {
    for (Py_ssize_t i = 0; i < self->memo_count; i++)
        Py_XDECREF(self->memos[i].address);
    roast_free(self->memos);
}

static void series_dealloc(PyObject *op) {
    series_object *self = (series_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    drop_memos(self);
    ext_shared_let_go(self->shared);
    Py_XDECREF(self->numbers);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- workers ---- */

/* A worker that the dict does not know yet. 0 or -1 with an exception set. */
static int new_number(series_object *self, PyObject *address, uint32_t *number) {
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(address, &len);
    roast_error err;
    if (name == NULL || make_own(self) != 0)
        return -1;
    if (roast_series_worker(self->series, (roast_str){name, (size_t)len}, number, &err) !=
        ROAST_OK) {
        ext_raise(&err);
        return -1;
    }
    PyObject *object = PyLong_FromUnsignedLong(*number);
    int result = object != NULL ? PyDict_SetItem(self->numbers, address, object) : -1;
    Py_XDECREF(object);
    return result;
}

/* *fresh: it was not known yet. 0 or -1 with an exception set. */
static int number_of_worker(series_object *self, PyObject *address, uint32_t *number, bool *fresh) {
    *fresh = false;
    if (!PyUnicode_Check(address)) {
        PyErr_Format(PyExc_TypeError, "a worker's address is a str, not %s",
                     Py_TYPE(address)->tp_name);
        return -1;
    }
    PyObject *known = PyDict_GetItemWithError(self->numbers, address);
    if (known != NULL) {
        *number = (uint32_t)PyLong_AsUnsignedLong(known);
        return 0;
    }
    *fresh = true;
    return PyErr_Occurred() ? -1 : new_number(self, address, number);
}

static int set_host(series_object *self, uint32_t worker, PyObject *host) {
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(host, &len);
    roast_error err;
    if (text == NULL || make_own(self) != 0)
        return -1;
    if (roast_series_set_host(self->series, worker, (roast_str){text, (size_t)len}, &err) ==
        ROAST_OK)
        return 0;
    ext_raise(&err);
    return -1;
}

/* ---- the tick ---- */

/* None is now, but never before the last tick: the system's clock may have been put back. */
static int tick_moment(series_object *self, PyObject *when, roast_utc *out) {
    if (when != NULL && when != Py_None)
        return ext_when_parse(when, "when", out);
    uint64_t ticks = roast_series_tick_count(self->series);
    *out = roast_utc_now();
    if (ticks > 0) {
        roast_utc last = roast_series_tick_time(self->series, ticks - 1);
        if (out->ns < last.ns)
            *out = last;
    }
    return 0;
}

/* Room for as many workers; without it each is looked up. */
static void fit_memos(series_object *self, Py_ssize_t count) {
    if (count <= self->memo_count)
        return;
    worker_memo *memos = (size_t)count < SIZE_MAX / sizeof *memos
                             ? roast_realloc(self->memos, (size_t)count * sizeof *memos)
                             : NULL;
    if (memos == NULL)
        return;
    memset(memos + self->memo_count, 0, (size_t)(count - self->memo_count) * sizeof *memos);
    self->memos = memos;
    self->memo_count = count;
}

static void remember(worker_memo *memo, PyObject *address, uint32_t number) {
    Py_XSETREF(memo->address, Py_NewRef(address));
    memo->number = number;
    memo->metrics = NULL;
}

/* The number of a worker that may be another than the memo's. 0 or -1 with an exception set. */
static int number_of(series_object *self, const worker_reader *reader, PyObject *worker,
                     worker_memo *memo, uint32_t *number) {
    if (memo != NULL && memo->address != NULL &&
        worker_reader_is_at(reader, worker, memo->address)) {
        *number = memo->number;
        return 0;
    }
    bool fresh;
    PyObject *address = PyObject_GetAttr(worker, reader->state->str_address);
    int result = address != NULL ? number_of_worker(self, address, number, &fresh) : -1;
    if (result == 0 && memo != NULL)
        remember(memo, address, *number);
    Py_XDECREF(address);
    if (result != 0 || !fresh)
        return result;
    PyObject *host = worker_reader_host(reader, worker);
    result = host != NULL ? set_host(self, *number, host) : 0;
    Py_XDECREF(host);
    return result;
}

/* 0 or -1 with an exception set; the tick is then without this worker. */
static int sample_worker(series_object *self, worker_reader *reader, PyObject *worker,
                         worker_memo *memo) {
    double value[ROAST_COLUMNS];
    uint32_t number;
    roast_error err;
    if (number_of(self, reader, worker, memo, &number) != 0)
        return -1;
    worker_reader_row(reader, worker, memo, value);
    if (make_own(self) != 0)
        return -1;
    if (roast_series_append(self->series, number, value, &err) == ROAST_OK)
        return 0;
    ext_raise(&err);
    return -1;
}

static void sample_group(series_object *self, worker_reader *reader, PyObject *const *workers,
                         worker_memo *memos, Py_ssize_t count) {
    worker_reader_prepare(reader, workers, memos, count);
    for (Py_ssize_t i = 0; i < count; i++)
        if (sample_worker(self, reader, workers[i], memos != NULL ? &memos[i] : NULL) != 0)
            ext_count_fault("a worker could not be sampled", NULL);
}

static void sample_workers(series_object *self, PyObject *workers) {
    worker_reader reader = {.state = state_of((PyObject *)self), .distrust = self->distrust};
    Py_ssize_t n = PyList_GET_SIZE(workers);
    fit_memos(self, n);
    for (Py_ssize_t i = 0; i < n; i += WORKER_GROUP)
        sample_group(self, &reader, &PyList_GET_ITEM(workers, i),
                     n <= self->memo_count ? self->memos + i : NULL,
                     n - i < WORKER_GROUP ? n - i : WORKER_GROUP);
    self->distrust = reader.distrust;
    worker_reader_release(&reader);
}

static int begin_tick(series_object *self, PyObject *when, Py_ssize_t workers) {
    roast_utc moment;
    roast_error err;
    if (tick_moment(self, when, &moment) != 0 || make_own(self) != 0)
        return -1;
    uint32_t count = workers < UINT32_MAX ? (uint32_t)workers : UINT32_MAX;
    if (roast_series_tick(self->series, moment, count, &err) == ROAST_OK)
        return 0;
    ext_raise(&err);
    return -1;
}

static int check_idle(const series_object *self) {
    if (!self->busy)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "a tick of this series is being taken already");
    return -1;
}

/* PyDict_Values, which waits for the memory of one worker after the other. */
static PyObject *values_of(PyObject *dict) {
    enum { AHEAD = 16 };
    PyObject *list, *value;
    Py_ssize_t n = PyDict_GET_SIZE(dict), i = 0, at = 0;
    while ((list = PyList_New(n)) != NULL && n != PyDict_GET_SIZE(dict)) {
        n = PyDict_GET_SIZE(dict); /* making the list set off a collection, and that changed it */
        Py_DECREF(list);
    }
    if (list == NULL)
        return NULL;
    while (i < n && PyDict_Next(dict, &at, NULL, &value))
        PyList_SET_ITEM(list, i++, value);
    for (i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(PyList_GET_ITEM(list, i + AHEAD), 1);
        Py_INCREF(PyList_GET_ITEM(list, i));
    }
    return list;
}

static PyObject *series_tick(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"workers", "when", NULL};
    series_object *self = (series_object *)op;
    PyObject *workers, *when = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:tick", keywords, &workers, &when) ||
        check_idle(self) != 0)
        return NULL;
    /* A list of our own: workers may come and go while they are read. */
    PyObject *list = PyDict_Check(workers) ? values_of(workers) : PySequence_List(workers);
    /* Making it, and reading the time, may have run other code. */
    if (list == NULL || check_idle(self) != 0 ||
        begin_tick(self, when, PyList_GET_SIZE(list)) != 0) {
        Py_XDECREF(list);
        return NULL;
    }
    self->busy = true;
    sample_workers(self, list);
    self->busy = false;
    Py_DECREF(list);
    return ext_let_pass(Py_NewRef(Py_None));
}

/* ---- rows that the caller has ---- */

typedef struct given_row {
    uint32_t worker;
    double value[ROAST_COLUMNS];
} given_row;

static int parse_value(series_object *self, PyObject *key, PyObject *value, PyObject *address,
                       given_row *row) {
    if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, "host") == 0) {
        if (PyUnicode_Check(value))
            return set_host(self, row->worker, value);
        PyErr_Format(PyExc_TypeError, "host of %R: a str is expected, not %s", address,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    roast_series_column column = ext_column_of(key);
    if (column == ROAST_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "%R of %R is no column of the worker series", key, address);
        return -1;
    }
    return ext_sample_number(value, roast_series_column_at(column)->name, address,
                             &row->value[column]);
}

static int parse_row(series_object *self, PyObject *address, PyObject *values, given_row *row) {
    bool fresh;
    if (!PyDict_Check(values)) {
        PyErr_Format(PyExc_TypeError, "values of %R: a dict is expected, not %s", address,
                     Py_TYPE(values)->tp_name);
        return -1;
    }
    if (number_of_worker(self, address, &row->worker, &fresh) != 0)
        return -1;
    for (int column = 0; column < ROAST_COLUMNS; column++)
        row->value[column] = NAN;
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, values, "values of a worker");
    while (result == 0 && ext_pairs_next(&pairs))
        result = parse_value(self, pairs.key, pairs.value, address, row);
    ext_pairs_close(&pairs);
    return result;
}

/* All rows first: what is wrong with one of them leaves no half tick. */
static int take_rows(series_object *self, PyObject *when, ext_pairs *pairs, given_row *rows) {
    Py_ssize_t n = pairs->count;
    for (Py_ssize_t i = 0; ext_pairs_next(pairs); i++)
        if (parse_row(self, pairs->key, pairs->value, &rows[i]) != 0)
            return -1;
    if (check_idle(self) != 0 || begin_tick(self, when, n) != 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        roast_error err;
        if (roast_series_append(self->series, rows[i].worker, rows[i].value, &err) != ROAST_OK) {
            ext_raise(&err);
            return -1;
        }
    }
    return 0;
}

static PyObject *series_tick_values(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"when", "workers", NULL};
    PyObject *when, *workers;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:tick_values", keywords, &when, &PyDict_Type,
                                     &workers))
        return NULL;
    ext_pairs pairs;
    if (ext_pairs_open(&pairs, workers, "workers") != 0)
        return NULL;
    size_t n = (size_t)pairs.count;
    given_row *rows = n < SIZE_MAX / 2 / sizeof *rows ? roast_alloc((n + 1) * sizeof *rows) : NULL;
    int result =
        rows != NULL ? take_rows((series_object *)op, when, &pairs, rows) : (PyErr_NoMemory(), -1);
    roast_free(rows);
    ext_pairs_close(&pairs);
    if (result != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- events ---- */

static PyObject *add_event(PyObject *op, PyObject *address, PyObject *when, int threads,
                           roast_worker_event_kind kind) {
    series_object *self = (series_object *)op;
    roast_utc moment = roast_utc_now();
    uint32_t worker;
    bool fresh;
    roast_error err;
    if (number_of_worker(self, address, &worker, &fresh) != 0 ||
        (when != Py_None && ext_when_parse(when, "when", &moment) != 0) || make_own(self) != 0)
        return NULL;
    if (roast_series_event(self->series, worker, kind, moment, threads, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *series_join(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"address", "when", "threads", "host", NULL};
    series_object *self = (series_object *)op;
    PyObject *address, *when = Py_None, *host = Py_None;
    uint32_t worker;
    bool fresh;
    int threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OiO:join", keywords, &address, &when,
                                     &threads, &host))
        return NULL;
    if (host != Py_None && !PyUnicode_Check(host))
        return PyErr_Format(PyExc_TypeError, "host: a str or None is expected, not %s",
                            Py_TYPE(host)->tp_name);
    PyObject *result = add_event(op, address, when, threads, ROAST_WORKER_JOINED);
    if (result != NULL && host != Py_None &&
        (number_of_worker(self, address, &worker, &fresh) != 0 ||
         set_host(self, worker, host) != 0))
        Py_CLEAR(result);
    return result;
}

static PyObject *series_leave(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"address", "when", NULL};
    PyObject *address, *when = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:leave", keywords, &address, &when))
        return NULL;
    return add_event(op, address, when, 0, ROAST_WORKER_LEFT);
}

static PyObject *event_dict(const roast_series *series, roast_worker_event event) {
    PyObject *threads = event.threads > 0 ? PyLong_FromLong(event.threads) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:N,s:s,s:N,s:N}", "worker",
                         ext_text(roast_series_worker_name(series, event.worker)), "kind",
                         event.kind == ROAST_WORKER_JOINED ? "joined" : "left", "when",
                         ext_when_object(event.when), "threads", threads);
}

/* These make Python objects while they read, which may run other code: what they read is held. */

static PyObject *event_list(const roast_series *series) {
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < roast_series_event_count(series); i++) {
        PyObject *event = event_dict(series, roast_series_event_at(series, i));
        if (event == NULL || PyList_Append(list, event) != 0)
            Py_CLEAR(list);
        Py_XDECREF(event);
    }
    return list;
}

static PyObject *worker_list(const roast_series *series) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_series_worker_count(series); i++) {
        PyObject *name = ext_text(roast_series_worker_name(series, i));
        if (name == NULL || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *host_dict(const roast_series *series) {
    PyObject *hosts = PyDict_New();
    for (uint32_t i = 0; hosts != NULL && i < roast_series_worker_count(series); i++) {
        PyObject *name = ext_text(roast_series_worker_name(series, i));
        PyObject *host = ext_text(roast_series_worker_host(series, i));
        if (name == NULL || host == NULL || PyDict_SetItem(hosts, name, host) != 0)
            Py_CLEAR(hosts);
        Py_XDECREF(name);
        Py_XDECREF(host);
    }
    return hosts;
}

static PyObject *held(PyObject *op, PyObject *(*read)(const roast_series *)) {
    ext_shared *shared = ext_shared_hold(((series_object *)op)->shared);
    PyObject *value = read(shared->part);
    ext_shared_let_go(shared);
    return value;
}

static PyObject *series_events(PyObject *op, void *unused) {
    (void)unused;
    return held(op, event_list);
}

static PyObject *series_workers(PyObject *op, void *unused) {
    (void)unused;
    return held(op, worker_list);
}

static PyObject *series_hosts(PyObject *op, void *unused) {
    (void)unused;
    return held(op, host_dict);
}

/* ---- looking ---- */

static PyObject *series_nbytes(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(roast_series_memory(((series_object *)op)->series));
}

static PyObject *series_sample_count(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(roast_series_sample_count(((series_object *)op)->series));
}

static Py_ssize_t series_length(PyObject *op) {
    return (Py_ssize_t)roast_series_tick_count(((series_object *)op)->series);
}

static PyObject *series_repr(PyObject *op) {
    const roast_series *series = ((series_object *)op)->series;
    return PyUnicode_FromFormat("<WorkerSeries: %llu ticks, %u workers, %llu samples>",
                                (unsigned long long)roast_series_tick_count(series),
                                roast_series_worker_count(series),
                                (unsigned long long)roast_series_sample_count(series));
}

/* ---- travelling ---- */

static PyObject *series_as_tracking_data(PyObject *op, PyObject *unused) {
    (void)unused;
    return held(op, ext_tracking_dict);
}

static PyObject *series_from_tracking_data(PyObject *type, PyObject *tracking) {
    roast_series *series, *counts;
    if (ext_tracking_series(tracking, &series, &counts) != 0)
        return NULL;
    roast_series_free(counts);
    return wrap((PyTypeObject *)type, series);
}

static PyObject *series_to_bytes(PyObject *op, PyObject *unused) {
    (void)unused;
    roast_sink *sink = NULL;
    roast_error err;
    PyObject *data = NULL;
    if (roast_sink_new_memory(&sink, &err) == ROAST_OK &&
        roast_series_encode(((series_object *)op)->series, sink, &err) == ROAST_OK &&
        roast_sink_finish(sink, &err) == ROAST_OK) {
        roast_str bytes = roast_sink_memory(sink);
        data = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
    } else {
        ext_raise(&err);
    }
    roast_sink_free(sink);
    return data;
}

static PyObject *series_from_bytes(PyObject *type, PyObject *data) {
    Py_buffer view;
    roast_series *series = NULL;
    roast_error err;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    roast_status status = roast_series_decode(view.buf, (size_t)view.len, &series, &err);
    PyBuffer_Release(&view);
    return status == ROAST_OK ? wrap((PyTypeObject *)type, series) : ext_raise(&err);
}

static PyObject *series_reduce(PyObject *op, PyObject *unused) {
    PyObject *data = series_to_bytes(op, unused);
    PyObject *unpack =
        data != NULL ? PyObject_GetAttrString((PyObject *)Py_TYPE(op), "from_bytes") : NULL;
    if (unpack == NULL) {
        Py_XDECREF(data);
        return NULL;
    }
    return Py_BuildValue("(N(N))", unpack, data);
}

/* ---- the type ---- */

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyObject *series_extend(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"piece", "from_tick", "from_event", NULL};
    series_object *self = (series_object *)op;
    PyObject *object;
    unsigned long long from_tick = 0, from_event = 0;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|KK:extend", keywords, &object, &from_tick,
                                     &from_event))
        return NULL;
    const roast_series *piece = ext_series_view(state_of(op), object);
    if (piece == NULL || object == op) {
        PyErr_Format(PyExc_TypeError, "extend: another WorkerSeries is expected, not %s",
                     piece == NULL ? Py_TYPE(object)->tp_name : "itself");
        return NULL;
    }
    if (check_idle(self) != 0 || make_own(self) != 0)
        return NULL;
    if (roast_series_extend(self->series, piece, from_tick, from_event, &err) != ROAST_OK)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

static PyMethodDef series_methods[] = {
    {"tick", WITH_KEYWORDS(series_tick),
     "tick($self, workers, when=None)\n--\n\n"
     "Samples all workers: the WorkerState objects of Dask's scheduler, or a dict of them."},
    {"tick_values", WITH_KEYWORDS(series_tick_values),
     "tick_values($self, when, workers)\n--\n\n"
     "A tick from {address: {column: value}}, for schedulers other than Dask's."},
    {"join", WITH_KEYWORDS(series_join),
     "join($self, address, when=None, threads=0, host=None)\n--\n\n"
     "A worker came; threads 0 and host None: not known."},
    {"leave", WITH_KEYWORDS(series_leave),
     "leave($self, address, when=None)\n--\n\nA worker went."},
    {"extend", WITH_KEYWORDS(series_extend),
     "extend($self, piece, from_tick=0, from_event=0)\n--\n\n"
     "Puts the ticks, samples and events of another series behind these."},
    {"as_tracking_data", series_as_tracking_data, METH_NOARGS,
     "as_tracking_data($self)\n--\n\n"
     "{'worker_counts': {datetime: n}, 'worker_memory': {worker: [(datetime, value), ...]}, ...}"},
    {"from_tracking_data", series_from_tracking_data, METH_O | METH_CLASS,
     "from_tracking_data($type, data, /)\n--\n\nA series from such a dict, or from its JSON form."},
    {"to_bytes", series_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\nThe packed form: versioned and checksummed, see "
     "docs/format/worker-series.md."},
    {"from_bytes", series_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\nA series from its packed form; ValueError says what is "
     "wrong with "
     "it."},
    {"__reduce__", series_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef series_getset[] = {
    {"workers", series_workers, NULL, "Addresses of all workers that were ever seen.", NULL},
    {"hosts", series_hosts, NULL, "{worker: host or None}", NULL},
    {"events", series_events, NULL, "Joins and leaves, in the order they were told.", NULL},
    {"nbytes", series_nbytes, NULL, "Bytes of memory that the samples take.", NULL},
    {"sample_count", series_sample_count, NULL, "Rows: one a worker and tick.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot series_slots[] = {
    {Py_tp_doc, (void *)"WorkerSeries()\n--\n\n"
                        "What each worker of a cluster did over time, in packed columns."},
    {Py_tp_new, series_new},
    {Py_tp_dealloc, series_dealloc},
    {Py_tp_repr, series_repr},
    {Py_tp_methods, series_methods},
    {Py_tp_getset, series_getset},
    {Py_sq_length, series_length},
    {0, NULL},
};

PyType_Spec ext_spec_worker_series = {"roastcoffea._core.WorkerSeries", sizeof(series_object), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, series_slots};
