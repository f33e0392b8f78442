/* What ran on the workers: the tries of the tasks. */
#include <math.h>
#include <stdlib.h>

#include "analyse/budget/internal.h"
#include "base/bisect.h"
#include "roast/attempts.h"

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

static uint32_t find_chunk_of(const roast_budget_work *work, const roast_attempt *attempt,
                              uint32_t worker) {
    int64_t when = attempt->start_us != ROAST_NO_TIME ? attempt->start_us : attempt->ended_us;
    int64_t until = attempt->stop_us != ROAST_NO_TIME ? attempt->stop_us : attempt->ended_us;
    const roast_match_try one = {roast_match_key(attempt), when, worker, attempt->thread, until};
    return roast_match_find_try(&work->match, &one);
}

static roast_task_use use_of(const roast_attempt *attempt, bool preprocessing) {
    if (attempt->kind != ROAST_KIND_foreign && attempt->outcome != ROAST_OUTCOME_done)
        return ROAST_USE_LOST;
    if (preprocessing)
        return ROAST_USE_PREPROCESSING;
    if (attempt->kind == ROAST_KIND_processing)
        return ROAST_USE_PROCESSING;
    return attempt->kind == ROAST_KIND_reduction ? ROAST_USE_REDUCTION : ROAST_USE_OTHER;
}

/* Adds the time between two moments, if both are known. */
static roast_status add_known(roast_stretches *set, int64_t from, int64_t to) {
    bool known = from != ROAST_NO_TIME && to != ROAST_NO_TIME;
    return known ? roast_stretches_add(set, from, to) : ROAST_OK;
}

static int64_t first_known(const roast_attempt *attempt) {
    if (attempt->ready_us != ROAST_NO_TIME)
        return attempt->ready_us;
    return attempt->sent_us != ROAST_NO_TIME ? attempt->sent_us : attempt->start_us;
}

/* A task of this run that reads the length of a file, or merges such lengths. Its middle lies in the phase of the
 * client also where their clocks differ by some milliseconds. */
static bool is_preprocessing(const roast_budget_work *work, const roast_attempt *attempt) {
    int64_t from = first_known(attempt);
    if (attempt->kind == ROAST_KIND_processing || attempt->kind == ROAST_KIND_foreign ||
        from == ROAST_NO_TIME || attempt->ended_us == ROAST_NO_TIME)
        return false;
    int64_t middle = from / 2 + attempt->ended_us / 2;
    const roast_stretch *phase = roast_stretches_last(&work->preprocessing, middle);
    return phase != NULL && middle < phase->to;
}

/* When the engine had the task, and when it was queued. */
static roast_status add_times(roast_budget_work *work, const roast_attempt *attempt) {
    if (attempt->kind == ROAST_KIND_foreign)
        return ROAST_OK;
    ROAST_TRY(add_known(&work->queue, attempt->ready_us, attempt->sent_us));
    return add_known(&work->busy, first_known(attempt), attempt->ended_us);
}

/* The moments in order: clocks of two machines agree to milliseconds at best. */
static void put_in_order(roast_budget_task *task) {
    if (task->start == ROAST_NO_TIME)
        return;
    if (task->stop == ROAST_NO_TIME)
        task->stop = task->ended; /* its stop was not reported */
    if (task->stop < task->start)
        task->stop = task->start;
    if (task->sent == ROAST_NO_TIME || task->sent > task->start)
        task->sent = task->start;
    if (task->ended < task->stop)
        task->ended = task->stop;
}

/* ---- tries inside a task ---- */

