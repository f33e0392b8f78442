/* The life of a chunk log and its chunks one by one. */
#include "model/chunklog_internal.h"

/* ---- life ---- */

roast_status roast_chunklog_new(roast_chunklog **out, roast_error *err) {
    roast_chunklog *log = roast_alloc_zero(sizeof *log);
    if (log == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_chunklog_new", -1, "no memory for a log");
    log->own_size = sizeof *log;
    *out = log;
    return ROAST_OK;
}

uint64_t roast_run_token(roast_str name) {
    uint64_t token = roast_hash(name.data, name.len);
    return token != 0 ? token : 1;
}

/* Entries, rows and marks. */
static void free_arrays(roast_chunklog *log) {
    if (log->block != NULL) {
        if (log->block != log + 1)
            roast_free(log->block);
        return;
    }
    roast_intern_reset(&log->entries);
    roast_buffer_reset(&log->rows);
    roast_free(log->marks);
}

void roast_chunklog_free(roast_chunklog *log) {
    if (log == NULL)
        return;
    free_arrays(log);
    roast_buffer_reset(&log->scratch);
    roast_free(log->identities);
    roast_file_index_reset(&log->files);
    roast_free(log);
}

roast_status roast_chunklog_fill(roast_chunklog *empty, const roast_chunklog *from) {
    size_t marks = roast_row_marks(from->count);
    void *room = empty->marks;
    ROAST_TRY(roast_array_reserve(&room, &empty->marks_capacity, sizeof *from->marks, marks));
    empty->marks = room;
    ROAST_TRY(roast_buffer_reserve(&empty->rows, from->rows.len));
    roast_intern *entries = &empty->entries;
    ROAST_TRY(roast_intern_reserve(entries, from->entries.count, from->entries.bytes.len));
    roast_free(entries->slots); /* it knows nothing of what comes now */
    entries->slots = NULL;
    entries->slot_count = 0;
    roast_buffer_push(&entries->bytes, from->entries.bytes.data, from->entries.bytes.len);
    if (from->entries.count > 0)
        memcpy(entries->ends, from->entries.ends, from->entries.count * sizeof *entries->ends);
    entries->count = from->entries.count;
    roast_buffer_push(&empty->rows, from->rows.data, from->rows.len);
    if (marks > 0)
        memcpy(empty->marks, from->marks, marks * sizeof *from->marks);
    empty->count = from->count;
    return ROAST_OK;
}

roast_status roast_chunklog_loosen(roast_chunklog *log) {
    if (log->block == NULL)
        return ROAST_OK;
    roast_chunklog loose = {0};
    roast_status status = roast_chunklog_fill(&loose, log);
    if (status != ROAST_OK) {
        free_arrays(&loose);
        return status;
    }
    free_arrays(log);
    log->block = NULL;
    log->block_size = 0;
    log->entries = loose.entries;
    log->rows = loose.rows;
    log->marks = loose.marks;
    log->marks_capacity = loose.marks_capacity;
    return ROAST_OK;
}

/* Room for `extra` bytes, or for all that a small buffer may get. */
static roast_status reserve_ahead(roast_buffer *buffer, size_t extra, size_t small) {
    if (extra <= buffer->capacity - buffer->len)
        return ROAST_OK;
    bool is_small = buffer->len < small && extra < small;
    return roast_buffer_reserve(buffer, is_small ? small : extra);
}

roast_status roast_chunklog_reserve(roast_chunklog *log, const roast_chunklog *from) {
    enum { SMALL_ENTRIES = 64, SMALL_BYTES = 4096 }; /* some twenty chunks */
    roast_intern *entries = &log->entries;
    if (entries->ends_capacity < SMALL_ENTRIES) {
        ROAST_TRY(roast_intern_reserve(entries, SMALL_ENTRIES - entries->count, 0));
        ROAST_TRY(reserve_ahead(&entries->bytes, from->entries.bytes.len, SMALL_BYTES));
    }
    return reserve_ahead(&log->rows, from->rows.len, SMALL_BYTES);
}

roast_status roast_chunklog_copy(const roast_chunklog *log, roast_chunklog **out,
                                 roast_error *err) {
    roast_chunklog *copy = NULL;
    ROAST_TRY(roast_chunklog_new(&copy, err));
    if (roast_chunklog_fill(copy, log) != ROAST_OK) {
        roast_chunklog_free(copy);
        return roast_error_set(err, ROAST_ENOMEM, "roast_chunklog_copy", -1,
                               "no memory to copy a log");
    }
    *out = copy;
    return ROAST_OK;
}

uint64_t roast_chunklog_count(const roast_chunklog *log) {
    return log->count;
}

size_t roast_chunklog_memory(const roast_chunklog *log) {
    size_t arrays = log->block != log + 1 ? log->block_size : 0;
    if (log->block == NULL)
        arrays = roast_intern_memory(&log->entries) + log->rows.capacity +
                 log->marks_capacity * sizeof *log->marks;
    return log->own_size + arrays + log->scratch.capacity +
           (size_t)log->identity_slots * sizeof *log->identities +
           (size_t)log->files.slot_count * sizeof *log->files.slots;
}

void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries) {
    roast_intern_truncate(&log->entries, entries);
    if (log->files.seen > entries)
        roast_file_index_reset(&log->files);
    log->count = count;
    log->rows.len = len;
}

/* ---- reading ---- */

void roast_chunk_cursor_init(roast_chunk_cursor *cursor, const roast_chunklog *log) {
    *cursor = (roast_chunk_cursor){log, 0, 0};
}

bool roast_chunk_cursor_next(roast_chunk_cursor *cursor, roast_chunk *out) {
    const uint8_t *at, *end;
    if (!roast_row_at(cursor->log, cursor->offset, &at, &end) ||
        !roast_row_parse(cursor->log, at, end, out))
        return false;
    cursor->offset = (uint64_t)(end - cursor->log->rows.data);
    cursor->index++;
    return true;
}

roast_status roast_chunklog_get(const roast_chunklog *log, uint64_t index, roast_chunk *out,
                                roast_error *err) {
    if (index >= log->count)
        return roast_error_set(err, ROAST_ENOTFOUND, "roast_chunklog_get", -1, "chunk %llu of %llu",
                               (unsigned long long)index, (unsigned long long)log->count);
    const uint8_t *at, *end;
    if (!roast_row_at(log, roast_row_offset(log, index), &at, &end) ||
        !roast_row_parse(log, at, end, out))
        return roast_error_set(err, ROAST_ECORRUPT, "roast_chunklog_get", -1, "row %llu",
                               (unsigned long long)index);
    return ROAST_OK;
}
