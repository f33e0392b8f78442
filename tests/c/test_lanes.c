#include "support.h"

#include "roast/tasks.h"
#include "roast/lanes.h"

#define START INT64_C(1790000000000000) /* microseconds */

static roast_str str(const char *text) {
    return roast_str_of(text);
}

/* A run, and what was asked of its lanes. */
typedef struct scene {
    roast_run *run;
    roast_attempts *attempts; /* the run's */
    roast_task_lanes *lanes;
    size_t chunks_asked, attempts_asked;
} scene;

static scene new_scene(void) {
    roast_error err;
    scene s = {0};
    assert_ok(roast_run_new(&s.run, &err), err);
    assert_ok(roast_attempts_new(&s.attempts, &err), err);
    roast_run_take_attempts(s.run, s.attempts);
    return s;
}

static void end_scene(scene *s) {
    roast_task_lanes_free(s->lanes);
    roast_run_free(s->run);
}

/* Milliseconds since the start. */
static roast_chunk chunk_at(const char *worker, int64_t thread, int64_t start, int64_t lasted) {
    return (roast_chunk){
        .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(thread),
        .start_us = START + start * 1000,
        .duration_ns = lasted * 1000000,
        .thread = thread,
        .worker = roast_str_of(worker),
    };
}

static roast_chunk with_task(roast_chunk chunk, const char *key, int64_t before) {
    chunk.have |= ROAST_CHUNK_HAS(before_process_ns);
    chunk.before_process_ns = before * 1000000;
    chunk.task_key = roast_str_of(key);
    return chunk;
}

static roast_attempt attempt_at(const char *key, uint64_t thread, int64_t start, int64_t stop) {
    return (roast_attempt){.key = roast_str_of(key),
                           .thread = thread,
                           .start_us = START + start * 1000,
                           .stop_us = START + stop * 1000};
}

static void add_chunk(scene *s, roast_chunk chunk) {
    roast_error err;
    assert_ok(roast_chunklog_append(roast_run_chunks(s->run), &chunk, &err), err);
}

static void add_attempt(scene *s, const char *worker, roast_attempt attempt) {
    roast_error err;
    attempt.worker = ROAST_NO_WORKER;
    if (worker != NULL)
        assert_ok(roast_attempts_add_worker(s->attempts, str(worker), &attempt.worker, &err), err);
    attempt.ended_us = attempt.stop_us != ROAST_NO_TIME ? attempt.stop_us : START;
    attempt.departure = ROAST_NO_DEPARTURE;
    assert_ok(roast_attempts_append(s->attempts, &attempt, &err), err);
}

static void settle(scene *s) {
    roast_error err;
    assert_ok(roast_task_lanes_new(s->run, SIZE_MAX, &s->lanes, &err), err);
}

static roast_lane_place next_chunk(scene *s) {
    return roast_task_lanes_chunk(s->lanes, s->chunks_asked++);
}

static roast_lane_place next_attempt(scene *s) {
    return roast_task_lanes_attempt(s->lanes, s->attempts_asked++);
}

/* Milliseconds since the start. */
static void assert_times(int64_t start, int64_t stop, roast_lane_place place) {
    assert_true(place.there);
    assert_int_equal(START * 1000 + start * 1000000, place.task_start);
    assert_int_equal(START * 1000 + stop * 1000000, place.task_stop);
}

static void assert_lane(const char *worker, int64_t thread, uint32_t copy, const scene *s,
                        roast_lane_place place) {
    roast_lane lane = roast_task_lanes_at(s->lanes, place.lane);
    assert_str(worker, lane.worker);
    assert_int_equal(thread, lane.thread);
    assert_int_equal(copy, lane.copy);
}

/* ---- packing ---- */

static void pack(roast_bar *bars, size_t n) {
    roast_error err;
    roast_bar **order = roast_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = &bars[i];
    assert_ok(roast_bars_pack(order, n, &err), err);
    roast_free(order);
}

static void test_the_first_lane_that_is_free(void **state) {
    (void)state;
    roast_bar bars[] = {
        {.start = 0, .latest = 0, .stop = 10},
        {.start = 5, .latest = 5, .stop = 30},
        {.start = 6, .latest = 6, .stop = 12},
        {.start = 12, .latest = 12, .stop = 20},
        {.start = 13, .latest = 13, .stop = 14},
        {.start = 0, .latest = 0, .stop = 9, .owner = 1},
        {.start = 7, .latest = 10, .stop = 9, .owner = 1},
    };
    static const uint32_t lanes[] = {0, 1, 2, 0, 2, 0, 0};
    pack(bars, sizeof bars / sizeof *bars);
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        assert_int_equal(lanes[i], bars[i].lane);
    assert_int_equal(9, bars[6].start); /* moved behind the bar before it */
    assert_int_equal(9, bars[6].stop);
}

