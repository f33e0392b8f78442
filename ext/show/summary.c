/* Summary: the tables of a run as the engine shows them. */
#include "run/compute.h"
#include "common/errors.h"
#include "common/pairs.h"
#include "run/run.h"
#include "common/values.h"
#include "show/tables.h"

#include "roast/diagnose.h"
#include "roast/summary.h"

#include <math.h>
#include <string.h>

typedef struct summary_object {
    PyObject_HEAD
    roast_summary *summary;
} summary_object;

/* ---- numbers of a mapping ---- */

/* Whether the mapping has a number that is not among the metrics: other code computed it. 0 or -1. */
static int differs(PyObject *from, const roast_metrics *metrics, bool *out) {
    roast_value value;
    *out = false;
    for (uint32_t i = 0; i < roast_catalogue_count() && !*out; i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        if (ext_metric_family(row) == FAMILY_NONE)
            continue;
        if (ext_scalar_of(from, row, &value) != 0)
            return -1;
        *out = value.kind != ROAST_VALUE_NONE &&
               roast_value_number(value) != roast_value_number(roast_metrics_at(metrics, i));
    }
    return 0;
}

/* ---- tables of a mapping ---- */

/* A row of any table. */
typedef union any_row {
#define X(key, noun) roast_##noun##_row noun;
    ROAST_ROW_TABLES(X)
#undef X
    roast_str name;
    char bytes[1];
} any_row;

static roast_metric_type type_of(const roast_row_table *table, const roast_row_column *column) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (info->scope == ROAST_IN_TABLE && strcmp(info->group, table->key) == 0 &&
            strcmp(info->key, column->key) == 0)
            return info->type;
    }
    return ROAST_TYPE_REAL;
}

/* A real that is not there is NaN, a count 0. */
static int take_cell(PyObject *from, const roast_row_table *table, const roast_row_column *column,
                     any_row *row) {
    void *at = row->bytes + column->offset;
    roast_value value;
    if (ext_number_of(from, column->key, type_of(table, column), &value) != 0)
        return -1;
    if (column->kept == ROAST_KEPT_VALUE)
        *(roast_value *)at = value;
    else if (column->kept == ROAST_KEPT_REAL)
        *(double *)at = roast_value_number(value);
    else if (column->kept == ROAST_KEPT_INT || value.integer > 0)
        *(int64_t *)at = value.integer;
    return 0;
}

static int add_row(roast_metrics *metrics, roast_row_table_number number, const any_row *row) {
    roast_error err;
    return ext_raised(roast_row_table_add(metrics, number, row, &err), &err);
}

/* An entry may have the measures of several kinds of section: each is a row. */
static int add_sections(roast_metrics *metrics, any_row *row) {
    const bool there[ROAST_SECTION_KINDS] = {
        [ROAST_SECTION_TIME] = !isnan(row->section.total_duration),
        [ROAST_SECTION_MEMORY] = !isnan(row->section.mean_mem_delta_mb),
        [ROAST_SECTION_BYTES] = row->section.total_bytes.kind != ROAST_VALUE_NONE,
    };
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++) {
        row->section.kind = (roast_section_kind)kind;
        if (there[kind] && add_row(metrics, ROAST_ROWS_sections, row) != 0)
            return -1;
    }
    return 0;
}

static int take_row(roast_metrics *metrics, roast_row_table_number number, PyObject *name,
                    PyObject *from) {
    const roast_row_table *table = roast_row_table_at(number);
    any_row row;
    memset(&row, 0, sizeof row);
    if (ext_check_mapping(from, table->key) != 0)
        return -1;
    PyObject *text = PyObject_Str(name), *held = text != NULL ? ext_utf8(text, &row.name) : NULL;
    int result = held != NULL ? 0 : -1;
    for (size_t i = 0; result == 0 && i < table->n_columns; i++)
        result = take_cell(from, table, &table->columns[i], &row);
    if (result == 0)
        result = number == ROAST_ROWS_sections ? add_sections(metrics, &row)
                                               : add_row(metrics, number, &row);
    Py_XDECREF(held);
    Py_XDECREF(text);
    return result;
}

static int take_table(PyObject *from, roast_row_table_number number, roast_metrics *metrics) {
    const char *key = roast_row_table_at(number)->key;
    PyObject *rows;
    ext_pairs pairs;
    if (ext_entry(from, key, &rows) != 0)
        return -1;
    if (rows == NULL)
        return 0;
    int result = ext_pairs_open(&pairs, rows, key);
    Py_DECREF(rows);
    while (result == 0 && ext_pairs_next(&pairs))
        result = take_row(metrics, number, pairs.key, pairs.value);
    ext_pairs_close(&pairs);
    return result;
}

