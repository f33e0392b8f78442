/* bench_metrics: all formulas over a run of a million chunks with three sections each.
 *
 * Prints one JSON object: seconds of each round, beside the floor of walking the same log with the
 * cursor, and the bytes that libroast held: the log, and at the peak of the computation. */
#include <stdio.h>
#include <stdlib.h>

#include "counted.h"
#include "sample_chunks.h"

#include "roast/metrics.h"

enum { CHUNKS = 1000000, ROUNDS = 5, ROUNDS_MAX = 1000 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_metrics: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static double seconds_since(roast_mono start) {
    return 1e-9 * (double)roast_mono_since(start, roast_mono_now());
}

static double walk_seconds(const roast_run *run, int64_t *sum) {
    roast_chunk chunk;
    roast_chunk_cursor cursor;
    roast_mono start = roast_mono_now();
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&cursor, &chunk))
        *sum += chunk.duration_ns;
    return seconds_since(start);
}

static double compute_seconds(const roast_run *run, double *check) {
    roast_metrics *metrics;
    roast_mono start = roast_mono_now();
    must(roast_metrics_compute(run, &metrics, &error));
    double seconds = seconds_since(start);
    *check = roast_value_number(roast_metrics_get(metrics, "chunk_duration_mean"));
    roast_metrics_free(metrics);
    return seconds;
}

static void print_list(const char *name, const double *values, int count) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.6f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(int argc, char **argv) {
    static double compute[ROUNDS_MAX], walk[ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_metrics [rounds from 1 to %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    counted_bytes bytes = {0};
    roast_alloc_set_hook(counted_hook, &bytes);
    roast_run *run = sample_run_make(CHUNKS);
    if (run == NULL) {
        fprintf(stderr, "bench_metrics: out of memory\n");
        return EXIT_FAILURE;
    }
    size_t log_bytes = bytes.live;
    int64_t sum = 0;
    double mean = 0;
    bytes.peak = bytes.live;
    for (int i = 0; i < rounds; i++) {
        walk[i] = walk_seconds(run, &sum);
        compute[i] = compute_seconds(run, &mean);
    }
    printf("{\n  \"chunks\": %d,\n", CHUNKS);
    print_list("compute_seconds", compute, rounds);
    print_list("floor_walk_seconds", walk, rounds);
    printf("  \"log_bytes\": %zu,\n  \"peak_bytes\": %zu,\n", log_bytes, bytes.peak);
    /* Both ways to the mean duration, so that neither loop can be left out. */
    printf("  \"mean_duration_s\": %.9f,\n  \"mean_duration_s_walked\": %.9f\n}\n", mean,
           1e-9 * (double)sum / CHUNKS / rounds);
    roast_run_free(run);
    return EXIT_SUCCESS;
}
