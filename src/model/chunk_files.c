/* Sizes of files: entries of a chunk log that belong to no row. */
#include "model/chunklog_internal.h"

static roast_status add_file(roast_chunklog *log, const roast_file *file) {
    uint32_t ref, names;
    ROAST_TRY(roast_entry_add_file(log, file->name.data != NULL ? file->name : roast_str_of(""),
                                   file->uuid, file->treename, &ref));
    /* Thousands of branches have the same names in every file. */
    ROAST_TRY(roast_entry_add_names(log, file->branches, sizeof *file->branches, file->n_branches,
                                    &names));
    roast_draft draft = roast_entry_begin(log, ROAST_ENTRY_SIZES);
    roast_draft_number(&draft, ref);
    roast_draft_number(&draft, names);
    roast_draft_known(&draft, file->total_branches);
    roast_draft_known(&draft, file->tree_bytes);
    roast_draft_known(&draft, file->tree_uncompressed_bytes);
    for (uint32_t i = 0; i < file->n_branches; i++) {
        roast_draft_known(&draft, file->branches[i].bytes);
        roast_draft_known(&draft, file->branches[i].uncompressed_bytes);
    }
    return roast_entry_end(log, &draft, &ref);
}
_Static_assert(offsetof(roast_branch_size, name) == 0, "the name stands at the front of an item");

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
    if (status == ROAST_OK)
        return ROAST_OK;
    roast_chunklog_rewind(log, log->count, entries);
    return roast_error_set(err, status, where, -1, "no room for a file");
}

static void read_sizes(const roast_chunklog *log, uint32_t ref, roast_file *out) {
    roast_bytes payload = roast_entry_payload(log, ref);
    *out = (roast_file){0};
    roast_entry_file(log, (uint32_t)roast_bytes_number(&payload, UINT32_MAX), &out->name,
                     &out->uuid, &out->treename);
    out->packed.names = (uint32_t)roast_bytes_number(&payload, UINT32_MAX);
    out->n_branches = roast_entry_count(log, out->packed.names);
    out->total_branches = roast_bytes_known(&payload);
    out->tree_bytes = roast_bytes_known(&payload);
    out->tree_uncompressed_bytes = roast_bytes_known(&payload);
    out->packed.sizes = payload;
}

void roast_file_cursor_init(roast_file_cursor *cursor, const roast_chunklog *log) {
    *cursor = (roast_file_cursor){log, 0};
}

bool roast_file_cursor_next(roast_file_cursor *cursor, roast_file *out) {
    while (cursor->entry < cursor->log->entries.count) {
        uint32_t ref = ++cursor->entry;
        if (roast_entry_kind_of(cursor->log, ref) == ROAST_ENTRY_SIZES) {
            read_sizes(cursor->log, ref, out);
            return true;
        }
    }
    return false;
}

/* ---- by name ---- */

/* Adds the entries since the last call. */
static roast_status update_index(roast_chunklog *log) {
    roast_file file;
    uint32_t id;
    for (; log->files_seen < log->entries.count; log->files_seen++) {
        uint32_t ref = log->files_seen + 1;
        if (roast_entry_kind_of(log, ref) != ROAST_ENTRY_SIZES)
            continue;
        read_sizes(log, ref, &file);
        if (file.name.data == NULL)
            continue;
        void *newest = log->newest;
        ROAST_TRY(roast_array_reserve(&newest, &log->newest_capacity, sizeof *log->newest,
                                      (size_t)log->file_names.count + 1));
        log->newest = newest;
        ROAST_TRY(roast_intern_add(&log->file_names, file.name, &id));
        log->newest[id] = ref;
    }
    return ROAST_OK;
}

roast_status roast_sizes_find(const roast_chunklog *log, roast_str name, uint32_t *ref) {
    uint32_t id;
    *ref = 0;
    /* The index is only a cache; the log itself does not change. */
    ROAST_TRY(update_index((roast_chunklog *)log));
    if (name.data != NULL && roast_intern_find(&log->file_names, name, &id))
        *ref = log->newest[id];
    return ROAST_OK;
}

roast_status roast_chunklog_find_file(const roast_chunklog *log, roast_str name, roast_file *out) {
    uint32_t ref;
    ROAST_TRY(roast_sizes_find(log, name, &ref));
    if (ref == 0)
        return ROAST_ENOTFOUND;
    read_sizes(log, ref, out);
    return ROAST_OK;
}

bool roast_file_ratio(const roast_file *file, double *out) {
    if (file->tree_bytes < 0 || file->tree_uncompressed_bytes <= 0)
        return false;
    *out = (double)file->tree_bytes / (double)file->tree_uncompressed_bytes;
    return true;
}

/* ---- branches ---- */

void roast_file_branches(const roast_chunklog *log, const roast_file *file,
                         roast_tail_cursor *cursor) {
    *cursor = (roast_tail_cursor){.log = log,
                                  .names = roast_entry_payload(log, file->packed.names),
                                  .values = file->packed.sizes,
                                  .count = file->n_branches};
    roast_bytes_number(&cursor->names, UINT32_MAX); /* the count */
}

bool roast_file_next_branch(roast_tail_cursor *cursor, roast_branch_size *out) {
    if (cursor->index >= cursor->count)
        return false;
    out->name = roast_bytes_text(&cursor->names, ROAST_MAX_TEXT);
    out->bytes = roast_bytes_known(&cursor->values);
    out->uncompressed_bytes = roast_bytes_known(&cursor->values);
    cursor->index++;
    return !cursor->values.bad;
}
