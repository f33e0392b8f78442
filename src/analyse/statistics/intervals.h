/* Intervals for the difference of two groups of values.
 *
 * The first two need no assumption about the distribution: they are the differences that a rank test does not reject.
 * The values are logarithms in most uses, so that a difference is a ratio. `alpha` is the error rate, 0.05 for an
 * interval of 95 %. */
#ifndef ROAST_ANALYSE_INTERVALS_H
#define ROAST_ANALYSE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct roast_interval {
    double at; /* the estimate; NaN: there are no values */
    /* NaN: there are too few values for this error rate */
    double low, high;
} roast_interval;

/* Wilcoxon's signed-rank test, for the differences of pairs. The values are sorted. */
roast_interval roast_signed_rank_interval(double *differences, size_t count, double alpha);
/* The test of Mann and Whitney, for b - a without pairs. Both are sorted. */
roast_interval roast_rank_sum_interval(double *a, size_t n_a, double *b, size_t n_b, double alpha);
/* Welch's test, for b - a where there are only a few values; they should be near to normally distributed. */
roast_interval roast_welch_interval(const double *a, size_t n_a, const double *b, size_t n_b,
                                    double alpha);

/* The value that a normally distributed one exceeds with probability p, 0 < p < 1. */
double roast_normal_above(double p);
/* The same for Student's distribution. */
double roast_student_above(double p, double degrees);

#endif
