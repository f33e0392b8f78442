#include "sample_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "sample_chunks.h"

enum { CHUNKS = SAMPLE_RUN_CHUNKS, WORKERS = SAMPLE_RUN_WORKERS, TICKS = 300 };
#define START INT64_C(1700000000) /* s */

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "sample run: %s\n", error.message);
    exit(EXIT_FAILURE);
}

/* A worker is one process, on a host with nine others. */
static void set_origin(roast_chunk *chunk, uint64_t index, char *name, size_t name_size, char *host,
                       size_t host_size) {
    uint32_t worker = (uint32_t)(index % WORKERS);
    snprintf(name, name_size, "tcp://10.0.%u.%u:4000", worker / 200, worker % 200);
    snprintf(host, host_size, "node%03u", worker / 10);
    chunk->worker = roast_str_of(name);
    chunk->host = roast_str_of(host);
    chunk->token = UINT64_C(0x9e3779b97f4a7c15) * (worker + 1);
    chunk->pid = 20000 + worker % 10;
    chunk->seq = index / WORKERS + 1;
}

/* Chunks one after the other on each worker, with the tries of their tasks. */
static double add_chunks(roast_run *run, roast_attempts *attempts) {
    static sample_chunk sample;
    static double free_at[WORKERS];
    double last = 0;
    for (uint64_t i = 0; i < CHUNKS; i++) {
        uint32_t worker = (uint32_t)(i % WORKERS), number;
        char name[32], host[16];
        sample_chunk_make(&sample, i);
        roast_chunk *chunk = &sample.chunk;
        set_origin(chunk, i, name, sizeof name, host, sizeof host);
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

roast_run *sample_cluster_make(void) {
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
