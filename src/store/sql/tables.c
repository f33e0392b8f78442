/* The tables of a run for SQLite: virtual tables that read the run in place. */
#include <string.h>

#include "store/sql/internal.h"

/* ---- a walk over the rows of a table ---- */

typedef struct walk walk;

typedef struct table_source {
    const char *name;
    const char *columns; /* separated by ", "; NULL: those of roast_columns, and `extra` */
    bool keyed; /* a query for one value of the first column reads only the rows that have it */
    /* How many rows there are, or of a table with `next`, how many things to walk over. */
    uint64_t (*count)(const roast_run *run);
    bool (*next)(walk *w); /* false at the end; NULL: a row a number */
    void (*cell)(const walk *w, int column, sqlite3_context *out);
    roast_table table; /* of roast_columns */
    const char *extra; /* a column in addition to those of roast_columns, and its position */
    int extra_at;
} table_source;

typedef struct table {
    sqlite3_vtab base;
    const table_source *source;
    roast_sql_tables *tables;
} table;

struct walk {
    sqlite3_vtab_cursor base;
    const roast_run *run;
    const roast_columns *columns; /* of a table that is made of them */
    uint64_t number, at, stop;    /* rows so far; the one that is shown; where the walk ends */
    bool end;
    /* Of tables with `next`: the data of the row. */
    roast_chunk chunk;
    roast_file file;
    roast_tail_cursor tail;
    roast_str branch;
    roast_custom custom;
    roast_branch_size size;
    roast_file_cursor files;
    roast_attempt_cursor attempts;
    roast_attempt attempt;
};

/* ---- cells ---- */

