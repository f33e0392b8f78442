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

roast_status roast_metrics_table(roast_metrics *metrics, size_t count, size_t size, void **rows) {
    if (count > SIZE_MAX / 8 / size)
        return ROAST_ENOMEM;
    *rows = roast_arena_alloc(&metrics->arena, count * size);
    return *rows != NULL ? ROAST_OK : ROAST_ENOMEM;
}

/* ---- the chunks, walked once ---- */

/* What takes in the chunks; NULL: not wanted. */
typedef struct consumers {
    roast_chunk_totals *chunks;
    roast_quality_totals *quality;
    roast_file_totals *files;
    roast_branch_totals *branches;
    roast_chunk_visitor visit; /* of somebody else */
    void *context;
} consumers;

static roast_status begin_chunks(consumers *c, const roast_run *run, bool want_chunks,
                                 bool want_files) {
    if (want_chunks) {
        ROAST_TRY(roast_chunk_totals_new(&c->chunks));
        ROAST_TRY(roast_quality_totals_new(&c->quality));
    }
    if (want_files) {
        ROAST_TRY(roast_file_totals_new(run, &c->files));
        ROAST_TRY(roast_branch_totals_new(&c->branches));
    }
    return ROAST_OK;
}

static roast_status walk_chunks(const roast_chunklog *log, const consumers *c) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        if (c->chunks != NULL) {
            ROAST_TRY(roast_chunk_totals_add(c->chunks, log, &chunk));
            roast_quality_totals_add(c->quality, &chunk);
        }
        if (c->files != NULL) {
            ROAST_TRY(roast_file_totals_add(c->files, log, &chunk));
            ROAST_TRY(roast_branch_totals_add(c->branches, log, &chunk));
        }
        if (c->visit != NULL)
            ROAST_TRY(c->visit(c->context, log, &chunk));
    }
    return ROAST_OK;
}

static roast_status end_chunks(const consumers *c, const roast_run *run, roast_metrics *metrics) {
    if (c->chunks != NULL) {
        if (roast_run_sections_view(run) != NULL)
            ROAST_TRY(roast_chunk_totals_add_sections(c->chunks, roast_run_sections_view(run)));
        ROAST_TRY(roast_chunk_totals_finish(c->chunks, metrics));
        roast_quality_totals_finish(c->quality, run, metrics);
    }
    if (c->files != NULL) {
        ROAST_TRY(roast_file_totals_finish(c->files, metrics));
        ROAST_TRY(roast_branch_totals_finish(c->branches, metrics));
    }
    return ROAST_OK;
}

static roast_status from_chunks(roast_metrics *metrics, const roast_run *run, consumers *c,
                                bool want_chunks, bool want_files, roast_error *err) {
    roast_status status = begin_chunks(c, run, want_chunks, want_files);
    if (status == ROAST_OK)
        status = walk_chunks(roast_run_chunks_view(run), c);
    if (status == ROAST_OK)
        status = end_chunks(c, run, metrics);
    roast_chunk_totals_free(c->chunks);
    roast_quality_totals_free(c->quality);
    roast_file_totals_free(c->files);
    roast_branch_totals_free(c->branches);
    if (status == ROAST_ENOMEM)
        return roast_metrics_no_memory(err);
    if (status != ROAST_OK)
        return roast_error_set(err, status, "metrics", -1, "the chunks cannot be summed up: %s",
                               roast_status_text(status));
    return ROAST_OK;
}

roast_status roast_metrics_chunks(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    consumers c = {0};
    return from_chunks(metrics, run, &c, true, false, err);
}

roast_status roast_metrics_files(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    consumers c = {0};
    return from_chunks(metrics, run, &c, false, true, err);
}

/* ---- all ---- */

static roast_status compute_all(roast_metrics *metrics, const roast_run *run, consumers *c,
                                roast_error *err) {
    ROAST_TRY(roast_metrics_workflow(metrics, run, err));
    ROAST_TRY(roast_metrics_workers(metrics, run, err));
    ROAST_TRY(roast_metrics_fine(metrics, run, err));
    ROAST_TRY(from_chunks(metrics, run, c, true, true, err));
    metrics->is_current = true;
    return roast_metrics_efficiency(metrics, err);
}

roast_status roast_metrics_compute(const roast_run *run, roast_metrics **out, roast_error *err) {
    return roast_metrics_compute_beside(run, NULL, NULL, out, err);
}

roast_status roast_metrics_compute_beside(const roast_run *run, roast_chunk_visitor visit,
                                          void *context, roast_metrics **out, roast_error *err) {
    roast_metrics *metrics = NULL;
    consumers c = {.visit = visit, .context = context};
    ROAST_TRY(roast_metrics_new(&metrics, err));
    roast_status status = compute_all(metrics, run, &c, err);
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
