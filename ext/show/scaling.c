/* Scaling: the event rate of several runs against their cores, by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/named_runs.h"
#include "show/tables.h"

#include "roast/scaling_tables.h"

typedef struct scaling_object {
    PyObject_HEAD
    roast_scaling *scaling;
} scaling_object;

/* ---- life ---- */

static int add_run(void *scaling, roast_str name, run_input *input) {
    roast_error err;
    const roast_findings *findings = run_input_findings(input);
    if (findings == NULL)
        return -1;
    return ext_raised(roast_scaling_add(scaling, name, input->metrics, findings, &err), &err);
}

static PyObject *scaling_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"runs", NULL};
    PyObject *runs;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Scaling", keywords, &runs))
        return NULL;
    scaling_object *self = (scaling_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (ext_raised(roast_scaling_new(&self->scaling, &err), &err) != 0 ||
        ext_each_named_run(ext_state_of_final(type), runs, add_run, self->scaling) != 0 ||
        ext_raised(roast_scaling_finish(self->scaling, &err), &err) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void scaling_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_scaling_free(((scaling_object *)op)->scaling);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

enum { MOST_CORES = 1000 };

/* The numbers of cores to predict. 0, or -1 with an exception set. */
static int take_cores(PyObject *from, double *cores, size_t *count) {
    PyObject *list = PySequence_List(from);
    int result = list != NULL ? 0 : -1;
    Py_ssize_t size = list != NULL ? PyList_GET_SIZE(list) : 0;
    if (size > MOST_CORES) {
        PyErr_Format(PyExc_ValueError, "cores: at most %d numbers", MOST_CORES);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < size; i++)
        result = ext_real(PyList_GET_ITEM(list, i), "cores", &cores[i]);
    Py_XDECREF(list);
    *count = (size_t)size;
    return result;
}

static PyObject *scaling_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"cores", "width", "color", NULL};
    double cores[MOST_CORES];
    roast_scaling_view view = {((scaling_object *)op)->scaling, cores, 0};
    unsigned int width = 80;
    int color = 0;
    PyObject *wanted;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Ip:draw", keywords, &wanted, &width,
                                     &color) ||
        take_cores(wanted, cores, &view.n_cores) != 0 ||
        ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    if (ext_raised(roast_scaling_draw(&view, width, color != 0, sink, &err), &err) != 0) {
        roast_sink_free(sink);
        return NULL;
    }
    return ext_sink_text(sink);
}

static void write_json(const void *of, roast_sink *sink) {
    roast_scaling_json(of, sink);
}

static PyObject *scaling_json(PyObject *op, PyObject *wanted) {
    double cores[MOST_CORES];
    roast_scaling_view view = {((scaling_object *)op)->scaling, cores, 0};
    if (take_cores(wanted, cores, &view.n_cores) != 0)
        return NULL;
    return ext_written(&view, write_json);
}

static PyObject *table_at(const void *view, uint32_t index) {
    roast_grid *grid = NULL;
    roast_error err;
    roast_status status = roast_scaling_table(view, (roast_scaling_table_number)index, &grid, &err);
    return ext_table_taken(status, grid, &err);
}

static PyObject *scaling_tables(PyObject *op, PyObject *wanted) {
    double cores[MOST_CORES];
    roast_scaling_view view = {((scaling_object *)op)->scaling, cores, 0};
    if (take_cores(wanted, cores, &view.n_cores) != 0)
        return NULL;
    return ext_list(&view, ROAST_SCALING_TABLE_COUNT, table_at);
}

/* ---- the type ---- */

static PyMethodDef scaling_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))scaling_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, cores, width=80, color=False)\n--\n\n"
     "The headline and the tables as text, with predictions for these numbers of cores."},
    {"json", scaling_json, METH_O, "json($self, cores, /)\n--\n\nAll of it as JSON."},
    {"tables", scaling_tables, METH_O,
     "tables($self, cores, /)\n--\n\n"
     "One dict per table: id, title, columns, rows, numbers, caption."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scaling_slots[] = {
    {Py_tp_doc, (void *)"Scaling(runs)\n--\n\nSeveral runs, a list of (name, Run)."},
    {Py_tp_new, scaling_new},
    {Py_tp_dealloc, scaling_dealloc},
    {Py_tp_methods, scaling_methods},
    {0, NULL},
};

PyType_Spec ext_spec_scaling = {"roastcoffea._core.Scaling", sizeof(scaling_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, scaling_slots};
