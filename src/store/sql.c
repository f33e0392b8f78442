#include "store/sql_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "roast/columns.h"
#include "roast/text.h"

enum { STEPS_BETWEEN_LOOKS = 4000 }; /* of SQLite's machine, at the clock; some 0.1 ms */

struct roast_sql {
    roast_db db; /* the store's */
    sqlite3_stmt *statement;
    roast_sql_samples samples;
    roast_sql_rows *rows; /* the last one first */
    roast_sql_table *tables;
    size_t tables_capacity;
    uint32_t n_tables;
    roast_arena texts;
    roast_str query;     /* borrowed while it is looked at */
    const char *refused; /* what the question wanted and must not; NULL: nothing */
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

/* ---- what a question may do ---- */

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

/* Only what reads. Pragmas only those that tell something, and only without a value, but for the name of a
 * table. */
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

static roast_status add_to_list(roast_sql *sql, roast_str name, roast_str columns, bool stored) {
    void *tables = sql->tables;
    roast_str kept_name, kept_columns;
    ROAST_TRY(roast_array_reserve(&tables, &sql->tables_capacity, sizeof *sql->tables,
                                  (size_t)sql->n_tables + 1));
    sql->tables = tables;
    ROAST_TRY(roast_arena_str(&sql->texts, name, &kept_name));
    ROAST_TRY(roast_arena_str(&sql->texts, columns, &kept_columns));
    sql->tables[sql->n_tables++] = (roast_sql_table){kept_name.data, kept_columns.data, stored};
    return ROAST_OK;
}

/* Those of the file; the views are the friendly ones. */
static roast_status list_stored(roast_sql *sql, bool views, roast_error *err) {
    sqlite3_stmt *statement = NULL, *columns = NULL;
    roast_status status = roast_db_prepare(
        &sql->db,
        "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
        "ORDER BY rowid",
        &statement, err);
    if (status == ROAST_OK)
        status = roast_db_prepare(
            &sql->db, "SELECT group_concat(name, ' ') FROM pragma_table_info(?)", &columns, err);
    if (status == ROAST_OK)
        sqlite3_bind_text(statement, 1, views ? "view" : "table", -1, SQLITE_STATIC);
    for (bool there = true, found; status == ROAST_OK && there;) {
        roast_str name, names;
        status = roast_db_step(&sql->db, statement, &there, err);
        if (status != ROAST_OK || !there || !roast_db_text(statement, 0, &name))
            break;
        roast_db_bind_text(columns, 1, name);
        status = roast_db_step(&sql->db, columns, &found, err);
        if (status == ROAST_OK && found && roast_db_text(columns, 0, &names) &&
            add_to_list(sql, name, names, !views) != ROAST_OK)
            status = no_memory(err);
        sqlite3_reset(columns);
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(columns);
    return status;
}

const roast_sql_table *roast_sql_table_at(const roast_sql *sql, uint32_t index) {
    return index < sql->n_tables ? &sql->tables[index] : NULL;
}

/* ---- life ---- */

static void name_sample_columns(roast_sql_samples *samples) {
    size_t len = 0;
#define X(name, cell)                                                                              \
    len += (size_t)snprintf(samples->columns + len, sizeof samples->columns - len, "%s%s",         \
                            len > 0 ? " " : "", #name);
    ROAST_SAMPLE_COLUMNS(X)
#undef X
    for (int i = 0; i < ROAST_COLUMNS && len < sizeof samples->columns; i++)
        len += (size_t)snprintf(samples->columns + len, sizeof samples->columns - len, " %s",
                                roast_series_column_at(i)->name);
}

static roast_status begin(roast_sql *sql, roast_error *err) {
    name_sample_columns(&sql->samples);
    int code = roast_sql_offer_samples(sql->db.handle, &sql->samples);
    if (code != SQLITE_OK)
        return roast_db_fail(&sql->db, code, err);
    ROAST_TRY(list_stored(sql, true, err));
    if (add_to_list(sql, roast_str_of("samples"), roast_str_of(sql->samples.columns), false) !=
        ROAST_OK)
        return no_memory(err);
    return list_stored(sql, false, err);
}

roast_status roast_sql_new(roast_store *store, roast_sql **out, roast_error *err) {
    roast_sql *sql = roast_alloc_zero(sizeof *sql);
    if (sql == NULL)
        return no_memory(err);
    sql->db =
        (roast_db){.handle = roast_store_sqlite(store), .path = (char *)roast_store_path(store)};
    sql->samples.store = store;
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
    sqlite3_set_authorizer(sql->db.handle, NULL, NULL);
    sqlite3_progress_handler(sql->db.handle, 0, NULL, NULL);
    /* The connection outlives what the tables point to. */
    roast_sql_withdraw(sql->db.handle, "samples");
    roast_series_free(sql->samples.series);
    for (roast_sql_rows *rows = sql->rows; rows != NULL; rows = rows->next) {
        roast_sql_withdraw(sql->db.handle, rows->name);
        roast_free(rows->cells);
    }
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

static uint32_t count_names(const char *names) {
    uint32_t count = names[0] != '\0';
    for (; *names != '\0'; names++)
        count += *names == ' ';
    return count;
}

roast_status roast_sql_add_table(roast_sql *sql, const char *name, const char *columns,
                                 roast_error *err) {
    if (!is_name(name, false) || !is_name(columns, true) || name[0] == '\0' || columns[0] == '\0')
        return roast_error_set(err, ROAST_EINVAL, where, -1, "\"%s\" is no table: %s", name,
                               columns);
    roast_sql_rows *rows = roast_arena_alloc(&sql->texts, sizeof *rows);
    if (rows == NULL ||
        add_to_list(sql, roast_str_of(name), roast_str_of(columns), false) != ROAST_OK)
        return no_memory(err);
    roast_sql_table *added = &sql->tables[sql->n_tables - 1], kept = *added;
    *rows = (roast_sql_rows){.next = sql->rows,
                             .name = kept.name,
                             .columns = kept.columns,
                             .n_columns = count_names(columns)};
    sql->rows = rows;
    /* Before those that are as they are stored. */
    for (; added > sql->tables && added[-1].stored; added--)
        added[0] = added[-1];
    *added = kept;
    sqlite3_set_authorizer(sql->db.handle, NULL, NULL);
    int code = roast_sql_offer_rows(sql->db.handle, rows);
    return code == SQLITE_OK ? ROAST_OK : roast_db_fail(&sql->db, code, err);
}

roast_status roast_sql_add_row(roast_sql *sql, const roast_sql_cell *cells, roast_error *err) {
    roast_sql_rows *rows = sql->rows;
    if (rows == NULL)
        return roast_error_set(err, ROAST_ESTATE, where, -1, "no table was added");
    void *all = rows->cells;
    size_t used = (size_t)rows->rows * rows->n_columns;
    if (roast_array_reserve(&all, &rows->capacity, sizeof *rows->cells, used + rows->n_columns) !=
        ROAST_OK)
        return no_memory(err);
    rows->cells = all;
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        rows->cells[used + i] = cells[i];
        if (roast_arena_str(&sql->texts, cells[i].text, &rows->cells[used + i].text) != ROAST_OK)
            return no_memory(err);
    }
    rows->rows++;
    return ROAST_OK;
}

/* ---- what is wrong with a question ---- */

/* The word behind `prefix` in a message of SQLite's; absent if it is another message. */
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

/* Where a word stands in the question; -1: nowhere. */
static int64_t place_of(roast_str query, roast_str word) {
    for (size_t i = 0; word.len > 0 && i + word.len <= query.len; i++)
        if (memcmp(query.data + i, word.data, word.len) == 0 &&
            (i == 0 || !is_letter(query.data[i - 1])) &&
            (i + word.len == query.len || !is_letter(query.data[i + word.len])))
            return (int64_t)i;
    return -1;
}

static roast_status wrong_sql(const roast_sql *sql, roast_error *err) {
    const char *message = sqlite3_errmsg(sql->db.handle);
    roast_str table = named_in(message, "no such table: ");
    roast_str column = named_in(message, "no such column: "), found = {NULL, 0};
    int64_t position = sqlite3_error_offset(sql->db.handle);
    if (position < 0) /* SQLite does not always tell */
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

static roast_status refusal(const char *what, roast_error *err) {
    return roast_error_set(err, ROAST_EINVAL, where, -1,
                           "only questions are answered (SELECT, VALUES, WITH, EXPLAIN), not %s",
                           what);
}

static roast_status fail(const roast_sql *sql, roast_error *err) {
    int code = sqlite3_extended_errcode(sql->db.handle);
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
        return roast_db_fail(&sql->db, code, err);
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
    sqlite3 *handle = sql->db.handle;
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
    if (query.len > ROAST_DB_MAX_VALUE)
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "the question is too long");
    sqlite3_set_authorizer(sql->db.handle, authorize, sql);
    sqlite3_progress_handler(sql->db.handle, STEPS_BETWEEN_LOOKS, look_at_clock, sql);
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
