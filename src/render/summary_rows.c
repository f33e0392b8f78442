/* The tables with a row for each dataset, section, branch, kind of task or worker. */
#include "render/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/grid_internal.h"
#include "roast/format.h"

enum { TOP = 10, MOST_ROWS = 20 };

/* ---- helpers ---- */

roast_status roast_summary_begin_facts(roast_grid *grid, roast_error *err) {
    roast_grid_set_facts(grid);
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Metric"), ROAST_ALIGN_LEFT, err));
    return roast_grid_add_column(grid, roast_str_of("Value"), ROAST_ALIGN_NUMBER, err);
}

const char *roast_summary_engine(const roast_run *about) {
    static const char *const engines[] = {"TaskVine", "Parsl"};
    roast_str name =
        about != NULL ? roast_run_meta(about, roast_str_of("engine")) : (roast_str){NULL, 0};
    for (size_t i = 0; name.data != NULL && i < sizeof engines / sizeof *engines; i++) {
        size_t len = strlen(engines[i]);
        if (name.len >= len && memcmp(name.data, engines[i], len) == 0)
            return engines[i];
    }
    return NULL;
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

roast_status roast_summary_add_in_column(roast_grid *grid, const char *key, roast_value value,
                                         const roast_format_column *column, roast_error *err) {
    char text[192];
    roast_format_in_column(column, value, text, sizeof text);
    const roast_grid_value kept = {key, value, column->unit};
    return roast_grid_add_cell(grid, roast_str_of(text), &kept, 1, err);
}

roast_value roast_summary_real(double value) {
    return isnan(value) ? roast_value_none() : roast_value_real(value);
}

/* ---- tables with one row for each thing ---- */

/* A column of numbers. */
typedef struct shown_column {
    const char *heading;
    const char *key; /* of the value, for programs */
    const char *unit;
    const char *part;  /* NULL: the value is the row's own; else it is computed from this one: */
    const char *whole; /* its share of this metric, in per cent; NULL: its mean over the uses */
} shown_column;

enum { MOST_COLUMNS = 6 };

typedef struct shown_table {
    roast_row_table_number number;
    const char *heading; /* of the names */
    const char *what;    /* the noun of the rows, in plural */
    const char *order;   /* in words */
    const char *sort;    /* the key to sort by, largest first; NULL: the rows stay in their order */
    uint32_t most;       /* rows that are shown */
    bool (*shows)(const void *row); /* NULL: all of them */
    shown_column columns[MOST_COLUMNS];
} shown_table;

/* The number of a row under a key of the catalogue. */
static roast_value row_value(roast_row_table_number number, const void *row, const char *key) {
    const roast_row_table *table = roast_row_table_at(number);
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i].key, key) == 0)
            return roast_table_row_value(&table->columns[i], row);
    return roast_value_none();
}

/* Not measured where one of the two is not, or the whole is 0. A part that exceeds the whole is none of it: a section
 * may have been recorded outside of the chunks. */
static roast_value percent(roast_value part, roast_value whole) {
    double of = roast_value_number(whole), number = roast_value_number(part);
    return of > 0 && number <= of * (1 + 1e-9) ? roast_value_real(100 * number / of)
                                               : roast_value_none();
}

static roast_value column_value(const roast_metrics *metrics, const shown_table *table,
                                const shown_column *column, const void *row) {
    if (column->part == NULL)
        return row_value(table->number, row, column->key);
    roast_value part = row_value(table->number, row, column->part);
    if (column->whole != NULL)
        return percent(part, roast_metrics_get(metrics, column->whole));
    double uses = roast_value_number(row_value(table->number, row, "count"));
    return roast_summary_real(roast_value_number(part) / (uses > 0 ? uses : 1));
}

