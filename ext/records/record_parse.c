/* From a plain mapping with the keys of a chunk to a record: for chunks of other programs, and for changed items.
 * Keys that are not ours are kept as the user's values. */
#include "records/chunk_log.h"

#include "common/errors.h"
#include "common/pairs.h"
#include "common/redact.h"
#include "common/values.h"

#include <math.h>

/* Objects that a parse holds until the record is in the log. */
typedef struct parse {
    ext_state *state;
    roast_chunk chunk;
    ext_customs customs;
    PyObject *keep;  /* list of the objects that texts point into */
    PyObject *about; /* the sizes of the file: in `keep`, or the mapping itself; NULL: none */
    roast_str *branches;
    roast_section *sections;
    size_t section_capacity;
    roast_read *reads;
} parse;

/* ---- small steps ---- */

static bool is_null(PyObject *value) {
    return value == NULL || value == Py_None;
}

static int get_real(PyObject *value, double *out) {
    *out = PyFloat_AsDouble(value);
    return *out == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* Takes the reference; the text stays valid as long as the parse. */
static int keep_text(parse *p, PyObject *object, roast_str *out) {
    if (object != NULL && !PyUnicode_Check(object))
        Py_SETREF(object, PyObject_Str(object));
    PyObject *held = object != NULL ? ext_utf8(object, out) : NULL;
    int result = held != NULL ? PyList_Append(p->keep, held) : -1;
    Py_XDECREF(object);
    Py_XDECREF(held);
    return result;
}

static int put_real(parse *p, PyObject *value, int64_t *field, uint64_t bit, double per) {
    double number;
    if (get_real(value, &number) != 0)
        return -1;
    if (ext_to_steps(number, per, field))
        p->chunk.have |= bit;
    return 0;
}

static int put_int(parse *p, PyObject *value, int64_t *field, uint64_t bit) {
    if (!PyIndex_Check(value))
        return put_real(p, value, field, bit, 1);
    PyObject *index = PyNumber_Index(value);
    int overflow = 0;
    long long number = index != NULL ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
    Py_XDECREF(index);
    if (PyErr_Occurred())
        return -1;
    if (overflow == 0) {
        *field = number;
        p->chunk.have |= bit;
    }
    return 0;
}

/* ---- lists ---- */

static int put_branches(parse *p, PyObject *value) {
    PyObject *list = PySequence_List(value);
    if (list == NULL)
        return -1;
    Py_ssize_t n = PyList_GET_SIZE(list);
    roast_free(p->branches); /* items() of a mapping may give a key twice */
    p->branches = roast_alloc(((size_t)n + 1) * sizeof *p->branches);
    int result = p->branches == NULL ? (PyErr_NoMemory(), -1) : 0;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = keep_text(p, Py_NewRef(PyList_GET_ITEM(list, i)), &p->branches[i]);
    Py_DECREF(list);
    if (result == 0) {
        p->chunk.branches = p->branches;
        p->chunk.n_branches = (uint32_t)n;
        p->chunk.has_branches = true;
    }
    return result;
}

static roast_section *new_section(parse *p, roast_section_kind kind) {
    if (p->chunk.n_sections == p->section_capacity) {
        size_t capacity = p->section_capacity == 0 ? 8 : p->section_capacity * 2;
        roast_section *sections = roast_realloc(p->sections, capacity * sizeof *sections);
        if (sections == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        p->sections = sections;
        p->section_capacity = capacity;
    }
    roast_section *section = &p->sections[p->chunk.n_sections];
    *section = (roast_section){.kind = kind, .parent = -1, .count = 1};
    return section;
}

static int number_of(PyObject *mapping, const char *key, double missing, double *out) {
    PyObject *value;
    *out = missing;
    if (ext_entry(mapping, key, &value) != 0)
        return -1;
    int result = value != NULL ? get_real(value, out) : 0;
    Py_XDECREF(value);
    return result;
}

/* The keys of the sections of a kind in a mapping. */
typedef struct family {
    roast_section_kind kind;
    const char *list_key, *value_key, *start_key; /* one by one; NULL: not listed */
    double listed_per;
    const char *sums_key; /* {name: sum} */
    double summed_per;
} family;

static const family families[] = {
    {ROAST_SECTION_TIME, "sections", "time_delta", "start", 1e9, "timing", 1e9},
    {ROAST_SECTION_MEMORY, "memory_sections", "memory_delta_gb", "memory_start_gb", 1e9, "memory",
     1e6},
    {ROAST_SECTION_BYTES, NULL, NULL, NULL, 1, "bytes", 1},
};

/* last[d]: the last section at depth d, counted from 1 (0: none), for the depths below n. The parent is the nearest
 * section before that is one level further out. */
static int put_section(parse *p, PyObject *entry, const family *of, uint32_t *last, double n) {
    double delta, start, depth = 0, count = 1;
    bool time = of->kind == ROAST_SECTION_TIME;
    PyObject *name = PyMapping_GetItemString(entry, "section_name");
    roast_section *section = new_section(p, of->kind);
    if (section == NULL || name == NULL || keep_text(p, Py_NewRef(name), &section->name) != 0 ||
        number_of(entry, of->value_key, 0, &delta) != 0 ||
        number_of(entry, of->start_key, 0, &start) != 0 ||
        (time && (number_of(entry, "depth", 0, &depth) != 0 ||
                  number_of(entry, "count", 1, &count) != 0))) {
        Py_XDECREF(name);
        return -1;
    }
    Py_DECREF(name);
    if (!ext_to_steps(delta, of->listed_per, &section->value) ||
        !ext_to_steps(start, of->listed_per, time ? &section->start_ns : &section->before))
        return 0;
    section->count = count >= 1 && count < 1e18 ? (uint64_t)count : 1;
    size_t level = depth >= 0 && depth < n ? (size_t)depth : 0;
    if (level > 0)
        section->parent = (int32_t)last[level - 1] - 1;
    last[level] = ++p->chunk.n_sections;
    return 0;
}

static int put_section_list(parse *p, PyObject *value, const family *of) {
    PyObject *list = PySequence_List(value);
    if (list == NULL)
        return -1;
    Py_ssize_t n = PyList_GET_SIZE(list);
    uint32_t *last = roast_alloc_zero(((size_t)n + 1) * sizeof *last);
    int result = last == NULL ? (PyErr_NoMemory(), -1) : 0;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = put_section(p, PyList_GET_ITEM(list, i), of, last, (double)n);
    roast_free(last);
    Py_DECREF(list);
    return result;
}

/* {name: sum} of a chunk that has no list of its sections: each sum is one section. */
static int put_sums(parse *p, PyObject *value, const family *of) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, value, of->sums_key);
    while (result == 0 && ext_pairs_next(&pairs)) {
        double number;
        roast_section *section = new_section(p, of->kind);
        if (section == NULL || get_real(pairs.value, &number) != 0 ||
            keep_text(p, Py_NewRef(pairs.key), &section->name) != 0)
            result = -1;
        else if (ext_to_steps(number, of->summed_per, &section->value))
            p->chunk.n_sections++;
    }
    ext_pairs_close(&pairs);
    return result;
}

