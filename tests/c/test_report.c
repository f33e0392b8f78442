/* What the report and the live line are made of: largest groups, outliers, progress. */
#include "support.h"

#include <math.h>

#include "roast/outliers.h"
#include "roast/progress.h"
#include "roast/top.h"

/* ---- largest groups ---- */

enum { ROWS = 9, GROUPS = 5 };
static const int32_t codes[ROWS] = {0, 1, 1, 3, 3, 3, -1, 99, 4};
static const double seconds[ROWS] = {1, 2, 3, 10, NAN, 30, 1000, 1000, NAN};
static const double peaks[ROWS] = {7, 5, 6, NAN, 2, 1, 99, 99, 8};
static const roast_top_column columns[] = {{seconds, ROAST_TOP_SUM}, {peaks, ROAST_TOP_MAX}};

static void groups_come_by_size(void **state) {
    (void)state;
    roast_top *top;
    roast_error err;
    assert_ok(roast_top_new(codes, ROWS, GROUPS, columns, 2, 0, 10, &top, &err), err);
    static const int32_t order[] = {3, 1, 0, 4};
    static const double sums[] = {40, 5, 1, NAN}, most[] = {2, 6, 7, 8};
    static const uint64_t rows[] = {3, 2, 1, 1};
    assert_int_equal(4, roast_top_count(top));
    assert_int_equal(0, roast_top_rest(top));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(order[i], roast_top_code(top, i));
        assert_int_equal(rows[i], roast_top_rows(top, i));
        if (isnan(sums[i]))
            assert_true(isnan(roast_top_value(top, i, 0)));
        else
            assert_near(sums[i], roast_top_value(top, i, 0));
        assert_near(most[i], roast_top_value(top, i, 1));
    }
    assert_int_equal(0, roast_top_rows(top, 4));
    assert_true(isnan(roast_top_value(top, 4, 0)));
    assert_int_equal(-1, roast_top_code(top, 4));
    assert_true(isnan(roast_top_value(top, 5, 0)));
    assert_true(isnan(roast_top_value(top, 0, 2)));
    assert_int_equal(0, roast_top_rows(top, 5));
    roast_top_free(top);
}

static void others_are_summed_up(void **state) {
    (void)state;
    roast_top *top;
    roast_error err;
    assert_ok(roast_top_new(codes, ROWS, GROUPS, columns, 2, 0, 1, &top, &err), err);
    assert_int_equal(1, roast_top_count(top));
    assert_int_equal(3, roast_top_rest(top));
    assert_int_equal(-1, roast_top_code(top, 1));
    assert_int_equal(4, roast_top_rows(top, 1));
    assert_near(6, roast_top_value(top, 1, 0));
    assert_near(8, roast_top_value(top, 1, 1));
    roast_top_free(top);
    assert_ok(roast_top_new(codes, ROWS, GROUPS, columns, 2, 1, 0, &top, &err), err);
    assert_int_equal(0, roast_top_count(top));
    assert_int_equal(4, roast_top_rest(top));
    assert_near(46, roast_top_value(top, 0, 0));
    assert_near(46.0 / 8, roast_top_ratio(top, 0, 0, 1));
    assert_true(isnan(roast_top_ratio(top, 0, 0, 2)));
    assert_true(isnan(roast_top_ratio(top, 1, 0, 1)));
    roast_top_free(top);
}

static void nothing_has_no_groups(void **state) {
    (void)state;
    roast_top *top;
    roast_error err;
    assert_ok(roast_top_new(NULL, 0, 0, columns, 2, 0, 5, &top, &err), err);
    assert_int_equal(0, roast_top_count(top));
    roast_top_free(top);
    roast_top_free(NULL);
    assert_status(ROAST_EINVAL, roast_top_new(codes, ROWS, GROUPS, columns, 2, 2, 5, &top, &err));
}

static void nothing_is_divided_by_nothing(void **state) {
    (void)state;
    static const double none[ROWS] = {0};
    const roast_top_column both[] = {{seconds, ROAST_TOP_SUM}, {none, ROAST_TOP_SUM}};
    roast_top *top;
    roast_error err;
    assert_ok(roast_top_new(codes, ROWS, GROUPS, both, 2, 0, 9, &top, &err), err);
    assert_true(isnan(roast_top_ratio(top, 0, 0, 1)));
    assert_near(0, roast_top_ratio(top, 0, 1, 0));
    roast_top_free(top);
}

