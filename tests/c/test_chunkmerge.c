/* Merging, slicing and copying chunk logs, also when memory is short. */
#include "chunk_sample.h"

static roast_error err;

static roast_merge_result merge(roast_chunklog *into, const roast_chunklog *from, bool unique) {
    roast_merge_result result = {99, 99};
    assert_ok(roast_chunklog_merge(into, from, unique, &result, &err), err);
    return result;
}

static void assert_same_bytes(packed want, const roast_chunklog *log) {
    packed got = pack(log);
    assert_int_equal(want.len, got.len);
    assert_memory_equal(want.data, got.data, got.len);
    free(got.data);
}

/* Rows [0, count) of `part` are the rows of `whole` from `first` on, and packing keeps them. */
static void assert_part(const roast_chunklog *whole, uint64_t first, const roast_chunklog *part) {
    packed bytes = pack(whole);
    roast_chunklog *again = unpack(bytes);
    const roast_chunklog *const both[] = {whole, again};
    roast_chunk want, got;
    for (size_t b = 0; b < COUNT_OF(both); b++) {
        for (uint64_t i = 0; i < roast_chunklog_count(part); i++) {
            assert_ok(roast_chunklog_get(part, i, &want, &err), err);
            assert_ok(roast_chunklog_get(both[b], first + i, &got, &err), err);
            assert_true(want.have == got.have);
            assert_true(want.seq == got.seq && want.token == got.token && want.run == got.run);
            assert_true(want.duration_ns == got.duration_ns);
            assert_same_str(want.file, got.file);
            assert_same_str(want.dataset, got.dataset);
            assert_same_str(want.worker, got.worker);
        }
    }
    free(bytes.data);
    roast_chunklog_free(again);
}

static uint32_t count_files(const roast_chunklog *log) {
    roast_file_cursor cursor;
    roast_file file;
    uint32_t count = 0;
    roast_file_cursor_init(&cursor, log);
    while (roast_file_cursor_next(&cursor, &file))
        count++;
    return count;
}

/* ---- merging ---- */

static void test_merge_into_empty(void **state) {
    (void)state;
    roast_chunklog *from = rich_log(), *into = new_log(), *empty = new_log();
    packed want = pack(from);
    assert_int_equal(4, merge(into, from, false).added);
    assert_same_bytes(want, into);
    assert_int_equal(0, merge(into, empty, false).added);
    assert_same_bytes(want, into);
    assert_int_equal(0, merge(empty, empty, false).added);
    assert_int_equal(0, merge(empty, empty, true).added);
    assert_int_equal(0, roast_chunklog_count(empty));
    assert_int_equal(4, merge(empty, from, true).added);
    assert_part(empty, 0, from);
    free(want.data);
    roast_chunklog_free(empty);
    roast_chunklog_free(into);
    roast_chunklog_free(from);
}

static void test_merge_translates(void **state) {
    (void)state;
    roast_chunklog *into = new_log(), *from = rich_log(), *other = plain_log(3, 1, 40);
    sample s;
    memset(&s, 0, sizeof s);
    s.chunk.dataset = str("something that no other log has, to shift all numbers");
    append(into, &s);
    assert_int_equal(40, merge(into, other, false).added);
    assert_int_equal(4, merge(into, from, false).added);
    assert_int_equal(45, roast_chunklog_count(into));
    assert_part(into, 1, other);
    assert_part(into, 41, from);
    assert_int_equal(1, count_files(into));
    sample_full(&s);
    roast_chunk got;
    assert_ok(roast_chunklog_get(into, 43, &got, &err), err);
    assert_same_chunk(into, &s.chunk, &got);
    roast_chunklog_free(other);
    roast_chunklog_free(from);
    roast_chunklog_free(into);
}

