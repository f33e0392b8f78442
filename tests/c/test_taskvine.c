/* The log of TaskVine: real runs against what is known about them, every trap of the format, pieces of any size, and
 * allocations that fail. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roast/budget.h"
#include "roast/failures.h"
#include "roast/taskvine.h"
#include "support.h"

#define FOLDER "tests/data/taskvine/"
#define WORKER "worker-a24291b777853a3e66a9ecbd08068718"
#define AT(s)  "17948428" s "000000 9 "

/* ---- helpers ---- */

static roast_taskvine *new_log(void) {
    roast_error err;
    roast_taskvine *log = NULL;
    assert_ok(roast_taskvine_new(&log, &err), err);
    return log;
}

static roast_taskvine *read_text(const char *text) {
    roast_error err;
    roast_taskvine *log = new_log();
    assert_ok(roast_taskvine_feed(log, text, strlen(text), &err), err);
    assert_ok(roast_taskvine_finish(log, &err), err);
    return log;
}

static void path_of(const char *name, char out[256]) {
    snprintf(out, 256, FOLDER "%s/vine-logs/transactions", name);
}

static roast_taskvine *read_recording(const char *name) {
    roast_error err;
    roast_taskvine *log = new_log();
    char path[256];
    int64_t offset = 0;
    path_of(name, path);
    assert_ok(roast_taskvine_feed_file(log, path, &offset, &err), err);
    assert_ok(roast_taskvine_finish(log, &err), err);
    assert_int_equal(0, roast_taskvine_get_facts(log)->unreadable);
    return log;
}

static char *slurp(const char *name, size_t *len) {
    char path[256];
    path_of(name, path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    *len = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

typedef struct counts {
    uint64_t outcome[ROAST_OUTCOME_COUNT];
    uint64_t kind[ROAST_KIND_COUNT];
    uint64_t bad; /* whose moments are not in order */
} counts;

static counts count(const roast_attempts *attempts) {
    counts all = {{0}, {0}, 0};
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        all.outcome[attempt.outcome]++;
        all.kind[attempt.kind]++;
        bool ran = attempt.start_us != ROAST_NO_TIME;
        all.bad +=
            attempt.ended_us < attempt.sent_us || attempt.worker == ROAST_NO_WORKER ||
            (attempt.ready_us != ROAST_NO_TIME && attempt.sent_us < attempt.ready_us) ||
            (ran && (attempt.start_us < attempt.sent_us || attempt.stop_us < attempt.start_us ||
                     attempt.ended_us < attempt.stop_us));
    }
    return all;
}

/* The n-th try (from 0) of a task; the test fails if there is none. */
static roast_attempt try_of(const roast_attempts *attempts, const char *key, unsigned n) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        if (roast_str_equal(attempt.key, roast_str_of(key)) && n-- == 0)
            return attempt;
    fail_msg("no such try of %s", key);
    return attempt;
}

/* ---- recordings ---- */

/* Tries and transfers, counted in the logs by another program. */
static void test_recordings(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t outcome[ROAST_OUTCOME_COUNT]; /* done, raised, lost, recomputed */
        uint64_t kind[ROAST_KIND_COUNT];       /* processing, reduction, other */
        uint64_t transfers[ROAST_WAY_COUNT];
        uint32_t departures, unexplained, workers;
    } all[] = {
        {"kill", {26, 0, 2, 6}, {28, 4, 2}, {39, 17, 6}, 1, 1, 3},
        {"raise", {26, 1, 0, 0}, {21, 4, 2}, {32, 11, 6}, 0, 0, 2},
        {"exhaustion", {17, 2, 0, 0}, {14, 3, 2}, {26, 8, 24}, 0, 0, 2},
        {"resource-monitor", {12, 0, 0, 0}, {8, 2, 2}, {19, 7, 16}, 0, 0, 2},
        {"permanent-failure", {6, 1, 2, 0}, {6, 1, 2}, {14, 3, 3}, 0, 0, 2},
        {"sigterm", {14, 0, 1, 4}, {15, 2, 2}, {24, 2, 4}, 1, 1, 2},
        {"same-host", {26, 0, 0, 0}, {20, 4, 2}, {31, 13, 6}, 0, 0, 2},
        {"functioncall-failing-library", {0, 0, 3, 0}, {0, 0, 3}, {5, 0, 0}, 1, 0, 1},
    };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        roast_taskvine *log = read_recording(all[i].name);
        const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
        const roast_attempts *attempts = roast_taskvine_attempts(log);
        counts found = count(attempts);
        print_message("%s\n", all[i].name);
        assert_memory_equal(all[i].outcome, found.outcome, sizeof found.outcome);
        assert_memory_equal(all[i].kind, found.kind, sizeof found.kind);
        assert_int_equal(0, found.bad);
        for (int way = 0; way < ROAST_WAY_COUNT; way++)
            assert_int_equal(all[i].transfers[way], facts->transfers[way].count);
        assert_int_equal(all[i].departures, roast_attempts_departure_count(attempts));
        assert_int_equal(all[i].unexplained, facts->unexplained);
        assert_int_equal(all[i].workers, roast_series_worker_count(roast_taskvine_series(log)));
        assert_true(facts->begun && facts->ended && !facts->cut);
        roast_taskvine_free(log);
    }
}

