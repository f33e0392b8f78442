/* The summary of a run: which tables there are, what they say, and how they go out. */
#include "run_sample.h"

#include <math.h>

#include "analyse/diagnose/internal.h"
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
        "findings",          "budget",           "challenge",      "throughput", "events",
        "resources",         "timing",           "fine",           "chunks",     "datasets",
        "time_sections",     "memory_sections",  "bytes_sections", "files",      "storages",
        "branches_by_bytes", "branches_by_time", "tasks",          "workers",    "quality",
        "provenance",
    };
    roast_summary *summary = summary_of(full_run());
    assert_int_equal(sizeof ids / sizeof *ids, roast_summary_count(summary));
    for (uint32_t i = 0; i < roast_summary_count(summary); i++) {
        const roast_grid *grid = roast_summary_at(summary, i);
        assert_string_equal(ids[i], roast_grid_id(grid));
        assert_ptr_equal(grid, roast_summary_find(summary, ids[i]));
        /* Nothing was explained; all files are here; and two branches: the one table has them all. */
        bool empty =
            i < 2 || strcmp(ids[i], "branches_by_time") == 0 || strcmp(ids[i], "storages") == 0;
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
    expect_fact(summary, "challenge", "Event Rate", "100 kHz over wall time");
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
    expect_fact(summary, "resources", "Workers", "6 on average, 10 at the peak");
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
    expect_fact(summary, "quality", "Cost of Measuring", "500 ms, 0.2 % of wall time × cores");
    expect_fact(summary, "quality", "No Workers", NULL);
    roast_summary_free(summary);
}

