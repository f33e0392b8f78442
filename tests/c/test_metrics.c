/* The formulas against numbers worked out by hand. */
#include "run_sample.h"

/* ---- all numbers ---- */

static void test_every_number_of_a_full_run(void **state) {
    (void)state;
    const double total_cores = 6 * 3.8;
    const struct {
        const char *key;
        double value;
    } expected[] = {
        {"wall_time", 10},
        {"total_cpu_time", 40},
        {"num_chunks", 8},
        {"avg_cpu_time_per_chunk", 5},
        {"total_events", 1000000},
        {"total_bytes_read_coffea", 5e9},
        {"data_rate_gbps", 4},
        {"useful_rate_gbps", 480e-9}, /* 600 bytes in 10 s */
        {"data_rate_mbps", 500},
        {"event_rate_wall_khz", 100},
        {"event_rate_agg_khz", 25},
        {"event_rate_core_hz", 1e6 / (10 * total_cores)},
        {"event_rate_core_khz", 1e3 / (10 * total_cores)},
        {"efficiency_ratio", 4},
        {"speedup_factor", 4},
        {"core_efficiency", 40 / (10 * total_cores)},
        {"cpu_efficiency_fine", 33 / (10 * total_cores)},
        {"worker_cpu_seconds", 12},
        {"worker_cpu_percent", 100 * 12 / (10 * total_cores)},
        {"other_work_percent", 15},
        {"machine_cores", 8},
        {"io_overhead_pct", 107.5},
        /* (2+10)/2×1 + 10×4 + (10+2)/2×1 + 2×4 = 60 over 10 s; 26 / 5 ticks */
        {"avg_workers", 6},
        {"mean_workers", 5.2},
        {"peak_workers", 10},
        {"cores_per_worker", (9 * 4 + 2) / 10.0},
        {"total_cores", total_cores},
        {"peak_memory_bytes", 400e6},
        /* worker 0: 150 + 800 + 250 + 800 over 10 s; worker 1: 400; seven more: 200 */
        {"avg_memory_per_worker_bytes", (200 + 400 + 7 * 200) / 9.0 * MB},
        {"memory_utilization_avg_pct", (20 + 50) / 2.0},
        {"memory_utilization_min_pct", 10},
        {"memory_utilization_max_pct", 50},
        /* worker 0: (75 + 200 + 25 + 200) / 10; worker 1: 25; worker 9: (80 + 20) / 2 */
        {"cpu_utilization_avg_pct", (50 + 25 + 50) / 3.0},
        {"cpu_utilization_min_pct", 0},
        {"cpu_utilization_max_pct", 100},
        {"cpu_time_seconds", 33},
        {"io_time_seconds", 10.75},
        {"processor_cpu_time_seconds", 30},
        {"processor_noncpu_time_seconds", 10},
        {"processor_cpu_percentage", 75},
        {"processor_noncpu_percentage", 25},
        {"overhead_cpu_time_seconds", 3},
        {"overhead_noncpu_time_seconds", 0.75},
        {"total_bytes_memory_read_dask", 1024},
        {"disk_read_bytes", 500},
        {"disk_write_bytes", 700},
        {"compression_time_seconds", 0.25},
        {"decompression_time_seconds", 0.5},
        {"total_compression_overhead_seconds", 0.75},
        {"serialization_time_seconds", 1},
        {"deserialization_time_seconds", 2.125},
        {"total_serialization_overhead_seconds", 3.125},
        {"num_successful_chunks", 5},
        {"num_failed_chunks", 1},
        {"chunk_duration_mean", 1.7},
        {"chunk_duration_min", 0.5},
        {"chunk_duration_max", 3.5},
        {"chunk_duration_std", sqrt((0.49 + 0.09 + 0.04 + 1.44 + 3.24) / 4)},
        {"chunk_duration_p50", 1.5},
        {"chunk_duration_p95", 3.2},
        {"chunk_duration_p99", 3.44},
        {"chunk_mem_delta_mean_mb", 11},
        {"chunk_mem_delta_min_mb", -5},
        {"chunk_mem_delta_max_mb", 30},
        {"chunk_mem_delta_std_mb", sqrt((1 + 81 + 256 + 121 + 361) / 4.0)},
        {"total_events_from_chunks", 1000},
        {"chunk_events_mean", 200},
        {"chunk_events_min", 0},
        {"chunk_events_max", 400},
        {"time_per_event_us_mean", (10000 + 20000 / 3.0 + 7500 + 8750) / 4},
        {"time_per_event_us_min", 20000 / 3.0},
        {"time_per_event_us_max", 10000},
        {"memory_per_event_bytes_mean", (100000 + 200000 / 3.0 - 25000 + 75000) / 4},
        {"memory_per_event_bytes_min", -25000},
        {"memory_per_event_bytes_max", 100000},
        /* around (200, 1.7): Sxy = 70 + 30 + 0 + 240 + 360, Sxx = 100000, Syy = 5.3 */
        {"runtime_events_correlation", 700 / sqrt(100000 * 5.3)},
        {"chunk_fixed_cost_s", 1.7 - 0.007 * 200},
        {"chunk_cost_per_event_us", 7000},
        /* f1: 3 of 5; f2: 1 of 2; f5: 2 of 8. f1: 600 of 2000 bytes. a b c v z q */
        {"avg_branches_read_percent", (60 + 50 + 25) / 3.0},
        {"avg_bytes_read_percent", 30},
        {"total_branches_read", 6},
        {"preprocess_seconds", 0.75},
        {"task_memory_limit_bytes", 2e9},
        {"largest_task_memory_bytes", 1e9},
        {"transfer_manager_seconds", 0.25},
        {"transfer_manager_bytes", 1000},
        {"transfer_manager_files", 1},
        {"transfer_peer_seconds", 0.5},
        {"transfer_peer_bytes", 2000},
        {"transfer_peer_files", 2},
        {"transfer_output_seconds", 0.75},
        {"transfer_output_bytes", 3000},
        {"transfer_output_files", 3},
        {"preprocess_files", 4},
        {"preprocess_bytes_read", 2048},
        {"preprocess_read_requests", 12},
        {"challenge_factor", 50},
        {"before_process_seconds", 0.25},
        {"chunk_seconds", 8.5},
        {"chunk_cpu_seconds", 0.6},
        {"workers_seen", 10},
        {"workers_spilled", 1},
        {"peak_spilled_bytes", 7 * MB},
        /* of f1 alone it is known how much was read: a b c, a not twice */
        {"num_files", 5},
        {"files_tree_bytes", 2000},
        {"files_accessed_bytes", 600},
        {"files_accessed_uncompressed_bytes", 3000},
        {"files_read_percent", 30},
        {"bytes_read_from_chunks", 4000},
        {"metadata_bytes_read", 800},
        {"total_read_requests", 30},
        {"branch_read_seconds", 0.6},
        {"branch_read_bytes", 1300},
        {"branch_read_uncompressed_bytes", 4000},
        {"branch_read_count", 4},
        {"chunks_with_reads", 2},
        {"replayed_chunks", 3},
        {"chunks_with_cpu_time", 1},
        {"chunks_with_peak_memory", 1},
        {"chunks_with_bytes_read", 3},
        {"chunks_with_branches", 6},
        {"chunks_with_before_process", 1},
        {"total_dropped_sections", 2},
        {"measurement_faults", 5},
        {"measuring_seconds", 0.5},
    };
    const size_t n_expected = sizeof expected / sizeof *expected;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_run_free(run); /* the metrics need it no more */
    for (size_t i = 0; i < n_expected; i++) {
        roast_value value = roast_metrics_get(metrics, expected[i].key);
        assert_near_(expected[i].value, roast_value_number(value), expected[i].key, __FILE__,
                     __LINE__);
    }
    /* Each number of the catalogue is in the list above and has the type that it says. */
    size_t numbers = 0;
    for (uint32_t row = 0; row < roast_catalogue_count(); row++) {
        const roast_metric_info *info = roast_catalogue_at(row);
        roast_value value = roast_metrics_at(metrics, row);
        bool number = info->type == ROAST_TYPE_INT || info->type == ROAST_TYPE_REAL;
        if (info->scope != ROAST_IN_METRICS || !number) {
            assert_int_equal(ROAST_VALUE_NONE, value.kind);
            continue;
        }
        numbers++;
        if (value.kind != (info->type == ROAST_TYPE_INT ? ROAST_VALUE_INT : ROAST_VALUE_REAL))
            fail_msg("%s: not of its type", info->key);
        if (info->aliases[0] != '\0')
            assert_near(roast_value_number(value),
                        roast_value_number(roast_metrics_get(metrics, info->aliases)));
    }
    assert_int_equal(n_expected, numbers);
    roast_metrics_free(metrics);
}