/* All at once: a lane each, and it does not take for ever. */
static void test_many_bars_at_once(void **state) {
    (void)state;
    enum { N = 200000 };
    roast_bar *bars = roast_alloc_zero(N * sizeof *bars);
    for (int i = 0; i < N; i++)
        bars[i] = (roast_bar){.start = i, .latest = i, .stop = 2 * N - i};
    pack(bars, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(i, bars[i].lane);
    roast_free(bars);
}

/* ---- tasks ---- */

static void test_a_lane_for_each_thread(void **state) {
    (void)state;
    scene s = new_scene();
    add_chunk(&s, chunk_at("b", 1, 30, 10)); /* in no order */
    add_chunk(&s, chunk_at("a", 2, 0, 10));
    add_chunk(&s, chunk_at("a", 1, 5, 10));
    add_chunk(&s, chunk_at("a", 1, 0, 5));
    settle(&s);
    assert_int_equal(3, roast_task_lanes_count(s.lanes));
    roast_lane_place place = next_chunk(&s);
    assert_lane("b", 1, 0, &s, place);
    assert_times(30, 40, place);
    assert_lane("a", 2, 0, &s, next_chunk(&s));
    place = next_chunk(&s);
    assert_lane("a", 1, 0, &s, place);
    assert_times(5, 15, place);
    assert_lane("a", 1, 0, &s, next_chunk(&s)); /* ends where the other begins */
    end_scene(&s);
}

static void test_what_overlaps_gets_a_lane_of_its_own(void **state) {
    (void)state;
    scene s = new_scene();
    roast_chunk bare = chunk_at(NULL, 0, 0, 10);
    for (int i = 0; i < 4; i++) { /* 0-10, 4-14, 8-18, 12-22: two at a time */
        bare.start_us = START + i * 4000;
        add_chunk(&s, bare);
    }
    settle(&s);
    assert_int_equal(3, roast_task_lanes_count(s.lanes));
    for (uint32_t i = 0; i < 4; i++)
        assert_lane("unknown", 0, i % 3, &s, next_chunk(&s));
    end_scene(&s);
}

static void test_chunks_without_a_worker(void **state) {
    (void)state;
    scene s = new_scene();
    roast_chunk chunk = chunk_at(NULL, 7, 0, 1);
    chunk.pid = 12;
    add_chunk(&s, chunk);
    chunk.host = str("node");
    add_chunk(&s, chunk);
    chunk.have = 0; /* nothing says when it ran */
    add_chunk(&s, chunk);
    settle(&s);
    assert_lane(":12", 7, 0, &s, next_chunk(&s));
    assert_lane("node:12", 7, 0, &s, next_chunk(&s));
    assert_false(next_chunk(&s).there);
    end_scene(&s);
}

static void test_the_try_of_a_chunk(void **state) {
    (void)state;
    scene s = new_scene();
    /* The scheduler's clock is 500 ms ahead; how long the task took is the same on both. */
    add_attempt(&s, "a", attempt_at("p-1", 140000, 500, 600));
    add_attempt(&s, "a", attempt_at("merge", 140000, 700, 800));
    add_attempt(&s, "a", attempt_at("merge", 99, 700, 800));
    add_attempt(&s, "b", attempt_at("p-1", 140000, 0, 1));
    add_attempt(&s, "a", (roast_attempt){.start_us = ROAST_NO_TIME, .stop_us = ROAST_NO_TIME});
    add_attempt(&s, NULL, attempt_at(NULL, 0, 10, 20));
    add_chunk(&s, with_task(chunk_at("a", 33, 20, 60), "p-1", 20));
    add_chunk(&s, with_task(chunk_at("a", 33, 300, 10), "p-2", 20));
    settle(&s);
    roast_lane_place place = next_chunk(&s);
    assert_times(0, 100, place); /* 20 before, 60 inside, 20 after */
    assert_lane("a", 33, 0, &s, place);
    place = next_chunk(&s);
    assert_times(280, 310, place);        /* no try: nothing is known of what was after */
    assert_false(next_attempt(&s).there); /* it is the chunk's */
    place = next_attempt(&s);
    assert_times(700, 800, place);
    assert_lane("a", 33, 0, &s, place); /* the same thread by its other name */
    assert_lane("a", 99, 0, &s, next_attempt(&s));
    assert_lane("b", 140000, 0, &s, next_attempt(&s)); /* of another worker */
    assert_false(next_attempt(&s).there);
    assert_lane("unknown", 0, 0, &s, next_attempt(&s));
    end_scene(&s);
}

/* A chunk that was tried twice on one worker: each has its own try. */
static void test_the_nearest_of_two_tries(void **state) {
    (void)state;
    scene s = new_scene();
    add_attempt(&s, "a", attempt_at("p", 1, 0, 50));
    add_attempt(&s, "a", attempt_at("p", 1, 1000, 1080));
    add_chunk(&s, with_task(chunk_at("a", 5, 1010, 20), "p", 10));
    add_chunk(&s, with_task(chunk_at("a", 5, 10, 20), "p", 10));
    settle(&s);
    assert_times(1000, 1080, next_chunk(&s));
    assert_times(0, 50, next_chunk(&s));
    end_scene(&s);
}

/* Reckoned beginnings may overlap what was before by a little: they are moved. */
static void test_a_little_overlap_is_moved(void **state) {
    (void)state;
    scene s = new_scene();
    roast_chunk second = with_task(chunk_at("a", 1, 30, 10), NULL, 20);
    second.before_process_ns += 400000; /* seems to begin 0.4 ms before the first one ended */
    add_chunk(&s, chunk_at("a", 1, 0, 10));
    add_chunk(&s, second);
    settle(&s);
    assert_times(0, 10, next_chunk(&s));
    assert_times(10, 40, next_chunk(&s));
    assert_int_equal(1, roast_task_lanes_count(s.lanes));
    end_scene(&s);
}

/* A thread runs one task at a time: the clocks of Dask disagree by tens of milliseconds. Threads that are not known
 * may be two. */
static void test_a_thread_runs_one_task_at_a_time(void **state) {
    (void)state;
    scene s = new_scene();
    add_attempt(&s, "a", attempt_at("one", 7, 0, 100));
    add_attempt(&s, "a", attempt_at("two", 7, 70, 900));
    add_attempt(&s, "a", attempt_at("inside", 7, 400, 500));
    add_attempt(&s, "a", attempt_at("somewhere", 0, 0, 100));
    add_attempt(&s, "a", attempt_at("elsewhere", 0, 70, 300));
    settle(&s);
    assert_times(0, 100, next_attempt(&s));
    assert_times(100, 900, next_attempt(&s));
    assert_times(400, 500, next_attempt(&s));
    assert_times(0, 100, next_attempt(&s));
    assert_times(70, 300, next_attempt(&s));
    assert_int_equal(4, roast_task_lanes_count(s.lanes));
    end_scene(&s);
}

/* An engine may know when a task began although its chunk does not. */
static void test_a_chunk_begins_with_its_try(void **state) {
    (void)state;
    scene s = new_scene();
    for (int i = 0; i < 3; i++) {
        const char *const keys[] = {"one", "two", "three"};
        roast_chunk chunk = chunk_at("a", 1 + i, i * 100 + 80, 10); /* each task is a process */
        chunk.task_key = roast_str_of(keys[i]);
        chunk.have &= ~ROAST_CHUNK_HAS(thread);
        add_chunk(&s, chunk);
        add_attempt(&s, "a", attempt_at(keys[i], 0, i * 100, i * 100 + 100));
    }
    settle(&s);
    for (int i = 0; i < 3; i++)
        assert_times(i * 100, i * 100 + 100, next_chunk(&s));
    assert_int_equal(1, roast_task_lanes_count(s.lanes));
    end_scene(&s);
}

static void test_extreme_times(void **state) {
    (void)state;
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    scene s = new_scene();
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
            roast_chunk chunk = with_task(chunk_at("a", 1, 0, 0), "k", 0);
            chunk.start_us = times[i];
            chunk.duration_ns = times[j];
            chunk.before_process_ns = times[j];
            add_chunk(&s, chunk);
            roast_attempt attempt = attempt_at("k", 1, 0, 0);
            attempt.start_us = times[i];
            attempt.stop_us = times[j];
            add_attempt(&s, "a", attempt);
        }
    settle(&s);
    for (size_t i = 0; i < 36; i++) {
        roast_lane_place place = next_chunk(&s);
        assert_true(place.there);
        assert_true(place.task_start <= place.task_stop);
    }
    end_scene(&s);
}

