/* Fewer points that still show what many did. */
#include "roast/bins.h"

#include <math.h>

/* ---- a line ---- */

/* The places of the lowest and the highest value of from .. to-1; `to` where all are absent. */
static void find_extremes(const double *ys, size_t from, size_t to, size_t *lowest,
                          size_t *highest) {
    *lowest = *highest = to;
    for (size_t i = from; i < to; i++) {
        if (isnan(ys[i]))
            continue;
        if (*lowest == to || ys[i] < ys[*lowest])
            *lowest = i;
        if (*highest == to || ys[i] > ys[*highest])
            *highest = i;
    }
}

size_t roast_thin(const double *xs, const double *ys, size_t n, size_t max, double *out_xs,
                  double *out_ys) {
    size_t used = 0;
#define KEEP(index) (out_xs[used] = xs[index], out_ys[used] = ys[index], used++)
    if (n <= max) {
        for (size_t i = 0; i < n; i++)
            KEEP(i);
        return used;
    }
    size_t inner = n - 2, stretches = (max - 2) / 2;
    KEEP(0);
    for (size_t k = 0; k < stretches; k++) {
        size_t from = 1 + (size_t)((double)inner / (double)stretches * (double)k);
        size_t to = k + 1 < stretches
                        ? 1 + (size_t)((double)inner / (double)stretches * (double)(k + 1))
                        : 1 + inner;
        size_t lowest, highest;
        find_extremes(ys, from, to, &lowest, &highest);
        if (lowest == to) { /* a gap stays one */
            if (from < to)
                KEEP(from);
            continue;
        }
        KEEP(lowest < highest ? lowest : highest);
        if (lowest != highest)
            KEEP(lowest < highest ? highest : lowest);
    }
    KEEP(n - 1);
#undef KEEP
    return used;
}

/* ---- groups ---- */

/* n * part / parts without the overflow of the product. */
static size_t share_of(size_t n, size_t part, size_t parts) {
    return (size_t)((unsigned __int128)n * part / parts);
}

void roast_group_ranges(const double *values, size_t n, size_t groups, double *means, double *lows,
                        double *highs) {
    for (size_t g = 0; g < groups; g++) {
        size_t to = share_of(n, g + 1, groups), seen = 0;
        double sum = 0;
        means[g] = lows[g] = highs[g] = NAN;
        for (size_t i = share_of(n, g, groups); i < to; i++) {
            if (isnan(values[i]))
                continue;
            if (seen == 0 || values[i] < lows[g])
                lows[g] = values[i];
            if (seen == 0 || values[i] > highs[g])
                highs[g] = values[i];
            sum += values[i];
            seen++;
        }
        if (seen > 0)
            means[g] = sum / (double)seen;
    }
}

void roast_group_sums(const int32_t *codes, const double *values, size_t n, uint32_t groups,
                      double *sums) {
    for (size_t i = 0; i < n; i++)
        if (codes[i] >= 0 && (uint32_t)codes[i] < groups && !isnan(values[i]))
            sums[codes[i]] += values[i];
}
