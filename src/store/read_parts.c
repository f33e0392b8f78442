/* The small parts of a run, the workers and the attempts from their rows. */
#include <math.h>

#include "store/reader.h"

typedef roast_status (*take_row)(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err);

/* Rows whose first column counts from `first` on. `take` answers ROAST_ECORRUPT for a row that is
 * malformed, and tells of any other failure itself. */
static roast_status each_row(roast_store *store, const char *table, const char *sql, int64_t first,
                             take_row take, void *to, roast_error *err) {
    sqlite3_stmt *row;
    bool more;
    int64_t id;
    ROAST_TRY(roast_db_prepare(&store->db, sql, &row, err));
    roast_status status = ROAST_OK;
    for (int64_t index = first; status == ROAST_OK; index++) {
        status = roast_db_step(&store->db, row, &more, err);
        if (status != ROAST_OK || !more)
            break;
        status =
            roast_db_int(row, 0, &id) && id == index ? take(store, row, to, err) : ROAST_ECORRUPT;
        if (status == ROAST_ECORRUPT || status == ROAST_EINVAL)
            status = roast_db_damaged(&store->db, table, index, err);
    }
    sqlite3_finalize(row);
    return status;
}

/* ---- run: key and value ---- */

typedef struct about {
    roast_run_clock clock;
    bool end;
    roast_report report;
    int64_t beside; /* -1: none */
    bool attempts;
} about;

typedef bool (*take_value)(sqlite3_stmt *row, about *to);

static bool take_start(sqlite3_stmt *row, about *to) {
    to->clock.have = true;
    return roast_db_real(row, 1, &to->clock.start);
}

static bool take_end(sqlite3_stmt *row, about *to) {
    to->end = true;
    return roast_db_real(row, 1, &to->clock.end);
}

static bool take_entries(sqlite3_stmt *row, about *to) {
    to->report.have_entries = true;
    return roast_db_int(row, 1, &to->report.entries);
}

static bool take_bytesread(sqlite3_stmt *row, about *to) {
    to->report.have_bytesread = true;
    return roast_db_int(row, 1, &to->report.bytesread);
}

static bool take_processtime(sqlite3_stmt *row, about *to) {
    to->report.have_processtime = true;
    return roast_db_real(row, 1, &to->report.processtime);
}

static bool take_chunks(sqlite3_stmt *row, about *to) {
    to->report.have_chunks = true;
    return roast_db_int(row, 1, &to->report.chunks);
}

static bool take_beside(sqlite3_stmt *row, about *to) {
    return roast_db_int(row, 1, &to->beside) && to->beside >= 0;
}

static bool take_attempts(sqlite3_stmt *row, about *to) {
    int64_t one;
    to->attempts = true;
    return roast_db_int(row, 1, &one) && one == 1;
}

static const struct {
    const char *key;
    take_value take;
} values[] = {
    {"start", take_start},         {"end", take_end},           {"entries", take_entries},
    {"bytesread", take_bytesread}, {"chunks", take_chunks},     {"processtime", take_processtime},
    {"beside", take_beside},       {"attempts", take_attempts},
};

/* What the run itself takes. */
static roast_status take_text_value(roast_run *run, roast_str key, sqlite3_stmt *row,
                                    roast_error *err) {
    roast_str text;
    int64_t number;
    if (roast_str_equal(key, roast_str_of("processor")))
        return roast_db_text(row, 1, &text) ? roast_run_set_processor(run, text, err)
                                            : ROAST_ECORRUPT;
    if (!roast_str_equal(key, roast_str_of("replayed")) || !roast_db_int(row, 1, &number))
        return ROAST_ECORRUPT;
    roast_run_set_replayed(run, (uint64_t)number);
    return ROAST_OK;
}

static roast_status take_value_row(roast_store *store, sqlite3_stmt *row, about *to,
                                   roast_error *err) {
    roast_str key;
    if (!roast_db_text(row, 0, &key))
        return ROAST_ECORRUPT;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (roast_str_equal(key, roast_str_of(values[i].key)))
            return values[i].take(row, to) ? ROAST_OK : ROAST_ECORRUPT;
    return take_text_value(store->head, key, row, err);
}

static roast_status read_values(roast_store *store, about *to, roast_error *err) {
    sqlite3_stmt *row;
    bool more;
    ROAST_TRY(roast_db_prepare(&store->db, "SELECT * FROM run", &row, err));
    roast_status status = ROAST_OK;
    for (int64_t index = 0; status == ROAST_OK; index++) {
        status = roast_db_step(&store->db, row, &more, err);
        if (status != ROAST_OK || !more)
            break;
        status = take_value_row(store, row, to, err);
        if (status == ROAST_ECORRUPT)
            status = roast_db_damaged(&store->db, "run", index, err);
    }
    sqlite3_finalize(row);
    if (status == ROAST_OK && to->clock.have != to->end)
        status = roast_db_damaged(&store->db, "run", -1, err);
    return status;
}

