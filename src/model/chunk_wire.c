/* The packed form of a chunk log, as it travels and is stored. See docs/format/chunk-log.md. */
#include "model/chunklog_internal.h"

#include "base/crc32c.h"

static const uint8_t magic[4] = {'R', 'C', 'L', 'G'};
enum { VERSION = 1, HEADER = 5, TRAILER = 4 };

/* ---- packing ---- */

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

/* All in front of the entries. */
enum { HEAD_MAX = HEADER + 2 * ROAST_VARINT_MAX };

static size_t head_size(const roast_chunklog *log) {
    return HEADER + varint_size(log->entries.count) + varint_size(log->count);
}

static uint8_t *put_head(const roast_chunklog *log, uint8_t *at) {
    memcpy(at, magic, sizeof magic);
    at[sizeof magic] = VERSION;
    at = roast_put_varint(at + HEADER, log->entries.count);
    return roast_put_varint(at, log->count);
}

static void put_checksum(uint8_t *at, uint32_t crc) {
    for (int byte = 0; byte < TRAILER; byte++)
        at[byte] = (uint8_t)(crc >> (8 * byte));
}

size_t roast_chunklog_packed_size(const roast_chunklog *log) {
    return head_size(log) + log->entries.bytes.len + log->rows.len + TRAILER;
}

size_t roast_chunklog_packed_bound(const roast_chunklog *log) {
    return HEAD_MAX + log->entries.bytes.len + log->rows.len + TRAILER;
}

void roast_chunklog_pack(const roast_chunklog *log, void *out) {
    const roast_buffer *const parts[] = {&log->entries.bytes, &log->rows};
    uint8_t *at = put_head(log, out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i]->len > 0)
            memcpy(at, parts[i]->data, parts[i]->len);
        at += parts[i]->len;
    }
    put_checksum(at, roast_crc32c(0, out, (size_t)(at - (uint8_t *)out)));
}

/* The two large parts go out from where they are. */
roast_status roast_chunklog_encode(const roast_chunklog *log, roast_sink *sink, roast_error *err) {
    uint8_t head[HEAD_MAX], trailer[TRAILER];
    size_t size = (size_t)(put_head(log, head) - head);
    uint32_t crc = roast_crc32c(0, head, size);
    roast_sink_write(sink, head, size);
    crc = roast_crc32c(crc, log->entries.bytes.data, log->entries.bytes.len);
    roast_sink_write(sink, log->entries.bytes.data, log->entries.bytes.len);
    crc = roast_crc32c(crc, log->rows.data, log->rows.len);
    roast_sink_write(sink, log->rows.data, log->rows.len);
    put_checksum(trailer, crc);
    roast_sink_write(sink, trailer, sizeof trailer);
    return roast_sink_finish(sink, err);
}

/* ---- unpacking ---- */

typedef struct reader {
    const uint8_t *start, *at, *end;
    roast_error *err;
} reader;

