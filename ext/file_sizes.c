#include "file_sizes.h"

#include "pairs.h"
#include "quiet.h"
#include "root_tree.h"

#include <string.h>

enum {
    /* pyarrow makes a Python object for each: 2.5 us. Beyond this the sizes are left out. */
    PARQUET_PARTS = 8192,
};

/* ---- RNTuple ----
 *
 * The sizes are those of the pages in the page list, which is read when the tree is opened. A column
 * belongs to the innermost field that has a name; who reads a field reads those inside of it too. A
 * projected field has no column, hence no bytes, of its own. */

/* An entry of uproot's MetaData, without its __getattr__. */
static PyObject *meta(ext_state *state, PyObject *object, PyObject *name) {
    PyObject *dict = ext_quiet_attr(object, state->str_dict);
    PyObject *fields = ext_quiet_item(dict, state->str_fields);
    PyObject *value = ext_quiet_item(fields, name);
    Py_XDECREF(fields);
    Py_XDECREF(dict);
    return value;
}

static bool meta_number(ext_state *state, PyObject *object, PyObject *name, int64_t *out) {
    return ext_quiet_int(meta(state, object, name), out) && *out >= 0;
}

typedef struct ntuple {
    ext_state *state;
    PyObject *fields, *records, *columns, *envelopes;
    int32_t *entry_of;  /* field: its entry in the sizes, or that of the one around it */
    int32_t *column_of; /* column: the same */
    int64_t *bits;      /* column: of an element */
    Py_ssize_t n_fields, n_columns;
    ext_sizes *out;
} ntuple;

static bool in_memory(ext_state *state, PyObject *tree) {
    PyObject *header = ext_quiet_attr(tree, state->str_tree_header);
    PyObject *footer = ext_quiet_attr(tree, state->str_tree_footer);
    PyObject *envelopes = ext_quiet_attr(tree, state->str_page_list_envelopes);
    bool there = header != NULL && header != Py_None && footer != NULL && footer != Py_None &&
                 envelopes != NULL && PyList_Check(envelopes) && PyList_GET_SIZE(envelopes) > 0;
    Py_XDECREF(header);
    Py_XDECREF(footer);
    Py_XDECREF(envelopes);
    return there;
}

static bool add_fields(ntuple *from) {
    ext_state *state = from->state;
    for (Py_ssize_t i = 0; i < from->n_fields; i++) {
        int64_t parent;
        if (!meta_number(state, PyTuple_GET_ITEM(from->records, i), state->str_parent_field_id,
                         &parent) ||
            parent > i)
            return false;
        int32_t around = parent == i ? -1 : from->entry_of[parent];
        PyObject *path = ext_quiet_attr(PyTuple_GET_ITEM(from->fields, i), state->str_path);
        roast_str text;
        from->entry_of[i] = around;
        if (ext_quiet_text(path, &text)) { /* None: it has no name */
            from->entry_of[i] = (int32_t)from->out->count;
            ext_sizes_add(from->out, (roast_str){NULL, 0}, text, around, 0, 0);
        }
        Py_XDECREF(path);
        if (from->out->failed)
            return false;
    }
    return true;
}

static bool place_columns(ntuple *from) {
    ext_state *state = from->state;
    for (Py_ssize_t i = 0; i < from->n_columns; i++) {
        PyObject *column = PyTuple_GET_ITEM(from->columns, i);
        int64_t field;
        if (!meta_number(state, column, state->str_field_id, &field) || field >= from->n_fields ||
            !meta_number(state, column, state->str_nbits, &from->bits[i]) || from->bits[i] > 64)
            return false;
        from->column_of[i] = from->entry_of[field];
    }
    return true;
}

static bool add_pages(ntuple *from, PyObject *column_pages, Py_ssize_t column) {
    ext_state *state = from->state;
    PyObject *pages = ext_quiet_items(meta(state, column_pages, state->str_pages));
    int64_t bytes = 0, uncompressed = 0;
    bool good = pages != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(pages); i++) {
        PyObject *locator = meta(state, PyTuple_GET_ITEM(pages, i), state->str_locator);
        int64_t size, elements;
        good = meta_number(state, locator, state->str_num_bytes, &size) &&
               meta_number(state, PyTuple_GET_ITEM(pages, i), state->str_num_elements, &elements) &&
               size < INT64_MAX / 4 - bytes && elements <= INT32_MAX &&
               uncompressed < INT64_MAX / 4;
        if (good) {
            bytes += size;
            uncompressed += (elements * from->bits[column] + 7) / 8;
        }
        Py_XDECREF(locator);
    }
    Py_XDECREF(pages);
    ext_sizes *out = from->out;
    if (!good || out->tree_bytes > INT64_MAX / 2 || out->tree_uncompressed_bytes > INT64_MAX / 2)
        return false;
    out->tree_bytes += bytes;
    out->tree_uncompressed_bytes += uncompressed;
    if (from->column_of[column] >= 0) {
        out->branches[from->column_of[column]].bytes += bytes;
        out->branches[from->column_of[column]].uncompressed_bytes += uncompressed;
    }
    return true;
}

