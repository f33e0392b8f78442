/* Histograms, amounts over time and thinned lines, against plain calculations. */
#include "support.h"

#include <math.h>
#include <float.h>

#include "roast/bins.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static double next_unit(uint64_t *state) {
    return (double)next_random(state) / 2147483648.0;
}

/* ---- the range ---- */

static void test_range(void **state) {
    (void)state;
    const double values[] = {NAN, 3, INFINITY, -1, 7, -INFINITY};
    const double alike[] = {4, NAN, 4}, nothing[] = {NAN, INFINITY};
    roast_error err;
    roast_bins bins = {9, 9, 9};
    assert_ok(roast_bins_fit(values, COUNT(values), 4, &bins, &err), err);
    assert_near(-1, bins.low);
    assert_near(7, bins.high);
    for (uint32_t i = 0; i <= 4; i++)
        assert_near(-1 + 2.0 * i, roast_bins_edge(&bins, i));
    assert_near(7, roast_bins_edge(&bins, 5));
    assert_ok(roast_bins_fit(alike, COUNT(alike), 2, &bins, &err), err);
    assert_near(3.5, bins.low);
    assert_near(4.5, bins.high);
    assert_status(ROAST_ENOTFOUND, roast_bins_fit(nothing, COUNT(nothing), 2, &bins, &err));
    assert_status(ROAST_ENOTFOUND, roast_bins_fit(NULL, 0, 2, &bins, NULL));
    assert_status(ROAST_EINVAL, roast_bins_fit(values, 2, 0, &bins, &err));
    assert_status(ROAST_EINVAL, roast_bins_fit(values, 2, ROAST_MAX_BINS + 1, &bins, &err));
    assert_near(3.5, bins.low); /* written on success only */
}

static void test_find(void **state) {
    (void)state;
    const roast_bins bins = {10, 0, 1};
    assert_int_equal(0, roast_bins_find(&bins, 0));
    assert_int_equal(9, roast_bins_find(&bins, 1));
    assert_int_equal(-1, roast_bins_find(&bins, -1e-300));
    assert_int_equal(-1, roast_bins_find(&bins, 1.0000001));
    assert_int_equal(-1, roast_bins_find(&bins, NAN));
    /* A value that is an edge belongs to the bin that begins there, however the quotient is rounded. */
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(i, roast_bins_find(&bins, roast_bins_edge(&bins, i)));
        if (i > 0)
            assert_int_equal(i - 1,
                             roast_bins_find(&bins, nextafter(roast_bins_edge(&bins, i), 0)));
    }
    const roast_bins point = {3, 2, 2};
    assert_int_equal(2, roast_bins_find(&point, 2));
    const roast_bins wide = {4, -DBL_MAX, DBL_MAX};
    assert_true(roast_bins_find(&wide, 0) >= 0);
}

/* ---- counts ---- */

enum { MANY = 5000 };

static void test_counts(void **state) {
    (void)state;
    static double xs[MANY], ys[MANY];
    uint64_t seed = 3, counts[7] = {0}, cells[7 * 5] = {0}, sum = 0;
    for (size_t i = 0; i < MANY; i++) {
        xs[i] = i % 50 == 0 ? NAN : next_unit(&seed) * 10;
        ys[i] = i % 70 == 0 ? NAN : next_unit(&seed) * 3;
    }
    roast_bins x = {7, 0, 10}, y = {5, 0, 3};
    roast_bins_count(&x, xs, MANY, counts);
    roast_bins_count_pairs(&x, &y, xs, ys, MANY, cells);
    for (uint32_t column = 0; column < 7; column++) {
        uint64_t expected = 0;
        for (size_t i = 0; i < MANY; i++)
            expected += xs[i] >= roast_bins_edge(&x, column) &&
                        (xs[i] < roast_bins_edge(&x, column + 1) || (column == 6 && xs[i] == 10));
        assert_int_equal(expected, counts[column]);
        for (uint32_t row = 0; row < 5; row++) {
            expected = 0;
            for (size_t i = 0; i < MANY; i++)
                expected +=
                    roast_bins_find(&x, xs[i]) == column && roast_bins_find(&y, ys[i]) == row;
            assert_int_equal(expected, cells[row * 7 + column]);
            sum += cells[row * 7 + column];
        }
    }
    assert_true(sum > MANY * 9 / 10 && sum < MANY);
}

/* ---- amounts over time ---- */

static void test_spread(void **state) {
    (void)state;
    /* Bins of 2 s. 8 bytes over 1..5; all of a moment at 7; half of 4 bytes before the range; what is
     * absent, and rows that are not there. */
    const roast_bins bins = {4, 0, 8};
    const double starts[] = {1, 7, -1, NAN, 0, 2}, ends[] = {5, 7, 1, 3, 8, 4};
    const double amounts[] = {8, 6, 4, 9, NAN, 5};
    double rates[4] = {0};
    roast_bins_spread(&bins, NULL, 1, starts, ends, amounts, 5, rates);
    assert_near((2 + 2) / 2.0, rates[0]);
    assert_near(4 / 2.0, rates[1]);
    assert_near(2 / 2.0, rates[2]);
    assert_near(6 / 2.0, rates[3]);

    double open[3][4] = {{0}};
    const int32_t rows[] = {0, 0, 1, 1, 2, 5};
    roast_bins_spread(&bins, rows, 3, starts, ends, NULL, 6, &open[0][0]);
    const double expected[3][4] = {{0.5, 1, 0.5, 0}, {0.5, 0, 0, 0}, {1, 1, 1, 1}};
    for (int row = 0; row < 3; row++)
        for (int bin = 0; bin < 4; bin++)
            assert_near(expected[row][bin], open[row][bin]);
}

