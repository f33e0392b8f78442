#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run_sample.h"

#include <sqlite3.h>

#include "roast/sql.h"

/* ---- a run to ask ---- */

typedef struct asked {
    roast_run *run;
    roast_metrics *metrics;
    roast_sql *sql;
} asked;

static int set_up(void **state) {
    roast_error err;
    asked *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->run = full_run();
    assert_ok(roast_metrics_compute(a->run, &a->metrics, &err), err);
    assert_ok(roast_sql_new(a->run, a->metrics, &a->sql, &err), err);
    *state = a;
    return 0;
}

static int tear_down(void **state) {
    asked *a = *state;
    roast_sql_free(a->sql);
    roast_metrics_free(a->metrics);
    roast_run_free(a->run);
    free(a);
    return 0;
}

static void ask(asked *a, const char *query) {
    roast_error err;
    assert_ok(roast_sql_ask(a->sql, roast_str_of(query), &err), err);
}

static bool next(asked *a) {
    roast_error err;
    bool there;
    assert_ok(roast_sql_next(a->sql, &there, &err), err);
    return there;
}

/* The one number that a question has for an answer. */
static double number(asked *a, const char *query) {
    ask(a, query);
    assert_true(next(a));
    roast_sql_cell cell = roast_sql_cell_at(a->sql, 0);
    double value = cell.kind == ROAST_SQL_INT ? (double)cell.integer : cell.real;
    assert_true(cell.kind == ROAST_SQL_INT || cell.kind == ROAST_SQL_REAL);
    assert_false(next(a));
    return value;
}

/* ---- answers ---- */

static void test_questions_to_the_chunks(void **state) {
    asked *a = *state;
    assert_near(6, number(a, "SELECT count(*) FROM chunks"));
    assert_near(
        1.5, number(a, "SELECT avg(duration) FROM chunks WHERE dataset = 'A' AND error IS NULL"));
    ask(a, "SELECT dataset, sum(num_events) AS n, NULL, x'00ff', 0.5 FROM chunks "
           "WHERE dataset = 'B' GROUP BY 1;  -- that is all");
    assert_int_equal(5, roast_sql_column_count(a->sql));
    assert_string_equal("dataset", roast_sql_column(a->sql, 0));
    assert_string_equal("n", roast_sql_column(a->sql, 1));
    assert_null(roast_sql_column(a->sql, 5));
    assert_true(next(a));
    assert_int_equal(ROAST_SQL_TEXT, roast_sql_cell_at(a->sql, 0).kind);
    assert_str("B", roast_sql_cell_at(a->sql, 0).text);
    assert_int_equal(200, roast_sql_cell_at(a->sql, 1).integer);
    assert_int_equal(ROAST_SQL_NULL, roast_sql_cell_at(a->sql, 2).kind);
    assert_int_equal(ROAST_SQL_BLOB, roast_sql_cell_at(a->sql, 3).kind);
    assert_int_equal(2, roast_sql_cell_at(a->sql, 3).text.len);
    assert_near(0.5, roast_sql_cell_at(a->sql, 4).real);
    assert_int_equal(ROAST_SQL_NULL, roast_sql_cell_at(a->sql, 5).kind);
    assert_false(next(a));
}

static void test_the_series_is_a_table(void **state) {
    asked *a = *state;
    /* Two workers at five moments, and eight more at two of them. */
    assert_near(26, number(a, "SELECT count(*) FROM samples"));
    assert_near(400e6, number(a, "SELECT max(memory) FROM samples"));
    assert_near(5, number(a, "SELECT count(*) FROM samples WHERE worker = 'tcp://worker:1'"));
    assert_near(0, number(a, "SELECT count(*) FROM samples WHERE worker = 'nobody'"));
    assert_near(0, number(a, "SELECT count(*) FROM samples WHERE worker = NULL"));
    assert_near(1700000000.123456789, number(a, "SELECT min(timestamp) FROM samples"));
    assert_near(2, number(a, "SELECT count(*) FROM samples WHERE memory IS NULL"));
    assert_near(80, number(a, "SELECT max(cpu) FROM samples WHERE worker LIKE '%:9'"));
    /* With itself, worker by worker: each walk stands alone. */
    assert_near(2 * 25 + 8 * 4, number(a, "SELECT count(*) FROM samples x JOIN samples y "
                                          "ON x.worker = y.worker"));
    assert_near(26 * 26, number(a, "SELECT count(*) FROM samples x, samples y"));
    assert_near(26, number(a, "SELECT count(DISTINCT rowid) FROM samples"));
}

