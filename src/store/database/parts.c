/* The parts of run.sqlite: compressed by zstd, with a checksum each. */
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/crc32c.h"
#include "roast/store.h"
#include "store/database/db.h"

const roast_frame roast_part_frame = {"part of a run", {'R', 'C', 'R', 'P'}, 1};

enum { COMPRESSION = 3 }; /* zstd's usual level: some 200 MB a second */

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for a part of the run");
}

/* A part with the number or the name of another one is damage as well. */
static uint32_t checksum_of(int64_t id, roast_str name, const void *bytes, size_t len) {
    uint8_t number[8];
    for (unsigned i = 0; i < sizeof number; i++)
        number[i] = (uint8_t)((uint64_t)id >> 8 * i);
    uint32_t crc = roast_crc32c(0, number, sizeof number);
    crc = roast_crc32c(crc, name.data, name.len);
    return roast_crc32c(crc, bytes, len);
}

/* ---- writing ---- */

static roast_status prepare(sqlite3 *db, const char *sql, roast_str name, sqlite3_stmt **out,
                            roast_error *err) {
    int code = sqlite3_prepare_v2(db, sql, -1, out, NULL);
    if (code != SQLITE_OK)
        return roast_db_fail(db, code, err);
    sqlite3_bind_text64(*out, 1, name.data, name.len, SQLITE_STATIC, SQLITE_UTF8);
    return ROAST_OK;
}

/* ?1 is the name, ?2 the first number of large parts. */
static roast_status number_of(sqlite3 *db, roast_str name, roast_part_place place, int64_t *id,
                              roast_error *err) {
    static const char *const sql[] = {
        [ROAST_PART_APPENDED] = "SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM parts",
        [ROAST_PART_LIVE_SMALL] =
            ("SELECT coalesce(max(CASE name WHEN ?1 THEN id END), max(id) + 1, 1) FROM parts "
             "WHERE id < ?2"),
        [ROAST_PART_LIVE_LARGE] = "SELECT max(coalesce(max(id) + 1, ?2), ?2), ?1 FROM parts",
    };
    sqlite3_stmt *statement;
    ROAST_TRY(prepare(db, sql[place], name, &statement, err));
    sqlite3_bind_int64(statement, 2, ROAST_PART_FIRST_LARGE);
    int code = sqlite3_step(statement);
    *id = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? ROAST_OK : roast_db_fail(db, code, err);
}