static void test_rows(void **state) {
    (void)state;
    roast_summary *summary = summary_of(full_run());
    EXPECT_ROW(summary, "datasets", 0, "unknown", "1", "400", "3.50 s", "41.2 %", "3.50 s");
    EXPECT_ROW(summary, "datasets", 1, "A", "2", "400", "3.00 s", "35.3 %", "1.50 s");
    EXPECT_ROW(summary, "time_sections", 0, "outer", "2", "1.90 s", "800 ms", "9.4 %", "950 ms");
    EXPECT_ROW(summary, "time_sections", 4, "over", "1", "0.10 s", "0 ms", "0 %", "100 ms");
    EXPECT_ROW(summary, "memory_sections", 0, "mem", "4", "3.50 MB", "-2.00 MB", "6.00 MB");
    EXPECT_ROW(summary, "bytes_sections", 0, "io", "1", "1.00 kB", "1.00 kB");
    EXPECT_ROW(summary, "branches_by_bytes", 0, "a", "1.00 kB", "76.9 %", "400 ms", "66.7 %", "2",
               "100.0 %");
    EXPECT_ROW(summary, "branches_by_bytes", 1, "b", "0.30 kB", "23.1 %", "200 ms", "33.3 %", "2",
               "50.0 %");
    EXPECT_ROW(summary, "workers", 0, "tcp://worker:1", "400 MB", "0.80 GB", "50.0 %", "0 MB",
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
            assert_true(all > 0 || strcmp("provenance", roast_grid_id(grid)) == 0);
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
    expect_fact(summary, "quality", "No Chunks", "process() is not decorated with @track_metrics");
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
    expect_fact(summary, "timing", "Time in process() (Coffea)", "1 chunk");
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
    roast_run_set_report(
        run,
        &(roast_report){.have_chunks = true, .chunks = 1, .have_entries = true, .entries = 20});
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

/* Chunks leave their records when they are done: that some are missing says nothing yet. */
static void test_records_of_a_run_that_goes_on(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_error err;
    roast_ending *ending;
    assert_ok(roast_ending_new(ROAST_END_unknown, &ending, &err), err);
    roast_run_take_ending(run, ending);
    roast_summary *summary = summary_of(run);
    expect_fact(summary, "quality", "Chunk Records", NULL);
    expect_fact(summary, "quality", "Events in Records", NULL);
    roast_summary_free(summary);
}

/* ---- tasks ---- */

static void test_tasks(void **state) {
    (void)state;
    roast_summary *summary = summary_of(graph_run());
    const roast_grid *grid = roast_summary_find(summary, "tasks");
    assert_int_equal(2, roast_grid_row_count(grid));
    EXPECT_ROW(summary, "tasks", 0, "read", "3", "3.00 s", "1.50 s", "1.25 s", "2", "1,000 B");
    EXPECT_ROW(summary, "tasks", 1, "sum", "1", "0.50 s", "0.50 s", "-", "0", "8 B");
    roast_summary_free(summary);
    /* The engine's figures alone. */
    roast_run *run = new_run();
    add_span(run, "execute", "read", "thread-cpu", "seconds", 1.25);
    summary = summary_of(run);
    EXPECT_ROW(summary, "tasks", 0, "read", "-", "1.25 s", "-", "1.25 s", "-", "-");
    roast_summary_free(summary);
}

static roast_status sum_tasks(void *run) {
    roast_metrics *metrics = NULL;
    roast_status status = roast_metrics_new(&metrics, NULL);
    if (status == ROAST_OK)
        status = roast_metrics_tasks(metrics, run, NULL);
    roast_metrics_free(metrics);
    return status;
}

static void test_tasks_without_memory(void **state) {
    (void)state;
    roast_run *run = graph_run();
    assert_true(alloc_walk(sum_tasks, run) > 3);
    roast_run_free(run);
}

/* A graph of the user's own has no process() that could lack a decorator. */
static void test_a_graph_without_a_runner(void **state) {
    (void)state;
    static const char says[] = "a Dask graph was computed (dask-awkward, dask.compute(), futures), "
                               "which has no process() and no chunks: see Tasks";
    roast_summary *summary = summary_of(graph_run());
    expect_fact(summary, "quality", "No Runner", says);
    expect_fact(summary, "quality", "No Chunks", NULL);
    expect_fact(summary, "quality", "No Report of Coffea", NULL);
    roast_summary_free(summary);
    roast_error err;
    roast_run *runner = graph_run();
    assert_ok(roast_run_set_processor(runner, roast_str_of("P"), &err), err);
    summary = summary_of(runner);
    expect_fact(summary, "quality", "No Runner", NULL);
    expect_fact(summary, "quality", "No Chunks", "process() is not decorated with @track_metrics");
    roast_summary_free(summary);
}

/* Without a record nobody knows whether a run that failed early has a decorator; chunks that were done should have
 * left records. */
static void test_a_run_that_failed_before_its_first_chunk(void **state) {
    (void)state;
    static const struct {
        int64_t done;
        const char *says;
    } cases[] = {{-1, "the run ended before there was one"},
                 {0, "the run ended before there was one"},
                 {3, "process() is not decorated with @track_metrics"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_error err;
        roast_run *run = new_run();
        roast_ending *ending;
        const roast_run_error error = {.type = roast_str_of("OSError")};
        assert_ok(roast_ending_new(ROAST_END_failed, &ending, &err), err);
        assert_ok(roast_ending_set_error(ending, &error, &err), err);
        roast_ending_set_pieces(ending, (roast_ending_pieces){40, cases[i].done, 1});
        roast_run_take_ending(run, ending);
        roast_summary *summary = summary_of(run);
        expect_fact(summary, "quality", "No Chunks", cases[i].says);
        roast_summary_free(summary);
    }
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

/* ---- units ---- */

/* Small numbers are said to be small; they have no exponent, and no unit that does not fit. */
static void test_no_odd_numbers(void **state) {
    (void)state;
    roast_metrics *metrics = new_metrics();
    set(metrics, "wall_time", 1e6);
    set(metrics, "data_rate_gbps", 1.37e-4);
    set(metrics, "challenge_factor", 1.46e6);
    set(metrics, "event_rate_wall_khz", 0.0387);
    set(metrics, "core_efficiency", 5.88e-7);
    set(metrics, "chunk_fixed_cost_s", 0.05);
    set(metrics, "chunk_cost_per_event_us", -3460);
    set(metrics, "num_chunks", 4);
    roast_summary *summary = summarize(metrics, NULL);
    roast_metrics_free(metrics);
    expect_fact(summary, "challenge", "Factor to 200 Gbps", "1,460,000 ×");
    expect_fact(summary, "challenge", "Event Rate", "38.7 Hz over wall time");
    expect_fact(summary, "timing", "Core Efficiency", "< 0.1 % of wall time × cores in process()");
    expect_fact(summary, "chunks", "Duration, fitted", "50.0 ms a chunk - 3.46 ms an event");
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
        roast_summary_draw(summary, true, width, false, sink);
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

/* ---- the short form ---- */

static uint32_t count_lines(const char *text) {
    uint32_t lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static char *screen_of(const roast_summary *summary, unsigned width) {
    roast_sink *sink;
    roast_error err;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    roast_summary_draw(summary, false, width, false, sink);
    return copy_of(sink);
}

static void expect_in(const char *text, const char *part) {
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text != NULL ? text : "");
}

/* A run with a budget of many parts and with more findings than are shown. */
static roast_summary *summary_with_findings(void) {
    roast_error err;
    roast_findings *findings;
    roast_summary *summary;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_budget_row budget = {.available = 1000};
    for (int i = 0; i < ROAST_PART_COUNT; i++)
        budget.parts[i] = i == ROAST_PART_client || i == ROAST_PART_processing ? NAN
                          : i == ROAST_PART_lost                               ? 0
                                                                               : 2;
    budget.parts[ROAST_PART_read] = 600;
    budget.parts[ROAST_PART_compute_cpu] = 374;
    budget.parts[ROAST_PART_cold_start] = NAN;
    assert_ok(roast_findings_new(&findings, &err), err);
    roast_findings_set_budget(findings, &budget);
    for (int i = 0; i < 7; i++) {
        const roast_finding one = {
            .kind = (roast_finding_kind)i,
            .severity = ROAST_SEVERITY_warning,
            .title = roast_str_of("A title that is rather long, so that it needs a second line in "
                                  "a terminal of eighty columns"),
            .evidence = roast_str_of("evidence"),
            .advice = roast_str_of("Do this. Then do that; or else do something quite different "
                                   "that takes a few more words than that to explain it to the "
                                   "reader; 100 s of core time would be saved."),
            .saving_core_seconds = 100.0 - i,
            .confidence = 1};
        assert_ok(roast_findings_add(findings, &one, &err), err);
    }
    assert_ok(roast_summary_new(metrics, run, findings, &summary, &err), err);
    roast_findings_free(findings);
    roast_metrics_free(metrics);
    roast_run_free(run);
    return summary;
}

/* An average that is shown as 1 is a singular. */
static void test_one_core(void **state) {
    (void)state;
    static const struct {
        double cores;
        const char *shown;
    } cases[] = {{1, "10.0 s, 1 core\n"},
                 {0.9997, "10.0 s, 1 core\n"},
                 {0.998, "10.0 s, 0.998 cores\n"},
                 {2, "10.0 s, 2 cores\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        roast_metrics *metrics = new_metrics();
        set(metrics, "wall_time", 10);
        set(metrics, "total_cores", cases[i].cores);
        roast_summary *summary = summarize(metrics, NULL);
        char *text = screen_of(summary, 80);
        expect_in(text, cases[i].shown);
        test_free(text);
        roast_summary_free(summary);
        roast_metrics_free(metrics);
    }
}

static void test_one_screen(void **state) {
    (void)state;
    roast_summary *summary = summary_with_findings();
    char *text = screen_of(summary, 80);
    assert_true(count_lines(text) <= 40);
    expect_in(text, "Wall Time             10.0 s, 22.8 cores\n");
    expect_in(text, "Event Rate             100 kHz, 4.39 kHz/core\n");
    expect_in(text, "Data Rate             4.00 Gbps, 5.00 GB read\n");
    expect_in(text, "Core Efficiency       17.5 % of wall time × cores in process()\n");
    expect_in(text, "Peak Memory            400 MB in a worker");
    expect_in(text, "\nwarning   A title that is rather long");
    expect_in(text, "(saves up to 100 s of core time)\n");
    /* two lines of advice; the cut is marked, and behind a clause */
    expect_in(text,
              "          Do this. Then do that; or else do something quite different that takes\n"
              "          a few more words than that to explain it to the reader …\n");
    expect_in(text, "          and 4 more\n");
    /* parts below 1 % are one; what did not happen and what is not known is not there */
    expect_in(text, "Reading Columns        600 s   60.0 %\n");
    expect_in(text, "Other Parts             24 s    2.4 %\n");
    assert_null(strstr(text, "Reduction Tasks"));
    assert_null(strstr(text, "Lost Work"));
    assert_null(strstr(text, "Client"));
    assert_null(strstr(text, "Throughput Metrics"));
    const char last[] = "\nMore: print_summary(full=True), roast show --full, roast diagnose\n";
    assert_string_equal(last, text + strlen(text) - strlen(last));
    test_free(text);
    /* the full form has them all */
    text = text_of(summary, 80, false);
    expect_in(text, "Reduction Tasks");
    expect_in(text, "Throughput Metrics");
    expect_in(text, "5 of 7 findings");
    test_free(text);
    roast_summary_free(summary);
}

static void test_screen_of_nothing(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_error err;
    assert_ok(roast_run_add_note(run, roast_str_of("a note"), &err), err);
    roast_summary *summary = summary_of(run);
    char *text = screen_of(summary, 80);
    expect_in(text, "Wall Time        -\n");
    expect_in(text, "No Workers: workers were not sampled (track_workers)\n"
                    "No Chunks: process() is not decorated with @track_metrics\n"
                    "More, and 1 note: ");
    assert_null(strstr(text, "Fine Metrics")); /* no setting would change it */
    assert_null(strstr(text, "Findings"));
    assert_null(strstr(text, "Budget"));
    test_free(text);
    roast_summary_free(summary);
}

static void test_cards(void **state) {
    (void)state;
    static const char *const cards[][2] = {
        {"Wall Time", "10.0 s"},
        {"Outcome", "failed, 19 of 40 chunks"},
        {"Event Rate", "100 kHz over wall time"},
        {"Data Rate", "4.00 Gbps over wall time"},
        {"Core Efficiency", "17.5 % of wall time × cores in process()"},
        {"Peak Memory", "400 MB in a worker"},
    };
    enum { CARDS = sizeof cards / sizeof *cards };
    roast_run *run = full_run();
    roast_ending *ending;
    roast_error err;
    assert_ok(roast_ending_new(ROAST_END_failed, &ending, &err), err);
    roast_ending_set_pieces(ending, (roast_ending_pieces){.all = 40, .done = 19, .failed = 1});
    roast_run_take_ending(run, ending);
    roast_summary *summary = summary_of(run);
    const roast_grid *grid = roast_summary_cards(summary);
    assert_int_equal(CARDS, roast_grid_row_count(grid));
    for (uint32_t i = 0; i < CARDS; i++) {
        assert_str(cards[i][0], roast_grid_text(grid, i, 0));
        assert_str(cards[i][1], roast_grid_text(grid, i, 1));
    }
    assert_str("Wall Time", roast_grid_text(roast_summary_overview(summary), 0, 0));
    roast_summary_free(summary);
    summary = summary_of(new_run());
    assert_str("-", roast_grid_text(roast_summary_cards(summary), 1, 1));
    roast_summary_free(summary);
}

/* Far from 200 Gbps the table is drawn only if it is asked for. */
static void test_the_challenge(void **state) {
    (void)state;
    static const struct {
        double gbps;
        bool shown;
    } runs[] = {{200, true}, {0.2, true}, {0.19, false}, {NAN, false}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        roast_metrics *metrics = new_metrics();
        set(metrics, "wall_time", 1);
        set(metrics, "total_bytes_read_coffea", 100);
        if (!isnan(runs[i].gbps)) {
            set(metrics, "data_rate_gbps", runs[i].gbps);
            set(metrics, "challenge_factor", 200 / runs[i].gbps);
        }
        roast_summary *summary = summarize(metrics, NULL);
        roast_metrics_free(metrics);
        uint32_t challenge = 2;
        assert_string_equal("challenge", roast_grid_id(roast_summary_at(summary, challenge)));
        assert_int_equal(runs[i].shown, roast_summary_shows(summary, challenge));
        char *text = text_of(summary, 80, false), *table = table_of(summary, "challenge", 80);
        assert_int_equal(runs[i].shown, strstr(text, "200 Gbps Challenge") != NULL);
        expect_in(table, "200 Gbps Challenge");
        test_free(text);
        test_free(table);
        assert_false(roast_summary_shows(summary, 999));
        roast_summary_free(summary);
    }
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
        roast_summary_draw(summary, true, 80, true, sink);
        roast_summary_draw(summary, false, 80, true, sink);
        roast_summary_json(summary, sink);
        status = roast_sink_finish(sink, NULL);
    }
    roast_sink_free(sink);
    roast_summary_free(summary);
    roast_metrics_free(metrics);
    return status;
}

static void test_provenance(void **state) {
    (void)state;
    roast_summary *summary = summary_of(full_run());
    EXPECT_ROW(summary, "provenance", 0, "User", "somebody");
    EXPECT_ROW(summary, "provenance", 1, "Batch Jobs of Workers", "Slurm 1, Slurm 2");
    expect_fact(summary, "provenance", "Memory", "25.0 GB");
    expect_fact(summary, "provenance", "Memory, Limit", "many");
    expect_fact(summary, "provenance", "Versions", "coffea 2026.9, dask 2026.8");
    expect_fact(summary, "provenance", "campaign", "summer"); /* of the user's own */
    expect_fact(summary, "provenance", "calls", NULL);
    expect_fact(summary, "provenance", "reducer", NULL);
    expect_fact(summary, "provenance", "failed_tries", NULL);
    expect_fact(summary, "throughput", "Files among Workers", "2.00 kB in 2 files, 500 ms in all");
    roast_summary_free(summary);
    summary = summary_of(new_run());
    assert_false(has_content(summary, "provenance"));
    expect_fact(summary, "throughput", "Files among Workers", NULL);
    roast_summary_free(summary);
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
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_a_part_is_missing),
        cmocka_unit_test(test_more_than_there_should_be),
        cmocka_unit_test(test_records_of_a_run_that_goes_on),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_tasks_without_memory),
        cmocka_unit_test(test_a_graph_without_a_runner),
        cmocka_unit_test(test_a_run_that_failed_before_its_first_chunk),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_no_odd_numbers),
        cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_one_core),
        cmocka_unit_test(test_one_screen),
        cmocka_unit_test(test_screen_of_nothing),
        cmocka_unit_test(test_cards),
        cmocka_unit_test(test_the_challenge),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
