#include "store/sql/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "roast/text.h"

enum { MAX_VALUE = 256 << 20 };      /* bytes of one value, and of a question */
enum { STEPS_BETWEEN_LOOKS = 4000 }; /* of SQLite's machine, at the clock; some 0.1 ms */

struct roast_sql {
    sqlite3 *db; /* in memory: it has the tables of the run and those of the caller */
    sqlite3_stmt *statement, *insert;
    roast_sql_tables source;
    roast_sql_table *tables;
    size_t tables_capacity;
    uint32_t n_tables;
    roast_arena texts;
    roast_str query;     /* borrowed while it is looked at */
    const char *refused; /* the forbidden action of the query; NULL: none */
    double time_limit;   /* s; 0: none */
    roast_mono started;
};

static const char where[] = "sql";

/* ---- cells ---- */

roast_sql_cell roast_sql_int(int64_t integer) {
    return (roast_sql_cell){.kind = ROAST_SQL_INT, .integer = integer};
}

roast_sql_cell roast_sql_real(double real) {
    return (roast_sql_cell){.kind = isnan(real) ? ROAST_SQL_NULL : ROAST_SQL_REAL, .real = real};
}

roast_sql_cell roast_sql_text(roast_str text) {
    return (roast_sql_cell){.kind = text.data != NULL ? ROAST_SQL_TEXT : ROAST_SQL_NULL,
                            .text = text};
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
    (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_one_of(second, functions) ? refuse(context, "this function") : SQLITE_OK;
    case SQLITE_PRAGMA:
        if (is_one_of(first, of_tables) || (second == NULL && is_one_of(first, plain)))
            return SQLITE_OK;
        return refuse(context, "this pragma");
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return refuse(context, "other files");
    default:
        return refuse(context, "changes");
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

/* ---- the list of tables ---- */

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for a question");
}

/* SQLite's own failures; faults of a query are reported elsewhere. */
static roast_status failed(const roast_sql *sql, roast_error *err) {
    return sqlite3_errcode(sql->db) == SQLITE_NOMEM
               ? no_memory(err)
               : roast_error_set(err, ROAST_EUNSUPPORTED, where, -1, "%s", sqlite3_errmsg(sql->db));
}

/* Asks SQLite for the columns, which makes it declare the table: later the authorizer would refuse that. */
static roast_status add_to_list(roast_sql *sql, const char *name, roast_error *err) {
    sqlite3_stmt *columns = NULL;
    roast_str kept_name, kept_columns;
    void *tables = sql->tables;
    roast_status status = roast_array_reserve(&tables, &sql->tables_capacity, sizeof *sql->tables,
                                              (size_t)sql->n_tables + 1);
    sql->tables = tables;
    if (status != ROAST_OK)
        return no_memory(err);
    if (sqlite3_prepare_v2(sql->db, "SELECT group_concat(name, ' ') FROM pragma_table_info(?1)", -1,
                           &columns, NULL) != SQLITE_OK ||
        sqlite3_bind_text(columns, 1, name, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(columns) != SQLITE_ROW || sqlite3_column_text(columns, 0) == NULL)
        status = failed(sql, err);
    else if (roast_arena_str(&sql->texts, roast_str_of(name), &kept_name) != ROAST_OK ||
             roast_arena_str(&sql->texts,
                             roast_str_of((const char *)sqlite3_column_text(columns, 0)),
                             &kept_columns) != ROAST_OK)
        status = no_memory(err);
    else
        sql->tables[sql->n_tables++] = (roast_sql_table){kept_name.data, kept_columns.data};
    sqlite3_finalize(columns);
    return status;
}

const roast_sql_table *roast_sql_table_at(const roast_sql *sql, uint32_t index) {
    return index < sql->n_tables ? &sql->tables[index] : NULL;
}

/* ---- life ---- */

static roast_status begin(roast_sql *sql, roast_error *err) {
    const char *name;
    if (sqlite3_open_v2(":memory:", &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        roast_sql_offer_tables(sql->db, &sql->source) != SQLITE_OK)
        return sql->db == NULL ? no_memory(err) : failed(sql, err);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(sql->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    for (unsigned i = 0; (name = roast_sql_table_name(i)) != NULL; i++)
        ROAST_TRY(add_to_list(sql, name, err));
    return ROAST_OK;
}

roast_status roast_sql_new(const roast_run *run, roast_sql **out, roast_error *err) {
    roast_sql *sql = roast_alloc_zero(sizeof *sql);
    if (sql == NULL)
        return no_memory(err);
    sql->source.run = run;
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
    sqlite3_finalize(sql->insert);
    sqlite3_close(sql->db);
    roast_sql_free_tables(&sql->source);
    roast_free(sql->tables);
    roast_arena_reset(&sql->texts);
    roast_free(sql);
}

/* ---- tables of the caller's ---- */

static bool is_name(const char *text, bool several) {
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && !(several && *text == ' '))
            return false;
    return true;
}

/* Runs a statement that `format` makes of a name and a list in which every blank becomes a comma. */
static int run_made(roast_sql *sql, const char *format, const char *name, const char *list,
                    sqlite3_stmt **out) {
    char *text = sqlite3_mprintf(format, name, list);
    if (text == NULL)
        return SQLITE_NOMEM;
    for (char *at = strchr(text, '('); at != NULL && *at != '\0'; at++)
        *at = *at == ' ' ? ',' : *at;
    int code = sqlite3_prepare_v2(sql->db, text, -1, out, NULL);
    sqlite3_free(text);
    return code;
}

static roast_status make_table(roast_sql *sql, const char *name, const char *columns,
                               roast_error *err) {
    sqlite3_stmt *create = NULL;
    char marks[512] = "?";
    for (const char *at = columns;
         (at = strchr(at, ' ')) != NULL && strlen(marks) + 3 < sizeof marks; at++)
        strcat(marks, " ?");
    int code = run_made(sql, "CREATE TABLE %s(%s)", name, columns, &create);
    if (code == SQLITE_OK && (code = sqlite3_step(create)) == SQLITE_DONE) {
        sqlite3_finalize(sql->insert);
        sql->insert = NULL;
        code = run_made(sql, "INSERT INTO %s VALUES(%s)", name, marks, &sql->insert);
    }
    roast_status status = code == SQLITE_OK ? ROAST_OK : failed(sql, err);
    sqlite3_finalize(create);
    return status;
}

roast_status roast_sql_add_table(roast_sql *sql, const char *name, const char *columns,
                                 roast_error *err) {
    if (!is_name(name, false) || !is_name(columns, true) || name[0] == '\0' || columns[0] == '\0')
        return roast_error_set(err, ROAST_EINVAL, where, -1, "\"%s\" is no table: %s", name,
                               columns);
    sqlite3_set_authorizer(sql->db, NULL, NULL);
    ROAST_TRY(make_table(sql, name, columns, err));
    return add_to_list(sql, name, err);
}

static int bind_cell(sqlite3_stmt *statement, int parameter, const roast_sql_cell *cell) {
    switch (cell->kind) {
    case ROAST_SQL_INT:
        return sqlite3_bind_int64(statement, parameter, cell->integer);
    case ROAST_SQL_REAL:
        return sqlite3_bind_double(statement, parameter, cell->real);
    case ROAST_SQL_TEXT:
        return sqlite3_bind_text64(statement, parameter, cell->text.data, cell->text.len,
                                   SQLITE_STATIC, SQLITE_UTF8);
    case ROAST_SQL_BLOB:
        return sqlite3_bind_blob64(statement, parameter, cell->text.data, cell->text.len,
                                   SQLITE_STATIC);
    case ROAST_SQL_NULL:
        break;
    }
    return sqlite3_bind_null(statement, parameter);
}

roast_status roast_sql_add_row(roast_sql *sql, const roast_sql_cell *cells, roast_error *err) {
    if (sql->insert == NULL)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "no table was added");
    int code = SQLITE_OK, columns = sqlite3_bind_parameter_count(sql->insert);
    for (int i = 0; i < columns && code == SQLITE_OK; i++)
        code = bind_cell(sql->insert, i + 1, &cells[i]);
    if (code == SQLITE_OK)
        code = sqlite3_step(sql->insert);
    roast_status status = code == SQLITE_DONE ? ROAST_OK : failed(sql, err);
    sqlite3_reset(sql->insert);
    return status;
}

/* ---- a database of its own ---- */

static roast_status failed_file(const char *path, const char *why, roast_error *err) {
    return roast_error_set(err, ROAST_EIO, where, -1, "%s: %s", path, why);
}

/* A statement made of a format of SQLite's own printf and one name, used twice. */
static int change(roast_sql *sql, const char *format, const char *name) {
    char *text = sqlite3_mprintf(format, name, name);
    int code = text != NULL ? sqlite3_exec(sql->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

static int copy_tables(roast_sql *sql) {
    int code = change(sql, "BEGIN", NULL);
    for (uint32_t i = 0; code == SQLITE_OK && i < sql->n_tables; i++)
        code = change(sql, "CREATE TABLE saved.%s AS SELECT * FROM %s", sql->tables[i].name);
    return code == SQLITE_OK ? change(sql, "COMMIT", NULL) : code;
}

roast_status roast_sql_save(roast_sql *sql, const char *path, roast_error *err) {
    /* SQLite takes an empty file for an empty database; O_EXCL keeps every other file safe. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed_file(path, strerror(errno), err);
    close(fd);
    sqlite3_finalize(sql->statement);
    sql->statement = NULL;
    sql->started = roast_mono_now();
    sqlite3_set_authorizer(sql->db, NULL, NULL);
    sqlite3_limit(sql->db, SQLITE_LIMIT_ATTACHED, 1);
    roast_status status = ROAST_OK;
    if (change(sql, "ATTACH %Q AS saved", path) != SQLITE_OK || copy_tables(sql) != SQLITE_OK) {
        status = sqlite3_errcode(sql->db) == SQLITE_NOMEM
                     ? no_memory(err)
                     : failed_file(path, sqlite3_errmsg(sql->db), err);
        change(sql, "ROLLBACK", NULL);
        unlink(path);
    }
    change(sql, "DETACH saved", NULL);
    sqlite3_limit(sql->db, SQLITE_LIMIT_ATTACHED, 0);
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

static roast_str nearest_table(const roast_sql *sql, roast_str wanted) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, wanted);
    for (uint32_t i = 0; i < sql->n_tables; i++)
        roast_nearest_offer(&nearest, roast_str_of(sql->tables[i].name));
    return nearest.found;
}

static roast_str nearest_column(const roast_sql *sql, roast_str wanted) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, wanted);
    for (uint32_t i = 0; i < sql->n_tables; i++)
        for (const char *at = sql->tables[i].columns; *at != '\0'; at += strspn(at, " ")) {
            size_t len = strcspn(at, " ");
            roast_nearest_offer(&nearest, (roast_str){at, len});
            at += len;
        }
    return nearest.found;
}

static bool is_letter(char letter) {
    return isalnum((unsigned char)letter) || letter == '_';
}

/* The position of a word in the query; -1: nowhere. */
static int64_t place_of(roast_str query, roast_str word) {
    for (size_t i = 0; word.len > 0 && i + word.len <= query.len; i++)
        if (memcmp(query.data + i, word.data, word.len) == 0 &&
            (i == 0 || !is_letter(query.data[i - 1])) &&
            (i + word.len == query.len || !is_letter(query.data[i + word.len])))
            return (int64_t)i;
    return -1;
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
    if (strstr(message, "may not be modified") != NULL ||
        strstr(message, "may not be altered") != NULL)
        return refusal("changes", err);
    if (position < 0) /* SQLite does not always report it */
        position = place_of(sql->query, table);
    if (table.data != NULL)
        found = nearest_table(sql, table);
    else if (column.data != NULL)
        found = nearest_column(sql, column);
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
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "the answer took longer than %g s",
                               sql->time_limit);
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return wrong_sql(sql, err);
    default:
        return failed(sql, err);
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
    sqlite3_set_authorizer(sql->db, authorize, sql);
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_LOOKS, look_at_clock, sql);
    sql->started = roast_mono_now();
    sql->query = query;
    roast_status status = prepare(sql, query, err);
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
        return roast_sql_int(sqlite3_column_int64(sql->statement, index));
    case SQLITE_FLOAT:
        return roast_sql_real(sqlite3_column_double(sql->statement, index));
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
