/* Measurements that grow while a run goes on, and what a killed writer leaves. */
#include "store_sample.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store/database/db.h"

static const roast_store_options plain = {.path = NULL}; /* no files, no blobs */

static roast_store_live *begin(void) {
    const roast_store_blob_in blob = {"first", "b", 1};
    const roast_store_file file = {"config.json", "{}", 2};
    const roast_store_options options = {.path = place,
                                         .overwrite = true,
                                         .files = &file,
                                         .n_files = 1,
                                         .blobs = &blob,
                                         .n_blobs = 1};
    roast_store_live *live = NULL;
    roast_error err;
    assert_ok(roast_store_live_begin(&options, &live, &err), err);
    return live;
}

static void append_run(roast_store_live *live, const roast_run *delta) {
    roast_error err;
    assert_ok(roast_store_live_append(live, delta, &err), err);
}

/* Some chunks, and some seconds of a series. */
static roast_run *delta_of(uint64_t first, uint64_t chunks, int64_t second, int ticks) {
    roast_run *run = empty_run();
    roast_run_take_chunks(run, plain_log(1, first, chunks));
    add_rich_series(roast_run_series(run), second * 1000000000, ticks);
    return run;
}

static void test_empty(void **state) {
    (void)state;
    roast_store_live *live = begin();
    roast_store *store = open_store();
    roast_error err;
    roast_str bytes;
    assert_int_equal(ROAST_STORE_OURS, roast_store_is_measurement(place));
    assert_int_equal(ROAST_STORE_LIVE, roast_store_get_state(store));
    assert_ok(roast_store_blob(store, "first", &bytes, &err), err);
    roast_store_close(store);
    roast_store_live_close(live);
    store = open_store();
    assert_int_equal(ROAST_STORE_UNFINISHED, roast_store_get_state(store));
    roast_store_close(store);
    roast_store_live_close(NULL);
    roast_store_live_abandon(NULL);
}

/* A run that comes in one piece. */
static void test_one_delta(void **state) {
    (void)state;
    roast_run *run = rich_run();
    roast_store_live *live = begin();
    append_run(live, run);
    roast_run *back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_store_live_close(live);
    back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(run);
}

/* Pieces add up to what one would have saved at once. */
static void test_many_deltas(void **state) {
    (void)state;
    roast_error err;
    roast_run *whole = empty_run();
    roast_store_live *live = begin();
    for (int i = 0; i < 12; i++) {
        roast_run *delta =
            delta_of((uint64_t)i * 10 + 1, 10, 1790000000 + i * 50, i % 4 == 3 ? 0 : 7);
        append_run(live, delta);
        assert_ok(roast_chunklog_merge(roast_run_chunks(whole), roast_run_chunks(delta), false,
                                       NULL, &err),
                  err);
        assert_ok(roast_series_extend(roast_run_series(whole), roast_run_series(delta), &err), err);
        roast_run *back = load(); /* while it is written */
        assert_same_run(whole, back);
        roast_run_free(back);
        roast_run_free(delta);
    }
    assert_ok(roast_store_live_finish(live, whole, &plain, &err), err);
    roast_run *back = load();
    assert_same_run(whole, back);
    roast_store *store = open_store();
    assert_int_equal(ROAST_STORE_FINISHED, roast_store_get_state(store));
    roast_store_close(store);
    assert_int_equal(1, count_names(place));
    assert_int_equal(1, count_names(folder));
    roast_run_free(back);
    roast_run_free(whole);
}

static roast_run *news(int64_t *after) {
    roast_error err;
    roast_run *run;
    roast_store *store = open_store();
    assert_ok(roast_store_take_news(store, after, &run, &err), err);
    roast_store_close(store);
    return run;
}

