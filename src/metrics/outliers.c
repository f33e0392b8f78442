/* Points far above a line. */
#include "roast/outliers.h"

#include <math.h>

#include "roast/metrics.h"

/* A line, and how far above it a point counts. */
typedef struct fence {
    double intercept, slope, height;
} fence;

static double expected(const fence *of, double x) {
    return of->intercept + of->slope * x;
}

static double distance(const fence *of, double x, double y) {
    return y - expected(of, x);
}

static roast_status set_height(fence *of, const double *xs, const double *ys, size_t n,
                               roast_error *err) {
    roast_quantiles *quantiles;
    ROAST_TRY(roast_quantiles_new(&quantiles, err));
    roast_status status = ROAST_OK;
    for (size_t i = 0; status == ROAST_OK && i < n; i++) {
        double above = distance(of, xs[i], ys[i]);
        if (isfinite(above))
            status = roast_quantiles_add(quantiles, above, err);
    }
    double upper = roast_quantiles_get(quantiles, 0.75);
    of->height = upper + ROAST_OUTLIER_FENCE * (upper - roast_quantiles_get(quantiles, 0.25));
    roast_quantiles_free(quantiles);
    return status;
}

static bool is_outlier(const fence *of, double x, double y) {
    double above = distance(of, x, y);
    return above > of->height && above >= ROAST_OUTLIER_SHARE * fabs(expected(of, x)) && above > 0;
}

/* Puts a point into its place among those that were found, the farthest first; the last one goes where
 * there is no room. Few are wanted: no heap is needed. */
static void insert(const fence *of, const double *xs, const double *ys, size_t index, uint32_t max,
                   roast_outlier *out, uint32_t *count) {
    double above = distance(of, xs[index], ys[index]);
    uint32_t place = *count;
    while (place > 0 && distance(of, xs[out[place - 1].index], ys[out[place - 1].index]) < above)
        place--;
    if (place >= max)
        return;
    if (*count < max)
        ++*count;
    for (uint32_t i = *count - 1; i > place; i--)
        out[i] = out[i - 1];
    out[place] = (roast_outlier){index, expected(of, xs[index])};
}

roast_status roast_outliers_find(const double *xs, const double *ys, size_t n, double intercept,
                                 double slope, uint32_t max, roast_outlier *out, uint32_t *count,
                                 uint64_t *all, roast_error *err) {
    fence of = {intercept, slope, NAN};
    ROAST_TRY(set_height(&of, xs, ys, n, err));
    *count = 0;
    *all = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_outlier(&of, xs[i], ys[i]))
            continue;
        ++*all;
        insert(&of, xs, ys, i, max, out, count);
    }
    return ROAST_OK;
}
