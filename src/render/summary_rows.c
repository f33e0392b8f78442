/* The tables with a row for each dataset, section, branch or worker. */
#include "render/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "roast/render.h"

enum { TOP = 10, MOST_ROWS = 20 };

/* ---- helpers ---- */

roast_status roast_summary_begin_facts(roast_grid *grid, roast_error *err) {
    roast_grid_set_facts(grid, true);
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Metric"), ROAST_ALIGN_LEFT, err));
    return roast_grid_add_column(grid, roast_str_of("Value"), ROAST_ALIGN_NUMBER, err);
}

roast_status roast_summary_add_fact(roast_grid *grid, const char *label, const char *text,
                                    const roast_grid_value *values, uint32_t n_values,
                                    roast_error *err) {
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(label), NULL, 0, err));
    return roast_grid_add_cell(grid, roast_str_of(text), values, n_values, err);
}

roast_status roast_summary_add_value(roast_grid *grid, const char *key, roast_value value,
                                     const char *unit, roast_error *err) {
    char text[192];
    roast_format_value(value, unit, text, sizeof text);
    const roast_grid_value kept = {key, value, unit};
    return roast_grid_add_cell(grid, roast_str_of(text), &kept, 1, err);
}

roast_value roast_summary_real(double value) {
    return isnan(value) ? roast_value_none() : roast_value_real(value);
}

typedef struct heading {
    const char *text;
    roast_align align;
} heading;

static roast_status add_columns(roast_grid *grid, const heading *headings, size_t count,
                                roast_error *err) {
    for (size_t i = 0; i < count; i++)
        ROAST_TRY(
            roast_grid_add_column(grid, roast_str_of(headings[i].text), headings[i].align, err));
    return ROAST_OK;
}

#define ADD_COLUMNS(...)                                                                           \
    do {                                                                                           \
        static const heading headings[] = {__VA_ARGS__};                                           \
        ROAST_TRY(add_columns(grid, headings, sizeof headings / sizeof *headings, err));           \
    } while (0)

static roast_status add_name(roast_grid *grid, roast_str name, roast_error *err) {
    return roast_grid_add_cell(grid, name.data != NULL ? name : roast_str_of("unknown"), NULL, 0,
                               err);
}

static roast_status add_count(roast_grid *grid, const char *key, uint64_t count, roast_error *err) {
    int64_t value = count < INT64_MAX ? (int64_t)count : INT64_MAX;
    return roast_summary_add_value(grid, key, roast_value_int(value), "1", err);
}

/* part / whole in per cent; not measured where one of them is not, or there is no whole. */
static roast_value percent(roast_value part, roast_value whole) {
    double of = roast_value_number(whole), number = roast_value_number(part);
    return of > 0 && !isnan(number) ? roast_value_real(100 * number / of) : roast_value_none();
}

/* Says that there are more rows than are shown. */
static roast_status tell_the_rest(roast_grid *grid, uint32_t shown, uint32_t count,
                                  const char *what, const char *order, roast_error *err) {
    char text[160], of[48];
    if (shown >= count)
        return ROAST_OK;
    roast_format_value(roast_value_int(count), "1", of, sizeof of);
    snprintf(text, sizeof text, "%u of %s %s, %s", (unsigned)shown, of, what, order);
    return roast_grid_set_caption(grid, roast_str_of(text), err);
}

/* Room for the places of rows; the caller's, to be freed. */
static roast_status new_order(uint32_t count, const void ***out, roast_error *err) {
    const void **order = roast_alloc((count > 0 ? count : 1) * sizeof *order);
    if (order == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "summary", -1, "no memory to sort a table");
    *out = order;
    return ROAST_OK;
}

/* The places of the rows in the order that `compare` gives to pointers to rows. */
static roast_status sorted(const void *rows, uint32_t count, size_t size,
                           int (*compare)(const void *, const void *), const void ***out,
                           roast_error *err) {
    const void **order = NULL;
    ROAST_TRY(new_order(count, &order, err));
    for (uint32_t i = 0; i < count; i++)
        order[i] = (const char *)rows + i * size;
    qsort(order, count, sizeof *order, compare);
    *out = order;
    return ROAST_OK;
}

/* Larger first; NaN last. Rows that are alike stay in their order. */
static int compare_reals(double a, double b, const void *first, const void *second) {
    a = isnan(a) ? -INFINITY : a;
    b = isnan(b) ? -INFINITY : b;
    if (a != b)
        return a < b ? 1 : -1;
    return (first > second) - (first < second);
}