/* References of two and three bytes on one side, of one on the other. */
static void test_merge_many_entries(void **state) {
    (void)state;
    roast_chunklog *large = new_log(), *small = rich_log();
    sample s;
    char name[32];
    enum { COUNT = 20000 };
    for (int i = 0; i < COUNT; i++) {
        sample_plain(&s, 11, (uint64_t)i);
        snprintf(name, sizeof name, "file-%d.root", i);
        s.chunk.file = str(name);
        append(large, &s);
    }
    packed before = pack(large);
    roast_chunklog *copy = unpack(before);
    assert_int_equal(4, merge(large, small, false).added);
    assert_part(large, COUNT, small);
    assert_int_equal(COUNT, merge(small, copy, false).added);
    assert_part(small, 4, copy);
    free(before.data);
    roast_chunklog_free(copy);
    roast_chunklog_free(small);
    roast_chunklog_free(large);
}

static void test_merge_with_itself(void **state) {
    (void)state;
    roast_chunklog *log = rich_log(), *once = rich_log();
    assert_int_equal(4, merge(log, log, false).added);
    assert_int_equal(8, roast_chunklog_count(log));
    assert_part(log, 0, once);
    assert_part(log, 4, once);
    /* The two chunks without a token have no identity: they cannot be told apart. */
    roast_merge_result result = merge(log, log, true);
    assert_int_equal(2, result.added);
    assert_int_equal(6, result.duplicates);
    roast_chunklog_free(once);
    roast_chunklog_free(log);
}

static void test_merge_unique(void **state) {
    (void)state;
    roast_chunklog *into = plain_log(1, 1, 100), *overlap = plain_log(1, 51, 100),
                   *other = plain_log(2, 51, 100), *nameless = plain_log(0, 1, 3);
    roast_merge_result result = merge(into, overlap, true);
    assert_int_equal(50, result.added);
    assert_int_equal(50, result.duplicates);
    result = merge(into, overlap, true);
    assert_int_equal(0, result.added);
    assert_int_equal(100, result.duplicates);
    result = merge(into, other, true);
    assert_int_equal(100, result.added);
    for (int i = 0; i < 2; i++) {
        result = merge(into, nameless, true);
        assert_int_equal(3, result.added);
        assert_int_equal(0, result.duplicates);
    }
    assert_int_equal(256, roast_chunklog_count(into));
    /* Repeats inside of what comes. */
    roast_chunklog *twice = plain_log(5, 1, 10);
    assert_int_equal(10, merge(twice, twice, false).added);
    result = merge(into, twice, true);
    assert_int_equal(10, result.added);
    assert_int_equal(10, result.duplicates);
    roast_chunklog_free(twice);
    roast_chunklog_free(nameless);
    roast_chunklog_free(other);
    roast_chunklog_free(overlap);
    roast_chunklog_free(into);
}

/* What came in by other ways between two unique merges is known to the second. */
static void test_merge_unique_sees_all_rows(void **state) {
    (void)state;
    roast_chunklog *into = plain_log(1, 1, 3), *from = plain_log(1, 2, 6),
                   *more = plain_log(1, 8, 2);
    assert_int_equal(4, merge(into, from, true).added); /* now 1 to 7 */
    sample s;
    sample_plain(&s, 1, 10);
    append(into, &s);
    assert_int_equal(2, merge(into, more, false).added); /* 8, 9 */
    assert_ok(roast_chunklog_merge_rows(into, more, 0, 1, &err), err);
    roast_chunklog *all = plain_log(1, 1, 11);
    roast_merge_result result = merge(into, all, true);
    assert_int_equal(1, result.added); /* 11 */
    assert_int_equal(10, result.duplicates);
    roast_chunklog_free(all);
    roast_chunklog_free(more);
    roast_chunklog_free(from);
    roast_chunklog_free(into);
}

static int by_identity(const void *a, const void *b) {
    const roast_chunk *x = a, *y = b;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static roast_chunk *sorted(const roast_chunklog *log) {
    roast_chunk *chunks = malloc((size_t)roast_chunklog_count(log) * sizeof *chunks);
    assert_non_null(chunks);
    roast_chunk_cursor cursor;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunks[cursor.index]) &&
           cursor.index < roast_chunklog_count(log))
        continue;
    assert_int_equal(roast_chunklog_count(log), cursor.index);
    qsort(chunks, (size_t)cursor.index, sizeof *chunks, by_identity);
    return chunks;
}

