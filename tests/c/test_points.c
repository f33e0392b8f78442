/* Readings in any order, made into a series. */
#include "support.h"

#include <math.h>

#include "roast/points.h"

static roast_points *new_points(void) {
    roast_error err;
    roast_points *points;
    assert_ok(roast_points_new(&points, &err), err);
    return points;
}

static uint32_t worker(roast_points *points, const char *name) {
    roast_error err;
    uint32_t number;
    assert_ok(roast_points_worker(points, roast_str_of(name), &number, &err), err);
    return number;
}

static void add(roast_points *points, uint32_t number, roast_series_column column, int64_t when,
                double value) {
    roast_error err;
    assert_ok(roast_points_add(points, number, column, (roast_utc){when}, value, &err), err);
}

static void add_count(roast_points *points, int64_t when, uint32_t workers) {
    roast_error err;
    assert_ok(roast_points_add_count(points, (roast_utc){when}, workers, &err), err);
}

static void build(roast_points *points, roast_series **series, roast_series **counts) {
    roast_error err;
    assert_ok(roast_points_build(points, series, counts, &err), err);
    roast_points_free(points);
}

static void rows_come_out_in_order_of_time(void **state) {
    (void)state;
    roast_points *points = new_points();
    roast_series *series, *counts;
    uint32_t a = worker(points, "a"), b = worker(points, "b");
    add(points, b, ROAST_COLUMN_cpu, 2000, 50);
    add(points, a, ROAST_COLUMN_memory, 2000, 4);
    add(points, a, ROAST_COLUMN_memory, 1000, 3);
    add(points, a, ROAST_COLUMN_cores, 1000, 2);
    add_count(points, 2000, 2);
    add_count(points, 1000, 1);
    build(points, &series, &counts);
    assert_null(counts);
    assert_int_equal(2, roast_series_tick_count(series));
    assert_int_equal(1000, roast_series_tick_time(series, 0).ns);
    assert_int_equal(1, roast_series_tick_workers(series, 0));
    assert_int_equal(2, roast_series_tick_workers(series, 1));
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, a);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_near(3, sample.value[ROAST_COLUMN_memory]);
    assert_near(2, sample.value[ROAST_COLUMN_cores]);
    assert_true(isnan(sample.value[ROAST_COLUMN_cpu]));
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_near(4, sample.value[ROAST_COLUMN_memory]);
    assert_false(roast_series_cursor_next(&cursor, &sample));
    roast_series_free(series);
}

static void moments_that_were_not_counted(void **state) {
    (void)state;
    roast_points *points = new_points();
    roast_series *series, *counts;
    uint32_t a = worker(points, "a");
    add(points, a, ROAST_COLUMN_memory, 1500, 3);
    add_count(points, 1000, 4);
    add_count(points, 2000, 5);
    build(points, &series, &counts);
    assert_int_equal(3, roast_series_tick_count(series));
    assert_int_equal(4, roast_series_tick_workers(series, 1));
    assert_non_null(counts);
    assert_int_equal(2, roast_series_tick_count(counts));
    assert_int_equal(5, roast_series_tick_workers(counts, 1));
    roast_series_free(series);
    roast_series_free(counts);
}

static void without_counts_the_rows_are_counted(void **state) {
    (void)state;
    roast_points *points = new_points();
    roast_series *series, *counts;
    uint32_t a = worker(points, "a"), b = worker(points, "b");
    add(points, a, ROAST_COLUMN_memory, 1000, 3);
    add(points, a, ROAST_COLUMN_cpu, 1000, 3);
    add(points, b, ROAST_COLUMN_cpu, 1000, 3);
    build(points, &series, &counts);
    assert_int_equal(2, roast_series_tick_workers(series, 0));
    assert_int_equal(0, roast_series_tick_count(counts));
    roast_series_free(series);
    roast_series_free(counts);
}

