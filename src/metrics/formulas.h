/* Shared by the families of formulas: the values, the rows of tables, and the walk over the chunks. */
#ifndef ROAST_METRICS_FORMULAS_H
#define ROAST_METRICS_FORMULAS_H

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "metrics/catalogue.h"
#include "metrics/groups.h"

/* The rows of one table. */
typedef struct roast_metrics_rows {
    void *rows;
    uint32_t count, room;
} roast_metrics_rows;

struct roast_metrics {
    roast_value values[ROAST_M_COUNT]; /* of scalars; zeroed is "not measured" */
    roast_arena arena;                 /* the rows and their texts */
    roast_metrics_rows tables[ROAST_ROW_TABLE_COUNT];
    bool is_current;
};

static inline void roast_put(roast_metrics *metrics, uint32_t row, roast_value value) {
    metrics->values[row] = value;
}

/* A rate over zero time is 0, and a share of nothing too. */
static inline double roast_ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/* part × times / whole / unit, in that order; not measured where part or whole is not. */
roast_value roast_value_ratio(roast_value part, roast_value whole, double times, double unit);
roast_value roast_value_product(roast_value a, roast_value b);
/* A number that is rounded to a whole one, kept within the type. NaN: not measured. */
roast_value roast_value_rounded(double value);
static inline roast_value roast_value_real_if(bool known, double value) {
    return known ? roast_value_real(value) : roast_value_none();
}

