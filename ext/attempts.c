/* Attempts: every try of every task, and the workers that left. */
#include "attempts.h"

#include "errors.h"
#include "values.h"

#include "roast/sink.h"

#include <math.h>

typedef struct attempts_object {
    PyObject_HEAD
    ext_shared *shared;
} attempts_object;

ext_shared *ext_attempts_hold(ext_state *state, PyObject *object) {
    return Py_TYPE(object) == state->type_attempts
               ? ext_shared_hold(((attempts_object *)object)->shared)
               : NULL;
}

static roast_attempts *attempts_of(PyObject *op) {
    return ((attempts_object *)op)->shared->part;
}

/* ---- life ---- */

static void free_attempts(void *attempts) {
    roast_attempts_free(attempts);
}

static PyObject *object_of(PyTypeObject *type, ext_shared *shared) {
    attempts_object *self = (attempts_object *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->shared = ext_shared_hold(shared);
    return (PyObject *)self;
}

PyObject *ext_attempts_of(ext_state *state, ext_shared *shared) {
    return object_of(state->type_attempts, shared);
}

/* Takes the attempts over. */
static PyObject *wrap(PyTypeObject *type, roast_attempts *attempts) {
    ext_shared *shared = ext_shared_new(attempts, free_attempts);
    PyObject *self = shared != NULL ? object_of(type, shared) : NULL;
    ext_shared_let_go(shared);
    return self;
}

PyObject *ext_attempts_new(ext_state *state, roast_attempts *attempts) {
    return wrap(state->type_attempts, attempts);
}

static PyObject *attempts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {NULL};
    roast_attempts *attempts = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Attempts", keywords))
        return NULL;
    return roast_attempts_new(&attempts, &err) == ROAST_OK ? wrap(type, attempts) : ext_raise(&err);
}

static void attempts_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    ext_shared_let_go(((attempts_object *)op)->shared);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- copies ---- */

/* A sink with the packed form. NULL with an exception set. */
static roast_sink *packed(const roast_attempts *attempts) {
    roast_sink *sink = NULL;
    roast_error err;
    if (roast_sink_new_memory(&sink, &err) == ROAST_OK &&
        roast_attempts_encode(attempts, sink, &err) == ROAST_OK)
        return sink;
    roast_sink_free(sink);
    return (roast_sink *)ext_raise(&err);
}

ext_shared *ext_attempts_copy(const roast_attempts *attempts) {
    roast_sink *sink = packed(attempts);
    roast_attempts *copy = NULL;
    roast_error err;
    if (sink == NULL)
        return NULL;
    roast_str bytes = roast_sink_memory(sink);
    roast_status status = roast_attempts_decode(bytes.data, bytes.len, &copy, &err);
    roast_sink_free(sink);
    return status == ROAST_OK ? ext_shared_new(copy, free_attempts) : (ext_shared *)ext_raise(&err);
}

/* To be called right before a change: a Run may look at them. 0 or -1 with an exception set. */
static int make_own(attempts_object *self) {
    if (self->shared->refs == 1)
        return 0;
    ext_shared *copy = ext_attempts_copy(self->shared->part);
    if (copy == NULL)
        return -1;
    ext_shared_let_go(self->shared);
    self->shared = copy;
    return 0;
}

/* ---- looking ---- */

PyObject *ext_attempt_seconds(int64_t us) {
    return us != ROAST_NO_TIME ? PyFloat_FromDouble((double)us / 1e6) : Py_NewRef(Py_None);
}

PyObject *ext_attempt_exception(const roast_attempt *attempt) {
    PyObject *type = ext_text(attempt->error_type);
    if (type == NULL || attempt->error_type.data == NULL || attempt->error_message.len == 0)
        return type;
    PyObject *message = ext_text(attempt->error_message);
    PyObject *whole = message != NULL ? PyUnicode_FromFormat("%U: %U", type, message) : NULL;
    Py_DECREF(type);
    Py_XDECREF(message);
    return whole;
}

static PyObject *length_object(int64_t us) {
    return us >= 0 ? PyFloat_FromDouble((double)us / 1e6) : Py_NewRef(Py_None);
}

static PyObject *count_object(int64_t count) {
    return count >= 0 ? PyLong_FromLongLong(count) : Py_NewRef(Py_None);
}

