#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/number.h"
#include "render/json_writer.h"
#include "support.h"

static roast_sink *new_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* What was written, which must be sound; frees the sink. */
#define assert_written(expected, sink) assert_written_(expected, sink, __LINE__)
static void assert_written_(const char *expected, roast_sink *sink, int line) {
    roast_error err;
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    if (text.len != strlen(expected) || memcmp(text.data, expected, text.len) != 0)
        fail_msg("line %d: %.*s\nis not %s", line, (int)text.len, text.data, expected);
    roast_sink_free(sink);
}

/* ---- numbers ---- */

static void test_shortest_digits(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {3, "3.0"},
        {-17, "-17.0"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {1790000000.123456, "1790000000.123456"},
        {1e15, "1e+15"},
        {123456789012345, "123456789012345.0"},
        {1e22, "1e+22"},
        {1e-5, "1e-05"},
        {9007199254740993.0, "9007199254740992.0"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1.5e-323, "1.5e-323"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[ROAST_NUMBER_TEXT];
        assert_int_equal(strlen(cases[i].text), roast_number_text(cases[i].value, text));
        assert_string_equal(cases[i].text, text);
    }
}

static void test_digits_read_back(void **state) {
    (void)state;
    uint64_t bits = 88172645463325252;
    for (int i = 0; i < 20000; i++) {
        double value, back;
        char text[ROAST_NUMBER_TEXT];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        roast_number_text(value, text);
        back = strtod(text, NULL);
        if (memcmp(&value, &back, sizeof value) != 0)
            fail_msg("%s is not %.17g", text, value);
    }
}

/* ---- the writer ---- */

static void write_nested(roast_json *json) {
    roast_json_begin_object(json);
    roast_json_key(json, "a");
    roast_json_int(json, -5);
    roast_json_key(json, "list");
    roast_json_begin_array(json);
    roast_json_begin_object(json);
    roast_json_key(json, "x");
    roast_json_real(json, 0.5);
    roast_json_key(json, "y");
    roast_json_begin_array(json);
    roast_json_bool(json, true);
    roast_json_null(json);
    roast_json_end_array(json);
    roast_json_end_object(json);
    roast_json_uint(json, UINT64_MAX);
    roast_json_end_array(json);
    roast_json_key(json, "none");
    roast_json_begin_object(json);
    roast_json_end_object(json);
    roast_json_end_object(json);
    roast_json_end(json);
}

static void test_lines_down_to_a_level(void **state) {
    (void)state;
    static const char *const expected[] = {
        "{\"a\":-5,\"list\":[{\"x\":0.5,\"y\":[true,null]},18446744073709551615],\"none\":{}}\n",
        "{\n  \"a\": -5,\n  \"list\": [{\"x\": 0.5, \"y\": [true, null]}, 18446744073709551615],\n"
        "  \"none\": {}\n}\n",
        "{\n  \"a\": -5,\n  \"list\": [\n    {\"x\": 0.5, \"y\": [true, null]},\n"
        "    18446744073709551615\n  ],\n  \"none\": {}\n}\n",
    };
    for (unsigned open = 0; open < 3; open++) {
        roast_sink *sink = new_sink();
        roast_json json;
        roast_json_init(&json, sink, open);
        write_nested(&json);
        assert_written(expected[open], sink);
    }
}

static void test_texts_are_escaped(void **state) {
    (void)state;
    static const char text[] = "\"\\/\b\f\n\r\t\x01\x1f\x7f\0\xc2\x9b\xe2\x80\xaeü€😀";
    roast_sink *sink = new_sink();
    roast_json json;
    roast_json_init(&json, sink, 0);
    roast_json_str(&json, (roast_str){text, sizeof text - 1});
    assert_written("\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000\\u009b\\u202eü€😀\"",
                   sink);
}

static void test_broken_utf8_is_replaced(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xc3", "\"\xef\xbf\xbd\""},                                 /* cut */
        {"\xe2\x82x", "\"\xef\xbf\xbdx\""},                           /* one character was begun */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* too long a form */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_sink *sink = new_sink();
        roast_json json;
        roast_json_init(&json, sink, 0);
        roast_json_str(&json, roast_str_of(cases[i].text));
        assert_written(cases[i].expected, sink);
    }
}

