/* The steps from a recorded run to a predicted one; shared by the files of this module. Times are seconds since the
 * first task of processing was sent. */
#ifndef ROAST_ANALYSE_WHAT_IF_INTERNAL_H
#define ROAST_ANALYSE_WHAT_IF_INTERNAL_H

#include "analyse/diagnose/chunk_cost.h"
#include "base/arena.h"
#include "roast/what_if.h"

/* ---- what was recorded ---- */

/* A task of processing, with its chunk where it is known. */
typedef struct roast_past_chunk {
    double start;
    double cost;   /* of the task, from its start to its end */
    double usual;  /* what such a chunk takes on average, by its events */
    double events; /* NaN: not known */
    int64_t entry; /* where it begins in its file */
    float before, read,
        cpu; /* parts of the cost: before process(); reading; on the CPU in the rest of process() */
    float after;            /* process() has returned */
    float wait;             /* reading less its CPU time, while data is awaited */
    float reads;            /* how many; 0: not known */
    float bytes, described; /* read; of these, before process() */
    float share;            /* of the events of its file */
    float
        covered; /* of the baskets of its branches in the file, the share that it read; NaN: not known */
    uint32_t dataset, file; /* UINT32_MAX: not known */
    uint32_t drawn_from;    /* the group from which another chunk may stand for it */
    bool first;             /* of a thread of its worker: cold */
} roast_past_chunk;

/* A worker as it was there. */
typedef struct roast_past_worker {
    double joined; /* may be before the first task */
    double begin;  /* of its first task */
    double until;  /* it left; infinite: it stayed to the end */
    uint32_t threads;
} roast_past_worker;

typedef struct roast_seconds {
    double *list;
    size_t count, capacity;
} roast_seconds;

/* The cost of the chunks of a dataset. */
typedef struct roast_past_dataset {
    roast_line line; /* cost over events, of warm chunks */
    double cost, events, before, after;
    uint64_t chunks;     /* warm ones */
    double fixed, error; /* s a chunk; its standard error */
    double fixed_most;   /* what else it may be */
    double slope;        /* s an event */
    bool fitted;         /* from chunks of different sizes */
} roast_past_dataset;

typedef struct roast_past {
    roast_past_chunk *chunks; /* in the order of their start */
    size_t n_chunks, chunks_capacity;
    roast_past_worker *workers; /* in the order of their beginning */
    size_t n_workers, workers_capacity;
    uint32_t peak; /* workers at a time */
    roast_past_dataset *datasets;
    uint32_t n_datasets;
    roast_seconds lost;    /* tries without a result */
    roast_seconds lengths; /* tasks of preprocessing, as long as with a worker that is warm */
    double cold_length;    /* s that the first one of a worker takes longer */
    double wall, middle;   /* of the run; of it, while tasks were processed and merged */
    double outside;        /* the rest */
    double share_client;   /* of the outside, that is not preprocessing */
    double overhead;       /* s a task, between two tasks */
    uint64_t merges;       /* 0: none, or not known */
    double merge_seconds;  /* of all of them */
    uint32_t merge_width;  /* inputs of one; 0: nothing is merged on the workers */
    bool width_assumed;
    double cold; /* s that the first chunk of a thread takes longer */
    double cold_error;
    double queued; /* share of process() that waited for a core */
    double drift;  /* how far another run may be slower or faster as a whole, relative, one sigma */
    double bytes, rate;   /* read by all chunks; a second, on average. NaN: not known */
    double task_seconds;  /* of the scheduler, a task; NaN: not known */
    double other_seconds; /* of tasks that are none of the above */
    uint64_t unrecorded;  /* tasks of processing without a chunk */
    uint64_t replaced;    /* lives of workers beyond the peak */
    roast_budget *budget; /* has the names of the files */
} roast_past;

/* The workers to play: how many, and the one of a number. With another number of workers or threads they come over the
 * same time as those that were there, and stay. */
uint64_t roast_past_worker_count(const roast_past *past, const roast_what_if_options *options);
roast_past_worker roast_past_worker_like(const roast_past *past,
                                         const roast_what_if_options *options, uint64_t number);
/* Reads a run. With `reads`, the reads of each chunk are counted. */
roast_status roast_past_load(const roast_run *run, bool reads, roast_past *past, roast_error *err);
void roast_past_reset(roast_past *past);
/* Finds task_seconds; and the overhead of a task, from the tasks of the budget. */
roast_status roast_past_find_dispatch(roast_past *past, const roast_attempts *attempts);
struct roast_budget_work;
roast_status roast_past_find_overhead(roast_past *past, const struct roast_budget_work *work);
/* Fits the costs of the chunks: the datasets, what is usual, cold starts, drift. */
roast_status roast_past_fit(roast_past *past);
/* Seconds of a merge, for each of its inputs. */
double roast_past_merge_cost(const roast_past *past);
/* How many merges a tree over so many chunks has; *levels: one above the other. */
uint64_t roast_merge_tree(uint64_t chunks, uint32_t width, uint32_t *levels);

