/* Every metric: its description (the catalogue) and its value (computed from a run). */
#ifndef ROAST_METRICS_H
#define ROAST_METRICS_H

#include "roast/base.h"
#include "roast/run.h"
#include "roast/sink.h"

/* ---- the catalogue ---- */
typedef enum roast_metric_type {
    ROAST_TYPE_INT,
    ROAST_TYPE_REAL,
    ROAST_TYPE_TEXT,
    ROAST_TYPE_LIST,
    ROAST_TYPE_TABLE /* a mapping of mappings */
} roast_metric_type;

/* Where a key is found. */
typedef enum roast_metric_scope {
    ROAST_IN_METRICS, /* get_metrics()[key] */
    ROAST_IN_CHUNK,   /* chunk_metrics[i][key] */
    ROAST_IN_SERIES,  /* tracking_data[key] */
    ROAST_IN_TABLE,   /* a column of the table named by its group */
    ROAST_IN_LIVE     /* of a run that goes on: where a facility looks (roast/export.h) */
} roast_metric_scope;

typedef struct roast_metric_info {
    const char *key;
    const char *aliases; /* other names, separated by one blank; "" if there are none */
    roast_metric_type type;
    roast_metric_scope scope;
    const char *unit;    /* "s", "bytes", "1", ... */
    const char *group;   /* "throughput", "chunks", ... or the table's key */
    const char *label;   /* for tables: "Wall Time" */
    const char *formula; /* in words */
    const char *caveat;  /* its limits; "" if there are none */
} roast_metric_info;

uint32_t roast_catalogue_count(void);
const roast_metric_info *roast_catalogue_at(uint32_t index);
/* The names of a metric one by one: its key, then the others. false beyond the last one. */
#define ROAST_MAX_METRIC_NAME 64
bool roast_metric_name(const roast_metric_info *info, uint32_t index,
                       char out[ROAST_MAX_METRIC_NAME]);
/* By key or other name; the first, if several scopes have the name. *index may be NULL. NULL if unknown. */
const roast_metric_info *roast_catalogue_find(const char *key, uint32_t *index);
/* The known name nearest to a mistyped one, valid until the next call in this thread; NULL if nothing is near. */
const char *roast_catalogue_nearest(const char *key);
/* "real", "metrics". */
const char *roast_metric_type_name(roast_metric_type type);
const char *roast_metric_scope_name(roast_metric_scope scope);

/* ---- values ---- */
typedef enum roast_value_kind {
    ROAST_VALUE_NONE, /* not measured */
    ROAST_VALUE_INT,
    ROAST_VALUE_REAL
} roast_value_kind;
typedef struct roast_value {
    roast_value_kind kind;
    int64_t integer;
    double real;
} roast_value;
roast_value roast_value_none(void);
roast_value roast_value_int(int64_t integer);
roast_value roast_value_real(double real);
/* The value as a double; NaN for "not measured". */
double roast_value_number(roast_value value);

typedef struct roast_metrics roast_metrics;

roast_status roast_metrics_new(roast_metrics **out, roast_error *err);
void roast_metrics_free(roast_metrics *metrics);

/* All formulas, over all of a run. */
roast_status roast_metrics_compute(const roast_run *run, roast_metrics **out, roast_error *err);
/* One family of formulas each; the results are added to `metrics`. compute calls them in this order. */
roast_status roast_metrics_workflow(roast_metrics *metrics, const roast_run *run, roast_error *err);
roast_status roast_metrics_workers(roast_metrics *metrics, const roast_run *run, roast_error *err);
roast_status roast_metrics_fine(roast_metrics *metrics, const roast_run *run, roast_error *err);
roast_status roast_metrics_tasks(roast_metrics *metrics, const roast_run *run, roast_error *err);
roast_status roast_metrics_chunks(roast_metrics *metrics, const roast_run *run, roast_error *err);
roast_status roast_metrics_files(roast_metrics *metrics, const roast_run *run, roast_error *err);
/* Uses only values that are already in `metrics`. */
roast_status roast_metrics_efficiency(roast_metrics *metrics, roast_error *err);

