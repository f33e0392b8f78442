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
    if (status == ROAST_OK) {
        roast_sizes_added(log);
        return ROAST_OK;
    }
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

typedef struct roast_sizes_index {
    roast_intern names;
    uint32_t *newest; /* the newest SIZES, by the number of the name */
    size_t capacity;
    uint32_t seen; /* so many entries */
} roast_sizes_index;

static void free_index(roast_sizes_index *index) {
    if (index == NULL)
        return;
    roast_intern_reset(&index->names);
    roast_free(index->newest);
    roast_free(index);
}

/* Adds the entries that were not seen. */
static roast_status update_index(const roast_chunklog *log, roast_sizes_index *index) {
    roast_file file;
    uint32_t id;
    for (; index->seen < log->entries.count; index->seen++) {
        uint32_t ref = index->seen + 1;
        if (roast_entry_kind_of(log, ref) != ROAST_ENTRY_SIZES)
            continue;
        read_sizes(log, ref, &file);
        if (file.name.data == NULL)
            continue;
        void *newest = index->newest;
        ROAST_TRY(roast_array_reserve(&newest, &index->capacity, sizeof *index->newest,
                                      (size_t)index->names.count + 1));
        index->newest = newest;
        ROAST_TRY(roast_intern_add(&index->names, file.name, &id));
        index->newest[id] = ref;
    }
    return ROAST_OK;
}

/* Of several threads that make the index at once one wins, and all of them use its index. */
static roast_status make_index(const roast_chunklog *log, roast_sizes_index **out) {
    roast_sizes_index *index = roast_alloc_zero(sizeof *index), *known = NULL;
    roast_status status = index != NULL ? update_index(log, index) : ROAST_ENOMEM;
    *out = index;
    /* What the log holds does not change by this. */
    if (status == ROAST_OK &&
        atomic_compare_exchange_strong(&((roast_chunklog *)log)->sizes, &known, index))
        return ROAST_OK;
    free_index(index);
    *out = known;
    return status;
}

roast_status roast_sizes_find(const roast_chunklog *log, roast_str name, uint32_t *ref) {
    roast_sizes_index *index = atomic_load(&log->sizes);
    uint32_t id;
    *ref = 0;
    if (index == NULL)
        ROAST_TRY(make_index(log, &index));
    if (name.data != NULL && roast_intern_find(&index->names, name, &id))
        *ref = index->newest[id];
    return ROAST_OK;
}

void roast_sizes_free(roast_chunklog *log) {
    free_index(atomic_exchange(&log->sizes, NULL));
}

void roast_sizes_added(roast_chunklog *log) {
    roast_sizes_index *index = atomic_load(&log->sizes);
    if (index != NULL && update_index(log, index) != ROAST_OK)
        roast_sizes_free(log);
}

void roast_sizes_removed(roast_chunklog *log) {
    const roast_sizes_index *index = atomic_load(&log->sizes);
    if (index != NULL && index->seen > log->entries.count)
        roast_sizes_free(log);
}

size_t roast_sizes_memory(const roast_chunklog *log) {
    const roast_sizes_index *index = atomic_load(&log->sizes);
    return index == NULL ? 0
                         : sizeof *index + roast_intern_memory(&index->names) +
                               index->capacity * sizeof *index->newest;
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
