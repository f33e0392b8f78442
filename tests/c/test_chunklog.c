/* The chunk log in memory: what goes in comes out, merging, slices, failing allocations. */
#include "chunk_sample.h"

static roast_error err;

/* Appends, reads back by index and by cursor, then the same after packing and unpacking. */
static void assert_round_trip(const sample *s, const roast_chunk *want) {
    roast_chunklog *log = new_log();
    roast_chunk got;
    append(log, s);
    assert_int_equal(1, roast_chunklog_count(log));
    assert_ok(roast_chunklog_get(log, 0, &got, &err), err);
    assert_same_chunk(log, want, &got);
    packed bytes = pack(log);
    roast_chunklog *again = unpack(bytes);
    roast_chunk_cursor cursor;
    roast_chunk_cursor_init(&cursor, again);
    assert_true(roast_chunk_cursor_next(&cursor, &got));
    assert_same_chunk(again, want, &got);
    assert_false(roast_chunk_cursor_next(&cursor, &got));
    assert_int_equal(1, cursor.index);
    free(bytes.data);
    roast_chunklog_free(again);
    roast_chunklog_free(log);
}

/* ---- one chunk ---- */

static void test_full_chunk(void **state) {
    (void)state;
    sample s;
    sample_full(&s);
    assert_round_trip(&s, &s.chunk);
}

static void test_empty_chunk(void **state) {
    (void)state;
    sample s;
    memset(&s, 0, sizeof s);
    assert_round_trip(&s, &s.chunk);
    /* Known and empty is not the same as not known. */
    s.chunk.has_branches = s.chunk.has_reads = true;
    s.chunk.have = ALL_FIELDS;
    s.chunk.host = s.chunk.worker = s.chunk.dataset = s.chunk.file = str("");
    s.chunk.uuid = s.chunk.treename = s.chunk.task_key = str("");
    s.chunk.error_type = s.chunk.error_message = str("");
    assert_round_trip(&s, &s.chunk);
}

static void test_fields_at_their_extremes(void **state) {
    (void)state;
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     127,
                                     128,
                                     999,
                                     1000,
                                     1001,
                                     4095,
                                     4096,
                                     4097,
                                     -4096,
                                     -4097,
                                     -1000,
                                     INT32_MAX,
                                     INT32_MIN,
                                     4096 * INT64_C(262144),
                                     1000 * INT64_C(3600000000),
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1};
    sample s;
    for (size_t v = 0; v < COUNT_OF(values); v++) {
        memset(&s, 0, sizeof s);
        for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++)
            set_field(&s.chunk, i, values[v]);
        assert_round_trip(&s, &s.chunk);
        /* Neighbours far apart, so that differences overflow. */
        for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++)
            set_field(&s.chunk, i, values[(v * 7 + i * 5) % COUNT_OF(values)]);
        assert_round_trip(&s, &s.chunk);
    }
}

/* Memory that shrinks by a few pages takes as little room as memory that grows by them. */
static void test_pages_pack_small(void **state) {
    (void)state;
    size_t len[2];
    for (int shrinks = 0; shrinks < 2; shrinks++) {
        sample s;
        memset(&s, 0, sizeof s);
        set_field(&s.chunk, ROAST_CHUNK_INDEX_rss_before, 1 << 30);
        set_field(&s.chunk, ROAST_CHUNK_INDEX_rss_after, (1 << 30) + (shrinks ? -8192 : 8192));
        roast_chunklog *log = new_log();
        append(log, &s);
        packed bytes = pack(log);
        len[shrinks] = bytes.len;
        free(bytes.data);
        roast_chunklog_free(log);
    }
    assert_int_equal(len[0], len[1]);
}

static void test_each_field_alone(void **state) {
    (void)state;
    sample s;
    for (unsigned i = 0; i < ROAST_CHUNK_FIELD_COUNT; i++) {
        memset(&s, 0, sizeof s);
        /* A value without its bit must not shine through. */
        for (unsigned other = 0; other < ROAST_CHUNK_FIELD_COUNT; other++)
            set_field(&s.chunk, other, 77);
        s.chunk.have = UINT64_C(1) << i;
        assert_round_trip(&s, &s.chunk);
        s.chunk.have = ALL_FIELDS & ~s.chunk.have;
        assert_round_trip(&s, &s.chunk);
    }
}

