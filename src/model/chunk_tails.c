/* Walking what hangs on a chunk: branches, sections, reads, custom values; and its task key. */
#include "model/chunklog_internal.h"

/* A cursor over the names in a set of branches and the values in a row. */
static void start_set(roast_tail_cursor *cursor, const roast_chunklog *log, uint32_t ref,
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
    return cursor->index < cursor->count && roast_get_text(&cursor->names, cursor->names_end, out);
}

void roast_chunk_branches(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    start_set(cursor, log, chunk->packed.branches, NULL, NULL);
}

bool roast_chunk_next_branch(roast_tail_cursor *cursor, roast_str *out) {
    if (!next_name(cursor, out))
        return false;
    cursor->index++;
    return true;
}

void roast_chunk_sections(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    *cursor = (roast_tail_cursor){.log = log,
                                  .values = chunk->packed.sections_at,
                                  .values_end = chunk->packed.sections_end,
                                  .bit = chunk->packed.sections_bit};
    if (chunk->packed.layout == 0)
        return;
    roast_layout layout = roast_entry_layout(log, chunk->packed.layout);
    cursor->names = layout.items;
    cursor->names_end = layout.end;
    cursor->count = layout.sections;
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

/* All but the start, of which it gives the distance to the expected one. The kind must be there. */
static int64_t get_section_numbers(roast_tail_cursor *cursor, bool folded, roast_section *out) {
    roast_bit_reader bits = {cursor->values, cursor->values_end, cursor->bit};
    int64_t gap = roast_unzigzag(roast_get_bit_number(&bits, ROAST_SECTION_START_USUAL));
    out->value = roast_unzigzag(roast_get_bit_number(&bits, roast_section_value_usual(out->kind)));
    out->before = 0;
    if (out->kind == ROAST_SECTION_MEMORY)
        out->before = (int64_t)roast_get_bit_number(&bits, ROAST_SECTION_BEFORE_USUAL);
    out->count = folded ? roast_get_bit_number(&bits, ROAST_SECTION_COUNT_USUAL) : 1;
    cursor->bit = bits.at;
    return gap;
}

bool roast_chunk_next_section(roast_tail_cursor *cursor, roast_section *out) {
    uint64_t kind, parent;
    if (cursor->index >= cursor->count ||
        !roast_get_varint(&cursor->names, cursor->names_end, &kind) ||
        !roast_get_varint(&cursor->names, cursor->names_end, &parent) ||
        !roast_get_text(&cursor->names, cursor->names_end, &out->name))
        return false;
    out->kind = (roast_section_kind)(kind & (ROAST_LAYOUT_FOLDED - 1));
    out->parent = (int32_t)parent - 1;
    int64_t gap = get_section_numbers(cursor, (kind & ROAST_LAYOUT_FOLDED) != 0, out);
    int64_t expected = roast_section_expected(cursor, out->parent);
    out->start_ns = (int64_t)((uint64_t)expected + (uint64_t)gap);
    roast_section_passed(cursor, out);
    return true;
}

void roast_chunk_reads(const roast_chunklog *log, const roast_chunk *chunk,
                       roast_tail_cursor *cursor) {
    start_set(cursor, log, chunk->packed.reads, chunk->packed.reads_at, chunk->packed.reads_end);
}

bool roast_chunk_next_read(roast_tail_cursor *cursor, roast_read *out) {
    if (!next_name(cursor, &out->branch))
        return false;
    int64_t *const fields[ROAST_READ_NUMBERS] = {&out->time_ns, &out->bytes,
                                                 &out->uncompressed_bytes, &out->count};
    for (size_t i = 0; i < ROAST_READ_NUMBERS; i++)
        if (!roast_get_known(&cursor->values, cursor->values_end, fields[i]))
            return false;
    cursor->index++;
    return true;
}

void roast_chunk_customs(const roast_chunklog *log, const roast_chunk *chunk,
                         roast_tail_cursor *cursor) {
    *cursor = (roast_tail_cursor){.log = log,
                                  .values = chunk->packed.customs_at,
                                  .values_end = chunk->packed.end,
                                  .count = chunk->n_customs};
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
    case ROAST_CUSTOM_LEFT_OUT:
        return roast_get_long_text(at, end, ROAST_MAX_VALUE, &out->text);
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
    if (!roast_get_text(at, end, &out->key) || !get_custom_value(at, end, out))
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
