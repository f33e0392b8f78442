/* One chunk as a row of varints: how it is written, read and checked. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

/* ---- places ---- */

bool roast_row_at(const roast_chunklog *log, size_t offset, const uint8_t **at,
                  const uint8_t **end) {
    if (offset >= log->rows.len) /* an empty log has no data to point into */
        return false;
    const uint8_t *p = log->rows.data + offset, *stop = log->rows.data + log->rows.len;
    uint64_t len;
    if (!roast_get_varint(&p, stop, &len) || len > (size_t)(stop - p))
        return false;
    *at = p;
    *end = p + len;
    return true;
}

/* The first row begins at 0, without a mark: most logs hold one chunk. */
size_t roast_row_marks(uint64_t count) {
    return count == 0 ? 0 : (size_t)((count - 1) / ROAST_ROWS_PER_MARK);
}

size_t roast_row_offset(const roast_chunklog *log, uint64_t index) {
    uint64_t mark = index / ROAST_ROWS_PER_MARK;
    size_t offset = mark == 0 ? 0 : log->marks[mark - 1];
    const uint8_t *at, *end;
    for (uint64_t skip = index % ROAST_ROWS_PER_MARK; skip > 0; skip--) {
        if (!roast_row_at(log, offset, &at, &end))
            return log->rows.len;
        offset = (size_t)(end - log->rows.data);
    }
    return offset;
}

roast_status roast_row_reserve(roast_chunklog *log, size_t room) {
    size_t marks = roast_row_marks(log->count + 1);
    if (marks > log->marks_capacity) {
        void *moved = log->marks;
        ROAST_TRY(roast_array_reserve(&moved, &log->marks_capacity, sizeof *log->marks, marks));
        log->marks = moved;
    }
    return roast_buffer_reserve(&log->rows, room);
}

