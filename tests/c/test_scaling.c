/* Scaling of made runs, whose law is known. */
#include "support.h"

#include <math.h>

#include "roast/run.h"
#include "roast/scaling_tables.h"

/* ---- runs ---- */

static roast_metrics *make_metrics(double cores, double wall, double events) {
    roast_metrics *metrics;
    roast_error err;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_metrics_set(metrics, "total_cores", roast_value_real(cores), &err), err);
    assert_ok(roast_metrics_set(metrics, "wall_time", roast_value_real(wall), &err), err);
    assert_ok(roast_metrics_set(metrics, "total_events", roast_value_int((int64_t)events), &err),
              err);
    return metrics;
}

static void add(roast_scaling *scaling, double cores, double wall, double events) {
    roast_error err;
    char name[32];
    snprintf(name, sizeof name, "%.0f cores", cores);
    roast_metrics *metrics = make_metrics(cores, wall, events);
    assert_ok(roast_scaling_add(scaling, roast_str_of(name), metrics, NULL, &err), err);
    roast_metrics_free(metrics);
}

static roast_scaling *new_scaling(void) {
    roast_scaling *scaling;
    roast_error err;
    assert_ok(roast_scaling_new(&scaling, &err), err);
    return scaling;
}

static void finish(roast_scaling *scaling) {
    roast_error err;
    assert_ok(roast_scaling_finish(scaling, &err), err);
}

/* A number that looks random, between -1 and 1, the same for the same index. */
static double noise(int index) {
    double x = sin(12.9898 * (index + 1)) * 43758.5453;
    return 2 * (x - floor(x)) - 1;
}

static double rate_of(double cores, double serial, double crosstalk) {
    return 1000 * cores / (1 + serial * (cores - 1) + crosstalk * cores * (cores - 1));
}

static roast_scaling *law(double serial, double crosstalk, double spread, int repeats) {
    static const double sizes[] = {1, 2, 4, 8, 16, 32, 64};
    roast_scaling *scaling = new_scaling();
    for (int i = 0; i < 7 * repeats; i++) {
        double rate = rate_of(sizes[i % 7], serial, crosstalk) * (1 + spread * noise(i));
        add(scaling, sizes[i % 7], 1e7 / rate, 1e7);
    }
    finish(scaling);
    return scaling;
}

static void expect_within(double expected, double found, double share) {
    if (!(fabs(found / expected - 1) < share))
        fail_msg("%g is not within %g of %g", found, share, expected);
}

/* ---- laws ---- */

static void test_serial_part(void **state) {
    (void)state;
    const double parts[] = {0.01, 0.05, 0.2};
    for (int i = 0; i < 3; i++) {
        roast_scaling *scaling = law(parts[i], 0, 0.02, 3);
        roast_law_fit fit = roast_scaling_fit(scaling, ROAST_LAW_amdahl);
        assert_true(fit.known);
        expect_within(parts[i], fit.serial.at, 0.1);
        assert_true(fit.serial.low < parts[i] && parts[i] < fit.serial.high);
        assert_true(isinf(fit.peak));
        assert_true(fit.error < 0.03);
        roast_estimate there = roast_scaling_predict(scaling, ROAST_LAW_amdahl, 128);
        double truth = rate_of(128, parts[i], 0);
        assert_true(there.low < truth && truth < there.high);
        roast_scaling_free(scaling);
    }
}

static void test_crosstalk(void **state) {
    (void)state;
    roast_scaling *scaling = law(0.02, 0.0005, 0.01, 4);
    roast_law_fit fit = roast_scaling_fit(scaling, ROAST_LAW_usl);
    expect_within(0.0005, fit.crosstalk.at, 0.1);
    expect_within(0.02, fit.serial.at, 0.2);
    expect_within(1000, fit.single.at, 0.02);
    expect_within(sqrt(0.98 / 0.0005), fit.peak, 0.1);
    roast_estimate there = roast_scaling_predict(scaling, ROAST_LAW_usl, 200);
    double truth = rate_of(200, 0.02, 0.0005);
    assert_true(there.low < truth && truth < there.high);
    roast_scaling_free(scaling);
    /* Without crosstalk there is none, and no peak. */
    scaling = law(0.05, 0, 0, 1);
    fit = roast_scaling_fit(scaling, ROAST_LAW_usl);
    assert_true(fit.crosstalk.at < 1e-9);
    assert_true(fit.peak > 1e4);
    roast_scaling_free(scaling);
}

