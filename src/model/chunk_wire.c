/* The packed form of a chunk log, as it travels and is stored. See docs/format/chunk-log.md. */
#include "model/chunklog_internal.h"

#include "base/crc32c.h"
#include "base/varint.h"

static const uint8_t magic[4] = {'R', 'C', 'L', 'G'};
enum { VERSION = 1, HEADER = 5, TRAILER = 4 };

/* Feeds the sink and the checksum at once. Small pieces are gathered first: the log of one chunk
 * then goes out in one. */
typedef struct writer {
    roast_sink *sink;
    uint32_t crc;
    size_t used;
    uint8_t gathered[1024];
} writer;

static void flush(writer *w) {
    w->crc = roast_crc32c(w->crc, w->gathered, w->used);
    roast_sink_write(w->sink, w->gathered, w->used);
    w->used = 0;
}

static void put_bytes(writer *w, const void *data, size_t len) {
    if (len > sizeof w->gathered - w->used)
        flush(w);
    if (len > sizeof w->gathered) {
        w->crc = roast_crc32c(w->crc, data, len);
        roast_sink_write(w->sink, data, len);
    } else if (len > 0) {
        memcpy(w->gathered + w->used, data, len);
        w->used += len;
    }
}

static void put_number(writer *w, uint64_t value) {
    if (sizeof w->gathered - w->used < ROAST_VARINT_MAX)
        flush(w);
    w->used = (size_t)(roast_put_varint(w->gathered + w->used, value) - w->gathered);
}

static void put_checksum(writer *w) {
    flush(w);
    const uint8_t crc[TRAILER] = {(uint8_t)w->crc, (uint8_t)(w->crc >> 8), (uint8_t)(w->crc >> 16),
                                  (uint8_t)(w->crc >> 24)};
    roast_sink_write(w->sink, crc, sizeof crc);
}

roast_status roast_chunklog_encode(const roast_chunklog *log, roast_sink *sink, roast_error *err) {
    writer w;
    w.sink = sink;
    w.crc = 0;
    w.used = 0;
    const uint8_t version = VERSION;
    put_bytes(&w, magic, sizeof magic);
    put_bytes(&w, &version, 1);
    put_number(&w, log->entries.count);
    put_number(&w, log->count);
    for (uint32_t id = 0; id < log->entries.count; id++)
        put_number(&w, roast_intern_get(&log->entries, id).len);
    put_bytes(&w, log->entries.bytes.data, log->entries.bytes.len);
    put_bytes(&w, log->rows.data, log->rows.len);
    put_checksum(&w);
    return roast_sink_finish(sink, err);
}

size_t roast_chunklog_packed_bound(const roast_chunklog *log) {
    return HEADER + TRAILER + 2 * (size_t)ROAST_VARINT_MAX + log->rows.len +
           log->entries.bytes.len + (size_t)log->entries.count * ROAST_VARINT_MAX;
}

typedef struct reader {
    const uint8_t *start, *at, *end;
    roast_error *err;
} reader;

static roast_status damaged(const reader *r, const uint8_t *at, const char *what) {
    return roast_error_set(r->err, ROAST_ECORRUPT, "chunk log", at - r->start,
                           "damaged chunk log: %s (byte %lld)", what, (long long)(at - r->start));
}

static roast_status no_memory(const reader *r, roast_status status) {
    return roast_error_set(r->err, status, "chunk log", -1, "no memory for a chunk log");
}

static roast_status check_frame(reader *r, size_t len) {
    if (len < HEADER + TRAILER)
        return roast_error_set(r->err, ROAST_ECORRUPT, "chunk log", (int64_t)len,
                               "damaged chunk log: it ends at byte %zu", len);
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
    const uint8_t *crc = r->start + len - TRAILER;
    uint32_t told =
        crc[0] | (uint32_t)crc[1] << 8 | (uint32_t)crc[2] << 16 | (uint32_t)crc[3] << 24;
    if (told != roast_crc32c(0, r->start, len - TRAILER))
        return damaged(r, crc, "the checksum does not match");
    r->at += HEADER;
    r->end = crc;
    return ROAST_OK;
}

/* The lengths of all entries, then the bytes of all entries. */
static roast_status read_entries(reader *r, uint64_t count, roast_chunklog *log) {
    const uint8_t *lengths = r->at;
    uint64_t total = 0, len;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = r->at;
        if (!roast_get_varint(&r->at, r->end, &len) || len == 0 || len > (size_t)(r->end - r->at) ||
            (total += len) > (size_t)(r->end - r->at))
            return damaged(r, at, "the length of an entry");
    }
    roast_status status = roast_intern_reserve(&log->entries, (uint32_t)count, (size_t)total);
    if (status != ROAST_OK)
        return no_memory(r, status);
    for (uint64_t i = 0; i < count; i++) {
        roast_get_varint(&lengths, r->end, &len);
        roast_intern_push(&log->entries, (roast_str){(const char *)r->at, (size_t)len});
        if (!roast_entry_valid(log, (uint32_t)i))
            return damaged(r, r->at, "an entry");
        r->at += len;
    }
    return ROAST_OK;
}

static roast_status read_rows(reader *r, uint64_t count, roast_chunklog *log) {
    size_t len = (size_t)(r->end - r->at);
    roast_status status = roast_buffer_reserve(&log->rows, len);
    if (status != ROAST_OK)
        return no_memory(r, status);
    if (len > 0)
        memcpy(log->rows.data, r->at, len);
    roast_row_check check;
    check.ref = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (log->rows.len == len)
            return damaged(r, r->end, "rows are missing");
        status = roast_row_reserve(log, 0);
        if (status != ROAST_OK)
            return no_memory(r, status);
        const uint8_t *start = log->rows.data + log->rows.len, *stop = log->rows.data + len;
        const uint8_t *p = start;
        uint64_t row_len;
        if (!roast_get_varint(&p, stop, &row_len) || row_len > (size_t)(stop - p) ||
            !roast_row_valid(log, p, p + row_len, &check))
            return damaged(r, r->at + log->rows.len, "a row");
        roast_row_commit(log, (size_t)(p - start) + (size_t)row_len);
    }
    if (log->rows.len != len)
        return damaged(r, r->at + log->rows.len, "bytes behind the last row");
    return ROAST_OK;
}

static roast_status read_log(reader *r, roast_chunklog *log) {
    uint64_t entries, rows;
    const uint8_t *at = r->at;
    /* Each takes a byte at least: what is larger cannot be true and must not be allocated. */
    if (!roast_get_varint(&r->at, r->end, &entries) || entries > (size_t)(r->end - r->at) ||
        entries > ROAST_INTERN_MAX)
        return damaged(r, at, "the number of entries");
    at = r->at;
    if (!roast_get_varint(&r->at, r->end, &rows) || rows > (size_t)(r->end - r->at))
        return damaged(r, at, "the number of rows");
    ROAST_TRY(read_entries(r, entries, log));
    return read_rows(r, rows, log);
}

roast_status roast_chunklog_decode(const void *data, size_t len, roast_chunklog **out,
                                   roast_error *err) {
    reader r = {.start = data, .at = data, .err = err};
    ROAST_TRY(check_frame(&r, len));
    roast_chunklog *log = NULL;
    ROAST_TRY(roast_chunklog_new(&log, err));
    roast_status status = read_log(&r, log);
    if (status != ROAST_OK) {
        roast_chunklog_free(log);
        return status;
    }
    *out = log;
    return ROAST_OK;
}
