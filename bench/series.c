/* bench_series: what the worker series costs a sample, for 10,000 workers over 600 ticks.
 *
 * Prints one JSON object: nanoseconds a sample of each round of ticks, beside the floor of copying
 * the same values to where they stay, and the bytes kept a sample. All columns that a heartbeat
 * changes differ at each tick. */
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

static void next_row(row value, int tick) {
    if (tick == 0) {
        value[ROAST_COLUMN_memory] = (double)(between(100000, 400000) * 4096);
        value[ROAST_COLUMN_memory_limit] = 4e9;
        value[ROAST_COLUMN_cores] = 4;
        value[ROAST_COLUMN_spilled_bytes] = 0;
    }
    value[ROAST_COLUMN_memory] += (double)(between(-2000, 2000) * 4096);
    value[ROAST_COLUMN_active_tasks] = (double)between(4, 6);
    value[ROAST_COLUMN_nbytes] = (double)(4 * between(2000, 60000));
    value[ROAST_COLUMN_occupancy] = 0.001 * (double)between(4000, 12000);
    value[ROAST_COLUMN_executing] = 4;
    value[ROAST_COLUMN_last_seen] = 1.79e9 + tick + 0.001 * (double)between(0, 500);
    value[ROAST_COLUMN_cpu] = 0.1 * (double)between(0, 4000);
    value[ROAST_COLUMN_net_read_bps] = (double)between(20000000, 60000000);
    value[ROAST_COLUMN_net_write_bps] = (double)between(200000, 900000);
    value[ROAST_COLUMN_disk_read_bps] = (double)between(0, 400000);
    value[ROAST_COLUMN_disk_write_bps] = (double)between(0, 900000);
}

/* ---- the figures ---- */

typedef struct cost {
    double append_ns[ROUNDS], copy_ns[ROUNDS]; /* a sample */
} cost;

static void one_tick(roast_series *series, row *rows, row *kept, int tick, cost *out) {
    for (uint32_t i = 0; i < WORKERS; i++)
        next_row(rows[i], tick);
    const double samples = (double)WORKERS * TICKS_A_ROUND;
    roast_mono start = roast_mono_now();
    must(roast_series_tick(series,
                           (roast_utc){INT64_C(1790000000000000000) + tick * INT64_C(1000000000)},
                           WORKERS, &error));
    for (uint32_t i = 0; i < WORKERS; i++)
        must(roast_series_append(series, i, rows[i], &error));
    out->append_ns[tick / TICKS_A_ROUND] +=
        (double)roast_mono_since(start, roast_mono_now()) / samples;
    start = roast_mono_now();
    for (uint32_t i = 0; i < WORKERS; i++)
        memcpy(kept[i], rows[i], sizeof(row));
    out->copy_ns[tick / TICKS_A_ROUND] +=
        (double)roast_mono_since(start, roast_mono_now()) / samples;
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

static void print_list(const char *name, const double *values) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < ROUNDS; i++)
        printf("%s%.1f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(void) {
    static cost out;
    counted_bytes bytes = {0};
    roast_alloc_set_hook(counted_hook, &bytes);
    roast_series *series;
    must(roast_series_new(&series, &error));
    add_workers(series);
    row *rows = must_have(calloc(WORKERS, sizeof *rows));
    row *kept = must_have(calloc((size_t)WORKERS * TICKS_A_ROUND, sizeof *kept));
    for (int tick = 0; tick < TICKS; tick++)
        one_tick(series, rows, kept + (size_t)WORKERS * (tick % TICKS_A_ROUND), tick, &out);
    uint64_t samples = roast_series_sample_count(series);
    if (samples != (uint64_t)WORKERS * TICKS || kept[WORKERS - 1][ROAST_COLUMN_cores] != 4)
        return EXIT_FAILURE;
    printf("{\n  \"workers\": %d,\n  \"ticks\": %d,\n  \"samples\": %" PRIu64 ",\n", WORKERS, TICKS,
           samples);
    print_list("append_ns", out.append_ns);
    print_list("floor_copy_ns", out.copy_ns);
    printf("  \"kept_bytes\": %zu,\n  \"encoded_bytes\": %" PRIu64 "\n}\n", bytes.live,
           encoded_bytes(series));
    roast_series_free(series);
    free(rows);
    free(kept);
    return EXIT_SUCCESS;
}
