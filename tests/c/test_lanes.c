#include "support.h"

#include "roast/lanes.h"

#define START INT64_C(1790000000000000) /* microseconds */

static roast_str str(const char *text) {
    return roast_str_of(text);
}

static roast_lanes *new_lanes(void) {
    roast_error err;
    roast_lanes *lanes = NULL;
    assert_ok(roast_lanes_new(&lanes, &err), err);
    return lanes;
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
                           .key_number = -1,
                           .thread = thread,
                           .start_us = START + start * 1000,
                           .stop_us = START + stop * 1000};
}

static void add_chunk(roast_lanes *lanes, roast_chunk chunk) {
    roast_error err;
    assert_ok(roast_lanes_add_chunk(lanes, &chunk, &err), err);
}

static void add_attempt(roast_lanes *lanes, const char *worker, roast_attempt attempt) {
    roast_error err;
    assert_ok(roast_lanes_add_attempt(lanes, &attempt, str(worker), &err), err);
}

static void settle(roast_lanes *lanes) {
    roast_error err;
    assert_ok(roast_lanes_settle(lanes, &err), err);
}

static roast_place next_chunk(roast_lanes *lanes) {
    roast_error err;
    roast_place place;
    assert_ok(roast_lanes_next_chunk(lanes, &place, &err), err);
    return place;
}

static roast_place next_attempt(roast_lanes *lanes) {
    roast_error err;
    roast_place place;
    assert_ok(roast_lanes_next_attempt(lanes, &place, &err), err);
    return place;
}

/* Milliseconds since the start. */
static void assert_times(int64_t start, int64_t stop, roast_place place) {
    assert_true(place.there);
    assert_int_equal(START * 1000 + start * 1000000, place.task_start);
    assert_int_equal(START * 1000 + stop * 1000000, place.task_stop);
}

static void assert_lane(const char *worker, int64_t thread, uint32_t copy, roast_lanes *lanes,
                        roast_place place) {
    roast_lane lane = roast_lanes_at(lanes, place.lane);
    assert_str(worker, lane.worker);
    assert_int_equal(thread, lane.thread);
    assert_int_equal(copy, lane.copy);
}

static void test_a_lane_for_each_thread(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    add_chunk(lanes, chunk_at("b", 1, 30, 10)); /* in no order */
    add_chunk(lanes, chunk_at("a", 2, 0, 10));
    add_chunk(lanes, chunk_at("a", 1, 5, 10));
    add_chunk(lanes, chunk_at("a", 1, 0, 5));
    settle(lanes);
    assert_int_equal(3, roast_lanes_count(lanes));
    roast_place place = next_chunk(lanes);
    assert_lane("b", 1, 0, lanes, place);
    assert_times(30, 40, place);
    assert_lane("a", 2, 0, lanes, next_chunk(lanes));
    place = next_chunk(lanes);
    assert_lane("a", 1, 0, lanes, place);
    assert_times(5, 15, place);
    assert_lane("a", 1, 0, lanes, next_chunk(lanes)); /* ends where the other begins */
    assert_null(roast_lanes_at(lanes, 3).worker.data);
    roast_lanes_free(lanes);
}

static void test_what_overlaps_gets_a_lane_of_its_own(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    roast_chunk bare = chunk_at(NULL, 0, 0, 10);
    for (int i = 0; i < 4; i++) { /* 0-10, 4-14, 8-18, 12-22: two at a time */
        bare.start_us = START + i * 4000;
        add_chunk(lanes, bare);
    }
    settle(lanes);
    assert_int_equal(3, roast_lanes_count(lanes));
    for (uint32_t i = 0; i < 4; i++)
        assert_lane("unknown", 0, i % 3, lanes, next_chunk(lanes));
    roast_lanes_free(lanes);
}

static void test_chunks_without_a_worker(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    roast_chunk chunk = chunk_at(NULL, 7, 0, 1);
    chunk.pid = 12;
    add_chunk(lanes, chunk);
    chunk.host = str("node");
    add_chunk(lanes, chunk);
    chunk.have = 0; /* nothing says when it ran */
    add_chunk(lanes, chunk);
    settle(lanes);
    assert_lane(":12", 7, 0, lanes, next_chunk(lanes));
    assert_lane("node:12", 7, 0, lanes, next_chunk(lanes));
    assert_false(next_chunk(lanes).there);
    roast_lanes_free(lanes);
}

static void test_the_try_of_a_chunk(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    /* The scheduler's clock is 500 ms ahead; how long the task took is the same on both. */
    add_attempt(lanes, "a", attempt_at("p-1", 140000, 500, 600));
    add_attempt(lanes, "a", attempt_at("merge", 140000, 700, 800));
    add_attempt(lanes, "a", attempt_at("merge", 99, 700, 800));
    add_attempt(lanes, "b", attempt_at("p-1", 140000, 0, 1));
    add_attempt(lanes, "a", (roast_attempt){.start_us = ROAST_NO_TIME, .stop_us = ROAST_NO_TIME});
    add_attempt(lanes, NULL, attempt_at(NULL, 0, 10, 20));
    add_chunk(lanes, with_task(chunk_at("a", 33, 20, 60), "p-1", 20));
    add_chunk(lanes, with_task(chunk_at("a", 33, 300, 10), "p-2", 20));
    settle(lanes);
    roast_place place = next_chunk(lanes);
    assert_times(0, 100, place); /* 20 before, 60 inside, 20 after */
    assert_lane("a", 33, 0, lanes, place);
    place = next_chunk(lanes);
    assert_times(280, 310, place);           /* no try: nothing is known of what was after */
    assert_false(next_attempt(lanes).there); /* it is the chunk's */
    place = next_attempt(lanes);
    assert_times(700, 800, place);
    assert_lane("a", 33, 0, lanes, place); /* the same thread by its other name */
    assert_lane("a", 99, 0, lanes, next_attempt(lanes));
    assert_lane("b", 140000, 0, lanes, next_attempt(lanes)); /* of another worker */
    assert_false(next_attempt(lanes).there);
    assert_lane("unknown", 0, 0, lanes, next_attempt(lanes));
    roast_lanes_free(lanes);
}

