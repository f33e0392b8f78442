/* The worker series as bytes, damaged ones above all, and with allocations that fail. */
#include "base/crc32c.h"
#include "base/varint.h"
#include "series_support.h"

/* ---- damage ---- */
static roast_series *small_series(void) {
    roast_error err;
    roast_series *series = new_series();
    double value[ROAST_COLUMNS];
    uint32_t a = add_worker(series, "a"), b = add_worker(series, "bb");
    assert_ok(roast_series_set_host(series, b, str("node"), &err), err);
    for (int t = 0; t < 6; t++) {
        tick(series, 1000 + t, 2);
        fill(value, t % 2 ? 1000.25 * t : NAN);
        append(series, a, value);
        if (t == 4)
            append(series, b, value);
    }
    assert_ok(roast_series_change(series, a, ROAST_WORKER_JOINED, (roast_utc){999}, 2, &err), err);
    assert_ok(roast_series_change(series, b, ROAST_WORKER_LEFT, (roast_utc){1005}, 2, &err), err);
    return series;
}

static void assert_undecodable(const void *data, size_t len) {
    roast_error err;
    roast_series *series = NULL;
    roast_error_reset(&err);
    roast_status status = roast_series_decode(data, len, &series, &err);
    if (status != ROAST_ECORRUPT && status != ROAST_EVERSION)
        fail_msg("decoding gives %s", roast_status_name(status));
    assert_null(series);
    assert_int_equal(status, err.status);
    assert_true(err.position >= 0 && err.position <= (int64_t)len);
    assert_true(err.message[0] != '\0');
}

static void test_every_truncation_is_refused(void **state) {
    (void)state;
    roast_series *series = small_series();
    roast_sink *sink = encode(series);
    roast_str bytes = roast_sink_memory(sink);
    for (size_t len = 0; len < bytes.len; len++) {
        /* A block of its own, so that a sanitizer sees a read behind the end. */
        char *copy = test_malloc(len + 1);
        memcpy(copy + 1, bytes.data, len);
        assert_undecodable(copy + 1, len);
        test_free(copy);
    }
    assert_undecodable(NULL, 0);
    roast_sink_free(sink);
    roast_series_free(series);
}

static void test_every_flipped_bit_is_refused(void **state) {
    (void)state;
    roast_series *series = small_series();
    roast_sink *sink = encode(series);
    roast_str bytes = roast_sink_memory(sink);
    char *copy = test_malloc(bytes.len);
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        memcpy(copy, bytes.data, bytes.len);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        assert_undecodable(copy, bytes.len);
    }
    test_free(copy);
    roast_sink_free(sink);
    roast_series_free(series);
}

static void test_wrong_checksum_and_version_say_so(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = small_series(), *back = NULL;
    roast_sink *sink = encode(series);
    roast_str bytes = roast_sink_memory(sink);
    char *copy = test_malloc(bytes.len);
    memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len - 1] = (char)~copy[bytes.len - 1];
    assert_status(ROAST_ECORRUPT, roast_series_decode(copy, bytes.len, &back, &err));
    assert_non_null(strstr(err.message, "checksum"));
    assert_int_equal(bytes.len - 4, err.position);
    assert_status(ROAST_ECORRUPT, roast_series_decode(copy, bytes.len, &back, NULL));

    memcpy(copy, bytes.data, bytes.len);
    copy[4] = 7;
    assert_status(ROAST_EVERSION, roast_series_decode(copy, bytes.len, &back, &err));
    assert_non_null(strstr(err.message, "version 7"));
    assert_non_null(strstr(err.message, "version 1"));
    copy[4] = 0;
    assert_status(ROAST_ECORRUPT, roast_series_decode(copy, bytes.len, &back, &err));
    copy[0] = 'r';
    assert_status(ROAST_ECORRUPT, roast_series_decode(copy, bytes.len, &back, &err));
    assert_non_null(strstr(err.message, "no worker series"));
    test_free(copy);
    roast_sink_free(sink);
    roast_series_free(series);
}

