/* bench_taskvine: the log of a TaskVine manager with a million lines, in memory.
 *
 * Prints one JSON object: seconds of each round, lines, bytes of the log, tries, and bytes of memory that the reader
 * holds at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/taskvine.h"

enum { TASKS = 111111, WORKERS = 200, ROUNDS = 3, ROUNDS_MAX = 100 };

static roast_error error;

static void must(roast_status status) {
    if (status == ROAST_OK)
        return;
    fprintf(stderr, "bench_taskvine: %s\n", error.message);
    exit(EXIT_FAILURE);
}

/* ---- a log like those of real runs ---- */

static void put_workers(FILE *out, int64_t now) {
    for (int i = 0; i < WORKERS; i++)
        fprintf(out,
                "%" PRId64 " 7 WORKER worker-%032d CONNECTION 10.0.0.1:%d\n"
                "%" PRId64
                " 7 WORKER worker-%032d RESOURCES {\"memory\":[2000,\"MB\"],\"disk\":[4000,\"MB\"],"
                "\"cores\":[4,\"cores\"]}\n",
                now, i, i, now, i);
}

static void put_task(FILE *out, int64_t now, int task) {
    const int worker = task % WORKERS;
    const double start = (double)now / 1e6;
    const char *times =
        "\"time_commit_start\":[%.6f,\"s\"],\"time_commit_end\":[%.6f,\"s\"],"
        "\"time_input_mgr\":[0.000157,\"s\"],\"size_input_mgr\":[0.000225067138671875,\"MB\"],";
    fprintf(out,
            "%" PRId64 " 7 TASK %d READY processing FIRST_RESOURCES 1 "
            "{\"disk\":[0,\"MB\"],\"cores\":[1,\"cores\"]}\n"
            "%" PRId64 " 7 WORKER worker-%032d TRANSFER INPUT file-meta-%032d 236 202 %" PRId64 "\n"
            "%" PRId64 " 7 TASK %d RUNNING worker-%032d  FIRST_RESOURCES {",
            now, task, now + 10, worker, task, now, now + 20, task, worker);
    fprintf(out, times, start, start);
    fprintf(out,
            "\"memory\":[1000,\"MB\"],\"disk\":[1499,\"MB\"],\"gpus\":[0,\"gpus\"],\"cores\":[1,"
            "\"cores\"]}\n"
            "%" PRId64 " 7 WORKER worker-%032d CACHE_UPDATE file-meta-%032d 236 96 %" PRId64 "\n"
            "%" PRId64 " 7 WORKER worker-%032d CACHE_UPDATE temp-rnd-%015d 32000 1850000 %" PRId64
            "\n"
            "%" PRId64 " 7 TASK %d WAITING_RETRIEVAL worker-%032d \n"
            "%" PRId64 " 7 WORKER worker-%032d TRANSFER OUTPUT file-rnd-%015d 300 150 %" PRId64 "\n"
            "%" PRId64 " 7 TASK %d RETRIEVED SUCCESS  0  {} {\"time_worker_start\":[%.6f,\"s\"],"
            "\"time_worker_end\":[%.6f,\"s\"],\"time_output_mgr\":[8.899999999999999e-05,\"s\"],"
            "\"size_output_mgr\":[0,\"MB\"],",
            now + 30, worker, task, now + 20, now + 1850100, worker, task, now + 40, now + 1850110,
            task, worker, now + 1850120, worker, task, now, now + 1850130, task, start + 40e-6,
            start + 1.85004);
    fprintf(out, times, start, start);
    fprintf(out,
            "\"start\":[%.6f,\"s\"],\"end\":[%.6f,\"s\"],\"wall_time\":[1.85,\"s\"],\"memory\":["
            "1000,\"MB\"],"
            "\"disk\":[1499,\"MB\"],\"gpus\":[0,\"gpus\"],\"cores\":[1,\"cores\"]}\n"
            "%" PRId64 " 7 TASK %d DONE SUCCESS  0 \n",
            start, start + 1.85, now + 1850140, task);
}

static char *make_log(size_t *len) {
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    int64_t now = INT64_C(1794842823000000);
    if (out == NULL)
        exit(EXIT_FAILURE);
    fprintf(out, "%" PRId64 " 7 MANAGER 7 START 0\n", now);
    put_workers(out, now);
    for (int i = 1; i <= TASKS; i++)
        put_task(out, now += 2000, i);
    fclose(out);
    return text;
}

int main(int argc, char **argv) {
    static double took[ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    uint64_t lines = 0, tries = 0;
    size_t len, memory = 0;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_taskvine [rounds from 1 to %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    char *text = make_log(&len);
    for (int i = 0; i < rounds; i++) {
        roast_taskvine *log;
        roast_mono start = roast_mono_now();
        must(roast_taskvine_new(&log, &error));
        for (size_t at = 0; at < len; at += 1 << 18)
            must(roast_taskvine_feed(log, text + at, len - at < 1 << 18 ? len - at : 1 << 18,
                                     &error));
        must(roast_taskvine_finish(log, &error));
        took[i] = 1e-9 * (double)roast_mono_since(start, roast_mono_now());
        lines = roast_taskvine_get_facts(log)->lines;
        tries = roast_attempts_count(roast_taskvine_attempts(log));
        memory = roast_taskvine_memory(log);
        roast_taskvine_free(log);
    }
    free(text);
    printf("{\n  \"lines\": %" PRIu64 ",\n  \"bytes\": %zu,\n  \"tries\": %" PRIu64
           ",\n  \"memory\": %zu,\n  \"seconds\": [",
           lines, len, tries, memory);
    for (int i = 0; i < rounds; i++)
        printf("%s%.6f", i > 0 ? ", " : "", took[i]);
    puts("]\n}");
    return EXIT_SUCCESS;
}