/* ---- tables ---- */

static void test_datasets(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    const roast_dataset_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_per_dataset, &count);
    assert_int_equal(3, count);
    assert_str("A", rows[0].name);
    assert_int_equal(2, rows[0].num_chunks);
    assert_near(3, rows[0].total_duration);
    assert_int_equal(400, rows[0].total_events);
    assert_near(1.5, rows[0].mean_duration);
    assert_near(200, rows[0].mean_events_per_chunk);
    assert_str("B", rows[1].name);
    assert_int_equal(2, rows[1].num_chunks);
    assert_near(2, rows[1].total_duration);
    assert_int_equal(200, rows[1].total_events);
    assert_near(1, rows[1].mean_duration);
    assert_near(100, rows[1].mean_events_per_chunk);
    assert_null(rows[2].name.data);
    assert_int_equal(1, rows[2].num_chunks);
    assert_near(3.5, rows[2].total_duration);
    assert_int_equal(400, rows[2].total_events);
    roast_metrics_free(metrics);
}

static const roast_section_row *section_named(const roast_metrics *metrics, const char *name,
                                              roast_section_kind kind) {
    uint32_t count;
    const roast_section_row *rows = roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].kind == kind && roast_str_equal(rows[i].name, roast_str_of(name)))
            return &rows[i];
    }
    fail_msg("no section %s", name);
    return NULL;
}

