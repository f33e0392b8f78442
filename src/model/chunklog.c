/* The life of a chunk log, merging, and its packed form. */
#include "model/chunklog_internal.h"

#include "base/crc32c.h"
#include "base/varint.h"

/* ---- life ---- */

roast_status roast_chunklog_new(roast_chunklog **out, roast_error *err) {
    roast_chunklog *log = roast_alloc_zero(sizeof *log);
    if (log == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_chunklog_new", -1, "no memory for a log");
    *out = log;
    return ROAST_OK;
}

void roast_chunklog_free(roast_chunklog *log) {
    if (log == NULL)
        return;
    roast_intern_reset(&log->entries);
    roast_buffer_reset(&log->rows);
    roast_buffer_reset(&log->scratch);
    roast_free(log->marks);
    roast_free(log->identities);
    roast_free(log);
}

static roast_status copy_into(const roast_chunklog *from, roast_chunklog *empty) {
    size_t marks = (size_t)((from->count + ROAST_ROWS_PER_MARK - 1) / ROAST_ROWS_PER_MARK);
    void *room = empty->marks;
    ROAST_TRY(roast_array_reserve(&room, &empty->marks_capacity, sizeof *from->marks, marks));
    empty->marks = room;
    ROAST_TRY(roast_buffer_append(&empty->rows, from->rows.data, from->rows.len));
    roast_intern entries;
    roast_status status = roast_intern_copy(&from->entries, &entries);
    if (status != ROAST_OK) {
        empty->rows.len = 0;
        return status;
    }
    roast_intern_reset(&empty->entries);
    empty->entries = entries;
    if (marks > 0)
        memcpy(empty->marks, from->marks, marks * sizeof *from->marks);
    empty->count = from->count;
    empty->identities_valid = false;
    return ROAST_OK;
}

roast_status roast_chunklog_copy(const roast_chunklog *log, roast_chunklog **out,
                                 roast_error *err) {
    roast_chunklog *copy = NULL;
    ROAST_TRY(roast_chunklog_new(&copy, err));
    if (copy_into(log, copy) != ROAST_OK) {
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
           log->scratch.capacity + log->marks_capacity * sizeof *log->marks +
           (size_t)log->identity_slots * sizeof *log->identities;
}

void roast_chunklog_rewind(roast_chunklog *log, uint64_t count, size_t len, uint32_t entries) {
    roast_intern_truncate(&log->entries, entries);
    log->count = count;
    log->rows.len = len;
    log->identities_valid = false;
}

/* ---- reading ---- */

void roast_chunk_cursor_init(roast_chunk_cursor *cursor, const roast_chunklog *log) {
    *cursor = (roast_chunk_cursor){log, 0, 0};
}

bool roast_chunk_cursor_next(roast_chunk_cursor *cursor, roast_chunk *out) {
    const uint8_t *at, *end;
    if (!roast_row_at(cursor->log, cursor->offset, &at, &end) ||
        !roast_row_parse(cursor->log, at, end, out))
        return false;
    cursor->offset = (uint64_t)(end - cursor->log->rows.data);
    cursor->index++;
    return true;
}

roast_status roast_chunklog_get(const roast_chunklog *log, uint64_t index, roast_chunk *out,
                                roast_error *err) {
    if (index >= log->count)
        return roast_error_set(err, ROAST_ENOTFOUND, "roast_chunklog_get", -1, "chunk %llu of %llu",
                               (unsigned long long)index, (unsigned long long)log->count);
    const uint8_t *at, *end;
    if (!roast_row_at(log, roast_row_offset(log, index), &at, &end) ||
        !roast_row_parse(log, at, end, out))
        return roast_error_set(err, ROAST_ECORRUPT, "roast_chunklog_get", -1, "row %llu",
                               (unsigned long long)index);
    return ROAST_OK;
}

/* ---- identities ---- */

static uint64_t identity_slot(const roast_chunklog *log, roast_identity identity) {
    uint64_t mask = log->identity_slots - 1, slot = roast_hash(&identity, sizeof identity) & mask;
    while (log->identities[slot].token != 0 && (log->identities[slot].token != identity.token ||
                                                log->identities[slot].seq != identity.seq))
        slot = (slot + 1) & mask;
    return slot;
}

/* A set that is at most half full with `extra` more. */
static roast_status identity_room(roast_chunklog *log, uint64_t extra) {
    uint64_t wanted = 64, used = log->identity_count + extra;
    if (used < extra || used > SIZE_MAX / 64)
        return ROAST_ENOMEM;
    while (wanted / 2 < used)
        wanted *= 2;
    if (wanted <= log->identity_slots)
        return ROAST_OK;
    roast_identity *slots = roast_alloc_zero((size_t)wanted * sizeof *slots),
                   *old = log->identities;
    if (slots == NULL)
        return ROAST_ENOMEM;
    uint64_t old_slots = log->identity_slots;
    log->identities = slots;
    log->identity_slots = wanted;
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i].token != 0)
            slots[identity_slot(log, old[i])] = old[i];
    roast_free(old);
    return ROAST_OK;
}

