/* The tasks of a run in lanes: every chunk, and every try without a chunk, is in a lane of its worker's thread. */
#ifndef ROAST_TASKS_H
#define ROAST_TASKS_H

#include "roast/run.h"

typedef struct roast_task_lanes roast_task_lanes;

/* Finds the try of each chunk (same key, same worker), and the lanes. With more than `most` bars a worker has one lane
 * for all of them, and they may overlap: so many cannot be drawn one by one. If there are more than `most` chunks and
 * each has a try, only the tries get bars. The run may be freed afterwards. Needs some 100 bytes for each chunk and try.
 * ROAST_ENOMEM. */
roast_status roast_task_lanes_new(const roast_run *run, size_t most, roast_task_lanes **out,
                                  roast_error *err);
void roast_task_lanes_free(roast_task_lanes *lanes);

/* One lane: a thread of a worker, or one of several lanes of a thread whose bars overlap. */
typedef struct roast_lane {
    roast_str worker; /* borrowed; a chunk whose worker is not known stands under "host:pid" */
    uint32_t number;  /* of the worker */
    int64_t thread;   /* the kernel's number where it is known, else Python's; 0: not known */
    uint32_t copy;    /* 0: the thread's first lane */
} roast_lane;
uint32_t roast_task_lanes_count(const roast_task_lanes *lanes);
/* index must be below the count. */
roast_lane roast_task_lanes_at(const roast_task_lanes *lanes, uint32_t index);
/* The workers by their numbers, those of the lanes among them. */
uint32_t roast_task_lanes_worker_count(const roast_task_lanes *lanes);
roast_str roast_task_lanes_worker(const roast_task_lanes *lanes, uint32_t number);

/* The place of a chunk or a try. Times are nanoseconds since 1970, UTC. */
typedef struct roast_lane_place {
    bool there;         /* false: its time is not known; or it is a try, and its chunk is drawn */
    uint32_t lane;      /* index of the lane */
    int64_t task_start; /* of a chunk: the task began where that is known, else process() */
    int64_t task_stop;  /* of a chunk: the task ended where its try is known, else process() */
} roast_lane_place;
/* By their number in the order of the run, which must be one of them. */
roast_lane_place roast_task_lanes_chunk(const roast_task_lanes *lanes, size_t number);
/* False: no chunk has a bar. */
bool roast_task_lanes_have_chunks(const roast_task_lanes *lanes);
roast_lane_place roast_task_lanes_attempt(const roast_task_lanes *lanes, size_t number);

#endif