static void put_text(sqlite3_context *out, roast_str text) {
    if (text.data != NULL)
        sqlite3_result_text64(out, text.data, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void put_known(sqlite3_context *out, int64_t value) {
    if (value >= 0)
        sqlite3_result_int64(out, value);
}

static void put_seconds(sqlite3_context *out, int64_t us) {
    if (us != ROAST_NO_TIME)
        sqlite3_result_double(out, (double)us / 1e6);
}

static void put_length(sqlite3_context *out, int64_t us) {
    if (us >= 0)
        sqlite3_result_double(out, (double)us / 1e6);
}

/* ---- tables of roast_columns ---- */

static void put_column(sqlite3_context *out, const roast_column *column, uint64_t row) {
    if (!roast_column_has(column, row))
        return;
    if (column->cell == ROAST_CELL_TEXT)
        put_text(out, roast_column_text(column, ((const int32_t *)column->values)[row]));
    else if (column->cell == ROAST_CELL_REAL)
        sqlite3_result_double(out, ((const double *)column->values)[row]);
    else if (column->cell == ROAST_CELL_TIME)
        sqlite3_result_double(out, (double)((const int64_t *)column->values)[row] / 1e9);
    else
        sqlite3_result_int64(out, ((const int64_t *)column->values)[row]);
}

static int64_t key_at(const roast_column *column, uint64_t row) {
    return column->cell == ROAST_CELL_TEXT ? ((const int32_t *)column->values)[row]
                                           : ((const int64_t *)column->values)[row];
}

/* The first row whose key is not less. The rows that have a key come first, in the order of their keys: chunks as
 * they are numbered, workers as their names are numbered. */
static uint64_t first_of_key(const roast_columns *columns, int64_t key) {
    const roast_column *column = roast_columns_at(columns, 0);
    uint64_t low = 0, high = roast_columns_rows(columns) - column->absent;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (key_at(column, middle) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t key_of(const roast_column *column, sqlite3_value *wanted) {
    if (column->cell != ROAST_CELL_TEXT)
        return sqlite3_value_int64(wanted);
    roast_str text = {(const char *)sqlite3_value_text(wanted), 0};
    text.len = (size_t)sqlite3_value_bytes(wanted);
    uint32_t code = 0;
    while (code < column->texts.count && !roast_str_equal(text, roast_column_text(column, code)))
        code++;
    return code;
}

static const roast_column *column_of(const walk *w, int column) {
    const table_source *from = ((const table *)w->base.pVtab)->source;
    return roast_columns_at(w->columns,
                            (uint32_t)(column - (from->extra != NULL && column > from->extra_at)));
}

static void columns_cell(const walk *w, int column, sqlite3_context *out) {
    put_column(out, column_of(w, column), w->at);
}

static void chunks_cell(const walk *w, int column, sqlite3_context *out) {
    if (column == 0)
        sqlite3_result_int64(out, (int64_t)w->at);
    else
        columns_cell(w, column, out);
}

/* A section has a position in its chunk, and `parent` is one, too. Sections without a chunk are counted on. */
static void sections_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_column *chunks = roast_columns_at(w->columns, 0), *shown = column_of(w, column);
    uint64_t first = roast_column_has(chunks, w->at)
                         ? first_of_key(w->columns, key_at(chunks, w->at))
                         : roast_columns_rows(w->columns) - chunks->absent;
    if (column == 1)
        sqlite3_result_int64(out, (int64_t)(w->at - first));
    else if (strcmp(shown->name, "parent") != 0)
        put_column(out, shown, w->at);
    else if (roast_column_has(shown, w->at))
        sqlite3_result_int64(out, key_at(shown, w->at) - (int64_t)first);
}

static uint64_t count_chunks(const roast_run *run) {
    return roast_chunklog_count(roast_run_chunks_view(run));
}

/* ---- lists of a chunk ---- */

static bool next_chunk(walk *w) {
    return w->at < w->stop &&
           roast_chunklog_get(roast_run_chunks_view(w->run), w->at++, &w->chunk, NULL) == ROAST_OK;
}

static bool next_branch(walk *w) {
    while (!roast_chunk_next_branch(&w->tail, &w->branch)) {
        if (!next_chunk(w))
            return false;
        roast_chunk_branches(roast_run_chunks_view(w->run), &w->chunk, &w->tail);
    }
    return true;
}

static void branches_cell(const walk *w, int column, sqlite3_context *out) {
    if (column == 0)
        sqlite3_result_int64(out, (int64_t)w->at - 1);
    else
        put_text(out, w->branch);
}

static bool next_custom(walk *w) {
    do {
        while (!roast_chunk_next_custom(&w->tail, &w->custom)) {
            if (!next_chunk(w))
                return false;
            roast_chunk_customs(roast_run_chunks_view(w->run), &w->chunk, &w->tail);
        }
    } while (w->custom.kind == ROAST_CUSTOM_LEFT_OUT);
    return true;
}

static void put_custom(const roast_custom *custom, sqlite3_context *out) {
    if (custom->kind == ROAST_CUSTOM_BOOL || custom->kind == ROAST_CUSTOM_INT)
        sqlite3_result_int64(out, custom->integer);
    else if (custom->kind == ROAST_CUSTOM_REAL)
        sqlite3_result_double(out, custom->real);
    else if (custom->kind != ROAST_CUSTOM_NULL)
        put_text(out, custom->text);
}

static void customs_cell(const walk *w, int column, sqlite3_context *out) {
    static const char *const scopes[ROAST_SCOPES] = {"chunk", "timing", "memory", "bytes"};
    if (column == 0)
        sqlite3_result_int64(out, (int64_t)w->at - 1);
    else if (column == 1)
        put_text(out, w->custom.key);
    else if (column == 2)
        put_text(out, roast_str_of(scopes[w->custom.scope]));
    else
        put_custom(&w->custom, out);
}

/* ---- files ---- */

static bool next_file(walk *w) {
    if (w->at++ == 0)
        roast_file_cursor_init(&w->files, roast_run_chunks_view(w->run));
    return roast_file_cursor_next(&w->files, &w->file);
}

static uint64_t count_files(const roast_run *run) { /* the number of rows is not needed */
    (void)run;
    return 0;
}

static void files_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_file *file = &w->file;
    const roast_str texts[] = {file->name, file->uuid, file->treename};
    const int64_t numbers[] = {file->total_branches, file->tree_bytes,
                               file->tree_uncompressed_bytes};
    double ratio;
    if (column == 0)
        sqlite3_result_int64(out, (int64_t)w->at);
    else if (column <= 3)
        put_text(out, texts[column - 1]);
    else if (column <= 6)
        put_known(out, numbers[column - 4]);
    else if (roast_file_ratio(file, &ratio))
        sqlite3_result_double(out, ratio);
}

static bool next_file_branch(walk *w) {
    while (!roast_file_next_branch(&w->tail, &w->size)) {
        if (!next_file(w))
            return false;
        roast_file_branches(roast_run_chunks_view(w->run), &w->file, &w->tail);
    }
    return true;
}

static void file_branches_cell(const walk *w, int column, sqlite3_context *out) {
    if (column <= 1)
        put_text(out, column == 0 ? w->file.name : w->size.name);
    else
        put_known(out, column == 2 ? w->size.bytes : w->size.uncompressed_bytes);
}

/* ---- workers ---- */

static uint64_t count_changes(const roast_run *run) {
    return roast_series_change_count(roast_run_series_view(run));
}

static void changes_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_series *series = roast_run_series_view(w->run);
    roast_worker_change change = roast_series_change_at(series, w->at);
    if (column == 0)
        put_text(out, roast_series_worker_name(series, change.worker));
    else if (column == 1)
        put_text(out, roast_str_of(change.kind == ROAST_WORKER_JOINED ? "joined" : "left"));
    else if (column == 2)
        sqlite3_result_double(out, (double)change.when.ns / 1e9);
    else if (change.threads != 0)
        sqlite3_result_int64(out, change.threads);
}

static uint64_t count_ticks(const roast_run *run) {
    return roast_series_tick_count(roast_run_series_view(run));
}

static void ticks_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_series *series = roast_run_series_view(w->run);
    if (column == 0)
        sqlite3_result_double(out, (double)roast_series_tick_time(series, w->at).ns / 1e9);
    else
        sqlite3_result_int64(out, roast_series_tick_workers(series, w->at));
}

