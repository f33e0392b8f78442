/* What ran on the workers: the tries of the tasks, and the clocks of the chunks in them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/budget_internal.h"
#include "model/attempts_internal.h"

/* ---- the clocks of the chunks ---- */

#define SECONDS(chunk, field)                                                                      \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field / 1e9 : (double)NAN)

/* Both sides split a key the same way, so that nobody has to put one together. */
static uint64_t key_hash(roast_str stem, roast_str hash, int64_t number) {
    uint64_t result = roast_hash(stem.data, stem.len);
    if (hash.data != NULL)
        return result * 3 + roast_hash(hash.data, hash.len);
    return number >= 0 ? result * 5 + roast_hash(&number, sizeof number) : result;
}

static uint64_t chunk_key(const roast_chunk *chunk) {
    roast_split_key key;
    if (chunk->task_hash.data != NULL)
        return key_hash(chunk->task_key, chunk->task_hash, -1);
    roast_key_split(chunk->task_key, &key);
    if (key.form == ROAST_KEY_HASHED)
        return key_hash(key.stem, (roast_str){(const char *)key.hash, sizeof key.hash}, -1);
    return key_hash(key.stem, (roast_str){NULL, 0},
                    key.form == ROAST_KEY_NUMBERED ? (int64_t)key.number : -1);
}

static double read_seconds(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor cursor;
    roast_read read;
    double seconds = 0;
    if (!chunk->has_reads)
        return NAN;
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read))
        seconds += read.time_ns > 0 ? (double)read.time_ns / 1e9 : 0;
    return seconds;
}

/* On a cluster by its name, on this machine by its process. */
static uint32_t chunk_worker(roast_budget_work *work, const roast_chunk *chunk) {
    char name[ROAST_MAX_WORKER_NAME + 32];
    if (chunk->worker.data != NULL)
        return roast_budget_worker_of(work, chunk->worker);
    if (chunk->host.data == NULL || chunk->pid == 0 || chunk->host.len > ROAST_MAX_WORKER_NAME)
        return ROAST_NONE;
    int len = snprintf(name, sizeof name, "%.*s:%lld", (int)chunk->host.len, chunk->host.data,
                       (long long)chunk->pid);
    return roast_budget_worker_of(work, (roast_str){name, (size_t)len});
}

static roast_status add_chunk(roast_budget_work *work, const roast_chunklog *log,
                              const roast_chunk *chunk) {
    if ((chunk->have & ROAST_CHUNK_HAS(start_us)) == 0 ||
        (chunk->have & ROAST_CHUNK_HAS(duration_ns)) == 0)
        return ROAST_OK;
    void *chunks = work->chunks;
    ROAST_TRY(roast_array_reserve(&chunks, &work->chunks_capacity, sizeof *work->chunks,
                                  (size_t)work->chunk_count + 1));
    work->chunks = chunks;
    roast_budget_clocks *clocks = &work->chunks[work->chunk_count];
    *clocks = (roast_budget_clocks){
        .before = SECONDS(chunk, before_process_ns),
        .duration = SECONDS(chunk, duration_ns),
        .read = read_seconds(log, chunk),
        .cpu = SECONDS(chunk, cpu_user_ns) + SECONDS(chunk, cpu_system_ns),
        .io_wait = SECONDS(chunk, io_wait_ns),
        .runqueue = SECONDS(chunk, runqueue_wait_ns),
        .start = chunk->start_us,
        .thread = chunk->thread,
        .key = chunk->task_key.data != NULL ? chunk_key(chunk) : 0,
        .dataset = ROAST_NONE,
        .file = ROAST_NONE,
        .worker = chunk_worker(work, chunk),
        .next = ROAST_NONE,
        .failed = chunk->error_type.data != NULL,
    };
    roast_budget_table *tables = work->budget->tables;
    if (chunk->dataset.data != NULL)
        ROAST_TRY(roast_budget_table_id(&tables[ROAST_BY_dataset], chunk->dataset, true,
                                        &clocks->dataset));
    if (chunk->file.data != NULL)
        ROAST_TRY(roast_budget_table_id(&tables[ROAST_BY_file], chunk->file, true, &clocks->file));
    work->chunk_count++;
    return ROAST_OK;
}

static roast_status index_chunks(roast_budget_work *work) {
    size_t slots = 16;
    while (slots < (size_t)work->chunk_count * 2)
        slots *= 2;
    work->slots = roast_alloc(slots * sizeof *work->slots);
    if (work->slots == NULL)
        return ROAST_ENOMEM;
    work->slot_mask = (uint32_t)(slots - 1);
    for (size_t i = 0; i < slots; i++)
        work->slots[i] = ROAST_NONE;
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        if (work->chunks[i].key == 0)
            continue;
        uint32_t *slot = &work->slots[work->chunks[i].key & work->slot_mask];
        work->chunks[i].next = *slot;
        *slot = i;
    }
    return ROAST_OK;
}

