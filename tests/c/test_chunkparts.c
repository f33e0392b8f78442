/* The packed chunk log, made by hand: each entry and each row as the format page has it, and not. */
#include "chunk_survivor.h"

#include "model/chunklog_internal.h"

typedef struct maker {
    uint8_t entries[1 << 17], rows[1 << 14];
    size_t entries_len, rows_len;
    uint64_t n_entries, n_rows;
} maker;

static void add_entry(maker *m, const void *bytes, size_t len) {
    m->entries_len = (size_t)(roast_put_varint(m->entries + m->entries_len, len) - m->entries);
    memcpy(m->entries + m->entries_len, bytes, len);
    m->entries_len += len;
    m->n_entries++;
}

static void add_row(maker *m, const void *bytes, size_t len) {
    m->rows_len = (size_t)(roast_put_varint(m->rows + m->rows_len, len) - m->rows);
    memcpy(m->rows + m->rows_len, bytes, len);
    m->rows_len += len;
    m->n_rows++;
}

#define ENTRY(m, ...) add_entry(m, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))
#define ROW(m, ...)   add_row(m, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))
enum { TEXT = 1, ORIGIN, FILE_, NAMES, LAYOUT, SIZES };

static bool decodes(const maker *m) {
    static uint8_t buffer[1 << 18];
    uint8_t *at = buffer;
    memcpy(at, "RCLG\3", HEADER);
    at = roast_put_varint(at + HEADER, m->n_entries);
    at = roast_put_varint(at, m->n_rows);
    memcpy(at, m->entries, m->entries_len);
    at += m->entries_len;
    memcpy(at, m->rows, m->rows_len);
    at += m->rows_len + TRAILER;
    packed bytes = {buffer, (size_t)(at - buffer)};
    fix_checksum(bytes);
    return try_decode(bytes);
}

#define TOKEN 1, 2, 3, 4, 5, 6, 7, 8

/* 1 "a", 2 a set of it, 3 a layout of it, 4 a file, 5 an origin. */
static void make_base(maker *m) {
    memset(m, 0, sizeof *m);
    ENTRY(m, TEXT, 'a');
    ENTRY(m, NAMES, 1, 1, 'a');
    ENTRY(m, LAYOUT, 1, 0, 0, 1, 'a');
    ENTRY(m, FILE_, 2, 'a', 0, 1);
    ENTRY(m, ORIGIN, TOKEN, TOKEN, 9, 1, 2, 'h', 0, 0);
}

/* An entry behind the base, which has five. */
#define ASSERT_ENTRY(good, ...)                                                                    \
    do {                                                                                           \
        static maker m_;                                                                           \
        make_base(&m_);                                                                            \
        ENTRY(&m_, __VA_ARGS__);                                                                   \
        assert_int_equal(good, decodes(&m_));                                                      \
    } while (0)

static void test_entries_by_hand(void **state) {
    (void)state;
    ASSERT_ENTRY(true, TEXT);
    ASSERT_ENTRY(true, TEXT, 'b');
    ASSERT_ENTRY(false, TEXT, 'a'); /* an entry is there once */
    ASSERT_ENTRY(false, 0);
    ASSERT_ENTRY(false, SIZES + 1);
    ASSERT_ENTRY(false, 0xff);
    ASSERT_ENTRY(true, FILE_, 0, 0, 0);
    ASSERT_ENTRY(true, FILE_, 1, 2, 'u', 3, 't', 't');
    ASSERT_ENTRY(false, FILE_, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0, 0, 2); /* a text that is not there */
    ASSERT_ENTRY(false, FILE_, 0, 4, 'u', 'u');
    ASSERT_ENTRY(false, FILE_, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
    ASSERT_ENTRY(true, NAMES, 0);
    ASSERT_ENTRY(true, NAMES, 2, 0, 1, 'b');
    ASSERT_ENTRY(false, NAMES, 1);
    ASSERT_ENTRY(false, NAMES, 1, 2, 'b');
    ASSERT_ENTRY(false, NAMES, 1, 1, 'b', 'b');
    ASSERT_ENTRY(false, NAMES, 0xff, 0xff, 0xff, 0x7f);
    ASSERT_ENTRY(true, LAYOUT, 0);
    ASSERT_ENTRY(false, LAYOUT, 1, 3, 0, 0); /* no such kind */
    ASSERT_ENTRY(false, LAYOUT, 1, 7, 0, 0);
    ASSERT_ENTRY(false, LAYOUT, 1, 8, 0, 0);
    for (uint8_t kind = 0; kind < 3; kind++) {
        ASSERT_ENTRY(true, LAYOUT, 1, kind, 0, 0);
        ASSERT_ENTRY(true, LAYOUT, 1, kind + ROAST_LAYOUT_FOLDED, 0, 0);
    }
    ASSERT_ENTRY(false, LAYOUT, 1, 0, 1, 0); /* inside itself */
    ASSERT_ENTRY(true, LAYOUT, 2, 0, 0, 0, 0, 1, 0);
    ASSERT_ENTRY(false, LAYOUT, 2, 0, 0, 0, 0, 2, 0);
    ASSERT_ENTRY(false, LAYOUT, 2, 0, 0, 0);
    ASSERT_ENTRY(false, LAYOUT, 1, 0, 0, 1);
    ASSERT_ENTRY(false, LAYOUT, 0x80, 0x80, 4); /* 65536 sections */
    ASSERT_ENTRY(true, ORIGIN, TOKEN, TOKEN, 9, 2, 0, 2, 'w', 0);
    ASSERT_ENTRY(true, ORIGIN, TOKEN, TOKEN, 9, 2, 0, 0, 2, 'j');
    ASSERT_ENTRY(false, ORIGIN, TOKEN, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0, 0);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0, 3, 'w');
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0, 0, 3, 'j');
    ASSERT_ENTRY(true, ORIGIN, TOKEN, TOKEN, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xff, 1, 0, 0, 0); /* a clock that is behind by -2^63 us */
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 1, 0, 0, 0, 0); /* a pid beyond 2^63 */
}

