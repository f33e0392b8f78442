#include <errno.h>
#include <math.h>
#include <time.h>

#include "chunk_sample.h"
#include "roast/export.h"

static roast_sink *new_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

/* ---- a reader of CSV, by the letter of RFC 4180 ---- */

typedef struct reader {
    const char *at, *end;
    char field[70000];
    size_t len;
    bool quoted; /* the field stood in quotes */
    bool last;   /* it was the last one of its row */
} reader;

static bool next_field(reader *r) {
    if (r->at == r->end)
        return false;
    r->len = 0;
    r->quoted = *r->at == '"';
    if (r->quoted)
        r->at++;
    for (;;) {
        assert_true(r->at < r->end);
        if (r->quoted && *r->at == '"') {
            r->at++;
            if (r->at == r->end || *r->at != '"')
                break;
        } else if (!r->quoted && (*r->at == ',' || *r->at == '\r')) {
            break;
        } else {
            assert_true(r->quoted || (*r->at != '"' && *r->at != '\n'));
        }
        assert_true(r->len + 1 < sizeof r->field);
        r->field[r->len++] = *r->at++;
    }
    r->field[r->len] = '\0';
    r->last = *r->at != ',';
    if (r->last) {
        assert_true(r->end - r->at >= 2);
        assert_memory_equal("\r\n", r->at, 2);
        r->at++;
    }
    r->at++;
    return true;
}

static double number_in(const reader *r) {
    char *end;
    assert_false(r->quoted);
    double value = strtod(r->field, &end);
    assert_int_equal('\0', *end);
    return value;
}

static int64_t integer_in(const reader *r) {
    char *end;
    errno = 0;
    int64_t value = strtoll(r->field, &end, 10);
    assert_int_equal('\0', *end);
    assert_int_equal(0, errno);
    return value;
}

static int64_t moment_in(const reader *r) {
    struct tm date = {0};
    const char *rest = strptime(r->field, "%Y-%m-%dT%H:%M:%S", &date);
    assert_non_null(rest);
    int64_t ns = (int64_t)timegm(&date) * 1000000000;
    if (*rest == '.') {
        char *end;
        int64_t fraction = strtoll(rest + 1, &end, 10);
        for (int digits = (int)(end - rest - 1); digits < 9; digits++)
            fraction *= 10;
        ns += fraction;
        rest = end;
    }
    assert_string_equal("Z", rest);
    return ns;
}

/* ---- a table in CSV is the table in columns, cell by cell ---- */

static void assert_cell(const reader *r, const roast_column *column, uint64_t row) {
    bool there = column->validity == NULL || (column->validity[row / 8] >> (row % 8) & 1);
    if (!there) {
        if (r->len != 0 || r->quoted)
            fail_msg("%s of row %d is '%s', not absent", column->name, (int)row, r->field);
        return;
    }
    if (column->cell == ROAST_CELL_TEXT) {
        roast_str text = roast_column_text(column, ((const int32_t *)column->values)[row]);
        assert_int_equal(text.len, r->len);
        assert_memory_equal(text.data, r->field, text.len);
        assert_true(text.len > 0 || r->quoted);
    } else if (column->cell == ROAST_CELL_REAL) {
        double want = ((const double *)column->values)[row], got = number_in(r);
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s of row %d is %s, not %.17g", column->name, (int)row, r->field, want);
    } else {
        int64_t want = ((const int64_t *)column->values)[row];
        assert_true(want == (column->cell == ROAST_CELL_TIME ? moment_in(r) : integer_in(r)));
    }
}

static void assert_same_table(roast_str csv, const roast_columns *columns) {
    static reader r;
    r = (reader){.at = csv.data, .end = csv.data + csv.len};
    for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
        assert_true(next_field(&r));
        assert_string_equal(roast_columns_at(columns, i)->name, r.field);
        assert_int_equal(i + 1 == roast_columns_count(columns), r.last);
    }
    for (uint64_t row = 0; row < roast_columns_rows(columns); row++)
        for (uint32_t i = 0; i < roast_columns_count(columns); i++) {
            assert_true(next_field(&r));
            assert_cell(&r, roast_columns_at(columns, i), row);
            assert_int_equal(i + 1 == roast_columns_count(columns), r.last);
        }
    assert_false(next_field(&r));
}