static bool add_clusters(ntuple *from) {
    bool good = true;
    for (Py_ssize_t e = 0; good && e < PyTuple_GET_SIZE(from->envelopes); e++) {
        PyObject *clusters = ext_quiet_items(
            meta(from->state, PyTuple_GET_ITEM(from->envelopes, e), from->state->str_pagelinklist));
        good = clusters != NULL;
        for (Py_ssize_t c = 0; good && c < PyTuple_GET_SIZE(clusters); c++) {
            PyObject *columns = ext_quiet_items(Py_NewRef(PyTuple_GET_ITEM(clusters, c)));
            good = columns != NULL && PyTuple_GET_SIZE(columns) <= from->n_columns;
            for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(columns); i++)
                good = add_pages(from, PyTuple_GET_ITEM(columns, i), i);
            Py_XDECREF(columns);
        }
        Py_XDECREF(clusters);
    }
    return good;
}

static bool read_pages(ntuple *from) {
    if (from->fields == NULL || from->records == NULL || from->columns == NULL ||
        from->envelopes == NULL ||
        PyTuple_GET_SIZE(from->fields) != PyTuple_GET_SIZE(from->records) ||
        PyTuple_GET_SIZE(from->fields) > ROAST_MAX_BRANCHES ||
        PyTuple_GET_SIZE(from->columns) > 4 * (Py_ssize_t)ROAST_MAX_BRANCHES)
        return false;
    from->n_fields = PyTuple_GET_SIZE(from->fields);
    from->n_columns = PyTuple_GET_SIZE(from->columns);
    from->entry_of = roast_alloc(((size_t)from->n_fields + 1) * sizeof *from->entry_of);
    from->column_of = roast_alloc(((size_t)from->n_columns + 1) * sizeof *from->column_of);
    from->bits = roast_alloc(((size_t)from->n_columns + 1) * sizeof *from->bits);
    if (from->entry_of == NULL || from->column_of == NULL || from->bits == NULL)
        return false;
    from->out->tree_bytes = from->out->tree_uncompressed_bytes = 0;
    return add_fields(from) && place_columns(from) && add_clusters(from);
}

static bool read_ntuple(ext_state *state, PyObject *tree, ext_sizes *out) {
    if (!in_memory(state, tree))
        return false;
    ntuple from = {.state = state,
                   .fields = ext_quiet_items(ext_quiet_attr(tree, state->str_all_fields)),
                   .records = ext_quiet_items(ext_quiet_attr(tree, state->str_field_records)),
                   .columns = ext_quiet_items(ext_quiet_attr(tree, state->str_column_records)),
                   .envelopes =
                       ext_quiet_items(ext_quiet_attr(tree, state->str_page_list_envelopes)),
                   .out = out};
    bool good = read_pages(&from);
    out->nested = true;
    out->total_branches = out->count;
    Py_XDECREF(from.fields);
    Py_XDECREF(from.records);
    Py_XDECREF(from.columns);
    Py_XDECREF(from.envelopes);
    roast_free(from.entry_of);
    roast_free(from.column_of);
    roast_free(from.bits);
    return good;
}

/* ---- Parquet ---- */

/* The footer of the file behind Coffea's wrapper. */
static PyObject *parquet_metadata(ext_state *state, PyObject *tree) {
    PyObject *file = ext_quiet_attr(tree, state->str_file);
    PyObject *metadata = ext_quiet_attr(file, state->str_metadata);
    Py_XDECREF(file);
    return metadata;
}

static bool add_columns(ext_state *state, PyObject *tree, ext_sizes *out) {
    PyObject *file = ext_quiet_attr(tree, state->str_file);
    PyObject *schema = ext_quiet_attr(file, state->str_schema_arrow);
    PyObject *names = ext_quiet_items(ext_quiet_attr(schema, state->str_names));
    bool good = names != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(names); i++) {
        roast_str text;
        good = ext_quiet_text(PyTuple_GET_ITEM(names, i), &text);
        if (good)
            ext_sizes_add(out, (roast_str){NULL, 0}, text, -1, -1, -1);
    }
    Py_XDECREF(names);
    Py_XDECREF(schema);
    Py_XDECREF(file);
    out->total_branches = good ? (int64_t)out->count : -1;
    return good && !out->failed;
}

