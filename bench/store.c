/* bench_store ACTION CHUNKS FOLDER ROUNDS: one step of a measurement's life with so many chunks, in a process of
 * its own, so that its peak of memory is that of the step.
 *
 *   leaves   writes every chunk as a packed log of its own into the file FOLDER: its length in four bytes,
 *            lowest first, then the log
 *   compute  all metrics of the run in memory
 *   save     the run in memory becomes the measurement FOLDER
 *   load     the measurement FOLDER becomes a run in memory
 *
 * Prints one JSON object: seconds of each round, and the bytes of the process's memory before the first one and
 * at their peak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_chunks.h"

#include "roast/measurement.h"
#include "roast/metrics.h"

enum { ROUNDS_MAX = 100 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_store: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static void fail(const char *text) {
    fprintf(stderr, "bench_store: %s\n", text);
    exit(EXIT_FAILURE);
}

static double seconds_since(roast_mono start) {
    return 1e-9 * (double)roast_mono_since(start, roast_mono_now());
}

/* A line of /proc/self/status in bytes: VmRSS what the process holds, VmHWM the most that it held. */
static long long own_memory(const char *line) {
    FILE *file = fopen("/proc/self/status", "r");
    char text[256];
    long long kilobytes = 0;
    if (file == NULL)
        fail("there is no /proc/self/status");
    while (fgets(text, sizeof text, file) != NULL)
        if (strncmp(text, line, strlen(line)) == 0)
            kilobytes = atoll(text + strlen(line) + 1);
    fclose(file);
    return 1024 * kilobytes;
}

/* ---- the steps ---- */

typedef struct work {
    uint64_t chunks;
    const char *folder;
    roast_run *run; /* NULL: the step makes it */
} work;

static double compute(work *w) {
    roast_metrics *metrics;
    roast_mono start = roast_mono_now();
    must(roast_metrics_compute(w->run, &metrics, &error));
    double seconds = seconds_since(start);
    if (roast_value_number(roast_metrics_get(metrics, "num_successful_chunks")) !=
        (double)w->chunks)
        fail("the metrics miss chunks");
    roast_metrics_free(metrics);
    return seconds;
}

static double save(work *w) {
    roast_measurement *measurement;
    roast_store_options options = {.path = w->folder, .overwrite = true};
    roast_mono start = roast_mono_now();
    must(roast_measurement_new(&(roast_measured){.run = w->run}, (roast_str){NULL, 0},
                               roast_utc_now(), &measurement, &error));
    roast_measurement_fill(measurement, &options);
    must(roast_store_save(w->run, &options, &error));
    roast_measurement_free(measurement);
    return seconds_since(start);
}

static double load(work *w) {
    roast_run *run;
    roast_mono start = roast_mono_now();
    must(roast_store_load(w->folder, &run, &error));
    double seconds = seconds_since(start);
    if (roast_chunklog_count(roast_run_chunks_view(run)) != w->chunks)
        fail("chunks were lost");
    roast_run_free(run);
    return seconds;
}

static void write_leaf(FILE *file, const roast_chunk *chunk) {
    roast_chunklog *log;
    must(roast_chunklog_new(&log, &error));
    must(roast_chunklog_append(log, chunk, &error));
    roast_sink *sink;
    must(roast_sink_new_memory(&sink, &error));
    must(roast_chunklog_encode(log, sink, &error));
    roast_str packed = roast_sink_memory(sink);
    uint8_t size[4];
    for (int i = 0; i < 4; i++)
        size[i] = (uint8_t)(packed.len >> 8 * i);
    if (fwrite(size, sizeof size, 1, file) != 1 || fwrite(packed.data, packed.len, 1, file) != 1)
        fail("the leaves cannot be written");
    roast_sink_free(sink);
    roast_chunklog_free(log);
}

static double leaves(work *w) {
    static sample_chunk sample;
    FILE *file = fopen(w->folder, "wb");
    roast_mono start = roast_mono_now();
    if (file == NULL)
        fail("the leaves cannot be written");
    for (uint64_t i = 0; i < w->chunks; i++) {
        sample_chunk_make(&sample, i);
        write_leaf(file, &sample.chunk);
    }
    if (fclose(file) != 0)
        fail("the leaves cannot be written");
    return seconds_since(start);
}

static const struct action {
    const char *name;
    double (*step)(work *w);
    bool with_run;
} actions[] = {{"leaves", leaves, false},
               {"compute", compute, true},
               {"save", save, true},
               {"load", load, false}};

static const struct action *find_action(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

int main(int argc, char **argv) {
    const struct action *action = argc == 5 ? find_action(argv[1]) : NULL;
    int rounds = argc == 5 ? atoi(argv[4]) : 0;
    if (action == NULL || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_store leaves|compute|save|load CHUNKS FOLDER ROUNDS\n");
        return EXIT_FAILURE;
    }
    work w = {.chunks = strtoull(argv[2], NULL, 10), .folder = argv[3]};
    long long before = own_memory("VmRSS:");
    if (action->with_run && (w.run = sample_run_make(w.chunks)) == NULL)
        fail("out of memory");
    printf("{\"chunks\": %llu, \"seconds\": [", (unsigned long long)w.chunks);
    for (int i = 0; i < rounds; i++)
        printf("%s%.6f", i > 0 ? ", " : "", action->step(&w));
    printf("], \"before_bytes\": %lld, \"peak_bytes\": %lld}\n", before, own_memory("VmHWM:"));
    roast_run_free(w.run);
    return EXIT_SUCCESS;
}