/* A chunk that was tried twice on one worker: each has its own try. */
static void test_the_nearest_of_two_tries(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    add_attempt(lanes, "a", attempt_at("p", 1, 0, 50));
    add_attempt(lanes, "a", attempt_at("p", 1, 1000, 1080));
    add_chunk(lanes, with_task(chunk_at("a", 5, 1010, 20), "p", 10));
    add_chunk(lanes, with_task(chunk_at("a", 5, 10, 20), "p", 10));
    settle(lanes);
    assert_times(1000, 1080, next_chunk(lanes));
    assert_times(0, 50, next_chunk(lanes));
    roast_lanes_free(lanes);
}

/* Reckoned beginnings may overlap what was before by a little: they are moved. */
static void test_a_little_overlap_is_moved(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    roast_chunk second = with_task(chunk_at("a", 1, 30, 10), NULL, 20);
    second.before_process_ns += 400000; /* seems to begin 0.4 ms before the first one ended */
    add_chunk(lanes, chunk_at("a", 1, 0, 10));
    add_chunk(lanes, second);
    settle(lanes);
    assert_times(0, 10, next_chunk(lanes));
    assert_times(10, 40, next_chunk(lanes));
    assert_int_equal(1, roast_lanes_count(lanes));
    roast_lanes_free(lanes);
}

static void test_extreme_times(void **state) {
    (void)state;
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    roast_lanes *lanes = new_lanes();
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
            roast_chunk chunk = with_task(chunk_at("a", 1, 0, 0), "k", 0);
            chunk.start_us = times[i];
            chunk.duration_ns = times[j];
            chunk.before_process_ns = times[j];
            add_chunk(lanes, chunk);
            roast_attempt attempt = attempt_at("k", 1, 0, 0);
            attempt.start_us = times[i];
            attempt.stop_us = times[j];
            add_attempt(lanes, "a", attempt);
        }
    settle(lanes);
    for (size_t i = 0; i < 36; i++) {
        roast_place place = next_chunk(lanes);
        assert_true(place.there);
        assert_true(place.task_start <= place.task_stop);
    }
    roast_lanes_free(lanes);
}

static void test_out_of_turn(void **state) {
    (void)state;
    roast_lanes *lanes = new_lanes();
    roast_place place;
    roast_chunk chunk = chunk_at("a", 1, 0, 1);
    roast_attempt attempt = attempt_at("k", 1, 0, 1);
    assert_status(ROAST_ESTATE, roast_lanes_next_chunk(lanes, &place, NULL));
    settle(lanes);
    assert_status(ROAST_ESTATE, roast_lanes_next_chunk(lanes, &place, NULL));
    assert_status(ROAST_ESTATE, roast_lanes_next_attempt(lanes, &place, NULL));
    assert_status(ROAST_ESTATE, roast_lanes_add_chunk(lanes, &chunk, NULL));
    assert_status(ROAST_ESTATE, roast_lanes_add_attempt(lanes, &attempt, str("a"), NULL));
    assert_status(ROAST_ESTATE, roast_lanes_settle(lanes, NULL));
    assert_int_equal(0, roast_lanes_count(lanes));
    roast_lanes_free(lanes);
    roast_lanes_free(NULL);
}

static roast_status fill(void *unused) {
    (void)unused;
    roast_lanes *lanes;
    roast_chunk chunk = with_task(chunk_at(NULL, 1, 0, 1), "k", 1);
    roast_attempt attempt = attempt_at("k", 1, 0, 1);
    ROAST_TRY(roast_lanes_new(&lanes, NULL));
    roast_status status = roast_lanes_add_attempt(lanes, &attempt, str("a"), NULL);
    for (int i = 0; status == ROAST_OK && i < 20; i++)
        status = roast_lanes_add_chunk(lanes, &chunk, NULL);
    if (status == ROAST_OK)
        status = roast_lanes_settle(lanes, NULL);
    roast_lanes_free(lanes);
    return status;
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    assert_true(alloc_walk(fill, NULL) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lane_for_each_thread),
        cmocka_unit_test(test_what_overlaps_gets_a_lane_of_its_own),
        cmocka_unit_test(test_chunks_without_a_worker),
        cmocka_unit_test(test_the_try_of_a_chunk),
        cmocka_unit_test(test_the_nearest_of_two_tries),
        cmocka_unit_test(test_a_little_overlap_is_moved),
        cmocka_unit_test(test_extreme_times),
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
