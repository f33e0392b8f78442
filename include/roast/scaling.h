/* Scaling over several runs: throughput against cores, and the two usual laws fitted to it.
 *
 *   Amdahl                   X(N) = X1 N / (1 + serial (N - 1))
 *   universal scalability    X(N) = X1 N / (1 + serial (N - 1) + crosstalk N (N - 1))
 *
 * X is events per second, N the cores on average over time. Nothing is fitted to fewer than three sizes. */
#ifndef ROAST_SCALING_H
#define ROAST_SCALING_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/diagnose.h"
#include "roast/metrics.h"

typedef struct roast_scaling roast_scaling;

roast_status roast_scaling_new(roast_scaling **out, roast_error *err);
void roast_scaling_free(roast_scaling *scaling);
/* Adds a run, by its metrics and findings alone; `findings` may be NULL. ROAST_EINVAL: its events, wall time or cores
 * were not measured. */
roast_status roast_scaling_add(roast_scaling *scaling, roast_str name, const roast_metrics *metrics,
                               const roast_findings *findings, roast_error *err);
/* Computes everything below. ROAST_ESTATE without a run. */
roast_status roast_scaling_finish(roast_scaling *scaling, roast_error *err);

typedef struct roast_scaling_run {
    roast_str name;
    double cores, wall, events;
    double rate;    /* events per second */
    uint32_t point; /* number of its size */
} roast_scaling_run;
/* By cores, then in the order in which they were added. */
const roast_scaling_run *roast_scaling_runs(const roast_scaling *scaling, uint32_t *count);

/* One size: runs whose cores differ by less than 5 %. */
typedef struct roast_scaling_point {
    uint32_t runs;
    double cores, rate, wall, events; /* means */
    double spread;                    /* sample standard deviation of the rate; NaN for one run */
    /* Relative to the smallest size, whose speed-up is its number of cores and whose efficiency is 1. */
    double speedup, efficiency;
} roast_scaling_point;
const roast_scaling_point *roast_scaling_points(const roast_scaling *scaling, uint32_t *count);

typedef enum roast_scaling_kind {
    ROAST_SCALING_unknown, /* one size, or neither of these */
    ROAST_SCALING_strong,  /* the same events on more cores */
    ROAST_SCALING_weak,    /* as many events per core */
    ROAST_SCALING_KINDS
} roast_scaling_kind;
const char *roast_scaling_kind_name(roast_scaling_kind kind);
roast_scaling_kind roast_scaling_get_kind(const roast_scaling *scaling);

/* A number with its interval of 95 %; NaN: not known. */
typedef struct roast_estimate {
    double at, low, high;
} roast_estimate;
#define ROAST_LAWS(X)                                                                              \
    X(amdahl, "Amdahl's law")                                                                      \
    X(usl, "Universal scalability law")
typedef enum roast_law {
#define X(name, label) ROAST_LAW_##name,
    ROAST_LAWS(X)
#undef X
        ROAST_LAW_COUNT
} roast_law;
const char *roast_law_name(roast_law law);
const char *roast_law_label(roast_law law);

/* An interval needs more runs than the law has numbers. */
typedef struct roast_law_fit {
    bool known;               /* false: fewer than three sizes */
    roast_estimate single;    /* events per second of one core */
    roast_estimate serial;    /* part of the work that does not run in parallel, 0 to 1 */
    roast_estimate crosstalk; /* 0 for Amdahl's law */
    double peak;              /* cores beyond which it becomes slower; infinite: none */
    double error;             /* of a rate, root mean square of the relative deviations */
} roast_law_fit;
roast_law_fit roast_scaling_fit(const roast_scaling *scaling, roast_law law);
/* Events per second with so many cores; all NaN if the law is not known. */
roast_estimate roast_scaling_predict(const roast_scaling *scaling, roast_law law, double cores);

/* Where the efficiency went: core-seconds per event of the smallest and the largest size, and the share of the part in
 * the difference of all. Largest share first; none if a size has no budget. */
typedef struct roast_scaling_loss {
    roast_budget_part part;
    double smallest, largest, share;
} roast_scaling_loss;
const roast_scaling_loss *roast_scaling_losses(const roast_scaling *scaling, uint32_t *count);

#endif
