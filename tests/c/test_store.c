/* Measurements on disk: what goes in comes out. */
#include "store_sample.h"

#include <errno.h>
#include <sqlite3.h>

#include "base/crc32c.h"
#include "roast/columns.h"
#include "store/schema.h"

/* ---- round trips ---- */

static void check_round_trip(roast_run *run) {
    save(run);
    roast_run *back = load();
    assert_same_run(run, back);
    save(back); /* and once more */
    roast_run *again = load();
    assert_same_run(run, again);
    roast_run_free(again);
    roast_run_free(back);
    roast_run_free(run);
}

static void test_empty(void **state) {
    (void)state;
    check_round_trip(empty_run());
}

static void test_everything(void **state) {
    (void)state;
    check_round_trip(rich_run());
}

/* Parts that are there but empty stay apart from parts that are not there. */
static void test_empty_parts(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = empty_run();
    roast_attempts *attempts;
    roast_series *counts;
    assert_ok(roast_attempts_new(&attempts, &err), err);
    assert_ok(roast_series_new(&counts, &err), err);
    roast_run_take_attempts(run, attempts);
    roast_run_take_sections(run, new_log());
    roast_run_take_counts(run, counts);
    check_round_trip(run);
}

/* Some numbers of the report, and a clock without sense. */
static void test_partial_head(void **state) {
    (void)state;
    const roast_report report = {.have_bytesread = true, .bytesread = 5};
    roast_run *run = empty_run();
    roast_run_set_report(run, &report);
    roast_run_set_clock(run, INFINITY, -0.0);
    check_round_trip(run);
    run = empty_run();
    roast_run_set_clock(run, NAN, 1);
    save(run);
    roast_run *back = load();
    assert_true(isnan(roast_run_get_clock(back).start));
    assert_true(roast_run_get_clock(back).have);
    roast_run_free(back);
    roast_run_free(run);
}

/* Enough for large pages, several levels of them and several pieces of the series. */
static void test_many_rows(void **state) {
    (void)state;
    roast_run *run = empty_run();
    roast_run_take_chunks(run, plain_log(3, 1, 5000));
    roast_run_take_series(run, rich_series(9000));
    check_round_trip(run);
}

static void test_lent_parts(void **state) {
    (void)state;
    roast_run *run = empty_run(), *back;
    roast_chunklog *log = odd_log();
    roast_series *series = rich_series(5);
    roast_run_lend_chunks(run, log);
    roast_run_lend_series(run, series);
    save(run);
    back = load();
    assert_same_log(log, roast_run_chunks_view(back));
    assert_same_series(series, roast_run_series_view(back));
    roast_run_free(back);
    roast_run_free(run);
    roast_chunklog_free(log);
    roast_series_free(series);
    /* Parts that were given away, and not lent back. */
    run = empty_run();
    roast_chunklog_free(roast_run_give_chunks(run));
    roast_series_free(roast_run_give_series(run));
    roast_run_lend_chunks(run, NULL);
    roast_run_lend_series(run, NULL);
    save(run);
    back = load();
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(back)));
    roast_run_free(back);
    roast_run_free(run);
}

/* ---- reading bit by bit ---- */

static void check_chunks(roast_store *store, const roast_chunklog *log) {
    roast_error err;
    roast_chunk streamed, kept;
    bool there;
    for (uint64_t i = 0; i < roast_chunklog_count(log); i++) {
        assert_ok(roast_store_next_chunk(store, &streamed, &there, &err), err);
        assert_true(there);
        assert_ok(roast_chunklog_get(log, i, &kept, &err), err);
        assert_same_chunk(log, &streamed, &kept);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(roast_store_next_chunk(store, &streamed, &there, &err), err);
        assert_false(there);
    }
}

static void check_attempts(roast_store *store, const roast_attempts *attempts) {
    roast_error err;
    roast_attempt_cursor cursor;
    roast_attempt streamed, kept;
    bool there;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &kept)) {
        assert_ok(roast_store_next_attempt(store, &streamed, &there, &err), err);
        assert_true(there);
        assert_same_attempt(&kept, &streamed);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(roast_store_next_attempt(store, &streamed, &there, &err), err);
        assert_false(there);
    }
}

