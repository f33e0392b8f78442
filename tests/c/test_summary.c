/* The summary of a run: which tables there are, what they say, and how they go out. */
#include "run_sample.h"

#include "render/grid_internal.h"
#include "roast/format.h"
#include "render/summary.h"

static roast_summary *summarize(const roast_metrics *metrics, const roast_run *about) {
    roast_summary *summary;
    roast_error err;
    assert_ok(roast_summary_new(metrics, about, NULL, &summary, &err), err);
    return summary;
}

/* The summary of a run, which is freed. */
static roast_summary *summary_of(roast_run *run) {
    roast_metrics *metrics = compute(run);
    roast_summary *summary = summarize(metrics, run);
    roast_metrics_free(metrics);
    roast_run_free(run);
    return summary;
}

static bool has_content(const roast_summary *summary, const char *id) {
    const roast_grid *grid = roast_summary_find(summary, id);
    assert_non_null(grid);
    return roast_grid_has_content(grid);
}

/* The text of a fact. */
static void expect_fact(const roast_summary *summary, const char *id, const char *label,
                        const char *text) {
    const roast_grid *grid = roast_summary_find(summary, id);
    assert_non_null(grid);
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++) {
        if (!roast_str_equal(roast_grid_text(grid, row, 0), roast_str_of(label)))
            continue;
        if (text == NULL)
            fail_msg("%s: there is a row %s", id, label);
        assert_str(text, roast_grid_text(grid, row, 1));
        return;
    }
    if (text != NULL)
        fail_msg("%s: there is no row %s", id, label);
}

static void expect_row(const roast_summary *summary, const char *id, uint32_t row,
                       const char *const *cells, uint32_t count) {
    const roast_grid *grid = roast_summary_find(summary, id);
    assert_int_equal(count, roast_grid_column_count(grid));
    for (uint32_t i = 0; i < count; i++)
        assert_str(cells[i], roast_grid_text(grid, row, i));
}
#define EXPECT_ROW(summary, id, row, ...)                                                          \
    do {                                                                                           \
        const char *const cells_[] = {__VA_ARGS__};                                                \
        expect_row(summary, id, row, cells_, sizeof cells_ / sizeof *cells_);                      \
    } while (0)

/* ---- what the tables say ---- */

static void test_tables(void **state) {
    (void)state;
    static const char *const ids[] = {
        "findings",         "budget",          "challenge",      "throughput", "events",
        "resources",        "timing",          "fine",           "chunks",     "datasets",
        "time_sections",    "memory_sections", "bytes_sections", "files",      "branches_by_bytes",
        "branches_by_time", "workers",         "quality",
    };
    roast_summary *summary = summary_of(full_run());
    assert_int_equal(sizeof ids / sizeof *ids, roast_summary_count(summary));
    for (uint32_t i = 0; i < roast_summary_count(summary); i++) {
        const roast_grid *grid = roast_summary_at(summary, i);
        assert_string_equal(ids[i], roast_grid_id(grid));
        assert_ptr_equal(grid, roast_summary_find(summary, ids[i]));
        /* Nothing was explained; and two branches: the one table has them all. */
        bool empty = i < 2 || strcmp(ids[i], "branches_by_time") == 0;
        assert_int_equal(!empty, roast_grid_has_content(grid));
    }
    assert_null(roast_summary_at(summary, 999));
    assert_null(roast_summary_find(summary, "nothing"));
    roast_summary_free(summary);
    roast_summary_free(NULL);
}

