/* Varints, zig-zag, CRC-32C and the string interner. */
#include "support.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/intern.h"
#include "base/varint.h"

/* ---- varint ---- */
static size_t varint_length(uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    const uint8_t *at = bytes, *end = roast_put_varint(bytes, value);
    uint64_t back = ~value;
    assert_true(roast_get_varint(&at, end, &back));
    assert_true(back == value);
    assert_ptr_equal(end, at);
    /* With any byte less it is not a number. */
    for (const uint8_t *cut = bytes; cut < end; cut++) {
        at = bytes;
        assert_false(roast_get_varint(&at, cut, &back));
        assert_true(at <= cut);
    }
    return (size_t)(end - bytes);
}

static void test_varint_boundaries(void **state) {
    (void)state;
    assert_int_equal(1, varint_length(0));
    for (unsigned bits = 1; bits < 64; bits++) {
        uint64_t power = UINT64_C(1) << bits;
        assert_int_equal((bits + 6) / 7, varint_length(power - 1));
        assert_int_equal(bits / 7 + 1, varint_length(power));
        varint_length(power + 1);
    }
    assert_int_equal(ROAST_VARINT_MAX, varint_length(UINT64_MAX));
}

static bool reads(const char *bytes, size_t len, uint64_t *value) {
    const uint8_t *at = (const uint8_t *)bytes, *end = at + len;
    bool good = roast_get_varint(&at, end, value);
    assert_true(at <= end);
    return good;
}

