/* The packed chunk log: nothing that a buffer says is trusted. */
#include "chunk_survivor.h"

#include "model/chunklog_internal.h"

static packed rich_bytes(void) {
    roast_chunklog *log = rich_log();
    packed bytes = pack(log);
    roast_chunklog_free(log);
    return bytes;
}

/* ---- damage that the frame or the checksum shows ---- */

static void test_truncation(void **state) {
    (void)state;
    packed bytes = rich_bytes();
    for (size_t len = 0; len < bytes.len; len++) {
        /* A block of its own for each length, so that a read beyond it is seen. */
        packed part = {malloc(len > 0 ? len : 1), len};
        assert_non_null(part.data);
        memcpy(part.data, bytes.data, len);
        assert_false(try_decode(part));
        if (len >= HEADER + TRAILER) {
            fix_checksum(part); /* and now the parts must notice */
            assert_false(try_decode(part));
        }
        free(part.data);
    }
    assert_true(try_decode(bytes));
    assert_status(ROAST_ECORRUPT, roast_chunklog_decode(NULL, 0, &(roast_chunklog *){NULL}, NULL));
    free(bytes.data);
}

static void test_every_bit(void **state) {
    (void)state;
    packed bytes = rich_bytes();
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(try_decode(bytes));
        bool newer = bit / 8 == 4 && bytes.data[4] > 3;
        assert_int_equal(newer ? ROAST_EVERSION : ROAST_ECORRUPT, refusal.status);
        if (bit / 8 >= HEADER)
            assert_non_null(strstr(refusal.message, "checksum"));
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes.data);
}

static void test_frame(void **state) {
    (void)state;
    packed bytes = rich_bytes();
    bytes.data[4] = 4;
    assert_false(try_decode(bytes));
    assert_int_equal(ROAST_EVERSION, refusal.status);
    assert_int_equal(4, refusal.position);
    assert_non_null(strstr(refusal.message, "version 4"));
    assert_non_null(strstr(refusal.message, roast_version()));
    bytes.data[4] = 0;
    fix_checksum(bytes);
    assert_false(try_decode(bytes));
    assert_int_equal(ROAST_ECORRUPT, refusal.status);
    bytes.data[4] = 2;
    bytes.data[0] = 'r';
    fix_checksum(bytes);
    assert_false(try_decode(bytes));
    assert_non_null(strstr(refusal.message, "no chunk log"));
    assert_int_equal(0, refusal.position);
    free(bytes.data);
    roast_chunklog *empty = new_log();
    bytes = pack(empty);
    assert_int_equal(HEADER + 2 + TRAILER, bytes.len);
    assert_true(try_decode(bytes));
    free(bytes.data);
    roast_chunklog_free(empty);
}

/* ---- damage behind a right checksum ---- */

static void try_byte(packed bytes, size_t at, uint8_t value, unsigned *survivors) {
    uint8_t was = bytes.data[at];
    bytes.data[at] = value;
    fix_checksum(bytes);
    *survivors += try_decode(bytes);
    bytes.data[at] = was;
}

static void test_every_byte(void **state) {
    (void)state;
    roast_chunklog *log = plain_log(3, 1, 2);
    packed small = pack(log), rich = rich_bytes();
    unsigned survivors = 0;
    for (size_t at = HEADER; at < small.len - TRAILER; at++)
        for (unsigned value = 0; value < 256; value++)
            try_byte(small, at, (uint8_t)value, &survivors);
    for (size_t at = HEADER; at < rich.len - TRAILER; at++) {
        const uint8_t was = rich.data[at];
        const uint8_t values[] = {
            0, 1, 0x7f, 0x80, 0xff, (uint8_t)(was + 1), (uint8_t)(was - 1), was ^ 0x40};
        for (size_t v = 0; v < COUNT_OF(values); v++)
            try_byte(rich, at, values[v], &survivors);
    }
    assert_true(survivors > 1000); /* letters of names, numbers: the other way is walked as well */
    free(small.data);
    free(rich.data);
    roast_chunklog_free(log);
}

static void test_random_damage(void **state) {
    (void)state;
    packed good = rich_bytes(), bad = {malloc(good.len), good.len};
    assert_non_null(bad.data);
    uint64_t random = 1;
    for (int round = 0; round < 5000; round++) {
        memcpy(bad.data, good.data, good.len);
        for (int hit = 0; hit < 1 + round % 4; hit++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            size_t at = HEADER + (size_t)(random >> 33) % (good.len - HEADER - TRAILER);
            bad.data[at] = (uint8_t)(random >> 25);
        }
        fix_checksum(bad);
        try_decode(bad);
    }
    free(good.data);
    free(bad.data);
}

/* ---- the page ---- */

static void test_page_lists_every_field(void **state) {
    (void)state;
    static char page[1 << 16];
    FILE *file = fopen("docs/format/chunk-log.md", "r");
    assert_non_null(file);
    size_t len = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    page[len] = '\0';
    const char *at = page;
    char wanted[160];
#define X(name)                                                                                    \
    snprintf(wanted, sizeof wanted, "| %d | `%s` |", ROAST_CHUNK_INDEX_##name, #name);             \
    at = strstr(at, wanted);                                                                       \
    if (at == NULL)                                                                                \
        fail_msg("the page does not say, in its place: %s", wanted);
    ROAST_CHUNK_FIELDS(X)
#undef X
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation),    cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_frame),         cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_random_damage), cmocka_unit_test(test_page_lists_every_field),
    };
    return cmocka_run_group_tests_name("chunkwire", tests, NULL, NULL);
}
