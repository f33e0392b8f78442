/* TaskVineLog: roast/taskvine.h for Python. The log is read without the GIL. */
#include <math.h>
#include <string.h>

#include "common/errors.h"
#include "common/values.h"
#include "records/attempts.h"
#include "records/worker_series.h"

#include "roast/taskvine.h"

typedef struct vine_object {
    PyObject_HEAD
    roast_taskvine *log;
    PyObject *path; /* of the file that was read last; NULL */
    int64_t offset; /* how much of it was read */
    uint64_t told;  /* changes of workers that changes() has returned */
    bool busy;      /* it is being read, without the GIL */
} vine_object;

/* ---- life ---- */

static PyObject *vine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"begun", NULL};
    double begun = NAN;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|d:TaskVineLog", keywords, &begun))
        return NULL;
    vine_object *self = (vine_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (roast_taskvine_new(&self->log, &err) != ROAST_OK) {
        Py_DECREF(self);
        return ext_raise(&err);
    }
    if (fabs(begun) < 1e12)
        roast_taskvine_begin_at(self->log, (int64_t)(begun * 1e6));
    return (PyObject *)self;
}

static void vine_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    Py_XDECREF(((vine_object *)op)->path);
    roast_taskvine_free(((vine_object *)op)->log);
    type->tp_free(op);
    Py_DECREF(type);
}

static int check_idle(const vine_object *self) {
    if (!self->busy)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "another thread is reading the log");
    return -1;
}

/* ---- in ---- */

static PyObject *vine_feed(PyObject *op, PyObject *data) {
    vine_object *self = (vine_object *)op;
    Py_buffer bytes;
    roast_error err;
    if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) != 0)
        return NULL;
    roast_status status = ROAST_OK;
    bool idle = check_idle(self) == 0; /* after the call above, which may run code */
    if (idle)
        status = roast_taskvine_feed(self->log, bytes.buf, (size_t)bytes.len, &err);
    PyBuffer_Release(&bytes);
    if (!idle)
        return NULL;
    return status == ROAST_OK ? Py_NewRef(Py_None) : ext_raise(&err);
}

static PyObject *vine_read(PyObject *op, PyObject *args) {
    vine_object *self = (vine_object *)op;
    PyObject *path;
    roast_error err;
    if (!PyArg_ParseTuple(args, "O&:read", PyUnicode_FSConverter, &path))
        return NULL;
    if (check_idle(self) != 0) {
        Py_DECREF(path);
        return NULL;
    }
    if (self->path == NULL || strcmp(PyBytes_AS_STRING(self->path), PyBytes_AS_STRING(path)) != 0) {
        Py_XSETREF(self->path, Py_NewRef(path));
        self->offset = 0;
    }
    int64_t before = self->offset;
    roast_status status;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS status =
        roast_taskvine_feed_file(self->log, PyBytes_AS_STRING(path), &self->offset, &err);
    Py_END_ALLOW_THREADS self->busy = false;
    Py_DECREF(path);
    return status == ROAST_OK ? PyLong_FromLongLong(self->offset - before) : ext_raise(&err);
}

/* A new reference to the owner of the text; None has no text. */
static PyObject *text_or_none(PyObject *object, const char *what, roast_str *out) {
    *out = (roast_str){NULL, 0};
    return object == Py_None ? Py_NewRef(object) : ext_text_of(object, what, out);
}

static PyObject *vine_explain(PyObject *op, PyObject *args) {
    vine_object *self = (vine_object *)op;
    long long task;
    PyObject *type, *message;
    roast_str texts[2];
    roast_error err;
    if (!PyArg_ParseTuple(args, "LOO:explain", &task, &type, &message))
        return NULL;
    PyObject *first = text_or_none(type, "explain: type", &texts[0]);
    PyObject *second = first != NULL ? text_or_none(message, "explain: message", &texts[1]) : NULL;
    roast_status status = ROAST_OK;
    bool good = second != NULL && check_idle(self) == 0;
    if (good)
        status = roast_taskvine_explain(self->log, task, texts[0], texts[1], &err);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (!good)
        return NULL;
    return status == ROAST_OK ? Py_NewRef(Py_None) : ext_raise(&err);
}

/* ---- out ---- */

