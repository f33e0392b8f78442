/* The packed chunk log, made by hand: each entry and each row as the format page has it, and not. */
#include "chunk_survivor.h"

#include "model/chunklog_internal.h"

typedef struct maker {
    uint8_t entries[2048], rows[1 << 14];
    size_t entries_len, rows_len;
    uint64_t n_entries, n_rows;
} maker;

static void add_entry(maker *m, const void *bytes, size_t len) {
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
enum { STRING = 1, ORIGIN, FILE_, BRANCHES, LAYOUT, CONTEXT, FILEMETA };

static bool decodes(const maker *m) {
    uint8_t buffer[1 << 15], *at = buffer;
    memcpy(at, "RCLG\1", HEADER);
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

/* 1 "a", 2 a set of it, 3 a layout of it, 4 a file, 5 an origin; ready for a context. */
static void make_base(maker *m) {
    memset(m, 0, sizeof *m);
    ENTRY(m, STRING, 1, 'a');
    ENTRY(m, BRANCHES, 1, 1, 'a');
    ENTRY(m, LAYOUT, 1, 0, 0, 1, 'a');
    ENTRY(m, FILE_, 2, 'a', 0, 1);
    ENTRY(m, ORIGIN, TOKEN, TOKEN, 9, 1, 2, 'h', 0);
}

#define MASK(low) low, 0, 0, 0, 0
/* The bit of one field, whichever. */
#define BIT_AT(byte, bit) (uint8_t)((bit) / 8 == (byte) ? 1u << (bit) % 8 : 0)
#define MASK_OF(bit)      BIT_AT(0, bit), BIT_AT(1, bit), BIT_AT(2, bit), BIT_AT(3, bit), BIT_AT(4, bit)

/* An entry behind the base, which has five. */
#define ASSERT_ENTRY(good, ...)                                                                    \
    do {                                                                                           \
        maker m_;                                                                                  \
        make_base(&m_);                                                                            \
        ENTRY(&m_, __VA_ARGS__);                                                                   \
        assert_int_equal(good, decodes(&m_));                                                      \
    } while (0)

static void test_entries_by_hand(void **state) {
    (void)state;
    ASSERT_ENTRY(true, STRING, 0);
    ASSERT_ENTRY(true, STRING, 1, 'a'); /* a repeat is wasteful, not wrong */
    ASSERT_ENTRY(false, STRING);
    ASSERT_ENTRY(false, STRING, 2, 'a');
    ASSERT_ENTRY(false, STRING, 1, 'a', 'a');
    ASSERT_ENTRY(false, 0);
    ASSERT_ENTRY(false, FILEMETA + 1);
    ASSERT_ENTRY(false, 0xff);
    ASSERT_ENTRY(true, FILE_, 0, 0, 0);
    ASSERT_ENTRY(true, FILE_, 1, 2, 'u', 3, 't', 't');
    ASSERT_ENTRY(false, FILE_, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0, 0, 2); /* a text that is not there */
    ASSERT_ENTRY(false, FILE_, 0, 4, 'u', 'u');
    ASSERT_ENTRY(false, FILE_, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
    ASSERT_ENTRY(true, BRANCHES, 0);
    ASSERT_ENTRY(true, BRANCHES, 2, 0, 1, 'b');
    ASSERT_ENTRY(false, BRANCHES, 1);
    ASSERT_ENTRY(false, BRANCHES, 1, 2, 'b');
    ASSERT_ENTRY(false, BRANCHES, 1, 1, 'b', 'b');
    ASSERT_ENTRY(false, BRANCHES, 0xff, 0xff, 0xff, 0x7f);
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
    ASSERT_ENTRY(true, ORIGIN, TOKEN, TOKEN, 9, 2, 0, 2, 'w');
    ASSERT_ENTRY(false, ORIGIN, TOKEN, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0);
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 9, 0, 0, 3, 'w');
    ASSERT_ENTRY(true, ORIGIN, TOKEN, TOKEN, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xff, 1, 0, 0); /* a clock that is behind by -2^63 us */
    ASSERT_ENTRY(false, ORIGIN, TOKEN, TOKEN, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 1, 0, 0, 0); /* a pid beyond 2^63 */
}

static void test_references_by_hand(void **state) {
    (void)state;
    ASSERT_ENTRY(true, CONTEXT, 2, 2, 3, 7, MASK(3), MASK(1), MASK(0), 2, 'd', 2, 't');
    ASSERT_ENTRY(true, CONTEXT, 0, 0, 0, 0, MASK(0), MASK(0), MASK(0), 0, 0);
    /* rss_before with a rest; a rest of nothing; duration_ns has no units */
    ASSERT_ENTRY(true, CONTEXT, 0, 0, 0, 0, MASK(32), MASK(32), MASK(32), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 0, 0, 0, 0, MASK(32), MASK(0), MASK(32), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 0, 0, 0, 0, MASK(2), MASK(2), MASK(2), 0, 0);
    /* no such flag; packed, but not known; the last field, and one that does not exist */
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 3, 8, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 3, 0, MASK(1), MASK(2), MASK(0), 0, 0);
    ASSERT_ENTRY(true, CONTEXT, 0, 0, 0, 0, MASK_OF(ROAST_CHUNK_FIELD_COUNT - 1), MASK(0), MASK(0),
                 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 0, 0, 0, 0, MASK_OF(ROAST_CHUNK_FIELD_COUNT), MASK(0), MASK(0), 0,
                 0);
    /* a layout for a set, a string for one, a set for a layout; itself; beyond */
    ASSERT_ENTRY(false, CONTEXT, 3, 2, 3, 0, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 1, 3, 0, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 2, 0, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 6, 2, 3, 0, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 7, 2, 3, 0, MASK(3), MASK(1), MASK(0), 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 3, 0, MASK(3), MASK(1), MASK(0),
                 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 0x82, 0x80, 0x80, 0x80, 0x10, 2, 3, 0, MASK(3), MASK(1), MASK(0),
                 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 3, 0, MASK(3), MASK(1), MASK(0), 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 3, 0, MASK(3), MASK(1), MASK(0), 0, 0, 0);
    ASSERT_ENTRY(false, CONTEXT, 2, 2, 3, 0, MASK(3), MASK(1), 0, 0, 0, 0);
    ASSERT_ENTRY(true, FILEMETA, 4, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 1, 0, 0, 0, 0);
    ASSERT_ENTRY(true, FILEMETA, 4, 1, 2, 3, 1, 1, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 4, 1, 2, 3, 2, 1, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 4, 1, 2, 3, 1, 0, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 4, 1, 2, 3, 1, 2, 0, 0);
}

/* A row behind the base and entry 6: the first field known and packed, a section, and reads or none. */
#define ASSERT_ROW_OF(good, reads, flags, ...)                                                     \
    do {                                                                                           \
        maker m_;                                                                                  \
        make_base(&m_);                                                                            \
        ENTRY(&m_, CONTEXT, 2, reads, 3, flags, MASK(3), MASK(1), MASK(0), 0, 0);                  \
        ROW(&m_, __VA_ARGS__);                                                                     \
        assert_int_equal(good, decodes(&m_));                                                      \
    } while (0)
#define ASSERT_ROW(good, flags, ...) ASSERT_ROW_OF(good, 2, flags, __VA_ARGS__)
/* Bits, as few as a section can take. */
#define BITS 0x55, 0xaa, 0, 0xff, 0x12
/* seq; bits behind their length; a read of four numbers. */
#define BODY 1, 5, BITS, 0, 0, 0, 0
#define HASH 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff
/* Numbers of nine bytes and of ten: 2^63 - 1, 2^63, 2^63 + 1, 2^64 - 1, and one beyond. */
#define NINE          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f
#define TEN(low, top) low, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, top
#define ALL_ONES      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1

static void test_rows_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, 0, 6, 4, 5, BODY);
    ASSERT_ROW(true, 0, 6, 0, 0, BODY);
    ASSERT_ROW(false, 0, 0, 0, 0, BODY);
    ASSERT_ROW(false, 0, 6, 4, 4, BODY); /* a file where the origin should be */
    ASSERT_ROW(false, 0, 6, 5, 5, BODY);
    ASSERT_ROW(false, 0, 3, 4, 5, BODY);
    ASSERT_ROW(false, 0, 7, 4, 5, BODY);
    ASSERT_ROW(false, 0, 6, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 1, BODY);
    ASSERT_ROW(false, 0, 6, 4, 5, BODY, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, 0, 0, 0); /* a number is missing */
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, 0, 0, 0, 0x80);
    ASSERT_ROW(true, 0, 6, 4, 5, 1, 7, BITS, 0, 0, 0, 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0); /* no room for a section */
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 6, BITS);                   /* fewer than told */
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 0x85, BITS, 0, 0, 0, 0);    /* a length that goes on */
    ASSERT_ROW(false, 0, 6, 4, 5, 1, ALL_ONES, BITS, 0, 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1);
    ASSERT_ROW(false, 0, 6, 4, 5);
    ASSERT_ROW(true, 1, 6, 4, 5, BODY, HASH);
    ASSERT_ROW(false, 1, 6, 4, 5, BODY);
    ASSERT_ROW(false, 1, 6, 4, 5, BODY, HASH, 0);
    ASSERT_ROW(false, 1, 6, 4, 5, 1, 5, BITS, 0, 0, 0, HASH);
    /* The numbers must not go on into the hash. */
    ASSERT_ROW(false, 1, 6, 4, 5, 1, 5, BITS, 0, 0, 0, 0x80, HASH);
}

