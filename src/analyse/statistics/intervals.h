/* Quantiles of the normal distribution, for intervals. */
#ifndef ROAST_ANALYSE_INTERVALS_H
#define ROAST_ANALYSE_INTERVALS_H

/* The value that a normally distributed one exceeds with probability p, 0 < p < 1. */
double roast_normal_above(double p);

#endif