static void check_files(roast_store *store, const roast_chunklog *log) {
    roast_error err;
    roast_chunklog *files = new_log();
    roast_file file;
    bool there = true;
    while (there) {
        assert_ok(roast_store_next_file(store, &file, &there, &err), err);
        if (there)
            assert_ok(roast_chunklog_add_file(files, &file, &err), err);
    }
    assert_ok(roast_store_next_file(store, &file, &there, &err), err);
    assert_false(there);
    assert_same_files(log, files);
    roast_chunklog_free(files);
}

static void test_streaming(void **state) {
    (void)state;
    roast_run *run = rich_run();
    save(run);
    roast_store *store = open_store();
    const roast_chunklog *log = roast_run_chunks_view(run);
    const roast_attempts *attempts = roast_run_attempts_view(run);
    assert_int_equal(roast_chunklog_count(log), roast_store_chunk_count(store));
    assert_int_equal(roast_attempts_count(attempts), roast_store_attempt_count(store));
    assert_int_equal(roast_series_sample_count(roast_run_series_view(run)),
                     roast_store_sample_count(store));
    for (int round = 0; round < 2; round++) {
        check_chunks(store, log);
        check_files(store, log);
        check_attempts(store, attempts);
        roast_store_rewind_chunks(store);
        roast_store_rewind_files(store);
        roast_store_rewind_attempts(store);
    }
    /* A walk may end anywhere. */
    roast_chunk chunk;
    bool there;
    assert_int_equal(ROAST_OK, roast_store_next_chunk(store, &chunk, &there, NULL));
    roast_store_close(store);
    roast_store_close(NULL);
    roast_run_free(run);
}

static void test_head(void **state) {
    (void)state;
    roast_run *run = rich_run();
    save(run);
    roast_store *store = open_store();
    const roast_run *head = roast_store_head(store);
    assert_same_head(run, head);
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(head)));
    assert_same_log(roast_run_sections_view(run), roast_run_sections_view(head));
    assert_same_series(roast_run_counts_view(run), roast_run_counts_view(head));
    const roast_series *series = roast_run_series_view(head);
    assert_int_equal(5, roast_series_worker_count(series));
    assert_int_equal(0, roast_series_tick_count(series));
    assert_int_equal(6, roast_series_event_count(series));
    assert_str("node-1", roast_series_worker_host(series, 2));
    assert_int_equal(2, roast_attempts_worker_count(roast_store_attempts_head(store)));
    assert_int_equal(1, roast_attempts_departure_count(roast_store_attempts_head(store)));
    assert_int_equal(0, roast_attempts_count(roast_store_attempts_head(store)));
    assert_int_equal(ROAST_STORE_FINISHED, roast_store_get_state(store));
    assert_false(roast_store_is_live(store));
    assert_string_equal(inside("run.sqlite"), roast_store_path(store));
    roast_store_close(store);
    roast_run_free(run);
}

/* The pieces one behind the other are the whole; a second walk goes like the first. */
static void check_pieces(roast_store *store, const roast_series *whole, int least) {
    roast_error err;
    roast_series *sum = NULL, *piece = NULL;
    int pieces = 0;
    assert_ok(roast_series_new(&sum, &err), err);
    for (;; pieces++) {
        assert_ok(roast_store_next_series(store, &piece, &err), err);
        if (piece == NULL)
            break;
        assert_int_equal(roast_series_worker_count(whole), roast_series_worker_count(piece));
        assert_ok(roast_series_extend(sum, piece, 0, 0, &err), err);
        roast_series_free(piece);
    }
    assert_true(pieces >= least);
    for (uint64_t i = 0; i < roast_series_event_count(whole); i++) {
        roast_worker_event event = roast_series_event_at(whole, i);
        assert_ok(
            roast_series_event(sum, event.worker, event.kind, event.when, event.threads, &err),
            err);
    }
    assert_int_equal(roast_series_sample_count(whole), roast_series_sample_count(sum));
    assert_int_equal(roast_series_tick_count(whole), roast_series_tick_count(sum));
    for (uint32_t w = 0; w < roast_series_worker_count(whole); w++) {
        roast_series_cursor a, b;
        roast_sample x, y;
        roast_series_cursor_init(&a, whole, w);
        roast_series_cursor_init(&b, sum, w);
        while (roast_series_cursor_next(&a, &x)) {
            assert_true(roast_series_cursor_next(&b, &y));
            assert_true(x.when.ns == y.when.ns);
            assert_memory_equal(x.value, y.value, sizeof x.value);
        }
    }
    roast_series_free(sum);
}

