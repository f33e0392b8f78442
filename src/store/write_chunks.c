/* Chunks, and what hangs on them, as rows. */
#include <math.h>

#include "store/numbers.h"
#include "store/schema.h"
#include "store/writer.h"

/* ---- what many chunks share ---- */

/* The number of what was put together in writer->key; *fresh: it is new. */
static roast_status number_of(roast_writer *writer, roast_intern *interned, uint32_t *id,
                              bool *fresh, roast_error *err) {
    uint32_t before = interned->count;
    roast_str key = {(const char *)writer->key.data, writer->key.len};
    *fresh = false;
    roast_status status = roast_intern_add(interned, key, id);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    *fresh = *id == before;
    *id += 1;
    return ROAST_OK;
}

static roast_status process_id(roast_writer *writer, const roast_chunk *chunk, uint32_t *id,
                               roast_error *err) {
    struct {
        uint64_t token;
        int64_t pid;
        uint32_t host, worker;
    } key = {chunk->token, chunk->pid, 0, 0};
    bool fresh = false;
    *id = 0;
    if (chunk->token == 0 && chunk->pid == 0 && chunk->host.data == NULL &&
        chunk->worker.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_writer_text(writer, chunk->host, &key.host, err));
    ROAST_TRY(roast_writer_text(writer, chunk->worker, &key.worker, err));
    writer->key.len = 0;
    roast_status status = roast_buffer_append(&writer->key, &key, sizeof key);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    ROAST_TRY(number_of(writer, &writer->processes, id, &fresh, err));
    if (!fresh)
        return ROAST_OK;
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_processes, &insert, err));
    sqlite3_bind_int64(insert, 1, *id);
    sqlite3_bind_int64(insert, 2, (int64_t)key.token);
    sqlite3_bind_int64(insert, 3, key.pid);
    roast_bind_id(insert, 4, key.host);
    roast_bind_id(insert, 5, key.worker);
    return roast_writer_run(writer, insert, err);
}

static roast_status file_id(roast_writer *writer, roast_str name, roast_str uuid,
                            roast_str treename, uint32_t *id, roast_error *err) {
    uint32_t key[3];
    bool fresh = false;
    *id = 0;
    if (name.data == NULL && uuid.data == NULL && treename.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_writer_text(writer, name, &key[0], err));
    ROAST_TRY(roast_writer_text(writer, uuid, &key[1], err));
    ROAST_TRY(roast_writer_text(writer, treename, &key[2], err));
    writer->key.len = 0;
    roast_status status = roast_buffer_append(&writer->key, key, sizeof key);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    ROAST_TRY(number_of(writer, &writer->files, id, &fresh, err));
    if (!fresh)
        return ROAST_OK;
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_file_ids, &insert, err));
    sqlite3_bind_int64(insert, 1, *id);
    for (int i = 0; i < 3; i++)
        roast_bind_id(insert, 2 + i, key[i]);
    roast_bind_id(insert, 5, key[0] < writer->sizes_capacity ? writer->sizes_of[key[0]] : 0);
    return roast_writer_run(writer, insert, err);
}

/* ---- sets of branches and layouts of sections ---- */

static roast_status add_to_key(roast_writer *writer, const void *bytes, size_t len,
                               roast_error *err) {
    roast_status status = roast_buffer_append(&writer->key, bytes, len);
    return status == ROAST_OK ? ROAST_OK : roast_writer_no_memory(status, err);
}

static roast_status add_name_to_key(roast_writer *writer, roast_str name, roast_error *err) {
    uint32_t id;
    ROAST_TRY(roast_writer_text(writer, name, &id, err));
    return add_to_key(writer, &id, sizeof id, err);
}

/* The set whose names are in writer->key. */
static roast_status set_id(roast_writer *writer, uint32_t *id, roast_error *err) {
    bool fresh = false;
    ROAST_TRY(number_of(writer, &writer->sets, id, &fresh, err));
    if (!fresh)
        return ROAST_OK;
    uint32_t count = (uint32_t)(writer->key.len / sizeof(uint32_t)), name;
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_branch_sets, &insert, err));
    sqlite3_bind_int64(insert, 1, *id);
    sqlite3_bind_int64(insert, 2, count);
    ROAST_TRY(roast_writer_run(writer, insert, err));
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_branch_set_items, &insert, err));
    sqlite3_bind_int64(insert, 1, *id);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&name, writer->key.data + i * sizeof name, sizeof name);
        sqlite3_bind_int64(insert, 2, i);
        sqlite3_bind_int64(insert, 3, name);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

