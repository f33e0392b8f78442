/* Summary: the tables of a run as the engine shows them. */
#include "convert_run.h"
#include "errors.h"
#include "pairs.h"
#include "run.h"
#include "values.h"

#include "roast/diagnose.h"
#include "roast/summary.h"

#include <math.h>
#include <string.h>

typedef struct summary_object {
    PyObject_HEAD
    roast_summary *summary;
} summary_object;

static int raised(roast_status status, const roast_error *err) {
    if (status == ROAST_OK)
        return 0;
    ext_raise(err);
    return -1;
}

/* ---- numbers of a mapping ---- */

/* A number of Python's or numpy's, of the type that the catalogue says: a count that came as a real is
 * a count all the same. */
static int value_of(PyObject *object, const char *name, roast_metric_type type, roast_value *out) {
    double real;
    *out = roast_value_none();
    if (object == NULL || object == Py_None)
        return 0;
    if (type == ROAST_TYPE_INT && PyIndex_Check(object)) {
        int overflow;
        PyObject *index = PyNumber_Index(object);
        long long integer = index != NULL ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
        Py_XDECREF(index);
        if (PyErr_Occurred())
            return -1;
        if (overflow == 0) {
            *out = roast_value_int(integer);
            return 0;
        }
    }
    if (ext_real(object, name, &real) != 0)
        return -1;
    if (type == ROAST_TYPE_INT && fabs(real) < 0x1p62 && real == trunc(real))
        *out = roast_value_int((int64_t)real);
    else if (!isnan(real))
        *out = roast_value_real(real);
    return 0;
}

/* The value under one name of a mapping. */
static int take(PyObject *from, const char *name, roast_metric_type type, roast_value *out) {
    PyObject *object;
    if (ext_entry(from, name, &object) != 0)
        return -1;
    int result = value_of(object, name, type, out);
    Py_XDECREF(object);
    return result;
}

/* The same as a double, NaN if it is not there, and as a count, 0 if it is not. */
static int take_real(PyObject *from, const char *name, double *out) {
    roast_value value;
    int result = take(from, name, ROAST_TYPE_REAL, &value);
    *out = roast_value_number(value);
    return result;
}

static int take_count(PyObject *from, const char *name, uint64_t *out) {
    roast_value value;
    int result = take(from, name, ROAST_TYPE_INT, &value);
    *out = value.kind == ROAST_VALUE_INT && value.integer > 0 ? (uint64_t)value.integer : 0;
    return result;
}

/* The first name of a row under which the mapping has a number. */
static int take_scalar(PyObject *from, const roast_metric_info *row, roast_metrics *metrics) {
    roast_value value;
    roast_error err;
    if (take(from, row->key, row->type, &value) != 0)
        return -1;
    for (const char *names = row->aliases; value.kind == ROAST_VALUE_NONE && *names != '\0';) {
        char name[64];
        size_t len = strcspn(names, " ");
        if (len < sizeof name) {
            memcpy(name, names, len);
            name[len] = '\0';
            if (take(from, name, row->type, &value) != 0)
                return -1;
        }
        names += len + (names[len] == ' ');
    }
    if (value.kind == ROAST_VALUE_NONE)
        return 0;
    return raised(roast_metrics_set(metrics, row->key, value, &err), &err);
}

static int take_scalars(PyObject *from, roast_metrics *metrics) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        bool number = row->type == ROAST_TYPE_INT || row->type == ROAST_TYPE_REAL;
        if (row->scope == ROAST_IN_METRICS && number && take_scalar(from, row, metrics) != 0)
            return -1;
    }
    return 0;
}

/* ---- tables of a mapping ---- */

/* Adds one row of a table to the metrics. */
typedef int (*row_taker)(roast_metrics *metrics, roast_str name, PyObject *row);

static int take_row(roast_metrics *metrics, PyObject *name, PyObject *row, const char *table,
                    row_taker taker) {
    Py_ssize_t len;
    if (ext_check_mapping(row, table) != 0)
        return -1;
    PyObject *text = PyObject_Str(name);
    const char *data = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    int result = data != NULL ? taker(metrics, (roast_str){data, (size_t)len}, row) : -1;
    Py_XDECREF(text);
    return result;
}

