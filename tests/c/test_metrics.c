/* The formulas against numbers worked out by hand. */
#include "support.h"

#include <math.h>

#include "metrics/formulas.h"
#include "metrics/names.h"

static const double MB = 1e6;

/* ---- runs to compute from ---- */

static roast_run *new_run(void) {
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

static roast_metrics *compute(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    return metrics;
}

static void add_report(roast_run *run) {
    roast_report report = {
        .have_entries = true,
        .have_bytesread = true,
        .have_processtime = true,
        .have_chunks = true,
        .entries = 1000000,
        .bytesread = 5000000000,
        .processtime = 40,
        .chunks = 8,
    };
    roast_run_set_clock(run, 100, 110);
    roast_run_set_report(run, &report);
}

static void add_sample(roast_series *series, uint32_t number, double memory_mb, double limit_mb,
                       double cores, double cpu) {
    double value[ROAST_COLUMNS];
    char name[32];
    uint32_t worker;
    roast_error err;
    for (int i = 0; i < ROAST_COLUMNS; i++)
        value[i] = NAN;
    value[ROAST_COLUMN_memory] = memory_mb * MB;
    value[ROAST_COLUMN_memory_limit] = limit_mb * MB;
    value[ROAST_COLUMN_cores] = cores;
    value[ROAST_COLUMN_cpu] = cpu;
    snprintf(name, sizeof name, "tcp://worker:%u", number);
    assert_ok(roast_series_worker(series, roast_str_of(name), &worker, &err), err);
    assert_ok(roast_series_append(series, worker, value, &err), err);
}

/* Two workers, then ten, then two again; looked at in uneven steps. */
static void add_workers(roast_run *run) {
    static const int64_t seconds[] = {0, 1, 5, 6, 10};
    static const uint32_t workers[] = {2, 10, 10, 2, 2};
    static const double memory0[] = {100, 200, 200, 300, 100}, cpu0[] = {400, 200, 200, 0, 400};
    const int64_t start = INT64_C(1700000000123456789);
    roast_series *series = roast_run_series(run);
    roast_error err;
    for (int tick = 0; tick < 5; tick++) {
        roast_utc when = {start + seconds[tick] * 1000000000};
        assert_ok(roast_series_tick(series, when, workers[tick], &err), err);
        add_sample(series, 0, memory0[tick], 1000, 4, cpu0[tick]);
        add_sample(series, 1, 400, 800, 4, 100);
        if (workers[tick] == 2)
            continue;
        for (uint32_t other = 2; other < 9; other++)
            add_sample(series, other, tick == 1 ? 100 : 300, 0, 4, NAN);
        add_sample(series, 9, NAN, 1000, tick == 1 ? 1 : 3, tick == 1 ? 80 : 60);
    }
}

static void add_span(roast_run *run, const char *context, const char *prefix, const char *activity,
                     const char *unit, double value) {
    roast_span_value span = {roast_str_of(context), roast_str_of(prefix), roast_str_of(activity),
                             roast_str_of(unit), value};
    roast_error err;
    assert_ok(roast_run_add_span(run, &span, &err), err);
}

static void add_spans(roast_run *run) {
    add_span(run, "execute", "MyProc", "thread-cpu", "seconds", 30);
    add_span(run, "execute", "MyProc", "thread-noncpu", "seconds", 10);
    add_span(run, "execute", "MyProc", "thread-cpu", "count", 999);
    add_span(run, "execute", "MyProcessor", "thread-cpu", "seconds", 1);
    add_span(run, "execute", "merge", "thread-cpu", "seconds", 2);
    add_span(run, "execute", "merge", "thread-noncpu", "seconds", 0.5);
    add_span(run, "gather-dep", "MyProc", "thread-noncpu", "seconds", 0.25); /* not a task */
    add_span(run, "execute", "merge", "memory-read", "bytes", 1000);
    add_span(run, "get-data", NULL, "memory-read", "bytes", 24);
    add_span(run, "get-data", NULL, "memory-read", "count", 3);
    add_span(run, "execute", "merge", "disk-read", "bytes", 500);
    add_span(run, "execute", "merge", "disk-read", "seconds", 77);
    add_span(run, "evict", NULL, "disk-write", "bytes", 700);
    add_span(run, "get-data", NULL, "compress", "seconds", 0.25);
    add_span(run, "gather-dep", NULL, "decompress", "seconds", 0.5);
    add_span(run, "get-data", NULL, "serialize", "seconds", 1);
    add_span(run, "gather-dep", NULL, "deserialize", "seconds", 2);
    add_span(run, "execute", "MyProc", "deserialize", "seconds", 0.125);
    add_span(run, "execute", "MyProc", "something-new", "seconds", 5);
}

static void set_processor(roast_run *run, const char *name) {
    roast_error err;
    assert_ok(roast_run_set_processor(run, roast_str_of(name), &err), err);
}

static roast_chunk chunk_of(const char *dataset, const char *file, int64_t events, double seconds,
                            double delta_mb) {
    return (roast_chunk){
        .have = ROAST_CHUNK_HAS(num_events) | ROAST_CHUNK_HAS(duration_ns) |
                ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after),
        .num_events = events,
        .duration_ns = (int64_t)llround(seconds * 1e9),
        .rss_before = 1000000000,
        .rss_after = 1000000000 + (int64_t)llround(delta_mb * MB),
        .dataset = roast_str_of(dataset),
        .file = roast_str_of(file),
    };
}