/* ---- attempts ---- */

static uint64_t count_attempts(const roast_run *run) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    return attempts == NULL ? 0 : roast_attempts_count(attempts);
}

static bool next_attempt(walk *w) {
    if (w->at++ == 0)
        roast_attempt_cursor_init(&w->attempts, roast_run_attempts_view(w->run));
    return w->stop > 0 && roast_attempt_cursor_next(&w->attempts, &w->attempt);
}

static void put_exception(const roast_attempt *attempt, sqlite3_context *out) {
    roast_str type = attempt->error_type, message = attempt->error_message;
    if (type.data == NULL)
        return;
    char *text =
        sqlite3_mprintf("%.*s%s%.*s", (int)type.len, type.data, message.len > 0 ? ": " : "",
                        (int)message.len, message.len > 0 ? message.data : "");
    if (text == NULL)
        sqlite3_result_error_nomem(out);
    else
        sqlite3_result_text(out, text, -1, sqlite3_free);
}

static void attempts_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_attempt *a = &w->attempt;
    const int64_t moments[] = {a->ready_us, a->sent_us, a->start_us, a->stop_us, a->ended_us};
    const int64_t lengths[] = {a->transfer_us, a->deserialize_us, a->disk_us};
    if (column == 0)
        sqlite3_result_int64(out, (int64_t)w->at - 1);
    else if (column == 1)
        put_text(out, a->key);
    else if (column == 2)
        put_text(out, a->prefix);
    else if (column == 3)
        put_text(out, roast_str_of(roast_attempt_kind_name(a->kind)));
    else if (column == 4 && a->worker != ROAST_NO_WORKER)
        put_text(out, roast_attempts_worker(w->attempts.attempts, a->worker));
    else if (column == 5 && a->thread != 0)
        sqlite3_result_int64(out, (int64_t)a->thread);
    else if (column >= 6 && column <= 10)
        put_seconds(out, moments[column - 6]);
    else if (column >= 11 && column <= 13)
        put_length(out, lengths[column - 11]);
    else if (column == 14)
        put_known(out, a->nbytes);
    else if (column == 15)
        put_text(out, roast_str_of(roast_outcome_name(a->outcome)));
    else if (column == 16)
        put_exception(a, out);
}

