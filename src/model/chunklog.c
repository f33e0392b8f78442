/* The life of a chunk log and its chunks one by one. */
#include "model/chunklog_internal.h"

/* ---- life ---- */

roast_status roast_chunklog_new(roast_chunklog **out, roast_error *err) {
    roast_chunklog *log = roast_alloc_zero(sizeof *log);
    if (log == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_chunklog_new", -1, "no memory for a log");
    *out = log;
    return ROAST_OK;
}

void roast_chunklog_free(roast_chunklog *log) {
    if (log == NULL)
        return;
    roast_intern_reset(&log->entries);
    roast_buffer_reset(&log->rows);
    roast_buffer_reset(&log->scratch);
    roast_free(log->marks);
    roast_free(log->identities);
    roast_free(log);
}

roast_status roast_chunklog_fill(roast_chunklog *empty, const roast_chunklog *from) {
    size_t marks = roast_row_marks(from->count);
    void *room = empty->marks;
    ROAST_TRY(roast_array_reserve(&room, &empty->marks_capacity, sizeof *from->marks, marks));
    empty->marks = room;
    ROAST_TRY(roast_buffer_reserve(&empty->rows, from->rows.len));
    roast_intern entries;
    ROAST_TRY(roast_intern_copy(&from->entries, &entries));
    roast_intern_reset(&empty->entries);
    empty->entries = entries;
    roast_buffer_push(&empty->rows, from->rows.data, from->rows.len);
    if (marks > 0)
        memcpy(empty->marks, from->marks, marks * sizeof *from->marks);
    empty->count = from->count;
    return ROAST_OK;
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
    return sizeof *log + roast_intern_memory(&log->entries) + log->rows.capacity +
           log->scratch.capacity + log->marks_capacity * sizeof *log->marks +
           (size_t)log->identity_slots * sizeof *log->identities;
}

void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries) {
    roast_intern_truncate(&log->entries, entries);
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