/* Without chunks, samples and attempts. */
static void test_an_empty_run(void **state) {
    asked *a = *state;
    const roast_sql_table *table;
    roast_error err;
    roast_sql_free(a->sql);
    roast_run_free(a->run);
    a->run = new_run();
    assert_ok(roast_sql_new(a->run, a->metrics, &a->sql, &err), err);
    for (uint32_t i = 0; (table = roast_sql_table_at(i)) != NULL; i++) {
        char query[200];
        snprintf(query, sizeof query, "SELECT count(*) FROM %s WHERE '%s' <> 'metrics'",
                 table->name, table->name);
        assert_near(0, number(a, query));
    }
}

static void test_the_metrics_are_a_table(void **state) {
    asked *a = *state;
    uint32_t at;
    assert_non_null(roast_catalogue_find("total_events", &at));
    assert_near((double)roast_metrics_at(a->metrics, at).integer,
                number(a, "SELECT value FROM metrics WHERE key = 'total_events'"));
    assert_near(1, number(a, "SELECT count(*) FROM metrics WHERE key = 'wall_time' AND unit = 's' "
                             "AND label = 'Wall Time'"));
}

/* Only columns that a query reads are filled, whatever the way it names them. */
static void test_every_way_to_read_a_column(void **state) {
    asked *a = *state;
    const double chunks = 6;
    double named = number(a, "SELECT count(dataset) FROM chunks");
    assert_true(named > 0);
    assert_near(named, number(a, "SELECT count(\"DataSet\") FROM Chunks"));
    assert_near(named, number(a, "SELECT count([dataset]) FROM (SELECT * FROM main.chunks)"));
    assert_near(chunks, number(a, "SELECT count(*) FROM chunks JOIN "
                                  "(SELECT dataset AS d, chunk FROM chunks) USING (chunk)"));
    assert_near(number(a, "SELECT count(*) FROM reads r, branches b "
                          "WHERE r.chunk = b.chunk AND r.branch = b.branch"),
                number(a, "SELECT count(*) FROM reads NATURAL JOIN branches"));
    assert_true(number(a, "SELECT count(*) FROM reads NATURAL JOIN branches") > 0);
    assert_near(named, number(a, "SELECT count(x.chunk) FROM chunks x JOIN chunks y "
                                 "USING (chunk, dataset)"));
    assert_near(1, number(a, "SELECT (SELECT key FROM meta LIMIT 1) IN (SELECT key FROM meta)"));
    assert_near(1, number(a, "SELECT count(*) > 0 FROM meta NATURAL JOIN (SELECT * FROM meta)"));
    assert_near(chunks,
                number(a, "WITH c AS (SELECT chunk FROM chunks) SELECT count(chunk) FROM c"));
}

/* With a million chunks it would never end without an index. */
static void test_a_query_for_each_chunk_has_an_index(void **state) {
    asked *a = *state;
    bool indexed = false;
    const char query[] = "SELECT count(*) FROM chunks c WHERE "
                         "(SELECT count(*) FROM sections s WHERE s.chunk = c.chunk) >= 0";
    char plan[200];
    assert_near(6, number(a, query));
    snprintf(plan, sizeof plan, "EXPLAIN QUERY PLAN %s", query);
    for (ask(a, plan); next(a);) {
        roast_str step = roast_sql_cell_at(a->sql, 3).text;
        indexed = indexed || memmem(step.data, step.len, "sections_by_key", 15) != NULL;
    }
    assert_true(indexed);
}

static void test_the_list_of_tables(void **state) {
    asked *a = *state;
    const roast_sql_table *table;
    bool chunks = false, samples = false;
    for (uint32_t i = 0; (table = roast_sql_table_at(i)) != NULL; i++) {
        chunks = chunks || (strcmp(table->name, "chunks") == 0 &&
                            strncmp(table->columns, "chunk t_start t_end duration ", 29) == 0);
        samples = samples || (strcmp(table->name, "samples") == 0 &&
                              strncmp(table->columns, "worker timestamp memory ", 24) == 0);
        /* Every one of them can be asked. */
        char query[200];
        snprintf(query, sizeof query, "SELECT count(*) FROM %s", table->name);
        assert_true(number(a, query) >= 0);
    }
    assert_true(chunks && samples);
}

