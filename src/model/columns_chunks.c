/* The table of chunks: a column for each key of a chunk that is one number or one text. */
#include "model/columns_internal.h"

enum {
    /* Chunks that are unpacked together, so that a column is written in runs: rows one by one would
     * go to 50 places at once. 64 of them are some 45 kB. */
    BLOCK = 64,
};

typedef struct file_size {
    int64_t total_branches, tree_bytes;
} file_size;

typedef struct builder {
    roast_columns *columns;
    roast_chunk *block;
    uint64_t first;               /* the row of the first one in the block */
    unsigned n;                   /* chunks in the block */
    const file_size *file[BLOCK]; /* what is known of the chunk's file, or NULL */
    roast_intern names;           /* of files; those with a size come first */
    file_size *sizes;
    size_t sizes_capacity;
    uint32_t n_sizes;
    roast_buffer text; /* where a text is put together */
} builder;

#define HAS(field) ((chunk->have & ROAST_CHUNK_HAS(field)) != 0)

/* ---- values that are made of more than one thing; false: absent ---- */

typedef bool (*make_real)(const builder *b, unsigned i, double *out);
typedef bool (*make_int)(const builder *b, unsigned i, int64_t *out);
typedef roast_status (*make_text)(builder *b, unsigned i, roast_str *out);

static bool made_end_time(const builder *b, unsigned i, double *out) {
    const roast_chunk *chunk = &b->block[i];
    *out = (double)chunk->start_us / 1e6 + (double)chunk->duration_ns / 1e9;
    return HAS(start_us) && HAS(duration_ns);
}

static bool memory_delta(const roast_chunk *chunk, double per, double *out) {
    int64_t delta;
    if (__builtin_sub_overflow(chunk->rss_after, chunk->rss_before, &delta))
        *out = ((double)chunk->rss_after - (double)chunk->rss_before) / per;
    else
        *out = (double)delta / per;
    return HAS(rss_before) && HAS(rss_after);
}

static bool made_memory_delta_mb(const builder *b, unsigned i, double *out) {
    return memory_delta(&b->block[i], 1e6, out);
}

static bool made_memory_delta_gb(const builder *b, unsigned i, double *out) {
    return memory_delta(&b->block[i], 1e9, out);
}

static bool percent(double part, int64_t whole, double *out) {
    *out = part / (double)whole * 100;
    return whole > 0;
}

static bool made_branches_read_percent(const builder *b, unsigned i, double *out) {
    const roast_chunk *chunk = &b->block[i];
    return chunk->has_branches && b->file[i] != NULL &&
           percent(chunk->n_branches, b->file[i]->total_branches, out);
}

static bool made_bytes_read_percent(const builder *b, unsigned i, double *out) {
    const roast_chunk *chunk = &b->block[i];
    return HAS(accessed_bytes) && b->file[i] != NULL &&
           percent((double)chunk->accessed_bytes, b->file[i]->tree_bytes, out);
}

static bool made_branch_count(const builder *b, unsigned i, int64_t *out) {
    *out = b->block[i].n_branches;
    return b->block[i].has_branches;
}

static bool made_chunk_id(const builder *b, unsigned i, int64_t *out) {
    *out = (int64_t)(b->first + i);
    return true;
}

static bool made_pid(const builder *b, unsigned i, int64_t *out) {
    *out = b->block[i].pid;
    return *out != 0;
}

static roast_status made_task_key(builder *b, unsigned i, roast_str *out) {
    const roast_chunk *chunk = &b->block[i];
    if (chunk->task_key.data == NULL)
        return ROAST_OK;
    size_t len = roast_chunk_task_key(chunk, NULL, 0);
    b->text.len = 0;
    ROAST_TRY(roast_buffer_reserve(&b->text, len + 1));
    roast_chunk_task_key(chunk, (char *)b->text.data, len + 1);
    *out = (roast_str){(const char *)b->text.data, len};
    return ROAST_OK;
}