/* Without the resource monitor: the transfers, and the memory of a worker per core. */
static void test_figures_and_present_workers(void **state) {
    (void)state;
    static const char text[] =
        "1794842810000000 9 WORKER w1 CONNECTION a:1\n"
        "1794842811000000 9 WORKER w1 RESOURCES {\"cores\":[4],\"memory\":[8000,\"MB\"]}\n"
        "1794842812000000 9 WORKER w2 RESOURCES {\"cores\":[1]}\n"
        "1794842813000000 9 WORKER w3 RESOURCES {\"cores\":[2],\"memory\":[3000,\"MB\"]}\n"
        "1794842814000000 9 WORKER w1 TRANSFER INPUT f 1000 500000 1\n"
        "1794842815000000 9 WORKER w3 DISCONNECTION FAILURE\n";
    roast_taskvine *log = read_text(text);
    roast_span_value figure;
    double bytes = NAN, memory = NAN;
    unsigned known = 0;
    for (uint32_t i = 0; i < ROAST_TASKVINE_FIGURES; i++) {
        if (!roast_taskvine_figure(log, i, &figure))
            continue;
        known++;
        if (roast_str_equal(figure.activity, roast_str_of("task-memory")))
            memory = figure.value;
        else if (roast_str_equal(figure.activity, roast_str_of("manager")) &&
                 roast_str_equal(figure.unit, roast_str_of("bytes")))
            bytes = figure.value;
    }
    assert_int_equal(3 * ROAST_WAY_COUNT + 1, known);
    assert_false(roast_taskvine_figure(log, ROAST_TASKVINE_FIGURES, &figure));
    assert_near(1000, bytes);
    assert_near(1500.0 * (1 << 20), memory);
    assert_int_equal(4, roast_taskvine_worker_cores(log, 0));
    assert_int_equal(1, roast_taskvine_worker_cores(log, 1));
    assert_int_equal(-1, roast_taskvine_worker_cores(log, 2)); /* it left */
    assert_int_equal(-1, roast_taskvine_worker_cores(log, 3));
    roast_taskvine_free(log);
    log = read_text("");
    for (uint32_t i = 0; i < ROAST_TASKVINE_FIGURES; i++)
        assert_false(roast_taskvine_figure(log, i, &figure));
    roast_taskvine_free(log);
}

/* The worker that was killed had two tasks and the only copy of six results. */
static void test_killed_worker(void **state) {
    (void)state;
    roast_taskvine *log = read_recording("kill");
    const roast_attempts *attempts = roast_taskvine_attempts(log);
    roast_departure left = roast_attempts_departure(attempts, 0);
    assert_string_equal(WORKER,
                        roast_attempts_worker(attempts, left.worker).data != NULL ? WORKER : "");
    assert_false(left.expected);
    assert_int_equal(2, left.running);
    assert_int_equal(6, left.lost_results);
    assert_int_equal(INT64_C(1794842835411864000), left.when.ns);
    roast_attempt lost = try_of(attempts, "task.14", 0), again = try_of(attempts, "task.14", 1);
    assert_int_equal(ROAST_OUTCOME_lost, lost.outcome);
    assert_int_equal(0, lost.departure);
    assert_int_equal(INT64_C(1794842834960162), lost.sent_us); /* when its inputs were sent */
    assert_true(lost.start_us == ROAST_NO_TIME);
    assert_int_equal(ROAST_OUTCOME_done, again.outcome);
    assert_int_equal(INT64_C(1794842843571615), again.start_us);
    assert_int_equal(INT64_C(1794842845416014), again.stop_us);
    assert_int_equal(INT64_C(1794842845416690), again.ended_us);
    /* Task 23 made the result of task 10 again. */
    assert_int_equal(ROAST_OUTCOME_recomputed, try_of(attempts, "task.10", 0).outcome);
    assert_int_equal(ROAST_OUTCOME_done, try_of(attempts, "task.23", 0).outcome);
    assert_int_equal(ROAST_OUTCOME_done, try_of(attempts, "task.11", 0).outcome);
    roast_taskvine_free(log);
}

static void test_series(void **state) {
    (void)state;
    roast_taskvine *log = read_recording("kill");
    const roast_series *series = roast_taskvine_series(log);
    static const struct {
        uint32_t worker;
        roast_worker_change_kind kind;
        int64_t us;
        int32_t cores;
    } all[] = {{0, ROAST_WORKER_JOINED, INT64_C(1794842825594789), 2},
               {1, ROAST_WORKER_JOINED, INT64_C(1794842825611721), 1},
               {0, ROAST_WORKER_LEFT, INT64_C(1794842835411864), 0},
               {2, ROAST_WORKER_JOINED, INT64_C(1794842840108912), 1},
               {2, ROAST_WORKER_LEFT, INT64_C(1794842859045904), 0},
               {1, ROAST_WORKER_LEFT, INT64_C(1794842859046016), 0}};
    assert_int_equal(6, roast_series_change_count(series));
    for (uint64_t i = 0; i < 6; i++) {
        roast_worker_change change = roast_series_change_at(series, i);
        assert_int_equal(all[i].worker, change.worker);
        assert_int_equal(all[i].kind, change.kind);
        assert_int_equal(all[i].us * 1000, change.when.ns);
        assert_int_equal(all[i].cores, change.threads);
    }
    roast_taskvine_free(log);
}

