#include "sql/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "roast/text.h"

enum { MAX_VALUE = 256 << 20 };      /* bytes of one value, and of a question */
enum { STEPS_BETWEEN_LOOKS = 4000 }; /* of SQLite's machine, at the clock; some 0.1 ms */

typedef bool column_set[ROAST_SQL_MAX_COLUMNS];

struct roast_sql {
    sqlite3 *db; /* in memory: all tables of the run; those of the query have rows */
    sqlite3_stmt *statement;
    const roast_run *run;
    const roast_metrics *metrics;
    column_set wanted[ROAST_SQL_TABLES]; /* by the query that is looked at */
    bool filling;
    roast_str query;     /* borrowed while it is looked at */
    const char *refused; /* the forbidden action of the query; NULL: none */
    double time_limit;   /* s; 0: none */
    roast_mono started;
};

static const char where[] = "sql";

const roast_sql_table *roast_sql_table_at(uint32_t index) {
    return index < ROAST_SQL_TABLES ? &roast_sql_sources[index].table : NULL;
}

/* ---- names in a query ---- */

static bool is_letter(char letter) {
    return isalnum((unsigned char)letter) || letter == '_';
}

/* The position of a word in the query; -1: nowhere. */
static int64_t place_of(roast_str query, roast_str word) {
    for (size_t i = 0; word.len > 0 && i + word.len <= query.len; i++)
        if (sqlite3_strnicmp(query.data + i, word.data, (int)word.len) == 0 &&
            (i == 0 || !is_letter(query.data[i - 1])) &&
            (i + word.len == query.len || !is_letter(query.data[i + word.len])))
            return (int64_t)i;
    return -1;
}

/* SQLite reports each column that is read, but for those of USING and NATURAL. */
static void note_read(roast_sql *sql, const char *table, const char *column) {
    roast_str name;
    for (int i = 0; i < ROAST_SQL_TABLES; i++) {
        const char *names = roast_sql_sources[i].table.columns;
        if (sqlite3_stricmp(table, roast_sql_sources[i].table.name) != 0)
            continue;
        for (int at = 0; roast_sql_next_name(&names, &name); at++)
            if (roast_str_equal(name, roast_str_of(column)))
                sql->wanted[i][at] = true;
    }
}

/* The columns that a query names, or may mean. */
static void note_names(roast_sql *sql, uint32_t table) {
    bool natural = place_of(sql->query, roast_str_of("natural")) >= 0;
    const char *names = roast_sql_sources[table].table.columns;
    roast_str name;
    for (int at = 0; roast_sql_next_name(&names, &name); at++)
        if (natural || place_of(sql->query, name) >= 0)
            sql->wanted[table][at] = true;
}

/* ---- what a query may do ---- */

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names != NULL; names++)
        if (sqlite3_stricmp(name, *names) == 0)
            return true;
    return false;
}

static int refuse(roast_sql *sql, const char *what) {
    if (sql->refused == NULL)
        sql->refused = what;
    return SQLITE_DENY;
}

/* Only reading. Only pragmas that return something, without a value or with the name of a table. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger) {
    static const char *const functions[] = {"load_extension", "fts3_tokenizer", NULL};
    static const char *const of_tables[] = {"table_info", "table_xinfo", "index_list",
                                            "index_info", "table_list",  NULL};
    static const char *const plain[] = {"user_version",  "application_id",  "page_count",
                                        "page_size",     "schema_version",  "encoding",
                                        "function_list", "compile_options", NULL};
    roast_sql *sql = context;
    (void)database, (void)trigger;
    if (sql->filling)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_READ:
        note_read(sql, first, second);
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_one_of(second, functions) ? refuse(sql, "this function") : SQLITE_OK;
    case SQLITE_PRAGMA:
        if (is_one_of(first, of_tables) || (second == NULL && is_one_of(first, plain)))
            return SQLITE_OK;
        return refuse(sql, "this pragma");
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return refuse(sql, "other files");
    default:
        return refuse(sql, "changes");
    }
}

static int look_at_clock(void *context) {
    const roast_sql *sql = context;
    double seconds = (double)roast_mono_since(sql->started, roast_mono_now()) / 1e9;
    return sql->time_limit > 0 && seconds > sql->time_limit;
}

void roast_sql_set_time_limit(roast_sql *sql, double seconds) {
    sql->time_limit = seconds;
}

/* ---- tables ---- */

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for a query");
}

static roast_status too_slow(const roast_sql *sql, roast_error *err) {
    return roast_error_set(err, ROAST_ELIMIT, where, -1, "the answer took longer than %g s",
                           sql->time_limit);
}

