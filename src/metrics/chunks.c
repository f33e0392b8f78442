/* How the chunks were distributed, and what a dataset cost: one pass over the chunk log. */
#include <math.h>

#include "metrics/formulas.h"
#include "metrics/names.h"

typedef struct dataset {
    uint64_t chunks, with_duration, with_events;
    int64_t duration_ns, events;
} dataset;

struct roast_chunk_totals {
    uint64_t good, failed;
    roast_stats duration, memory_mb, events, time_per_event, memory_per_event;
    int64_t total_events, min_events, max_events;
    roast_line line; /* duration over events */
    roast_quantiles *durations;
    roast_names names;
    dataset *datasets; /* by the number of the name + 1; the first one has no name */
    size_t datasets_capacity;
    roast_section_totals *sections;
};

roast_status roast_chunk_totals_new(roast_chunk_totals **out) {
    roast_chunk_totals *totals = roast_alloc_zero(sizeof *totals);
    if (totals == NULL)
        return ROAST_ENOMEM;
    roast_status status = roast_quantiles_new(&totals->durations, NULL);
    if (status == ROAST_OK)
        status = roast_section_totals_new(&totals->sections);
    void *datasets = NULL;
    if (status == ROAST_OK)
        status =
            roast_array_reserve(&datasets, &totals->datasets_capacity, sizeof *totals->datasets, 1);
    if (status != ROAST_OK) {
        roast_chunk_totals_free(totals);
        return status;
    }
    totals->datasets = datasets;
    totals->datasets[0] = (dataset){0};
    *out = totals;
    return ROAST_OK;
}

void roast_chunk_totals_free(roast_chunk_totals *totals) {
    if (totals == NULL)
        return;
    roast_quantiles_free(totals->durations);
    roast_section_totals_free(totals->sections);
    roast_names_reset(&totals->names);
    roast_free(totals->datasets);
    roast_free(totals);
}

/* ---- one chunk ---- */

static roast_status find_dataset(roast_chunk_totals *totals, const roast_chunk *chunk,
                                 dataset **out) {
    roast_str name = chunk->dataset;
    if (name.data == NULL) {
        *out = &totals->datasets[0];
        return ROAST_OK;
    }
    uint32_t known = roast_names_count(&totals->names), id;
    /* Room first: a name that has a number must have a place. */
    void *datasets = totals->datasets;
    ROAST_TRY(roast_array_reserve(&datasets, &totals->datasets_capacity, sizeof *totals->datasets,
                                  (size_t)known + 2));
    totals->datasets = datasets;
    ROAST_TRY(roast_names_id_in(&totals->names, chunk->packed.context, name, &id));
    if (id == known)
        totals->datasets[id + 1] = (dataset){0};
    *out = &totals->datasets[id + 1];
    return ROAST_OK;
}

static bool has(const roast_chunk *chunk, uint64_t fields) {
    return (chunk->have & fields) == fields;
}

static void add_events(roast_chunk_totals *totals, int64_t events) {
    if (totals->events.count == 0 || events < totals->min_events)
        totals->min_events = events;
    if (totals->events.count == 0 || events > totals->max_events)
        totals->max_events = events;
    totals->total_events = roast_add_i64(totals->total_events, events);
    roast_stats_add(&totals->events, (double)events);
}

