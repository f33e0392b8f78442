/* The table of chunks: a column for each key of a chunk that is one number or one text. */
#include "model/columns_internal.h"

#include "model/chunklog_internal.h"
#include "model/keys.h"

typedef struct builder {
    roast_columns *columns;
    uint32_t keys[ROAST_KEYS]; /* of each column, its place in roast_keys */
    uint64_t fields;           /* of the chunks that the columns need */
    roast_file_sizes files;
    roast_buffer text; /* where a text is put together */
    /* Of a column of texts that the log keeps once: the number of the text of each entry, one larger; 0: not seen. */
    uint32_t *seen[ROAST_KEYS];
} builder;

static bool same_source(const roast_key *a, const roast_key *b) {
    if (a->cell != b->cell || a->offset != b->offset || a->real != b->real ||
        a->integer != b->integer || a->per != b->per)
        return false;
    return a->offset != 0 || a->real != NULL || a->integer != NULL;
}

static void define_columns(builder *b) {
    for (uint32_t i = 0; i < b->columns->count; i++) {
        const roast_key *key = &roast_keys[b->keys[i]];
        roast_columns_define(b->columns, i, key->name, key->cell);
        b->fields |= key->bit;
        for (uint32_t earlier = 0; earlier < i; earlier++)
            if (same_source(&roast_keys[b->keys[earlier]], key)) {
                roast_columns_alias(b->columns, i, earlier);
                break;
            }
    }
}

/* The entry of the log that has a text of a chunk. */
static uint32_t entry_of(const roast_key *key, const roast_chunk *chunk) {
    switch (key->offset) {
    case offsetof(roast_chunk, dataset):
        return chunk->packed.dataset;
    case offsetof(roast_chunk, file):
    case offsetof(roast_chunk, uuid):
    case offsetof(roast_chunk, treename):
        return chunk->packed.file;
    default: /* host, worker, batch_job */
        return chunk->packed.origin;
    }
}

/* The bytes of a text are looked at once for each entry. */
static roast_status put_entry_text(builder *b, uint32_t index, uint32_t entry, roast_str text) {
    roast_column_store *store = &b->columns->stores[index];
    uint64_t row = b->columns->rows;
    if (text.data == NULL)
        return roast_put_text(b->columns, index, row, text);
    uint32_t *seen = &b->seen[index][entry - 1];
    if (*seen == 0) {
        ROAST_TRY(roast_intern_add(&store->texts, text, seen));
        ++*seen;
    }
    ((int32_t *)store->values)[row] = (int32_t)(*seen - 1);
    roast_put_there(b->columns, index, row, true);
    return ROAST_OK;
}

static roast_status put_value(builder *b, uint32_t index, const roast_key_source *from) {
    const roast_key *key = &roast_keys[b->keys[index]];
    uint64_t row = b->columns->rows;
    double real = 0;
    int64_t integer = 0;
    roast_str text;
    if (key->cell == ROAST_CELL_TEXT) {
        ROAST_TRY(roast_key_hold_text(key, from, &b->text, &text));
        return key->text == NULL ? put_entry_text(b, index, entry_of(key, from->chunk), text)
                                 : roast_put_text(b->columns, index, row, text);
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
    for (uint32_t i = 0; i < b->columns->count; i++)
        if (b->columns->stores[i].same_as == i)
            ROAST_TRY(put_value(b, i, &from));
    b->columns->rows++;
    return ROAST_OK;
}

static roast_status make_seen(builder *b, const roast_chunklog *log) {
    for (uint32_t i = 0; i < b->columns->count; i++) {
        const roast_key *key = &roast_keys[b->keys[i]];
        if (key->cell != ROAST_CELL_TEXT || key->text != NULL || b->columns->stores[i].same_as != i)
            continue;
        b->seen[i] = roast_alloc_zero(((size_t)log->entries.count + 1) * sizeof *b->seen[i]);
        if (b->seen[i] == NULL)
            return ROAST_ENOMEM;
    }
    return ROAST_OK;
}

static roast_status read_chunks(builder *b, const roast_chunklog *log) {
    roast_file_cursor files;
    roast_chunk_cursor chunks;
    roast_file file;
    roast_chunk chunk;
    ROAST_TRY(roast_columns_room(b->columns, roast_chunklog_count(log)));
    ROAST_TRY(make_seen(b, log));
    roast_file_cursor_init(&files, log);
    while (roast_file_cursor_next(&files, &file))
        ROAST_TRY(roast_file_sizes_add(&b->files, &file));
    roast_chunk_cursor_init_some(&chunks, log, b->fields);
    while (roast_chunk_cursor_next(&chunks, &chunk))
        ROAST_TRY(put_chunk(b, &chunk));
    return ROAST_OK;
}

static roast_status build(builder *b, const roast_chunklog *log, uint32_t count,
                          roast_columns **out) {
    ROAST_TRY(roast_columns_begin(ROAST_TABLE_chunks, count, &b->columns));
    define_columns(b);
    roast_status status = read_chunks(b, log);
    roast_file_sizes_reset(&b->files);
    roast_buffer_reset(&b->text);
    for (uint32_t i = 0; i < count; i++)
        roast_free(b->seen[i]);
    return roast_columns_end(b->columns, status, out);
}

roast_status roast_columns_of_chunks(const roast_chunklog *log, roast_columns **out) {
    builder b = {0};
    for (uint32_t i = 0; i < ROAST_KEYS; i++)
        b.keys[i] = i;
    return build(&b, log, ROAST_KEYS, out);
}

roast_status roast_columns_new_some(const roast_run *run, const roast_str *names, uint32_t count,
                                    roast_columns **out, roast_error *err) {
    builder b = {0};
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < ROAST_KEYS; i++)
        for (uint32_t name = 0; name < count; name++)
            if (roast_str_equal(names[name], roast_str_of(roast_keys[i].name))) {
                b.keys[chosen++] = i;
                break;
            }
    for (uint32_t name = 0; name < count; name++) {
        uint32_t i = 0;
        while (i < chosen &&
               !roast_str_equal(names[name], roast_str_of(roast_keys[b.keys[i]].name)))
            i++;
        if (i == chosen)
            return roast_error_set(
                err, ROAST_EINVAL, "columns", -1, "the table of chunks has no column '%.*s'",
                (int)(names[name].len < 64 ? names[name].len : 64), names[name].data);
    }
    roast_status status = build(&b, roast_run_chunks_view(run), chosen, out);
    return status == ROAST_OK ? ROAST_OK : roast_columns_failed(ROAST_TABLE_chunks, status, err);
}
