/* What the cluster had and used: from the samples of its workers. */
#include <math.h>

#include "metrics/formulas.h"

/* A figure of all workers: the mean over time of each, then the plain mean over workers; and the
 * extremes of all samples. */
typedef struct figure {
    roast_time_average over_time; /* of the worker at hand */
    roast_stats workers;
    double min, max;
    bool seen;
} figure;

/* A value that was there from one moment to another. */
static void add_value(figure *all, double from, double to, double value) {
    if (isnan(value))
        return;
    if (!all->seen || value < all->min)
        all->min = value;
    if (!all->seen || value > all->max)
        all->max = value;
    all->seen = true;
    roast_average_add(&all->over_time, from, value);
    if (to > from)
        roast_average_add(&all->over_time, to, value);
}

static void end_worker(figure *all) {
    if (all->over_time.count > 0)
        roast_stats_add(&all->workers, roast_time_average_get(&all->over_time));
    all->over_time = (roast_time_average){0};
}

static roast_value figure_mean(const figure *all) {
    return all->seen ? roast_value_real(all->workers.mean) : roast_value_none();
}

static roast_value figure_bound(const figure *all, double bound) {
    return all->seen ? roast_value_real(bound) : roast_value_none();
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

typedef struct worker_figures {
    figure memory, memory_share, cpu_share;
    roast_stats cores; /* one value a worker: the mean of its samples */
} worker_figures;

/* Samples that have the same values, one after the other. On a large cluster a worker tells its own less
 * often than it is looked at, so most samples are such. */
typedef struct stretch {
    double from, to; /* s */
    uint64_t samples;
    const double *value; /* a column each */
} stretch;

static void add_stretch(worker_figures *figures, roast_stats *cores, roast_health *health,
                        const stretch *s) {
    double memory = s->value[ROAST_COLUMN_memory], limit = s->value[ROAST_COLUMN_memory_limit];
    double threads = s->value[ROAST_COLUMN_cores];
    roast_health_add(health, s->value, s->samples);
    add_value(&figures->memory, s->from, s->to, memory);
    if (limit > 0)
        add_value(&figures->memory_share, s->from, s->to, memory / limit * 100);
    if (threads > 0)
        add_value(&figures->cpu_share, s->from, s->to, s->value[ROAST_COLUMN_cpu] / threads);
    if (!isnan(threads))
        roast_stats_add_often(cores, threads, s->samples);
}

enum {
    LOOKED_AT = 1 << ROAST_COLUMN_memory | 1 << ROAST_COLUMN_memory_limit |
                1 << ROAST_COLUMN_cores | 1 << ROAST_COLUMN_cpu | 1 << ROAST_COLUMN_spilled_bytes
};

/* One walk over the worker's samples for all that is told of it. */
static roast_worker_row add_worker(worker_figures *figures, const roast_series *series,
                                   uint32_t worker) {
    roast_utc start = roast_series_tick_time(series, 0);
    roast_series_cursor cursor;
    roast_utc when;
    roast_stats cores = {0};
    roast_health health;
    roast_health_begin(&health);
    roast_series_cursor_init_for(&cursor, series, worker, LOOKED_AT);
    while (roast_series_cursor_step(&cursor, &when)) {
        stretch same = {.from = seconds_since(start, when), .value = cursor.value};
        roast_utc last = when;
        same.samples = 1 + roast_series_cursor_skip_same(&cursor, &last);
        same.to = seconds_since(start, last);
        add_stretch(figures, &cores, &health, &same);
    }
    end_worker(&figures->memory);
    end_worker(&figures->memory_share);
    end_worker(&figures->cpu_share);
    if (cores.count > 0)
        roast_stats_add(&figures->cores, cores.mean);
    return roast_health_row(&health);
}

roast_status roast_metrics_workers(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    const roast_series *series = roast_run_series_view(run);
    if (roast_series_tick_count(series) == 0)
        return ROAST_OK;
    const roast_series *counts = roast_run_counts_view(run);
    /* A tick between two counts would bend the trapezoids. */
    count_workers(metrics, counts != NULL ? counts : series);

    worker_figures figures = {0};
    uint32_t workers = roast_series_worker_count(series);
    void *table = NULL;
    if (workers > 0 &&
        roast_metrics_table(metrics, workers, sizeof(roast_worker_row), &table) != ROAST_OK)
        return roast_metrics_no_memory(err);
    roast_worker_row *rows = table;
    for (uint32_t worker = 0; worker < workers; worker++)
        rows[worker] = add_worker(&figures, series, worker);
    roast_value cores =
        figures.cores.count > 0 ? roast_value_real(figures.cores.mean) : roast_value_none();
    roast_put(metrics, ROAST_M_cores_per_worker, cores);
    roast_put(metrics, ROAST_M_total_cores,
              roast_value_product(metrics->values[ROAST_M_avg_workers], cores));

    const figure *memory = &figures.memory, *share = &figures.memory_share;
    const figure *cpu = &figures.cpu_share;
    roast_put(metrics, ROAST_M_peak_memory_bytes,
              memory->seen ? roast_value_rounded(memory->max) : roast_value_none());
    roast_put(metrics, ROAST_M_avg_memory_per_worker_bytes, figure_mean(memory));
    roast_put(metrics, ROAST_M_memory_utilization_avg_pct, figure_mean(share));
    roast_put(metrics, ROAST_M_memory_utilization_min_pct, figure_bound(share, share->min));
    roast_put(metrics, ROAST_M_memory_utilization_max_pct, figure_bound(share, share->max));
    roast_put(metrics, ROAST_M_cpu_utilization_avg_pct, figure_mean(cpu));
    roast_put(metrics, ROAST_M_cpu_utilization_min_pct, figure_bound(cpu, cpu->min));
    roast_put(metrics, ROAST_M_cpu_utilization_max_pct, figure_bound(cpu, cpu->max));
    return workers > 0 ? roast_worker_health(metrics, series, rows, err) : ROAST_OK;
}
