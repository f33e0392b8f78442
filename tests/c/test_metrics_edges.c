/* The formulas where something is missing, zero, huge or very many. */
#include "run_sample.h"

#include "metrics/formulas.h"
#include "metrics/groups.h"

/* ---- what is not measured, and zero ---- */

static void expect_only(const roast_metrics *metrics, const char *const *known, size_t n_known) {
    for (uint32_t row = 0; row < roast_catalogue_count(); row++) {
        const char *key = roast_catalogue_at(row)->key;
        bool wanted = false;
        for (size_t i = 0; i < n_known; i++)
            wanted |=
                roast_catalogue_at(row)->scope == ROAST_IN_METRICS && strcmp(known[i], key) == 0;
        if (wanted != (roast_metrics_at(metrics, row).kind != ROAST_VALUE_NONE))
            fail_msg("%s: %s", key, wanted ? "missing" : "made up");
    }
}

static void test_empty_run(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_metrics *metrics = compute(run);
    expect_only(metrics, NULL, 0);
    uint32_t count = 9;
    roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(0, count);
    roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    assert_int_equal(0, count);
    roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    assert_int_equal(0, count);
    roast_metrics_free(metrics);

    roast_run_set_clock(run, 5, 7.5);
    metrics = compute(run);
    const char *const known[] = {"wall_time"};
    expect_only(metrics, known, 1);
    assert_value(2.5, roast_metrics_get(metrics, "wall_time"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_zero_time(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_report(run);
    add_workers(run);
    add_spans(run);
    roast_run_set_clock(run, 100, 100);
    roast_report report = roast_run_get_report(run);
    report.processtime = 0;
    report.chunks = 0;
    roast_run_set_report(run, &report);
    roast_metrics *metrics = compute(run);
    const char *const zero[] = {
        "wall_time",           "total_cpu_time",
        "num_chunks",          "avg_cpu_time_per_chunk",
        "data_rate_gbps",      "data_rate_mbps",
        "event_rate_wall_khz", "event_rate_agg_khz",
        "event_rate_core_hz",  "event_rate_core_khz",
        "efficiency_ratio",    "speedup_factor",
        "core_efficiency",     "cpu_efficiency_fine",
        "io_overhead_pct",
    };
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        assert_value(0, roast_metrics_get(metrics, zero[i]));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* Without a report the records are counted, but they stand for nothing else of it. */
static void test_chunks_without_a_report(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_chunks(run, true);
    roast_metrics *metrics = compute(run);
    assert_value(6, roast_metrics_get(metrics, "num_chunks"));
    assert_value(NAN, roast_metrics_get(metrics, "total_events"));
    assert_value(NAN, roast_metrics_get(metrics, "total_bytes_read"));
    assert_value(1000, roast_metrics_get(metrics, "total_events_from_chunks"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* What is counted over all records, whatever they tell. */
static const char *const counts_of_chunks[] = {
    "num_chunks",           "num_successful_chunks",      "num_failed_chunks",
    "replayed_chunks",      "chunks_with_cpu_time",       "chunks_with_peak_memory",
    "chunks_with_branches", "chunks_with_before_process", "chunks_with_bytes_read",
};
enum { N_COUNTS = sizeof counts_of_chunks / sizeof *counts_of_chunks };

static void test_chunks_that_tell_nothing(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk bare = {.dataset = roast_str_of("A")};
    append(run, &bare);
    append(run, &bare);
    roast_metrics *metrics = compute(run);
    expect_only(metrics, counts_of_chunks, N_COUNTS);
    uint32_t count;
    const roast_dataset_row *row = roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(1, count);
    assert_int_equal(2, row->num_chunks);
    assert_true(isnan(row->total_duration) && isnan(row->mean_duration) &&
                isnan(row->mean_events_per_chunk));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_all_chunks_failed(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("A", "f", 10, 1, 1);
    chunk.error_type = roast_str_of("");
    append(run, &chunk);
    roast_metrics *metrics = compute(run);
    const char *known[N_COUNTS + 1] = {"num_files"};
    memcpy(known + 1, counts_of_chunks, sizeof counts_of_chunks);
    expect_only(metrics, known, N_COUNTS + 1);
    assert_value(1, roast_metrics_get(metrics, "num_files"));
    assert_value(0, roast_metrics_get(metrics, "num_successful_chunks"));
    assert_value(1, roast_metrics_get(metrics, "num_failed_chunks"));
    uint32_t count;
    roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(0, count);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_one_chunk(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("A", "f", 10, 0.25, 1);
    append(run, &chunk);
    roast_metrics *metrics = compute(run);
    assert_value(0, roast_metrics_get(metrics, "chunk_duration_std"));
    assert_value(0, roast_metrics_get(metrics, "chunk_mem_delta_std_mb"));
    assert_value(0.25, roast_metrics_get(metrics, "chunk_duration_p99"));
    assert_value(NAN, roast_metrics_get(metrics, "runtime_events_correlation"));
    assert_value(NAN, roast_metrics_get(metrics, "chunk_fixed_cost_s"));
    assert_value(NAN, roast_metrics_get(metrics, "chunk_cost_per_event_us"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- workers and spans, the odd cases ---- */

static void test_one_tick(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_error err;
    roast_series *series = roast_run_series(run);
    assert_ok(roast_series_tick(series, (roast_utc){5}, 3, &err), err);
    roast_metrics *metrics = compute(run);
    const char *const known[] = {"avg_workers", "mean_workers", "peak_workers"};
    expect_only(metrics, known, 3);
    assert_value(3, roast_metrics_get(metrics, "time_avg_workers"));
    roast_metrics_free(metrics);
    add_sample(series, 0, 100, 0, 0, 50); /* no limit, no threads: no shares */
    metrics = compute(run);
    assert_value(100 * MB, roast_metrics_get(metrics, "avg_memory_per_worker_bytes"));
    assert_value(0, roast_metrics_get(metrics, "cores_per_worker"));
    assert_value(0, roast_metrics_get(metrics, "total_cores"));
    assert_value(NAN, roast_metrics_get(metrics, "memory_utilization_max_pct"));
    assert_value(NAN, roast_metrics_get(metrics, "cpu_utilization_avg_pct"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void change(roast_series *series, const char *name, roast_worker_change_kind kind,
                   double seconds, int32_t threads) {
    uint32_t worker;
    roast_error err;
    assert_ok(roast_series_worker(series, roast_str_of(name), &worker, &err), err);
    roast_utc when = {(int64_t)(seconds * 1e9)};
    assert_ok(roast_series_change(series, worker, kind, when, threads, &err), err);
}

/* In the run of 100 s to 110 s: "early" 2 cores for 6 s, "late" 1 core for 4 s and then 3 cores for 2 s, "left" 4 cores
 * for 1 s, and one that was gone before. */
static roast_run *run_of_joins(void) {
    roast_run *run = new_run();
    roast_series *series = roast_run_series(run);
    roast_run_set_clock(run, 100, 110);
    change(series, "gone", ROAST_WORKER_JOINED, 90, 8);
    change(series, "left", ROAST_WORKER_JOINED, 95, 4);
    change(series, "gone", ROAST_WORKER_LEFT, 99, 0);
    change(series, "left", ROAST_WORKER_LEFT, 101, 0);
    change(series, "early", ROAST_WORKER_JOINED, 101, 2);
    change(series, "late", ROAST_WORKER_JOINED, 104, 1);
    change(series, "early", ROAST_WORKER_LEFT, 107, 0);
    change(series, "late", ROAST_WORKER_JOINED, 108, 3);
    return run;
}

static void test_joins_alone(void **state) {
    (void)state;
    roast_run *run = run_of_joins();
    roast_metrics *metrics = compute(run);
    const char *const known[] = {"wall_time",    "avg_workers",      "peak_workers",
                                 "workers_seen", "cores_per_worker", "total_cores"};
    expect_only(metrics, known, 6);                               /* neither memory nor CPU is 0 */
    assert_value(1.3, roast_metrics_get(metrics, "avg_workers")); /* 6 + 6 + 1 s */
    assert_value(2, roast_metrics_get(metrics, "peak_workers"));
    assert_value(4, roast_metrics_get(metrics, "workers_seen"));
    assert_value(2.6, roast_metrics_get(metrics, "total_cores")); /* 12 + 4 + 6 + 4 */
    assert_value(2, roast_metrics_get(metrics, "cores_per_worker"));
    uint32_t count = 0;
    const roast_worker_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_worker_health, &count);
    assert_int_equal(4, count);
    assert_value(3, rows[3].threads);
    assert_value(NAN, rows[3].peak_memory_bytes);
    assert_value(NAN, rows[3].mean_cpu_percent);
    roast_metrics_free(metrics);

    /* Of one worker the cores are not known, so they are not known of all. */
    change(roast_run_series(run), "odd", ROAST_WORKER_LEFT, 105, 0);
    metrics = compute(run);
    assert_value(1.8, roast_metrics_get(metrics, "avg_workers"));
    assert_value(NAN, roast_metrics_get(metrics, "total_cores"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_spans_without_a_processor(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_spans(run);
    roast_metrics *metrics = compute(run);
    assert_value(33, roast_metrics_get(metrics, "processor_cpu_time_seconds"));
    assert_value(10.75, roast_metrics_get(metrics, "processor_io_wait_time_seconds"));
    assert_value(100 * 33 / 43.75, roast_metrics_get(metrics, "processor_cpu_percent"));
    assert_value(0, roast_metrics_get(metrics, "overhead_cpu_time_seconds"));
    assert_value(0, roast_metrics_get(metrics, "overhead_noncpu_time_seconds"));
    roast_metrics_free(metrics);

    set_processor(run, "Other"); /* no task of that name: all is overhead */
    metrics = compute(run);
    assert_value(0, roast_metrics_get(metrics, "processor_cpu_time_seconds"));
    assert_value(0, roast_metrics_get(metrics, "processor_cpu_percentage"));
    assert_value(33, roast_metrics_get(metrics, "overhead_cpu_time_seconds"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_spans_that_lack_an_activity(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_span(run, "execute", "MyProc", "thread-noncpu", "seconds", 4);
    add_span(run, "get-data", NULL, "serialize", "seconds", 0.5);
    roast_metrics *metrics = compute(run);
    const char *const known[] = {
        "io_time_seconds",
        "processor_noncpu_time_seconds",
        "overhead_noncpu_time_seconds",
        "serialization_time_seconds",
        "total_serialization_overhead_seconds",
    };
    expect_only(metrics, known, 5);
    assert_value(0.5, roast_metrics_get(metrics, "total_serialization_overhead_seconds"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- the parts behind them ---- */

static void test_rounding(void **state) {
    (void)state;
    assert_int_equal(ROAST_VALUE_NONE, roast_value_rounded(NAN).kind);
    assert_true(roast_value_rounded(1e30).integer == INT64_MAX);
    assert_true(roast_value_rounded(-1e30).integer == INT64_MIN);
    assert_true(roast_value_rounded(0x1p62).integer == INT64_C(1) << 62);
    assert_int_equal(-3, roast_value_rounded(-2.75).integer);
}

static void expect_name(roast_groups *names, const char *data, size_t len, uint32_t expected) {
    uint32_t id = 99;
    assert_status(ROAST_OK, roast_groups_find(names, (roast_str){data, len}, &id));
    assert_int_equal(expected, id);
}

/* A name is its text, wherever it stands. */
static void test_names(void **state) {
    (void)state;
    static const char here[] = "Jet_pt", there[] = "Jet_pt";
    roast_groups names = ROAST_GROUPS(uint64_t);
    for (int twice = 0; twice < 2; twice++) {
        expect_name(&names, here, 6, 0);
        expect_name(&names, here, 3, 1);
        expect_name(&names, here, 0, 2);
        expect_name(&names, here, 6, 0);
        expect_name(&names, there, 6, 0);
        expect_name(&names, there, 3, 1);
    }
    assert_int_equal(3, roast_groups_count(&names));
    assert_str("Jet", roast_groups_name(&names, 1));
    roast_groups_reset(&names);
    char letters[300];
    memset(letters, 'x', sizeof letters);
    for (int twice = 0; twice < 2; twice++) {
        for (uint32_t len = 0; len < sizeof letters; len++)
            expect_name(&names, letters, len, len);
    }
    roast_groups_reset(&names);
}

/* ---- many of everything ---- */

enum { NAMES = 700, CHUNKS = 4200 };

/* More datasets, files and sets of branches than the first tables hold. */
static roast_run *run_with_many_names(void) {
    roast_run *run = new_run();
    for (int i = 0; i < CHUNKS; i++) {
        char dataset[32], file[32], branch[2][32], section[32];
        int n = i % NAMES;
        snprintf(dataset, sizeof dataset, "dataset %d", n);
        snprintf(file, sizeof file, "file %d", n);
        snprintf(branch[0], sizeof branch[0], "branch %d", n);
        snprintf(branch[1], sizeof branch[1], "branch %d", (n + i / NAMES) % NAMES);
        snprintf(section, sizeof section, "section %d", n);
        roast_chunk chunk = chunk_of(dataset, file, 10, 0.5, 1);
        const roast_str branches[] = {roast_str_of(branch[0]), roast_str_of(branch[1])};
        const roast_section one = section_of(section, ROAST_SECTION_TIME, -1, 1, 1000);
        access_branches(&chunk, branches, 2);
        chunk.sections = &one;
        chunk.n_sections = 1;
        append(run, &chunk);
    }
    for (int i = 0; i < NAMES; i++) {
        char file[32];
        snprintf(file, sizeof file, "file %d", i);
        add_file(run, file, "u", 60, 100, 200, NULL, 0);
    }
    return run;
}

static void test_many_names(void **state) {
    (void)state;
    roast_run *run = run_with_many_names();
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    const roast_dataset_row *datasets =
        roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(NAMES, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(CHUNKS / NAMES, datasets[i].num_chunks);
    const roast_section_row *sections = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    assert_int_equal(NAMES, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(CHUNKS / NAMES, sections[i].count);
    const roast_file_row *files =
        roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    assert_int_equal(NAMES, count);
    for (uint32_t i = 0; i < count; i++) /* branch n, and n + 1 .. n + 5 of the later rounds */
        assert_near(10, roast_value_number(files[i].branches_read_percent));
    assert_value(NAMES, roast_metrics_get(metrics, "total_branches_read"));
    roast_metrics_free(metrics);
}

/* Numbers at the end of their type stay there instead of wrapping. */
static void test_huge_numbers(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk chunk = chunk_of("A", "f", INT64_MAX, 1, 1);
    chunk.duration_ns = INT64_MAX;
    const roast_section big = {
        .name = roast_str_of("s"), .parent = -1, .count = UINT64_MAX, .value = INT64_MAX};
    chunk.sections = &big;
    chunk.n_sections = 1;
    append(run, &chunk);
    append(run, &chunk);
    add_span(run, "execute", "p", "disk-read", "bytes", 1e30);
    roast_metrics *metrics = compute(run);
    assert_true(roast_metrics_get(metrics, "total_events_from_chunks").integer == INT64_MAX);
    assert_true(roast_metrics_get(metrics, "disk_read_bytes").integer == INT64_MAX);
    uint32_t count;
    assert_near((double)INT64_MAX / 1e9, ((const roast_dataset_row *)roast_row_table_rows(
                                              metrics, ROAST_ROWS_per_dataset, &count))
                                             ->total_duration);
    const roast_section_row *sections = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    assert_true(sections->count == UINT64_MAX);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- without memory ---- */

static roast_status compute_and_free(void *context) {
    roast_metrics *metrics = NULL;
    roast_error err;
    roast_status status = roast_metrics_compute(context, &metrics, &err);
    if (status != ROAST_OK) {
        assert_null(metrics);
        assert_int_equal(status, err.status);
    }
    roast_metrics_free(metrics);
    return status;
}

static void test_without_memory(void **state) {
    (void)state;
    roast_run *run = full_run();
    assert_true(alloc_walk(compute_and_free, run) > 10);
    roast_run_free(run);
    run = run_of_joins();
    assert_true(alloc_walk(compute_and_free, run) > 3);
    roast_run_free(run);
    run = run_with_many_names();
    assert_true(alloc_walk(compute_and_free, run) > 30);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_zero_time),
        cmocka_unit_test(test_chunks_without_a_report),
        cmocka_unit_test(test_chunks_that_tell_nothing),
        cmocka_unit_test(test_all_chunks_failed),
        cmocka_unit_test(test_one_chunk),
        cmocka_unit_test(test_one_tick),
        cmocka_unit_test(test_joins_alone),
        cmocka_unit_test(test_spans_without_a_processor),
        cmocka_unit_test(test_spans_that_lack_an_activity),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_huge_numbers),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