static void expect_time(const roast_metrics *metrics, const char *name, uint64_t count,
                        double total, double self) {
    const roast_section_row *row = section_named(metrics, name, ROAST_SECTION_TIME);
    assert_int_equal(count, row->count);
    assert_near(total, row->total_duration);
    assert_near(self, row->self_duration);
    assert_near(total / (double)count, row->mean_duration);
    assert_true(isnan(row->mean_mem_delta_mb) && isnan(row->max_mem_delta_mb) &&
                isnan(row->min_mem_delta_mb));
}

static void test_sections(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    roast_row_table_rows(metrics, ROAST_ROWS_sections, &count);
    assert_int_equal(8, count);
    expect_time(metrics, "outer", 2, 1.9, 1.9 - 0.4 - 0.1 - 0.6);
    expect_time(metrics, "inner", 5, 1.1, 1.1 - 0.3);
    expect_time(metrics, "deep", 1, 0.3, 0.3);
    expect_time(metrics, "over", 1, 0.1, 0); /* what is inside took 7 ns more */
    expect_time(metrics, "under", 1, 0.100000007, 0.100000007);
    const roast_section_row *mem = section_named(metrics, "mem", ROAST_SECTION_MEMORY);
    assert_int_equal(4, mem->count);
    assert_near(14 / 4.0, mem->mean_mem_delta_mb);
    assert_near(6, mem->max_mem_delta_mb); /* two uses in one entry of 12 */
    assert_near(-2, mem->min_mem_delta_mb);
    assert_true(isnan(mem->total_duration) && isnan(mem->self_duration) &&
                isnan(mem->mean_duration));
    const roast_section_row *outer = section_named(metrics, "outer", ROAST_SECTION_MEMORY);
    assert_int_equal(1, outer->count);
    assert_near(5, outer->mean_mem_delta_mb);
    const roast_section_row *io = section_named(metrics, "io", ROAST_SECTION_BYTES);
    assert_int_equal(1, io->count);
    assert_int_equal(1000, io->total_bytes.integer);
    roast_metrics_free(metrics);
}

