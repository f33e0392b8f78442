/* bench_runs FOLDER COUNT: so many measurements in FOLDER, of the same analysis every hour; from the run of that share
 * on (0.4, 0.7) it is slower, or faster, with other versions. */
#include <stdio.h>
#include <stdlib.h>

#include "sample_chunks.h"

#include "roast/measurement.h"

enum { CHUNKS = 20 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_runs: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static void set(roast_run *run, const char *key, const char *text) {
    must(roast_run_set_meta(run, roast_str_of(key), roast_str_of(text), &error));
}

static void describe(roast_run *run, double share, long number) {
    char revision[48];
    snprintf(revision, sizeof revision, "%08lx%032d", number / 50, 0);
    set(run, "processor", "DimuonAnalysis");
    set(run, "git_revision", revision);
    set(run, "executor", "DaskExecutor");
    set(run, "chunksize", share < 0.4 ? "100000" : "20000");
    set(run, "coffea_version", share < 0.7 ? "2026.9.0" : "2026.10.0");
    set(run, "dask_version", "2026.8.0");
    set(run, "distributed_version", "2026.8.0");
    set(run, "uproot_version", "5.7.7");
    set(run, "awkward_version", "2.14.0");
    set(run, "numpy_version", "2.4.6");
    set(run, "python_version", "3.12.4");
    set(run, "kernel", "Linux 6.1");
    set(run, "architecture", "x86_64");
    set(run, "host", number % 3 == 0 ? "node1" : "node2");
    set(run, "schema", "NanoAODSchema");
    set(run, "engine", "Dask 2026.8.0");
}

static void save(const char *folder, long number, double share, uint64_t *state) {
    char path[4096];
    roast_run *run = sample_run_make(CHUNKS);
    if (run == NULL)
        exit(EXIT_FAILURE);
    double noise = 1 + (double)sample_random(state, -50, 50) / 1000;
    double start = 1.7e9 + 3600 * (double)number;
    double wall = (share < 0.4 ? 100 : share < 0.7 ? 125 : 90) * noise;
    roast_run_set_clock(run, start, start + wall);
    describe(run, share, number);
    snprintf(path, sizeof path, "%s/month%03ld/run%05ld", folder, number / 720, number);
    must(roast_measurement_save(run, path, true, (roast_str){NULL, 0}, &error));
    roast_run_free(run);
}

int main(int argc, char **argv) {
    uint64_t state = 1;
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count <= 0) {
        fprintf(stderr, "usage: bench_runs FOLDER COUNT\n");
        return EXIT_FAILURE;
    }
    for (long i = 0; i < count; i++)
        save(argv[1], i, (double)i / (double)count, &state);
    return EXIT_SUCCESS;
}
