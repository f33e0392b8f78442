#include <math.h>

#include "roast/spread.h"
#include "support.h"

static void assert_rates(const roast_spread *spread, const double *expected) {
    double rates[16];
    assert_true(spread->rows * spread->bins <= 16);
    roast_spread_rates(spread, rates);
    for (size_t i = 0; i < spread->rows * spread->bins; i++)
        if (!(fabs(rates[i] - expected[i]) < 1e-9))
            fail_msg("bin %zu has %g, not %g", i, rates[i], expected[i]);
}

static void test_rates(void **state) {
    (void)state;
    roast_spread spread;
    roast_error err;
    assert_ok(roast_spread_init(&spread, 2, 4, 10, 18, &err), err);
    roast_spread_add(&spread, 0, 11, 17, 12); /* from the middle of the first to that of the last */
    roast_spread_add(&spread, 1, 12.5, 13, 3);     /* inside of one */
    roast_spread_add(&spread, 1, 15, 15, 4);       /* a moment */
    roast_spread_add(&spread, 1, 17, 12, 6);       /* one that ends before it starts */
    roast_spread_add(&spread, 0, 0, 5, 2);         /* before the first bin */
    roast_spread_add(&spread, 0, 1e300, 1e301, 8); /* beyond the last one */
    roast_spread_add(&spread, 2, 11, 12, 1e9);     /* no such row */
    roast_spread_add(&spread, (size_t)-1, 11, 12, 1e9);
    roast_spread_add(&spread, 0, (double)NAN, 12, 1e9);
    roast_spread_add(&spread, 0, 11, (double)INFINITY, 1e9);
    roast_spread_add(&spread, 0, 11, 12, (double)NAN);
    assert_rates(&spread, (const double[]){2, 2, 2, 5, 0, 1.5, 2, 3});
    roast_spread_reset(&spread);
    roast_spread_reset(&spread);
}

static void test_no_bins(void **state) {
    (void)state;
    roast_spread spread;
    roast_error err;
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 0, 4, 0, 1, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 1, 0, 0, 1, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 1, 4, 1, 1, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 1, 4, 2, 1, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 1, 4, (double)NAN, 1, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, 1, 4, 0, (double)INFINITY, &err));
    assert_status(ROAST_EINVAL, roast_spread_init(&spread, SIZE_MAX, SIZE_MAX - 1, 0, 1, &err));
}

static roast_status make(void *unused) {
    (void)unused;
    roast_spread spread;
    roast_status status = roast_spread_init(&spread, 3, 5, 0, 1, NULL);
    if (status == ROAST_OK)
        roast_spread_reset(&spread);
    return status;
}

static void test_every_failing_allocation(void **state) {
    (void)state;
    assert_int_equal(2, alloc_walk(make, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_no_bins),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