static void test_series_pieces(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = empty_run();
    roast_series *whole;
    roast_run_take_series(run, rich_series(9000));
    save(run);
    roast_store *store = open_store();
    check_pieces(store, roast_run_series_view(run), 3);
    assert_ok(roast_store_series(store, &whole, &err), err);
    assert_same_series(roast_run_series_view(run), whole);
    roast_series_free(whole);
    check_pieces(store, roast_run_series_view(run), 3); /* asking for the whole rewound it */
    roast_store_rewind_series(store);
    check_pieces(store, roast_run_series_view(run), 3);
    roast_store_close(store);
    roast_run_free(run);
}

/* Ticks without a sample are there as well. */
static void test_ticks_alone(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = empty_run();
    roast_series *piece;
    for (int i = 0; i < 10; i++)
        assert_ok(roast_series_tick(roast_run_series(run), (roast_utc){i}, 3, &err), err);
    save(run);
    roast_store *store = open_store();
    assert_ok(roast_store_next_series(store, &piece, &err), err);
    assert_non_null(piece);
    assert_same_series(roast_run_series_view(run), piece);
    roast_series_free(piece);
    assert_ok(roast_store_next_series(store, &piece, &err), err);
    assert_null(piece);
    roast_store_close(store);
    check_round_trip(run);
}

/* ---- blobs and small files ---- */

static void test_blobs_and_files(void **state) {
    (void)state;
    static char large[300000];
    memset(large, 'x', sizeof large);
    const roast_store_blob_in blobs[] = {
        {"metrics", "a\0b", 3}, {"empty", NULL, 0}, {"large", large, sizeof large}};
    const roast_store_file files[] = {{"metrics.json", "{}", 2}, {"metadata.json", NULL, 0}};
    const roast_store_options options = {
        .path = place, .files = files, .n_files = 2, .blobs = blobs, .n_blobs = 3};
    roast_run *run = rich_run();
    roast_error err;
    roast_str bytes;
    char *text;
    size_t len;
    assert_ok(roast_store_save(run, &options, &err), err);
    roast_store *store = open_store();
    assert_ok(roast_store_verify(store, &err), err);
    for (size_t i = 0; i < COUNT_OF(blobs); i++) {
        assert_ok(roast_store_blob(store, blobs[i].name, &bytes, &err), err);
        assert_int_equal(blobs[i].len, bytes.len);
        if (bytes.len > 0)
            assert_memory_equal(blobs[i].bytes, bytes.data, bytes.len);
    }
    assert_status(ROAST_ENOTFOUND, roast_store_blob(store, "other", &bytes, &err));
    assert_ok(roast_store_read_file(store, "metrics.json", &text, &len, &err), err);
    assert_string_equal("{}", text);
    assert_int_equal(2, len);
    roast_free(text);
    assert_ok(roast_store_read_file(store, "metadata.json", &text, &len, &err), err);
    assert_int_equal(0, len);
    roast_free(text);
    assert_status(ROAST_ENOTFOUND, roast_store_read_file(store, "config.json", &text, &len, &err));
    assert_non_null(strstr(err.message, "config.json"));
    roast_store_close(store);
    assert_int_equal(3, count_names(place));
    roast_run_free(run);
}

