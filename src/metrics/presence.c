/* Workers and cores from joins and leaves alone, for an engine whose workers are not sampled: exact, from the beginning
 * of the run to its end. */
#include <stdlib.h>

#include "metrics/formulas.h"

/* A worker during the walk over joins and leaves. */
typedef struct presence {
    double since; /* NaN: it is not there */
    int32_t threads;
    bool told; /* it is known to have joined or left */
} presence;

typedef struct step {
    double when;
    int change; /* of the number of workers */
} step;

typedef struct presences {
    presence *workers;
    step *steps;
    size_t step_count;
    double from, to; /* of the run */
    double worker_seconds, core_seconds;
    bool cores_known; /* of every worker that was there */
} presences;

static void add_life(presences *all, const presence *worker, double from, double to) {
    from = from < all->from ? all->from : from;
    to = to > all->to ? all->to : to;
    if (!(from < to))
        return;
    all->worker_seconds += to - from;
    all->core_seconds += (to - from) * worker->threads;
    all->cores_known = all->cores_known && worker->threads > 0;
    all->steps[all->step_count++] = (step){from, 1};
    all->steps[all->step_count++] = (step){to, -1};
}

static void take_change(presences *all, const roast_worker_change *change) {
    presence *worker = &all->workers[change->worker];
    double when = (double)change->when.ns / 1e9;
    bool there = !isnan(worker->since), joined = change->kind == ROAST_WORKER_JOINED;
    if (there)
        add_life(all, worker, worker->since, when);
    else if (!joined && !worker->told)
        add_life(all, worker, all->from, when);
    worker->since = joined ? when : (double)NAN;
    if (joined && change->threads > 0)
        worker->threads = change->threads;
    worker->told = true;
}

/* At one moment leaves come first: a worker that joins again with other threads is one worker. */
static int by_time(const void *a, const void *b) {
    const step *x = a, *y = b;
    if (x->when < y->when || x->when > y->when)
        return x->when < y->when ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

static int64_t find_peak(presences *all) {
    int64_t now = 0, peak = 0;
    qsort(all->steps, all->step_count, sizeof *all->steps, by_time);
    for (size_t i = 0; i < all->step_count; i++) {
        now += all->steps[i].change;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static void walk(presences *all, const roast_series *series) {
    uint32_t workers = roast_series_worker_count(series);
    for (uint32_t i = 0; i < workers; i++)
        all->workers[i].since = NAN;
    for (uint64_t i = 0; i < roast_series_change_count(series); i++) {
        roast_worker_change change = roast_series_change_at(series, i);
        take_change(all, &change);
    }
    for (uint32_t i = 0; i < workers; i++)
        if (!isnan(all->workers[i].since))
            add_life(all, &all->workers[i], all->workers[i].since, all->to);
}

static roast_status put_rows(roast_metrics *metrics, const roast_series *series,
                             const presences *all) {
    uint32_t count = roast_series_worker_count(series);
    roast_worker_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_worker_health, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        int32_t threads = all->workers[i].threads;
        rows[i] = (roast_worker_row){.threads = roast_value_real_if(threads > 0, threads)};
        ROAST_TRY(
            roast_arena_str(&metrics->arena, roast_series_worker_name(series, i), &rows[i].name));
        ROAST_TRY(
            roast_arena_str(&metrics->arena, roast_series_worker_host(series, i), &rows[i].host));
    }
    return ROAST_OK;
}

static void put_values(roast_metrics *metrics, presences *all, uint32_t workers) {
    double seconds = all->to - all->from;
    bool cores = all->cores_known && all->worker_seconds > 0;
    roast_put(metrics, ROAST_M_workers_seen, roast_value_int(workers));
    roast_put(metrics, ROAST_M_avg_workers, roast_value_real(all->worker_seconds / seconds));
    roast_put(metrics, ROAST_M_peak_workers, roast_value_int(find_peak(all)));
    roast_put(metrics, ROAST_M_cores_per_worker,
              roast_value_real_if(cores, all->core_seconds / all->worker_seconds));
    roast_put(metrics, ROAST_M_total_cores,
              roast_value_real_if(cores, all->core_seconds / seconds));
}

roast_status roast_metrics_presence(roast_metrics *metrics, const roast_run *run,
                                    const roast_series *series, roast_error *err) {
    roast_run_clock clock = roast_run_get_clock(run);
    uint32_t workers = roast_series_worker_count(series);
    uint64_t changes = roast_series_change_count(series);
    if (changes == 0 || !clock.have || !(clock.end > clock.start))
        return ROAST_OK;
    /* A change ends one life at most, and each worker may have one more, until the end. */
    presences all = {.workers = roast_alloc_zero((size_t)workers * sizeof *all.workers),
                     .steps = roast_alloc(2 * ((size_t)changes + workers) * sizeof *all.steps),
                     .from = clock.start,
                     .to = clock.end,
                     .cores_known = true};
    roast_status status = ROAST_ENOMEM;
    if (all.workers != NULL && all.steps != NULL) {
        walk(&all, series);
        status = put_rows(metrics, series, &all);
        put_values(metrics, &all, workers);
    }
    roast_free(all.workers);
    roast_free(all.steps);
    return status == ROAST_OK ? ROAST_OK : roast_metrics_no_memory(err);
}