static int put_reads(parse *p, PyObject *value) {
    ext_pairs pairs;
    if (ext_pairs_open(&pairs, value, "reads") != 0)
        return -1;
    Py_ssize_t n = pairs.count;
    roast_free(p->reads); /* items() of a mapping may give a key twice */
    p->reads = roast_alloc(((size_t)n + 1) * sizeof *p->reads);
    int result = p->reads == NULL ? (PyErr_NoMemory(), -1) : 0;
    for (Py_ssize_t i = 0; result == 0 && ext_pairs_next(&pairs); i++) {
        double seconds, bytes, uncompressed, count;
        roast_read *read = &p->reads[i];
        if (keep_text(p, Py_NewRef(pairs.key), &read->branch) != 0 ||
            number_of(pairs.value, "seconds", -1, &seconds) != 0 ||
            number_of(pairs.value, "bytes", -1, &bytes) != 0 ||
            number_of(pairs.value, "uncompressed_bytes", -1, &uncompressed) != 0 ||
            number_of(pairs.value, "count", -1, &count) != 0)
            result = -1;
        else if ((seconds < 0 ? (read->time_ns = -1, false)
                              : !ext_to_steps(seconds, 1e9, &read->time_ns)) ||
                 !ext_to_steps(bytes, 1, &read->bytes) ||
                 !ext_to_steps(uncompressed, 1, &read->uncompressed_bytes) ||
                 !ext_to_steps(count, 1, &read->count))
            result = (PyErr_SetString(PyExc_ValueError, "reads: a number out of range"), -1);
    }
    ext_pairs_close(&pairs);
    if (result == 0) {
        p->chunk.reads = p->reads;
        p->chunk.n_reads = (uint32_t)n;
        p->chunk.has_reads = true;
    }
    return result;
}