/* A buffer that is put together by hand and gets a right checksum, so that the parser behind is
 * met. */
typedef struct forged {
    uint8_t bytes[8192];
    size_t len;
} forged;

static forged forge(const char *body, size_t len) {
    forged f = {.len = 5 + len + 4};
    memcpy(f.bytes, "RCWS\1", 5);
    memcpy(f.bytes + 5, body, len);
    uint32_t crc = roast_crc32c(0, f.bytes, 5 + len);
    for (int i = 0; i < 4; i++)
        f.bytes[5 + len + (size_t)i] = (uint8_t)(crc >> 8 * i);
    return f;
}

#define HUGE_COUNT "\x80\xc8\xaf\xa0\x25"                     /* 10,000,000,000 */
#define MOST       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* 2^64 - 1 */
#define MAX_TIME   "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* zig-zag of 2^63 - 1 */

static void test_each_field_is_checked(void **state) {
    (void)state;
#define CASE(status, text, body)                                                                   \
    { status, text, body, sizeof body - 1 }
    static const struct {
        roast_status status;
        const char *text; /* in the message */
        const char *body; /* ticks, workers, joins and leaves */
        size_t len;
    } cases[] = {
        CASE(ROAST_OK, "", "\0\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", ""),
        CASE(ROAST_ECORRUPT, "number of ticks", HUGE_COUNT "\0\0"),
        CASE(ROAST_ECORRUPT, "number of ticks", MOST "\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\xff\xff"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\1\x80\x80"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\2\0\0\x80\x80"),
        CASE(ROAST_ECORRUPT, "time of a tick is out of range", "\2" MOST "\0\1\0\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\1\2\x80"),
        CASE(ROAST_ECORRUPT, "worker count of a tick is out of range", "\1\2\1\0\0"),
        CASE(ROAST_ECORRUPT, "worker count of a tick is out of range", "\1\2" MAX_TIME "\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0"),
        CASE(ROAST_ECORRUPT, "number of workers", "\0" HUGE_COUNT "\0"),
        CASE(ROAST_ECORRUPT, "number of workers", "\0\2\1w\0\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\x80\x80\x80\x80"),
        CASE(ROAST_ECORRUPT, "no name", "\0\1\0\0\0\0"),
        CASE(ROAST_ECORRUPT, "text is too long", "\0\1\x7fw\0\0\0"),
        CASE(ROAST_ECORRUPT, "text is too long", "\0\1" MOST "w\0\0\0"),
        CASE(ROAST_ECORRUPT, "twice", "\0\2\1w\0\0\1w\0\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\1w\x80\x80"),
        CASE(ROAST_ECORRUPT, "text is too long", "\0\1\1w\x09h\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\1w\0\x80"),
        CASE(ROAST_ECORRUPT, "cut short", "\0\1\1w\0\x7f\0"),
        CASE(ROAST_ECORRUPT, "a row is cut short", "\1\0\0\1\1w\0\1\0\0"),
        CASE(ROAST_OK, "", "\1\0\0\1\1w\0\2\0\0\0"),
        CASE(ROAST_ECORRUPT, "more rows", "\0\1\1w\0\2\0\0\0"),
        CASE(ROAST_ECORRUPT, "more rows", "\1\0\0\1\1w\0\4\0\0\0\0\0"),
        CASE(ROAST_ECORRUPT, "does not exist", "\1\0\0\1\1w\0\3\0\x80\x80\0"),
        CASE(ROAST_OK, "", "\2\0\0\0\0\1\1w\0\3\0\x80\1\0"),
        CASE(ROAST_ECORRUPT, "does not exist", "\1\0\0\1\1w\0\3\0\x80\1\0"),
        CASE(ROAST_ECORRUPT, "does not exist", "\1\0\0\1\1w\0\3\0\x80\0\0"),
        CASE(ROAST_ECORRUPT, "does not exist", "\1\0\0\1\1w\0\x0c\0\x80" MOST "\0"),
        CASE(ROAST_OK, "", "\1\0\0\1\1w\0\4\0\x40\xff\x7f\0"),
        CASE(ROAST_ECORRUPT, "absent columns", "\1\0\0\1\1w\0\3\0\x40\x80\0"),
        CASE(ROAST_ECORRUPT, "absent columns", "\1\0\0\1\1w\0\5\0\x40\x80\x80\1\0"),
        CASE(ROAST_ECORRUPT, "has a value", "\1\0\0\1\1w\0\4\1\x40\1\2\0"),
        CASE(ROAST_OK, "", "\1\0\0\1\1w\0\x0c\2\0" MOST "\0"),
        CASE(ROAST_ECORRUPT, "value is malformed", "\1\0\0\1\1w\0\3\2\0\x80\0"),
        CASE(ROAST_OK, "", "\1\0\0\1\1w\0\x0c\1\0" MAX_TIME "\0"),
        CASE(ROAST_ECORRUPT, "value is malformed", "\1\0\0\1\1w\0\3\1\0\x80\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\0"),
        CASE(ROAST_ECORRUPT, "number of joins and leaves", "\0\0" HUGE_COUNT),
        CASE(ROAST_ECORRUPT, "number of joins and leaves", "\0\1\1w\0\0\2\0\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\1w\0\0\1\x80\x80\x80"),
        CASE(ROAST_ECORRUPT, "unknown worker", "\0\1\1w\0\0\1\2\0\0"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\1w\0\0\1\0\x80\x80"),
        CASE(ROAST_ECORRUPT, "number is malformed", "\0\1\1w\0\0\1\0\0\x80"),
        CASE(ROAST_ECORRUPT, "threads of a worker are out", "\0\1\1w\0\0\1\0\0" HUGE_COUNT),
        CASE(ROAST_OK, "", "\0\1\1w\0\0\1\1\0\0"),
        CASE(ROAST_ECORRUPT, "behind the last value", "\0\0\0\0"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_error err;
        roast_series *series = NULL;
        roast_error_reset(&err);
        forged f = forge(cases[i].body, cases[i].len);
        roast_status status = roast_series_decode(f.bytes, f.len, &series, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].text) == NULL)
            fail_msg("case %zu (%s): %s, %s", i, cases[i].text, roast_status_name(status),
                     err.message);
        if (status == ROAST_OK)
            roast_series_free(series);
        else
            assert_true(err.position >= 5 && (size_t)err.position <= f.len);
    }
}

