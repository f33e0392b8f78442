/* Amounts over time in bins: each amount is spread evenly over its interval. */
#ifndef ROAST_SPREAD_H
#define ROAST_SPREAD_H

#include "roast/base.h"

/* Rows of equal bins from `low` to `high`. */
typedef struct roast_spread {
    double low, width; /* of a bin; in the unit of the moments */
    size_t rows, bins;
    /* bins + 1 in each row. */
    double *parts;  /* amounts in partly covered bins */
    double *change; /* of the rate at the lower edge of each bin */
} roast_spread;

/* ROAST_EINVAL without rows, bins or time between low and high; ROAST_ENOMEM. */
roast_status roast_spread_init(roast_spread *spread, size_t rows, size_t bins, double low,
                               double high, roast_error *err);
void roast_spread_reset(roast_spread *spread);
/* Takes the same time for a long interval as for a short one. An interval that ends where it starts, or before, is one
 * moment; what is outside of the bins counts in the first or the last one. One with a number that is not finite, or of
 * a row that is not there, is left out. */
void roast_spread_add(roast_spread *spread, size_t row, double start, double end, double amount);
/* The amount per unit of time in each bin, row by row, into `rates`: rows × bins. */
void roast_spread_rates(const roast_spread *spread, double *rates);

#endif