/* The monitor measures; without it "memory" is what the task was allowed. */
static void test_measurements(void **state) {
    (void)state;
    roast_taskvine *log = read_recording("exhaustion");
    const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
    assert_int_equal(2, facts->exhausted);
    assert_int_equal(14, facts->measured[ROAST_KIND_processing].tries);
    assert_true(fabs(facts->measured[ROAST_KIND_processing].memory / (1 << 20) - 2652) < 0.5);
    roast_attempt big = try_of(roast_taskvine_attempts(log), "task.13", 0);
    assert_true(roast_str_equal(big.error_type, roast_str_of("RESOURCE_EXHAUSTION")));
    assert_true(
        roast_str_equal(big.error_message, roast_str_of("memory: 2652 MB, 2000 MB allowed")));
    roast_taskvine_free(log);
    log = read_recording("kill");
    for (int i = 0; i < ROAST_KIND_COUNT; i++)
        assert_int_equal(0, roast_taskvine_get_facts(log)->measured[i].tries);
    roast_taskvine_free(log);
}

/* The parts of the budget against sums over the log. */
static void test_budget(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    roast_budget *budget;
    roast_taskvine *log = read_recording("kill");
    assert_ok(roast_run_new(&run, &err), err);
    assert_ok(roast_taskvine_fill(log, run, &err), err);
    assert_ok(roast_budget_compute(run, &budget, &err), err);
    const roast_budget_row *total = roast_budget_total(budget);
    /* Until the last task ended, the log's times in seconds. */
    const double end = 53.910381;
    double available = 2 * (35.411864 - 25.594789) + (end - 25.611721) + (end - 40.108912), sum = 0;
    assert_true(fabs(total->available - available) < 1e-3);
    for (int i = 0; i < ROAST_PART_COUNT; i++)
        sum += isnan(total->parts[i]) ? 0 : total->parts[i];
    assert_true(fabs(sum - available) < 1e-3);
    double done = 0, lost = 0, reduction = 0;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, roast_run_attempts_view(run));
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        int64_t from = attempt.start_us != ROAST_NO_TIME ? attempt.start_us : attempt.sent_us;
        int64_t to = attempt.stop_us != ROAST_NO_TIME ? attempt.stop_us : attempt.ended_us;
        double *part = attempt.outcome != ROAST_OUTCOME_done   ? &lost
                       : attempt.kind == ROAST_KIND_processing ? &done
                       : attempt.kind == ROAST_KIND_reduction  ? &reduction
                                                               : NULL;
        if (part != NULL)
            *part += (double)(to - from) / 1e6;
    }
    assert_true(fabs(total->parts[ROAST_PART_processing] - done) < 0.05);
    assert_true(fabs(total->parts[ROAST_PART_reduction] - reduction) < 0.05);
    assert_true(fabs(total->parts[ROAST_PART_lost] - lost) < 0.05);
    assert_true(isnan(total->parts[ROAST_PART_compute_cpu]));
    assert_true(total->parts[ROAST_PART_unaccounted] < 0.01);
    roast_budget_free(budget);
    roast_run_free(run);
    roast_taskvine_free(log);
}

/* A task that failed may have been done under another number: nobody can say that its piece is missing. */
static void test_failed_tasks_are_no_pieces(void **state) {
    (void)state;
    roast_error err;
    roast_run *run;
    roast_failed_tasks *failed;
    roast_taskvine *log = read_recording("raise");
    assert_ok(roast_run_new(&run, &err), err);
    assert_ok(roast_taskvine_fill(log, run, &err), err);
    assert_ok(roast_failed_tasks_find(run, &failed, &err), err);
    assert_int_equal(0, roast_failed_tasks_count(failed));
    roast_failed_tasks_free(failed);
    roast_run_free(run);
    roast_taskvine_free(log);
}

/* A record of a task does not say where it ran; the log does. */
static void test_workers_of_chunks(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log, *named;
    roast_taskvine *vine = read_recording("kill");
    const roast_attempts *attempts = roast_taskvine_attempts(vine);
    static const char *const keys[] = {"task.11", "task.14", "task.99", NULL, "task.21"};
    assert_ok(roast_chunklog_new(&log, &err), err);
    for (unsigned i = 0; i < 5; i++) {
        roast_chunk chunk = {.token = i + 1, .seq = 1, .task_key = roast_str_of(keys[i])};
        if (i == 4)
            chunk.worker = roast_str_of("told");
        assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    }
    assert_ok(roast_chunklog_name_workers(log, attempts, &named, &err), err);
    const roast_str expected[] = {roast_attempts_worker(attempts, 1),
                                  roast_attempts_worker(attempts, 1),
                                  {NULL, 0},
                                  {NULL, 0},
                                  roast_str_of("told")};
    for (unsigned i = 0; i < 5; i++) {
        roast_chunk chunk;
        assert_ok(roast_chunklog_get(named, i, &chunk, &err), err);
        assert_true(roast_str_equal(expected[i], chunk.worker));
        assert_int_equal(i + 1, chunk.token);
    }
    roast_chunklog_free(log);
    roast_chunklog_free(named);
    roast_taskvine_free(vine);
}

