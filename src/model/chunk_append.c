/* Putting a chunk and what is known of a file into a log. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

/* What the row will need once its entries are there. */
typedef struct new_row {
    uint32_t ref[ROAST_ROW_REFS];
    uint64_t present;    /* fields that stand in the row */
    const uint8_t *hash; /* of the task; NULL: none */
} new_row;

/* ---- the task key ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Dask's keys end in '-' and 32 hexadecimal digits, other for each task: as 16 bytes they take a
 * quarter of a string entry. */
static bool split_task_key(roast_str key, roast_str *front, uint8_t hash[ROAST_TASK_HASH_BYTES]) {
    if (key.data == NULL || key.len < 33 || key.data[key.len - 33] != '-')
        return false;
    const char *digits = key.data + key.len - 32;
    for (int i = 0; i < ROAST_TASK_HASH_BYTES; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        hash[i] = (uint8_t)(high * 16 + low);
    }
    *front = (roast_str){key.data, key.len - 33};
    return true;
}

/* ---- entries ---- */

static roast_status add_origin(roast_chunklog *log, const roast_chunk *chunk, uint32_t *ref) {
    uint32_t host, worker;
    *ref = 0;
    if (chunk->token == 0 && chunk->pid == 0 && chunk->host.data == NULL &&
        chunk->worker.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_entry_string(log, chunk->host, &host));
    ROAST_TRY(roast_entry_string(log, chunk->worker, &worker));
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, ROAST_TOKEN_BYTES + 3 * ROAST_VARINT_MAX, &at));
    for (int byte = 0; byte < ROAST_TOKEN_BYTES; byte++)
        *at++ = (uint8_t)(chunk->token >> (8 * byte));
    at = roast_put_varint(at, chunk->pid > 0 ? (uint64_t)chunk->pid : 0);
    at = roast_put_varint(at, host);
    at = roast_put_varint(at, worker);
    return roast_entry_end(log, ROAST_ENTRY_ORIGIN, at, ref);
}

/* Names are entries themselves and use the scratch buffer, so their references are collected first.
 */
static roast_status name_refs(roast_chunklog *log, const void *items, size_t stride, uint32_t n,
                              uint32_t **out) {
    *out = NULL;
    if (n == 0)
        return ROAST_OK;
    uint32_t *refs = roast_alloc(n * sizeof *refs);
    if (refs == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        /* Every item begins with its name. */
        roast_str name = *(const roast_str *)(const void *)((const char *)items + i * stride);
        if (name.data == NULL)
            name = roast_str_of("");
        roast_status status = roast_entry_string(log, name, &refs[i]);
        if (status != ROAST_OK) {
            roast_free(refs);
            return status;
        }
    }
    *out = refs;
    return ROAST_OK;
}

_Static_assert(offsetof(roast_section, name) == 0 && offsetof(roast_read, branch) == 0 &&
                   offsetof(roast_branch_size, name) == 0,
               "name_refs takes the name from the front of an item");

static roast_status add_set(roast_chunklog *log, const void *items, size_t stride, uint32_t n,
                            uint32_t *ref) {
    uint32_t *refs;
    uint8_t *at;
    ROAST_TRY(name_refs(log, items, stride, n, &refs));
    roast_status status = roast_entry_begin(log, (size_t)n * ROAST_REF_MAX + ROAST_VARINT_MAX, &at);
    if (status == ROAST_OK) {
        at = roast_put_varint(at, n);
        for (uint32_t i = 0; i < n; i++)
            at = roast_put_varint(at, refs[i]);
        status = roast_entry_end(log, ROAST_ENTRY_BRANCHES, at, ref);
    }
    roast_free(refs);
    return status;
}