static roast_status add_row(const roast_metrics *metrics, const shown_table *table, const void *row,
                            const roast_format_column *looks, roast_grid *grid, roast_error *err) {
    roast_str name = roast_table_row_name(row);
    ROAST_TRY(roast_grid_add_cell(grid, name.data != NULL ? name : roast_str_of("unknown"), NULL, 0,
                                  err));
    for (int i = 0; i < MOST_COLUMNS && table->columns[i].heading != NULL; i++)
        ROAST_TRY(roast_summary_add_in_column(grid, table->columns[i].key,
                                              column_value(metrics, table, &table->columns[i], row),
                                              &looks[i], err));
    return ROAST_OK;
}

/* A row and its sort keys. */
typedef struct sorted_row {
    const void *row;
    double value;
} sorted_row;

/* Larger first; not measured last. Equal rows keep their order. */
static int compare_rows(const void *left, const void *right) {
    const sorted_row *a = left, *b = right;
    double first = isnan(a->value) ? -INFINITY : a->value;
    double second = isnan(b->value) ? -INFINITY : b->value;
    if (first != second)
        return first < second ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The rows that are shown, and how many there are; the caller's, to be freed. */
static roast_status sort_rows(const roast_metrics *metrics, const shown_table *table,
                              sorted_row **out, uint32_t *count, roast_error *err) {
    uint32_t all;
    const void *rows = roast_row_table_rows(metrics, table->number, &all);
    sorted_row *sorted = roast_alloc(((size_t)all + 1) * sizeof *sorted);
    if (sorted == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "summary", -1, "no memory to sort a table");
    *count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const void *row = roast_table_row(roast_row_table_at(table->number), rows, i);
        if (table->shows != NULL && !table->shows(row))
            continue;
        double value = table->sort == NULL
                           ? 0
                           : roast_value_number(row_value(table->number, row, table->sort));
        sorted[(*count)++] = (sorted_row){row, value};
    }
    qsort(sorted, *count, sizeof *sorted, compare_rows);
    *out = sorted;
    return ROAST_OK;
}

/* Says that there are more rows than are shown. */
static roast_status tell_the_rest(const shown_table *table, uint32_t count, roast_grid *grid,
                                  roast_error *err) {
    char text[160], of[48];
    if (count <= table->most)
        return ROAST_OK;
    roast_format_value(roast_value_int(count), "1", of, sizeof of);
    snprintf(text, sizeof text, "%u of %s %s, %s", (unsigned)table->most, of, table->what,
             table->order);
    return roast_grid_set_caption(grid, roast_str_of(text), err);
}

static roast_status add_rows(const roast_metrics *metrics, const shown_table *table,
                             const sorted_row *rows, uint32_t count, roast_grid *grid,
                             roast_error *err) {
    roast_format_column looks[MOST_COLUMNS] = {{0}};
    for (int i = 0; i < MOST_COLUMNS && table->columns[i].heading != NULL; i++) {
        looks[i].unit = table->columns[i].unit;
        for (uint32_t row = 0; row < count; row++)
            roast_format_column_add(
                &looks[i], column_value(metrics, table, &table->columns[i], rows[row].row));
    }
    for (uint32_t row = 0; row < count; row++)
        ROAST_TRY(add_row(metrics, table, rows[row].row, looks, grid, err));
    return ROAST_OK;
}

/* Unless `wanted`, the table has columns but no rows. */
static roast_status fill(const roast_summary_source *source, const shown_table *table, bool wanted,
                         roast_grid *grid, roast_error *err) {
    sorted_row *rows = NULL;
    uint32_t count = 0;
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of(table->heading), ROAST_ALIGN_NAME, err));
    for (int i = 0; i < MOST_COLUMNS && table->columns[i].heading != NULL; i++)
        ROAST_TRY(roast_grid_add_column(grid, roast_str_of(table->columns[i].heading),
                                        ROAST_ALIGN_NUMBER, err));
    if (!wanted)
        return ROAST_OK;
    ROAST_TRY(sort_rows(source->metrics, table, &rows, &count, err));
    roast_status status = add_rows(source->metrics, table, rows,
                                   count < table->most ? count : table->most, grid, err);
    roast_free(rows);
    return status == ROAST_OK ? tell_the_rest(table, count, grid, err) : status;
}