/* Without anything behind them the bits go to the end of the row, or to the hash. */
static void test_bits_by_hand(void **state) {
    (void)state;
    ASSERT_ROW_OF(true, 0, 0, 6, 4, 5, 1, BITS);
    ASSERT_ROW_OF(true, 0, 0, 6, 4, 5, 1, NINE, NINE, NINE, NINE, NINE, NINE);
    ASSERT_ROW_OF(true, 0, 0, 6, 4, 5, ALL_ONES, ALL_ONES, ALL_ONES, ALL_ONES, ALL_ONES);
    ASSERT_ROW_OF(false, 0, 0, 6, 4, 5, 1, 0, 0, 0, 0); /* no room for a section */
    ASSERT_ROW_OF(false, 0, 0, 6, 4, 5, 0x80);
    ASSERT_ROW_OF(false, 0, 0, 6, 4, 5);
    ASSERT_ROW_OF(true, 0, 1, 6, 4, 5, 1, BITS, HASH);
    ASSERT_ROW_OF(false, 0, 1, 6, 4, 5, 1, 0, 0, 0, 0, HASH);
    ASSERT_ROW_OF(false, 0, 1, 6, 4, 5, 0x80, HASH);
    ASSERT_ROW_OF(false, 0, 1, 6, 4, 5, HASH);
}