static void test_facts(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_summary *summary = summary_of(run);
    expect_fact(summary, "challenge", "Data Rate", "4.00 Gbps over wall time");
    expect_fact(summary, "challenge", "Factor to 200 Gbps", "50.0 ×");
    expect_fact(summary, "challenge", "Event Rate", "0.100 MHz over wall time");
    expect_fact(summary, "challenge", "Event Rate per Core", "4.39 kHz/core over wall time");
    expect_fact(summary, "challenge", "Volume Read", "5.00 GB, metadata included");
    expect_fact(summary, "challenge", "Columns, uncompressed", "3.00 kB");
    expect_fact(summary, "challenge", "Read of the Files", "30.0 % of 2.00 kB");
    expect_fact(summary, "throughput", "Data Rate", "4.00 Gbps over wall time, 500 MB/s");
    expect_fact(summary, "throughput", "Tree Metadata Read",
                "800 B of 4.00 kB in the chunk records");
    expect_fact(summary, "throughput", "Read while Preprocessing", "2.05 kB of 4 files in 750 ms");
    expect_fact(summary, "events", "Total Events", "1,000,000");
    expect_fact(summary, "events", "Event Rate in process()", "25.0 kHz over time in process()");
    expect_fact(summary, "resources", "Workers", "6.00 on average, 10 at the peak");
    expect_fact(summary, "timing", "Core Efficiency", "17.5 % of wall time × cores in process()");
    expect_fact(summary, "fine", "Compression", "750 ms: 250 ms out, 500 ms in");
    expect_fact(summary, "chunks", "Chunks", "5 done, 1 failed");
    expect_fact(summary, "chunks", "Duration", "1.70 s ± 1.15 s, 500 ms to 3.50 s");
    expect_fact(summary, "files", "Bytes Accessed", "600 B of 2.00 kB, 30.0 %");
    expect_fact(summary, "files", "Reads in process()", "4 reads, 1.30 kB, 600 ms");
    expect_fact(summary, "quality", "Chunk Records", "6 of 8 chunks in the report");
    expect_fact(summary, "quality", "Events in Records", "1,000 of 1,000,000 events in the report");
    expect_fact(summary, "quality", "CPU Time", "1 of 6 chunks have it");
    expect_fact(summary, "quality", "Branches", NULL); /* all tell */
    expect_fact(summary, "quality", "Failed Measurements", "5");
    expect_fact(summary, "quality", "Replayed Chunks", "3");
    expect_fact(summary, "quality", "Cost of Measuring", "500 ms, 0.219 % of wall time × cores");
    expect_fact(summary, "quality", "No Workers", NULL);
    roast_summary_free(summary);
}

static void test_rows(void **state) {
    (void)state;
    roast_summary *summary = summary_of(full_run());
    EXPECT_ROW(summary, "datasets", 0, "unknown", "1", "400", "3.50 s", "41.2 %", "3.50 s");
    EXPECT_ROW(summary, "datasets", 1, "A", "2", "400", "3.00 s", "35.3 %", "1.50 s");
    EXPECT_ROW(summary, "time_sections", 0, "outer", "2", "1.90 s", "800 ms", "9.41 %", "950 ms");
    EXPECT_ROW(summary, "time_sections", 4, "over", "1", "100 ms", "0 s", "0 %", "100 ms");
    EXPECT_ROW(summary, "memory_sections", 0, "mem", "4", "3.50 MB", "-2.00 MB", "6.00 MB");
    EXPECT_ROW(summary, "bytes_sections", 0, "io", "1", "1.00 kB", "1.00 kB");
    EXPECT_ROW(summary, "branches_by_bytes", 0, "a", "1.00 kB", "76.9 %", "400 ms", "66.7 %", "2",
               "100 %");
    EXPECT_ROW(summary, "branches_by_bytes", 1, "b", "300 B", "23.1 %", "200 ms", "33.3 %", "2",
               "50.0 %");
    EXPECT_ROW(summary, "workers", 0, "tcp://worker:1", "400 MB", "800 MB", "50.0 %", "0 B",
               "25.0 %");
    EXPECT_ROW(summary, "workers", 1, "tcp://worker:0", "300 MB", "1.00 GB", "30.0 %", "7.00 MB",
               "60.0 %");
    /* worker 9 tells its limit and no memory, the others neither limit nor spills */
    assert_int_equal(2, roast_grid_row_count(roast_summary_find(summary, "workers")));
    roast_summary_free(summary);
}

/* A value behind every number, for programs. */
static void test_values(void **state) {
    (void)state;
    roast_summary *summary = summary_of(full_run());
    const roast_grid *grid = roast_summary_find(summary, "throughput");
    uint32_t count;
    const roast_grid_value *values = roast_grid_values(grid, 0, 1, &count);
    assert_int_equal(2, count);
    assert_string_equal("data_rate_gbps", values[0].key);
    assert_string_equal("Gbit/s", values[0].unit);
    assert_value(4, values[0].value);
    assert_value(500, values[1].value);
    for (uint32_t i = 0; i < roast_summary_count(summary); i++) {
        grid = roast_summary_at(summary, i);
        for (uint32_t row = 0; row < roast_grid_row_count(grid); row++) {
            uint32_t all = 0;
            for (uint32_t column = 0; column < roast_grid_column_count(grid); column++) {
                roast_grid_values(grid, row, column, &count);
                all += count;
            }
            assert_true(all > 0);
        }
    }
    roast_summary_free(summary);
}

/* ---- what is not there ---- */

