/* What is known of files, kept in a chunk log beside its chunks. */
#include "model/chunklog_internal.h"

/* Thousands of branches have the same names in every file: so these are entries of their own. They
 * use the scratch buffer as well, so their references are collected first. */
static roast_status name_refs(roast_chunklog *log, const roast_file *file, uint32_t *refs) {
    for (uint32_t i = 0; i < file->n_branches; i++)
        ROAST_TRY(roast_entry_string(log, file->branches[i].name, &refs[i]));
    return ROAST_OK;
}

static roast_status add_filemeta(roast_chunklog *log, const roast_file *file, uint32_t file_ref,
                                 const uint32_t *refs) {
    uint32_t ref;
    uint8_t *at;
    const size_t room = 2 * ROAST_REF_MAX + 3 * ROAST_VARINT_MAX,
                 branch = ROAST_REF_MAX + 2 * ROAST_VARINT_MAX;
    ROAST_TRY(roast_entry_begin(log, room + file->n_branches * branch, &at));
    at = roast_put_varint(at, file_ref);
    at = roast_put_known(at, file->total_branches);
    at = roast_put_known(at, file->tree_bytes);
    at = roast_put_known(at, file->tree_uncompressed_bytes);
    at = roast_put_varint(at, file->n_branches);
    for (uint32_t i = 0; i < file->n_branches; i++) {
        at = roast_put_varint(at, refs[i]);
        at = roast_put_known(at, file->branches[i].bytes);
        at = roast_put_known(at, file->branches[i].uncompressed_bytes);
    }
    return roast_entry_end(log, ROAST_ENTRY_FILEMETA, at, &ref);
}

static roast_status add_file(roast_chunklog *log, const roast_file *file) {
    uint32_t file_ref;
    roast_str name = file->name.data != NULL ? file->name : roast_str_of("");
    ROAST_TRY(roast_chunklog_loosen(log));
    ROAST_TRY(roast_entry_file(log, name, file->uuid, file->treename, &file_ref));
    uint32_t *refs = roast_alloc(file->n_branches * sizeof *refs);
    if (refs == NULL)
        return ROAST_ENOMEM;
    roast_status status = name_refs(log, file, refs);
    if (status == ROAST_OK)
        status = add_filemeta(log, file, file_ref, refs);
    roast_free(refs);
    return status;
}

roast_status roast_chunklog_add_file(roast_chunklog *log, const roast_file *file,
                                     roast_error *err) {
    const char *where = "roast_chunklog_add_file";
    if (file->n_branches > ROAST_MAX_BRANCHES)
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "a file with %u branches",
                               file->n_branches);
    if (file->n_branches > 0 && file->branches == NULL)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "a file with a number of branches but without the branches");
    uint32_t entries = log->entries.count;
    roast_status status = add_file(log, file);
    if (status != ROAST_OK) {
        roast_chunklog_rewind(log, log->count, log->rows.len, entries);
        return roast_error_set(err, status, where, -1, "no room for a file");
    }
    return ROAST_OK;
}

void roast_file_cursor_init(roast_file_cursor *cursor, const roast_chunklog *log) {
    *cursor = (roast_file_cursor){log, 0};
}

static void read_filemeta(const roast_chunklog *log, uint32_t ref, roast_file *out) {
    roast_str payload = roast_entry_payload(log, ref);
    const uint8_t *at = (const uint8_t *)payload.data, *end = at + payload.len;
    uint64_t file = 0, n = 0;
    *out = (roast_file){0};
    roast_get_varint(&at, end, &file);
    roast_entry_file_labels(log, (uint32_t)file, &out->name, &out->uuid, &out->treename);
    roast_get_known(&at, end, &out->total_branches);
    roast_get_known(&at, end, &out->tree_bytes);
    roast_get_known(&at, end, &out->tree_uncompressed_bytes);
    roast_get_varint(&at, end, &n);
    out->n_branches = (uint32_t)n;
    out->packed.branches_at = at;
    out->packed.end = end;
}

bool roast_file_cursor_next(roast_file_cursor *cursor, roast_file *out) {
    while (cursor->entry < cursor->log->entries.count) {
        uint32_t ref = ++cursor->entry;
        if (roast_entry_kind_of(cursor->log, ref) == ROAST_ENTRY_FILEMETA) {
            read_filemeta(cursor->log, ref, out);
            return true;
        }
    }
    return false;
}

