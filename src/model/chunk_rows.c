/* One chunk as a row of varints: how it is written, read and checked. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

_Static_assert(ROAST_CHUNK_FIELD_COUNT < 64, "the mask of fields is 64 bits wide");

const roast_entry_kind roast_row_ref_kind[ROAST_ROW_REFS] = {
    [ROAST_REF_ORIGIN] = ROAST_ENTRY_ORIGIN,     [ROAST_REF_FILE] = ROAST_ENTRY_FILE,
    [ROAST_REF_DATASET] = ROAST_ENTRY_STRING,    [ROAST_REF_TASK] = ROAST_ENTRY_STRING,
    [ROAST_REF_BRANCHES] = ROAST_ENTRY_BRANCHES, [ROAST_REF_READS] = ROAST_ENTRY_BRANCHES,
    [ROAST_REF_LAYOUT] = ROAST_ENTRY_LAYOUT,
};

/* ---- places ---- */

bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end) {
    const uint8_t *p = log->rows.data + offset, *stop = log->rows.data + log->rows.len;
    uint64_t len;
    if (offset >= log->rows.len || !roast_get_varint(&p, stop, &len) || len > (size_t)(stop - p))
        return false;
    *at = p;
    *end = p + len;
    return true;
}

size_t roast_row_offset(const roast_chunklog *log, uint64_t index) {
    size_t offset = log->marks[index / ROAST_ROWS_PER_MARK];
    const uint8_t *at, *end;
    for (uint64_t skip = index % ROAST_ROWS_PER_MARK; skip > 0; skip--) {
        if (!roast_row_at(log, offset, &at, &end))
            return log->rows.len;
        offset = (size_t)(end - log->rows.data);
    }
    return offset;
}

roast_status roast_row_reserve(roast_chunklog *log, size_t room) {
    if (log->count % ROAST_ROWS_PER_MARK == 0) {
        void *marks = log->marks;
        ROAST_TRY(roast_array_reserve(&marks, &log->marks_capacity, sizeof *log->marks,
                                      log->count / ROAST_ROWS_PER_MARK + 1));
        log->marks = marks;
    }
    return roast_buffer_reserve(&log->rows, room);
}

void roast_row_commit(roast_chunklog *log, size_t len) {
    if (log->count % ROAST_ROWS_PER_MARK == 0)
        log->marks[log->count / ROAST_ROWS_PER_MARK] = log->rows.len;
    log->rows.len += len;
    log->count++;
}

/* ---- reading ---- */

static bool get_text(const uint8_t **at, const uint8_t *end, roast_str *out) {
    uint64_t len;
    if (!roast_get_varint(at, end, &len) || len > ROAST_MAX_TEXT || len > (size_t)(end - *at))
        return false;
    *out = (roast_str){(const char *)*at, (size_t)len};
    *at += len;
    return true;
}

/* A tail begins with its length in bytes, so that a reader can step over it. */
static bool get_tail(const uint8_t **at, const uint8_t *end, const uint8_t **tail,
                     const uint8_t **tail_end) {
    uint64_t len;
    if (!roast_get_varint(at, end, &len) || len > (size_t)(end - *at))
        return false;
    *tail = *at;
    *at += len;
    *tail_end = *at;
    return true;
}

#define UNPACK_U(raw, near) (int64_t)(raw)
#define UNPACK_Z(raw, near) roast_unzigzag(raw)
#define UNPACK_D(raw, near) (int64_t)((uint64_t)roast_unzigzag(raw) + (uint64_t)(near))

static bool get_fields(const uint8_t **at, const uint8_t *end, roast_chunk *out) {
    uint64_t present, raw;
    if (!roast_get_varint(at, end, &present) || (present & ~out->have) != 0)
        return false;
        /* A field that is there but not packed is packed as 0. */
#define X(name, packing, near)                                                                     \
    if (out->have & ROAST_CHUNK_HAS(name)) {                                                       \
        raw = 0;                                                                                   \
        if ((present & ROAST_CHUNK_HAS(name)) && !roast_get_varint(at, end, &raw))                 \
            return false;                                                                          \
        out->name = UNPACK_##packing(raw, out->near);                                              \
    }
    ROAST_CHUNK_FIELDS(X)
#undef X
    return true;
}

