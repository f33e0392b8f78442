/* Workers on one grid, against sums over the samples themselves. */
#include "series_support.h"

#include "roast/timeline.h"

#define SECOND INT64_C(1000000000)
static const int64_t start_ns = INT64_C(1700000000123456789);

static roast_measure measure_of(const char *name) {
    roast_measure measure;
    assert_true(roast_measure_find(str(name), &measure));
    return measure;
}

static void put(roast_series *series, uint32_t worker, double memory, double limit, double tasks) {
    double value[ROAST_COLUMNS];
    fill(value, NAN);
    value[ROAST_COLUMN_memory] = memory;
    value[ROAST_COLUMN_memory_limit] = limit;
    value[ROAST_COLUMN_active_tasks] = tasks;
    append(series, worker, value);
}

static roast_timeline *timeline_of(const roast_series *series, const char *name, uint32_t points) {
    roast_error err;
    roast_timeline *timeline = NULL;
    roast_measure measure = measure_of(name);
    assert_ok(roast_timeline_new(series, &measure, points, &timeline, &err), err);
    return timeline;
}

static double at(const roast_timeline *timeline, roast_timeline_row row, size_t point) {
    assert_true(point < roast_timeline_points(timeline));
    return roast_timeline_values(timeline, row)[point];
}

/* ---- measures and names ---- */

static void test_measures(void **state) {
    (void)state;
    roast_measure measure = measure_of("memory_share");
    roast_sample sample = {.worker = 0};
    sample.value[ROAST_COLUMN_memory] = 30;
    sample.value[ROAST_COLUMN_memory_limit] = 120;
    assert_near(25, roast_measure_of(&measure, &sample));
    sample.value[ROAST_COLUMN_memory_limit] = 0;
    assert_true(isnan(roast_measure_of(&measure, &sample)));
    sample.value[ROAST_COLUMN_memory_limit] = NAN;
    assert_true(isnan(roast_measure_of(&measure, &sample)));
    sample.value[ROAST_COLUMN_cpu] = 300;
    sample.value[ROAST_COLUMN_cores] = 4;
    measure = measure_of("cpu_share");
    assert_near(75, roast_measure_of(&measure, &sample));
    measure = measure_of("cpu");
    assert_near(300, roast_measure_of(&measure, &sample));
    assert_false(roast_measure_find(str("nonsense"), &measure));
    assert_string_equal("p90", roast_timeline_row_name(ROAST_TIMELINE_p90));
    assert_string_equal("unknown", roast_timeline_row_name(ROAST_TIMELINE_ROW_COUNT));
}

/* ---- a point a tick ---- */

static void test_ticks(void **state) {
    (void)state;
    roast_series *series = new_series();
    uint32_t a = add_worker(series, "a"), b = add_worker(series, "b"), c = add_worker(series, "c");
    tick(series, start_ns, 1); /* nothing to see yet */
    tick(series, start_ns + 2 * SECOND, 2);
    put(series, a, 10, 100, 3);
    put(series, b, 50, 100, 5);
    tick(series, start_ns + 3 * SECOND, 3);
    put(series, a, 20, 100, 1);
    put(series, b, 60, 100, 2);
    put(series, c, 100, 100, 6);
    tick(series, start_ns + 7 * SECOND, 1);
    put(series, a, 30, 100, NAN);

    roast_timeline *timeline = timeline_of(series, "memory_share", 10);
    assert_int_equal(start_ns + 2 * SECOND, roast_timeline_start(timeline).ns);
    assert_int_equal(3, roast_timeline_points(timeline));
    const double expected[3][ROAST_TIMELINE_ROW_COUNT] = {
        /* time workers sum mean min p10 p50 p90 max */
        {0, 2, 60, 30, 10, 14, 30, 46, 50},
        {1, 3, 180, 60, 20, 28, 60, 92, 100},
        {5, 1, 30, 30, 30, 30, 30, 30, 30},
    };
    for (size_t point = 0; point < 3; point++)
        for (int row = 0; row < ROAST_TIMELINE_ROW_COUNT; row++)
            assert_near(expected[point][row], at(timeline, row, point));
    assert_null(roast_timeline_values(timeline, ROAST_TIMELINE_ROW_COUNT));
    roast_stats stats = roast_timeline_stats(timeline, a);
    assert_int_equal(3, stats.count);
    assert_near(30, stats.max);
    assert_near(20, stats.mean);
    assert_int_equal(0, roast_timeline_stats(timeline, 77).count);
    roast_timeline_free(timeline);

    timeline = timeline_of(series, "active_tasks", 10);
    assert_int_equal(2, roast_timeline_points(timeline)); /* the last tick has none */
    assert_near(8, at(timeline, ROAST_TIMELINE_sum, 0));
    assert_near(9, at(timeline, ROAST_TIMELINE_sum, 1));
    roast_timeline_free(timeline);
    roast_series_free(series);
}