/* By the catalogue's index; only scalars of scope "metrics" have a value. */
roast_value roast_metrics_at(const roast_metrics *metrics, uint32_t index);
/* By key or other name. */
roast_value roast_metrics_get(const roast_metrics *metrics, const char *key);
/* For a caller that has the inputs of a formula. ROAST_ENOTFOUND if the key is unknown. */
roast_status roast_metrics_set(roast_metrics *metrics, const char *key, roast_value value,
                               roast_error *err);

/* ---- tables. A double that was not measured, or that does not apply to the row, is NaN. ---- */
typedef struct roast_dataset_row {
    roast_str name; /* absent: chunks whose dataset is not known */
    uint64_t num_chunks;
    double total_duration;
    int64_t total_events;
    double mean_duration;
    double mean_events_per_chunk;
} roast_dataset_row;
typedef struct roast_section_row {
    roast_str name;
    roast_section_kind kind;
    uint64_t count;        /* uses */
    double total_duration; /* s; time sections */
    double self_duration;  /* s; total less the sections inside; time sections */
    double mean_duration;
    double mean_mem_delta_mb, max_mem_delta_mb, min_mem_delta_mb; /* memory sections */
    roast_value total_bytes;                                      /* bytes sections */
} roast_section_row;
typedef struct roast_file_row {
    roast_str name;
    roast_value total_branches;
    roast_value branches_read_percent;
    roast_value total_tree_bytes;
    roast_value bytes_read; /* compressed size of the branches accessed */
    roast_value bytes_read_percent;
    roast_value compression_ratio;       /* compressed / uncompressed */
    roast_value uncompressed_bytes_read; /* of the branches accessed */
} roast_file_row;
/* The cost of reading a branch inside process(), over chunks without an error. */
typedef struct roast_branch_row {
    roast_str name;
    uint64_t num_chunks; /* that read it */
    roast_value seconds;
    roast_value bytes;
    roast_value uncompressed_bytes;
    roast_value count; /* reads */
} roast_branch_row;
typedef struct roast_worker_row {
    roast_str name;
    roast_str host; /* absent: not known */
    uint64_t samples;
    roast_value threads;
    roast_value peak_memory_bytes;
    roast_value memory_limit_bytes;
    roast_value peak_memory_percent; /* of the limit */
    roast_value peak_spilled_bytes;
    roast_value mean_cpu_percent; /* of its threads, over samples */
} roast_worker_row;
/* The tasks of the engine whose keys begin alike. A try counts each time that the task was run. */
typedef struct roast_task_row {
    roast_str name;      /* the prefix */
    roast_value count;   /* tries */
    roast_value failed;  /* tries that raised, or were lost with a worker */
    roast_value seconds; /* of computing */
    roast_value mean_seconds;
    roast_value cpu_seconds;
    roast_value result_bytes;
} roast_task_row;

/* One row per table, in the order of the catalogue: its key in the metrics, the noun of a row. Branches are sorted
 * by bytes, then time; workers by how full their memory was; tasks by time; all others by first mention. */
/* The reads of the files of one storage, over chunks without an error. */
typedef struct roast_storage_row {
    roast_str name; /* protocol and host, or "file"; absent: chunks whose file is not known */
    uint64_t num_chunks;
    uint64_t num_files;
    roast_value bytes_read;
    roast_value read_requests;
    roast_value read_seconds;
    roast_value read_rate; /* bytes per second of a thread inside reads */
    roast_value waiting_seconds;
    roast_value waiting_percent; /* of the time in process() */
    roast_value mean_before_process;
} roast_storage_row;

#define ROAST_ROW_TABLES(X)                                                                        \
    X(per_dataset, dataset)                                                                        \
    X(sections, section)                                                                           \
    X(file_read_metrics, file)                                                                     \
    X(branch_read_metrics, branch)                                                                 \
    X(worker_health, worker)                                                                       \
    X(task_metrics, task)                                                                          \
    X(per_storage, storage)
typedef enum roast_row_table_number {
#define X(key, noun) ROAST_ROWS_##key,
    ROAST_ROW_TABLES(X)
#undef X
        ROAST_ROW_TABLE_COUNT
} roast_row_table_number;