roast_status roast_budget_find_chunks(roast_budget_work *work) {
    const roast_chunklog *log = roast_run_chunks_view(work->run);
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    if (roast_chunklog_count(log) >= UINT32_MAX / 4)
        return ROAST_ELIMIT;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        ROAST_TRY(add_chunk(work, log, &chunk));
    return index_chunks(work);
}

/* The chunk of a try: the same key, on the same worker, and of several tries the nearest in time. */
static uint32_t chunk_of(const roast_budget_work *work, const roast_attempt *attempt,
                         uint32_t worker) {
    if (attempt->key.data == NULL)
        return ROAST_NONE;
    uint64_t key = key_hash(attempt->key, attempt->key_hash, attempt->key_number), best = 0;
    int64_t near = attempt->start_us != ROAST_NO_TIME ? attempt->start_us : attempt->ended_us;
    uint32_t found = ROAST_NONE;
    for (uint32_t i = work->slots[key & work->slot_mask]; i != ROAST_NONE;
         i = work->chunks[i].next) {
        const roast_budget_clocks *chunk = &work->chunks[i];
        if (chunk->key != key || chunk->worker != worker)
            continue;
        uint64_t apart = chunk->start > near ? (uint64_t)chunk->start - (uint64_t)near
                                             : (uint64_t)near - (uint64_t)chunk->start;
        if (found == ROAST_NONE || apart < best) {
            found = i;
            best = apart;
        }
    }
    return found;
}

/* ---- the tasks ---- */

static roast_status add_task(roast_budget_work *work, roast_budget_task task) {
    void *tasks = work->tasks;
    ROAST_TRY(roast_array_reserve(&tasks, &work->tasks_capacity, sizeof *work->tasks,
                                  (size_t)work->task_count + 1));
    work->tasks = tasks;
    work->tasks[work->task_count++] = task;
    roast_budget_worker *worker = &work->workers[task.worker];
    int64_t sent = task.sent != ROAST_NO_TIME ? task.sent : task.start;
    if (sent != ROAST_NO_TIME && sent < worker->first_sent)
        worker->first_sent = sent;
    worker->tasks++;
    return ROAST_OK;
}

static roast_task_use use_of(const roast_attempt *attempt) {
    if (attempt->kind != ROAST_KIND_foreign && attempt->outcome != ROAST_OUTCOME_done)
        return ROAST_USE_LOST;
    if (attempt->kind == ROAST_KIND_processing)
        return ROAST_USE_PROCESSING;
    return attempt->kind == ROAST_KIND_reduction ? ROAST_USE_REDUCTION : ROAST_USE_OTHER;
}

static roast_status add_queue(roast_budget_work *work, int64_t from, int64_t to) {
    if (from == ROAST_NO_TIME || to == ROAST_NO_TIME || from >= to)
        return ROAST_OK;
    /* Most touch the one before, and never need to be sorted. */
    struct roast_budget_queue *last =
        work->queue_count > 0 ? &work->queue[work->queue_count - 1] : NULL;
    if (last != NULL && from <= last->to && to >= last->from) {
        last->from = from < last->from ? from : last->from;
        last->to = to > last->to ? to : last->to;
        return ROAST_OK;
    }
    void *queue = work->queue;
    ROAST_TRY(roast_array_reserve(&queue, &work->queue_capacity, sizeof *work->queue,
                                  work->queue_count + 1));
    work->queue = queue;
    work->queue[work->queue_count].from = from;
    work->queue[work->queue_count++].to = to;
    return ROAST_OK;
}

/* The moments in order: clocks of two machines agree to milliseconds at best. */
static void put_in_order(roast_budget_task *task) {
    if (task->start == ROAST_NO_TIME)
        return;
    if (task->stop < task->start)
        task->stop = task->start;
    if (task->sent == ROAST_NO_TIME || task->sent > task->start)
        task->sent = task->start;
    if (task->ended < task->stop)
        task->ended = task->stop;
}

