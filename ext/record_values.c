/* From a record to Python values: what chunk["key"] gives. */
#include "chunk_log.h"

#include "capped.h"
#include "record_keys.h"
#include "values.h"

#define HAS(field) (chunk->have & ROAST_CHUNK_HAS(field))

typedef struct source {
    ext_state *state;
    const roast_chunklog *log;
    const roast_chunk *chunk;
    uint64_t index;
} source;

/* NULL without an exception: this chunk has no such key. */
typedef PyObject *(*value_maker)(const source *from);

/* ---- numbers and texts ---- */

static PyObject *make_end_time(const source *from) {
    const roast_chunk *chunk = from->chunk;
    if (!HAS(start_us) || !HAS(duration_ns))
        Py_RETURN_NONE;
    return PyFloat_FromDouble((double)chunk->start_us / 1e6 + (double)chunk->duration_ns / 1e9);
}

static PyObject *memory_delta(const roast_chunk *chunk, double per) {
    if (!HAS(rss_before) || !HAS(rss_after))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(((double)chunk->rss_after - (double)chunk->rss_before) / per);
}

static PyObject *make_memory_delta_mb(const source *from) {
    return memory_delta(from->chunk, 1e6);
}

static PyObject *make_memory_delta_gb(const source *from) {
    return memory_delta(from->chunk, 1e9);
}

static PyObject *make_chunk_id(const source *from) {
    return PyLong_FromUnsignedLongLong(from->index);
}

static PyObject *make_pid(const source *from) {
    if (from->chunk->pid == 0)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(from->chunk->pid);
}

static PyObject *make_task_key(const source *from) {
    size_t len = roast_chunk_task_key(from->chunk, NULL, 0);
    if (from->chunk->task_key.data == NULL)
        Py_RETURN_NONE;
    char small[256], *text = len < sizeof small ? small : roast_alloc(len + 1);
    if (text == NULL)
        return PyErr_NoMemory();
    roast_chunk_task_key(from->chunk, text, len + 1);
    PyObject *key = ext_text((roast_str){text, len});
    if (text != small)
        roast_free(text);
    return key;
}

static PyObject *make_error(const source *from) {
    const roast_chunk *chunk = from->chunk;
    if (chunk->error_type.data == NULL)
        return NULL;
    PyObject *type = ext_text_or_null(chunk->error_type);
    PyObject *message = ext_text_or_null(chunk->error_message);
    PyObject *text = NULL;
    if (type != NULL && message != NULL)
        text = PyUnicode_GET_LENGTH(message) == 0 ? Py_NewRef(type)
                                                  : PyUnicode_FromFormat("%U: %U", type, message);
    Py_XDECREF(type);
    Py_XDECREF(message);
    return text;
}

/* ---- branches and files ---- */

