/* Process trees over time: a fixture, and the children of this process. */
#include "support.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roast/proc.h"
#include "roast/treelog.h"

#define DATA "tests/data/proc/tree"

static void needs_linux(void) {
    if (strcmp(roast_probe_backend(), "linux") != 0)
        skip();
}

static roast_treelog *open_log(const char *root, int64_t pid) {
    roast_error err;
    roast_treelog *log = NULL;
    assert_ok(roast_treelog_new(root, pid, &log, &err), err);
    return log;
}

static bool look(roast_treelog *log) {
    roast_error err;
    bool changed;
    assert_ok(roast_treelog_look(log, &changed, &err), err);
    return changed;
}

/* The processes of a list of numbers, ended by 0, count as one core each; the first one is only seen. */
static int choose_listed(void *context, const roast_process_life *life) {
    const int64_t *pids = context;
    for (int i = 0; pids[i] != 0; i++)
        if (pids[i] == life->pid)
            return i == 0 ? 0 : 1;
    return -1;
}

static int choose_all(void *context, const roast_process_life *life) {
    (void)life;
    return *(int *)context;
}

static void a_fixture_becomes_a_series(void **state) {
    (void)state;
    needs_linux();
    roast_treelog *log = open_log(DATA, 100);
    roast_series *series;
    roast_error err;
    int64_t chosen[] = {100, 101, 102, 0};
    assert_true(look(log));
    assert_false(look(log));
    assert_int_equal(4, roast_treelog_count(log));
    assert_null(roast_treelog_at(log, 4));
    assert_ok(roast_treelog_series(log, choose_listed, chosen, roast_str_of("node"), &series, &err),
              err);
    assert_int_equal(3, roast_series_worker_count(series));
    assert_str("node:100", roast_series_worker_name(series, 0));
    assert_str("node", roast_series_worker_host(series, 0));
    assert_int_equal(2, roast_series_tick_count(series));
    assert_int_equal(2, roast_series_tick_workers(series, 0));
    assert_int_equal(2, roast_series_change_count(series)); /* nobody left */
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, 0);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_true(isnan(sample.value[ROAST_COLUMN_cores]));
    assert_true(sample.value[ROAST_COLUMN_memory_limit] > 0);
    roast_series_cursor_init(&cursor, series, 1);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_near(1, sample.value[ROAST_COLUMN_cores]);
    roast_series_free(series);
    roast_treelog_free(log);
}

static void a_child_comes_and_goes(void **state) {
    (void)state;
    needs_linux();
    int cores = 1;
    roast_series *series;
    roast_error err;
    roast_treelog *log = open_log(NULL, 0);
    look(log);
    size_t before = roast_treelog_count(log);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(look(log));
    assert_int_equal(before + 1, roast_treelog_count(log));
    const roast_process_life *life = roast_treelog_at(log, before);
    assert_int_equal(child, life->pid);
    assert_int_equal(getpid(), life->parent);
    assert_int_equal(0, life->left.ns);
    kill(child, SIGKILL);
    assert_int_equal(child, waitpid(child, NULL, 0));
    assert_true(look(log));
    life = roast_treelog_at(log, before);
    assert_true(life->left.ns >= life->joined.ns);
    assert_int_equal(1, life->looks);
    assert_true(life->have_cpu);
    assert_true(roast_treelog_peak_memory(log) > 1e5);
    assert_ok(roast_treelog_series(log, choose_all, &cores, roast_str_of("here"), &series, &err),
              err);
    /* Both joined, one left. */
    assert_int_equal(3, roast_series_change_count(series));
    assert_int_equal(ROAST_WORKER_LEFT, roast_series_change_at(series, 2).kind);
    roast_series_free(series);
    roast_treelog_free(log);
}

/* What is new since the last call; the news of a treelog. */
static uint64_t extend_by_news(roast_treelog *log, int64_t *chosen, roast_series *series) {
    roast_series *piece;
    roast_error err;
    assert_ok(roast_treelog_news(log, choose_listed, chosen, roast_str_of("node"), &piece, &err),
              err);
    assert_ok(roast_series_extend(series, piece, &err), err);
    uint64_t ticks = roast_series_tick_count(piece);
    roast_series_free(piece);
    return ticks;
}

