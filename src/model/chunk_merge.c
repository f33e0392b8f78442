/* Merging chunk logs: the references at the front of a row are translated, the rest is copied. */
#include "model/chunklog_internal.h"

/* ---- rows ---- */

typedef struct row_view {
    uint32_t ref[ROAST_ROW_REFS];
    const uint8_t *rest, *end; /* seq, ... */
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

/* Appends the row of `from` that `row` shows, with its references in `into`; `from` may be `into`. Gives where the
 * next one begins. */
static roast_status copy_row(roast_chunklog *into, const roast_chunklog *from, const row_view *row,
                             const uint32_t ref[ROAST_ROW_REFS], size_t *next) {
    size_t rest = (size_t)(row->rest - from->rows.data), rest_len = (size_t)(row->end - row->rest);
    *next = rest + rest_len;
    ROAST_TRY(
        roast_row_reserve(into, ROAST_VARINT_MAX + ROAST_ROW_REFS * ROAST_REF_MAX + rest_len));
    uint8_t refs[ROAST_ROW_REFS * ROAST_REF_MAX], *refs_end = refs;
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        refs_end = roast_put_varint(refs_end, ref[i]);
    size_t refs_len = (size_t)(refs_end - refs);
    uint8_t *start = into->rows.data + into->rows.len;
    uint8_t *to = roast_put_varint(start, refs_len + rest_len);
    memcpy(to, refs, refs_len);
    /* From the offset: making room may have moved the rows, if both logs are one. */
    memcpy(to + refs_len, from->rows.data + rest, rest_len);
    roast_row_commit(into, (size_t)(to + refs_len + rest_len - start));
    return ROAST_OK;
}

/* refs[number] of an entry is its reference in the other log, or 0 as long as it is not there. The log of one chunk
 * has some five entries, that of twenty chunks some thirty: those need no allocation. */
typedef struct entry_map {
    uint32_t *refs; /* NULL: nothing is remembered */
    uint32_t few[64];
} entry_map;

static void reset_map(entry_map *map) {
    if (map->refs != map->few)
        roast_free(map->refs);
}

/* A map of no entry. To be reset also where it fails. */
static roast_status init_map(entry_map *map, const roast_chunklog *from) {
    *map = (entry_map){.refs = map->few};
    if (from->entries.count > sizeof map->few / sizeof *map->few)
        map->refs = roast_alloc_zero(from->entries.count * sizeof *map->refs);
    return map->refs != NULL ? ROAST_OK : ROAST_ENOMEM;
}

/* Makes every entry of `from` known in `into`. */
static roast_status add_all(entry_map *map, roast_chunklog *into, const roast_chunklog *from) {
    for (uint32_t id = 0; id < from->entries.count; id++) {
        if (into == from)
            map->refs[id] = id + 1;
        else if (map->refs[id] == 0)
            ROAST_TRY(roast_entry_translate(into, from, id, map->refs, &map->refs[id]));
    }
    return ROAST_OK;
}

/* Of a map of every entry. */
static void mapped_refs(const uint32_t *map, const row_view *row, uint32_t ref[ROAST_ROW_REFS]) {
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        ref[i] = row->ref[i] == 0 ? 0 : map[row->ref[i] - 1];
}

/* ---- identities ---- */

static roast_identity row_identity(const roast_chunklog *log, const row_view *row) {
    roast_identity identity = {0, 0};
    uint32_t origin = row->ref[ROAST_REF_ORIGIN];
    if (origin == 0)
        return identity;
    const uint8_t *token = (const uint8_t *)roast_entry_payload(log, origin).data;
    for (int byte = ROAST_TOKEN_BYTES - 1; byte >= 0; byte--)
        identity.token = identity.token << 8 | token[byte];
    const uint8_t *seq = row->rest;
    roast_get_varint(&seq, row->end, &identity.seq);
    return identity;
}

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
    if (used < extra || used > SIZE_MAX / 8 / sizeof *log->identities)
        return ROAST_ENOMEM;
    while (wanted / 2 < used)
        wanted *= 2;
    if (wanted <= log->identity_slots)
        return ROAST_OK;
    roast_identity *old = log->identities;
    roast_identity *slots = roast_alloc_zero((size_t)wanted * sizeof *slots);
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

static void forget_identities(roast_chunklog *log) {
    roast_free(log->identities);
    log->identities = NULL;
    log->identity_slots = log->identity_count = log->identified = 0;
    log->identified_len = 0;
}

/* Takes in the rows that came since the last time, and makes room for `extra` more. */
static roast_status collect_identities(roast_chunklog *log, uint64_t extra) {
    ROAST_TRY(identity_room(log, log->count - log->identified + extra));
    row_view row;
    while (view_row(log, log->identified_len, &row)) {
        identity_add(log, row_identity(log, &row));
        log->identified_len = (size_t)(row.end - log->rows.data);
    }
    log->identified = log->count;
    return ROAST_OK;
}

/* ---- merging ---- */

static roast_status merge_rows(roast_chunklog *into, const roast_chunklog *from, bool unique,
                               const uint32_t *map, roast_merge_result *result) {
    size_t offset = 0;
    uint64_t count = from->count;
    for (uint64_t i = 0; i < count; i++) {
        row_view row;
        if (!view_row(from, offset, &row))
            return ROAST_ECORRUPT;
        if (unique && !identity_add(into, row_identity(from, &row))) {
            result->duplicates++;
            offset = (size_t)(row.end - from->rows.data);
        } else {
            uint32_t ref[ROAST_ROW_REFS];
            mapped_refs(map, &row, ref);
            ROAST_TRY(copy_row(into, from, &row, ref, &offset));
            result->added++;
        }
    }
    return ROAST_OK;
}

static roast_status merge(roast_chunklog *into, const roast_chunklog *from, bool unique,
                          roast_merge_result *result) {
    ROAST_TRY(roast_chunklog_loosen(into));
    if (!unique)
        ROAST_TRY(roast_chunklog_reserve(into, from));
    if (!unique && into->count == 0 && into->entries.count == 0) {
        result->added = from->count;
        return roast_chunklog_fill(into, from);
    }
    if (unique)
        ROAST_TRY(collect_identities(into, from->count));
    uint32_t entries = into->entries.count;
    uint64_t count = into->count;
    size_t len = into->rows.len;
    entry_map map;
    roast_status status = init_map(&map, from);
    if (status == ROAST_OK)
        status = add_all(&map, into, from);
    if (status == ROAST_OK)
        status = merge_rows(into, from, unique, map.refs, result);
    reset_map(&map);
    if (status != ROAST_OK) {
        roast_chunklog_rewind(into, count, len, entries);
        if (unique)
            forget_identities(into);
    } else if (unique) {
        into->identified = into->count;
        into->identified_len = into->rows.len;
    }
    return status;
}

roast_status roast_chunklog_merge(roast_chunklog *into, const roast_chunklog *from, bool unique,
                                  roast_merge_result *result, roast_error *err) {
    roast_merge_result done = {0, 0};
    uint64_t into_count = into->count, from_count = from->count;
    roast_status status = merge(into, from, unique, &done);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "roast_chunklog_merge", -1,
                               "two logs of %llu and %llu chunks could not be merged",
                               (unsigned long long)into_count, (unsigned long long)from_count);
    if (result != NULL)
        *result = done;
    return ROAST_OK;
}

