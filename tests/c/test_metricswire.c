/* Metrics as bytes, and rows that are added by hand. */
#include "run_sample.h"

#include "base/crc32c.h"

static roast_sink *packed(const roast_metrics *metrics) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_ok(roast_metrics_encode(metrics, sink, &err), err);
    return sink;
}

static roast_metrics *unpacked(roast_str bytes) {
    roast_metrics *metrics;
    roast_error err;
    assert_ok(roast_metrics_decode(bytes.data, bytes.len, &metrics, &err), err);
    return metrics;
}

static bool same_text(roast_str a, roast_str b) {
    return (a.data == NULL) == (b.data == NULL) && (a.data == NULL || roast_str_equal(a, b));
}

static bool same_real(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b;
}

static bool same_value(roast_value a, roast_value b) {
    return a.kind == b.kind && (a.kind != ROAST_VALUE_INT || a.integer == b.integer) &&
           (a.kind != ROAST_VALUE_REAL || same_real(a.real, b.real));
}

static bool same_cell(const roast_row_column *column, const void *a, const void *b) {
    const char *x = (const char *)a + column->offset, *y = (const char *)b + column->offset;
    if (column->kept == ROAST_KEPT_TEXT)
        return same_text(*(const roast_str *)x, *(const roast_str *)y);
    if (column->kept == ROAST_KEPT_KIND)
        return *(const roast_section_kind *)x == *(const roast_section_kind *)y;
    return same_value(roast_table_row_value(column, a), roast_table_row_value(column, b));
}

static void expect_same(const roast_metrics *a, const roast_metrics *b) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        assert_true(same_value(roast_metrics_at(a, i), roast_metrics_at(b, i)));
    for (int number = 0; number < ROAST_ROW_TABLE_COUNT; number++) {
        const roast_row_table *table = roast_row_table_at((roast_row_table_number)number);
        uint32_t n, m;
        const void *left = roast_row_table_rows(a, (roast_row_table_number)number, &n);
        const void *right = roast_row_table_rows(b, (roast_row_table_number)number, &m);
        assert_int_equal(n, m);
        for (uint32_t i = 0; i < n; i++) {
            const void *x = roast_table_row(table, left, i), *y = roast_table_row(table, right, i);
            assert_true(same_text(roast_table_row_name(x), roast_table_row_name(y)));
            for (size_t c = 0; c < table->n_columns + table->n_hidden; c++)
                assert_true(same_cell(&table->columns[c], x, y));
        }
    }
}

/* ---- there and back ---- */

static void test_round_trip(void **state) {
    (void)state;
    roast_run *runs[] = {full_run(), new_run()};
    for (int i = 0; i < 2; i++) {
        roast_metrics *metrics = compute(runs[i]);
        roast_sink *sink = packed(metrics);
        roast_metrics *again = unpacked(roast_sink_memory(sink));
        expect_same(metrics, again);
        assert_true(roast_metrics_is_current(metrics));
        assert_true(roast_metrics_is_current(again));
        roast_sink_free(sink);
        roast_metrics_free(again);
        roast_metrics_free(metrics);
        roast_run_free(runs[i]);
    }
}

/* What was put together by hand is not all that could be computed. */
static void test_what_is_not_computed_is_not_current(void **state) {
    (void)state;
    roast_error err;
    roast_metrics *metrics;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_metrics_set(metrics, "wall_time", roast_value_real(INFINITY), &err), err);
    assert_ok(roast_metrics_set(metrics, "total_events", roast_value_int(INT64_MIN), &err), err);
    assert_false(roast_metrics_is_current(metrics));
    roast_sink *sink = packed(metrics);
    roast_metrics *again = unpacked(roast_sink_memory(sink));
    expect_same(metrics, again);
    assert_false(roast_metrics_is_current(again));
    roast_sink_free(sink);
    roast_metrics_free(again);
    roast_metrics_free(metrics);
}

/* ---- rows by hand ---- */

static void test_rows_by_hand(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    uint32_t before, count;
    roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &before);
    /* behind rows that a formula made, over several growths; the texts are copied */
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        roast_dataset_row dataset = {.name = roast_str_of(name), .num_chunks = (uint64_t)i};
        roast_file_row file = {.name = roast_str_of(name), .bytes_read = roast_value_int(i)};
        roast_worker_row worker = {.name = roast_str_of(name), .host = roast_str_of("host")};
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &dataset, &err), err);
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_file_read_metrics, &file, &err), err);
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_worker_health, &worker, &err), err);
        memset(name, 'x', sizeof name);
    }
    const roast_dataset_row *datasets =
        roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(before + 50, count);
    assert_str("A", datasets[0].name);
    assert_str("d0", datasets[before].name);
    assert_str("d49", datasets[before + 49].name);
    assert_int_equal(49, datasets[before + 49].num_chunks);
    /* A family that is computed again replaces them, and rows may be added behind it again. */
    assert_ok(roast_metrics_chunks(metrics, run, &err), err);
    roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(before, count);
    roast_dataset_row more = {.name = roast_str_of("more")};
    assert_ok(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &more, &err), err);
    datasets = roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(before + 1, count);
    assert_str("more", datasets[before].name);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- tables that formulas made ---- */

static void test_branches(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    const roast_branch_row *rows =
        roast_row_table_rows(metrics, ROAST_ROWS_branch_read_metrics, &count);
    assert_int_equal(2, count);
    assert_str("a", rows[0].name);
    assert_int_equal(2, rows[0].num_chunks);
    assert_value(0.4, rows[0].seconds);
    assert_value(1000, rows[0].bytes);
    assert_value(4000, rows[0].uncompressed_bytes);
    assert_value(2, rows[0].count);
    assert_str("b", rows[1].name);
    assert_value(300, rows[1].bytes);
    assert_value(NAN, rows[1].uncompressed_bytes);
    roast_metrics_free(metrics);
}

