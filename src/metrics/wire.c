/* Metrics as bytes: docs/format/metrics.md. */
#include "base/crc32c.h"
#include "base/varint.h"
#include "metrics/formulas.h"

static const char magic[4] = {'R', 'C', 'M', 'X'};
enum { VERSION = 1, HEADER = sizeof magic + 1, CHECKSUM = 4 };

/* The fields of a row in their order: how each is packed, and its name. A change of these lists is a
 * new version. */
#define DATASET_FIELDS(X)                                                                          \
    X(text, name)                                                                                  \
    X(count, num_chunks)                                                                           \
    X(real, total_duration)                                                                        \
    X(integer, total_events)                                                                       \
    X(real, mean_duration)                                                                         \
    X(real, mean_events_per_chunk)
#define SECTION_FIELDS(X)                                                                          \
    X(text, name)                                                                                  \
    X(kind, kind)                                                                                  \
    X(count, count)                                                                                \
    X(real, total_duration)                                                                        \
    X(real, self_duration)                                                                         \
    X(real, mean_duration)                                                                         \
    X(real, mean_mem_delta_mb)                                                                     \
    X(real, max_mem_delta_mb)                                                                      \
    X(real, min_mem_delta_mb)                                                                      \
    X(integer, total_bytes)
#define FILE_FIELDS(X)                                                                             \
    X(text, name)                                                                                  \
    X(value, total_branches)                                                                       \
    X(value, branches_read_percent)                                                                \
    X(value, total_tree_bytes)                                                                     \
    X(value, bytes_read)                                                                           \
    X(value, bytes_read_percent)                                                                   \
    X(value, compression_ratio)                                                                    \
    X(value, uncompressed_bytes_read)
#define BRANCH_FIELDS(X)                                                                           \
    X(text, name)                                                                                  \
    X(count, num_chunks)                                                                           \
    X(value, seconds)                                                                              \
    X(value, bytes)                                                                                \
    X(value, uncompressed_bytes)                                                                   \
    X(value, count)
#define WORKER_FIELDS(X)                                                                           \
    X(text, name)                                                                                  \
    X(text, host)                                                                                  \
    X(count, samples)                                                                              \
    X(value, threads)                                                                              \
    X(value, peak_memory_bytes)                                                                    \
    X(value, memory_limit_bytes)                                                                   \
    X(value, peak_memory_percent)                                                                  \
    X(value, peak_spilled_bytes)                                                                   \
    X(value, mean_cpu_percent)
/* The tables in their order: fields, name in singular, rows, their number, type. */
#define TABLES(X)                                                                                  \
    X(DATASET_FIELDS, dataset, datasets, n_datasets, roast_dataset_row)                            \
    X(SECTION_FIELDS, section, sections, n_sections, roast_section_row)                            \
    X(FILE_FIELDS, file, files, n_files, roast_file_row)                                           \
    X(BRANCH_FIELDS, branch, branches, n_branches, roast_branch_row)                               \
    X(WORKER_FIELDS, worker, workers, n_workers, roast_worker_row)

/* What a scalar is computed from changes with the catalogue: its keys tell one from another. */
static uint32_t fingerprint(void) {
    uint32_t crc = 0;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const char *key = roast_catalogue_at(i)->key;
        if (roast_catalogue_is_scalar(i))
            crc = roast_crc32c(crc, key, strlen(key) + 1);
    }
    return crc;
}

bool roast_metrics_is_current(const roast_metrics *metrics) {
    return metrics->is_current;
}

/* ---- out ---- */

typedef struct writer {
    roast_sink *sink;
    uint32_t crc;
} writer;

static void put(writer *w, const void *data, size_t len) {
    if (len == 0)
        return;
    w->crc = roast_crc32c(w->crc, data, len);
    roast_sink_write(w->sink, data, len);
}

static void put_count(writer *w, uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    put(w, bytes, (size_t)(roast_put_varint(bytes, value) - bytes));
}

static void put_integer(writer *w, int64_t value) {
    put_count(w, roast_zigzag(value));
}

static void put_fixed(writer *w, uint64_t value, unsigned bytes) {
    uint8_t out[8];
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    put(w, out, bytes);
}

static void put_real(writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(w, bits, 8);
}

/* The absent text is 0, any other its length + 1. */
static void put_text(writer *w, roast_str text) {
    put_count(w, text.data == NULL ? 0 : text.len + 1);
    put(w, text.data, text.data == NULL ? 0 : text.len);
}

static void put_kind(writer *w, roast_section_kind kind) {
    put_count(w, (uint64_t)kind);
}

