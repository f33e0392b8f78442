/* Rows of chunk_rows and custom_rows as chunks. */
#include <math.h>

#include "store/numbers.h"
#include "store/reader.h"
#include "store/schema.h"

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for a chunk");
}

#define COLUMN(name) ROAST_CHUNK_COLUMN_##name

static const size_t field_offset[ROAST_CHUNK_FIELD_COUNT] = {
#define X(name, packing, near) offsetof(roast_chunk, name),
    ROAST_CHUNK_FIELDS(X)
#undef X
};

static bool get_fields(sqlite3_stmt *row, roast_chunk *out) {
    for (int i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++) {
        /* Asked once for the cell, not once for its type and once more for its value: a row has dozens. */
        sqlite3_value *cell = sqlite3_column_value(row, COLUMN(fields) + i);
        int type = sqlite3_value_type(cell);
        if (type == SQLITE_NULL)
            continue;
        if (type != SQLITE_INTEGER)
            return false;
        int64_t value = sqlite3_value_int64(cell);
        memcpy((char *)out + field_offset[i], &value, sizeof value);
        out->have |= UINT64_C(1) << i;
    }
    return true;
}

static bool get_process(roast_store *store, sqlite3_stmt *row, roast_chunk *out) {
    const roast_dictionary *dictionary = &store->dictionary;
    int64_t id;
    if (!roast_db_int_or(row, COLUMN(process), 0, &id) || id < 0 || id > dictionary->n_processes)
        return false;
    if (id == 0)
        return true;
    struct roast_process *process = &dictionary->processes[id - 1];
    store->tails.refs.origin = &process->ref;
    out->token = process->token;
    out->pid = process->pid;
    out->host = process->host;
    out->worker = process->worker;
    return true;
}

static bool get_file(roast_store *store, sqlite3_stmt *row, roast_chunk *out) {
    const roast_dictionary *dictionary = &store->dictionary;
    int64_t id;
    if (!roast_db_int_or(row, COLUMN(file), 0, &id) || id < 0 || id > dictionary->n_files)
        return false;
    if (id == 0)
        return true;
    struct roast_file_id *file = &dictionary->files[id - 1];
    store->tails.refs.file = &file->ref;
    out->file = file->name;
    out->uuid = file->uuid;
    out->treename = file->treename;
    return true;
}

static bool get_hash(sqlite3_stmt *row, roast_chunk *out) {
    enum { HASH_BYTES = 16 };
    if (sqlite3_column_type(row, COLUMN(task_hash)) == SQLITE_NULL)
        return true;
    return roast_db_blob(row, COLUMN(task_hash), &out->task_hash) &&
           out->task_hash.len == HASH_BYTES;
}

static bool get_texts(const roast_dictionary *dictionary, sqlite3_stmt *row, roast_chunk *out) {
    return roast_dictionary_text(dictionary, row, COLUMN(dataset), &out->dataset) &&
           roast_dictionary_text(dictionary, row, COLUMN(task), &out->task_key) &&
           get_hash(row, out) && roast_db_text_or_null(row, COLUMN(error_type), &out->error_type) &&
           roast_db_text_or_null(row, COLUMN(error_message), &out->error_message) &&
           out->error_type.len <= ROAST_MAX_TEXT && out->error_message.len <= ROAST_MAX_TEXT &&
           (out->error_type.data == NULL) == (out->error_message.data == NULL);
}

/* ---- tails ---- */

/* Room for the items of one chunk; the counts were checked against their limits before. */
static bool make_room(void **items, size_t *capacity, size_t size, size_t count) {
    return roast_array_reserve(items, capacity, size, count) == ROAST_OK;
}

static bool open_list(sqlite3_stmt *row, int column, roast_numbers *list) {
    roast_str text;
    return roast_db_text(row, column, &text) && roast_numbers_open(list, text);
}

static bool get_more(sqlite3_stmt *row, uint32_t count, roast_section *sections) {
    roast_numbers more;
    if (sqlite3_column_type(row, COLUMN(sections_more)) == SQLITE_NULL)
        return true;
    if (!open_list(row, COLUMN(sections_more), &more))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!roast_numbers_get(&more, &sections[i].before) ||
            !roast_numbers_get_unsigned(&more, &sections[i].count) || sections[i].count == 0)
            return false;
    return roast_numbers_done(&more);
}

