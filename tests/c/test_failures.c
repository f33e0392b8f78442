/* Workers that left, and pieces that failed. */
#include "budget_sample.h"

/* ---- workers ---- */
static void sample_at(roast_run *run, const char *name, double seconds, double memory,
                      double seen) {
    roast_error err;
    double value[ROAST_COLUMNS];
    for (int column = 0; column < ROAST_COLUMNS; column++)
        value[column] = NAN;
    value[ROAST_COLUMN_memory] = memory;
    value[ROAST_COLUMN_memory_limit] = 1000;
    value[ROAST_COLUMN_last_seen] = isnan(seen) ? NAN : (double)T0 + seen;
    uint32_t worker = series_worker(run, name);
    roast_utc when = {us(seconds) * 1000};
    assert_ok(roast_series_tick(roast_run_series(run), when, 1, &err), err);
    assert_ok(roast_series_append(roast_run_series(run), worker, value, &err), err);
}

static void depart(roast_attempts *attempts, const char *name, double seconds, bool expected) {
    roast_error err;
    roast_departure departure = {
        attempts_worker(attempts, name), {us(seconds) * 1000}, expected, 1, 0};
    assert_ok(roast_attempts_add_departure(attempts, &departure, &err), err);
}

static void lose(roast_attempts *attempts, const char *key, const char *worker,
                 uint32_t departure) {
    roast_error err;
    roast_attempt attempt =
        try_of("P", key, attempts_worker(attempts, worker), (try_times){0, 0, NAN, NAN, 5});
    attempt.outcome = ROAST_OUTCOME_lost;
    attempt.departure = departure;
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

static void assert_cause(const char *expected, const roast_lost_workers *lost, uint32_t index) {
    char cause[256];
    roast_lost_worker worker = roast_lost_workers_at(lost, index);
    assert_int_equal(strlen(expected), roast_lost_worker_cause(&worker, cause, sizeof cause));
    assert_string_equal(expected, cause);
}

static roast_run *run_with_losses(void) {
    roast_run *run = run_of(100);
    roast_attempts *attempts = watch(run);
    sample_at(run, "hog", 40, 1500, 40); /* long before, and below again */
    sample_at(run, "hog", 59, 300, 59);
    sample_at(run, "hog", 59.6, 970, 59.6);
    sample_at(run, "hog", 59.8, 960, 59.8);
    sample_at(run, "silent", 60, 100, 10);
    sample_at(run, "innocent", 69, 430, 69);
    sample_at(run, "hog", 90, 999, 90); /* after it left: another of that name */
    lose(attempts, "P-1", "hog", 0);
    lose(attempts, "P-2", "hog", 0);
    depart(attempts, "hog", 60, false);
    lose(attempts, "P-3", "silent", 1);
    depart(attempts, "silent", 61, false);
    lose(attempts, "P-9", "innocent", 2);
    depart(attempts, "innocent", 70, false);
    depart(attempts, "unheard of", 71, false);
    lose(attempts, "P-1", "second", 4);
    lose(attempts, "P-7", "second", 4);
    depart(attempts, "second", 72, false);
    lose(attempts, "P-1", "third", 5);
    depart(attempts, "third", 73, false);
    depart(attempts, "retired", 74, true);
    return run;
}

static void test_lost_workers(void **state) {
    (void)state;
    roast_error err;
    roast_lost_workers *lost = NULL;
    roast_run *run = run_with_losses();
    assert_ok(roast_lost_workers_find(run, &lost, &err), err);
    assert_int_equal(7, roast_lost_workers_count(lost));
    roast_lost_worker hog = roast_lost_workers_at(lost, 0);
    assert_str("hog", hog.worker);
    assert_near(0.97, hog.memory_fraction);
    assert_true(fabs(hog.memory_age - 0.4) < 1e-6);
    assert_int_equal(2, hog.others);
    assert_cause("memory reached 97% of the limit 0.4 s before", lost, 0);
    assert_cause("it had not been heard of for 51 s", lost, 1);
    assert_cause("not known; memory was at 43% of the limit at most in the last 10 s", lost, 2);
    assert_cause("not known", lost, 3);
    assert_cause("2 other workers left with one of its tasks, too", lost, 4);
    assert_cause("it was told to leave", lost, 6);
    assert_str("P-1", roast_lost_workers_task(lost, 0, 0));
    assert_str("P-2", roast_lost_workers_task(lost, 0, 1));
    assert_null(roast_lost_workers_task(lost, 0, 2).data);
    assert_str("P-7", roast_lost_workers_task(lost, 4, 1));
    assert_null(roast_lost_workers_task(lost, 3, 0).data);
    assert_null(roast_lost_workers_task(lost, 7, 0).data);
    assert_null(roast_lost_workers_at(lost, 7).worker.data);
    roast_lost_worker second = roast_lost_workers_at(lost, 4);
    char cut[8];
    assert_int_equal(47, roast_lost_worker_cause(&second, cut, sizeof cut));
    assert_string_equal("2 other", cut);
    roast_lost_workers_free(lost);
    roast_run_take_attempts(run, NULL);
    assert_ok(roast_lost_workers_find(run, &lost, &err), err);
    assert_int_equal(0, roast_lost_workers_count(lost));
    roast_lost_workers_free(lost);
    roast_lost_workers_free(NULL);
    roast_run_free(run);
}

/* ---- pieces ---- */
static void test_work_item_in_words(void **state) {
    (void)state;
    static const char *const good[] = {
        "Failed processing file: WorkItem(dataset='tt', filename='a b/f.root', treename='Events', "
        "entrystart=10, entrystop=2000, fileuuid=b'x', usermeta={}). The error was: ValueError()",
        "Work item WorkItem(dataset=\"tt\", filename=\"a b/f.root\", treename=\"Events\", "
        "entrystart=10, entrystop=2000) caused a KilledWorker exception",
        "WorkItem(dataset=\\'tt\\', filename=\\'a b/f.root\\', treename=\\'Events\\', "
        "entrystart=10, entrystop=2000,",
    };
    static const char *const bad[] = {
        "",
        "WorkItem",
        "WorkItem(",
        "WorkItem(dataset='tt'",
        "WorkItem(dataset='tt', filename='f', treename='Events', entrystart=10, entrystop=20",
        "WorkItem(dataset='tt', filename='f', treename='Events', entrystart=, entrystop=20)",
        "WorkItem(dataset=, filename='f', treename='Events', entrystart=1, entrystop=20)",
        "WorkItem(dataset=f(, filename='f', treename='Events', entrystart=1, entrystop=20)",
        "WorkItem(dataset=2016, treename='Events', entrystart=1, entrystop=20)",
        "WorkItem(dataset='tt', filename='f', treename='Events, entrystart=1, entrystop=20)",
        "WorkItem(dataset=\\'tt', filename='f', treename='Events', entrystart=1, entrystop=20)",
        ("WorkItem(dataset='tt', filename='f', treename='E', entrystart=1, "
         "entrystop=99999999999999999999)"),
        "WorkItem(dataset='tt', filename='f', treename='Events', entrystop=1, entrystart=20)"};
    roast_piece piece;
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(roast_piece_parse(roast_str_of(good[i]), &piece));
        assert_str("tt", piece.dataset);
        assert_str("a b/f.root", piece.file);
        assert_str("Events", piece.treename);
        assert_int_equal(10, piece.start);
        assert_int_equal(2000, piece.stop);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        if (roast_piece_parse(roast_str_of(bad[i]), &piece))
            fail_msg("'%s' was taken for a piece", bad[i]);
    assert_false(roast_piece_parse(roast_str_of(NULL), &piece));
    /* Every beginning, in a block of its own. */
    for (size_t len = 0; len < strlen(good[0]); len++) {
        char *copy = test_malloc(len + 1);
        memcpy(copy + 1, good[0], len);
        roast_piece_parse((roast_str){copy + 1, len}, &piece);
        test_free(copy);
    }
}

/* Names that are no text, as repr() writes them. */
static void test_work_item_with_other_names(void **state) {
    (void)state;
    static const char *const names[][2] = {{"2016", "2016"},           {"(2016, 7)", "(2016, 7)"},
                                           {"np.int64(2016)", "2016"}, {"np.str_('tt')", "tt"},
                                           {"-2.5", "-2.5"},           {"None", NULL}};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        roast_piece piece;
        snprintf(text, sizeof text,
                 "WorkItem(dataset=%s, filename=PosixPath('a b/f.root'), treename='Events', "
                 "entrystart=10, entrystop=2000)",
                 names[i][0]);
        assert_true(roast_piece_parse(roast_str_of(text), &piece));
        if (names[i][1] == NULL)
            assert_null(piece.dataset.data);
        else
            assert_str(names[i][1], piece.dataset);
        assert_str("a b/f.root", piece.file);
        assert_int_equal(10, piece.start);
        for (size_t len = 0; len < strlen(text); len++) {
            char *copy = test_malloc(len + 1);
            memcpy(copy + 1, text, len);
            roast_piece_parse((roast_str){copy + 1, len}, &piece);
            test_free(copy);
        }
    }
}