static roast_chunk chunk_of_task(const char *key, int64_t start_us, uint64_t seq) {
    return (roast_chunk){.token = 9,
                         .seq = seq,
                         .task_key = roast_str_of(key),
                         .thread = 7,
                         .start_us = start_us,
                         .duration_ns = 1000,
                         .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) |
                                 ROAST_CHUNK_HAS(thread)};
}

/* The log knows when a task began; a task of which a part raised before tells nothing of the rest. */
static roast_chunklog *chunks_without_starts(const roast_attempts *attempts, int64_t *started) {
    roast_error err;
    roast_chunklog *log;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        if (roast_str_equal(attempt.key, roast_str_of("task.11")))
            *started = attempt.start_us;
    assert_ok(roast_chunklog_new(&log, &err), err);
    roast_chunk chunks[5] = {
        chunk_of_task("task.11", *started + 3000, 1),
        chunk_of_task("task.11", *started + 3000, 2), /* its process() was loaded 1 ms before */
        chunk_of_task("task.99", *started, 3),
        chunk_of_task("task.11", *started + 9000, 4), /* knows its start */
        chunk_of_task("task.11", *started + 8000, 5), /* raised */
    };
    chunks[1].thread = 8;
    chunks[1].loaded_ns = 1000000;
    chunks[1].have |= ROAST_CHUNK_HAS(loaded_ns);
    chunks[3].before_process_ns = 5;
    chunks[3].have |= ROAST_CHUNK_HAS(before_process_ns);
    chunks[4].error_type = roast_str_of("ValueError");
    for (unsigned i = 0; i < 5; i++)
        assert_ok(roast_chunklog_append(log, &chunks[i], &err), err);
    return log;
}

static void test_starts_of_tasks(void **state) {
    (void)state;
    static const int64_t expected[] = {3000000, 1000000, -1, 5, -1};
    roast_error err;
    roast_taskvine *vine = read_recording("kill");
    const roast_attempts *attempts = roast_taskvine_attempts(vine);
    int64_t started = 0;
    roast_chunklog *log = chunks_without_starts(attempts, &started);
    for (uint64_t i = 0; i < 5; i++) { /* one at a time: each is the nearest to its try */
        roast_chunklog *one, *made;
        roast_chunk chunk;
        assert_ok(roast_chunklog_new(&one, &err), err);
        assert_ok(roast_chunklog_merge_rows(one, log, i, 1, &err), err);
        assert_ok(roast_chunklog_start_tasks(one, attempts, &made, &err), err);
        assert_ok(roast_chunklog_get(made != NULL ? made : one, 0, &chunk, &err), err);
        bool known = (chunk.have & ROAST_CHUNK_HAS(before_process_ns)) != 0;
        assert_int_equal(expected[i], known ? chunk.before_process_ns : -1);
        assert_true(chunk.seq == i + 1 && chunk.duration_ns == 1000);
        roast_chunklog_free(one);
        roast_chunklog_free(made);
    }
    roast_chunklog_free(log);
    roast_taskvine_free(vine);
}

static void test_a_chunk_that_was_tried_again_inside_its_task(void **state) {
    (void)state;
    roast_error err;
    roast_taskvine *vine = read_recording("kill");
    roast_chunklog *log, *made;
    roast_chunk chunk;
    int64_t started = 0;
    roast_chunklog_free(chunks_without_starts(roast_taskvine_attempts(vine), &started));
    assert_ok(roast_chunklog_new(&log, &err), err);
    for (int i = 1; i <= 2; i++) {
        chunk = chunk_of_task("task.11", started + i * 1000, (uint64_t)i);
        chunk.error_type = roast_str_of(i == 1 ? "ValueError" : NULL);
        assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    }
    assert_ok(roast_chunklog_start_tasks(log, roast_taskvine_attempts(vine), &made, &err), err);
    assert_ok(roast_chunklog_get(made, 1, &chunk, &err), err);
    assert_true((chunk.have & ROAST_CHUNK_HAS(before_process_ns)) == 0);
    roast_chunklog_free(log);
    roast_chunklog_free(made);
    roast_taskvine_free(vine);
}

/* What a manager did for another run before. */
static void test_a_run_that_begins_later(void **state) {
    (void)state;
    roast_error err;
    roast_taskvine *whole = read_recording("kill"), *late = new_log();
    const roast_taskvine_facts *all = roast_taskvine_get_facts(whole);
    const roast_taskvine_facts *some = roast_taskvine_get_facts(late);
    char path[256];
    int64_t offset = 0, from = all->first_us + (all->last_us - all->first_us) / 2;
    uint64_t expected = 0;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, roast_taskvine_attempts(whole));
    while (roast_attempt_cursor_next(&cursor, &attempt))
        expected += attempt.ended_us >= from;
    roast_taskvine_begin_at(late, from);
    path_of("kill", path);
    assert_ok(roast_taskvine_feed_file(late, path, &offset, &err), err);
    assert_ok(roast_taskvine_finish(late, &err), err);
    assert_int_equal(expected, roast_attempts_count(roast_taskvine_attempts(late)));
    assert_true(expected > 0 && some->processed < all->processed);
    assert_true(some->transfers[ROAST_WAY_manager].count < all->transfers[ROAST_WAY_manager].count);
    roast_taskvine_free(whole);
    roast_taskvine_free(late);
}