/* "ValueError: text" */
static int put_error(parse *p, PyObject *value) {
    roast_str text;
    if (keep_text(p, Py_NewRef(value), &text) != 0)
        return -1;
    const char *colon = memchr(text.data, ':', text.len);
    size_t type_len = colon != NULL ? (size_t)(colon - text.data) : text.len;
    p->chunk.error_type = (roast_str){text.data, type_len};
    size_t rest = type_len < text.len ? type_len + 1 : text.len;
    if (rest < text.len && text.data[rest] == ' ')
        rest++;
    p->chunk.error_message = (roast_str){text.data + rest, text.len - rest};
    return 0;
}

/* ---- file_metadata ---- */

/* *out = -1: not known. */
static int put_size(PyObject *value, int64_t *out) {
    double number;
    *out = -1;
    if (is_null(value))
        return 0;
    if (get_real(value, &number) != 0)
        return ext_drop_exception();
    if (!ext_to_steps(number, 1, out) || *out < 0)
        *out = -1;
    return 0;
}

/* Of several records of a file the first one counts, unless a later one knows its branches as well. */
static bool is_known_file(const roast_chunklog *log, const roast_file *file) {
    roast_file known;
    return roast_chunklog_find_file(log, file->name, &known) == ROAST_OK &&
           known.n_branches >= file->n_branches;
}

/* The name of the file: the one that is given, or that of the chunk, without secrets as in the log. */
static int name_file(parse *p, PyObject *value, roast_str *out) {
    PyObject *name;
    *out = p->chunk.file;
    if (ext_entry(value, "filename", &name) != 0)
        return -1;
    if (name == NULL && out->data != NULL)
        name = ext_text(*out);
    if (name != NULL && !PyUnicode_Check(name))
        Py_SETREF(name, PyObject_Str(name));
    if (name != NULL)
        Py_SETREF(name, ext_redact_name(NULL, name));
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "file_metadata: a file without a name");
    return name != NULL ? keep_text(p, name, out) : -1;
}

static int put_file_metadata(parse *p, PyObject *value, roast_chunklog *log) {
    double total, tree, ratio;
    roast_file file = {.tree_uncompressed_bytes = -1};
    PyObject *sizes = NULL;
    ext_pairs pairs = {.items = NULL};
    roast_branch_size *branches = NULL;
    roast_error err = {0};
    int result = -1;
    if (name_file(p, value, &file.name) != 0 ||
        number_of(value, "total_branches", -1, &total) != 0 ||
        number_of(value, "total_tree_bytes", -1, &tree) != 0 ||
        number_of(value, "compression_ratio", -1, &ratio) != 0 ||
        !ext_to_steps(total, 1, &file.total_branches) || !ext_to_steps(tree, 1, &file.tree_bytes))
        goto done;
    if (ratio > 0 && tree >= 0)
        ext_to_steps(tree / ratio, 1, &file.tree_uncompressed_bytes);
    if (ext_entry(value, "branch_bytes", &sizes) != 0 ||
        (sizes != NULL && ext_pairs_open(&pairs, sizes, "branch_bytes") != 0))
        goto done;
    Py_ssize_t n = pairs.count;
    branches = roast_alloc(((size_t)n + 1) * sizeof *branches);
    if (branches == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; ext_pairs_next(&pairs); i++) {
        branches[i] = (roast_branch_size){.uncompressed_bytes = -1};
        if (put_size(pairs.value, &branches[i].bytes) != 0 ||
            keep_text(p, Py_NewRef(pairs.key), &branches[i].name) != 0)
            goto done;
    }
    file.branches = branches;
    file.n_branches = (uint32_t)n;
    result =
        is_known_file(log, &file) ? 0 : ext_raised(roast_chunklog_add_file(log, &file, &err), &err);
done:
    if (result != 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "file_metadata: a number out of range");
    roast_free(branches);
    Py_XDECREF(sizes);
    ext_pairs_close(&pairs);
    return result;
}

