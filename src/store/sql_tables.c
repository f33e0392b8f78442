/* Tables that are not in the file: rows of the caller's, and the worker series. */
#include "store/sql_internal.h"

#include <math.h>
#include <string.h>

/* ---- what both have in common ---- */

/* Of names that are separated by one blank. */
static int declare(sqlite3 *handle, const char *columns) {
    char *sql = sqlite3_mprintf("CREATE TABLE x(%s)", columns);
    if (sql == NULL)
        return SQLITE_NOMEM;
    for (char *at = sql + strlen("CREATE TABLE "); *at != '\0'; at++)
        if (*at == ' ')
            *at = ',';
    int code = sqlite3_declare_vtab(handle, sql);
    sqlite3_free(sql);
    return code;
}

void roast_sql_withdraw(sqlite3 *handle, const char *name) {
    sqlite3_create_module(handle, name, NULL, NULL);
}

/* SQLite's code for a failure, and its message for the query. */
static int failed(sqlite3_vtab *table, const roast_error *err) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", err->message);
    return err->status == ROAST_ENOMEM ? SQLITE_NOMEM
           : err->status == ROAST_EIO  ? SQLITE_IOERR
                                       : SQLITE_CORRUPT_VTAB;
}

typedef struct table {
    sqlite3_vtab base;
    void *source; /* roast_sql_rows or roast_sql_samples */
} table;

static int connect_to(sqlite3 *handle, const char *columns, void *source, sqlite3_vtab **out) {
    int code = declare(handle, columns);
    table *made = code == SQLITE_OK ? sqlite3_malloc(sizeof *made) : NULL;
    if (made == NULL)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    memset(made, 0, sizeof *made);
    made->source = source;
    *out = &made->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int open_cursor(size_t size, sqlite3_vtab_cursor **out) {
    *out = sqlite3_malloc64(size);
    if (*out == NULL)
        return SQLITE_NOMEM;
    memset(*out, 0, size);
    return SQLITE_OK;
}

/* SQLite declares a table at its first mention, and asks the authorizer whether it may: the first mention
 * is here, before there is one. */
static int offer(sqlite3 *handle, const char *name, const sqlite3_module *module, void *source) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_create_module(handle, name, module, source);
    char *sql = code == SQLITE_OK ? sqlite3_mprintf("SELECT 1 FROM \"%w\"", name) : NULL;
    if (sql == NULL)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return code;
}

/* ---- rows of the caller's ---- */

typedef struct rows_cursor {
    sqlite3_vtab_cursor base;
    uint64_t row;
} rows_cursor;

static const roast_sql_rows *rows_of(const sqlite3_vtab_cursor *cursor) {
    return ((const table *)cursor->pVtab)->source;
}

static int rows_connect(sqlite3 *handle, void *context, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **message) {
    (void)argc, (void)argv, (void)message;
    return connect_to(handle, ((roast_sql_rows *)context)->columns, context, out);
}

