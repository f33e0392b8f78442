/* What the workers did over time, small enough to draw: all of them on one grid, or one of them as a
 * line. */
#ifndef ROAST_TIMELINE_H
#define ROAST_TIMELINE_H

#include "roast/metrics.h"
#include "roast/series.h"

/* What is looked at in a sample: one column, or one as a share of another. */
#define ROAST_MEASURE_SHARES(X)                                                                    \
    X(memory_share, memory, memory_limit, 100) /* % */                                             \
    X(cpu_share, cpu, cores, 1)                /* %, of all threads of the worker */

typedef struct roast_measure {
    roast_series_column value;
    roast_series_column of; /* ROAST_COLUMNS: nothing, the value as it is */
    double factor;
} roast_measure;
/* By name: of a share above or of a column. false: there is none. */
bool roast_measure_find(roast_str name, roast_measure *out);
/* NaN: the sample does not have it. */
double roast_measure_of(const roast_measure *measure, const roast_sample *sample);

/* The rows of a timeline, a number a point. The extremes are those of all samples around the point;
 * the others are over workers, each with the mean of its samples there. A worker that was not looked
 * at just then counts with its last value, unless it was gone for long (three of its usual
 * intervals). NaN where there was no worker. */
#define ROAST_TIMELINE_ROWS(X)                                                                     \
    X(time) /* s since the start */                                                                \
    X(workers)                                                                                     \
    X(sum)                                                                                         \
    X(mean)                                                                                        \
    X(min)                                                                                         \
    X(p10)                                                                                         \
    X(p50)                                                                                         \
    X(p90)                                                                                         \
    X(max)

typedef enum roast_timeline_row {
#define X(name) ROAST_TIMELINE_##name,
    ROAST_TIMELINE_ROWS(X)
#undef X
        ROAST_TIMELINE_ROW_COUNT
} roast_timeline_row;
/* "mean"; "unknown" for a number that is no row. */
const char *roast_timeline_row_name(roast_timeline_row row);

typedef struct roast_timeline roast_timeline;

/* All workers on one grid: the ticks of the series, or, where there are more than max_points of
 * them, as many equal stretches of time. ROAST_ENOTFOUND: no sample has the measure; ROAST_EINVAL:
 * max_points is 0; ROAST_ENOMEM. */
roast_status roast_timeline_new(const roast_series *series, const roast_measure *measure,
                                uint32_t max_points, roast_timeline **out, roast_error *err);
void roast_timeline_free(roast_timeline *timeline);
/* The moment of the first sample, from which the times count. */
roast_utc roast_timeline_start(const roast_timeline *timeline);
size_t roast_timeline_points(const roast_timeline *timeline);
/* A value a point; borrowed. NULL for a number that is no row. */
const double *roast_timeline_values(const roast_timeline *timeline, roast_timeline_row row);
/* Over the samples of one worker; its count is 0 where none has the measure. */
roast_stats roast_timeline_stats(const roast_timeline *timeline, uint32_t worker);

/* How many samples become few points. */
typedef enum roast_fewer {
    ROAST_FEWER_EXTREMES, /* no peak is lost: roast_thin */
    ROAST_FEWER_MEANS     /* smooth: the means of neighbours, in time and in value */
} roast_fewer;
/* One worker as a line of at most max_points (at least 4): times in seconds since `start`. times and
 * values have room for max_points. ROAST_ENOMEM, ROAST_EINVAL. */
roast_status roast_timeline_line(const roast_series *series, const roast_measure *measure,
                                 uint32_t worker, roast_utc start, uint32_t max_points,
                                 roast_fewer fewer, double *times, double *values, size_t *count,
                                 roast_error *err);
/* The number of workers at the ticks, thinned; the times count from the first tick. */
roast_status roast_timeline_workers(const roast_series *series, uint32_t max_points, double *times,
                                    double *values, size_t *count, roast_error *err);

#endif