/* ---- clocks ---- */

/* What a shift says of a worker; 0: nothing. */
static int64_t shift_of(roast_str worker, const roast_clock_shift *shifts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (worker.data != NULL && roast_str_equal(worker, shifts[i].worker))
            return shifts[i].behind_us;
    return 0;
}

static roast_status shift_origins(roast_chunklog *into, const roast_clock_shift *shifts,
                                  size_t count, entry_map *map, uint32_t entries) {
    for (uint32_t id = 0; id < entries; id++) {
        if (roast_entry_kind_of(into, map->refs[id]) != ROAST_ENTRY_ORIGIN)
            continue;
        roast_origin origin = roast_entry_get_origin(into, map->refs[id]);
        int64_t behind_us = shift_of(origin.worker, shifts, count);
        if (behind_us == 0)
            continue;
        origin.behind_us = roast_wrap_add(origin.behind_us, behind_us);
        ROAST_TRY(roast_entry_origin(into, &origin, &map->refs[id]));
    }
    return ROAST_OK;
}

roast_status roast_chunklog_shift(const roast_chunklog *log, const roast_clock_shift *shifts,
                                  size_t count, roast_chunklog **out, roast_error *err) {
    roast_merge_result result = {0, 0};
    roast_chunklog *shifted;
    entry_map map;
    ROAST_TRY(roast_chunklog_new(&shifted, err));
    roast_status status = init_map(&map, log);
    if (status == ROAST_OK)
        status = add_all(&map, shifted, log);
    if (status == ROAST_OK)
        status = shift_origins(shifted, shifts, count, &map, log->entries.count);
    if (status == ROAST_OK)
        status = merge_rows(shifted, log, false, map.refs, &result);
    reset_map(&map);
    if (status != ROAST_OK) {
        roast_chunklog_free(shifted);
        return roast_error_set(err, status, "roast_chunklog_shift", -1, "no room for the chunks");
    }
    *out = shifted;
    return ROAST_OK;
}

