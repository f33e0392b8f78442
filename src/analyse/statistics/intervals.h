/* Quantiles of two distributions, for intervals. */
#ifndef ROAST_ANALYSE_INTERVALS_H
#define ROAST_ANALYSE_INTERVALS_H

/* The value that a normally distributed one exceeds with probability p, 0 < p < 1. */
double roast_normal_above(double p);
/* The same for Student's distribution. */
double roast_student_above(double p, double degrees);

#endif