static void test_numbers_that_are_none(void **state) {
    (void)state;
    roast_sink *sink = new_sink();
    roast_json json;
    roast_json_init(&json, sink, 0);
    roast_json_begin_array(&json);
    roast_json_real(&json, NAN);
    roast_json_real(&json, INFINITY);
    roast_json_real(&json, -INFINITY);
    roast_json_str(&json, roast_str_of(NULL));
    roast_json_end_array(&json);
    assert_written("[null,null,null,null]", sink);
}

static void test_points_in_time(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "\"1970-01-01T00:00:00+00:00\""},
        {INT64_C(1709210096000000000), "\"2024-02-29T12:34:56+00:00\""},
        {INT64_C(1709210096120000000), "\"2024-02-29T12:34:56.120000+00:00\""},
        {INT64_C(1709210096000000001), "\"2024-02-29T12:34:56.000000001+00:00\""},
        {-1, "\"1969-12-31T23:59:59.999999999+00:00\""},
        {INT64_MIN, "\"1677-09-21T00:12:43.145224192+00:00\""},
        {INT64_MAX, "\"2262-04-11T23:47:16.854775807+00:00\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_sink *sink = new_sink();
        roast_json json;
        roast_json_init(&json, sink, 0);
        roast_json_time(&json, (roast_utc){cases[i].ns});
        assert_written(cases[i].text, sink);
    }
}

static void test_members_that_may_be_absent(void **state) {
    (void)state;
    roast_sink *sink = new_sink();
    roast_json json;
    roast_json_init(&json, sink, 0);
    roast_json_begin_object(&json);
    roast_json_put_value(&json, "none", roast_value_none());
    roast_json_put_value(&json, "int", roast_value_int(0));
    roast_json_put_value(&json, "real", roast_value_real(2));
    roast_json_put_value(&json, "endless", roast_value_real(INFINITY));
    roast_json_put_real(&json, "nan", NAN);
    roast_json_put_real(&json, "half", 0.5);
    roast_json_put_str(&json, "absent", roast_str_of(NULL));
    roast_json_put_str(&json, "empty", roast_str_of(""));
    roast_json_put_text(&json, "nothing", NULL);
    roast_json_put_text(&json, "text", "t");
    roast_json_put_count(&json, "unknown", -1);
    roast_json_put_count(&json, "zero", 0);
    roast_json_put_int(&json, "below", -1);
    roast_json_put_object(&json, "object");
    roast_json_put_array(&json, "array");
    roast_json_end_array(&json);
    roast_json_end_object(&json);
    roast_json_key_str(&json, roast_str_of("ö"));
    roast_json_str(&json, roast_str_of("last"));
    roast_json_end_object(&json);
    assert_written("{\"int\":0,\"real\":2.0,\"half\":0.5,\"empty\":\"\",\"text\":\"t\",\"zero\":0,"
                   "\"below\":-1,\"object\":{\"array\":[]},\"ö\":\"last\"}",
                   sink);
}

static void test_depth_has_an_end(void **state) {
    (void)state;
    roast_sink *sink = new_sink();
    roast_error err;
    roast_json json;
    roast_json_init(&json, sink, 0);
    for (unsigned i = 0; i < ROAST_JSON_DEPTH; i++)
        roast_json_begin_array(&json);
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_json_begin_object(&json);
    assert_status(ROAST_ELIMIT, roast_sink_finish(sink, &err));
    roast_sink_free(sink);
    sink = new_sink();
    roast_json_init(&json, sink, 0);
    roast_json_end_array(&json);
    assert_status(ROAST_ESTATE, roast_sink_finish(sink, &err));
    roast_sink_free(sink);
}

/* ---- JSON inside JSON ---- */

static const char *const good[] = {
    "0",
    "-0.5e+10",
    "1E5",
    "\"\"",
    "\"\\u00e4\\n\\\"\\/\"",
    "null",
    "true",
    "false",
    "[]",
    " [ ] ",
    "{}",
    "{ }",
    "[1, [2, {\"a\": [], \"b\": {}}], \"x\"]",
    "{\"a\":{\"b\":[{}]},\"c\":1}",
    "[[[]]]",
    "\"ü€😀\"",
};

