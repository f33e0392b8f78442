#include "store/database/db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- failures ---- */

static const char file[] = "run.sqlite"; /* enough: the caller knows the directory */

static roast_status failed_call(int os_errno, roast_error *err) {
    errno = os_errno != 0 ? os_errno : EIO;
    return roast_error_set(err, ROAST_EIO, file, -1, "%s: %s", file, strerror(errno));
}

roast_status roast_db_damaged(roast_error *err, const char *format, ...) {
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return roast_error_set(err, ROAST_ECORRUPT, file, -1, "%s is damaged: %s", file, what);
}

roast_status roast_db_fail(sqlite3 *db, int code, roast_error *err) {
    int os_errno = db == NULL ? 0 : sqlite3_system_errno(db);
    bool no_memory = (code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;
    if (no_memory)
        return roast_error_set(err, ROAST_ENOMEM, file, -1, "no memory for %s", file);
    if (code == SQLITE_IOERR_SHORT_READ)
        return roast_db_damaged(err, "it is shorter than it says");
    switch (code & 0xff) {
    case SQLITE_FULL:
        return failed_call(os_errno != 0 ? os_errno : ENOSPC, err);
    case SQLITE_READONLY:
        return failed_call(os_errno != 0 ? os_errno : EROFS, err);
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return failed_call(os_errno != 0 ? os_errno : EACCES, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return failed_call(EBUSY, err);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return failed_call(os_errno, err);
    default:
        /* Our statements are correct, so the contents of the file are wrong. */
        return roast_db_damaged(err, "%s", db == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(db));
    }
}

roast_status roast_db_exec(sqlite3 *db, const char *sql, roast_error *err) {
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? ROAST_OK : roast_db_fail(db, sqlite3_extended_errcode(db), err);
}

/* ---- opening ---- */

roast_status roast_db_check_path(const char *directory, roast_error *err) {
    if (strlen(directory) <= ROAST_DB_MAX_PATH)
        return ROAST_OK;
    errno = ENAMETOOLONG;
    return roast_error_set(err, ROAST_EIO, file, -1,
                           "the path of a measurement has at most %d bytes", ROAST_DB_MAX_PATH);
}

/* Opening a pipe would wait for its other end, and SQLite opens the files beside the database without asking. */
static bool may_open(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[512]; /* a longer one is too long for SQLite */
    struct stat info;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        if (stat(name, &info) == 0 && !S_ISREG(info.st_mode))
            return false;
    }
    return true;
}

/* "file:PATH?immutable=1"; to be freed. NULL: no memory. */
static char *immutable_name(const char *path) {
    static const char front[] = "file:", back[] = "?immutable=1";
    char *name = roast_alloc(sizeof front + sizeof back + 3 * strlen(path));
    if (name == NULL)
        return NULL;
    char *at = name + sprintf(name, "%s", front);
    for (; *path != '\0'; path++)
        at += sprintf(at, strchr("%?#", *path) != NULL ? "%%%02x" : "%c", (unsigned char)*path);
    memcpy(at, back, sizeof back);
    return name;
}

static roast_status open_with(sqlite3 **db, const char *path, int flags, bool finished,
                              roast_error *err) {
    *db = NULL;
    if (!may_open(path))
        return roast_db_fail(NULL, SQLITE_CANTOPEN, err);
    char *name = finished ? immutable_name(path) : NULL;
    if (finished && name == NULL)
        return roast_error_set(err, ROAST_ENOMEM, file, -1, "no memory for %s", file);
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (finished ? SQLITE_OPEN_URI : 0);
    int code = sqlite3_open_v2(finished ? name : path, db, flags, NULL);
    roast_free(name);
    if (code != SQLITE_OK)
        return roast_db_fail(*db, code, err);
    sqlite3_busy_timeout(*db, 2000);
    return ROAST_OK;
}

static roast_status close_after(sqlite3 **db, roast_status status) {
    if (status != ROAST_OK) {
        roast_db_close(*db, NULL);
        *db = NULL;
    }
    return status;
}

#define SCHEMA                                                                                     \
    "CREATE TABLE parts(id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum INTEGER NOT NULL, "   \
    "bytes BLOB NOT NULL)"

roast_status roast_db_create(sqlite3 **out, const char *path, roast_error *err) {
    char sql[400];
    snprintf(sql, sizeof sql,
             "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
             "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;" SCHEMA,
             ROAST_STORE_APPLICATION, ROAST_STORE_VERSION);
    roast_status status =
        open_with(out, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, false, err);
    if (status == ROAST_OK)
        status = roast_db_exec(*out, sql, err);
    return close_after(out, status);
}

roast_status roast_db_number(sqlite3 *db, const char *sql, int64_t *out, roast_error *err) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? ROAST_OK : roast_db_fail(db, code, err);
}

static roast_status check_version(sqlite3 *db, roast_error *err) {
    int64_t application, version;
    ROAST_TRY(roast_db_number(db, "PRAGMA application_id", &application, err));
    ROAST_TRY(roast_db_number(db, "PRAGMA user_version", &version, err));
    if (application != ROAST_STORE_APPLICATION)
        return roast_db_damaged(err, "it is not a file of roastcoffea");
    if (version > ROAST_STORE_VERSION)
        return roast_error_set(err, ROAST_EVERSION, file, -1,
                               "%s has version %lld; this roastcoffea (%s) reads version %d: "
                               "upgrade it",
                               file, (long long)version, roast_version(), ROAST_STORE_VERSION);
    if (version < ROAST_STORE_VERSION)
        return roast_db_damaged(err, "version %lld of it was never released", (long long)version);
    return ROAST_OK;
}

/* Nothing in the file is trusted: SQLite runs no statement that the file brings along. */
static roast_status check_schema(sqlite3 *db, roast_error *err) {
    int64_t others;
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    ROAST_TRY(roast_db_exec(db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON; BEGIN", err));
    ROAST_TRY(check_version(db, err));
    ROAST_TRY(roast_db_number(db,
                              "SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'parts' AND "
                              "tbl_name = 'parts' AND sql = '" SCHEMA
                              "') * 2 - (SELECT count(*) FROM "
                              "sqlite_schema)",
                              &others, err));
    return others == 1 ? ROAST_OK
                       : roast_db_damaged(err, "its tables are not as roastcoffea makes them");
}

roast_status roast_db_open(sqlite3 **out, const char *path, bool finished, roast_error *err) {
    roast_status status = open_with(out, path, SQLITE_OPEN_READONLY, finished, err);
    if (status == ROAST_OK)
        status = check_schema(*out, err);
    return close_after(out, status);
}

roast_status roast_db_open_live(sqlite3 **out, const char *path, roast_error *err) {
    roast_status status = open_with(out, path, SQLITE_OPEN_READWRITE, false, err);
    if (status == ROAST_OK)
        status = roast_db_exec(*out, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
    return close_after(out, status);
}

roast_status roast_db_close(sqlite3 *db, roast_error *err) {
    int code = sqlite3_close(db);
    if (code == SQLITE_OK)
        return ROAST_OK;
    roast_status status = roast_db_fail(db, code, err);
    sqlite3_close_v2(db);
    return status;
}