static void read_origin(const roast_chunklog *log, uint32_t ref, roast_chunk *out) {
    if (ref == 0)
        return;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    for (int byte = 7; byte >= 0; byte--)
        out->token = out->token << 8 | at[byte];
    at += 8;
    uint64_t pid = 0, host = 0, worker = 0;
    roast_get_varint(&at, end, &pid);
    roast_get_varint(&at, end, &host);
    roast_get_varint(&at, end, &worker);
    out->pid = (int64_t)pid;
    out->host = roast_entry_text(log, (uint32_t)host);
    out->worker = roast_entry_text(log, (uint32_t)worker);
}

static void read_file(const roast_chunklog *log, uint32_t ref, roast_chunk *out) {
    if (ref == 0)
        return;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    uint64_t name = 0, uuid = 0, treename = 0;
    roast_get_varint(&at, end, &name);
    roast_get_varint(&at, end, &uuid);
    roast_get_varint(&at, end, &treename);
    out->file = roast_entry_text(log, (uint32_t)name);
    out->uuid = roast_entry_text(log, (uint32_t)uuid);
    out->treename = roast_entry_text(log, (uint32_t)treename);
}

/* The number of names in a set of branches. */
static uint32_t set_size(const roast_chunklog *log, uint32_t ref) {
    if (ref == 0)
        return 0;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data;
    uint64_t n = 0;
    roast_get_varint(&at, at + payload.len, &n);
    return (uint32_t)n;
}

static bool get_refs(const roast_chunklog *log, const uint8_t **at, const uint8_t *end,
                     uint32_t refs[ROAST_ROW_REFS]) {
    for (int i = 0; i < ROAST_ROW_REFS; i++) {
        uint64_t ref;
        if (!roast_get_varint(at, end, &ref) || ref > log->entries.count)
            return false;
        refs[i] = (uint32_t)ref;
        if (ref != 0 && roast_entry_kind_of(log, (uint32_t)ref) != roast_row_ref_kind[i])
            return false;
    }
    return refs[ROAST_REF_LAYOUT] != 0;
}

bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out) {
    uint32_t refs[ROAST_ROW_REFS];
    if (!get_refs(log, &at, end, refs) || at == end)
        return false;
    *out = (roast_chunk){0};
    uint8_t flags = *at++;
    roast_str layout = roast_entry_payload(log, refs[ROAST_REF_LAYOUT]);
    const uint8_t *layout_at = (const uint8_t *)layout.data, *layout_end = layout_at + layout.len;
    uint64_t n_sections = 0, n_customs = 0;
    roast_get_varint(&layout_at, layout_end, &out->have);
    roast_get_varint(&layout_at, layout_end, &n_sections);
    if (flags > ROAST_ROW_FLAGS || !roast_get_varint(&at, end, &out->seq) ||
        !get_fields(&at, end, out))
        return false;
    if (flags & ROAST_ROW_TASK_HASH) {
        if (end - at < 16)
            return false;
        out->task_hash = (roast_str){(const char *)at, 16};
        at += 16;
    }
    if ((flags & ROAST_ROW_ERROR) &&
        (!get_text(&at, end, &out->error_type) || !get_text(&at, end, &out->error_message)))
        return false;
    if (!get_tail(&at, end, &out->packed.sections_at, &out->packed.sections_end) ||
        !get_tail(&at, end, &out->packed.reads_at, &out->packed.reads_end))
        return false;
    if ((flags & ROAST_ROW_CUSTOMS) &&
        (!roast_get_varint(&at, end, &n_customs) || n_customs > ROAST_MAX_CUSTOMS))
        return false;
    out->packed.customs_at = at;
    out->packed.end = end;
    out->packed.branches = refs[ROAST_REF_BRANCHES];
    out->packed.reads = refs[ROAST_REF_READS];
    out->packed.layout = refs[ROAST_REF_LAYOUT];
    out->n_sections = (uint32_t)n_sections;
    out->n_customs = (uint32_t)n_customs;
    out->has_branches = refs[ROAST_REF_BRANCHES] != 0;
    out->has_reads = refs[ROAST_REF_READS] != 0;
    out->n_branches = set_size(log, refs[ROAST_REF_BRANCHES]);
    out->n_reads = set_size(log, refs[ROAST_REF_READS]);
    out->dataset = roast_entry_text(log, refs[ROAST_REF_DATASET]);
    out->task_key = roast_entry_text(log, refs[ROAST_REF_TASK]);
    read_origin(log, refs[ROAST_REF_ORIGIN], out);
    read_file(log, refs[ROAST_REF_FILE], out);
    return true;
}

bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end) {
    roast_chunk chunk;
    if (!roast_row_parse(log, at, end, &chunk))
        return false;
    roast_tail_cursor tail;
    roast_section section;
    roast_read read;
    roast_custom custom;
    roast_chunk_sections(log, &chunk, &tail);
    while (roast_chunk_next_section(&tail, &section))
        continue;
    if (tail.index != chunk.n_sections || tail.values != tail.values_end)
        return false;
    roast_chunk_reads(log, &chunk, &tail);
    while (roast_chunk_next_read(&tail, &read))
        continue;
    if (tail.index != chunk.n_reads || tail.values != tail.values_end)
        return false;
    roast_chunk_customs(log, &chunk, &tail);
    while (roast_chunk_next_custom(&tail, &custom))
        continue;
    return tail.index == chunk.n_customs && tail.values == tail.values_end;
}

/* ---- the tails ---- */

/* A cursor over the names in an entry (from its number of names on) and values in a row. */
static void start_tail(roast_tail_cursor *cursor, const roast_chunklog *log, uint32_t ref,
                       const uint8_t *values, const uint8_t *values_end) {
    *cursor = (roast_tail_cursor){.log = log, .values = values, .values_end = values_end};
    if (ref == 0)
        return;
    roast_str payload = roast_entry_payload(log, ref);
    cursor->names = (const uint8_t *)payload.data;
    cursor->names_end = cursor->names + payload.len;
    uint64_t count = 0;
    if (roast_entry_kind_of(log, ref) == ROAST_ENTRY_LAYOUT)
        roast_get_varint(&cursor->names, cursor->names_end, &count); /* the mask of fields */
    roast_get_varint(&cursor->names, cursor->names_end, &count);
    cursor->count = (uint32_t)count;
}

static bool next_name(roast_tail_cursor *cursor, roast_str *out) {
    uint64_t ref;
    if (cursor->index >= cursor->count ||
        !roast_get_varint(&cursor->names, cursor->names_end, &ref))
        return false;
    *out = roast_entry_text(cursor->log, (uint32_t)ref);
    return true;
}

void roast_chunk_branches(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    start_tail(cursor, log, chunk->packed.branches, NULL, NULL);
}

bool roast_chunk_next_branch(roast_tail_cursor *cursor, roast_str *out) {
    if (!next_name(cursor, out))
        return false;
    cursor->index++;
    return true;
}

void roast_chunk_sections(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    start_tail(cursor, log, chunk->packed.layout, chunk->packed.sections_at,
               chunk->packed.sections_end);
}

bool roast_chunk_next_section(roast_tail_cursor *cursor, roast_section *out) {
    uint64_t kind, parent, count = 1, before = 0;
    int64_t start;
    if (!next_name(cursor, &out->name) ||
        !roast_get_varint(&cursor->names, cursor->names_end, &kind) ||
        !roast_get_varint(&cursor->names, cursor->names_end, &parent) ||
        !roast_get_zigzag(&cursor->values, cursor->values_end, &start) ||
        !roast_get_zigzag(&cursor->values, cursor->values_end, &out->value))
        return false;
    out->kind = (roast_section_kind)(kind & (ROAST_LAYOUT_FOLDED - 1));
    if (out->kind == ROAST_SECTION_MEMORY &&
        !roast_get_varint(&cursor->values, cursor->values_end, &before))
        return false;
    if ((kind & ROAST_LAYOUT_FOLDED) &&
        !roast_get_varint(&cursor->values, cursor->values_end, &count))
        return false;
    out->start_ns = cursor->last_start = (int64_t)((uint64_t)cursor->last_start + (uint64_t)start);
    out->before = (int64_t)before;
    out->count = count;
    out->parent = (int32_t)parent - 1;
    cursor->index++;
    return true;
}