static PyObject *vine_end(PyObject *op, PyObject *unused) {
    (void)unused;
    vine_object *self = (vine_object *)op;
    ext_state *state = ext_state_of_final(Py_TYPE(op));
    roast_attempts *attempts;
    roast_series *series;
    roast_error err;
    if (check_idle(self) != 0)
        return NULL;
    roast_status status = roast_taskvine_finish(self->log, &err);
    if (status == ROAST_OK)
        status = roast_taskvine_take_attempts(self->log, &attempts, &err);
    if (status != ROAST_OK)
        return ext_raise(&err);
    PyObject *first = ext_attempts_new(state, attempts);
    if (first == NULL)
        return NULL;
    if (roast_taskvine_take_series(self->log, &series, &err) != ROAST_OK) {
        Py_DECREF(first);
        return ext_raise(&err);
    }
    PyObject *second = ext_series_new(state, series);
    if (second == NULL) {
        Py_DECREF(first);
        return NULL;
    }
    return Py_BuildValue("(NN)", first, second);
}

static roast_status add_changes(const roast_series *from, uint64_t first, roast_series *to,
                                roast_error *err) {
    for (uint64_t i = first; i < roast_series_change_count(from); i++) {
        roast_worker_change change = roast_series_change_at(from, i);
        uint32_t worker;
        ROAST_TRY(
            roast_series_worker(to, roast_series_worker_name(from, change.worker), &worker, err));
        ROAST_TRY(roast_series_change(to, worker, change.kind, change.when, change.threads, err));
    }
    return ROAST_OK;
}

static PyObject *vine_changes(PyObject *op, PyObject *unused) {
    (void)unused;
    vine_object *self = (vine_object *)op;
    roast_series *made;
    roast_error err;
    if (check_idle(self) != 0)
        return NULL;
    if (roast_series_new(&made, &err) != ROAST_OK)
        return ext_raise(&err);
    const roast_series *series = roast_taskvine_series(self->log); /* NULL: taken */
    if (series != NULL && add_changes(series, self->told, made, &err) != ROAST_OK) {
        roast_series_free(made);
        return ext_raise(&err);
    }
    if (series != NULL)
        self->told = roast_series_change_count(series);
    return ext_series_new(ext_state_of_final(Py_TYPE(op)), made);
}

static PyObject *moment(int64_t us) {
    return ext_real_or_none(us != ROAST_NO_TIME ? (double)us / 1e6 : NAN);
}

static PyObject *vine_facts(PyObject *op, void *unused) {
    (void)unused;
    const vine_object *self = (vine_object *)op;
    if (check_idle(self) != 0)
        return NULL;
    const roast_taskvine_facts *facts = roast_taskvine_get_facts(self->log);
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {{"lines", facts->lines},         {"unreadable", facts->unreadable},
                  {"recovered", facts->recovered}, {"exhausted", facts->exhausted},
                  {"cancelled", facts->cancelled}, {"unexplained", facts->unexplained},
                  {"open", facts->open},           {"libraries", facts->libraries},
                  {"processed", facts->processed}, {"raised", facts->raised}};
    PyObject *all = PyDict_New();
    bool good = all != NULL && ext_put(all, "begun", PyBool_FromLong(facts->begun)) == 0 &&
                ext_put(all, "ended", PyBool_FromLong(facts->ended)) == 0 &&
                ext_put(all, "cut", PyBool_FromLong(facts->cut)) == 0 &&
                ext_put(all, "first", moment(facts->first_us)) == 0 &&
                ext_put(all, "last", moment(facts->last_us)) == 0;
    for (unsigned i = 0; good && i < sizeof counts / sizeof *counts; i++)
        good = ext_put(all, counts[i].name, PyLong_FromUnsignedLongLong(counts[i].count)) == 0;
    if (!good)
        Py_CLEAR(all);
    return all;
}

static PyObject *vine_figures(PyObject *op, void *unused) {
    (void)unused;
    const vine_object *self = (vine_object *)op;
    if (check_idle(self) != 0)
        return NULL;
    PyObject *all = PyDict_New();
    roast_span_value figure;
    for (uint32_t i = 0; all != NULL && i < ROAST_TASKVINE_FIGURES; i++)
        if (roast_taskvine_figure(self->log, i, &figure) &&
            ext_put_pair(all,
                         Py_BuildValue("(NNN)", ext_text(figure.context), ext_text(figure.activity),
                                       ext_text(figure.unit)),
                         PyFloat_FromDouble(figure.value)) != 0)
            Py_CLEAR(all);
    return all;
}