static void test_varint_that_is_too_long(void **state) {
    (void)state;
    uint64_t value = 0;
    assert_true(reads("\x81\x00", 2, &value)); /* longer than it need be, but a number */
    assert_int_equal(1, value);
    assert_true(reads("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &value));
    assert_true(value == UINT64_MAX);
    assert_false(reads("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &value)); /* 65 bits */
    assert_false(reads("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &value));
    assert_false(reads("", 0, &value));
}

/* Skipping ends where reading one by one ends, wherever the bytes are cut. */
static void assert_skips(const uint8_t *bytes, const uint8_t *end, uint64_t count, uint64_t limit) {
    const uint8_t *skipped = bytes, *read = bytes;
    bool good = true;
    for (uint64_t i = 0, value = 0; i < count && good; i++)
        good = roast_get_varint(&read, end, &value) && value <= limit;
    assert_int_equal(good, roast_skip_varints(&skipped, end, count, limit));
    assert_true(skipped >= bytes && skipped <= end);
    if (good)
        assert_ptr_equal(read, skipped);
}

static void test_skipping_varints(void **state) {
    (void)state;
    enum { NUMBERS = 40 };
    uint64_t random = 1;
    for (int round = 0; round < 2000; round++) {
        uint8_t bytes[NUMBERS * ROAST_VARINT_MAX], *end = bytes;
        /* Bits that a number has at most: short and long ones have neighbours of all lengths. */
        unsigned most = (unsigned)round % 65;
        for (int i = 0; i < NUMBERS; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            unsigned bits = (unsigned)(random >> 40) % (most + 1);
            end = roast_put_varint(end, bits == 0 ? 0 : random >> (64 - bits));
        }
        for (uint64_t count = 0; count <= NUMBERS + 1; count += 1 + count / 4) {
            assert_skips(bytes, end, count, UINT64_MAX);
            assert_skips(bytes, end, count, UINT64_C(1) << 63);
            assert_skips(bytes, end, count, 1000);
            assert_skips(bytes, end - (size_t)round % (size_t)(end - bytes), count, UINT64_MAX);
        }
    }
}

static void test_skipping_what_is_too_long(void **state) {
    (void)state;
    /* A number of 9, 10 or 11 bytes, with 65 bits or without, at each place of a word. */
    for (size_t before = 0; before < 17; before++)
        for (size_t len = 8; len < 13; len++)
            for (uint8_t last = 0; last < 3; last++) {
                uint8_t bytes[64] = {0};
                memset(bytes + before, 0x80, len);
                bytes[before + len - 1] = last;
                assert_skips(bytes, bytes + sizeof bytes, before + 9, UINT64_MAX);
                assert_skips(bytes, bytes + sizeof bytes, before + 9, UINT64_C(1) << 63);
            }
}

static void test_zigzag(void **state) {
    (void)state;
    const struct {
        int64_t value;
        uint64_t folded;
    } cases[] = {{0, 0},
                 {-1, 1},
                 {1, 2},
                 {-2, 3},
                 {INT64_MAX, UINT64_MAX - 1},
                 {INT64_MIN, UINT64_MAX},
                 {INT64_MIN + 1, UINT64_MAX - 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[ROAST_VARINT_MAX];
        int64_t back = 77;
        assert_true(roast_zigzag(cases[i].value) == cases[i].folded);
        assert_true(roast_unzigzag(cases[i].folded) == cases[i].value);
        const uint8_t *at = bytes, *end = roast_put_zigzag(bytes, cases[i].value);
        assert_true(roast_get_zigzag(&at, end, &back));
        assert_true(back == cases[i].value && at == end);
        at = bytes;
        assert_false(roast_get_zigzag(&at, end - 1, &back));
    }
}

/* ---- CRC-32C ---- */
static void test_crc_known_answers(void **state) {
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(0, roast_crc32c(0, NULL, 0));
    assert_int_equal(0xe3069283u, roast_crc32c(0, "123456789", 9));
    assert_int_equal(0x8a9136aau, roast_crc32c(0, bytes, 32));
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(0x62a8ab43u, roast_crc32c(0, bytes, 32));
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(0x46dd794eu, roast_crc32c(0, bytes, 32));
}

/* Bit by bit, as the definition says. */
static uint32_t slow_crc(const uint8_t *data, size_t len) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~crc;
}

static void test_crc_all_lengths_and_alignments(void **state) {
    (void)state;
    uint8_t bytes[1800 + 16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 31 + 7);
    for (size_t from = 0; from < 16; from += 1 + from / 2)
        for (size_t len = 0; len <= 1800; len++)
            assert_int_equal(slow_crc(bytes + from, len), roast_crc32c(0, bytes + from, len));
}

static void test_crc_in_pieces(void **state) {
    (void)state;
    uint8_t bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 57);
    uint32_t whole = roast_crc32c(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint32_t crc = roast_crc32c(0, bytes, cut);
        assert_int_equal(whole, roast_crc32c(crc, bytes + cut, sizeof bytes - cut));
    }
}

/* ---- interner ---- */
static uint32_t add(roast_intern *intern, const char *text) {
    uint32_t id = UINT32_MAX;
    assert_int_equal(ROAST_OK, roast_intern_add(intern, roast_str_of(text), &id));
    return id;
}

static bool has(roast_intern *intern, const char *text, uint32_t expected) {
    uint32_t id = UINT32_MAX;
    return roast_intern_find(intern, roast_str_of(text), &id) && id == expected;
}

static void test_intern_numbers(void **state) {
    (void)state;
    roast_intern intern = {0};
    uint32_t id = 5;
    assert_false(roast_intern_find(&intern, roast_str_of("a"), &id));
    assert_int_equal(5, id);
    assert_int_equal(0, add(&intern, "")); /* the empty string is one, too */
    assert_int_equal(1, add(&intern, "a"));
    assert_int_equal(2, add(&intern, "ab"));
    assert_int_equal(0, add(&intern, ""));
    assert_int_equal(1, add(&intern, "a"));
    assert_int_equal(3, intern.count);
    assert_int_equal(ROAST_OK, roast_intern_add(&intern, (roast_str){"a\0", 2}, &id));
    assert_int_equal(3, id);
    assert_int_equal(0, roast_intern_get(&intern, 0).len);
    assert_str("ab", roast_intern_get(&intern, 2));
    assert_true(has(&intern, "ab", 2));
    assert_true(has(&intern, "", 0));
    assert_false(has(&intern, "abc", 2));
    assert_true(roast_intern_memory(&intern) >=
                intern.bytes.capacity + intern.ends_capacity * sizeof(size_t));
    roast_intern_reset(&intern);
    assert_int_equal(0, intern.count);
    assert_int_equal(0, roast_intern_memory(&intern));
    roast_intern_reset(&intern);
}

static void test_intern_keys(void **state) {
    (void)state;
    roast_intern intern = {0};
    uint32_t id = 9;
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 1000; i++) {
            assert_int_equal(ROAST_OK, roast_intern_add_key(&intern, i << 54 | i, &id));
            assert_int_equal(i, id);
        }
    assert_int_equal(1000, intern.count);
    roast_intern_reset(&intern);
}

/* Nothing but the empty string: there is no byte to point at. */
static void test_intern_empty_string_alone(void **state) {
    (void)state;
    roast_intern intern = {0}, copy = {0};
    assert_int_equal(0, add(&intern, ""));
    assert_int_equal(0, add(&intern, ""));
    assert_true(has(&intern, "", 0));
    assert_int_equal(0, roast_intern_get(&intern, 0).len);
    assert_int_equal(ROAST_OK, roast_intern_copy(&intern, &copy));
    assert_true(has(&copy, "", 0));
    roast_intern_reset(&copy);
    roast_intern_reset(&intern);
}

static void test_intern_many(void **state) {
    (void)state;
    enum { MANY = 50000 };
    roast_intern intern = {0};
    char text[24];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(text, sizeof text, "string %u", i * 7919);
            assert_int_equal(i, add(&intern, text));
        }
    assert_int_equal(MANY, intern.count);
    for (uint32_t i = 0; i < MANY; i += 97) {
        snprintf(text, sizeof text, "string %u", i * 7919);
        assert_str(text, roast_intern_get(&intern, i));
        assert_true(has(&intern, text, i));
    }
    assert_false(has(&intern, "string 1", 0));
    roast_intern_reset(&intern);
}

static void test_intern_truncate(void **state) {
    (void)state;
    roast_intern intern = {0};
    add(&intern, "zero");
    add(&intern, "one");
    add(&intern, "two");
    roast_intern_truncate(&intern, 3);
    roast_intern_truncate(&intern, 9);
    assert_int_equal(3, intern.count);
    roast_intern_truncate(&intern, 1);
    assert_int_equal(1, intern.count);
    assert_int_equal(4, intern.bytes.len);
    assert_false(has(&intern, "one", 1));
    assert_true(has(&intern, "zero", 0));
    assert_int_equal(1, add(&intern, "two"));
    roast_intern_truncate(&intern, 0);
    assert_int_equal(0, add(&intern, "two"));
    roast_intern_reset(&intern);
    /* Of a table that has grown: what is left is found, what is gone is not. */
    char text[24];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++) {
            snprintf(text, sizeof text, "%u", i);
            assert_int_equal(i, add(&intern, text));
        }
    roast_intern_truncate(&intern, 333);
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%u", i);
        assert_int_equal(i < 333, has(&intern, text, i));
    }
    assert_int_equal(333, add(&intern, "new"));
    roast_intern_reset(&intern);
}

static void test_intern_copy(void **state) {
    (void)state;
    roast_intern intern = {0}, copy = {0}, empty = {0};
    add(&intern, "zero");
    add(&intern, "one");
    assert_int_equal(ROAST_OK, roast_intern_copy(&intern, &copy));
    add(&intern, "two");
    assert_int_equal(2, copy.count);
    assert_true(has(&copy, "one", 1));
    assert_int_equal(2, add(&copy, "other"));
    assert_str("two", roast_intern_get(&intern, 2));
    assert_int_equal(ROAST_OK, roast_intern_copy(&(roast_intern){0}, &empty));
    assert_int_equal(0, empty.count);
    assert_int_equal(0, add(&empty, "x"));
    roast_intern_reset(&intern);
    roast_intern_reset(&copy);
    roast_intern_reset(&empty);
}

static void test_hash_sees_every_byte(void **state) {
    (void)state;
    uint8_t bytes[32] = {0};
    for (size_t len = 1; len <= sizeof bytes; len++) {
        uint64_t before = roast_hash(bytes, len);
        assert_true(before != roast_hash(bytes, len - 1));
        for (size_t i = 0; i < len; i++) {
            bytes[i] = 1;
            assert_true(before != roast_hash(bytes, len));
            bytes[i] = 0;
        }
    }
}

static roast_status intern_words(roast_intern *intern) {
    for (unsigned i = 0; i < 100; i++) {
        char text[16];
        uint32_t id, before = intern->count;
        snprintf(text, sizeof text, "word %u", i % 60);
        roast_status status = roast_intern_add(intern, roast_str_of(text), &id);
        if (status != ROAST_OK) {
            assert_int_equal(before, intern->count);
            return status;
        }
        assert_int_equal(i % 60, id);
    }
    return ROAST_OK;
}

static roast_status walk(void *context) {
    (void)context;
    roast_intern intern = {0}, copy = {0};
    roast_status status = intern_words(&intern);
    if (status == ROAST_OK)
        status = roast_intern_copy(&intern, &copy);
    else
        roast_intern_find(&intern, roast_str_of("word 1"), &(uint32_t){0});
    roast_intern_reset(&copy);
    roast_intern_reset(&intern);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    assert_true(alloc_walk(walk, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varint_boundaries),
        cmocka_unit_test(test_varint_that_is_too_long),
        cmocka_unit_test(test_skipping_varints),
        cmocka_unit_test(test_skipping_what_is_too_long),
        cmocka_unit_test(test_zigzag),
        cmocka_unit_test(test_crc_known_answers),
        cmocka_unit_test(test_crc_all_lengths_and_alignments),
        cmocka_unit_test(test_crc_in_pieces),
        cmocka_unit_test(test_intern_numbers),
        cmocka_unit_test(test_intern_keys),
        cmocka_unit_test(test_intern_empty_string_alone),
        cmocka_unit_test(test_intern_many),
        cmocka_unit_test(test_intern_truncate),
        cmocka_unit_test(test_intern_copy),
        cmocka_unit_test(test_hash_sees_every_byte),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