static int by_place(const roast_budget_clocks *x, const roast_budget_clocks *y) {
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_places(const void *a, const void *b) {
    return by_place(*(const roast_budget_clocks *const *)a, *(const roast_budget_clocks *const *)b);
}

/* Of a task that gave a result: chunks of the same thread between the task's start and that of its chunk. */
static void add_repeated(roast_budget_work *work, const roast_budget_task *task,
                         const roast_budget_clocks *const *raised, size_t count) {
    roast_budget_clocks *chunk = &work->chunks[task->chunk], from = *chunk;
    size_t at;
    from.start = task->start;
    ROAST_BISECT(at, count, by_place(raised[at], &from) < 0);
    for (; at < count && by_place(raised[at], chunk) < 0; at++) {
        chunk->repeated += (float)raised[at]->duration;
        if (isnan(chunk->loaded)) /* the first one of the process */
            chunk->loaded = raised[at]->loaded + (float)(chunk->start - raised[at]->start) / 1e6f;
    }
}

/* Coffea repeats a chunk inside its task. What raised there has a record, and no try of its own. */
static roast_status find_repeated(roast_budget_work *work) {
    size_t count = 0;
    for (uint32_t i = 0; i < work->chunk_count; i++)
        count += work->chunks[i].failed;
    if (count == 0)
        return ROAST_OK;
    const roast_budget_clocks **raised = roast_alloc(count * sizeof *raised);
    if (raised == NULL)
        return ROAST_ENOMEM;
    count = 0;
    for (uint32_t i = 0; i < work->chunk_count; i++)
        if (work->chunks[i].failed && !isnan(work->chunks[i].duration))
            raised[count++] = &work->chunks[i];
    qsort(raised, count, sizeof *raised, by_places);
    for (uint64_t i = 0; i < work->task_count; i++) {
        const roast_budget_task *task = &work->tasks[i];
        if (task->use == ROAST_USE_PROCESSING && task->chunk != ROAST_NONE &&
            task->start != ROAST_NO_TIME && !work->chunks[task->chunk].failed)
            add_repeated(work, task, raised, count);
    }
    roast_free(raised);
    return ROAST_OK;
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
    roast_match_sort(&work->match);
    roast_attempt_cursor_init(&cursor, attempts);
    while (status == ROAST_OK && roast_attempt_cursor_next(&cursor, &attempt)) {
        uint32_t worker = attempt.worker < count ? workers[attempt.worker] : ROAST_NONE;
        bool preprocessing = is_preprocessing(work, &attempt);
        if (!preprocessing)
            status = add_times(work, &attempt);
        if (status != ROAST_OK || worker == ROAST_NONE)
            continue;
        roast_budget_task task = {.sent = attempt.sent_us,
                                  .start = attempt.start_us,
                                  .stop = attempt.stop_us,
                                  .ended = attempt.ended_us,
                                  .worker = worker,
                                  .chunk = find_chunk_of(work, &attempt, worker),
                                  .use = (uint8_t)use_of(&attempt, preprocessing)};
        put_in_order(&task);
        status = add_task(work, task);
        if (attempt.kind == ROAST_KIND_processing && task.start != ROAST_NO_TIME &&
            task.start > work->tail)
            work->tail = task.start;
    }
    roast_free(workers);
    roast_match_reset(&work->match);
    return status == ROAST_OK ? find_repeated(work) : status;
}

static int by_thread_and_time(const void *a, const void *b) {
    return by_place(a, b);
}

/* When a thread could have begun with a chunk that has none before it: the call of the executor has begun, and the
 * process was there. NO_TIME: not known. */
static int64_t could_begin(const roast_budget_work *work, const roast_budget_clocks *chunk) {
    const roast_stretch *during = roast_stretches_last(&work->busy, chunk->start);
    if (!work->has_phases || during == NULL || chunk->start > during->to)
        return ROAST_NO_TIME;
    const roast_budget_worker *worker = &work->workers[chunk->worker];
    int64_t from = during->from;
    for (uint32_t i = 0; i < worker->lives; i++) {
        const roast_budget_life *life = &work->lives[worker->first_life + i];
        if (life->from <= chunk->start && life->from > from)
            from = life->from;
    }
    return from;
}

/* An executor of this machine does not say when a task begins. All tasks are queued from the start, so a thread
 * begins the next one as soon as it has finished the last, and the first one as soon as it can. From then on it is
 * before process(). */
static void find_before(roast_budget_work *work) {
    if (work->chunk_count > 0)
        qsort(work->chunks, work->chunk_count, sizeof *work->chunks, by_thread_and_time);
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        roast_budget_clocks *chunk = &work->chunks[i];
        const roast_budget_clocks *last = i > 0 ? chunk - 1 : NULL;
        if (!isnan(chunk->before) || chunk->worker == ROAST_NONE)
            continue;
        int64_t from = could_begin(work, chunk);
        if (last != NULL && chunk->worker == last->worker && chunk->thread == last->thread) {
            int64_t ended = last->start + (int64_t)(last->duration * 1e6);
            from = from == ROAST_NO_TIME || ended > from ? ended : from;
        }
        if (from != ROAST_NO_TIME)
            chunk->before = from < chunk->start ? (double)(chunk->start - from) / 1e6 : 0;
    }
}

/* Without attempts: tries made from the chunks. */
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
    return add_known(&work->queue, first == INT64_MAX ? ROAST_NO_TIME : first, work->tail);
}

/* ---- all ---- */

/* The tasks sorted by worker. */
static roast_status group_tasks(roast_budget_work *work) {
    uint32_t workers = roast_groups_count(&work->budget->tables[ROAST_BY_worker].rows);
    if (work->task_count >= UINT32_MAX)
        return ROAST_ELIMIT;
    work->order = roast_alloc((size_t)(work->task_count + 1) * sizeof *work->order);
    uint64_t next = 0;
    if (work->order == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < workers; i++) {
        work->workers[i].first_task = next;
        next += work->workers[i].tasks;
        work->workers[i].tasks = 0;
    }
    for (uint64_t i = 0; i < work->task_count; i++) {
        roast_budget_worker *worker = &work->workers[work->tasks[i].worker];
        work->order[worker->first_task + worker->tasks++] = (uint32_t)i;
    }
    return ROAST_OK;
}

roast_status roast_budget_find_tasks(roast_budget_work *work) {
    const roast_attempts *attempts = roast_run_attempts_view(work->run);
    uint32_t workers = roast_groups_count(&work->budget->tables[ROAST_BY_worker].rows);
    work->budget->has_attempts = attempts != NULL;
    work->sees_idle = attempts != NULL || (work->has_spans && work->chunk_count > 0);
    work->tail = INT64_MIN;
    work->first_task = INT64_MAX;
    ROAST_TRY(attempts != NULL ? add_attempts(work, attempts) : add_chunks(work));
    if (work->tail == INT64_MIN)
        work->tail = INT64_MAX; /* nothing was processed: there is no tail */
    for (uint32_t i = 0; i < workers; i++)
        if (work->workers[i].first_sent < work->first_task)
            work->first_task = work->workers[i].first_sent;
    roast_stretches_join(&work->queue);
    return group_tasks(work);
}