static PyObject *call_with_index(PyObject *object, PyObject *method, int64_t index) {
    PyObject *number = PyLong_FromLongLong(index);
    PyObject *result = number != NULL ? PyObject_CallMethodOneArg(object, method, number) : NULL;
    Py_XDECREF(number);
    if (result == NULL)
        ext_pass_over("a part of a file could not be read");
    return result;
}

/* "Jet_pt" holds "Jet_pt" and "Jet_pt.list.element". */
static bool holds(roast_str name, roast_str path) {
    return path.len >= name.len && memcmp(path.data, name.data, name.len) == 0 &&
           (path.len == name.len || path.data[name.len] == '.');
}

/* One column of one row group. *at is the branch of the column before: they stand in the same order. */
static bool add_column_part(ext_state *state, PyObject *part, ext_sizes *out, uint32_t *at) {
    PyObject *path = ext_quiet_attr(part, state->str_path_in_schema);
    int64_t bytes, uncompressed;
    roast_str text;
    bool good = ext_quiet_text(path, &text) &&
                ext_quiet_attr_int(part, state->str_total_compressed_size, &bytes) &&
                ext_quiet_attr_int(part, state->str_total_uncompressed_size, &uncompressed) &&
                bytes >= 0 && bytes < INT64_MAX / 4 && uncompressed >= 0 &&
                uncompressed < INT64_MAX / 4;
    while (good && *at < out->count && !holds(ext_sizes_name(out, *at), text))
        ++*at;
    good = good && *at < out->count && out->tree_bytes < INT64_MAX / 2 &&
           out->tree_uncompressed_bytes < INT64_MAX / 2;
    if (good) {
        out->branches[*at].bytes += bytes;
        out->branches[*at].uncompressed_bytes += uncompressed;
        out->tree_bytes += bytes;
        out->tree_uncompressed_bytes += uncompressed;
    }
    Py_XDECREF(path);
    return good;
}

static bool add_row_groups(ext_state *state, PyObject *metadata, int64_t groups, int64_t columns,
                           ext_sizes *out) {
    bool good = true;
    for (int64_t g = 0; good && g < groups; g++) {
        PyObject *group = call_with_index(metadata, state->str_row_group, g);
        uint32_t at = 0;
        good = group != NULL;
        for (int64_t c = 0; good && c < columns; c++) {
            PyObject *part = call_with_index(group, state->str_column, c);
            good = part != NULL && add_column_part(state, part, out, &at);
            Py_XDECREF(part);
        }
        Py_XDECREF(group);
    }
    return good;
}

static void set_sizes(ext_sizes *out, int64_t bytes) {
    for (uint32_t i = 0; i < out->count; i++)
        out->branches[i].bytes = out->branches[i].uncompressed_bytes = bytes;
    out->tree_bytes = out->tree_uncompressed_bytes = bytes;
}

static bool read_parquet(ext_state *state, PyObject *tree, ext_sizes *out) {
    PyObject *metadata = parquet_metadata(state, tree);
    int64_t groups, columns;
    bool good = ext_quiet_attr_int(metadata, state->str_num_row_groups, &groups) &&
                ext_quiet_attr_int(metadata, state->str_num_columns, &columns) && groups >= 0 &&
                columns >= 0 && add_columns(state, tree, out);
    if (good && columns <= PARQUET_PARTS && groups <= PARQUET_PARTS &&
        columns * groups <= PARQUET_PARTS) {
        set_sizes(out, 0);
        if (!add_row_groups(state, metadata, groups, columns, out))
            set_sizes(out, -1);
    }
    Py_XDECREF(metadata);
    return good;
}

/* ---- any of them ---- */

bool ext_sizes_read(ext_state *state, PyObject *tree, ext_sizes *out) {
    return (ext_root_tree_sizes(state, tree, out) || read_ntuple(state, tree, out) ||
            read_parquet(state, tree, out)) &&
           !out->failed;
}

