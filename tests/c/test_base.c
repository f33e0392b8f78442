/* Status and error, memory, clocks, buffer, arena. The sink, the interner and the codings have
 * programs of their own. */
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/utf8.h"

/* ---- numbers and texts ---- */

static void test_sums_stay_in_range(void **state) {
    (void)state;
    assert_int_equal(5, roast_add_capped(2, 3));
    assert_int_equal(-1, roast_sub_capped(2, 3));
    assert_int_equal(INT64_MAX, roast_add_capped(INT64_MAX, 1));
    assert_int_equal(INT64_MIN, roast_add_capped(-1, INT64_MIN));
    assert_int_equal(INT64_MAX, roast_sub_capped(0, INT64_MIN));
    assert_int_equal(INT64_MIN, roast_sub_capped(INT64_MIN, 1));
}

static void test_texts_are_cut_between_characters(void **state) {
    (void)state;
    const roast_str text = roast_str_of("a\xe2\x82\xac"
                                        "b");
    static const size_t lengths[] = {0, 1, 1, 1, 4, 5, 5};
    for (size_t most = 0; most < sizeof lengths / sizeof *lengths; most++)
        assert_int_equal(lengths[most], roast_utf8_cut(text, most).len);
    /* No character is that long: what is broken is cut anywhere. */
    assert_int_equal(2, roast_utf8_cut(roast_str_of("\x80\x80\x80\x80\x80\x80"), 5).len);
    assert_null(roast_utf8_cut((roast_str){NULL, 0}, 0).data);
}

