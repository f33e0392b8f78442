/* Reading JSON member by member. */
#include "support.h"

#include <locale.h>
#include <stdlib.h>

#include "base/json_scan.h"

static roast_str str(const char *text) {
    return roast_str_of(text);
}

static void test_members(void **state) {
    (void)state;
    roast_json_scan scan =
        roast_json_scan_begin(str(" {\"a\": 1, \"b\" : \"x,}\\\"\" ,\n\"c\":{\"d\":[1,{}], "
                                  "\"e\":\"]\"},\"f\":[], \"g\":null}\n"));
    const char *const expected[][2] = {{"a", "1"},
                                       {"b", "\"x,}\\\"\""},
                                       {"c", "{\"d\":[1,{}], \"e\":\"]\"}"},
                                       {"f", "[]"},
                                       {"g", "null"}};
    roast_str key, value;
    for (size_t i = 0; i < 5; i++) {
        assert_true(roast_json_scan_member(&scan, &key, &value));
        assert_str(expected[i][0], key);
        assert_str(expected[i][1], value);
    }
    assert_false(roast_json_scan_member(&scan, &key, &value));
    assert_false(scan.failed);
    assert_false(roast_json_scan_member(&scan, &key, &value));
    assert_false(scan.failed);
}

static void test_items(void **state) {
    (void)state;
    roast_json_scan scan = roast_json_scan_begin(str("[1, \"two\", [3], {}]"));
    const char *const expected[] = {"1", "\"two\"", "[3]", "{}"};
    roast_str value;
    for (size_t i = 0; i < 4; i++) {
        assert_true(roast_json_scan_item(&scan, &value));
        assert_str(expected[i], value);
    }
    assert_false(roast_json_scan_item(&scan, &value));
    assert_false(scan.failed);
    scan = roast_json_scan_begin(str("[]"));
    assert_false(roast_json_scan_item(&scan, &value));
    assert_false(scan.failed);
}

/* Every beginning of a text ends with a failure, and none reads beyond its end. */
static void test_broken(void **state) {
    (void)state;
    static const char whole[] = "{\"a\": {\"b\": [1, \"\\\\\"]}, \"c\": \"\\u00e4\"}";
    const char *const others[] = {
        "",       "x",   "1",          "{\"a\" 1}", "{\"a\":}", "{a: 1}", "{\"a\": 1 \"b\": 2}",
        "{1: 2}", "{,}", "{\"a\": 1,}"};
    roast_str key, value;
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        char *text = malloc(len + 1); /* where a sanitizer sees a step too far */
        assert_non_null(text);
        memcpy(text, whole, len);
        text[len] = '\0';
        roast_json_scan scan = roast_json_scan_begin((roast_str){text, len});
        while (roast_json_scan_member(&scan, &key, &value))
            ;
        assert_true(scan.failed);
        free(text);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        roast_json_scan scan = roast_json_scan_begin(str(others[i]));
        while (roast_json_scan_member(&scan, &key, &value))
            ;
        assert_true(scan.failed);
    }
    assert_true(roast_json_scan_begin((roast_str){NULL, 0}).failed);
}

static void test_numbers(void **state) {
    (void)state;
    const char *const bad[] = {
        "",      "x",
        "inf",   "nan",
        "0x10",  "1.5.2",
        "1e",    "--1",
        "1e999", "9223372036854775808",
        "\"1\"", "1234567890123456789012345678901234567890123456789012345678901234567890"};
    roast_json_number number;
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* if there is one: a comma is its point */
    assert_true(roast_json_scan_number(str("-12"), &number));
    assert_true(number.whole);
    assert_int_equal(-12, number.integer);
    assert_near(-12, number.real);
    assert_true(roast_json_scan_number(str("2.5e-3"), &number));
    assert_false(number.whole);
    assert_near(0.0025, number.real);
    assert_true(roast_json_scan_number(str("1.0"), &number));
    assert_false(number.whole);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(roast_json_scan_number(str(bad[i]), &number));
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