static bool get_sections(sqlite3_stmt *row, const struct roast_layout_item *items, uint32_t count,
                         roast_section *out) {
    roast_numbers list;
    if (!open_list(row, COLUMN(sections), &list))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (roast_section){
            .name = items[i].name, .kind = items[i].kind, .parent = items[i].parent, .count = 1};
        if (!roast_numbers_get(&list, &out[i].start_ns) || !roast_numbers_get(&list, &out[i].value))
            return false;
    }
    return roast_numbers_done(&list) && get_more(row, count, out);
}

/* The functions below answer ROAST_ECORRUPT for a malformed row; their caller says which one. */

static roast_status read_sections(roast_store *store, sqlite3_stmt *row, roast_chunk *out) {
    const roast_dictionary *dictionary = &store->dictionary;
    int64_t id;
    if (!roast_db_int_or(row, COLUMN(layout), 0, &id) || id < 0 || id > dictionary->n_layouts)
        return ROAST_ECORRUPT;
    if (id == 0)
        return ROAST_OK;
    size_t first = dictionary->layout_at[id - 1];
    uint32_t count = (uint32_t)(dictionary->layout_at[id] - first);
    void *sections = store->tails.sections;
    bool room = make_room(&sections, &store->tails.sections_capacity, sizeof(roast_section), count);
    store->tails.sections = sections;
    if (!room)
        return ROAST_ENOMEM;
    if (!get_sections(row, dictionary->layout_items + first, count, store->tails.sections))
        return ROAST_ECORRUPT;
    out->sections = store->tails.sections;
    out->n_sections = count;
    return ROAST_OK;
}

static bool get_read(roast_numbers *list, roast_str branch, roast_read *out) {
    out->branch = branch;
    return roast_numbers_get_known(list, &out->time_ns) &&
           roast_numbers_get_known(list, &out->bytes) &&
           roast_numbers_get_known(list, &out->uncompressed_bytes) &&
           roast_numbers_get_known(list, &out->count);
}

static roast_status read_reads(roast_store *store, sqlite3_stmt *row, roast_chunk *out) {
    const roast_str *names;
    uint32_t count;
    roast_numbers list;
    if (!roast_dictionary_set(&store->dictionary, row, COLUMN(read_branches), &out->has_reads,
                              &names, &count))
        return ROAST_ECORRUPT;
    if (!out->has_reads)
        return ROAST_OK;
    void *reads = store->tails.reads;
    bool room = make_room(&reads, &store->tails.reads_capacity, sizeof(roast_read), count);
    store->tails.reads = reads;
    if (!room)
        return ROAST_ENOMEM;
    if (!open_list(row, COLUMN(reads), &list))
        return ROAST_ECORRUPT;
    for (uint32_t i = 0; i < count; i++)
        if (!get_read(&list, names[i], &store->tails.reads[i]))
            return ROAST_ECORRUPT;
    out->reads = store->tails.reads;
    out->n_reads = count;
    return roast_numbers_done(&list) ? ROAST_OK : ROAST_ECORRUPT;
}

/* ---- custom values, which stand in a table of their own ---- */

void roast_read_customs_end(roast_store *store) {
    sqlite3_finalize(store->customs);
    store->customs = NULL;
}

static bool get_nan(sqlite3_stmt *row, int column, double *out) {
    roast_str bytes;
    if (!roast_db_blob(row, column, &bytes) || bytes.len != sizeof *out)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    return isnan(*out);
}

static bool get_value(sqlite3_stmt *row, int column, roast_custom *out) {
    int type = sqlite3_column_type(row, column);
    switch (out->kind) {
    case ROAST_CUSTOM_NULL:
        return type == SQLITE_NULL;
    case ROAST_CUSTOM_BOOL:
    case ROAST_CUSTOM_INT:
        return roast_db_int(row, column, &out->integer);
    case ROAST_CUSTOM_REAL:
        if (type == SQLITE_BLOB)
            return get_nan(row, column, &out->real);
        return type == SQLITE_FLOAT && roast_db_real(row, column, &out->real);
    default:
        return roast_db_text(row, column, &out->text);
    }
}