static roast_status damaged(const reader *r, const uint8_t *at, const char *what) {
    return roast_error_set(r->err, ROAST_ECORRUPT, "chunk log", at - r->start,
                           "damaged chunk log: %s (byte %lld)", what, (long long)(at - r->start));
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

/* How much of everything there is. */
typedef struct log_sizes {
    uint64_t entries, rows;
    size_t bytes; /* of both together */
} log_sizes;

static roast_status read_sizes(reader *r, log_sizes *out) {
    const uint8_t *at = r->at;
    /* Each takes a byte at least: what is larger cannot be true and must not be allocated. */
    if (!roast_get_varint(&r->at, r->end, &out->entries) ||
        out->entries > (size_t)(r->end - r->at) || out->entries > ROAST_INTERN_MAX)
        return damaged(r, at, "the number of entries");
    at = r->at;
    if (!roast_get_varint(&r->at, r->end, &out->rows) || out->rows > (size_t)(r->end - r->at))
        return damaged(r, at, "the number of rows");
    out->bytes = (size_t)(r->end - r->at);
    return ROAST_OK;
}

/* One block for everything, if it is small even for the log itself: a log that is merged into
 * another one and then freed, as most are, needs no more. The bytes are copied; where entries end and
 * rows begin is not known yet. */
static roast_chunklog *new_log(const log_sizes *sizes, const uint8_t *from) {
    enum { SMALL = 4096 };
    size_t entries = (size_t)sizes->entries, marks = roast_row_marks(sizes->rows);
    if (sizes->bytes > SIZE_MAX / 32)
        return NULL;
    size_t block = (entries + marks) * sizeof(size_t) + sizes->bytes;
    size_t own = sizeof(roast_chunklog) + (block <= SMALL ? block : 0);
    roast_chunklog *log = roast_alloc(own);
    if (log == NULL)
        return NULL;
    *log = (roast_chunklog){.block = log + 1, .block_size = block, .own_size = own};
    if (block > SMALL && (log->block = roast_alloc(block)) == NULL) {
        roast_free(log);
        return NULL;
    }
    log->entries.ends = log->block;
    log->entries.ends_capacity = entries;
    log->marks = log->entries.ends + entries;
    log->marks_capacity = marks;
    log->entries.bytes = (roast_buffer){(uint8_t *)(log->marks + marks), 0, sizes->bytes};
    memcpy(log->entries.bytes.data, from, sizes->bytes);
    return log;
}

static roast_status read_entries(reader *r, const log_sizes *sizes, roast_chunklog *log) {
    roast_intern *entries = &log->entries;
    const uint8_t *at = entries->bytes.data, *end = at + sizes->bytes;
    for (uint32_t id = 0; id < sizes->entries; id++) {
        const uint8_t *next = roast_entry_check(log, id, at, end);
        if (next == NULL)
            return damaged(r, r->at + (at - entries->bytes.data), "an entry");
        at = next;
        entries->ends[id] = (size_t)(at - entries->bytes.data);
        entries->count = id + 1;
    }
    size_t len = (size_t)(at - entries->bytes.data);
    entries->bytes.len = entries->bytes.capacity = len;
    log->rows = (roast_buffer){entries->bytes.data + len, 0, sizes->bytes - len};
    r->at += len;
    return ROAST_OK;
}

static roast_status read_rows(reader *r, const log_sizes *sizes, roast_chunklog *log) {
    roast_row_check check = {.context = 0};
    const uint8_t *at = log->rows.data, *end = at + log->rows.capacity;
    for (uint64_t i = 0; i < sizes->rows; i++) {
        const uint8_t *start = at;
        uint64_t len;
        if (at == end)
            return damaged(r, r->end, "rows are missing");
        if (!roast_get_varint(&at, end, &len) || len > (size_t)(end - at) ||
            !roast_row_valid(log, at, at + len, &check))
            return damaged(r, r->at + log->rows.len, "a row");
        at += len;
        roast_row_commit(log, (size_t)(at - start));
    }
    if (at != end)
        return damaged(r, r->at + log->rows.len, "bytes behind the last row");
    return ROAST_OK;
}

roast_status roast_chunklog_decode(const void *data, size_t len, roast_chunklog **out,
                                   roast_error *err) {
    reader r = {.start = data, .at = data, .err = err};
    log_sizes sizes = {0};
    ROAST_TRY(check_frame(&r, len));
    ROAST_TRY(read_sizes(&r, &sizes));
    roast_chunklog *log = new_log(&sizes, r.at);
    if (log == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "chunk log", -1, "no memory for a chunk log");
    roast_status status = read_entries(&r, &sizes, log);
    if (status == ROAST_OK)
        status = read_rows(&r, &sizes, log);
    if (status != ROAST_OK) {
        roast_chunklog_free(log);
        return status;
    }
    *out = log;
    return ROAST_OK;
}