/* "ValueError: message", or the type alone. */
static roast_status made_error(builder *b, unsigned i, roast_str *out) {
    const roast_chunk *chunk = &b->block[i];
    if (chunk->error_type.data == NULL)
        return ROAST_OK;
    b->text.len = 0;
    ROAST_TRY(roast_buffer_reserve(&b->text, 1)); /* an empty text needs a place, too */
    ROAST_TRY(roast_buffer_append(&b->text, chunk->error_type.data, chunk->error_type.len));
    if (chunk->error_message.len > 0) {
        ROAST_TRY(roast_buffer_append(&b->text, ": ", 2));
        ROAST_TRY(
            roast_buffer_append(&b->text, chunk->error_message.data, chunk->error_message.len));
    }
    *out = (roast_str){(const char *)b->text.data, b->text.len};
    return ROAST_OK;
}

/* ---- the columns ---- */

typedef struct chunk_column {
    const char *name;
    roast_cell cell;
    size_t offset; /* in roast_chunk, of a field or member */
    uint64_t bit;  /* of a field */
    double per;
    make_real real;
    make_int integer;
    make_text text;
} chunk_column;

#define AT(member)              .offset = offsetof(roast_chunk, member)
#define FIELD(field)            AT(field), .bit = ROAST_CHUNK_HAS(field)
#define REAL(key, field, units) {#key, ROAST_CELL_REAL, FIELD(field), .per = units},
#define INT(key, field)         {#key, ROAST_CELL_INT, FIELD(field)},
#define TEXT(key, member)       {#key, ROAST_CELL_TEXT, AT(member)},
#define REAL_OF(key, function)  {#key, ROAST_CELL_REAL, .real = made_##function},
#define INT_OF(key, function)   {#key, ROAST_CELL_INT, .integer = made_##function},
#define TEXT_OF(key, function)  {#key, ROAST_CELL_TEXT, .text = made_##function},
#define NO_COLUMN(key, function)
static const chunk_column chunk_columns[] = {
    ROAST_CHUNK_KEYS(REAL, INT, TEXT, REAL_OF, INT_OF, TEXT_OF, NO_COLUMN)};
enum { CHUNK_COLUMNS = sizeof chunk_columns / sizeof *chunk_columns };

static bool same_source(const chunk_column *a, const chunk_column *b) {
    return a->cell == b->cell && a->offset == b->offset && a->bit == b->bit && a->per == b->per &&
           a->real == b->real && a->integer == b->integer && a->text == b->text;
}

static void define_columns(roast_columns *columns) {
    for (uint32_t i = 0; i < CHUNK_COLUMNS; i++) {
        roast_columns_define(columns, i, chunk_columns[i].name, chunk_columns[i].cell);
        for (uint32_t earlier = 0; earlier < i; earlier++)
            if (same_source(&chunk_columns[earlier], &chunk_columns[i])) {
                roast_columns_alias(columns, i, earlier);
                break;
            }
    }
}

/* ---- a block of one column ---- */

static int64_t field_of(const roast_chunk *chunk, size_t offset) {
    int64_t value;
    memcpy(&value, (const char *)chunk + offset, sizeof value);
    return value;
}

static void fill_reals(const builder *b, uint32_t index) {
    const chunk_column *column = &chunk_columns[index];
    for (unsigned i = 0; i < b->n; i++) {
        const roast_chunk *chunk = &b->block[i];
        double value = 0;
        bool there;
        if (column->real != NULL) {
            there = column->real(b, i, &value);
        } else {
            there = (chunk->have & column->bit) != 0;
            value = (double)field_of(chunk, column->offset) / column->per;
        }
        roast_put_real(b->columns, index, b->first + i, there, value);
    }
}

static void fill_ints(const builder *b, uint32_t index) {
    const chunk_column *column = &chunk_columns[index];
    for (unsigned i = 0; i < b->n; i++) {
        const roast_chunk *chunk = &b->block[i];
        int64_t value = 0;
        bool there;
        if (column->integer != NULL) {
            there = column->integer(b, i, &value);
        } else {
            there = (chunk->have & column->bit) != 0;
            value = field_of(chunk, column->offset);
        }
        roast_put_int(b->columns, index, b->first + i, there, value);
    }
}

