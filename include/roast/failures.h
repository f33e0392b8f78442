/* Failures of a run: workers that left, and pieces of the input that were not processed. */
#ifndef ROAST_FAILURES_H
#define ROAST_FAILURES_H

#include "roast/base.h"
#include "roast/run.h"

/* A worker that left, with its last samples. */
typedef struct roast_lost_worker {
    roast_str worker; /* borrowed from the attempts */
    roast_departure departure;
    double memory_fraction; /* of its limit, the most in its last samples; NaN: not known */
    double memory_age;      /* seconds from that sample until it left */
    double silence;         /* seconds since its last heartbeat; NaN: not known */
    uint32_t others;        /* other workers that left with the same task, for its worst task */
} roast_lost_worker;

/* The last samples of a worker are those within this time before it left. */
#define ROAST_LAST_SAMPLES_S 10.0

/* All workers that left during a run; none if the tasks were not watched. The run must not change meanwhile. */
typedef struct roast_lost_workers roast_lost_workers;
roast_status roast_lost_workers_find(const roast_run *run, roast_lost_workers **out,
                                     roast_error *err);
void roast_lost_workers_free(roast_lost_workers *lost);
uint32_t roast_lost_workers_count(const roast_lost_workers *lost);
/* In the order in which they left; the worker is absent beyond the end. */
roast_lost_worker roast_lost_workers_at(const roast_lost_workers *lost, uint32_t index);
/* The keys of its tasks; borrowed, absent beyond the end. */
roast_str roast_lost_workers_task(const roast_lost_workers *lost, uint32_t index, uint32_t task);
/* The likely cause in words, as snprintf would write it: "memory reached 97% of the limit 0.4 s
 * before". The length without the terminator. */
size_t roast_lost_worker_cause(const roast_lost_worker *lost, char *out, size_t size);

/* A piece of the input. Strings are borrowed. */
typedef struct roast_piece {
    roast_str dataset, file, treename; /* absent: not known */
    int64_t start, stop;               /* entries; -1: not known */
} roast_piece;

/* The pieces that failed, each once. A piece failed if process() raised in a record, if a task that raised names
 * it, or if the caller lists it (`more`); unless another record shows that the same piece was processed. Ordered
 * by these three sources. */
typedef struct roast_failed_pieces roast_failed_pieces;
roast_status roast_failed_pieces_find(const roast_run *run, const roast_piece *more,
                                      size_t more_count, roast_failed_pieces **out,
                                      roast_error *err);
void roast_failed_pieces_free(roast_failed_pieces *pieces);
uint32_t roast_failed_pieces_count(const roast_failed_pieces *pieces);
/* Borrowed from the pieces. All absent beyond the end. */
roast_piece roast_failed_pieces_at(const roast_failed_pieces *pieces, uint32_t index);

/* The processing tasks that raised, or were lost with their worker, and were never done. Not all of them name
 * their piece: a dead worker reports nothing. Each once, in the order of failure; none if the tasks were not
 * watched. */
typedef struct roast_failed_tasks roast_failed_tasks;
roast_status roast_failed_tasks_find(const roast_run *run, roast_failed_tasks **out,
                                     roast_error *err);
void roast_failed_tasks_free(roast_failed_tasks *tasks);
uint32_t roast_failed_tasks_count(const roast_failed_tasks *tasks);
/* Borrowed from the tasks. Absent beyond the end. */
roast_str roast_failed_tasks_key(const roast_failed_tasks *tasks, uint32_t index);

/* Finds the work item in Coffea's message of a failure: "... WorkItem(dataset='a', filename='f', ...". false:
 * there is none. The strings are borrowed from the message, without their quotes. */
bool roast_piece_parse(roast_str text, roast_piece *out);

#endif
