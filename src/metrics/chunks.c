/* Distributions of the chunks, and sums by dataset: one pass over the chunk log. */
#include "metrics/formulas.h"

static void add_events(roast_chunk_totals *totals, int64_t events) {
    if (totals->events.count == 0 || events < totals->min_events)
        totals->min_events = events;
    if (totals->events.count == 0 || events > totals->max_events)
        totals->max_events = events;
    totals->total_events = roast_add_capped(totals->total_events, events);
    roast_stats_add(&totals->events, (double)events);
}

static roast_status add_numbers(roast_chunk_totals *totals, const roast_chunk *chunk) {
    bool timed = roast_chunk_has(chunk, ROAST_CHUNK_HAS(duration_ns));
    bool counted = roast_chunk_has(chunk, ROAST_CHUNK_HAS(num_events));
    bool weighed = roast_chunk_has(chunk, ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after));
    double seconds = (double)chunk->duration_ns / 1e9, events = (double)chunk->num_events;
    double bytes = (double)chunk->rss_after - (double)chunk->rss_before;
    if (timed) {
        roast_stats_add(&totals->duration, seconds);
        ROAST_TRY(roast_quantiles_add(totals->durations, seconds, NULL));
    }
    if (counted)
        add_events(totals, chunk->num_events);
    if (weighed)
        roast_stats_add(&totals->memory_mb, bytes / 1e6);
    if (timed && counted)
        roast_line_add(&totals->line, events, seconds);
    if (counted && events > 0) {
        if (timed)
            roast_stats_add(&totals->time_per_event, (double)chunk->duration_ns / 1e3 / events);
        if (weighed)
            roast_stats_add(&totals->memory_per_event, bytes / events);
    }
    return ROAST_OK;
}

static void add_to_dataset(roast_dataset_total *dataset, const roast_chunk *chunk) {
    dataset->chunks++;
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(duration_ns)))
        roast_known_sum_add(&dataset->duration_ns, chunk->duration_ns);
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(num_events)))
        roast_known_sum_add(&dataset->events, chunk->num_events);
}

roast_status roast_chunk_totals_add(roast_chunk_totals *totals, const roast_chunk *chunk) {
    uint32_t id;
    if (chunk->error_type.data != NULL) {
        totals->failed++;
        return ROAST_OK;
    }
    totals->good++;
    ROAST_TRY(add_numbers(totals, chunk));
    if (chunk->dataset.data == NULL) {
        add_to_dataset(&totals->unknown, chunk);
        return ROAST_OK;
    }
    ROAST_TRY(roast_groups_find_ref(&totals->datasets, chunk->packed.dataset, chunk->dataset, &id));
    add_to_dataset(roast_groups_item(&totals->datasets, id), chunk);
    return ROAST_OK;
}

/* ---- the end ---- */

static void put_stats(roast_metrics *metrics, const roast_stats *stats, uint32_t mean, uint32_t min,
                      uint32_t max) {
    bool known = stats->count > 0;
    roast_put(metrics, mean, roast_value_real_if(known, stats->mean));
    roast_put(metrics, min, roast_value_real_if(known, stats->min));
    roast_put(metrics, max, roast_value_real_if(known, stats->max));
}

static void put_durations(roast_metrics *metrics, roast_chunk_totals *totals) {
    bool known = totals->duration.count > 0;
    roast_quantiles *durations = totals->durations;
    put_stats(metrics, &totals->duration, ROAST_M_chunk_duration_mean, ROAST_M_chunk_duration_min,
              ROAST_M_chunk_duration_max);
    roast_put(metrics, ROAST_M_chunk_duration_std,
              roast_value_real_if(known, roast_stats_std(&totals->duration)));
    roast_put(metrics, ROAST_M_chunk_duration_p50,
              roast_value_real_if(known, roast_quantiles_get(durations, 0.50)));
    roast_put(metrics, ROAST_M_chunk_duration_p95,
              roast_value_real_if(known, roast_quantiles_get(durations, 0.95)));
    roast_put(metrics, ROAST_M_chunk_duration_p99,
              roast_value_real_if(known, roast_quantiles_get(durations, 0.99)));
}