static int rows_plan(sqlite3_vtab *vtab, sqlite3_index_info *plan) {
    const roast_sql_rows *rows = ((table *)vtab)->source;
    plan->estimatedRows = (sqlite3_int64)rows->rows;
    plan->estimatedCost = (double)rows->rows;
    return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    (void)vtab;
    return open_cursor(sizeof(rows_cursor), out);
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                       sqlite3_value **argv) {
    (void)number, (void)text, (void)argc, (void)argv;
    ((rows_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor) {
    ((rows_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *cursor) {
    return ((rows_cursor *)cursor)->row >= rows_of(cursor)->rows;
}

static void answer(sqlite3_context *context, const roast_sql_cell *cell) {
    switch (cell->kind) {
    case ROAST_SQL_INT:
        sqlite3_result_int64(context, cell->integer);
        return;
    case ROAST_SQL_REAL:
        sqlite3_result_double(context, cell->real);
        return;
    case ROAST_SQL_TEXT:
        sqlite3_result_text64(context, cell->text.data, cell->text.len, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        return;
    case ROAST_SQL_BLOB:
        sqlite3_result_blob64(context, cell->text.data, cell->text.len, SQLITE_TRANSIENT);
        return;
    case ROAST_SQL_NULL:
        break;
    }
    sqlite3_result_null(context);
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const roast_sql_rows *rows = rows_of(cursor);
    answer(context, &rows->cells[((rows_cursor *)cursor)->row * rows->n_columns + (size_t)column]);
    return SQLITE_OK;
}

static int rows_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((rows_cursor *)cursor)->row;
    return SQLITE_OK;
}

/* Without xCreate the table is there under the name of its module. */
static const sqlite3_module rows_module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_plan,
    .xDisconnect = disconnect,
    .xOpen = rows_open,
    .xClose = close_cursor,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_id,
};

int roast_sql_offer_rows(sqlite3 *handle, roast_sql_rows *rows) {
    return offer(handle, rows->name, &rows_module, rows);
}

/* ---- samples ---- */

enum {
    COLUMN_WORKER,
    COLUMN_TIMESTAMP, /* s since 1970, as those of the chunks */
    COLUMN_SERIES,    /* the first one of the series */
};
enum { ALL_WORKERS, ONE_WORKER };

typedef struct samples_cursor {
    sqlite3_vtab_cursor base;
    const roast_series *series;
    roast_series_cursor walk;
    roast_sample sample;
    uint32_t worker,
        behind; /* the workers that are walked over: from the one to before the other */
    uint64_t row;
    bool end;
} samples_cursor;

static int samples_connect(sqlite3 *handle, void *context, int argc, const char *const *argv,
                           sqlite3_vtab **out, char **message) {
    (void)argc, (void)argv, (void)message;
    return connect_to(handle, ((roast_sql_samples *)context)->columns, context, out);
}

/* A question about one worker does not walk over the others. */
static int samples_plan(sqlite3_vtab *vtab, sqlite3_index_info *plan) {
    const roast_sql_samples *samples = ((table *)vtab)->source;
    double rows = (double)roast_store_sample_count(samples->store) + 1;
    uint32_t workers =
        roast_series_worker_count(roast_run_series_view(roast_store_head(samples->store)));
    plan->idxNum = ALL_WORKERS;
    for (int i = 0; i < plan->nConstraint && plan->idxNum == ALL_WORKERS; i++)
        if (plan->aConstraint[i].usable && plan->aConstraint[i].iColumn == COLUMN_WORKER &&
            plan->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
            plan->aConstraintUsage[i].argvIndex = 1;
            plan->idxNum = ONE_WORKER;
            rows /= workers > 0 ? workers : 1;
        }
    plan->estimatedRows = (sqlite3_int64)rows + 1;
    plan->estimatedCost = rows + 10;
    return SQLITE_OK;
}

static int samples_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    (void)vtab;
    return open_cursor(sizeof(samples_cursor), out);
}

static int samples_next(sqlite3_vtab_cursor *cursor) {
    samples_cursor *at = (samples_cursor *)cursor;
    at->row++;
    while (!roast_series_cursor_next(&at->walk, &at->sample)) {
        if (++at->worker >= at->behind) {
            at->end = true;
            return SQLITE_OK;
        }
        roast_series_cursor_init(&at->walk, at->series, at->worker);
    }
    return SQLITE_OK;
}

static bool find_worker(const roast_series *series, sqlite3_value *wanted, uint32_t *worker) {
    const char *text = (const char *)sqlite3_value_text(wanted);
    roast_str name = {text, (size_t)sqlite3_value_bytes(wanted)};
    for (*worker = 0; *worker < roast_series_worker_count(series); ++*worker)
        if (roast_str_equal(roast_series_worker_name(series, *worker), name))
            return true;
    return false;
}

static int samples_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                          sqlite3_value **argv) {
    (void)text, (void)argc;
    samples_cursor *at = (samples_cursor *)cursor;
    roast_sql_samples *samples = ((table *)cursor->pVtab)->source;
    roast_error err;
    if (samples->series == NULL &&
        roast_store_series(samples->store, &samples->series, &err) != ROAST_OK)
        return failed(cursor->pVtab, &err);
    at->series = samples->series;
    at->worker = 0;
    at->behind = roast_series_worker_count(at->series);
    at->row = UINT64_MAX;
    if (plan == ONE_WORKER) {
        bool found = find_worker(at->series, argv[0], &at->worker);
        at->behind = at->worker + found;
    }
    at->end = at->worker >= at->behind;
    if (at->end)
        return SQLITE_OK;
    roast_series_cursor_init(&at->walk, at->series, at->worker);
    return samples_next(cursor);
}

static int samples_eof(sqlite3_vtab_cursor *cursor) {
    return ((samples_cursor *)cursor)->end;
}

static roast_sql_cell value_cell(roast_series_column column, double value) {
    bool whole = roast_series_column_at(column)->steps_per_unit <= 1;
    if (whole && value >= -0x1p63 && value < 0x1p63)
        return roast_sql_int((int64_t)value);
    return roast_sql_real(value);
}

static int samples_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const samples_cursor *at = (samples_cursor *)cursor;
    roast_sql_cell cell;
    if (column == COLUMN_WORKER)
        cell = roast_sql_text(roast_series_worker_name(at->series, at->worker));
    else if (column == COLUMN_TIMESTAMP)
        cell = roast_sql_real((double)at->sample.when.ns / 1e9);
    else
        cell = value_cell(column - COLUMN_SERIES, at->sample.value[column - COLUMN_SERIES]);
    answer(context, &cell);
    return SQLITE_OK;
}

static int samples_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((samples_cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module samples_module = {
    .xConnect = samples_connect,
    .xBestIndex = samples_plan,
    .xDisconnect = disconnect,
    .xOpen = samples_open,
    .xClose = close_cursor,
    .xFilter = samples_filter,
    .xNext = samples_next,
    .xEof = samples_eof,
    .xColumn = samples_column,
    .xRowid = samples_id,
};

int roast_sql_offer_samples(sqlite3 *handle, roast_sql_samples *samples) {
    return offer(handle, "samples", &samples_module, samples);
}