/* ---- lists ---- */

static roast_status take_meta(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_str key, value;
    (void)to;
    if (!roast_db_text(row, 1, &key) || !roast_db_text(row, 2, &value))
        return ROAST_ECORRUPT;
    return roast_run_set_meta(store->head, key, value, err);
}

static roast_status take_note(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_str note;
    (void)to;
    if (!roast_db_text(row, 1, &note))
        return ROAST_ECORRUPT;
    return roast_run_add_note(store->head, note, err);
}

static roast_status take_column(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_str name;
    (void)to;
    if (!roast_db_text(row, 1, &name))
        return ROAST_ECORRUPT;
    return roast_run_add_column(store->head, name, err);
}

static roast_status take_span(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_span_value span;
    (void)to;
    if (!roast_db_text(row, 1, &span.context) || !roast_db_text_or_null(row, 2, &span.prefix) ||
        !roast_db_text(row, 3, &span.activity) || !roast_db_text(row, 4, &span.unit) ||
        !roast_db_real(row, 5, &span.value))
        return ROAST_ECORRUPT;
    return roast_run_add_span(store->head, &span, err);
}

static roast_status take_part(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_str name, bytes;
    roast_series *counts;
    (void)to;
    if (!roast_db_text(row, 1, &name) || !roast_str_equal(name, roast_str_of("counts")) ||
        !roast_db_blob(row, 2, &bytes))
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_series_decode(bytes.data, bytes.len, &counts, err));
    roast_run_take_counts(store->head, counts);
    return ROAST_OK;
}

/* ---- workers ---- */

static roast_status take_worker(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_series *series = to;
    roast_str name, host;
    uint32_t number;
    (void)store;
    if (!roast_db_text(row, 1, &name) || !roast_db_text_or_null(row, 2, &host))
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_series_worker(series, name, &number, err));
    if (number != sqlite3_column_int64(row, 0))
        return ROAST_ECORRUPT; /* a name that was there before */
    return host.data == NULL ? ROAST_OK : roast_series_set_host(series, number, host, err);
}

static roast_status take_event(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    int64_t worker, kind, when, threads;
    (void)store;
    if (!roast_db_int(row, 1, &worker) || !roast_db_int(row, 2, &kind) ||
        !roast_db_int(row, 3, &when) || !roast_db_int(row, 4, &threads) || worker < 0 ||
        worker >= ROAST_MAX_WORKERS || kind < 0 || kind > ROAST_WORKER_LEFT || threads < 0 ||
        threads > INT32_MAX)
        return ROAST_ECORRUPT;
    return roast_series_event(to, (uint32_t)worker, (roast_worker_event_kind)kind,
                              (roast_utc){when}, (int32_t)threads, err);
}

roast_status roast_read_workers(roast_store *store, roast_series *out, roast_error *err) {
    return each_row(store, "workers", "SELECT * FROM workers ORDER BY id", 0, take_worker, out,
                    err);
}

roast_status roast_read_events(roast_store *store, roast_series *out, roast_error *err) {
    return each_row(store, "event_rows", "SELECT * FROM event_rows ORDER BY id", 0, take_event, out,
                    err);
}

/* ---- attempts ---- */

static roast_status take_attempt_worker(roast_store *store, sqlite3_stmt *row, void *to,
                                        roast_error *err) {
    roast_str name;
    uint32_t number;
    (void)store;
    if (!roast_db_text(row, 1, &name))
        return ROAST_ECORRUPT;
    ROAST_TRY(roast_attempts_add_worker(to, name, &number, err));
    return number == sqlite3_column_int64(row, 0) ? ROAST_OK : ROAST_ECORRUPT;
}

static roast_status take_departure(roast_store *store, sqlite3_stmt *row, void *to,
                                   roast_error *err) {
    int64_t worker, when, expected, running, lost;
    (void)store;
    if (!roast_db_int(row, 1, &worker) || !roast_db_int(row, 2, &when) ||
        !roast_db_int(row, 3, &expected) || !roast_db_int(row, 4, &running) ||
        !roast_db_int(row, 5, &lost) || worker < 0 || worker >= roast_attempts_worker_count(to) ||
        expected < 0 || expected > 1 || running < 0 || running > UINT32_MAX || lost < 0 ||
        lost > UINT32_MAX)
        return ROAST_ECORRUPT;
    const roast_departure departure = {
        (uint32_t)worker, {when}, expected != 0, (uint32_t)running, (uint32_t)lost};
    return roast_attempts_add_departure(to, &departure, err);
}

