#include "support.h"

#include <math.h>

#include "metrics/format.h"

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
    real("< 0.001 ns", 1e-20, "s");
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
    check("12 B", roast_value_int(12), "bytes");
    check("8 B", roast_value_int(8), "bytes");
    check("800 B", roast_value_int(800), "bytes");
    real("8 B", 8, "bytes");
    real("2.5 B", 2.5, "bytes");
    real("< 0.1 B", 0.01, "bytes");
    real("123 B", 123.4, "bytes");
    real("1.50 TB", 1.5e12, "bytes");
    real("1,500 TB", 1.5e15, "bytes");
    real("-31 B", -30.7, "bytes");
    real("848 kB", 0.8478, "MB");
    real("1.20 GB", 1.2, "GB");
    real("12.0 MB/s", 12, "MB/s");
    real("3.00 kB/s", 3000, "bytes/s");
}

/* The values of a column, in order, up to a NaN; their texts in one string. */
static void column(const char *expected, const char *unit, const double *values) {
    char text[200] = "";
    roast_format_column all = {.unit = unit};
    for (const double *at = values; !isnan(*at); at++)
        roast_format_column_add(&all, roast_value_real(*at));
    roast_format_column_add(&all, roast_value_none());
    roast_format_column_add(&all, roast_value_real(INFINITY));
    for (const double *at = values; !isnan(*at); at++) {
        char one[40];
        size_t len = roast_format_in_column(&all, roast_value_real(*at), one, sizeof one);
        assert_int_equal(strlen(one), len);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", at == values ? "" : " | ",
                 one);
    }
    assert_string_equal(expected, text);
}
#define COLUMN(expected, unit, ...) column(expected, unit, (const double[]){__VA_ARGS__, NAN})

static void test_in_columns(void **state) {
    (void)state;
    COLUMN("12.30 s | 0.25 s | 0.03 s | 0 s", "s", 12.3, 0.25, 0.025, 0);
    COLUMN("48.20 s | < 0.01 s | > -0.01 s", "s", 48.2, 0.003, -0.003);
    COLUMN("3.00 s | 0.50 s", "s", 3, 0.5);
    COLUMN("117.0 s | 49.1 s | 1.3 s", "s", 117, 49.1, 1.32);
    COLUMN("3.00 s | 0.03 s", "s", 3, 0.025);
    COLUMN("3,000.0 ms | 5.0 ms", "s", 3, 0.005);
    COLUMN("1.42 s | 0.01 s | < 0.01 s", "s", 1.42, 7.6e-3, 45e-6);
    COLUMN("1,234.0 s | 61.0 s | 0.3 s", "s", 1234, 61, 0.3);
    COLUMN("300 min | 20 min", "s", 18000, 1200);
    COLUMN("-2.00 s | 1.00 s", "s", -2, 1);
    COLUMN("1,000 B | 8 B", "bytes", 1000, 8);
    COLUMN("12.30 MB | < 0.01 MB", "bytes", 12.3e6, 4e3);
    COLUMN("300.0 MB | 7.0 MB", "MB", 300, 7);
    COLUMN("2.00 GB | 0.30 GB", "bytes", 2e9, 0.3e9);
    COLUMN("4.00 kHz/core | 0.90 kHz/core", "Hz/core", 4000, 900);
    COLUMN("100.0 % | 0.5 % | < 0.1 %", "%", 100, 0.5, 1e-4);
    COLUMN("0 s | 0 s", "s", 0, 0);
    COLUMN("-", "s", INFINITY);
    COLUMN("1,500.0 TB | 1.0 TB", "bytes", 1.5e15, 1e12);
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
    real("38.7 Hz", 0.0387, "kHz");
    real("0.039 Hz", 0.0387, "Hz");
    real("320 kbps", 0.00032, "Gbit/s");
    real("200 Gbps", 200, "Gbit/s");
}

static void test_counts(void **state) {
    (void)state;
    real("99,999", 99999, "count");
    real("100 k", 99999.5, "count");
    real("999 k", 999499, "count");
    real("1.00 M", 999500, "count");
    real("2.00 G", 2e9, "count");
    real("12.3 G", 1.23e10, "count");
    real("-", NAN, "count");
}

static void test_plain(void **state) {
    (void)state;
    check("1,234,567", roast_value_int(1234567), "1");
    check("-1,000", roast_value_int(-1000), "1");
    check("0", roast_value_int(0), "1");
    check("-9,223,372,036,854,775,808", roast_value_int(INT64_MIN), "1");
    real("0.868", 0.868, "ratio");
    real("12.3 %", 12.34, "%");
    real("0.5 %", 0.5, "%");
    real("0.1 %", 0.05, "%");
    real("< 0.1 %", 5.88e-05, "%");
    real("> -0.1 %", -0.01, "%");
    real("100.0 %", 100, "%");
    real("0 %", 0, "%");
    check("50.0 %", roast_value_int(50), "%");
    real("1,000", 999.7, "1");
    real("4", 4, "1");
    real("4", 3.9999, "1");
    real("3.99", 3.99, "1");
    real("0.999", 0.999, "1");
    real("20,000", 20000, "1");
    real("1,000,000", 1e6, "1");
    real("1,460,000 ×", 1.46e6, "×");
    real("1,000,000,000,000,000,000", 1e300, "1");
    real("< 0.001", 1e-4, "ratio");
    real("> -0.001", -1e-4, "ratio");
    real("4.00 ×", 4, "×");
    real("0", 0, "ratio");
}

static void test_absent(void **state) {
    (void)state;
    check("-", roast_value_none(), "s");
    real("-", NAN, "s");
    real("-", INFINITY, "bytes");
}

static void in_words(const char *expected, double value, roast_short_unit unit) {
    char text[64];
    roast_format_short(value, unit, text, sizeof text);
    assert_string_equal(expected, text);
}

static void test_in_sentences(void **state) {
    (void)state;
    in_words("41 s", 41, ROAST_SHORT_TIME);
    in_words("3.2 min", 192, ROAST_SHORT_TIME);
    in_words("0 s", 0, ROAST_SHORT_TIME);
    in_words("1.5 GB", 1.5e9, ROAST_SHORT_BYTES);
    in_words("2.1", 2.1, ROAST_SHORT_RATIO);
    in_words("< 0.001", 1e-5, ROAST_SHORT_RATIO);
    in_words("73%", 0.734, ROAST_SHORT_SHARE);
    in_words("7.3%", 0.0734, ROAST_SHORT_SHARE);
    in_words("< 0.1%", 1e-5, ROAST_SHORT_SHARE);
    in_words("0%", 0, ROAST_SHORT_SHARE);
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
        cmocka_unit_test(test_times),        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_rates),        cmocka_unit_test(test_in_columns),
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_plain),
        cmocka_unit_test(test_absent),       cmocka_unit_test(test_short_buffers),
        cmocka_unit_test(test_in_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
