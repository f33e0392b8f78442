/* When a worker was there, and with how many threads. */
#include <math.h>
#include <stdlib.h>

#include "analyse/budget/internal.h"

static int64_t to_us(roast_utc when) {
    return when.ns / 1000;
}

uint32_t roast_budget_worker_of(roast_budget_work *work, roast_str name) {
    uint32_t id;
    roast_intern *names = &work->budget->tables[ROAST_BY_worker].rows.names;
    return name.data != NULL && names->count > 0 && roast_intern_find(names, name, &id)
               ? id
               : ROAST_NONE;
}

static roast_status add_life(roast_budget_work *work, uint32_t worker, int64_t from, int64_t to,
                             int32_t threads) {
    from = from < work->from ? work->from : from;
    to = to > work->to ? work->to : to;
    if (threads <= 0 || from >= to)
        return ROAST_OK;
    void *lives = work->lives;
    ROAST_TRY(roast_array_reserve(&lives, &work->lives_capacity, sizeof *work->lives,
                                  work->life_count + 1));
    work->lives = lives;
    work->lives[work->life_count++] = (roast_budget_life){worker, from, to, threads};
    return ROAST_OK;
}

/* The samples of a worker, for one without a recorded join and leave. */
typedef struct seen {
    int64_t first, last; /* NO_TIME: never */
    int32_t threads;     /* the most; 0: not known */
} seen;

static seen look_at_samples(const roast_series *series, uint32_t worker) {
    seen out = {ROAST_NO_TIME, ROAST_NO_TIME, 0};
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        double cores = sample.value[ROAST_COLUMN_cores];
        if (out.first == ROAST_NO_TIME)
            out.first = to_us(sample.when);
        out.last = to_us(sample.when);
        if (cores > out.threads && cores < INT32_MAX)
            out.threads = (int32_t)cores;
    }
    return out;
}

/* The state of one worker during the walk over joins and leaves. */
typedef struct presence {
    int64_t since; /* NO_TIME: it is not there */
    int32_t threads;
    bool told; /* it is known to have joined or left */
} presence;

static roast_status take_change(roast_budget_work *work, const roast_worker_change *change,
                                presence *worker) {
    int64_t when = to_us(change->when);
    roast_status status = ROAST_OK;
    if (change->kind == ROAST_WORKER_JOINED) {
        /* Joined twice: with a new number of threads. */
        if (worker->since != ROAST_NO_TIME)
            status = add_life(work, change->worker, worker->since, when, worker->threads);
        worker->since = when;
        if (change->threads > 0)
            worker->threads = change->threads;
    } else {
        int64_t since = worker->since != ROAST_NO_TIME ? worker->since : work->from;
        if (worker->since != ROAST_NO_TIME || !worker->told)
            status = add_life(work, change->worker, since, when, worker->threads);
        worker->since = ROAST_NO_TIME;
    }
    worker->told = true;
    return status;
}

static roast_status find_lives(roast_budget_work *work, const roast_series *series,
                               presence *workers) {
    uint32_t count = roast_series_worker_count(series);
    for (uint32_t i = 0; i < count; i++)
        workers[i] = (presence){ROAST_NO_TIME, 0, false};
    /* A join without the threads: the samples have them. */
    for (uint64_t i = 0; i < roast_series_change_count(series); i++) {
        roast_worker_change change = roast_series_change_at(series, i);
        presence *worker = &workers[change.worker];
        if (change.threads == 0 && worker->threads == 0)
            worker->threads = look_at_samples(series, change.worker).threads;
        ROAST_TRY(take_change(work, &change, worker));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (workers[i].since != ROAST_NO_TIME) {
            ROAST_TRY(add_life(work, i, workers[i].since, work->to, workers[i].threads));
        } else if (!workers[i].told) {
            seen samples = look_at_samples(series, i);
            if (samples.first != ROAST_NO_TIME)
                ROAST_TRY(add_life(work, i, samples.first, samples.last, samples.threads));
        }
    }
    return ROAST_OK;
}

static int by_worker_and_time(const void *a, const void *b) {
    const roast_budget_life *x = a, *y = b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static roast_status name_workers(roast_budget_work *work, const roast_series *series) {
    roast_budget_table *tables = work->budget->tables;
    for (uint32_t i = 0; i < roast_series_worker_count(series); i++) {
        uint32_t id;
        roast_str host = roast_series_worker_host(series, i);
        roast_budget_worker worker = {.host = ROAST_NONE, .first_sent = INT64_MAX};
        ROAST_TRY(roast_groups_find(&tables[ROAST_BY_worker].rows,
                                    roast_series_worker_name(series, i), &id));
        if (host.data != NULL)
            ROAST_TRY(roast_groups_find(&tables[ROAST_BY_host].rows, host, &worker.host));
        work->workers[id] = worker;
    }
    return ROAST_OK;
}

roast_status roast_budget_find_lives(roast_budget_work *work) {
    const roast_series *series = roast_run_series_view(work->run);
    size_t count = roast_series_worker_count(series);
    presence *there = roast_alloc((count + 1) * sizeof *there);
    if (there == NULL)
        return ROAST_ENOMEM;
    roast_status status = find_lives(work, series, there);
    roast_free(there);
    return status;
}

roast_status roast_budget_find_workers(roast_budget_work *work) {
    const roast_series *series = roast_run_series_view(work->run);
    uint32_t count = roast_series_worker_count(series);
    void *workers = NULL;
    ROAST_TRY(roast_array_reserve(&workers, &work->workers_capacity, sizeof *work->workers,
                                  (size_t)count + 1));
    work->workers = workers;
    ROAST_TRY(name_workers(work, series));
    ROAST_TRY(roast_budget_find_lives(work));
    if (work->life_count > 0)
        qsort(work->lives, work->life_count, sizeof *work->lives, by_worker_and_time);
    for (size_t i = 0; i < work->life_count; i++) {
        roast_budget_worker *worker = &work->workers[work->lives[i].worker];
        if (worker->lives++ == 0)
            worker->first_life = (uint32_t)i;
    }
    return ROAST_OK;
}
