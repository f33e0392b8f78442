/* Runs of which the budget is known: workers, tries and chunks by the second. */
#ifndef ROAST_TESTS_BUDGET_SAMPLE_H
#define ROAST_TESTS_BUDGET_SAMPLE_H

#include <math.h>

#include "support.h"

#include "roast/budget.h"
#include "roast/failures.h"

#define T0 INT64_C(1700000000) /* s: when all of these runs begin */

static inline roast_run *run_of(double seconds) {
    roast_error err;
    roast_run *run = NULL;
    assert_ok(roast_run_new(&run, &err), err);
    roast_run_set_clock(run, (double)T0, (double)T0 + seconds);
    return run;
}

static inline roast_attempts *watch(roast_run *run) {
    roast_error err;
    roast_attempts *attempts = NULL;
    assert_ok(roast_attempts_new(&attempts, &err), err);
    roast_run_take_attempts(run, attempts);
    assert_ok(roast_attempts_set_kind(attempts, roast_str_of("P"), ROAST_KIND_processing, &err),
              err);
    assert_ok(roast_attempts_set_kind(attempts, roast_str_of("reduce"), ROAST_KIND_reduction, &err),
              err);
    return attempts;
}

static inline uint32_t series_worker(roast_run *run, const char *name) {
    roast_error err;
    uint32_t worker = 0;
    assert_ok(roast_series_worker(roast_run_series(run), roast_str_of(name), &worker, &err), err);
    return worker;
}

static inline void event(roast_run *run, const char *name, roast_worker_change_kind kind,
                         double seconds, int32_t threads) {
    roast_error err;
    uint32_t worker = series_worker(run, name);
    roast_utc when = {T0 * 1000000000 + (int64_t)(seconds * 1e9)};
    assert_ok(roast_series_change(roast_run_series(run), worker, kind, when, threads, &err), err);
}

static inline void join(roast_run *run, const char *name, double seconds, int32_t threads) {
    event(run, name, ROAST_WORKER_JOINED, seconds, threads);
}

static inline void leave(roast_run *run, const char *name, double seconds) {
    event(run, name, ROAST_WORKER_LEFT, seconds, 0);
}

static inline void set_host(roast_run *run, const char *name, const char *host) {
    roast_error err;
    assert_ok(roast_series_set_host(roast_run_series(run), series_worker(run, name),
                                    roast_str_of(host), &err),
              err);
}

static inline int64_t us(double seconds) {
    return isnan(seconds) ? ROAST_NO_TIME : T0 * 1000000 + (int64_t)(seconds * 1e6);
}

/* A try by its five moments; NaN: not known. */
typedef struct try_times {
    double ready, sent, start, stop, ended;
} try_times;

static inline roast_attempt try_of(const char *prefix, const char *key, uint32_t worker,
                                   try_times times) {
    return (roast_attempt){
        .prefix = roast_str_of(prefix),
        .key = roast_str_of(key),
        .worker = worker,
        .ready_us = us(times.ready),
        .sent_us = us(times.sent),
        .start_us = us(times.start),
        .stop_us = us(times.stop),
        .ended_us = us(times.ended),
        .transfer_us = -1,
        .deserialize_us = -1,
        .disk_us = -1,
        .nbytes = -1,
        .departure = ROAST_NO_DEPARTURE,
    };
}

static inline uint32_t attempts_worker(roast_attempts *attempts, const char *name) {
    roast_error err;
    uint32_t worker = 0;
    assert_ok(roast_attempts_add_worker(attempts, roast_str_of(name), &worker, &err), err);
    return worker;
}

static inline void add_phase(roast_run *run, roast_phase_kind kind, double start, double end) {
    roast_error err;
    roast_phase phase = {kind, (double)T0 + start, (double)T0 + end};
    assert_ok(roast_run_add_phase(run, &phase, &err), err);
}

