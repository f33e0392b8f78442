/* Converts metrics to the dicts that users know. A value that was not measured is None. */
#include "run/compute.h"

#include "records/chunk_log.h"
#include "common/errors.h"
#include "common/values.h"

#include <math.h>
#include <string.h>

/* ---- families ---- */

typedef struct family_row {
    const char *name;
    metric_family family;
} family_row;

static const family_row by_group[] = {
    {"timing", FAMILY_WORKFLOW}, {"throughput", FAMILY_WORKFLOW},
    {"events", FAMILY_WORKFLOW}, {"resources", FAMILY_WORKERS},
    {"fine", FAMILY_FINE},       {"chunks", FAMILY_CHUNKS},
    {"files", FAMILY_FILES},     {"efficiency", FAMILY_EFFICIENCY},
    {"quality", FAMILY_CHUNKS},
};

/* Shown in their group, but computed with others. */
static const family_row by_key[] = {
    {"total_bytes_memory_read_dask", FAMILY_FINE},
    {"disk_read_bytes", FAMILY_FINE},
    {"disk_write_bytes", FAMILY_FINE},
    {"preprocess_bytes_read", FAMILY_FINE},
    {"preprocess_read_requests", FAMILY_FINE},
    {"preprocess_files", FAMILY_FINE},
    {"preprocess_seconds", FAMILY_FINE},
    {"useful_rate_gbps", FAMILY_EFFICIENCY},
    {"event_rate_core_hz", FAMILY_EFFICIENCY},
    {"event_rate_core_khz", FAMILY_EFFICIENCY},
};

metric_family ext_metric_family(const roast_metric_info *row) {
    if (row->scope != ROAST_IN_METRICS ||
        (row->type != ROAST_TYPE_INT && row->type != ROAST_TYPE_REAL))
        return FAMILY_NONE;
    for (size_t i = 0; i < sizeof by_key / sizeof *by_key; i++)
        if (strcmp(row->key, by_key[i].name) == 0)
            return by_key[i].family;
    for (size_t i = 0; i < sizeof by_group / sizeof *by_group; i++)
        if (strcmp(row->group, by_group[i].name) == 0)
            return by_group[i].family;
    return FAMILY_NONE;
}

/* ---- numbers ---- */

static PyObject *value_object(roast_value value) {
    switch (value.kind) {
    case ROAST_VALUE_INT:
        return PyLong_FromLongLong(value.integer);
    case ROAST_VALUE_REAL:
        return PyFloat_FromDouble(value.real);
    case ROAST_VALUE_NONE:
        break;
    }
    Py_RETURN_NONE;
}

/* The value under each name of the metric. */
static int put_row(PyObject *dict, const roast_metric_info *row, roast_value value) {
    char name[ROAST_MAX_METRIC_NAME];
    for (uint32_t n = 0; roast_metric_name(row, n, name); n++)
        if (ext_put(dict, name, value_object(value)) != 0)
            return -1;
    return 0;
}

PyObject *ext_scalar_dict(const roast_metrics *metrics, unsigned families) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict != NULL && i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        if ((ext_metric_family(row) & families) != 0 &&
            put_row(dict, row, roast_metrics_at(metrics, i)) != 0)
            Py_CLEAR(dict);
    }
    return dict;
}

/* ---- tables ---- */

static int put_cells(PyObject *dict, const roast_row_table *table, const void *row) {
    for (size_t i = 0; i < table->n_columns; i++)
        if (ext_put(dict, table->columns[i].key,
                    value_object(roast_table_row_value(&table->columns[i], row))) != 0)
            return -1;
    return 0;
}

