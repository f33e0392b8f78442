/* Cursors over branches, sections, reads and custom values of a chunk; and its task key. */
#include "model/chunklog_internal.h"

#include <stdio.h>

static roast_tail_cursor start(const roast_chunklog *log, uint32_t names, roast_bytes values) {
    roast_tail_cursor cursor = {
        .log = log, .names = roast_entry_payload(log, names), .values = values};
    if (names != 0)
        cursor.count = (uint32_t)roast_bytes_small(&cursor.names, UINT32_MAX);
    return cursor;
}

/* Whether there is one more; where its values were malformed there is none. */
static bool next(roast_tail_cursor *cursor) {
    return cursor->index < cursor->count && !cursor->values.bad;
}

static bool passed(roast_tail_cursor *cursor) {
    cursor->index += !cursor->values.bad;
    return !cursor->values.bad;
}

void roast_chunk_branches(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    *cursor = start(log, chunk->packed.branches, (roast_bytes){NULL, NULL, false});
}

bool roast_chunk_next_branch(roast_tail_cursor *cursor, roast_str *out) {
    if (!next(cursor))
        return false;
    *out = roast_bytes_text(&cursor->names, ROAST_MAX_TEXT);
    return passed(cursor);
}

void roast_chunk_sections(const roast_chunklog *log, const roast_chunk *chunk,
                          roast_tail_cursor *cursor) {
    *cursor = start(log, chunk->packed.layout, chunk->packed.tails);
}

bool roast_chunk_next_section(roast_tail_cursor *cursor, roast_section *out) {
    roast_bytes *values = &cursor->values;
    if (!next(cursor))
        return false;
    bool folded = roast_layout_next(&cursor->names, cursor->index, out);
    out->start_ns = roast_bytes_signed(values);
    out->value = roast_bytes_signed(values);
    out->before = out->kind == ROAST_SECTION_MEMORY ? roast_bytes_signed(values) : 0;
    out->count = folded ? roast_bytes_number(values, UINT64_MAX) : 1;
    return passed(cursor);
}

/* The reads follow the sections. */
void roast_chunk_reads(const roast_chunklog *log, const roast_chunk *chunk,
                       roast_tail_cursor *cursor) {
    roast_section section;
    roast_chunk_sections(log, chunk, cursor);
    while (roast_chunk_next_section(cursor, &section))
        continue;
    *cursor = start(log, chunk->packed.reads, cursor->values);
}

bool roast_chunk_next_read(roast_tail_cursor *cursor, roast_read *out) {
    if (!next(cursor))
        return false;
    out->branch = roast_bytes_text(&cursor->names, ROAST_MAX_TEXT);
    out->time_ns = roast_bytes_known(&cursor->values);
    out->bytes = roast_bytes_known(&cursor->values);
    out->uncompressed_bytes = roast_bytes_known(&cursor->values);
    out->count = roast_bytes_known(&cursor->values);
    return passed(cursor);
}

void roast_chunk_customs(const roast_chunklog *log, const roast_chunk *chunk,
                         roast_tail_cursor *cursor) {
    *cursor = start(log, 0, chunk->packed.customs);
    cursor->count = chunk->n_customs;
}

bool roast_chunk_next_custom(roast_tail_cursor *cursor, roast_custom *out) {
    roast_bytes *values = &cursor->values;
    uint64_t bits;
    if (!next(cursor))
        return false;
    *out = (roast_custom){0};
    out->scope = (roast_custom_scope)roast_bytes_number(values, ROAST_SCOPES - 1);
    out->kind = (roast_custom_kind)roast_bytes_number(values, ROAST_CUSTOM_KINDS - 1);
    out->key = roast_bytes_text(values, ROAST_MAX_TEXT);
    if (out->kind == ROAST_CUSTOM_REAL) {
        bits = roast_bytes_fixed(values);
        memcpy(&out->real, &bits, sizeof bits);
    } else if (out->kind == ROAST_CUSTOM_BOOL || out->kind == ROAST_CUSTOM_INT) {
        out->integer = roast_bytes_signed(values);
    } else if (out->kind != ROAST_CUSTOM_NULL) {
        out->text = roast_bytes_text(values, ROAST_MAX_VALUE);
    }
    return passed(cursor);
}

/* ---- texts that are put together ---- */

static size_t join(const roast_str *parts, size_t count, char *out, size_t size) {
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        size_t room = size > len ? size - len - 1 : 0, part = parts[i].len;
        if (part > 0 && room > 0)
            memcpy(out + len, parts[i].data, part < room ? part : room);
        len += part;
    }
    if (size > 0)
        out[len < size ? len : size - 1] = '\0';
    return len;
}

size_t roast_chunk_task_key(const roast_chunk *chunk, char *out, size_t size) {
    static const char hex[] = "0123456789abcdef";
    char digits[1 + 2 * ROAST_TASK_HASH_BYTES] = "-";
    bool hashed = chunk->task_hash.data != NULL && chunk->task_hash.len == ROAST_TASK_HASH_BYTES;
    for (size_t i = 0; hashed && i < ROAST_TASK_HASH_BYTES; i++) {
        uint8_t byte = (uint8_t)chunk->task_hash.data[i];
        digits[1 + 2 * i] = hex[byte >> 4];
        digits[2 + 2 * i] = hex[byte & 15];
    }
    const roast_str parts[] = {chunk->task_key, {digits, sizeof digits}};
    return join(parts, chunk->task_key.data == NULL ? 0 : hashed ? 2 : 1, out, size);
}

size_t roast_chunk_error(const roast_chunk *chunk, char *out, size_t size) {
    const roast_str parts[] = {chunk->error_type, {": ", 2}, chunk->error_message};
    size_t count = chunk->error_message.len > 0 ? 3 : 1;
    return join(parts, chunk->error_type.data == NULL ? 0 : count, out, size);
}