/* A reader that follows gets each piece once, and all of them together are the run. */
static void test_news(void **state) {
    (void)state;
    roast_error err;
    int64_t after = 0;
    roast_run *whole = empty_run();
    roast_store_live *live = begin();
    roast_run *nothing = news(&after);
    assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(nothing)));
    assert_int_equal(0, after);
    roast_run_free(nothing);
    for (int i = 0; i < 6; i++) {
        roast_run *delta = delta_of((uint64_t)i * 10 + 1, 10, 1790000000 + i * 50, 7);
        append_run(live, delta);
        roast_run_free(delta);
        if (i % 2 == 0)
            continue; /* two pieces at a time */
        int64_t before = after;
        roast_run *back = news(&after);
        assert_true(after > before);
        assert_int_equal(20, roast_chunklog_count(roast_run_chunks_view(back)));
        assert_ok(roast_chunklog_merge(roast_run_chunks(whole), roast_run_chunks(back), false, NULL,
                                       &err),
                  err);
        assert_ok(roast_series_extend(roast_run_series(whole), roast_run_series(back), &err), err);
        roast_run_free(back);
        before = after;
        back = news(&after);
        assert_int_equal(0, roast_chunklog_count(roast_run_chunks_view(back)));
        assert_int_equal(0, roast_series_tick_count(roast_run_series_view(back)));
        assert_int_equal(before, after);
        roast_run_free(back);
    }
    roast_run *back = load();
    assert_same_run(whole, back);
    roast_run_free(back);
    roast_run_free(whole);
    roast_store_live_close(live);
}

/* What is small is replaced; what is not told again stays. */
static void test_small_parts(void **state) {
    (void)state;
    roast_error err;
    const roast_report report = {.have_entries = true, .entries = 7};
    roast_run *first = empty_run(), *second = empty_run(), *nothing = empty_run();
    roast_store_live *live = begin();
    add_rich_head(first);
    roast_run_take_sections(first, rich_log());
    roast_run_take_counts(first, rich_series(2));
    roast_run_take_attempts(first, rich_attempts());
    append_run(live, first);
    append_run(live, nothing);
    roast_run *back = load();
    assert_same_run(first, back);
    roast_run_free(back);

    roast_run_set_report(second, &report);
    roast_run_set_clock(second, 1, 2);
    assert_ok(roast_run_set_meta(second, str("host"), str("other"), &err), err);
    assert_ok(roast_run_set_meta(second, str("new"), str("key"), &err), err);
    assert_ok(roast_run_add_note(second, str("one note"), &err), err);
    roast_run_take_sections(second, plain_log(1, 1, 1));
    append_run(live, second);
    back = load();
    assert_int_equal(7, roast_run_get_report(back).entries);
    assert_false(roast_run_get_report(back).have_chunks);
    assert_near(2, roast_run_get_clock(back).end);
    assert_str("other", roast_run_meta(back, str("host")));
    assert_str("key", roast_run_meta(back, str("new")));
    assert_int_equal(2, roast_run_meta_count(back));
    assert_int_equal(1, roast_run_note_count(back));
    assert_int_equal(3, roast_run_span_count(back));
    assert_int_equal(1, roast_chunklog_count(roast_run_sections_view(back)));
    assert_str("Proc", roast_run_processor(back));
    roast_run_free(back);
    roast_store_live_close(live);
    roast_run_free(first);
    roast_run_free(second);
    roast_run_free(nothing);
}

/* A reader looks every second, for hours: it must not read more small parts each time. */
static void test_small_parts_stay_few(void **state) {
    (void)state;
    roast_run *delta = empty_run();
    roast_store_live *live = begin();
    int64_t counts[2];
    add_rich_head(delta);
    roast_run_take_counts(delta, rich_series(2));
    roast_run_take_chunks(delta, plain_log(1, 1, 1));
    for (int i = 0; i < 40; i++) {
        append_run(live, delta);
        if (i % 39 != 0)
            continue;
        roast_error err;
        sqlite3 *db;
        assert_int_equal(SQLITE_OK, sqlite3_open(inside("run.sqlite"), &db));
        assert_ok(
            roast_db_number(db, "SELECT count(*) FROM parts WHERE name NOT IN ('chunks', 'series')",
                            &counts[i / 39], &err),
            err);
        sqlite3_close(db);
    }
    assert_true(counts[0] > 5);
    assert_int_equal(counts[0], counts[1]);
    roast_run *back = load();
    assert_int_equal(40, roast_chunklog_count(roast_run_chunks_view(back)));
    roast_run_free(back);
    roast_run_free(delta);
    roast_store_live_close(live);
}

