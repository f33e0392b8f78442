/* Statistics against two-pass calculations in a wider type. */
#include "metrics/formulas.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "roast/metrics.h"

/* A repeatable source of numbers. */
static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static double next_unit(uint64_t *state) {
    return (double)next_random(state) / 2147483648.0;
}

static void assert_close(double expected, double actual, double relative) {
    if (!(fabs(expected - actual) <= relative * fabs(expected)))
        fail_msg("expected %.17g, got %.17g", expected, actual);
}

/* ---- mean and spread ---- */

static double two_pass_std(const double *values, size_t n, long double *mean_out) {
    long double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i];
    mean /= (long double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    *mean_out = mean;
    return (double)sqrtl(squares / (long double)(n - 1));
}

enum { MANY = 10000 };
static double samples[MANY], others[MANY];

/* Small numbers on a large offset, where the sum of squares less the square of the sum has no digit
 * left. */
static void fill_samples(double offset) {
    uint64_t seed = 7;
    for (size_t i = 0; i < MANY; i++) {
        samples[i] = offset + next_unit(&seed);
        others[i] = offset * 2 + 3 * samples[i] + 0.1 * next_unit(&seed);
    }
}

static void test_stats_are_stable(void **state) {
    (void)state;
    const double offsets[] = {0, 1e9, -1e9};
    for (size_t k = 0; k < 3; k++) {
        fill_samples(offsets[k]);
        roast_stats stats = {0};
        double naive_sum = 0, naive_squares = 0;
        for (size_t i = 0; i < MANY; i++) {
            roast_stats_add(&stats, samples[i]);
            naive_sum += samples[i];
            naive_squares += samples[i] * samples[i];
        }
        long double mean;
        double std = two_pass_std(samples, MANY, &mean);
        assert_int_equal(MANY, stats.count);
        assert_close((double)mean, stats.mean, 1e-12);
        assert_close(std, roast_stats_std(&stats), 1e-6);
        if (offsets[k] != 0) { /* the test would not notice otherwise */
            double naive = (naive_squares - naive_sum * naive_sum / MANY) / (MANY - 1);
            assert_false(fabs(sqrt(fabs(naive)) - std) < 0.1 * std);
        }
    }
}

static void test_stats_extremes_and_few_values(void **state) {
    (void)state;
    roast_stats stats = {0};
    assert_near(0, roast_stats_std(&stats));
    roast_stats_add(&stats, -4);
    assert_near(-4, stats.min);
    assert_near(-4, stats.max);
    assert_near(-4, stats.mean);
    assert_near(0, roast_stats_std(&stats));
    roast_stats_add(&stats, -10);
    roast_stats_add(&stats, -1);
    assert_near(-10, stats.min);
    assert_near(-1, stats.max);
    assert_near(-5, stats.mean);
    assert_near(sqrt(21), roast_stats_std(&stats)); /* (1 + 25 + 16) / 2 */
}

/* ---- the line ---- */

static void two_pass_line(double *intercept, double *slope, double *r) {
    long double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < MANY; i++) {
        mean_x += samples[i];
        mean_y += others[i];
    }
    mean_x /= MANY;
    mean_y /= MANY;
    for (size_t i = 0; i < MANY; i++) {
        xx += (samples[i] - mean_x) * (samples[i] - mean_x);
        yy += (others[i] - mean_y) * (others[i] - mean_y);
        xy += (samples[i] - mean_x) * (others[i] - mean_y);
    }
    *slope = (double)(xy / xx);
    *intercept = (double)(mean_y - xy / xx * mean_x);
    *r = (double)(xy / sqrtl(xx * yy));
}

static void test_line_is_stable(void **state) {
    (void)state;
    const double offsets[] = {0, 1e9, -1e9};
    for (size_t k = 0; k < 3; k++) {
        fill_samples(offsets[k]);
        roast_line line = {0};
        for (size_t i = 0; i < MANY; i++)
            roast_line_add(&line, samples[i], others[i]);
        double intercept, slope, r, expected_intercept, expected_slope, expected_r;
        two_pass_line(&expected_intercept, &expected_slope, &expected_r);
        assert_true(roast_line_fit(&line, &intercept, &slope));
        assert_true(roast_line_correlation(&line, &r));
        assert_close(expected_slope, slope, 1e-6);
        assert_close(expected_r, r, 1e-6);
        assert_close(expected_intercept, intercept, 1e-5);
    }
}

