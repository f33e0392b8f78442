/* What chunks do not know of their tasks, from the tries: the worker, and when the task began. */
#include <stdlib.h>

#include "base/bisect.h"
#include "model/chunklog_internal.h"
#include "model/match.h"
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

/* ---- when a task began ---- */

static bool lacks_start(const roast_chunk *chunk) {
    return (chunk->have & ROAST_CHUNK_HAS(before_process_ns)) == 0 &&
           (chunk->have & ROAST_CHUNK_HAS(start_us)) != 0 && chunk->error_type.data == NULL;
}

/* A chunk that raised. The next one of its thread may be its repetition inside the same task. */
typedef struct raised_chunk {
    int64_t thread, start_us;
    uint32_t origin;
} raised_chunk;

typedef struct starts {
    roast_match match;
    bool lacking; /* some chunk does not know when its task began */
    raised_chunk *raised;
    size_t capacity, count;
    int64_t *before; /* of each chunk, in nanoseconds; ROAST_NO_NUMBER */
} starts;

static raised_chunk raised_of(const roast_chunk *chunk) {
    return (raised_chunk){chunk->thread, chunk->start_us, chunk->packed.origin};
}

static int by_thread(const void *a, const void *b) {
    const raised_chunk *x = a, *y = b;
    if (x->origin != y->origin)
        return x->origin < y->origin ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

static roast_status add_raised(starts *s, const roast_chunk *chunk) {
    void *raised = s->raised;
    ROAST_TRY(roast_array_reserve(&raised, &s->capacity, sizeof *s->raised, s->count + 1));
    s->raised = raised;
    s->raised[s->count++] = raised_of(chunk);
    return ROAST_OK;
}

/* Whether a chunk of the same thread raised since then. */
static bool raised_since(const starts *s, const roast_chunk *chunk, int64_t start_us) {
    raised_chunk wanted = raised_of(chunk);
    wanted.start_us = start_us;
    size_t low;
    ROAST_BISECT(low, s->count, by_thread(&s->raised[low], &wanted) < 0);
    const raised_chunk *next = low < s->count ? &s->raised[low] : NULL;
    return next != NULL && next->origin == wanted.origin && next->thread == wanted.thread &&
           next->start_us < chunk->start_us;
}

static roast_status add_chunks(const roast_chunklog *log, const roast_attempts *attempts,
                               starts *s) {
    roast_intern workers = {0};
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    uint32_t id, number = 0;
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < roast_attempts_worker_count(attempts); i++)
        status = roast_intern_add(&workers, roast_attempts_worker(attempts, i), &id);
    roast_chunk_cursor_init(&cursor, log);
    while (status == ROAST_OK && roast_chunk_cursor_next(&cursor, &chunk)) {
        bool known = chunk.worker.data != NULL && workers.count > 0 &&
                     roast_intern_find(&workers, chunk.worker, &id);
        s->lacking |= lacks_start(&chunk);
        status = roast_match_add(&s->match, &chunk, known ? id : ROAST_NO_WORKER, number++);
        if (status == ROAST_OK && chunk.error_type.data != NULL)
            status = add_raised(s, &chunk);
    }
    roast_intern_reset(&workers);
    if (s->count > 0)
        qsort(s->raised, s->count, sizeof *s->raised, by_thread);
    roast_match_sort(&s->match);
    return status;
}

/* The time of the chunk's task before process(), without the start of its process. */
static void take_start(const starts *s, const roast_chunklog *log, uint32_t number,
                       int64_t start_us) {
    roast_chunk chunk;
    int64_t *before = s->before;
    if (number == ROAST_NO_MATCH || roast_chunklog_get(log, number, &chunk, NULL) != ROAST_OK ||
        !lacks_start(&chunk) || raised_since(s, &chunk, start_us))
        return;
    int64_t ns = roast_sub_capped(chunk.start_us, start_us);
    if (ns < 0) /* the clocks disagree */
        return;
    ns = ns < INT64_MAX / 1000 ? ns * 1000 : INT64_MAX;
    if ((chunk.have & ROAST_CHUNK_HAS(loaded_ns)) != 0 && ns > chunk.loaded_ns)
        ns = chunk.loaded_ns;
    if (before[number] == ROAST_NO_NUMBER || ns < before[number])
        before[number] = ns;
}

static void find_starts(const starts *s, const roast_chunklog *log,
                        const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        bool gave =
            attempt.outcome == ROAST_OUTCOME_done || attempt.outcome == ROAST_OUTCOME_recomputed;
        if (!gave || attempt.start_us == ROAST_NO_TIME)
            continue;
        const roast_match_try one = {
            roast_match_key(&attempt), attempt.start_us, attempt.worker, attempt.thread,
            attempt.stop_us != ROAST_NO_TIME ? attempt.stop_us : attempt.ended_us};
        take_start(s, log, roast_match_find_try(&s->match, &one), attempt.start_us);
    }
}

roast_status roast_chunklog_start_tasks(const roast_chunklog *log, const roast_attempts *attempts,
                                        roast_chunklog **out, roast_error *err) {
    starts s = {.before = roast_alloc((size_t)(log->count + 1) * sizeof *s.before)};
    roast_status status = s.before != NULL ? add_chunks(log, attempts, &s) : ROAST_ENOMEM;
    *out = NULL;
    if (status == ROAST_OK && s.lacking) {
        for (uint64_t i = 0; i < log->count; i++)
            s.before[i] = ROAST_NO_NUMBER;
        find_starts(&s, log, attempts);
        status = roast_chunklog_with_numbers(log, ROAST_CHUNK_INDEX_before_process_ns, s.before,
                                             out, NULL);
    }
    roast_free(s.before);
    roast_free(s.raised);
    roast_match_reset(&s.match);
    return status == ROAST_OK ? ROAST_OK
                              : roast_error_set(err, status, "roast_chunklog_start_tasks", -1,
                                                "no room for the chunks");
}