/* Better than perfect: no serial part, and nothing below 0. */
static void test_better_than_perfect(void **state) {
    (void)state;
    roast_scaling *scaling = law(-0.002, 0, 0, 1);
    for (int i = 0; i < ROAST_LAW_COUNT; i++) {
        roast_law_fit fit = roast_scaling_fit(scaling, (roast_law)i);
        assert_true(fit.known && fit.serial.at == 0 && fit.crosstalk.at == 0);
    }
    roast_scaling_free(scaling);
}

static void test_two_sizes_predict_nothing(void **state) {
    (void)state;
    roast_scaling *scaling = new_scaling();
    for (int i = 0; i < 3; i++) {
        add(scaling, 1, 100, 1e6);
        add(scaling, 2, 55, 1e6);
    }
    finish(scaling);
    assert_false(roast_scaling_fit(scaling, ROAST_LAW_amdahl).known);
    assert_true(isnan(roast_scaling_predict(scaling, ROAST_LAW_usl, 4).at));
    assert_false(roast_scaling_fit(scaling, ROAST_LAW_COUNT).known);
    assert_true(isnan(roast_scaling_predict(scaling, ROAST_LAW_COUNT, 4).at));
    roast_scaling_free(scaling);
}

/* Three runs of three sizes: as many as the universal law has numbers, so that it has no interval. */
static void test_no_interval_from_too_few(void **state) {
    (void)state;
    roast_scaling *scaling = new_scaling();
    add(scaling, 1, 100, 1e6);
    add(scaling, 4, 30, 1e6);
    add(scaling, 16, 12, 1e6);
    finish(scaling);
    roast_estimate amdahl = roast_scaling_predict(scaling, ROAST_LAW_amdahl, 32);
    assert_true(amdahl.low < amdahl.at && amdahl.at < amdahl.high);
    roast_law_fit fit = roast_scaling_fit(scaling, ROAST_LAW_usl);
    assert_true(fit.known);
    assert_true(fit.crosstalk.at == 0 || isnan(fit.crosstalk.high));
    roast_scaling_free(scaling);
}

/* ---- sizes ---- */

static void test_points(void **state) {
    (void)state;
    uint32_t count;
    roast_scaling *scaling = new_scaling();
    add(scaling, 4.1, 26, 1e6);
    add(scaling, 1, 100, 1e6);
    add(scaling, 4, 25, 1e6);
    add(scaling, 2, 50, 1e6);
    finish(scaling);
    const roast_scaling_point *points = roast_scaling_points(scaling, &count);
    assert_int_equal(3, count);
    assert_int_equal(2, points[2].runs);
    assert_near(4.05, points[2].cores);
    assert_near((1e6 / 26 + 1e6 / 25) / 2, points[2].rate);
    assert_near(points[2].rate / 1e4, points[2].speedup);
    assert_near(points[2].speedup / 4.05, points[2].efficiency);
    assert_true(isnan(points[0].spread) && points[2].spread > 0);
    assert_near(1, points[0].efficiency);
    const roast_scaling_run *runs = roast_scaling_runs(scaling, &count);
    assert_int_equal(4, count);
    assert_str("1 cores", runs[0].name);
    assert_int_equal(2, runs[3].point);
    assert_int_equal(ROAST_SCALING_strong, roast_scaling_get_kind(scaling));
    roast_scaling_free(scaling);
}