static void assert_csv_is_columns(const roast_run *run) {
    roast_error err;
    for (int table = 0; table < ROAST_TABLES; table++) {
        roast_columns *columns = NULL;
        roast_sink *sink = new_sink();
        assert_ok(roast_csv_table(run, table, false, sink, &err), err);
        assert_ok(roast_columns_new(run, table, &columns, &err), err);
        assert_same_table(roast_sink_memory(sink), columns);
        roast_columns_free(columns);
        roast_sink_free(sink);
    }
}

/* ---- runs ---- */

static roast_run *new_run(void) {
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

static void add_chunk(roast_chunklog *log, const sample *s) {
    roast_error err;
    assert_ok(roast_chunklog_append(log, &s->chunk, &err), err);
}

/* Names that CSV has to quote, and some that are no UTF-8. */
static const char *const names[] = {
    "plain", "a,b", "say \"hi\"", "two\nlines", "\r", " blank ", "", "\xff\xfe", "Größe €", "\"",
};

static void add_chunks(roast_run *run) {
    sample s;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        sample_full(&s);
        s.chunk.seq = i;
        s.chunk.dataset = str(names[i]);
        s.chunk.file = str(i % 3 == 0 ? "even.root" : names[i]);
        s.chunk.error_message = str(names[i]);
        s.sections[0].name = str(names[i]);
        s.branches[0] = str(names[i]);
        for (unsigned field = 0; field < ROAST_CHUNK_FIELD_COUNT; field++)
            set_field(&s.chunk, field, (int64_t)(i * 1000003 + field * 7 + 1));
        s.chunk.have &= i % 2 == 0 ? UINT64_MAX : 0x5555555555555555;
        if (i % 4 == 1)
            s.chunk.error_type = str(NULL);
        add_chunk(roast_run_chunks(run), &s);
    }
    memset(&s, 0, sizeof s);
    add_chunk(roast_run_chunks(run), &s);
}

static void add_file(roast_run *run, const char *name, int64_t branches, int64_t bytes) {
    roast_error err;
    roast_file file = {.name = str(name),
                       .total_branches = branches,
                       .tree_bytes = bytes,
                       .tree_uncompressed_bytes = -1};
    assert_ok(roast_chunklog_add_file(roast_run_chunks(run), &file, &err), err);
}

static void add_series(roast_run *run) {
    roast_series *series = roast_run_series(run);
    roast_error err;
    double value[ROAST_COLUMNS];
    uint32_t worker[2];
    assert_ok(roast_series_worker(series, str("tcp://a:1"), &worker[0], &err), err);
    assert_ok(roast_series_worker(series, str("b, \"quoted\""), &worker[1], &err), err);
    for (int tick = 0; tick < 5; tick++) {
        roast_utc when = {INT64_C(1700000000000000000) + tick * INT64_C(1000000500)};
        assert_ok(roast_series_tick(series, when, 2, &err), err);
        for (int w = 0; w < 2; w++) {
            for (int i = 0; i < ROAST_COLUMNS; i++)
                value[i] = (tick + i + w) % 4 == 3 ? NAN : 1234567.891 * (i + 1) + tick * 0.1;
            assert_ok(roast_series_append(series, worker[w], value, &err), err);
        }
    }
}

static void add_sections_beside(roast_run *run) {
    roast_chunklog *log = new_log();
    sample s;
    memset(&s, 0, sizeof s);
    sample_tails(&s);
    add_chunk(log, &s);
    add_chunk(log, &s);
    roast_run_take_sections(run, log);
}

static roast_run *rich_run(void) {
    roast_run *run = new_run();
    add_chunks(run);
    add_file(run, "even.root", 3, 1000);
    add_file(run, "plain", 0, 10);
    add_file(run, "a,b", -1, -1);
    add_file(run, "even.root", 7, 123457);
    add_series(run);
    add_sections_beside(run);
    return run;
}

static void test_every_table_of_a_rich_run(void **state) {
    (void)state;
    roast_run *run = rich_run();
    assert_csv_is_columns(run);
    roast_run_free(run);
}

static void test_an_empty_run_has_headings(void **state) {
    (void)state;
    roast_run *run = new_run();
    assert_csv_is_columns(run);
    roast_run_free(run);
}

/* ---- fields ---- */