/* A reader of some numbers gets these, everything that is no number, and nothing in place of the others. */
static void test_some_fields(void **state) {
    (void)state;
    sample s, want;
    sample_full(&s);
    sample_full(&want);
    roast_chunklog *log = new_log();
    append(log, &s);
    for (unsigned first = 0; first < ROAST_CHUNK_FIELD_COUNT; first++)
        for (unsigned last = first; last < ROAST_CHUNK_FIELD_COUNT; last += 5) {
            uint64_t fields = UINT64_C(1) << first | UINT64_C(1) << last;
            roast_chunk_cursor cursor;
            roast_chunk got;
            roast_chunk_cursor_init_some(&cursor, log, fields);
            assert_true(roast_chunk_cursor_next(&cursor, &got));
            want.chunk.have = s.chunk.have & fields;
            assert_same_chunk(log, &want.chunk, &got);
            assert_false(roast_chunk_cursor_next(&cursor, &got));
        }
    roast_chunklog_free(log);
}

static void test_identity(void **state) {
    (void)state;
    sample s;
    memset(&s, 0, sizeof s);
    s.chunk.token = s.chunk.seq = s.chunk.run = UINT64_MAX;
    assert_round_trip(&s, &s.chunk);
    s.chunk.token = 0;
    assert_round_trip(&s, &s.chunk);
    assert_true(roast_run_token(str("")) != 0);
    assert_true(roast_run_token(str("run:1")) == roast_run_token(str("run:1")));
    assert_true(roast_run_token(str("run:1")) != roast_run_token(str("run:2")));
    s.chunk.run = 0;
    s.chunk.pid = 1;
    assert_round_trip(&s, &s.chunk);
    roast_chunk want = s.chunk;
    want.pid = 0;
    s.chunk.pid = -5; /* no such process: not known */
    assert_round_trip(&s, &want);
}

static void test_what_means_nothing_is_left_out(void **state) {
    (void)state;
    sample s;
    sample_full(&s);
    roast_chunk want = s.chunk;
    want.has_branches = want.has_reads = s.chunk.has_branches = s.chunk.has_reads = false;
    want.n_branches = want.n_reads = 0;
    want.error_type = want.error_message = (roast_str){NULL, 0};
    s.chunk.error_type = (roast_str){NULL, 0};
    s.sections[0].before = 5;
    assert_round_trip(&s, &want);
    s.chunk.error_type = want.error_type = str("E");
    s.chunk.error_message = (roast_str){NULL, 0};
    want.error_message = str("");
    assert_round_trip(&s, &want);
    s.sections[0].count = 0; /* at least one use */
    roast_chunklog *log = new_log();
    roast_chunk got;
    roast_tail_cursor cursor;
    roast_section section;
    append(log, &s);
    assert_ok(roast_chunklog_get(log, 0, &got, &err), err);
    roast_chunk_sections(log, &got, &cursor);
    assert_true(roast_chunk_next_section(&cursor, &section));
    assert_int_equal(1, section.count);
    roast_chunklog_free(log);
}

static void check_key(const char *given, bool hashed) {
    sample s;
    memset(&s, 0, sizeof s);
    s.chunk.task_key = str(given);
    assert_round_trip(&s, &s.chunk);
    roast_chunklog *log = new_log();
    roast_chunk got;
    char text[200];
    append(log, &s);
    assert_ok(roast_chunklog_get(log, 0, &got, &err), err);
    assert_int_equal(hashed, got.task_hash.data != NULL);
    assert_int_equal(strlen(given), roast_chunk_task_key(&got, NULL, 0));
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, '#', sizeof text);
        assert_int_equal(strlen(given), roast_chunk_task_key(&got, text, size));
        size_t shown = strlen(given) < size ? strlen(given) : size - 1;
        assert_memory_equal(given, text, shown);
        assert_int_equal('\0', text[shown]);
        assert_int_equal('#', size < sizeof text ? text[size] : '#');
    }
    roast_chunklog_free(log);
}