static roast_status fill_texts(builder *b, uint32_t index) {
    const chunk_column *column = &chunk_columns[index];
    for (unsigned i = 0; i < b->n; i++) {
        roast_str text = {NULL, 0};
        if (column->text != NULL)
            ROAST_TRY(column->text(b, i, &text));
        else
            memcpy(&text, (const char *)&b->block[i] + column->offset, sizeof text);
        /* Strings of the log stay where they are; what is put together does not. */
        ROAST_TRY(roast_put_text(b->columns, index, b->first + i, text, column->text == NULL));
    }
    return ROAST_OK;
}

static roast_status fill_block(builder *b) {
    ROAST_TRY(roast_columns_room(b->columns, b->n));
    for (uint32_t i = 0; i < CHUNK_COLUMNS; i++) {
        if (b->columns->stores[i].same_as != i)
            continue;
        if (chunk_columns[i].cell == ROAST_CELL_REAL)
            fill_reals(b, i);
        else if (chunk_columns[i].cell == ROAST_CELL_INT)
            fill_ints(b, i);
        else
            ROAST_TRY(fill_texts(b, i));
    }
    b->columns->rows += b->n;
    return ROAST_OK;
}

/* ---- the log ---- */

/* The last word on a file is the newest entry. */
static roast_status read_sizes(builder *b, const roast_chunklog *log) {
    roast_file_cursor cursor;
    roast_file file;
    roast_file_cursor_init(&cursor, log);
    while (roast_file_cursor_next(&cursor, &file)) {
        uint32_t id;
        void *sizes = b->sizes;
        if (file.name.data == NULL)
            continue;
        ROAST_TRY(roast_array_reserve(&sizes, &b->sizes_capacity, sizeof *b->sizes,
                                      (size_t)b->names.count + 1));
        b->sizes = sizes;
        ROAST_TRY(roast_intern_add(&b->names, file.name, &id));
        b->sizes[id] = (file_size){file.total_branches, file.tree_bytes};
    }
    b->n_sizes = b->names.count;
    return ROAST_OK;
}

static roast_status find_file(builder *b, unsigned i) {
    roast_str name = b->block[i].file;
    uint32_t id;
    b->file[i] = NULL;
    if (b->n_sizes == 0 || name.data == NULL)
        return ROAST_OK;
    if (i > 0 && name.data == b->block[i - 1].file.data) {
        b->file[i] = b->file[i - 1];
        return ROAST_OK;
    }
    ROAST_TRY(roast_intern_add(&b->names, name, &id));
    if (id < b->n_sizes)
        b->file[i] = &b->sizes[id];
    return ROAST_OK;
}

static roast_status read_chunks(builder *b, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    ROAST_TRY(roast_columns_room(b->columns, roast_chunklog_count(log)));
    ROAST_TRY(read_sizes(b, log));
    roast_chunk_cursor_init(&cursor, log);
    do {
        b->first = b->columns->rows;
        b->n = 0;
        while (b->n < BLOCK && roast_chunk_cursor_next(&cursor, &b->block[b->n])) {
            ROAST_TRY(find_file(b, b->n));
            b->n++;
        }
        ROAST_TRY(fill_block(b));
    } while (b->n == BLOCK);
    return ROAST_OK;
}

roast_status roast_columns_of_chunks(const roast_chunklog *log, roast_columns **out) {
    builder b = {.block = roast_alloc(BLOCK * sizeof *b.block)};
    roast_status status = b.block != NULL ? ROAST_OK : ROAST_ENOMEM;
    if (status == ROAST_OK)
        status = roast_columns_begin(ROAST_TABLE_chunks, CHUNK_COLUMNS, &b.columns);
    if (status == ROAST_OK) {
        define_columns(b.columns);
        status = read_chunks(&b, log);
    }
    roast_free(b.block);
    roast_intern_reset(&b.names);
    roast_free(b.sizes);
    roast_buffer_reset(&b.text);
    if (status == ROAST_OK)
        *out = b.columns;
    else
        roast_columns_free(b.columns);
    return status;
}