static void test_weak(void **state) {
    (void)state;
    roast_scaling *scaling = new_scaling();
    add(scaling, 2, 100, 2e6);
    add(scaling, 4, 102, 4e6);
    add(scaling, 8, 110, 8e6);
    finish(scaling);
    assert_int_equal(ROAST_SCALING_weak, roast_scaling_get_kind(scaling));
    assert_string_equal("weak", roast_scaling_kind_name(ROAST_SCALING_weak));
    roast_scaling_free(scaling);
    scaling = new_scaling();
    add(scaling, 2, 100, 2e6);
    add(scaling, 8, 100, 3e6);
    finish(scaling);
    assert_int_equal(ROAST_SCALING_unknown, roast_scaling_get_kind(scaling));
    roast_scaling_free(scaling);
}

/* ---- losses ---- */

/* A run of workers with a thread each and no tasks: its budget is known, and says nothing of the time. */
static roast_status add_with_budget(roast_scaling *scaling, int workers, double wall,
                                    roast_error *err) {
    roast_run *run;
    roast_metrics *metrics = NULL;
    roast_findings *findings = NULL;
    ROAST_TRY(roast_run_new(&run, err));
    roast_run_set_clock(run, 1000, 1000 + wall);
    roast_run_set_report(run, &(roast_report){.have_entries = true, .entries = 1000});
    roast_status status = ROAST_OK;
    for (int i = 0; i < workers && status == ROAST_OK; i++) {
        char name[16];
        uint32_t worker;
        snprintf(name, sizeof name, "w%d", i);
        status = roast_series_worker(roast_run_series(run), roast_str_of(name), &worker, err);
        if (status == ROAST_OK)
            status = roast_series_change(roast_run_series(run), worker, ROAST_WORKER_JOINED,
                                         (roast_utc){1000 * INT64_C(1000000000)}, 1, err);
    }
    if (status == ROAST_OK)
        status = roast_metrics_compute(run, &metrics, err);
    if (status == ROAST_OK)
        status = roast_metrics_set(metrics, "total_cores", roast_value_real(workers), err);
    if (status == ROAST_OK)
        status = roast_diagnose_run(run, metrics, &findings, err);
    if (status == ROAST_OK)
        status = roast_scaling_add(scaling, roast_str_of("run"), metrics, findings, err);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(run);
    return status;
}

static void test_losses(void **state) {
    (void)state;
    uint32_t count;
    roast_error err;
    roast_scaling *scaling = new_scaling();
    assert_ok(add_with_budget(scaling, 1, 100, &err), err);
    assert_ok(add_with_budget(scaling, 4, 50, &err), err);
    finish(scaling);
    const roast_scaling_loss *losses = roast_scaling_losses(scaling, &count);
    assert_int_equal(ROAST_PART_COUNT, count);
    assert_int_equal(ROAST_PART_unaccounted, losses[0].part);
    assert_near(0.1, losses[0].smallest);
    assert_near(0.2, losses[0].largest);
    assert_near(1, losses[0].share);
    roast_scaling_free(scaling);
    scaling = new_scaling();
    add(scaling, 1, 100, 1e6);
    assert_ok(add_with_budget(scaling, 4, 50, &err), err);
    finish(scaling);
    roast_scaling_losses(scaling, &count);
    assert_int_equal(0, count);
    roast_scaling_free(scaling);
}

/* ---- as tables ---- */

static void test_headline_of_many_cores(void **state) {
    (void)state;
    char headline[ROAST_SCALING_HEADLINE];
    roast_scaling *scaling = new_scaling();
    add(scaling, 1000, 100, 1e7);
    add(scaling, 20000, 10, 1e7);
    finish(scaling);
    roast_scaling_headline(scaling, headline, sizeof headline);
    assert_non_null(strstr(headline, " at 20,000 cores, compared with 1,000."));
    roast_scaling_free(scaling);
}