static void append(roast_run *run, const roast_chunk *chunk) {
    roast_error err;
    assert_ok(roast_chunklog_append(roast_run_chunks(run), chunk, &err), err);
}

static void access_branches(roast_chunk *chunk, const roast_str *names, uint32_t count) {
    chunk->has_branches = true;
    chunk->branches = names;
    chunk->n_branches = count;
}

static roast_section section_of(const char *name, roast_section_kind kind, int32_t parent,
                                uint64_t count, double value) {
    return (roast_section){
        .name = roast_str_of(name),
        .kind = kind,
        .parent = parent,
        .count = count,
        .value = (int64_t)llround(value),
        .before = kind == ROAST_SECTION_MEMORY ? 1000000 : 0,
    };
}

static const double SECOND = 1e9; /* nanoseconds */

/* Sections inside sections of other kinds, repeats, folded ones, and one name of two kinds. */
static void append_with_sections(roast_run *run, roast_chunk first, roast_chunk second) {
    const roast_section one[] = {
        section_of("outer", ROAST_SECTION_TIME, -1, 1, 0.9 * SECOND),
        section_of("mem", ROAST_SECTION_MEMORY, 0, 1, 4 * MB),
        section_of("inner", ROAST_SECTION_TIME, 1, 1, 0.4 * SECOND),
        section_of("inner", ROAST_SECTION_TIME, 0, 1, 0.1 * SECOND),
        section_of("io", ROAST_SECTION_BYTES, 2, 1, 1000),
        section_of("deep", ROAST_SECTION_TIME, 4, 1, 0.3 * SECOND),
    };
    const roast_section two[] = {
        section_of("outer", ROAST_SECTION_TIME, -1, 1, 1.0 * SECOND),
        section_of("inner", ROAST_SECTION_TIME, 0, 3, 0.6 * SECOND),
        section_of("mem", ROAST_SECTION_MEMORY, -1, 1, -2 * MB),
        section_of("mem", ROAST_SECTION_MEMORY, -1, 2, 12 * MB),
        section_of("outer", ROAST_SECTION_MEMORY, -1, 1, 5 * MB),
        section_of("over", ROAST_SECTION_TIME, -1, 1, 0.1 * SECOND),
        section_of("under", ROAST_SECTION_TIME, 5, 1, 0.1 * SECOND + 7),
    };
    first.sections = one;
    first.n_sections = sizeof one / sizeof *one;
    second.sections = two;
    second.n_sections = sizeof two / sizeof *two;
    append(run, &first);
    append(run, &second);
}

static roast_str a_b[2], b_c[2], only_a[1], only_z[1], a_q[2], only_w[1], only_v[1];

static void name_branches(void) {
    a_b[0] = only_a[0] = a_q[0] = roast_str_of("a");
    a_b[1] = b_c[0] = roast_str_of("b");
    b_c[1] = roast_str_of("c");
    only_z[0] = roast_str_of("z");
    a_q[1] = roast_str_of("q");
    only_w[0] = roast_str_of("w");
    only_v[0] = roast_str_of("v");
}

/* Five chunks that ended well and one that did not. */
static void add_chunks(roast_run *run, bool with_branches) {
    roast_chunk c[] = {
        chunk_of("A", "f1", 100, 1.0, 10),  chunk_of("A", "f1", 300, 2.0, 20),
        chunk_of("B", "f2", 200, 1.5, -5),  chunk_of("B", "f3", 0, 0.5, 0),
        chunk_of(NULL, "f5", 400, 3.5, 30), chunk_of("A", "f1", 1000, 100, 1000),
    };
    name_branches();
    c[5].error_type = roast_str_of("ValueError");
    c[5].error_message = roast_str_of("no jets");
    const roast_section lost[] = {section_of("outer", ROAST_SECTION_TIME, -1, 1, 50 * SECOND)};
    c[5].sections = lost;
    c[5].n_sections = 1;
    if (with_branches) {
        access_branches(&c[0], a_b, 2);
        access_branches(&c[1], b_c, 2);
        access_branches(&c[2], only_a, 1);
        access_branches(&c[3], only_z, 1);
        access_branches(&c[4], a_q, 2);
        access_branches(&c[5], only_v, 1);
    }
    append_with_sections(run, c[0], c[1]);
    for (int i = 2; i < 6; i++)
        append(run, &c[i]);
}