static inline void add_try(roast_attempts *attempts, const char *prefix, const char *key,
                           const char *worker, roast_outcome outcome, try_times times) {
    roast_error err;
    roast_attempt attempt = try_of(prefix, key, attempts_worker(attempts, worker), times);
    attempt.outcome = outcome;
    if (strcmp(prefix, "foreign") == 0)
        attempt.kind = ROAST_KIND_foreign;
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

/* The clocks of a chunk in seconds; NaN: not known. */
typedef struct chunk_times {
    double start, duration, before, read, cpu, io_wait, runqueue;
    double read_cpu;       /* 0: not known */
    double loaded, packed; /* likewise */
    const char *host;
    bool raised;
} chunk_times;

static inline void put_ns(roast_chunk *chunk, uint64_t bit, int64_t *field, double seconds) {
    if (isnan(seconds))
        return;
    *field = (int64_t)llround(seconds * 1e9);
    chunk->have |= bit;
}
#define PUT_NS(chunk, field, seconds)                                                              \
    put_ns(chunk, ROAST_CHUNK_HAS(field), &(chunk)->field, seconds)

static inline void add_chunk(roast_run *run, const char *key, const char *worker,
                             const char *dataset, const char *file, chunk_times times) {
    roast_error err;
    roast_read read = {.branch = roast_str_of("Jet_pt"), .bytes = -1, .uncompressed_bytes = -1};
    roast_chunk chunk = {.token = 1,
                         .task_key = roast_str_of(key),
                         .worker = roast_str_of(worker),
                         .dataset = roast_str_of(dataset),
                         .file = roast_str_of(file)};
    static uint64_t seq;
    chunk.seq = ++seq;
    if (times.host != NULL)
        chunk.host = roast_str_of(times.host);
    if (times.raised)
        chunk.error_type = roast_str_of("ValueError");
    chunk.start_us = us(times.start);
    chunk.have |= ROAST_CHUNK_HAS(start_us);
    PUT_NS(&chunk, duration_ns, times.duration);
    PUT_NS(&chunk, before_process_ns, times.before);
    PUT_NS(&chunk, cpu_user_ns, times.cpu);
    PUT_NS(&chunk, cpu_system_ns, times.cpu * 0);
    PUT_NS(&chunk, io_wait_ns, times.io_wait);
    PUT_NS(&chunk, runqueue_wait_ns, times.runqueue);
    PUT_NS(&chunk, read_cpu_ns, times.read_cpu > 0 ? times.read_cpu : NAN);
    PUT_NS(&chunk, loaded_ns, times.loaded > 0 ? times.loaded : NAN);
    PUT_NS(&chunk, packed_ns, times.packed > 0 ? times.packed : NAN);
    if (!isnan(times.read)) {
        read.time_ns = (int64_t)llround(times.read * 1e9);
        read.count = 1;
        chunk.has_reads = true;
        chunk.reads = &read;
        chunk.n_reads = 1;
    }
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static inline roast_budget *budget_of(const roast_run *run) {
    roast_error err;
    roast_budget *budget = NULL;
    assert_ok(roast_budget_compute(run, &budget, &err), err);
    return budget;
}

/* The numbers of ROAST_BUDGET_PARTS in their order, but without "processing" and "cold_start"; NaN: not known. */
typedef double parts[ROAST_PART_COUNT - 2];

static inline void assert_parts_(const roast_budget_row *row, double processing,
                                 const double *expected, int line) {
    double sum = 0;
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        double got = row->parts[part], want = part == ROAST_PART_processing   ? processing
                                              : part == ROAST_PART_cold_start ? (double)NAN
                                                                              : *expected++;
        if (isnan(want) != isnan(got) || fabs(want - got) > 1e-6)
            fail_msg("line %d: %s is %.9g, expected %.9g", line,
                     roast_budget_part_name((roast_budget_part)part), got, want);
        sum += isnan(got) ? 0 : got;
    }
    if (fabs(sum - row->available) > 1e-6)
        fail_msg("line %d: the parts sum to %.9g, %.9g is available", line, sum, row->available);
}
#define assert_parts(row, ...) assert_parts_(row, NAN, (parts){__VA_ARGS__}, __LINE__)
/* Of a run without chunks, whose processing tasks nothing splits. */
#define assert_whole_parts(row, processing, preprocessing, ...)                                    \
    assert_parts_(row, processing, (parts){preprocessing, NAN, NAN, NAN, NAN, NAN, __VA_ARGS__},   \
                  __LINE__)

static inline const roast_budget_row *row_named(const roast_budget *budget,
                                                roast_budget_split split, const char *name) {
    uint32_t count;
    const roast_budget_row *rows = roast_budget_rows(budget, split, &count);
    for (uint32_t i = 0; i < count; i++)
        if (name == NULL ? rows[i].name.data == NULL
                         : roast_str_equal(rows[i].name, roast_str_of(name)))
            return &rows[i];
    fail_msg("there is no row %s", name != NULL ? name : "without a name");
    return NULL;
}

/* The rows of each split add up to the total, part by part. */
static inline void assert_sums(const roast_budget *budget) {
    const roast_budget_row *total = roast_budget_total(budget);
    for (int split = 0; split < ROAST_SPLIT_COUNT; split++) {
        uint32_t count;
        const roast_budget_row *rows = roast_budget_rows(budget, (roast_budget_split)split, &count);
        roast_budget_row sum = {.available = 0};
        for (uint32_t i = 0; i < count; i++) {
            sum.available += rows[i].available;
            for (int part = 0; part < ROAST_PART_COUNT; part++)
                sum.parts[part] += rows[i].parts[part];
        }
        for (int part = 0; part < ROAST_PART_COUNT; part++)
            if (!isnan(total->parts[part]) && fabs(sum.parts[part] - total->parts[part]) > 1e-6)
                fail_msg("by %s, %s sums to %.9g, not %.9g",
                         roast_budget_split_name((roast_budget_split)split),
                         roast_budget_part_name((roast_budget_part)part), sum.parts[part],
                         total->parts[part]);
        assert_true(fabs(sum.available - total->available) < 1e-6);
    }
}

#endif
