/* Runs whose metrics can be worked out by hand. */
#ifndef ROAST_TESTS_RUN_SAMPLE_H
#define ROAST_TESTS_RUN_SAMPLE_H

#include <math.h>

#include "support.h"

#include "roast/metrics.h"

#define MB     1e6 /* bytes */
#define SECOND 1e9 /* nanoseconds */

/* ---- runs to compute from ---- */

static inline roast_run *new_run(void) {
    roast_error err;
    roast_run *run;
    assert_ok(roast_run_new(&run, &err), err);
    return run;
}

static inline roast_metrics *compute(const roast_run *run) {
    roast_error err;
    roast_metrics *metrics;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    return metrics;
}

static inline void add_report(roast_run *run) {
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

static inline void add_sample_with_spill(roast_series *series, uint32_t number, double memory_mb,
                                         double limit_mb, double cores, double cpu,
                                         double spilled_mb) {
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
    value[ROAST_COLUMN_spilled_bytes] = spilled_mb * MB;
    snprintf(name, sizeof name, "tcp://worker:%u", number);
    assert_ok(roast_series_worker(series, roast_str_of(name), &worker, &err), err);
    assert_ok(roast_series_append(series, worker, value, &err), err);
}

static inline void add_sample(roast_series *series, uint32_t number, double memory_mb,
                              double limit_mb, double cores, double cpu) {
    add_sample_with_spill(series, number, memory_mb, limit_mb, cores, cpu, NAN);
}

/* Two workers, then ten, then two again; looked at in uneven steps. */
static inline void add_workers(roast_run *run) {
    static const int64_t seconds[] = {0, 1, 5, 6, 10};
    static const uint32_t workers[] = {2, 10, 10, 2, 2};
    static const double memory0[] = {100, 200, 200, 300, 100}, cpu0[] = {400, 200, 200, 0, 400};
    const int64_t start = INT64_C(1700000000123456789);
    roast_series *series = roast_run_series(run);
    roast_error err;
    for (int tick = 0; tick < 5; tick++) {
        roast_utc when = {start + seconds[tick] * 1000000000};
        assert_ok(roast_series_tick(series, when, workers[tick], &err), err);
        add_sample_with_spill(series, 0, memory0[tick], 1000, 4, cpu0[tick], tick == 3 ? 7 : 0);
        add_sample_with_spill(series, 1, 400, 800, 4, 100, 0);
        if (workers[tick] == 2)
            continue;
        for (uint32_t other = 2; other < 9; other++)
            add_sample(series, other, tick == 1 ? 100 : 300, 0, 4, NAN);
        add_sample(series, 9, NAN, 1000, tick == 1 ? 1 : 3, tick == 1 ? 80 : 60);
    }
}

static inline void add_span(roast_run *run, const char *context, const char *prefix,
                            const char *activity, const char *unit, double value) {
    roast_span_value span = {roast_str_of(context), roast_str_of(prefix), roast_str_of(activity),
                             roast_str_of(unit), value};
    roast_error err;
    assert_ok(roast_run_add_span(run, &span, &err), err);
}

static inline void add_spans(roast_run *run) {
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
    add_span(run, "worker", NULL, "process-cpu", "seconds", 12);
    add_span(run, "machine", NULL, "busy", "seconds", 20);
    add_span(run, "machine", NULL, "own-cpu", "seconds", 14);
    add_span(run, "machine", NULL, "core", "seconds", 40);
    add_span(run, "machine", NULL, "cores", "count", 8);
    add_span(run, "preprocess", NULL, "wall", "seconds", 0.75);
    add_span(run, "preprocess", NULL, "files", "count", 4);
    add_span(run, "preprocess", NULL, "read", "bytes", 2048);
    add_span(run, "preprocess", NULL, "read", "count", 12);
    add_span(run, "worker", NULL, "task-memory", "bytes", 2e9);
    add_span(run, "worker", NULL, "task-memory-used", "bytes", 1e9);
    static const char *const ways[] = {"manager", "peer", "output"};
    for (int i = 0; i < 3; i++) {
        add_span(run, "transfer", NULL, ways[i], "seconds", 0.25 * (i + 1));
        add_span(run, "transfer", NULL, ways[i], "bytes", 1000 * (i + 1));
        add_span(run, "transfer", NULL, ways[i], "count", i + 1);
    }
}

static inline void set_processor(roast_run *run, const char *name) {
    roast_error err;
    assert_ok(roast_run_set_processor(run, roast_str_of(name), &err), err);
}

static inline roast_chunk chunk_of(const char *dataset, const char *file, int64_t events,
                                   double seconds, double delta_mb) {
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

static inline void append(roast_run *run, const roast_chunk *chunk) {
    roast_error err;
    assert_ok(roast_chunklog_append(roast_run_chunks(run), chunk, &err), err);
}

static inline void access_branches(roast_chunk *chunk, const roast_str *names, uint32_t count) {
    chunk->has_branches = true;
    chunk->branches = names;
    chunk->n_branches = count;
}

static inline roast_section section_of(const char *name, roast_section_kind kind, int32_t parent,
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

/* Sections inside sections of other kinds, repeats, folded ones, and one name of two kinds. */
static inline void append_with_sections(roast_run *run, roast_chunk first, roast_chunk second) {
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

/* The sets of branches that the chunks accessed. */
static const roast_str a_b[] = {{"a", 1}, {"b", 1}}, b_c[] = {{"b", 1}, {"c", 1}};
static const roast_str a_q[] = {{"a", 1}, {"q", 1}}, only_a[] = {{"a", 1}}, only_v[] = {{"v", 1}};
static const roast_str only_w[] = {{"w", 1}}, only_z[] = {{"z", 1}};

static inline roast_read read_of(const char *branch, double seconds, int64_t bytes,
                                 int64_t uncompressed, int64_t count) {
    return (roast_read){roast_str_of(branch), (int64_t)llround(seconds * SECOND), bytes,
                        uncompressed, count};
}

/* What was read of the branches: one of them not to the last detail, and some in vain. */
static inline void add_reads(roast_chunk c[6]) {
    static roast_read first[2], second[1], lost[1];
    first[0] = read_of("a", 0.1, 400, 1600, 1);
    first[1] = read_of("b", 0.2, 300, -1, 2);
    second[0] = read_of("a", 0.3, 600, 2400, 1);
    lost[0] = read_of("a", 50, 1000000, 1000000, 9);
    c[0].reads = first;
    c[0].n_reads = 2;
    c[1].reads = second;
    c[5].reads = lost;
    c[1].n_reads = c[5].n_reads = 1;
    c[0].has_reads = c[1].has_reads = c[5].has_reads = true;
}

static inline void add_readings(roast_chunk c[6]) {
    const uint64_t read = ROAST_CHUNK_HAS(bytes_read) | ROAST_CHUNK_HAS(read_requests) |
                          ROAST_CHUNK_HAS(metadata_bytes) | ROAST_CHUNK_HAS(faults);
    c[0].have |= read | ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns) |
                 ROAST_CHUNK_HAS(rss_peak) | ROAST_CHUNK_HAS(before_process_ns) |
                 ROAST_CHUNK_HAS(dropped_sections) | ROAST_CHUNK_HAS(measuring_ns);
    c[0].measuring_ns = 400000000;
    c[0].have |= ROAST_CHUNK_HAS(read_cpu_ns);
    c[0].read_cpu_ns = 30000000;
    c[0].cpu_user_ns = 500000000;
    c[0].cpu_system_ns = 100000000;
    c[0].rss_peak = 1100000000;
    c[0].before_process_ns = 250000000;
    c[0].dropped_sections = 2;
    c[0].bytes_read = 1000;
    c[0].read_requests = 10;
    c[0].metadata_bytes = 300;
    c[0].faults = 1;
    c[1].have |= read;
    c[1].bytes_read = 3000;
    c[1].read_requests = 20;
    c[1].metadata_bytes = 500;
    c[5].have |= read | ROAST_CHUNK_HAS(measuring_ns);
    c[5].measuring_ns = 100000000;
    c[5].bytes_read = c[5].read_requests = c[5].metadata_bytes = 9999;
    c[5].faults = 4;
}

/* Five chunks that ended well and one that did not. */
static inline void add_chunks(roast_run *run, bool with_branches) {
    roast_chunk c[] = {
        chunk_of("A", "f1", 100, 1.0, 10),  chunk_of("A", "f1", 300, 2.0, 20),
        chunk_of("B", "f2", 200, 1.5, -5),  chunk_of("B", "f3", 0, 0.5, 0),
        chunk_of(NULL, "f5", 400, 3.5, 30), chunk_of("A", "f1", 1000, 100, 1000),
    };
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
    add_reads(c);
    add_readings(c);
    append_with_sections(run, c[0], c[1]);
    for (int i = 2; i < 6; i++)
        append(run, &c[i]);
}

static inline void add_file(roast_run *run, const char *name, const char *uuid,
                            int64_t total_branches, int64_t tree_bytes, int64_t uncompressed,
                            const roast_branch_size *branches, uint32_t n_branches) {
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

static inline void add_files(roast_run *run) {
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

static inline void add_texts(roast_run *run) {
    static const char *const texts[][2] = {{"coffea_version", "2026.9"},
                                           {"user", "somebody"},
                                           {"campaign", "summer"},
                                           {"memory_bytes", "25000000000"},
                                           {"dask_version", "2026.8"},
                                           {"worker_jobs", "Slurm 1, Slurm 2"},
                                           {"cgroup_memory_bytes", "many"},
                                           {"calls", "[{}]"},
                                           {"reducer", "reduce"}};
    roast_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_ok(
            roast_run_set_meta(run, roast_str_of(texts[i][0]), roast_str_of(texts[i][1]), &err),
            err);
}

/* A run that has everything. */
static inline roast_run *full_run(void) {
    roast_run *run = new_run();
    add_report(run);
    add_workers(run);
    add_spans(run);
    set_processor(run, "MyProc");
    add_chunks(run, true);
    add_files(run);
    add_texts(run);
    roast_run_set_replayed(run, 3);
    return run;
}

/* ---- tasks ---- */

/* A try of a task that took `ms`; below 0: its times are not known. */
static inline void add_task(roast_attempts *attempts, const char *prefix, roast_attempt_kind kind,
                            roast_outcome outcome, int64_t ms, int64_t bytes) {
    roast_error err;
    roast_attempt attempt = {.kind = kind,
                             .outcome = outcome,
                             .prefix = roast_str_of(prefix),
                             .key = roast_str_of(prefix),
                             .worker = ROAST_NO_WORKER,
                             .departure = ROAST_NO_DEPARTURE,
                             .ready_us = ROAST_NO_TIME,
                             .sent_us = ROAST_NO_TIME,
                             .start_us = ms < 0 ? ROAST_NO_TIME : 1000,
                             .stop_us = ms < 0 ? ROAST_NO_TIME : 1000 + ms * 1000,
                             .ended_us = ROAST_NO_TIME,
                             .transfer_us = -1,
                             .deserialize_us = -1,
                             .disk_us = -1,
                             .nbytes = bytes};
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

/* Tasks of a graph without a Runner, one of them of another client. */
static inline roast_run *graph_run(void) {
    roast_error err;
    roast_run *run = new_run();
    roast_attempts *attempts;
    assert_ok(roast_attempts_new(&attempts, &err), err);
    roast_run_take_attempts(run, attempts);
    add_task(attempts, "theirs", ROAST_KIND_foreign, ROAST_OUTCOME_done, 9000, 7);
    add_task(attempts, "sum", ROAST_KIND_other, ROAST_OUTCOME_done, 500, 8);
    add_task(attempts, "read", ROAST_KIND_other, ROAST_OUTCOME_raised, 1000, -1);
    add_task(attempts, "read", ROAST_KIND_other, ROAST_OUTCOME_done, 2000, 1000);
    add_task(attempts, "read", ROAST_KIND_other, ROAST_OUTCOME_lost, -1, -1);
    add_span(run, "execute", "read", "thread-cpu", "seconds", 1.25);
    return run;
}

/* ---- looking at what came out ---- */

/* NaN stands for "not measured". */
#define assert_value(expected, value) assert_value_(expected, value, #value, __LINE__)
static inline void assert_value_(double expected, roast_value value, const char *what, int line) {
    if (isnan(expected) && value.kind != ROAST_VALUE_NONE)
        fail_msg("line %d: %s was made up", line, what);
    if (!isnan(expected))
        assert_near_(expected, roast_value_number(value), what, __FILE__, line);
}

#endif
