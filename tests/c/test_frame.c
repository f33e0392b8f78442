/* The frame of packed formats: what goes in comes out, and nothing else is believed. */
#include "support.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/frame.h"

static const roast_frame frame = {"test thing", {'R', 'T', 'S', 'T'}, 3};

/* The bytes of a frame, to be freed. */
static uint8_t *packed(void (*put)(roast_frame_writer *writer), size_t *len) {
    roast_sink *sink = NULL;
    roast_frame_writer writer;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_frame_begin(&writer, &frame, sink);
    put(&writer);
    assert_ok(roast_frame_finish(&writer, &err), err);
    roast_str bytes = roast_sink_memory(sink);
    uint8_t *copy = malloc(bytes.len);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.len);
    *len = bytes.len;
    roast_sink_free(sink);
    return copy;
}

static void put_everything(roast_frame_writer *writer) {
    roast_frame_put_number(writer, 300);
    roast_frame_put_signed(writer, -5);
    roast_frame_put_fixed(writer, UINT64_C(0x0102030405060708), 4);
    roast_frame_put_real(writer, -0.25);
    roast_frame_put_text(writer, roast_str_of("abc"));
    roast_frame_put_text(writer, roast_str_of(""));
    roast_frame_put_label(writer, roast_str_of("de"));
    roast_frame_put_label(writer, (roast_str){NULL, 0});
    roast_frame_put_label(writer, roast_str_of(""));
    roast_frame_put_number(writer, 2);
    roast_frame_put_bytes(writer, "xy", 2);
    roast_frame_put_bytes(writer, NULL, 0);
}

static roast_status get_everything(roast_frame_reader *reader) {
    uint64_t number = 0;
    int64_t integer = 0;
    double real = 0;
    roast_str text = {NULL, 0};
    const uint8_t *bytes = NULL;
    ROAST_TRY(roast_frame_get_number(reader, &number));
    assert_int_equal(300, number);
    ROAST_TRY(roast_frame_get_signed(reader, &integer));
    assert_int_equal(-5, integer);
    ROAST_TRY(roast_frame_get_fixed(reader, 4, &number));
    assert_int_equal(0x05060708, number);
    ROAST_TRY(roast_frame_get_real(reader, &real));
    assert_true(real == -0.25);
    ROAST_TRY(roast_frame_get_text(reader, 3, &text));
    assert_str("abc", text);
    ROAST_TRY(roast_frame_get_text(reader, 3, &text));
    assert_str("", text);
    ROAST_TRY(roast_frame_get_label(reader, 2, &text));
    assert_str("de", text);
    ROAST_TRY(roast_frame_get_label(reader, 2, &text));
    assert_null(text.data);
    ROAST_TRY(roast_frame_get_label(reader, 2, &text));
    assert_str("", text);
    ROAST_TRY(roast_frame_get_count(reader, 1, "letters", &number));
    assert_int_equal(2, number);
    ROAST_TRY(roast_frame_get_bytes(reader, 2, &bytes));
    assert_memory_equal("xy", bytes, 2);
    return roast_frame_close(reader);
}

static void test_everything_comes_back(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = packed(put_everything, &len);
    roast_frame_reader reader;
    roast_error err;
    assert_ok(roast_frame_open(&reader, &frame, bytes, len, &err), err);
    assert_ok(get_everything(&reader), err);
    free(bytes);
}

/* At each length, with a checksum that is right: the fault is found, and nothing behind the end is read. */
static void test_cut_short(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = packed(put_everything, &len);
    for (size_t cut = 0; cut < len; cut++) {
        roast_frame_reader reader;
        roast_error err;
        uint8_t *copy = malloc(cut + 1); /* exact but for the case of 0 */
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        if (cut >= ROAST_FRAME_HEADER + ROAST_FRAME_CHECKSUM) {
            uint32_t crc = roast_crc32c(0, copy, cut - ROAST_FRAME_CHECKSUM);
            for (int i = 0; i < ROAST_FRAME_CHECKSUM; i++)
                copy[cut - ROAST_FRAME_CHECKSUM + (size_t)i] = (uint8_t)(crc >> 8 * i);
            assert_ok(roast_frame_open(&reader, &frame, copy, cut, &err), err);
            assert_status(ROAST_ECORRUPT, get_everything(&reader));
            assert_non_null(strstr(err.message, "damaged test thing: "));
            assert_true(err.position >= ROAST_FRAME_HEADER && err.position <= (int64_t)cut);
        } else {
            assert_status(ROAST_ECORRUPT, roast_frame_open(&reader, &frame, copy, cut, &err));
            assert_non_null(strstr(err.message, "too few"));
            assert_int_equal(cut, err.position);
        }
        free(copy);
    }
    free(bytes);
}

static void refused(const uint8_t *bytes, size_t len, roast_status status, const char *says,
                    int64_t position) {
    roast_frame_reader reader;
    roast_error err;
    assert_status(status, roast_frame_open(&reader, &frame, bytes, len, &err));
    assert_non_null(strstr(err.message, says));
    assert_string_equal("test thing", err.where);
    assert_int_equal(position, err.position);
    assert_status(status, roast_frame_open(&reader, &frame, bytes, len, NULL));
}