static void test_long_numbers_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, 0, 6, 4, 5, NINE, 5, BITS, NINE, NINE, NINE, NINE);
    ASSERT_ROW(true, 0, 6, 4, 5, ALL_ONES, 5, BITS, NINE, 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, TEN(0x80, 2), 5, BITS, 0, 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, TEN(0x80, 0x80), 1, 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, 0, TEN(0x80, 2), 0, 0);
    /* In a read 2^63 is the largest. */
    ASSERT_ROW(true, 0, 6, 4, 5, 1, 5, BITS, TEN(0x80, 1), 0, 0, TEN(0x80, 1));
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, TEN(0x81, 1), 0, 0, 0);
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, 0, 0, 0, TEN(0x81, 1));
    ASSERT_ROW(false, 0, 6, 4, 5, 1, 5, BITS, 0, 0, 0, ALL_ONES);
    /* Longer than need be, but within ten bytes. */
    ASSERT_ROW(true, 0, 6, 4, 5, 1, TEN(0x85, 0), BITS, 0, 0, 0, TEN(0x81, 0));
}

static const uint8_t *skip_slowly(const uint8_t *at, const uint8_t *end, uint64_t n,
                                  uint64_t limit) {
    uint64_t value;
    for (; n > 0; n--)
        if (!roast_get_varint(&at, end, &value) || value > limit)
            return NULL;
    return at;
}