static void test_task_keys(void **state) {
    (void)state;
    check_key("Processor-0123456789abcdef0123456789abcdef", true);
    check_key("-0123456789abcdef0123456789abcdef", true);
    check_key("", false);
    check_key("0123456789abcdef0123456789abcdef", false);
    check_key("x0123456789abcdef0123456789abcdef", false);
    check_key("P-0123456789ABCDEF0123456789abcdef", false);
    check_key("P-0123456789abcdef0123456789abcdeg", false);
    check_key("P-/123456789abcdef0123456789abcde:", false);
    check_key("('sum', 3)", false);
    sample s;
    memset(&s, 0, sizeof s);
    char text[4] = "###";
    assert_int_equal(0, roast_chunk_task_key(&s.chunk, text, sizeof text));
    assert_string_equal("", text);
    /* What came out of a log goes into another one as it is. */
    s.chunk.task_key = str("front");
    s.chunk.task_hash = (roast_str){"0123456789abcdef", 16};
    assert_round_trip(&s, &s.chunk);
}

/* ---- texts ---- */

static roast_str stored_dataset(roast_chunklog *log, roast_str text) {
    sample s;
    memset(&s, 0, sizeof s);
    s.chunk.dataset = text;
    append(log, &s);
    roast_chunk got;
    assert_ok(roast_chunklog_get(log, roast_chunklog_count(log) - 1, &got, &err), err);
    return got.dataset;
}

static void test_long_texts(void **state) {
    (void)state;
    static char text[ROAST_MAX_TEXT + 10];
    roast_chunklog *log = new_log();
    memset(text, 'a', sizeof text);
    assert_int_equal(4096, stored_dataset(log, (roast_str){text, 4096}).len);
    assert_int_equal(ROAST_MAX_TEXT, stored_dataset(log, (roast_str){text, ROAST_MAX_TEXT}).len);
    assert_int_equal(ROAST_MAX_TEXT, stored_dataset(log, (roast_str){text, sizeof text}).len);
    /* A character of four bytes across the limit: none of it is kept. */
    for (size_t inside = 1; inside <= 3; inside++) {
        memset(text, 'a', sizeof text);
        memcpy(text + ROAST_MAX_TEXT - inside, "\xf0\x9f\x98\x80", 4);
        assert_int_equal(ROAST_MAX_TEXT - inside,
                         stored_dataset(log, (roast_str){text, sizeof text}).len);
    }
    memset(text, 'a', sizeof text);
    memcpy(text + ROAST_MAX_TEXT - 4, "\xf0\x9f\x98\x80", 4);
    assert_int_equal(ROAST_MAX_TEXT, stored_dataset(log, (roast_str){text, sizeof text}).len);
    /* No text at all: still most of it. */
    memset(text, '\x80', sizeof text);
    assert_true(stored_dataset(log, (roast_str){text, sizeof text}).len >= ROAST_MAX_TEXT - 3);
    roast_chunklog_free(log);
}

static void test_long_texts_in_the_row(void **state) {
    (void)state;
    static char text[2 * ROAST_MAX_TEXT];
    memset(text, 'x', sizeof text);
    const roast_str whole = {text, sizeof text}, cut = {text, ROAST_MAX_TEXT};
    sample s;
    sample_full(&s);
    s.chunk.error_type = s.chunk.error_message = whole;
    s.customs[9].key = s.customs[9].text = whole;
    roast_custom customs[16];
    memcpy(customs, s.customs, sizeof customs);
    customs[9].key = cut; /* a value is never cut */
    roast_chunk want = s.chunk;
    want.error_type = want.error_message = cut;
    want.customs = customs;
    assert_round_trip(&s, &want);
}

static void test_strings_are_kept_once(void **state) {
    (void)state;
    roast_chunklog *log = plain_log(1, 1, 1000);
    roast_chunk a, b;
    assert_ok(roast_chunklog_get(log, 1, &a, &err), err);
    assert_ok(roast_chunklog_get(log, 999, &b, &err), err);
    assert_ptr_equal(a.dataset.data, b.dataset.data);
    assert_ptr_equal(a.file.data, b.file.data);
    packed bytes = pack(log);
    assert_true(roast_chunklog_memory(log) < 100 * 1000);
    assert_true(roast_chunklog_memory(log) >= bytes.len);
    free(bytes.data);
    roast_chunklog_free(log);
}

/* ---- what append refuses ---- */

