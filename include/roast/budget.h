/* The budget: where every core-second of a run went.
 *
 * The available core-seconds are the threads of the workers times their time from join to leave, between the start
 * and the end of the run. The parts add up to them; the rest is the part "unaccounted". */
#ifndef ROAST_BUDGET_H
#define ROAST_BUDGET_H

#include "roast/base.h"
#include "roast/run.h"

/* One row per part, in the order of display. Labels are in the catalogue: ROAST_METRIC(budget_<part>, ...). */
#define ROAST_BUDGET_PARTS(X)                                                                      \
    X(preprocessing)  /* reading the lengths of the files; threads that waited for it */           \
    X(cold_start)     /* a task waited for its Python: start, imports, exit */                     \
    X(before_process) /* task start to entry: open the file, build events */                       \
    X(read)           /* inside process() */                                                       \
    X(compute_cpu)    /* inside process(), the rest */                                             \
    X(compute_offcpu)                                                                              \
    X(after_process) /* return to task end: pickle, compress */                                    \
    X(processing)    /* whole processing tasks, where no chunk has a record */                     \
    X(reduction)                                                                                   \
    X(other_tasks)     /* the user's own, other clients' */                                        \
    X(worker_overhead) /* a thread was free, a task was on the worker */                           \
    X(lost)            /* attempts without a result */                                             \
    X(client)          /* threads waited for the client */                                         \
    X(idle_ramp_up)    /* before the worker's first task */                                        \
    X(idle_starved)    /* no runnable task was left for it */                                      \
    X(idle_between)    /* runnable tasks were queued, none was sent to it */                       \
    X(idle_tail)       /* after the last processing task has begun */                              \
    X(unaccounted)
typedef enum roast_budget_part {
#define X(name) ROAST_PART_##name,
    ROAST_BUDGET_PARTS(X)
#undef X
        ROAST_PART_COUNT
} roast_budget_part;
/* "before_process", "Before process()"; "unknown" for any other number. */
const char *roast_budget_part_name(roast_budget_part part);
const char *roast_budget_part_label(roast_budget_part part);

/* How the budget is split into rows. */
#define ROAST_BUDGET_SPLITS(X) X(dataset) X(worker) X(host) X(file) X(storage)
typedef enum roast_budget_split {
#define X(name) ROAST_BY_##name,
    ROAST_BUDGET_SPLITS(X)
#undef X
        ROAST_SPLIT_COUNT
} roast_budget_split;
const char *roast_budget_split_name(roast_budget_split split);

/* All in core-seconds. A part that nobody could tell is NaN:
 *   preprocessing              without phases of the client
 *   client                     without attempts and phases
 *   before_process, read, lost without attempts and records of chunks
 *   cold_start                 where no task was seen to start or end its Python
 *   compute_offcpu             without attempts, records and spans
 *   after_process, worker_overhead without attempts
 *   reduction, other_tasks     without attempts and spans
 *   processing                 with records of chunks, or without attempts; if it is known, the five parts
 *                              before_process to after_process are NaN
 *   idle_...                   without attempts, or spans and records; with records alone only idle_tail is known */
typedef struct roast_budget_row {
    roast_str
        name; /* absent: of the whole run; among datasets, files and storages: the time that belongs to none of them */
    double available;
    double parts[ROAST_PART_COUNT];
    /* The parts of compute_offcpu; NaN: not reported by the kernel. */
    double offcpu_io;       /* waited for a disk */
    double offcpu_runqueue; /* could have run, but the cores were taken */
    double offcpu_rest;     /* locks (Python's own), network, sleep */
    /* The parts of read; NaN: not measured. */
    double read_cpu; /* the thread computed: unpacking, interpreting */
    double
        read_others; /* it waited while threads without a chunk computed, as long as these did at most */
    double read_wait; /* the rest: it waited for data, or for a core */
} roast_budget_row;

typedef struct roast_budget roast_budget;

/* Computed from the clock, the worker series and the chunks, and from attempts and spans if the run has them.
 * ROAST_ENOTFOUND without a clock, or without a worker whose threads are known: the available time is not known. */
roast_status roast_budget_compute(const roast_run *run, roast_budget **out, roast_error *err);
/* Whether roast_budget_compute would find a budget. Takes a fraction of its time. */
roast_status roast_budget_is_known(const roast_run *run, bool *known, roast_error *err);
void roast_budget_free(roast_budget *budget);

/* Borrowed from the budget, as are the names. */
const roast_budget_row *roast_budget_total(const roast_budget *budget);
/* One row each, in the order of their first mention; the rows add up to the total. */
const roast_budget_row *roast_budget_rows(const roast_budget *budget, roast_budget_split split,
                                          uint32_t *count);
/* Seconds by which the run would have been shorter without this part: its core-seconds divided by the average
 * number of threads. 0 without threads; NaN if the part is not known. */
double roast_budget_saving(const roast_budget *budget, roast_budget_part part);
/* Whether the tries of the tasks were known. Without them the clocks of the chunks are used. */
bool roast_budget_has_attempts(const roast_budget *budget);

#endif