/* false: it was there already. A record without a token has no identity and is always new. */
static bool identity_add(roast_chunklog *log, roast_identity identity) {
    if (identity.token == 0)
        return true;
    uint64_t slot = identity_slot(log, identity);
    if (log->identities[slot].token != 0)
        return false;
    log->identities[slot] = identity;
    log->identity_count++;
    return true;
}

/* ---- rows as they are merged: references, then bytes that are copied ---- */

typedef struct row_view {
    uint32_t ref[ROAST_ROW_REFS];
    const uint8_t *rest, *end; /* flags, seq, ... */
} row_view;

static bool view_row(const roast_chunklog *log, size_t offset, row_view *out) {
    const uint8_t *at;
    if (!roast_row_at(log, offset, &at, &out->end))
        return false;
    for (int i = 0; i < ROAST_ROW_REFS; i++) {
        uint64_t ref;
        if (!roast_get_varint(&at, out->end, &ref))
            return false;
        out->ref[i] = (uint32_t)ref;
    }
    out->rest = at;
    return at < out->end;
}

static roast_identity row_identity(const roast_chunklog *log, const row_view *row) {
    roast_identity identity = {0, 0};
    uint32_t origin = row->ref[ROAST_REF_ORIGIN];
    if (origin == 0)
        return identity;
    const uint8_t *token = (const uint8_t *)roast_entry_payload(log, origin).data;
    for (int byte = 7; byte >= 0; byte--)
        identity.token = identity.token << 8 | token[byte];
    const uint8_t *seq = row->rest + 1;
    roast_get_varint(&seq, row->end, &identity.seq);
    return identity;
}

static roast_status collect_identities(roast_chunklog *log) {
    if (log->identities_valid)
        return ROAST_OK;
    if (log->identity_slots > 0)
        memset(log->identities, 0, (size_t)log->identity_slots * sizeof *log->identities);
    log->identity_count = 0;
    ROAST_TRY(identity_room(log, log->count));
    size_t offset = 0;
    row_view row;
    while (view_row(log, offset, &row)) {
        identity_add(log, row_identity(log, &row));
        offset = (size_t)(row.end - log->rows.data);
    }
    log->identities_valid = true;
    return ROAST_OK;
}

/* Appends a row of another log (or of this one). */
static roast_status copy_row(roast_chunklog *into, const roast_chunklog *from, size_t offset,
                             const uint32_t *map) {
    const uint8_t *at, *end;
    roast_row_at(from, offset, &at, &end);
    size_t room = (size_t)(end - at) + (ROAST_ROW_REFS + 1) * (size_t)ROAST_VARINT_MAX;
    ROAST_TRY(roast_row_reserve(into, room));
    row_view row;
    view_row(from, offset, &row); /* again: the buffer may have moved if both are one */
    uint8_t refs[ROAST_ROW_REFS * ROAST_VARINT_MAX], *refs_end = refs;
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        refs_end = roast_put_varint(refs_end, row.ref[i] == 0 ? 0 : map[row.ref[i] - 1]);
    size_t refs_len = (size_t)(refs_end - refs), rest_len = (size_t)(row.end - row.rest);
    uint8_t *start = into->rows.data + into->rows.len;
    uint8_t *to = roast_put_varint(start, refs_len + rest_len);
    memcpy(to, refs, refs_len);
    memcpy(to + refs_len, row.rest, rest_len);
    roast_row_commit(into, (size_t)(to + refs_len + rest_len - start));
    return ROAST_OK;
}