/* SQLite's own failures; faults of a query are reported elsewhere. */
static roast_status failed(int code, const char *why, roast_error *err) {
    return code == SQLITE_NOMEM ? no_memory(err)
                                : roast_error_set(err, ROAST_EUNSUPPORTED, where, -1, "%s", why);
}

/* Prepares a statement of a table. In `format`, "%s" stands for its name, then for its columns with a comma between
 * them, or for a '?' for each. */
static int prepare_for(sqlite3 *db, const char *format, uint32_t table, bool marks,
                       sqlite3_stmt **out) {
    const char *names = roast_sql_sources[table].table.columns, *gap = "";
    sqlite3_str *list = sqlite3_str_new(db);
    for (roast_str name; roast_sql_next_name(&names, &name); gap = ",")
        sqlite3_str_appendf(list, "%s%.*s", gap, marks ? 1 : (int)name.len,
                            marks ? "?" : name.data);
    char *columns = sqlite3_str_finish(list);
    char *text = columns != NULL
                     ? sqlite3_mprintf(format, roast_sql_sources[table].table.name, columns)
                     : NULL;
    int code = text != NULL ? sqlite3_prepare_v2(db, text, -1, out, NULL) : SQLITE_NOMEM;
    sqlite3_free(columns);
    sqlite3_free(text);
    return code;
}

static int make_tables(sqlite3 *db) {
    int code = SQLITE_OK;
    for (uint32_t i = 0; i < ROAST_SQL_TABLES && code == SQLITE_OK; i++) {
        sqlite3_stmt *create = NULL;
        code = prepare_for(db, "CREATE TABLE %s(%s)", i, false, &create);
        if (code == SQLITE_OK)
            sqlite3_step(create);
        int finished = sqlite3_finalize(create);
        code = code == SQLITE_OK ? finished : code;
    }
    return code;
}