static PyObject *key_object(const roast_attempt *attempt) {
    char text[ROAST_MAX_KEY + 64];
    if (attempt->key.data == NULL)
        Py_RETURN_NONE;
    size_t len = roast_attempt_key(attempt, text, sizeof text);
    return ext_text((roast_str){text, len});
}

static PyObject *record_of(const roast_attempts *attempts, const roast_attempt *attempt) {
    double wasted = roast_attempt_wasted_seconds(attempt);
    return Py_BuildValue(
        "{s:N,s:N,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:s,s:N,s:N,s:N}", /* in order */
        "key", key_object(attempt),                                                  //
        "prefix", ext_text(attempt->prefix),                                         //
        "kind", roast_attempt_kind_name(attempt->kind),                              //
        "worker", ext_text(roast_attempts_worker(attempts, attempt->worker)),        //
        "thread",
        attempt->thread != 0 ? PyLong_FromUnsignedLongLong(attempt->thread) : Py_NewRef(Py_None), //
        "ready", ext_attempt_seconds(attempt->ready_us),                                          //
        "sent", ext_attempt_seconds(attempt->sent_us),                                            //
        "start", ext_attempt_seconds(attempt->start_us),                                          //
        "stop", ext_attempt_seconds(attempt->stop_us),                                            //
        "ended", ext_attempt_seconds(attempt->ended_us),                                          //
        "transfer_seconds", length_object(attempt->transfer_us),                                  //
        "deserialize_seconds", length_object(attempt->deserialize_us),                            //
        "disk_seconds", length_object(attempt->disk_us),                                          //
        "nbytes", count_object(attempt->nbytes),                                                  //
        "outcome", roast_outcome_name(attempt->outcome),                                          //
        "exception", ext_attempt_exception(attempt),                                              //
        "wasted_seconds", isnan(wasted) ? Py_NewRef(Py_None) : PyFloat_FromDouble(wasted),        //
        "wasted_bytes", count_object(roast_attempt_wasted_bytes(attempt)));
}

/* One mapping a try; those of others only if asked for. */
static PyObject *attempts_records(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"foreign", NULL};
    int foreign = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:records", keywords, &foreign))
        return NULL;
    /* Held here and below: making Python objects may run other code. */
    ext_shared *shared = ext_shared_hold(((attempts_object *)op)->shared);
    const roast_attempts *attempts = shared->part;
    PyObject *list = PyList_New(0);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (list != NULL && roast_attempt_cursor_next(&cursor, &attempt)) {
        if (attempt.kind == ROAST_KIND_foreign && !foreign)
            continue;
        PyObject *record = record_of(attempts, &attempt);
        if (record == NULL || PyList_Append(list, record) != 0)
            Py_CLEAR(list);
        Py_XDECREF(record);
    }
    ext_shared_let_go(shared);
    return list;
}

static PyObject *attempts_departures(PyObject *op, void *unused) {
    (void)unused;
    ext_shared *shared = ext_shared_hold(((attempts_object *)op)->shared);
    const roast_attempts *attempts = shared->part;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_attempts_departure_count(attempts); i++) {
        roast_departure departure = roast_attempts_departure(attempts, i);
        PyObject *record = Py_BuildValue(
            "{s:N,s:d,s:O,s:I,s:I}", "worker",
            ext_text(roast_attempts_worker(attempts, departure.worker)), "when",
            (double)departure.when.ns / 1e9, "expected", departure.expected ? Py_True : Py_False,
            "running", departure.running, "lost_results", departure.lost_results);
        if (record == NULL || PyList_Append(list, record) != 0)
            Py_CLEAR(list);
        Py_XDECREF(record);
    }
    ext_shared_let_go(shared);
    return list;
}

