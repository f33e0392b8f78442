/* The packed form of a chunk log, as it travels and is stored. See docs/format/chunk-log.md. */
#include "model/chunklog_internal.h"

#include "base/crc32c.h"
#include "base/varint.h"

static const uint8_t magic[4] = {'R', 'C', 'L', 'G'};
enum { VERSION = 1, HEADER = 5, TRAILER = 4 };

/* Feeds the sink and the checksum at once. */
typedef struct writer {
    roast_sink *sink;
    uint32_t crc;
} writer;

static void put_bytes(writer *w, const void *data, size_t len) {
    w->crc = roast_crc32c(w->crc, data, len);
    roast_sink_write(w->sink, data, len);
}

static void put_number(writer *w, uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    put_bytes(w, bytes, (size_t)(roast_put_varint(bytes, value) - bytes));
}

roast_status roast_chunklog_encode(const roast_chunklog *log, roast_sink *sink, roast_error *err) {
    writer w = {sink, 0};
    const uint8_t version = VERSION;
    put_bytes(&w, magic, sizeof magic);
    put_bytes(&w, &version, 1);
    put_number(&w, log->entries.count);
    for (uint32_t id = 0; id < log->entries.count; id++) {
        roast_str entry = roast_intern_get(&log->entries, id);
        put_number(&w, entry.len);
        put_bytes(&w, entry.data, entry.len);
    }
    put_number(&w, log->count);
    put_number(&w, log->rows.len);
    put_bytes(&w, log->rows.data, log->rows.len);
    const uint8_t crc[TRAILER] = {(uint8_t)w.crc, (uint8_t)(w.crc >> 8), (uint8_t)(w.crc >> 16),
                                  (uint8_t)(w.crc >> 24)};
    roast_sink_write(sink, crc, sizeof crc);
    return roast_sink_finish(sink, err);
}

size_t roast_chunklog_packed_bound(const roast_chunklog *log) {
    return HEADER + TRAILER + 4 * (size_t)ROAST_VARINT_MAX + log->rows.len +
           log->entries.bytes.len + (size_t)log->entries.count * 5;
}

typedef struct reader {
    const uint8_t *start, *at, *end;
    roast_error *err;
} reader;

static roast_status damaged(const reader *r, const uint8_t *at, const char *what) {
    return roast_error_set(r->err, ROAST_ECORRUPT, "chunk log", at - r->start,
                           "damaged chunk log: %s at byte %lld", what, (long long)(at - r->start));
}

static roast_status no_memory(const reader *r, roast_status status) {
    return roast_error_set(r->err, status, "chunk log", -1, "no memory for a chunk log");
}

static roast_status check_frame(reader *r, size_t len) {
    if (len < HEADER + TRAILER)
        return damaged(r, r->end, "it ends too early");
    if (memcmp(r->start, magic, sizeof magic) != 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, "chunk log", 0,
                               "this is not a chunk log (it does not begin with RCLG)");
    uint8_t version = r->start[sizeof magic];
    if (version > VERSION)
        return roast_error_set(r->err, ROAST_EVERSION, "chunk log", sizeof magic,
                               "a chunk log of version %d; this roastcoffea (%s) reads up to "
                               "version %d: upgrade it",
                               version, roast_version(), VERSION);
    if (version == 0)
        return damaged(r, r->start + sizeof magic, "version 0");
    const uint8_t *crc = r->end - TRAILER;
    uint32_t told =
        crc[0] | (uint32_t)crc[1] << 8 | (uint32_t)crc[2] << 16 | (uint32_t)crc[3] << 24;
    if (told != roast_crc32c(0, r->start, len - TRAILER))
        return damaged(r, crc, "the checksum does not match");
    r->at += HEADER;
    r->end = crc;
    return ROAST_OK;
}

static roast_status read_entries(reader *r, roast_chunklog *log) {
    uint64_t count, len;
    if (!roast_get_varint(&r->at, r->end, &count) || count > (size_t)(r->end - r->at))
        return damaged(r, r->at, "the number of entries");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = r->at;
        if (!roast_get_varint(&r->at, r->end, &len) || len > (size_t)(r->end - r->at))
            return damaged(r, at, "the length of an entry");
        roast_status status =
            roast_intern_append(&log->entries, (roast_str){(const char *)r->at, (size_t)len});
        if (status != ROAST_OK)
            return no_memory(r, status);
        if (!roast_entry_valid(log, (uint32_t)i))
            return damaged(r, at, "an entry");
        r->at += len;
    }
    return ROAST_OK;
}

static roast_status read_rows(reader *r, roast_chunklog *log) {
    uint64_t count, len;
    if (!roast_get_varint(&r->at, r->end, &count) || !roast_get_varint(&r->at, r->end, &len) ||
        len != (size_t)(r->end - r->at) || count > len)
        return damaged(r, r->at, "the number or the length of the rows");
    roast_status status = roast_buffer_reserve(&log->rows, (size_t)len);
    if (status != ROAST_OK)
        return no_memory(r, status);
    if (len > 0)
        memcpy(log->rows.data, r->at, (size_t)len);
    for (uint64_t i = 0; i < count; i++) {
        status = roast_row_reserve(log, 0);
        if (status != ROAST_OK)
            return no_memory(r, status);
        const uint8_t *p = log->rows.data + log->rows.len, *stop = log->rows.data + len;
        const uint8_t *place = r->at + log->rows.len;
        uint64_t row_len;
        if (!roast_get_varint(&p, stop, &row_len) || row_len > (size_t)(stop - p) ||
            !roast_row_valid(log, p, p + row_len))
            return damaged(r, place, "a row");
        roast_row_commit(log, (size_t)(p + row_len - (log->rows.data + log->rows.len)));
    }
    if (log->rows.len != len)
        return damaged(r, r->at + log->rows.len, "bytes behind the last row");
    return ROAST_OK;
}

roast_status roast_chunklog_decode(const void *data, size_t len, roast_chunklog **out,
                                   roast_error *err) {
    reader r = {data, data, (const uint8_t *)data + len, err};
    ROAST_TRY(check_frame(&r, len));
    roast_chunklog *log = NULL;
    ROAST_TRY(roast_chunklog_new(&log, err));
    roast_status status = read_entries(&r, log);
    if (status == ROAST_OK)
        status = read_rows(&r, log);
    if (status != ROAST_OK) {
        roast_chunklog_free(log);
        return status;
    }
    *out = log;
    return ROAST_OK;
}