static void test_nothing_measured(void **state) {
    (void)state;
    roast_summary *summary = summary_of(new_run());
    for (uint32_t i = 0; i < roast_summary_count(summary); i++) {
        const roast_grid *grid = roast_summary_at(summary, i);
        assert_int_equal(strcmp(roast_grid_id(grid), "quality") == 0, roast_grid_has_content(grid));
    }
    expect_fact(summary, "throughput", "Data Rate", "-");
    expect_fact(summary, "quality", "No Workers", "workers were not sampled (track_workers)");
    expect_fact(summary, "quality", "No Fine Metrics", "no Dask spans");
    expect_fact(summary, "quality", "No Chunks",
                "no record: process() is not decorated with @track_metrics");
    expect_fact(summary, "quality", "No Branches", NULL); /* nobody would expect them */
    roast_summary_free(summary);
}

static void test_a_part_is_missing(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("A", "f", 10, 0.25, 1);
    append(run, &chunk);
    roast_summary *summary = summary_of(run);
    assert_true(has_content(summary, "chunks"));
    assert_false(has_content(summary, "datasets")); /* there is one only */
    assert_false(has_content(summary, "resources"));
    expect_fact(summary, "chunks", "Duration, fitted", "-");
    expect_fact(summary, "timing", "Time in process()", "1 chunk");
    expect_fact(summary, "quality", "No Time before process()",
                "the executor does not report when a task started");
    expect_fact(summary, "quality", "CPU Time", NULL);
    roast_summary_free(summary);
}

/* A chunk that raised has a record, but is not in the report; what was recorded by hand is no part of
 * process(). */
static void test_more_than_there_should_be(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_error err;
    roast_chunk chunk = chunk_of("A", "f", 10, 0.25, 1);
    append(run, &chunk);
    append(run, &chunk);
    roast_run_set_report(run, &(roast_report){.have_chunks = true, .chunks = 1});
    const roast_section by_hand = section_of("by hand", ROAST_SECTION_TIME, -1, 1, SECOND);
    roast_chunk record = {.sections = &by_hand, .n_sections = 1};
    roast_chunklog *beside;
    assert_ok(roast_chunklog_new(&beside, &err), err);
    assert_ok(roast_chunklog_append(beside, &record, &err), err);
    roast_run_take_sections(run, beside);
    roast_summary *summary = summary_of(run);
    expect_fact(summary, "quality", "Chunk Records", "2 for 1 chunks in the report");
    EXPECT_ROW(summary, "time_sections", 0, "by hand", "1", "1.00 s", "1.00 s", "-", "1.00 s");
    roast_summary_free(summary);
}

/* ---- many ---- */

static roast_metrics *new_metrics(void) {
    roast_metrics *metrics;
    roast_error err;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    return metrics;
}

static void set(roast_metrics *metrics, const char *key, double value) {
    roast_error err;
    assert_ok(roast_metrics_set(metrics, key, roast_value_real(value), &err), err);
}

static void test_many_rows(void **state) {
    (void)state;
    roast_metrics *metrics = new_metrics();
    roast_error err;
    set(metrics, "branch_read_bytes", 1000);
    set(metrics, "branch_read_seconds", 100);
    set(metrics, "chunks_with_reads", 2);
    for (int i = 0; i < 30; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%02d", i);
        roast_branch_row branch = {.name = roast_str_of(name),
                                   .num_chunks = 1,
                                   .bytes = roast_value_int(i),
                                   .seconds = roast_value_real(30 - i)};
        roast_dataset_row dataset = {.name = roast_str_of(name), .total_duration = i};
        roast_section_row section = {.name = roast_str_of(name),
                                     .kind = ROAST_SECTION_TIME,
                                     .total_duration = i == 7 ? NAN : i};
        roast_worker_row worker = {.name = roast_str_of(name),
                                   .peak_memory_percent = roast_value_real(i)};
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_branch_read_metrics, &branch, &err), err);
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &dataset, &err), err);
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_sections, &section, &err), err);
        assert_ok(roast_row_table_add(metrics, ROAST_ROWS_worker_health, &worker, &err), err);
    }
    roast_summary *summary = summarize(metrics, NULL);
    roast_metrics_free(metrics);
    const roast_grid *by_bytes = roast_summary_find(summary, "branches_by_bytes");
    const roast_grid *by_time = roast_summary_find(summary, "branches_by_time");
    assert_int_equal(10, roast_grid_row_count(by_bytes));
    assert_int_equal(10, roast_grid_row_count(by_time));
    assert_str("n29", roast_grid_text(by_bytes, 0, 0));
    assert_str("n00", roast_grid_text(by_time, 0, 0));
    assert_str("10 of 30 branches, most bytes first", roast_grid_caption(by_bytes));
    assert_str("10 of 30 branches, most time first", roast_grid_caption(by_time));
    const roast_grid *sections = roast_summary_find(summary, "time_sections");
    assert_int_equal(20, roast_grid_row_count(sections));
    assert_str("n29", roast_grid_text(sections, 0, 0));
    assert_str("n10", roast_grid_text(sections, 19, 0));
    assert_str("20 of 30 datasets, longest time in process() first",
               roast_grid_caption(roast_summary_find(summary, "datasets")));
    assert_str("10 of 30 workers, the fullest first",
               roast_grid_caption(roast_summary_find(summary, "workers")));
    roast_summary_free(summary);
}