static roast_status add_layout(roast_chunklog *log, const roast_chunk *chunk, uint32_t *ref) {
    uint32_t *refs, n = chunk->n_sections;
    uint8_t *at;
    *ref = 0;
    if (n == 0)
        return ROAST_OK;
    ROAST_TRY(name_refs(log, chunk->sections, sizeof *chunk->sections, n, &refs));
    roast_status status = roast_entry_begin(log, 20 + (size_t)n * 12, &at);
    if (status == ROAST_OK) {
        at = roast_put_varint(at, n);
        for (uint32_t i = 0; i < n; i++) {
            const roast_section *section = &chunk->sections[i];
            at = roast_put_varint(at, refs[i]);
            at = roast_put_varint(at, (uint64_t)section->kind |
                                          (section->count > 1 ? ROAST_LAYOUT_FOLDED : 0));
            at = roast_put_varint(at, (uint64_t)(section->parent + 1));
        }
        status = roast_entry_end(log, ROAST_ENTRY_LAYOUT, at, ref);
    }
    roast_free(refs);
    return status;
}

static roast_status add_context(roast_chunklog *log, const roast_context *context, uint32_t *ref) {
    uint8_t *at;
    ROAST_TRY(roast_entry_begin(log, 3 * ROAST_VARINT_MAX + 5 * ROAST_REF_MAX, &at));
    at = roast_put_varint(at, context->flags);
    at = roast_put_varint(at, context->have);
    at = roast_put_varint(at, context->present);
    at = roast_put_varint(at, context->dataset);
    at = roast_put_varint(at, context->task);
    at = roast_put_varint(at, context->branches);
    at = roast_put_varint(at, context->reads);
    at = roast_put_varint(at, context->layout);
    return roast_entry_end(log, ROAST_ENTRY_CONTEXT, at, ref);
}

static roast_status add_entries(roast_chunklog *log, const roast_chunk *chunk, roast_str task,
                                new_row *row) {
    roast_context context = {.have = chunk->have, .present = row->present};
    context.flags = (row->hash != NULL ? ROAST_ROW_TASK_HASH : 0) |
                    (chunk->error_type.data != NULL ? ROAST_ROW_ERROR : 0) |
                    (chunk->n_customs > 0 ? ROAST_ROW_CUSTOMS : 0);
    ROAST_TRY(add_origin(log, chunk, &row->ref[ROAST_REF_ORIGIN]));
    ROAST_TRY(roast_entry_file(log, chunk->file, chunk->uuid, chunk->treename,
                               &row->ref[ROAST_REF_FILE]));
    ROAST_TRY(roast_entry_string(log, chunk->dataset, &context.dataset));
    ROAST_TRY(roast_entry_string(log, task, &context.task));
    if (chunk->has_branches)
        ROAST_TRY(add_set(log, chunk->branches, sizeof *chunk->branches, chunk->n_branches,
                          &context.branches));
    if (chunk->has_reads)
        ROAST_TRY(add_set(log, chunk->reads, sizeof *chunk->reads, chunk->n_reads, &context.reads));
    ROAST_TRY(add_layout(log, chunk, &context.layout));
    return add_context(log, &context, &row->ref[ROAST_REF_CONTEXT]);
}

/* ---- the row ---- */

static uint8_t *put_text(uint8_t *at, roast_str text) {
    text = roast_text_cut(text);
    at = roast_put_varint(at, text.len);
    if (text.len > 0)
        memcpy(at, text.data, text.len);
    return at + text.len;
}

static uint8_t *put_sections(uint8_t *at, const roast_chunk *chunk) {
    roast_tail_cursor before = {0};
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        int64_t expected = roast_section_expected(&before, section->parent);
        at = roast_put_zigzag(at, (int64_t)((uint64_t)section->start_ns - (uint64_t)expected));
        at = roast_put_zigzag(at, section->value);
        if (section->kind == ROAST_SECTION_MEMORY)
            at = roast_put_varint(at, (uint64_t)section->before);
        if (section->count > 1)
            at = roast_put_varint(at, section->count);
        roast_section_passed(&before, section);
    }
    return at;
}

static uint8_t *put_reads(uint8_t *at, const roast_chunk *chunk) {
    for (uint32_t i = 0; i < chunk->n_reads; i++) {
        const roast_read *read = &chunk->reads[i];
        at = roast_put_known(at, read->time_ns);
        at = roast_put_known(at, read->bytes);
        at = roast_put_known(at, read->uncompressed_bytes);
        at = roast_put_known(at, read->count);
    }
    return at;
}

