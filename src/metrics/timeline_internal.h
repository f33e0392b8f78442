/* What the files of the timeline share. */
#ifndef ROAST_METRICS_TIMELINE_INTERNAL_H
#define ROAST_METRICS_TIMELINE_INTERNAL_H

#include "roast/base.h"

/* Differences of the whole numbers: seconds since 1970 as doubles would lose the nanoseconds. */
static inline double roast_seconds_since(roast_utc start, roast_utc when) {
    if (when.ns < start.ns)
        return -(double)((uint64_t)start.ns - (uint64_t)when.ns) / 1e9;
    return (double)((uint64_t)when.ns - (uint64_t)start.ns) / 1e9;
}

#endif
