/* The tables of a run for SQLite, row by row. */
#include "sql/internal.h"

#include "roast/columns.h"

/* ---- cells: each goes into the next column ---- */

static bool takes(roast_sql_rows *to) {
    return to->code == SQLITE_OK && to->wanted[to->column++];
}

static void put_int(roast_sql_rows *to, int64_t value) {
    if (takes(to))
        to->code = sqlite3_bind_int64(to->insert, to->column, value);
}

/* NaN is NULL. */
static void put_real(roast_sql_rows *to, double value) {
    if (takes(to))
        to->code = sqlite3_bind_double(to->insert, to->column, value);
}

/* Borrowed until the end of the row. */
static void put_text(roast_sql_rows *to, roast_str text) {
    if (takes(to) && text.data != NULL)
        to->code = sqlite3_bind_text64(to->insert, to->column, text.data, text.len, SQLITE_STATIC,
                                       SQLITE_UTF8);
}

static void put_name(roast_sql_rows *to, const char *name) {
    put_text(to, roast_str_of(name));
}

static void put_nothing(roast_sql_rows *to) {
    to->column++;
}

static void put_known(roast_sql_rows *to, int64_t value) {
    value >= 0 ? put_int(to, value) : put_nothing(to);
}

static void put_seconds(roast_sql_rows *to, int64_t us) {
    us != ROAST_NO_TIME ? put_real(to, (double)us / 1e6) : put_nothing(to);
}

static void put_length(roast_sql_rows *to, int64_t us) {
    us >= 0 ? put_real(to, (double)us / 1e6) : put_nothing(to);
}

static void put_moment(roast_sql_rows *to, roast_utc when) {
    put_real(to, (double)when.ns / 1e9);
}

/* Whether the next row may come. */
static bool end_row(roast_sql_rows *to) {
    to->column = 0;
    if (to->code == SQLITE_OK)
        sqlite3_step(to->insert);
    if (to->code == SQLITE_OK)
        to->code = sqlite3_reset(to->insert); /* it has the failure of the step */
    sqlite3_clear_bindings(to->insert);
    return to->code == SQLITE_OK;
}

/* ---- tables of roast_columns ---- */

static void put_cell(roast_sql_rows *to, const roast_column *column, uint64_t row) {
    if (!roast_column_has(column, row))
        put_nothing(to);
    else if (column->cell == ROAST_CELL_TEXT)
        put_text(to, roast_column_text(column, ((const int32_t *)column->values)[row]));
    else if (column->cell == ROAST_CELL_REAL)
        put_real(to, ((const double *)column->values)[row]);
    else if (column->cell == ROAST_CELL_TIME)
        put_moment(to, (roast_utc){((const int64_t *)column->values)[row]});
    else
        put_int(to, ((const int64_t *)column->values)[row]);
}

static void put_cells(roast_sql_rows *to, const roast_columns *columns, uint64_t row) {
    for (uint32_t i = 0; i < roast_columns_count(columns); i++)
        put_cell(to, roast_columns_at(columns, i), row);
}

/* Only the wanted columns are made: a million chunks have 60 million cells. */
static void fill_chunks(roast_sql_rows *to) {
    roast_columns *columns;
    roast_str names[ROAST_SQL_MAX_COLUMNS], name;
    int at[ROAST_SQL_MAX_COLUMNS], column = 0;
    uint32_t count = 0;
    for (const char *rest = to->columns; roast_sql_next_name(&rest, &name); column++)
        if (column > 0 && to->wanted[column]) {
            at[count] = column;
            names[count++] = name;
        }
    to->status = roast_columns_new_some(to->run, names, count, &columns, to->err);
    if (to->status != ROAST_OK)
        return;
    for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
        put_int(to, (int64_t)row);
        for (uint32_t i = 0; i < count; i++) {
            to->column = at[i];
            put_cell(to, roast_columns_at(columns, i), row);
        }
        if (!end_row(to))
            break;
    }
    roast_columns_free(columns);
}