/* A dict by the names of the workers. `value_of` returns NULL without an exception for a worker that is left out. */
static PyObject *by_worker(const vine_object *self,
                           PyObject *(*value_of)(const roast_taskvine *log, uint32_t worker)) {
    if (check_idle(self) != 0)
        return NULL;
    const roast_attempts *attempts = roast_taskvine_attempts(self->log);
    uint32_t count = attempts != NULL ? roast_attempts_worker_count(attempts) : 0;
    PyObject *all = PyDict_New();
    for (uint32_t i = 0; all != NULL && i < count; i++) {
        PyObject *value = value_of(self->log, i);
        if (value == NULL && PyErr_Occurred() == NULL)
            continue;
        if (ext_put_pair(all, ext_text(roast_attempts_worker(attempts, i)), value) != 0)
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *cores_of(const roast_taskvine *log, uint32_t worker) {
    int32_t cores = roast_taskvine_worker_cores(log, worker);
    return cores >= 0 ? PyLong_FromLong(cores) : NULL;
}

static PyObject *vine_present(PyObject *op, void *unused) {
    (void)unused;
    return by_worker((vine_object *)op, cores_of);
}

static PyObject *note_at(const void *source, uint32_t index) {
    return ext_text_or_null(roast_taskvine_note(source, index));
}

static PyObject *vine_notes(PyObject *op, void *unused) {
    (void)unused;
    const vine_object *self = (vine_object *)op;
    if (check_idle(self) != 0)
        return NULL;
    return ext_list(self->log, roast_taskvine_note_count(self->log), note_at);
}

static PyObject *offset_of(const roast_taskvine *log, uint32_t worker) {
    int64_t us = roast_taskvine_clock_offset(log, worker);
    return us != 0 ? PyFloat_FromDouble((double)us / 1e6) : NULL;
}

static PyObject *vine_offsets(PyObject *op, void *unused) {
    (void)unused;
    return by_worker((vine_object *)op, offset_of);
}

/* ---- the type ---- */

static PyMethodDef vine_methods[] = {
    {"feed", vine_feed, METH_O,
     "feed($self, data, /)\n--\n\nThe next bytes of the log; the beginning of a line waits for its "
     "end."},
    {"read", vine_read, METH_VARARGS,
     "read($self, path, /)\n--\n\nReads a file, from where the last call ended if it is the same; "
     "returns how many bytes were read."},
    {"explain", vine_explain, METH_VARARGS,
     "explain($self, task, type, message, /)\n--\n\nWhy a task raised: for its tries that are read "
     "from now on."},
    {"changes", vine_changes, METH_NOARGS,
     "changes($self)\n--\n\nBefore end(): a WorkerSeries with the joins and leaves since the last "
     "call."},
    {"end", vine_end, METH_NOARGS,
     "end($self)\n--\n\nThe log has ended: its Attempts and its WorkerSeries, once."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef vine_getset[] = {
    {"facts", vine_facts, NULL, "What the log told so far: counts, moments.", NULL},
    {"clock_offsets", vine_offsets, NULL,
     "Before end(): {worker: seconds that its clock is behind the manager's}, where they differ.",
     NULL},
    {"figures", vine_figures, NULL,
     "{(kind of task, activity, unit): value}: measurements of TaskVine's resource monitor, and "
     "transfers.",
     NULL},
    {"present", vine_present, NULL, "Before end(): {worker: cores} of those connected.", NULL},
    {"notes", vine_notes, NULL, "After end(): what could not be measured, and why.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot vine_slots[] = {
    {Py_tp_doc, (void *)"TaskVineLog(begun=nan)\n--\n\n"
                        "Reads the log of a TaskVine manager (\"transactions\") as it grows. What "
                        "ended before `begun`, in seconds since 1970, is not of the run."},
    {Py_tp_new, vine_new},
    {Py_tp_dealloc, vine_dealloc},
    {Py_tp_methods, vine_methods},
    {Py_tp_getset, vine_getset},
    {0, NULL},
};

PyType_Spec ext_spec_taskvine_log = {"roastcoffea._core.TaskVineLog", sizeof(vine_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, vine_slots};