static void put_memory(roast_metrics *metrics, const roast_chunk_totals *totals) {
    put_stats(metrics, &totals->memory_mb, ROAST_M_chunk_mem_delta_mean_mb,
              ROAST_M_chunk_mem_delta_min_mb, ROAST_M_chunk_mem_delta_max_mb);
    roast_put(
        metrics, ROAST_M_chunk_mem_delta_std_mb,
        roast_value_real_if(totals->memory_mb.count > 0, roast_stats_std(&totals->memory_mb)));
    put_stats(metrics, &totals->memory_per_event, ROAST_M_memory_per_event_bytes_mean,
              ROAST_M_memory_per_event_bytes_min, ROAST_M_memory_per_event_bytes_max);
}

static void put_events(roast_metrics *metrics, const roast_chunk_totals *totals) {
    if (totals->events.count > 0) {
        roast_put(metrics, ROAST_M_total_events_from_chunks, roast_value_int(totals->total_events));
        roast_put(metrics, ROAST_M_chunk_events_mean, roast_value_real(totals->events.mean));
        roast_put(metrics, ROAST_M_chunk_events_min, roast_value_int(totals->min_events));
        roast_put(metrics, ROAST_M_chunk_events_max, roast_value_int(totals->max_events));
    }
    put_stats(metrics, &totals->time_per_event, ROAST_M_time_per_event_us_mean,
              ROAST_M_time_per_event_us_min, ROAST_M_time_per_event_us_max);
    double intercept = 0, slope = 0, r = 0;
    bool fitted = roast_line_fit(&totals->line, &intercept, &slope);
    bool correlated = roast_line_correlation(&totals->line, &r);
    roast_put(metrics, ROAST_M_runtime_events_correlation, roast_value_real_if(correlated, r));
    roast_put(metrics, ROAST_M_chunk_fixed_cost_s, roast_value_real_if(fitted, intercept));
    roast_put(metrics, ROAST_M_chunk_cost_per_event_us, roast_value_real_if(fitted, slope * 1e6));
}

static roast_dataset_row dataset_row(const roast_dataset_total *from) {
    double timed = (double)from->duration_ns.known, counted = (double)from->events.known;
    double seconds = timed > 0 ? (double)from->duration_ns.total / 1e9 : NAN;
    double events = counted > 0 ? (double)from->events.total : NAN;
    return (roast_dataset_row){
        .num_chunks = from->chunks,
        .total_duration = seconds,
        .total_events = from->events.total,
        .mean_duration = seconds / timed,
        .mean_events_per_chunk = events / counted,
    };
}

static roast_status put_datasets(roast_metrics *metrics, const roast_chunk_totals *totals) {
    uint32_t named = roast_groups_count(&totals->datasets);
    bool unknown = totals->unknown.chunks > 0;
    roast_dataset_row *rows =
        roast_metrics_make_rows(metrics, ROAST_ROWS_per_dataset, (size_t)named + unknown);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < named; id++) {
        rows[id] = dataset_row(roast_groups_item(&totals->datasets, id));
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(&totals->datasets, id),
                                  &rows[id].name));
    }
    if (unknown)
        rows[named] = dataset_row(&totals->unknown);
    return ROAST_OK;
}

roast_status roast_chunk_totals_finish(roast_chunk_totals *totals, roast_metrics *metrics) {
    if (totals->good + totals->failed == 0)
        return ROAST_OK;
    roast_put(metrics, ROAST_M_num_successful_chunks, roast_value_int((int64_t)totals->good));
    roast_put(metrics, ROAST_M_num_failed_chunks, roast_value_int((int64_t)totals->failed));
    put_durations(metrics, totals);
    put_memory(metrics, totals);
    put_events(metrics, totals);
    return put_datasets(metrics, totals);
}