/* ---- status and error ---- */
static void test_status_names(void **state) {
    (void)state;
    assert_string_equal("OK", roast_status_name(ROAST_OK));
    assert_string_equal("ENOMEM", roast_status_name(ROAST_ENOMEM));
    assert_string_equal("out of memory", roast_status_text(ROAST_ENOMEM));
    assert_string_equal("ESTATE", roast_status_name(ROAST_ESTATE));
    for (int i = 0; i < ROAST_STATUS_COUNT; i++) {
        assert_true(strlen(roast_status_name((roast_status)i)) > 0);
        assert_true(strlen(roast_status_text((roast_status)i)) > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(roast_status_name((roast_status)i),
                                    roast_status_name((roast_status)j));
    }
    assert_string_equal("unknown", roast_status_name(ROAST_STATUS_COUNT));
    assert_string_equal("unknown", roast_status_name((roast_status)-1));
    assert_string_equal("unknown status", roast_status_text(ROAST_STATUS_COUNT));
}

static void test_error_set_and_reset(void **state) {
    (void)state;
    roast_error err;
    memset(&err, 'x', sizeof err);
    errno = ENOENT;
    assert_status(ROAST_ECORRUPT,
                  roast_error_set(&err, ROAST_ECORRUPT, "row", 17, "%d of %s", 3, "five"));
    assert_int_equal(ROAST_ECORRUPT, err.status);
    assert_int_equal(0, err.os_errno);
    assert_int_equal(17, err.position);
    assert_string_equal("row", err.where);
    assert_string_equal("3 of five", err.message);

    errno = ENOSPC;
    assert_status(ROAST_EIO, roast_error_set(&err, ROAST_EIO, "file", -1, "full"));
    assert_int_equal(ENOSPC, err.os_errno);
    assert_int_equal(-1, err.position);

    roast_error_reset(&err);
    assert_int_equal(ROAST_OK, err.status);
    assert_int_equal(0, err.os_errno);
    assert_int_equal(-1, err.position);
    assert_string_equal("", err.where);
    assert_string_equal("", err.message);
}

static void test_error_cuts_long_texts(void **state) {
    (void)state;
    roast_error err;
    char text[1000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_status(ROAST_EINVAL, roast_error_set(&err, ROAST_EINVAL, text, 0, "%s", text));
    assert_int_equal(sizeof err.where - 1, strlen(err.where));
    assert_int_equal(sizeof err.message - 1, strlen(err.message));
}

static void test_error_may_be_null(void **state) {
    (void)state;
    assert_status(ROAST_ELIMIT, roast_error_set(NULL, ROAST_ELIMIT, "x", 0, "%s", "y"));
}

static roast_status passes_on(roast_status status, int *reached) {
    ROAST_TRY(status);
    *reached += 1;
    return ROAST_ESTATE;
}

static void test_try_passes_a_failure_on(void **state) {
    (void)state;
    int reached = 0;
    assert_status(ROAST_EIO, passes_on(ROAST_EIO, &reached));
    assert_int_equal(0, reached);
    assert_status(ROAST_ESTATE, passes_on(ROAST_OK, &reached));
    assert_int_equal(1, reached);
}

static void test_strings(void **state) {
    (void)state;
    roast_str absent = roast_str_of(NULL), empty = roast_str_of("");
    assert_null(absent.data);
    assert_int_equal(0, absent.len);
    assert_str("abc", roast_str_of("abc"));
    assert_true(roast_str_equal(absent, absent));
    assert_true(roast_str_equal(empty, (roast_str){"x", 0}));
    assert_false(roast_str_equal(absent, empty));
    assert_false(roast_str_equal(empty, absent));
    assert_true(roast_str_equal(roast_str_of("abc"), (roast_str){"abcd", 3}));
    assert_false(roast_str_equal(roast_str_of("abc"), roast_str_of("abd")));
    assert_false(roast_str_equal(roast_str_of("abc"), roast_str_of("ab")));
    assert_true(roast_str_equal((roast_str){"a\0b", 3}, (roast_str){"a\0b", 3}));
    assert_false(roast_str_equal((roast_str){"a\0b", 3}, (roast_str){"a\0c", 3}));
}

static void test_version(void **state) {
    (void)state;
    int major = -1, minor = -1;
    assert_int_equal(2, sscanf(roast_version(), "%d.%d.", &major, &minor));
    assert_true(major >= 1 && minor >= 0);
}

/* ---- memory ---- */
typedef struct hook_log {
    void *ptr;
    size_t size;
    int calls;
} hook_log;

static void *logging_hook(void *context, void *ptr, size_t size) {
    hook_log *log = context;
    *log = (hook_log){ptr, size, log->calls + 1};
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

static void test_allocation_hook(void **state) {
    (void)state;
    hook_log log = {0};
    roast_alloc_set_hook(logging_hook, &log);
    char *memory = roast_alloc(10);
    assert_non_null(memory);
    assert_null(log.ptr);
    assert_int_equal(10, log.size);
    memory[9] = 'x';
    char *moved = roast_realloc(memory, 1000);
    assert_non_null(moved);
    assert_int_equal(1000, log.size);
    assert_int_equal('x', moved[9]);
    roast_free(moved);
    assert_ptr_equal(moved, log.ptr);
    assert_int_equal(0, log.size);
    assert_int_equal(3, log.calls);
    roast_free(NULL);
    assert_int_equal(3, log.calls);

    /* 0 bytes are a block like any other and do not free. */
    char *none = roast_alloc(0);
    assert_non_null(none);
    none = roast_realloc(none, 0);
    assert_non_null(none);
    assert_int_equal(1, log.size);
    roast_free(none);

    char *zeroed = roast_alloc_zero(64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(0, zeroed[i]);
    roast_free(zeroed);
    int before = log.calls;
    roast_alloc_set_hook(NULL, NULL);
    roast_free(roast_alloc(1));
    assert_int_equal(before, log.calls);
}

static void test_allocation_failure_is_null(void **state) {
    (void)state;
    alloc_fail_from(0);
    assert_null(roast_alloc(1));
    assert_null(roast_alloc_zero(1));
    assert_int_equal(2, alloc_fail_stop());
    void *memory = roast_alloc(8);
    assert_int_equal(1, alloc_live());
    alloc_fail_once(0);
    assert_null(roast_realloc(memory, 16));
    void *moved = roast_realloc(memory, 16);
    assert_non_null(moved);
    assert_int_equal(2, alloc_fail_stop());
    roast_free(moved);
    assert_int_equal(0, alloc_live());
}

/* ---- clocks ---- */
static void test_clocks(void **state) {
    (void)state;
    roast_mono before = roast_mono_now(), last = before;
    for (int i = 0; i < 10000; i++) {
        roast_mono now = roast_mono_now();
        assert_true(roast_mono_since(last, now) >= 0);
        last = now;
    }
    assert_true(roast_mono_since(before, last) > 0);
    assert_int_equal(-5, roast_mono_since((roast_mono){12}, (roast_mono){7}));

    /* The CPU time of a thread grows with what it does, and not while it sleeps. */
    int64_t cpu = roast_thread_cpu_now();
    assert_true(cpu > 0);
    while (roast_thread_cpu_now() < cpu + 1000000)
        continue;
    struct timespec rest = {.tv_nsec = 50000000};
    int64_t awake = roast_thread_cpu_now();
    nanosleep(&rest, NULL);
    assert_true(roast_thread_cpu_now() - awake < 40000000);

    /* UTC counts from 1970: it agrees with the C library's to the second, and is no monotonic
     * clock. */
    int64_t earlier = (int64_t)time(NULL);
    roast_utc utc = roast_utc_now();
    int64_t later = (int64_t)time(NULL);
    assert_true(utc.ns / 1000000000 >= earlier - 1 && utc.ns / 1000000000 <= later + 1);
    int64_t difference = roast_system_now().ns - roast_utc_now().ns;
    assert_true(llabs(difference) < 1000000000);
    /* Nobody has set the clock: a moment of the system's is one of ours. */
    assert_int_equal(5, roast_utc_of_system((roast_utc){5}).ns);
    roast_utc_sync();
    assert_true(roast_utc_now().ns >= utc.ns - 1000000000);
    struct timespec boot;
    clock_gettime(CLOCK_MONOTONIC, &boot);
    assert_true(llabs(roast_mono_now().ns / 1000000000 - (int64_t)boot.tv_sec) <= 60);
}

/* ---- buffer ---- */
static void test_buffer(void **state) {
    (void)state;
    roast_buffer buffer = {0};
    assert_int_equal(ROAST_OK, roast_buffer_reserve(&buffer, 0));
    assert_null(buffer.data);
    assert_int_equal(ROAST_OK, roast_buffer_append(&buffer, NULL, 0));
    for (unsigned i = 0; i < 10000; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        assert_int_equal(ROAST_OK, roast_buffer_append(&buffer, &byte, 1));
        assert_true(buffer.len == i + 1 && buffer.capacity >= buffer.len);
    }
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal((uint8_t)(i * 7), buffer.data[i]);
    assert_true(buffer.capacity <= 15000 + 64);
    assert_int_equal(ROAST_OK, roast_buffer_reserve(&buffer, 3));
    roast_buffer_push(&buffer, "end", 3);
    roast_buffer_push(&buffer, NULL, 0);
    assert_memory_equal("end", buffer.data + 10000, 3);
    roast_buffer_shrink(&buffer);
    assert_int_equal(10003, buffer.capacity);
    roast_buffer_shrink(&buffer);
    assert_memory_equal("end", buffer.data + 10000, 3);
    roast_buffer_reset(&buffer);
    assert_true(buffer.data == NULL && buffer.len == 0 && buffer.capacity == 0);
    roast_buffer_reset(&buffer);
    roast_buffer_shrink(&buffer);
}

static void test_buffer_refuses_what_does_not_fit(void **state) {
    (void)state;
    roast_buffer buffer = {0};
    assert_int_equal(ROAST_OK, roast_buffer_append(&buffer, "abc", 3));
    roast_buffer before = buffer;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 2, SIZE_MAX / 2, SIZE_MAX / 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(ROAST_ENOMEM, roast_buffer_reserve(&buffer, sizes[i]));
    assert_memory_equal(&before, &buffer, sizeof buffer);
    alloc_fail_from(0);
    assert_int_equal(ROAST_ENOMEM, roast_buffer_reserve(&buffer, 1000));
    roast_buffer_shrink(&buffer); /* a failure here is harmless */
    alloc_fail_stop();
    assert_memory_equal(&before, &buffer, sizeof buffer);
    assert_memory_equal("abc", buffer.data, 3);
    roast_buffer_reset(&buffer);
}

static void test_array_reserve(void **state) {
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    assert_int_equal(ROAST_OK, roast_array_reserve(&items, &capacity, 24, 0));
    assert_null(items);
    assert_int_equal(ROAST_OK, roast_array_reserve(&items, &capacity, 24, 1));
    assert_int_equal(3, capacity); /* 64 bytes at least */
    memset(items, 'i', 24 * capacity);
    assert_int_equal(ROAST_OK, roast_array_reserve(&items, &capacity, 24, 4));
    assert_int_equal(4, capacity);
    assert_int_equal(ROAST_OK, roast_array_reserve(&items, &capacity, 24, 5));
    assert_int_equal(6, capacity); /* by halves */
    assert_int_equal(ROAST_OK, roast_array_reserve(&items, &capacity, 24, 100));
    assert_int_equal(100, capacity);
    assert_int_equal('i', ((char *)items)[71]);
    void *before = items;
    assert_int_equal(ROAST_ENOMEM, roast_array_reserve(&items, &capacity, 24, SIZE_MAX / 24));
    assert_int_equal(ROAST_ENOMEM, roast_array_reserve(&items, &capacity, 24, SIZE_MAX));
    assert_ptr_equal(before, items);
    assert_int_equal(100, capacity);
    roast_free(items);
}

/* ---- arena ---- */
static void test_arena_alignment_and_permanence(void **state) {
    (void)state;
    enum { BLOCKS = 3000 };
    static uint8_t *blocks[BLOCKS];
    roast_arena arena = {0};
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = roast_arena_alloc(&arena, i % 100);
        assert_non_null(blocks[i]);
        assert_int_equal(0, (uintptr_t)blocks[i] % _Alignof(max_align_t));
        memset(blocks[i], (int)(i % 251), i % 100);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < i % 100; k++)
            assert_int_equal(i % 251, blocks[i][k]);
    assert_true(arena.total >= BLOCKS * 49);
    roast_arena_reset(&arena);
    assert_null(arena.head);
    assert_int_equal(0, arena.total);
    roast_arena_reset(&arena);
}

static void test_arena_big_blocks(void **state) {
    (void)state;
    roast_arena arena = {0};
    char *small = roast_arena_alloc(&arena, 8);
    char *big = roast_arena_alloc(&arena, 5 << 20);
    char *after = roast_arena_alloc(&arena, 8);
    assert_true(small != NULL && big != NULL && after != NULL);
    memset(big, 'b', 5 << 20);
    memset(small, 's', 8);
    memset(after, 'a', 8);
    assert_int_equal('b', big[0]);
    assert_int_equal('b', big[(5 << 20) - 1]);
    assert_true(arena.total >= 5 << 20 && arena.total < 7 << 20);
    size_t before = arena.total;
    assert_null(roast_arena_alloc(&arena, SIZE_MAX));
    assert_null(roast_arena_alloc(&arena, SIZE_MAX / 4 + 1));
    assert_int_equal(before, arena.total);
    roast_arena_reset(&arena);
}

static void test_arena_strings(void **state) {
    (void)state;
    roast_arena arena = {0};
    char text[] = "text";
    roast_str copy = {"", 0};
    assert_int_equal(ROAST_OK, roast_arena_str(&arena, roast_str_of(text), &copy));
    text[0] = 'n';
    assert_str("text", copy);
    assert_int_equal('\0', copy.data[4]);
    assert_int_equal(ROAST_OK, roast_arena_str(&arena, roast_str_of(""), &copy));
    assert_str("", copy);
    assert_int_equal(ROAST_OK, roast_arena_str(&arena, roast_str_of(NULL), &copy));
    assert_null(copy.data);
    roast_arena_reset(&arena);
}

/* ---- failing allocations ---- */
static roast_status walk_buffers(void *context) {
    (void)context;
    roast_buffer buffer = {0};
    roast_status status = ROAST_OK;
    for (int i = 0; i < 200 && status == ROAST_OK; i++)
        status = roast_buffer_append(&buffer, "twelve bytes", 12);
    roast_buffer_reset(&buffer);
    return status;
}

static roast_status walk_arena(void *context) {
    (void)context;
    roast_arena arena = {0};
    roast_status status = ROAST_OK;
    for (int i = 0; i < 500 && status == ROAST_OK; i++) {
        roast_str text = {"some text that is copied", 24}, copy = {NULL, 0};
        status = roast_arena_str(&arena, text, &copy);
        if (status != ROAST_OK)
            assert_null(copy.data);
    }
    roast_arena_reset(&arena);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk_buffers, NULL) >= 5);
    assert_true(alloc_walk(walk_arena, NULL) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_stay_in_range),
        cmocka_unit_test(test_texts_are_cut_between_characters),
        cmocka_unit_test(test_status_names),
        cmocka_unit_test(test_error_set_and_reset),
        cmocka_unit_test(test_error_cuts_long_texts),
        cmocka_unit_test(test_error_may_be_null),
        cmocka_unit_test(test_try_passes_a_failure_on),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_version),
        /* Before the others: it puts its own hook in, they use the failing one. */
        cmocka_unit_test(test_allocation_hook),
        cmocka_unit_test(test_allocation_failure_is_null),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_buffer),
        cmocka_unit_test(test_buffer_refuses_what_does_not_fit),
        cmocka_unit_test(test_array_reserve),
        cmocka_unit_test(test_arena_alignment_and_permanence),
        cmocka_unit_test(test_arena_big_blocks),
        cmocka_unit_test(test_arena_strings),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
