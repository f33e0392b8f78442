/* Histograms and amounts over time. */
#include "roast/bins.h"

#include <math.h>
#include <stdlib.h>

/* ---- the range ---- */

roast_status roast_bins_fit(const double *values, size_t n, uint32_t count, roast_bins *out,
                            roast_error *err) {
    bool seen = false;
    double low = 0, high = 0;
    if (count == 0 || count > ROAST_MAX_BINS)
        return roast_error_set(err, ROAST_EINVAL, "bins", -1, "1 to %u bins, not %u",
                               ROAST_MAX_BINS, count);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        if (!seen || values[i] < low)
            low = values[i];
        if (!seen || values[i] > high)
            high = values[i];
        seen = true;
    }
    if (!seen)
        return roast_error_set(err, ROAST_ENOTFOUND, "bins", -1, "there is no value");
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    *out = (roast_bins){count, low, high};
    return ROAST_OK;
}

double roast_bins_edge(const roast_bins *bins, uint32_t index) {
    if (index >= bins->count)
        return bins->high;
    return bins->low + (bins->high - bins->low) * ((double)index / bins->count);
}

int64_t roast_bins_find(const roast_bins *bins, double value) {
    if (!(value >= bins->low && value <= bins->high))
        return -1;
    double place = (value - bins->low) / (bins->high - bins->low) * bins->count;
    /* Not a number where the range is one point, or too wide for a difference. */
    uint32_t bin = place >= 0 && place < bins->count ? (uint32_t)place : bins->count - 1;
    /* The quotient is rounded: the edges have the last word. */
    if (value < roast_bins_edge(bins, bin) && bin > 0)
        bin--;
    else if (bin + 1 < bins->count && value >= roast_bins_edge(bins, bin + 1))
        bin++;
    return bin;
}

/* ---- counts ---- */

void roast_bins_count(const roast_bins *bins, const double *values, size_t n, uint64_t *counts) {
    for (size_t i = 0; i < n; i++) {
        int64_t bin = roast_bins_find(bins, values[i]);
        if (bin >= 0)
            counts[bin]++;
    }
}

void roast_bins_count_pairs(const roast_bins *x, const roast_bins *y, const double *xs,
                            const double *ys, size_t n, uint64_t *counts) {
    for (size_t i = 0; i < n; i++) {
        int64_t column = roast_bins_find(x, xs[i]), row = roast_bins_find(y, ys[i]);
        if (column >= 0 && row >= 0)
            counts[(uint64_t)row * x->count + (uint64_t)column]++;
    }
}

/* ---- amounts over time ---- */

/* Adds `rate` for the part of bin `bin` that lies within start to end. */
static void add_part(const roast_bins *bins, double *rates, uint32_t bin, double start, double end,
                     double rate) {
    double low = roast_bins_edge(bins, bin), high = roast_bins_edge(bins, bin + 1);
    double from = start > low ? start : low, to = end < high ? end : high;
    if (to > from)
        rates[bin] += rate * ((to - from) / (high - low));
}

static void spread_one(const roast_bins *bins, double *rates, double start, double end,
                       double amount) {
    double from = start > bins->low ? start : bins->low, to = end < bins->high ? end : bins->high;
    int64_t first = roast_bins_find(bins, from), last = roast_bins_find(bins, to);
    double rate = amount / (end - start);
    if (first < 0 || last < 0 || !(to > from))
        return;
    for (int64_t bin = first; bin <= last; bin++)
        add_part(bins, rates, (uint32_t)bin, start, end, rate);
}

static void add_moment(const roast_bins *bins, double *rates, double when, double amount) {
    int64_t bin = roast_bins_find(bins, when);
    if (bin >= 0)
        rates[bin] += amount / (roast_bins_edge(bins, (uint32_t)bin + 1) -
                                roast_bins_edge(bins, (uint32_t)bin));
}

void roast_bins_spread(const roast_bins *bins, const int32_t *rows_of, uint32_t rows,
                       const double *starts, const double *ends, const double *amounts, size_t n,
                       double *rates) {
    for (size_t i = 0; i < n; i++) {
        int64_t row = rows_of != NULL ? rows_of[i] : 0;
        double seconds = ends[i] - starts[i];
        double amount = amounts != NULL ? amounts[i] : seconds;
        if (row < 0 || row >= rows || !isfinite(amount) || !isfinite(seconds))
            continue;
        double *of_row = rates + (uint64_t)row * bins->count;
        if (seconds > 0)
            spread_one(bins, of_row, starts[i], ends[i], amount);
        else if (amounts != NULL)
            add_moment(bins, of_row, starts[i], amount);
    }
}

/* ---- lanes ---- */

typedef struct interval {
    double start, end;
    size_t index;
    int32_t owner;
} interval;

static int by_owner_and_start(const void *a, const void *b) {
    const interval *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The intervals of one owner, in order of their starts; `free_from` has room for a lane each. */
static uint32_t lanes_of_owner(const interval *intervals, size_t n, double *free_from,
                               int32_t *lanes) {
    uint32_t used = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t lane = 0;
        while (lane < used && free_from[lane] > intervals[i].start)
            lane++;
        used += lane == used;
        free_from[lane] = intervals[i].end;
        lanes[intervals[i].index] = (int32_t)lane;
    }
    return used;
}

static size_t collect(const int32_t *owners_of, uint32_t owners, const double *starts,
                      const double *ends, size_t n, interval *out, int32_t *lanes) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        lanes[i] = -1;
        if (owners_of[i] >= 0 && (uint32_t)owners_of[i] < owners && isfinite(starts[i]) &&
            isfinite(ends[i]))
            out[kept++] = (interval){starts[i], ends[i], i, owners_of[i]};
    }
    return kept;
}

roast_status roast_bins_lanes(const int32_t *owners_of, uint32_t owners, const double *starts,
                              const double *ends, size_t n, int32_t *lanes, uint32_t *counts,
                              roast_error *err) {
    for (uint32_t owner = 0; owner < owners; owner++)
        counts[owner] = 0;
    if (n == 0)
        return ROAST_OK;
    interval *all = n <= SIZE_MAX / sizeof *all ? roast_alloc(n * sizeof *all) : NULL;
    double *free_from = all != NULL ? roast_alloc(n * sizeof *free_from) : NULL;
    if (free_from == NULL) {
        roast_free(all);
        return roast_error_set(err, ROAST_ENOMEM, "lanes", -1, "no memory for %zu intervals", n);
    }
    size_t kept = collect(owners_of, owners, starts, ends, n, all, lanes);
    qsort(all, kept, sizeof *all, by_owner_and_start);
    for (size_t first = 0, next; first < kept; first = next) {
        for (next = first; next < kept && all[next].owner == all[first].owner;)
            next++;
        counts[all[first].owner] = lanes_of_owner(all + first, next - first, free_from, lanes);
    }
    roast_free(all);
    roast_free(free_from);
    return ROAST_OK;
}