static roast_status add_attempts(roast_budget_work *work, const roast_attempts *attempts) {
    uint32_t count = roast_attempts_worker_count(attempts);
    uint32_t *workers = roast_alloc(((size_t)count + 1) * sizeof *workers);
    if (workers == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        workers[i] = roast_budget_worker_of(work, roast_attempts_worker(attempts, i));
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_status status = ROAST_OK;
    roast_attempt_cursor_init(&cursor, attempts);
    while (status == ROAST_OK && roast_attempt_cursor_next(&cursor, &attempt)) {
        uint32_t worker = attempt.worker < count ? workers[attempt.worker] : ROAST_NONE;
        if (attempt.kind != ROAST_KIND_foreign)
            status = add_queue(work, attempt.ready_us, attempt.sent_us);
        if (status != ROAST_OK || worker == ROAST_NONE)
            continue;
        roast_budget_task task = {.sent = attempt.sent_us,
                                  .start = attempt.start_us,
                                  .stop = attempt.stop_us,
                                  .ended = attempt.ended_us,
                                  .worker = worker,
                                  .chunk = chunk_of(work, &attempt, worker),
                                  .use = (uint8_t)use_of(&attempt)};
        put_in_order(&task);
        status = add_task(work, task);
        if (attempt.kind == ROAST_KIND_processing && task.start != ROAST_NO_TIME &&
            task.start > work->tail)
            work->tail = task.start;
    }
    roast_free(workers);
    return status;
}

static int by_thread_and_time(const void *a, const void *b) {
    const roast_budget_clocks *x = a, *y = b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* An executor of this machine does not say when a task begins. It has all of them from the start, so
 * that a thread is at the next one as soon as it has handed over the last: what lies between two chunks
 * is before process() of the second. Of a thread's first chunk it is not known. */
static void find_before(roast_budget_work *work) {
    if (work->chunk_count > 0)
        qsort(work->chunks, work->chunk_count, sizeof *work->chunks, by_thread_and_time);
    for (uint32_t i = 1; i < work->chunk_count; i++) {
        const roast_budget_clocks *last = &work->chunks[i - 1];
        roast_budget_clocks *chunk = &work->chunks[i];
        if (!isnan(chunk->before) || chunk->worker != last->worker || chunk->thread != last->thread)
            continue;
        double gap = (double)(chunk->start - last->start) / 1e6 - last->duration;
        chunk->before = gap > 0 ? gap : 0;
    }
}

/* Nobody watched: what the chunks know of themselves. */
static roast_status add_chunks(roast_budget_work *work) {
    int64_t first = INT64_MAX;
    if (!work->has_spans)
        find_before(work);
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        const roast_budget_clocks *chunk = &work->chunks[i];
        if (chunk->worker == ROAST_NONE)
            continue;
        double before = isnan(chunk->before) ? 0 : chunk->before;
        roast_budget_task task = {.sent = ROAST_NO_TIME,
                                  .start = chunk->start - (int64_t)(before * 1e6),
                                  .stop = chunk->start + (int64_t)(chunk->duration * 1e6),
                                  .ended = ROAST_NO_TIME,
                                  .worker = chunk->worker,
                                  .chunk = i,
                                  .use = chunk->failed ? ROAST_USE_LOST : ROAST_USE_PROCESSING};
        put_in_order(&task);
        ROAST_TRY(add_task(work, task));
        first = task.start < first ? task.start : first;
        work->tail = task.start > work->tail ? task.start : work->tail;
    }
    return add_queue(work, first, work->tail);
}

/* ---- where tasks waited ---- */

static int by_begin(const void *a, const void *b) {
    const struct roast_budget_queue *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Stretches that touch become one. */
static void join_queue(roast_budget_work *work) {
    size_t kept = 0;
    if (work->queue_count == 0)
        return;
    qsort(work->queue, work->queue_count, sizeof *work->queue, by_begin);
    for (size_t i = 1; i < work->queue_count; i++) {
        if (work->queue[i].from > work->queue[kept].to)
            work->queue[++kept] = work->queue[i];
        else if (work->queue[i].to > work->queue[kept].to)
            work->queue[kept].to = work->queue[i].to;
    }
    work->queue_count = kept + 1;
    int64_t before = 0;
    for (size_t i = 0; i < work->queue_count; i++) {
        work->queue[i].before = before;
        before += work->queue[i].to - work->queue[i].from;
    }
}

/* ---- all ---- */

/* The tasks of a worker one behind the other. */
static roast_status group_tasks(roast_budget_work *work) {
    uint32_t workers = work->budget->tables[ROAST_BY_worker].count;
    roast_budget_task *grouped = roast_alloc((work->task_count + 1) * sizeof *grouped);
    uint64_t next = 0;
    if (grouped == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < workers; i++) {
        work->workers[i].first_task = next;
        next += work->workers[i].tasks;
        work->workers[i].tasks = 0;
    }
    for (uint64_t i = 0; i < work->task_count; i++) {
        roast_budget_worker *worker = &work->workers[work->tasks[i].worker];
        grouped[worker->first_task + worker->tasks++] = work->tasks[i];
    }
    roast_free(work->tasks);
    work->tasks = grouped;
    return ROAST_OK;
}

roast_status roast_budget_find_tasks(roast_budget_work *work) {
    const roast_attempts *attempts = roast_run_attempts_view(work->run);
    uint32_t workers = work->budget->tables[ROAST_BY_worker].count;
    work->budget->has_attempts = attempts != NULL;
    work->tail = INT64_MIN;
    work->first_task = INT64_MAX;
    ROAST_TRY(attempts != NULL ? add_attempts(work, attempts) : add_chunks(work));
    if (work->tail == INT64_MIN)
        work->tail = INT64_MAX; /* nothing was processed: there is no tail */
    for (uint32_t i = 0; i < workers; i++)
        if (work->workers[i].first_sent < work->first_task)
            work->first_task = work->workers[i].first_sent;
    join_queue(work);
    return group_tasks(work);
}