static int take_table(PyObject *from, const char *table, row_taker taker, roast_metrics *metrics) {
    PyObject *rows;
    ext_pairs pairs;
    if (ext_entry(from, table, &rows) != 0)
        return -1;
    if (rows == NULL)
        return 0;
    int result = ext_pairs_open(&pairs, rows, table);
    Py_DECREF(rows);
    while (result == 0 && ext_pairs_next(&pairs))
        result = take_row(metrics, pairs.key, pairs.value, table, taker);
    ext_pairs_close(&pairs);
    return result;
}

static int take_dataset(roast_metrics *metrics, roast_str name, PyObject *from) {
    roast_dataset_row row = {.name = name};
    roast_value events;
    roast_error err;
    if (take_count(from, "num_chunks", &row.num_chunks) != 0 ||
        take_real(from, "total_duration", &row.total_duration) != 0 ||
        take(from, "total_events", ROAST_TYPE_INT, &events) != 0 ||
        take_real(from, "mean_duration", &row.mean_duration) != 0 ||
        take_real(from, "mean_events_per_chunk", &row.mean_events_per_chunk) != 0)
        return -1;
    row.total_events = events.integer;
    return raised(roast_metrics_add_dataset(metrics, &row, &err), &err);
}

/* An entry may have the measures of several sorts: each is a row. */
static int take_section(roast_metrics *metrics, roast_str name, PyObject *from) {
    roast_section_row row = {.name = name};
    roast_value bytes;
    roast_error err;
    if (take_count(from, "count", &row.count) != 0 ||
        take_real(from, "total_duration", &row.total_duration) != 0 ||
        take_real(from, "self_duration", &row.self_duration) != 0 ||
        take_real(from, "mean_duration", &row.mean_duration) != 0 ||
        take_real(from, "mean_mem_delta_mb", &row.mean_mem_delta_mb) != 0 ||
        take_real(from, "max_mem_delta_mb", &row.max_mem_delta_mb) != 0 ||
        take_real(from, "min_mem_delta_mb", &row.min_mem_delta_mb) != 0 ||
        take(from, "total_bytes", ROAST_TYPE_INT, &bytes) != 0)
        return -1;
    row.total_bytes = bytes.integer;
    const bool there[ROAST_SECTION_KINDS] = {
        [ROAST_SECTION_TIME] = !isnan(row.total_duration),
        [ROAST_SECTION_MEMORY] = !isnan(row.mean_mem_delta_mb),
        [ROAST_SECTION_BYTES] = bytes.kind != ROAST_VALUE_NONE,
    };
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++) {
        row.kind = (roast_section_kind)kind;
        if (there[kind] && raised(roast_metrics_add_section(metrics, &row, &err), &err) != 0)
            return -1;
    }
    return 0;
}

static int take_branch(roast_metrics *metrics, roast_str name, PyObject *from) {
    roast_branch_row row = {.name = name};
    roast_error err;
    if (take_count(from, "num_chunks", &row.num_chunks) != 0 ||
        take(from, "seconds", ROAST_TYPE_REAL, &row.seconds) != 0 ||
        take(from, "bytes", ROAST_TYPE_INT, &row.bytes) != 0 ||
        take(from, "uncompressed_bytes", ROAST_TYPE_INT, &row.uncompressed_bytes) != 0 ||
        take(from, "count", ROAST_TYPE_INT, &row.count) != 0)
        return -1;
    return raised(roast_metrics_add_branch(metrics, &row, &err), &err);
}

static int take_worker(roast_metrics *metrics, roast_str name, PyObject *from) {
    roast_worker_row row = {.name = name};
    roast_error err;
    if (take_count(from, "samples", &row.samples) != 0 ||
        take(from, "threads", ROAST_TYPE_REAL, &row.threads) != 0 ||
        take(from, "peak_memory_bytes", ROAST_TYPE_INT, &row.peak_memory_bytes) != 0 ||
        take(from, "memory_limit_bytes", ROAST_TYPE_INT, &row.memory_limit_bytes) != 0 ||
        take(from, "peak_memory_percent", ROAST_TYPE_REAL, &row.peak_memory_percent) != 0 ||
        take(from, "peak_spilled_bytes", ROAST_TYPE_INT, &row.peak_spilled_bytes) != 0 ||
        take(from, "mean_cpu_percent", ROAST_TYPE_REAL, &row.mean_cpu_percent) != 0)
        return -1;
    return raised(roast_metrics_add_worker(metrics, &row, &err), &err);
}

