#include "support.h"

#include "model/match.h"

static roast_chunk make_chunk(const char *key, int64_t start_us) {
    return (roast_chunk){.task_key = key != NULL ? roast_str_of(key) : (roast_str){NULL, 0},
                         .start_us = start_us,
                         .have = ROAST_CHUNK_HAS(start_us)};
}

static void add(roast_match *match, const char *key, uint32_t worker, int64_t when,
                uint32_t number) {
    roast_chunk chunk = make_chunk(key, when);
    assert_int_equal(ROAST_OK, roast_match_add(match, &chunk, worker, number));
}

static uint32_t find(const roast_match *match, const char *key, uint32_t worker, int64_t when) {
    roast_attempt attempt = {.key = roast_str_of(key)};
    return roast_match_find(match, roast_match_key(&attempt), worker, when);
}

static void test_same_key_same_worker_nearest_in_time(void **state) {
    (void)state;
    roast_match match = {0};
    add(&match, "a", 1, 1000, 0);
    add(&match, "a", 1, 100, 1);
    add(&match, "a", 2, 500, 2);
    add(&match, "b", 1, 500, 3);
    add(&match, NULL, 1, 500, 4);
    roast_match_sort(&match);
    assert_int_equal(1, find(&match, "a", 1, INT64_MIN));
    assert_int_equal(1, find(&match, "a", 1, 549));
    assert_int_equal(0, find(&match, "a", 1, 551));
    assert_int_equal(0, find(&match, "a", 1, INT64_MAX));
    assert_int_equal(2, find(&match, "a", 2, 0));
    assert_int_equal(3, find(&match, "b", 1, 0));
    assert_int_equal(ROAST_NO_MATCH, find(&match, "a", 3, 0));
    assert_int_equal(ROAST_NO_MATCH, find(&match, "c", 1, 0));
    roast_match_reset(&match);
}

/* A chunk that raised and was tried again inside its task: the last one made the result. */
static void test_tries_inside_a_task(void **state) {
    (void)state;
    roast_match match = {0};
    roast_chunk chunk = make_chunk("a", 1000);
    add(&match, "a", 1, 3000, 2);
    chunk.error_type = roast_str_of("ValueError");
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 1, 0));
    chunk.start_us = 2000;
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 1, 1));
    /* A task that failed, on an engine that tells when it began; it was tried again. */
    chunk = make_chunk("b", 1000);
    add(&match, "b", 1, 3000, 4);
    chunk.error_type = roast_str_of("ValueError");
    chunk.have |= ROAST_CHUNK_HAS(before_process_ns);
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 1, 3));
    roast_match_sort(&match);
    assert_int_equal(2, find(&match, "a", 1, 900));
    assert_int_equal(3, find(&match, "b", 1, 900));
    roast_match_reset(&match);
}

/* Two tries on one worker that take long to open the file: process() of the first one is entered when the second
 * one is about to begin. */
static void test_the_task_of_a_chunk_begins_before_process(void **state) {
    (void)state;
    roast_match match = {0};
    roast_chunk chunk = make_chunk("a", 8000000);
    chunk.have |= ROAST_CHUNK_HAS(before_process_ns);
    chunk.before_process_ns = 8000000000;
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 0, 1));
    chunk.start_us = 19000000;
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 0, 2));
    chunk.start_us = INT64_MIN; /* no time before it: taken as it is */
    assert_int_equal(ROAST_OK, roast_match_add(&match, &chunk, 1, 3));
    roast_match_sort(&match);
    assert_int_equal(1, find(&match, "a", 0, 0));
    assert_int_equal(2, find(&match, "a", 0, 11000000));
    assert_int_equal(3, find(&match, "a", 1, 0));
    roast_match_reset(&match);
}

static void add_of_thread(roast_match *match, int64_t thread, uint32_t worker, int64_t when,
                          uint32_t number) {
    roast_chunk chunk = make_chunk(NULL, when);
    chunk.thread = thread;
    chunk.have |= ROAST_CHUNK_HAS(thread);
    assert_int_equal(ROAST_OK, roast_match_add(match, &chunk, worker, number));
}