typedef struct to_name {
    const roast_chunklog *log;
    const roast_attempts *attempts;
} to_name;

static roast_status name_body(void *context) {
    const to_name *from = context;
    roast_chunklog *named;
    ROAST_TRY(roast_chunklog_name_workers(from->log, from->attempts, &named, NULL));
    roast_chunklog_free(named);
    return ROAST_OK;
}

static roast_status start_body(void *context) {
    const to_name *from = context;
    roast_chunklog *made;
    ROAST_TRY(roast_chunklog_start_tasks(from->log, from->attempts, &made, NULL));
    roast_chunklog_free(made);
    return ROAST_OK;
}

static void test_no_memory_for_names(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log;
    roast_taskvine *vine = read_recording("kill");
    roast_chunk chunk = {.token = 1, .seq = 1, .task_key = roast_str_of("task.11")};
    assert_ok(roast_chunklog_new(&log, &err), err);
    assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    to_name from = {log, roast_taskvine_attempts(vine)};
    assert_true(alloc_walk(name_body, &from) > 3);
    roast_chunklog_free(log);
    int64_t started = 0;
    from.log = log = chunks_without_starts(from.attempts, &started);
    assert_true(alloc_walk(start_body, &from) > 6);
    roast_chunklog_free(log);
    roast_taskvine_free(vine);
}

/* ---- as it grows ---- */

static void test_pieces(void **state) {
    (void)state;
    roast_error err;
    size_t len;
    char *text = slurp("kill", &len);
    static const size_t sizes[] = {1, 7, 100, 4096};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        roast_taskvine *log = new_log(), *whole = read_recording("kill");
        for (size_t at = 0; at < len; at += sizes[i]) {
            size_t piece = len - at < sizes[i] ? len - at : sizes[i];
            assert_ok(roast_taskvine_feed(log, text + at, piece, &err), err);
        }
        assert_ok(roast_taskvine_finish(log, &err), err);
        assert_memory_equal(roast_taskvine_get_facts(whole), roast_taskvine_get_facts(log),
                            sizeof(roast_taskvine_facts));
        assert_int_equal(34, roast_attempts_count(roast_taskvine_attempts(log)));
        roast_taskvine_free(log);
        roast_taskvine_free(whole);
    }
    free(text);
}

/* At every length the log gives tries in order, and what is cut off is said. */
static void test_cut(void **state) {
    (void)state;
    roast_error err;
    size_t len;
    char *text = slurp("functioncall-failing-library", &len);
    for (size_t cut = 0; cut < len; cut++) {
        roast_taskvine *log = new_log();
        assert_ok(roast_taskvine_feed(log, text, cut, &err), err);
        assert_ok(roast_taskvine_finish(log, &err), err);
        const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
        assert_int_equal(0, facts->unreadable);
        assert_true(facts->cut == (cut > 0 && text[cut - 1] != '\n'));
        assert_false(facts->ended);
        assert_int_equal(0, count(roast_taskvine_attempts(log)).bad);
        roast_taskvine_free(log);
    }
    free(text);
}

static void test_grows(void **state) {
    (void)state;
    roast_error err;
    char path[] = "/tmp/roast-vine-XXXXXX";
    int file = mkstemp(path);
    static const char *const parts[] = {AT("01") "MANAGER 9 START 0\n" AT("02") "TASK 1 REA",
                                        "DY processing FIRST_RESOURCES 1 {}\n"};
    int64_t offset = 0;
    roast_taskvine *log = new_log();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(strlen(parts[i]), write(file, parts[i], strlen(parts[i])));
        assert_ok(roast_taskvine_feed_file(log, path, &offset, &err), err);
        assert_int_equal(i == 0 ? 1 : 2, roast_taskvine_get_facts(log)->lines);
    }
    assert_int_equal(strlen(parts[0]) + strlen(parts[1]), offset);
    close(file);
    unlink(path);
    assert_int_equal(ROAST_EIO, roast_taskvine_feed_file(log, path, &offset, &err));
    assert_int_equal(ENOENT, err.os_errno);
    assert_int_equal(ROAST_EINVAL, roast_taskvine_feed_file(log, "/tmp", &offset, &err));
    roast_taskvine_free(log);
}

/* ---- traps ---- */

#define RUNNING(second, task)                                                                      \
    AT(second) "TASK " task " RUNNING " WORKER "  FIRST_RESOURCES {\"cores\":[1,\"cores\"]}\n"
#define JOINED                                                                                     \
    AT("01")                                                                                       \
    "MANAGER 9 START 0\n" AT("02") "WORKER " WORKER " CONNECTION 10.0.0.1:7\n" AT(                 \
        "02") "WORKER " WORKER " RESOURCES {\"cores\":[4,\"cores\"]}\n"

