/* What the families of formulas share: the values, and the walk over the chunks. */
#ifndef ROAST_METRICS_FORMULAS_H
#define ROAST_METRICS_FORMULAS_H

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "metrics/catalogue.h"

/* The tables of the metrics: name of the rows, of their number, type of a row. */
#define ROAST_METRICS_TABLE_LIST(X)                                                                \
    X(datasets, n_datasets, roast_dataset_row)                                                     \
    X(sections, n_sections, roast_section_row)                                                     \
    X(files, n_files, roast_file_row)                                                              \
    X(branches, n_branches, roast_branch_row)                                                      \
    X(workers, n_workers, roast_worker_row)

enum {
#define X(rows, count, type) ROAST_METRICS_##rows,
    ROAST_METRICS_TABLE_LIST(X)
#undef X
        ROAST_METRICS_TABLES
};

struct roast_metrics {
    roast_value values[ROAST_M_COUNT]; /* of scalars; zeroed is "not measured" */
    roast_arena arena;                 /* the rows below and their names */
    roast_dataset_row *datasets;
    roast_section_row *sections;
    roast_file_row *files;
    roast_branch_row *branches;
    roast_worker_row *workers;
    uint32_t n_datasets, n_sections, n_files, n_branches, n_workers;
    /* Tables that rows were added to one by one: where they lie, and for how many there is room. A
     * table that a formula made lies elsewhere. */
    struct {
        const void *rows;
        uint32_t room;
    } grown[ROAST_METRICS_TABLES];
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
/* A number that is rounded to a whole one, kept within the type. */
roast_value roast_value_rounded(double value);

/* Sums that stay at the end of the type instead of wrapping. */
static inline int64_t roast_add_i64(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}
static inline uint64_t roast_add_u64(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

roast_status roast_metrics_no_memory(roast_error *err);
/* A table of `count` rows in the arena; never NULL on success. */
roast_status roast_metrics_table(roast_metrics *metrics, size_t count, size_t size, void **rows);

/* The chunks are walked once for all that is computed from them: each consumer is begun, gets every
 * chunk, and puts its results into the metrics at the end. */
typedef struct roast_chunk_totals roast_chunk_totals; /* chunks.c */
roast_status roast_chunk_totals_new(roast_chunk_totals **out);
void roast_chunk_totals_free(roast_chunk_totals *totals);
roast_status roast_chunk_totals_add(roast_chunk_totals *totals, const roast_chunklog *log,
                                    const roast_chunk *chunk);
/* Sections that were recorded beside the chunks, each in a record of its own. */
roast_status roast_chunk_totals_add_sections(roast_chunk_totals *totals,
                                             const roast_chunklog *beside);
roast_status roast_chunk_totals_finish(roast_chunk_totals *totals, roast_metrics *metrics);

typedef struct roast_section_totals roast_section_totals; /* sections.c */
roast_status roast_section_totals_new(roast_section_totals **out);
void roast_section_totals_free(roast_section_totals *totals);
roast_status roast_section_totals_add(roast_section_totals *totals, const roast_chunklog *log,
                                      const roast_chunk *chunk);
roast_status roast_section_totals_finish(roast_section_totals *totals, roast_metrics *metrics);

typedef struct roast_file_totals roast_file_totals; /* files.c */
roast_status roast_file_totals_new(const roast_run *run, roast_file_totals **out);
void roast_file_totals_free(roast_file_totals *totals);
roast_status roast_file_totals_add(roast_file_totals *totals, const roast_chunklog *log,
                                   const roast_chunk *chunk);
roast_status roast_file_totals_finish(roast_file_totals *totals, roast_metrics *metrics);

typedef struct roast_branch_totals roast_branch_totals; /* branches.c */
roast_status roast_branch_totals_new(roast_branch_totals **out);
void roast_branch_totals_free(roast_branch_totals *totals);
roast_status roast_branch_totals_add(roast_branch_totals *totals, const roast_chunklog *log,
                                     const roast_chunk *chunk);
roast_status roast_branch_totals_finish(roast_branch_totals *totals, roast_metrics *metrics);

typedef struct roast_quality_totals roast_quality_totals; /* quality.c */
roast_status roast_quality_totals_new(roast_quality_totals **out);
void roast_quality_totals_free(roast_quality_totals *totals);
void roast_quality_totals_add(roast_quality_totals *totals, const roast_chunk *chunk);
void roast_quality_totals_finish(const roast_quality_totals *totals, const roast_run *run,
                                 roast_metrics *metrics);

/* The same value so many times, at once. */
static inline void roast_stats_add_often(roast_stats *stats, double value, uint64_t times) {
    if (stats->count > 0 && value == stats->mean && value >= stats->min && value <= stats->max) {
        stats->count += times; /* most are constants; merging takes two divisions */
        return;
    }
    const roast_stats all = {.count = times, .mean = value, .min = value, .max = value};
    roast_stats_merge(stats, &all);
}

/* roast_time_average_add, for those who call it for every sample. */
static inline void roast_average_add(roast_time_average *average, double time, double value) {
    if (average->count == 0)
        average->first = average->last = time;
    if (time > average->last) {
        average->integral += (average->last_value + value) / 2 * (time - average->last);
        average->last = time;
    }
    average->last_value = value;
    average->count++;
}

/* How one worker fared, sample by sample; health.c. */
typedef struct roast_health {
    double peak_memory, limit, peak_percent, peak_spilled; /* NaN: not known */
    roast_stats cpu, threads;
    uint64_t samples;
} roast_health;
void roast_health_begin(roast_health *figures);
/* The number where one of the two is none. As fmax, which is a call for each of them. */
static inline double roast_larger(double a, double b) {
    return b > a || isnan(a) ? b : a;
}

/* So many samples with these values. Here, as it is done for every sample. */
static inline void roast_health_add(roast_health *figures, const double value[ROAST_COLUMNS],
                                    uint64_t samples) {
    double memory = value[ROAST_COLUMN_memory], limit = value[ROAST_COLUMN_memory_limit];
    double threads = value[ROAST_COLUMN_cores], cpu = value[ROAST_COLUMN_cpu];
    figures->samples += samples;
    figures->peak_memory = roast_larger(figures->peak_memory, memory);
    figures->peak_spilled = roast_larger(figures->peak_spilled, value[ROAST_COLUMN_spilled_bytes]);
    if (limit > 0) {
        figures->limit = roast_larger(figures->limit, limit);
        figures->peak_percent = roast_larger(figures->peak_percent, memory / limit * 100);
    }
    if (threads > 0) {
        roast_stats_add_often(&figures->threads, threads, samples);
        if (!isnan(cpu))
            roast_stats_add_often(&figures->cpu, cpu / threads, samples);
    }
}
roast_worker_row roast_health_row(const roast_health *figures);
/* Names the rows, which are the metrics' own and one a worker, and puts in what follows from them. */
roast_status roast_worker_health(roast_metrics *metrics, const roast_series *series,
                                 roast_worker_row *rows, roast_error *err);

/* Something else to do with each chunk. */
typedef roast_status (*roast_chunk_visitor)(void *context, const roast_chunklog *log,
                                            const roast_chunk *chunk);
/* roast_metrics_compute that shows the chunks to somebody else as well (NULL: to nobody): to unpack them
 * takes longer than to sum them up. */
roast_status roast_metrics_compute_beside(const roast_run *run, roast_chunk_visitor visit,
                                          void *context, roast_metrics **out, roast_error *err);

/* Order of names: by bytes, the absent one last. */
int roast_compare_names(roast_str a, roast_str b);

#endif
