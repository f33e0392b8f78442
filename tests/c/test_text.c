#include "support.h"

#include "roast/text.h"

static size_t distance(const char *a, const char *b) {
    return roast_edit_distance(roast_str_of(a), roast_str_of(b));
}

static void test_distance_counts_edits(void **state) {
    (void)state;
    assert_int_equal(0, distance("", ""));
    assert_int_equal(0, distance("explain", "explain"));
    assert_int_equal(3, distance("", "abc"));
    assert_int_equal(3, distance("abc", ""));
    assert_int_equal(1, distance("explain", "explan"));
    assert_int_equal(1, distance("explan", "explain"));
    assert_int_equal(1, distance("explain", "expláin") - 1); /* a letter of two bytes */
    assert_int_equal(3, distance("kitten", "sitting"));
    assert_int_equal(5, distance("abcde", "vwxyz"));
}

static void test_distance_takes_a_swap_for_one(void **state) {
    (void)state;
    assert_int_equal(1, distance("explian", "explain"));
    assert_int_equal(1, distance("ab", "ba"));
    assert_int_equal(3, distance("ca", "abc")); /* no edit inside a swapped pair */
}

static void test_distance_is_bounded(void **state) {
    (void)state;
    char at_limit[ROAST_EDIT_MAX], beyond[ROAST_EDIT_MAX + 1];
    memset(at_limit, 'a', sizeof at_limit);
    memset(beyond, 'a', sizeof beyond);
    roast_str fits = {at_limit, sizeof at_limit}, too_long = {beyond, sizeof beyond};
    assert_int_equal(ROAST_EDIT_MAX, roast_edit_distance(fits, roast_str_of("")));
    assert_int_equal(0, roast_edit_distance(fits, fits));
    assert_true(roast_edit_distance(fits, too_long) == SIZE_MAX);
    assert_true(roast_edit_distance(too_long, fits) == SIZE_MAX);
    assert_true(distance(NULL, "a") == SIZE_MAX);
    assert_true(distance("a", NULL) == SIZE_MAX);
}

static roast_str nearest_of(const char *wanted, const char *const *names) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, roast_str_of(wanted));
    for (; *names != NULL; names++)
        roast_nearest_offer(&nearest, roast_str_of(*names));
    return nearest.found;
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const names[] = {"show", "explain", "help", "wall_time", "wall_clock", NULL};
    assert_str("explain", nearest_of("explian", names));
    assert_str("help", nearest_of("halp", names));
    assert_str("show", nearest_of("shew", names));
    assert_str("wall_time", nearest_of("wal_time", names));
    assert_null(nearest_of("frobnicate", names).data);
    assert_null(nearest_of("", names).data);
    assert_null(nearest_of(NULL, names).data);
}

static void test_nearest_has_a_limit(void **state) {
    (void)state;
    static const char *const names[] = {"abc", "abcdef", "abcdefghijkl", NULL};
    assert_str("abc", nearest_of("xbc", names));
    assert_null(nearest_of("xxc", names).data);
    assert_str("abcdef", nearest_of("xxcdef", names));
    assert_null(nearest_of("xxxdef", names).data);
    assert_str("abcdefghijkl", nearest_of("xxxxefghijkl", names));
    assert_null(nearest_of("xxxxxfghijkl", names).data);
}

static void test_nearest_completes_a_beginning(void **state) {
    (void)state;
    static const char *const names[] = {"event_rate_wall_khz", "eventually", NULL};
    assert_str("event_rate_wall_khz", nearest_of("event_rate", names));
    assert_null(nearest_of("ev", names).data);
    /* A spelling mistake beats a mere beginning. */
    static const char *const both[] = {"exports_of_run", "export", NULL};
    assert_str("export", nearest_of("exportt", both));
    assert_str("export", nearest_of("exporr", both));
}

static void test_nearest_leaves_empty_names_alone(void **state) {
    (void)state;
    static const char *const names[] = {"", "a", NULL};
    assert_str("a", nearest_of("b", names));
    assert_null(nearest_of("", names).data);
}

static void test_nearest_keeps_the_first_of_equals(void **state) {
    (void)state;
    static const char *const names[] = {"cat", "car", NULL};
    assert_str("cat", nearest_of("cab", names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_distance_takes_a_swap_for_one),
        cmocka_unit_test(test_distance_is_bounded),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_has_a_limit),
        cmocka_unit_test(test_nearest_completes_a_beginning),
        cmocka_unit_test(test_nearest_leaves_empty_names_alone),
        cmocka_unit_test(test_nearest_keeps_the_first_of_equals),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
