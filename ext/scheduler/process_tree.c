/* ProcessTree: roast/treelog.h for Python. The kernel is asked without the GIL. */
#include <math.h>

#include "common/errors.h"
#include "common/values.h"
#include "common/when.h"
#include "records/worker_series.h"
#include "scheduler/worker_state.h"

#include "roast/proc.h"
#include "roast/treelog.h"

typedef struct tree_object {
    PyObject_HEAD
    roast_treelog *log;
    bool busy; /* a look is being taken, without the GIL */
} tree_object;

/* ---- life ---- */

static PyObject *tree_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"pid", "proc_root", NULL};
    long long pid = 0;
    const char *root = NULL;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Lz:ProcessTree", keywords, &pid, &root))
        return NULL;
    tree_object *self = (tree_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (roast_treelog_new(root, pid, &self->log, &err) != ROAST_OK) {
        Py_DECREF(self);
        return ext_raise(&err);
    }
    return (PyObject *)self;
}

static void tree_dealloc(PyObject *op) {
    tree_object *self = (tree_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    roast_treelog_free(self->log);
    type->tp_free(op);
    Py_DECREF(type);
}

static int check_idle(const tree_object *self) {
    if (!self->busy)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "another thread is looking at the processes");
    return -1;
}

static PyObject *tree_sample(PyObject *op, PyObject *unused) {
    (void)unused;
    tree_object *self = (tree_object *)op;
    roast_error err;
    bool changed = false;
    if (check_idle(self) != 0)
        return NULL;
    self->busy = true;
    roast_status status;
    Py_BEGIN_ALLOW_THREADS status = roast_treelog_look(self->log, &changed, &err);
    Py_END_ALLOW_THREADS self->busy = false;
    return status == ROAST_OK ? PyBool_FromLong(changed) : ext_raise(&err);
}

static PyObject *tree_pause(PyObject *op, PyObject *interval) {
    double seconds = PyFloat_AsDouble(interval);
    if (seconds == -1.0 && PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(roast_treelog_pause(((tree_object *)op)->log, seconds));
}

/* ---- the series of some of them ---- */

/* The cores of a process by the dict `context`: 0 for None, -1 if it is not there or an exception is set. */
static int cores_of(void *context, const roast_process_life *life) {
    if (PyErr_Occurred())
        return -1;
    PyObject *key = PyLong_FromLongLong(life->pid);
    PyObject *value = key != NULL ? Py_XNewRef(PyDict_GetItemWithError(context, key)) : NULL;
    Py_XDECREF(key);
    if (value == NULL)
        return -1;
    long cores = value != Py_None ? PyLong_AsLong(value) : 0;
    bool none = value == Py_None;
    Py_DECREF(value);
    if (none)
        return 0;
    if (cores >= 1 && cores <= INT32_MAX)
        return (int)cores;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "cores of process %lld: %ld is no number of cores",
                     (long long)life->pid, cores);
    return -1;
}

/* `news`: only looks, joins and leaves since the last call. */
static PyObject *make_series(PyObject *op, PyObject *args, PyObject *kwargs, bool news) {
    static char *keywords[] = {"workers", "host", NULL};
    tree_object *self = (tree_object *)op;
    PyObject *workers;
    const char *host;
    Py_ssize_t host_len;
    roast_series *series;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, news ? "O!s#:news" : "O!s#:series", keywords,
                                     &PyDict_Type, &workers, &host, &host_len) ||
        check_idle(self) != 0)
        return NULL;
    const roast_str name = {host, (size_t)host_len};
    self->busy = true; /* reading the dict may run code that would change the log */
    roast_status status =
        news ? roast_treelog_news(self->log, cores_of, workers, name, &series, &err)
             : roast_treelog_series(self->log, cores_of, workers, name, &series, &err);
    self->busy = false;
    if (status != ROAST_OK)
        return PyErr_Occurred() ? NULL : ext_raise(&err);
    if (PyErr_Occurred()) {
        roast_series_free(series);
        return NULL;
    }
    return ext_series_new(ext_state_of_final(Py_TYPE(op)), series);
}

