/* Merging chunk logs: the references at the front of a row are translated, the rest is copied. */
#include "model/chunklog_internal.h"

/* ---- identities ---- */

/* *fresh: no row of that identity was there. A record without a token has no identity and is always new. */
static roast_status add_identity(roast_chunklog *into, const roast_chunklog *from, uint32_t origin,
                                 roast_bytes rest, bool *fresh) {
    roast_bytes payload = roast_entry_payload(from, origin);
    const uint64_t identity[2] = {origin == 0 ? 0 : roast_bytes_fixed(&payload),
                                  roast_bytes_number(&rest, UINT64_MAX)};
    uint32_t before = into->identities.count, id = before;
    if (identity[0] != 0)
        ROAST_TRY(roast_intern_add(&into->identities,
                                   (roast_str){(const char *)identity, sizeof identity}, &id));
    *fresh = id == before;
    return ROAST_OK;
}

/* Adds the rows since the last call. */
static roast_status update_identities(roast_chunklog *log) {
    for (; log->identified < log->count; log->identified++) {
        uint32_t refs[ROAST_ROW_REFS];
        bool fresh;
        roast_bytes row = roast_row_at(log, log->identified);
        roast_row_refs(log, &row, refs);
        ROAST_TRY(add_identity(log, log, refs[ROAST_REF_origin], row, &fresh));
    }
    return ROAST_OK;
}

/* ---- copying rows from one log to another ---- */

typedef struct merge {
    roast_chunklog *into;
    const roast_chunklog *from; /* may be `into` */
    uint32_t *map;              /* see roast_entry_translate */
    bool unique;
    bool with_files; /* of the rows that are copied */
    roast_merge_result result;
} merge;

static roast_status add_file_of(merge *m, uint32_t file) {
    roast_str name, uuid, treename;
    uint32_t sizes;
    if (file == 0 || m->into == m->from)
        return ROAST_OK;
    roast_entry_file(m->from, file, &name, &uuid, &treename);
    ROAST_TRY(roast_sizes_find(m->from, name, &sizes));
    return roast_entry_translate(m->into, m->from, sizes, m->map, &sizes);
}

static roast_status copy_row(merge *m, uint64_t index) {
    uint32_t refs[ROAST_ROW_REFS];
    bool fresh = true;
    roast_bytes row = roast_row_at(m->from, index);
    roast_row_refs(m->from, &row, refs);
    if (m->unique)
        ROAST_TRY(add_identity(m->into, m->from, refs[ROAST_REF_origin], row, &fresh));
    if (!fresh) {
        m->result.duplicates++;
        return ROAST_OK;
    }
    if (m->with_files)
        ROAST_TRY(add_file_of(m, refs[ROAST_REF_file]));
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        ROAST_TRY(roast_entry_translate(m->into, m->from, refs[i], m->map, &refs[i]));
    m->result.added++;
    /* Reserve first: if both logs are one, growing may move the row. */
    size_t len = (size_t)(row.end - row.at), at = (size_t)(row.at - m->from->rows.data);
    ROAST_TRY(roast_buffer_reserve(&m->into->rows, ROAST_ROW_FRONT + len));
    return roast_row_append(m->into, refs, m->from->rows.data + at, len);
}

static roast_status copy_rows(merge *m, uint64_t start, uint64_t count) {
    for (uint64_t i = start; i < start + count; i++)
        ROAST_TRY(copy_row(m, i));
    return ROAST_OK;
}

/* All entries, also the sizes of files that no row names. */
static roast_status copy_entries(merge *m) {
    uint32_t out, entries = m->from->entries.count;
    for (uint32_t ref = 1; ref <= entries; ref++)
        ROAST_TRY(roast_entry_translate(m->into, m->from, ref, m->map, &out));
    return ROAST_OK;
}

static roast_status make_map(merge *m) {
    m->map = roast_alloc_zero(((size_t)m->from->entries.count + 1) * sizeof *m->map);
    return m->map != NULL ? ROAST_OK : ROAST_ENOMEM;
}

/* For a few rows, looking up shared entries again is less work than a map of all entries. */
static roast_status copy_range(merge *m, uint64_t start, uint64_t count) {
    enum { FEW_ROWS = 64 };
    bool whole = count == m->from->count;
    if (m->unique)
        ROAST_TRY(update_identities(m->into));
    if (whole || count > FEW_ROWS)
        ROAST_TRY(make_map(m));
    if (whole)
        ROAST_TRY(copy_entries(m));
    m->with_files = !whole;
    return copy_rows(m, start, count);
}

/* On failure `into` is as it was. */
static roast_status run(merge *m, uint64_t start, uint64_t count) {
    uint32_t entries = m->into->entries.count;
    uint64_t before = m->into->count;
    roast_status status = copy_range(m, start, count);
    roast_free(m->map);
    if (status != ROAST_OK) {
        roast_chunklog_rewind(m->into, before, entries);
        roast_intern_reset(&m->into->identities);
        m->into->identified = 0;
    } else if (m->unique) {
        m->into->identified = m->into->count;
    }
    return status;
}

roast_status roast_chunklog_merge(roast_chunklog *into, const roast_chunklog *from, bool unique,
                                  roast_merge_result *result, roast_error *err) {
    merge m = {.into = into, .from = from, .unique = unique};
    uint64_t into_count = into->count, from_count = from->count;
    roast_status status = run(&m, 0, from_count);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "roast_chunklog_merge", -1,
                               "two logs of %llu and %llu chunks could not be merged",
                               (unsigned long long)into_count, (unsigned long long)from_count);
    if (result != NULL)
        *result = m.result;
    return ROAST_OK;
}

