#include "store/database/db.h"

#include <errno.h>
#include <pthread.h>
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

/* ---- SQLite's access to files: the system's, but for two things ---- */

static sqlite3_vfs *below; /* the system's */
static sqlite3_vfs layer;
static bool registered;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Opening a pipe would wait for its other end. */
static bool may_open(const char *name) {
    struct stat info;
    return name == NULL || stat(name, &info) != 0 || S_ISREG(info.st_mode);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags,
                     int *out_flags) {
    char shared[ROAST_DB_MAX_PATH + sizeof "-shm"];
    (void)vfs;
    opened->pMethods = NULL;
    /* SQLite opens the -shm file without asking. */
    snprintf(shared, sizeof shared, "%s-shm", name != NULL ? name : "");
    if (!may_open(name) || !may_open(shared))
        return SQLITE_CANTOPEN;
    return below->xOpen(below, name, opened, flags, out_flags);
}

/* As it is: the system's function knows no path beyond 512 bytes, and a measurement may lie deeper. */
static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    size_t len = strlen(name);
    if (len >= (size_t)size)
        return SQLITE_CANTOPEN;
    memcpy(out, name, len + 1);
    return SQLITE_OK;
}

static void register_layer(void) {
    below = sqlite3_vfs_find(NULL);
    if (below == NULL)
        return;
    layer = *below;
    layer.zName = "roast";
    layer.pNext = NULL;
    layer.mxPathname = ROAST_DB_MAX_PATH;
    layer.xOpen = open_file;
    layer.xFullPathname = full_path;
    registered = sqlite3_vfs_register(&layer, 0) == SQLITE_OK;
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

/* ---- opening ---- */

static roast_status open_with(sqlite3 **db, const char *path, int flags, bool finished,
                              roast_error *err) {
    pthread_once(&once, register_layer);
    *db = NULL;
    if (!registered)
        return roast_error_set(err, ROAST_EUNSUPPORTED, file, -1,
                               "SQLite of this system does not work");
    char *name = finished ? immutable_name(path) : NULL;
    if (finished && name == NULL)
        return roast_error_set(err, ROAST_ENOMEM, file, -1, "no memory for %s", file);
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (finished ? SQLITE_OPEN_URI : 0);
    int code = sqlite3_open_v2(finished ? name : path, db, flags, layer.zName);
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
