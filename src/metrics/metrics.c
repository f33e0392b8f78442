#include "metrics/formulas.h"

#include <math.h>

/* ---- values ---- */

roast_value roast_value_none(void) {
    return (roast_value){ROAST_VALUE_NONE, 0, 0};
}

roast_value roast_value_int(int64_t integer) {
    return (roast_value){ROAST_VALUE_INT, integer, (double)integer};
}

roast_value roast_value_real(double real) {
    return (roast_value){ROAST_VALUE_REAL, 0, real};
}

double roast_value_number(roast_value value) {
    switch (value.kind) {
    case ROAST_VALUE_INT:
        return (double)value.integer;
    case ROAST_VALUE_REAL:
        return value.real;
    case ROAST_VALUE_NONE:
        break;
    }
    return NAN;
}

roast_value roast_value_ratio(roast_value part, roast_value whole, double times, double unit) {
    if (part.kind == ROAST_VALUE_NONE || whole.kind == ROAST_VALUE_NONE)
        return roast_value_none();
    return roast_value_real(
        roast_ratio(roast_value_number(part) * times, roast_value_number(whole)) / unit);
}

roast_value roast_value_product(roast_value a, roast_value b) {
    if (a.kind == ROAST_VALUE_NONE || b.kind == ROAST_VALUE_NONE)
        return roast_value_none();
    return roast_value_real(roast_value_number(a) * roast_value_number(b));
}

roast_value roast_value_rounded(double value) {
    if (isnan(value))
        return roast_value_none();
    if (value >= 0x1p63)
        return roast_value_int(INT64_MAX);
    if (value < -0x1p63)
        return roast_value_int(INT64_MIN);
    return roast_value_int((int64_t)nearbyint(value));
}

/* ---- life ---- */

roast_status roast_metrics_no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "metrics", -1, "no memory for the metrics of a run");
}

roast_status roast_metrics_new(roast_metrics **out, roast_error *err) {
    roast_metrics *metrics = roast_alloc_zero(sizeof *metrics);
    if (metrics == NULL)
        return roast_metrics_no_memory(err);
    *out = metrics;
    return ROAST_OK;
}

void roast_metrics_free(roast_metrics *metrics) {
    if (metrics == NULL)
        return;
    roast_arena_reset(&metrics->arena);
    roast_free(metrics);
}

/* ---- the chunks, walked once ---- */

typedef struct chunk_walk {
    roast_chunk_totals chunks;
    roast_section_totals sections;
    roast_quality_totals quality;
    roast_file_totals files;
    roast_branch_totals branches;
    roast_storage_totals storages;
} chunk_walk;

static roast_status begin_walk(chunk_walk *walk, const roast_run *run) {
    walk->chunks.datasets = ROAST_GROUPS(roast_dataset_total);
    walk->branches.branches = ROAST_GROUPS(roast_branch_total);
    roast_section_totals_init(&walk->sections);
    roast_storage_totals_init(&walk->storages);
    ROAST_TRY(roast_quantiles_new(&walk->chunks.durations, NULL));
    return roast_file_totals_init(&walk->files, run);
}

static roast_status take_chunk(chunk_walk *walk, const roast_chunklog *log,
                               const roast_chunk *chunk) {
    ROAST_TRY(roast_chunk_totals_add(&walk->chunks, chunk));
    if (chunk->error_type.data == NULL)
        ROAST_TRY(roast_section_totals_add(&walk->sections, log, chunk));
    roast_quality_totals_add(&walk->quality, chunk);
    ROAST_TRY(roast_file_totals_add(&walk->files, chunk));
    ROAST_TRY(roast_branch_totals_add(&walk->branches, log, chunk));
    return roast_storage_totals_add(&walk->storages, chunk, &walk->branches.here);
}

static roast_status walk_chunks(chunk_walk *walk, const roast_run *run) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    ROAST_TRY(begin_walk(walk, run));
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        ROAST_TRY(take_chunk(walk, log, &chunk));
    return roast_section_totals_add_all(&walk->sections, roast_run_sections_view(run));
}