static void test_line_where_it_is_not_defined(void **state) {
    (void)state;
    roast_line line = {0};
    double a = 77, b = 77;
    assert_false(roast_line_fit(&line, &a, &b));
    roast_line_add(&line, 5, 1);
    assert_false(roast_line_fit(&line, &a, &b));
    assert_false(roast_line_correlation(&line, &a));
    roast_line_add(&line, 5, 2); /* one x */
    assert_false(roast_line_fit(&line, &a, &b));
    assert_false(roast_line_correlation(&line, &a));
    roast_line flat = {0};
    roast_line_add(&flat, 1, 3);
    roast_line_add(&flat, 2, 3); /* one y: a line, but no correlation */
    assert_false(roast_line_correlation(&flat, &a));
    assert_true(a == 77 && b == 77);
    assert_true(roast_line_fit(&flat, &a, &b));
    assert_near(3, a);
    assert_near(0, b);
}

static void test_line_through_points_on_it(void **state) {
    (void)state;
    double a, b, r = 0;
    roast_line up = {0}, down = {0};
    for (int i = 0; i < 50; i++) {
        roast_line_add(&up, i, 2 + 0.1 * i);
        roast_line_add(&down, i, 2 - 0.1 * i);
    }
    assert_true(roast_line_fit(&up, &a, &b) && roast_line_correlation(&up, &r));
    assert_near(2, a);
    assert_near(0.1, b);
    assert_true(r <= 1 && r > 1 - 1e-12);
    assert_true(roast_line_correlation(&down, &r));
    assert_true(r >= -1 && r < -1 + 1e-12);
}

/* ---- quantiles ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_quantile(const double *sorted, size_t n, double q) {
    long double place = (long double)(n - 1) * q;
    size_t below = (size_t)place;
    if (below + 1 == n)
        return sorted[below];
    return (double)(sorted[below] + (sorted[below + 1] - (long double)sorted[below]) *
                                        (place - (long double)below));
}

static void expect_quantiles(const double *values, size_t n) {
    static const double wanted[] = {0.5, 0, 1, 0.99, 0.95, 0.25, 0.333, 0.5, 0.999999};
    roast_error err;
    roast_quantiles *quantiles;
    assert_ok(roast_quantiles_new(&quantiles, &err), err);
    for (size_t i = 0; i < n; i++)
        assert_ok(roast_quantiles_add(quantiles, values[i], &err), err);
    double *sorted = malloc(n * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double expected = sorted_quantile(sorted, n, wanted[i]);
        double actual = roast_quantiles_get(quantiles, wanted[i]);
        if (!(fabs(expected - actual) <= 1e-12 * fabs(expected)))
            fail_msg("q %g of %zu: expected %.17g, got %.17g", wanted[i], n, expected, actual);
    }
    free(sorted);
    roast_quantiles_free(quantiles);
}

static void test_quantiles_of_many_orders(void **state) {
    (void)state;
    uint64_t seed = 3;
    static double values[MANY];
    const size_t sizes[] = {1, 2, 3, 4, 5, 10, 101, MANY};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        for (size_t i = 0; i < n; i++)
            values[i] = next_unit(&seed) * 100 - 50;
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = (double)i;
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = (double)(n - i);
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = 4.25;
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = (double)(next_random(&seed) % 3);
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++) /* an organ pipe */
            values[i] = (double)(i < n / 2 ? i : n - i);
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++) /* all sizes of both signs */
            values[i] = ldexp(next_unit(&seed) - 0.5, (int)(next_random(&seed) % 2000) - 1000);
        expect_quantiles(values, n);
        for (size_t i = 0; i < n; i++) /* alike but for the last bits */
            values[i] = 1 + (double)(next_random(&seed) % 64) * 0x1p-52;
        expect_quantiles(values, n);
    }
}

static void test_quantiles_known_values(void **state) {
    (void)state;
    roast_error err;
    roast_quantiles *quantiles;
    assert_ok(roast_quantiles_new(&quantiles, &err), err);
    assert_true(isnan(roast_quantiles_get(quantiles, 0.5)));
    const double values[] = {40, 10, 30, 20};
    for (size_t i = 0; i < 4; i++)
        assert_ok(roast_quantiles_add(quantiles, values[i], &err), err);
    assert_near(25, roast_quantiles_get(quantiles, 0.5));
    assert_near(38.5, roast_quantiles_get(quantiles, 0.95));
    assert_near(10, roast_quantiles_get(quantiles, 0));
    assert_near(40, roast_quantiles_get(quantiles, 1));
    assert_true(isnan(roast_quantiles_get(quantiles, -0.01)));
    assert_true(isnan(roast_quantiles_get(quantiles, 1.01)));
    assert_true(isnan(roast_quantiles_get(quantiles, NAN)));
    assert_status(ROAST_EINVAL, roast_quantiles_add(quantiles, NAN, &err));
    assert_non_null(strstr(err.message, "not a number"));
    /* Adding goes on after a look, and infinite values have a place. */
    assert_ok(roast_quantiles_add(quantiles, INFINITY, &err), err);
    assert_ok(roast_quantiles_add(quantiles, INFINITY, &err), err);
    assert_near(35, roast_quantiles_get(quantiles, 0.5));
    assert_true(isinf(roast_quantiles_get(quantiles, 0.9)));
    roast_quantiles_free(quantiles);
    roast_quantiles_free(NULL);
}