static void test_bad_options(void **state) {
    (void)state;
    const roast_store_file unknown = {"notes.txt", "", 0},
                           twice[] = {{"config.json", "", 0}, {"config.json", "", 0}};
    const roast_store_file up = {"../metrics.json", "", 0};
    const roast_store_file long_file = {"metrics.json", "", (size_t)ROAST_STORE_MAX_FILE + 1};
    const roast_store_blob_in nameless = {"", "", 0};
    const roast_store_options wrong[] = {
        {.path = place, .files = &unknown, .n_files = 1},
        {.path = place, .files = twice, .n_files = 2},
        {.path = place, .files = &up, .n_files = 1},
        {.path = place, .blobs = &nameless, .n_blobs = 1},
        {.path = ""},
        {.path = NULL},
        {.path = "/"},
        {.path = ".."},
        {.path = "/tmp/."},
        {.path = "/tmp/.roast-0123-4567.tmp"},
    };
    const roast_store_options large = {.path = place, .files = &long_file, .n_files = 1};
    roast_run *run = empty_run();
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_status(ROAST_EINVAL, roast_store_save(run, &wrong[i], NULL));
    assert_status(ROAST_ELIMIT, roast_store_save(run, &large, NULL));
    assert_int_equal(0, count_names(folder));
    roast_run_free(run);
}

/* ---- failing allocations ---- */

static roast_status save_and_load(void *context) {
    const roast_store_blob_in blob = {"b", "bytes", 5};
    const roast_store_file file = {"metrics.json", "{}", 2};
    const roast_store_options options = {.path = place,
                                         .overwrite = true,
                                         .files = &file,
                                         .n_files = 1,
                                         .blobs = &blob,
                                         .n_blobs = 1};
    roast_run *run;
    ROAST_TRY(roast_store_save(context, &options, NULL));
    ROAST_TRY(roast_store_load(place, &run, NULL));
    roast_run_free(run);
    return ROAST_OK;
}

static void test_allocations(void **state) {
    (void)state;
    roast_run *run = rich_run();
    assert_true(alloc_walk(save_and_load, run) > 50);
    assert_int_equal(1, count_names(folder));
    roast_run *back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(run);
}

static roast_status walk_all(void *context) {
    roast_store *store;
    roast_series *series;
    roast_chunk chunk;
    bool there;
    (void)context;
    ROAST_TRY(roast_store_open(place, &store, NULL));
    roast_status status = ROAST_OK;
    do
        status = roast_store_next_chunk(store, &chunk, &there, NULL);
    while (status == ROAST_OK && there);
    if (status == ROAST_OK)
        status = roast_store_next_series(store, &series, NULL);
    if (status == ROAST_OK)
        roast_series_free(series);
    if (status == ROAST_OK)
        status = roast_store_verify(store, NULL);
    roast_store_close(store);
    return status;
}

static void test_allocations_of_walks(void **state) {
    (void)state;
    roast_run *run = rich_run();
    save(run);
    roast_run_free(run);
    assert_true(alloc_walk(walk_all, NULL) > 30);
}

/* ---- SQL ---- */

static double query(sqlite3 *db, const char *sql) {
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(SQLITE_ROW, sqlite3_step(row));
    double value = sqlite3_column_double(row, 0);
    sqlite3_finalize(row);
    return value;
}