static void put_value(writer *w, roast_value value) {
    put_count(w, (uint64_t)value.kind);
    if (value.kind == ROAST_VALUE_INT)
        put_integer(w, value.integer);
    else if (value.kind == ROAST_VALUE_REAL)
        put_real(w, value.real);
}

static void put_scalars(writer *w, const roast_metrics *metrics) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++)
        count += metrics->values[i].kind != ROAST_VALUE_NONE;
    put_count(w, count);
    for (uint32_t i = 0; i < ROAST_M_COUNT; i++) {
        if (metrics->values[i].kind == ROAST_VALUE_NONE)
            continue;
        put_text(w, roast_str_of(roast_catalogue_at(i)->key));
        put_value(w, metrics->values[i]);
    }
}

#define FIELD(packing, name) put_##packing(w, row->name);
#define X(fields, singular, plural, number, type)                                                  \
    static void put_##plural(writer *w, const roast_metrics *metrics) {                            \
        put_count(w, metrics->number);                                                             \
        for (uint32_t i = 0; i < metrics->number; i++) {                                           \
            const type *row = &metrics->plural[i];                                                 \
            fields(FIELD)                                                                          \
        }                                                                                          \
    }
TABLES(X)
#undef X
#undef FIELD

roast_status roast_metrics_encode(const roast_metrics *metrics, roast_sink *sink,
                                  roast_error *err) {
    writer w = {.sink = sink};
    const uint8_t version = VERSION;
    put(&w, magic, sizeof magic);
    put(&w, &version, 1);
    put_fixed(&w, metrics->is_current ? fingerprint() : 0, 4);
    put_scalars(&w, metrics);
#define X(fields, singular, plural, number, type) put_##plural(&w, metrics);
    TABLES(X)
#undef X
    put_fixed(&w, w.crc, CHECKSUM);
    return roast_sink_finish(sink, err);
}

/* ---- in ---- */

typedef struct reader {
    const uint8_t *start, *at, *end; /* end: where the checksum begins */
    roast_error *err;
} reader;

static roast_status damaged(const reader *r, const char *what) {
    int64_t position = r->at - r->start;
    return roast_error_set(r->err, ROAST_ECORRUPT, "metrics", position, "%s (byte %lld)", what,
                           (long long)position);
}

static roast_status get_count(reader *r, uint64_t *value) {
    const uint8_t *at = r->at;
    if (!roast_get_varint(&at, r->end, value))
        return damaged(r, "a number is malformed");
    r->at = at;
    return ROAST_OK;
}

static roast_status get_integer(reader *r, int64_t *value) {
    uint64_t raw;
    ROAST_TRY(get_count(r, &raw));
    *value = roast_unzigzag(raw);
    return ROAST_OK;
}

static roast_status get_fixed(reader *r, unsigned bytes, uint64_t *value) {
    if ((size_t)(r->end - r->at) < bytes)
        return damaged(r, "a number is cut short");
    *value = 0;
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)*r->at++ << 8 * i;
    return ROAST_OK;
}

static roast_status get_real(reader *r, double *value) {
    uint64_t bits = 0;
    ROAST_TRY(get_fixed(r, 8, &bits));
    memcpy(value, &bits, sizeof bits);
    return ROAST_OK;
}

static roast_status get_text(reader *r, roast_str *text) {
    uint64_t len;
    ROAST_TRY(get_count(r, &len));
    *text = (roast_str){0};
    if (len == 0)
        return ROAST_OK;
    if (--len > (uint64_t)(r->end - r->at) || len > ROAST_MAX_TEXT)
        return damaged(r, "a text is too long");
    *text = (roast_str){(const char *)r->at, (size_t)len};
    r->at += len;
    return ROAST_OK;
}

static roast_status get_kind(reader *r, roast_section_kind *kind) {
    uint64_t value;
    ROAST_TRY(get_count(r, &value));
    if (value >= ROAST_SECTION_KINDS)
        return damaged(r, "there is no such sort of section");
    *kind = (roast_section_kind)value;
    return ROAST_OK;
}

static roast_status get_value(reader *r, roast_value *value) {
    uint64_t kind;
    int64_t integer;
    double real;
    ROAST_TRY(get_count(r, &kind));
    switch (kind) {
    case ROAST_VALUE_NONE:
        *value = roast_value_none();
        return ROAST_OK;
    case ROAST_VALUE_INT:
        ROAST_TRY(get_integer(r, &integer));
        *value = roast_value_int(integer);
        return ROAST_OK;
    case ROAST_VALUE_REAL:
        ROAST_TRY(get_real(r, &real));
        *value = roast_value_real(real);
        return ROAST_OK;
    default:
        return damaged(r, "there is no such sort of value");
    }
}