static int take_tables(PyObject *from, roast_metrics *metrics) {
    if (take_table(from, "per_dataset", take_dataset, metrics) != 0 ||
        take_table(from, "sections", take_section, metrics) != 0 ||
        take_table(from, "branch_read_metrics", take_branch, metrics) != 0)
        return -1;
    return take_table(from, "worker_health", take_worker, metrics);
}

/* ---- notes of a mapping ---- */

static int add_note(roast_summary *summary, PyObject *note) {
    roast_error err;
    Py_ssize_t len;
    PyObject *text = PyObject_Str(note);
    const char *data = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    int result =
        data == NULL
            ? -1
            : raised(roast_summary_add_note(summary, (roast_str){data, (size_t)len}, &err), &err);
    Py_XDECREF(text);
    return result;
}

static int take_notes(PyObject *from, roast_summary *summary) {
    PyObject *notes;
    if (ext_entry(from, "notes", &notes) != 0)
        return -1;
    if (notes == NULL)
        return 0;
    PyObject *list = PySequence_List(notes);
    Py_DECREF(notes);
    int result = list != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = add_note(summary, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    return result;
}

/* ---- life ---- */

/* The metrics of the run, where there is one; numbers of the mapping, where there is one, stand instead of
 * the run's, and its tables where there is no run. */
static int make_metrics(const roast_run *run, PyObject *mapping, roast_metrics **out) {
    roast_error err;
    if (mapping != NULL && ext_check_mapping(mapping, "metrics") != 0)
        return -1;
    if (raised(run != NULL ? roast_metrics_compute(run, out, &err) : roast_metrics_new(out, &err),
               &err) != 0)
        return -1;
    if (mapping == NULL)
        return 0;
    if (take_scalars(mapping, *out) != 0)
        return -1;
    return run == NULL ? take_tables(mapping, *out) : 0;
}

static int explain(roast_summary *summary, const roast_run *run, const roast_metrics *metrics) {
    roast_findings *findings = NULL;
    roast_error err;
    if (raised(roast_diagnose_run(run, metrics, &findings, &err), &err) != 0)
        return -1;
    int result = raised(roast_summary_explain(summary, findings, &err), &err);
    roast_findings_free(findings);
    return result;
}

static int summarize(summary_object *self, const roast_run *run, PyObject *mapping) {
    roast_metrics *metrics = NULL;
    roast_error err;
    int result = make_metrics(run, mapping, &metrics);
    if (result == 0)
        result = raised(roast_summary_new(metrics, run, &self->summary, &err), &err);
    if (result == 0 && run != NULL)
        result = explain(self->summary, run, metrics);
    if (result == 0 && mapping != NULL)
        result = take_notes(mapping, self->summary);
    roast_metrics_free(metrics);
    return result;
}

static PyObject *summary_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"source", "run", NULL};
    PyObject *source, *behind = Py_None;
    ext_state *state = ext_state_of_final(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Summary", keywords, &source, &behind))
        return NULL;
    const roast_run *run = ext_run_view(state, source);
    PyObject *mapping = run == NULL ? source : NULL;
    if (behind != Py_None && (run != NULL || (run = ext_run_view(state, behind)) == NULL))
        return PyErr_Format(PyExc_TypeError, "run: a Run behind a mapping of metrics, not %s",
                            Py_TYPE(behind)->tp_name);
    summary_object *self = (summary_object *)type->tp_alloc(type, 0);
    if (self != NULL && summarize(self, run, mapping) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void summary_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_summary_free(((summary_object *)op)->summary);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- what comes out ---- */

static PyObject *heading_list(const roast_grid *grid) {
    uint32_t count = roast_grid_column_count(grid);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *text = ext_text(roast_grid_heading(grid, i));
        if (text == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, text);
    }
    return list;
}

static PyObject *row_list(const roast_grid *grid, uint32_t row) {
    uint32_t count = roast_grid_column_count(grid);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *text = ext_text(roast_grid_text(grid, row, i));
        if (text == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, text);
    }
    return list;
}

