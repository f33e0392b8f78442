/* From a record to Python values: what chunk["key"] gives. */
#include "records/chunk_log.h"

#include "roast/keys.h"
#include "common/values.h"

typedef struct value_source {
    ext_state *state;
    const roast_chunklog *log;
    const roast_chunk *chunk;
    uint64_t index;
} value_source;

/* NULL without an exception: this chunk has no such key. */
typedef PyObject *(*value_maker)(const value_source *from);

/* ---- branches and files ---- */

static PyObject *make_accessed_branches(const value_source *from) {
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

/* 1 where it is known, 0 where not, -1 with an exception set. */
static int find_file(const value_source *from, roast_file *out) {
    roast_status status = roast_chunklog_find_file(from->log, from->chunk->file, out);
    if (status == ROAST_ENOMEM) {
        PyErr_NoMemory();
        return -1;
    }
    return status == ROAST_OK;
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
        if (ext_put_pair(sizes, ext_text_or_null(branch.name), known_number(branch.bytes)) != 0)
            Py_CLEAR(sizes);
    }
    return sizes;
}

PyObject *ext_file_dict(const roast_chunklog *log, const roast_file *file) {
    double known;
    PyObject *ratio =
        roast_file_ratio(file, &known) ? PyFloat_FromDouble(known) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "filename", ext_text(file->name),
                         "compression_ratio", ratio, "total_branches",
                         known_number(file->total_branches), "total_tree_bytes",
                         known_number(file->tree_bytes), "branch_bytes", branch_sizes(log, file));
}

static PyObject *make_file_metadata(const value_source *from) {
    roast_file file;
    return find_file(from, &file) > 0 ? ext_file_dict(from->log, &file) : NULL;
}

static PyObject *make_reads(const value_source *from) {
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
        if (ext_put_pair(reads, ext_text_or_null(read.branch), value) != 0)
            Py_CLEAR(reads);
    }
    return reads;
}

/* ---- sections and values of the user ---- */

PyObject *ext_record_customs(ext_state *state, const roast_chunklog *log, const roast_chunk *chunk,
                             roast_custom_scope scope) {
    PyObject *customs = PyDict_New();
    roast_tail_cursor cursor;
    roast_custom custom;
    roast_chunk_customs(log, chunk, &cursor);
    while (customs != NULL && roast_chunk_next_custom(&cursor, &custom)) {
        if (custom.scope != scope || custom.kind == ROAST_CUSTOM_LEFT_OUT)
            continue;
        if (ext_put_pair(customs, ext_text_or_null(custom.key), ext_custom_value(state, &custom)) !=
            0)
            Py_CLEAR(customs);
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
            roast_add_capped(section->value, old != NULL ? PyLong_AsLongLong(old) : 0));
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
static PyObject *section_sums(const value_source *from, roast_section_kind kind, double per,
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

static PyObject *make_timing(const value_source *from) {
    return section_sums(from, ROAST_SECTION_TIME, 1e9, ROAST_SCOPE_TIMING);
}

static PyObject *make_memory(const value_source *from) {
    return section_sums(from, ROAST_SECTION_MEMORY, 1e6, ROAST_SCOPE_MEMORY);
}

static PyObject *make_bytes(const value_source *from) {
    return section_sums(from, ROAST_SECTION_BYTES, 1, ROAST_SCOPE_BYTES);
}

static PyObject *make_custom_metrics(const value_source *from) {
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
static PyObject *section_list(const value_source *from, roast_section_kind kind) {
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

static PyObject *make_sections(const value_source *from) {
    return section_list(from, ROAST_SECTION_TIME);
}

static PyObject *make_memory_sections(const value_source *from) {
    return section_list(from, ROAST_SECTION_MEMORY);
}

/* ---- the table of keys ---- */

static PyObject *plain_text(const roast_key *key, const roast_key_source *from) {
    char small[256];
    roast_str text = roast_key_get_text(key, from, small, sizeof small);
    if (text.data != small || text.len < sizeof small)
        return ext_text(text);
    size_t size = text.len + 1;
    char *room = roast_alloc(size);
    PyObject *made =
        room != NULL ? ext_text(roast_key_get_text(key, from, room, size)) : PyErr_NoMemory();
    roast_free(room);
    return made;
}

static PyObject *plain_value(const value_source *from, const roast_key *key) {
    roast_key_source at = {from->chunk, NULL, from->index};
    roast_file_size size;
    roast_file file;
    double real;
    int64_t integer;
    if (key == &roast_keys[ROAST_KEY_error] && from->chunk->error_type.data == NULL)
        return NULL;
    if (key->cell == ROAST_CELL_TEXT)
        return plain_text(key, &at);
    if (key->cell == ROAST_CELL_INT)
        return roast_key_get_int(key, &at, &integer) ? PyLong_FromLongLong(integer)
                                                     : Py_NewRef(Py_None);
    int known = key->real != NULL ? find_file(from, &file) : 0;
    if (known < 0)
        return NULL;
    if (known) {
        size = (roast_file_size){file.total_branches, file.tree_bytes};
        at.file = &size;
    }
    return roast_key_get_real(key, &at, &real) ? PyFloat_FromDouble(real) : Py_NewRef(Py_None);
}

static const struct {
    const char *name;
    const roast_key *plain; /* one number or one text, or NULL */
    value_maker make;       /* of the others */
} keys[] = {
#define PLAIN(key, ...)      {#key, &roast_keys[ROAST_KEY_##key], NULL},
#define OTHER(key, function) {#key, NULL, make_##function},
    ROAST_CHUNK_KEYS(PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, OTHER)
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

const roast_key *ext_record_plain_key(int key) {
    return keys[key].plain;
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
    value_source from = {state, log, chunk, index};
    PyObject *value =
        keys[key].make != NULL ? keys[key].make(&from) : plain_value(&from, keys[key].plain);
    *absent = value == NULL && !PyErr_Occurred();
    return value;
}
