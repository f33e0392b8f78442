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

uint64_t roast_run_token(roast_str name) {
    uint64_t token = roast_hash(name.data, name.len);
    return token != 0 ? token : 1;
}

void roast_chunklog_free(roast_chunklog *log) {
    if (log == NULL)
        return;
    roast_intern_reset(&log->entries);
    roast_buffer_reset(&log->rows);
    roast_free(log->ends);
    roast_buffer_reset(&log->scratch);
    roast_buffer_reset(&log->redacted);
    roast_intern_reset(&log->identities);
    roast_sizes_free(log);
    roast_free(log);
}

static roast_status fill(roast_chunklog *copy, const roast_chunklog *log) {
    void *ends = NULL;
    ROAST_TRY(roast_intern_copy(&log->entries, &copy->entries));
    ROAST_TRY(roast_buffer_append(&copy->rows, log->rows.data, log->rows.len));
    ROAST_TRY(
        roast_array_reserve(&ends, &copy->ends_capacity, sizeof *copy->ends, (size_t)log->count));
    copy->ends = ends;
    if (log->count > 0)
        memcpy(copy->ends, log->ends, (size_t)log->count * sizeof *copy->ends);
    copy->count = log->count;
    return ROAST_OK;
}

roast_status roast_chunklog_copy(const roast_chunklog *log, roast_chunklog **out,
                                 roast_error *err) {
    roast_chunklog *copy = NULL;
    ROAST_TRY(roast_chunklog_new(&copy, err));
    if (fill(copy, log) != ROAST_OK) {
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
           log->ends_capacity * sizeof *log->ends + log->scratch.capacity + log->redacted.capacity +
           roast_intern_memory(&log->identities) + roast_sizes_memory(log);
}

void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, uint32_t entries) {
    roast_intern_truncate(&log->entries, entries);
    roast_sizes_removed(log);
    log->count = count;
    log->rows.len = count == 0 ? 0 : log->ends[count - 1];
}

/* ---- reading ---- */

void roast_chunk_cursor_init(roast_chunk_cursor *cursor, const roast_chunklog *log) {
    roast_chunk_cursor_init_some(cursor, log, ROAST_CHUNK_ALL_FIELDS);
}

void roast_chunk_cursor_init_some(roast_chunk_cursor *cursor, const roast_chunklog *log,
                                  uint64_t fields) {
    *cursor = (roast_chunk_cursor){log, 0, fields};
}

bool roast_chunk_cursor_next(roast_chunk_cursor *cursor, roast_chunk *out) {
    return cursor->index < cursor->log->count &&
           roast_row_read(cursor->log, roast_row_at(cursor->log, cursor->index++), cursor->fields,
                          out);
}

roast_status roast_chunklog_get(const roast_chunklog *log, uint64_t index, roast_chunk *out,
                                roast_error *err) {
    if (index >= log->count)
        return roast_error_set(err, ROAST_ENOTFOUND, "roast_chunklog_get", -1, "chunk %llu of %llu",
                               (unsigned long long)index, (unsigned long long)log->count);
    if (!roast_row_read(log, roast_row_at(log, index), ROAST_CHUNK_ALL_FIELDS, out))
        return roast_error_set(err, ROAST_ECORRUPT, "roast_chunklog_get", -1, "row %llu",
                               (unsigned long long)index);
    return ROAST_OK;
}