static PyObject *row_dict(roast_row_table_number number, const void *row) {
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        ((number == ROAST_ROWS_worker_health &&
          ext_put(dict, "host", ext_text(((const roast_worker_row *)row)->host)) != 0) ||
         put_cells(dict, roast_row_table_at(number), row) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* With `only`, those of its names; NULL: all. */
static PyObject *some_rows(const roast_metrics *metrics, roast_row_table_number number,
                           PyObject *only) {
    uint32_t count;
    const void *rows = roast_row_table_rows(metrics, number, &count);
    PyObject *table = PyDict_New();
    for (uint32_t i = 0; table != NULL && i < count; i++) {
        const void *row = roast_table_row(roast_row_table_at(number), rows, i);
        roast_str name = roast_table_row_name(row);
        PyObject *key = ext_text(name.data != NULL ? name : roast_str_of("unknown"));
        /* Another dataset may really be called so. */
        if (key != NULL && name.data == NULL && PyDict_Contains(table, key) == 1)
            Py_SETREF(key, PyUnicode_FromFormat("(%U)", key));
        int wanted = key == NULL ? -1 : only == NULL ? 1 : PySet_Contains(only, key);
        if (wanted <= 0)
            Py_XDECREF(key);
        if (wanted < 0 || (wanted > 0 && ext_put_pair(table, key, row_dict(number, row)) != 0))
            Py_CLEAR(table);
    }
    return table;
}

PyObject *ext_row_table(const roast_metrics *metrics, roast_row_table_number number) {
    return some_rows(metrics, number, NULL);
}

/* The values of one kind of section; its count and type are there already. */
static int put_measures(PyObject *entry, const roast_section_row *row) {
    const roast_row_table *table = roast_row_table_at(ROAST_ROWS_sections);
    for (size_t i = 0; i < table->n_columns; i++) {
        const roast_row_column *column = &table->columns[i];
        roast_value value = roast_table_row_value(column, row);
        if (strcmp(column->key, "count") != 0 && value.kind != ROAST_VALUE_NONE &&
            ext_put(entry, column->key, value_object(value)) != 0)
            return -1;
    }
    return 0;
}

/* A name that was used for several kinds has one entry: its count and type are those of the first kind in
 * the order time, memory, bytes, and the values of all of them are there. */
static int put_section(PyObject *table, const roast_section_row *row) {
    static const char *const kinds[] = {"time", "memory", "bytes", "bytes"};
    PyObject *name = ext_text(row->name);
    PyObject *entry = name != NULL ? PyDict_GetItemWithError(table, name) : NULL;
    int result = 0;
    if (entry == NULL && name != NULL && !PyErr_Occurred()) {
        entry = Py_BuildValue("{s:K,s:O,s:O,s:s}", "count", (unsigned long long)row->count,
                              "total_duration", Py_None, "mean_duration", Py_None, "type",
                              kinds[row->kind]);
        result = entry != NULL ? PyDict_SetItem(table, name, entry) : -1;
        Py_XDECREF(entry);
    }
    Py_XDECREF(name);
    return entry != NULL && result == 0 ? put_measures(entry, row) : -1;
}

PyObject *ext_section_table(const roast_metrics *metrics) {
    uint32_t count;
    const roast_section_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    PyObject *table = PyDict_New();
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++)
        for (uint32_t i = 0; table != NULL && i < count; i++)
            if ((int)rows[i].kind == kind && put_section(table, &rows[i]) != 0)
                Py_CLEAR(table);
    return table;
}

/* ---- files ---- */

static PyObject *file_metadata_table(const roast_chunklog *log) {
    roast_file_cursor cursor;
    roast_file file;
    PyObject *table = PyDict_New();
    roast_file_cursor_init(&cursor, log);
    while (table != NULL && roast_file_cursor_next(&cursor, &file))
        if (file.name.data != NULL &&
            ext_put_pair(table, ext_text(file.name), ext_file_dict(log, &file)) != 0)
            Py_CLEAR(table);
    return table;
}

PyObject *ext_large_table(run_input *input, const char *name, PyObject *only) {
    const roast_metrics *metrics = run_input_metrics(input);
    if (metrics == NULL)
        return NULL;
    if (strcmp(name, "file_metadata") == 0)
        return file_metadata_table(roast_run_chunks_view(input->run));
    if (strcmp(name, "file_read_metrics") == 0)
        return some_rows(metrics, ROAST_ROWS_file_read_metrics, only);
    if (strcmp(name, "worker_health") == 0)
        return some_rows(metrics, ROAST_ROWS_worker_health, only);
    return PyErr_Format(PyExc_ValueError, "there is no such table: %s", name);
}

static int append_measured(PyObject *list, roast_value value) {
    if (value.kind == ROAST_VALUE_NONE)
        return 0;
    PyObject *object = value_object(value);
    int result = object != NULL ? PyList_Append(list, object) : -1;
    Py_XDECREF(object);
    return result;
}

int ext_put_file_tables(PyObject *dict, const roast_metrics *metrics, const roast_chunklog *log) {
    uint32_t count;
    const roast_file_row *rows =
        roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    PyObject *ratios = PyList_New(0), *percents = PyList_New(0);
    int result = ratios != NULL && percents != NULL ? 0 : -1;
    for (uint32_t i = 0; result == 0 && i < count; i++)
        if (append_measured(ratios, rows[i].compression_ratio) != 0 ||
            append_measured(percents, rows[i].bytes_read_percent) != 0)
            result = -1;
    if (result == 0 && log != NULL &&
        (ext_put(dict, "file_metadata", file_metadata_table(log)) != 0 ||
         ext_put(dict, "file_read_metrics", ext_row_table(metrics, ROAST_ROWS_file_read_metrics)) !=
             0))
        result = -1;
    if (result == 0)
        result = ext_put(dict, "per_storage", ext_row_table(metrics, ROAST_ROWS_per_storage));
    if (result == 0 && (ext_put(dict, "branch_read_metrics",
                                ext_row_table(metrics, ROAST_ROWS_branch_read_metrics)) != 0 ||
                        PyDict_SetItemString(dict, "compression_ratios", ratios) != 0 ||
                        PyDict_SetItemString(dict, "bytes_read_percent_per_file", percents) != 0))
        result = -1;
    Py_XDECREF(ratios);
    Py_XDECREF(percents);
    return result;
}

/* ---- numbers of a mapping ---- */

int ext_number_of(PyObject *from, const char *name, roast_metric_type type, roast_value *out) {
    PyObject *object;
    double real;
    *out = roast_value_none();
    if (ext_entry(from, name, &object) != 0)
        return -1;
    if (object == NULL)
        return 0;
    PyObject *index =
        type == ROAST_TYPE_INT && PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    int overflow = 1;
    long long integer = index != NULL ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
    int result = PyErr_Occurred() ? -1 : 0;
    if (result == 0 && overflow == 0) {
        *out = roast_value_int(integer);
    } else if (result == 0 && (result = ext_real(object, name, &real)) == 0 && !isnan(real)) {
        bool whole = type == ROAST_TYPE_INT && fabs(real) < 0x1p62 && real == trunc(real);
        *out = whole ? roast_value_int((int64_t)real) : roast_value_real(real);
    }
    Py_XDECREF(index);
    Py_DECREF(object);
    return result;
}

int ext_scalar_of(PyObject *from, const roast_metric_info *row, roast_value *out) {
    char name[ROAST_MAX_METRIC_NAME];
    int result = 0;
    *out = roast_value_none();
    for (uint32_t n = 0; result == 0 && out->kind == ROAST_VALUE_NONE; n++) {
        if (!roast_metric_name(row, n, name))
            break;
        result = ext_number_of(from, name, row->type, out);
    }
    return result;
}

int ext_take_scalars(PyObject *from, unsigned families, roast_metrics *metrics) {
    roast_value value;
    roast_error err;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *row = roast_catalogue_at(i);
        if ((ext_metric_family(row) & families) == 0)
            continue;
        if (ext_scalar_of(from, row, &value) != 0 ||
            (value.kind != ROAST_VALUE_NONE &&
             ext_raised(roast_metrics_set(metrics, row->key, value, &err), &err) != 0))
            return -1;
    }
    return 0;
}
