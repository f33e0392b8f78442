/* Intervals against known answers: those of scipy.stats for the same numbers. */
#include "support.h"

#include <math.h>

#include "analyse/statistics/intervals.h"

static void expect(roast_interval found, double at, double low, double high) {
    if (fabs(found.at - at) > 1e-6 || fabs(found.low - low) > 1e-6 ||
        fabs(found.high - high) > 1e-6)
        fail_msg("%.8f, %.8f to %.8f", found.at, found.low, found.high);
}

static void test_known_answers(void **state) {
    (void)state;
    double few[] = {0.1012, 0.3987, -0.1741, -0.7906, -0.3547, -0.8916,
                    0.1601, 1.4402, -0.3922, -0.5205, 0.5898,  0.4569};
    double many[] = {
        -0.1473, -0.6652, -0.2146, 0.1477,  -0.8721, -0.4288, -1.1506, -0.8448, -1.1209, -0.3175,
        -0.8337, -0.0644, -0.1216, -0.2935, -1.4584, -0.4693, -0.2243, -0.1433, -0.9651, -0.4389,
        -0.6893, -0.6044, 0.3304,  -0.6038, -0.2163, 0.2422,  -0.4918, -0.2559, -0.1448, -0.1681,
        -0.8125, -0.1619, 0.4794,  -0.9736, 0.2297,  -0.1403, -0.5207, 0.8002,  0.1811,  -0.7996,
        -0.1627, 0.0883,  -0.2944, 0.1415,  -0.2333, 0.1336,  0.5193,  -0.5378, -0.0984, -0.4317,
        -0.1364, -0.7936, -0.4897, -0.2981, 0.2494,  0.3726,  -0.8618, -0.5973, 0.1235,  -1.1962};
    double a[] = {-0.4632, -0.0973, 1.2570, 0.6894, -0.3272, -0.3686, -0.2502, 1.5235, -0.4280};
    double b[] = {0.4963, 1.1526, 0.6792, 0.6027, -0.3141, 0.7885, 0.3564,
                  1.9661, 1.4531, 0.7759, 1.4684, 0.4601,  1.8521};
    double more_a[] = {-0.0054, 0.5834,  -1.2909, 0.3467,  -1.6882, -2.0353, -0.3045,
                       -0.8999, 0.1641,  2.2448,  -0.8317, -0.6239, 0.2054,  0.4930,
                       -0.1764, -0.2059, 0.7025,  0.5199,  -1.0337, -0.0792, 0.0353,
                       -1.0545, 0.2598,  -0.8580, 0.9721};
    double more_b[] = {0.4927,  0.3893,  -0.2910, 0.1814,  -1.6977, -0.8314, 0.6628,  -1.8286,
                       1.1466,  -1.4461, 1.0567,  -0.5455, 1.0790,  0.4310,  -1.2368, 1.5491,
                       1.7417,  0.2342,  0.0261,  0.1401,  -0.6752, 1.3986,  -0.2429, 0.2488,
                       -0.4933, -0.3261, -0.9777, 1.5571,  0.1459,  1.2659};
    expect(roast_welch_interval(a, 9, b, 13, 0.05), 0.73226923, 0.06148071, 1.40305775);
    expect(roast_signed_rank_interval(few, 12, 0.05), -0.03412500, -0.43760000, 0.45690000);
    expect(roast_signed_rank_interval(many, 60, 0.05), -0.32117500, -0.45280000, -0.18950000);
    expect(roast_rank_sum_interval(a, 9, b, 13, 0.05), 0.85290000, 0.01310000, 1.40280000);
    expect(roast_rank_sum_interval(more_a, 25, more_b, 30, 0.05), 0.32515000, -0.24100000,
           0.87360000);
}

static void test_distributions(void **state) {
    (void)state;
    assert_true(fabs(roast_normal_above(0.5) - 0.0000000000) < 1e-7);
    assert_true(fabs(roast_normal_above(0.025) - 1.9599639845) < 1e-7);
    assert_true(fabs(roast_normal_above(0.9) - -1.2815515655) < 1e-7);
    assert_true(fabs(roast_normal_above(1e-06) - 4.7534243088) < 1e-7);
    assert_true(fabs(roast_student_above(0.025, 1) - 12.7062047362) < 1e-7);
    assert_true(fabs(roast_student_above(0.025, 2.5) - 3.5746548420) < 1e-7);
    assert_true(fabs(roast_student_above(0.1, 30) - 1.3104150254) < 1e-7);
    assert_true(fabs(roast_student_above(0.975, 4) - -2.7764451052) < 1e-7);
    assert_true(fabs(roast_student_above(0.025, 1000) - 1.9623390808) < 1e-7);
}

/* With so few values even the most unequal ranks are not rare enough. */
static void test_too_few(void **state) {
    (void)state;
    double five[] = {1, 2, 3, 4, 5}, six[] = {1, 2, 3, 4, 5, 6}, three[] = {7, 8, 9};
    assert_true(isnan(roast_signed_rank_interval(five, 5, 0.05).low));
    assert_true(roast_signed_rank_interval(five, 5, 0.05).at == 3);
    assert_false(isnan(roast_signed_rank_interval(six, 6, 0.05).low));
    assert_true(isnan(roast_rank_sum_interval(five, 3, three, 3, 0.05).high));
    assert_true(isnan(roast_signed_rank_interval(five, 0, 0.05).at));
    assert_true(isnan(roast_rank_sum_interval(five, 0, three, 3, 0.05).at));
    assert_true(isnan(roast_welch_interval(five, 1, three, 3, 0.05).low));
    assert_true(roast_welch_interval(five, 1, three, 3, 0.05).at == 7);
    assert_true(isnan(roast_welch_interval(five, 0, three, 3, 0.05).at));
}

static void test_equal_values(void **state) {
    (void)state;
    double ones[20], twos[20];
    for (int i = 0; i < 20; i++) {
        ones[i] = 1;
        twos[i] = 2;
    }
    expect(roast_signed_rank_interval(ones, 20, 0.05), 1, 1, 1);
    expect(roast_rank_sum_interval(ones, 20, twos, 20, 0.05), 1, 1, 1);
    expect(roast_welch_interval(ones, 20, twos, 20, 0.05), 1, 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_equal_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
