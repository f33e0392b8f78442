/* What went wrong in a run: workers that left, and pieces of the input that were not processed. */
#ifndef ROAST_FAILURES_H
#define ROAST_FAILURES_H

#include "roast/base.h"
#include "roast/run.h"

/* A worker that left, with what its last samples say. */
typedef struct roast_lost_worker {
    roast_str worker; /* borrowed from the attempts */
    roast_departure departure;
    double memory_fraction; /* of its limit, the most in its last samples; NaN: not known */
    double memory_age;      /* seconds from then until it left */
    double silence;         /* seconds since it was last heard of; NaN: not known */
    uint32_t others; /* other workers that left with one of its tasks, the most of any task */
} roast_lost_worker;

/* How far back from its end the last samples of a worker reach. */
#define ROAST_LAST_SAMPLES_S 10.0

/* All of a run, which must stay as it is; none where nobody watched. */
typedef struct roast_lost_workers roast_lost_workers;
roast_status roast_lost_workers_find(const roast_run *run, roast_lost_workers **out,
                                     roast_error *err);
void roast_lost_workers_free(roast_lost_workers *lost);
uint32_t roast_lost_workers_count(const roast_lost_workers *lost);
/* In the order in which they left; the worker is absent beyond the end. */
roast_lost_worker roast_lost_workers_at(const roast_lost_workers *lost, uint32_t index);
/* The keys of the tasks that it had; borrowed, absent beyond the end. */
roast_str roast_lost_workers_task(const roast_lost_workers *lost, uint32_t index, uint32_t task);
/* The likely cause in words, as snprintf would write it: "memory reached 97% of the limit 0.4 s
 * before". The length without the terminator. */
size_t roast_lost_worker_cause(const roast_lost_worker *lost, char *out, size_t size);

/* A piece of the input. Strings are borrowed from what it was made of. */
typedef struct roast_piece {
    roast_str dataset, file, treename; /* absent: not known */
    int64_t start, stop;               /* entries; -1: not known */
} roast_piece;

/* The pieces that failed: a record of process() says that it raised, a task that raised names its work
 * item, or it is one of `more`, which the caller has from elsewhere; and no record says that the same piece
 * went well. Each once, in this order. */
typedef struct roast_failed_pieces roast_failed_pieces;
roast_status roast_failed_pieces_find(const roast_run *run, const roast_piece *more,
                                      size_t more_count, roast_failed_pieces **out,
                                      roast_error *err);
void roast_failed_pieces_free(roast_failed_pieces *pieces);
uint32_t roast_failed_pieces_count(const roast_failed_pieces *pieces);
/* Borrowed from the pieces. All absent beyond the end. */
roast_piece roast_failed_pieces_at(const roast_failed_pieces *pieces, uint32_t index);

/* The processing tasks that failed: one that raised, or was lost with its worker, and was never done. Not all
 * of them name their piece: a worker that dies says nothing. Each once, in the order in which they failed;
 * none where nobody watched. */
typedef struct roast_failed_tasks roast_failed_tasks;
roast_status roast_failed_tasks_find(const roast_run *run, roast_failed_tasks **out,
                                     roast_error *err);
void roast_failed_tasks_free(roast_failed_tasks *tasks);
uint32_t roast_failed_tasks_count(const roast_failed_tasks *tasks);
/* Borrowed from the tasks. Absent beyond the end. */
roast_str roast_failed_tasks_key(const roast_failed_tasks *tasks, uint32_t index);

/* The work item in what Coffea says of a failure: "... WorkItem(dataset='a', filename='f', ...". false:
 * there is none. Strings are as they stand there, without their quotes. */
bool roast_piece_parse(roast_str text, roast_piece *out);

#endif