/* Where what was found for an entry is kept; NULL: no memory. */
static uint32_t *remembered(uint32_t **found, size_t *capacity, uint32_t entry) {
    size_t before = *capacity;
    void *items = *found;
    roast_status status = roast_array_reserve(&items, capacity, sizeof **found, (size_t)entry + 1);
    *found = items;
    if (status != ROAST_OK)
        return NULL;
    memset(*found + before, 0, (*capacity - before) * sizeof **found);
    return *found + entry;
}

static roast_status branches_id(roast_writer *writer, const roast_chunklog *log,
                                const roast_chunk *chunk, uint32_t *id, roast_error *err) {
    uint32_t *known = remembered(&writer->set_of, &writer->set_capacity, chunk->packed.branches);
    if (known == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    if (*known == 0) {
        roast_tail_cursor cursor;
        roast_str name;
        writer->key.len = 0;
        roast_chunk_branches(log, chunk, &cursor);
        while (roast_chunk_next_branch(&cursor, &name))
            ROAST_TRY(add_name_to_key(writer, name, err));
        ROAST_TRY(set_id(writer, known, err));
    }
    *id = *known;
    return ROAST_OK;
}

static roast_status reads_id(roast_writer *writer, const roast_chunklog *log,
                             const roast_chunk *chunk, uint32_t *id, roast_error *err) {
    uint32_t *known = remembered(&writer->set_of, &writer->set_capacity, chunk->packed.reads);
    if (known == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    if (*known == 0) {
        roast_tail_cursor cursor;
        roast_read read;
        writer->key.len = 0;
        roast_chunk_reads(log, chunk, &cursor);
        while (roast_chunk_next_read(&cursor, &read))
            ROAST_TRY(add_name_to_key(writer, read.branch, err));
        ROAST_TRY(set_id(writer, known, err));
    }
    *id = *known;
    return ROAST_OK;
}

typedef struct layout_item {
    int32_t kind, parent;
    uint32_t name;
} layout_item;

static layout_item item_at(const roast_writer *writer, uint32_t index) {
    layout_item item;
    memcpy(&item, writer->key.data + index * sizeof item, sizeof item);
    return item;
}

static roast_status write_layout_items(roast_writer *writer, uint32_t id, uint32_t count,
                                       uint32_t *depth, roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_layout_items, &insert, err));
    sqlite3_bind_int64(insert, 1, id);
    for (uint32_t i = 0; i < count; i++) {
        layout_item item = item_at(writer, i);
        depth[i] = item.parent < 0 ? 0 : depth[item.parent] + 1;
        sqlite3_bind_int64(insert, 2, i);
        sqlite3_bind_int64(insert, 3, item.kind);
        roast_bind_known(insert, 4, item.parent);
        sqlite3_bind_int64(insert, 5, depth[i]);
        sqlite3_bind_int64(insert, 6, item.name);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

static roast_status write_layout(roast_writer *writer, uint32_t id, roast_error *err) {
    uint32_t count = (uint32_t)(writer->key.len / sizeof(layout_item));
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_layouts, &insert, err));
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_int64(insert, 2, count);
    ROAST_TRY(roast_writer_run(writer, insert, err));
    uint32_t *depth = roast_alloc(count * sizeof *depth);
    if (depth == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    roast_status status = write_layout_items(writer, id, count, depth, err);
    roast_free(depth);
    return status;
}

static roast_status layout_id(roast_writer *writer, const roast_chunklog *log,
                              const roast_chunk *chunk, uint32_t *id, roast_error *err) {
    uint32_t *known =
        remembered(&writer->layout_of, &writer->layout_capacity, chunk->packed.layout);
    bool fresh = false;
    if (known == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    if (*known == 0) {
        roast_tail_cursor cursor;
        roast_section section;
        writer->key.len = 0;
        roast_chunk_sections(log, chunk, &cursor);
        while (roast_chunk_next_section(&cursor, &section)) {
            layout_item item = {(int32_t)section.kind, section.parent, 0};
            ROAST_TRY(roast_writer_text(writer, section.name, &item.name, err));
            ROAST_TRY(add_to_key(writer, &item, sizeof item, err));
        }
        ROAST_TRY(number_of(writer, &writer->layouts, known, &fresh, err));
        if (fresh)
            ROAST_TRY(write_layout(writer, *known, err));
    }
    *id = *known;
    return ROAST_OK;
}

/* ---- tails ---- */

static roast_status put_sections(roast_writer *writer, const roast_chunklog *log,
                                 const roast_chunk *chunk, bool *more, roast_error *err) {
    roast_tail_cursor cursor;
    roast_section section;
    roast_status status = roast_numbers_begin(&writer->bytes, (size_t)chunk->n_sections * 2);
    if (status == ROAST_OK)
        status = roast_numbers_begin(&writer->more, (size_t)chunk->n_sections * 2);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    *more = false;
    roast_chunk_sections(log, chunk, &cursor);
    while (roast_chunk_next_section(&cursor, &section)) {
        roast_numbers_put(&writer->bytes, section.start_ns);
        roast_numbers_put(&writer->bytes, section.value);
        roast_numbers_put(&writer->more, section.before);
        roast_numbers_put_unsigned(&writer->more, section.count);
        *more = *more || section.before != 0 || section.count != 1;
    }
    roast_numbers_end(&writer->bytes);
    roast_numbers_end(&writer->more);
    return ROAST_OK;
}

static roast_status put_reads(roast_writer *writer, const roast_chunklog *log,
                              const roast_chunk *chunk, roast_error *err) {
    roast_tail_cursor cursor;
    roast_read read;
    roast_status status = roast_numbers_begin(&writer->reads, (size_t)chunk->n_reads * 4);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read)) {
        roast_numbers_put_known(&writer->reads, read.time_ns);
        roast_numbers_put_known(&writer->reads, read.bytes);
        roast_numbers_put_known(&writer->reads, read.uncompressed_bytes);
        roast_numbers_put_known(&writer->reads, read.count);
    }
    roast_numbers_end(&writer->reads);
    return ROAST_OK;
}

