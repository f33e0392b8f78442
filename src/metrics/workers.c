/* Resources and their use, in all and by worker, from the samples of the workers. */
#include <stdlib.h>

#include "metrics/formulas.h"

/* A figure of all workers: the mean over time of each, then the plain mean over workers; and the
 * extremes of all samples. */
typedef struct figure {
    roast_time_average over_time; /* of the worker at hand */
    roast_stats workers;
    double min, max;
    bool seen;
} figure;

static void add_value(figure *all, double time, double value) {
    if (isnan(value))
        return;
    if (!all->seen || value < all->min)
        all->min = value;
    if (!all->seen || value > all->max)
        all->max = value;
    all->seen = true;
    roast_time_average_add(&all->over_time, time, value);
}

static void end_worker(figure *all) {
    if (all->over_time.count > 0)
        roast_stats_add(&all->workers, roast_time_average_get(&all->over_time));
    all->over_time = (roast_time_average){0};
}

static void put_figure(roast_metrics *metrics, const figure *all, uint32_t mean, uint32_t min,
                       uint32_t max) {
    roast_put(metrics, mean, roast_value_real_if(all->seen, all->workers.mean));
    roast_put(metrics, min, roast_value_real_if(all->seen, all->min));
    roast_put(metrics, max, roast_value_real_if(all->seen, all->max));
}

typedef struct plain_mean {
    double sum;
    uint64_t count;
} plain_mean;

static void add_to_mean(plain_mean *mean, double value) {
    mean->sum += value;
    mean->count++;
}

static double mean_of(const plain_mean *mean) {
    return mean->sum / (double)mean->count;
}

/* Differences of the whole numbers: seconds since 1970 as doubles would lose the nanoseconds. */
static double seconds_since(roast_utc start, roast_utc when) {
    if (when.ns < start.ns)
        return -(double)((uint64_t)start.ns - (uint64_t)when.ns) / 1e9;
    return (double)((uint64_t)when.ns - (uint64_t)start.ns) / 1e9;
}

static void count_workers(roast_metrics *metrics, const roast_series *series) {
    roast_time_average over_time = {0};
    roast_stats plain = {0};
    uint64_t ticks = roast_series_tick_count(series);
    if (ticks == 0)
        return;
    roast_utc start = roast_series_tick_time(series, 0);
    for (uint64_t tick = 0; tick < ticks; tick++) {
        double workers = roast_series_tick_workers(series, tick);
        roast_time_average_add(&over_time,
                               seconds_since(start, roast_series_tick_time(series, tick)), workers);
        roast_stats_add(&plain, workers);
    }
    roast_put(metrics, ROAST_M_avg_workers, roast_value_real(roast_time_average_get(&over_time)));
    roast_put(metrics, ROAST_M_mean_workers, roast_value_real(plain.mean));
    roast_put(metrics, ROAST_M_peak_workers, roast_value_int((int64_t)plain.max));
}

/* ---- one worker ---- */

typedef struct worker_figures {
    figure memory, memory_share, cpu_share;
    roast_stats cores; /* one value a worker: the mean of its samples */
} worker_figures;

/* One worker: the maximum of its samples, NaN if none has the value. */
typedef struct health {
    double peak_memory, limit, peak_percent, peak_spilled;
    plain_mean cpu, threads;
    uint64_t samples;
} health;

/* NaN is no value: fmax(), without a call for each sample. */
static void raise_to(double *peak, double value) {
    if (value > *peak || isnan(*peak))
        *peak = value;
}

static void add_sample(worker_figures *figures, plain_mean *cores, health *own, double time,
                       const double value[ROAST_COLUMNS]) {
    double memory = value[ROAST_COLUMN_memory], limit = value[ROAST_COLUMN_memory_limit];
    double threads = value[ROAST_COLUMN_cores], cpu = value[ROAST_COLUMN_cpu] / threads;
    own->samples++;
    raise_to(&own->peak_memory, memory);
    raise_to(&own->peak_spilled, value[ROAST_COLUMN_spilled_bytes]);
    add_value(&figures->memory, time, memory);
    if (limit > 0) {
        double percent = memory / limit * 100;
        raise_to(&own->limit, limit);
        raise_to(&own->peak_percent, percent);
        add_value(&figures->memory_share, time, percent);
    }
    if (!isnan(threads))
        add_to_mean(cores, threads);
    if (threads > 0) {
        add_to_mean(&own->threads, threads);
        add_value(&figures->cpu_share, time, cpu);
        if (!isnan(cpu))
            add_to_mean(&own->cpu, cpu);
    }
}