static void test_tables(void **state) {
    (void)state;
    static const double cores[] = {128};
    char headline[ROAST_SCALING_HEADLINE];
    roast_error err;
    roast_grid *grid;
    roast_scaling *scaling = law(0.05, 0, 0.02, 3);
    const roast_scaling_view view = {scaling, cores, 1};
    roast_scaling_headline(scaling, headline, sizeof headline);
    assert_non_null(strstr(headline, "Strong scaling: efficiency 2"));
    assert_non_null(strstr(headline, " at 64 cores, compared with 1."));
    assert_ok(roast_scaling_table(&view, ROAST_SCALING_TABLE_points, &grid, &err), err);
    assert_int_equal(7, roast_grid_row_count(grid));
    assert_str("64", roast_grid_text(grid, 6, 0));
    assert_str("10,000,000", roast_grid_text(grid, 6, 3));
    roast_grid_free(grid);
    assert_ok(roast_scaling_table(&view, ROAST_SCALING_TABLE_laws, &grid, &err), err);
    assert_int_equal(ROAST_LAW_COUNT, roast_grid_row_count(grid));
    assert_str("none", roast_grid_text(grid, 0, 4));
    roast_grid_free(grid);
    assert_ok(roast_scaling_table(&view, ROAST_SCALING_TABLE_predictions, &grid, &err), err);
    assert_int_equal(ROAST_LAW_COUNT, roast_grid_row_count(grid));
    roast_grid_free(grid);
    assert_status(ROAST_EINVAL, roast_scaling_table(&view, ROAST_SCALING_TABLE_COUNT, &grid, &err));
    roast_scaling_free(scaling);
    scaling = new_scaling();
    add(scaling, 4, 10, 1e6);
    finish(scaling);
    roast_scaling_headline(scaling, headline, sizeof headline);
    assert_non_null(strstr(headline, "nothing to say"));
    roast_scaling_free(scaling);
}

/* ---- errors ---- */

static void test_states(void **state) {
    (void)state;
    roast_error err;
    roast_scaling *scaling = new_scaling();
    assert_status(ROAST_ESTATE, roast_scaling_finish(scaling, &err));
    roast_metrics *metrics = make_metrics(1, 1, 1), *without;
    assert_ok(roast_metrics_new(&without, &err), err);
    assert_status(ROAST_EINVAL, roast_scaling_add(scaling, roast_str_of("a"), without, NULL, &err));
    assert_non_null(strstr(err.message, "a: its events were not measured"));
    assert_ok(roast_scaling_add(scaling, roast_str_of("a"), metrics, NULL, &err), err);
    finish(scaling);
    finish(scaling);
    assert_status(ROAST_ESTATE, roast_scaling_add(scaling, roast_str_of("b"), metrics, NULL, &err));
    roast_metrics_free(metrics);
    roast_metrics_free(without);
    roast_scaling_free(scaling);
    roast_scaling_free(NULL);
    assert_string_equal("usl", roast_law_name(ROAST_LAW_usl));
    assert_string_equal("unknown", roast_law_name(ROAST_LAW_COUNT));
    assert_string_equal("Amdahl's law", roast_law_label(ROAST_LAW_amdahl));
    assert_string_equal("unknown", roast_law_label(ROAST_LAW_COUNT));
    assert_string_equal("unknown", roast_scaling_kind_name(ROAST_SCALING_KINDS));
}

static roast_status walk(void *context) {
    (void)context;
    roast_scaling *scaling;
    roast_error err;
    ROAST_TRY(roast_scaling_new(&scaling, &err));
    roast_status status = ROAST_OK;
    for (int i = 1; i < 4 && status == ROAST_OK; i++)
        status = add_with_budget(scaling, i, 100, &err);
    if (status == ROAST_OK)
        status = roast_scaling_finish(scaling, &err);
    roast_sink *sink = NULL;
    if (status == ROAST_OK)
        status = roast_sink_new_count(&sink, &err);
    const double cores[] = {8};
    const roast_scaling_view view = {scaling, cores, 1};
    if (status == ROAST_OK)
        status = roast_scaling_draw(&view, 80, true, sink, &err);
    if (status == ROAST_OK)
        roast_scaling_json(&view, sink);
    if (status == ROAST_OK)
        status = roast_sink_finish(sink, &err);
    roast_sink_free(sink);
    roast_scaling_free(scaling);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk, NULL) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_part),
        cmocka_unit_test(test_crosstalk),
        cmocka_unit_test(test_better_than_perfect),
        cmocka_unit_test(test_two_sizes_predict_nothing),
        cmocka_unit_test(test_no_interval_from_too_few),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_weak),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_headline_of_many_cores),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