static void test_a_run_of_nothing(void **state) {
    (void)state;
    scene s = new_scene();
    settle(&s);
    assert_int_equal(0, roast_task_lanes_count(s.lanes));
    end_scene(&s);
    roast_task_lanes_free(NULL);
}

/* Too many to be drawn one by one: a lane for each worker. */
static void test_more_than_can_be_drawn(void **state) {
    (void)state;
    scene s = new_scene();
    roast_error err;
    for (int i = 0; i < 6; i++) /* at the same time, and the try of one of them is known */
        add_chunk(&s, with_task(chunk_at(i % 2 ? "a" : "b", i, 10, 20), i == 0 ? "k" : NULL, 5));
    add_attempt(&s, "b", attempt_at("k", 1, 5, 40));
    add_attempt(&s, "c", attempt_at("other", 1, 7, 8));
    assert_ok(roast_task_lanes_new(s.run, 6, &s.lanes, &err), err);
    assert_int_equal(3, roast_task_lanes_count(s.lanes));
    assert_int_equal(3, roast_task_lanes_worker_count(s.lanes));
    assert_true(roast_task_lanes_have_chunks(s.lanes));
    for (int i = 0; i < 6; i++) {
        roast_lane_place place = next_chunk(&s);
        assert_times(5, i == 0 ? 40 : 30, place);
        roast_lane lane = roast_task_lanes_at(s.lanes, place.lane);
        assert_str(i % 2 ? "a" : "b", lane.worker);
        assert_str(i % 2 ? "a" : "b", roast_task_lanes_worker(s.lanes, lane.number));
    }
    assert_false(next_attempt(&s).there);
    assert_lane("c", 0, 0, &s, next_attempt(&s));
    end_scene(&s);
}