/* Workers that are looked at in turn: each counts with its last value in between, but not beyond its end,
 * nor while it was away. */
static void test_held_values(void **state) {
    (void)state;
    roast_series *series = new_series();
    uint32_t a = add_worker(series, "a"), b = add_worker(series, "b");
    for (int i = 0; i < 20; i++) {
        tick(series, start_ns + i * SECOND, 2);
        if (i % 2 == 0 && !(i > 4 && i < 16))
            put(series, a, NAN, NAN, 10);
        if (i % 2 == 1 && i < 10)
            put(series, b, NAN, NAN, 1);
    }
    roast_timeline *timeline = timeline_of(series, "active_tasks", 100);
    /* a: 0 2 4, away, 16 18 (3 intervals of 4.5 s are 13.5 s: the gap of 12 s is bridged); b: 1 .. 9 */
    for (size_t point = 0; point < 19; point++) {
        bool with_b = point >= 1 && point <= 9;
        assert_near(with_b ? 11 : 10, at(timeline, ROAST_TIMELINE_sum, point));
        assert_near(with_b ? 2 : 1, at(timeline, ROAST_TIMELINE_workers, point));
    }
    roast_timeline_free(timeline);
    roast_series_free(series);

    series = new_series();
    a = add_worker(series, "a");
    for (int i = 0; i < 100; i++) {
        tick(series, start_ns + i * SECOND, 1);
        if (i < 30 || i > 80)
            put(series, a, NAN, NAN, 7);
    }
    timeline = timeline_of(series, "active_tasks", 100);
    assert_near(7, at(timeline, ROAST_TIMELINE_mean, 29));
    assert_true(isnan(at(timeline, ROAST_TIMELINE_mean, 50)));
    assert_true(isnan(at(timeline, ROAST_TIMELINE_sum, 50)));
    assert_true(isnan(at(timeline, ROAST_TIMELINE_max, 50)));
    assert_near(0, at(timeline, ROAST_TIMELINE_workers, 50));
    assert_near(7, at(timeline, ROAST_TIMELINE_mean, 81));
    roast_timeline_free(timeline);
    roast_series_free(series);
}

/* ---- equal stretches ---- */

enum { TICKS = 1000, WORKERS = 7, POINTS = 10 };

static double value_at(int t, int worker) {
    return (t * 37 + worker * 101) % 97;
}

static roast_series *long_series(void) {
    roast_series *series = new_series();
    uint32_t workers[WORKERS];
    for (int w = 0; w < WORKERS; w++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", w);
        workers[w] = add_worker(series, name);
    }
    for (int t = 0; t < TICKS; t++) {
        tick(series, start_ns + t * SECOND, WORKERS);
        for (int w = 0; w < WORKERS; w++)
            put(series, workers[w], NAN, NAN, value_at(t, w));
    }
    return series;
}

static void test_stretches(void **state) {
    (void)state;
    roast_series *series = long_series();
    roast_timeline *timeline = timeline_of(series, "active_tasks", POINTS);
    const double width = (TICKS - 1) / (double)POINTS;
    assert_int_equal(POINTS, roast_timeline_points(timeline));
    for (int point = 0; point < POINTS; point++) {
        double means = 0, low = INFINITY, high = -INFINITY;
        for (int w = 0; w < WORKERS; w++) {
            double sum = 0;
            int n = 0;
            for (int t = 0; t < TICKS; t++) {
                bool inside =
                    t >= point * width && (t < (point + 1) * width || point == POINTS - 1);
                if (!inside)
                    continue;
                sum += value_at(t, w);
                n++;
                low = fmin(low, value_at(t, w));
                high = fmax(high, value_at(t, w));
            }
            means += sum / n;
        }
        assert_near((point + 0.5) * width, at(timeline, ROAST_TIMELINE_time, point));
        assert_near(WORKERS, at(timeline, ROAST_TIMELINE_workers, point));
        assert_true(fabs(means - at(timeline, ROAST_TIMELINE_sum, point)) < 1e-9);
        assert_true(fabs(means / WORKERS - at(timeline, ROAST_TIMELINE_mean, point)) < 1e-9);
        assert_near(low, at(timeline, ROAST_TIMELINE_min, point));
        assert_near(high, at(timeline, ROAST_TIMELINE_max, point));
        assert_true(at(timeline, ROAST_TIMELINE_p10, point) <=
                    at(timeline, ROAST_TIMELINE_p50, point));
        assert_true(at(timeline, ROAST_TIMELINE_p50, point) <=
                    at(timeline, ROAST_TIMELINE_p90, point));
    }
    roast_timeline_free(timeline);
    roast_series_free(series);
}

/* ---- lines ---- */