static roast_status top_body(void *context) {
    (void)context;
    roast_top *top = NULL;
    roast_status status = roast_top_new(codes, ROWS, GROUPS, columns, 2, 0, 2, &top, NULL);
    roast_top_free(top);
    return status;
}

/* ---- outliers ---- */

enum { POINTS = 200 };

/* y = 1 + 2 x, a little to both sides, and some far above or below it. */
static void make_points(double *xs, double *ys) {
    for (int i = 0; i < POINTS; i++) {
        xs[i] = i;
        ys[i] = 1 + 2 * i + (i % 5 - 2) * 0.1;
    }
    ys[50] += 60;
    ys[70] += 300;
    ys[80] -= 300;
    ys[150] += 5; /* beyond the fence, but no fifth more */
    xs[3] = NAN;
}

static void outliers_are_above_the_line(void **state) {
    (void)state;
    double xs[POINTS], ys[POINTS];
    roast_outlier found[5];
    uint32_t count;
    uint64_t all;
    roast_error err;
    make_points(xs, ys);
    assert_ok(roast_outliers_find(xs, ys, POINTS, 1, 2, 5, found, &count, &all, &err), err);
    assert_int_equal(2, count);
    assert_int_equal(2, all);
    assert_int_equal(70, found[0].index);
    assert_near(141, found[0].expected);
    assert_int_equal(50, found[1].index);
    assert_ok(roast_outliers_find(xs, ys, POINTS, 1, 2, 1, found, &count, &all, &err), err);
    assert_int_equal(1, count);
    assert_int_equal(2, all);
    assert_int_equal(70, found[0].index);
    assert_ok(roast_outliers_find(xs, ys, POINTS, 1, 2, 0, found, &count, &all, &err), err);
    assert_int_equal(0, count);
    assert_ok(roast_outliers_find(xs, ys, 0, 1, 2, 5, found, &count, &all, &err), err);
    assert_int_equal(0, all);
}

static roast_status outliers_body(void *context) {
    (void)context;
    double xs[POINTS], ys[POINTS];
    roast_outlier found[5];
    uint32_t count;
    uint64_t all;
    make_points(xs, ys);
    return roast_outliers_find(xs, ys, POINTS, 1, 2, 5, found, &count, &all, NULL);
}

/* ---- progress ---- */

static void add_chunk(roast_chunklog *log, double duration, int64_t events, bool failed) {
    roast_error err;
    roast_chunk chunk = {.have = ROAST_CHUNK_HAS(duration_ns) | ROAST_CHUNK_HAS(num_events) |
                                 ROAST_CHUNK_HAS(bytes_read),
                         .duration_ns = (int64_t)(duration * 1e9),
                         .num_events = events,
                         .bytes_read = 10 * events};
    if (failed)
        chunk.error_type = roast_str_of("ValueError");
    assert_ok(roast_chunklog_append(log, &chunk, &err), err);
}

static void rates_are_of_the_last_seconds(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log;
    roast_progress progress;
    roast_progress_init(&progress, 1000);
    assert_ok(roast_chunklog_new(&log, &err), err);
    add_chunk(log, 1, 100, false);
    add_chunk(log, 1, 100, false);
    add_chunk(log, 1, 7777, true);
    roast_progress_add_chunks(&progress, log, 1002);
    roast_progress_view view = roast_progress_look(&progress, 1004, 10);
    assert_int_equal(2, view.chunks);
    assert_int_equal(1, view.failed);
    assert_near(200.0 / 4, view.event_rate);
    assert_near(2000.0 / 4, view.byte_rate);
    /* The first began at 1001; two in three seconds, eight to go. */
    assert_near(12, view.seconds_left);
    roast_progress_add_chunks(&progress, log, 1020);
    view = roast_progress_look(&progress, 1021, 0);
    assert_int_equal(4, view.chunks);
    assert_near(200.0 / 10, view.event_rate);
    assert_true(isnan(view.seconds_left));
    view = roast_progress_look(&progress, 1021, 4);
    assert_near(0, view.seconds_left);
    assert_true(isnan(roast_progress_look(&progress, 1021, 3).seconds_left));
    /* Nothing for long: the rates are known, and 0. */
    view = roast_progress_look(&progress, 1500, 100);
    assert_near(0, view.event_rate);
    /* A clock that was set back tells nothing. */
    assert_true(isnan(roast_progress_look(&progress, 900, 100).event_rate));
    roast_progress_add_chunks(&progress, log, 900);
    assert_int_equal(6, roast_progress_look(&progress, 1500, 0).chunks);
    roast_chunklog_free(log);
}