/* ---- datasets ---- */

static int longest_dataset_first(const void *left, const void *right) {
    const roast_dataset_row *a = *(const roast_dataset_row *const *)left;
    const roast_dataset_row *b = *(const roast_dataset_row *const *)right;
    return compare_reals(a->total_duration, b->total_duration, a, b);
}

static roast_status add_dataset(const roast_dataset_row *row, roast_value all, roast_grid *grid,
                                roast_error *err) {
    roast_value time = roast_summary_real(row->total_duration);
    ROAST_TRY(add_name(grid, row->name, err));
    ROAST_TRY(add_count(grid, "num_chunks", row->num_chunks, err));
    ROAST_TRY(roast_summary_add_value(grid, "total_events", roast_value_int(row->total_events), "1",
                                      err));
    ROAST_TRY(roast_summary_add_value(grid, "total_duration", time, "s", err));
    ROAST_TRY(roast_summary_add_value(grid, "duration_percent", percent(time, all), "%", err));
    return roast_summary_add_value(grid, "mean_duration", roast_summary_real(row->mean_duration),
                                   "s", err);
}

roast_status roast_summary_fill_datasets(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    uint32_t count;
    const roast_dataset_row *rows = roast_metrics_datasets(source->metrics, &count);
    roast_value all = roast_metrics_get(source->metrics, "chunk_seconds");
    const void **order = NULL;
    ADD_COLUMNS({"Dataset", ROAST_ALIGN_NAME}, {"Chunks", ROAST_ALIGN_NUMBER},
                {"Events", ROAST_ALIGN_NUMBER}, {"Time", ROAST_ALIGN_NUMBER},
                {"Share", ROAST_ALIGN_NUMBER}, {"per Chunk", ROAST_ALIGN_NUMBER});
    if (count < 2) /* the table of chunks says it all */
        return ROAST_OK;
    ROAST_TRY(sorted(rows, count, sizeof *rows, longest_dataset_first, &order, err));
    uint32_t shown = count < MOST_ROWS ? count : MOST_ROWS;
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < shown; i++)
        status = add_dataset(order[i], all, grid, err);
    roast_free(order);
    ROAST_TRY(status);
    return tell_the_rest(grid, shown, count, "datasets", "longest time in process() first", err);
}

/* ---- sections ---- */

static int dearest_section_first(const void *left, const void *right) {
    const roast_section_row *a = *(const roast_section_row *const *)left;
    const roast_section_row *b = *(const roast_section_row *const *)right;
    switch (a->kind) {
    case ROAST_SECTION_TIME:
        return compare_reals(a->total_duration, b->total_duration, a, b);
    case ROAST_SECTION_MEMORY:
        return compare_reals(a->max_mem_delta_mb, b->max_mem_delta_mb, a, b);
    case ROAST_SECTION_BYTES:
    case ROAST_SECTION_KINDS:
        break;
    }
    return compare_reals((double)a->total_bytes, (double)b->total_bytes, a, b);
}

static roast_status add_section(const roast_section_row *row, roast_value all, roast_grid *grid,
                                roast_error *err) {
    roast_value own = roast_summary_real(row->self_duration);
    ROAST_TRY(add_name(grid, row->name, err));
    ROAST_TRY(add_count(grid, "count", row->count, err));
    switch (row->kind) {
    case ROAST_SECTION_TIME:
        ROAST_TRY(roast_summary_add_value(grid, "total_duration",
                                          roast_summary_real(row->total_duration), "s", err));
        ROAST_TRY(roast_summary_add_value(grid, "self_duration", own, "s", err));
        /* One that was recorded beside the chunks is no part of process(). */
        if (row->self_duration > roast_value_number(all))
            all = roast_value_none();
        ROAST_TRY(roast_summary_add_value(grid, "self_percent", percent(own, all), "%", err));
        return roast_summary_add_value(grid, "mean_duration",
                                       roast_summary_real(row->mean_duration), "s", err);
    case ROAST_SECTION_MEMORY:
        ROAST_TRY(roast_summary_add_value(grid, "mean_mem_delta_mb",
                                          roast_summary_real(row->mean_mem_delta_mb), "MB", err));
        ROAST_TRY(roast_summary_add_value(grid, "min_mem_delta_mb",
                                          roast_summary_real(row->min_mem_delta_mb), "MB", err));
        return roast_summary_add_value(grid, "max_mem_delta_mb",
                                       roast_summary_real(row->max_mem_delta_mb), "MB", err);
    case ROAST_SECTION_BYTES:
    case ROAST_SECTION_KINDS:
        break;
    }
    roast_value bytes = roast_value_int(row->total_bytes);
    ROAST_TRY(roast_summary_add_value(grid, "total_bytes", bytes, "bytes", err));
    double uses = row->count > 0 ? (double)row->count : 1;
    return roast_summary_add_value(grid, "mean_bytes",
                                   roast_value_real((double)row->total_bytes / uses), "bytes", err);
}

