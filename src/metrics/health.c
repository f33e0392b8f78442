/* How each worker fared: its memory against its limit, what it spilled, how busy it was. */
#include <math.h>
#include <stdlib.h>

#include "metrics/formulas.h"

void roast_health_begin(roast_health *figures) {
    *figures =
        (roast_health){.peak_memory = NAN, .limit = NAN, .peak_percent = NAN, .peak_spilled = NAN};
}

static roast_value real_or_none(double value) {
    return isnan(value) ? roast_value_none() : roast_value_real(value);
}

static roast_value mean_or_none(const roast_stats *stats) {
    return stats->count > 0 ? roast_value_real(stats->mean) : roast_value_none();
}

roast_worker_row roast_health_row(const roast_health *figures) {
    return (roast_worker_row){
        .samples = figures->samples,
        .threads = mean_or_none(&figures->threads),
        .peak_memory_bytes = roast_value_rounded(figures->peak_memory),
        .memory_limit_bytes = roast_value_rounded(figures->limit),
        .peak_memory_percent = real_or_none(figures->peak_percent),
        .peak_spilled_bytes = roast_value_rounded(figures->peak_spilled),
        .mean_cpu_percent = mean_or_none(&figures->cpu),
    };
}

static int larger_first(roast_value a, roast_value b) {
    double x = a.kind != ROAST_VALUE_NONE ? roast_value_number(a) : -1;
    double y = b.kind != ROAST_VALUE_NONE ? roast_value_number(b) : -1;
    return (x < y) - (x > y);
}

static int fullest_first(const void *left, const void *right) {
    const roast_worker_row *a = left, *b = right;
    int order = larger_first(a->peak_memory_percent, b->peak_memory_percent);
    if (order == 0)
        order = larger_first(a->peak_memory_bytes, b->peak_memory_bytes);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static void put_totals(roast_metrics *metrics, const roast_worker_row *rows, uint32_t count) {
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
    roast_put(metrics, ROAST_M_workers_seen, roast_value_int(count));
    if (known) {
        roast_put(metrics, ROAST_M_workers_spilled, roast_value_int(spilled));
        roast_put(metrics, ROAST_M_peak_spilled_bytes, roast_value_int(peak));
    }
}

roast_status roast_worker_health(roast_metrics *metrics, const roast_series *series,
                                 roast_worker_row *rows, roast_error *err) {
    uint32_t count = roast_series_worker_count(series);
    for (uint32_t worker = 0; worker < count; worker++)
        if (roast_arena_str(&metrics->arena, roast_series_worker_name(series, worker),
                            &rows[worker].name) != ROAST_OK ||
            roast_arena_str(&metrics->arena, roast_series_worker_host(series, worker),
                            &rows[worker].host) != ROAST_OK)
            return roast_metrics_no_memory(err);
    qsort(rows, count, sizeof *rows, fullest_first);
    metrics->workers = rows;
    metrics->n_workers = count;
    put_totals(metrics, rows, count);
    return ROAST_OK;
}