static void assert_same_samples(const roast_series *a, const roast_series *b) {
    assert_int_equal(roast_series_sample_count(a), roast_series_sample_count(b));
    for (uint32_t worker = 0; worker < roast_series_worker_count(a); worker++) {
        roast_series_cursor first, second;
        roast_sample one, other;
        roast_series_cursor_init(&first, a, worker);
        roast_series_cursor_init(&second, b, worker);
        while (roast_series_cursor_next(&first, &one)) {
            assert_true(roast_series_cursor_next(&second, &other));
            assert_int_equal(one.when.ns, other.when.ns);
            for (int column = 0; column < ROAST_COLUMNS; column++)
                assert_true(one.value[column] == other.value[column] ||
                            (isnan(one.value[column]) && isnan(other.value[column])));
        }
        assert_false(roast_series_cursor_next(&second, &other));
    }
}

static void pieces_make_the_series(void **state) {
    (void)state;
    needs_linux();
    static const uint64_t looks[] = {1, 3, 0, 2};
    roast_treelog *log = open_log(DATA, 100);
    roast_series *series, *pieces;
    roast_error err;
    int64_t chosen[] = {100, 101, 102, 0};
    assert_ok(roast_series_new(&pieces, &err), err);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        for (uint64_t n = 0; n < looks[i]; n++)
            look(log);
        assert_int_equal(looks[i], extend_by_news(log, chosen, pieces));
    }
    assert_ok(roast_treelog_series(log, choose_listed, chosen, roast_str_of("node"), &series, &err),
              err);
    assert_int_equal(6, roast_series_tick_count(pieces));
    assert_int_equal(roast_series_change_count(series), roast_series_change_count(pieces));
    assert_same_samples(series, pieces);
    roast_series_free(series);
    roast_series_free(pieces);
    roast_treelog_free(log);
}

/* One that turns out to be a worker later is told of from then on. */
static void a_worker_that_is_chosen_late(void **state) {
    (void)state;
    needs_linux();
    roast_treelog *log = open_log(DATA, 100);
    roast_series *pieces;
    roast_error err;
    int64_t chosen[] = {100, 101, 0, 0};
    assert_ok(roast_series_new(&pieces, &err), err);
    look(log);
    look(log);
    assert_int_equal(2, extend_by_news(log, chosen, pieces));
    chosen[2] = 102;
    look(log);
    assert_int_equal(1, extend_by_news(log, chosen, pieces));
    assert_int_equal(1, roast_series_tick_workers(pieces, 1));
    assert_int_equal(2, roast_series_tick_workers(pieces, 2));
    assert_int_equal(2 * 3 + 1, roast_series_sample_count(pieces));
    assert_int_equal(2, roast_series_change_count(pieces));
    roast_series_free(pieces);
    roast_treelog_free(log);
}

static double value_at(const roast_series *series, int row, roast_series_column column) {
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, 0);
    for (int i = 0; i <= row; i++)
        assert_true(roast_series_cursor_next(&cursor, &sample));
    return sample.value[column];
}

static void all_processes_as_one(void **state) {
    (void)state;
    needs_linux();
    roast_series *each, *all;
    roast_error err;
    int cores = 1;
    roast_treelog *log = open_log(DATA, 100);
    look(log);
    look(log);
    assert_ok(roast_treelog_series(log, choose_all, &cores, roast_str_of("n"), &each, &err), err);
    assert_ok(roast_treelog_tree(log, roast_str_of("tree"), roast_str_of("n"), 8, &all, &err), err);
    double memory = 0;
    for (uint32_t worker = 0; worker < roast_series_worker_count(each); worker++) {
        roast_series_cursor cursor;
        roast_sample sample;
        roast_series_cursor_init(&cursor, each, worker);
        assert_true(roast_series_cursor_next(&cursor, &sample));
        if (!isnan(sample.value[ROAST_COLUMN_memory]))
            memory += sample.value[ROAST_COLUMN_memory];
    }
    assert_int_equal(1, roast_series_worker_count(all));
    assert_str("tree", roast_series_worker_name(all, 0));
    assert_int_equal(2, roast_series_tick_count(all));
    assert_int_equal(1, roast_series_change_count(all));
    assert_true(memory > 0);
    assert_near(memory, value_at(all, 0, ROAST_COLUMN_memory));
    assert_near(memory, roast_treelog_peak_memory(log));
    assert_near(8, value_at(all, 0, ROAST_COLUMN_cores));
    /* Nothing to compare with at the first look; nothing changes in a fixture. */
    assert_true(isnan(value_at(all, 0, ROAST_COLUMN_disk_read_bps)));
    assert_near(0, value_at(all, 1, ROAST_COLUMN_disk_read_bps));
    roast_series_free(each);
    roast_series_free(all);
    roast_treelog_free(log);
}