static PyObject *attempts_workers(PyObject *op, void *unused) {
    (void)unused;
    ext_shared *shared = ext_shared_hold(((attempts_object *)op)->shared);
    const roast_attempts *attempts = shared->part;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < roast_attempts_worker_count(attempts); i++) {
        PyObject *name = ext_text(roast_attempts_worker(attempts, i));
        if (name == NULL || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    ext_shared_let_go(shared);
    return list;
}

static PyObject *attempts_nbytes(PyObject *op, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(roast_attempts_memory(attempts_of(op)));
}

static Py_ssize_t attempts_length(PyObject *op) {
    return (Py_ssize_t)roast_attempts_count(attempts_of(op));
}

static PyObject *attempts_repr(PyObject *op) {
    const roast_attempts *attempts = attempts_of(op);
    return PyUnicode_FromFormat("<Attempts: %llu of tasks on %u workers, %u of which left>",
                                (unsigned long long)roast_attempts_count(attempts),
                                roast_attempts_worker_count(attempts),
                                roast_attempts_departure_count(attempts));
}

/* ---- kinds ---- */

static PyObject *attempts_set_kind(PyObject *op, PyObject *args) {
    const char *prefix, *name;
    Py_ssize_t len;
    roast_error err;
    if (!PyArg_ParseTuple(args, "s#s:set_kind", &prefix, &len, &name))
        return NULL;
    for (int kind = 0; kind < ROAST_KIND_foreign; kind++) {
        if (strcmp(name, roast_attempt_kind_name((roast_attempt_kind)kind)) != 0)
            continue;
        if (make_own((attempts_object *)op) != 0)
            return NULL;
        if (roast_attempts_set_kind(attempts_of(op), (roast_str){prefix, (size_t)len},
                                    (roast_attempt_kind)kind, &err) != ROAST_OK)
            return ext_raise(&err);
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_ValueError, "kind: processing, reduction or other, not '%s'", name);
}

/* ---- travelling ---- */

static PyObject *attempts_to_bytes(PyObject *op, PyObject *unused) {
    (void)unused;
    roast_sink *sink = packed(attempts_of(op));
    if (sink == NULL)
        return NULL;
    roast_str bytes = roast_sink_memory(sink);
    PyObject *data = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
    roast_sink_free(sink);
    return data;
}

static PyObject *attempts_from_bytes(PyObject *type, PyObject *data) {
    Py_buffer view;
    roast_attempts *attempts = NULL;
    roast_error err;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    roast_status status = roast_attempts_decode(view.buf, (size_t)view.len, &attempts, &err);
    PyBuffer_Release(&view);
    return status == ROAST_OK ? wrap((PyTypeObject *)type, attempts) : ext_raise(&err);
}

static PyObject *attempts_reduce(PyObject *op, PyObject *unused) {
    PyObject *data = attempts_to_bytes(op, unused);
    PyObject *unpack =
        data != NULL ? PyObject_GetAttrString((PyObject *)Py_TYPE(op), "from_bytes") : NULL;
    if (unpack == NULL) {
        Py_XDECREF(data);
        return NULL;
    }
    return Py_BuildValue("(N(N))", unpack, data);
}

/* ---- the type ---- */

static PyMethodDef attempts_methods[] = {
    {"records", (PyCFunction)(void (*)(void))attempts_records, METH_VARARGS | METH_KEYWORDS,
     "records($self, *, foreign=False)\n--\n\n"
     "One dict a try, in the order of their ends; those of other clients' tasks if asked for."},
    {"set_kind", attempts_set_kind, METH_VARARGS,
     "set_kind($self, prefix, kind, /)\n--\n\n"
     "All tasks with this prefix are 'processing', 'reduction' or 'other'."},
    {"to_bytes", attempts_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\nThe packed form: versioned and checksummed, see "
     "docs/format/attempts.md."},
    {"from_bytes", attempts_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\nAttempts from their packed form; ValueError says what is "
     "wrong with it."},
    {"__reduce__", attempts_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attempts_getset[] = {
    {"departures", attempts_departures, NULL, "The workers that left: one dict each.", NULL},
    {"workers", attempts_workers, NULL, "Addresses of the workers that tasks were sent to.", NULL},
    {"nbytes", attempts_nbytes, NULL, "Bytes of memory that they take.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot attempts_slots[] = {
    {Py_tp_doc, (void *)"Attempts()\n--\n\n"
                        "Every try of every task as the scheduler saw it, in packed rows."},
    {Py_tp_new, attempts_new},
    {Py_tp_dealloc, attempts_dealloc},
    {Py_tp_repr, attempts_repr},
    {Py_tp_methods, attempts_methods},
    {Py_tp_getset, attempts_getset},
    {Py_sq_length, attempts_length},
    {0, NULL},
};

PyType_Spec ext_spec_attempts = {"roastcoffea._core.Attempts", sizeof(attempts_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, attempts_slots};