static void test_texts_by_hand(void **state) {
    (void)state;
    static uint8_t text[ROAST_MAX_TEXT + 2] = {TEXT};
    static maker m;
    memset(&m, 0, sizeof m);
    add_entry(&m, text, ROAST_MAX_TEXT + 1);
    assert_true(decodes(&m));
    memset(&m, 0, sizeof m);
    add_entry(&m, text, sizeof text);
    assert_false(decodes(&m));
    memset(&m, 0, sizeof m);
    add_entry(&m, text, 0);
    assert_false(decodes(&m));
}

static void test_sizes_by_hand(void **state) {
    (void)state;
    ASSERT_ENTRY(true, SIZES, 4, 2, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(true, SIZES, 4, 2, 1, 2, 3, 4, 5);
    ASSERT_ENTRY(false, SIZES, 4, 2, 0, 0, 0, 0); /* a number is missing */
    ASSERT_ENTRY(false, SIZES, 4, 2, 0, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, SIZES, 0, 2, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, SIZES, 4, 0, 0, 0, 0);
    ASSERT_ENTRY(false, SIZES, 2, 2, 0, 0, 0, 0, 0); /* names where the file should be */
    ASSERT_ENTRY(false, SIZES, 4, 4, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, SIZES, 4, 6, 0, 0, 0, 0, 0); /* itself; beyond */
    ASSERT_ENTRY(false, SIZES, 4, 7, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, SIZES);
    ASSERT_ENTRY(false, SIZES, 4, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xff, 1); /* beyond 2^63 */
}

#define ASSERT_ROW(good, ...)                                                                      \
    do {                                                                                           \
        static maker m_;                                                                           \
        make_base(&m_);                                                                            \
        ROW(&m_, __VA_ARGS__);                                                                     \
        assert_int_equal(good, decodes(&m_));                                                      \
    } while (0)
/* Origin, file, dataset, task, branches, reads and layout; sequence. */
#define FRONT 5, 4, 1, 1, 2, 2, 3, 1
/* The first field is known, and some flags. */
#define FIELD(flags) 8 | (flags), 2
/* A section of two numbers, a read of four. */
#define TAILS 0, 0, 0, 0, 0, 0
#define HASH  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff
/* Numbers of ten bytes: 2^63, 2^63 + 1, 2^64 - 1, and one beyond. */
#define TEN(low, top) low, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, top
#define ALL_ONES      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1

static void test_rows_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, FRONT, FIELD(0), TAILS);
    ASSERT_ROW(true, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* nothing is known */
    ASSERT_ROW(true, 0, 0, 0, 0, 0, 0, 0, ALL_ONES, 8, ALL_ONES);
    ASSERT_ROW(false, FRONT, FIELD(0), TAILS, 0);
    ASSERT_ROW(false, FRONT, FIELD(0), 0, 0, 0, 0, 0); /* a number is missing */
    ASSERT_ROW(false, FRONT, FIELD(0), 0, 0, 0, 0, 0, 0x80);
    ASSERT_ROW(false, FRONT, FIELD(0));
    ASSERT_ROW(false, FRONT, 8);
    ASSERT_ROW(false, FRONT);
    ASSERT_ROW(false, 5, 4, 1);
    ASSERT_ROW(false, 0x80);
    /* Each reference leads to an entry of its kind. */
    for (uint8_t ref = 0; ref < 8; ref++) {
        ASSERT_ROW(ref == 0 || ref == 5, ref, 4, 1, 1, 2, 2, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 0 || ref == 4, 5, ref, 1, 1, 2, 2, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 0 || ref == 1, 5, 4, ref, 1, 2, 2, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 0 || ref == 1, 5, 4, 1, ref, 2, 2, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 0 || ref == 2, 5, 4, 1, 1, ref, 2, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 2, 5, 4, 1, 1, 2, ref, 3, 1, FIELD(0), TAILS);
        ASSERT_ROW(ref == 3, 5, 4, 1, 1, 2, 2, ref, 1, FIELD(0), TAILS);
    }
    ASSERT_ROW(true, 5, 4, 1, 1, 2, 0, 3, 1, FIELD(0), 0, 0);
    ASSERT_ROW(true, 5, 4, 1, 1, 2, 2, 0, 1, FIELD(0), 0, 0, 0, 0);
    ASSERT_ROW(false, ALL_ONES, 4, 1, 1, 2, 2, 3, 1, FIELD(0), TAILS);
    /* The last field, and one that does not exist. */
    ASSERT_ROW(true, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 16, 5);
    ASSERT_ROW(false, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 32, 5);
    _Static_assert(ROAST_CHUNK_FIELD_COUNT + ROAST_ROW_FLAG_BITS == 40, "the two masks above");
}