/* Attempts of several deltas: kinds may change later, departures are counted on. */
static void test_attempts(void **state) {
    (void)state;
    roast_error err;
    roast_run *delta = empty_run();
    roast_store_live *live = begin();
    roast_run_take_attempts(delta, rich_attempts());
    append_run(live, delta);
    assert_ok(
        roast_attempts_set_kind(roast_run_attempts(delta), str("odd"), ROAST_KIND_reduction, &err),
        err);
    append_run(live, delta);
    roast_run *back = load();
    const roast_attempts *attempts = roast_run_attempts_view(back);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    assert_int_equal(10, roast_attempts_count(attempts));
    assert_int_equal(2, roast_attempts_worker_count(attempts));
    assert_int_equal(2, roast_attempts_departure_count(attempts));
    roast_attempt_cursor_init(&cursor, attempts);
    for (int i = 0; roast_attempt_cursor_next(&cursor, &attempt); i++) {
        if (i % 5 == 1)
            assert_int_equal(i / 5, attempt.departure);
        if (i % 5 == 3)
            assert_int_equal(ROAST_KIND_reduction, attempt.kind);
    }
    roast_run_free(back);
    roast_store_live_close(live);
    roast_run_free(delta);
}

/* A reader keeps what it saw when it was opened. */
static void test_snapshot(void **state) {
    (void)state;
    roast_error err;
    roast_store_live *live = begin();
    roast_run *delta = delta_of(1, 5, 1790000000, 3), *later = delta_of(6, 5, 1790000100, 3);
    roast_run *seen, *back;
    append_run(live, delta);
    roast_store *early = open_store(), *late = open_store();
    append_run(live, later);
    roast_run_free(later);
    assert_ok(roast_store_take_run(early, &seen, &err), err);
    assert_same_run(delta, seen);
    roast_run_free(seen);
    /* Even when the measurement is finished meanwhile. */
    assert_ok(roast_store_live_finish(live, delta, &plain, &err), err);
    assert_ok(roast_store_take_run(late, &seen, &err), err);
    assert_same_run(delta, seen);
    roast_run_free(seen);
    roast_store_close(early);
    roast_store_close(late);
    back = load();
    assert_same_run(delta, back);
    roast_run_free(back);
    roast_run_free(delta);
}

static void test_finish(void **state) {
    (void)state;
    const roast_store_file file = {"metrics.json", "{}", 2};
    const roast_store_options options = {.files = &file, .n_files = 1};
    roast_error err;
    roast_run *run = rich_run(), *part = delta_of(1, 5, 1790000000, 3);
    roast_store_live *live = begin();
    append_run(live, part);
    write_bytes(inside("mine.txt"), "x", 1);
    assert_ok(roast_store_live_finish(live, run, &options, &err), err);
    roast_run *back = load();
    assert_same_run(run, back);
    assert_int_equal(3, count_names(place));
    assert_true(exists(inside("mine.txt")));
    roast_run_free(back);
    roast_run_free(part);
    roast_run_free(run);
}

static void test_abandon(void **state) {
    (void)state;
    roast_store_live *live = begin();
    roast_run *delta = delta_of(1, 5, 1790000000, 3);
    append_run(live, delta);
    roast_store_live_abandon(live);
    assert_int_equal(0, count_names(folder));
    live = begin();
    write_bytes(inside("mine.txt"), "x", 1);
    roast_store_live_abandon(live);
    assert_int_equal(1, count_names(place));
    roast_run_free(delta);
}

/* What has its name by then, another process may have put there. */
static void test_abandon_removes_its_own_only(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = rich_run();
    roast_store_live *live = begin();
    assert_int_equal(0, rename(place, inside("../moved")));
    const roast_store_options options = {.path = place, .overwrite = false};
    assert_ok(roast_store_save(run, &options, &err), err);
    roast_store_live_abandon(live);
    roast_run *back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(run);
}

static void test_finish_replaces_its_own_only(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = rich_run(), *other = empty_run();
    roast_store_live *live;
    const roast_store_options options = {.path = place, .overwrite = false};
    assert_ok(roast_store_live_begin(&options, &live, &err), err);
    assert_int_equal(0, rename(place, inside("../moved")));
    assert_ok(roast_store_save(run, &options, &err), err);
    assert_status(ROAST_EIO, roast_store_live_finish(live, other, &options, &err));
    roast_store_live_close(live);
    roast_run *back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(other);
    roast_run_free(run);
}

