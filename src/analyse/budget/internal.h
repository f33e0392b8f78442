/* The steps to a budget; shared by the files of this module. Times are microseconds since 1970. */
#ifndef ROAST_ANALYSE_BUDGET_INTERNAL_H
#define ROAST_ANALYSE_BUDGET_INTERNAL_H

#include "base/intern.h"
#include "metrics/groups.h"
#include "model/match.h"
#include "roast/budget.h"

#define ROAST_NONE UINT32_MAX

/* ---- stretches of time ---- */
typedef struct roast_stretch {
    int64_t from, to;
    int64_t before; /* how much of the set lies before it */
} roast_stretch;
typedef struct roast_stretches {
    roast_stretch *list;
    size_t capacity, count;
} roast_stretches;

/* ---- workers ---- */
/* A stretch of time in which a worker was there. */
typedef struct roast_budget_life {
    uint32_t worker;
    int64_t from, to;
    int32_t threads;
} roast_budget_life;

typedef struct roast_budget_worker {
    uint32_t host;              /* number of the host, or ROAST_NONE */
    int64_t first_sent;         /* of its first task, or INT64_MAX */
    uint32_t first_life, lives; /* in `lives` */
    uint64_t first_task, tasks; /* in `order` */
} roast_budget_worker;

/* ---- tasks ---- */
typedef enum roast_task_use {
    ROAST_USE_PROCESSING,
    ROAST_USE_REDUCTION,
    ROAST_USE_OTHER,
    ROAST_USE_PREPROCESSING,
    ROAST_USE_LOST
} roast_task_use;

/* One try on a worker. start_us NO_TIME: nobody knows when it computed. */
typedef struct roast_budget_task {
    int64_t sent, start, stop, ended;
    double weight; /* of the worker's time before it began; see the sweep */
    uint32_t worker;
    uint32_t chunk; /* number of its clocks, or ROAST_NONE */
    uint8_t use;
} roast_budget_task;

/* ---- chunks ---- */
/* The clocks of one chunk, in seconds; NaN: not there. */
typedef struct roast_budget_clocks {
    int64_t start;
    uint32_t worker;
    uint32_t number; /* of the chunk among all that were added, from 0 */
    double before, duration, read, cpu, io_wait, runqueue;
    int64_t thread;
    uint32_t dataset, file, storage; /* or ROAST_NONE */
    float read_cpu;                  /* of `cpu`, in reads */
    float others;                    /* CPU time of threads without a chunk */
    float repeated; /* of `before`: tries inside the same task that raised, by their clocks */
    float loaded;   /* process() was loaded so long before it was entered */
    float packed;   /* from its return until its record was packed with the output */
    bool failed;
} roast_budget_clocks;

/* The CPU time of a worker's process up to its samples. */
typedef struct roast_budget_cpu_point {
    int64_t when;
    double total; /* s */
} roast_budget_cpu_point;
typedef struct roast_budget_cpu {
    roast_budget_cpu_point *points;
    size_t capacity, count;
} roast_budget_cpu;

/* The rows of datasets, files, workers or hosts. */
typedef struct roast_budget_table {
    roast_groups rows; /* an item: roast_budget_row */
    bool has_rest;     /* behind the rows stands one without a name */
} roast_budget_table;
static inline roast_budget_row *roast_budget_row_at(const roast_budget_table *table, uint32_t id) {
    return roast_groups_item(&table->rows, id);
}

struct roast_budget {
    roast_budget_row total;
    roast_budget_table tables[ROAST_SPLIT_COUNT];
    double wall; /* s */
    bool has_attempts;
};

typedef struct roast_budget_work {
    const roast_run *run;
    roast_budget *budget;
    int64_t from, to; /* of the run */
    int64_t first_task, tail;
    bool has_spans;   /* some tell of tasks: it is a cluster */
    bool unhosted;    /* the host of some worker is not known */
    bool own_python;  /* each task has a process of its own, which ends with it */
    double cpu_share; /* of the processing tasks by the spans; NaN: not known */

    roast_budget_worker *workers;
    size_t workers_capacity;
    roast_budget_life *lives;
    size_t lives_capacity, life_count;
    roast_budget_task *tasks;
    size_t tasks_capacity;
    uint64_t task_count;
    uint32_t *order; /* the tasks, worker by worker */
    roast_budget_clocks *chunks;
    size_t chunks_capacity;
    uint32_t chunk_count;
    uint32_t added;      /* chunks, with those that do not tell their time */
    uint32_t *by_origin; /* worker + 1 of the chunks of an origin in their log; 0: not known yet */
    size_t origins;
    roast_match match;
    bool has_phases; /* of the client */
    bool sees_idle;  /* tasks or spans tell when a thread had nothing to do */
    roast_stretches preprocessing,
        busy;              /* the client was in it; the engine had other tasks of the run */
    roast_stretches queue; /* the scheduler had runnable tasks that it had not sent */
    /* What a free thread waited for. No two of these sets overlap. */
    roast_stretches client, waiting; /* for preprocessing */
    roast_stretches tails; /* on this machine: the last chunk had begun and had not ended */
    roast_stretches blind; /* on this machine: pieces ran without a record */
    bool shared;           /* roast_budget_share was called */
} roast_budget_work;

