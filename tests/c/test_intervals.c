/* Quantiles against those of scipy.stats. */
#include "support.h"

#include <math.h>

#include "analyse/statistics/intervals.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
