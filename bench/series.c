/* bench_series: what the worker series costs a sample, for 10,000 workers over 600 ticks.
 *
 * Prints one JSON object: nanoseconds a sample of each round of ticks, beside the floor of copying
 * the same values to where they stay, and the bytes kept a sample. Either the columns that come with
 * a heartbeat differ at each tick, or also those that the scheduler itself keeps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counted.h"
#include "sample_chunks.h"

#include "roast/series.h"

enum { WORKERS = 10000, TICKS = 600, TICKS_A_ROUND = 20, ROUNDS = TICKS / TICKS_A_ROUND };

typedef double row[ROAST_COLUMNS];

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_series: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static void *must_have(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "bench_series: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- workers as Dask's scheduler sees them ---- */

static uint64_t random_state = 1;

static int64_t between(int64_t low, int64_t high) {
    return sample_random(&random_state, low, high);
}

typedef enum changing { CHANGES_BY_HEARTBEAT, CHANGES_ALL } changing;

static void scheduler_columns(row value) {
    value[ROAST_COLUMN_active_tasks] = (double)between(4, 6);
    value[ROAST_COLUMN_nbytes] = (double)(4 * between(2000, 60000));
    value[ROAST_COLUMN_occupancy] = 0.001 * (double)between(4000, 12000);
    value[ROAST_COLUMN_executing] = (double)between(3, 4);
}

static void first_row(row value) {
    value[ROAST_COLUMN_memory] = (double)(between(100000, 400000) * 4096);
    value[ROAST_COLUMN_memory_limit] = 4e9;
    value[ROAST_COLUMN_cores] = 4;
    value[ROAST_COLUMN_spilled_bytes] = 0;
    scheduler_columns(value);
}

static void next_row(row value, int tick, changing what) {
    value[ROAST_COLUMN_memory] += (double)(between(-2000, 2000) * 4096);
    value[ROAST_COLUMN_last_seen] = 1.79e9 + tick + 0.001 * (double)between(0, 500);
    value[ROAST_COLUMN_cpu] = 0.1 * (double)between(0, 4000);
    value[ROAST_COLUMN_net_read_bps] = (double)between(20000000, 60000000);
    value[ROAST_COLUMN_net_write_bps] = (double)between(200000, 900000);
    value[ROAST_COLUMN_disk_read_bps] = (double)between(0, 400000);
    value[ROAST_COLUMN_disk_write_bps] = (double)between(0, 900000);
    if (what == CHANGES_ALL)
        scheduler_columns(value);
}

/* ---- the figures ---- */

typedef struct cost {
    double append_ns[ROUNDS], copy_ns[ROUNDS]; /* a sample */
    size_t kept_bytes;
    uint64_t encoded_bytes;
} cost;

static double ns_a_sample(roast_mono start) {
    return (double)roast_mono_since(start, roast_mono_now()) / ((double)WORKERS * TICKS_A_ROUND);
}

static void one_tick(roast_series *series, row *rows, row *kept, int tick, cost *out) {
    const roast_utc when = {INT64_C(1790000000000000000) + tick * INT64_C(1000000000)};
    roast_mono start = roast_mono_now();
    must(roast_series_tick(series, when, WORKERS, &error));
    for (uint32_t i = 0; i < WORKERS; i++)
        must(roast_series_append(series, i, rows[i], &error));
    out->append_ns[tick / TICKS_A_ROUND] += ns_a_sample(start);
    start = roast_mono_now();
    for (uint32_t i = 0; i < WORKERS; i++)
        memcpy(kept[i], rows[i], sizeof(row));
    out->copy_ns[tick / TICKS_A_ROUND] += ns_a_sample(start);
}

static void add_workers(roast_series *series) {
    for (unsigned i = 0; i < WORKERS; i++) {
        char name[48];
        uint32_t worker;
        snprintf(name, sizeof name, "tcp://10.%u.%u.7:%u", i / 250, i % 250, 30000 + i % 30000);
        must(roast_series_worker(series, roast_str_of(name), &worker, &error));
        if (worker != i)
            exit(EXIT_FAILURE);
    }
}

static uint64_t encoded_bytes(const roast_series *series) {
    roast_sink *sink;
    must(roast_sink_new_count(&sink, &error));
    must(roast_series_encode(series, sink, &error));
    uint64_t bytes = roast_sink_count(sink);
    roast_sink_free(sink);
    return bytes;
}

static void measure(changing what, const counted_bytes *bytes, cost *out) {
    roast_series *series;
    must(roast_series_new(&series, &error));
    add_workers(series);
    row *rows = must_have(calloc(WORKERS, sizeof *rows));
    row *kept = must_have(calloc((size_t)WORKERS * TICKS_A_ROUND, sizeof *kept));
    memset(kept, 1, sizeof *kept * WORKERS * TICKS_A_ROUND); /* so that its pages are there */
    for (uint32_t i = 0; i < WORKERS; i++)
        first_row(rows[i]);
    for (int tick = 0; tick < TICKS; tick++) {
        for (uint32_t i = 0; i < WORKERS; i++)
            next_row(rows[i], tick, what);
        one_tick(series, rows, kept + (size_t)WORKERS * (tick % TICKS_A_ROUND), tick, out);
    }
    if (roast_series_sample_count(series) != (uint64_t)WORKERS * TICKS ||
        kept[WORKERS - 1][ROAST_COLUMN_cores] != 4)
        exit(EXIT_FAILURE);
    out->kept_bytes = bytes->live;
    out->encoded_bytes = encoded_bytes(series);
    roast_series_free(series);
    free(rows);
    free(kept);
}

static void print_list(const char *name, const double *values) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < ROUNDS; i++)
        printf("%s%.1f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(void) {
    static cost by_heartbeat, all;
    counted_bytes bytes = {0};
    roast_alloc_set_hook(counted_hook, &bytes);
    measure(CHANGES_BY_HEARTBEAT, &bytes, &by_heartbeat);
    measure(CHANGES_ALL, &bytes, &all);
    printf("{\n  \"workers\": %d,\n  \"ticks\": %d,\n  \"samples\": %d,\n", WORKERS, TICKS,
           WORKERS * TICKS);
    print_list("append_ns", all.append_ns);
    print_list("floor_copy_ns", all.copy_ns);
    printf("  \"kept_bytes\": {\"heartbeat\": %zu, \"all\": %zu},\n", by_heartbeat.kept_bytes,
           all.kept_bytes);
    printf("  \"encoded_bytes\": {\"heartbeat\": %" PRIu64 ", \"all\": %" PRIu64 "}\n}\n",
           by_heartbeat.encoded_bytes, all.encoded_bytes);
    return EXIT_SUCCESS;
}