static const roast_file_row *file_named(const roast_metrics *metrics, const char *name) {
    uint32_t count;
    const roast_file_row *rows =
                             roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count),
                         *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (roast_str_equal(rows[i].name, roast_str_of(name))) {
            assert_null(found); /* one row a name */
            found = &rows[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void expect_file(const roast_metrics *metrics, const char *name, double branches,
                        double branches_percent, double tree, double read, double read_percent,
                        double ratio) {
    const roast_file_row *row = file_named(metrics, name);
    assert_value(branches, row->total_branches);
    assert_value(branches_percent, row->branches_read_percent);
    assert_value(tree, row->total_tree_bytes);
    assert_value(read, row->bytes_read);
    assert_value(read_percent, row->bytes_read_percent);
    assert_value(ratio, row->compression_ratio);
}

/* Workers that were counted at other moments than they were sampled; sections beside the chunks. */
static void test_counts_and_sections_of_their_own(void **state) {
    (void)state;
    roast_error err;
    roast_run *run = new_run();
    add_workers(run);
    roast_series *counts;
    assert_ok(roast_series_new(&counts, &err), err);
    static const uint32_t workers[] = {3, 5};
    for (int tick = 0; tick < 2; tick++)
        assert_ok(
            roast_series_tick(counts, (roast_utc){tick * INT64_C(1000000000)}, workers[tick], &err),
            err);
    roast_run_take_counts(run, counts);
    roast_chunklog *beside;
    assert_ok(roast_chunklog_new(&beside, &err), err);
    roast_section section = {roast_str_of("by hand"), ROAST_SECTION_TIME, -1, 1, 0, 250000000, 0};
    roast_chunk record = {.sections = &section, .n_sections = 1};
    assert_ok(roast_chunklog_append(beside, &record, &err), err);
    assert_ok(roast_chunklog_append(beside, &record, &err), err);
    roast_run_take_sections(run, beside);
    /* Its layout has the same number in the other log. */
    section.name = roast_str_of("in a chunk");
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &record, &err), err);

    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    double cores = roast_value_number(roast_metrics_get(metrics, "cores_per_worker"));
    assert_near(4, roast_value_number(roast_metrics_get(metrics, "avg_workers")));
    assert_near(4, roast_value_number(roast_metrics_get(metrics, "mean_workers")));
    assert_int_equal(5, roast_metrics_get(metrics, "peak_workers").integer);
    assert_near(4 * cores, roast_value_number(roast_metrics_get(metrics, "total_cores")));
    expect_time(metrics, "by hand", 2, 0.5, 0.5);
    expect_time(metrics, "in a chunk", 1, 0.25, 0.25);
    assert_int_equal(1, roast_metrics_get(metrics, "num_successful_chunks").integer);
    roast_metrics_free(metrics);
}

static void test_files(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_chunk nowhere = chunk_of("A", NULL, 1, 1, 1);
    access_branches(&nowhere, only_w, 1);
    append(run, &nowhere);
    /* Sets that were seen before, at once and later, change nothing. */
    roast_chunk again = chunk_of("A", "f1", 1, 1, 1);
    access_branches(&again, a_b, 2);
    append(run, &again);
    append(run, &again);
    roast_metrics *metrics = compute(run);
    roast_run_free(run);
    uint32_t count;
    roast_row_table_rows(metrics, ROAST_ROWS_file_read_metrics, &count);
    assert_int_equal(5, count);
    /* a b c of the latest metadata; v is accessed by a chunk that failed, but is not in the file */
    expect_file(metrics, "f1", 5, 60, 2000, 600, 30, 0.25);
    /* the size of a is not known */
    expect_file(metrics, "f2", 2, 50, 50, NAN, NAN, NAN);
    /* nothing is known of f3; nothing was read of f4; f5 has no list, and an empty tree */
    expect_file(metrics, "f3", NAN, NAN, NAN, NAN, NAN, NAN);
    expect_file(metrics, "f4", 7, NAN, 70, NAN, NAN, 0.5);
    expect_file(metrics, "f5", 8, 25, 0, NAN, NAN, NAN);
    /* a b c v z q and w of the chunk without a file */
    assert_value(7, roast_metrics_get(metrics, "total_branches_read"));
    roast_metrics_free(metrics);
}