/* ---- slices ---- */

static bool slice_fits(uint64_t count, int64_t start, uint64_t n, int64_t step) {
    if (n == 0)
        return true;
    if (step == 0 || start < 0 || (uint64_t)start >= count)
        return false;
    uint64_t reach = step < 0 ? (uint64_t)start : count - 1 - (uint64_t)start;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    return n - 1 <= reach / stride;
}

/* Rows on their way from one log to another, which take along what they refer to. */
typedef struct slice {
    roast_chunklog *into;
    const roast_chunklog *from;
    entry_map map;
    uint32_t had[ROAST_ROW_REFS], ref[ROAST_ROW_REFS]; /* of the last row: in `from`, in `into` */
} slice;

static roast_status add_entry(slice *s, uint32_t had, uint32_t *ref) {
    uint32_t *known = s->map.refs != NULL && had != 0 ? &s->map.refs[had - 1] : NULL;
    *ref = known != NULL ? *known : 0;
    if (had == 0 || *ref != 0)
        return ROAST_OK;
    ROAST_TRY(roast_entry_translate(s->into, s->from, had - 1, s->map.refs, ref));
    if (known != NULL)
        *known = *ref;
    return ROAST_OK;
}

static roast_status add_filemeta_of(slice *s, uint32_t file) {
    roast_str name, uuid, treename;
    uint32_t had, ref;
    if (file == 0)
        return ROAST_OK;
    roast_entry_file_labels(s->from, file, &name, &uuid, &treename);
    ROAST_TRY(roast_filemeta_find(s->from, name, &had));
    return add_entry(s, had, &ref);
}

static roast_status add_refs(slice *s, const row_view *row) {
    for (int i = 0; i < ROAST_ROW_REFS; i++) {
        if (row->ref[i] == s->had[i])
            continue;
        s->had[i] = row->ref[i];
        if (s->into == s->from) {
            s->ref[i] = row->ref[i];
            continue;
        }
        ROAST_TRY(add_entry(s, row->ref[i], &s->ref[i]));
        if (i == ROAST_REF_FILE)
            ROAST_TRY(add_filemeta_of(s, row->ref[i]));
    }
    return ROAST_OK;
}

static roast_status merge_slice(slice *s, uint64_t start, uint64_t n, uint64_t step) {
    size_t offset = 0, next = 0;
    for (uint64_t i = 0; i < n; i++) {
        row_view row;
        /* A step back is the addition of its two's complement. */
        offset = i > 0 && step == 1 ? next : roast_row_offset(s->from, start + i * step);
        if (!view_row(s->from, offset, &row))
            return ROAST_ECORRUPT;
        ROAST_TRY(add_refs(s, &row));
        ROAST_TRY(copy_row(s->into, s->from, &row, s->ref, &next));
    }
    return ROAST_OK;
}

/* What the rows share is added once: all entries where the slice is the whole log, with all that is known of files.
 * For a few rows it is less work to look up again what they share than to make a map of all entries. */
static roast_status prepare(slice *s, uint64_t rows) {
    enum { FEW_ROWS = 64 };
    bool whole = rows == s->from->count;
    if (!whole && rows < FEW_ROWS)
        return ROAST_OK;
    ROAST_TRY(init_map(&s->map, s->from));
    return whole ? add_all(&s->map, s->into, s->from) : ROAST_OK;
}

roast_status roast_chunklog_merge_slice(roast_chunklog *into, const roast_chunklog *from,
                                        int64_t start, uint64_t count, int64_t step,
                                        roast_error *err) {
    const char *where = "roast_chunklog_merge_slice";
    if (!slice_fits(from->count, start, count, step))
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a slice beyond the log");
    uint32_t entries = into->entries.count;
    uint64_t had = into->count;
    size_t len = into->rows.len;
    slice s = {.into = into, .from = from};
    roast_status status = roast_chunklog_loosen(into);
    if (status == ROAST_OK)
        status = prepare(&s, count);
    if (status == ROAST_OK)
        status = merge_slice(&s, (uint64_t)start, count, (uint64_t)step);
    reset_map(&s.map);
    if (status == ROAST_OK)
        return ROAST_OK;
    roast_chunklog_rewind(into, had, len, entries);
    return roast_error_set(err, status, where, -1, "no room for the slice");
}