/* A section has a position in its chunk, and `parent` is one, too. Sections without a chunk are counted on. */
static void fill_sections(roast_sql_rows *to) {
    roast_columns *columns;
    uint64_t first = 0;
    to->status = roast_columns_new(to->run, ROAST_TABLE_sections, &columns, to->err);
    if (to->status != ROAST_OK)
        return;
    const roast_column *chunk = roast_columns_at(columns, 0);
    const roast_column *parent = roast_columns_find(columns, roast_str_of("parent"));
    const int64_t *chunks = chunk->values;
    for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
        bool has = roast_column_has(chunk, row);
        if (row > 0 && (has ? chunks[row] != chunks[row - 1] : roast_column_has(chunk, row - 1)))
            first = row;
        put_cell(to, chunk, row);
        put_int(to, (int64_t)(row - first));
        for (uint32_t i = 1; i < roast_columns_count(columns); i++) {
            const roast_column *column = roast_columns_at(columns, i);
            if (column == parent && roast_column_has(parent, row))
                put_int(to, ((const int64_t *)parent->values)[row] - (int64_t)first);
            else
                put_cell(to, column, row);
        }
        if (!end_row(to))
            break;
    }
    roast_columns_free(columns);
}

static void fill_as_they_are(roast_sql_rows *to, roast_table table) {
    roast_columns *columns;
    to->status = roast_columns_new(to->run, table, &columns, to->err);
    if (to->status != ROAST_OK)
        return;
    for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
        put_cells(to, columns, row);
        if (!end_row(to))
            break;
    }
    roast_columns_free(columns);
}

static void fill_reads(roast_sql_rows *to) {
    fill_as_they_are(to, ROAST_TABLE_reads);
}

static void fill_samples(roast_sql_rows *to) {
    fill_as_they_are(to, ROAST_TABLE_samples);
}

/* ---- lists of a chunk ---- */

static void fill_branches(roast_sql_rows *to) {
    const roast_chunklog *log = roast_run_chunks_view(to->run);
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_tail_cursor tail;
    roast_str branch;
    roast_chunk_cursor_init(&chunks, log);
    for (int64_t row = 0; roast_chunk_cursor_next(&chunks, &chunk); row++) {
        roast_chunk_branches(log, &chunk, &tail);
        while (roast_chunk_next_branch(&tail, &branch)) {
            put_int(to, row);
            put_text(to, branch);
            if (!end_row(to))
                return;
        }
    }
}

static void put_custom(roast_sql_rows *to, const roast_custom *custom) {
    if (custom->kind == ROAST_CUSTOM_BOOL || custom->kind == ROAST_CUSTOM_INT)
        put_int(to, custom->integer);
    else if (custom->kind == ROAST_CUSTOM_REAL)
        put_real(to, custom->real);
    else if (custom->kind != ROAST_CUSTOM_NULL)
        put_text(to, custom->text);
}

static void fill_customs(roast_sql_rows *to) {
    static const char *const scopes[ROAST_SCOPES] = {"chunk", "timing", "memory", "bytes"};
    const roast_chunklog *log = roast_run_chunks_view(to->run);
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_tail_cursor tail;
    roast_custom custom;
    roast_chunk_cursor_init(&chunks, log);
    for (int64_t row = 0; roast_chunk_cursor_next(&chunks, &chunk); row++) {
        roast_chunk_customs(log, &chunk, &tail);
        while (roast_chunk_next_custom(&tail, &custom)) {
            if (custom.kind == ROAST_CUSTOM_LEFT_OUT)
                continue;
            put_int(to, row);
            put_text(to, custom.key);
            put_name(to, scopes[custom.scope]);
            put_custom(to, &custom);
            if (!end_row(to))
                return;
        }
    }
}

/* ---- files ---- */

static void fill_files(roast_sql_rows *to) {
    roast_file_cursor files;
    roast_file file;
    double ratio;
    roast_file_cursor_init(&files, roast_run_chunks_view(to->run));
    for (int64_t id = 1; roast_file_cursor_next(&files, &file); id++) {
        put_int(to, id);
        put_text(to, file.name);
        put_text(to, file.uuid);
        put_text(to, file.treename);
        put_known(to, file.total_branches);
        put_known(to, file.tree_bytes);
        put_known(to, file.tree_uncompressed_bytes);
        if (roast_file_ratio(&file, &ratio))
            put_real(to, ratio);
        if (!end_row(to))
            break;
    }
}