static void test_workers(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    const roast_worker_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_worker_health, &count);
    assert_int_equal(10, count);
    assert_str("tcp://worker:1", rows[0].name);
    assert_null(rows[0].host.data);
    assert_int_equal(5, rows[0].samples);
    assert_value(50, rows[0].peak_memory_percent);
    assert_value(800 * MB, rows[0].memory_limit_bytes);
    assert_value(0, rows[0].peak_spilled_bytes);
    assert_str("tcp://worker:0", rows[1].name);
    assert_value(300 * MB, rows[1].peak_memory_bytes);
    assert_value(30, rows[1].peak_memory_percent);
    assert_value(7 * MB, rows[1].peak_spilled_bytes);
    assert_value(60, rows[1].mean_cpu_percent);
    assert_value(4, rows[1].threads);
    /* Those without a limit by their memory, then the one that tells none. */
    assert_str("tcp://worker:2", rows[2].name);
    assert_value(NAN, rows[2].peak_memory_percent);
    assert_value(NAN, rows[2].mean_cpu_percent);
    assert_str("tcp://worker:9", rows[9].name);
    assert_value(NAN, rows[9].peak_memory_bytes);
    roast_metrics_free(metrics);
}

/* ---- damage ---- */

static void put_checksum(uint8_t *bytes, size_t len) {
    uint32_t crc = roast_crc32c(0, bytes, len - 4);
    for (int i = 0; i < 4; i++)
        bytes[len - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
}

static void expect_refused(roast_status status, const void *bytes, size_t len) {
    roast_metrics *metrics;
    roast_error err;
    roast_error_reset(&err);
    assert_status(status, roast_metrics_decode(bytes, len, &metrics, &err));
    assert_true(err.message[0] != '\0');
}

static void test_damage(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_sink *sink = packed(metrics);
    roast_str whole = roast_sink_memory(sink);
    uint8_t *bytes = test_malloc(whole.len);
    for (size_t len = 0; len < whole.len; len++)
        expect_refused(ROAST_ECORRUPT, whole.data, len);
    for (size_t bit = 0; bit < whole.len * 8; bit++) {
        memcpy(bytes, whole.data, whole.len);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        roast_metrics *again;
        assert_int_not_equal(ROAST_OK, roast_metrics_decode(bytes, whole.len, &again, NULL));
    }
    memcpy(bytes, whole.data, whole.len);
    bytes[4] = 3;
    put_checksum(bytes, whole.len);
    expect_refused(ROAST_EVERSION, bytes, whole.len);
    bytes[4] = 0;
    expect_refused(ROAST_ECORRUPT, bytes, whole.len);
    expect_refused(ROAST_ECORRUPT, NULL, 0);
    test_free(bytes);
    roast_sink_free(sink);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* Lengths that are lies, with a checksum that is right. */
static void test_lies(void **state) {
    (void)state;
    static const uint8_t head[] = {'R', 'C', 'M', 'X', 2, 0, 0, 0, 0};
    static const struct {
        uint8_t body[64];
        size_t len;
    } lies[] = {
        {{0xff, 0xff, 0xff, 0xff, 0x0f}, 5},                             /* scalars */
        {{1, 0, 1, 2, 0, 0, 0, 0, 0}, 9},                                /* no name */
        {{1, 2, 0, 1, 2, 0, 0, 0, 0, 0}, 10},                            /* a name that is a NUL */
        {{1, 2, 'x', 3, 0, 0, 0, 0, 0}, 9},                              /* a kind of value */
        {{1, 2, 'x', 2, 0, 0}, 6},                                       /* a real cut short */
        {{1, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0}, 10},                /* a length */
        {{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0}, 11}, /* datasets */
        {{0, 0, 1, 2, 'x', 1, [55] = 9}, 59},                            /* a kind of section */
        {{0, 0, 0, 0, 0, 0, 0, 0, 7}, 9},                                /* bytes behind */
        {{0, 0, 0}, 3},                                                  /* an end too soon */
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t bytes[128];
        size_t len = sizeof head + lies[i].len + 4;
        memcpy(bytes, head, sizeof head);
        memcpy(bytes + sizeof head, lies[i].body, lies[i].len);
        put_checksum(bytes, len);
        expect_refused(ROAST_ECORRUPT, bytes, len);
    }
    /* A scalar that nobody knows is left out, and so is one that is no number of a run. */
    uint8_t bytes[64];
    const uint8_t body[] = {2,   5,   'n', 'o', 'n', 'e', 1, 2, 9, 's', 'e', 'c',
                            't', 'i', 'o', 'n', 's', 1,   2, 0, 0, 0,   0,   0};
    size_t len = sizeof head + sizeof body + 4;
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, body, sizeof body);
    put_checksum(bytes, len);
    roast_metrics *metrics = unpacked((roast_str){(const char *)bytes, len});
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        assert_int_equal(ROAST_VALUE_NONE, roast_metrics_at(metrics, i).kind);
    roast_metrics_free(metrics);
}

/* ---- memory ---- */

static roast_status there_and_back(void *context) {
    const roast_metrics *metrics = context;
    roast_sink *sink = NULL;
    roast_metrics *again = NULL;
    roast_status status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK)
        status = roast_metrics_encode(metrics, sink, NULL);
    if (status == ROAST_OK) {
        roast_str bytes = roast_sink_memory(sink);
        status = roast_metrics_decode(bytes.data, bytes.len, &again, NULL);
    }
    roast_metrics_free(again);
    roast_sink_free(sink);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    assert_true(alloc_walk(there_and_back, metrics) > 3);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_what_is_not_computed_is_not_current),
        cmocka_unit_test(test_rows_by_hand),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