/* If every chunk has a try, the tries are all that is drawn. */
static void test_many_chunks_that_all_have_a_try(void **state) {
    (void)state;
    scene s = new_scene();
    roast_error err;
    for (int i = 0; i < 4; i++) {
        roast_attempt attempt = attempt_at("k", 1, 5, 40 + i);
        attempt.prefix = str("P");
        attempt.outcome = ROAST_OUTCOME_done;
        add_attempt(&s, "a", attempt);
        add_chunk(&s, with_task(chunk_at("a", 1, 10, 20), "k", 5));
    }
    assert_ok(roast_attempts_set_kind(s.attempts, str("P"), ROAST_KIND_processing, &err), err);
    assert_ok(roast_task_lanes_new(s.run, 3, &s.lanes, &err), err);
    assert_false(roast_task_lanes_have_chunks(s.lanes));
    for (int i = 0; i < 4; i++) {
        assert_times(5, 40 + i, next_attempt(&s));
        assert_false(next_chunk(&s).there);
    }
    roast_task_lanes_free(s.lanes);
    add_chunk(&s, with_task(chunk_at("a", 1, 100, 20), "m", 5)); /* one without a try */
    assert_ok(roast_task_lanes_new(s.run, 3, &s.lanes, &err), err);
    assert_true(roast_task_lanes_have_chunks(s.lanes));
    end_scene(&s);
}

static roast_status build_few(void *context) {
    roast_task_lanes *lanes;
    ROAST_TRY(roast_task_lanes_new(context, 2, &lanes, NULL));
    roast_task_lanes_free(lanes);
    return ROAST_OK;
}

static roast_status build(void *context) {
    roast_task_lanes *lanes;
    ROAST_TRY(roast_task_lanes_new(context, SIZE_MAX, &lanes, NULL));
    roast_task_lanes_free(lanes);
    return ROAST_OK;
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    scene s = new_scene();
    add_attempt(&s, "a", attempt_at("k", 1, 0, 1));
    for (int i = 0; i < 20; i++)
        add_chunk(&s, with_task(chunk_at(i % 2 ? "a" : NULL, 1, 0, 1), "k", 1));
    assert_true(alloc_walk(build, s.run) > 8);
    assert_true(alloc_walk(build_few, s.run) > 6);
    end_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_lane_that_is_free),
        cmocka_unit_test(test_many_bars_at_once),
        cmocka_unit_test(test_a_lane_for_each_thread),
        cmocka_unit_test(test_what_overlaps_gets_a_lane_of_its_own),
        cmocka_unit_test(test_chunks_without_a_worker),
        cmocka_unit_test(test_the_try_of_a_chunk),
        cmocka_unit_test(test_the_nearest_of_two_tries),
        cmocka_unit_test(test_a_little_overlap_is_moved),
        cmocka_unit_test(test_a_thread_runs_one_task_at_a_time),
        cmocka_unit_test(test_a_chunk_begins_with_its_try),
        cmocka_unit_test(test_extreme_times),
        cmocka_unit_test(test_more_than_can_be_drawn),
        cmocka_unit_test(test_many_chunks_that_all_have_a_try),
        cmocka_unit_test(test_a_run_of_nothing),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