static void test_order_of_merging(void **state) {
    (void)state;
    roast_chunklog *parts[] = {plain_log(1, 1, 40), plain_log(2, 1, 33), rich_log(),
                               plain_log(3, 1, 1)};
    roast_chunklog *forth = new_log(), *back = new_log();
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        merge(forth, parts[i], false);
        merge(back, parts[COUNT_OF(parts) - 1 - i], false);
    }
    assert_int_equal(roast_chunklog_count(forth), roast_chunklog_count(back));
    roast_chunk *a = sorted(forth), *b = sorted(back);
    for (uint64_t i = 0; i < roast_chunklog_count(forth); i++) {
        assert_int_equal(0, by_identity(&a[i], &b[i]));
        for (unsigned f = 0; f < ROAST_CHUNK_FIELD_COUNT; f++)
            assert_true(get_field(&a[i], f) == get_field(&b[i], f));
        assert_same_str(a[i].file, b[i].file);
        assert_same_key(&a[i], &b[i]);
        assert_int_equal(a[i].n_sections, b[i].n_sections);
        assert_int_equal(a[i].n_customs, b[i].n_customs);
    }
    assert_int_equal(count_files(forth), count_files(back));
    free(a);
    free(b);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        roast_chunklog_free(parts[i]);
    roast_chunklog_free(forth);
    roast_chunklog_free(back);
}

/* ---- some rows ---- */

static void check_rows(const roast_chunklog *from, uint64_t start, uint64_t count) {
    roast_chunklog *into = plain_log(8, 500, 1);
    assert_ok(roast_chunklog_merge_rows(into, from, start, count, &err), err);
    assert_int_equal(1 + count, roast_chunklog_count(into));
    roast_chunk chunk;
    for (uint64_t i = 0; i < count; i++) {
        assert_ok(roast_chunklog_get(into, 1 + i, &chunk, &err), err);
        assert_int_equal(start + i, chunk.seq - 1);
        assert_str(chunk.seq % 2 == 0 ? "even.root" : "odd.root", chunk.file);
    }
    roast_chunklog_free(into);
}

static void test_some_rows(void **state) {
    (void)state;
    enum { COUNT = 70 };
    roast_chunklog *from = plain_log(4, 1, COUNT), *into = new_log();
    for (uint64_t start = 0; start <= COUNT; start++)
        for (uint64_t count = 0; count <= COUNT - start; count += 3)
            check_rows(from, start, count);
    check_rows(from, 0, COUNT);
    check_rows(from, COUNT, 0);
    assert_status(ROAST_EINVAL, roast_chunklog_merge_rows(into, from, 0, COUNT + 1, &err));
    assert_status(ROAST_EINVAL, roast_chunklog_merge_rows(into, from, COUNT, 1, &err));
    assert_status(ROAST_EINVAL, roast_chunklog_merge_rows(into, from, COUNT + 1, 0, &err));
    assert_status(ROAST_EINVAL, roast_chunklog_merge_rows(into, from, 2, UINT64_MAX, &err));
    assert_status(ROAST_EINVAL, roast_chunklog_merge_rows(into, into, 0, 1, NULL));
    assert_int_equal(0, roast_chunklog_count(into));
    roast_chunklog_free(into);
    roast_chunklog_free(from);
}

static void test_rows_of_itself(void **state) {
    (void)state;
    roast_chunklog *log = plain_log(4, 1, 40);
    assert_ok(roast_chunklog_merge_rows(log, log, 0, 40, &err), err);
    assert_ok(roast_chunklog_merge_rows(log, log, 5, 3, &err), err);
    roast_chunk chunk;
    for (uint64_t i = 0; i < 83; i++) {
        assert_ok(roast_chunklog_get(log, i, &chunk, &err), err);
        assert_int_equal(i < 80 ? i % 40 + 1 : i - 80 + 6, chunk.seq);
    }
    roast_chunklog_free(log);
}

