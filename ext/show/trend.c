/* Trend: a metric of the runs of a folder over time, by the engine. */
#include "common/errors.h"
#include "common/values.h"
#include "show/tables.h"

#include "roast/found.h"
#include "roast/trend_tables.h"

typedef struct trend_object {
    PyObject_HEAD
    roast_trend *trend;
} trend_object;

enum { MOST_FILTERS = 32 };

/* ---- life ---- */

/* The filters, whose texts live in `texts`. 0, or -1 with an exception set. */
static int take_filters(PyObject *texts, roast_found_filter *filters, size_t *count) {
    char hint[ROAST_FOUND_HINT];
    roast_error err;
    *count = (size_t)PyTuple_GET_SIZE(texts);
    if (*count > MOST_FILTERS) {
        PyErr_Format(PyExc_ValueError, "where: at most %d tests", MOST_FILTERS);
        return -1;
    }
    for (size_t i = 0; i < *count; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, (Py_ssize_t)i);
        const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
        if (bytes == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "where: a test is a str");
            return -1;
        }
        if (roast_found_filter_parse(bytes, &filters[i], hint, &err) != ROAST_OK) {
            PyErr_Format(PyExc_ValueError, "where: %s; %s", err.message, hint);
            return -1;
        }
    }
    return 0;
}

static bool need_config(const roast_found_filter *filters, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (filters[i].key == ROAST_FOUND_BY_config)
            return true;
    return false;
}

/* Reads the runs into the trend and computes it; without the GIL. */
static roast_status fill(roast_trend *trend, const char *folder, const roast_found_filter *filters,
                         size_t n_filters, roast_error *err) {
    const roast_found_wanted parts = {.config = need_config(filters, n_filters),
                                      .metric = roast_trend_metric(trend)->key,
                                      .facts = true};
    roast_found *found;
    ROAST_TRY(roast_found_new(&found, err));
    roast_status status = roast_found_search(found, folder, ROAST_FOUND_DEPTH, err);
    if (status == ROAST_OK)
        status = roast_found_read(found, &parts, err);
    if (status == ROAST_OK) {
        roast_found_keep(found, filters, n_filters);
        status = roast_found_trend(found, trend, err);
    }
    if (status == ROAST_OK)
        status = roast_trend_finish(trend, err);
    roast_found_free(found);
    return status;
}

static roast_trend *make_trend(const char *metric, double error_rate, const char *folder,
                               PyObject *where) {
    roast_found_filter filters[MOST_FILTERS];
    size_t n_filters;
    roast_trend *trend;
    roast_error err;
    roast_status status;
    if (take_filters(where, filters, &n_filters) != 0 ||
        ext_raised(roast_trend_new(metric, error_rate, &trend, &err), &err) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = fill(trend, folder, filters, n_filters, &err);
    Py_END_ALLOW_THREADS if (status == ROAST_OK) return trend;
    roast_trend_free(trend);
    if (status == ROAST_ENOTFOUND)
        PyErr_SetString(PyExc_FileNotFoundError, err.message);
    else
        ext_raise(&err);
    return NULL;
}

static PyObject *trend_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"folder", "metric", "where", "error_rate", NULL};
    PyObject *folder, *where;
    const char *metric;
    double error_rate = ROAST_TREND_ERROR_RATE;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&sO|d:Trend", keywords, PyUnicode_FSConverter,
                                     &folder, &metric, &where, &error_rate))
        return NULL;
    PyObject *texts = PySequence_Tuple(where); /* a copy: user code may change the other one */
    roast_trend *trend =
        texts != NULL ? make_trend(metric, error_rate, PyBytes_AS_STRING(folder), texts) : NULL;
    Py_XDECREF(texts);
    Py_DECREF(folder);
    trend_object *self = trend != NULL ? (trend_object *)type->tp_alloc(type, 0) : NULL;
    if (self == NULL) {
        roast_trend_free(trend);
        return NULL;
    }
    self->trend = trend;
    return (PyObject *)self;
}

static void trend_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_trend_free(((trend_object *)op)->trend);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

static PyObject *trend_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"width", "color", "ascii", NULL};
    unsigned int width = 80;
    int color = 0, ascii = 0;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Ipp:draw", keywords, &width, &color, &ascii) ||
        ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    const roast_trend_look look = {width, color != 0, ascii != 0};
    if (ext_raised(roast_trend_draw(((trend_object *)op)->trend, &look, sink, &err), &err) != 0) {
        roast_sink_free(sink);
        return NULL;
    }
    return ext_sink_text(sink);
}

static void write_json(const void *of, roast_sink *sink) {
    roast_trend_json(of, sink);
}

static PyObject *trend_json(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    return ext_written(((trend_object *)op)->trend, write_json);
}

static PyObject *table_at(const void *trend, uint32_t index) {
    roast_grid *grid = NULL;
    roast_error err;
    roast_status status = roast_trend_table(trend, index, &grid, &err);
    return ext_table_taken(status, grid, &err);
}

static PyObject *trend_tables(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    const roast_trend *trend = ((trend_object *)op)->trend;
    return ext_list(trend, roast_trend_group_count(trend), table_at);
}

/* ---- the type ---- */

static PyMethodDef trend_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))trend_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80, color=False, ascii=False)\n--\n\n"
     "The headline, the groups with their lines of blocks, and the changes, as text."},
    {"json", trend_json, METH_NOARGS, "json($self, /)\n--\n\nAll of it as JSON."},
    {"tables", trend_tables, METH_NOARGS,
     "tables($self, /)\n--\n\n"
     "One dict per group, with its changes: id, title, columns, rows, numbers, caption."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot trend_slots[] = {
    {Py_tp_doc, (void *)"Trend(folder, metric, where, error_rate=0.01)\n--\n\n"
                        "A metric of the measurements below a folder over time."},
    {Py_tp_new, trend_new},
    {Py_tp_dealloc, trend_dealloc},
    {Py_tp_methods, trend_methods},
    {0, NULL},
};

PyType_Spec ext_spec_trend = {"roastcoffea._core.Trend", sizeof(trend_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, trend_slots};