static void test_line(void **state) {
    (void)state;
    roast_series *series = long_series();
    roast_measure measure = measure_of("active_tasks");
    double times[TICKS], values[TICKS];
    size_t n = 0;
    roast_error err;
    const roast_utc start = {start_ns};
    assert_ok(roast_timeline_line(series, &measure, 2, start, TICKS, ROAST_FEWER_EXTREMES, times,
                                  values, &n, &err),
              err);
    assert_int_equal(TICKS, n);
    for (int t = 0; t < TICKS; t++) {
        assert_near(t, times[t]);
        assert_near(value_at(t, 2), values[t]);
    }
    assert_ok(roast_timeline_line(series, &measure, 2, start, 20, ROAST_FEWER_EXTREMES, times,
                                  values, &n, &err),
              err);
    assert_int_equal(20, n);
    for (size_t i = 0; i < n; i++)
        assert_near(value_at((int)times[i], 2), values[i]);
    assert_ok(roast_timeline_line(series, &measure, 2, start, 20, ROAST_FEWER_MEANS, times, values,
                                  &n, &err),
              err);
    assert_int_equal(20, n);
    for (int i = 0; i < 20; i++) {
        double sum = 0;
        for (int t = i * 50; t < i * 50 + 50; t++)
            sum += value_at(t, 2);
        assert_near(i * 50 + 24.5, times[i]);
        assert_near(sum / 50, values[i]);
    }
    assert_status(ROAST_EINVAL, roast_timeline_line(series, &measure, WORKERS, start, 20,
                                                    ROAST_FEWER_MEANS, times, values, &n, &err));
    assert_status(ROAST_EINVAL, roast_timeline_line(series, &measure, 0, start, 3,
                                                    ROAST_FEWER_MEANS, times, values, &n, &err));
    /* A measure that nobody has is a line of no points. */
    measure = measure_of("cpu");
    assert_ok(roast_timeline_line(series, &measure, 0, start, 20, ROAST_FEWER_MEANS, times, values,
                                  &n, &err),
              err);
    assert_int_equal(0, n);
    roast_series_free(series);
}

static void test_worker_counts(void **state) {
    (void)state;
    roast_series *series = new_series();
    double times[8], values[8];
    size_t n = 9;
    roast_error err;
    assert_ok(roast_timeline_workers(series, 8, times, values, &n, &err), err);
    assert_int_equal(0, n);
    for (uint32_t t = 0; t < 100; t++)
        tick(series, start_ns + t * SECOND / 2, t == 57 ? 500 : t / 10);
    assert_ok(roast_timeline_workers(series, 8, times, values, &n, &err), err);
    assert_true(n <= 8);
    assert_near(0, times[0]);
    assert_near(49.5, times[n - 1]);
    assert_near(9, values[n - 1]);
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, values[i]);
    assert_near(500, most);
    assert_status(ROAST_EINVAL, roast_timeline_workers(series, 2, times, values, &n, &err));
    roast_series_free(series);
}

/* ---- faults ---- */

static void test_nothing_there(void **state) {
    (void)state;
    roast_series *series = new_series();
    roast_measure measure = measure_of("memory_share");
    roast_timeline *timeline = NULL;
    roast_error err;
    assert_status(ROAST_ENOTFOUND, roast_timeline_new(series, &measure, 5, &timeline, &err));
    uint32_t a = add_worker(series, "a");
    tick(series, start_ns, 1);
    put(series, a, 5, NAN, 1);
    assert_status(ROAST_ENOTFOUND, roast_timeline_new(series, &measure, 5, &timeline, &err));
    assert_non_null(strstr(err.message, "memory_limit"));
    measure = measure_of("memory");
    assert_status(ROAST_EINVAL, roast_timeline_new(series, &measure, 0, &timeline, &err));
    assert_null(timeline);
    assert_ok(roast_timeline_new(series, &measure, 1, &timeline, &err), err);
    assert_int_equal(1, roast_timeline_points(timeline));
    roast_timeline_free(timeline);
    roast_timeline_free(NULL);
    roast_series_free(series);
}

static roast_status walk_body(void *context) {
    const roast_series *series = context;
    roast_measure measure = measure_of("active_tasks");
    roast_timeline *timeline = NULL;
    double times[20], values[20];
    size_t n;
    ROAST_TRY(roast_timeline_new(series, &measure, POINTS, &timeline, NULL));
    roast_status status = roast_timeline_line(series, &measure, 0, (roast_utc){start_ns}, 20,
                                              ROAST_FEWER_MEANS, times, values, &n, NULL);
    if (status == ROAST_OK)
        status = roast_timeline_workers(series, 20, times, values, &n, NULL);
    roast_timeline_free(timeline);
    return status;
}

static void test_without_memory(void **state) {
    (void)state;
    roast_series *series = long_series();
    assert_int_equal(8, alloc_walk(walk_body, series));
    roast_series_free(series);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures),      cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_held_values),   cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_line),          cmocka_unit_test(test_worker_counts),
        cmocka_unit_test(test_nothing_there), cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