/* A worker whose clock is an hour ahead. */
static void test_clocks(void **state) {
    (void)state;
    roast_taskvine *log = read_text(
        JOINED AT("03") "TASK 1 READY processing FIRST_RESOURCES 1 {}\n" RUNNING("04", "1")
            AT("09") "TASK 1 RETRIEVED SUCCESS  0  {} {\"time_worker_start\":[1794846405.5,\"s\"],"
                     "\"time_worker_end\":[1794846408,\"s\"],\"time_output_mgr\":[18444949230518."
                     "91,\"s\"]}\n");
    int64_t offset = roast_taskvine_clock_offset(log, 0);
    roast_attempt attempt = try_of(roast_taskvine_attempts(log), "task.1", 0);
    assert_true(offset <= -INT64_C(3599000000) && offset >= -INT64_C(3602000000));
    assert_int_equal(INT64_C(1794846405500000) + offset, attempt.start_us);
    assert_true(attempt.start_us >= attempt.sent_us && attempt.stop_us <= attempt.ended_us);
    assert_int_equal(0, roast_taskvine_clock_offset(log, 7));
    roast_taskvine_free(log);
}

/* Lines that no manager writes do no harm. */
static void test_bad_lines(void **state) {
    (void)state;
    static const char *const lines[] = {"x",
                                        "17 9",
                                        "0 9 TASK 1 READY processing",
                                        AT("03") "TASK",
                                        AT("03") "TASK 1",
                                        AT("03") "TASK x READY processing",
                                        AT("03") "TASK 1 READY",
                                        AT("03") "TASK 1 RUNNING",
                                        AT("03") "TASK 1 RETRIEVED",
                                        AT("03") "TASK 1 RETRIEVED SUCCESS 0 {}",
                                        AT("03") "WORKER w",
                                        AT("03") "WORKER w RESOURCES",
                                        AT("03") "WORKER w RESOURCES {}",
                                        AT("03") "WORKER w RESOURCES {\"cores\":[-1]}",
                                        AT("03") "WORKER w RESOURCES {\"cores\":[1e300]}",
                                        AT("03") "WORKER w TRANSFER INPUT f",
                                        AT("03") "WORKER w TRANSFER SIDEWAYS f 1 1 1",
                                        AT("03") "WORKER w CACHE_UPDATE f 1 1",
                                        AT("03") "WORKER w CACHE_UPDATE f -1 1 1",
                                        AT("03") "WORKER w CACHE_UPDATE f 99999999999999999999 1 1",
                                        AT("03") "MANAGER 9",
                                        AT("03") "LIBRARY",
                                        AT("03") "NOBODY x y",
                                        "99999999999999999 9 TASK 1 READY p"};
    char text[1024];
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, JOINED "%s\n", lines[i]);
        roast_taskvine *log = read_text(text);
        print_message("%s\n", lines[i]);
        assert_int_equal(1, roast_taskvine_get_facts(log)->unreadable);
        assert_int_equal(4, roast_taskvine_get_facts(log)->lines);
        roast_taskvine_free(log);
    }
    /* Those that are of no use, and an empty one. */
    roast_taskvine *log = read_text(JOINED "\n\r\n# x\n" AT("03") "APPLICATION hello world\n" AT(
        "03") "CATEGORY x MAX {}\n" AT("03") "WORKER " WORKER " SOMETHING\n");
    assert_int_equal(0, roast_taskvine_get_facts(log)->unreadable);
    roast_taskvine_free(log);
}

static void test_long_line(void **state) {
    (void)state;
    roast_error err;
    size_t len = (3u << 20) + 1;
    char *text = malloc(len);
    roast_taskvine *log = new_log();
    memset(text, 'x', len);
    text[len - 1] = '\n';
    for (size_t at = 0; at < len; at += 1 << 16) /* as it comes from a file */
        assert_ok(
            roast_taskvine_feed(log, text + at, len - at < 1 << 16 ? len - at : 1 << 16, &err),
            err);
    assert_ok(roast_taskvine_feed(log, JOINED, strlen(JOINED), &err), err);
    assert_int_equal(4, roast_taskvine_get_facts(log)->lines);
    assert_int_equal(1, roast_taskvine_get_facts(log)->unreadable);
    assert_true(roast_taskvine_memory(log) < 2u << 20);
    roast_taskvine_free(log);
    free(text);
}

static void send_files(roast_taskvine *log, int from, int to) {
    roast_error err;
    for (int i = from; i < to; i++) {
        char line[160];
        int len =
            snprintf(line, sizeof line,
                     AT("03") "WORKER " WORKER " TRANSFER INPUT f%d 1 1 1794842803000000\n", i);
        assert_ok(roast_taskvine_feed(log, line, (size_t)len, &err), err);
    }
}