static uint64_t count_departures(const roast_run *run) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    return attempts == NULL ? 0 : roast_attempts_departure_count(attempts);
}

static void departures_cell(const walk *w, int column, sqlite3_context *out) {
    const roast_attempts *attempts = roast_run_attempts_view(w->run);
    roast_departure departure = roast_attempts_departure(attempts, (uint32_t)w->at);
    const int64_t numbers[] = {departure.expected, departure.running, departure.lost_results};
    if (column == 0)
        put_text(out, roast_attempts_worker(attempts, departure.worker));
    else if (column == 1)
        sqlite3_result_double(out, (double)departure.when.ns / 1e9);
    else
        sqlite3_result_int64(out, numbers[column - 2]);
}

/* ---- texts and spans of the run ---- */

static uint64_t count_meta(const roast_run *run) {
    return roast_run_meta_count(run);
}

static void meta_cell(const walk *w, int column, sqlite3_context *out) {
    roast_str pair[2];
    roast_run_meta_at(w->run, (uint32_t)w->at, &pair[0], &pair[1]);
    put_text(out, pair[column]);
}

static uint64_t count_notes(const roast_run *run) {
    return roast_run_note_count(run);
}

static void notes_cell(const walk *w, int column, sqlite3_context *out) {
    (void)column;
    put_text(out, roast_run_note(w->run, (uint32_t)w->at));
}

static uint64_t count_skipped(const roast_run *run) {
    return roast_ending_skipped_count(roast_run_ending_view(run));
}

static void skipped_cell(const walk *w, int column, sqlite3_context *out) {
    roast_skipped_file skipped =
        roast_ending_skipped(roast_run_ending_view(w->run), (uint32_t)w->at);
    const roast_str texts[] = {skipped.dataset, skipped.file, skipped.reason};
    put_text(out, texts[column]);
}

static uint64_t count_spans(const roast_run *run) {
    return roast_run_span_count(run);
}

static void spans_cell(const walk *w, int column, sqlite3_context *out) {
    roast_span_value span = roast_run_span(w->run, (uint32_t)w->at);
    const roast_str texts[] = {span.context, span.prefix, span.activity, span.unit};
    if (column < 4)
        put_text(out, texts[column]);
    else
        sqlite3_result_double(out, span.value);
}

/* ---- all of them ---- */

