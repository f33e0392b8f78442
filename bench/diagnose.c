/* bench_diagnose: the diagnosis of a run of a million chunks on 2,000 workers.
 *
 * Prints one JSON object: seconds of each round for everything from scratch, as `roast diagnose` does it, and
 * for the findings, the budget and the metrics one after the other, each with a walk over the chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "sample_chunks.h"

#include "roast/diagnose.h"

enum { CHUNKS = 1000000, WORKERS = 2000, TICKS = 300, ROUNDS = 3, ROUNDS_MAX = 100 };
#define START INT64_C(1700000000) /* s */

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_diagnose: %s\n", error.message);
    exit(EXIT_FAILURE);
}

static double seconds_since(roast_mono start) {
    return 1e-9 * (double)roast_mono_since(start, roast_mono_now());
}

/* Chunks one after the other on each worker, with the tries of their tasks. */
static double add_chunks(roast_run *run, roast_attempts *attempts) {
    static sample_chunk sample;
    static double free_at[WORKERS];
    double last = 0;
    for (uint64_t i = 0; i < CHUNKS; i++) {
        uint32_t worker = (uint32_t)(i % WORKERS), number;
        char name[32];
        sample_chunk_make(&sample, i);
        roast_chunk *chunk = &sample.chunk;
        snprintf(name, sizeof name, "tcp://10.0.%u.%u:4000", worker / 200, worker % 200);
        chunk->worker = roast_str_of(name);
        double before = (double)chunk->before_process_ns / 1e9, start = free_at[worker];
        double stop = start + before + (double)chunk->duration_ns / 1e9;
        chunk->start_us = START * 1000000 + (int64_t)((start + before) * 1e6);
        chunk->have |= ROAST_CHUNK_HAS(start_us);
        must(roast_chunklog_append(roast_run_chunks(run), chunk, &error));
        must(roast_attempts_add_worker(attempts, roast_str_of(name), &number, &error));
        roast_attempt attempt = {.outcome = ROAST_OUTCOME_done,
                                 .prefix = {"P", 1},
                                 .key = chunk->task_key,
                                 .worker = number,
                                 .ready_us = START * 1000000,
                                 .sent_us = START * 1000000 + (int64_t)(start * 1e6),
                                 .start_us = START * 1000000 + (int64_t)(start * 1e6),
                                 .stop_us = START * 1000000 + (int64_t)(stop * 1e6),
                                 .ended_us = START * 1000000 + (int64_t)(stop * 1e6) + 500,
                                 .transfer_us = -1,
                                 .deserialize_us = -1,
                                 .disk_us = -1,
                                 .nbytes = 5000,
                                 .departure = ROAST_NO_DEPARTURE};
        must(roast_attempts_append(attempts, &attempt, &error));
        free_at[worker] = stop + 0.001;
        last = stop > last ? stop : last;
    }
    return last;
}

static void add_samples(roast_run *run, double seconds) {
    roast_series *series = roast_run_series(run);
    double value[ROAST_COLUMNS] = {0};
    char name[32];
    uint32_t number;
    value[ROAST_COLUMN_cores] = 1;
    value[ROAST_COLUMN_memory_limit] = 4e9;
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        snprintf(name, sizeof name, "tcp://10.0.%u.%u:4000", worker / 200, worker % 200);
        must(roast_series_worker(series, roast_str_of(name), &number, &error));
        must(roast_series_change(series, number, ROAST_WORKER_JOINED,
                                 (roast_utc){START * 1000000000}, 1, &error));
    }
    for (unsigned tick = 0; tick < TICKS; tick++) {
        double at = seconds * tick / TICKS;
        must(roast_series_tick(series, (roast_utc){START * 1000000000 + (int64_t)(at * 1e9)},
                               WORKERS, &error));
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            value[ROAST_COLUMN_memory] = 1e9 + 1e6 * (double)((tick * 7 + worker) % 300);
            value[ROAST_COLUMN_last_seen] = (double)START + at - 0.5;
            must(roast_series_append(series, worker, value, &error));
        }
    }
}

static roast_run *make_run(void) {
    roast_run *run;
    roast_attempts *attempts;
    must(roast_run_new(&run, &error));
    must(roast_attempts_new(&attempts, &error));
    roast_run_take_attempts(run, attempts);
    must(roast_attempts_set_kind(attempts, roast_str_of("P"), ROAST_KIND_processing, &error));
    double seconds = add_chunks(run, attempts);
    add_samples(run, seconds);
    roast_run_set_clock(run, (double)START, (double)START + seconds + 1);
    return run;
}

static void print_list(const char *name, const double *values, int count) {
    printf("  \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.6f", i > 0 ? ", " : "", values[i]);
    puts("],");
}

int main(int argc, char **argv) {
    static double metrics_took[ROUNDS_MAX], budget_took[ROUNDS_MAX], took[ROUNDS_MAX];
    static double all_took[ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_diagnose [rounds from 1 to %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    roast_run *run = make_run();
    uint32_t count = 0;
    for (int i = 0; i < rounds; i++) {
        roast_metrics *metrics;
        roast_budget *budget;
        roast_findings *findings;
        roast_mono start = roast_mono_now();
        must(roast_metrics_compute(run, &metrics, &error));
        metrics_took[i] = seconds_since(start);
        start = roast_mono_now();
        must(roast_budget_compute(run, &budget, &error));
        budget_took[i] = seconds_since(start);
        start = roast_mono_now();
        must(roast_diagnose_run(run, metrics, &findings, &error));
        took[i] = seconds_since(start);
        all_took[i] = metrics_took[i] + took[i];
        count = roast_findings_count(findings);
        roast_findings_free(findings);
        roast_budget_free(budget);
        roast_metrics_free(metrics);
    }
    printf("{\n  \"chunks\": %d,\n  \"workers\": %d,\n", CHUNKS, WORKERS);
    print_list("from_scratch_seconds", all_took, rounds);
    print_list("diagnose_seconds", took, rounds);
    print_list("budget_seconds", budget_took, rounds);
    print_list("metrics_seconds", metrics_took, rounds);
    printf("  \"findings\": %u\n}\n", (unsigned)count);
    roast_run_free(run);
    return EXIT_SUCCESS;
}