/* `format` takes the name of a table twice, then its first column. */
static int change(sqlite3 *db, const char *format, const roast_sql_table *table) {
    int len = (int)strcspn(table->columns, " ");
    char *text = sqlite3_mprintf(format, table->name, table->name, len, table->columns);
    int code = text != NULL ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

/* Puts the rows of a table into an empty one. SQLite's failure is left in rows->code. */
static roast_status fill(sqlite3 *db, uint32_t table, roast_sql_rows *rows) {
    rows->columns = roast_sql_sources[table].table.columns;
    rows->column = 0;
    rows->insert = NULL;
    rows->code = prepare_for(db, "INSERT INTO %s VALUES(%s)", table, true, &rows->insert);
    if (rows->code == SQLITE_OK)
        roast_sql_sources[table].fill(rows);
    sqlite3_finalize(rows->insert);
    return rows->status;
}

/* Makes the rows of the tables that the query names. An index lets a query for each chunk, inside one for all of them,
 * end in time; SQLite prepares the statement anew where there is one. */
static roast_status fill_tables(roast_sql *sql, roast_sql_rows *rows) {
    rows->code = sqlite3_exec(sql->db, "BEGIN", NULL, NULL, NULL);
    for (uint32_t i = 0; i < ROAST_SQL_TABLES && rows->code == SQLITE_OK; i++) {
        const roast_sql_table *table = &roast_sql_sources[i].table;
        if (place_of(sql->query, roast_str_of(table->name)) < 0)
            continue;
        note_names(sql, i);
        rows->wanted = sql->wanted[i];
        rows->code = change(sql->db, "DELETE FROM %s", table);
        if (rows->code == SQLITE_OK)
            ROAST_TRY(fill(sql->db, i, rows));
        if (rows->code == SQLITE_OK && roast_sql_sources[i].keyed && rows->wanted[0])
            rows->code = change(sql->db, "CREATE INDEX IF NOT EXISTS %s_by_key ON %s(%.*s)", table);
    }
    return ROAST_OK;
}

static roast_status make_rows(roast_sql *sql, roast_error *err) {
    roast_sql_rows rows = {.run = sql->run, .metrics = sql->metrics, .err = err};
    sql->filling = true;
    roast_status status = fill_tables(sql, &rows);
    sqlite3_exec(sql->db, "COMMIT", NULL, NULL, NULL);
    sql->filling = false;
    if (status != ROAST_OK || rows.code == SQLITE_OK)
        return status;
    return rows.code == SQLITE_INTERRUPT ? too_slow(sql, err)
                                         : failed(rows.code, sqlite3_errstr(rows.code), err);
}

/* ---- life ---- */

static roast_status begin(roast_sql *sql, roast_error *err) {
    int code =
        sqlite3_open_v2(":memory:", &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = make_tables(sql->db);
    if (code != SQLITE_OK)
        return failed(code, sqlite3_errstr(code), err);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(sql->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    sqlite3_set_authorizer(sql->db, authorize, sql);
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_LOOKS, look_at_clock, sql);
    return ROAST_OK;
}

roast_status roast_sql_new(const roast_run *run, const roast_metrics *metrics, roast_sql **out,
                           roast_error *err) {
    roast_sql *sql = roast_alloc_zero(sizeof *sql);
    if (sql == NULL)
        return no_memory(err);
    sql->run = run;
    sql->metrics = metrics;
    roast_status status = begin(sql, err);
    if (status != ROAST_OK) {
        roast_sql_free(sql);
        return status;
    }
    *out = sql;
    return ROAST_OK;
}

void roast_sql_free(roast_sql *sql) {
    if (sql == NULL)
        return;
    sqlite3_finalize(sql->statement);
    sqlite3_close(sql->db);
    roast_free(sql);
}

/* ---- all tables, for other programs ---- */

static roast_status failed_file(const char *path, const char *why, roast_error *err) {
    return roast_error_set(err, ROAST_EIO, where, -1, "%s: %s", path, why);
}

/* SQLite's failure is left in rows->code. */
static roast_status save_into(sqlite3 *db, roast_sql_rows *rows) {
    rows->code = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    if (rows->code == SQLITE_OK)
        rows->code = make_tables(db);
    for (uint32_t i = 0; i < ROAST_SQL_TABLES && rows->code == SQLITE_OK; i++)
        ROAST_TRY(fill(db, i, rows));
    if (rows->code == SQLITE_OK)
        rows->code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return ROAST_OK;
}

roast_status roast_sql_save(const roast_run *run, const roast_metrics *metrics, const char *path,
                            roast_error *err) {
    sqlite3 *db = NULL;
    column_set all;
    memset(all, true, sizeof all);
    roast_sql_rows rows = {.run = run, .metrics = metrics, .wanted = all, .err = err};
    /* SQLite takes an empty file for an empty database; O_EXCL keeps every other file safe. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed_file(path, strerror(errno), err);
    close(fd);
    rows.code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    roast_status status = rows.code == SQLITE_OK ? save_into(db, &rows) : ROAST_OK;
    sqlite3_close(db);
    if (status == ROAST_OK && rows.code != SQLITE_OK)
        status = rows.code == SQLITE_NOMEM ? no_memory(err)
                                           : failed_file(path, sqlite3_errstr(rows.code), err);
    if (status != ROAST_OK)
        unlink(path);
    return status;
}

/* ---- faults of a query ---- */

/* The word after `prefix` in a message of SQLite; absent if it is another message. */
static roast_str named_in(const char *message, const char *prefix) {
    size_t len = strlen(prefix);
    if (strncmp(message, prefix, len) != 0)
        return (roast_str){NULL, 0};
    const char *name = message + len, *dot = strrchr(name, '.');
    return roast_str_of(dot != NULL ? dot + 1 : name);
}

static roast_str nearest_table(roast_str wanted) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, wanted);
    for (int i = 0; i < ROAST_SQL_TABLES; i++)
        roast_nearest_offer(&nearest, roast_str_of(roast_sql_sources[i].table.name));
    return nearest.found;
}

static roast_str nearest_column(roast_str wanted) {
    roast_nearest nearest;
    roast_str name;
    roast_nearest_init(&nearest, wanted);
    for (int i = 0; i < ROAST_SQL_TABLES; i++)
        for (const char *names = roast_sql_sources[i].table.columns;
             roast_sql_next_name(&names, &name);)
            roast_nearest_offer(&nearest, name);
    return nearest.found;
}

static roast_status refusal(const char *what, roast_error *err) {
    return roast_error_set(err, ROAST_EINVAL, where, -1,
                           "only questions are answered (SELECT, VALUES, WITH, EXPLAIN), not %s",
                           what);
}

static roast_status wrong_sql(const roast_sql *sql, roast_error *err) {
    const char *message = sqlite3_errmsg(sql->db);
    roast_str table = named_in(message, "no such table: ");
    roast_str column = named_in(message, "no such column: "), found = {NULL, 0};
    int64_t position = sqlite3_error_offset(sql->db);
    if (position < 0) /* SQLite does not always report it */
        position = place_of(sql->query, table);
    if (table.data != NULL)
        found = nearest_table(table);
    else if (column.data != NULL)
        found = nearest_column(column);
    if (found.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, where, position, "%s", message);
    return roast_error_set(err, ROAST_EINVAL, where, position, "%s; did you mean \"%.*s\"?",
                           message, (int)found.len, found.data);
}

static roast_status fail(const roast_sql *sql, roast_error *err) {
    int code = sqlite3_extended_errcode(sql->db);
    if (sql->refused != NULL)
        return refusal(sql->refused, err);
    switch (code & 0xff) {
    case SQLITE_AUTH:
        return refusal("this", err);
    case SQLITE_INTERRUPT:
        return too_slow(sql, err);
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return wrong_sql(sql, err);
    default:
        return failed(code & 0xff, sqlite3_errmsg(sql->db), err);
    }
}

/* ---- asking ---- */

/* Whether something but blanks, comments and semicolons is left. */
static bool has_more(sqlite3 *handle, const char *tail, const char *end) {
    sqlite3_stmt *next = NULL;
    while (tail < end) {
        const char *before = tail;
        int code = sqlite3_prepare_v2(handle, tail, (int)(end - tail), &next, &tail);
        sqlite3_finalize(next);
        if (code != SQLITE_OK || next != NULL)
            return true;
        if (tail == before)
            break;
    }
    return false;
}

static roast_status prepare(roast_sql *sql, roast_str query, roast_error *err) {
    const char *tail, *end = query.data + query.len;
    sqlite3 *handle = sql->db;
    if (sqlite3_prepare_v2(handle, query.data, (int)query.len, &sql->statement, &tail) != SQLITE_OK)
        return fail(sql, err);
    if (sql->statement == NULL)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no question");
    if (has_more(handle, tail, end))
        return roast_error_set(err, ROAST_EINVAL, where, tail - query.data,
                               "only one question at a time");
    if (!sqlite3_stmt_readonly(sql->statement))
        return refusal("changes", err);
    return ROAST_OK;
}

roast_status roast_sql_ask(roast_sql *sql, roast_str query, roast_error *err) {
    sqlite3_finalize(sql->statement);
    sql->statement = NULL;
    sql->refused = NULL;
    if (query.len > MAX_VALUE)
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "the question is too long");
    memset(sql->wanted, 0, sizeof sql->wanted);
    sql->started = roast_mono_now();
    sql->query = query;
    roast_status status = prepare(sql, query, err);
    if (status == ROAST_OK)
        status = make_rows(sql, err);
    sql->query = (roast_str){NULL, 0};
    if (status != ROAST_OK) {
        sqlite3_finalize(sql->statement);
        sql->statement = NULL;
    }
    return status;
}