uint64_t ext_sizes_fingerprint(ext_state *state, PyObject *tree) {
    int64_t size = 0, entries = 0;
    if (ext_quiet_int(ext_root_member(state, tree, state->str_f_zip_bytes), &size)) {
        ext_quiet_int(ext_root_member(state, tree, state->str_f_entries), &entries);
    } else {
        /* Coffea makes the uuid of a Parquet file from its name alone. */
        PyObject *metadata = parquet_metadata(state, tree);
        ext_quiet_attr_int(metadata, state->str_serialized_size, &size);
        ext_quiet_attr_int(metadata, state->str_num_rows, &entries);
        Py_XDECREF(metadata);
    }
    return (uint64_t)size * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)entries;
}

/* ---- preloading ---- */

/* The numbers of a member that is a numpy array of 4 or 8-byte integers in either order of bytes. */
typedef struct numbers {
    Py_buffer view;
    bool swapped;
} numbers;

static bool numbers_open(ext_state *state, PyObject *branch, PyObject *name, numbers *out) {
    PyObject *array = ext_root_member(state, branch, name);
    int failed = array != NULL
                     ? PyObject_GetBuffer(array, &out->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
                     : -1;
    Py_XDECREF(array);
    if (failed != 0) {
        ext_pass_over("the baskets of a branch could not be read");
        return false;
    }
    const char *format = out->view.format != NULL ? out->view.format : "";
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1;
    out->swapped = little ? *format == '>' || *format == '!' : *format == '<';
    format += *format != '\0' && strchr("<>=!@", *format) != NULL;
    if (strlen(format) == 1 && strchr("ilq", *format) != NULL &&
        (out->view.itemsize == 4 || out->view.itemsize == 8))
        return true;
    PyBuffer_Release(&out->view);
    return false;
}

static int64_t number_at(const numbers *from, int64_t index) {
    const char *at = (const char *)from->view.buf + index * from->view.itemsize;
    if (from->view.itemsize == 4) {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        return (int32_t)(from->swapped ? __builtin_bswap32(value) : value);
    }
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return (int64_t)(from->swapped ? __builtin_bswap64(value) : value);
}

static int64_t numbers_count(const numbers *from) {
    return from->view.len / from->view.itemsize;
}

/* -1: not known, or more than a file can have. */
static int64_t add_size(int64_t sum, int64_t more) {
    return more >= 0 && more <= INT64_MAX - sum ? sum + more : -1;
}

/* The baskets with any of these entries, as uproot picks them; -1 where some are not in the list. */
static int64_t basket_bytes(ext_state *state, PyObject *branch, int64_t start, int64_t stop) {
    int64_t baskets, entries, sum = 0;
    numbers bytes, first;
    if (!ext_quiet_attr_int(branch, state->str_num_normal_baskets, &baskets) || baskets < 0 ||
        !ext_quiet_int(ext_root_member(state, branch, state->str_f_entries), &entries) ||
        !numbers_open(state, branch, state->str_f_basket_bytes, &bytes))
        return -1;
    if (!numbers_open(state, branch, state->str_f_basket_entry, &first)) {
        PyBuffer_Release(&bytes.view);
        return -1;
    }
    if (baskets > numbers_count(&bytes) || baskets >= numbers_count(&first) ||
        number_at(&first, baskets) < (stop < entries ? stop : entries))
        sum = -1; /* the rest lies inside the tree's own record */
    for (int64_t i = 0; sum >= 0 && i < baskets; i++)
        if (start < number_at(&first, i + 1) && number_at(&first, i) < stop)
            sum = add_size(sum, number_at(&bytes, i));
    PyBuffer_Release(&first.view);
    PyBuffer_Release(&bytes.view);
    return sum;
}

int64_t ext_preloaded_bytes(ext_state *state, PyObject *tree, PyObject *preloaded, int64_t start,
                            int64_t stop) {
    PyObject *lookup = ext_quiet_attr(tree, state->str_lookup);
    ext_pairs pairs = {.items = NULL};
    int64_t sum = lookup != NULL && PyDict_Check(lookup) ? 0 : -1;
    if (sum == 0 && ext_pairs_open(&pairs, preloaded, "preloaded columns") != 0) {
        ext_pass_over("the preloaded columns could not be read");
        sum = -1;
    }
    while (sum >= 0 && ext_pairs_next(&pairs)) {
        PyObject *branch = ext_quiet_item(lookup, pairs.key);
        int64_t bytes = branch != NULL ? basket_bytes(state, branch, start, stop) : -1;
        sum = add_size(sum, bytes);
        Py_XDECREF(branch);
    }
    ext_pairs_close(&pairs);
    Py_XDECREF(lookup);
    return sum;
}
