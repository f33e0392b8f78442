#include "store/writer.h"

#include <stdio.h>

#include "store/schema.h"

roast_status roast_writer_no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "run.sqlite", -1, "no memory to write the run");
}

void roast_writer_reset(roast_writer *writer) {
    for (int i = 0; i < ROAST_INSERTS; i++)
        sqlite3_finalize(writer->insert[i]);
    roast_intern *const interned[] = {&writer->texts,    &writer->processes,      &writer->files,
                                      &writer->sets,     &writer->layouts,        &writer->workers,
                                      &writer->prefixes, &writer->attempt_workers};
    for (size_t i = 0; i < sizeof interned / sizeof *interned; i++)
        roast_intern_reset(interned[i]);
    roast_free(writer->prefix_kinds);
    roast_free(writer->sizes_of);
    roast_free(writer->slots);
    roast_free(writer->set_of);
    roast_free(writer->layout_of);
    roast_pack_reset(&writer->pack);
    roast_buffer_reset(&writer->key);
    roast_buffer_reset(&writer->bytes);
    roast_buffer_reset(&writer->more);
    roast_buffer_reset(&writer->reads);
    *writer = (roast_writer){.db = writer->db};
}

/* ---- statements ---- */

static const struct {
    const char *name;
    int columns;
} tables[ROAST_INSERTS] = {
#define X(name, columns) {#name, columns},
    ROAST_STORE_INSERTS(X)
#undef X
};

roast_status roast_writer_insert(roast_writer *writer, roast_insert table, sqlite3_stmt **out,
                                 roast_error *err) {
    *out = writer->insert[table];
    if (*out != NULL)
        return ROAST_OK;
    char sql[256];
    int len = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?", tables[table].name);
    for (int i = 1; i < tables[table].columns; i++, len += 2)
        memcpy(sql + len, ",?", 2);
    memcpy(sql + len, ")", 2);
    ROAST_TRY(roast_db_prepare(writer->db, sql, out, err));
    writer->insert[table] = *out;
    return ROAST_OK;
}

roast_status roast_writer_run(roast_writer *writer, sqlite3_stmt *statement, roast_error *err) {
    return roast_db_run(writer->db, statement, err);
}

roast_status roast_write_bytes(roast_writer *writer, roast_insert table, int64_t id,
                               const char *name, roast_str bytes, roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, table, &insert, err));
    sqlite3_bind_int64(insert, 1, id);
    roast_db_bind_text(insert, 2, roast_str_of(name));
    int code = roast_db_bind_blob(insert, 3, bytes);
    if (code != SQLITE_OK)
        return roast_db_fail(writer->db, code, err);
    roast_status status = roast_writer_run(writer, insert, err);
    sqlite3_clear_bindings(insert);
    return status;
}

/* ---- texts ---- */

static roast_status write_text(roast_writer *writer, uint32_t id, roast_str text,
                               roast_error *err) {
    sqlite3_stmt *insert;
    ROAST_TRY(roast_writer_insert(writer, ROAST_INSERT_texts, &insert, err));
    sqlite3_bind_int64(insert, 1, id);
    int code = roast_db_bind_text(insert, 2, text);
    if (code != SQLITE_OK)
        return roast_db_fail(writer->db, code, err);
    return roast_writer_run(writer, insert, err);
}

static roast_text_slot *slot_of(roast_writer *writer, const char *data) {
    uint64_t hash = (uint64_t)(uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);
    return &writer->slots[hash >> 52];
}
_Static_assert(ROAST_TEXT_SLOTS == 1 << (64 - 52), "the hash has a slot");

roast_status roast_writer_text(roast_writer *writer, roast_str text, uint32_t *id,
                               roast_error *err) {
    *id = 0;
    if (text.data == NULL)
        return ROAST_OK;
    roast_text_slot *slot = writer->slots == NULL ? NULL : slot_of(writer, text.data);
    if (slot != NULL && slot->data == text.data && slot->len == text.len) {
        *id = slot->id;
        return ROAST_OK;
    }
    uint32_t before = writer->texts.count, number;
    roast_status status = roast_intern_add(&writer->texts, text, &number);
    if (status != ROAST_OK)
        return roast_writer_no_memory(status, err);
    if (number == before)
        ROAST_TRY(write_text(writer, number + 1, text, err));
    *id = number + 1;
    if (slot != NULL)
        *slot = (roast_text_slot){text.data, text.len, *id};
    return ROAST_OK;
}

/* ---- all ---- */

roast_status roast_write_run(roast_writer *writer, const roast_run *run, bool part,
                             roast_error *err) {
    const roast_chunklog *chunks = roast_run_chunks_view(run); /* NULL: given away */
    const roast_series *series = roast_run_series_view(run);
    const roast_attempts *attempts = roast_run_attempts_view(run);
    ROAST_TRY(roast_write_head(writer, run, part, err));
    if (chunks != NULL)
        ROAST_TRY(roast_write_chunks(writer, chunks, err));
    if (series != NULL)
        ROAST_TRY(roast_write_series(writer, series, err));
    return attempts == NULL ? ROAST_OK : roast_write_attempts(writer, attempts, err);
}