static void refuse(roast_status expected, const roast_chunk *chunk) {
    roast_chunklog *log = rich_log();
    packed before = pack(log);
    assert_status(expected, roast_chunklog_append(log, chunk, &err));
    assert_int_equal(expected, err.status);
    assert_status(expected, roast_chunklog_append(log, chunk, NULL));
    packed after = pack(log);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    free(before.data);
    free(after.data);
    roast_chunklog_free(log);
}

static void test_append_refuses(void **state) {
    (void)state;
    sample s;
    sample_full(&s);
    const roast_chunk good = s.chunk;
    s.chunk.have = UINT64_C(1) << ROAST_CHUNK_FIELD_COUNT;
    refuse(ROAST_EINVAL, &s.chunk);
    for (int which = 0; which < 4; which++) {
        s.chunk = good;
        uint32_t *const counts[] = {&s.chunk.n_sections, &s.chunk.n_branches, &s.chunk.n_reads,
                                    &s.chunk.n_customs};
        const uint32_t limits[] = {ROAST_MAX_SECTIONS, ROAST_MAX_BRANCHES, ROAST_MAX_BRANCHES,
                                   ROAST_MAX_CUSTOMS};
        *counts[which] = limits[which] + 1;
        refuse(ROAST_ELIMIT, &s.chunk);
    }
    for (int which = 0; which < 4; which++) {
        s.chunk = good;
        if (which == 0)
            s.chunk.sections = NULL;
        else if (which == 1)
            s.chunk.branches = NULL;
        else if (which == 2)
            s.chunk.reads = NULL;
        else
            s.chunk.customs = NULL;
        refuse(ROAST_EINVAL, &s.chunk);
    }
    s.chunk = good;
    s.sections[1].parent = 1; /* its own */
    refuse(ROAST_EINVAL, &s.chunk);
    s.sections[1].parent = -2;
    refuse(ROAST_EINVAL, &s.chunk);
    s.sections[1].parent = 0;
    s.sections[1].kind = ROAST_SECTION_KINDS;
    refuse(ROAST_EINVAL, &s.chunk);
    s.sections[1].kind = ROAST_SECTION_TIME;
    s.customs[1].kind = ROAST_CUSTOM_KINDS;
    refuse(ROAST_EINVAL, &s.chunk);
    s.customs[1].kind = ROAST_CUSTOM_NULL;
    s.customs[1].scope = ROAST_SCOPES;
    refuse(ROAST_EINVAL, &s.chunk);
    s.chunk = good;
    s.customs[1].kind = ROAST_CUSTOM_BOOL;
    s.customs[1].scope = ROAST_SCOPE_CHUNK;
    char *text = calloc(1, ROAST_MAX_VALUE + 1);
    assert_non_null(text);
    s.customs[9].text = (roast_str){text, ROAST_MAX_VALUE + 1};
    refuse(ROAST_ELIMIT, &s.chunk);
    s.customs[9].text.len = ROAST_MAX_VALUE;
    assert_round_trip(&s, &s.chunk);
    free(text);
}

static void test_as_many_tails_as_allowed(void **state) {
    (void)state;
    sample s;
    memset(&s, 0, sizeof s);
    roast_section *sections = calloc(ROAST_MAX_SECTIONS, sizeof *sections);
    roast_custom *customs = calloc(ROAST_MAX_CUSTOMS, sizeof *customs);
    assert_non_null(sections);
    assert_non_null(customs);
    for (uint32_t i = 0; i < ROAST_MAX_SECTIONS; i++)
        sections[i] = (roast_section){.name = str("deep"),
                                      .parent = (int32_t)i - 1,
                                      .count = 1 + i % 2,
                                      .start_ns = i,
                                      .value = 2 * ((int64_t)ROAST_MAX_SECTIONS - i)};
    for (uint32_t i = 0; i < ROAST_MAX_CUSTOMS; i++)
        customs[i] = (roast_custom){.key = str("k"), .kind = ROAST_CUSTOM_INT, .integer = i};
    s.chunk.sections = sections;
    s.chunk.n_sections = ROAST_MAX_SECTIONS;
    s.chunk.customs = customs;
    s.chunk.n_customs = ROAST_MAX_CUSTOMS;
    assert_round_trip(&s, &s.chunk);
    free(sections);
    free(customs);
}

/* ---- places ---- */