/* ---- random numbers: always the same ones ---- */
typedef struct roast_draw {
    uint64_t state;
} roast_draw;
uint32_t roast_draw_below(roast_draw *draw, uint32_t below);
double roast_draw_even(roast_draw *draw); /* from 0 to below 1 */
double roast_draw_normal(roast_draw *draw);

/* ---- tasks to play ---- */

/* A part of a recorded chunk in a new one. */
typedef struct roast_chunk_part {
    uint32_t chunk;
    float events;
} roast_chunk_part;

typedef struct roast_plan {
    const roast_past *past;
    roast_what_if_options options;
    size_t n_tasks; /* chunks to play */
    size_t n_once;  /* chunks of the files once; n_tasks is a multiple of it */
    uint32_t times;
    uint32_t *
        first_part; /* of each task, and one more; NULL: the recorded chunks are played, as `kept` lists them */
    roast_chunk_part *parts;
    uint32_t *kept; /* the chunks that are not left out */
    size_t n_kept;
    double *costs;       /* of the recorded chunks, drawn anew */
    double *seconds;     /* of the tasks */
    float *bytes;        /* likewise */
    double *fixed;       /* cost of a chunk of each dataset */
    double thread_ratio; /* threads of a worker over the recorded ones */
    double sigmas;       /* of the drift; 0: as fast as the recorded run */
    double
        *ratios; /* cost over what is usual, of all chunks by the group that they are drawn from */
    uint32_t *group_first;
    uint32_t n_groups;
    double events;
    double read_then, read_now; /* s of reading, of the recorded chunks and of the tasks */
} roast_plan;

/* What is not known, at one end or the other. */
typedef struct roast_scenario {
    bool fixed_most; /* of datasets whose chunks have one size: all of process() is a fixed cost */
    bool lock;       /* threads of a worker wait for each other's CPU time */
    bool no_preload; /* reading at once saves nothing */
} roast_scenario;

roast_status roast_plan_make(const roast_past *past, const roast_what_if_options *options,
                             roast_plan *plan, roast_error *err);
void roast_plan_reset(roast_plan *plan);
/* The seconds and bytes of the tasks. `draw` NULL: of the chunks as they were recorded. */
void roast_plan_fill(roast_plan *plan, const roast_scenario *scenario, roast_draw *draw);
/* ---- the play ---- */

typedef struct roast_slot {
    double free, until;
} roast_slot;

typedef struct roast_stage {
    roast_slot *slots; /* a heap: the one that is free first */
    size_t n_slots, slots_capacity;
    double *merge_ready; /* of the merges, when their inputs are there */
    uint32_t *merge_left;
    size_t merges_capacity, left_capacity;
    uint32_t *queue; /* a heap of merges whose inputs are there or will be */
    size_t queue_count, queue_capacity;
} roast_stage;

typedef struct roast_cast {
    const double *seconds;
    const float *bytes;
    size_t n_tasks;
    const roast_seconds *lost; /* NULL: none */
    uint32_t times;            /* how often the lost ones come */
    double overhead;           /* s between two tasks of a thread */
    double dispatch;           /* s of the scheduler, a task; 0: nothing is known of it */
    double rate; /* bytes per second of the storage; 0: reading takes as long as it did */
    uint32_t merge_width;
    double merge_cost; /* s an input */
} roast_cast;

typedef struct roast_play {
    double end;     /* of the last task */
    double busy;    /* s of all tasks of processing */
    double reading; /* s that they wait for the storage beyond that */
    double merging, overhead, lost;
    double starved; /* threads that waited for the inputs of a merge */
    double tail;    /* threads without a task in the end */
    double longest; /* task */
    uint64_t merges;
} roast_play;

/* The slots of the stage are set before. */
roast_status roast_stage_play(roast_stage *stage, const roast_cast *cast, roast_play *out);
roast_status roast_stage_set_slots(roast_stage *stage, const roast_past *past,
                                   const roast_what_if_options *options, double cold);
void roast_stage_reset(roast_stage *stage);

/* ---- the answer ---- */

struct roast_what_if {
    roast_arena arena;
    roast_what_if_figures figures;
    roast_what_if_limit limits[ROAST_WHAT_IF_LIMIT_COUNT];
    roast_str *notes;
    size_t notes_capacity;
    uint32_t n_notes;
};

/* Everything of one question. */
typedef struct roast_question {
    roast_past past;
    roast_plan plan;
    roast_stage stage;
    roast_play recorded, predicted; /* played */
    double outside;                 /* s of the predicted run without tasks of processing */
    size_t slots;                   /* threads of the predicted run */
    roast_what_if *answer;
} roast_question;

void roast_what_if_find_limits(roast_question *question);
roast_status roast_what_if_add_notes(roast_question *question);

#endif
