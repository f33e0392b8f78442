/* The table of chunks: a column for each key of a chunk that is one number or one text. */
#include "model/columns_internal.h"

#include "model/keys.h"

enum {
    /* Chunks that are unpacked together, so that a column is written in runs: rows one by one would
     * go to 50 places at once. 64 of them are some 45 kB. */
    BLOCK = 64,
};

typedef struct builder {
    roast_columns *columns;
    roast_chunk *block;
    roast_key_source source[BLOCK]; /* each with its chunk of the block */
    uint64_t first;                 /* the row of the first one in the block */
    unsigned n;                     /* chunks in the block */
    roast_file_sizes files;
    roast_buffer text; /* where a text is put together */
} builder;

/* ---- the columns ---- */

static bool same_source(const roast_key *a, const roast_key *b) {
    return a->cell == b->cell && a->offset == b->offset && a->bit == b->bit && a->per == b->per &&
           a->real == b->real && a->integer == b->integer && a->text == b->text;
}

static void define_columns(roast_columns *columns) {
    for (uint32_t i = 0; i < ROAST_KEYS; i++) {
        roast_columns_define(columns, i, roast_keys[i].name, roast_keys[i].cell);
        for (uint32_t earlier = 0; earlier < i; earlier++)
            if (same_source(&roast_keys[earlier], &roast_keys[i])) {
                roast_columns_alias(columns, i, earlier);
                break;
            }
    }
}

/* ---- a block of one column ---- */

static void fill_reals(const builder *b, uint32_t index) {
    for (unsigned i = 0; i < b->n; i++) {
        double value = 0;
        bool there = roast_key_get_real(&roast_keys[index], &b->source[i], &value);
        roast_put_real(b->columns, index, b->first + i, there, value);
    }
}

static void fill_ints(const builder *b, uint32_t index) {
    for (unsigned i = 0; i < b->n; i++) {
        int64_t value = 0;
        bool there = roast_key_get_int(&roast_keys[index], &b->source[i], &value);
        roast_put_int(b->columns, index, b->first + i, there, value);
    }
}

static roast_status fill_texts(builder *b, uint32_t index) {
    const roast_key *key = &roast_keys[index];
    for (unsigned i = 0; i < b->n; i++) {
        roast_str text;
        ROAST_TRY(roast_key_get_text(key, &b->source[i], &b->text, &text));
        /* Strings of the log stay where they are; what is put together does not. */
        ROAST_TRY(roast_put_text(b->columns, index, b->first + i, text, key->text == NULL));
    }
    return ROAST_OK;
}

static roast_status fill_block(builder *b) {
    ROAST_TRY(roast_columns_room(b->columns, b->n));
    for (uint32_t i = 0; i < ROAST_KEYS; i++) {
        if (b->columns->stores[i].same_as != i)
            continue;
        if (roast_keys[i].cell == ROAST_CELL_REAL)
            fill_reals(b, i);
        else if (roast_keys[i].cell == ROAST_CELL_INT)
            fill_ints(b, i);
        else
            ROAST_TRY(fill_texts(b, i));
    }
    b->columns->rows += b->n;
    return ROAST_OK;
}

/* ---- the log ---- */

static void add_source(builder *b, unsigned i) {
    const roast_chunk *chunk = &b->block[i];
    bool as_before = i > 0 && chunk->file.data == b->block[i - 1].file.data;
    b->source[i] = (roast_key_source){
        .chunk = chunk,
        .file = as_before ? b->source[i - 1].file : roast_file_sizes_find(&b->files, chunk->file),
        .number = b->first + i,
    };
}

static roast_status read_chunks(builder *b, const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    ROAST_TRY(roast_columns_room(b->columns, roast_chunklog_count(log)));
    ROAST_TRY(roast_file_sizes_read(&b->files, log));
    roast_chunk_cursor_init(&cursor, log);
    do {
        b->first = b->columns->rows;
        b->n = 0;
        while (b->n < BLOCK && roast_chunk_cursor_next(&cursor, &b->block[b->n])) {
            add_source(b, b->n);
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
        status = roast_columns_begin(ROAST_TABLE_chunks, ROAST_KEYS, &b.columns);
    if (status == ROAST_OK) {
        define_columns(b.columns);
        status = read_chunks(&b, log);
    }
    roast_free(b.block);
    roast_file_sizes_reset(&b.files);
    roast_buffer_reset(&b.text);
    if (status == ROAST_OK)
        *out = b.columns;
    else
        roast_columns_free(b.columns);
    return status;
}