/* How a row keeps a value. */
typedef enum roast_kept {
    ROAST_KEPT_VALUE, /* roast_value */
    ROAST_KEPT_REAL,
    ROAST_KEPT_INT,
    ROAST_KEPT_COUNT, /* uint64_t */
    ROAST_KEPT_TEXT,
    ROAST_KEPT_KIND /* roast_section_kind */
} roast_kept;
typedef struct roast_row_column {
    const char *key; /* as in the catalogue */
    size_t offset;   /* in the row */
    roast_kept kept;
} roast_row_column;
/* Every row begins with its name. The first n_columns columns are numbers that tables and exports show; n_hidden
 * further columns complete the row. */
typedef struct roast_row_table {
    const char *key;  /* in the metrics, and the group of its columns in the catalogue */
    const char *noun; /* of a row: "dataset" */
    const roast_row_column *columns;
    size_t n_columns, n_hidden;
    size_t row_size;
} roast_row_table;

const roast_row_table *roast_row_table_at(roast_row_table_number number);
/* The rows of a table, borrowed from `metrics`: an array of the type that belongs to the table. */
const void *roast_row_table_rows(const roast_metrics *metrics, roast_row_table_number number,
                                 uint32_t *count);
/* Appends a row of the type that belongs to the table. The texts are copied. */
roast_status roast_row_table_add(roast_metrics *metrics, roast_row_table_number number,
                                 const void *row, roast_error *err);
const void *roast_table_row(const roast_row_table *table, const void *rows, uint32_t index);
roast_str roast_table_row_name(const void *row);
/* "Not measured" for a column of text, and if the column does not apply to the row. */
roast_value roast_table_row_value(const roast_row_column *column, const void *row);

/* ---- packed: docs/format/metrics.md; versioned and checksummed ---- */
#define ROAST_MAX_ROWS 50000000u /* of one table */
roast_status roast_metrics_encode(const roast_metrics *metrics, roast_sink *sink, roast_error *err);
/* Checks everything first: ROAST_ECORRUPT with the byte position, ROAST_EVERSION for a newer version.
 * Scalars that the catalogue does not know are left out. */
roast_status roast_metrics_decode(const void *data, size_t len, roast_metrics **out,
                                  roast_error *err);
/* Whether roast_metrics_compute made them with the catalogue of this version. */
bool roast_metrics_is_current(const roast_metrics *metrics);

/* ---- statistics ---- */
/* Mean and extremes in one pass, stable (Welford). Zeroed storage is an empty one. */
typedef struct roast_stats {
    uint64_t count;
    double mean, m2, min, max;
} roast_stats;
void roast_stats_add(roast_stats *stats, double value);

/* Least-squares line and correlation in one pass. Zeroed storage is an empty one. */
typedef struct roast_line {
    uint64_t count;
    double mean_x, mean_y, m2_x, m2_y, c_xy;
} roast_line;
void roast_line_add(roast_line *line, double x, double y);
/* false if they are not defined (fewer than two points, all x equal). */
bool roast_line_fit(const roast_line *line, double *intercept, double *slope);
/* Standard error of the intercept; NaN with fewer than three points, or where all have the same x. */
double roast_line_intercept_error(const roast_line *line);
bool roast_line_correlation(const roast_line *line, double *r);

/* Exact quantiles (linear interpolation between neighbours, as numpy's default) of up to ROAST_EXACT_VALUES
 * values; beyond that, from a sample of that size, drawn evenly. */
#define ROAST_EXACT_VALUES 1000000u
typedef struct roast_quantiles roast_quantiles;
roast_status roast_quantiles_new(roast_quantiles **out, roast_error *err);
void roast_quantiles_free(roast_quantiles *quantiles);
roast_status roast_quantiles_add(roast_quantiles *quantiles, double value, roast_error *err);
/* q in 0..1; NaN when empty, or for any other q. Reorders the values that are kept. */
double roast_quantiles_get(roast_quantiles *quantiles, double q);

#endif
