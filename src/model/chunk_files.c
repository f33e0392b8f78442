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
