/* The packed chunk log: nothing that a buffer says is trusted. */
#include "chunk_sample.h"

#include "base/crc32c.h"
#include "base/varint.h"

enum { HEADER = 5, TRAILER = 4 };

static roast_error err;

static void fix_checksum(packed bytes) {
    uint32_t crc = roast_crc32c(0, bytes.data, bytes.len - TRAILER);
    for (int i = 0; i < TRAILER; i++)
        bytes.data[bytes.len - TRAILER + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

/* Reads all there is to read; a log that decode let through must hold together. */
static void read_everything(const roast_chunklog *log) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_tail_cursor tail;
    roast_section section;
    roast_read read;
    roast_custom custom;
    roast_str name;
    roast_branch_size size;
    roast_file_cursor files;
    roast_file file;
    uint32_t n;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_chunk_sections(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_section(&tail, &section); n++)
            assert_true(section.parent < (int32_t)n && section.name.len <= ROAST_MAX_TEXT);
        assert_int_equal(chunk.n_sections, n);
        roast_chunk_branches(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_branch(&tail, &name); n++)
            assert_non_null(name.data);
        assert_int_equal(chunk.n_branches, n);
        roast_chunk_reads(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_read(&tail, &read); n++)
            assert_true(read.time_ns >= -1 && read.count >= -1);
        assert_int_equal(chunk.n_reads, n);
        roast_chunk_customs(log, &chunk, &tail);
        for (n = 0; roast_chunk_next_custom(&tail, &custom); n++)
            assert_true(custom.kind < ROAST_CUSTOM_KINDS && custom.scope < ROAST_SCOPES);
        assert_int_equal(chunk.n_customs, n);
        assert_ok(roast_chunklog_get(log, cursor.index - 1, &chunk, &err), err);
    }
    assert_int_equal(roast_chunklog_count(log), cursor.index);
    roast_file_cursor_init(&files, log);
    while (roast_file_cursor_next(&files, &file)) {
        roast_file_branches(log, &file, &tail);
        for (n = 0; roast_file_next_branch(&tail, &size); n++)
            assert_true(size.bytes >= -1);
        assert_int_equal(file.n_branches, n);
    }
}

/* A log that came through: it can be read, packed again to the same bytes, and merged. */
static void use_survivor(roast_chunklog *log, packed bytes) {
    read_everything(log);
    packed again = pack(log);
    roast_chunklog *second = unpack(again), *into = plain_log(6, 1, 1);
    assert_true(again.len <= bytes.len);
    read_everything(second);
    assert_ok(roast_chunklog_merge(into, second, true, NULL, &err), err);
    assert_ok(roast_chunklog_merge(into, log, false, NULL, &err), err);
    read_everything(into);
    free(again.data);
    roast_chunklog_free(into);
    roast_chunklog_free(second);
}

/* true if the buffer decodes; anything but a clean refusal fails. */
static bool try_decode(packed bytes) {
    roast_chunklog *log = NULL;
    roast_error_reset(&err);
    roast_status status = roast_chunklog_decode(bytes.data, bytes.len, &log, &err);
    if (status == ROAST_OK) {
        use_survivor(log, bytes);
        roast_chunklog_free(log);
        return true;
    }
    assert_true(status == ROAST_ECORRUPT || status == ROAST_EVERSION);
    assert_int_equal(status, err.status);
    assert_null(log);
    assert_true(err.position >= 0 && err.position <= (int64_t)bytes.len);
    assert_true(strlen(err.message) > 10);
    return false;
}

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
        bool newer = bit / 8 == 4 && bytes.data[4] > 1;
        assert_int_equal(newer ? ROAST_EVERSION : ROAST_ECORRUPT, err.status);
        if (bit / 8 >= HEADER)
            assert_non_null(strstr(err.message, "checksum"));
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes.data);
}

