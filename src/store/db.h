/* SQLite as the store uses it: opened with care, its failures told as ours. */
#ifndef ROAST_STORE_DB_H
#define ROAST_STORE_DB_H

#include <sqlite3.h>

#include "base/buffer.h"
#include "roast/base.h"

/* Zeroed storage is closed. */
typedef struct roast_db {
    sqlite3 *handle;
    char *path;
} roast_db;

#define ROAST_DB_MAX_VALUE (256 << 20) /* bytes of one value; what claims to be longer is damage */

/* A new file with our tables and views. It is not safe from a crash until it is closed and synced:
 * there is no journal. */
roast_status roast_db_create(roast_db *db, const char *path, int page_size, roast_error *err);
/* A file of ours for reading, its schema checked: what is not ours letter by letter is
 * ROAST_ECORRUPT. `finished`: see roast_pages_vfs. */
roast_status roast_db_open(roast_db *db, const char *path, bool finished, roast_error *err);
/* The same for adding to it while others read. */
roast_status roast_db_open_live(roast_db *db, const char *path, roast_error *err);
/* Statements must be finalized before. Tells a failure of the last write. */
roast_status roast_db_close(roast_db *db, roast_error *err);

/* What SQLite's last call on this connection ran into. */
roast_status roast_db_fail(const roast_db *db, int code, roast_error *err);
roast_status roast_db_exec(const roast_db *db, const char *sql, roast_error *err);
roast_status roast_db_prepare(const roast_db *db, const char *sql, sqlite3_stmt **out,
                              roast_error *err);
/* Runs a statement that gives no row, and makes it ready for the next time. */
roast_status roast_db_run(const roast_db *db, sqlite3_stmt *statement, roast_error *err);
/* *row is false at the end. */
roast_status roast_db_step(const roast_db *db, sqlite3_stmt *statement, bool *row,
                           roast_error *err);
/* The first column of the first row; ROAST_ECORRUPT where there is none or it is no whole number. */
roast_status roast_db_number(const roast_db *db, const char *sql, int64_t *out, roast_error *err);

/* A row that holds what it cannot. */
roast_status roast_db_damaged(const roast_db *db, const char *table, int64_t row, roast_error *err);

/* ---- columns of a row that was read; false: it holds something else ---- */
bool roast_db_int(sqlite3_stmt *statement, int column, int64_t *out);
/* NULL gives `absent`. */
bool roast_db_int_or(sqlite3_stmt *statement, int column, int64_t absent, int64_t *out);
/* Borrowed until the next step. */
bool roast_db_text(sqlite3_stmt *statement, int column, roast_str *out);
bool roast_db_text_or_null(sqlite3_stmt *statement, int column, roast_str *out);
bool roast_db_blob(sqlite3_stmt *statement, int column, roast_str *out);
/* A real number; NULL is NaN. */
bool roast_db_real(sqlite3_stmt *statement, int column, double *out);

/* ---- values of a row to be written; they stay borrowed until the statement was run ---- */
int roast_db_bind_text(sqlite3_stmt *statement, int parameter, roast_str text);
int roast_db_bind_blob(sqlite3_stmt *statement, int parameter, roast_str bytes);

#endif
