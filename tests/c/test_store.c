/* Measurements on disk: what goes in comes out. */
#include "store_sample.h"

#include <sqlite3.h>

#include "roast/columns.h"
#include "roast/sql.h"
#include "store/database/db.h"

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

/* More chunks than one part holds, some of them large; a file that no chunk names, and one that was told twice. */
static void test_many_parts(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = empty_run();
    roast_chunklog *log = plain_log(3, 1, 40000);
    const roast_branch_size size = {str("Jet_pt"), 5, -1};
    const roast_file files[] = {
        {.name = str("unnamed.root"),
         .total_branches = 3,
         .tree_bytes = -1,
         .tree_uncompressed_bytes = 9},
        {.name = str("unnamed.root"),
         .total_branches = 4,
         .tree_bytes = 8,
         .tree_uncompressed_bytes = 9,
         .n_branches = 1,
         .branches = &size},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++)
        assert_ok(roast_chunklog_add_file(log, &files[i], &err), err);
    roast_chunklog *rich = rich_log();
    assert_ok(roast_chunklog_merge(log, rich, false, NULL, &err), err);
    roast_chunklog_free(rich);
    roast_run_take_chunks(run, log);
    check_round_trip(run);
}

/* ---- what an open measurement tells ---- */

static void test_head(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = rich_run(), *back = NULL;
    save(run);
    roast_store *store = open_store();
    const roast_run *head = roast_store_head(store);
    assert_same_head(run, head);
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(head)));
    assert_int_equal(0, roast_series_worker_count(roast_run_series_view(head)));
    assert_null(roast_run_attempts_view(head));
    assert_same_log(roast_run_sections_view(run), roast_run_sections_view(head));
    assert_same_series(roast_run_counts_view(run), roast_run_counts_view(head));
    assert_int_equal(ROAST_STORE_FINISHED, roast_store_get_state(store));
    assert_ok(roast_store_take_run(store, &back, &err), err);
    assert_same_run(run, back);
    assert_null(roast_store_head(store));
    assert_status(ROAST_ESTATE, roast_store_take_run(store, &back, &err));
    roast_store_close(store);
    roast_store_close(NULL);
    roast_run_free(back);
    roast_run_free(run);
}