static void test_frame(void **state) {
    (void)state;
    packed bytes = rich_bytes();
    bytes.data[4] = 2;
    assert_false(try_decode(bytes));
    assert_int_equal(ROAST_EVERSION, err.status);
    assert_int_equal(4, err.position);
    assert_non_null(strstr(err.message, "version 2"));
    assert_non_null(strstr(err.message, roast_version()));
    bytes.data[4] = 0;
    fix_checksum(bytes);
    assert_false(try_decode(bytes));
    assert_int_equal(ROAST_ECORRUPT, err.status);
    bytes.data[4] = 1;
    bytes.data[0] = 'r';
    fix_checksum(bytes);
    assert_false(try_decode(bytes));
    assert_non_null(strstr(err.message, "not a chunk log"));
    assert_int_equal(0, err.position);
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

/* ---- logs made by hand ---- */

typedef struct maker {
    uint8_t lengths[256], entries[2048], rows[1 << 14];
    size_t lengths_len, entries_len, rows_len;
    uint64_t n_entries, n_rows;
} maker;

static void add_entry(maker *m, const void *bytes, size_t len) {
    m->lengths_len = (size_t)(roast_put_varint(m->lengths + m->lengths_len, len) - m->lengths);
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
    memcpy(at, m->lengths, m->lengths_len);
    at += m->lengths_len;
    memcpy(at, m->entries, m->entries_len);
    at += m->entries_len;
    memcpy(at, m->rows, m->rows_len);
    at += m->rows_len + TRAILER;
    packed bytes = {buffer, (size_t)(at - buffer)};
    fix_checksum(bytes);
    return try_decode(bytes);
}

/* 1 "a", 2 a set of it, 3 a layout of it, 4 a file, 5 an origin; ready for a context. */
static void make_base(maker *m) {
    memset(m, 0, sizeof *m);
    ENTRY(m, STRING, 'a');
    ENTRY(m, BRANCHES, 1, 1);
    ENTRY(m, LAYOUT, 1, 1, 0, 0);
    ENTRY(m, FILE_, 1, 0, 0);
    ENTRY(m, ORIGIN, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1);
}

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
    ASSERT_ENTRY(true, STRING);
    ASSERT_ENTRY(true, STRING, 'a'); /* a repeat is wasteful, not wrong */
    ASSERT_ENTRY(false, 0);
    ASSERT_ENTRY(false, FILEMETA + 1);
    ASSERT_ENTRY(false, 0xff);
    ASSERT_ENTRY(true, FILE_, 0, 0, 0);
    ASSERT_ENTRY(false, FILE_, 6, 0, 0); /* itself */
    ASSERT_ENTRY(false, FILE_, 7, 0, 0); /* beyond */
    ASSERT_ENTRY(false, FILE_, 2, 0, 0); /* not a string */
    ASSERT_ENTRY(false, FILE_, 1, 0);
    ASSERT_ENTRY(false, FILE_, 1, 0, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0);
    ASSERT_ENTRY(false, FILE_, 0x81, 0x80, 0x80, 0x80, 0x10, 0, 0); /* 1 in its low 32 bits */
    ASSERT_ENTRY(true, BRANCHES, 0);
    ASSERT_ENTRY(false, BRANCHES, 1, 0);
    ASSERT_ENTRY(false, BRANCHES, 2, 1);
    ASSERT_ENTRY(false, BRANCHES, 0xff, 0xff, 0xff, 0x7f);
    ASSERT_ENTRY(false, LAYOUT, 1, 1, 3, 0); /* no such kind */
    ASSERT_ENTRY(false, LAYOUT, 1, 1, 7, 0);
    ASSERT_ENTRY(true, LAYOUT, 1, 1, 6, 0);
    ASSERT_ENTRY(false, LAYOUT, 1, 1, 0, 1); /* inside itself */
    ASSERT_ENTRY(true, LAYOUT, 2, 1, 0, 0, 1, 0, 1);
    ASSERT_ENTRY(false, LAYOUT, 0x80, 0x80, 4); /* 65536 sections */
    ASSERT_ENTRY(false, ORIGIN, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ENTRY(false, ORIGIN, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 1);
    ASSERT_ENTRY(true, CONTEXT, 7, 3, 1, 1, 1, 2, 2, 3);
    ASSERT_ENTRY(false, CONTEXT, 8, 3, 1, 1, 1, 2, 2, 3); /* no such flag */
    ASSERT_ENTRY(false, CONTEXT, 0, 1, 2, 1, 1, 2, 2, 3); /* packed, but not known */
    ASSERT_ENTRY(false, CONTEXT, 0, 3, 1, 2, 1, 2, 2, 3);
    ASSERT_ENTRY(false, CONTEXT, 0, 3, 1, 1, 1, 3, 2, 3);
    ASSERT_ENTRY(false, CONTEXT, 0, 3, 1, 1, 1, 2, 2, 2);
    ASSERT_ENTRY(false, CONTEXT, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(true, FILEMETA, 4, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 0, 0, 0, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 1, 0, 0, 0, 0);
    ASSERT_ENTRY(true, FILEMETA, 4, 1, 2, 3, 1, 1, 0, 0);
    ASSERT_ENTRY(false, FILEMETA, 4, 1, 2, 3, 2, 1, 0, 0);
}

/* A row behind the base and entry 6: the first field known and packed, sections and reads. */
#define ASSERT_ROW(good, flags, ...)                                                               \
    do {                                                                                           \
        maker m_;                                                                                  \
        make_base(&m_);                                                                            \
        ENTRY(&m_, CONTEXT, flags, 3, 1, 1, 1, 2, 2, 3);                                           \
        ROW(&m_, __VA_ARGS__);                                                                     \
        assert_int_equal(good, decodes(&m_));                                                      \
    } while (0)
/* seq, the field; a section of two numbers; a read of four. */
#define BODY 1, 5, 2, 0, 0, 4, 0, 0, 0, 0

static void test_rows_by_hand(void **state) {
    (void)state;
    ASSERT_ROW(true, 0, 5, 4, 6, BODY);
    ASSERT_ROW(true, 0, 0, 0, 6, BODY);
    ASSERT_ROW(false, 0, 0, 0, 0, BODY);
    ASSERT_ROW(false, 0, 4, 4, 6, BODY); /* a file where the origin should be */
    ASSERT_ROW(false, 0, 5, 5, 6, BODY);
    ASSERT_ROW(false, 0, 5, 4, 3, BODY);
    ASSERT_ROW(false, 0, 5, 4, 7, BODY);
    ASSERT_ROW(false, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 4, 6, BODY);
    ASSERT_ROW(false, 0, 5, 4, 6, BODY, 0);
    ASSERT_ROW(false, 0, 5, 4, 6, 1, 5, 1, 0, 4, 0, 0, 0, 0);       /* half a section */
    ASSERT_ROW(false, 0, 5, 4, 6, 1, 5, 3, 0, 0, 0, 4, 0, 0, 0, 0); /* one and a half */
    ASSERT_ROW(false, 0, 5, 4, 6, 1, 5, 2, 0, 0, 3, 0, 0, 0);
    ASSERT_ROW(false, 0, 5, 4, 6, 1, 5, 2, 0, 0, 5, 0, 0, 0, 0, 0);
    ASSERT_ROW(false, 0, 5, 4, 6, 1, 5, 2, 0, 0, 13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
               0xff, 1, 0, 0, 0); /* beyond 2^63 */
    ASSERT_ROW(false, 0, 5, 4, 6, 1);
    ASSERT_ROW(false, 1, 5, 4, 6, BODY);
    ASSERT_ROW(true, 1, 5, 4, 6, 1, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 0,
               0, 4, 0, 0, 0, 0);
    ASSERT_ROW(true, 2, 5, 4, 6, 1, 5, 1, 'E', 0, 2, 0, 0, 4, 0, 0, 0, 0);
    ASSERT_ROW(false, 2, 5, 4, 6, 1, 5, 0xff, 0xff, 3);
    ASSERT_ROW(true, 4, 5, 4, 6, BODY, 1, 0, 0, 0);
    ASSERT_ROW(true, 4, 5, 4, 6, BODY, 0);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 2, 0, 0, 0);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 1, ROAST_SCOPES, 0, 0);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 1, 0, ROAST_CUSTOM_KINDS, 0);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 1, 0, ROAST_CUSTOM_REAL, 0, 1, 2, 3, 4, 5, 6, 7);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 1, 0, ROAST_CUSTOM_TEXT, 0, 1);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 1, 0, ROAST_CUSTOM_TEXT, 1);
    ASSERT_ROW(false, 4, 5, 4, 6, BODY, 0x81, 0x20); /* 4097 of them */
}

