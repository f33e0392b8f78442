/* bench_what_if: a run of a million chunks, played again on 10,000 workers.
 *
 * Prints one JSON object: seconds of each round for the recorded chunks, and for as many chunks of another size. */
#include <stdio.h>
#include <stdlib.h>

#include "sample_run.h"

#include "roast/what_if.h"

enum { WORKERS = 10000, ROUNDS = 3, ROUNDS_MAX = 100 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_what_if: %s\n", error.message);
    exit(EXIT_FAILURE);
}

/* Seconds; *chunks: how many were played. */
static double ask(const roast_run *run, uint64_t chunksize, double *chunks) {
    const roast_what_if_options options = {.workers = WORKERS, .chunksize = chunksize};
    roast_what_if *what_if;
    roast_mono start = roast_mono_now();
    must(roast_what_if_new(run, &options, &what_if, &error));
    double took = 1e-9 * (double)roast_mono_since(start, roast_mono_now());
    *chunks = (double)roast_what_if_get(what_if)->chunks;
    roast_what_if_free(what_if);
    return took;
}

static void print_list(const char *name, const double *values, int count) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.6f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(int argc, char **argv) {
    static double kept[ROUNDS_MAX], cut[ROUNDS_MAX];
    double kept_chunks = 0, cut_chunks = 0;
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_what_if [rounds from 1 to %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    roast_run *run = sample_cluster_make();
    double events = 0;
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&cursor, &chunk))
        events += (double)chunk.num_events;
    for (int i = 0; i < rounds; i++) {
        kept[i] = ask(run, 0, &kept_chunks);
        cut[i] = ask(run, (uint64_t)(events / SAMPLE_RUN_CHUNKS), &cut_chunks);
    }
    printf("{\n  \"workers\": %d,\n", WORKERS);
    print_list("kept_seconds", kept, rounds);
    print_list("cut_seconds", cut, rounds);
    printf("  \"kept_chunks\": %.0f,\n  \"cut_chunks\": %.0f\n}\n", kept_chunks, cut_chunks);
    roast_run_free(run);
    return EXIT_SUCCESS;
}