void roast_row_commit(roast_chunklog *log, size_t len) {
    if (log->count > 0 && log->count % ROAST_ROWS_PER_MARK == 0)
        log->marks[log->count / ROAST_ROWS_PER_MARK - 1] = log->rows.len;
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

static void read_origin(const roast_chunklog *log, uint32_t ref, roast_chunk *out) {
    if (ref == 0)
        return;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    for (int byte = ROAST_TOKEN_BYTES - 1; byte >= 0; byte--)
        out->token = out->token << 8 | at[byte];
    at += ROAST_TOKEN_BYTES;
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

/* The number of names in a set of branches or a layout. */
static uint32_t set_size(const roast_chunklog *log, uint32_t ref) {
    if (ref == 0)
        return 0;
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data;
    uint64_t n = 0;
    roast_get_varint(&at, at + payload.len, &n);
    return (uint32_t)n;
}

static void read_context(const roast_chunklog *log, const roast_context *context,
                         roast_chunk *out) {
    out->dataset = roast_entry_text(log, context->dataset);
    out->task_key = roast_entry_text(log, context->task);
    out->has_branches = context->branches != 0;
    out->has_reads = context->reads != 0;
    out->n_branches = set_size(log, context->branches);
    out->n_reads = set_size(log, context->reads);
    out->n_sections = set_size(log, context->layout);
    out->packed.branches = context->branches;
}

static bool get_refs(const roast_chunklog *log, const uint8_t **at, const uint8_t *end,
                     uint32_t refs[ROAST_ROW_REFS]) {
    static const roast_entry_kind kinds[ROAST_ROW_REFS] = {
        [ROAST_REF_ORIGIN] = ROAST_ENTRY_ORIGIN,
        [ROAST_REF_FILE] = ROAST_ENTRY_FILE,
        [ROAST_REF_CONTEXT] = ROAST_ENTRY_CONTEXT,
    };
    for (int i = 0; i < ROAST_ROW_REFS; i++) {
        uint64_t ref;
        if (!roast_get_varint(at, end, &ref) || ref > log->entries.count)
            return false;
        refs[i] = (uint32_t)ref;
        if (ref != 0 && roast_entry_kind_of(log, (uint32_t)ref) != kinds[i])
            return false;
    }
    return refs[ROAST_REF_CONTEXT] != 0;
}

/* What stands behind the fields: task hash, error, tails. */
static bool get_rest(const uint8_t *at, const uint8_t *end, uint64_t flags, roast_chunk *out) {
    if (flags & ROAST_ROW_TASK_HASH) {
        if (end - at < ROAST_TASK_HASH_BYTES)
            return false;
        out->task_hash = (roast_str){(const char *)at, ROAST_TASK_HASH_BYTES};
        at += ROAST_TASK_HASH_BYTES;
    }
    if ((flags & ROAST_ROW_ERROR) &&
        (!get_text(&at, end, &out->error_type) || !get_text(&at, end, &out->error_message)))
        return false;
    if (out->packed.layout != 0 &&
        !get_tail(&at, end, &out->packed.sections_at, &out->packed.sections_end))
        return false;
    if (out->packed.reads != 0 &&
        !get_tail(&at, end, &out->packed.reads_at, &out->packed.reads_end))
        return false;
    uint64_t n_customs = 0;
    if ((flags & ROAST_ROW_CUSTOMS) &&
        (!roast_get_varint(&at, end, &n_customs) || n_customs > ROAST_MAX_CUSTOMS))
        return false;
    out->n_customs = (uint32_t)n_customs;
    out->packed.customs_at = at;
    out->packed.end = end;
    return true;
}

/* All of a row behind its references. */
static bool get_body(const uint8_t *at, const uint8_t *end, const roast_context *context,
                     roast_chunk *out) {
    out->have = context->have;
    out->packed.layout = context->layout;
    out->packed.reads = context->reads;
    return roast_get_varint(&at, end, &out->seq) &&
           roast_fields_get(&at, end, context->present, out) &&
           get_rest(at, end, context->flags, out);
}

bool roast_row_parse(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_chunk *out) {
    uint32_t refs[ROAST_ROW_REFS];
    if (!get_refs(log, &at, end, refs))
        return false;
    roast_context context = roast_entry_context(log, refs[ROAST_REF_CONTEXT]);
    *out = (roast_chunk){0};
    read_context(log, &context, out);
    read_origin(log, refs[ROAST_REF_ORIGIN], out);
    read_file(log, refs[ROAST_REF_FILE], out);
    return get_body(at, end, &context, out);
}

/* ---- checking ---- */

static bool sections_valid(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_section section;
    roast_chunk_sections(log, chunk, &tail);
    while (roast_chunk_next_section(&tail, &section))
        continue;
    return tail.index == tail.count && tail.values == tail.values_end;
}

static bool reads_valid(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_read read;
    roast_chunk_reads(log, chunk, &tail);
    while (roast_chunk_next_read(&tail, &read))
        continue;
    return tail.index == tail.count && tail.values == tail.values_end;
}

static bool customs_valid(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor tail;
    roast_custom custom;
    if (chunk->n_customs == 0)
        return chunk->packed.customs_at == chunk->packed.end;
    roast_chunk_customs(log, chunk, &tail);
    while (roast_chunk_next_custom(&tail, &custom))
        continue;
    return tail.index == tail.count && tail.values == tail.values_end;
}

bool roast_row_valid(const roast_chunklog *log, const uint8_t *at, const uint8_t *end,
                     roast_row_check *check) {
    uint32_t refs[ROAST_ROW_REFS];
    if (!get_refs(log, &at, end, refs))
        return false;
    if (check->ref != refs[ROAST_REF_CONTEXT]) {
        check->ref = refs[ROAST_REF_CONTEXT];
        check->context = roast_entry_context(log, check->ref);
    }
    roast_chunk *chunk = &check->chunk;
    return get_body(at, end, &check->context, chunk) &&
           (chunk->packed.layout == 0 || sections_valid(log, chunk)) &&
           (chunk->packed.reads == 0 || reads_valid(log, chunk)) && customs_valid(log, chunk);
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

int64_t roast_section_expected(const roast_tail_cursor *before, int32_t parent) {
    bool inside = before->index > 0 && parent == (int32_t)before->index - 1;
    return inside ? before->last_start : before->last_end;
}

void roast_section_passed(roast_tail_cursor *cursor, const roast_section *section) {
    uint64_t lasted = section->kind == ROAST_SECTION_TIME ? (uint64_t)section->value : 0;
    cursor->last_start = section->start_ns;
    cursor->last_end = (int64_t)((uint64_t)section->start_ns + lasted);
    cursor->index++;
}

bool roast_chunk_next_section(roast_tail_cursor *cursor, roast_section *out) {
    uint64_t kind, parent, count = 1, before = 0;
    int64_t gap;
    if (!next_name(cursor, &out->name) ||
        !roast_get_varint(&cursor->names, cursor->names_end, &kind) ||
        !roast_get_varint(&cursor->names, cursor->names_end, &parent) ||
        !roast_get_zigzag(&cursor->values, cursor->values_end, &gap) ||
        !roast_get_zigzag(&cursor->values, cursor->values_end, &out->value))
        return false;
    out->kind = (roast_section_kind)(kind & (ROAST_LAYOUT_FOLDED - 1));
    if (out->kind == ROAST_SECTION_MEMORY &&
        !roast_get_varint(&cursor->values, cursor->values_end, &before))
        return false;
    if ((kind & ROAST_LAYOUT_FOLDED) &&
        !roast_get_varint(&cursor->values, cursor->values_end, &count))
        return false;
    out->before = (int64_t)before;
    out->count = count;
    out->parent = (int32_t)parent - 1;
    int64_t expected = roast_section_expected(cursor, out->parent);
    out->start_ns = (int64_t)((uint64_t)expected + (uint64_t)gap);
    roast_section_passed(cursor, out);
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
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!roast_get_known(&cursor->values, cursor->values_end, fields[i]))
            return false;
    cursor->index++;
    return true;
}

void roast_chunk_customs(const roast_chunklog *log, const roast_chunk *chunk,
                         roast_tail_cursor *cursor) {
    start_tail(cursor, log, 0, chunk->packed.customs_at, chunk->packed.end);
    cursor->count = chunk->n_customs;
}

static bool get_real(const uint8_t **at, const uint8_t *end, double *out) {
    uint64_t bits = 0;
    if (end - *at < (ptrdiff_t)sizeof bits)
        return false;
    for (int byte = sizeof bits - 1; byte >= 0; byte--)
        bits = bits << 8 | (*at)[byte];
    memcpy(out, &bits, sizeof bits);
    *at += sizeof bits;
    return true;
}

static bool get_custom_value(const uint8_t **at, const uint8_t *end, roast_custom *out) {
    switch (out->kind) {
    case ROAST_CUSTOM_BOOL:
    case ROAST_CUSTOM_INT:
        return roast_get_zigzag(at, end, &out->integer);
    case ROAST_CUSTOM_REAL:
        return get_real(at, end, &out->real);
    case ROAST_CUSTOM_TEXT:
    case ROAST_CUSTOM_JSON:
    case ROAST_CUSTOM_PICKLE:
        return get_text(at, end, &out->text);
    case ROAST_CUSTOM_NULL:
    case ROAST_CUSTOM_KINDS:
        break;
    }
    return true;
}

bool roast_chunk_next_custom(roast_tail_cursor *cursor, roast_custom *out) {
    const uint8_t **at = &cursor->values, *end = cursor->values_end;
    if (cursor->index >= cursor->count || end - *at < 2 || (*at)[0] >= ROAST_SCOPES ||
        (*at)[1] >= ROAST_CUSTOM_KINDS)
        return false;
    *out =
        (roast_custom){.scope = (roast_custom_scope)(*at)[0], .kind = (roast_custom_kind)(*at)[1]};
    *at += 2;
    if (!get_text(at, end, &out->key) || !get_custom_value(at, end, out))
        return false;
    cursor->index++;
    return true;
}

size_t roast_chunk_task_key(const roast_chunk *chunk, char *out, size_t size) {
    static const char digits[] = "0123456789abcdef";
    char hash[1 + 2 * ROAST_TASK_HASH_BYTES];
    bool hashed = chunk->task_key.data != NULL && chunk->task_hash.data != NULL &&
                  chunk->task_hash.len == ROAST_TASK_HASH_BYTES;
    size_t front = chunk->task_key.data != NULL ? chunk->task_key.len : 0;
    size_t len = front + (hashed ? sizeof hash : 0);
    if (size == 0)
        return len;
    hash[0] = '-';
    for (size_t i = 0; hashed && i < ROAST_TASK_HASH_BYTES; i++) {
        uint8_t byte = (uint8_t)chunk->task_hash.data[i];
        hash[1 + 2 * i] = digits[byte >> 4];
        hash[2 + 2 * i] = digits[byte & 15];
    }
    size_t room = size - 1, kept = front < room ? front : room;
    if (kept > 0)
        memcpy(out, chunk->task_key.data, kept);
    if (hashed && room > kept) {
        size_t more = room - kept < sizeof hash ? room - kept : sizeof hash;
        memcpy(out + kept, hash, more);
        kept += more;
    }
    out[kept] = '\0';
    return len;
}
