/* What threads without a task waited for: preprocessing, the client, or the end of the last chunk. */
#include <math.h>

#include "analyse/budget/internal.h"

static int64_t to_us(double seconds) {
    return fabs(seconds) < 1e12 ? (int64_t)(seconds * 1e6) : seconds < 0 ? INT64_MIN : INT64_MAX;
}

roast_status roast_budget_find_phases(roast_budget_work *work) {
    bool has_attempts = roast_run_attempts_view(work->run) != NULL;
    work->has_phases = roast_run_phase_count(work->run) > 0;
    for (uint32_t i = 0; i < roast_run_phase_count(work->run); i++) {
        roast_phase phase = roast_run_phase(work->run, i);
        int64_t from = to_us(phase.start), to = to_us(phase.end);
        from = from < work->from ? work->from : from;
        to = to > work->to ? work->to : to;
        if (phase.kind == ROAST_PHASE_preprocessing)
            ROAST_TRY(roast_stretches_add(&work->preprocessing, from, to));
        else if (!has_attempts)
            ROAST_TRY(roast_stretches_add(&work->busy, from, to));
    }
    if (!has_attempts && !work->has_phases)
        ROAST_TRY(roast_stretches_add(&work->busy, work->from, work->to));
    roast_stretches_join(&work->preprocessing);
    roast_stretches_join(&work->busy);
    return ROAST_OK;
}

static roast_status add_all(const roast_stretches *from, roast_stretches *to) {
    for (size_t i = 0; i < from->count; i++)
        ROAST_TRY(roast_stretches_add(to, from->list[i].from, from->list[i].to));
    return ROAST_OK;
}

static roast_status find_client(roast_budget_work *work, roast_stretches *engine) {
    ROAST_TRY(add_all(&work->preprocessing, engine));
    ROAST_TRY(add_all(&work->busy, engine));
    roast_stretches_join(engine);
    return roast_stretches_rest(engine, work->from, work->to, &work->client);
}

/* The last chunk that began and the last one that ended in a stretch of execution; INT64_MIN: there is none. */
typedef struct last_chunk {
    int64_t begun, ended;
} last_chunk;

static void find_last_chunks(const roast_budget_work *work, last_chunk *lasts) {
    for (size_t i = 0; i < work->busy.count; i++)
        lasts[i] = (last_chunk){INT64_MIN, INT64_MIN};
    for (uint64_t i = 0; i < work->task_count; i++) {
        const roast_budget_task *task = &work->tasks[i];
        const roast_stretch *during = roast_stretches_last(&work->busy, task->start);
        if (during == NULL || task->start > during->to)
            continue;
        last_chunk *last = &lasts[during - work->busy.list];
        last->begun = task->start > last->begun ? task->start : last->begun;
        last->ended = task->stop > last->ended ? task->stop : last->ended;
    }
}

/* An executor of this machine queues all pieces of work at once. So a thread without a chunk is idle after the last
 * one has begun, and waits for the client after the last one has ended. Without any chunk nothing is known. */
static roast_status use_last_chunks(roast_budget_work *work, const last_chunk *lasts) {
    for (size_t i = 0; i < work->busy.count; i++) {
        const roast_stretch *during = &work->busy.list[i];
        int64_t ended = lasts[i].ended < during->to ? lasts[i].ended : during->to;
        if (lasts[i].begun == INT64_MIN) {
            ROAST_TRY(roast_stretches_add(&work->blind, during->from, during->to));
            continue;
        }
        ROAST_TRY(roast_stretches_add(&work->tails, lasts[i].begun, ended));
        if (work->has_phases)
            ROAST_TRY(roast_stretches_add(&work->client, ended, during->to));
    }
    return ROAST_OK;
}

static roast_status look_at_chunks(roast_budget_work *work) {
    last_chunk *lasts = roast_alloc((work->busy.count + 1) * sizeof *lasts);
    if (lasts == NULL)
        return ROAST_ENOMEM;
    find_last_chunks(work, lasts);
    roast_status status = use_last_chunks(work, lasts);
    roast_free(lasts);
    return status;
}

roast_status roast_budget_settle_phases(roast_budget_work *work) {
    roast_stretches engine = {0};
    roast_stretches_join(&work->busy);
    roast_status status = find_client(work, &engine);
    roast_stretches_reset(&engine);
    /* Threads that are free while other tasks are there do not wait for preprocessing. */
    for (size_t i = 0; i < work->preprocessing.count && status == ROAST_OK; i++)
        status = roast_stretches_rest(&work->busy, work->preprocessing.list[i].from,
                                      work->preprocessing.list[i].to, &work->waiting);
    if (status == ROAST_OK && !work->sees_idle)
        status = look_at_chunks(work);
    roast_stretches_join(&work->client);
    roast_stretches_join(&work->waiting);
    roast_stretches_join(&work->tails);
    roast_stretches_join(&work->blind);
    return status;
}