/* ---- what is not answered ---- */

static void assert_refused(asked *a, roast_status expected, const char *query, const char *words,
                           int64_t position) {
    roast_error err;
    roast_status status = roast_sql_ask(a->sql, roast_str_of(query), &err);
    bool there;
    if (status == ROAST_OK)
        status = roast_sql_next(a->sql, &there, &err);
    if (status != expected || strstr(err.message, words) == NULL || err.position != position)
        fail_msg("%s: %s '%s' at %lld", query, roast_status_name(status), err.message,
                 (long long)err.position);
}

static void test_wrong_questions(void **state) {
    asked *a = *state;
    assert_refused(a, ROAST_EINVAL, "SELECT * FROM chunkz", "did you mean \"chunks\"?", 14);
    assert_refused(a, ROAST_EINVAL, "SELECT durations FROM chunks", "did you mean \"duration\"?",
                   7);
    assert_refused(a, ROAST_EINVAL, "SELECT c.memry FROM samples c", "did you mean \"memory\"?", 7);
    assert_refused(a, ROAST_EINVAL, "SELECT * FROM zzzzzzzz", "no such table: zzzzzzzz", 14);
    assert_refused(a, ROAST_EINVAL, "SELEC 1", "near \"SELEC\": syntax error", 0);
    assert_refused(a, ROAST_EINVAL, "", "there is no question", -1);
    assert_refused(a, ROAST_EINVAL, " ; -- nothing", "there is no question", -1);
    assert_refused(a, ROAST_EINVAL, "SELECT 1; SELECT 2", "only one question at a time", 9);
    assert_refused(a, ROAST_EINVAL, "SELECT 1; nonsense", "only one question at a time", 9);
    assert_refused(a, ROAST_EINVAL, "SELECT json('{')", "malformed JSON", -1);
    assert_near(3, number(a, "SELECT 1 + 2 ;; ")); /* and goes on */
}