static const char *const bad[] = {
    "",      " ",        "nul",        "nulll",     "01",      "1.",      ".5",        "+1",
    "1e",    "1e+",      "-",          "\"",        "\"\\x\"", "\"\\u12", "\"\n\"",    "[",
    "]",     "[1",       "[1,",        "[1,]",      "[,1]",    "[1 2]",   "{",         "{\"a\"}",
    "{a:1}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{1:2}",   "[1}",     "{\"a\":1]", "1 2",
    "[] []", "'a'",      "TRUE",       "\"\\",
};

/* As the writer puts it into an array. */
static void assert_raw(const char *text, size_t len, const char *expected) {
    roast_sink *sink = new_sink();
    roast_json json;
    roast_json_init(&json, sink, 0);
    roast_json_begin_array(&json);
    roast_json_raw(&json, (roast_str){text, len});
    roast_json_end_array(&json);
    assert_written(expected, sink);
}

/* The text went out as it is, or as a string. */
static bool is_taken_for_json(const char *text, size_t len) {
    roast_sink *sink = new_sink();
    roast_json json;
    roast_json_init(&json, sink, 0);
    roast_json_raw(&json, (roast_str){text, len});
    roast_str written = roast_sink_memory(sink);
    bool same = written.len == len && memcmp(written.data, text, len) == 0;
    json_t *value = json_loadb(written.data, written.len,
                               JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    assert_non_null(value); /* whatever it was, it is JSON now */
    assert_true(same || json_is_string(value));
    json_decref(value);
    roast_sink_free(sink);
    return same;
}

static void test_what_is_json(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!is_taken_for_json(good[i], strlen(good[i])))
            fail_msg("%s is JSON", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (is_taken_for_json(bad[i], strlen(bad[i])))
            fail_msg("%s is no JSON", bad[i]);
    assert_false(is_taken_for_json("1\0", 2));
    assert_true(is_taken_for_json("123456789012345678901234567890",
                                  30)); /* Python's integers have no end */
    assert_raw(NULL, 0, "[null]");
}

static void test_json_that_is_too_deep(void **state) {
    (void)state;
    enum { DEEP = 2000, TOO_DEEP = 200000 };
    static char text[2 * TOO_DEEP];
    memset(text, '[', TOO_DEEP);
    memset(text + TOO_DEEP, ']', TOO_DEEP);
    assert_true(is_taken_for_json(text + TOO_DEEP - DEEP, 2 * DEEP));
    assert_false(is_taken_for_json(text, 2 * TOO_DEEP));
}

/* Any one letter changed: what is left goes out as JSON, whatever it is. */
static void test_damaged_json(void **state) {
    (void)state;
    static const char original[] = "{\"a\": [1, -2.5e3, \"x\\u0041\"], \"b\": {\"c\": null}}";
    static const char letters[] = "\"\\{}[],:0-e .nut";
    char text[sizeof original];
    for (size_t i = 0; i + 1 < sizeof original; i++)
        for (size_t j = 0; j + 1 < sizeof letters; j++) {
            memcpy(text, original, sizeof original);
            text[i] = letters[j];
            json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
            assert_int_equal(value != NULL, is_taken_for_json(text, strlen(text)));
            json_decref(value);
        }
}

static void test_json_goes_into_json(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{\"a\": [1,\n2]}", "[{\"a\": [1, 2]}]"},
        {"[NaN, \"NaN\", -Infinity, Infinity]", "[[null, \"NaN\", null, null]]"},
        {"\"\xff\"", "[\"\xef\xbf\xbd\"]"},
        {"[1", "[\"[1\"]"},
        {"no \"json\"", "[\"no \\\"json\\\"\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_raw(cases[i].text, strlen(cases[i].text), cases[i].expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest_digits),
        cmocka_unit_test(test_digits_read_back),
        cmocka_unit_test(test_lines_down_to_a_level),
        cmocka_unit_test(test_texts_are_escaped),
        cmocka_unit_test(test_broken_utf8_is_replaced),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_points_in_time),
        cmocka_unit_test(test_members_that_may_be_absent),
        cmocka_unit_test(test_depth_has_an_end),
        cmocka_unit_test(test_what_is_json),
        cmocka_unit_test(test_json_that_is_too_deep),
        cmocka_unit_test(test_damaged_json),
        cmocka_unit_test(test_json_goes_into_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