static void add_column(roast_run *run, const char *column) {
    roast_error err;
    assert_ok(roast_run_add_column(run, roast_str_of(column), &err), err);
}

/* Where chunks do not tell, the report's columns stand for every file. */
static void test_files_from_columns(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_chunks(run, false);
    add_files(run);
    roast_metrics *before = compute(run);
    assert_value(NAN, roast_metrics_get(before, "total_branches_read"));
    assert_value(NAN, roast_metrics_get(before, "avg_branches_read_percent"));
    assert_value(NAN, file_named(before, "f1")->bytes_read);
    roast_metrics_free(before);

    const char *const columns[] = {"a-data", "d-data", "nJet-offsets", "a-data",
                                   "data",   "k-data", "-data",        "a-offsets"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        add_column(run, columns[i]);
    roast_metrics *metrics = compute(run);
    assert_value(4, roast_metrics_get(metrics, "total_branches_read")); /* a d nJet k */
    expect_file(metrics, "f1", 5, 40, 2000, 500, 25, 0.25);
    expect_file(metrics, "f2", 2, 50, 50, NAN, NAN, NAN);
    assert_value(100 * 4 / 7.0, file_named(metrics, "f4")->branches_read_percent);
    assert_value(NAN, file_named(metrics, "f3")->branches_read_percent);
    roast_metrics_free(metrics);

    /* One chunk that tells is believed more than the report. */
    roast_chunk chunk = chunk_of("A", "f1", 1, 1, 1);
    access_branches(&chunk, NULL, 0);
    append(run, &chunk);
    chunk.file = roast_str_of("f4");
    append(run, &chunk);
    add_file(run, "f6", "u6", 0, 0, 0, NULL, 0);
    chunk.file = roast_str_of("f6");
    append(run, &chunk);
    metrics = compute(run);
    assert_value(0, roast_metrics_get(metrics, "total_branches_read"));
    expect_file(metrics, "f1", 5, 0, 2000, 0, 0, 0.25);
    expect_file(metrics, "f4", 7, 0, 70, 0, 0, 0.5);    /* no sizes, but nothing was read */
    expect_file(metrics, "f6", 0, NAN, 0, 0, NAN, NAN); /* an empty tree: no shares of it */
    assert_value(NAN, file_named(metrics, "f5")->branches_read_percent);
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* A report alone: the union is known, although no file is. */
static void test_columns_without_files(void **state) {
    (void)state;
    roast_run *run = new_run();
    add_column(run, "a-data");
    add_column(run, "b-data");
    roast_metrics *metrics = compute(run);
    assert_value(2, roast_metrics_get(metrics, "total_branches_read"));
    assert_value(NAN, roast_metrics_get(metrics, "avg_bytes_read_percent"));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

/* ---- families, set and get ---- */

static const roast_task_row *task_at(const roast_metrics *metrics, uint32_t index) {
    uint32_t count;
    const void *rows = roast_row_table_rows(metrics, ROAST_ROWS_task_metrics, &count);
    assert_true(index < count);
    return roast_table_row(roast_row_table_at(ROAST_ROWS_task_metrics), rows, index);
}

static uint32_t count_tasks(const roast_metrics *metrics) {
    uint32_t count;
    roast_row_table_rows(metrics, ROAST_ROWS_task_metrics, &count);
    return count;
}

static void test_tasks(void **state) {
    (void)state;
    roast_run *run = graph_run();
    roast_metrics *metrics;
    roast_error err;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    /* added twice, it replaces itself */
    assert_ok(roast_metrics_tasks(metrics, run, &err), err);
    assert_ok(roast_metrics_tasks(metrics, run, &err), err);
    assert_int_equal(2, count_tasks(metrics)); /* not those of another client */
    const roast_task_row *read = task_at(metrics, 0), *sum = task_at(metrics, 1);
    assert_str("read", read->name); /* the longest time first */
    assert_value(3, read->count);
    assert_value(2, read->failed);         /* one raised, one was lost */
    assert_value(3, read->seconds);        /* of the two tries whose times are known */
    assert_value(1.5, read->mean_seconds); /* per such try */
    assert_value(1.25, read->cpu_seconds);
    assert_value(1000, read->result_bytes);
    assert_str("sum", sum->name);
    assert_value(1, sum->count);
    assert_value(0, sum->failed);
    assert_value(0.5, sum->seconds);
    assert_int_equal(ROAST_VALUE_NONE, sum->cpu_seconds.kind);
    assert_value(8, sum->result_bytes);
    roast_metrics_free(metrics);
    roast_run_free(run);
    /* Figures of the engine alone: its own times, and no tries. */
    run = new_run();
    add_span(run, "execute", "read", "thread-cpu", "seconds", 1.25);
    add_span(run, "execute", "read", "thread-noncpu", "seconds", 2);
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_metrics_tasks(metrics, run, &err), err);
    assert_int_equal(1, count_tasks(metrics));
    read = task_at(metrics, 0);
    assert_int_equal(ROAST_VALUE_NONE, read->count.kind);
    assert_int_equal(ROAST_VALUE_NONE, read->failed.kind);
    assert_value(3.25, read->seconds);
    assert_int_equal(ROAST_VALUE_NONE, read->mean_seconds.kind);
    assert_value(1.25, read->cpu_seconds);
    assert_int_equal(ROAST_VALUE_NONE, read->result_bytes.kind);
    roast_metrics_free(metrics);
    roast_run_free(run);
    /* Nothing of the engine: no row. */
    run = new_run();
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_metrics_tasks(metrics, run, &err), err);
    assert_int_equal(0, count_tasks(metrics));
    roast_metrics_free(metrics);
    roast_run_free(run);
}

static void test_families_give_what_compute_gives(void **state) {
    (void)state;
    roast_run *run = full_run();
    roast_metrics *all = compute(run), *parts;
    roast_error err;
    assert_ok(roast_metrics_new(&parts, &err), err);
    for (int twice = 0; twice < 2; twice++) { /* a family that is added again replaces itself */
        assert_ok(roast_metrics_workflow(parts, run, &err), err);
        assert_ok(roast_metrics_workers(parts, run, &err), err);
        assert_ok(roast_metrics_fine(parts, run, &err), err);
        assert_ok(roast_metrics_tasks(parts, run, &err), err);
        assert_ok(roast_metrics_chunks(parts, run, &err), err);
        assert_ok(roast_metrics_files(parts, run, &err), err);
        assert_ok(roast_metrics_efficiency(parts, &err), err);
    }
    for (uint32_t row = 0; row < roast_catalogue_count(); row++) {
        roast_value a = roast_metrics_at(all, row), b = roast_metrics_at(parts, row);
        assert_int_equal(a.kind, b.kind);
        assert_true(a.kind == ROAST_VALUE_NONE || roast_value_number(a) == roast_value_number(b));
    }
    uint32_t n_all, n_parts;
    roast_row_table_rows(all, ROAST_ROWS_per_dataset, &n_all);
    roast_row_table_rows(parts, ROAST_ROWS_per_dataset, &n_parts);
    assert_int_equal(n_all, n_parts);
    roast_row_table_rows(all, ROAST_ROWS_sections, &n_all);
    roast_row_table_rows(parts, ROAST_ROWS_sections, &n_parts);
    assert_int_equal(n_all, n_parts);
    roast_row_table_rows(all, ROAST_ROWS_file_read_metrics, &n_all);
    roast_row_table_rows(parts, ROAST_ROWS_file_read_metrics, &n_parts);
    assert_int_equal(n_all, n_parts);
    roast_metrics_free(all);
    roast_metrics_free(parts);
    roast_run_free(run);
}

static void test_efficiency_from_given_values(void **state) {
    (void)state;
    roast_error err;
    roast_metrics *metrics;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_ok(roast_metrics_set(metrics, "elapsed_time_seconds", roast_value_int(20), &err), err);
    assert_ok(roast_metrics_set(metrics, "total_cpu_time", roast_value_real(60), &err), err);
    assert_ok(roast_metrics_efficiency(metrics, &err), err);
    assert_value(3, roast_metrics_get(metrics, "speedup"));
    assert_value(NAN, roast_metrics_get(metrics, "core_efficiency"));
    assert_ok(roast_metrics_set(metrics, "total_cores", roast_value_real(4), &err), err);
    assert_ok(roast_metrics_set(metrics, "total_events", roast_value_int(800), &err), err);
    assert_value(NAN, roast_metrics_get(metrics, "useful_rate_gbps"));
    assert_ok(roast_metrics_set(metrics, "files_accessed_bytes", roast_value_int(5000000000), &err),
              err);
    assert_ok(roast_metrics_efficiency(metrics, &err), err);
    assert_value(2, roast_metrics_get(metrics, "useful_rate_gbps"));
    assert_value(0.75, roast_metrics_get(metrics, "cpu_efficiency"));
    assert_value(10, roast_metrics_get(metrics, "event_rate_core_hz"));
    assert_value(NAN, roast_metrics_get(metrics, "efficiency_ratio"));
    roast_metrics_free(metrics);
}

static void test_set_and_get(void **state) {
    (void)state;
    roast_error err;
    roast_metrics *metrics;
    assert_ok(roast_metrics_new(&metrics, &err), err);
    assert_status(ROAST_ENOTFOUND,
                  roast_metrics_set(metrics, "no_such_key", roast_value_int(1), &err));
    assert_non_null(strstr(err.message, "no_such_key"));
    assert_status(ROAST_ENOTFOUND, roast_metrics_set(metrics, NULL, roast_value_int(1), NULL));
    assert_status(ROAST_EINVAL, roast_metrics_set(metrics, "sections", roast_value_int(1), &err));
    assert_status(ROAST_EINVAL, roast_metrics_set(metrics, "worker_cpu", roast_value_int(1), &err));
    assert_ok(roast_metrics_set(metrics, "wall_time", roast_value_real(2), &err), err);
    assert_value(2, roast_metrics_get(metrics, "wall_time"));
    assert_ok(roast_metrics_set(metrics, "wall_time", roast_value_real(NAN), &err), err);
    assert_int_equal(ROAST_VALUE_NONE, roast_metrics_get(metrics, "wall_time").kind);
    assert_int_equal(ROAST_VALUE_NONE, roast_metrics_get(metrics, "no_such_key").kind);
    assert_int_equal(ROAST_VALUE_NONE, roast_metrics_at(metrics, roast_catalogue_count()).kind);
    roast_metrics_free(metrics);
    roast_metrics_free(NULL);
    assert_true(isnan(roast_value_number(roast_value_none())));
    assert_near(-3, roast_value_number(roast_value_int(-3)));
    assert_near(2.5, roast_value_number(roast_value_real(2.5)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_a_full_run),
        cmocka_unit_test(test_datasets),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_counts_and_sections_of_their_own),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_from_columns),
        cmocka_unit_test(test_columns_without_files),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_families_give_what_compute_gives),
        cmocka_unit_test(test_efficiency_from_given_values),
        cmocka_unit_test(test_set_and_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
