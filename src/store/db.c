#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "store/pages.h"
#include "store/schema.h"

/* ---- failures ---- */

/* "run.sqlite" is enough: whoever called knows the directory. */
static const char *file_of(const roast_db *db) {
    const char *slash = db->path == NULL ? NULL : strrchr(db->path, '/');
    return slash == NULL ? "run.sqlite" : slash + 1;
}

static roast_status damaged_page(const roast_db *db, roast_error *err) {
    uint32_t page = 0;
    sqlite3_file_control(db->handle, "main", ROAST_PAGES_DAMAGED, &page);
    return roast_error_set(err, ROAST_ECORRUPT, file_of(db), -1,
                           "%s is damaged: page %u has a wrong checksum", file_of(db), page);
}

static roast_status failed_call(const roast_db *db, int os_errno, roast_error *err) {
    errno = os_errno != 0 ? os_errno : EIO;
    return roast_error_set(err, ROAST_EIO, file_of(db), -1, "%s: %s", file_of(db), strerror(errno));
}

roast_status roast_db_fail(const roast_db *db, int code, roast_error *err) {
    int os_errno = db->handle == NULL ? 0 : sqlite3_system_errno(db->handle);
    const char *text = db->handle == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(db->handle);
    if (code == SQLITE_IOERR_DATA)
        return damaged_page(db, err);
    if (code == SQLITE_IOERR_SHORT_READ)
        return roast_error_set(err, ROAST_ECORRUPT, file_of(db), -1,
                               "%s is damaged: it is shorter than it says", file_of(db));
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return roast_error_set(err, ROAST_ENOMEM, file_of(db), -1, "no memory for %s", file_of(db));
    case SQLITE_FULL:
        return failed_call(db, os_errno != 0 ? os_errno : ENOSPC, err);
    case SQLITE_READONLY:
        return failed_call(db, os_errno != 0 ? os_errno : EROFS, err);
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return failed_call(db, os_errno != 0 ? os_errno : EACCES, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return failed_call(db, EBUSY, err);
    case SQLITE_IOERR:
        if ((code >> 8) == (SQLITE_IOERR_NOMEM >> 8))
            return roast_error_set(err, ROAST_ENOMEM, file_of(db), -1, "no memory for %s",
                                   file_of(db));
        return failed_call(db, os_errno, err);
    case SQLITE_CANTOPEN:
        return failed_call(db, os_errno, err);
    case SQLITE_TOOBIG:
        if (sqlite3_db_readonly(db->handle, "main") == 0)
            return roast_error_set(err, ROAST_ELIMIT, file_of(db), -1, "a value is too long for %s",
                                   file_of(db));
        break;
    default:
        break;
    }
    /* What we ask is right, so what we read is wrong. */
    return roast_error_set(err, ROAST_ECORRUPT, file_of(db), -1, "%s is damaged: %s", file_of(db),
                           text);
}

roast_status roast_db_damaged(const roast_db *db, const char *table, int64_t row,
                              roast_error *err) {
    return roast_error_set(err, ROAST_ECORRUPT, file_of(db), row,
                           "%s is damaged: row %lld of %s is malformed", file_of(db),
                           (long long)row, table);
}

/* ---- statements ---- */

roast_status roast_db_exec(const roast_db *db, const char *sql, roast_error *err) {
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? ROAST_OK
                             : roast_db_fail(db, sqlite3_extended_errcode(db->handle), err);
}

roast_status roast_db_prepare(const roast_db *db, const char *sql, sqlite3_stmt **out,
                              roast_error *err) {
    int code = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return code == SQLITE_OK ? ROAST_OK
                             : roast_db_fail(db, sqlite3_extended_errcode(db->handle), err);
}

roast_status roast_db_run(const roast_db *db, sqlite3_stmt *statement, roast_error *err) {
    int code = sqlite3_step(statement);
    roast_status status = ROAST_OK;
    if (code != SQLITE_DONE)
        status = roast_db_fail(db, sqlite3_extended_errcode(db->handle), err);
    sqlite3_reset(statement);
    return status;
}

roast_status roast_db_step(const roast_db *db, sqlite3_stmt *statement, bool *row,
                           roast_error *err) {
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return ROAST_OK;
    return roast_db_fail(db, sqlite3_extended_errcode(db->handle), err);
}

roast_status roast_db_number(const roast_db *db, const char *sql, int64_t *out, roast_error *err) {
    sqlite3_stmt *statement;
    bool row;
    ROAST_TRY(roast_db_prepare(db, sql, &statement, err));
    roast_status status = roast_db_step(db, statement, &row, err);
    if (status == ROAST_OK && (!row || !roast_db_int(statement, 0, out)))
        status = roast_error_set(err, ROAST_ECORRUPT, file_of(db), -1,
                                 "%s is damaged: no number is where one should be", file_of(db));
    sqlite3_finalize(statement);
    return status;
}

/* ---- values ---- */