roast_status roast_chunklog_merge_rows(roast_chunklog *into, const roast_chunklog *from,
                                       uint64_t start, uint64_t count, roast_error *err) {
    const char *where = "roast_chunklog_merge_rows";
    if (start > from->count || count > from->count - start)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "rows beyond the end of the log");
    merge m = {.into = into, .from = from};
    roast_status status = run(&m, start, count);
    return status == ROAST_OK ? ROAST_OK
                              : roast_error_set(err, status, where, -1, "no room for the rows");
}

/* ---- clocks ---- */

/* Puts the origins of workers whose clocks are behind into the new log, and into the map. */
static roast_status shift_origins(merge *m, roast_intern *workers,
                                  const roast_clock_shift *shifts) {
    for (uint32_t i = 0; i < m->from->entries.count; i++) {
        if (roast_entry_kind_of(m->from, i + 1) != ROAST_ENTRY_ORIGIN)
            continue;
        roast_origin origin = roast_entry_origin(m->from, i + 1);
        uint32_t id;
        if (origin.worker.data == NULL || !roast_intern_find(workers, origin.worker, &id))
            continue;
        origin.behind_us = roast_wrap_add(origin.behind_us, shifts[id].behind_us);
        ROAST_TRY(roast_entry_add_origin(m->into, &origin, &m->map[i]));
    }
    return ROAST_OK;
}

/* The same for origins that get the name of their worker. */
static roast_status name_origins(merge *m, const roast_str *workers) {
    for (uint32_t i = 0; i < m->from->entries.count; i++) {
        if (workers[i].data == NULL || roast_entry_kind_of(m->from, i + 1) != ROAST_ENTRY_ORIGIN)
            continue;
        roast_origin origin = roast_entry_origin(m->from, i + 1);
        origin.worker = workers[i];
        ROAST_TRY(roast_entry_add_origin(m->into, &origin, &m->map[i]));
    }
    return ROAST_OK;
}

roast_status roast_chunklog_with_workers(const roast_chunklog *log, const roast_str *workers,
                                         roast_chunklog **out) {
    merge m = {.from = log};
    ROAST_TRY(roast_chunklog_new(&m.into, NULL));
    roast_status status = make_map(&m);
    if (status == ROAST_OK)
        status = name_origins(&m, workers);
    if (status == ROAST_OK)
        status = copy_entries(&m);
    if (status == ROAST_OK)
        status = copy_rows(&m, 0, log->count);
    roast_free(m.map);
    if (status == ROAST_OK)
        *out = m.into;
    else
        roast_chunklog_free(m.into);
    return status;
}

static roast_status shift(merge *m, roast_intern *workers, const roast_clock_shift *shifts,
                          size_t count) {
    uint32_t id;
    for (size_t i = 0; i < count; i++) {
        ROAST_TRY(roast_intern_add(workers, shifts[i].worker, &id));
        if (id != i)
            return ROAST_EINVAL;
    }
    ROAST_TRY(make_map(m));
    ROAST_TRY(shift_origins(m, workers, shifts));
    ROAST_TRY(copy_entries(m));
    return copy_rows(m, 0, m->from->count);
}

roast_status roast_chunklog_shift(const roast_chunklog *log, const roast_clock_shift *shifts,
                                  size_t count, roast_chunklog **out, roast_error *err) {
    merge m = {.from = log};
    roast_intern workers = {0};
    ROAST_TRY(roast_chunklog_new(&m.into, err));
    roast_status status = shift(&m, &workers, shifts, count);
    roast_free(m.map);
    roast_intern_reset(&workers);
    if (status == ROAST_OK) {
        *out = m.into;
        return ROAST_OK;
    }
    roast_chunklog_free(m.into);
    return roast_error_set(err, status, "roast_chunklog_shift", -1,
                           status == ROAST_EINVAL ? "a worker has two clocks"
                                                  : "no room for the chunks");
}

/* ---- numbers ---- */

static roast_status copy_with(merge *m, uint64_t index, int field, int64_t value,
                              roast_buffer *room) {
    uint32_t refs[ROAST_ROW_REFS];
    roast_bytes row = roast_row_at(m->from, index);
    roast_row_refs(m->from, &row, refs);
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        ROAST_TRY(roast_entry_translate(m->into, m->from, refs[i], m->map, &refs[i]));
    ROAST_TRY(roast_row_put_number(row, field, value, room));
    return roast_row_append(m->into, refs, room->data, room->len);
}

static roast_status copy_with_numbers(merge *m, int field, const int64_t *values) {
    roast_buffer room = {0};
    roast_status status = make_map(m);
    if (status == ROAST_OK)
        status = copy_entries(m);
    for (uint64_t i = 0; status == ROAST_OK && i < m->from->count; i++)
        status = values[i] != ROAST_NO_NUMBER ? copy_with(m, i, field, values[i], &room)
                                              : copy_row(m, i);
    roast_buffer_reset(&room);
    return status;
}

roast_status roast_chunklog_with_numbers(const roast_chunklog *log, int field,
                                         const int64_t *values, roast_chunklog **out,
                                         roast_error *err) {
    merge m = {.from = log};
    roast_status status = roast_chunklog_new(&m.into, err);
    if (status != ROAST_OK)
        return status;
    status = copy_with_numbers(&m, field, values);
    roast_free(m.map);
    if (status == ROAST_OK) {
        *out = m.into;
        return ROAST_OK;
    }
    roast_chunklog_free(m.into);
    return roast_error_set(err, status, "roast_chunklog_with_numbers", -1, "%s",
                           status == ROAST_EINVAL ? "a chunk has this number already"
                                                  : "no room for the chunks");
}