static roast_status add_sections(const roast_summary_source *source, roast_section_kind kind,
                                 roast_grid *grid, roast_error *err) {
    uint32_t all, count = 0, shown = 0;
    const roast_section_row *rows = roast_metrics_sections(source->metrics, &all);
    roast_value seconds = roast_metrics_get(source->metrics, "chunk_seconds");
    const void **order = NULL;
    ROAST_TRY(new_order(all, &order, err));
    for (uint32_t i = 0; i < all; i++)
        if (rows[i].kind == kind)
            order[count++] = &rows[i];
    qsort(order, count, sizeof *order, dearest_section_first);
    roast_status status = ROAST_OK;
    for (; status == ROAST_OK && shown < count && shown < MOST_ROWS; shown++)
        status = add_section(order[shown], seconds, grid, err);
    roast_free(order);
    ROAST_TRY(status);
    return tell_the_rest(grid, shown, count, "sections", "the most expensive first", err);
}

roast_status roast_summary_fill_time_sections(const roast_summary_source *source, roast_grid *grid,
                                              roast_error *err) {
    ADD_COLUMNS({"Section", ROAST_ALIGN_NAME}, {"Uses", ROAST_ALIGN_NUMBER},
                {"Total", ROAST_ALIGN_NUMBER}, {"Self", ROAST_ALIGN_NUMBER},
                {"Self of process()", ROAST_ALIGN_NUMBER}, {"per Use", ROAST_ALIGN_NUMBER});
    return add_sections(source, ROAST_SECTION_TIME, grid, err);
}

roast_status roast_summary_fill_memory_sections(const roast_summary_source *source,
                                                roast_grid *grid, roast_error *err) {
    ADD_COLUMNS({"Section", ROAST_ALIGN_NAME}, {"Uses", ROAST_ALIGN_NUMBER},
                {"Mean Change", ROAST_ALIGN_NUMBER}, {"Least", ROAST_ALIGN_NUMBER},
                {"Most", ROAST_ALIGN_NUMBER});
    return add_sections(source, ROAST_SECTION_MEMORY, grid, err);
}

roast_status roast_summary_fill_bytes_sections(const roast_summary_source *source, roast_grid *grid,
                                               roast_error *err) {
    ADD_COLUMNS({"Section", ROAST_ALIGN_NAME}, {"Uses", ROAST_ALIGN_NUMBER},
                {"Total", ROAST_ALIGN_NUMBER}, {"per Use", ROAST_ALIGN_NUMBER});
    return add_sections(source, ROAST_SECTION_BYTES, grid, err);
}

/* ---- branches ---- */

static int slowest_branch_first(const void *left, const void *right) {
    const roast_branch_row *a = *(const roast_branch_row *const *)left;
    const roast_branch_row *b = *(const roast_branch_row *const *)right;
    return compare_reals(roast_value_number(a->seconds), roast_value_number(b->seconds), a, b);
}

static int largest_branch_first(const void *left, const void *right) {
    const roast_branch_row *a = *(const roast_branch_row *const *)left;
    const roast_branch_row *b = *(const roast_branch_row *const *)right;
    return compare_reals(roast_value_number(a->bytes), roast_value_number(b->bytes), a, b);
}

static roast_status add_branch(const roast_metrics *metrics, const roast_branch_row *row,
                               roast_grid *grid, roast_error *err) {
    roast_value bytes = roast_metrics_get(metrics, "branch_read_bytes");
    roast_value seconds = roast_metrics_get(metrics, "branch_read_seconds");
    roast_value chunks = roast_metrics_get(metrics, "chunks_with_reads");
    ROAST_TRY(add_name(grid, row->name, err));
    ROAST_TRY(roast_summary_add_value(grid, "bytes", row->bytes, "bytes", err));
    ROAST_TRY(roast_summary_add_value(grid, "bytes_percent", percent(row->bytes, bytes), "%", err));
    ROAST_TRY(roast_summary_add_value(grid, "seconds", row->seconds, "s", err));
    ROAST_TRY(
        roast_summary_add_value(grid, "seconds_percent", percent(row->seconds, seconds), "%", err));
    ROAST_TRY(roast_summary_add_value(grid, "count", row->count, "1", err));
    roast_value in = roast_value_int((int64_t)row->num_chunks);
    return roast_summary_add_value(grid, "chunks_percent", percent(in, chunks), "%", err);
}