static void test_another_working_directory(void **state) {
    (void)state;
    roast_error err;
    char before[1024];
    roast_store_live *live;
    roast_run *run = rich_run();
    assert_non_null(getcwd(before, sizeof before));
    const roast_store_options options = {.path = strrchr(place, '/') + 1};
    for (int finishes = 0; finishes < 2; finishes++) {
        assert_int_equal(0, chdir(folder));
        assert_ok(roast_store_live_begin(&options, &live, &err), err);
        assert_int_equal(0, chdir("/"));
        append_run(live, run);
        if (finishes)
            assert_ok(roast_store_live_finish(live, run, &options, &err), err);
        else
            roast_store_live_abandon(live);
        assert_int_equal(finishes, count_names(folder));
    }
    assert_int_equal(0, chdir(before));
    roast_run_free(run);
}

/* What was appended stays, and more can be. */
static void test_finish_fails(void **state) {
    (void)state;
    const roast_store_file file = {"unknown", "{}", 2};
    const roast_store_options wrong = {.files = &file, .n_files = 1};
    roast_error err;
    roast_run *part = delta_of(1, 5, 1790000000, 3), *more = empty_run();
    roast_store_live *live = begin();
    append_run(live, part);
    assert_status(ROAST_EINVAL, roast_store_live_finish(live, more, &wrong, &err));
    assert_ok(roast_run_add_note(more, str("why"), &err), err);
    append_run(live, more);
    roast_store_live_close(live);
    roast_run *back = load();
    assert_int_equal(5, roast_chunklog_count(roast_run_chunks_view(back)));
    assert_int_equal(1, roast_run_note_count(back));
    roast_run_free(back);
    roast_run_free(more);
    roast_run_free(part);
}

static void test_begin_refused(void **state) {
    (void)state;
    roast_store_live *live = NULL;
    roast_error err;
    char path[700];
    roast_store_options options = {.path = place};
    assert_int_equal(0, mkdir(place, 0777));
    write_bytes(inside("mine.txt"), "x", 1);
    assert_status(ROAST_EIO, roast_store_live_begin(&options, &live, &err));
    assert_int_equal(EEXIST, err.os_errno);
    options.path = "";
    assert_status(ROAST_EINVAL, roast_store_live_begin(&options, &live, &err));
    int len = snprintf(path, sizeof path, "%s/", folder);
    memset(path + len, 'n', 200);
    memset(path + len + 200, '/', 1);
    memset(path + len + 201, 'n', 250);
    path[len + 451] = '\0';
    options.path = path;
    assert_status(ROAST_EIO, roast_store_live_begin(&options, &live, &err));
    assert_int_equal(ENAMETOOLONG, err.os_errno);
    assert_int_equal(1, count_names(place));
}

/* ---- failures ---- */

static roast_status write_live(void *context) {
    const roast_store_options options = {.path = place, .overwrite = true};
    roast_store_live *live;
    ROAST_TRY(roast_store_live_begin(&options, &live, NULL));
    roast_status status = roast_store_live_append(live, context, NULL);
    if (status == ROAST_OK)
        status = roast_store_live_append(live, context, NULL);
    roast_run *back = NULL;
    if (status == ROAST_OK)
        status = roast_store_load(place, &back, NULL);
    roast_run_free(back);
    if (status != ROAST_OK) {
        roast_store_live_close(live);
        return status;
    }
    status = roast_store_live_finish(live, context, &options, NULL);
    if (status != ROAST_OK)
        roast_store_live_close(live);
    return status;
}

/* The same series cannot come twice: its time would go back. */
static void test_allocations(void **state) {
    (void)state;
    roast_run *run = rich_run();
    roast_series *series;
    roast_error err;
    assert_ok(roast_series_new(&series, &err), err);
    roast_run_take_series(run, series);
    assert_ok(roast_series_tick(series, (roast_utc){5}, 1, &err), err);
    uint32_t worker;
    assert_ok(roast_series_worker(series, str("w"), &worker, &err), err);
    const double value[ROAST_COLUMNS] = {1, 2, 3};
    assert_ok(roast_series_append(series, worker, value, &err), err);
    assert_true(alloc_walk(write_live, run) > 40);
    roast_run_free(run);
}

static roast_status append_again(void *context) {
    void **parts = context;
    return roast_store_live_append(parts[0], parts[1], NULL);
}

