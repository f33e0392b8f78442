/* A metric of many runs over time: comparable runs together, and where their level changed.
 *
 * Runs are comparable if processor and datasets are the same, and their events differ by at most 10 %. Everything else
 * may change from run to run; what did change near a change of level is listed with it. */
#ifndef ROAST_TREND_H
#define ROAST_TREND_H

#include "roast/base.h"
#include "roast/metrics.h"

/* What is known of a run and may be the cause of a change: key of its text in the run, words. `workers` is the metric
 * peak_workers. In the order in which they are listed. */
#define ROAST_TREND_FACTS(X)                                                                       \
    X(git_revision, "git revision")                                                                \
    X(chunksize, "chunk size")                                                                     \
    X(executor, "executor")                                                                        \
    X(workers, "workers")                                                                          \
    X(schema, "schema")                                                                            \
    X(format, "file format")                                                                       \
    X(files, "files")                                                                              \
    X(reducer, "reducer")                                                                          \
    X(engine, "engine")                                                                            \
    X(python_version, "Python")                                                                    \
    X(coffea_version, "coffea")                                                                    \
    X(dask_version, "dask")                                                                        \
    X(distributed_version, "distributed")                                                          \
    X(uproot_version, "uproot")                                                                    \
    X(awkward_version, "awkward")                                                                  \
    X(numpy_version, "numpy")                                                                      \
    X(roastcoffea_version, "roastcoffea")                                                          \
    X(architecture, "architecture")                                                                \
    X(kernel, "kernel")                                                                            \
    X(host, "host")
typedef enum roast_trend_fact {
#define X(name, label) ROAST_FACT_##name,
    ROAST_TREND_FACTS(X)
#undef X
        ROAST_FACT_COUNT
} roast_trend_fact;
/* "git_revision", "git revision". */
const char *roast_trend_fact_name(roast_trend_fact fact);
const char *roast_trend_fact_label(roast_trend_fact fact);

/* Why a run is not part of a level: name, words after a number of runs. */
#define ROAST_TREND_LEFT(X)                                                                        \
    X(failed, "failed")                                                                            \
    X(interrupted, "interrupted")                                                                  \
    X(unfinished, "unfinished")                                                                    \
    X(no_value, "without a value")                                                                 \
    X(no_time, "without a time")                                                                   \
    X(unreadable, "unreadable")
typedef enum roast_trend_left {
#define X(name, words) ROAST_LEFT_##name,
    ROAST_TREND_LEFT(X)
#undef X
        ROAST_LEFT_COUNT
} roast_trend_left;
const char *roast_trend_left_name(roast_trend_left left);
const char *roast_trend_left_words(roast_trend_left left);

typedef struct roast_trend_run {
    roast_str name;
    roast_utc when;
    double value;
    double events;                 /* NaN: not known */
    roast_str processor, datasets; /* absent: not known */
    roast_str facts[ROAST_FACT_COUNT];
} roast_trend_run;

typedef struct roast_trend roast_trend;

/* The probability of a change where there is none, for each group. */
#define ROAST_TREND_ERROR_RATE   0.01
#define ROAST_TREND_LEAST_RATE   0.0001
#define ROAST_TREND_LARGEST_RATE 0.2
/* `metric` is a key or another name of a number of the catalogue. ROAST_EINVAL: it is none, or the error rate is beyond
 * the limits above. */
roast_status roast_trend_new(const char *metric, double error_rate, roast_trend **out,
                             roast_error *err);
void roast_trend_free(roast_trend *trend);
/* Copies the texts. A value that is not finite counts as left out. */
roast_status roast_trend_add(roast_trend *trend, const roast_trend_run *run, roast_error *err);
/* Counts a run that is not part of any level. */
void roast_trend_leave_out(roast_trend *trend, roast_trend_left why);
/* Computes everything below. */
roast_status roast_trend_finish(roast_trend *trend, roast_error *err);

const roast_metric_info *roast_trend_metric(const roast_trend *trend);
double roast_trend_error_rate(const roast_trend *trend);
/* In a group of fewer runs no change can be found, however clear it is. */
uint32_t roast_trend_least_runs(const roast_trend *trend);
uint32_t roast_trend_left_out(const roast_trend *trend, roast_trend_left why);

/* A fact that changed near a change of level: it is new there, so it has another value in every run of the level
 * before. Facts that are not known on one side are not compared. */
typedef struct roast_trend_cause {
    roast_trend_fact fact;
    int away; /* runs from the change of level to this one: at most 2, below 0 before it */
    roast_str before, after;
} roast_trend_cause;

/* Runs of one level, by their number in the group; and how it differs from the one before. */
typedef struct roast_trend_level {
    uint32_t first, count;
    double median;
    double p; /* of the change at its beginning; NaN for the first level */
    const roast_trend_cause *causes;
    uint32_t n_causes;
} roast_trend_level;

typedef struct roast_trend_group {
    roast_str processor, datasets;
    double least_events, most_events;   /* NaN: not known */
    const roast_trend_run *const *runs; /* by time */
    uint32_t n_runs;
    const roast_trend_level *levels;
    uint32_t n_levels;
} roast_trend_group;
/* Largest first. Borrowed. */
uint32_t roast_trend_group_count(const roast_trend *trend);
const roast_trend_group *roast_trend_group_at(const roast_trend *trend, uint32_t index);

#endif