static PyObject *make_accessed_branches(const source *from) {
    if (!from->chunk->has_branches)
        Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    roast_tail_cursor cursor;
    roast_str name;
    roast_chunk_branches(from->log, from->chunk, &cursor);
    while (list != NULL && roast_chunk_next_branch(&cursor, &name)) {
        PyObject *text = ext_text_or_null(name);
        if (text == NULL || PyList_Append(list, text) != 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *make_branch_count(const source *from) {
    if (!from->chunk->has_branches)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(from->chunk->n_branches);
}

/* 1 where it is known, 0 where not, -1 with an exception set. */
static int find_file(const source *from, roast_file *out) {
    roast_status status = roast_chunklog_find_file(from->log, from->chunk->file, out);
    if (status == ROAST_ENOMEM) {
        PyErr_NoMemory();
        return -1;
    }
    return status == ROAST_OK;
}

static PyObject *percent(double part, double whole) {
    if (!(whole > 0))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(part / whole * 100);
}

static PyObject *make_branches_read_percent(const source *from) {
    roast_file file;
    int found = from->chunk->has_branches ? find_file(from, &file) : 0;
    if (found < 0)
        return NULL;
    if (!found)
        Py_RETURN_NONE;
    return percent(from->chunk->n_branches, (double)file.total_branches);
}

static PyObject *make_bytes_read_percent(const source *from) {
    const roast_chunk *chunk = from->chunk;
    roast_file file;
    int found = HAS(accessed_bytes) ? find_file(from, &file) : 0;
    if (found < 0)
        return NULL;
    if (!found)
        Py_RETURN_NONE;
    return percent((double)chunk->accessed_bytes, (double)file.tree_bytes);
}

static PyObject *known_number(int64_t value) {
    if (value < 0)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(value);
}

static PyObject *branch_sizes(const roast_chunklog *log, const roast_file *file) {
    PyObject *sizes = PyDict_New();
    roast_tail_cursor cursor;
    roast_branch_size branch;
    roast_file_branches(log, file, &cursor);
    while (sizes != NULL && roast_file_next_branch(&cursor, &branch)) {
        PyObject *name = ext_text_or_null(branch.name), *size = known_number(branch.bytes);
        if (name == NULL || size == NULL || PyDict_SetItem(sizes, name, size) != 0)
            Py_CLEAR(sizes);
        Py_XDECREF(name);
        Py_XDECREF(size);
    }
    return sizes;
}

PyObject *ext_file_dict(const roast_chunklog *log, const roast_file *file) {
    PyObject *ratio = Py_NewRef(Py_None);
    if (file->tree_bytes >= 0 && file->tree_uncompressed_bytes > 0)
        Py_SETREF(ratio, PyFloat_FromDouble((double)file->tree_bytes /
                                            (double)file->tree_uncompressed_bytes));
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "filename", ext_text(file->name),
                         "compression_ratio", ratio, "total_branches",
                         known_number(file->total_branches), "total_tree_bytes",
                         known_number(file->tree_bytes), "branch_bytes", branch_sizes(log, file));
}

static PyObject *make_file_metadata(const source *from) {
    roast_file file;
    return find_file(from, &file) > 0 ? ext_file_dict(from->log, &file) : NULL;
}

static PyObject *make_reads(const source *from) {
    if (!from->chunk->has_reads)
        Py_RETURN_NONE;
    PyObject *reads = PyDict_New();
    roast_tail_cursor cursor;
    roast_read read;
    roast_chunk_reads(from->log, from->chunk, &cursor);
    while (reads != NULL && roast_chunk_next_read(&cursor, &read)) {
        PyObject *seconds =
            read.time_ns < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble((double)read.time_ns / 1e9);
        PyObject *value =
            Py_BuildValue("{s:N,s:N,s:N,s:N}", "seconds", seconds, "bytes",
                          known_number(read.bytes), "uncompressed_bytes",
                          known_number(read.uncompressed_bytes), "count", known_number(read.count));
        PyObject *name = ext_text_or_null(read.branch);
        if (name == NULL || value == NULL || PyDict_SetItem(reads, name, value) != 0)
            Py_CLEAR(reads);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return reads;
}

/* ---- sections and what the user stored ---- */

PyObject *ext_record_customs(ext_state *state, const roast_chunklog *log, const roast_chunk *chunk,
                             roast_custom_scope scope) {
    PyObject *customs = PyDict_New();
    roast_tail_cursor cursor;
    roast_custom custom;
    roast_chunk_customs(log, chunk, &cursor);
    while (customs != NULL && roast_chunk_next_custom(&cursor, &custom)) {
        if (custom.scope != scope || custom.kind == ROAST_CUSTOM_LEFT_OUT)
            continue;
        PyObject *key = ext_text_or_null(custom.key), *value = ext_custom_value(state, &custom);
        if (key == NULL || value == NULL || PyDict_SetItem(customs, key, value) != 0)
            Py_CLEAR(customs);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return customs;
}

static int add_up(PyObject *sums, const roast_section *section, double per) {
    PyObject *name = ext_text_or_null(section->name), *value = NULL;
    int result = -1;
    if (name == NULL)
        return -1;
    PyObject *old = PyDict_GetItemWithError(sums, name);
    if (section->kind == ROAST_SECTION_BYTES)
        value = PyLong_FromLongLong(
            ext_capped_add(section->value, old != NULL ? PyLong_AsLongLong(old) : 0));
    else if (!PyErr_Occurred())
        value = PyFloat_FromDouble((double)section->value / per +
                                   (old != NULL ? PyFloat_AsDouble(old) : 0));
    if (value != NULL && !PyErr_Occurred())
        result = PyDict_SetItem(sums, name, value);
    Py_DECREF(name);
    Py_XDECREF(value);
    return result;
}

/* {name: sum}, and over it what the user wrote there by hand. */
static PyObject *section_sums(const source *from, roast_section_kind kind, double per,
                              roast_custom_scope scope) {
    PyObject *sums = PyDict_New();
    roast_tail_cursor cursor;
    roast_section section;
    roast_chunk_sections(from->log, from->chunk, &cursor);
    while (sums != NULL && roast_chunk_next_section(&cursor, &section))
        if (section.kind == kind && add_up(sums, &section, per) != 0)
            Py_CLEAR(sums);
    if (sums != NULL && from->chunk->n_customs > 0) {
        PyObject *customs = ext_record_customs(from->state, from->log, from->chunk, scope);
        if (customs == NULL || PyDict_Update(sums, customs) != 0)
            Py_CLEAR(sums);
        Py_XDECREF(customs);
    }
    return sums;
}

static PyObject *make_timing(const source *from) {
    return section_sums(from, ROAST_SECTION_TIME, 1e9, ROAST_SCOPE_TIMING);
}

static PyObject *make_memory(const source *from) {
    return section_sums(from, ROAST_SECTION_MEMORY, 1e6, ROAST_SCOPE_MEMORY);
}

static PyObject *make_bytes(const source *from) {
    return section_sums(from, ROAST_SECTION_BYTES, 1, ROAST_SCOPE_BYTES);
}

static PyObject *make_custom_metrics(const source *from) {
    return ext_record_customs(from->state, from->log, from->chunk, ROAST_SCOPE_CHUNK);
}

static PyObject *time_section(const roast_section *section, uint32_t depth) {
    return Py_BuildValue("{s:N,s:d,s:d,s:I,s:K}", "section_name", ext_text(section->name),
                         "time_delta", (double)section->value / 1e9, "start",
                         (double)section->start_ns / 1e9, "depth", depth, "count",
                         (unsigned long long)section->count);
}

static PyObject *memory_section(const roast_section *section) {
    double start = (double)section->before / 1e9, delta = (double)section->value / 1e9;
    return Py_BuildValue("{s:N,s:d,s:d,s:d}", "section_name", ext_text(section->name),
                         "memory_start_gb", start, "memory_end_gb", start + delta,
                         "memory_delta_gb", delta);
}

/* Every use, in the order of entry. */
static PyObject *section_list(const source *from, roast_section_kind kind) {
    PyObject *list = PyList_New(0);
    uint32_t *depth = roast_alloc(((size_t)from->chunk->n_sections + 1) * sizeof *depth);
    if (list == NULL || depth == NULL) {
        Py_XDECREF(list);
        roast_free(depth);
        return PyErr_NoMemory();
    }
    roast_tail_cursor cursor;
    roast_section section;
    roast_chunk_sections(from->log, from->chunk, &cursor);
    for (uint32_t i = 0; list != NULL && roast_chunk_next_section(&cursor, &section); i++) {
        depth[i] = section.parent < 0 ? 0 : depth[section.parent] + 1;
        if (section.kind != kind)
            continue;
        PyObject *entry = kind == ROAST_SECTION_TIME ? time_section(&section, depth[i])
                                                     : memory_section(&section);
        if (entry == NULL || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    roast_free(depth);
    return list;
}

static PyObject *make_sections(const source *from) {
    return section_list(from, ROAST_SECTION_TIME);
}

static PyObject *make_memory_sections(const source *from) {
    return section_list(from, ROAST_SECTION_MEMORY);
}

/* ---- the table of keys ---- */

#define REAL(key, field, per)                                                                      \
    static PyObject *get_##key(const source *from) {                                               \
        const roast_chunk *chunk = from->chunk;                                                    \
        if (!HAS(field))                                                                           \
            Py_RETURN_NONE;                                                                        \
        return PyFloat_FromDouble((double)chunk->field / (per));                                   \
    }
#define INT(key, field)                                                                            \
    static PyObject *get_##key(const source *from) {                                               \
        const roast_chunk *chunk = from->chunk;                                                    \
        if (!HAS(field))                                                                           \
            Py_RETURN_NONE;                                                                        \
        return PyLong_FromLongLong(chunk->field);                                                  \
    }
#define TEXT(key, member)                                                                          \
    static PyObject *get_##key(const source *from) {                                               \
        return ext_text(from->chunk->member);                                                      \
    }
#define OTHER(key, function)
EXT_RECORD_KEYS(REAL, INT, TEXT, OTHER)
#undef REAL
#undef INT
#undef TEXT
#undef OTHER

static const struct {
    const char *name;
    value_maker make;
} keys[] = {
#define PLAIN(key, ...)      {#key, get_##key},
#define OTHER(key, function) {#key, make_##function},
    EXT_RECORD_KEYS(PLAIN, PLAIN, PLAIN, OTHER)
#undef PLAIN
#undef OTHER
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

int ext_record_key_count(void) {
    return KEY_COUNT;
}

const char *ext_record_key_name(int key) {
    return keys[key].name;
}

int ext_record_key_of(PyObject *name) {
    if (!PyUnicode_Check(name))
        return EXT_KEY_ABSENT;
    for (int key = 0; key < KEY_COUNT; key++)
        if (PyUnicode_CompareWithASCIIString(name, keys[key].name) == 0)
            return key;
    return EXT_KEY_ABSENT;
}

PyObject *ext_record_key_value(ext_state *state, const roast_chunklog *log, uint64_t index,
                               const roast_chunk *chunk, int key, bool *absent) {
    source from = {state, log, chunk, index};
    PyObject *value = keys[key].make(&from);
    *absent = value == NULL && !PyErr_Occurred();
    return value;
}