static void piece_record(roast_run *run, const char *file, int64_t start, const char *error) {
    roast_error err;
    static uint64_t seq;
    roast_chunk chunk = {.token = 3,
                         .seq = ++seq,
                         .dataset = roast_str_of("tt"),
                         .file = roast_str_of(file),
                         .treename = roast_str_of("Events"),
                         .entry_start = start,
                         .entry_stop = start + 10,
                         .error_type = roast_str_of(error),
                         .have = ROAST_CHUNK_HAS(entry_start) | ROAST_CHUNK_HAS(entry_stop)};
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static void piece_attempt(roast_attempts *attempts, const char *file, int start,
                          roast_outcome outcome) {
    roast_error err;
    char message[256];
    snprintf(message, sizeof message,
             "Failed processing file: WorkItem(dataset='tt', filename='%s', treename='Events', "
             "entrystart=%d, entrystop=%d, fileuuid=b'')",
             file, start, start + 10);
    roast_attempt attempt = try_of("P", "P-1", ROAST_NO_WORKER, (try_times){0, 0, NAN, NAN, 5});
    attempt.outcome = outcome;
    attempt.error_type = roast_str_of("Exception");
    attempt.error_message = roast_str_of(message);
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

static roast_run *run_with_failures(void) {
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    piece_record(run, "f", 0, NULL);
    piece_record(run, "f", 10, "ValueError");
    piece_record(run, "f", 10, "ValueError");
    piece_record(run, "f", 20, "OSError"); /* went well the second time */
    piece_record(run, "f", 20, NULL);
    piece_record(run, NULL, 30, "OSError"); /* nobody knows where */
    piece_attempt(attempts, "f", 10, ROAST_OUTCOME_raised);
    piece_attempt(attempts, "g", 0, ROAST_OUTCOME_raised); /* before process() */
    piece_attempt(attempts, "f", 0, ROAST_OUTCOME_raised);
    piece_attempt(attempts, "h", 0, ROAST_OUTCOME_done);
    return run;
}

static void test_failed_pieces(void **state) {
    (void)state;
    roast_error err;
    roast_failed_pieces *pieces = NULL;
    roast_run *run = run_with_failures();
    assert_ok(roast_failed_pieces_find(run, NULL, 0, &pieces, &err), err);
    roast_run_free(run); /* they are their own */
    assert_int_equal(2, roast_failed_pieces_count(pieces));
    roast_piece first = roast_failed_pieces_at(pieces, 0),
                second = roast_failed_pieces_at(pieces, 1);
    assert_str("tt", first.dataset);
    assert_str("f", first.file);
    assert_int_equal(10, first.start);
    assert_int_equal(20, first.stop);
    assert_str("g", second.file);
    assert_str("Events", second.treename);
    assert_int_equal(-1, roast_failed_pieces_at(pieces, 2).start);
    roast_failed_pieces_free(pieces);
    roast_failed_pieces_free(NULL);
}

static void test_pieces_that_others_know_of(void **state) {
    (void)state;
    roast_error err;
    roast_failed_pieces *pieces = NULL;
    roast_run *run = run_with_failures();
    const roast_str dataset = roast_str_of("tt"), tree = roast_str_of("Events");
    const roast_piece more[] = {{dataset, roast_str_of("f"), tree, 20, 30}, /* went well */
                                {dataset, roast_str_of("k"), tree, 0, 10},
                                {dataset, roast_str_of("g"), tree, 0, 10}, /* known */
                                {dataset, roast_str_of("k"), tree, 0, 10}};
    assert_ok(roast_failed_pieces_find(run, more, 4, &pieces, &err), err);
    assert_int_equal(3, roast_failed_pieces_count(pieces));
    assert_str("k", roast_failed_pieces_at(pieces, 2).file);
    roast_failed_pieces_free(pieces);
    roast_run_free(run);
}

/* ---- tasks ---- */

static void task_ends(roast_attempts *attempts, const char *prefix, const char *key,
                      roast_outcome outcome, uint32_t departure) {
    roast_error err;
    roast_attempt attempt = try_of(prefix, key, ROAST_NO_WORKER, (try_times){0, 0, NAN, NAN, 5});
    attempt.outcome = outcome;
    attempt.departure = departure;
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

static void task_record(roast_run *run, const char *key, const char *error) {
    roast_error err;
    static uint64_t seq;
    roast_chunk chunk = {
        .token = 4, .seq = ++seq, .task_key = roast_str_of(key), .error_type = roast_str_of(error)};
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

#define HASHED "P-00112233445566778899aabbccddeeff"

static roast_run *run_with_failed_tasks(void) {
    roast_run *run = run_of(10);
    roast_attempts *attempts = watch(run);
    roast_error err;
    assert_ok(roast_attempts_set_kind(attempts, roast_str_of("P"), ROAST_KIND_processing, &err),
              err);
    depart(attempts, "hog", 5, false);
    task_ends(attempts, "P", "P-x-7", ROAST_OUTCOME_lost, 0); /* twice, and never done */
    task_ends(attempts, "P", "P-x-7", ROAST_OUTCOME_lost, 0);
    task_ends(attempts, "P", "P-x-8", ROAST_OUTCOME_lost, 0); /* done by another worker */
    task_ends(attempts, "P", "P-x-8", ROAST_OUTCOME_done, ROAST_NO_DEPARTURE);
    task_ends(attempts, "P", "P-x-9", ROAST_OUTCOME_lost, ROAST_NO_DEPARTURE); /* called off */
    task_ends(attempts, "P", "P-y-7", ROAST_OUTCOME_raised, ROAST_NO_DEPARTURE);
    task_ends(attempts, "P", HASHED, ROAST_OUTCOME_raised, ROAST_NO_DEPARTURE);
    task_ends(attempts, "P", "alone", ROAST_OUTCOME_raised, ROAST_NO_DEPARTURE);
    task_ends(attempts, "P", "P-x-1", ROAST_OUTCOME_lost, 0); /* its record went off before */
    task_ends(attempts, "P", "P-ff112233445566778899aabbccddeeff", ROAST_OUTCOME_lost, 0);
    task_ends(attempts, "P", "alone too", ROAST_OUTCOME_lost, 0);
    task_ends(attempts, "reduce", "reduce-1", ROAST_OUTCOME_raised, ROAST_NO_DEPARTURE);
    task_record(run, "P-x-1", NULL);
    task_record(run, "P-ff112233445566778899aabbccddeeff", NULL);
    task_record(run, "alone too", NULL);
    task_record(run, "P-y-7", "ValueError");
    task_record(run, NULL, NULL);
    return run;
}

static void test_failed_tasks(void **state) {
    (void)state;
    static const char *const expected[] = {"P-x-7", "P-y-7", HASHED, "alone"};
    roast_error err;
    roast_failed_tasks *tasks = NULL;
    roast_run *run = run_with_failed_tasks();
    assert_ok(roast_failed_tasks_find(run, &tasks, &err), err);
    roast_run_free(run); /* they are their own */
    assert_int_equal(4, roast_failed_tasks_count(tasks));
    for (uint32_t i = 0; i < 4; i++)
        assert_str(expected[i], roast_failed_tasks_key(tasks, i));
    assert_null(roast_failed_tasks_key(tasks, 4).data);
    roast_failed_tasks_free(tasks);
    roast_failed_tasks_free(NULL);
    run = run_of(10); /* nobody watched */
    assert_ok(roast_failed_tasks_find(run, &tasks, &err), err);
    assert_int_equal(0, roast_failed_tasks_count(tasks));
    roast_failed_tasks_free(tasks);
    roast_run_free(run);
}

/* ---- failing allocations ---- */
static roast_status find_all(void *context) {
    roast_lost_workers *lost = NULL;
    roast_failed_pieces *pieces = NULL;
    roast_failed_tasks *tasks = NULL;
    roast_status status = roast_lost_workers_find(context, &lost, NULL);
    if (status == ROAST_OK)
        status = roast_failed_pieces_find(context, NULL, 0, &pieces, NULL);
    if (status == ROAST_OK)
        status = roast_failed_tasks_find(context, &tasks, NULL);
    roast_failed_tasks_free(tasks);
    roast_lost_workers_free(lost);
    roast_failed_pieces_free(pieces);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_run *run = run_with_losses();
    assert_true(alloc_walk(find_all, run) > 5);
    roast_run_free(run);
    run = run_with_failures();
    assert_true(alloc_walk(find_all, run) > 5);
    roast_run_free(run);
    run = run_with_failed_tasks();
    assert_true(alloc_walk(find_all, run) > 5);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_workers),
        cmocka_unit_test(test_work_item_in_words),
        cmocka_unit_test(test_work_item_with_other_names),
        cmocka_unit_test(test_failed_pieces),
        cmocka_unit_test(test_pieces_that_others_know_of),
        cmocka_unit_test(test_failed_tasks),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