bool roast_db_int(sqlite3_stmt *statement, int column, int64_t *out) {
    sqlite3_value *cell = sqlite3_column_value(statement, column);
    if (sqlite3_value_type(cell) != SQLITE_INTEGER)
        return false;
    *out = sqlite3_value_int64(cell);
    return true;
}

bool roast_db_int_or(sqlite3_stmt *statement, int column, int64_t absent, int64_t *out) {
    sqlite3_value *cell = sqlite3_column_value(statement, column);
    int type = sqlite3_value_type(cell);
    *out = type == SQLITE_NULL ? absent : sqlite3_value_int64(cell);
    return type == SQLITE_NULL || type == SQLITE_INTEGER;
}

static bool bytes_at(sqlite3_stmt *statement, int column, int type, roast_str *out) {
    if (sqlite3_column_type(statement, column) != type)
        return false;
    const void *data = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, column)
                                           : sqlite3_column_blob(statement, column);
    size_t len = (size_t)sqlite3_column_bytes(statement, column);
    if (data == NULL && len > 0)
        return false; /* SQLite is out of memory */
    *out = (roast_str){data == NULL ? "" : data, len};
    return true;
}

bool roast_db_text(sqlite3_stmt *statement, int column, roast_str *out) {
    return bytes_at(statement, column, SQLITE_TEXT, out);
}

bool roast_db_text_or_null(sqlite3_stmt *statement, int column, roast_str *out) {
    *out = (roast_str){NULL, 0};
    return sqlite3_column_type(statement, column) == SQLITE_NULL ||
           bytes_at(statement, column, SQLITE_TEXT, out);
}

bool roast_db_blob(sqlite3_stmt *statement, int column, roast_str *out) {
    return bytes_at(statement, column, SQLITE_BLOB, out);
}

bool roast_db_real(sqlite3_stmt *statement, int column, double *out) {
    int type = sqlite3_column_type(statement, column);
    *out = type == SQLITE_NULL ? NAN : sqlite3_column_double(statement, column);
    return type == SQLITE_NULL || type == SQLITE_FLOAT;
}

int roast_db_bind_text(sqlite3_stmt *statement, int parameter, roast_str text) {
    if (text.data == NULL)
        return sqlite3_bind_null(statement, parameter);
    return sqlite3_bind_text64(statement, parameter, text.data, text.len, SQLITE_STATIC,
                               SQLITE_UTF8);
}

int roast_db_bind_blob(sqlite3_stmt *statement, int parameter, roast_str bytes) {
    if (bytes.data == NULL)
        return sqlite3_bind_null(statement, parameter);
    if (bytes.len == 0)
        return sqlite3_bind_zeroblob(statement, parameter, 0);
    return sqlite3_bind_blob64(statement, parameter, bytes.data, bytes.len, SQLITE_STATIC);
}

/* ---- opening ---- */

static roast_status begin(roast_db *db, const char *path, int flags, bool finished,
                          roast_error *err) {
    const char *vfs = roast_pages_vfs(finished);
    size_t size = strlen(path) + 1;
    *db = (roast_db){NULL, NULL};
    if (vfs == NULL)
        return roast_error_set(err, ROAST_EUNSUPPORTED, "run.sqlite", -1,
                               "SQLite of this system does not work");
    db->path = roast_alloc(size);
    if (db->path == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "run.sqlite", -1, "no memory for run.sqlite");
    memcpy(db->path, path, size);
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(path, &db->handle, flags, vfs);
    return code == SQLITE_OK ? ROAST_OK : roast_db_fail(db, code, err);
}

/* Nothing in the file is trusted, and nothing in it may do anything. */
static void harden(sqlite3 *handle) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, ROAST_DB_MAX_VALUE);
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static roast_status make_schema(const roast_db *db, roast_error *err) {
    const roast_schema_entry *entry;
    for (unsigned i = 0; (entry = roast_schema_at(i)) != NULL; i++)
        ROAST_TRY(roast_db_exec(db, entry->sql, err));
    return ROAST_OK;
}

static roast_status set_up(const roast_db *db, int page_size, roast_error *err) {
    int reserve = ROAST_PAGE_CHECKSUM;
    char *sql = sqlite3_mprintf("PRAGMA page_size=%d;"
                                "PRAGMA journal_mode=OFF;"
                                "PRAGMA synchronous=OFF;"
                                "PRAGMA locking_mode=EXCLUSIVE;"
                                "PRAGMA cache_size=-16384;"
                                "PRAGMA application_id=%d;"
                                "PRAGMA user_version=%d;"
                                "BEGIN",
                                page_size, ROAST_STORE_APPLICATION, ROAST_STORE_VERSION);
    if (sql == NULL)
        return roast_db_fail(db, SQLITE_NOMEM, err);
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, ROAST_DB_MAX_VALUE);
    roast_status status = roast_db_exec(db, sql, err);
    sqlite3_free(sql);
    return status == ROAST_OK ? make_schema(db, err) : status;
}

