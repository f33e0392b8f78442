/* bench_board save FOLDER: the run of a million chunks on 2,000 workers as a measurement.
 * bench_board live FOLDER CHUNKS: a live measurement with so many chunks, appended in parts as a collector appends them.
 * It then waits: each line of the input appends one more part, and is answered by "done"; at the end of the input the
 * measurement is removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_chunks.h"
#include "sample_run.h"

#include "roast/ending.h"
#include "roast/measurement.h"

enum { CHUNKS_A_PART = 500, WORKERS = 64 };
#define START INT64_C(1790000000) /* s: when the first of the sample chunks began */

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_board: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static void add_samples(roast_run *run, int64_t now) {
    roast_series *series = roast_run_series(run);
    double value[ROAST_COLUMNS] = {0};
    value[ROAST_COLUMN_cores] = 1;
    value[ROAST_COLUMN_memory_limit] = 4e9;
    must(roast_series_tick(series, (roast_utc){now * 1000000000}, WORKERS, &error));
    for (uint32_t i = 0; i < WORKERS; i++) {
        char name[48];
        uint32_t worker;
        snprintf(name, sizeof name, "tcp://10.0.%u.7:%u", i, 35000 + i);
        must(roast_series_worker(series, roast_str_of(name), &worker, &error));
        value[ROAST_COLUMN_memory] = 1e9 + 1e6 * (double)((now + i) % 300);
        must(roast_series_append(series, worker, value, &error));
    }
}

/* The chunks from `first` on, and all that is known by then. */
static void append(roast_store_live *live, uint64_t first, uint64_t count, uint64_t all) {
    static sample_chunk sample;
    roast_run *run;
    roast_ending *ending;
    int64_t done = (int64_t)(first + count), now = START + done / 64 + 4;
    must(roast_run_new(&run, &error));
    for (uint64_t i = first; i < first + count; i++) {
        sample_chunk_make(&sample, i);
        must(roast_chunklog_append(roast_run_chunks(run), &sample.chunk, &error));
    }
    add_samples(run, now);
    roast_run_set_clock(run, (double)START, (double)now);
    roast_run_set_report(run, &(roast_report){.have_entries = true,
                                              .have_chunks = true,
                                              .entries = 100000 * done,
                                              .chunks = done});
    must(roast_ending_new(ROAST_END_unknown, &ending, &error));
    roast_ending_set_pieces(ending, (roast_ending_pieces){(int64_t)all, done, -1});
    roast_run_take_ending(run, ending);
    must(roast_store_live_append(live, run, &error));
    roast_run_free(run);
}

static void write_live(const char *folder, uint64_t chunks) {
    roast_store_live *live;
    roast_store_options options = {.path = folder, .overwrite = true};
    char line[16];
    uint64_t done = 0;
    must(roast_store_live_begin(&options, &live, &error));
    for (; done < chunks; done += CHUNKS_A_PART)
        append(live, done, CHUNKS_A_PART, 2 * chunks);
    puts("done");
    fflush(stdout);
    for (; fgets(line, sizeof line, stdin) != NULL; done += CHUNKS_A_PART) {
        append(live, done, CHUNKS_A_PART, 2 * chunks);
        puts("done");
        fflush(stdout);
    }
    roast_store_live_abandon(live);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "save") == 0) {
        roast_run *run = sample_cluster_make();
        must(roast_measurement_save(run, argv[2], true, (roast_str){NULL, 0}, &error));
        roast_run_free(run);
        return EXIT_SUCCESS;
    }
    uint64_t chunks = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (chunks == 0 || strcmp(argv[1], "live") != 0) {
        fprintf(stderr, "usage: bench_board save FOLDER | live FOLDER CHUNKS\n");
        return EXIT_FAILURE;
    }
    write_live(argv[2], chunks);
    return EXIT_SUCCESS;
}
