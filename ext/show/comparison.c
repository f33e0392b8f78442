/* Comparison: two sides of runs, compared by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/named_runs.h"
#include "show/tables.h"

#include "roast/compare_tables.h"

typedef struct comparison_object {
    PyObject_HEAD
    roast_comparison *comparison;
} comparison_object;

/* ---- life ---- */

typedef struct side_of {
    roast_comparison *comparison;
    unsigned side;
} side_of;

static int add_run(void *context, roast_str name, run_input *input) {
    const side_of *to = context;
    roast_error err;
    const roast_findings *findings = run_input_findings(input);
    if (findings == NULL)
        return -1;
    return ext_raised(roast_comparison_add(to->comparison, to->side, name, input->run,
                                           input->metrics, findings, &err),
                      &err);
}

static PyObject *comparison_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"a", "b", NULL};
    ext_state *state = ext_state_of_final(type);
    PyObject *sides[ROAST_SIDES];
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:Comparison", keywords, &sides[0], &sides[1]))
        return NULL;
    comparison_object *self = (comparison_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    int result = ext_raised(roast_comparison_new(&self->comparison, &err), &err);
    for (unsigned side = 0; result == 0 && side < ROAST_SIDES; side++)
        result =
            ext_each_named_run(state, sides[side], add_run, &(side_of){self->comparison, side});
    if (result == 0)
        result = ext_raised(roast_comparison_finish(self->comparison, &err), &err);
    if (result != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void comparison_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_comparison_free(((comparison_object *)op)->comparison);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

static roast_status draw(const void *of, unsigned width, bool color, roast_sink *sink,
                         roast_error *err) {
    return roast_comparison_draw(of, width, color, sink, err);
}

static PyObject *comparison_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    return ext_drawn(((comparison_object *)op)->comparison, draw, args, kwargs);
}

static void write_json(const void *of, roast_sink *sink) {
    roast_comparison_json(of, sink);
}

static PyObject *comparison_json(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    return ext_written(((comparison_object *)op)->comparison, write_json);
}

static PyObject *table_at(const void *comparison, uint32_t index) {
    roast_grid *grid = NULL;
    roast_error err;
    roast_status status =
        roast_comparison_table(comparison, (roast_compare_table)index, &grid, &err);
    return ext_table_taken(status, grid, &err);
}

static PyObject *comparison_tables(PyObject *op, void *unused) {
    (void)unused;
    return ext_list(((comparison_object *)op)->comparison, ROAST_COMPARE_TABLE_COUNT, table_at);
}

static PyObject *comparison_headline(PyObject *op, void *unused) {
    (void)unused;
    char headline[ROAST_COMPARE_HEADLINE];
    roast_comparison_headline(((comparison_object *)op)->comparison, headline, sizeof headline);
    return ext_text_or_null(roast_str_of(headline));
}

static PyObject *comparison_gate(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"condition", "strict", NULL};
    char why[ROAST_GATE_TEXT];
    PyObject *condition;
    int strict = 0;
    roast_str text;
    roast_error err;
    bool failed = false;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|p:gate", keywords, &condition, &strict))
        return NULL;
    PyObject *held = ext_utf8(condition, &text);
    if (held == NULL)
        return NULL;
    int result = ext_raised(roast_comparison_gate(((comparison_object *)op)->comparison, text,
                                                  strict != 0, &failed, why, &err),
                            &err);
    Py_DECREF(held);
    return result != 0 ? NULL
                       : Py_BuildValue("(NN)", PyBool_FromLong(failed),
                                       ext_text_or_null(roast_str_of(why)));
}

/* ---- the type ---- */

static PyMethodDef comparison_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))comparison_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80, color=False)\n--\n\nThe headline and the tables as text."},
    {"json", comparison_json, METH_NOARGS, "json($self)\n--\n\nAll of it as JSON."},
    {"gate", (PyCFunction)(void (*)(void))comparison_gate, METH_VARARGS | METH_KEYWORDS,
     "gate($self, condition, strict=False)\n--\n\n"
     "(whether the condition fails, why): 'wall_time>5%', 'section:NAME>10%', 'finding:KIND'."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef comparison_getset[] = {
    {"headline", comparison_headline, NULL, "The answer in a sentence.", NULL},
    {"tables", comparison_tables, NULL,
     "One dict per table: id, title, columns, rows, numbers, caption.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot comparison_slots[] = {
    {Py_tp_doc, (void *)"Comparison(a, b)\n--\n\nTwo sides, each a list of (name, Run)."},
    {Py_tp_new, comparison_new},
    {Py_tp_dealloc, comparison_dealloc},
    {Py_tp_methods, comparison_methods},
    {Py_tp_getset, comparison_getset},
    {0, NULL},
};

PyType_Spec ext_spec_comparison = {"roastcoffea._core.Comparison", sizeof(comparison_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, comparison_slots};