static void what_is_refused(void **state) {
    (void)state;
    needs_linux();
    roast_error err;
    roast_treelog *log = NULL;
    roast_series *series = NULL;
    char host[ROAST_MAX_WORKER_NAME + 1];
    int none = -1;
    assert_status(ROAST_ENOTFOUND, roast_treelog_new(DATA, 12345, &log, &err));
    assert_null(log);
    log = open_log(DATA, 100);
    assert_true(isnan(roast_treelog_peak_memory(log)));
    memset(host, 'h', sizeof host);
    assert_status(ROAST_EINVAL,
                  roast_treelog_series(log, choose_all, &none, (roast_str){host, sizeof host},
                                       &series, &err));
    assert_null(series);
    assert_ok(roast_treelog_series(log, choose_all, &none, roast_str_of("h"), &series, &err), err);
    assert_int_equal(0, roast_series_worker_count(series));
    roast_series_free(series);
    roast_treelog_free(log);
    roast_treelog_free(NULL);
}

static roast_status use_all(void *context) {
    int cores = 1;
    roast_treelog *log;
    roast_series *series;
    (void)context;
    roast_status status = roast_treelog_new(DATA, 100, &log, NULL);
    if (status != ROAST_OK)
        return status;
    status = roast_treelog_look(log, NULL, NULL);
    if (status == ROAST_OK)
        status = roast_treelog_look(log, NULL, NULL);
    if (status == ROAST_OK)
        status = roast_treelog_series(log, choose_all, &cores, roast_str_of("node"), &series, NULL);
    if (status == ROAST_OK) {
        roast_series_free(series);
        status =
            roast_treelog_tree(log, roast_str_of("tree"), roast_str_of("node"), 2, &series, NULL);
    }
    if (status == ROAST_OK) {
        roast_series_free(series);
        status = roast_treelog_news(log, choose_all, &cores, roast_str_of("node"), &series, NULL);
    }
    if (status == ROAST_OK)
        roast_series_free(series);
    roast_treelog_free(log);
    return status;
}

static void memory_may_run_short(void **state) {
    (void)state;
    needs_linux();
    assert_true(alloc_walk(use_all, NULL) > 5);
}

static void looks_are_paced(void **state) {
    (void)state;
    roast_treelog *log = open_log(NULL, 0);
    assert_true(roast_treelog_pause(log, 1) == 0.02);
    assert_true(roast_treelog_pause(log, 0.01) == 0.01); /* never longer than the interval */
    assert_true(look(log));                              /* this process came */
    assert_true(roast_treelog_pause(log, 1) == 0.02);
    assert_false(look(log));
    assert_true(roast_treelog_pause(log, 1) == 0.04);
    for (int i = 0; i < 5; i++)
        assert_false(look(log));
    assert_true(roast_treelog_pause(log, 1) == 1);
    assert_true(roast_treelog_pause(log, 10) == 1.28);
    int extra = 0;
    while (roast_treelog_pause(log, 10) < 10)
        extra++;
    assert_int_equal(64 - 4, extra);
    roast_treelog_free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_are_paced),        cmocka_unit_test(a_fixture_becomes_a_series),
        cmocka_unit_test(a_child_comes_and_goes), cmocka_unit_test(all_processes_as_one),
        cmocka_unit_test(what_is_refused),        cmocka_unit_test(memory_may_run_short),
        cmocka_unit_test(pieces_make_the_series), cmocka_unit_test(a_worker_that_is_chosen_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