roast_status roast_db_create(roast_db *db, const char *path, int page_size, roast_error *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    roast_status status = begin(db, path, flags, false, err);
    if (status == ROAST_OK)
        status = set_up(db, page_size, err);
    if (status != ROAST_OK)
        roast_db_close(db, NULL);
    return status;
}

/* ---- whether it is ours ---- */

static roast_status check_version(const roast_db *db, roast_error *err) {
    int64_t application, version;
    ROAST_TRY(roast_db_number(db, "PRAGMA application_id", &application, err));
    ROAST_TRY(roast_db_number(db, "PRAGMA user_version", &version, err));
    if (application != ROAST_STORE_APPLICATION)
        return roast_error_set(err, ROAST_ECORRUPT, file_of(db), 68,
                               "%s is not a file of roastcoffea", file_of(db));
    if (version > ROAST_STORE_VERSION)
        return roast_error_set(err, ROAST_EVERSION, file_of(db), 60,
                               "%s has version %lld; this roastcoffea (%s) reads up to version %d: "
                               "upgrade it",
                               file_of(db), (long long)version, roast_version(),
                               ROAST_STORE_VERSION);
    if (version < 1)
        return roast_error_set(err, ROAST_ECORRUPT, file_of(db), 60,
                               "%s is damaged: version %lld does not exist", file_of(db),
                               (long long)version);
    return ROAST_OK;
}

static bool is_text(sqlite3_stmt *statement, int column, const char *wanted) {
    roast_str text;
    return roast_db_text(statement, column, &text) && roast_str_equal(text, roast_str_of(wanted));
}

static bool is_entry(sqlite3_stmt *statement, const roast_schema_entry *entry) {
    return entry != NULL && is_text(statement, 0, entry->type) &&
           is_text(statement, 1, entry->name) && is_text(statement, 2, entry->name) &&
           is_text(statement, 3, entry->sql);
}

static roast_status check_entries(const roast_db *db, sqlite3_stmt *statement, roast_error *err) {
    bool row = true;
    for (unsigned i = 0;; i++) {
        ROAST_TRY(roast_db_step(db, statement, &row, err));
        const roast_schema_entry *wanted = roast_schema_at(i);
        if (!row && wanted == NULL)
            return ROAST_OK;
        if (row && is_entry(statement, wanted))
            continue;
        roast_str name = {"", 0};
        if (row)
            roast_db_text(statement, 1, &name);
        return roast_error_set(err, ROAST_ECORRUPT, file_of(db), -1,
                               row ? "%s is damaged: '%.*s' in it is not as roastcoffea makes it"
                                   : "%s is damaged: '%.*s' is missing in it",
                               file_of(db), row ? (int)(name.len < 64 ? name.len : 64) : 64,
                               row ? name.data : wanted->name);
    }
}

static roast_status check_schema(const roast_db *db, roast_error *err) {
    sqlite3_stmt *statement;
    ROAST_TRY(roast_db_prepare(
        db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid", &statement, err));
    roast_status status = check_entries(db, statement, err);
    sqlite3_finalize(statement);
    return status;
}

/* One snapshot for all that will be read. */
static roast_status check_all(roast_db *db, roast_error *err) {
    harden(db->handle);
    sqlite3_busy_timeout(db->handle, 2000);
    ROAST_TRY(roast_db_exec(db, "PRAGMA cell_size_check=ON; PRAGMA cache_size=-8192; BEGIN", err));
    ROAST_TRY(check_version(db, err));
    ROAST_TRY(check_schema(db, err));
    /* All in it is ours: now its views may use what some versions of SQLite hold to be unsafe there,
     * json_extract. */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
    return ROAST_OK;
}

roast_status roast_db_open(roast_db *db, const char *path, bool finished, roast_error *err) {
    roast_status status = begin(db, path, SQLITE_OPEN_READONLY, finished, err);
    if (status == ROAST_OK)
        status = check_all(db, err);
    if (status == ROAST_OK)
        status = roast_db_exec(db, "PRAGMA query_only=ON", err);
    if (status != ROAST_OK)
        roast_db_close(db, NULL);
    return status;
}

roast_status roast_db_open_live(roast_db *db, const char *path, roast_error *err) {
    roast_status status = begin(db, path, SQLITE_OPEN_READWRITE, false, err);
    if (status == ROAST_OK) {
        sqlite3_busy_timeout(db->handle, 2000);
        status = roast_db_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
    }
    if (status != ROAST_OK)
        roast_db_close(db, NULL);
    return status;
}

roast_status roast_db_close(roast_db *db, roast_error *err) {
    roast_status status = ROAST_OK;
    if (db->handle != NULL) {
        int code = sqlite3_close(db->handle);
        if (code != SQLITE_OK) {
            status = roast_db_fail(db, code, err);
            sqlite3_close_v2(db->handle);
        }
    }
    roast_free(db->path);
    *db = (roast_db){NULL, NULL};
    return status;
}