/* What the rows refer to comes along, and nothing else of the log: neither other rows nor other files. */
static void test_rows_take_along_what_they_need(void **state) {
    (void)state;
    enum { COUNT = 300 };
    static const uint64_t counts[] = {1, 5, 100};
    roast_chunklog *from = rich_log();
    sample s;
    char name[32];
    for (uint64_t i = 0; i < COUNT; i++) {
        sample_full(&s);
        snprintf(name, sizeof name, "file-%llu.root", (unsigned long long)i);
        s.chunk.file = str(name);
        s.chunk.dataset = str(name);
        s.chunk.seq = i;
        append(from, &s);
        add_sample_file(from, name);
    }
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        roast_chunklog *into = new_log();
        assert_ok(roast_chunklog_merge_rows(into, from, 20, counts[c], &err), err);
        assert_int_equal(counts[c], count_files(into));
        packed bytes = pack(into);
        assert_true(bytes.len < (counts[c] + 1) * 1300);
        free(bytes.data);
        for (uint64_t i = 0; i < counts[c]; i++) {
            roast_chunk want, got;
            roast_file file;
            assert_ok(roast_chunklog_get(from, 20 + i, &want, &err), err);
            assert_ok(roast_chunklog_get(into, i, &got, &err), err);
            assert_same_key(&want, &got);
            assert_same_str(want.dataset, got.dataset);
            assert_int_equal(ROAST_OK, roast_chunklog_find_file(into, got.file, &file));
            assert_int_equal(3, file.n_branches);
        }
        roast_chunklog_free(into);
    }
    roast_chunklog_free(from);
}

/* ---- logs that were decoded ---- */

static void test_decoded_logs_can_grow(void **state) {
    (void)state;
    static const uint64_t counts[] = {0, 1, 20, 33, 1000};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        roast_chunklog *log = plain_log(4, 1, counts[i]), *more = plain_log(5, 1, 40);
        packed bytes = pack(log);
        roast_chunklog *again = unpack(bytes), *untouched = unpack(bytes);
        size_t memory = roast_chunklog_memory(again);
        assert_int_equal(counts[i], merge(more, again, false).added);
        assert_int_equal(counts[i] + 40, merge(again, more, false).added);
        assert_part(again, 0, log);
        assert_part(again, counts[i], more);
        assert_true(roast_chunklog_memory(again) > memory);
        sample s;
        sample_full(&s);
        append(untouched, &s);
        append(log, &s);
        assert_part(untouched, 0, log);
        roast_chunklog_free(untouched);
        untouched = unpack(bytes);
        add_sample_file(untouched, "file");
        assert_int_equal(1, count_files(untouched));
        free(bytes.data);
        roast_chunklog_free(untouched);
        roast_chunklog_free(again);
        roast_chunklog_free(more);
        roast_chunklog_free(log);
    }
}

/* ---- copies ---- */

/* As decode and merge do it, and what is damaged changes nothing. */
static void test_merge_packed(void **state) {
    (void)state;
    roast_chunklog *one = new_log(), *other = new_log(), *decoded;
    sample s;
    for (uint64_t i = 1; i <= 5; i++) {
        sample_plain(&s, i % 3 + 1, i);
        sample_tails(&s);
        append(i % 2 == 0 ? one : other, &s);
    }
    packed bytes = pack(other), before = pack(one);
    decoded = unpack(before);
    bytes.data[bytes.len / 2] ^= 1;
    assert_int_equal(ROAST_ECORRUPT, roast_chunklog_merge_packed(one, bytes.data, bytes.len, &err));
    assert_same_bytes(before, one);
    bytes.data[bytes.len / 2] ^= 1;
    assert_ok(roast_chunklog_merge_packed(one, bytes.data, bytes.len, &err), err);
    merge(decoded, other, false);
    packed want = pack(decoded);
    memset(bytes.data, 0xee, bytes.len); /* nothing of the buffer is needed any more */
    assert_same_bytes(want, one);
    free(want.data);
    free(before.data);
    free(bytes.data);
    roast_chunklog_free(one);
    roast_chunklog_free(other);
    roast_chunklog_free(decoded);
}