/* Chunks of other programs may have the sizes of their file beside their own; what is no number tells nothing. */
static int put_file(parse *p, PyObject *mapping, roast_chunklog *log) {
    PyObject *tree;
    if (p->about != NULL)
        return put_file_metadata(p, p->about, log);
    if (p->chunk.file.data == NULL)
        return 0;
    if (ext_entry(mapping, "total_tree_bytes", &tree) != 0)
        return -1;
    bool there = tree != NULL && PyNumber_Check(tree);
    Py_XDECREF(tree);
    if (!there)
        return 0;
    if (put_file_metadata(p, mapping, log) != 0)
        return ext_drop_exception();
    p->about = mapping;
    return 0;
}

/* ---- keys ---- */

static int put_other(parse *p, const char *key, PyObject *value) {
    if (strcmp(key, "accessed_branches") == 0)
        return put_branches(p, value);
    if (strcmp(key, "task_key") == 0)
        return keep_text(p, Py_NewRef(value), &p->chunk.task_key);
    if (strcmp(key, "reads") == 0)
        return put_reads(p, value);
    if (strcmp(key, "error") == 0)
        return put_error(p, value);
    if (strcmp(key, "file_metadata") == 0) { /* the name of the file may come later */
        p->about = value;
        return PyList_Append(p->keep, value);
    }
    if (strcmp(key, "pid") == 0) {
        uint64_t had = p->chunk.have;
        int result = put_int(p, value, &p->chunk.pid, 0);
        p->chunk.have = had;
        return result;
    }
    return 0;
}

/* A key that is one field or one text of the record. */
static int put_plain(parse *p, const roast_key *key, PyObject *value) {
    char *at = (char *)&p->chunk + key->offset;
    if (key->cell == ROAST_CELL_TEXT)
        return keep_text(p, Py_NewRef(value), (roast_str *)(void *)at);
    int64_t *field = (int64_t *)(void *)at;
    return key->cell == ROAST_CELL_INT ? put_int(p, value, field, key->bit)
                                       : put_real(p, value, field, key->bit, key->per);
}

/* Aliases and derived keys are read afterwards. */
static int put_key(parse *p, int key, PyObject *value) {
    const roast_key *plain = ext_record_plain_key(key);
    if (is_null(value))
        return 0;
    if (plain == NULL || plain->offset == 0)
        return put_other(p, ext_record_key_name(key), value);
    return roast_key_is_alias(plain) ? 0 : put_plain(p, plain, value);
}

/* A key that is another name: only where the first name has no value. */
static int put_alias(parse *p, PyObject *mapping, const roast_key *key) {
    const roast_str *text = (const void *)((const char *)&p->chunk + key->offset);
    PyObject *value;
    if (key->cell == ROAST_CELL_TEXT ? text->data != NULL : (p->chunk.have & key->bit) != 0)
        return 0;
    if (ext_entry(mapping, key->name, &value) != 0)
        return -1;
    int result = is_null(value) ? 0 : put_plain(p, key, value);
    Py_XDECREF(value);
    return result;
}

/* How many branches there were, for a chunk that does not name them: as a number, or as a share of the file's. */
static int put_branch_count(parse *p, PyObject *mapping) {
    double count, percent, total = NAN;
    if (p->chunk.has_branches)
        return 0;
    if (number_of(mapping, "num_branches_accessed", NAN, &count) != 0 ||
        number_of(mapping, "branches_read_percent", NAN, &percent) != 0 ||
        (p->about != NULL && number_of(p->about, "total_branches", NAN, &total) != 0))
        return -1;
    if (isnan(count))
        count = percent / 100 * total;
    if (count >= 0 && ext_to_steps(count, 1, &p->chunk.branch_count))
        p->chunk.have |= ROAST_CHUNK_HAS(branch_count);
    return 0;
}