static void test_limits_of_texts_when_decoding(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = NULL;
    static char body[6000];
    uint8_t *at = (uint8_t *)body;
    *at++ = 0;
    *at++ = 1;
    at = roast_put_varint(at, ROAST_MAX_WORKER_NAME + 1);
    memset(at, 'w', ROAST_MAX_WORKER_NAME + 1);
    at += ROAST_MAX_WORKER_NAME + 1;
    forged f = forge(body, (size_t)(at + 3 - (uint8_t *)body));
    assert_status(ROAST_ECORRUPT, roast_series_decode(f.bytes, f.len, &series, &err));
    assert_non_null(strstr(err.message, "text is too long"));
}

static void test_too_many_workers_when_decoding(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = NULL;
    /* Enough bytes for all of them, so that only the limit can object. */
    size_t len = 5 + 1 + 3 + 4 * ((size_t)ROAST_MAX_WORKERS + 1) + 4;
    uint8_t *bytes = test_calloc(1, len);
    memcpy(bytes, "RCWS\1", 5);
    roast_put_varint(bytes + 6, ROAST_MAX_WORKERS + 1);
    uint32_t crc = roast_crc32c(0, bytes, len - 4);
    for (unsigned i = 0; i < 4; i++)
        bytes[len - 4 + i] = (uint8_t)(crc >> 8 * i);
    assert_status(ROAST_ELIMIT, roast_series_decode(bytes, len, &series, &err));
    assert_non_null(strstr(err.message, "too many workers"));
    test_free(bytes);
}