static void test_copy(void **state) {
    (void)state;
    roast_chunklog *log = rich_log(), *copy = NULL, *empty = new_log();
    packed before = pack(log);
    assert_ok(roast_chunklog_copy(log, &copy, &err), err);
    assert_same_bytes(before, copy);
    sample s;
    sample_plain(&s, 12, 1);
    append(copy, &s); /* of its own */
    assert_same_bytes(before, log);
    append(log, &s);
    assert_part(log, 0, copy);
    roast_chunklog_free(copy);
    assert_ok(roast_chunklog_copy(empty, &copy, &err), err);
    assert_int_equal(0, roast_chunklog_count(copy));
    append(copy, &s);
    free(before.data);
    roast_chunklog_free(copy);
    roast_chunklog_free(empty);
    roast_chunklog_free(log);
}

/* ---- when memory is short ---- */

typedef enum operation {
    APPEND,
    ADD_FILE,
    MERGE,
    MERGE_UNIQUE,
    FEW_ROWS,
    ALL_ROWS,
    MANY_ROWS,
    ROWS_OF_ITSELF
} operation;

typedef struct walk {
    operation operation;
    bool decoded; /* the log came out of a buffer, and cannot grow where it is */
    const roast_chunklog *start, *from;
    packed start_bytes, want_bytes;
} walk;

static roast_status operate(const walk *w, roast_chunklog *log) {
    sample s;
    sample_full(&s);
    const roast_branch_size branch = {{"b", 1}, 1, 2};
    const roast_file file = {.name = str("f"), .n_branches = 1, .branches = &branch};
    switch (w->operation) {
    case APPEND:
        return roast_chunklog_append(log, &s.chunk, &err);
    case ADD_FILE:
        return roast_chunklog_add_file(log, &file, &err);
    case MERGE:
        return roast_chunklog_merge(log, w->from, false, NULL, &err);
    case MERGE_UNIQUE:
        return roast_chunklog_merge(log, w->from, true, NULL, &err);
    case FEW_ROWS:
        return roast_chunklog_merge_rows(log, w->from, 20, 19, &err);
    case ALL_ROWS:
        return roast_chunklog_merge_rows(log, w->from, 0, roast_chunklog_count(w->from), &err);
    case MANY_ROWS:
        return roast_chunklog_merge_rows(log, w->from, 1, roast_chunklog_count(w->from) - 1, &err);
    case ROWS_OF_ITSELF:
        return roast_chunklog_merge_rows(log, log, 0, roast_chunklog_count(log), &err);
    }
    return ROAST_EINVAL;
}

/* After a failure the log is as before, and the same works once there is memory again. */
static roast_status operation_body(void *context) {
    const walk *w = context;
    roast_chunklog *log = NULL;
    if (w->decoded)
        ROAST_TRY(roast_chunklog_decode(w->start_bytes.data, w->start_bytes.len, &log, &err));
    else
        ROAST_TRY(roast_chunklog_copy(w->start, &log, &err));
    roast_status status = operate(w, log);
    if (status != ROAST_OK) {
        alloc_fail_stop();
        assert_int_equal(status, err.status);
        assert_same_bytes(w->start_bytes, log);
        assert_ok(operate(w, log), err);
        assert_same_bytes(w->want_bytes, log);
    }
    roast_chunklog_free(log);
    return status;
}

static void walk_operation(operation what, const roast_chunklog *start) {
    roast_chunklog *from = plain_log(7, 2, 140), *want;
    roast_file file;
    add_sample_file(from, "even.root");
    /* Now, so that what the log remembers of it is no leak of the operation. */
    assert_int_equal(ROAST_OK, roast_chunklog_find_file(from, str("even.root"), &file));
    walk w = {.operation = what, .start = start, .from = from, .start_bytes = pack(start)};
    assert_ok(roast_chunklog_copy(start, &want, &err), err);
    assert_ok(operate(&w, want), err);
    w.want_bytes = pack(want);
    assert_true(alloc_walk(operation_body, &w) > 3);
    w.decoded = true;
    assert_true(alloc_walk(operation_body, &w) > 3);
    free(w.start_bytes.data);
    free(w.want_bytes.data);
    roast_chunklog_free(want);
    roast_chunklog_free(from);
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_chunklog *rich = rich_log(), *empty = new_log();
    for (operation what = APPEND; what <= ROWS_OF_ITSELF; what++) {
        walk_operation(what, rich);
        if (what != ROWS_OF_ITSELF)
            walk_operation(what, empty);
    }
    roast_chunklog_free(rich);
    roast_chunklog_free(empty);
}