/* Ticks without a sample are there as well. */
static void test_ticks_alone(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = empty_run();
    for (int i = 0; i < 10; i++)
        assert_ok(roast_series_tick(roast_run_series(run), (roast_utc){i}, 3, &err), err);
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

/* Any SQLite opens the file and sees its parts. */
static void test_plain_sqlite(void **state) {
    (void)state;
    roast_run *run = rich_run();
    sqlite3 *db;
    int64_t number;
    roast_error err;
    save(run);
    assert_int_equal(SQLITE_OK,
                     sqlite3_open_v2(inside("run.sqlite"), &db, SQLITE_OPEN_READONLY, NULL));
    assert_ok(
        roast_db_number(db, "SELECT count(*) FROM parts WHERE name = 'chunks'", &number, &err),
        err);
    assert_int_equal(1, number);
    assert_ok(roast_db_number(db, "SELECT max(id) - count(*) FROM parts", &number, &err), err);
    assert_int_equal(0, number);
    sqlite3_close(db);
    roast_run_free(run);
}

/* ---- SQL: every table, of a run that has everything ---- */

static double number_of(roast_sql *sql, const char *query) {
    roast_error err;
    bool there;
    assert_ok(roast_sql_ask(sql, str(query), &err), err);
    assert_ok(roast_sql_next(sql, &there, &err), err);
    assert_true(there);
    roast_sql_cell cell = roast_sql_cell_at(sql, 0);
    return cell.kind == ROAST_SQL_INT ? (double)cell.integer : cell.real;
}

static void test_all_tables(void **state) {
    (void)state;
    static const struct {
        const char *sql;
        double value;
    } questions[] = {
        {"SELECT count(*) FROM chunks", 5},
        {"SELECT count(*) FROM chunks WHERE chunk = chunk_id", 5},
        {"SELECT count(*) FROM chunks WHERE dataset = 'ttbar' AND error IS NULL", 2},
        {"SELECT avg(duration) FROM chunks WHERE dataset = 'ttbar' AND error IS NULL", 1.5e-6},
        {"SELECT count(*) FROM chunks WHERE chunk = 2", 1},
        {"SELECT count(*) FROM chunks WHERE chunk = 5", 0},
        {"SELECT count(*) FROM chunks WHERE chunk = -1", 0},
        {"SELECT count(*) FROM chunks WHERE chunk = '2'", 0},
        {"SELECT count(*) FROM chunks WHERE chunk = 2.0", 1},
        {"SELECT count(*) FROM chunks WHERE chunk = 2.5", 0},
        {"SELECT count(*) FROM sections WHERE chunk = 2", 6},
        {"SELECT count(*) FROM sections WHERE chunk IS NULL", 6},
        {"SELECT max(position) FROM sections WHERE chunk = 2", 5},
        {"SELECT max(position) FROM sections WHERE chunk IS NULL", 5},
        {"SELECT count(*) FROM sections s JOIN sections p ON p.chunk = s.chunk AND "
         "p.position = s.parent WHERE p.depth = s.depth - 1",
         4},
        {"SELECT time_delta FROM sections WHERE name = 'inner' LIMIT 1", 4e-7},
        {"SELECT count FROM sections WHERE name = 'inner' LIMIT 1", 12},
        {"SELECT count(*) FROM reads", 3},
        {"SELECT uncompressed_bytes FROM reads WHERE branch = 'Jet_pt'", 2},
        {"SELECT count(*) FROM reads JOIN chunks USING (chunk) WHERE error IS NOT NULL", 3},
        {"SELECT count(*) FROM branches", 2},
        {"SELECT count(*) FROM branches WHERE chunk = 0", 0},
        {"SELECT count(*) FROM branches b JOIN chunks c ON c.chunk = b.chunk", 2},
        {"SELECT count(*) FROM custom_metrics", 12},
        {"SELECT count(*) FROM custom_metrics WHERE typeof(value) = 'text' AND scope = 'chunk'", 3},
        {"SELECT count(DISTINCT id) FROM files", 3},
        {"SELECT count(*) FROM file_branches", 6},
        {"SELECT count(*) FROM attempts", 5},
        {"SELECT max(attempt) FROM attempts", 4},
        {"SELECT count(*) FROM attempts WHERE kind = 'processing' AND "
         "key = 'Proc-0123456789abcdef0123456789abcdef'",
         1},
        {"SELECT count(*) FROM lost_workers WHERE NOT expected", 1},
        {"SELECT count(*) FROM worker_changes", 6},
        {"SELECT count(*) FROM worker_changes WHERE change = 'left' AND threads IS NULL", 1},
        {"SELECT count(*) FROM worker_counts", 40},
        {"SELECT count(*) FROM spans", 3},
        {"SELECT count(*) FROM meta WHERE key = 'host'", 1},
        {"SELECT count(*) > 0 FROM notes", 1},
    };
    roast_error err;
    roast_sql *sql;
    roast_run *run = rich_run();
    save(run);
    roast_run_free(run);
    run = load();
    roast_metrics *metrics;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_sql_new(run, metrics, &sql, &err), err);
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        double value = number_of(sql, questions[i].sql);
        if (!(fabs(value - questions[i].value) <= 1e-9 * fabs(value)))
            fail_msg("%s: %g", questions[i].sql, value);
    }
    roast_sql_free(sql);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void assert_same_cell(const roast_column *column, uint64_t row, roast_sql_cell cell) {
    bool there = column->validity == NULL || (column->validity[row / 8] >> row % 8 & 1) != 0;
    if (!there)
        assert_int_equal(ROAST_SQL_NULL, cell.kind);
    else if (column->cell == ROAST_CELL_TEXT)
        assert_true(roast_str_equal(
            roast_column_text(column, ((const int32_t *)column->values)[row]), cell.text));
    else if (column->cell == ROAST_CELL_REAL)
        assert_near(((const double *)column->values)[row], cell.real);
    else if (column->cell == ROAST_CELL_TIME)
        assert_near((double)((const int64_t *)column->values)[row] / 1e9, cell.real);
    else
        assert_true(((const int64_t *)column->values)[row] == cell.integer);
}

/* Every cell of the tables that are columns, too. */
static void test_tables_are_the_columns(void **state) {
    (void)state;
    roast_error err;
    roast_sql *sql;
    roast_run *run = rich_run();
    roast_metrics *metrics;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_sql_new(run, metrics, &sql, &err), err);
    for (int table = 0; table < ROAST_TABLES; table++) {
        roast_columns *columns;
        assert_ok(roast_columns_new(run, table, &columns, &err), err);
        assert_true(roast_columns_rows(columns) > 0);
        for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
            const roast_column *column = roast_columns_at(columns, i);
            char query[100];
            bool there;
            if (strcmp(column->name, "parent") == 0)
                continue; /* in SQL it is a position in its chunk */
            snprintf(query, sizeof query, "SELECT \"%s\" FROM %s ORDER BY rowid", column->name,
                     roast_table_name((roast_table)table));
            assert_ok(roast_sql_ask(sql, str(query), &err), err);
            for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
                assert_ok(roast_sql_next(sql, &there, &err), err);
                assert_true(there);
                assert_same_cell(column, row, roast_sql_cell_at(sql, 0));
            }
            assert_ok(roast_sql_next(sql, &there, &err), err);
            assert_false(there);
        }
        roast_columns_free(columns);
    }
    roast_sql_free(sql);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_empty),           TEST(test_everything),  TEST(test_empty_parts),
        TEST(test_partial_head),    TEST(test_many_rows),   TEST(test_many_parts),
        TEST(test_lent_parts),      TEST(test_head),        TEST(test_ticks_alone),
        TEST(test_blobs_and_files), TEST(test_bad_options), TEST(test_allocations),
        TEST(test_plain_sqlite),    TEST(test_all_tables),  TEST(test_tables_are_the_columns),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