static PyObject *rows_list(const roast_grid *grid) {
    uint32_t count = roast_grid_row_count(grid);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *row = row_list(grid, i);
        if (row == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return list;
}

static PyObject *table_dict(const roast_grid *grid) {
    return Py_BuildValue("{s:s,s:N,s:N,s:N,s:N,s:N}", "id", roast_grid_id(grid), "title",
                         ext_text(roast_grid_title(grid)), "columns", heading_list(grid), "rows",
                         rows_list(grid), "caption", ext_text(roast_grid_caption(grid)),
                         "has_content", PyBool_FromLong(roast_grid_has_content(grid)));
}

static PyObject *summary_tables(PyObject *op, void *unused) {
    (void)unused;
    const roast_summary *summary = ((summary_object *)op)->summary;
    uint32_t count = roast_summary_count(summary);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *table = table_dict(roast_summary_at(summary, i));
        if (table == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, table);
    }
    return list;
}

static PyObject *summary_notes(PyObject *op, void *unused) {
    (void)unused;
    const roast_summary *summary = ((summary_object *)op)->summary;
    uint32_t count = roast_summary_note_count(summary);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *note = ext_text(roast_summary_note(summary, i));
        if (note == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, note);
    }
    return list;
}

/* What a memory sink holds, as str; frees the sink. */
static PyObject *text_of_sink(roast_sink *sink) {
    roast_error err;
    PyObject *text = NULL;
    if (raised(roast_sink_finish(sink, &err), &err) == 0)
        text = ext_text_or_null(roast_sink_memory(sink));
    roast_sink_free(sink);
    return text;
}

static PyObject *summary_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"width", "color", "table", NULL};
    const roast_summary *summary = ((summary_object *)op)->summary;
    unsigned int width = 80;
    int color = 0;
    const char *table = NULL;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Ipz:draw", keywords, &width, &color, &table))
        return NULL;
    const roast_grid *grid = table != NULL ? roast_summary_find(summary, table) : NULL;
    if (table != NULL && grid == NULL)
        return PyErr_Format(PyExc_ValueError, "table: there is none called '%s'", table);
    if (raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    if (grid != NULL) {
        roast_grid_frame frame = roast_summary_frame(summary, width);
        roast_grid_frame_fit(&frame, grid); /* it may be one without content */
        roast_grid_draw(grid, &frame, color != 0, sink);
    } else {
        roast_summary_draw(summary, width, color != 0, sink);
    }
    return text_of_sink(sink);
}

static PyObject *summary_json(PyObject *op, PyObject *unused) {
    (void)unused;
    roast_sink *sink;
    roast_error err;
    if (raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    roast_summary_json(((summary_object *)op)->summary, sink);
    return text_of_sink(sink);
}

/* ---- the type ---- */

static PyMethodDef summary_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))summary_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80, color=False, table=None)\n--\n\n"
     "All tables that have content, and the notes, as text; or the one table of that id."},
    {"json", summary_json, METH_NOARGS, "json($self)\n--\n\nThe same as JSON."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef summary_getset[] = {
    {"tables", summary_tables, NULL, "A dict a table: id, title, columns, rows, caption.", NULL},
    {"notes", summary_notes, NULL, "The notes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot summary_slots[] = {
    {Py_tp_doc, (void *)"Summary(source, run=None)\n--\n\n"
                        "The tables of a Run or of a mapping of metrics; with the run behind a "
                        "mapping the numbers of the mapping and all else of the run."},
    {Py_tp_new, summary_new},
    {Py_tp_dealloc, summary_dealloc},
    {Py_tp_methods, summary_methods},
    {Py_tp_getset, summary_getset},
    {0, NULL},
};

PyType_Spec ext_spec_summary = {"roastcoffea._core.Summary", sizeof(summary_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, summary_slots};