static void the_last_of_several_stays(void **state) {
    (void)state;
    roast_points *points = new_points();
    roast_series *series, *counts;
    uint32_t a = worker(points, "a");
    for (int i = 0; i < 5; i++) {
        add(points, a, ROAST_COLUMN_memory, 1000, i);
        add_count(points, 1000, (uint32_t)i);
    }
    build(points, &series, &counts);
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, a);
    assert_true(roast_series_cursor_next(&cursor, &sample));
    assert_near(4, sample.value[ROAST_COLUMN_memory]);
    assert_int_equal(4, roast_series_tick_workers(series, 0));
    roast_series_free(series);
}

static void what_is_refused(void **state) {
    (void)state;
    roast_points *points = new_points();
    roast_series *series, *counts;
    roast_error err;
    uint32_t number = worker(points, "a");
    assert_status(ROAST_EINVAL,
                  roast_points_add(points, 7, ROAST_COLUMN_cpu, (roast_utc){1}, 1, &err));
    assert_status(ROAST_EINVAL,
                  roast_points_add(points, number, ROAST_COLUMNS, (roast_utc){1}, 1, &err));
    assert_status(ROAST_EINVAL, roast_points_worker(points, roast_str_of(""), &number, NULL));
    assert_ok(roast_points_build(points, &series, &counts, &err), err);
    assert_int_equal(0, roast_series_tick_count(series));
    assert_status(ROAST_ESTATE, roast_points_build(points, &series, &counts, &err));
    assert_status(ROAST_ESTATE, roast_points_worker(points, roast_str_of("b"), &number, &err));
    assert_status(ROAST_ESTATE, roast_points_add_count(points, (roast_utc){1}, 1, &err));
    roast_series_free(series);
    roast_points_free(points);
    roast_points_free(NULL);
}

/* Rows of many moments: backwards, and column by column. */
static void rows_that_come_backwards(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    roast_points *points = new_points();
    roast_series *series, *counts;
    uint32_t a = worker(points, "a"), b = worker(points, "b");
    for (int column = 0; column < 3; column++)
        for (int64_t i = ROWS; i > 0; i--) {
            add(points, a, column, i * 1000, (double)i + column);
            add(points, b, column, (i + ROWS / 2) * 1000, 1);
        }
    build(points, &series, &counts);
    assert_int_equal(ROWS + ROWS / 2, roast_series_tick_count(series));
    assert_int_equal(2 * ROWS, roast_series_sample_count(series));
    assert_int_equal(1, roast_series_tick_workers(series, 0));
    assert_int_equal(2, roast_series_tick_workers(series, ROWS - 1));
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, a);
    for (int i = 1; i <= ROWS; i++) {
        assert_true(roast_series_cursor_next(&cursor, &sample));
        assert_int_equal(i * 1000, sample.when.ns);
        for (int column = 0; column < 3; column++)
            assert_near(i + column, sample.value[column]);
        assert_true(isnan(sample.value[3]));
    }
    assert_false(roast_series_cursor_next(&cursor, &sample));
    roast_series_free(series);
    roast_series_free(counts);
}

static roast_status use_all(void *context) {
    (void)context;
    roast_points *points;
    roast_series *series, *counts;
    uint32_t number = 0;
    roast_status status = roast_points_new(&points, NULL);
    if (status != ROAST_OK)
        return status;
    status = roast_points_worker(points, roast_str_of("tcp://10.0.0.1:40000"), &number, NULL);
    for (int i = 0; status == ROAST_OK && i < 40; i++) {
        status = roast_points_add(points, number, i % ROAST_COLUMNS, (roast_utc){40 - i}, i, NULL);
        if (status == ROAST_OK && i % 3 == 0)
            status = roast_points_add_count(points, (roast_utc){i}, 1, NULL);
    }
    if (status == ROAST_OK)
        status = roast_points_build(points, &series, &counts, NULL);
    if (status == ROAST_OK) {
        roast_series_free(series);
        roast_series_free(counts);
    }
    roast_points_free(points);
    return status;
}

static void memory_may_run_short(void **state) {
    (void)state;
    assert_true(alloc_walk(use_all, NULL) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_out_in_order_of_time),
        cmocka_unit_test(moments_that_were_not_counted),
        cmocka_unit_test(without_counts_the_rows_are_counted),
        cmocka_unit_test(the_last_of_several_stays),
        cmocka_unit_test(rows_that_come_backwards),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory_may_run_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