static void test_refusals(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = packed(put_everything, &len);
    refused(NULL, 0, ROAST_ECORRUPT, "0 bytes are too few", 0);
    bytes[0] ^= 1;
    refused(bytes, len, ROAST_ECORRUPT, "these bytes are no test thing", 0);
    bytes[0] ^= 1;
    bytes[4] = 4;
    refused(bytes, len, ROAST_EVERSION, "version 4", 4);
    refused(bytes, len, ROAST_EVERSION, "upgrade", 4);
    refused(bytes, len, ROAST_EVERSION, roast_version(), 4);
    bytes[4] = 2;
    refused(bytes, len, ROAST_ECORRUPT, "version 2 of it was never released", 4);
    bytes[4] = 3;
    for (size_t i = ROAST_FRAME_HEADER; i < len; i++) {
        bytes[i] ^= 0x10;
        refused(bytes, len, ROAST_ECORRUPT, "checksum", (int64_t)len - ROAST_FRAME_CHECKSUM);
        bytes[i] ^= 0x10;
    }
    free(bytes);
}

static void put_bad_values(roast_frame_writer *writer) {
    roast_frame_put_number(writer, UINT64_MAX); /* as a length, a count, a number */
    roast_frame_put_number(writer, 0x80);
}

static void test_values_that_cannot_be(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = packed(put_bad_values, &len);
    roast_frame_reader reader;
    roast_error err;
    uint64_t number;
    roast_str text;
    const uint8_t *data;
    assert_ok(roast_frame_open(&reader, &frame, bytes, len, &err), err);
    const uint8_t *start = reader.at;
    assert_status(ROAST_ECORRUPT, roast_frame_get_text(&reader, SIZE_MAX, &text));
    assert_status(ROAST_ECORRUPT, roast_frame_get_label(&reader, SIZE_MAX, &text));
    assert_status(ROAST_ECORRUPT, roast_frame_get_count(&reader, 1, "the letters", &number));
    assert_non_null(strstr(err.message, "the letters (byte 5)"));
    assert_status(ROAST_ECORRUPT, roast_frame_get_bytes(&reader, 100, &data));
    assert_status(ROAST_ECORRUPT, roast_frame_get_fixed(&reader, 13, &number));
    assert_status(ROAST_ECORRUPT, roast_frame_close(&reader));
    assert_status(ROAST_ELIMIT, roast_frame_fail(&reader, ROAST_ELIMIT, "too much"));
    assert_string_equal("test thing: too much (byte 5)", err.message);
    assert_ptr_equal(start, reader.at);
    assert_ok(roast_frame_get_number(&reader, &number), err);
    assert_true(number == UINT64_MAX);
    assert_ok(roast_frame_get_number(&reader, &number), err);
    assert_ok(roast_frame_close(&reader), err);
    free(bytes);
}

/* Values that end at each place around the end of a block of the writer, and one longer than a block. */
static size_t front;

static void put_around_a_block(roast_frame_writer *writer) {
    static const char letters[3000] = {'x'};
    roast_frame_put_text(writer, (roast_str){letters, front});
    roast_frame_put_text(writer, (roast_str){letters, sizeof letters});
    roast_frame_put_number(writer, 77);
}

static void test_blocks(void **state) {
    (void)state;
    for (front = 1000; front < 1030; front++) {
        size_t len;
        uint8_t *bytes = packed(put_around_a_block, &len);
        roast_frame_reader reader;
        roast_error err;
        roast_str text;
        uint64_t number;
        assert_ok(roast_frame_open(&reader, &frame, bytes, len, &err), err);
        assert_ok(roast_frame_get_text(&reader, front, &text), err);
        assert_int_equal(front, text.len);
        assert_ok(roast_frame_get_text(&reader, 3000, &text), err);
        assert_int_equal('x', text.data[0]);
        assert_ok(roast_frame_get_number(&reader, &number), err);
        assert_int_equal(77, number);
        assert_ok(roast_frame_close(&reader), err);
        free(bytes);
    }
}

/* A text of exactly the limit is taken, a longer one is not. */
static void put_one_text(roast_frame_writer *writer) {
    roast_frame_put_text(writer, roast_str_of("four"));
}

static void test_limit_of_a_text(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = packed(put_one_text, &len);
    roast_frame_reader reader;
    roast_error err;
    roast_str text;
    assert_ok(roast_frame_open(&reader, &frame, bytes, len, &err), err);
    assert_status(ROAST_ECORRUPT, roast_frame_get_text(&reader, 3, &text));
    assert_ok(roast_frame_get_text(&reader, 4, &text), err);
    assert_str("four", text);
    free(bytes);
}

static roast_status walk(void *context) {
    (void)context;
    roast_sink *sink = NULL;
    roast_frame_writer writer;
    ROAST_TRY(roast_sink_new_memory(&sink, NULL));
    roast_frame_begin(&writer, &frame, sink);
    for (int i = 0; i < 300; i++)
        put_everything(&writer);
    roast_status status = roast_frame_finish(&writer, NULL);
    roast_sink_free(sink);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk, NULL) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_comes_back),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_values_that_cannot_be),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_limit_of_a_text),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