static void test_queries(void **state) {
    (void)state;
    roast_run *run = rich_run();
    save(run);
    roast_store *store = open_store();
    sqlite3 *db = roast_store_sqlite(store);
    assert_near(5, query(db, "SELECT count(*) FROM chunks"));
    assert_near(2, query(db, "SELECT count(*) FROM chunks WHERE dataset = 'ttbar' AND "
                             "error IS NULL"));
    assert_near(1.5e-6, query(db, "SELECT avg(duration) FROM chunks WHERE dataset = 'ttbar' "
                                  "AND error IS NULL"));
    assert_near(6, query(db, "SELECT count(*) FROM sections WHERE chunk = 2"));
    assert_near(6, query(db, "SELECT count(*) FROM sections WHERE chunk IS NULL"));
    assert_near(4e-7, query(db, "SELECT time_delta FROM sections WHERE name = 'inner' LIMIT 1"));
    assert_near(12, query(db, "SELECT count FROM sections WHERE name = 'inner' LIMIT 1"));
    assert_near(3, query(db, "SELECT count(*) FROM reads"));
    assert_near(2, query(db, "SELECT uncompressed_bytes FROM reads WHERE branch = 'Jet_pt'"));
    assert_near(2, query(db, "SELECT count(*) FROM branches"));
    assert_near(12, query(db, "SELECT count(*) FROM custom_metrics"));
    assert_near(1, query(db, "SELECT count(*) FROM custom_rows WHERE chunk >= 0 AND kind = 6"));
    assert_near(3, query(db, "SELECT count(*) FROM files"));
    assert_near(6, query(db, "SELECT count(*) FROM file_branches"));
    assert_near(5, query(db, "SELECT count(*) FROM attempts"));
    assert_near(1, query(db, "SELECT count(*) FROM attempts WHERE kind = 'processing' AND "
                             "key = 'Proc-0123456789abcdef0123456789abcdef'"));
    assert_near(1, query(db, "SELECT count(*) FROM lost_workers WHERE NOT expected"));
    assert_near(6, query(db, "SELECT count(*) FROM events"));
    assert_near(40, query(db, "SELECT count(*) FROM worker_counts"));
    /* It is read-only, whatever one tries. */
    const char *const writes[] = {"DELETE FROM chunk_rows", "CREATE TABLE t(x)",
                                  "UPDATE notes SET note = 'x'", "DROP VIEW chunks"};
    for (size_t i = 0; i < COUNT_OF(writes); i++)
        assert_int_not_equal(SQLITE_OK, sqlite3_exec(db, writes[i], NULL, NULL, NULL));
    sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
    assert_int_not_equal(SQLITE_OK,
                         sqlite3_exec(db, "DELETE FROM sqlite_schema", NULL, NULL, NULL));
    roast_store_close(store);
    roast_run_free(run);
}

/* ---- views show what the columns of the run show ---- */

static bool is_there(const roast_column *column, uint64_t row) {
    return column->validity == NULL || (column->validity[row / 8] >> row % 8 & 1) != 0;
}

static void check_cell(sqlite3_stmt *found, const roast_column *column, uint64_t row) {
    if (!is_there(column, row)) {
        /* A number beyond 64 bits is absent in a column, and a real in SQL. */
        int type = sqlite3_column_type(found, 0);
        assert_true(type == SQLITE_NULL ||
                    (column->cell == ROAST_CELL_INT && type == SQLITE_FLOAT));
        return;
    }
    if (column->cell == ROAST_CELL_TEXT) {
        roast_str text = roast_column_text(column, ((const int32_t *)column->values)[row]);
        if (memmem(text.data, text.len, "\xef\xbf\xbd", 3) == NULL) /* what was no UTF-8 */
            assert_str((const char *)sqlite3_column_text(found, 0), text);
    } else if (column->cell == ROAST_CELL_INT) {
        assert_int_equal(SQLITE_INTEGER, sqlite3_column_type(found, 0));
        assert_true(((const int64_t *)column->values)[row] == sqlite3_column_int64(found, 0));
    } else {
        assert_near(((const double *)column->values)[row], sqlite3_column_double(found, 0));
    }
}

static void check_view(sqlite3 *db, const roast_columns *columns, const char *order,
                       const char *skip) {
    for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
        const roast_column *column = roast_columns_at(columns, i);
        sqlite3_stmt *found;
        char sql[200];
        if (strstr(skip, column->name) != NULL)
            continue;
        snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY %s", column->name,
                 roast_table_name(roast_columns_table(columns)), order);
        if (sqlite3_prepare_v2(db, sql, -1, &found, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
            assert_int_equal(SQLITE_ROW, sqlite3_step(found));
            check_cell(found, column, row);
        }
        assert_int_equal(SQLITE_DONE, sqlite3_step(found));
        sqlite3_finalize(found);
    }
}

static void test_views(void **state) {
    (void)state;
    static const struct {
        roast_table table;
        const char *order, *skip;
    } tables[] = {
        {ROAST_TABLE_chunks, "chunk", ""},
        {ROAST_TABLE_sections, "chunk IS NULL, chunk, position", "parent"}, /* counted otherwise */
        {ROAST_TABLE_reads, "chunk", ""},
    };
    roast_run *run = rich_run();
    roast_error err;
    save(run);
    roast_store *store = open_store();
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        roast_columns *columns;
        assert_ok(roast_columns_new(run, tables[i].table, &columns, &err), err);
        check_view(roast_store_sqlite(store), columns, tables[i].order, tables[i].skip);
        roast_columns_free(columns);
    }
    roast_store_close(store);
    roast_run_free(run);
}