static void test_spread_keeps_the_amount(void **state) {
    (void)state;
    static double starts[MANY], ends[MANY], amounts[MANY];
    double rates[37] = {0}, total = 0, sum = 0;
    uint64_t seed = 11;
    for (size_t i = 0; i < MANY; i++) {
        starts[i] = 1.7e9 + next_unit(&seed) * 90;
        ends[i] = starts[i] + next_unit(&seed) * 10;
        amounts[i] = next_unit(&seed) * 1e6;
        total += amounts[i];
    }
    roast_bins bins = {37, 1.7e9, 1.7e9 + 100};
    roast_bins_spread(&bins, NULL, 1, starts, ends, amounts, MANY, rates);
    for (int i = 0; i < 37; i++)
        sum += rates[i] * 100 / 37;
    assert_true(fabs(sum - total) < 1e-6 * total);
}

/* ---- lanes ---- */

static void test_lanes(void **state) {
    (void)state;
    const int32_t owners[] = {1, 1, 0, 1, 1, -1, 7, 1, 0};
    const double starts[] = {0, 1, 5, 2, 3, 0, 0, NAN, 4};
    const double ends[] = {2, 4, 6, 3, 9, 9, 9, 1, 5};
    const int32_t expected[] = {0, 1, 0, 0, 0, -1, -1, -1, 0};
    int32_t lanes[COUNT(owners)];
    uint32_t counts[2];
    roast_error err;
    assert_ok(roast_bins_lanes(owners, 2, starts, ends, COUNT(owners), lanes, counts, &err), err);
    for (size_t i = 0; i < COUNT(owners); i++)
        assert_int_equal(expected[i], lanes[i]);
    assert_int_equal(1, counts[0]);
    assert_int_equal(2, counts[1]);
    assert_ok(roast_bins_lanes(owners, 2, starts, ends, 0, lanes, counts, &err), err);
    assert_int_equal(0, counts[1]);
}

static roast_status lanes_body(void *context) {
    (void)context;
    const int32_t owners[] = {0, 0};
    const double starts[] = {0, 1}, ends[] = {2, 3};
    int32_t lanes[2];
    uint32_t counts[1];
    return roast_bins_lanes(owners, 1, starts, ends, 2, lanes, counts, NULL);
}

static void test_lanes_without_memory(void **state) {
    (void)state;
    assert_int_equal(2, alloc_walk(lanes_body, NULL));
}

/* ---- fewer points ---- */

static void test_thin(void **state) {
    (void)state;
    static double xs[MANY], ys[MANY], out_xs[MANY], out_ys[MANY];
    uint64_t seed = 5;
    for (size_t i = 0; i < MANY; i++) {
        xs[i] = (double)i;
        ys[i] = next_unit(&seed);
    }
    ys[1234] = 99;
    ys[4321] = -99;
    for (size_t max = 4; max < 200; max += 7) {
        size_t n = roast_thin(xs, ys, MANY, max, out_xs, out_ys);
        bool high = false, low = false;
        assert_true(n <= max && n + 4 >= max);
        assert_near(0, out_xs[0]);
        assert_near(MANY - 1, out_xs[n - 1]);
        for (size_t i = 0; i < n; i++) {
            assert_near(ys[(size_t)out_xs[i]], out_ys[i]);
            assert_true(i == 0 || out_xs[i] > out_xs[i - 1]);
            high |= out_ys[i] == 99;
            low |= out_ys[i] == -99;
        }
        assert_true(high && low);
    }
    assert_int_equal(10, roast_thin(xs, ys, 10, 10, out_xs, out_ys));
    assert_near(ys[9], out_ys[9]);
    assert_int_equal(0, roast_thin(xs, ys, 0, 4, out_xs, out_ys));
}

static void test_thin_keeps_gaps(void **state) {
    (void)state;
    double xs[100], ys[100], out_xs[20], out_ys[20];
    for (int i = 0; i < 100; i++) {
        xs[i] = i;
        ys[i] = i >= 40 && i < 70 ? NAN : 1;
    }
    size_t n = roast_thin(xs, ys, 100, 20, out_xs, out_ys), gaps = 0;
    for (size_t i = 0; i < n; i++)
        gaps += isnan(out_ys[i]);
    assert_true(gaps >= 1 && gaps < n / 2);
}

static void test_groups(void **state) {
    (void)state;
    const double values[] = {1, 5, 3, NAN, NAN, 4, 2};
    double means[3], lows[3], highs[3];
    roast_group_ranges(values, 7, 3, means, lows, highs); /* 0..2, 2..4, 4..7 */
    assert_near(3, means[0]);
    assert_near(1, lows[0]);
    assert_near(5, highs[0]);
    assert_near(3, means[1]);
    assert_near(3, highs[1]);
    assert_near(3, means[2]);
    assert_near(2, lows[2]);
    roast_group_ranges(values + 3, 2, 1, means, lows, highs);
    assert_true(isnan(means[0]) && isnan(lows[0]) && isnan(highs[0]));

    const int32_t codes[] = {0, 2, 0, 1, 2, -1, 3};
    double sums[3] = {0};
    roast_group_sums(codes, values, 7, 3, sums);
    assert_near(4, sums[0]);
    assert_near(0, sums[1]);
    assert_near(5, sums[2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_spread_keeps_the_amount),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lanes_without_memory),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_thin_keeps_gaps),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