/* ---- datasets ---- */

roast_status roast_summary_fill_datasets(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    static const shown_table table = {
        .number = ROAST_ROWS_per_dataset,
        .heading = "Dataset",
        .what = "datasets",
        .order = "longest time in process() first",
        .sort = "total_duration",
        .most = MOST_ROWS,
        .columns = {{"Chunks", "num_chunks", "1"},
                    {"Events", "total_events", "1"},
                    {"Time", "total_duration", "s"},
                    {"Share", "duration_percent", "%", "total_duration", "chunk_seconds"},
                    {"per Chunk", "mean_duration", "s"}},
    };
    uint32_t count;
    roast_row_table_rows(source->metrics, table.number, &count);
    /* With a single dataset, the table of chunks has the same numbers. */
    return fill(source, &table, count > 1, grid, err);
}

/* ---- storages ---- */

roast_status roast_summary_fill_storages(const roast_summary_source *source, roast_grid *grid,
                                         roast_error *err) {
    static const shown_table table = {
        .number = ROAST_ROWS_per_storage,
        .heading = "Storage",
        .what = "storages",
        .order = "longest wait for reads first",
        .sort = "waiting_seconds",
        .most = MOST_ROWS,
        .columns = {{"Files", "num_files", "1"},
                    {"Read", "bytes_read", "bytes"},
                    {"Requests", "read_requests", "1"},
                    {"Rate", "read_rate", "bytes/s"},
                    {"Waiting", "waiting_seconds", "s"},
                    {"of process()", "waiting_percent", "%"}},
    };
    uint32_t count;
    const roast_storage_row *rows = roast_row_table_rows(source->metrics, table.number, &count);
    /* Paths alone are no storage that could be told from another. */
    bool local = count == 1 &&
                 (rows->name.data == NULL || roast_str_equal(rows->name, roast_str_of("file")));
    return fill(source, &table, count > 0 && !local, grid, err);
}

/* ---- sections ---- */

static bool is_time(const void *row) {
    return ((const roast_section_row *)row)->kind == ROAST_SECTION_TIME;
}

static bool is_memory(const void *row) {
    return ((const roast_section_row *)row)->kind == ROAST_SECTION_MEMORY;
}

static bool is_bytes(const void *row) {
    return ((const roast_section_row *)row)->kind == ROAST_SECTION_BYTES;
}

#define SECTIONS                                                                                   \
    .number = ROAST_ROWS_sections, .heading = "Section", .what = "sections",                       \
    .order = "the most expensive first", .most = MOST_ROWS

roast_status roast_summary_fill_time_sections(const roast_summary_source *source, roast_grid *grid,
                                              roast_error *err) {
    static const shown_table table = {
        SECTIONS,
        .sort = "total_duration",
        .shows = is_time,
        .columns = {{"Uses", "count", "1"},
                    {"Total", "total_duration", "s"},
                    {"Self", "self_duration", "s"},
                    {"Self of process()", "self_percent", "%", "self_duration", "chunk_seconds"},
                    {"per Use", "mean_duration", "s"}},
    };
    return fill(source, &table, true, grid, err);
}

roast_status roast_summary_fill_memory_sections(const roast_summary_source *source,
                                                roast_grid *grid, roast_error *err) {
    static const shown_table table = {
        SECTIONS,
        .sort = "max_mem_delta_mb",
        .shows = is_memory,
        .columns = {{"Uses", "count", "1"},
                    {"Mean Change", "mean_mem_delta_mb", "MB"},
                    {"Least", "min_mem_delta_mb", "MB"},
                    {"Most", "max_mem_delta_mb", "MB"}},
    };
    return fill(source, &table, true, grid, err);
}