static uint8_t *put_customs(uint8_t *at, const roast_chunk *chunk) {
    at = roast_put_varint(at, chunk->n_customs);
    for (uint32_t i = 0; i < chunk->n_customs; i++) {
        const roast_custom *custom = &chunk->customs[i];
        *at++ = (uint8_t)custom->scope;
        *at++ = (uint8_t)custom->kind;
        at = put_text(at, custom->key);
        if (custom->kind == ROAST_CUSTOM_REAL) {
            uint64_t bits;
            memcpy(&bits, &custom->real, sizeof bits);
            for (int byte = 0; byte < 8; byte++)
                *at++ = (uint8_t)(bits >> (8 * byte));
        } else if (custom->kind == ROAST_CUSTOM_BOOL || custom->kind == ROAST_CUSTOM_INT) {
            at = roast_put_zigzag(at, custom->integer);
        } else if (custom->kind != ROAST_CUSTOM_NULL) {
            at = put_text(at, custom->text);
        }
    }
    return at;
}

/* Moves a tail that was written behind room for the longest length up against its real length. */
static uint8_t *close_tail(uint8_t *start, const uint8_t *end) {
    uint8_t *values = start + ROAST_VARINT_MAX;
    size_t len = (size_t)(end - values);
    uint8_t *at = roast_put_varint(start, len);
    memmove(at, values, len);
    return at + len;
}

/* How long a row can get. */
static size_t row_bound(const roast_chunk *chunk) {
    /* Lengths of the row, of two tails and of two texts, seq, number of customs; the hash. */
    size_t bound = (ROAST_ROW_REFS + 7) * (size_t)ROAST_VARINT_MAX + ROAST_TASK_HASH_BYTES +
                   ROAST_CHUNK_FIELD_COUNT * (size_t)ROAST_FIELD_MAX;
    bound += (size_t)chunk->n_sections * 4 * ROAST_VARINT_MAX;
    if (chunk->has_reads)
        bound += (size_t)chunk->n_reads * 4 * ROAST_VARINT_MAX;
    bound += roast_text_cut(chunk->error_type).len + roast_text_cut(chunk->error_message).len;
    for (uint32_t i = 0; i < chunk->n_customs; i++)
        bound += 2 + 3 * ROAST_VARINT_MAX + roast_text_cut(chunk->customs[i].key).len +
                 roast_text_cut(chunk->customs[i].text).len;
    return bound;
}

static void put_row(roast_chunklog *log, const roast_chunk *chunk, const new_row *row) {
    uint8_t *start = log->rows.data + log->rows.len, *at = start + ROAST_VARINT_MAX;
    for (int i = 0; i < ROAST_ROW_REFS; i++)
        at = roast_put_varint(at, row->ref[i]);
    at = roast_put_varint(at, chunk->seq);
    at = roast_fields_put(at, chunk, row->present);
    if (row->hash != NULL) {
        memcpy(at, row->hash, ROAST_TASK_HASH_BYTES);
        at += ROAST_TASK_HASH_BYTES;
    }
    if (chunk->error_type.data != NULL)
        at = put_text(put_text(at, chunk->error_type), chunk->error_message);
    if (chunk->n_sections > 0)
        at = close_tail(at, put_sections(at + ROAST_VARINT_MAX, chunk));
    if (chunk->has_reads)
        at = close_tail(at, put_reads(at + ROAST_VARINT_MAX, chunk));
    if (chunk->n_customs > 0)
        at = put_customs(at, chunk);
    at = close_tail(start, at);
    roast_row_commit(log, (size_t)(at - start));
}