/* NaN would become NULL: it goes in as its bytes. */
static int bind_custom(sqlite3_stmt *insert, int parameter, const roast_custom *custom) {
    switch (custom->kind) {
    case ROAST_CUSTOM_BOOL:
    case ROAST_CUSTOM_INT:
        return sqlite3_bind_int64(insert, parameter, custom->integer);
    case ROAST_CUSTOM_REAL:
        if (isnan(custom->real))
            return sqlite3_bind_blob(insert, parameter, &custom->real, sizeof custom->real,
                                     SQLITE_STATIC);
        return sqlite3_bind_double(insert, parameter, custom->real);
    case ROAST_CUSTOM_TEXT:
    case ROAST_CUSTOM_JSON:
    case ROAST_CUSTOM_LEFT_OUT:
        return roast_db_bind_text(insert, parameter, custom->text);
    default:
        return sqlite3_bind_null(insert, parameter);
    }
}

static roast_status write_customs(roast_writer *writer, const roast_chunklog *log,
                                  const roast_chunk *chunk, int64_t number, roast_error *err) {
    roast_tail_cursor cursor;
    roast_custom custom;
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_custom_rows, &insert, err));
    roast_chunk_customs(log, chunk, &cursor);
    for (uint32_t i = 0; roast_chunk_next_custom(&cursor, &custom); i++) {
        uint32_t key;
        ROAST_TRY(roast_writer_text(writer, custom.key, &key, err));
        sqlite3_bind_int64(insert, 1, number);
        sqlite3_bind_int64(insert, 2, i);
        sqlite3_bind_int64(insert, 3, (int)custom.scope);
        sqlite3_bind_int64(insert, 4, (int)custom.kind);
        sqlite3_bind_int64(insert, 5, key);
        int code = bind_custom(insert, 6, &custom);
        if (code != SQLITE_OK)
            return roast_db_fail(writer->db, code, err);
        ROAST_TRY(roast_writer_run(writer, insert, err));
    }
    return ROAST_OK;
}

/* ---- the row ---- */

static const size_t field_offset[ROAST_CHUNK_FIELD_COUNT] = {
#define X(name, packing, near) offsetof(roast_chunk, name),
    ROAST_CHUNK_FIELDS(X)
#undef X
};

#define PARAMETER(column) (ROAST_CHUNK_COLUMN_##column + 1)

static void bind_fields(sqlite3_stmt *insert, const roast_chunk *chunk) {
    for (int i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++) {
        int64_t value;
        memcpy(&value, (const char *)chunk + field_offset[i], sizeof value);
        if (chunk->have >> i & 1)
            sqlite3_bind_int64(insert, PARAMETER(fields) + i, value);
        else
            sqlite3_bind_null(insert, PARAMETER(fields) + i);
    }
}

static roast_str list_of(const roast_buffer *buffer, bool there) {
    return there ? (roast_str){(const char *)buffer->data, buffer->len} : (roast_str){NULL, 0};
}