#define OF_COLUMNS(name, cell_, ...)                                                               \
    { #name, .keyed = true, .cell = cell_, .table = ROAST_TABLE_##name, ##__VA_ARGS__ }

static const table_source sources[] = {
    OF_COLUMNS(chunks, chunks_cell, .extra = "chunk", .extra_at = 0),
    OF_COLUMNS(sections, sections_cell, .extra = "position", .extra_at = 1),
    OF_COLUMNS(reads, columns_cell),
    {"branches", "chunk, branch", true, count_chunks, next_branch, branches_cell},
    {"custom_metrics", "chunk, name, scope, value", true, count_chunks, next_custom, customs_cell},
    {"files",
     "id, filename, uuid, treename, total_branches, total_tree_bytes, total_uncompressed_bytes, "
     "compression_ratio",
     false, count_files, next_file, files_cell},
    {"file_branches", "filename, branch, bytes, uncompressed_bytes", false, count_files,
     next_file_branch, file_branches_cell},
    {"worker_changes", "worker, change, time, threads", false, count_changes, NULL, changes_cell},
    {"worker_counts", "time, worker_count", false, count_ticks, NULL, ticks_cell},
    {"attempts",
     "attempt, key, prefix, kind, worker, thread, ready, sent, start, stop, ended, transfer_s, "
     "deserialize_s, disk_s, nbytes, outcome, exception",
     false, count_attempts, next_attempt, attempts_cell},
    {"lost_workers", "worker, time, expected, running, lost_results", false, count_departures, NULL,
     departures_cell},
    OF_COLUMNS(samples, columns_cell),
    {"spans", "context, prefix, activity, unit, value", false, count_spans, NULL, spans_cell},
    {"meta", "key, value", false, count_meta, NULL, meta_cell},
    {"notes", "note", false, count_notes, NULL, notes_cell},
    {"skipped_files", "dataset, file, reason", false, count_skipped, NULL, skipped_cell},
};
enum { SOURCES = sizeof sources / sizeof *sources };

const char *roast_sql_table_name(unsigned index) {
    return index < SOURCES ? sources[index].name : NULL;
}

/* ---- SQLite's side ---- */

/* "a, b, c" of a table of roast_columns, from those of an empty run; SQLite's memory. */
static char *name_columns(const table_source *from) {
    roast_run *empty;
    roast_columns *columns = NULL;
    char *names = NULL;
    if (roast_run_new(&empty, NULL) != ROAST_OK)
        return NULL;
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (roast_columns_new(empty, from->table, &columns, NULL) == ROAST_OK)
        for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
            if (from->extra != NULL && (int)i == from->extra_at)
                sqlite3_str_appendf(out, "%s%s", i > 0 ? ", " : "", from->extra);
            bool first = i == 0 && (from->extra == NULL || from->extra_at > 0);
            sqlite3_str_appendf(out, "%s%s", first ? "" : ", ", roast_columns_at(columns, i)->name);
        }
    names = sqlite3_str_finish(out);
    roast_columns_free(columns);
    roast_run_free(empty);
    return columns == NULL ? (sqlite3_free(names), NULL) : names;
}

