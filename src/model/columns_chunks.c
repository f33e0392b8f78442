/* The table of chunks: a column for each key of a chunk that is one number or one text. */
#include "model/columns_internal.h"

#include "model/keys.h"

typedef struct builder {
    roast_columns *columns;
    roast_file_sizes files;
    roast_buffer text; /* where a text is put together */
} builder;

static bool same_source(const roast_key *a, const roast_key *b) {
    if (a->cell != b->cell || a->offset != b->offset || a->real != b->real ||
        a->integer != b->integer || a->per != b->per)
        return false;
    return a->offset != 0 || a->real != NULL || a->integer != NULL;
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

static roast_status put_value(builder *b, uint32_t index, const roast_key_source *from) {
    const roast_key *key = &roast_keys[index];
    uint64_t row = b->columns->rows;
    double real = 0;
    int64_t integer = 0;
    roast_str text;
    if (key->cell == ROAST_CELL_TEXT) {
        ROAST_TRY(roast_key_hold_text(key, from, &b->text, &text));
        return roast_put_text(b->columns, index, row, text);
    }
    if (key->cell == ROAST_CELL_REAL) {
        bool there = roast_key_get_real(key, from, &real);
        roast_put_real(b->columns, index, row, there, real);
    } else {
        bool there = roast_key_get_int(key, from, &integer);
        roast_put_int(b->columns, index, row, there, integer);
    }
    return ROAST_OK;
}

static roast_status put_chunk(builder *b, const roast_chunk *chunk) {
    roast_key_source from = {chunk, roast_file_sizes_find(&b->files, chunk->file),
                             b->columns->rows};
    for (uint32_t i = 0; i < ROAST_KEYS; i++)
        if (b->columns->stores[i].same_as == i)
            ROAST_TRY(put_value(b, i, &from));
    b->columns->rows++;
    return ROAST_OK;
}

static roast_status read_chunks(builder *b, const roast_chunklog *log) {
    roast_file_cursor files;
    roast_chunk_cursor chunks;
    roast_file file;
    roast_chunk chunk;
    ROAST_TRY(roast_columns_room(b->columns, roast_chunklog_count(log)));
    roast_file_cursor_init(&files, log);
    while (roast_file_cursor_next(&files, &file))
        ROAST_TRY(roast_file_sizes_add(&b->files, &file));
    roast_chunk_cursor_init(&chunks, log);
    while (roast_chunk_cursor_next(&chunks, &chunk))
        ROAST_TRY(put_chunk(b, &chunk));
    return ROAST_OK;
}

roast_status roast_columns_of_chunks(const roast_chunklog *log, roast_columns **out) {
    builder b = {0};
    ROAST_TRY(roast_columns_begin(ROAST_TABLE_chunks, ROAST_KEYS, &b.columns));
    define_columns(b.columns);
    roast_status status = read_chunks(&b, log);
    roast_file_sizes_reset(&b.files);
    roast_buffer_reset(&b.text);
    return roast_columns_end(b.columns, status, out);
}
