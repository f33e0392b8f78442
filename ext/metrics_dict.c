/* From computed metrics to the dicts that users know. What was not measured is None. */
#include "compute.h"

#include "chunk_log.h"
#include "values.h"

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

/* These stand in their group for the reader's sake, but are computed with others. */
static const family_row by_key[] = {
    {"total_bytes_memory_read_dask", FAMILY_FINE},
    {"disk_read_bytes", FAMILY_FINE},
    {"disk_write_bytes", FAMILY_FINE},
    {"preprocess_bytes_read", FAMILY_FINE},
    {"preprocess_read_requests", FAMILY_FINE},
    {"preprocess_files", FAMILY_FINE},
    {"preprocess_seconds", FAMILY_FINE},
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

/* NaN: not measured. */
static PyObject *real_object(double value) {
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

/* Takes the reference to the value. */
static int put(PyObject *dict, const char *key, PyObject *value) {
    int result = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

/* The value under each of the names, which are separated by one blank. */
static int put_aliases(PyObject *dict, const char *names, PyObject *value) {
    while (*names != '\0') {
        size_t len = strcspn(names, " ");
        PyObject *name = PyUnicode_FromStringAndSize(names, (Py_ssize_t)len);
        int result = name != NULL ? PyDict_SetItem(dict, name, value) : -1;
        Py_XDECREF(name);
        if (result != 0)
            return -1;
        names += len + (names[len] == ' ');
    }
    return 0;
}

static int put_row(PyObject *dict, const roast_metric_info *row, roast_value value) {
    PyObject *object = value_object(value);
    int result = object != NULL ? PyDict_SetItemString(dict, row->key, object) : -1;
    if (result == 0)
        result = put_aliases(dict, row->aliases, object);
    Py_XDECREF(object);
    return result;
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

/* Adds a row, taking the references to both. */
static int put_named(PyObject *table, PyObject *name, PyObject *row) {
    int result = name != NULL && row != NULL ? PyDict_SetItem(table, name, row) : -1;
    Py_XDECREF(name);
    Py_XDECREF(row);
    return result;
}

static PyObject *dataset_row(const roast_dataset_row *row) {
    return Py_BuildValue("{s:K,s:N,s:L,s:N,s:N}", "num_chunks", (unsigned long long)row->num_chunks,
                         "total_duration", real_object(row->total_duration), "total_events",
                         (long long)row->total_events, "mean_duration",
                         real_object(row->mean_duration), "mean_events_per_chunk",
                         real_object(row->mean_events_per_chunk));
}

PyObject *ext_dataset_table(const roast_metrics *metrics) {
    uint32_t count;
    const roast_dataset_row *rows = roast_metrics_datasets(metrics, &count);
    PyObject *table = PyDict_New();
    for (uint32_t i = 0; table != NULL && i < count; i++) {
        roast_str name = rows[i].name.data != NULL ? rows[i].name : roast_str_of("unknown");
        PyObject *key = ext_text(name);
        /* Another dataset may really be called so. */
        if (key != NULL && PyDict_Contains(table, key) == 1)
            Py_SETREF(key, PyUnicode_FromFormat("(%U)", key));
        if (put_named(table, key, dataset_row(&rows[i])) != 0)
            Py_CLEAR(table);
    }
    return table;
}

static int put_time_section(PyObject *entry, const roast_section_row *row) {
    return put(entry, "total_duration", real_object(row->total_duration)) != 0 ||
                   put(entry, "self_duration", real_object(row->self_duration)) != 0 ||
                   put(entry, "mean_duration", real_object(row->mean_duration)) != 0
               ? -1
               : 0;
}

static int put_measures(PyObject *entry, const roast_section_row *row) {
    switch (row->kind) {
    case ROAST_SECTION_TIME:
        return put_time_section(entry, row);
    case ROAST_SECTION_MEMORY:
        return put(entry, "mean_mem_delta_mb", real_object(row->mean_mem_delta_mb)) != 0 ||
                       put(entry, "max_mem_delta_mb", real_object(row->max_mem_delta_mb)) != 0 ||
                       put(entry, "min_mem_delta_mb", real_object(row->min_mem_delta_mb)) != 0
                   ? -1
                   : 0;
    case ROAST_SECTION_BYTES:
    case ROAST_SECTION_KINDS:
        break;
    }
    return put(entry, "total_bytes", PyLong_FromLongLong(row->total_bytes));
}

/* A name that was used for several sorts has one entry: its count and type are those of the first sort in
 * the order time, memory, bytes, and the values of all of them are there. */
static int put_section(PyObject *table, const roast_section_row *row) {
    static const char *const sorts[] = {"time", "memory", "bytes", "bytes"};
    PyObject *name = ext_text(row->name);
    PyObject *entry = name != NULL ? PyDict_GetItemWithError(table, name) : NULL;
    int result = 0;
    if (entry == NULL && name != NULL && !PyErr_Occurred()) {
        entry = Py_BuildValue("{s:K,s:O,s:O,s:s}", "count", (unsigned long long)row->count,
                              "total_duration", Py_None, "mean_duration", Py_None, "type",
                              sorts[row->kind]);
        result = entry != NULL ? PyDict_SetItem(table, name, entry) : -1;
        Py_XDECREF(entry);
    }
    Py_XDECREF(name);
    return entry != NULL && result == 0 ? put_measures(entry, row) : -1;
}

PyObject *ext_section_table(const roast_metrics *metrics) {
    uint32_t count;
    const roast_section_row *rows = roast_metrics_sections(metrics, &count);
    PyObject *table = PyDict_New();
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++)
        for (uint32_t i = 0; table != NULL && i < count; i++)
            if ((int)rows[i].kind == kind && put_section(table, &rows[i]) != 0)
                Py_CLEAR(table);
    return table;
}

/* ---- files ---- */

static PyObject *file_row(const roast_file_row *row) {
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N}", "total_branches", value_object(row->total_branches),
        "branches_read_percent", value_object(row->branches_read_percent), "total_tree_bytes",
        value_object(row->total_tree_bytes), "bytes_read", value_object(row->bytes_read),
        "bytes_read_percent", value_object(row->bytes_read_percent));
}

static PyObject *file_read_table(const roast_file_row *rows, uint32_t count) {
    PyObject *table = PyDict_New();
    for (uint32_t i = 0; table != NULL && i < count; i++)
        if (put_named(table, ext_text(rows[i].name), file_row(&rows[i])) != 0)
            Py_CLEAR(table);
    return table;
}

static PyObject *file_metadata_table(const roast_chunklog *log) {
    roast_file_cursor cursor;
    roast_file file;
    PyObject *table = PyDict_New();
    roast_file_cursor_init(&cursor, log);
    while (table != NULL && roast_file_cursor_next(&cursor, &file))
        if (file.name.data != NULL &&
            put_named(table, ext_text(file.name), ext_file_dict(log, &file)) != 0)
            Py_CLEAR(table);
    return table;
}

static PyObject *branch_row(const roast_branch_row *row) {
    return Py_BuildValue("{s:K,s:N,s:N,s:N,s:N}", "num_chunks", (unsigned long long)row->num_chunks,
                         "seconds", value_object(row->seconds), "bytes", value_object(row->bytes),
                         "uncompressed_bytes", value_object(row->uncompressed_bytes), "count",
                         value_object(row->count));
}

static PyObject *branch_table(const roast_metrics *metrics) {
    uint32_t count;
    const roast_branch_row *rows = roast_metrics_branches(metrics, &count);
    PyObject *table = PyDict_New();
    for (uint32_t i = 0; table != NULL && i < count; i++)
        if (put_named(table, ext_text(rows[i].name), branch_row(&rows[i])) != 0)
            Py_CLEAR(table);
    return table;
}

static PyObject *worker_row(const roast_worker_row *row) {
    return Py_BuildValue("{s:N,s:K,s:N,s:N,s:N,s:N,s:N,s:N}", "host", ext_text(row->host),
                         "samples", (unsigned long long)row->samples, "threads",
                         value_object(row->threads), "peak_memory_bytes",
                         value_object(row->peak_memory_bytes), "memory_limit_bytes",
                         value_object(row->memory_limit_bytes), "peak_memory_percent",
                         value_object(row->peak_memory_percent), "peak_spilled_bytes",
                         value_object(row->peak_spilled_bytes), "mean_cpu_percent",
                         value_object(row->mean_cpu_percent));
}

PyObject *ext_worker_table(const roast_metrics *metrics) {
    uint32_t count;
    const roast_worker_row *rows = roast_metrics_worker_rows(metrics, &count);
    PyObject *table = PyDict_New();
    for (uint32_t i = 0; table != NULL && i < count; i++)
        if (put_named(table, ext_text(rows[i].name), worker_row(&rows[i])) != 0)
            Py_CLEAR(table);
    return table;
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
    const roast_file_row *rows = roast_metrics_file_rows(metrics, &count);
    PyObject *ratios = PyList_New(0), *percents = PyList_New(0);
    int result = ratios != NULL && percents != NULL ? 0 : -1;
    for (uint32_t i = 0; result == 0 && i < count; i++)
        if (append_measured(ratios, rows[i].compression_ratio) != 0 ||
            append_measured(percents, rows[i].bytes_read_percent) != 0)
            result = -1;
    if (result == 0 && log != NULL &&
        (put(dict, "file_metadata", file_metadata_table(log)) != 0 ||
         put(dict, "file_read_metrics", file_read_table(rows, count)) != 0))
        result = -1;
    if (result == 0 && (put(dict, "branch_read_metrics", branch_table(metrics)) != 0 ||
                        PyDict_SetItemString(dict, "compression_ratios", ratios) != 0 ||
                        PyDict_SetItemString(dict, "bytes_read_percent_per_file", percents) != 0))
        result = -1;
    Py_XDECREF(ratios);
    Py_XDECREF(percents);
    return result;
}

/* ---- chunk_info ---- */

enum { FILE_KEY, ENTRY_START, ENTRY_STOP, T_START, T_END, BYTES_READ, INFO_KEYS };

/* A chunk that says where it lies and when it ran; others have no place in a timeline. */
static bool has_place(const roast_chunk *chunk) {
    const uint64_t needed = ROAST_CHUNK_HAS(entry_start) | ROAST_CHUNK_HAS(entry_stop) |
                            ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    return chunk->file.data != NULL && (chunk->have & needed) == needed;
}

/* Takes the references to both. A try that failed stands only where no other one does, whichever of them
 * comes first in the log. */
static int put_place(PyObject *table, PyObject *place, PyObject *data, bool failed) {
    int known = failed && place != NULL ? PyDict_Contains(table, place) : 0;
    if (known == 0)
        return put_named(table, place, data);
    Py_XDECREF(place);
    Py_XDECREF(data);
    return known > 0 ? 0 : -1;
}

static int put_info(ext_state *state, const roast_chunklog *log, uint64_t index,
                    const roast_chunk *chunk, const int keys[INFO_KEYS], PyObject *table) {
    PyObject *value[INFO_KEYS] = {NULL}, *place = NULL, *data = NULL;
    bool absent;
    int result = 0;
    for (int i = 0; result == 0 && i < INFO_KEYS; i++) {
        value[i] = ext_record_key_value(state, log, index, chunk, keys[i], &absent);
        result = value[i] != NULL ? 0 : -1;
    }
    if (result == 0) {
        place = PyTuple_Pack(3, value[FILE_KEY], value[ENTRY_START], value[ENTRY_STOP]);
        data = PyTuple_Pack(3, value[T_START], value[T_END], value[BYTES_READ]);
        result = put_place(table, place, data, chunk->error_type.data != NULL);
    }
    for (int i = 0; i < INFO_KEYS; i++)
        Py_XDECREF(value[i]);
    return result;
}

static int key_numbered(const char *name) {
    for (int key = 0; key < ext_record_key_count(); key++)
        if (strcmp(ext_record_key_name(key), name) == 0)
            return key;
    return EXT_KEY_ABSENT;
}

PyObject *ext_chunk_info_dict(ext_state *state, const roast_chunklog *log) {
    static const char *const names[INFO_KEYS] = {"file",    "entry_start", "entry_stop",
                                                 "t_start", "t_end",       "bytes_read"};
    int keys[INFO_KEYS];
    for (int i = 0; i < INFO_KEYS; i++)
        keys[i] = key_numbered(names[i]);
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    PyObject *table = PyDict_New();
    roast_chunk_cursor_init(&cursor, log);
    for (uint64_t i = 0; table != NULL && roast_chunk_cursor_next(&cursor, &chunk); i++)
        if (has_place(&chunk) && put_info(state, log, i, &chunk, keys, table) != 0)
            Py_CLEAR(table);
    return table;
}