static int declare(sqlite3 *handle, const table_source *from) {
    char *names = from->columns != NULL ? sqlite3_mprintf("%s", from->columns) : name_columns(from);
    char *sql = names != NULL ? sqlite3_mprintf("CREATE TABLE x(%s)", names) : NULL;
    int code = sql != NULL ? sqlite3_declare_vtab(handle, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sqlite3_free(names);
    return code;
}

static const table_source *find_source(const char *name) {
    const table_source *found = sources;
    while (strcmp(found->name, name) != 0)
        found++;
    return found;
}

static int connect_to(sqlite3 *handle, void *context, int argc, const char *const *argv,
                      sqlite3_vtab **out, char **message) {
    (void)argc, (void)message;
    const table_source *from = find_source(argv[0]); /* the name of the module */
    int code = declare(handle, from);
    table *made = code == SQLITE_OK ? sqlite3_malloc(sizeof *made) : NULL;
    if (made == NULL)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    *made = (table){.source = from, .tables = context};
    *out = &made->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* A join on the key reads the rows of one key at a time. SQLite compares once more, so too many rows do no harm. */
static int plan_query(sqlite3_vtab *vtab, sqlite3_index_info *plan) {
    enum { MANY = 1000000, OF_A_KEY = 50 };
    const table_source *from = ((table *)vtab)->source;
    plan->estimatedCost = plan->estimatedRows = MANY;
    for (int i = 0; i < plan->nConstraint && from->keyed && plan->idxNum == 0; i++)
        if (plan->aConstraint[i].usable && plan->aConstraint[i].iColumn == 0 &&
            plan->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
            strcmp(sqlite3_vtab_collation(plan, i), "BINARY") == 0) {
            plan->aConstraintUsage[i].argvIndex = 1;
            plan->idxNum = 1;
            plan->estimatedCost = plan->estimatedRows = OF_A_KEY;
        }
    return SQLITE_OK;
}

static int open_walk(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    (void)vtab;
    walk *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *out = &made->base;
    return SQLITE_OK;
}

static int close_walk(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int end_walk(sqlite3_vtab_cursor *cursor) {
    return ((walk *)cursor)->end;
}

/* Stands at the row `at`, or takes the next one. */
static int show(walk *w) {
    const table_source *from = ((table *)w->base.pVtab)->source;
    w->end = from->next != NULL ? !from->next(w) : w->at >= w->stop;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *cursor) {
    walk *w = (walk *)cursor;
    w->number++;
    w->at += ((table *)cursor->pVtab)->source->next == NULL;
    return show(w);
}

static int columns_for(sqlite3_vtab *vtab, roast_table wanted, const roast_columns **out) {
    roast_sql_tables *tables = ((table *)vtab)->tables;
    roast_error err;
    if (tables->columns[wanted] == NULL &&
        roast_columns_new(tables->run, wanted, &tables->columns[wanted], &err) != ROAST_OK) {
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("%s", err.message);
        return err.status == ROAST_ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
    }
    *out = tables->columns[wanted];
    return SQLITE_OK;
}

/* Only the rows with one value of the first column. */
static void limit(walk *w, const table_source *from, sqlite3_value *wanted) {
    if (from->columns == NULL && from->extra_at + (from->extra == NULL) > 0) {
        int64_t key = key_of(roast_columns_at(w->columns, 0), wanted);
        w->at = first_of_key(w->columns, key);
        w->stop = key < INT64_MAX ? first_of_key(w->columns, key + 1) : w->stop;
        return;
    }
    uint64_t row = (uint64_t)sqlite3_value_int64(wanted);
    w->at = row < w->stop ? row : w->stop;
    w->stop = row < w->stop ? row + 1 : w->stop;
}

static int begin_walk(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                      sqlite3_value **argv) {
    (void)text, (void)argc;
    const table *vtab = (const table *)cursor->pVtab;
    const table_source *from = vtab->source;
    walk *w = (walk *)cursor;
    *w = (walk){.base = w->base, .run = vtab->tables->run};
    if (from->columns == NULL) {
        int code = columns_for(cursor->pVtab, from->table, &w->columns);
        if (code != SQLITE_OK)
            return code;
    }
    w->stop = from->columns == NULL ? roast_columns_rows(w->columns) : from->count(w->run);
    if (plan == 1)
        limit(w, from, argv[0]);
    return show(w);
}

static int get_cell(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column) {
    const walk *w = (const walk *)cursor;
    ((const table *)cursor->pVtab)->source->cell(w, column, out);
    return SQLITE_OK;
}

static int get_row_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((walk *)cursor)->number;
    return SQLITE_OK;
}

/* Without xCreate a table is there under the name of its module. */
static const sqlite3_module module = {
    .xConnect = connect_to,
    .xBestIndex = plan_query,
    .xDisconnect = disconnect,
    .xOpen = open_walk,
    .xClose = close_walk,
    .xFilter = begin_walk,
    .xNext = next_row,
    .xEof = end_walk,
    .xColumn = get_cell,
    .xRowid = get_row_id,
};

int roast_sql_offer_tables(sqlite3 *handle, roast_sql_tables *tables) {
    int code = SQLITE_OK;
    for (unsigned i = 0; i < SOURCES && code == SQLITE_OK; i++)
        code = sqlite3_create_module(handle, sources[i].name, &module, tables);
    return code;
}

void roast_sql_free_tables(roast_sql_tables *tables) {
    for (int i = 0; i < ROAST_TABLES; i++)
        roast_columns_free(tables->columns[i]);
}