static void test_get_at_every_index(void **state) {
    (void)state;
    static const uint64_t counts[] = {0, 1, 31, 32, 33, 63, 64, 65, 200};
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        roast_chunklog *log = plain_log(9, 1, counts[c]);
        packed bytes = pack(log);
        roast_chunklog *again = unpack(bytes);
        roast_chunk chunk;
        for (uint64_t i = 0; i < counts[c]; i++) {
            assert_ok(roast_chunklog_get(log, i, &chunk, &err), err);
            assert_int_equal(i + 1, chunk.seq);
            assert_ok(roast_chunklog_get(again, i, &chunk, &err), err);
            assert_int_equal(i + 1, chunk.seq);
        }
        assert_status(ROAST_ENOTFOUND, roast_chunklog_get(log, counts[c], &chunk, &err));
        assert_status(ROAST_ENOTFOUND, roast_chunklog_get(log, UINT64_MAX, &chunk, NULL));
        free(bytes.data);
        roast_chunklog_free(again);
        roast_chunklog_free(log);
    }
    roast_chunklog_free(NULL);
}

/* ---- files ---- */

static void test_files(void **state) {
    (void)state;
    roast_chunklog *log = rich_log();
    add_sample_file(log, "even.root");
    add_sample_file(log, "odd.root"); /* known already */
    const roast_file unnamed = {.total_branches = -1, .tree_bytes = 0};
    const roast_file sized = {.tree_bytes = 1, .tree_uncompressed_bytes = 4};
    double ratio = 0;
    assert_false(roast_file_ratio(&unnamed, &ratio));
    assert_true(roast_file_ratio(&sized, &ratio) && ratio == 0.25);
    assert_ok(roast_chunklog_add_file(log, &unnamed, &err), err);
    roast_file_cursor cursor;
    roast_file file;
    roast_tail_cursor branches;
    roast_branch_size size;
    roast_file_cursor_init(&cursor, log);
    for (int i = 0; i < 2; i++) {
        assert_true(roast_file_cursor_next(&cursor, &file));
        assert_str(i == 0 ? "odd.root" : "even.root", file.name);
        assert_str("u", file.uuid);
        assert_null(file.treename.data);
        assert_int_equal(1500, file.total_branches);
        assert_int_equal(-1, file.tree_bytes);
        assert_true(file.tree_uncompressed_bytes == INT64_MAX);
        assert_int_equal(3, file.n_branches);
        assert_null(file.branches);
        roast_file_branches(log, &file, &branches);
        assert_true(roast_file_next_branch(&branches, &size));
        assert_str("Jet_pt", size.name);
        assert_int_equal(1000, size.bytes);
        assert_int_equal(3000, size.uncompressed_bytes);
        assert_true(roast_file_next_branch(&branches, &size));
        assert_int_equal(-1, size.bytes);
        assert_int_equal(-1, size.uncompressed_bytes);
        assert_true(roast_file_next_branch(&branches, &size));
        assert_true(size.bytes == INT64_MAX);
        assert_int_equal(0, size.uncompressed_bytes);
        assert_false(roast_file_next_branch(&branches, &size));
    }
    assert_true(roast_file_cursor_next(&cursor, &file));
    assert_str("", file.name);
    assert_int_equal(-1, file.total_branches);
    assert_int_equal(0, file.n_branches);
    assert_false(roast_file_cursor_next(&cursor, &file));
    roast_chunklog_free(log);
}

static void add_numbered_file(roast_chunklog *log, int number, int64_t tree_bytes) {
    char name[32];
    snprintf(name, sizeof name, "file-%d.root", number);
    const roast_file file = {.name = str(name), .tree_bytes = tree_bytes};
    assert_ok(roast_chunklog_add_file(log, &file, &err), err);
}

static int64_t tree_bytes_of(const roast_chunklog *log, int number) {
    char name[32];
    roast_file file;
    snprintf(name, sizeof name, "file-%d.root", number);
    assert_int_equal(ROAST_OK, roast_chunklog_find_file(log, str(name), &file));
    assert_str(name, file.name);
    return file.tree_bytes;
}

