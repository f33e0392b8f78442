#include "roast/spread.h"

#include <math.h>

roast_status roast_spread_init(roast_spread *spread, size_t rows, size_t bins, double low,
                               double high, roast_error *err) {
    static const size_t most = (size_t)1 << 28;
    *spread = (roast_spread){
        .low = low, .width = (high - low) / (double)bins, .rows = rows, .bins = bins};
    if (rows == 0 || bins == 0 || rows > most / (bins + 1) || !isfinite(low) ||
        !isfinite(spread->width) || !(spread->width > 0))
        return roast_error_set(err, ROAST_EINVAL, "spread", -1, "these are no bins");
    spread->parts = roast_alloc_zero(rows * (bins + 1) * sizeof *spread->parts);
    spread->change = roast_alloc_zero(rows * (bins + 1) * sizeof *spread->change);
    if (spread->parts != NULL && spread->change != NULL)
        return ROAST_OK;
    roast_spread_reset(spread);
    return roast_error_set(err, ROAST_ENOMEM, "spread", -1, "no memory for the bins");
}

void roast_spread_reset(roast_spread *spread) {
    roast_free(spread->parts);
    roast_free(spread->change);
    *spread = (roast_spread){0};
}

static size_t bin_of(const roast_spread *spread, double moment) {
    double bin = (moment - spread->low) / spread->width;
    if (!(bin > 0))
        return 0;
    return bin < (double)spread->bins ? (size_t)bin : spread->bins - 1;
}

void roast_spread_add(roast_spread *spread, size_t row, double start, double end, double amount) {
    if (row >= spread->rows || !isfinite(start) || !isfinite(end) || !isfinite(amount))
        return;
    end = end > start ? end : start;
    size_t first = bin_of(spread, start), last = bin_of(spread, end);
    double *parts = spread->parts + row * (spread->bins + 1);
    double *change = spread->change + row * (spread->bins + 1);
    if (first == last) {
        parts[first] += amount;
        return;
    }
    double rate = amount / (end - start);
    parts[first] += rate * (spread->low + (double)(first + 1) * spread->width - start);
    parts[last] += rate * (end - (spread->low + (double)last * spread->width));
    /* The bins between are full: the rate begins with one and ends with another. */
    change[first + 1] += rate;
    change[last] -= rate;
}

void roast_spread_rates(const roast_spread *spread, double *rates) {
    for (size_t row = 0; row < spread->rows; row++) {
        const double *parts = spread->parts + row * (spread->bins + 1);
        const double *change = spread->change + row * (spread->bins + 1);
        double full = 0;
        for (size_t bin = 0; bin < spread->bins; bin++) {
            full += change[bin];
            *rates++ = fmax(parts[bin] / spread->width + full, 0);
        }
    }
}
