#include "support.h"

#include <math.h>

#include "roast/format.h"

static void check(const char *expected, roast_value value, const char *unit) {
    char text[64];
    size_t len = roast_format_value(value, unit, text, sizeof text);
    assert_string_equal(expected, text);
    assert_int_equal(strlen(expected), len);
}

static void real(const char *expected, double value, const char *unit) {
    check(expected, roast_value_real(value), unit);
}

static void test_times(void **state) {
    (void)state;
    real("25.1 ms", 0.0251, "s");
    real("1.00 s", 1, "s");
    real("1.00 s", 0.99996, "s");
    real("999 ms", 0.999, "s");
    real("59.9 s", 59.9, "s");
    real("1.00 min", 60, "s");
    real("2.50 min", 150, "s");
    real("1.50 h", 5400, "s");
    real("12.0 µs", 12e-6, "s");
    real("3.00 ns", 3e-9, "s");
    real("0.010 ns", 1e-11, "s");
    real("0 s", 0, "s");
    real("0 s", 0, "µs");
    real("-2.00 s", -2, "s");
    real("754 ns", 0.754, "us");
    real("754 ns", 0.754, "µs");
    real("1.50 ms", 1.5, "ms");
}

static void test_bytes(void **state) {
    (void)state;
    real("1.52 MB", 1.52e6, "bytes");
    real("1.00 MB", 999999, "bytes");
    real("999 kB", 999e3, "bytes");
    check("12.0 B", roast_value_int(12), "bytes");
    real("1.50 TB", 1.5e12, "bytes");
    real("1,500 TB", 1.5e15, "bytes");
    real("-30.7 B", -30.7, "bytes");
    real("848 kB", 0.8478, "MB");
    real("1.20 GB", 1.2, "GB");
    real("12.0 MB/s", 12, "MB/s");
    real("3.00 kB/s", 3000, "bytes/s");
}

static void check_as(const char *expected, roast_value value, const char *unit, const char *shown) {
    char text[64];
    size_t len = roast_format_value_as(value, unit, shown, text, sizeof text);
    assert_string_equal(expected, text);
    assert_int_equal(strlen(expected), len);
}

static void test_in_one_unit(void **state) {
    (void)state;
    check_as("0.0123 MHz", roast_value_real(12.3), "kHz", "MHz");
    check_as("0.123 MHz", roast_value_real(123.4), "kHz", "MHz");
    check_as("0.100 MHz", roast_value_real(99.99), "kHz", "MHz");
    check_as("0.000123 MHz", roast_value_real(0.1234), "kHz", "MHz");
    check_as("-0.000100 MHz", roast_value_real(-0.09999), "kHz", "MHz");
    check_as("1.23e-07 MHz", roast_value_real(0.0001234), "kHz", "MHz");
    check_as("0 MHz", roast_value_real(0), "kHz", "MHz");
    check_as("12,300 kHz", roast_value_real(12.3e6), "Hz", "kHz");
    check_as("4.00 kHz/core", roast_value_real(4000), "Hz/core", "kHz");
    check_as("0.500 Gbps", roast_value_real(0.5), "Gbit/s", "Gbps");
    check_as("0.00200 GB", roast_value_int(2000000), "bytes", "GB");
    check_as("12.5 %", roast_value_real(0.125), "ratio", "%");
    check_as("50.0", roast_value_real(50), "×", "");
    check_as("-", roast_value_none(), "kHz", "MHz");
    check_as("-", roast_value_real(INFINITY), "kHz", "MHz");
    check_as("12.0 s", roast_value_real(12), "s", "MHz"); /* does not fit */
    check_as("7.00 %", roast_value_real(7), "%", "MHz");
}

static void test_rates(void **state) {
    (void)state;
    real("12.3 kHz", 12.3, "kHz");
    real("3.60 MHz", 3603, "kHz");
    real("250 Hz", 0.25, "kHz");
    real("12.0 Hz", 12, "Hz");
    real("1.25 Gbps", 1.25, "Gbit/s");
    real("12.3 kHz/core", 12.3, "kHz/core");
    real("0 Hz", 0, "kHz");
    real("320 kbps", 0.00032, "Gbit/s");
    real("200 Gbps", 200, "Gbit/s");
}

static void test_plain(void **state) {
    (void)state;
    check("1,234,567", roast_value_int(1234567), "1");
    check("-1,000", roast_value_int(-1000), "1");
    check("0", roast_value_int(0), "1");
    check("-9,223,372,036,854,775,808", roast_value_int(INT64_MIN), "1");
    real("0.868", 0.868, "ratio");
    real("12.3 %", 12.34, "%");
    real("1,000", 999.7, "1");
    real("20,000", 20000, "1");
    real("1.00e+06", 1e6, "1");
    real("1.00e-04", 1e-4, "ratio");
    real("4.00 ×", 4, "×");
    real("0", 0, "ratio");
}

static void test_absent(void **state) {
    (void)state;
    check("-", roast_value_none(), "s");
    real("-", NAN, "s");
    real("-", INFINITY, "bytes");
}

static void test_short_buffers(void **state) {
    (void)state;
    char text[5];
    assert_int_equal(7, roast_format_value(roast_value_real(0.0251), "s", text, sizeof text));
    assert_string_equal("25.1", text);
    assert_int_equal(7, roast_format_value(roast_value_real(0.0251), "s", NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),         cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_rates),         cmocka_unit_test(test_in_one_unit),
        cmocka_unit_test(test_plain),         cmocka_unit_test(test_absent),
        cmocka_unit_test(test_short_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