static roast_status copy_body(void *context) {
    roast_chunklog *copy;
    ROAST_TRY(roast_chunklog_copy(context, &copy, &err));
    roast_chunklog_free(copy);
    return ROAST_OK;
}

static roast_status encode_body(void *context) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, &err));
    roast_status status = roast_chunklog_encode(context, sink, &err);
    roast_sink_free(sink);
    return status;
}

static roast_status decode_body(void *context) {
    const packed *bytes = context;
    roast_chunklog *log;
    ROAST_TRY(roast_chunklog_decode(bytes->data, bytes->len, &log, &err));
    roast_chunklog_free(log);
    return ROAST_OK;
}

static roast_status merge_packed_body(void *context) {
    const packed *bytes = context;
    roast_chunklog *log;
    ROAST_TRY(roast_chunklog_new(&log, &err));
    roast_status status = roast_chunklog_merge_packed(log, bytes->data, bytes->len, &err);
    roast_chunklog_free(log);
    return status;
}

static void test_failing_copies(void **state) {
    (void)state;
    roast_chunklog *log = rich_log(), *large = plain_log(7, 1, 500);
    packed bytes = pack(log), large_bytes = pack(large);
    assert_true(alloc_walk(copy_body, log) > 3);
    assert_true(alloc_walk(encode_body, log) > 2);
    assert_true(alloc_walk(decode_body, &bytes) > 0);
    assert_true(alloc_walk(decode_body, &large_bytes) > 1);
    assert_true(alloc_walk(merge_packed_body, &bytes) > 1);
    free(bytes.data);
    free(large_bytes.data);
    roast_chunklog_free(large);
    roast_chunklog_free(log);
}

/* ---- clocks ---- */

static roast_chunklog *log_of_workers(void) {
    static const char *const workers[] = {"a", "b", NULL};
    roast_chunklog *log = new_log();
    for (uint64_t seq = 0; seq < 6; seq++) {
        sample s;
        sample_plain(&s, 1 + seq % 3, seq);
        s.chunk.run = 100 + seq % 2;
        if (workers[seq % 3] != NULL)
            s.chunk.worker = str(workers[seq % 3]);
        if (seq == 4)
            s.chunk.have &= ~ROAST_CHUNK_HAS(start_us);
        assert_ok(roast_chunklog_append(log, &s.chunk, &err), err);
    }
    return log;
}

static void test_shift(void **state) {
    (void)state;
    static const roast_clock_shift shifts[] = {{{"a", 1}, 30000000}, {{"c", 1}, 5}};
    static const roast_clock_shift back[] = {{{"a", 1}, INT64_MIN}, {{"b", 1}, -7}};
    roast_chunklog *log = log_of_workers(), *once, *twice, *rich = rich_log(), *same;
    assert_ok(roast_chunklog_shift(log, shifts, 2, &once, &err), err);
    assert_ok(roast_chunklog_shift(once, back, 2, &twice, &err), err);
    for (uint64_t i = 0; i < 6; i++) {
        roast_chunk before, after, last;
        assert_ok(roast_chunklog_get(log, i, &before, &err), err);
        assert_ok(roast_chunklog_get(once, i, &after, &err), err);
        assert_ok(roast_chunklog_get(twice, i, &last, &err), err);
        int64_t expected = i % 3 == 0 ? 30000000 : 0;
        assert_true(after.have == before.have && after.run == before.run);
        assert_true(after.token == before.token && after.seq == before.seq);
        if (i == 4) /* not known, and not made up */
            assert_true(after.start_us == 0 && last.start_us == 0);
        else
            assert_true(after.start_us == before.start_us + expected);
        assert_true(i % 3 != 2 || last.start_us == after.start_us);
        assert_true(i != 1 || last.start_us == before.start_us - 7);
        assert_same_str(before.file, after.file);
    }
    /* What is shifted is still the same record, and travels. */
    packed bytes = pack(once);
    roast_chunklog *again = unpack(bytes);
    assert_int_equal(6, merge(again, log, true).duplicates);
    assert_part(once, 0, again);
    /* Nobody's clock: the same rows, with all that hangs on them. */
    assert_ok(roast_chunklog_shift(rich, NULL, 0, &same, &err), err);
    packed want = pack(rich);
    assert_same_bytes(want, same);
    free(want.data);
    free(bytes.data);
    roast_chunklog *const all[] = {log, once, twice, rich, same, again};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        roast_chunklog_free(all[i]);
}

