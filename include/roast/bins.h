/* What a plot shows of many values: histograms, sums over time, thinned lines.
 *
 * All arrays are the caller's. A value that is NaN is absent: it counts nowhere. */
#ifndef ROAST_BINS_H
#define ROAST_BINS_H

#include "roast/base.h"

/* ---- histograms ---- */

/* A range that is cut into equal bins. */
typedef struct roast_bins {
    uint32_t count;
    double low, high;
} roast_bins;
#define ROAST_MAX_BINS 1000000u

/* The range of the finite values, cut into `count` bins; half a unit to both sides where all are
 * alike. ROAST_ENOTFOUND: there is none; ROAST_EINVAL: count is 0 or beyond the limit. */
roast_status roast_bins_fit(const double *values, size_t n, uint32_t count, roast_bins *out,
                            roast_error *err);
/* Where bin `index` begins; for index == count: where the last one ends. */
double roast_bins_edge(const roast_bins *bins, uint32_t index);
/* The bin of a value, its lower edge included and of the last one the upper too; -1: outside. */
int64_t roast_bins_find(const roast_bins *bins, double value);
/* Adds the values to counts[bins->count]. */
void roast_bins_count(const roast_bins *bins, const double *values, size_t n, uint64_t *counts);
/* Adds the pairs to counts[y->count][x->count]. */
void roast_bins_count_pairs(const roast_bins *x, const roast_bins *y, const double *xs,
                            const double *ys, size_t n, uint64_t *counts);

/* ---- amounts over time ---- */

/* Spreads each amount evenly over its interval and adds what falls into each bin, divided by the
 * width of a bin, to rates[rows][bins->count]. rows_of[i] is the row of interval i; NULL: all in row
 * 0; a number that is no row is left out. amounts NULL: 1 a second, so that the rate is how many
 * intervals were open at a time. An interval that ends where it starts (or before) is one moment. */
void roast_bins_spread(const roast_bins *bins, const int32_t *rows_of, uint32_t rows,
                       const double *starts, const double *ends, const double *amounts, size_t n,
                       double *rates);

/* Puts intervals that overlap into different lanes of their owner (a number of 0 to owners - 1; any
 * other has no lane: -1), as few as possible: lanes[i] is 0, 1, ... within the owner, counts[owner] how many
 * there are. ROAST_ENOMEM. */
roast_status roast_bins_lanes(const int32_t *owners_of, uint32_t owners, const double *starts,
                              const double *ends, size_t n, int32_t *lanes, uint32_t *counts,
                              roast_error *err);

/* ---- fewer points ---- */

/* At most `max` points (at least 4) of a line: the first, the last, and of each stretch between
 * them the lowest and the highest, so that no peak is lost. Returns how many there are. */
size_t roast_thin(const double *xs, const double *ys, size_t n, size_t max, double *out_xs,
                  double *out_ys);
/* Cuts the values into `groups` stretches of (almost) equal length, in their order: group g is
 * [g * n / groups, (g + 1) * n / groups). means, lows and highs have a value a group, NaN where
 * nothing was there. */
void roast_group_ranges(const double *values, size_t n, size_t groups, double *means, double *lows,
                        double *highs);
/* Adds each value to sums[codes[i]]; a code that is none of 0 to groups - 1 is left out. */
void roast_group_sums(const int32_t *codes, const double *values, size_t n, uint32_t groups,
                      double *sums);

#endif