static void fill_file_branches(roast_sql_rows *to) {
    const roast_chunklog *log = roast_run_chunks_view(to->run);
    roast_file_cursor files;
    roast_file file;
    roast_tail_cursor tail;
    roast_branch_size size;
    roast_file_cursor_init(&files, log);
    while (roast_file_cursor_next(&files, &file)) {
        roast_file_branches(log, &file, &tail);
        while (roast_file_next_branch(&tail, &size)) {
            put_text(to, file.name);
            put_text(to, size.name);
            put_known(to, size.bytes);
            put_known(to, size.uncompressed_bytes);
            if (!end_row(to))
                return;
        }
    }
}

/* ---- workers ---- */

static void fill_changes(roast_sql_rows *to) {
    const roast_series *series = roast_run_series_view(to->run);
    for (uint64_t i = 0; i < roast_series_change_count(series); i++) {
        roast_worker_change change = roast_series_change_at(series, i);
        put_text(to, roast_series_worker_name(series, change.worker));
        put_name(to, change.kind == ROAST_WORKER_JOINED ? "joined" : "left");
        put_moment(to, change.when);
        if (change.threads != 0)
            put_int(to, change.threads);
        if (!end_row(to))
            break;
    }
}

static void fill_counts(roast_sql_rows *to) {
    const roast_series *series = roast_run_series_view(to->run);
    for (uint64_t i = 0; i < roast_series_tick_count(series); i++) {
        put_moment(to, roast_series_tick_time(series, i));
        put_int(to, roast_series_tick_workers(series, i));
        if (!end_row(to))
            break;
    }
}

/* ---- attempts ---- */

/* "type: message"; false without memory. */
static bool exception_of(const roast_attempt *attempt, char **out) {
    roast_str type = attempt->error_type, message = attempt->error_message;
    *out = NULL;
    if (type.data == NULL)
        return true;
    *out = sqlite3_mprintf("%.*s%s%.*s", (int)type.len, type.data, message.len > 0 ? ": " : "",
                           (int)message.len, message.len > 0 ? message.data : "");
    return *out != NULL;
}

static bool put_attempt(roast_sql_rows *to, int64_t number, const roast_attempts *all,
                        const roast_attempt *attempt) {
    const int64_t moments[] = {attempt->ready_us, attempt->sent_us, attempt->start_us,
                               attempt->stop_us, attempt->ended_us};
    char *exception;
    put_int(to, number);
    put_text(to, attempt->key);
    put_text(to, attempt->prefix);
    put_name(to, roast_attempt_kind_name(attempt->kind));
    if (attempt->worker != ROAST_NO_WORKER)
        put_text(to, roast_attempts_worker(all, attempt->worker));
    else
        put_nothing(to);
    attempt->thread != 0 ? put_int(to, (int64_t)attempt->thread) : put_nothing(to);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        put_seconds(to, moments[i]);
    put_length(to, attempt->transfer_us);
    put_length(to, attempt->deserialize_us);
    put_length(to, attempt->disk_us);
    put_known(to, attempt->nbytes);
    put_name(to, roast_outcome_name(attempt->outcome));
    if (!exception_of(attempt, &exception))
        to->code = SQLITE_NOMEM;
    put_name(to, exception);
    bool more = end_row(to);
    sqlite3_free(exception);
    return more;
}

static void fill_attempts(roast_sql_rows *to) {
    const roast_attempts *all = roast_run_attempts_view(to->run);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    if (all == NULL)
        return;
    roast_attempt_cursor_init(&cursor, all);
    for (int64_t i = 0; roast_attempt_cursor_next(&cursor, &attempt); i++)
        if (!put_attempt(to, i, all, &attempt))
            break;
}

static void fill_departures(roast_sql_rows *to) {
    const roast_attempts *attempts = roast_run_attempts_view(to->run);
    uint32_t count = attempts != NULL ? roast_attempts_departure_count(attempts) : 0;
    for (uint32_t i = 0; i < count; i++) {
        roast_departure departure = roast_attempts_departure(attempts, i);
        put_text(to, roast_attempts_worker(attempts, departure.worker));
        put_moment(to, departure.when);
        put_int(to, departure.expected);
        put_int(to, departure.running);
        put_int(to, departure.lost_results);
        if (!end_row(to))
            break;
    }
}

/* ---- the run ---- */