/* Makes every entry of `from` known in `into`. */
static roast_status map_entries(roast_chunklog *into, const roast_chunklog *from, uint32_t **out) {
    uint32_t count = from->entries.count;
    uint32_t *map = roast_alloc(((size_t)count + 1) * sizeof *map);
    if (map == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++) {
        roast_status status = ROAST_OK;
        if (into == from)
            map[id] = id + 1;
        else
            status = roast_entry_translate(into, from, id, map, &map[id]);
        if (status != ROAST_OK) {
            roast_free(map);
            return status;
        }
    }
    *out = map;
    return ROAST_OK;
}

static roast_status merge_rows(roast_chunklog *into, const roast_chunklog *from, bool unique,
                               const uint32_t *map, roast_merge_result *result) {
    size_t offset = 0;
    uint64_t count = from->count;
    for (uint64_t i = 0; i < count; i++) {
        row_view row;
        if (!view_row(from, offset, &row))
            return ROAST_ECORRUPT;
        size_t next = (size_t)(row.end - from->rows.data);
        if (unique && !identity_add(into, row_identity(from, &row))) {
            result->duplicates++;
        } else {
            ROAST_TRY(copy_row(into, from, offset, map));
            result->added++;
        }
        offset = next;
    }
    return ROAST_OK;
}

roast_status roast_chunklog_merge(roast_chunklog *into, const roast_chunklog *from, bool unique,
                                  roast_merge_result *result, roast_error *err) {
    roast_merge_result done = {0, 0};
    uint32_t entries = into->entries.count, *map = NULL;
    uint64_t count = into->count;
    size_t len = into->rows.len;
    roast_status status;
    if (!unique && count == 0 && entries == 0) {
        status = copy_into(from, into);
        done.added = from->count;
    } else {
        status = unique ? collect_identities(into) : ROAST_OK;
        if (status == ROAST_OK && unique)
            status = identity_room(into, from->count);
        if (status == ROAST_OK)
            status = map_entries(into, from, &map);
        if (status == ROAST_OK)
            status = merge_rows(into, from, unique, map, &done);
        roast_free(map);
        if (status != ROAST_OK)
            roast_chunklog_rewind(into, count, len, entries);
        else if (!unique && done.added > 0)
            into->identities_valid = false;
    }
    if (status != ROAST_OK)
        return roast_error_set(err, status, "roast_chunklog_merge", -1,
                               "two logs of %llu and %llu chunks could not be merged",
                               (unsigned long long)count, (unsigned long long)from->count);
    if (result != NULL)
        *result = done;
    return ROAST_OK;
}

roast_status roast_chunklog_merge_slice(roast_chunklog *into, const roast_chunklog *from,
                                        int64_t start, uint64_t count, int64_t step,
                                        roast_error *err) {
    const char *where = "roast_chunklog_merge_slice";
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    if (count > 0) {
        uint64_t reach = step < 0 ? (uint64_t)start : from->count - 1 - (uint64_t)start;
        if (step == 0 || start < 0 || (uint64_t)start >= from->count ||
            (count - 1) > reach / stride)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "a slice beyond the log");
    }
    uint32_t entries = into->entries.count, *map;
    uint64_t had = into->count;
    size_t len = into->rows.len;
    roast_status status = map_entries(into, from, &map);
    if (status == ROAST_OK) {
        for (uint64_t i = 0; i < count && status == ROAST_OK; i++) {
            uint64_t index = step < 0 ? (uint64_t)start - i * stride : (uint64_t)start + i * stride;
            status = copy_row(into, from, roast_row_offset(from, index), map);
        }
        roast_free(map);
    }
    if (status != ROAST_OK) {
        roast_chunklog_rewind(into, had, len, entries);
        return roast_error_set(err, status, where, -1, "no room for the slice");
    }
    into->identities_valid = false;
    return ROAST_OK;
}