static roast_status get_scalar(reader *r, roast_metrics *metrics) {
    roast_str key;
    roast_value value;
    char name[64];
    uint32_t index;
    ROAST_TRY(get_text(r, &key));
    ROAST_TRY(get_value(r, &value));
    if (key.data == NULL || key.len == 0 || memchr(key.data, '\0', key.len) != NULL)
        return damaged(r, "a metric has no name");
    if (key.len >= sizeof name) /* none of ours is so long */
        return ROAST_OK;
    memcpy(name, key.data, key.len);
    name[key.len] = '\0';
    if (roast_catalogue_find(name, &index) == NULL || !roast_catalogue_is_scalar(index))
        return ROAST_OK;
    return roast_metrics_set(metrics, name, value, r->err);
}

/* How many entries follow, each of which takes a byte at least. */
static roast_status get_rows(reader *r, uint64_t *count) {
    ROAST_TRY(get_count(r, count));
    if (*count > (uint64_t)(r->end - r->at) || *count > ROAST_MAX_ROWS)
        return damaged(r, "a table is cut short");
    return ROAST_OK;
}

#define FIELD(packing, name) ROAST_TRY(get_##packing(r, &row.name));
#define X(fields, singular, plural, number, type)                                                  \
    static roast_status get_##plural(reader *r, roast_metrics *metrics) {                          \
        uint64_t count;                                                                            \
        ROAST_TRY(get_rows(r, &count));                                                            \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            type row;                                                                              \
            fields(FIELD) ROAST_TRY(roast_metrics_add_##singular(metrics, &row, r->err));          \
        }                                                                                          \
        return ROAST_OK;                                                                           \
    }
TABLES(X)
#undef X
#undef FIELD

static roast_status get_all(reader *r, roast_metrics *metrics) {
    uint64_t made_by = 0, scalars = 0;
    ROAST_TRY(get_fixed(r, 4, &made_by));
    ROAST_TRY(get_rows(r, &scalars));
    for (uint64_t i = 0; i < scalars; i++)
        ROAST_TRY(get_scalar(r, metrics));
#define X(fields, singular, plural, number, type) ROAST_TRY(get_##plural(r, metrics));
    TABLES(X)
#undef X
    metrics->is_current = made_by == fingerprint();
    return r->at == r->end ? ROAST_OK : damaged(r, "there are bytes behind the tables");
}

static roast_status check_frame(const reader *r, size_t len) {
    const char *where = "metrics";
    if (len < HEADER + CHECKSUM)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, (int64_t)len,
                               "%zu bytes are too few for packed metrics", len);
    if (memcmp(r->start, magic, sizeof magic) != 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, 0, "these are no packed metrics");
    unsigned version = r->start[sizeof magic];
    if (version > VERSION)
        return roast_error_set(r->err, ROAST_EVERSION, where, sizeof magic,
                               "packed metrics of version %u; this roastcoffea (%s) reads up to "
                               "version %d: upgrade it",
                               version, roast_version(), VERSION);
    if (version == 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, sizeof magic,
                               "packed metrics of version 0 do not exist");
    uint32_t stored = 0, found = roast_crc32c(0, r->start, (size_t)(r->end - r->start));
    for (unsigned i = 0; i < CHECKSUM; i++)
        stored |= (uint32_t)r->end[i] << 8 * i;
    if (stored != found)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, r->end - r->start,
                               "the checksum is wrong: %08x is stored, the bytes give %08x", stored,
                               found);
    return ROAST_OK;
}

roast_status roast_metrics_decode(const void *data, size_t len, roast_metrics **out,
                                  roast_error *err) {
    const uint8_t *bytes = data;
    size_t body = len < HEADER + CHECKSUM ? 0 : len - CHECKSUM;
    reader r = {
        .start = bytes, .at = bytes, .end = bytes == NULL ? NULL : bytes + body, .err = err};
    ROAST_TRY(check_frame(&r, bytes == NULL ? 0 : len));
    r.at += HEADER;
    roast_metrics *metrics;
    ROAST_TRY(roast_metrics_new(&metrics, err));
    roast_status status = get_all(&r, metrics);
    if (status != ROAST_OK) {
        roast_metrics_free(metrics);
        return status;
    }
    *out = metrics;
    return ROAST_OK;
}