static void fill_meta(roast_sql_rows *to) {
    roast_str key, value;
    for (uint32_t i = 0; i < roast_run_meta_count(to->run); i++) {
        roast_run_meta_at(to->run, i, &key, &value);
        put_text(to, key);
        put_text(to, value);
        if (!end_row(to))
            break;
    }
}

static void fill_notes(roast_sql_rows *to) {
    for (uint32_t i = 0; i < roast_run_note_count(to->run); i++) {
        put_text(to, roast_run_note(to->run, i));
        if (!end_row(to))
            break;
    }
}

static void fill_skipped(roast_sql_rows *to) {
    const roast_ending *ending = roast_run_ending_view(to->run);
    for (uint32_t i = 0; i < roast_ending_skipped_count(ending); i++) {
        roast_skipped_file skipped = roast_ending_skipped(ending, i);
        put_text(to, skipped.dataset);
        put_text(to, skipped.file);
        put_text(to, skipped.reason);
        if (!end_row(to))
            break;
    }
}

static void fill_spans(roast_sql_rows *to) {
    for (uint32_t i = 0; i < roast_run_span_count(to->run); i++) {
        roast_span_value span = roast_run_span(to->run, i);
        put_text(to, span.context);
        put_text(to, span.prefix);
        put_text(to, span.activity);
        put_text(to, span.unit);
        put_real(to, span.value);
        if (!end_row(to))
            break;
    }
}

static void fill_metrics(roast_sql_rows *to) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        roast_value value = roast_metrics_at(to->metrics, i);
        if (info->scope != ROAST_IN_METRICS ||
            (info->type != ROAST_TYPE_INT && info->type != ROAST_TYPE_REAL))
            continue;
        put_name(to, info->key);
        value.kind == ROAST_VALUE_INT ? put_int(to, value.integer)
                                      : put_real(to, roast_value_number(value));
        put_name(to, info->unit);
        put_name(to, info->label);
        if (!end_row(to))
            break;
    }
}

/* ---- all of them ---- */

#define LEFT_OUT(...)
#define THEN(name, ...) " " #name
#define ONE_MORE(...)   +1
_Static_assert(1 ROAST_CHUNK_KEYS(ONE_MORE, ONE_MORE, ONE_MORE, ONE_MORE, ONE_MORE, ONE_MORE,
                                  LEFT_OUT) <= ROAST_SQL_MAX_COLUMNS,
               "a table has no more columns than are counted");

const roast_sql_source roast_sql_sources[ROAST_SQL_TABLES] = {
    {{"chunks", "chunk" ROAST_CHUNK_KEYS(THEN, THEN, THEN, THEN, THEN, THEN, LEFT_OUT)},
     fill_chunks,
     .keyed = true},
    {{"sections", "chunk position name kind time_delta start depth count parent memory_start_gb "
                  "memory_end_gb memory_delta_gb bytes"},
     fill_sections,
     .keyed = true},
    {{"reads", "chunk branch seconds bytes uncompressed_bytes count"}, fill_reads, .keyed = true},
    {{"branches", "chunk branch"}, fill_branches, .keyed = true},
    {{"custom_metrics", "chunk name scope value"}, fill_customs, .keyed = true},
    {{"files", "id filename uuid treename total_branches total_tree_bytes "
               "total_uncompressed_bytes compression_ratio"},
     fill_files},
    {{"file_branches", "filename branch bytes uncompressed_bytes"}, fill_file_branches},
    {{"worker_changes", "worker change time threads"}, fill_changes},
    {{"worker_counts", "time worker_count"}, fill_counts},
    {{"attempts", "attempt key prefix kind worker thread ready sent start stop ended transfer_s "
                  "deserialize_s disk_s nbytes outcome exception"},
     fill_attempts},
    {{"lost_workers", "worker time expected running lost_results"}, fill_departures},
    {{"samples", "worker timestamp" ROAST_SERIES_COLUMNS(THEN)}, fill_samples, .keyed = true},
    {{"spans", "context prefix activity unit value"}, fill_spans},
    {{"meta", "key value"}, fill_meta},
    {{"notes", "note"}, fill_notes},
    {{"skipped_files", "dataset file reason"}, fill_skipped},
    {{"metrics", "key value unit label"}, fill_metrics},
};