static void add_file(roast_run *run, const char *name, const char *uuid, int64_t total_branches,
                     int64_t tree_bytes, int64_t uncompressed, const roast_branch_size *branches,
                     uint32_t n_branches) {
    roast_file file = {
        .name = roast_str_of(name),
        .uuid = roast_str_of(uuid),
        .total_branches = total_branches,
        .tree_bytes = tree_bytes,
        .tree_uncompressed_bytes = uncompressed,
        .n_branches = n_branches,
        .branches = branches,
    };
    roast_error err;
    assert_ok(roast_chunklog_add_file(roast_run_chunks(run), &file, &err), err);
}

static void add_files(roast_run *run) {
    const roast_branch_size sizes[] = {
        {{"a", 1}, 100, 1000}, {{"b", 1}, 200, 1000}, {{"c", 1}, 300, 1000},
        {{"d", 1}, 400, 1000}, {{"a", 1}, 100, 1000}, /* twice */
    };
    const roast_branch_size half_known[] = {{{"x", 1}, 10, 20}, {{"a", 1}, -1, -1}};
    add_file(run, "f1", "old", 10, 9, 9, NULL, 0);
    add_file(run, "f1", "new", 5, 2000, 8000, sizes, sizeof sizes / sizeof *sizes);
    add_file(run, "f2", "u2", 2, 50, -1, half_known, 2);
    add_file(run, "f4", "u4", 7, 70, 140, NULL, 0);
    add_file(run, "f5", "u5", 8, 0, 0, NULL, 0);
}

/* A run that has everything. */
static roast_run *full_run(void) {
    roast_run *run = new_run();
    add_report(run);
    add_workers(run);
    add_spans(run);
    set_processor(run, "MyProc");
    add_chunks(run, true);
    add_files(run);
    return run;
}

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
        {"data_rate_mbps", 500},
        {"event_rate_wall_khz", 100},
        {"event_rate_agg_khz", 25},
        {"event_rate_core_hz", 1e6 / (10 * total_cores)},
        {"event_rate_core_khz", 1e3 / (10 * total_cores)},
        {"efficiency_ratio", 4},
        {"speedup_factor", 4},
        {"core_efficiency", 40 / (10 * total_cores)},
        {"cpu_efficiency_fine", 33 / (10 * total_cores)},
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
    /* Each number of the catalogue is in the list above and has the type that the catalogue says. */
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
    const roast_dataset_row *rows = roast_metrics_datasets(metrics, &count);
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
    const roast_section_row *rows = roast_metrics_sections(metrics, &count);
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
    roast_metrics_sections(metrics, &count);
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
    assert_int_equal(1000, io->total_bytes);
    roast_metrics_free(metrics);
}

static const roast_file_row *file_named(const roast_metrics *metrics, const char *name) {
    uint32_t count;
    const roast_file_row *rows = roast_metrics_file_rows(metrics, &count), *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (roast_str_equal(rows[i].name, roast_str_of(name))) {
            assert_null(found); /* one row a name */
            found = &rows[i];
        }
    }
    assert_non_null(found);
    return found;
}

