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
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
