/* Progress: how far a run has come, while it goes on. */
#include "records/chunk_log.h"
#include "common/errors.h"
#include "common/values.h"
#include "records/worker_series.h"
#include "run/run.h"

#include "roast/progress.h"

typedef struct progress_object {
    PyObject_HEAD
    roast_progress progress;
} progress_object;

static PyObject *progress_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"start", NULL};
    double start;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "d:Progress", keywords, &start))
        return NULL;
    progress_object *self = (progress_object *)type->tp_alloc(type, 0);
    if (self != NULL)
        roast_progress_init(&self->progress, start);
    return (PyObject *)self;
}

static void progress_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- in ---- */

static PyObject *progress_add_chunks(PyObject *op, PyObject *args) {
    ext_state *state = ext_state_of_final(Py_TYPE(op));
    PyObject *chunks;
    double now;
    if (!PyArg_ParseTuple(args, "Od:add_chunks", &chunks, &now))
        return NULL;
    log_core *core = ext_packed_view(state, chunks);
    if (core == NULL)
        return NULL;
    roast_progress_add_chunks(&((progress_object *)op)->progress, core->log, now);
    log_core_let_go(core);
    Py_RETURN_NONE;
}

static PyObject *progress_add_series(PyObject *op, PyObject *more) {
    const roast_series *series = ext_series_view(ext_state_of_final(Py_TYPE(op)), more);
    if (series == NULL)
        return PyErr_Format(PyExc_TypeError, "a WorkerSeries is expected, not %s",
                            Py_TYPE(more)->tp_name);
    roast_progress_add_series(&((progress_object *)op)->progress, series);
    Py_RETURN_NONE;
}

/* ---- out ---- */

static PyObject *progress_look(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"now", "total", NULL};
    double now;
    unsigned long long total = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "d|K:look", keywords, &now, &total))
        return NULL;
    roast_progress_view view =
        roast_progress_look(&((progress_object *)op)->progress, now, (uint64_t)total);
    return Py_BuildValue(
        "{s:K,s:K,s:N,s:N,s:N,s:N,s:N,s:N}", "chunks", (unsigned long long)view.chunks, "failed",
        (unsigned long long)view.failed, "byte_rate", ext_real_or_none(view.byte_rate),
        "event_rate", ext_real_or_none(view.event_rate), "workers", ext_real_or_none(view.workers),
        "memory", ext_real_or_none(view.memory), "memory_limit",
        ext_real_or_none(view.memory_limit), "seconds_left", ext_real_or_none(view.seconds_left));
}

PyObject *ext_time_left(PyObject *module, PyObject *args) {
    PyObject *object;
    double first;
    if (!PyArg_ParseTuple(args, "Od:time_left", &object, &first))
        return NULL;
    const roast_run *run = ext_run_view(ext_state_of_module(module), object);
    if (run == NULL)
        return PyErr_Format(PyExc_TypeError, "a Run is expected, not %s", Py_TYPE(object)->tp_name);
    return ext_real_or_none(roast_progress_left_of(run, first));
}

/* ---- the type ---- */

static PyMethodDef progress_methods[] = {
    {"add_chunks", progress_add_chunks, METH_VARARGS,
     "add_chunks($self, chunks, now, /)\n--\n\nAdds chunks that have arrived, each once."},
    {"add_series", progress_add_series, METH_O,
     "add_series($self, more, /)\n--\n\nAdds the samples since the last call."},
    {"look", (PyCFunction)(void (*)(void))progress_look, METH_VARARGS | METH_KEYWORDS,
     "look($self, now, total=0)\n--\n\n"
     "Chunks done, rates of the last seconds, workers, memory, time left; None: not known."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot progress_slots[] = {
    {Py_tp_new, progress_new},
    {Py_tp_dealloc, progress_dealloc},
    {Py_tp_methods, progress_methods},
    {Py_tp_doc, "Progress(start)\n--\n\n"
                "The progress of a run; times are seconds on one clock of the caller."},
    {0, NULL},
};

PyType_Spec ext_spec_progress = {
    .name = "roastcoffea._core.Progress",
    .basicsize = sizeof(progress_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = progress_slots,
};
