#include "metrics/formulas.h"

#include "base/random.h"

struct roast_quantiles {
    double *values;
    size_t kept, capacity;
    uint64_t seen; /* values that were ever added */
    uint64_t
        random; /* state of the generator: always the same sequence, so that a result repeats */
};

roast_status roast_quantiles_new(roast_quantiles **out, roast_error *err) {
    roast_quantiles *quantiles = roast_alloc_zero(sizeof *quantiles);
    if (quantiles == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "quantiles", -1, "no memory for quantiles");
    *out = quantiles;
    return ROAST_OK;
}

void roast_quantiles_free(roast_quantiles *quantiles) {
    if (quantiles == NULL)
        return;
    roast_free(quantiles->values);
    roast_free(quantiles);
}

/* ---- in ---- */

static bool grow(roast_quantiles *quantiles) {
    size_t wanted = quantiles->capacity == 0 ? 64 : quantiles->capacity * 2;
    if (wanted > ROAST_EXACT_VALUES)
        wanted = ROAST_EXACT_VALUES;
    double *values = roast_realloc(quantiles->values, wanted * sizeof *values);
    if (values == NULL)
        return false;
    quantiles->values = values;
    quantiles->capacity = wanted;
    return true;
}

roast_status roast_quantiles_add(roast_quantiles *quantiles, double value, roast_error *err) {
    if (isnan(value))
        return roast_error_set(err, ROAST_EINVAL, "quantiles", -1, "not a number has no place");
    if (quantiles->kept < ROAST_EXACT_VALUES) {
        if (quantiles->kept == quantiles->capacity && !grow(quantiles))
            return roast_error_set(err, ROAST_ENOMEM, "quantiles", -1,
                                   "no memory for more than %zu values", quantiles->kept);
        quantiles->values[quantiles->kept++] = value;
        quantiles->seen++;
        return ROAST_OK;
    }
    /* Reservoir: each value ever seen has the same chance to be among those that are kept. */
    uint64_t place = roast_random_below(&quantiles->random, ++quantiles->seen);
    if (place < quantiles->kept)
        quantiles->values[place] = value;
    return ROAST_OK;
}

/* ---- out ---- */

double roast_quantiles_get(roast_quantiles *quantiles, double q) {
    size_t n = quantiles->kept;
    if (n == 0 || !(q >= 0 && q <= 1))
        return NAN;
    double place = (double)(n - 1) * q;
    size_t below = (size_t)place;
    double share = place - (double)below;
    double a = roast_select(quantiles->values, n, below);
    if (share == 0)
        return a;
    double b = INFINITY; /* the smallest of those behind */
    for (size_t i = below + 1; i < n; i++)
        b = fmin(b, quantiles->values[i]);
    if (a == b) /* infinite ones too, whose difference is no number */
        return a;
    return share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);
}
