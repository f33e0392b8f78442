/* Who ran where and when, side by side: gives every chunk, and every try that is not a chunk's, a lane of
 * its worker's thread, so that nothing in a lane overlaps.
 *
 * What it needs to know of a run of any size lies in a temporary file, not in memory. Use: add the tries,
 * then the chunks, settle, then ask for the places in the same order. */
#ifndef ROAST_LANES_H
#define ROAST_LANES_H

#include "roast/attempts.h"
#include "roast/chunklog.h"

typedef struct roast_lanes roast_lanes;

/* ROAST_EIO where there is no room for a temporary file. */
roast_status roast_lanes_new(roast_lanes **out, roast_error *err);
void roast_lanes_free(roast_lanes *lanes);

roast_status roast_lanes_add_attempt(roast_lanes *lanes, const roast_attempt *attempt,
                                     roast_str worker, roast_error *err);
/* A chunk whose worker is not told stands under "host:pid". */
roast_status roast_lanes_add_chunk(roast_lanes *lanes, const roast_chunk *chunk, roast_error *err);
/* Finds the try of each chunk (same key, same worker), and the lanes. */
roast_status roast_lanes_settle(roast_lanes *lanes, roast_error *err);

/* One lane: a thread of a worker, or a further one of its lanes where what ran there overlaps. */
typedef struct roast_lane {
    roast_str worker; /* borrowed */
    int64_t thread;   /* the kernel's number where it is known, else Python's; 0: not known */
    uint32_t copy;    /* 0: the thread's own lane */
} roast_lane;
uint32_t roast_lanes_count(const roast_lanes *lanes);
/* Worker absent beyond the end. */
roast_lane roast_lanes_at(const roast_lanes *lanes, uint32_t index);

/* Where a chunk or a try stands. Times are nanoseconds since 1970, UTC. */
typedef struct roast_place {
    bool there;    /* false: it does not say when it ran; or, of a try, it is that of a chunk */
    uint32_t lane; /* index of the lane */
    int64_t task_start; /* of a chunk: the task began, where that is known, else process() */
    int64_t task_stop;  /* of a chunk: the task ended, where its try is known, else process() */
} roast_place;
/* Of the next chunk, of the next try. ROAST_ESTATE: there is none, or nothing was settled. */
roast_status roast_lanes_next_chunk(roast_lanes *lanes, roast_place *out, roast_error *err);
roast_status roast_lanes_next_attempt(roast_lanes *lanes, roast_place *out, roast_error *err);

#endif