static double sampled_median(uint64_t n) {
    roast_error err;
    roast_quantiles *quantiles;
    assert_ok(roast_quantiles_new(&quantiles, &err), err);
    for (uint64_t i = 0; i < n; i++)
        assert_ok(roast_quantiles_add(quantiles, (double)i, &err), err);
    double median = roast_quantiles_get(quantiles, 0.5);
    roast_quantiles_free(quantiles);
    return median;
}

static void test_quantiles_beyond_the_limit(void **state) {
    (void)state;
    assert_near((ROAST_EXACT_VALUES - 1) / 2.0, sampled_median(ROAST_EXACT_VALUES));
    const uint64_t n = 3 * (uint64_t)ROAST_EXACT_VALUES;
    double median = sampled_median(n);
    /* Drawn evenly: the spread of the median of a million out of three is below a thousandth of the
     * range, while the first million alone would give a sixth of it. */
    assert_true(fabs(median / (double)n - 0.5) < 0.005);
    assert_true(median == sampled_median(n)); /* it repeats */
}

static roast_status fill_quantiles(void *context) {
    (void)context;
    roast_error err;
    roast_quantiles *quantiles;
    ROAST_TRY(roast_quantiles_new(&quantiles, &err));
    roast_status status = ROAST_OK;
    int added = 0;
    for (; added < 1000 && status == ROAST_OK; added++)
        status = roast_quantiles_add(quantiles, added, &err);
    if (status != ROAST_OK) { /* what was there before is there still */
        assert_int_equal(ROAST_ENOMEM, err.status);
        assert_true(added == 1 || roast_quantiles_get(quantiles, 1) == added - 2);
    }
    roast_quantiles_free(quantiles);
    return status;
}

static void test_quantiles_without_memory(void **state) {
    (void)state;
    assert_true(alloc_walk(fill_quantiles, NULL) > 3);
}

/* ---- mean over time ---- */

static void test_time_average(void **state) {
    (void)state;
    roast_time_average average = {0};
    assert_true(isnan(roast_time_average_get(&average)));
    roast_time_average_add(&average, 100, 4);
    assert_near(4, roast_time_average_get(&average));
    roast_time_average_add(&average, 110, 6); /* 50 */
    assert_near(5, roast_time_average_get(&average));
    roast_time_average_add(&average, 110, 20); /* a jump takes no time */
    assert_near(5, roast_time_average_get(&average));
    roast_time_average_add(&average, 112, 20); /* 40 */
    assert_near(90 / 12.0, roast_time_average_get(&average));
    roast_time_average_add(&average, 111, 20); /* going back adds nothing */
    assert_near(90 / 12.0, roast_time_average_get(&average));
    assert_int_equal(5, average.count);
}

static void test_time_average_weighs_by_time(void **state) {
    (void)state;
    roast_time_average average = {0};
    const double times[] = {0, 1, 2, 102, 103}, values[] = {2, 2, 10, 10, 2};
    for (size_t i = 0; i < 5; i++)
        roast_time_average_add(&average, times[i], values[i]);
    assert_near((2 + 6 + 1000 + 6) / 103.0, roast_time_average_get(&average));
}

/* By numpy: polyfit([1, 2, 3, 4], [2, 3, 5, 6], 1, cov=True), the root of the last variance. */
static void test_error_of_the_intercept(void **state) {
    (void)state;
    roast_line line = {0};
    const double y[] = {2, 3, 5, 6};
    for (int i = 0; i < 2; i++)
        roast_line_add(&line, i + 1, y[i]);
    assert_true(isnan(roast_line_intercept_error(&line)));
    for (int i = 2; i < 4; i++)
        roast_line_add(&line, i + 1, y[i]);
    assert_true(fabs(roast_line_intercept_error(&line) - 0.3872983346207416) < 1e-9);
    roast_line flat = {0};
    for (int i = 0; i < 5; i++)
        roast_line_add(&flat, 7, i);
    assert_true(isnan(roast_line_intercept_error(&flat)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_of_the_intercept),
        cmocka_unit_test(test_stats_are_stable),
        cmocka_unit_test(test_stats_extremes_and_few_values),
        cmocka_unit_test(test_line_is_stable),
        cmocka_unit_test(test_line_where_it_is_not_defined),
        cmocka_unit_test(test_line_through_points_on_it),
        cmocka_unit_test(test_quantiles_of_many_orders),
        cmocka_unit_test(test_quantiles_known_values),
        cmocka_unit_test(test_quantiles_beyond_the_limit),
        cmocka_unit_test(test_quantiles_without_memory),
        cmocka_unit_test(test_time_average),
        cmocka_unit_test(test_time_average_weighs_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