void roast_chunk_reads(const roast_chunklog *log, const roast_chunk *chunk,
                       roast_tail_cursor *cursor) {
    start_tail(cursor, log, chunk->packed.reads, chunk->packed.reads_at, chunk->packed.reads_end);
}

bool roast_chunk_next_read(roast_tail_cursor *cursor, roast_read *out) {
    if (!next_name(cursor, &out->branch))
        return false;
    int64_t *const fields[] = {&out->time_ns, &out->bytes, &out->uncompressed_bytes, &out->count};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t raw;
        if (!roast_get_varint(&cursor->values, cursor->values_end, &raw) || raw > INT64_MAX)
            return false;
        *fields[i] = (int64_t)raw - 1;
    }
    cursor->index++;
    return true;
}

void roast_chunk_customs(const roast_chunklog *log, const roast_chunk *chunk,
                         roast_tail_cursor *cursor) {
    start_tail(cursor, log, 0, chunk->packed.customs_at, chunk->packed.end);
    cursor->count = chunk->n_customs;
}

bool roast_chunk_next_custom(roast_tail_cursor *cursor, roast_custom *out) {
    const uint8_t **at = &cursor->values, *end = cursor->values_end;
    *out = (roast_custom){0};
    if (cursor->index >= cursor->count || end - *at < 2 || (*at)[0] >= ROAST_SCOPES ||
        (*at)[1] >= ROAST_CUSTOM_KINDS)
        return false;
    out->scope = (roast_custom_scope) * (*at)++;
    out->kind = (roast_custom_kind) * (*at)++;
    if (!get_text(at, end, &out->key))
        return false;
    switch (out->kind) {
    case ROAST_CUSTOM_NULL:
    case ROAST_CUSTOM_KINDS:
        break;
    case ROAST_CUSTOM_BOOL:
    case ROAST_CUSTOM_INT:
        if (!roast_get_zigzag(at, end, &out->integer))
            return false;
        break;
    case ROAST_CUSTOM_REAL: {
        if (end - *at < 8)
            return false;
        uint64_t bits = 0;
        for (int byte = 7; byte >= 0; byte--)
            bits = bits << 8 | (*at)[byte];
        memcpy(&out->real, &bits, sizeof bits);
        *at += 8;
        break;
    }
    case ROAST_CUSTOM_TEXT:
    case ROAST_CUSTOM_JSON:
    case ROAST_CUSTOM_PICKLE:
        if (!get_text(at, end, &out->text))
            return false;
        break;
    }
    cursor->index++;
    return true;
}

size_t roast_chunk_task_key(const roast_chunk *chunk, char *out, size_t size) {
    static const char digits[] = "0123456789abcdef";
    if (chunk->task_key.data == NULL)
        return 0;
    bool hashed = chunk->task_hash.data != NULL && chunk->task_hash.len == 16;
    size_t len = chunk->task_key.len + (hashed ? 33 : 0);
    for (size_t i = 0; i < len && i + 1 < size; i++) {
        size_t tail = i - chunk->task_key.len; /* wraps before the tail */
        if (i < chunk->task_key.len)
            out[i] = chunk->task_key.data[i];
        else if (tail == 0)
            out[i] = '-';
        else
            out[i] =
                digits[(uint8_t)chunk->task_hash.data[(tail - 1) / 2] >> (tail % 2 == 1 ? 4 : 0) &
                       15];
    }
    if (size > 0)
        out[len < size ? len : size - 1] = '\0';
    return len;
}
