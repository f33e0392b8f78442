/* The rows of the catalogue by name, for the formulas. */
#ifndef ROAST_METRICS_CATALOGUE_H
#define ROAST_METRICS_CATALOGUE_H

#include "roast/metrics.h"

enum {
#define ROAST_METRIC(id, key, aliases, type, scope, unit, group, label, formula, caveat)           \
    ROAST_M_##id,
#include "metrics/catalogue.def"
#undef ROAST_METRIC
    ROAST_M_COUNT
};

/* Whether a row has one number a run: a scalar of the scope "metrics". */
bool roast_catalogue_is_scalar(uint32_t index);

#endif