/* NaN stands for "not measured". */
#define assert_value(expected, value) assert_value_(expected, value, #value, __LINE__)
static void assert_value_(double expected, roast_value value, const char *what, int line) {
    if (isnan(expected) && value.kind != ROAST_VALUE_NONE)
        fail_msg("line %d: %s was made up", line, what);
    if (!isnan(expected))
        assert_near_(expected, roast_value_number(value), what, __FILE__, line);
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
    roast_metrics_file_rows(metrics, &count);
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

    const char *const columns[] = {"a-data", "d-data", "nJet-offsets", "a-data", "data", "k-data"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        add_column(run, columns[i]);
    roast_metrics *metrics = compute(run);
    assert_value(3, roast_metrics_get(metrics, "total_branches_read")); /* a d k */
    expect_file(metrics, "f1", 5, 40, 2000, 500, 25, 0.25);
    expect_file(metrics, "f2", 2, 50, 50, NAN, NAN, NAN);
    assert_value(100 * 3 / 7.0, file_named(metrics, "f4")->branches_read_percent);
    assert_value(NAN, file_named(metrics, "f3")->branches_read_percent);
    roast_metrics_free(metrics);

    /* One chunk that tells is believed more than the report. */
    roast_chunk chunk = chunk_of("A", "f1", 1, 1, 1);
    access_branches(&chunk, NULL, 0);
    append(run, &chunk);
    chunk.file = roast_str_of("f4");
    append(run, &chunk);
    metrics = compute(run);
    assert_value(0, roast_metrics_get(metrics, "total_branches_read"));
    expect_file(metrics, "f1", 5, 0, 2000, 0, 0, 0.25);
    expect_file(metrics, "f4", 7, 0, 70, 0, 0, 0.5); /* no sizes, but nothing was read */
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
    roast_metrics_datasets(metrics, &count);
    assert_int_equal(0, count);
    roast_metrics_sections(metrics, &count);
    assert_int_equal(0, count);
    roast_metrics_file_rows(metrics, &count);
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

static void test_chunks_that_tell_nothing(void **state) {
    (void)state;
    roast_run *run = new_run();
    roast_chunk bare = {.dataset = roast_str_of("A")};
    append(run, &bare);
    append(run, &bare);
    roast_metrics *metrics = compute(run);
    const char *const known[] = {"num_chunks", "num_successful_chunks", "num_failed_chunks"};
    expect_only(metrics, known, 3);
    uint32_t count;
    const roast_dataset_row *row = roast_metrics_datasets(metrics, &count);
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
    const char *const known[] = {"num_chunks", "num_successful_chunks", "num_failed_chunks"};
    expect_only(metrics, known, 3);
    assert_value(0, roast_metrics_get(metrics, "num_successful_chunks"));
    assert_value(1, roast_metrics_get(metrics, "num_failed_chunks"));
    uint32_t count;
    roast_metrics_datasets(metrics, &count);
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

/* ---- families, set and get ---- */

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
    roast_metrics_datasets(all, &n_all);
    roast_metrics_datasets(parts, &n_parts);
    assert_int_equal(n_all, n_parts);
    roast_metrics_sections(all, &n_all);
    roast_metrics_sections(parts, &n_parts);
    assert_int_equal(n_all, n_parts);
    roast_metrics_file_rows(all, &n_all);
    roast_metrics_file_rows(parts, &n_parts);
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
    assert_ok(roast_metrics_efficiency(metrics, &err), err);
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

static void test_rounding(void **state) {
    (void)state;
    assert_int_equal(ROAST_VALUE_NONE, roast_value_rounded(NAN).kind);
    assert_true(roast_value_rounded(1e30).integer == INT64_MAX);
    assert_true(roast_value_rounded(-1e30).integer == INT64_MIN);
    assert_true(roast_value_rounded(0x1p62).integer == INT64_C(1) << 62);
    assert_int_equal(-3, roast_value_rounded(-2.75).integer);
}

static void expect_name(roast_names *names, const char *data, size_t len, uint32_t expected) {
    uint32_t id = 99;
    assert_status(ROAST_OK, roast_names_id(names, (roast_str){data, len}, &id));
    assert_int_equal(expected, id);
}

/* A name is its address and its length; another place with the same text is the same name. */
static void test_names(void **state) {
    (void)state;
    static const char here[] = "Jet_pt", there[] = "Jet_pt";
    roast_names names = {0};
    for (int twice = 0; twice < 2; twice++) {
        expect_name(&names, here, 6, 0);
        expect_name(&names, here, 3, 1);
        expect_name(&names, here, 0, 2);
        expect_name(&names, here, 6, 0);
        expect_name(&names, there, 6, 0);
        expect_name(&names, there, 3, 1);
    }
    assert_int_equal(3, roast_names_count(&names));
    assert_str("Jet", roast_names_get(&names, 1));
    roast_names_reset(&names);
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
    const roast_dataset_row *datasets = roast_metrics_datasets(metrics, &count);
    assert_int_equal(NAMES, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(CHUNKS / NAMES, datasets[i].num_chunks);
    const roast_section_row *sections = roast_metrics_sections(metrics, &count);
    assert_int_equal(NAMES, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(CHUNKS / NAMES, sections[i].count);
    const roast_file_row *files = roast_metrics_file_rows(metrics, &count);
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
    assert_near((double)INT64_MAX / 1e9, roast_metrics_datasets(metrics, &count)->total_duration);
    assert_true(roast_metrics_sections(metrics, &count)->count == UINT64_MAX);
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
    run = run_with_many_names();
    assert_true(alloc_walk(compute_and_free, run) > 30);
    roast_run_free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_a_full_run),
        cmocka_unit_test(test_datasets),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_from_columns),
        cmocka_unit_test(test_columns_without_files),
        cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_zero_time),
        cmocka_unit_test(test_chunks_without_a_report),
        cmocka_unit_test(test_chunks_that_tell_nothing),
        cmocka_unit_test(test_all_chunks_failed),
        cmocka_unit_test(test_one_chunk),
        cmocka_unit_test(test_one_tick),
        cmocka_unit_test(test_spans_without_a_processor),
        cmocka_unit_test(test_spans_that_lack_an_activity),
        cmocka_unit_test(test_families_give_what_compute_gives),
        cmocka_unit_test(test_efficiency_from_given_values),
        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_huge_numbers),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
