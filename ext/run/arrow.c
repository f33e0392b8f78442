#include "run/arrow.h"

#include "roast/base.h"

#include <errno.h>
#include <string.h>

static const char schema_name[] = "arrow_schema";
static const char stream_name[] = "arrow_array_stream";

/* ---- schema ---- */

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary != NULL && schema->dictionary->release != NULL)
        schema->dictionary->release(schema->dictionary);
    roast_free(schema->private_data);
    schema->release = NULL;
}

/* Children and dictionary are in one zeroed block: unfilled ones count as released. Names and formats are
 * constants. 0 or an errno; *out is to be released in any case. */
static int new_schema(struct ArrowSchema *out, const char *format, const char *name, int64_t flags,
                      uint32_t n_children, bool dictionary) {
    uint32_t parts = n_children + dictionary;
    *out = (struct ArrowSchema){
        .format = format, .name = name, .flags = flags, .release = release_schema};
    if (parts == 0)
        return 0;
    struct ArrowSchema *items = roast_alloc_zero(parts * (sizeof *items + sizeof *out->children));
    if (items == NULL)
        return ENOMEM;
    out->private_data = items;
    out->children = (struct ArrowSchema **)(items + parts);
    out->n_children = n_children;
    for (uint32_t i = 0; i < n_children; i++)
        out->children[i] = &items[i];
    if (dictionary)
        out->dictionary = &items[n_children];
    return 0;
}

static const char *format_of(roast_cell cell) {
    switch (cell) {
    case ROAST_CELL_INT:
        return "l";
    case ROAST_CELL_REAL:
        return "g";
    case ROAST_CELL_TIME:
        return "tsn:UTC";
    case ROAST_CELL_TEXT:
        break;
    }
    return "i"; /* the numbers of the texts */
}

static int column_schema(const roast_column *column, struct ArrowSchema *out) {
    bool texts = column->cell == ROAST_CELL_TEXT;
    int failed =
        new_schema(out, format_of(column->cell), column->name, ARROW_FLAG_NULLABLE, 0, texts);
    return failed || !texts ? failed : new_schema(out->dictionary, "u", "", 0, 0, false);
}

/* 0 or an errno; *out is then released. */
static int table_schema(const roast_columns *columns, struct ArrowSchema *out) {
    uint32_t count = roast_columns_count(columns);
    int failed = new_schema(out, "+s", "", 0, count, false);
    for (uint32_t i = 0; !failed && i < count; i++)
        failed = column_schema(roast_columns_at(columns, i), out->children[i]);
    if (failed)
        release_schema(out);
    return failed;
}

/* ---- array ---- */

typedef struct array_memory {
    roast_columns *columns; /* one owner of it */
    const void *buffers[3];
    struct ArrowArray items[]; /* children and dictionary, followed by the list of children */
} array_memory;

static void release_array(struct ArrowArray *array) {
    array_memory *memory = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    roast_columns_free(memory->columns);
    roast_free(memory);
    array->release = NULL;
}

/* An array that owns a share of the columns, without buffers yet. 0 or an errno; *out is then released. */
static int new_array(struct ArrowArray *out, roast_columns *columns, int64_t length,
                     int64_t n_buffers, uint32_t n_children, bool dictionary) {
    uint32_t parts = n_children + dictionary;
    array_memory *memory =
        roast_alloc_zero(sizeof *memory + parts * (sizeof *memory->items + sizeof *out->children));
    *out = (struct ArrowArray){.length = length, .n_buffers = n_buffers, .n_children = n_children};
    if (memory == NULL)
        return ENOMEM;
    memory->columns = roast_columns_share(columns);
    out->buffers = memory->buffers;
    out->private_data = memory;
    out->release = release_array;
    out->children = (struct ArrowArray **)(memory->items + parts);
    for (uint32_t i = 0; i < n_children; i++)
        out->children[i] = &memory->items[i];
    if (dictionary)
        out->dictionary = &memory->items[n_children];
    return 0;
}

static int column_array(roast_columns *columns, const roast_column *column,
                        struct ArrowArray *out) {
    bool texts = column->cell == ROAST_CELL_TEXT;
    int failed = new_array(out, columns, (int64_t)roast_columns_rows(columns), 2, 0, texts);
    if (failed)
        return failed;
    out->null_count = (int64_t)column->absent;
    out->buffers[0] = column->validity;
    out->buffers[1] = column->values;
    if (!texts)
        return 0;
    failed = new_array(out->dictionary, columns, column->texts.count, 3, 0, false);
    if (failed)
        return failed;
    out->dictionary->buffers[1] = column->texts.offsets;
    out->dictionary->buffers[2] = column->texts.bytes;
    return 0;
}