static roast_status add_branches(const roast_summary_source *source, roast_grid *grid, bool wanted,
                                 int (*compare)(const void *, const void *), const char *how,
                                 roast_error *err) {
    uint32_t count;
    const roast_branch_row *rows = roast_metrics_branches(source->metrics, &count);
    const void **order = NULL;
    ADD_COLUMNS({"Branch", ROAST_ALIGN_NAME}, {"Bytes", ROAST_ALIGN_NUMBER},
                {"Share", ROAST_ALIGN_NUMBER}, {"Time", ROAST_ALIGN_NUMBER},
                {"Share", ROAST_ALIGN_NUMBER}, {"Reads", ROAST_ALIGN_NUMBER},
                {"of Chunks", ROAST_ALIGN_NUMBER});
    if (!wanted || count == 0)
        return ROAST_OK;
    ROAST_TRY(sorted(rows, count, sizeof *rows, compare, &order, err));
    uint32_t shown = count < TOP ? count : TOP;
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < shown; i++)
        status = add_branch(source->metrics, order[i], grid, err);
    roast_free(order);
    ROAST_TRY(status);
    return tell_the_rest(grid, shown, count, "branches", how, err);
}

static bool is_known(const roast_summary_source *source, const char *key) {
    return roast_metrics_get(source->metrics, key).kind != ROAST_VALUE_NONE;
}

roast_status roast_summary_fill_branches_by_bytes(const roast_summary_source *source,
                                                  roast_grid *grid, roast_error *err) {
    return add_branches(source, grid, is_known(source, "branch_read_bytes"), largest_branch_first,
                        "most bytes first", err);
}

/* Where all branches stand in the table before there is nothing more to say. */
roast_status roast_summary_fill_branches_by_time(const roast_summary_source *source,
                                                 roast_grid *grid, roast_error *err) {
    uint32_t count;
    roast_metrics_branches(source->metrics, &count);
    bool wanted = is_known(source, "branch_read_seconds") &&
                  (count > TOP || !is_known(source, "branch_read_bytes"));
    return add_branches(source, grid, wanted, slowest_branch_first, "most time first", err);
}

/* ---- workers ---- */

/* Memory against its limit, or results on disk: without one of them there is nothing to warn of. */
static bool tells_health(const roast_worker_row *row) {
    return row->peak_memory_percent.kind != ROAST_VALUE_NONE ||
           row->peak_spilled_bytes.kind != ROAST_VALUE_NONE;
}

roast_status roast_summary_fill_workers(const roast_summary_source *source, roast_grid *grid,
                                        roast_error *err) {
    uint32_t all, count = 0, shown = 0;
    const roast_worker_row *rows = roast_metrics_worker_rows(source->metrics, &all);
    ADD_COLUMNS({"Worker", ROAST_ALIGN_NAME}, {"Peak Memory", ROAST_ALIGN_NUMBER},
                {"Limit", ROAST_ALIGN_NUMBER}, {"of Limit", ROAST_ALIGN_NUMBER},
                {"Spilled", ROAST_ALIGN_NUMBER}, {"CPU", ROAST_ALIGN_NUMBER});
    for (uint32_t i = 0; i < all; i++) {
        const roast_worker_row *row = &rows[i];
        if (!tells_health(row) || ++count > TOP)
            continue;
        shown++;
        ROAST_TRY(add_name(grid, row->name, err));
        ROAST_TRY(roast_summary_add_value(grid, "peak_memory_bytes", row->peak_memory_bytes,
                                          "bytes", err));
        ROAST_TRY(roast_summary_add_value(grid, "memory_limit_bytes", row->memory_limit_bytes,
                                          "bytes", err));
        ROAST_TRY(roast_summary_add_value(grid, "peak_memory_percent", row->peak_memory_percent,
                                          "%", err));
        ROAST_TRY(roast_summary_add_value(grid, "peak_spilled_bytes", row->peak_spilled_bytes,
                                          "bytes", err));
        ROAST_TRY(
            roast_summary_add_value(grid, "mean_cpu_percent", row->mean_cpu_percent, "%", err));
    }
    return tell_the_rest(grid, shown, count, "workers", "the fullest first", err);
}
