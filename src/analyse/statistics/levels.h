/* Where the level of a series changes: a test by ranks, so that outliers and the shape of the noise do not matter. */
#ifndef ROAST_ANALYSE_LEVELS_H
#define ROAST_ANALYSE_LEVELS_H

#include "roast/base.h"

typedef struct roast_step {
    size_t at; /* the first value of the new level */
    double
        p; /* of the test: the share of random orders with a step as clear, at least 1 / (orders + 1) */
} roast_step;

/* Finds the steps of a series, in their order. `steps` has room for `count` of them.
 *
 * At each place, the ranks of the values before it are compared with those after it: all of them (the statistic of Mann
 * and Whitney), and the nearest 4, 8, 16 and so on up to a quarter, which finds a dip that is over again. The clearest difference of
 * all is compared with the clearest ones of random orders of the same values. If at most `error_rate` of these are as
 * clear, the place is a step, and both sides of it are tested in the same way. So in a series without any step, whatever
 * its noise, one is found with a probability of at most `error_rate`. A step is placed by the medians on both sides.
 *
 * The orders come from a generator with a fixed seed: the same series has the same steps. A test takes 5 / error_rate
 * orders (at least 499), each count * log(count); a division is at most 24 tests deep. */
roast_status roast_levels_find(const double *values, size_t count, double error_rate,
                               roast_step *steps, size_t *n_steps, roast_error *err);

/* The least number of values in which a step can be found: one in the middle, between two levels that do not overlap. */
roast_status roast_levels_least(double error_rate, size_t *out, roast_error *err);

#endif