static roast_status add_numbers(roast_chunk_totals *totals, const roast_chunk *chunk) {
    bool timed = has(chunk, ROAST_CHUNK_HAS(duration_ns));
    bool counted = has(chunk, ROAST_CHUNK_HAS(num_events));
    bool weighed = has(chunk, ROAST_CHUNK_HAS(rss_before) | ROAST_CHUNK_HAS(rss_after));
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

static roast_status add_to_dataset(roast_chunk_totals *totals, const roast_chunk *chunk) {
    dataset *row;
    ROAST_TRY(find_dataset(totals, chunk, &row));
    row->chunks++;
    if (has(chunk, ROAST_CHUNK_HAS(duration_ns))) {
        row->with_duration++;
        row->duration_ns = roast_add_i64(row->duration_ns, chunk->duration_ns);
    }
    if (has(chunk, ROAST_CHUNK_HAS(num_events))) {
        row->with_events++;
        row->events = roast_add_i64(row->events, chunk->num_events);
    }
    return ROAST_OK;
}

roast_status roast_chunk_totals_add(roast_chunk_totals *totals, const roast_chunklog *log,
                                    const roast_chunk *chunk) {
    if (chunk->error_type.data != NULL) {
        totals->failed++;
        return ROAST_OK;
    }
    totals->good++;
    ROAST_TRY(add_numbers(totals, chunk));
    ROAST_TRY(add_to_dataset(totals, chunk));
    return roast_section_totals_add(totals->sections, log, chunk);
}

/* ---- the end ---- */

static roast_value real_if(bool known, double value) {
    return known ? roast_value_real(value) : roast_value_none();
}

static void put_stats(roast_metrics *metrics, const roast_stats *stats, uint32_t mean, uint32_t min,
                      uint32_t max) {
    bool known = stats->count > 0;
    roast_put(metrics, mean, real_if(known, stats->mean));
    roast_put(metrics, min, real_if(known, stats->min));
    roast_put(metrics, max, real_if(known, stats->max));
}

static void put_durations(roast_metrics *metrics, roast_chunk_totals *totals) {
    bool known = totals->duration.count > 0;
    roast_quantiles *durations = totals->durations;
    put_stats(metrics, &totals->duration, ROAST_M_chunk_duration_mean, ROAST_M_chunk_duration_min,
              ROAST_M_chunk_duration_max);
    roast_put(metrics, ROAST_M_chunk_duration_std,
              real_if(known, roast_stats_std(&totals->duration)));
    roast_put(metrics, ROAST_M_chunk_duration_p50,
              real_if(known, roast_quantiles_get(durations, 0.50)));
    roast_put(metrics, ROAST_M_chunk_duration_p95,
              real_if(known, roast_quantiles_get(durations, 0.95)));
    roast_put(metrics, ROAST_M_chunk_duration_p99,
              real_if(known, roast_quantiles_get(durations, 0.99)));
}

static void put_memory(roast_metrics *metrics, const roast_chunk_totals *totals) {
    put_stats(metrics, &totals->memory_mb, ROAST_M_chunk_mem_delta_mean_mb,
              ROAST_M_chunk_mem_delta_min_mb, ROAST_M_chunk_mem_delta_max_mb);
    roast_put(metrics, ROAST_M_chunk_mem_delta_std_mb,
              real_if(totals->memory_mb.count > 0, roast_stats_std(&totals->memory_mb)));
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
    roast_put(metrics, ROAST_M_runtime_events_correlation, real_if(correlated, r));
    roast_put(metrics, ROAST_M_chunk_fixed_cost_s, real_if(fitted, intercept));
    roast_put(metrics, ROAST_M_chunk_cost_per_event_us, real_if(fitted, slope * 1e6));
}

static roast_dataset_row dataset_row(roast_str name, const dataset *from) {
    double seconds = from->with_duration > 0 ? (double)from->duration_ns / 1e9 : NAN;
    double events = from->with_events > 0 ? (double)from->events : NAN;
    return (roast_dataset_row){
        .name = name,
        .num_chunks = from->chunks,
        .total_duration = seconds,
        .total_events = from->events,
        .mean_duration = seconds / (double)from->with_duration,
        .mean_events_per_chunk = events / (double)from->with_events,
    };
}

static roast_status put_datasets(roast_metrics *metrics, const roast_chunk_totals *totals) {
    uint32_t named = roast_names_count(&totals->names), count = 0;
    void *memory;
    ROAST_TRY(roast_metrics_table(metrics, (size_t)named + 1, sizeof(roast_dataset_row), &memory));
    roast_dataset_row *rows = memory;
    for (uint32_t id = 0; id < named; id++) {
        roast_str name;
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_names_get(&totals->names, id), &name));
        rows[count++] = dataset_row(name, &totals->datasets[id + 1]);
    }
    if (totals->datasets[0].chunks > 0)
        rows[count++] = dataset_row((roast_str){0}, &totals->datasets[0]);
    metrics->datasets = rows;
    metrics->n_datasets = count;
    return ROAST_OK;
}

roast_status roast_chunk_totals_add_sections(roast_chunk_totals *totals,
                                             const roast_chunklog *beside) {
    roast_chunk_cursor cursor;
    roast_chunk record;
    roast_chunk_cursor_init(&cursor, beside);
    while (roast_chunk_cursor_next(&cursor, &record))
        ROAST_TRY(roast_section_totals_add(totals->sections, beside, &record));
    return ROAST_OK;
}

roast_status roast_chunk_totals_finish(roast_chunk_totals *totals, roast_metrics *metrics) {
    ROAST_TRY(roast_section_totals_finish(totals->sections, metrics));
    if (totals->good + totals->failed == 0)
        return ROAST_OK;
    roast_put(metrics, ROAST_M_num_successful_chunks, roast_value_int((int64_t)totals->good));
    roast_put(metrics, ROAST_M_num_failed_chunks, roast_value_int((int64_t)totals->failed));
    put_durations(metrics, totals);
    put_memory(metrics, totals);
    put_events(metrics, totals);
    return put_datasets(metrics, totals);
}