static roast_status insert(sqlite3 *db, roast_str name, roast_str packed, roast_part_place place,
                           roast_error *err) {
    sqlite3_stmt *statement;
    int64_t id;
    ROAST_TRY(number_of(db, name, place, &id, err));
    ROAST_TRY(prepare(db, "REPLACE INTO parts(name, id, checksum, bytes) VALUES(?1, ?2, ?3, ?4)",
                      name, &statement, err));
    sqlite3_bind_int64(statement, 2, id);
    sqlite3_bind_int64(statement, 3, checksum_of(id, name, packed.data, packed.len));
    sqlite3_bind_blob64(statement, 4, packed.data, packed.len, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    roast_status status = code == SQLITE_DONE ? ROAST_OK : roast_db_fail(db, code, err);
    sqlite3_finalize(statement);
    return status;
}

roast_status roast_part_put(sqlite3 *db, const char *name, roast_str bytes, roast_part_place place,
                            roast_error *err) {
    if (bytes.len > ROAST_PART_MAX)
        return roast_error_set(err, ROAST_ELIMIT, "run.sqlite", -1, "'%s' is too long to be saved",
                               name);
    size_t room = ZSTD_compressBound(bytes.len);
    char *packed = roast_alloc(room);
    if (packed == NULL)
        return no_memory(err);
    size_t len = ZSTD_compress(packed, room, bytes.data, bytes.len, COMPRESSION);
    roast_status status =
        ZSTD_isError(len) /* there is room, so only memory can be missing */
            ? no_memory(err)
            : insert(db, roast_str_of(name), (roast_str){packed, len}, place, err);
    roast_free(packed);
    return status;
}

/* ---- reading ---- */

roast_status roast_part_walk_begin(roast_part_walk *walk, sqlite3 *db, roast_part_kind kind,
                                   int64_t after, roast_error *err) {
    /* SQLite reads the bytes only when they are asked for. */
    static const char sql[] =
        "SELECT id, name, checksum, CASE WHEN wanted THEN bytes END, wanted FROM (SELECT *, "
        "(name IN ('chunks', 'series', 'attempts')) = ?1 AS wanted FROM parts "
        "WHERE id > ?2 AND id < ?3) ORDER BY id";
    int code = sqlite3_prepare_v2(db, sql, -1, &walk->statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(walk->statement, 1, kind == ROAST_PARTS_LARGE);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(walk->statement, 2, after);
    if (code == SQLITE_OK)
        code =
            sqlite3_bind_int64(walk->statement, 3,
                               kind == ROAST_PARTS_LIVE_SMALL ? ROAST_PART_FIRST_LARGE : INT64_MAX);
    return code == SQLITE_OK ? ROAST_OK : roast_db_fail(db, code, err);
}

/* A blob may be parsed, which takes many times its size. */
static size_t most_of(roast_str name) {
    static const size_t front = sizeof ROAST_PART_BLOB - 1;
    bool blob = name.len > front && memcmp(name.data, ROAST_PART_BLOB, front) == 0;
    return blob ? ROAST_STORE_MAX_FILE : ROAST_PART_MAX;
}

static roast_status unpack(roast_part_walk *walk, const void *packed, size_t len,
                           roast_error *err) {
    unsigned long long size = ZSTD_getFrameContentSize(packed, len);
    if (size > ROAST_PART_MAX) /* two larger numbers mean "not stated" and "no frame" */
        return roast_db_damaged(err, "part %lld is not compressed as it should be",
                                (long long)walk->id);
    if (size > most_of(walk->name))
        return roast_error_set(err, ROAST_ELIMIT, "run.sqlite", -1,
                               "part %lld is too long: %llu MiB", (long long)walk->id, size >> 20);
    walk->bytes.len = 0;
    if (roast_buffer_reserve(&walk->bytes, (size_t)size + 1) != ROAST_OK)
        return no_memory(err);
    size_t got = ZSTD_decompress(walk->bytes.data, (size_t)size, packed, len);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return no_memory(err);
    if (ZSTD_isError(got) || got != size)
        return roast_db_damaged(err, "part %lld cannot be uncompressed", (long long)walk->id);
    walk->bytes.len = got;
    return ROAST_OK;
}

static roast_status take_row(roast_part_walk *walk, roast_error *err) {
    sqlite3_stmt *row = walk->statement;
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const void *packed = sqlite3_column_blob(row, 3);
    size_t len = (size_t)sqlite3_column_bytes(row, 3);
    if (name == NULL || packed == NULL)
        return sqlite3_errcode(sqlite3_db_handle(row)) == SQLITE_NOMEM
                   ? no_memory(err)
                   : roast_db_damaged(err, "part %lld is empty", (long long)walk->id);
    walk->name = (roast_str){name, (size_t)sqlite3_column_bytes(row, 1)};
    if (checksum_of(walk->id, walk->name, packed, len) != (uint64_t)sqlite3_column_int64(row, 2))
        return roast_db_damaged(err, "part %lld has a wrong checksum", (long long)walk->id);
    return unpack(walk, packed, len, err);
}

roast_status roast_part_walk_next(roast_part_walk *walk, bool *there, roast_error *err) {
    for (;;) {
        int code = sqlite3_step(walk->statement);
        *there = code == SQLITE_ROW;
        if (code == SQLITE_DONE)
            return ROAST_OK;
        if (code != SQLITE_ROW)
            return roast_db_fail(sqlite3_db_handle(walk->statement), code, err);
        walk->passed++;
        walk->id = sqlite3_column_int64(walk->statement, 0);
        if (sqlite3_column_int(walk->statement, 4) != 0)
            return take_row(walk, err);
    }
}

void roast_part_walk_end(roast_part_walk *walk) {
    sqlite3_finalize(walk->statement);
    roast_buffer_reset(&walk->bytes);
    *walk = (roast_part_walk){.statement = NULL};
}