/* roast_add_capped for counts. */
static inline uint64_t roast_add_u64(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A sum of the known values, and their number. None known: not measured. */
typedef struct roast_known_sum {
    uint64_t known;
    int64_t total;
} roast_known_sum;
static inline void roast_known_sum_add(roast_known_sum *sum, int64_t value) {
    sum->known++;
    sum->total = roast_add_capped(sum->total, value);
}
static inline roast_value roast_known_whole(const roast_known_sum *sum) {
    return sum->known > 0 ? roast_value_int(sum->total) : roast_value_none();
}
static inline roast_value roast_known_seconds(const roast_known_sum *ns) {
    return roast_value_real_if(ns->known > 0, (double)ns->total / 1e9);
}

/* Sample standard deviation; 0 for fewer than two values. */
double roast_stats_std(const roast_stats *stats);
/* The mean over time of a value that was seen at some moments (trapezoids). Zeroed storage is an
 * empty one. Times in seconds, in order. */
typedef struct roast_time_average {
    uint64_t count;
    double first, last, last_value, integral;
} roast_time_average;
void roast_time_average_add(roast_time_average *average, double time, double value);
/* The value itself where there is one moment only; NaN when empty. */
double roast_time_average_get(const roast_time_average *average);
/* The value at a position if all were sorted; none may be NaN. The values are reordered: smaller ones before the
 * position, larger ones after it. */
double roast_select(double *values, size_t count, size_t place);
/* The middle one, or the mean of the two in the middle; NaN when there are none. The values change their places. */
double roast_median(double *values, size_t count);

/* Whether a chunk has all of these numbers. */
static inline bool roast_chunk_has(const roast_chunk *chunk, uint64_t fields) {
    return (chunk->have & fields) == fields;
}

roast_status roast_metrics_no_memory(roast_error *err);
/* Replaces the rows of a table by so many zeroed ones, which the caller fills in. NULL: no memory. */
void *roast_metrics_make_rows(roast_metrics *metrics, roast_row_table_number number, size_t count);
/* Orders of rows: names by bytes, the absent one last; values that were not measured last. */
int roast_compare_names(roast_str a, roast_str b);
int roast_larger_first(roast_value a, roast_value b);

/* ---- the chunks are walked once: each of these gets every chunk, and puts its results into the metrics at the end.
 * Their status has no message: memory is short, or the log is damaged. ---- */

/* sections.c */
typedef struct roast_section_totals {
    roast_groups names;                /* an item: the totals of each kind */
    uint32_t count;                    /* of (name, kind) pairs */
    struct roast_section_place *chunk; /* the sections of the chunk at hand */
    size_t chunk_capacity;
} roast_section_totals;
void roast_section_totals_init(roast_section_totals *totals);
void roast_section_totals_reset(roast_section_totals *totals);
roast_status roast_section_totals_add(roast_section_totals *totals, const roast_chunklog *log,
                                      const roast_chunk *chunk);
/* The sections of a log whose records have nothing else; NULL: there is none. */
roast_status roast_section_totals_add_all(roast_section_totals *totals, const roast_chunklog *log);
roast_status roast_section_totals_finish(roast_section_totals *totals, roast_metrics *metrics);

/* chunks.c */
typedef struct roast_dataset_total {
    uint64_t chunks;
    roast_known_sum duration_ns, events;
} roast_dataset_total;
typedef struct roast_chunk_totals {
    uint64_t good, failed;
    roast_stats duration, memory_mb, events, time_per_event, memory_per_event;
    int64_t total_events, min_events, max_events;
    roast_line line; /* duration over events */
    roast_quantiles *durations;
    roast_groups datasets; /* an item: roast_dataset_total */
    roast_dataset_total unknown;
} roast_chunk_totals;
/* A chunk without an error is also added to the sums of its dataset. */
roast_status roast_chunk_totals_add(roast_chunk_totals *totals, const roast_chunk *chunk);
roast_status roast_chunk_totals_finish(roast_chunk_totals *totals, roast_metrics *metrics);

/* files.c */
typedef struct roast_file_totals {
    const roast_run *run;
    const roast_chunklog *log;
    roast_groups files;    /* an item: file_total */
    roast_groups accessed; /* by file and branch set; an item: accessed_set */
    uint32_t nameless;     /* sets of chunks without a file, as file_total.sets */
    /* Filled at the end. */
    roast_groups branches; /* an item: branch_mark */
    uint32_t branches_ever;
} roast_file_totals;
roast_status roast_file_totals_init(roast_file_totals *totals, const roast_run *run);
void roast_file_totals_reset(roast_file_totals *totals);
roast_status roast_file_totals_add(roast_file_totals *totals, const roast_chunk *chunk);
roast_status roast_file_totals_finish(roast_file_totals *totals, roast_metrics *metrics);

/* branches.c */
typedef struct roast_branch_total {
    uint64_t chunks;
    roast_known_sum time_ns, bytes, uncompressed_bytes, count;
} roast_branch_total;
/* The reads of a chunk. */
typedef struct roast_chunk_reads_total {
    int64_t time_ns;
    int64_t bytes, bytes_ns; /* of reads that tell their bytes: these, and their time */
} roast_chunk_reads_total;
typedef struct roast_branch_totals {
    roast_groups branches; /* an item: roast_branch_total */
    uint64_t chunks;       /* that tell what they read */
    roast_branch_total all;
    roast_chunk_reads_total here; /* of the chunk that was added last */
} roast_branch_totals;
roast_status roast_branch_totals_add(roast_branch_totals *totals, const roast_chunklog *log,
                                     const roast_chunk *chunk);
roast_status roast_branch_totals_finish(roast_branch_totals *totals, roast_metrics *metrics);

/* storages.c */
typedef struct roast_storage_totals {
    roast_groups storages; /* an item: roast_storage_total */
    roast_groups files;    /* an item: nothing */
} roast_storage_totals;
void roast_storage_totals_init(roast_storage_totals *totals);
void roast_storage_totals_reset(roast_storage_totals *totals);
/* `reads`: of this chunk. */
roast_status roast_storage_totals_add(roast_storage_totals *totals, const roast_chunk *chunk,
                                      const roast_chunk_reads_total *reads);
roast_status roast_storage_totals_finish(const roast_storage_totals *totals,
                                         roast_metrics *metrics);

/* quality.c */
#define ROAST_QUALITY_COUNTS 4
#define ROAST_QUALITY_SUMS   9
typedef struct roast_quality_totals {
    uint64_t chunks, with_branches, counts[ROAST_QUALITY_COUNTS];
    roast_known_sum sums[ROAST_QUALITY_SUMS];
} roast_quality_totals;
void roast_quality_totals_add(roast_quality_totals *totals, const roast_chunk *chunk);
void roast_quality_totals_finish(const roast_quality_totals *totals, const roast_run *run,
                                 roast_metrics *metrics);

/* presence.c: where no worker was sampled. */
roast_status roast_metrics_presence(roast_metrics *metrics, const roast_run *run,
                                    const roast_series *series, roast_error *err);

#endif
