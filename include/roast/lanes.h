/* Bars over time, drawn in lanes so that no two bars of a lane overlap: for the trace and for charts of
 * chunks per worker. */
#ifndef ROAST_LANES_H
#define ROAST_LANES_H

#include "roast/base.h"

/* Something that ran from start to stop, in any unit of time. */
typedef struct roast_bar {
    int64_t start, stop;
    int64_t latest; /* if its lane is not free yet, the bar may begin this late */
    int64_t thread; /* bars of different owners or threads never share a lane */
    uint32_t owner;
    uint32_t lane; /* out: 0, 1, ... among the lanes of its owner's thread */
} roast_bar;

/* Sorts the n pointers by owner, thread and time, and gives each bar the first lane that is free when it begins,
 * so that an owner's thread has as few lanes as possible. Moves the start of a bar to the end of the previous bar,
 * if that is not after `latest`. ROAST_ENOMEM. */
roast_status roast_bars_pack(roast_bar **bars, size_t n, roast_error *err);

#endif