static int take_tables(PyObject *from, roast_metrics *metrics) {
    for (int number = 0; number < ROAST_ROW_TABLE_COUNT; number++)
        if (number != ROAST_ROWS_file_read_metrics && /* no table shows it */
            take_table(from, (roast_row_table_number)number, metrics) != 0)
            return -1;
    return 0;
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
            : ext_raised(roast_summary_add_note(summary, (roast_str){data, (size_t)len}, &err),
                         &err);
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

static int summarize(summary_object *self, const roast_run *run, const roast_metrics *metrics,
                     const roast_findings *findings, PyObject *mapping) {
    roast_error err;
    if (ext_raised(roast_summary_new(metrics, run, findings, &self->summary, &err), &err) != 0)
        return -1;
    return mapping != NULL ? take_notes(mapping, self->summary) : 0;
}

/* The tables of a mapping alone. */
static int summarize_mapping(summary_object *self, PyObject *mapping) {
    roast_metrics *metrics;
    roast_error err;
    if (ext_check_mapping(mapping, "metrics") != 0 ||
        ext_raised(roast_metrics_new(&metrics, &err), &err) != 0)
        return -1;
    int result =
        ext_take_scalars(mapping, FAMILY_ALL, metrics) == 0 && take_tables(mapping, metrics) == 0
            ? summarize(self, NULL, metrics, NULL, mapping)
            : -1;
    roast_metrics_free(metrics);
    return result;
}

/* The tables of a run, where a mapping has some numbers of its own. */
static int summarize_changed(summary_object *self, const roast_run *run, PyObject *mapping) {
    roast_metrics *metrics;
    roast_findings *findings = NULL;
    roast_error err;
    if (ext_raised(roast_metrics_compute(run, &metrics, &err), &err) != 0)
        return -1;
    int result = ext_take_scalars(mapping, FAMILY_ALL, metrics);
    if (result == 0)
        result = ext_raised(roast_diagnose_run(run, metrics, &findings, &err), &err);
    if (result == 0)
        result = summarize(self, run, metrics, findings, mapping);
    roast_metrics_free(metrics);
    roast_findings_free(findings);
    return result;
}

/* `mapping` may be NULL. Metrics of the run are used as they are. */
static int summarize_run(summary_object *self, run_input *input, PyObject *mapping) {
    const roast_findings *findings = run_input_findings(input);
    bool changed = false;
    if (findings == NULL || (mapping != NULL && (ext_check_mapping(mapping, "metrics") != 0 ||
                                                 differs(mapping, input->metrics, &changed) != 0)))
        return -1;
    return changed ? summarize_changed(self, input->run, mapping)
                   : summarize(self, input->run, input->metrics, findings, mapping);
}

static PyObject *summary_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"source", "run", NULL};
    PyObject *source, *behind = Py_None;
    ext_state *state = ext_state_of_final(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Summary", keywords, &source, &behind))
        return NULL;
    run_input *run = ext_run_input(state, source);
    PyObject *mapping = run == NULL ? source : NULL;
    if (behind != Py_None && (run != NULL || (run = ext_run_input(state, behind)) == NULL))
        return PyErr_Format(PyExc_TypeError, "run: a Run behind a mapping of metrics, not %s",
                            Py_TYPE(behind)->tp_name);
    summary_object *self = (summary_object *)type->tp_alloc(type, 0);
    if (self != NULL &&
        (run != NULL ? summarize_run(self, run, mapping) : summarize_mapping(self, mapping)) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void summary_dealloc(PyObject *op) {
    PyTypeObject *type = Py_TYPE(op);
    roast_summary_free(((summary_object *)op)->summary);
    type->tp_free(op);
    Py_DECREF(type);
}

/* ---- output ---- */

static PyObject *heading_at(const void *grid, uint32_t column) {
    return ext_text(roast_grid_heading(grid, column));
}

typedef struct grid_row {
    const roast_grid *grid;
    uint32_t row;
} grid_row;

static PyObject *cell_at(const void *row, uint32_t column) {
    const grid_row *at = row;
    return ext_text(roast_grid_text(at->grid, at->row, column));
}

static PyObject *row_at(const void *grid, uint32_t row) {
    return ext_list(&(grid_row){grid, row}, roast_grid_column_count(grid), cell_at);
}

static PyObject *number_at(const void *row, uint32_t column) {
    const grid_row *at = row;
    uint32_t count;
    const roast_grid_value *values = roast_grid_values(at->grid, at->row, column, &count);
    if (count == 0 || values->value.kind == ROAST_VALUE_NONE)
        Py_RETURN_NONE;
    roast_value value = values->value;
    return value.kind == ROAST_VALUE_INT ? PyLong_FromLongLong(value.integer)
                                         : PyFloat_FromDouble(value.real);
}

static PyObject *numbers_at(const void *grid, uint32_t row) {
    return ext_list(&(grid_row){grid, row}, roast_grid_column_count(grid), number_at);
}

PyObject *ext_table_dict(const roast_grid *grid, bool shown) {
    return Py_BuildValue("{s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "id", roast_grid_id(grid), "title",
                         ext_text(roast_grid_title(grid)), "columns",
                         ext_list(grid, roast_grid_column_count(grid), heading_at), "rows",
                         ext_list(grid, roast_grid_row_count(grid), row_at), "numbers",
                         ext_list(grid, roast_grid_row_count(grid), numbers_at), "caption",
                         ext_text(roast_grid_caption(grid)), "has_content",
                         PyBool_FromLong(roast_grid_has_content(grid)), "shown",
                         PyBool_FromLong(shown));
}

PyObject *ext_drawn(const void *of, ext_draw draw, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"width", "color", NULL};
    unsigned int width = 80;
    int color = 0;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Ip:draw", keywords, &width, &color) ||
        ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    if (ext_raised(draw(of, width, color != 0, sink, &err), &err) == 0)
        return ext_sink_text(sink);
    roast_sink_free(sink);
    return NULL;
}

PyObject *ext_table_taken(roast_status status, roast_grid *grid, const roast_error *err) {
    if (ext_raised(status, err) != 0)
        return NULL;
    PyObject *table = ext_table_dict(grid, roast_grid_row_count(grid) > 0);
    roast_grid_free(grid);
    return table;
}

static PyObject *table_at(const void *summary, uint32_t index) {
    return ext_table_dict(roast_summary_at(summary, index), roast_summary_shows(summary, index));
}

static PyObject *summary_tables(PyObject *op, void *unused) {
    (void)unused;
    const roast_summary *summary = ((summary_object *)op)->summary;
    return ext_list(summary, roast_summary_count(summary), table_at);
}

static PyObject *summary_cards(PyObject *op, void *unused) {
    (void)unused;
    const roast_grid *cards = roast_summary_cards(((summary_object *)op)->summary);
    return ext_list(cards, roast_grid_row_count(cards), row_at);
}

static PyObject *note_at(const void *summary, uint32_t index) {
    return ext_text(roast_summary_note(summary, index));
}

static PyObject *summary_notes(PyObject *op, void *unused) {
    (void)unused;
    const roast_summary *summary = ((summary_object *)op)->summary;
    return ext_list(summary, roast_summary_note_count(summary), note_at);
}

static PyObject *summary_headline(PyObject *op, void *unused) {
    (void)unused;
    const roast_headline *headline = roast_summary_headline(((summary_object *)op)->summary);
    return Py_BuildValue("(NN)", ext_text_or_null(roast_str_of(headline->outcome)),
                         ext_text_or_null(roast_str_of(headline->warning)));
}

static PyObject *summary_draw(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"width", "color", "table", "full", NULL};
    const roast_summary *summary = ((summary_object *)op)->summary;
    unsigned int width = 80;
    int color = 0, full = 0;
    const char *table = NULL;
    roast_sink *sink;
    roast_error err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Ipzp:draw", keywords, &width, &color, &table,
                                     &full))
        return NULL;
    if (ext_raised(roast_sink_new_memory(&sink, &err), &err) != 0)
        return NULL;
    if (table == NULL) {
        roast_summary_draw(summary, full != 0, width, color != 0, sink);
    } else if (!roast_summary_draw_table(summary, table, width, color != 0, sink)) {
        roast_sink_free(sink);
        return PyErr_Format(PyExc_ValueError, "table: there is none called '%s'", table);
    }
    return ext_sink_text(sink);
}

/* ---- the type ---- */

static PyMethodDef summary_methods[] = {
    {"draw", (PyCFunction)(void (*)(void))summary_draw, METH_VARARGS | METH_KEYWORDS,
     "draw($self, width=80, color=False, table=None, full=False)\n--\n\n"
     "One screen as text; in full, all tables that are shown, and the notes; or the one table of "
     "that id."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef summary_getset[] = {
    {"tables", summary_tables, NULL,
     "One dict per table: id, title, columns, rows, numbers, caption, whether it has content, and "
     "whether the full summary shows it.",
     NULL},
    {"cards", summary_cards, NULL, "[label, value] of each fact for large print.", NULL},
    {"notes", summary_notes, NULL, "The notes.", NULL},
    {"headline", summary_headline, NULL,
     "(how the run ended, a warning of files that are missing); each is empty if there is nothing "
     "to say.",
     NULL},
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