/* Only the newest files are kept, so memory has an end; a file that was sent long ago counts as one of a peer. */
static void test_many_files(void **state) {
    (void)state;
    enum { RECENT = 1 << 16 };
    static const char cached[] =
        AT("04") "WORKER " WORKER " CACHE_UPDATE f0 1 1 1794842804000000\n";
    roast_error err;
    roast_taskvine *log = new_log();
    const roast_taskvine_facts *facts = roast_taskvine_get_facts(log);
    assert_ok(roast_taskvine_feed(log, JOINED, strlen(JOINED), &err), err);
    send_files(log, 0, RECENT + 1);
    assert_ok(roast_taskvine_feed(log, cached, sizeof cached - 1, &err), err);
    assert_int_equal(0, facts->transfers[ROAST_WAY_peer].bytes);
    send_files(log, RECENT + 1, 2 * RECENT + 1);
    size_t memory = roast_taskvine_memory(log);
    assert_ok(roast_taskvine_feed(log, cached, sizeof cached - 1, &err), err);
    assert_int_equal(1, facts->transfers[ROAST_WAY_peer].bytes);
    send_files(log, 2 * RECENT + 1, 4 * RECENT);
    assert_true(roast_taskvine_memory(log) <= memory + 4096);
    assert_int_equal(0, facts->unreadable);
    roast_taskvine_free(log);
}

/* A number of a try that repeats, a task that is sent twice, one that ends twice. */
static void test_odd_tasks(void **state) {
    (void)state;
    roast_taskvine *log = read_text(
        JOINED AT("03") "TASK 1 READY x FIRST_RESOURCES 1 {}\n" RUNNING("04", "1")
            AT("05") "TASK 1 WAITING_RETRIEVAL " WORKER " \n" AT(
                "06") "TASK 1 READY x FIRST_RESOURCES 1 {}\n" RUNNING("07", "1") RUNNING("08", "1")
                AT("09") "TASK 1 RETRIEVED SIGNAL 9 {} {\"time_worker_start\":[0,\"s\"]}\n" AT(
                    "10") "TASK 1 RETRIEVED SUCCESS 0 {} {}\n" RUNNING("11", "2"));
    const roast_attempts *attempts = roast_taskvine_attempts(log);
    assert_int_equal(4, roast_attempts_count(attempts));
    assert_int_equal(ROAST_OUTCOME_lost, try_of(attempts, "task.1", 0).outcome);
    assert_int_equal(ROAST_OUTCOME_lost, try_of(attempts, "task.1", 1).outcome);
    roast_attempt killed = try_of(attempts, "task.1", 2);
    assert_int_equal(ROAST_OUTCOME_raised, killed.outcome);
    assert_true(roast_str_equal(killed.error_type, roast_str_of("SIGNAL")));
    assert_true(killed.start_us == ROAST_NO_TIME);
    /* Nobody said what it is; it has no end. */
    assert_int_equal(ROAST_OUTCOME_lost, try_of(attempts, "task.2", 0).outcome);
    assert_int_equal(1, roast_taskvine_get_facts(log)->open);
    roast_taskvine_free(log);
}

static void test_second_manager(void **state) {
    (void)state;
    roast_taskvine *log =
        read_text(JOINED AT("03") "TASK 1 READY x FIRST_RESOURCES 1 {}\n" RUNNING("04", "1")
                      JOINED AT("05") "TASK 1 READY y FIRST_RESOURCES 1 {}\n" RUNNING("06", "1")
                          AT("07") "TASK 1 RETRIEVED SUCCESS 0 {} {}\n");
    const roast_attempts *attempts = roast_taskvine_attempts(log);
    assert_int_equal(2, roast_attempts_count(attempts));
    assert_int_equal(ROAST_OUTCOME_lost, try_of(attempts, "task.1", 0).outcome);
    assert_int_equal(ROAST_OUTCOME_done, try_of(attempts, "task.1", 1).outcome);
    roast_taskvine_free(log);
}

static void test_cores_change(void **state) {
    (void)state;
    roast_taskvine *log =
        read_text(JOINED AT("05") "WORKER " WORKER " RESOURCES {\"cores\":[4,\"cores\"]}\n" AT(
            "06") "WORKER " WORKER " RESOURCES {\"cores\":[8,\"cores\"]}\n");
    const roast_series *series = roast_taskvine_series(log);
    assert_int_equal(2, roast_series_change_count(series));
    assert_int_equal(4, roast_series_change_at(series, 0).threads);
    assert_int_equal(8, roast_series_change_at(series, 1).threads);
    roast_taskvine_free(log);
}

/* ---- texts ---- */

static void test_explanations(void **state) {
    (void)state;
    roast_error err;
    roast_taskvine *log = new_log();
    char path[256];
    int64_t offset = 0;
    path_of("raise", path);
    roast_str type = roast_str_of("ValueError"), none = {NULL, 0};
    for (int task = 1; task < 30; task++)
        assert_ok(
            roast_taskvine_explain(log, task, type, task == 2 ? none : roast_str_of("no"), &err),
            err);
    assert_ok(roast_taskvine_feed_file(log, path, &offset, &err), err);
    assert_ok(roast_taskvine_finish(log, &err), err);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    unsigned raised = 0;
    roast_attempt_cursor_init(&cursor, roast_taskvine_attempts(log));
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        bool has = attempt.outcome == ROAST_OUTCOME_raised;
        raised += has;
        assert_true(roast_str_equal(attempt.error_type, has ? type : none));
    }
    assert_int_equal(1, raised);
    roast_taskvine_free(log);
}