/* No row of the table is absent as a whole: its one buffer is NULL. */
static int table_array(roast_columns *columns, struct ArrowArray *out) {
    uint32_t count = roast_columns_count(columns);
    int failed = new_array(out, columns, (int64_t)roast_columns_rows(columns), 1, count, false);
    if (failed)
        return failed;
    for (uint32_t i = 0; !failed && i < count; i++)
        failed = column_array(columns, roast_columns_at(columns, i), out->children[i]);
    if (failed)
        release_array(out);
    return failed;
}

/* ---- stream ---- */

typedef struct stream_state {
    roast_columns *columns;
    bool done;
    const char *fault; /* of the last call, or NULL */
} stream_state;

static int told(stream_state *state, int failed) {
    state->fault = failed ? "no memory to hand a table of roastcoffea over" : NULL;
    return failed;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    stream_state *state = stream->private_data;
    return told(state, table_schema(state->columns, out));
}

/* One batch, even if it is empty; then the end, which is a released array. */
static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    stream_state *state = stream->private_data;
    *out = (struct ArrowArray){0};
    int failed = state->done ? 0 : table_array(state->columns, out);
    if (!failed)
        state->done = true;
    return told(state, failed);
}

static const char *stream_error(struct ArrowArrayStream *stream) {
    return ((stream_state *)stream->private_data)->fault;
}

static void release_stream(struct ArrowArrayStream *stream) {
    stream_state *state = stream->private_data;
    roast_columns_free(state->columns);
    roast_free(state);
    stream->release = NULL;
}

static int table_stream(roast_columns *columns, struct ArrowArrayStream *out) {
    stream_state *state = roast_alloc_zero(sizeof *state);
    *out = (struct ArrowArrayStream){0};
    if (state == NULL)
        return ENOMEM;
    state->columns = roast_columns_share(columns);
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = release_stream,
                                     .private_data = state};
    return 0;
}

/* ---- capsules ---- */

/* A consumer that took the contents has left a released struct behind. */
static void drop_schema(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, schema_name);
    if (schema->release != NULL)
        schema->release(schema);
    roast_free(schema);
}

static void drop_stream(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, stream_name);
    if (stream->release != NULL)
        stream->release(stream);
    roast_free(stream);
}

PyObject *ext_arrow_schema(const roast_columns *columns) {
    struct ArrowSchema *schema = roast_alloc(sizeof *schema);
    if (schema == NULL || table_schema(columns, schema) != 0) {
        roast_free(schema);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(schema, schema_name, drop_schema);
    if (capsule == NULL) {
        schema->release(schema);
        roast_free(schema);
    }
    return capsule;
}

static int check_requested(const roast_columns *columns, PyObject *requested) {
    if (requested == Py_None)
        return 0;
    if (!PyCapsule_IsValid(requested, schema_name)) {
        PyErr_SetString(PyExc_TypeError,
                        "requested_schema: None or a capsule 'arrow_schema' is expected");
        return -1;
    }
    const struct ArrowSchema *schema = PyCapsule_GetPointer(requested, schema_name);
    if (schema->release == NULL || schema->format == NULL || strcmp(schema->format, "+s") != 0) {
        PyErr_SetString(PyExc_ValueError, "requested_schema: that is no schema of a table");
        return -1;
    }
    if (schema->n_children == (int64_t)roast_columns_count(columns))
        return 0;
    PyErr_Format(PyExc_ValueError, "requested_schema: %lld columns, but the table of %s has %u",
                 (long long)schema->n_children, roast_table_name(roast_columns_table(columns)),
                 roast_columns_count(columns));
    return -1;
}

PyObject *ext_arrow_stream(roast_columns *columns, PyObject *requested) {
    if (check_requested(columns, requested) != 0)
        return NULL;
    struct ArrowArrayStream *stream = roast_alloc(sizeof *stream);
    if (stream == NULL || table_stream(columns, stream) != 0) {
        roast_free(stream);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(stream, stream_name, drop_stream);
    if (capsule == NULL) {
        stream->release(stream);
        roast_free(stream);
    }
    return capsule;
}