static void test_nothing_can_be_changed(void **state) {
    asked *a = *state;
    static const char *const queries[] = {
        "DELETE FROM chunks",
        "UPDATE meta SET value = 1",
        "INSERT INTO notes VALUES ('x')",
        "CREATE TABLE t(x)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW chunks",
        "ALTER TABLE meta ADD COLUMN x",
        "ATTACH ':memory:' AS other",
        "ATTACH '/tmp/roast-sql-attached' AS other",
        "DETACH main",
        "BEGIN",
        "SAVEPOINT s",
        "VACUUM",
        "VACUUM INTO '/tmp/roast-sql-attached'",
        "ANALYZE",
        "PRAGMA user_version = 5",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = ON",
        "PRAGMA trusted_schema = ON",
        "SELECT load_extension('x')",
        "WITH x AS (SELECT 1) DELETE FROM meta",
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_refused(a, ROAST_EINVAL, queries[i], "only questions are answered", -1);
    assert_int_equal(-1, access("/tmp/roast-sql-attached", F_OK));
    assert_near(0, number(a, "PRAGMA user_version"));
    ask(a, "PRAGMA table_info(chunks)");
    assert_true(next(a));
    ask(a, "EXPLAIN QUERY PLAN SELECT * FROM chunks");
    assert_true(next(a));
}

static void test_a_question_without_end(void **state) {
    asked *a = *state;
    roast_sql_set_time_limit(a->sql, 0.02);
    assert_refused(a, ROAST_ELIMIT,
                   "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                   "SELECT max(x) FROM n",
                   "longer than 0.02 s", -1);
    roast_sql_set_time_limit(a->sql, 0);
    assert_near(6, number(a, "SELECT count(*) FROM chunks"));
}

static void test_out_of_turn(void **state) {
    asked *a = *state;
    bool there;
    assert_status(ROAST_ESTATE, roast_sql_next(a->sql, &there, NULL));
    assert_int_equal(0, roast_sql_column_count(a->sql));
    assert_null(roast_sql_column(a->sql, 0));
    assert_int_equal(ROAST_SQL_NULL, roast_sql_cell_at(a->sql, 0).kind);
    roast_sql_free(NULL);
}

static roast_status open_and_ask(void *context) {
    const asked *a = context;
    roast_sql *sql = NULL;
    bool there = true;
    roast_status status = roast_sql_new(a->run, a->metrics, &sql, NULL);
    if (status == ROAST_OK)
        status = roast_sql_ask(
            sql, roast_str_of("SELECT count(*) FROM samples, attempts, branches"), NULL);
    while (status == ROAST_OK && there)
        status = roast_sql_next(sql, &there, NULL);
    roast_sql_free(sql);
    return status;
}

/* A column that cannot be made smaller stays large, so a failure may do no harm. */
static void test_every_failing_allocation(void **state) {
    int failures = 0;
    roast_status status = ROAST_ENOMEM;
    for (long n = 0; n < 1000; n++) {
        long before = alloc_live();
        alloc_fail_once(n);
        status = open_and_ask(*state);
        alloc_fail_stop();
        assert_int_equal(before, alloc_live());
        assert_true(status == ROAST_OK || status == ROAST_ENOMEM);
        failures += status != ROAST_OK;
    }
    assert_int_equal(ROAST_OK, status);
    assert_true(failures > 5);
}

/* ---- a database of its own ---- */

static char saved_path[] = "/tmp/roast-sql-XXXXXX";

static int count_rows(const char *path, const char *table) {
    sqlite3 *db;
    sqlite3_stmt *statement;
    char query[80];
    snprintf(query, sizeof query, "SELECT count(*) FROM %s", table);
    assert_int_equal(SQLITE_OK, sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, query, -1, &statement, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

static void test_tables_are_saved_for_other_programs(void **state) {
    asked *a = *state;
    roast_error err;
    const roast_sql_table *table;
    char path[sizeof saved_path + 8];
    assert_non_null(mkdtemp(saved_path));
    snprintf(path, sizeof path, "%s/all.db", saved_path);
    assert_ok(roast_sql_save(a->run, a->metrics, path, &err), err);
    for (uint32_t i = 0; (table = roast_sql_table_at(i)) != NULL; i++) {
        char query[80];
        snprintf(query, sizeof query, "SELECT count(*) FROM %s", table->name);
        assert_int_equal((int)number(a, query), count_rows(path, table->name));
    }
    /* A file that is there is left alone. */
    assert_int_equal(ROAST_EIO, roast_sql_save(a->run, a->metrics, path, &err));
    assert_non_null(strstr(err.message, "exists"));
    assert_int_equal(6, count_rows(path, "chunks"));
    unlink(path);
    rmdir(saved_path);
}

static void test_half_a_database_is_removed(void **state) {
    asked *a = *state;
    roast_error err;
    struct rlimit before, little;
    char folder[] = "/tmp/roast-sql-XXXXXX", path[sizeof folder + 8];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/all.db", folder);
    /* As on a disk that is full after the first page. */
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    little = (struct rlimit){4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    roast_status status = roast_sql_save(a->run, a->metrics, path, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(ROAST_EIO, status);
    assert_int_equal(-1, access(path, F_OK));
    assert_ok(roast_sql_save(a->run, a->metrics, path, &err), err);
    unlink(path);
    rmdir(folder);
}

int main(void) {
#define WITH_A_RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_A_RUN(test_questions_to_the_chunks),
        WITH_A_RUN(test_the_series_is_a_table),
        WITH_A_RUN(test_the_metrics_are_a_table),
        WITH_A_RUN(test_every_way_to_read_a_column),
        WITH_A_RUN(test_a_query_for_each_chunk_has_an_index),
        WITH_A_RUN(test_the_list_of_tables),
        WITH_A_RUN(test_wrong_questions),
        WITH_A_RUN(test_nothing_can_be_changed),
        WITH_A_RUN(test_a_question_without_end),
        WITH_A_RUN(test_out_of_turn),
        WITH_A_RUN(test_an_empty_run),
        WITH_A_RUN(test_tables_are_saved_for_other_programs),
        WITH_A_RUN(test_half_a_database_is_removed),
        WITH_A_RUN(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
