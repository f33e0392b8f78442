/* BaseInstrumentationContext: what users derive their own trackers from. */
#include "errors.h"
#include "open_chunk.h"
#include "state.h"

#include <stddef.h>
#include <structmember.h>

typedef struct instrumentation_object {
    PyObject_HEAD
    PyObject *processor, *name, *dict;
} instrumentation_object;

static int instrumentation_init(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"processor", "name", NULL};
    PyObject *processor = Py_None, *name = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:BaseInstrumentationContext", keywords,
                                     &processor, &name))
        return -1;
    instrumentation_object *self = (instrumentation_object *)op;
    Py_XSETREF(self->processor, Py_NewRef(processor));
    Py_XSETREF(self->name, Py_NewRef(name));
    return 0;
}

static PyObject *instrumentation_enter(PyObject *op, PyObject *unused) {
    (void)unused;
    return Py_NewRef(op);
}

static PyObject *instrumentation_exit(PyObject *op, PyObject *args) {
    (void)op;
    (void)args;
    Py_RETURN_FALSE;
}

/* Into somebody else's mapping: under "custom_metrics", where a chunk has it too. */
static int record_foreign(ext_state *state, PyObject *mapping, PyObject *name, PyObject *value) {
    PyObject *customs = NULL;
    if (ext_optional_item(mapping, state->str_custom_metrics, &customs) < 0)
        return -1;
    if (customs == NULL) {
        customs = PyDict_New();
        if (customs != NULL && PyObject_SetItem(mapping, state->str_custom_metrics, customs) != 0)
            Py_CLEAR(customs);
    }
    if (customs == NULL)
        return -1;
    int result = PyObject_SetItem(customs, name, value);
    Py_DECREF(customs);
    return result;
}

static int record_metric(ext_state *state, PyObject *processor, PyObject *name, PyObject *value) {
    PyObject *current = NULL;
    if (processor == NULL)
        return 0;
    if (ext_optional_attr(processor, state->str_current_chunk, &current) < 0)
        return -1;
    int result = 0;
    if (current == NULL || Py_TYPE(current) == state->type_current_chunk) {
        open_chunk *chunk = open_chunk_of(processor);
        PyObject *mapping = chunk != NULL ? Py_XNewRef(open_chunk_mapping(state, chunk)) : NULL;
        if (chunk != NULL)
            result = mapping == NULL ? -1 : PyDict_SetItem(mapping, name, value);
        Py_XDECREF(mapping);
    } else if (ext_is_mutable_mapping(current)) {
        result = record_foreign(state, current, name, value);
    }
    Py_XDECREF(current);
    return result;
}

static PyObject *instrumentation_record(PyObject *op, PyObject *args) {
    PyObject *name, *value;
    if (!PyArg_ParseTuple(args, "OO:record_metric", &name, &value))
        return NULL;
    ext_state *state = ext_state_of_type(Py_TYPE(op));
    if (state == NULL)
        return NULL;
    PyObject *processor = Py_XNewRef(((instrumentation_object *)op)->processor);
    if (record_metric(state, processor, name, value) != 0)
        ext_count_fault("record_metric", NULL);
    Py_XDECREF(processor);
    return ext_let_pass(Py_NewRef(Py_None));
}

static int instrumentation_traverse(PyObject *op, visitproc visit, void *arg) {
    instrumentation_object *self = (instrumentation_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->processor);
    Py_VISIT(self->name);
    Py_VISIT(self->dict);
    return 0;
}

static int instrumentation_clear(PyObject *op) {
    instrumentation_object *self = (instrumentation_object *)op;
    Py_CLEAR(self->processor);
    Py_CLEAR(self->name);
    Py_CLEAR(self->dict);
    return 0;
}

static void instrumentation_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    instrumentation_clear(op);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyMethodDef instrumentation_methods[] = {
    {"__enter__", instrumentation_enter, METH_NOARGS, NULL},
    {"__exit__", instrumentation_exit, METH_VARARGS, NULL},
    {"record_metric", instrumentation_record, METH_VARARGS,
     "record_metric($self, name, value, /)\n--\n\n"
     "Stores a value of your own with the chunk that is being processed."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef instrumentation_members[] = {
    {"processor", T_OBJECT, offsetof(instrumentation_object, processor), 0, NULL},
    {"name", T_OBJECT, offsetof(instrumentation_object, name), 0, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(instrumentation_object, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot instrumentation_slots[] = {
    {Py_tp_doc, (void *)"BaseInstrumentationContext(processor, name=None)\n--\n\n"
                        "Base of a context manager of your own; call self.record_metric(name, "
                        "value) in it."},
    {Py_tp_init, instrumentation_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, instrumentation_dealloc},
    {Py_tp_traverse, instrumentation_traverse},
    {Py_tp_clear, instrumentation_clear},
    {Py_tp_methods, instrumentation_methods},
    {Py_tp_members, instrumentation_members},
    {0, NULL},
};

PyType_Spec ext_spec_instrumentation = {
    "roastcoffea._core.BaseInstrumentationContext", sizeof(instrumentation_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, instrumentation_slots};