/* An append that fails leaves nothing; the next one goes on where the last good one ended. */
static void test_append_fails(void **state) {
    (void)state;
    roast_error err;
    roast_store_live *live = begin();
    roast_run *run = rich_run(), *whole = empty_run();
    roast_run_take_series(run, rich_series(0));
    roast_run_take_attempts(run, NULL);
    append_run(live, run);
    void *parts[] = {live, run};
    alloc_walk(append_again, parts); /* it adds the run twice, when nothing fails any more */
    for (int i = 0; i < 3; i++)
        assert_ok(
            roast_chunklog_merge(roast_run_chunks(whole), roast_run_chunks(run), false, NULL, &err),
            err);
    roast_run *back = load();
    assert_same_log(roast_run_chunks_view(whole), roast_run_chunks_view(back));
    roast_run_free(back);
    roast_store_live_close(live);
    roast_run_free(whole);
    roast_run_free(run);
}

static void test_full_disk(void **state) {
    (void)state;
    roast_run *delta = rich_run();
    roast_run_take_series(delta, rich_series(0));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit small = {400000, 400000};
        roast_error err;
        roast_status status = ROAST_OK;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        roast_store_live *live = begin();
        for (int i = 0; i < 1000 && status == ROAST_OK; i++)
            status = roast_store_live_append(live, delta, &err);
        _exit(status == ROAST_EIO && err.os_errno != 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    roast_run *back = load();
    uint64_t each = roast_chunklog_count(roast_run_chunks_view(delta));
    uint64_t count = roast_chunklog_count(roast_run_chunks_view(back));
    assert_true(count > 0 && count % each == 0);
    roast_run_free(back);
    roast_run_free(delta);
}

/* ---- killed writers ---- */

static void write_for_ever(int pipe_end) {
    roast_store_live *live = begin();
    for (uint64_t i = 0;; i++) {
        roast_run *delta = delta_of(i * 10 + 1, 10, 1790000000 + (int64_t)i * 50, 2);
        if (roast_store_live_append(live, delta, NULL) != ROAST_OK)
            _exit(1);
        roast_run_free(delta);
        uint8_t one = 1; /* this one counts */
        if (write(pipe_end, &one, 1) != 1)
            _exit(2);
    }
}

static void test_kill(void **state) {
    (void)state;
    unsigned random = 4711;
    for (int i = 0; i < 25; i++) {
        int ends[2], status;
        assert_int_equal(0, pipe(ends));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_for_ever(ends[1]);
        close(ends[1]);
        uint64_t promised = 0;
        uint8_t byte;
        random = random * 1664525u + 1013904223u;
        for (unsigned n = 0; n < 1 + (random >> 8) % 8; n++)
            promised += (uint64_t)read(ends[0], &byte, 1);
        usleep((random >> 16) % 4000);
        kill(child, SIGKILL);
        assert_int_equal(child, waitpid(child, &status, 0));
        assert_true(WIFSIGNALED(status));
        close(ends[0]);
        roast_store *store = open_store();
        assert_int_equal(ROAST_STORE_UNFINISHED, roast_store_get_state(store));
        roast_store_close(store);
        roast_run *back = load();
        uint64_t count = roast_chunklog_count(roast_run_chunks_view(back));
        assert_true(count % 10 == 0 && count >= promised * 10);
        assert_int_equal(count / 10 * 2, roast_series_tick_count(roast_run_series_view(back)));
        roast_run_free(back);
    }
    /* It may be replaced like any other. */
    roast_run *run = rich_run(), *back;
    save(run);
    back = load();
    assert_same_run(run, back);
    assert_int_equal(1, count_names(folder));
    assert_int_equal(1, count_names(place));
    roast_run_free(back);
    roast_run_free(run);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_empty),
        TEST(test_one_delta),
        TEST(test_many_deltas),
        TEST(test_small_parts),
        TEST(test_small_parts_stay_few),
        TEST(test_attempts),
        TEST(test_snapshot),
        TEST(test_finish),
        TEST(test_abandon),
        TEST(test_abandon_removes_its_own_only),
        TEST(test_finish_replaces_its_own_only),
        TEST(test_another_working_directory),
        TEST(test_finish_fails),
        TEST(test_begin_refused),
        TEST(test_allocations),
        TEST(test_append_fails),
        TEST(test_full_disk),
        TEST(test_kill),
        TEST(test_news),
    };
    return cmocka_run_group_tests_name("store live", tests, NULL, NULL);
}