/* The newest one counts, also of those that came after the first look. */
static void test_find_file(void **state) {
    (void)state;
    enum { COUNT = 500 };
    roast_chunklog *log = rich_log(), *empty = new_log(), *copy;
    roast_file file;
    assert_int_equal(ROAST_ENOTFOUND, roast_chunklog_find_file(empty, str("odd.root"), &file));
    assert_int_equal(ROAST_OK, roast_chunklog_find_file(log, str("odd.root"), &file));
    assert_int_equal(3, file.n_branches);
    assert_int_equal(ROAST_ENOTFOUND, roast_chunklog_find_file(log, str("odd"), &file));
    assert_int_equal(ROAST_ENOTFOUND, roast_chunklog_find_file(log, (roast_str){NULL, 0}, &file));
    for (int i = 0; i < COUNT; i++) {
        add_numbered_file(log, i, i);
        assert_int_equal(i, tree_bytes_of(log, i));
    }
    add_numbered_file(log, 7, 7000);
    assert_ok(roast_chunklog_copy(log, &copy, &err), err);
    packed bytes = pack(log);
    roast_chunklog *again = unpack(bytes);
    roast_chunklog *const logs[] = {log, copy, again};
    for (size_t l = 0; l < COUNT_OF(logs); l++)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(i == 7 ? 7000 : i, tree_bytes_of(logs[l], i));
    free(bytes.data);
    for (size_t l = 0; l < COUNT_OF(logs); l++)
        roast_chunklog_free(logs[l]);
    roast_chunklog_free(empty);
}

/* A file that could not be added is not found, and others take its place in the log. */
static void test_find_file_after_a_failure(void **state) {
    (void)state;
    roast_chunklog *log = rich_log();
    const roast_branch_size branch = {{"b", 1}, 1, 2};
    const roast_file lost = {.name = str("lost.root"), .n_branches = 1, .branches = &branch};
    roast_file file;
    for (long n = 0;; n++) {
        alloc_fail_once(n);
        roast_status status = roast_chunklog_add_file(log, &lost, &err);
        alloc_fail_stop();
        if (status == ROAST_OK)
            break;
        assert_int_equal(ROAST_ENOTFOUND, roast_chunklog_find_file(log, lost.name, &file));
        add_numbered_file(log, (int)n, n);
        assert_int_equal(n, tree_bytes_of(log, (int)n));
    }
    assert_int_equal(ROAST_OK, roast_chunklog_find_file(log, lost.name, &file));
    roast_chunklog_free(log);
}

static roast_status find_body(void *context) {
    roast_chunklog *log;
    roast_file file;
    ROAST_TRY(roast_chunklog_copy(context, &log, &err));
    roast_status status = roast_chunklog_find_file(log, str("file-90.root"), &file);
    roast_chunklog_free(log);
    return status;
}

static void test_find_file_without_memory(void **state) {
    (void)state;
    roast_chunklog *log = new_log();
    for (int i = 0; i < 100; i++)
        add_numbered_file(log, i, i);
    assert_true(alloc_walk(find_body, log) > 5);
    roast_chunklog_free(log);
}

static void test_add_file_refuses(void **state) {
    (void)state;
    roast_chunklog *log = new_log();
    roast_file file = {.name = str("f"), .n_branches = ROAST_MAX_BRANCHES + 1};
    assert_status(ROAST_ELIMIT, roast_chunklog_add_file(log, &file, &err));
    file.n_branches = 1;
    assert_status(ROAST_EINVAL, roast_chunklog_add_file(log, &file, &err));
    roast_file_cursor cursor;
    roast_file_cursor_init(&cursor, log);
    assert_false(roast_file_cursor_next(&cursor, &file));
    roast_chunklog_free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_chunk),
        cmocka_unit_test(test_empty_chunk),
        cmocka_unit_test(test_fields_at_their_extremes),
        cmocka_unit_test(test_pages_pack_small),
        cmocka_unit_test(test_each_field_alone),
        cmocka_unit_test(test_some_fields),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_what_means_nothing_is_left_out),
        cmocka_unit_test(test_task_keys),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_long_texts_in_the_row),
        cmocka_unit_test(test_strings_are_kept_once),
        cmocka_unit_test(test_append_refuses),
        cmocka_unit_test(test_as_many_tails_as_allowed),
        cmocka_unit_test(test_get_at_every_index),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_find_file),
        cmocka_unit_test(test_find_file_after_a_failure),
        cmocka_unit_test(test_find_file_without_memory),
        cmocka_unit_test(test_add_file_refuses),
    };
    return cmocka_run_group_tests_name("chunklog", tests, NULL, NULL);
}