static void test_as_many_customs_as_allowed(void **state) {
    (void)state;
    for (unsigned extra = 0; extra < 2; extra++) {
        maker m;
        make_base(&m);
        ENTRY(&m, CONTEXT, 4, 0, 0, 0, 0, 0, 0, 0);
        /* Three bytes each, all 0: scope, kind, an empty key. */
        static uint8_t row[6 + 3 * (ROAST_MAX_CUSTOMS + 1)];
        row[2] = 6;
        uint8_t *at = roast_put_varint(row + 4, ROAST_MAX_CUSTOMS + extra);
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
    make_base(&m);
    add_entry(&m, "", 0); /* an entry without a kind */
    assert_false(decodes(&m));
    memset(&m, 0, sizeof m);
    add_entry(&m, "", 0);
    assert_false(decodes(&m));
    /* Lengths whose sum leaves 64 bits. */
    memset(&m, 0, sizeof m);
    for (int i = 0; i < 4; i++)
        m.lengths_len =
            (size_t)(roast_put_varint(m.lengths + m.lengths_len, UINT64_MAX / 2) - m.lengths);
    m.n_entries = 4;
    assert_false(decodes(&m));
}

/* ---- the page ---- */

static void test_page_lists_every_field(void **state) {
    (void)state;
    static const char *const forms[128] = {['U'] = "0 | `number`",
                                           ['T'] = "0 | `units` of 1000",
                                           ['P'] = "0 | `units` of 4096",
                                           ['S'] = "`entry_start` + `num_events` | `signed`",
                                           ['Q'] = "` | signed `units` of 4096"};
    static char page[1 << 16];
    FILE *file = fopen("docs/format/chunk-log.md", "r");
    assert_non_null(file);
    size_t len = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    page[len] = '\0';
    const char *at = page;
    char wanted[160];
#define X(name, packing, near)                                                                     \
    snprintf(wanted, sizeof wanted, "| %d | `%s` | %s%s%s |\n", ROAST_CHUNK_INDEX_##name, #name,   \
             *#packing == 'Q' ? "`" : "", *#packing == 'Q' ? #near : "", forms[(int)*#packing]);   \
    at = strstr(at, wanted);                                                                       \
    if (at == NULL)                                                                                \
        fail_msg("the page does not say, in its place: %s", wanted);
    ROAST_CHUNK_FIELDS(X)
#undef X
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation),     cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_frame),          cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_random_damage),  cmocka_unit_test(test_entries_by_hand),
        cmocka_unit_test(test_rows_by_hand),   cmocka_unit_test(test_as_many_customs_as_allowed),
        cmocka_unit_test(test_counts_by_hand), cmocka_unit_test(test_page_lists_every_field),
    };
    return cmocka_run_group_tests_name("chunkwire", tests, NULL, NULL);
}