static PyObject *tree_series(PyObject *op, PyObject *args, PyObject *kwargs) {
    return make_series(op, args, kwargs, false);
}

static PyObject *tree_news(PyObject *op, PyObject *args, PyObject *kwargs) {
    return make_series(op, args, kwargs, true);
}

/* ---- looking ---- */

static PyObject *moment_or_none(roast_utc when) {
    return when.ns != 0 ? ext_when_object(when) : Py_NewRef(Py_None);
}

static PyObject *tree_processes(PyObject *op, void *unused) {
    (void)unused;
    const tree_object *self = (tree_object *)op;
    if (check_idle(self) != 0)
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < roast_treelog_count(self->log); i++) {
        const roast_process_life *life = roast_treelog_at(self->log, i);
        PyObject *process = Py_BuildValue(
            "{s:L,s:L,s:N,s:N,s:N}", "pid", (long long)life->pid, "parent", (long long)life->parent,
            "joined", ext_when_object(life->joined), "left", moment_or_none(life->left), "cpu",
            ext_real_or_none(life->have_cpu ? (double)life->cpu_ns / 1e9 : NAN));
        if (process == NULL || PyList_Append(list, process) != 0)
            Py_CLEAR(list);
        Py_XDECREF(process);
    }
    return list;
}

static Py_ssize_t tree_length(PyObject *op) {
    return (Py_ssize_t)roast_treelog_count(((tree_object *)op)->log);
}

/* ---- the machine ---- */

PyObject *ext_machine_cpu(PyObject *module, PyObject *args) {
    (void)module;
    const char *text = NULL;
    Py_ssize_t len = 0;
    roast_machine machine;
    roast_error err;
    if (!PyArg_ParseTuple(args, "|z#:machine_cpu", &text, &len))
        return NULL;
    roast_status status = text != NULL
                              ? roast_machine_parse((roast_str){text, (size_t)len}, &machine, &err)
                              : roast_machine_read(NULL, &machine, &err);
    return status == ROAST_OK
               ? Py_BuildValue("(dd)", (double)machine.busy_ns / 1e9, (double)machine.all_ns / 1e9)
               : ext_raise(&err);
}

/* ---- the type ---- */

static PyMethodDef tree_methods[] = {
    {"pause", tree_pause, METH_O,
     "pause($self, interval, /)\n--\n\n"
     "Seconds until the next sample(): soon after processes came or went, else the interval."},
    {"sample", tree_sample, METH_NOARGS,
     "sample($self)\n--\n\nSamples all processes; returns whether any started or ended."},
    {"series", (PyCFunction)(void (*)(void))tree_series, METH_VARARGS | METH_KEYWORDS,
     "series($self, workers, host)\n--\n\n"
     "A WorkerSeries of the processes in {pid: cores}; one with None for cores is in it, but is "
     "not counted as a worker."},
    {"news", (PyCFunction)(void (*)(void))tree_news, METH_VARARGS | METH_KEYWORDS,
     "news($self, workers, host)\n--\n\n"
     "The same for the looks, joins and leaves that it has not told of before."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tree_getset[] = {
    {"processes", tree_processes, NULL,
     "Every process that was seen: its number, its parent's, when it came and when it went, and "
     "the CPU seconds that "
     "it had used when it was last seen.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tree_slots[] = {
    {Py_tp_doc, (void *)"ProcessTree(pid=0, proc_root=None)\n--\n\n"
                        "Samples of a process (0: this one) and its descendants over time."},
    {Py_tp_new, tree_new},
    {Py_tp_dealloc, tree_dealloc},
    {Py_tp_methods, tree_methods},
    {Py_tp_getset, tree_getset},
    {Py_sq_length, tree_length},
    {0, NULL},
};

PyType_Spec ext_spec_process_tree = {"roastcoffea._core.ProcessTree", sizeof(tree_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, tree_slots};