uint32_t roast_sql_column_count(const roast_sql *sql) {
    return sql->statement != NULL ? (uint32_t)sqlite3_column_count(sql->statement) : 0;
}

const char *roast_sql_column(const roast_sql *sql, uint32_t column) {
    if (column >= roast_sql_column_count(sql))
        return NULL;
    const char *name = sqlite3_column_name(sql->statement, (int)column);
    return name != NULL ? name : ""; /* no memory for it */
}

roast_status roast_sql_next(roast_sql *sql, bool *there, roast_error *err) {
    if (sql->statement == NULL)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "nothing was asked");
    int code = sqlite3_step(sql->statement);
    *there = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? ROAST_OK : fail(sql, err);
}

roast_sql_cell roast_sql_cell_at(const roast_sql *sql, uint32_t column) {
    roast_sql_cell cell = {.kind = ROAST_SQL_NULL};
    int index = (int)column;
    if (column >= roast_sql_column_count(sql))
        return cell;
    switch (sqlite3_column_type(sql->statement, index)) {
    case SQLITE_INTEGER:
        cell.kind = ROAST_SQL_INT;
        cell.integer = sqlite3_column_int64(sql->statement, index);
        return cell;
    case SQLITE_FLOAT:
        cell.kind = ROAST_SQL_REAL;
        cell.real = sqlite3_column_double(sql->statement, index);
        return cell;
    case SQLITE_TEXT:
        cell.kind = ROAST_SQL_TEXT;
        cell.text.data = (const char *)sqlite3_column_text(sql->statement, index);
        break;
    case SQLITE_BLOB:
        cell.kind = ROAST_SQL_BLOB;
        cell.text.data = sqlite3_column_blob(sql->statement, index);
        break;
    default:
        return cell;
    }
    cell.text.len = (size_t)sqlite3_column_bytes(sql->statement, index);
    if (cell.text.data == NULL)
        cell.text = (roast_str){"", 0};
    return cell;
}