static void test_long_numbers_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, FRONT, FIELD(0), ALL_ONES, ALL_ONES, 0, 0, 0, 0);
    ASSERT_ROW(false, FRONT, FIELD(0), TEN(0x80, 2), 0, 0, 0, 0, 0);
    /* In a read 2^63 is the largest. */
    ASSERT_ROW(true, FRONT, FIELD(0), 0, 0, TEN(0x80, 1), 0, 0, TEN(0x80, 1));
    ASSERT_ROW(false, FRONT, FIELD(0), 0, 0, TEN(0x81, 1), 0, 0, 0);
    ASSERT_ROW(false, FRONT, FIELD(0), 0, 0, 0, 0, 0, TEN(0x81, 1));
    /* Longer than need be, but within ten bytes. */
    ASSERT_ROW(true, FRONT, FIELD(0), 0, 0, 0, 0, 0, TEN(0x81, 0));
}

static void test_extras_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, FRONT, FIELD(1), HASH, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(1), HASH);
    ASSERT_ROW(false, FRONT, FIELD(1), 1, 2, 3);
    ASSERT_ROW(true, FRONT, FIELD(2), 1, 'E', 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(2), 1, 'E');
    ASSERT_ROW(false, FRONT, FIELD(2), 0xff, 0xff, 3);
    ASSERT_ROW(false, FRONT, FIELD(2), 1, 'E', 0, 0, TAILS);
    ASSERT_ROW(true, FRONT, FIELD(7), HASH, 1, 'E', 0, 1, 0, 0, 0, TAILS);
    ASSERT_ROW(true, FRONT, FIELD(4), 1, 0, 0, 0, TAILS);
    ASSERT_ROW(true, FRONT, FIELD(4), 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(4));
    ASSERT_ROW(false, FRONT, FIELD(4), 0, 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(4), 3, 0, 0, 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(4), 1, ROAST_SCOPES, 0, 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(4), 1, 0, ROAST_CUSTOM_KINDS, 0, TAILS);
    ASSERT_ROW(false, FRONT, FIELD(4), 1, 0, ROAST_CUSTOM_REAL, 0, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ROW(false, FRONT, FIELD(4), 1, 0, ROAST_CUSTOM_TEXT, 0, 1);
    ASSERT_ROW(false, FRONT, FIELD(4), 1, 0, ROAST_CUSTOM_TEXT, 1);
}

static void test_as_many_customs_as_allowed(void **state) {
    (void)state;
    for (unsigned extra = 0; extra < 2; extra++) {
        static maker m;
        make_base(&m);
        /* No references, sequence 0, no fields; then three bytes each, all 0: scope, kind, an empty key. */
        static uint8_t row[11 + 3 * (ROAST_MAX_CUSTOMS + 1)];
        row[8] = ROAST_ROW_CUSTOMS;
        uint8_t *at = roast_put_varint(row + 9, ROAST_MAX_CUSTOMS + extra);
        add_row(&m, row, (size_t)(at - row) + 3 * (size_t)(ROAST_MAX_CUSTOMS + extra));
        assert_int_equal(extra == 0, decodes(&m));
    }
}

static void test_counts_by_hand(void **state) {
    (void)state;
    static const uint64_t lies[] = {6, UINT64_C(10000000000), UINT32_MAX, UINT64_MAX};
    static maker m;
    make_base(&m);
    assert_true(decodes(&m));
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        make_base(&m);
        m.n_entries = lies[i];
        assert_false(decodes(&m));
        make_base(&m);
        m.n_rows = lies[i];
        assert_false(decodes(&m));
    }
    make_base(&m);
    m.n_entries--;
    assert_false(decodes(&m));
    make_base(&m);
    m.rows[m.rows_len++] = 0; /* a byte behind the last row */
    assert_false(decodes(&m));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_by_hand),
        cmocka_unit_test(test_texts_by_hand),
        cmocka_unit_test(test_sizes_by_hand),
        cmocka_unit_test(test_rows_by_hand),
        cmocka_unit_test(test_long_numbers_by_hand),
        cmocka_unit_test(test_extras_by_hand),
        cmocka_unit_test(test_as_many_customs_as_allowed),
        cmocka_unit_test(test_counts_by_hand),
    };
    return cmocka_run_group_tests_name("chunkparts", tests, NULL, NULL);
}