static int put_aliases(parse *p, PyObject *mapping) {
    roast_chunk *c = &p->chunk;
    for (int i = 0; i < ROAST_KEYS; i++)
        if (roast_key_is_alias(&roast_keys[i]) && put_alias(p, mapping, &roast_keys[i]) != 0)
            return -1;
    const uint64_t times = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns);
    double end, delta;
    if (number_of(mapping, "t_end", NAN, &end) != 0 ||
        number_of(mapping, "mem_delta_mb", NAN, &delta) != 0)
        return -1;
    if ((c->have & times) == ROAST_CHUNK_HAS(start_us) &&
        ext_to_steps(end - (double)c->start_us / 1e6, 1e9, &c->duration_ns))
        c->have |= ROAST_CHUNK_HAS(duration_ns);
    /* A difference alone is kept as one from 0. */
    const uint64_t ends = ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after);
    if (!(c->have & ends) && ext_to_steps(delta, 1e6, &c->rss_after)) {
        c->rss_before = 0;
        c->have |= ends;
    }
    return 0;
}

/* Sections one by one where the chunk lists them, otherwise the sums. */
static int put_family(parse *p, PyObject *mapping, const family *of) {
    PyObject *list = NULL, *sums = NULL;
    int result = of->list_key != NULL ? ext_entry(mapping, of->list_key, &list) : 0;
    if (result == 0)
        result = ext_entry(mapping, of->sums_key, &sums);
    Py_ssize_t listed = result == 0 && list != NULL ? PyObject_Size(list) : 0;
    if (listed < 0)
        result = -1;
    if (result == 0 && listed > 0)
        result = put_section_list(p, list, of);
    else if (result == 0 && sums != NULL && PyMapping_Check(sums))
        result = put_sums(p, sums, of);
    Py_XDECREF(list);
    Py_XDECREF(sums);
    return result;
}

static int put_all_sections(parse *p, PyObject *mapping) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (put_family(p, mapping, &families[i]) != 0)
            return -1;
    p->chunk.sections = p->sections;
    return 0;
}

static int put_items(parse *p, PyObject *mapping) {
    ext_pairs pairs;
    int result = ext_pairs_open(&pairs, mapping, "a chunk");
    while (result == 0 && ext_pairs_next(&pairs)) {
        int key = ext_record_key_of(pairs.key);
        result = key == EXT_KEY_ABSENT ? ext_customs_add(p->state, &p->customs, ROAST_SCOPE_CHUNK,
                                                         pairs.key, pairs.value)
                                       : put_key(p, key, pairs.value);
    }
    ext_pairs_close(&pairs);
    return result;
}

int ext_append_mapping(ext_state *state, roast_chunklog *log, PyObject *mapping,
                       const roast_chunk *identity) {
    int has_keys = ext_has_keys(mapping);
    if (has_keys == 0)
        PyErr_Format(PyExc_TypeError, "a chunk is a mapping, not %s", Py_TYPE(mapping)->tp_name);
    if (has_keys <= 0)
        return -1;
    parse p = {.state = state, .keep = PyList_New(0)};
    int result = -1;
    if (p.keep != NULL && put_items(&p, mapping) == 0 && put_aliases(&p, mapping) == 0 &&
        put_file(&p, mapping, log) == 0 && put_branch_count(&p, mapping) == 0 &&
        put_all_sections(&p, mapping) == 0) {
        p.chunk.customs = p.customs.items;
        p.chunk.n_customs = p.customs.count;
        if (identity != NULL) {
            p.chunk.token = identity->token;
            p.chunk.run = identity->run;
            p.chunk.seq = identity->seq;
        }
        roast_error err;
        result = ext_raised(roast_chunklog_append(log, &p.chunk, &err), &err);
    }
    ext_customs_release(&p.customs);
    roast_free(p.branches);
    roast_free(p.sections);
    roast_free(p.reads);
    Py_XDECREF(p.keep);
    return result;
}
