/* Tally: the chunks of a run by dataset, while it goes on; and the text for Prometheus of such runs. */
#include "run/live.h"

#include "common/errors.h"
#include "common/values.h"
#include "records/chunk_log.h"

#include "roast/export.h"

typedef struct tally_object {
    PyObject_HEAD
    roast_tally *tally;
} tally_object;

static PyObject *tally_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {NULL};
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Tally", keywords))
        return NULL;
    tally_object *self = (tally_object *)type->tp_alloc(type, 0);
    if (self != NULL && ext_raised(roast_tally_new(&self->tally, &err), &err) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void tally_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_tally_free(((tally_object *)op)->tally);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *tally_add(PyObject *op, PyObject *chunks) {
    roast_error err;
    log_core *core = ext_packed_view(ext_state_of_final(Py_TYPE(op)), chunks);
    if (core == NULL)
        return NULL;
    roast_status status = roast_tally_add(((tally_object *)op)->tally, core->log, &err);
    log_core_let_go(core);
    if (ext_raised(status, &err) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *count_or_none(int64_t count) {
    return count < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(count);
}

static PyObject *tally_row(const void *source, uint32_t index) {
    roast_str dataset;
    const roast_tally_row *row = roast_tally_at(source, index, &dataset);
    return Py_BuildValue("{s:N,s:K,s:K,s:N,s:N,s:N}", "dataset", ext_text_or_null(dataset), "done",
                         (unsigned long long)row->done, "failed", (unsigned long long)row->failed,
                         "events", count_or_none(row->events), "bytes", count_or_none(row->bytes),
                         "seconds",
                         ext_real_or_none(row->seconds < 0 ? (double)NAN : row->seconds));
}

static PyObject *tally_rows(PyObject *op, PyObject *unused) {
    (void)unused;
    const roast_tally *tally = ((tally_object *)op)->tally;
    return ext_list(tally, roast_tally_count(tally), tally_row);
}

static PyMethodDef tally_methods[] = {
    {"add", tally_add, METH_O, "add($self, chunks, /)\n--\n\nCounts chunks that have arrived."},
    {"rows", tally_rows, METH_NOARGS,
     "rows($self)\n--\n\n"
     "A dict for each dataset: chunks done and failed, events, bytes, seconds in process(); None: "
     "not known."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tally_slots[] = {
    {Py_tp_new, tally_new},
    {Py_tp_dealloc, tally_dealloc},
    {Py_tp_methods, tally_methods},
    {Py_tp_doc, "Tally()\n--\n\nThe chunks of a run by dataset, counted while it goes on."},
    {0, NULL},
};

PyType_Spec ext_spec_tally = {
    .name = "roastcoffea._core.Tally",
    .basicsize = sizeof(tally_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = tally_slots,
};

/* ---- text ---- */

/* A number of a run; one that is missing or None is not known. */
static int take_number(PyObject *given, const char *key, double *out) {
    PyObject *value;
    *out = NAN;
    if (ext_entry(given, key, &value) != 0)
        return -1;
    int result = value != NULL ? ext_real(value, key, out) : 0;
    Py_XDECREF(value);
    return result;
}

/* The text under a key, which `held` keeps. */
static int take_name(PyObject *given, const char *key, PyObject *held, roast_str *out) {
    PyObject *name, *text = NULL;
    if (ext_entry(given, key, &name) != 0)
        return -1;
    text = ext_text_of(name != NULL ? name : Py_None, key, out);
    int result = text != NULL ? PyList_Append(held, text) : -1;
    Py_XDECREF(name);
    Py_XDECREF(text);
    return result;
}

static int take_worker(PyObject *given, PyObject *held, roast_live_worker *out) {
    int result = ext_check_mapping(given, "a worker");
    if (result == 0)
        result = take_name(given, "worker", held, &out->name);
#define X(id)                                                                                      \
    if (result == 0)                                                                               \
        result = take_number(given, #id, &out->id);
    ROAST_LIVE_WORKER_GAUGES(X)
#undef X
    return result;
}

/* The workers one by one, if they are there. */
static int take_each(PyObject *given, PyObject *held, roast_live_run *out) {
    PyObject *each, *list;
    if (ext_entry(given, "each", &each) != 0)
        return -1;
    if (each == NULL)
        return 0;
    list = PySequence_List(each);
    Py_DECREF(each);
    if (list == NULL)
        return -1;
    size_t count = (size_t)PyList_GET_SIZE(list);
    roast_live_worker *workers = roast_alloc_zero((count + 1) * sizeof *workers);
    int result = workers != NULL ? 0 : (PyErr_NoMemory(), -1);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = take_worker(PyList_GET_ITEM(list, (Py_ssize_t)i), held, &workers[i]);
    Py_DECREF(list);
    out->each = workers;
    out->n_each = result == 0 ? count : 0;
    return result;
}

/* The objects that `out` points into are added to `held`. */
static int take_run(ext_state *state, PyObject *given, PyObject *held, roast_live_run *out) {
    PyObject *tally = NULL;
    int result = ext_check_mapping(given, "a run");
    if (result == 0)
        result = take_name(given, "run", held, &out->name);
    if (result == 0)
        result = ext_entry(given, "tally", &tally);
    if (result == 0 && tally != NULL && Py_TYPE(tally) != state->type_tally) {
        PyErr_SetString(PyExc_TypeError, "tally: a Tally is expected");
        result = -1;
    }
    if (result == 0 && tally != NULL) {
        out->tally = ((tally_object *)tally)->tally;
        result = PyList_Append(held, tally);
    }
    if (result == 0)
        result = take_each(given, held, out);
#define X(id)                                                                                      \
    if (result == 0)                                                                               \
        result = take_number(given, #id, &out->id);
    ROAST_LIVE_GAUGES(X)
#undef X
    Py_XDECREF(tally);
    return result;
}

static PyObject *text_of(const roast_live_run *runs, size_t count) {
    roast_sink *sink;
    roast_error err;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    roast_prometheus_live(runs, count, sink);
    return ext_sink_text(sink);
}

PyObject *ext_prometheus_live(PyObject *module, PyObject *given) {
    PyObject *list = PySequence_List(given), *held = PyList_New(0), *text = NULL;
    Py_ssize_t count = list != NULL ? PyList_GET_SIZE(list) : 0;
    roast_live_run *runs = roast_alloc_zero(((size_t)count + 1) * sizeof *runs);
    int result = list != NULL && held != NULL ? 0 : -1;
    if (runs == NULL) {
        PyErr_NoMemory();
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < count; i++)
        result = take_run(ext_state_of_module(module), PyList_GET_ITEM(list, i), held, &runs[i]);
    if (result == 0)
        text = text_of(runs, (size_t)count);
    for (Py_ssize_t i = 0; runs != NULL && i < count; i++)
        roast_free((void *)runs[i].each);
    roast_free(runs);
    Py_XDECREF(held);
    Py_XDECREF(list);
    return text;
}