/* ---- as text and JSON ---- */

static char *copy_of(roast_sink *sink) {
    roast_error err;
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str text = roast_sink_memory(sink);
    char *copy = test_malloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    roast_sink_free(sink);
    return copy;
}

static char *text_of(const roast_summary *summary, unsigned width, bool json) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    if (json)
        roast_summary_json(summary, sink);
    else
        roast_summary_draw(summary, width, false, sink);
    return copy_of(sink);
}

static char *table_of(const roast_summary *summary, const char *id, unsigned width) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    assert_false(roast_summary_draw_table(summary, "nothing", width, false, sink));
    assert_true(roast_summary_draw_table(summary, id, width, false, sink));
    return copy_of(sink);
}

static void test_drawing(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_error err;
    assert_ok(roast_run_add_note(run, roast_str_of("one\nnote"), &err), err);
    roast_summary *summary = summary_of(run);
    assert_ok(roast_summary_add_note(summary, roast_str_of("another"), &err), err);
    assert_ok(roast_summary_add_note(summary, roast_str_of("another"), &err), err);
    assert_int_equal(2, roast_summary_note_count(summary));
    assert_str("one\nnote", roast_summary_note(summary, 0));
    assert_null(roast_summary_note(summary, 2).data);
    static const unsigned widths[] = {40, 60, 80, 100, 120, 200};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char *text = text_of(summary, widths[i], false);
        char *table = table_of(summary, "throughput", widths[i]);
        assert_non_null(strstr(text, table)); /* it looks as among the others */
        test_free(table);
        assert_non_null(strstr(text, "\n\nThroughput Metrics\n"));
        assert_non_null(strstr(text, "\n\nnote: one\\nnote\nnote: another\n"));
        assert_null(strstr(text, "Branches by Time"));
        for (const char *line = text; *line != '\0';) {
            size_t len = strcspn(line, "\n");
            roast_str own = {line, len};
            /* the table of branches needs 55 columns */
            assert_true(roast_text_width(own) <= (widths[i] > 55 ? widths[i] : 55));
            assert_true(len == 0 || line[len - 1] != ' ');
            line += len + 1;
        }
        test_free(text);
    }
    roast_summary_free(summary);
}

static void test_json(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_error err;
    assert_ok(roast_run_add_note(run, roast_str_of("a \"note\""), &err), err);
    roast_summary *summary = summary_of(run);
    char *text = text_of(summary, 0, true);
    assert_non_null(strstr(text, "\"data_rate_gbps\""));
    assert_non_null(strstr(text, "\"Gbit/s\""));
    assert_non_null(strstr(text, "a \\\"note\\\""));
    assert_null(strstr(text, "branches_by_time"));
    test_free(text);
    roast_summary_free(summary);
}

/* ---- memory ---- */

static roast_status make_and_draw(void *context) {
    const roast_run *run = context;
    roast_metrics *metrics = NULL;
    roast_summary *summary = NULL;
    roast_sink *sink = NULL;
    roast_status status = roast_metrics_compute(run, &metrics, NULL);
    if (status == ROAST_OK)
        status = roast_summary_new(metrics, run, NULL, &summary, NULL);
    if (status == ROAST_OK)
        status = roast_sink_new_memory(&sink, NULL);
    if (status == ROAST_OK) {
        roast_summary_draw(summary, 80, true, sink);
        roast_summary_json(summary, sink);
        status = roast_sink_finish(sink, NULL);
    }
    roast_sink_free(sink);
    roast_summary_free(summary);
    roast_metrics_free(metrics);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_error err;
    assert_ok(roast_run_add_note(run, roast_str_of("note"), &err), err);
    assert_true(alloc_walk(make_and_draw, run) > 100);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_a_part_is_missing),
        cmocka_unit_test(test_more_than_there_should_be),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
