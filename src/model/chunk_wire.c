/* The packed form of a chunk log, as it travels and is stored. See docs/format/chunk-log.md. */
#include "base/frame.h"
#include "model/chunklog_internal.h"

static const roast_frame frame = {"chunk log", {'R', 'C', 'L', 'G'}, 3};

roast_status roast_chunklog_encode(const roast_chunklog *log, roast_sink *sink, roast_error *err) {
    roast_frame_writer writer;
    roast_frame_begin(&writer, &frame, sink);
    roast_frame_put_number(&writer, log->entries.count);
    roast_frame_put_number(&writer, log->count);
    for (uint32_t id = 0; id < log->entries.count; id++)
        roast_frame_put_text(&writer, roast_intern_get(&log->entries, id));
    roast_frame_put_bytes(&writer, log->rows.data, log->rows.len);
    return roast_frame_finish(&writer, err);
}

static roast_status no_memory(const roast_frame_reader *r, roast_status status) {
    return status == ROAST_OK ? ROAST_OK : roast_frame_fail(r, status, "no memory for it");
}

static roast_status read_entries(roast_frame_reader *r, uint64_t count, roast_chunklog *log) {
    enum { SMALL = 4096 }; /* most logs hold one chunk, and are merged into another and freed */
    size_t left = (size_t)(r->end - r->at);
    if (count > ROAST_INTERN_MAX)
        return roast_frame_damaged(r, "the number of entries");
    ROAST_TRY(no_memory(
        r, roast_intern_reserve(&log->entries, (uint32_t)count, left < SMALL ? left : 0)));
    for (uint32_t id = 0; id < count; id++) {
        const uint8_t *before = r->at;
        roast_str entry;
        uint32_t added = 0;
        ROAST_TRY(roast_frame_get_text(r, SIZE_MAX, &entry));
        bool valid = roast_entry_valid(log, id, entry);
        if (valid)
            ROAST_TRY(no_memory(r, roast_intern_add(&log->entries, entry, &added)));
        if (!valid || added != id) { /* each is there once */
            r->at = before;
            return roast_frame_damaged(r, "an entry");
        }
    }
    return ROAST_OK;
}

static roast_status read_rows(roast_frame_reader *r, uint64_t count, roast_chunklog *log) {
    void *ends = NULL;
    const uint8_t *start = r->at;
    roast_row_check check = {0};
    ROAST_TRY(no_memory(
        r, roast_array_reserve(&ends, &log->ends_capacity, sizeof *log->ends, (size_t)count)));
    log->ends = ends;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *before = r->at;
        roast_str text;
        ROAST_TRY(roast_frame_get_text(r, SIZE_MAX, &text));
        const uint8_t *at = (const uint8_t *)text.data;
        if (!roast_row_valid(log, (roast_bytes){at, at + text.len, false}, &check)) {
            r->at = before;
            return roast_frame_damaged(r, "a row");
        }
        log->ends[i] = (size_t)(r->at - start);
    }
    log->count = count;
    log->rows = (roast_buffer){(uint8_t *)start, (size_t)(r->at - start), 0};
    return roast_frame_close(r);
}

static void free_view(roast_chunklog *log) {
    log->rows = (roast_buffer){0};
    roast_chunklog_free(log);
}

/* A log whose rows are those of the buffer: not to be changed, and freed by free_view. */
static roast_status decode_view(const void *data, size_t len, roast_chunklog **out,
                                roast_error *err) {
    roast_frame_reader r;
    uint64_t entries, rows;
    ROAST_TRY(roast_frame_open(&r, &frame, data, len, err));
    ROAST_TRY(roast_frame_get_count(&r, 1, "the number of entries", &entries));
    ROAST_TRY(roast_frame_get_count(&r, 1, "the number of rows", &rows));
    roast_chunklog *log;
    ROAST_TRY(roast_chunklog_new(&log, err));
    roast_status status = read_entries(&r, entries, log);
    if (status == ROAST_OK)
        status = read_rows(&r, rows, log);
    if (status == ROAST_OK)
        *out = log;
    else
        free_view(log);
    return status;
}

roast_status roast_chunklog_decode(const void *data, size_t len, roast_chunklog **out,
                                   roast_error *err) {
    roast_chunklog *log;
    ROAST_TRY(decode_view(data, len, &log, err));
    roast_buffer rows = {0};
    if (roast_buffer_append(&rows, log->rows.data, log->rows.len) != ROAST_OK) {
        free_view(log);
        return roast_error_set(err, ROAST_ENOMEM, frame.name, -1, "no memory for it");
    }
    log->rows = rows;
    *out = log;
    return ROAST_OK;
}

roast_status roast_chunklog_merge_packed(roast_chunklog *into, const void *data, size_t len,
                                         roast_error *err) {
    roast_chunklog *log;
    ROAST_TRY(decode_view(data, len, &log, err));
    roast_status status = roast_chunklog_merge(into, log, false, NULL, err);
    free_view(log);
    return status;
}
