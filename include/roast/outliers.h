/* Points far above the line through all of them: chunks that took much longer than their events say. */
#ifndef ROAST_OUTLIERS_H
#define ROAST_OUTLIERS_H

#include "roast/base.h"

/* A point is one if it lies above the line by more than three times the distance of the quartiles of all
 * distances beyond the upper one, and by at least a fifth of what the line says. */
#define ROAST_OUTLIER_FENCE 3.0
#define ROAST_OUTLIER_SHARE 0.2

typedef struct roast_outlier {
    size_t index;    /* of the point */
    double expected; /* y on the line */
} roast_outlier;

/* Writes those that are farthest above y = intercept + slope * x to out, at most `max`, farthest first;
 * *count is how many these are, *all how many there are. A pair with a NaN is no point.
 * ROAST_ENOMEM. */
roast_status roast_outliers_find(const double *xs, const double *ys, size_t n, double intercept,
                                 double slope, uint32_t max, roast_outlier *out, uint32_t *count,
                                 uint64_t *all, roast_error *err);

#endif