static roast_status take_custom(roast_store *store, sqlite3_stmt *row, roast_custom *out) {
    int64_t scope, kind;
    *out = (roast_custom){.scope = ROAST_SCOPE_CHUNK};
    if (!roast_db_int(row, 2, &scope) || scope < 0 || scope >= ROAST_SCOPES ||
        !roast_db_int(row, 3, &kind) || kind < 0 || kind >= ROAST_CUSTOM_KINDS ||
        !roast_dictionary_text(&store->dictionary, row, 4, &out->key) || out->key.data == NULL)
        return ROAST_ECORRUPT;
    out->scope = (roast_custom_scope)scope;
    out->kind = (roast_custom_kind)kind;
    if (!get_value(row, 5, out) || out->text.len > ROAST_MAX_VALUE)
        return ROAST_ECORRUPT;
    return roast_arena_str(&store->tails.texts, out->text, &out->text);
}

static roast_status next_custom(roast_store *store, int64_t chunk, uint32_t position,
                                roast_custom *out, roast_error *err) {
    int64_t owner, place;
    bool more;
    ROAST_TRY(roast_db_step(&store->db, store->customs, &more, err));
    if (!more || !roast_db_int(store->customs, 0, &owner) || owner != chunk ||
        !roast_db_int(store->customs, 1, &place) || place != position)
        return ROAST_ECORRUPT;
    return take_custom(store, store->customs, out);
}

/* From this chunk on; the chunks that have none are stepped over by themselves. */
static roast_status begin_customs(roast_store *store, int64_t chunk, roast_error *err) {
    ROAST_TRY(roast_db_prepare(
        &store->db,
        chunk < 0 ? "SELECT * FROM custom_rows WHERE chunk <= ?1 ORDER BY chunk DESC, position"
                  : "SELECT * FROM custom_rows WHERE chunk >= ?1 ORDER BY chunk, position",
        &store->customs, err));
    sqlite3_bind_int64(store->customs, 1, chunk);
    return ROAST_OK;
}

static roast_status read_customs(roast_store *store, sqlite3_stmt *row, int64_t number,
                                 roast_chunk *out, roast_error *err) {
    int64_t count;
    if (!roast_db_int_or(row, COLUMN(customs), 0, &count) || count < 0 || count > ROAST_MAX_CUSTOMS)
        return ROAST_ECORRUPT;
    if (count == 0)
        return ROAST_OK;
    void *customs = store->tails.customs;
    bool room =
        make_room(&customs, &store->tails.customs_capacity, sizeof(roast_custom), (size_t)count);
    store->tails.customs = customs;
    if (!room)
        return ROAST_ENOMEM;
    if (store->customs == NULL)
        ROAST_TRY(begin_customs(store, number, err));
    roast_arena_reset(&store->tails.texts);
    for (uint32_t i = 0; i < (uint32_t)count; i++)
        ROAST_TRY(next_custom(store, number, i, &store->tails.customs[i], err));
    out->customs = store->tails.customs;
    out->n_customs = (uint32_t)count;
    return ROAST_OK;
}

/* ---- the row ---- */

static roast_status read_row(roast_store *store, sqlite3_stmt *row, int64_t wanted,
                             roast_chunk *out, roast_error *err) {
    const roast_dictionary *dictionary = &store->dictionary;
    int64_t id, seq;
    *out = (roast_chunk){.have = 0};
    store->tails.refs = (roast_append_refs){NULL, NULL, NULL};
    if (!roast_db_int(row, COLUMN(id), &id) || id != wanted || !get_fields(row, out) ||
        !roast_db_int(row, COLUMN(seq), &seq) || !get_process(store, row, out) ||
        !get_file(store, row, out) || !get_texts(dictionary, row, out) ||
        !roast_dictionary_set(dictionary, row, COLUMN(branches), &out->has_branches, &out->branches,
                              &out->n_branches))
        return ROAST_ECORRUPT;
    out->seq = (uint64_t)seq;
    if (out->has_branches)
        store->tails.refs.branches =
            &dictionary->set_refs[sqlite3_column_int64(row, COLUMN(branches)) - 1];
    ROAST_TRY(read_sections(store, row, out));
    ROAST_TRY(read_reads(store, row, out));
    return read_customs(store, row, wanted, out, err);
}

roast_status roast_read_chunk(roast_store *store, sqlite3_stmt *row, int64_t wanted,
                              roast_chunk *out, roast_error *err) {
    roast_error inner;
    roast_error_reset(&inner);
    roast_status status = read_row(store, row, wanted, out, &inner);
    if (status == ROAST_OK)
        return ROAST_OK;
    if (inner.message[0] != '\0') { /* told already */
        if (err != NULL)
            *err = inner;
        return status;
    }
    return status == ROAST_ECORRUPT ? roast_db_damaged(&store->db, "chunk_rows", wanted, err)
                                    : no_memory(err);
}
