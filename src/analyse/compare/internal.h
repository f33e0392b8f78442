/* Shared by the files of the comparison: a few numbers of each chunk are kept until its end, and nothing of the runs. */
#ifndef ROAST_ANALYSE_COMPARE_INTERNAL_H
#define ROAST_ANALYSE_COMPARE_INTERNAL_H

#include "analyse/statistics/intervals.h"
#include "metrics/formulas.h"
#include "roast/compare.h"

#define ROAST_NO_GROUP UINT32_MAX

/* The costs of a chunk, in seconds: name, label. */
#define ROAST_COSTS(X)                                                                             \
    X(all, "Time")                /* before and in process() */                                    \
    X(before, "Before process()") /* the others are parts of it */                                 \
    X(process, "In process()")                                                                     \
    X(cpu, "In process(), CPU")                                                                    \
    X(read, "Reading Columns")
enum {
#define X(name, label) ROAST_COST_##name,
    ROAST_COSTS(X)
#undef X
        ROAST_COST_COUNT
};

/* A chunk that was done. Its names are numbers that both sides share. */
typedef struct roast_compared_chunk {
    uint32_t piece;                    /* dataset, file and entries */
    uint32_t names[ROAST_SPLIT_COUNT]; /* ROAST_NO_GROUP: not known */
    float events;                      /* NaN: not known */
    float costs[ROAST_COST_COUNT];     /* NaN: not known */
} roast_compared_chunk;

/* The time of a chunk in a section, without the sections inside it. */
typedef struct roast_compared_use {
    uint32_t chunk, section;
    float seconds;
} roast_compared_use;

/* What is known of a whole run. */
#define ROAST_CONDITIONS(X)                                                                        \
    X(processor, "Processor")                                                                      \
    X(executor, "Executor")                                                                        \
    X(backend, "Engine")                                                                           \
    X(schema, "Schema")                                                                            \
    X(chunksize, "Chunk Size")                                                                     \
    X(maxchunks, "Most Chunks")                                                                    \
    X(format, "Format of the Files")                                                               \
    X(host, "Host")                                                                                \
    X(cores, "Cores of the Host")                                                                  \
    X(git_revision, "Revision")                                                                    \
    X(python_version, "Python")                                                                    \
    X(coffea_version, "Coffea")                                                                    \
    X(dask_version, "Dask")                                                                        \
    X(uproot_version, "uproot")                                                                    \
    X(awkward_version, "awkward")                                                                  \
    X(numpy_version, "numpy")                                                                      \
    X(roastcoffea_version, "roastcoffea")
enum {
#define X(key, label) ROAST_CONDITION_##key,
    ROAST_CONDITIONS(X)
#undef X
        ROAST_CONDITION_COUNT
};

typedef struct roast_compared_run {
    roast_str name;
    roast_str conditions[ROAST_CONDITION_COUNT]; /* absent: not known */
    const char *outcome;                         /* NULL: not known */
    double values[ROAST_M_COUNT];                /* NaN: not measured */
    bool has_budget;
    roast_budget_row budget;
} roast_compared_run;

typedef struct roast_compared_side {
    roast_compared_chunk *chunks;
    size_t n_chunks, chunks_capacity;
    roast_compared_use *uses;
    size_t n_uses, uses_capacity;
    roast_compared_run *runs;
    size_t n_runs, runs_capacity;
    roast_changed_finding *findings; /* of the last run; `change` is not set */
    size_t n_findings, findings_capacity;
    double *branches; /* seconds of reading, by number */
    size_t branches_capacity;
} roast_compared_side;

/* A growing list of changes. */
typedef struct roast_changes {
    roast_change *items;
    size_t count, capacity;
} roast_changes;

struct roast_comparison {
    roast_arena arena; /* the texts */
    roast_compared_side sides[ROAST_SIDES];
    roast_groups names[ROAST_SPLIT_COUNT]; /* by the numbers that chunks have */
    roast_groups sections, branches;
    roast_intern pieces;
    bool finished;
    bool paired;
    uint64_t compared; /* pairs, or chunks of B */
    bool *shared;      /* by dataset: both sides have it */
    roast_change cost;
    roast_changes figures, budget, causes;
    roast_condition *conditions;
    size_t n_conditions, conditions_capacity;
    roast_changed_finding *findings;
    size_t n_findings, findings_capacity;
};

/* The values of one cost of the chunks of a side. */
typedef struct roast_cost_column {
    const roast_compared_side *side;
    int cost; /* below 0: of the uses below */
    const roast_compared_use *uses;
    size_t n_uses;
} roast_cost_column;
static inline size_t roast_cost_count(const roast_cost_column *column) {
    return column->cost >= 0 ? column->side->n_chunks : column->n_uses;
}
static inline const roast_compared_chunk *roast_cost_chunk(const roast_cost_column *column,
                                                           size_t index) {
    return &column->side->chunks[column->cost >= 0 ? index : column->uses[index].chunk];
}
static inline double roast_cost_value(const roast_cost_column *column, size_t index) {
    return column->cost >= 0 ? (double)column->side->chunks[index].costs[column->cost]
                             : (double)column->uses[index].seconds;
}

/* chunks.c: keeps the numbers of the chunks of a run. */
roast_status roast_comparison_take_chunks(roast_comparison *comparison, unsigned side,
                                          const roast_chunklog *log);
/* changes.c */
/* Decides whether pieces are compared in pairs. */
roast_status roast_comparison_pair(roast_comparison *comparison);
/* The ratio of a cost with its interval: of one dataset, or of all that both sides have (ROAST_NO_GROUP). */
roast_status roast_comparison_ratio(const roast_comparison *comparison,
                                    const roast_cost_column columns[ROAST_SIDES], uint32_t dataset,
                                    double alpha, roast_change *change);
/* causes.c: fills `causes` and `cost`, and sorts the uses by section. */
roast_status roast_comparison_find_causes(roast_comparison *comparison);
/* The uses of one section; they must be sorted. */
roast_cost_column roast_column_of_section(const roast_comparison *comparison, int side,
                                          uint32_t section);
/* runs.c: conditions, figures of the whole runs, budget, findings. */
roast_status roast_comparison_take_run(roast_comparison *comparison, unsigned side, roast_str name,
                                       const roast_run *run, const roast_metrics *metrics,
                                       const roast_findings *findings);
roast_status roast_comparison_compare_runs(roast_comparison *comparison);

/* Appends a change; its texts are borrowed. */
roast_status roast_changes_add(roast_changes *changes, const roast_change *change);
/* Sets the verdict from the interval. */
void roast_change_judge(roast_change *change);

#define ROAST_ALPHA 0.05

#endif
