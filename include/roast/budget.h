/* The budget: where every core-second of a run went.
 *
 * Available is what was paid for: threads times time, from the joins and leaves of the workers between
 * the start and the end of the run. The parts add up to it; what no source accounts for is a part as
 * well, "unaccounted". */
#ifndef ROAST_BUDGET_H
#define ROAST_BUDGET_H

#include "roast/base.h"
#include "roast/run.h"

/* One row a part: name, label. The order is that in which people see them. */
#define ROAST_BUDGET_PARTS(X)                                                                      \
    X(before_process, "Before process()") /* task start to entry: open the file, build events */   \
    X(read, "Reading Columns")            /* inside process() */                                   \
    X(compute_cpu, "Computing, on CPU")   /* inside process(), the rest */                         \
    X(compute_offcpu, "Computing, off CPU")                                                        \
    X(after_process, "After process()") /* return to task end: pickle, compress */                 \
    X(reduction, "Reduction Tasks")                                                                \
    X(other_tasks, "Other Tasks")          /* preprocessing, the user's own, other clients' */     \
    X(worker_overhead, "Worker Overhead")  /* a task was there, a thread was free */               \
    X(lost, "Lost Work")                   /* attempts that came to nothing */                     \
    X(idle_ramp_up, "Idle: Ramp-up")       /* before the worker's first task */                    \
    X(idle_starved, "Idle: Starved")       /* no runnable task was left for it */                  \
    X(idle_between, "Idle: Between Tasks") /* runnable tasks were queued, none was sent to it */   \
    X(idle_tail, "Idle: Tail")             /* after the last processing task has begun */          \
    X(unaccounted, "Unaccounted")
typedef enum roast_budget_part {
#define X(name, label) ROAST_PART_##name,
    ROAST_BUDGET_PARTS(X)
#undef X
        ROAST_PART_COUNT
} roast_budget_part;
/* "before_process", "Before process()"; "unknown" for a number that is no part. */
const char *roast_budget_part_name(roast_budget_part part);
const char *roast_budget_part_label(roast_budget_part part);

/* By what the budget is split further. */
#define ROAST_BUDGET_SPLITS(X) X(dataset) X(worker) X(host) X(file)
typedef enum roast_budget_split {
#define X(name) ROAST_BY_##name,
    ROAST_BUDGET_SPLITS(X)
#undef X
        ROAST_SPLIT_COUNT
} roast_budget_split;
const char *roast_budget_split_name(roast_budget_split split);

/* All in core-seconds. A part that nobody could tell is NaN: without attempts, what is after process()
 * and what the worker did beside the tasks; without attempts and spans also the other tasks. */
typedef struct roast_budget_row {
    roast_str name; /* absent: the whole; among datasets and files: what belongs to none of them */
    double available;
    double parts[ROAST_PART_COUNT];
    /* compute_offcpu further, as the kernel tells; NaN: it does not. */
    double offcpu_io;       /* waited for a disk */
    double offcpu_runqueue; /* could have run, but the cores were taken */
    double offcpu_rest;     /* locks (Python's own), network, sleep */
} roast_budget_row;

typedef struct roast_budget roast_budget;

/* From the clock, the worker series, the chunks, and, where they are there, attempts and spans.
 * ROAST_ENOTFOUND where what is available is not known: no clock, or no worker with its threads. */
roast_status roast_budget_compute(const roast_run *run, roast_budget **out, roast_error *err);
/* Whether there is one: whether what is available is known. Takes a fraction of the time. */
roast_status roast_budget_is_known(const roast_run *run, bool *known, roast_error *err);
void roast_budget_free(roast_budget *budget);

/* Borrowed from the budget, as are the names. */
const roast_budget_row *roast_budget_total(const roast_budget *budget);
/* One row each, in the order of their first mention; the rows add up to the total. */
const roast_budget_row *roast_budget_rows(const roast_budget *budget, roast_budget_split split,
                                          uint32_t *count);
/* Seconds by which the run would have been shorter without this part: its core-seconds over the
 * threads that there were on average. 0 where there were none. */
double roast_budget_saving(const roast_budget *budget, roast_budget_part part);
/* Whether the tries of the tasks were known; otherwise the chunks' own clocks had to do. */
bool roast_budget_has_attempts(const roast_budget *budget);

#endif