/* Any SQLite reads it: no VFS, no function of ours. */
static void test_plain_sqlite(void **state) {
    (void)state;
    roast_run *run = rich_run();
    sqlite3 *db;
    save(run);
    assert_int_equal(SQLITE_OK,
                     sqlite3_open_v2(inside("run.sqlite"), &db, SQLITE_OPEN_READONLY, NULL));
    assert_near(5, query(db, "SELECT count(*) FROM chunks"));
    assert_near(12, query(db, "SELECT count(*) FROM sections"));
    assert_near(1, query(db, "SELECT count(*) FROM pragma_integrity_check WHERE "
                             "integrity_check = 'ok'"));
    assert_near(ROAST_STORE_VERSION, query(db, "PRAGMA user_version"));
    sqlite3_close(db);
    roast_run_free(run);
}

/* What a version has in its file is fixed once it is released: a change of a table or a view then needs
 * a new ROAST_STORE_VERSION and a reader for the old one. Before, it needs a new number here, and
 * `test_store --make` for the measurement below. */
static void test_schema_is_pinned(void **state) {
    (void)state;
    uint32_t crc = 0;
    const roast_schema_entry *entry;
    for (unsigned i = 0; (entry = roast_schema_at(i)) != NULL; i++)
        crc = roast_crc32c(crc, entry->sql, strlen(entry->sql) + 1);
    assert_int_equal(1, ROAST_STORE_VERSION);
    assert_int_equal(UINT32_C(0x358118fd), crc);
}

/* ---- measurements of every version ---- */

#define OLD "tests/data/measurement_v1"

static void test_old_measurement(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    roast_chunk chunk;
    assert_ok(roast_store_load(OLD, &run, &err), err);
    assert_str("Proc", roast_run_processor(run));
    assert_str("knöten", roast_run_meta(run, str("host")));
    assert_int_equal(3, roast_run_span_count(run));
    const roast_chunklog *log = roast_run_chunks_view(run);
    assert_int_equal(5, roast_chunklog_count(log));
    assert_ok(roast_chunklog_get(log, 2, &chunk, &err), err);
    assert_str("ValueError", chunk.error_type);
    assert_int_equal(6, chunk.n_sections);
    assert_int_equal(3, chunk.n_reads);
    assert_int_equal(12, chunk.n_customs);
    assert_int_equal(4, roast_chunklog_count(roast_run_sections_view(run)));
    const roast_series *series = roast_run_series_view(run);
    assert_int_equal(40, roast_series_tick_count(series));
    assert_int_equal(5, roast_series_worker_count(series));
    assert_int_equal(133, roast_series_sample_count(series));
    assert_int_equal(3, roast_series_tick_count(roast_run_counts_view(run)));
    assert_int_equal(5, roast_attempts_count(roast_run_attempts_view(run)));
    roast_run_free(run);
}

/* Writes the one above; needed once a version. */
static int make_old_measurement(void) {
    static const char text[] = "{}\n";
    const roast_store_file files[] = {{"metrics.json", text, 3}, {"config.json", text, 3}};
    const roast_store_options options = {
        .path = OLD, .overwrite = true, .files = files, .n_files = 2};
    roast_run *run = rich_run();
    roast_status status = roast_store_save(run, &options, NULL);
    roast_run_free(run);
    return status == ROAST_OK ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--make") == 0)
        return make_old_measurement();
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_empty),           TEST(test_everything),
        TEST(test_empty_parts),     TEST(test_partial_head),
        TEST(test_many_rows),       TEST(test_lent_parts),
        TEST(test_streaming),       TEST(test_head),
        TEST(test_series_pieces),   TEST(test_ticks_alone),
        TEST(test_blobs_and_files), TEST(test_bad_options),
        TEST(test_allocations),     TEST(test_allocations_of_walks),
        TEST(test_queries),         TEST(test_views),
        TEST(test_plain_sqlite),    TEST(test_schema_is_pinned),
        TEST(test_old_measurement),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
