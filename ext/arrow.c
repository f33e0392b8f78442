#include "arrow.h"

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

/* Names and formats are constants; only the structs below a schema are allocated, and released with it. */
static void fill_schema(struct ArrowSchema *out, const char *format, const char *name,
                        int64_t flags) {
    *out = (struct ArrowSchema){
        .format = format, .name = name, .flags = flags, .release = release_schema};
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

/* 0 or an errno; *out is then released. */
static int column_schema(const roast_column *column, struct ArrowSchema *out) {
    fill_schema(out, format_of(column->cell), column->name, ARROW_FLAG_NULLABLE);
    if (column->cell != ROAST_CELL_TEXT)
        return 0;
    struct ArrowSchema *texts = roast_alloc(sizeof *texts);
    if (texts == NULL) {
        release_schema(out);
        return ENOMEM;
    }
    fill_schema(texts, "u", "", 0);
    out->dictionary = texts;
    out->private_data = texts;
    return 0;
}

typedef struct schema_children {
    struct ArrowSchema **list;
    struct ArrowSchema items[];
} schema_children;

static int table_schema(const roast_columns *columns, struct ArrowSchema *out) {
    uint32_t count = roast_columns_count(columns);
    schema_children *children =
        roast_alloc(sizeof *children + count * (sizeof *children->items + sizeof *children->list));
    fill_schema(out, "+s", "", 0);
    if (children == NULL) {
        release_schema(out);
        return ENOMEM;
    }
    children->list = (struct ArrowSchema **)(children->items + count);
    out->children = children->list;
    out->private_data = children;
    for (uint32_t i = 0; i < count; i++) {
        children->list[i] = &children->items[i];
        int failed = column_schema(roast_columns_at(columns, i), &children->items[i]);
        if (failed) {
            release_schema(out); /* with the children that are there so far */
            return failed;
        }
        out->n_children++;
    }
    return 0;
}

/* ---- array ---- */

typedef struct column_memory {
    roast_columns *columns; /* one owner of it */
    const void *buffers[3];
    struct ArrowArray dictionary; /* of a column of texts */
} column_memory;

static void release_column(struct ArrowArray *array) {
    column_memory *memory = array->private_data;
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    roast_columns_free(memory->columns);
    roast_free(memory);
    array->release = NULL;
}

/* An array that owns a share of the columns, without buffers yet. */
static int new_column(roast_columns *columns, int64_t length, int64_t nulls,
                      struct ArrowArray *out) {
    column_memory *memory = roast_alloc_zero(sizeof *memory);
    *out = (struct ArrowArray){.length = length, .null_count = nulls};
    if (memory == NULL)
        return ENOMEM;
    memory->columns = roast_columns_share(columns);
    out->buffers = memory->buffers;
    out->private_data = memory;
    out->release = release_column;
    return 0;
}

static int column_texts(roast_columns *columns, const roast_texts *texts, struct ArrowArray *out) {
    int failed = new_column(columns, texts->count, 0, out);
    if (failed)
        return failed;
    out->n_buffers = 3;
    out->buffers[1] = texts->offsets;
    out->buffers[2] = texts->bytes;
    return 0;
}

/* 0 or an errno; *out is then released. */
static int column_array(roast_columns *columns, const roast_column *column,
                        struct ArrowArray *out) {
    int64_t rows = (int64_t)roast_columns_rows(columns);
    int failed = new_column(columns, rows, (int64_t)column->absent, out);
    if (failed)
        return failed;
    out->n_buffers = 2;
    out->buffers[0] = column->validity;
    out->buffers[1] = column->values;
    if (column->cell != ROAST_CELL_TEXT)
        return 0;
    out->dictionary = &((column_memory *)out->private_data)->dictionary;
    failed = column_texts(columns, &column->texts, out->dictionary);
    if (failed)
        release_column(out);
    return failed;
}

typedef struct array_children {
    const void *buffers[1]; /* no row of the table is absent as a whole */
    struct ArrowArray **list;
    struct ArrowArray items[];
} array_children;

static void release_table(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    roast_free(array->private_data);
    array->release = NULL;
}

static int table_array(roast_columns *columns, struct ArrowArray *out) {
    uint32_t count = roast_columns_count(columns);
    array_children *children =
        roast_alloc(sizeof *children + count * (sizeof *children->items + sizeof *children->list));
    *out = (struct ArrowArray){.length = (int64_t)roast_columns_rows(columns), .n_buffers = 1};
    if (children == NULL)
        return ENOMEM;
    children->buffers[0] = NULL;
    children->list = (struct ArrowArray **)(children->items + count);
    out->buffers = children->buffers;
    out->children = children->list;
    out->private_data = children;
    out->release = release_table;
    for (uint32_t i = 0; i < count; i++) {
        children->list[i] = &children->items[i];
        int failed = column_array(columns, roast_columns_at(columns, i), &children->items[i]);
        if (failed) {
            release_table(out);
            return failed;
        }
        out->n_children++;
    }
    return 0;
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