static void long_chunks_have_a_wider_window(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log;
    roast_progress progress;
    roast_progress_init(&progress, 0);
    assert_ok(roast_chunklog_new(&log, &err), err);
    add_chunk(log, 15, 300, false);
    roast_progress_add_chunks(&progress, log, 100);
    assert_near(300.0 / 30, roast_progress_look(&progress, 125, 0).event_rate);
    assert_near(0, roast_progress_look(&progress, 131, 0).event_rate);
    roast_chunklog_free(log);
}

static void not_known_is_not_nothing(void **state) {
    (void)state;
    roast_error err;
    roast_chunklog *log;
    roast_progress progress;
    roast_progress_init(&progress, 5);
    roast_progress_view view = roast_progress_look(&progress, 6, 10);
    assert_int_equal(0, view.chunks);
    assert_true(isnan(view.event_rate) && isnan(view.byte_rate) && isnan(view.workers));
    assert_true(isnan(view.memory) && isnan(view.memory_limit) && isnan(view.seconds_left));
    assert_ok(roast_chunklog_new(&log, &err), err);
    roast_chunk chunk = {0};
    assert_ok(roast_chunklog_append(log, &chunk, &err), err);
    roast_progress_add_chunks(&progress, log, 6);
    view = roast_progress_look(&progress, 7, 0);
    assert_int_equal(1, view.chunks);
    assert_true(isnan(view.event_rate) && isnan(view.byte_rate));
    roast_chunklog_free(log);
}

static void the_last_tick_counts(void **state) {
    (void)state;
    roast_error err;
    roast_series *series;
    roast_progress progress;
    uint32_t one, two;
    double value[ROAST_COLUMNS];
    for (int i = 0; i < ROAST_COLUMNS; i++)
        value[i] = NAN;
    roast_progress_init(&progress, 0);
    assert_ok(roast_series_new(&series, &err), err);
    roast_progress_add_series(&progress, series);
    assert_true(isnan(roast_progress_look(&progress, 1, 0).workers));
    assert_ok(roast_series_worker(series, roast_str_of("one"), &one, &err), err);
    assert_ok(roast_series_worker(series, roast_str_of("two"), &two, &err), err);
    value[ROAST_COLUMN_memory] = 1000;
    assert_ok(roast_series_tick(series, (roast_utc){1000}, 2, &err), err);
    assert_ok(roast_series_append(series, one, value, &err), err);
    assert_ok(roast_series_append(series, two, value, &err), err);
    roast_progress_add_series(&progress, series);
    assert_near(2000, roast_progress_look(&progress, 1, 0).memory);
    assert_true(isnan(roast_progress_look(&progress, 1, 0).memory_limit));
    assert_ok(roast_series_tick(series, (roast_utc){2000}, 1, &err), err);
    value[ROAST_COLUMN_memory] = 1500;
    value[ROAST_COLUMN_memory_limit] = 4000;
    assert_ok(roast_series_append(series, two, value, &err), err);
    roast_progress_add_series(&progress, series);
    roast_progress_view view = roast_progress_look(&progress, 1, 0);
    assert_near(1, view.workers);
    assert_near(1500, view.memory);
    assert_near(4000, view.memory_limit);
    roast_series_free(series);
}

/* ---- failing allocations ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(alloc_walk(top_body, NULL) >= 5);
    assert_true(alloc_walk(outliers_body, NULL) >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_come_by_size),
        cmocka_unit_test(others_are_summed_up),
        cmocka_unit_test(nothing_has_no_groups),
        cmocka_unit_test(nothing_is_divided_by_nothing),
        cmocka_unit_test(outliers_are_above_the_line),
        cmocka_unit_test(rates_are_of_the_last_seconds),
        cmocka_unit_test(long_chunks_have_a_wider_window),
        cmocka_unit_test(not_known_is_not_nothing),
        cmocka_unit_test(the_last_tick_counts),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