static roast_status shift_body(void *log) {
    static const roast_clock_shift shift = {{"a", 1}, 1000};
    roast_chunklog *out = NULL;
    roast_status status = roast_chunklog_shift(log, &shift, 1, &out, NULL);
    roast_chunklog_free(out);
    return status;
}

static void test_failing_shifts(void **state) {
    (void)state;
    roast_chunklog *log = log_of_workers();
    assert_true(alloc_walk(shift_body, log) > 3);
    roast_chunklog_free(log);
}

/* ---- a number more ---- */

static void test_with_numbers(void **state) {
    (void)state;
    roast_chunklog *log = log_of_workers(), *made, *none = NULL;
    uint64_t count = roast_chunklog_count(log);
    int64_t *values = roast_alloc((size_t)count * sizeof *values);
    for (uint64_t i = 0; i < count; i++)
        values[i] = i % 2 == 0 ? -7 - (int64_t)i : ROAST_NO_NUMBER;
    assert_ok(roast_chunklog_with_numbers(log, ROAST_CHUNK_INDEX_packed_ns, values, &made, &err),
              err);
    packed bytes = pack(made);
    roast_chunklog_free(unpack(bytes)); /* it is well-formed */
    free(bytes.data);
    for (uint64_t i = 0; i < count; i++) {
        roast_chunk before, after;
        assert_ok(roast_chunklog_get(log, i, &before, &err), err);
        assert_ok(roast_chunklog_get(made, i, &after, &err), err);
        uint64_t more = i % 2 == 0 ? ROAST_CHUNK_HAS(packed_ns) : 0;
        assert_true(after.have == (before.have | more));
        assert_true(after.token == before.token && after.seq == before.seq);
        assert_int_equal(more != 0 ? values[i] : 0, after.packed_ns);
        assert_int_equal(before.start_us, after.start_us);
        assert_int_equal(before.n_sections, after.n_sections);
        assert_int_equal(before.n_customs, after.n_customs);
        assert_same_str(before.error_type, after.error_type);
    }
    /* A number that is there is not replaced. */
    assert_int_equal(ROAST_EINVAL, roast_chunklog_with_numbers(made, ROAST_CHUNK_INDEX_packed_ns,
                                                               values, &none, &err));
    assert_null(none);
    roast_free(values);
    roast_chunklog_free(log);
    roast_chunklog_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_numbers),
        cmocka_unit_test(test_merge_into_empty),
        cmocka_unit_test(test_merge_translates),
        cmocka_unit_test(test_merge_many_entries),
        cmocka_unit_test(test_merge_with_itself),
        cmocka_unit_test(test_merge_unique),
        cmocka_unit_test(test_merge_unique_sees_all_rows),
        cmocka_unit_test(test_order_of_merging),
        cmocka_unit_test(test_some_rows),
        cmocka_unit_test(test_rows_of_itself),
        cmocka_unit_test(test_rows_take_along_what_they_need),
        cmocka_unit_test(test_decoded_logs_can_grow),
        cmocka_unit_test(test_merge_packed),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_failing_copies),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_failing_shifts),
    };
    return cmocka_run_group_tests_name("chunkmerge", tests, NULL, NULL);
}