/* Eight bytes at a time or number by number: the same, wherever numbers begin and end. */
static void test_skipping_numbers(void **state) {
    (void)state;
    uint64_t random = 1;
    unsigned skipped = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[48];
        size_t len = (size_t)round % sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* Long runs of bytes that go on, in every fourth round. */
            bool more = (random >> 33) % (round % 4 == 0 ? 16 : 3) != 0;
            bytes[i] = (uint8_t)((random >> 40 & 0x7f) % (round % 3 == 0 ? 2 : 128)) |
                       (uint8_t)(more ? 0x80 : 0);
        }
        for (uint64_t n = 0; n < 12; n++) {
            uint64_t limit = round % 2 == 0 ? UINT64_MAX : ROAST_KNOWN_MAX;
            const uint8_t *want = skip_slowly(bytes, bytes + len, n, limit);
            assert_ptr_equal(want, roast_skip_numbers(bytes, bytes + len, n, limit));
            *(want != NULL ? &skipped : &refused) += 1;
        }
    }
    assert_true(skipped > 10000 && refused > 10000);
}

static void test_extras_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, 2, 6, 4, 5, BODY, 1, 'E', 0);
    ASSERT_ROW(false, 2, 6, 4, 5, BODY, 1, 'E');
    ASSERT_ROW(false, 2, 6, 4, 5, BODY, 0xff, 0xff, 3);
    ASSERT_ROW(false, 2, 6, 4, 5, BODY, 1, 'E', 0, 0);
    ASSERT_ROW(true, 7, 6, 4, 5, BODY, 1, 'E', 0, 1, 0, 0, 0, HASH);
    ASSERT_ROW(false, 7, 6, 4, 5, BODY, 1, 'E', 0, 1, 0, 0, HASH);
    ASSERT_ROW(true, 4, 6, 4, 5, BODY, 1, 0, 0, 0);
    ASSERT_ROW(true, 4, 6, 4, 5, BODY, 0);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 0, 0);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 2, 0, 0, 0);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 1, ROAST_SCOPES, 0, 0);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 1, 0, ROAST_CUSTOM_KINDS, 0);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 1, 0, ROAST_CUSTOM_REAL, 0, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 1, 0, ROAST_CUSTOM_TEXT, 0, 1);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 1, 0, ROAST_CUSTOM_TEXT, 1);
    ASSERT_ROW(false, 4, 6, 4, 5, BODY, 0x81, 0x20); /* 4097 of them */
}

static void test_as_many_customs_as_allowed(void **state) {
    (void)state;
    for (unsigned extra = 0; extra < 2; extra++) {
        maker m;
        make_base(&m);
        ENTRY(&m, CONTEXT, 0, 0, 0, 4, MASK(0), MASK(0), MASK(0), 0, 0);
        /* Three bytes each, all 0: scope, kind, an empty key. */
        static uint8_t row[7 + 3 * (ROAST_MAX_CUSTOMS + 1)];
        row[0] = 6; /* neither file nor origin; sequence 0; no bits */
        uint8_t *at = roast_put_varint(row + 5, ROAST_MAX_CUSTOMS + extra);
        size_t len = (size_t)(at - row) + 3 * (size_t)(ROAST_MAX_CUSTOMS + extra);
        assert_true(len <= sizeof row);
        add_row(&m, row, len);
        assert_int_equal(extra == 0, decodes(&m));
    }
}

static void test_counts_by_hand(void **state) {
    (void)state;
    static const uint64_t lies[] = {6, UINT64_C(10000000000), UINT32_MAX, UINT64_MAX};
    maker m;
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
        cmocka_unit_test(test_references_by_hand),
        cmocka_unit_test(test_rows_by_hand),
        cmocka_unit_test(test_bits_by_hand),
        cmocka_unit_test(test_long_numbers_by_hand),
        cmocka_unit_test(test_skipping_numbers),
        cmocka_unit_test(test_extras_by_hand),
        cmocka_unit_test(test_as_many_customs_as_allowed),
        cmocka_unit_test(test_counts_by_hand),
    };
    return cmocka_run_group_tests_name("chunkparts", tests, NULL, NULL);
}