/* The engine does not tell the worker which task it runs: the thread and the time do. */
static void test_chunks_without_a_key(void **state) {
    (void)state;
    roast_match match = {0};
    add_of_thread(&match, 70, 1, 500, 10);
    add_of_thread(&match, 70, 1, 900, 11);
    add_of_thread(&match, 71, 1, 600, 12);
    add_of_thread(&match, 70, 2, 700, 13);
    add_of_thread(&match, 0, 1, 550, 14);
    add(&match, "a", 1, 650, 15);
    roast_match_sort(&match);
    assert_int_equal(10, roast_match_find_within(&match, 70, 1, 100, 899));
    assert_int_equal(10, roast_match_find_within(&match, 70, 1, 500, 500));
    assert_int_equal(11, roast_match_find_within(&match, 70, 1, 100, 900)); /* the last one */
    assert_int_equal(12, roast_match_find_within(&match, 71, 1, 0, INT64_MAX));
    assert_int_equal(13, roast_match_find_within(&match, 70, 2, 0, INT64_MAX));
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 70, 1, 501, 899));
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 70, 1, 901, INT64_MAX));
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 70, 3, 0, INT64_MAX));
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 72, 1, 0, INT64_MAX));
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 0, 1, 0, INT64_MAX));
    roast_attempt keyed = {.key = roast_str_of("a")}, other = {.key = roast_str_of("task 7")};
    const roast_match_try tries[] = {{roast_match_key(&keyed), 600, 1, 70, 800},
                                     {roast_match_key(&other), 400, 1, 70, 800},
                                     {roast_match_key(&other), 400, 1, 0, 800},
                                     {0, 590, 1, 71, 800}};
    const uint32_t expected[] = {15, 10, ROAST_NO_MATCH, 12};
    for (int i = 0; i < 4; i++)
        assert_int_equal(expected[i], roast_match_find_try(&match, &tries[i]));
    roast_match_reset(&match);
    assert_int_equal(ROAST_NO_MATCH, roast_match_find_within(&match, 70, 1, 0, INT64_MAX));
}

static void test_nothing_to_match(void **state) {
    (void)state;
    roast_match match = {0};
    roast_match_sort(&match);
    assert_int_equal(ROAST_NO_MATCH, find(&match, "a", 0, 0));
    roast_match_reset(&match);
}

/* A task that makes all chunks of a run: every one is found, and it does not take for ever. */
static void test_many_chunks_of_one_key(void **state) {
    (void)state;
    enum { N = 200000 };
    roast_match match = {0};
    for (uint32_t i = 0; i < N; i++)
        add(&match, "a", 0, (int64_t)((i * UINT64_C(7919)) % N), i);
    roast_match_sort(&match);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(i, find(&match, "a", 0, (int64_t)((i * UINT64_C(7919)) % N)));
    roast_match_reset(&match);
}

/* A key as a chunk has it, whole or with its digits as bytes, and as a try has it. */
static void test_keys(void **state) {
    (void)state;
    static const char whole[] = "P-0123456789abcdef0123456789abcdef";
    static const char bytes[] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
    roast_match match = {0};
    roast_chunk split = {.task_key = roast_str_of("P"), .task_hash = {bytes, 16}};
    roast_attempt attempt = {.key = {NULL, 0}};
    add(&match, whole, 0, 0, 1);
    assert_int_equal(ROAST_OK, roast_match_add(&match, &split, 1, 2));
    add(&match, "P-12", 2, 0, 3);
    roast_match_sort(&match);
    assert_int_equal(1, find(&match, whole, 0, 0));
    assert_int_equal(2, find(&match, whole, 1, 0));
    assert_int_equal(ROAST_NO_MATCH, find(&match, whole, 2, 0));
    assert_int_equal(0, roast_match_key(&attempt));
    roast_match_reset(&match);
}

static roast_status fill(void *unused) {
    (void)unused;
    roast_match match = {0};
    roast_status status = ROAST_OK;
    roast_chunk chunk = make_chunk("a", 0);
    for (uint32_t i = 1; status == ROAST_OK && i < 100; i++)
        status = roast_match_add(&match, &chunk, 0, i);
    roast_match_sort(&match);
    roast_match_reset(&match);
    return status;
}

/* Each is found, and none that is not there. */
static void test_many_keys(void **state) {
    (void)state;
    enum { N = 5000 };
    roast_match match = {0};
    char key[32];
    for (uint32_t i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key-%u", i);
        add(&match, key, i % 3, 10, i);
    }
    roast_match_sort(&match);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key-%u", i);
        assert_int_equal(i, find(&match, key, i % 3, 0));
        assert_int_equal(ROAST_NO_MATCH, find(&match, key, (i + 1) % 3, 0));
    }
    roast_match_reset(&match);
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    assert_true(alloc_walk(fill, NULL) > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_key_same_worker_nearest_in_time),
        cmocka_unit_test(test_tries_inside_a_task),
        cmocka_unit_test(test_the_task_of_a_chunk_begins_before_process),
        cmocka_unit_test(test_chunks_without_a_key),
        cmocka_unit_test(test_nothing_to_match),
        cmocka_unit_test(test_many_chunks_of_one_key),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
