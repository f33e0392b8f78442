/* What the live line is made of. */
#include "support.h"

#include <math.h>

#include "roast/progress.h"

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

static void test_time_left(void **state) {
    (void)state;
    assert_true(fabs(roast_progress_left(10, 4, 12) - 20) < 1e-12);
    assert_true(roast_progress_left(10, 4, 4) == 0);
    assert_true(isnan(roast_progress_left(10, 0, 4)));
    assert_true(isnan(roast_progress_left((double)NAN, 1, 4)));
    assert_true(isnan(roast_progress_left(0, 1, 4)));
    assert_true(isnan(roast_progress_left(10, 5, 4))); /* more than there are */
}

static void test_time_left_of_a_run(void **state) {
    (void)state;
    roast_run *run;
    roast_ending *ending;
    roast_error err;
    assert_ok(roast_run_new(&run, &err), err);
    assert_true(isnan(roast_progress_left_of(run, 105)));
    roast_run_set_clock(run, 100, 115);
    assert_true(isnan(roast_progress_left_of(run, 105)));
    assert_ok(roast_ending_new(ROAST_END_unknown, &ending, &err), err);
    roast_ending_set_pieces(ending, (roast_ending_pieces){12, 4, -1});
    roast_run_take_ending(run, ending);
    assert_true(fabs(roast_progress_left_of(run, 105) - 20) < 1e-12);
    /* clocks that are an hour behind, or an hour ahead */
    assert_true(fabs(roast_progress_left_of(run, 105 - 3600) - 30) < 1e-12);
    assert_true(isnan(roast_progress_left_of(run, 105 + 3600)));
    assert_true(isnan(roast_progress_left_of(run, (double)NAN)));
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_left),
        cmocka_unit_test(test_time_left_of_a_run),
        cmocka_unit_test(rates_are_of_the_last_seconds),
        cmocka_unit_test(long_chunks_have_a_wider_window),
        cmocka_unit_test(not_known_is_not_nothing),
        cmocka_unit_test(the_last_tick_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