/* ---- stretches.c ---- */
/* Adds a stretch; nothing where it ends before it begins. */
roast_status roast_stretches_add(roast_stretches *set, int64_t from, int64_t to);
/* To be called when all are there, before the set is read: those that touch become one. */
void roast_stretches_join(roast_stretches *set);
/* The last one that begins at or before `when`, or NULL. */
const roast_stretch *roast_stretches_last(const roast_stretches *set, int64_t when);
/* Seconds of the time between two moments that are in the set. */
double roast_stretches_within(const roast_stretches *set, int64_t from, int64_t to);
/* Adds to `out` the time between two moments that is not in the set. */
roast_status roast_stretches_rest(const roast_stretches *set, int64_t from, int64_t to,
                                  roast_stretches *out);
void roast_stretches_reset(roast_stretches *set);

/* ---- cpu.c ---- */
roast_status roast_budget_cpu_load(const roast_series *series, uint32_t worker,
                                   roast_budget_cpu *cpu);
/* CPU seconds between two moments. */
double roast_budget_cpu_within(const roast_budget_cpu *cpu, int64_t from, int64_t to);

/* ---- phases.c ---- */
/* Before the tasks: preprocessing and, without attempts, execution. */
roast_status roast_budget_find_phases(roast_budget_work *work);
/* After the tasks: what free threads waited for. */
roast_status roast_budget_settle_phases(roast_budget_work *work);

/* ---- workers.c ---- */
/* The lives of all workers within the run, grouped by worker. */
roast_status roast_budget_find_workers(roast_budget_work *work);
/* The lives alone, not in any order. */
roast_status roast_budget_find_lives(roast_budget_work *work);
/* ROAST_NONE: it is not in the series. */
uint32_t roast_budget_worker_of(roast_budget_work *work, roast_str name);

/* ---- chunks.c ---- */
roast_status roast_budget_add_chunk(roast_budget_work *work, const roast_chunklog *log,
                                    const roast_chunk *chunk);

/* ---- tasks.c ---- */
roast_status roast_budget_find_tasks(roast_budget_work *work);

/* ---- sweep.c ---- */
roast_status roast_budget_sweep(roast_budget_work *work);
/* Seconds from the start of a task until process() of its chunk was entered; *cold: of these, until it was loaded. */
double roast_budget_ahead(const roast_budget_task *task, const roast_budget_clocks *chunk,
                          double *cold);
/* The CPU time of process() without the reads. If the CPU time of the reads was not measured, all CPU time counts,
 * up to the time without the reads. */
double roast_budget_compute_cpu(const roast_budget_clocks *chunk, double duration, double read);

/* ---- budget.c ---- */
/* The steps of roast_budget_compute, for callers that walk over the chunks anyway: begin, add each chunk, end. If
 * begin fails, there is nothing to end; it returns the errors of the whole. */
roast_status roast_budget_begin(const roast_run *run, roast_budget_work *work, roast_error *err);
/* Between the last chunk and the end, for callers that want to see the tasks: finds them, and makes the budget. */
roast_status roast_budget_share(roast_budget_work *work);
/* `status`: of the walk; where it is not ROAST_OK, the work is only given up. */
roast_status roast_budget_end(roast_budget_work *work, roast_status status, roast_budget **out,
                              roast_error *err);

enum { ROAST_BUDGET_ROWS = 1 + ROAST_SPLIT_COUNT };
/* The rows that something on a worker belongs to, the total first; how many they are. chunk may be
 * NULL. */
unsigned roast_budget_rows_of(roast_budget_work *work, uint32_t worker,
                              const roast_budget_clocks *chunk,
                              roast_budget_row *rows[ROAST_BUDGET_ROWS]);
void roast_budget_add(roast_budget_work *work, roast_budget_part part, double seconds,
                      uint32_t worker, const roast_budget_clocks *chunk);
#endif
