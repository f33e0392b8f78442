/* The table of chunks with some of its columns. */
#include "chunk_sample.h"
#include "roast/columns.h"

static roast_run *run_of_chunks(uint64_t count) {
    roast_error err;
    roast_run *run;
    sample s;
    roast_chunklog *log = new_log();
    for (uint64_t i = 0; i < count; i++) {
        sample_full(&s);
        s.chunk.seq = i;
        s.chunk.file = str(i % 2 == 0 ? "even.root" : "odd.root");
        s.chunk.dataset = str(i % 3 == 0 ? "" : "data");
        for (unsigned field = 0; field < ROAST_CHUNK_FIELD_COUNT; field++)
            set_field(&s.chunk, field, (int64_t)(i * 1000 + field));
        if (i % 5 >= 2)
            s.chunk.have &= i % 2 == 0 ? 0x5555555555555555 : 0x2aaaaaaaaaaaaaaa;
        if (i % 5 == 3)
            s.chunk.error_type = str(NULL);
        append(log, &s);
    }
    add_sample_file(log, "odd.root");
    assert_ok(roast_run_new(&run, &err), err);
    roast_run_take_chunks(run, log);
    return run;
}

static const roast_column *column_of(const roast_columns *columns, const char *name) {
    const roast_column *column = roast_columns_find(columns, str(name));
    assert_non_null(column);
    return column;
}

static void assert_same_column(const roast_columns *some, const roast_columns *all, uint64_t rows,
                               const char *name) {
    const roast_column *a = column_of(some, name), *b = column_of(all, name);
    size_t width = a->cell == ROAST_CELL_TEXT ? sizeof(int32_t) : sizeof(int64_t);
    assert_int_equal(b->cell, a->cell);
    assert_int_equal(b->absent, a->absent);
    assert_int_equal(b->texts.count, a->texts.count);
    assert_memory_equal(b->values, a->values, rows * width);
    for (int64_t i = 0; i < a->texts.count; i++)
        assert_same_str(roast_column_text(b, i), roast_column_text(a, i));
}

/* Each column alone is as it is among all, also one that is made of fields that no other one reads. */
static void test_some_columns(void **state) {
    (void)state;
    roast_run *run = run_of_chunks(40);
    roast_columns *all = NULL, *some = NULL;
    roast_error err;
    assert_ok(roast_columns_new(run, ROAST_TABLE_chunks, &all, &err), err);
    for (uint32_t i = 0; i < roast_columns_count(all); i++) {
        const char *name = roast_columns_at(all, i)->name;
        assert_ok(roast_columns_new_some(run, &(roast_str){name, strlen(name)}, 1, &some, &err),
                  err);
        assert_int_equal(1, roast_columns_count(some));
        assert_int_equal(40, roast_columns_rows(some));
        assert_same_column(some, all, 40, name);
        roast_columns_free(some);
    }
    /* In the order of the keys, each once, and other names share their memory. */
    const roast_str names[] = {str("filename"), str("t_start"), str("file"), str("t_start")};
    assert_ok(roast_columns_new_some(run, names, 4, &some, &err), err);
    assert_int_equal(3, roast_columns_count(some));
    assert_string_equal("t_start", roast_columns_at(some, 0)->name);
    assert_ptr_equal(column_of(some, "file")->values, column_of(some, "filename")->values);
    roast_columns_free(some);
    assert_ok(roast_columns_new_some(run, NULL, 0, &some, &err), err);
    assert_int_equal(40, roast_columns_rows(some));
    roast_columns_free(some);
    const roast_str wrong[] = {str("file"), str("fiel")};
    some = NULL;
    assert_status(ROAST_EINVAL, roast_columns_new_some(run, wrong, 2, &some, &err));
    assert_non_null(strstr(err.message, "'fiel'"));
    assert_null(some);
    roast_columns_free(all);
    roast_run_free(run);
}

/* ---- memory that runs short ---- */

static roast_status make_some(void *run) {
    const roast_str names[] = {str("dataset"), str("num_events"), str("error"),
                               str("t_end"),   str("file"),       str("mem_peak_mb")};
    roast_columns *columns = NULL;
    roast_error err;
    roast_status status = roast_columns_new_some(run, names, COUNT_OF(names), &columns, &err);
    assert_int_equal(status == ROAST_OK, columns != NULL);
    roast_columns_free(columns);
    return status;
}

/* As alloc_walk, but memory that cannot be given back at the end may go unnoticed. */
static void test_every_failing_allocation(void **state) {
    (void)state;
    roast_run *run = run_of_chunks(70);
    long noticed = 0;
    for (long n = 0;; n++) {
        long before = alloc_live();
        alloc_fail_from(n);
        roast_status status = make_some(run);
        long allocations = alloc_fail_stop();
        assert_int_equal(before, alloc_live());
        if (status == ROAST_OK && allocations <= n)
            break;
        if (status != ROAST_OK)
            assert_status(ROAST_ENOMEM, status);
        noticed += status != ROAST_OK;
    }
    assert_true(noticed > 12);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_columns),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