/* ---- by name ---- */

static roast_str filemeta_name(const roast_chunklog *log, uint32_t ref) {
    roast_str payload = roast_entry_payload(log, ref), name, uuid, treename;
    const uint8_t *at = (const uint8_t *)payload.data;
    uint64_t file = 0;
    roast_get_varint(&at, at + payload.len, &file);
    roast_entry_file_labels(log, (uint32_t)file, &name, &uuid, &treename);
    return name;
}

/* The slot of a name, or the empty one where it belongs. */
static uint32_t *slot_of(const roast_chunklog *log, roast_str name) {
    const roast_file_index *index = &log->files;
    uint32_t mask = index->slot_count - 1, at = (uint32_t)roast_hash(name.data, name.len) & mask;
    while (index->slots[at] != 0 && !roast_str_equal(filemeta_name(log, index->slots[at]), name))
        at = (at + 1) & mask;
    return &index->slots[at];
}

/* A table that is at most half full with one name more. */
static roast_status make_room(roast_chunklog *log) {
    roast_file_index *index = &log->files;
    if (index->slots != NULL && index->count < index->slot_count / 2)
        return ROAST_OK;
    roast_file_index old = *index;
    uint32_t wanted = old.slot_count == 0 ? 16 : 2 * old.slot_count;
    uint32_t *slots = roast_alloc_zero(wanted * sizeof *slots);
    if (slots == NULL)
        return ROAST_ENOMEM;
    index->slots = slots;
    index->slot_count = wanted;
    for (uint32_t i = 0; i < old.slot_count; i++)
        if (old.slots[i] != 0)
            *slot_of(log, filemeta_name(log, old.slots[i])) = old.slots[i];
    roast_free(old.slots);
    return ROAST_OK;
}

/* Takes in the entries that came since the last time. */
static roast_status update_index(roast_chunklog *log) {
    roast_file_index *index = &log->files;
    for (; index->seen < log->entries.count; index->seen++) {
        uint32_t ref = index->seen + 1;
        if (roast_entry_kind_of(log, ref) != ROAST_ENTRY_FILEMETA)
            continue;
        roast_str name = filemeta_name(log, ref);
        if (name.data == NULL)
            continue;
        ROAST_TRY(make_room(log));
        uint32_t *slot = slot_of(log, name);
        index->count += *slot == 0;
        *slot = ref;
    }
    return ROAST_OK;
}

void roast_file_index_reset(roast_file_index *index) {
    roast_free(index->slots);
    *index = (roast_file_index){0};
}

roast_status roast_filemeta_find(const roast_chunklog *log, roast_str name, uint32_t *ref) {
    *ref = 0;
    if (name.data == NULL)
        return ROAST_OK;
    /* What the log remembers of itself does not change it. */
    ROAST_TRY(update_index((roast_chunklog *)log));
    if (log->files.slots != NULL)
        *ref = *slot_of(log, name);
    return ROAST_OK;
}

roast_status roast_chunklog_find_file(const roast_chunklog *log, roast_str name, roast_file *out) {
    uint32_t ref;
    ROAST_TRY(roast_filemeta_find(log, name, &ref));
    if (ref == 0)
        return ROAST_ENOTFOUND;
    read_filemeta(log, ref, out);
    return ROAST_OK;
}

/* ---- branches ---- */

void roast_file_branches(const roast_chunklog *log, const roast_file *file,
                         roast_tail_cursor *cursor) {
    *cursor = (roast_tail_cursor){.log = log,
                                  .names = file->packed.branches_at,
                                  .names_end = file->packed.end,
                                  .count = file->n_branches};
}

bool roast_file_next_branch(roast_tail_cursor *cursor, roast_branch_size *out) {
    uint64_t ref;
    if (cursor->index >= cursor->count ||
        !roast_get_varint(&cursor->names, cursor->names_end, &ref) ||
        !roast_get_known(&cursor->names, cursor->names_end, &out->bytes) ||
        !roast_get_known(&cursor->names, cursor->names_end, &out->uncompressed_bytes))
        return false;
    out->name = roast_entry_text(cursor->log, (uint32_t)ref);
    cursor->index++;
    return true;
}
