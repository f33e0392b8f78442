/* Advice: settings for the next run, by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/tables.h"
#include "run/run.h"

#include "roast/advice_text.h"

typedef struct advice_object {
    PyObject_HEAD
    roast_advice *advice;
} advice_object;

/* ---- life ---- */

static PyObject *advice_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"run", NULL};
    PyObject *run;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Advice", keywords, &run))
        return NULL;
    run_input *input = ext_run_input(ext_state_of_final(type), run);
    if (input == NULL) {
        PyErr_SetString(PyExc_TypeError, "a Run is expected");
        return NULL;
    }
    advice_object *self = (advice_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (run_input_metrics(input) == NULL ||
        ext_raised(roast_advise_run(input->run, input->metrics, &self->advice, &err), &err) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void advice_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_advice_free(((advice_object *)op)->advice);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

static PyObject *advice_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"width", NULL};
    unsigned int width = 80;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|I:draw", keywords, &width) ||
        ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    roast_advice_draw(((advice_object *)op)->advice, width, sink);
    return ext_sink_text(sink);
}

static void write_json(const void *of, roast_sink *sink) {
    roast_advice_json(of, sink);
}

static PyObject *advice_json(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    return ext_written(((advice_object *)op)->advice, write_json);
}

/* ---- the type ---- */

static PyMethodDef advice_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))advice_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80)\n--\n\nThe headline and each change as text."},
    {"json", advice_json, METH_NOARGS, "json($self, /)\n--\n\nAll of it as JSON."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot advice_slots[] = {
    {Py_tp_doc, (void *)"Advice(run)\n--\n\nSettings for the next run."},
    {Py_tp_new, advice_new},
    {Py_tp_dealloc, advice_dealloc},
    {Py_tp_methods, advice_methods},
    {0, NULL},
};

PyType_Spec ext_spec_advice = {"roastcoffea._core.Advice", sizeof(advice_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, advice_slots};