static bool has_note(const roast_taskvine *log, const char *part) {
    for (uint32_t i = 0; i < roast_taskvine_note_count(log); i++) {
        roast_str note = roast_taskvine_note(log, i);
        if (memmem(note.data, note.len, part, strlen(part)) != NULL)
            return true;
    }
    return false;
}

static void test_notes(void **state) {
    (void)state;
    static const struct {
        const char *name, *part;
    } all[] = {{"kill", "why the connection to 1 worker ended"},
               {"kill", "resource monitor was off"},
               {"exhaustion", "2 tasks took more than allowed"},
               {"permanent-failure", "cancelled 2 running tasks"},
               {"functioncall-failing-library", "3 libraries"}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        roast_taskvine *log = read_recording(all[i].name);
        assert_true(has_note(log, all[i].part));
        assert_false(has_note(log, "no end"));
        roast_taskvine_free(log);
    }
    roast_taskvine *log =
        read_text(AT("03") "TASK 1 READY p x 1 {}\nx\n" RUNNING("04", "1") AT("05") "TA");
    assert_true(has_note(log, "no beginning"));
    assert_true(has_note(log, "1 of 3 lines") && has_note(log, "1 task had not ended"));
    assert_null(roast_taskvine_note(log, 1000).data);
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    assert_ok(roast_taskvine_fill(log, run, &err), err);
    roast_str last = roast_run_note(run, roast_run_note_count(run) - 1);
    assert_non_null(memmem(last.data, last.len, "last line is cut off", 20));
    roast_run_free(run);
    roast_taskvine_free(log);
}

static void test_states(void **state) {
    (void)state;
    roast_error err;
    roast_attempts *attempts = NULL;
    roast_series *series = NULL;
    roast_run *run;
    roast_taskvine *log = new_log();
    assert_int_equal(ROAST_ESTATE, roast_taskvine_take_attempts(log, &attempts, &err));
    assert_int_equal(ROAST_ESTATE, roast_taskvine_take_series(log, &series, &err));
    assert_ok(roast_taskvine_finish(log, &err), err);
    assert_ok(roast_taskvine_finish(log, &err), err);
    assert_int_equal(ROAST_ESTATE, roast_taskvine_feed(log, "x", 1, &err));
    assert_ok(roast_run_new(&run, &err), err);
    assert_int_equal(ROAST_ECORRUPT, roast_taskvine_fill(log, run, &err));
    roast_run_free(run);
    assert_ok(roast_taskvine_take_attempts(log, &attempts, &err), err);
    assert_ok(roast_taskvine_take_series(log, &series, &err), err);
    assert_null(roast_taskvine_attempts(log));
    assert_int_equal(ROAST_ESTATE, roast_taskvine_take_attempts(log, &attempts, &err));
    assert_true(roast_taskvine_memory(log) > 0);
    roast_attempts_free(attempts);
    roast_series_free(series);
    roast_taskvine_free(log);
    assert_string_equal("peer", roast_taskvine_way_name(ROAST_WAY_peer));
    assert_string_equal("unknown", roast_taskvine_way_name(ROAST_WAY_COUNT));
    assert_string_equal("unknown", roast_taskvine_way_words(ROAST_WAY_COUNT));
}

/* ---- memory ---- */

typedef struct walked {
    const char *text;
    size_t len;
} walked;

static roast_status read_and_fill(const walked *from, roast_taskvine *log, roast_run *run) {
    ROAST_TRY(roast_taskvine_explain(log, 7, roast_str_of("E"), roast_str_of("why"), NULL));
    for (size_t at = 0; at < from->len; at += 1000) /* so that lines wait for their end */
        ROAST_TRY(roast_taskvine_feed(log, from->text + at,
                                      from->len - at < 1000 ? from->len - at : 1000, NULL));
    ROAST_TRY(roast_taskvine_finish(log, NULL));
    return roast_taskvine_fill(log, run, NULL);
}

static roast_status walk_body(void *context) {
    roast_taskvine *log;
    roast_run *run;
    ROAST_TRY(roast_run_new(&run, NULL));
    roast_status status = roast_taskvine_new(&log, NULL);
    if (status == ROAST_OK) {
        status = read_and_fill(context, log, run);
        roast_taskvine_free(log);
    }
    roast_run_free(run);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const names[] = {"kill", "exhaustion", "functioncall-failing-library"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        walked from;
        char *text = slurp(names[i], &from.len);
        from.text = text;
        assert_true(alloc_walk(walk_body, &from) > 20);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recordings),
        cmocka_unit_test(test_figures_and_present_workers),
        cmocka_unit_test(test_killed_worker),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_measurements),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_failed_tasks_are_no_pieces),
        cmocka_unit_test(test_workers_of_chunks),
        cmocka_unit_test(test_starts_of_tasks),
        cmocka_unit_test(test_a_chunk_that_was_tried_again_inside_its_task),
        cmocka_unit_test(test_a_run_that_begins_later),
        cmocka_unit_test(test_no_memory_for_names),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_odd_tasks),
        cmocka_unit_test(test_second_manager),
        cmocka_unit_test(test_cores_change),
        cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