roast_status roast_summary_fill_bytes_sections(const roast_summary_source *source, roast_grid *grid,
                                               roast_error *err) {
    static const shown_table table = {
        SECTIONS,
        .sort = "total_bytes",
        .shows = is_bytes,
        .columns = {{"Uses", "count", "1"},
                    {"Total", "total_bytes", "bytes"},
                    {"per Use", "mean_bytes", "bytes", "total_bytes"}},
    };
    return fill(source, &table, true, grid, err);
}

/* ---- branches ---- */

static bool is_known(const roast_summary_source *source, const char *key) {
    return roast_metrics_get(source->metrics, key).kind != ROAST_VALUE_NONE;
}

#define BRANCHES                                                                                   \
    .number = ROAST_ROWS_branch_read_metrics, .heading = "Branch", .what = "branches",             \
    .most = TOP,                                                                                   \
    .columns = {{"Bytes", "bytes", "bytes"},                                                       \
                {"Share", "bytes_percent", "%", "bytes", "branch_read_bytes"},                     \
                {"Time", "seconds", "s"},                                                          \
                {"Share", "seconds_percent", "%", "seconds", "branch_read_seconds"},               \
                {"Reads", "count", "1"},                                                           \
                {"of Chunks", "chunks_percent", "%", "num_chunks", "chunks_with_reads"}}

roast_status roast_summary_fill_branches_by_bytes(const roast_summary_source *source,
                                                  roast_grid *grid, roast_error *err) {
    static const shown_table table = {BRANCHES, .sort = "bytes", .order = "most bytes first"};
    return fill(source, &table, is_known(source, "branch_read_bytes"), grid, err);
}

/* Not shown where the table by bytes has all branches. */
roast_status roast_summary_fill_branches_by_time(const roast_summary_source *source,
                                                 roast_grid *grid, roast_error *err) {
    static const shown_table table = {BRANCHES, .sort = "seconds", .order = "most time first"};
    uint32_t count;
    roast_row_table_rows(source->metrics, table.number, &count);
    bool wanted = is_known(source, "branch_read_seconds") &&
                  (count > TOP || !is_known(source, "branch_read_bytes"));
    return fill(source, &table, wanted, grid, err);
}

/* ---- tasks ---- */

roast_status roast_summary_fill_tasks(const roast_summary_source *source, roast_grid *grid,
                                      roast_error *err) {
    static const shown_table table = {
        .number = ROAST_ROWS_task_metrics,
        .heading = "Task",
        .what = "kinds of tasks",
        .order = "longest time first",
        .most = MOST_ROWS,
        .columns = {{"Tries", "count", "1"},
                    {"Time", "seconds", "s"},
                    {"per Task", "mean_seconds", "s"},
                    {"CPU", "cpu_seconds", "s"},
                    {"Failed", "failed", "1"},
                    {"Results", "result_bytes", "bytes"}},
    };
    return fill(source, &table, true, grid, err);
}

/* ---- workers ---- */

/* Without a limit of memory and without spilled results there is nothing to warn of. */
static bool tells_health(const void *row) {
    const roast_worker_row *worker = row;
    return worker->peak_memory_percent.kind != ROAST_VALUE_NONE ||
           worker->peak_spilled_bytes.kind != ROAST_VALUE_NONE;
}

roast_status roast_summary_fill_workers(const roast_summary_source *source, roast_grid *grid,
                                        roast_error *err) {
    static const shown_table table = {
        .number = ROAST_ROWS_worker_health,
        .heading = "Worker",
        .what = "workers",
        .order = "the fullest first",
        .most = TOP,
        .shows = tells_health,
        .columns = {{"Peak Memory", "peak_memory_bytes", "bytes"},
                    {"Limit", "memory_limit_bytes", "bytes"},
                    {"of Limit", "peak_memory_percent", "%"},
                    {"Spilled", "peak_spilled_bytes", "bytes"},
                    {"CPU, sampled", "mean_cpu_percent", "%"}},
    };
    return fill(source, &table, true, grid, err);
}