static void test_fields_of_a_row(void **state) {
    (void)state;
    roast_sink *sink = new_sink();
    roast_csv_row row = {.sink = sink};
    roast_csv_put_text(&row, str(NULL));
    roast_csv_put_text(&row, str(""));
    roast_csv_put_int(&row, INT64_MIN);
    roast_csv_put_real(&row, 0.1);
    roast_csv_put_real(&row, NAN);
    roast_csv_put_text(&row, str(NULL));
    roast_csv_end_row(&row);
    roast_csv_put_text(&row, str(NULL));
    roast_csv_put_text(&row, str("\"x\",\n"));
    roast_csv_end_row(&row);
    assert_same_str(str(",\"\",-9223372036854775808,0.1,,\r\n,\"\"\"x\"\",\n\"\r\n"),
                    roast_sink_memory(sink));
    roast_sink_free(sink);
}

static void test_fields_for_spreadsheets(void **state) {
    (void)state;
    static const char *const formulas[] = {"=1", "+1", "-1.5", "@a"};
    roast_sink *sink = new_sink();
    roast_csv_row row = {.sink = sink, .safe = true};
    for (size_t i = 0; i < 4; i++)
        roast_csv_put_text(&row, str(formulas[i]));
    roast_csv_put_int(&row, -1);
    roast_csv_put_real(&row, -1.5);
    roast_csv_end_row(&row);
    roast_csv_put_text(&row, str("\t=1"));
    roast_csv_put_text(&row, str("\r\n\x1b[31m\xc2\x9b\xff"));
    roast_csv_put_text(&row, str("=\"a\",\"\""));
    roast_csv_put_text(&row, str(""));
    roast_csv_put_text(&row, str(NULL));
    roast_csv_end_row(&row);
    assert_same_str(str("'=1,'+1,'-1.5,'@a,-1,-1.5\r\n\\t=1,\"\\r\\n\\x1b[31m\\x9b\xef\xbf\xbd\","
                        "\"'=\"\"a\"\",\"\"\"\"\",\"\",\r\n"),
                    roast_sink_memory(sink));
    roast_sink_free(sink);
}

static void test_a_table_for_spreadsheets(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink = new_sink();
    roast_run *run = new_run();
    const roast_read reads[] = {{{"@x\x1b", 3}, -1, -5, -1, 3}};
    const roast_chunk chunk = {.has_reads = true, .n_reads = 1, .reads = reads};
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
    assert_ok(roast_csv_table(run, ROAST_TABLE_reads, true, sink, &err), err);
    assert_same_str(
        str("chunk,branch,seconds,bytes,uncompressed_bytes,count\r\n0,'@x\\x1b,,,,3\r\n"),
        roast_sink_memory(sink));
    roast_sink_free(sink);
    roast_run_free(run);
}

static void test_no_such_table(void **state) {
    (void)state;
    roast_sink *sink = new_sink();
    roast_run *run = new_run();
    assert_status(ROAST_EINVAL, roast_csv_table(run, ROAST_TABLES, false, sink, NULL));
    roast_sink_free(sink);
    roast_run_free(run);
}

/* The columns behind a table may keep a reserve that they could not give back: such a failure may go unnoticed. */
static void test_every_failing_allocation(void **state) {
    (void)state;
    roast_run *run = rich_run();
    long allocations = 1, noticed = 0;
    for (long n = 0; allocations > n - 1; n++) {
        roast_sink *sink = new_sink();
        long before = alloc_live();
        alloc_fail_once(n);
        roast_status status = roast_csv_table(run, ROAST_TABLE_sections, false, sink, NULL);
        allocations = alloc_fail_stop();
        if (status != ROAST_OK)
            assert_status(ROAST_ENOMEM, status);
        else if (roast_sink_finish(sink, NULL) == ROAST_OK)
            noticed--;
        noticed++;
        assert_true(alloc_live() <= before + 1); /* the sink's own block */
        roast_sink_free(sink);
    }
    assert_true(noticed > 12);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table_of_a_rich_run),
        cmocka_unit_test(test_an_empty_run_has_headings),
        cmocka_unit_test(test_fields_of_a_row),
        cmocka_unit_test(test_fields_for_spreadsheets),
        cmocka_unit_test(test_a_table_for_spreadsheets),
        cmocka_unit_test(test_no_such_table),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