static roast_status bind_shared(roast_writer *writer, sqlite3_stmt *insert,
                                const roast_chunklog *log, const roast_chunk *chunk,
                                roast_error *err) {
    uint32_t process, file, dataset, task, branches = 0, layout = 0, reads = 0;
    ROAST_TRY(process_id(writer, chunk, &process, err));
    ROAST_TRY(file_id(writer, chunk->file, chunk->uuid, chunk->treename, &file, err));
    ROAST_TRY(roast_writer_text(writer, chunk->dataset, &dataset, err));
    ROAST_TRY(roast_writer_text(writer, chunk->task_key, &task, err));
    if (chunk->has_branches)
        ROAST_TRY(branches_id(writer, log, chunk, &branches, err));
    if (chunk->n_sections > 0)
        ROAST_TRY(layout_id(writer, log, chunk, &layout, err));
    if (chunk->has_reads)
        ROAST_TRY(reads_id(writer, log, chunk, &reads, err));
    roast_bind_id(insert, PARAMETER(process), process);
    roast_bind_id(insert, PARAMETER(file), file);
    roast_bind_id(insert, PARAMETER(dataset), dataset);
    roast_bind_id(insert, PARAMETER(task), task);
    roast_bind_id(insert, PARAMETER(branches), branches);
    roast_bind_id(insert, PARAMETER(layout), layout);
    roast_bind_id(insert, PARAMETER(read_branches), reads);
    return ROAST_OK;
}

static roast_status bind_tails(roast_writer *writer, sqlite3_stmt *insert,
                               const roast_chunklog *log, const roast_chunk *chunk,
                               roast_error *err) {
    bool sections = chunk->n_sections > 0, more = false;
    if (sections)
        ROAST_TRY(put_sections(writer, log, chunk, &more, err));
    if (chunk->has_reads)
        ROAST_TRY(put_reads(writer, log, chunk, err));
    int codes =
        roast_db_bind_text(insert, PARAMETER(sections), list_of(&writer->bytes, sections)) |
        roast_db_bind_text(insert, PARAMETER(sections_more), list_of(&writer->more, more)) |
        roast_db_bind_text(insert, PARAMETER(reads), list_of(&writer->reads, chunk->has_reads)) |
        roast_db_bind_blob(insert, PARAMETER(task_hash), chunk->task_hash) |
        roast_db_bind_text(insert, PARAMETER(error_type), chunk->error_type) |
        roast_db_bind_text(insert, PARAMETER(error_message), chunk->error_message);
    if (codes != SQLITE_OK)
        return roast_error_set(err, ROAST_ELIMIT, "run.sqlite", -1,
                               "a chunk has too many branches to be written");
    roast_bind_id(insert, PARAMETER(customs), chunk->n_customs);
    return ROAST_OK;
}

static roast_status write_chunk(roast_writer *writer, const roast_chunklog *log,
                                const roast_chunk *chunk, int64_t number, roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_chunk_rows, &insert, err));
    sqlite3_bind_int64(insert, PARAMETER(id), number);
    bind_fields(insert, chunk);
    sqlite3_bind_int64(insert, PARAMETER(seq), (int64_t)chunk->seq);
    ROAST_TRY(bind_shared(writer, insert, log, chunk, err));
    ROAST_TRY(bind_tails(writer, insert, log, chunk, err));
    ROAST_TRY(roast_writer_run(writer, insert, err));
    if (chunk->n_customs > 0)
        ROAST_TRY(write_customs(writer, log, chunk, number, err));
    return ROAST_OK;
}

/* ---- files ---- */

static roast_status file_sizes(roast_writer *writer, const roast_chunklog *log,
                               const roast_file *file, uint32_t *set, roast_error *err) {
    roast_tail_cursor cursor;
    roast_branch_size size;
    roast_status status = roast_numbers_begin(&writer->bytes, file->n_branches);
    if (status == ROAST_OK)
        status = roast_numbers_begin(&writer->more, file->n_branches);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    writer->key.len = 0;
    roast_file_branches(log, file, &cursor);
    while (roast_file_next_branch(&cursor, &size)) {
        ROAST_TRY(add_name_to_key(writer, size.name, err));
        roast_numbers_put_known(&writer->bytes, size.bytes);
        roast_numbers_put_known(&writer->more, size.uncompressed_bytes);
    }
    roast_numbers_end(&writer->bytes);
    roast_numbers_end(&writer->more);
    return set_id(writer, set, err);
}