static roast_status put_chunks(chunk_walk *walk, const roast_run *run, roast_metrics *metrics) {
    ROAST_TRY(roast_section_totals_finish(&walk->sections, metrics));
    ROAST_TRY(roast_chunk_totals_finish(&walk->chunks, metrics));
    roast_quality_totals_finish(&walk->quality, run, metrics);
    return ROAST_OK;
}

static roast_status put_files(chunk_walk *walk, roast_metrics *metrics) {
    ROAST_TRY(roast_file_totals_finish(&walk->files, metrics));
    ROAST_TRY(roast_branch_totals_finish(&walk->branches, metrics));
    return roast_storage_totals_finish(&walk->storages, metrics);
}

static void reset_walk(chunk_walk *walk) {
    roast_quantiles_free(walk->chunks.durations);
    roast_groups_reset(&walk->chunks.datasets);
    roast_groups_reset(&walk->branches.branches);
    roast_section_totals_reset(&walk->sections);
    roast_file_totals_reset(&walk->files);
    roast_storage_totals_reset(&walk->storages);
}

static roast_status from_chunks(roast_metrics *metrics, const roast_run *run, bool chunks,
                                bool files, roast_error *err) {
    chunk_walk walk = {0};
    roast_status status = walk_chunks(&walk, run);
    if (status == ROAST_OK && chunks)
        status = put_chunks(&walk, run, metrics);
    if (status == ROAST_OK && files)
        status = put_files(&walk, metrics);
    reset_walk(&walk);
    if (status == ROAST_ENOMEM)
        return roast_metrics_no_memory(err);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "metrics", -1, "the chunks cannot be summed up: %s",
                               roast_status_text(status));
    return ROAST_OK;
}

roast_status roast_metrics_chunks(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    return from_chunks(metrics, run, true, false, err);
}

roast_status roast_metrics_files(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    return from_chunks(metrics, run, false, true, err);
}

/* ---- all ---- */

static roast_status compute_all(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    ROAST_TRY(roast_metrics_workflow(metrics, run, err));
    ROAST_TRY(roast_metrics_workers(metrics, run, err));
    ROAST_TRY(roast_metrics_fine(metrics, run, err));
    ROAST_TRY(roast_metrics_tasks(metrics, run, err));
    ROAST_TRY(from_chunks(metrics, run, true, true, err));
    metrics->is_current = true;
    return roast_metrics_efficiency(metrics, err);
}

roast_status roast_metrics_compute(const roast_run *run, roast_metrics **out, roast_error *err) {
    roast_metrics *metrics = NULL;
    ROAST_TRY(roast_metrics_new(&metrics, err));
    roast_status status = compute_all(metrics, run, err);
    if (status != ROAST_OK) {
        roast_metrics_free(metrics);
        return status;
    }
    *out = metrics;
    return ROAST_OK;
}

/* ---- access ---- */

roast_value roast_metrics_at(const roast_metrics *metrics, uint32_t index) {
    return index < ROAST_M_COUNT ? metrics->values[index] : roast_value_none();
}

roast_value roast_metrics_get(const roast_metrics *metrics, const char *key) {
    uint32_t index;
    if (roast_catalogue_find(key, &index) == NULL)
        return roast_value_none();
    return roast_metrics_at(metrics, index);
}

roast_status roast_metrics_set(roast_metrics *metrics, const char *key, roast_value value,
                               roast_error *err) {
    uint32_t index;
    if (roast_catalogue_find(key, &index) == NULL)
        return roast_error_set(err, ROAST_ENOTFOUND, "metrics", -1, "no metric is called '%s'",
                               key != NULL ? key : "");
    if (!roast_catalogue_is_scalar(index))
        return roast_error_set(err, ROAST_EINVAL, "metrics", -1, "'%s' is not a number of a run",
                               key);
    if (value.kind == ROAST_VALUE_REAL && isnan(value.real))
        value = roast_value_none();
    metrics->values[index] = value;
    return ROAST_OK;
}