static roast_worker_row row_of(const health *own) {
    return (roast_worker_row){
        .samples = own->samples,
        .threads = roast_value_real_if(own->threads.count > 0, mean_of(&own->threads)),
        .peak_memory_bytes = roast_value_rounded(own->peak_memory),
        .memory_limit_bytes = roast_value_rounded(own->limit),
        .peak_memory_percent = roast_value_real_if(!isnan(own->peak_percent), own->peak_percent),
        .peak_spilled_bytes = roast_value_rounded(own->peak_spilled),
        .mean_cpu_percent = roast_value_real_if(own->cpu.count > 0, mean_of(&own->cpu)),
    };
}

static roast_worker_row add_worker(worker_figures *figures, const roast_series *series,
                                   uint32_t worker) {
    roast_utc start = roast_series_tick_time(series, 0);
    health own = {.peak_memory = NAN, .limit = NAN, .peak_percent = NAN, .peak_spilled = NAN};
    roast_series_cursor cursor;
    roast_sample sample;
    plain_mean cores = {0};
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample))
        add_sample(figures, &cores, &own, seconds_since(start, sample.when), sample.value);
    end_worker(&figures->memory);
    end_worker(&figures->memory_share);
    end_worker(&figures->cpu_share);
    if (cores.count > 0)
        roast_stats_add(&figures->cores, mean_of(&cores));
    return row_of(&own);
}

/* ---- all workers ---- */

static int fullest_first(const void *left, const void *right) {
    const roast_worker_row *a = left, *b = right;
    int order = roast_larger_first(a->peak_memory_percent, b->peak_memory_percent);
    if (order == 0)
        order = roast_larger_first(a->peak_memory_bytes, b->peak_memory_bytes);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static void put_spilled(roast_metrics *metrics, const roast_worker_row *rows, uint32_t count) {
    int64_t peak = 0, spilled = 0;
    bool known = false;
    for (uint32_t i = 0; i < count; i++) {
        roast_value own = rows[i].peak_spilled_bytes;
        if (own.kind == ROAST_VALUE_NONE)
            continue;
        known = true;
        spilled += own.integer > 0;
        peak = own.integer > peak ? own.integer : peak;
    }
    if (!known)
        return;
    roast_put(metrics, ROAST_M_workers_spilled, roast_value_int(spilled));
    roast_put(metrics, ROAST_M_peak_spilled_bytes, roast_value_int(peak));
}

static roast_status put_workers(roast_metrics *metrics, const roast_series *series,
                                worker_figures *figures) {
    uint32_t count = roast_series_worker_count(series);
    roast_worker_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_worker_health, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t worker = 0; worker < count; worker++) {
        rows[worker] = add_worker(figures, series, worker);
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_series_worker_name(series, worker),
                                  &rows[worker].name));
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_series_worker_host(series, worker),
                                  &rows[worker].host));
    }
    qsort(rows, count, sizeof *rows, fullest_first);
    if (count > 0)
        roast_put(metrics, ROAST_M_workers_seen, roast_value_int(count));
    put_spilled(metrics, rows, count);
    return ROAST_OK;
}

roast_status roast_metrics_workers(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    const roast_series *series = roast_run_series_view(run);
    if (roast_series_tick_count(series) == 0)
        return roast_metrics_presence(metrics, run, series, err);
    const roast_series *counts = roast_run_counts_view(run);
    /* A tick between two counts would bend the trapezoids. */
    count_workers(metrics, counts != NULL ? counts : series);
    worker_figures figures = {0};
    if (put_workers(metrics, series, &figures) != ROAST_OK)
        return roast_metrics_no_memory(err);
    roast_value cores = roast_value_real_if(figures.cores.count > 0, figures.cores.mean);
    roast_put(metrics, ROAST_M_cores_per_worker, cores);
    roast_put(metrics, ROAST_M_total_cores,
              roast_value_product(metrics->values[ROAST_M_avg_workers], cores));
    const figure *memory = &figures.memory;
    roast_put(metrics, ROAST_M_peak_memory_bytes,
              memory->seen ? roast_value_rounded(memory->max) : roast_value_none());
    roast_put(metrics, ROAST_M_avg_memory_per_worker_bytes,
              roast_value_real_if(memory->seen, memory->workers.mean));
    put_figure(metrics, &figures.memory_share, ROAST_M_memory_utilization_avg_pct,
               ROAST_M_memory_utilization_min_pct, ROAST_M_memory_utilization_max_pct);
    put_figure(metrics, &figures.cpu_share, ROAST_M_cpu_utilization_avg_pct,
               ROAST_M_cpu_utilization_min_pct, ROAST_M_cpu_utilization_max_pct);
    return ROAST_OK;
}