static roast_status take_prefix(roast_store *store, sqlite3_stmt *row, void *to, roast_error *err) {
    roast_attempt_prefix prefix;
    int64_t kind;
    (void)to;
    if (!roast_db_text_or_null(row, 1, &prefix.prefix) || !roast_db_int(row, 2, &kind) ||
        kind < 0 || kind >= ROAST_KIND_COUNT || prefix.prefix.len > ROAST_MAX_KEY)
        return ROAST_ECORRUPT;
    prefix.kind = (roast_attempt_kind)kind;
    void *prefixes = store->prefixes;
    roast_status status = roast_array_reserve(&prefixes, &store->prefixes_capacity, sizeof prefix,
                                              (size_t)store->n_prefixes + 1);
    store->prefixes = prefixes;
    if (status == ROAST_OK)
        status = roast_arena_str(&store->names, prefix.prefix, &prefix.prefix);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "run.sqlite", -1, "no memory for the attempts");
    store->prefixes[store->n_prefixes++] = prefix;
    return ROAST_OK;
}

roast_status roast_read_attempts_head(roast_store *store, roast_attempts *out, roast_error *err) {
    ROAST_TRY(each_row(store, "attempt_workers", "SELECT * FROM attempt_workers ORDER BY id", 0,
                       take_attempt_worker, out, err));
    return each_row(store, "departures", "SELECT * FROM departures ORDER BY id", 0, take_departure,
                    out, err);
}

/* ---- the head ---- */

static roast_status read_lists(roast_store *store, roast_error *err) {
    ROAST_TRY(each_row(store, "meta", "SELECT * FROM meta ORDER BY id", 1, take_meta, NULL, err));
    ROAST_TRY(each_row(store, "notes", "SELECT * FROM notes ORDER BY id", 1, take_note, NULL, err));
    ROAST_TRY(each_row(store, "report_columns", "SELECT * FROM report_columns ORDER BY id", 1,
                       take_column, NULL, err));
    ROAST_TRY(each_row(store, "spans", "SELECT * FROM spans ORDER BY id", 1, take_span, NULL, err));
    ROAST_TRY(each_row(store, "parts", "SELECT * FROM parts ORDER BY id", 1, take_part, NULL, err));
    ROAST_TRY(roast_read_workers(store, roast_run_series(store->head), err));
    return roast_read_events(store, roast_run_series(store->head), err);
}

static roast_status read_watched(roast_store *store, roast_error *err) {
    ROAST_TRY(roast_attempts_new(&store->attempts, err));
    ROAST_TRY(roast_read_attempts_head(store, store->attempts, err));
    return each_row(store, "attempt_prefixes", "SELECT * FROM attempt_prefixes ORDER BY id", 1,
                    take_prefix, NULL, err);
}

static roast_status read_sections(roast_store *store, int64_t count, roast_error *err) {
    roast_chunklog *beside;
    ROAST_TRY(roast_chunklog_new(&beside, err));
    roast_status status = roast_read_beside(store, beside, err);
    if (status == ROAST_OK && (int64_t)roast_chunklog_count(beside) != count)
        status = roast_db_damaged(&store->db, "chunk_rows", -count, err);
    if (status == ROAST_OK)
        roast_run_take_sections(store->head, beside);
    else
        roast_chunklog_free(beside);
    return status;
}

/* Rows have the numbers 0, 1, ...: the last one tells how many there are. */
static roast_status read_counts(roast_store *store, roast_error *err) {
    const roast_db *db = &store->db;
    ROAST_TRY(roast_db_number(db, "SELECT coalesce(max(id), -1) + 1 FROM chunk_rows",
                              &store->chunk_count, err));
    ROAST_TRY(roast_db_number(db, "SELECT coalesce(max(id), -1) + 1 FROM attempt_rows",
                              &store->attempt_count, err));
    ROAST_TRY(roast_db_number(db, "SELECT coalesce(max(id), -1) + 1 FROM ticks", &store->tick_count,
                              err));
    ROAST_TRY(roast_db_number(db, "SELECT coalesce(sum(samples), 0) FROM series",
                              &store->sample_count, err));
    if (store->chunk_count < 0) /* only records beside the chunks */
        store->chunk_count = 0;
    return store->sample_count >= 0 ? ROAST_OK : roast_db_damaged(db, "series", -1, err);
}

roast_status roast_read_head(roast_store *store, roast_error *err) {
    about found = {.beside = -1};
    ROAST_TRY(roast_run_new(&store->head, err));
    ROAST_TRY(read_values(store, &found, err));
    if (found.clock.have)
        roast_run_set_clock(store->head, found.clock.start, found.clock.end);
    roast_run_set_report(store->head, &found.report);
    ROAST_TRY(read_lists(store, err));
    ROAST_TRY(read_counts(store, err));
    if (found.attempts)
        ROAST_TRY(read_watched(store, err));
    return found.beside >= 0 ? read_sections(store, found.beside, err) : ROAST_OK;
}