/* A decoded series is as good as the one it came from: more goes in behind. */
static void test_append_after_decode(void **state) {
    (void)state;
    roast_series *series = small_series(), *back = encode_decode(series);
    double value[ROAST_COLUMNS];
    fill(value, 31.5);
    assert_status(ROAST_ESTATE, roast_series_append(back, 0, value, NULL));
    for (int t = 0; t < 200; t++) {
        fill(value, 31.5 + t * t);
        for (uint32_t w = 0; w < 2; w++) {
            if (w == 0) {
                tick(series, 2000 + t, 2);
                tick(back, 2000 + t, 2);
            }
            append(series, w, value);
            append(back, w, value);
        }
    }
    assert_same(series, back);
    roast_series_free(back);
    roast_series_free(series);
}

static void test_encode_tells_the_failure_of_its_sink(void **state) {
    (void)state;
    roast_error err;
    roast_series *series = small_series();
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_count(&sink, &err), err);
    roast_sink_fail(sink, ROAST_EIO, "the disk is full");
    assert_status(ROAST_EIO, roast_series_encode(series, sink, &err));
    assert_non_null(strstr(err.message, "disk is full"));
    assert_status(ROAST_EIO, roast_series_encode(series, sink, NULL));
    roast_sink_free(sink);
    roast_series_free(series);
}

/* ---- failing allocations ---- */
static roast_status fill_walked(roast_series *series) {
    double value[ROAST_COLUMNS];
    for (uint32_t w = 0; w < 20; w++) {
        char name[24];
        uint32_t worker;
        snprintf(name, sizeof name, "worker-%u", w);
        ROAST_TRY(roast_series_worker(series, str(name), &worker, NULL));
        ROAST_TRY(roast_series_set_host(series, worker, str(name + 6), NULL));
        ROAST_TRY(
            roast_series_change(series, worker, ROAST_WORKER_JOINED, (roast_utc){w}, 1, NULL));
    }
    for (int t = 0; t < 12; t++) {
        ROAST_TRY(roast_series_tick(series, (roast_utc){t}, 20, NULL));
        for (uint32_t w = 0; w < 20; w++) {
            fill(value, t % 2 ? 1e15 + t : -1e15);
            uint64_t before = roast_series_sample_count(series);
            roast_status status = roast_series_append(series, w, value, NULL);
            if (status != ROAST_OK) {
                /* Nothing half done: the row is not there, and goes in later. */
                assert_int_equal(before, roast_series_sample_count(series));
                alloc_fail_stop();
                append(series, w, value);
                roast_series *back = encode_decode(series);
                assert_same(series, back);
                roast_series_free(back);
                return status;
            }
        }
    }
    return ROAST_OK;
}

static roast_status walk_append(void *context) {
    (void)context;
    roast_series *series;
    ROAST_TRY(roast_series_new(&series, NULL));
    roast_status status = fill_walked(series);
    roast_series_free(series);
    return status;
}

static roast_status walk_encode(void *context) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, NULL));
    roast_status status = roast_series_encode(context, sink, NULL);
    roast_sink_free(sink);
    return status;
}

static roast_status walk_decode(void *context) {
    roast_series *series;
    const roast_str *bytes = context;
    ROAST_TRY(roast_series_decode(bytes->data, bytes->len, &series, NULL));
    roast_series_free(series);
    return ROAST_OK;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk_append, NULL) > 15);
    roast_series *series = new_series();
    assert_int_equal(ROAST_OK, fill_walked(series));
    assert_true(alloc_walk(walk_encode, series) > 5);
    roast_sink *sink = encode(series);
    roast_str bytes = roast_sink_memory(sink);
    assert_true(alloc_walk(walk_decode, &bytes) > 10);
    roast_sink_free(sink);
    roast_series_free(series);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_every_flipped_bit_is_refused),
        cmocka_unit_test(test_wrong_checksum_and_version_say_so),
        cmocka_unit_test(test_each_field_is_checked),
        cmocka_unit_test(test_limits_of_texts_when_decoding),
        cmocka_unit_test(test_too_many_workers_when_decoding),
        cmocka_unit_test(test_append_after_decode),
        cmocka_unit_test(test_encode_tells_the_failure_of_its_sink),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