/* Later rows about a file win: those that were told of an earlier one are told again. */
static roast_status note_sizes(roast_writer *writer, roast_str name, uint32_t row,
                               roast_error *err) {
    uint32_t text = 0;
    ROAST_TRY(roast_writer_text(writer, name, &text, err));
    if (text == 0)
        return ROAST_OK;
    uint32_t *known = remembered(&writer->sizes_of, &writer->sizes_capacity, text);
    if (known == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    *known = row;
    return ROAST_OK;
}

static roast_status tell_old_files(roast_writer *writer, roast_error *err) {
    if (writer->files.count == 0)
        return ROAST_OK;
    return roast_db_exec(writer->db,
                         "UPDATE file_ids SET sizes = (SELECT max(f.id) FROM file_rows f "
                         "JOIN file_ids i ON i.id = f.file WHERE i.name = file_ids.name)",
                         err);
}

static roast_status write_file(roast_writer *writer, const roast_chunklog *log,
                               const roast_file *file, roast_error *err) {
    sqlite3_stmt *insert;
    uint32_t id, set;
    ROAST_TRY(file_id(writer, file->name, file->uuid, file->treename, &id, err));
    ROAST_TRY(file_sizes(writer, log, file, &set, err));
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_file_rows, &insert, err));
    sqlite3_bind_int64(insert, 1, ++writer->file_rows);
    roast_bind_id(insert, 2, id);
    roast_bind_known(insert, 3, file->total_branches);
    roast_bind_known(insert, 4, file->tree_bytes);
    roast_bind_known(insert, 5, file->tree_uncompressed_bytes);
    sqlite3_bind_int64(insert, 6, set);
    roast_db_bind_text(insert, 7, list_of(&writer->bytes, true));
    roast_db_bind_text(insert, 8, list_of(&writer->more, true));
    return roast_writer_run(writer, insert, err);
}

static roast_status write_files(roast_writer *writer, const roast_chunklog *log, roast_error *err) {
    roast_file_cursor cursor;
    roast_file file;
    bool old = writer->files.count > 0, any = false;
    roast_file_cursor_init(&cursor, log);
    for (uint32_t row = (uint32_t)writer->file_rows + 1; roast_file_cursor_next(&cursor, &file);
         row++) {
        any = true;
        ROAST_TRY(note_sizes(writer, file.name, row, err));
    }
    roast_file_cursor_init(&cursor, log);
    while (roast_file_cursor_next(&cursor, &file))
        ROAST_TRY(write_file(writer, log, &file, err));
    return (old && any) || writer->unsure ? tell_old_files(writer, err) : ROAST_OK;
}

/* ---- the log ---- */

/* What was remembered of another log means nothing in this one. */
static roast_status begin_log(roast_writer *writer, roast_error *err) {
    if (writer->slots == NULL)
        writer->slots = roast_alloc(ROAST_TEXT_SLOTS * sizeof *writer->slots);
    if (writer->slots == NULL)
        return roast_writer_no_memory(ROAST_ENOMEM, err);
    memset(writer->slots, 0, ROAST_TEXT_SLOTS * sizeof *writer->slots);
    if (writer->set_capacity > 0)
        memset(writer->set_of, 0, writer->set_capacity * sizeof *writer->set_of);
    if (writer->layout_capacity > 0)
        memset(writer->layout_of, 0, writer->layout_capacity * sizeof *writer->layout_of);
    return ROAST_OK;
}

static void end_log(roast_writer *writer) {
    roast_free(writer->slots);
    writer->slots = NULL;
}

roast_status roast_write_chunks(roast_writer *writer, const roast_chunklog *log, roast_error *err) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    ROAST_TRY(begin_log(writer, err));
    roast_status status = write_files(writer, log, err);
    roast_chunk_cursor_init(&cursor, log);
    while (status == ROAST_OK && roast_chunk_cursor_next(&cursor, &chunk))
        status = write_chunk(writer, log, &chunk, writer->chunks++, err);
    end_log(writer);
    return status;
}

/* They have the numbers -1, -2, ... */
roast_status roast_write_beside(roast_writer *writer, const roast_chunklog *log, roast_error *err) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    ROAST_TRY(begin_log(writer, err));
    roast_status status = ROAST_OK;
    roast_chunk_cursor_init(&cursor, log);
    while (status == ROAST_OK && roast_chunk_cursor_next(&cursor, &chunk))
        status = write_chunk(writer, log, &chunk, -++writer->beside, err);
    end_log(writer);
    return status;
}
