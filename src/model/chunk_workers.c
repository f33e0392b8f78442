/* The workers of chunks that do not know them, from the tries of their tasks. */
#include "model/chunklog_internal.h"
#include "roast/attempts.h"

/* The worker of each task that gave a result. */
typedef struct by_task {
    roast_intern keys;
    uint32_t *workers;
    size_t capacity;
} by_task;

static roast_status find_tasks(const roast_attempts *attempts, by_task *tasks) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        uint32_t id;
        void *workers = tasks->workers;
        bool gave =
            attempt.outcome == ROAST_OUTCOME_done || attempt.outcome == ROAST_OUTCOME_recomputed;
        if (!gave || attempt.key.data == NULL || attempt.worker == ROAST_NO_WORKER)
            continue;
        ROAST_TRY(roast_array_reserve(&workers, &tasks->capacity, sizeof *tasks->workers,
                                      (size_t)tasks->keys.count + 1));
        tasks->workers = workers;
        ROAST_TRY(roast_intern_add(&tasks->keys, attempt.key, &id));
        tasks->workers[id] = attempt.worker;
    }
    return ROAST_OK;
}

/* All chunks of a process ran on one worker. */
static void find_workers(const roast_chunklog *log, const roast_attempts *attempts,
                         const by_task *tasks, roast_str *workers) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    char key[ROAST_MAX_KEY + 64];
    uint32_t id;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        uint32_t origin = chunk.packed.origin;
        if (chunk.worker.data != NULL || chunk.task_key.data == NULL || origin == 0 ||
            origin > log->entries.count || tasks->keys.count == 0)
            continue;
        size_t len = roast_chunk_task_key(&chunk, key, sizeof key);
        if (len < sizeof key && roast_intern_find(&tasks->keys, (roast_str){key, len}, &id))
            workers[origin - 1] = roast_attempts_worker(attempts, tasks->workers[id]);
    }
}

roast_status roast_chunklog_name_workers(const roast_chunklog *log, const roast_attempts *attempts,
                                         roast_chunklog **out, roast_error *err) {
    by_task tasks = {.capacity = 0};
    roast_str *workers = roast_alloc_zero(((size_t)log->entries.count + 1) * sizeof *workers);
    roast_status status = workers != NULL ? find_tasks(attempts, &tasks) : ROAST_ENOMEM;
    if (status == ROAST_OK) {
        find_workers(log, attempts, &tasks, workers);
        status = roast_chunklog_with_workers(log, workers, out);
    }
    roast_free(workers);
    roast_free(tasks.workers);
    roast_intern_reset(&tasks.keys);
    return status == ROAST_OK ? ROAST_OK
                              : roast_error_set(err, status, "roast_chunklog_name_workers", -1,
                                                "no room for the chunks");
}