static roast_status check_tails(const roast_chunk *chunk, const char *where, roast_error *err) {
    if ((chunk->n_sections > 0 && chunk->sections == NULL) ||
        (chunk->has_branches && chunk->n_branches > 0 && chunk->branches == NULL) ||
        (chunk->has_reads && chunk->n_reads > 0 && chunk->reads == NULL) ||
        (chunk->n_customs > 0 && chunk->customs == NULL))
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "a chunk with a number of items but without the items");
    for (uint32_t i = 0; i < chunk->n_sections; i++) {
        const roast_section *section = &chunk->sections[i];
        if ((unsigned)section->kind >= ROAST_SECTION_KINDS || section->parent < -1 ||
            section->parent >= (int64_t)i)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "section %u is malformed", i);
    }
    for (uint32_t i = 0; i < chunk->n_customs; i++)
        if ((unsigned)chunk->customs[i].scope >= ROAST_SCOPES ||
            (unsigned)chunk->customs[i].kind >= ROAST_CUSTOM_KINDS)
            return roast_error_set(err, ROAST_EINVAL, where, -1, "value %u is malformed", i);
    return ROAST_OK;
}

static roast_status check_chunk(const roast_chunk *chunk, roast_error *err) {
    const char *where = "roast_chunklog_append";
    if ((chunk->have & ~ROAST_CHUNK_ALL_FIELDS) != 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a field that does not exist");
    if (chunk->n_sections > ROAST_MAX_SECTIONS || chunk->n_branches > ROAST_MAX_BRANCHES ||
        chunk->n_reads > ROAST_MAX_BRANCHES || chunk->n_customs > ROAST_MAX_CUSTOMS)
        return roast_error_set(err, ROAST_ELIMIT, where, -1,
                               "a chunk with %u sections, %u branches, %u reads and %u values",
                               chunk->n_sections, chunk->n_branches, chunk->n_reads,
                               chunk->n_customs);
    return check_tails(chunk, where, err);
}

roast_status roast_chunklog_append(roast_chunklog *log, const roast_chunk *chunk,
                                   roast_error *err) {
    ROAST_TRY(check_chunk(chunk, err));
    uint32_t entries = log->entries.count;
    new_row row = {.present = roast_fields_present(chunk)};
    uint8_t split[ROAST_TASK_HASH_BYTES];
    roast_str task = chunk->task_key;
    if (chunk->task_hash.data != NULL && chunk->task_hash.len == ROAST_TASK_HASH_BYTES)
        row.hash = (const uint8_t *)chunk->task_hash.data;
    else if (split_task_key(chunk->task_key, &task, split))
        row.hash = split;
    roast_status status = add_entries(log, chunk, task, &row);
    if (status == ROAST_OK)
        status = roast_row_reserve(log, row_bound(chunk));
    if (status != ROAST_OK) {
        roast_chunklog_rewind(log, log->count, log->rows.len, entries);
        return roast_error_set(err, status, "roast_chunklog_append", -1, "no room for a chunk");
    }
    put_row(log, chunk, &row);
    return ROAST_OK;
}

/* ---- files ---- */

static roast_status add_file(roast_chunklog *log, const roast_file *file) {
    uint32_t file_ref, ref, *refs;
    uint8_t *at;
    roast_str name = file->name.data != NULL ? file->name : roast_str_of("");
    ROAST_TRY(roast_entry_file(log, name, file->uuid, file->treename, &file_ref));
    ROAST_TRY(name_refs(log, file->branches, sizeof *file->branches, file->n_branches, &refs));
    roast_status status = roast_entry_begin(log, 60 + (size_t)file->n_branches * 25, &at);
    if (status == ROAST_OK) {
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
        status = roast_entry_end(log, ROAST_ENTRY_FILEMETA, at, &ref);
    }
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
    uint64_t file = 0, part[3] = {0}, n = 0;
    roast_get_varint(&at, end, &file);
    roast_str names = roast_entry_payload(log, (uint32_t)file);
    const uint8_t *name_at = (const uint8_t *)names.data;
    for (int i = 0; i < 3; i++)
        roast_get_varint(&name_at, (const uint8_t *)names.data + names.len, &part[i]);
    *out = (roast_file){.name = roast_entry_text(log, (uint32_t)part[0]),
                        .uuid = roast_entry_text(log, (uint32_t)part[1]),
                        .treename = roast_entry_text(log, (uint32_t)part[2])};
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
