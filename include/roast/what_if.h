/* What if: the recorded tasks of a run, played again with other workers, chunks, files or storage.
 *
 * Each recorded chunk has a fixed cost and a cost per event. The tasks are given to the threads in the order of the
 * run, each to the thread that is free first; outputs are merged as they were. First the run is played as it was
 * recorded: the difference to the measured wall time is "unexplained", and enters the interval. */
#ifndef ROAST_WHAT_IF_H
#define ROAST_WHAT_IF_H

#include "roast/base.h"
#include "roast/budget.h"
#include "roast/run.h"

/* What to change; all zero: nothing. */
typedef struct roast_what_if_options {
    uint32_t workers;   /* 0: as recorded */
    uint32_t threads;   /* of each worker; 0: as recorded */
    uint64_t chunksize; /* events; 0: the recorded chunks */
    /* Names of files, as the chunks name them, or the last parts of them. */
    const roast_str *leave_out;
    size_t n_leave_out;
    const roast_str *first; /* likewise: files whose chunks are played first, in this order */
    size_t n_first;
    uint32_t times; /* so many times as many files; 0: once */
    bool preload;   /* all branches that process() reads are read at once */
    /* Bytes per second that the storage gives to all workers together; 0: as recorded. */
    double read_rate;
} roast_what_if_options;

/* "2Gbps", "250 MB/s": bits or bytes per second, with k, M, G or T of ten, as bytes per second. ROAST_EINVAL: the text is
 * no such rate. */
roast_status roast_what_if_rate(roast_str text, double *out, roast_error *err);

/* Most workers, threads of a worker, and chunks that can be played. */
#define ROAST_WHAT_IF_WORKERS 1000000u
#define ROAST_WHAT_IF_THREADS 1024u
#define ROAST_WHAT_IF_CHUNKS  20000000u

typedef struct roast_what_if roast_what_if;

/* Simulates the run, which may be freed afterwards. `options` may be NULL: nothing is changed.
 * ROAST_EINVAL: an impossible option (too large, a rate that is not a number, a file that no chunk names, all files
 * left out, more than ROAST_WHAT_IF_CHUNKS chunks). ROAST_ENOTFOUND: nothing can be simulated: no chunk tells its time, or
 * the workers or the clock of the run are not known. */
roast_status roast_what_if_new(const roast_run *run, const roast_what_if_options *options,
                               roast_what_if **out, roast_error *err);
void roast_what_if_free(roast_what_if *what_if);

/* The answer. Times are seconds. */
typedef struct roast_what_if_figures {
    double wall;             /* predicted */
    double low, high;        /* the interval of 90 %; NaN: too few chunks for one */
    double recorded;         /* wall time as it was measured */
    double replayed;         /* wall time of the run as it was recorded, played again */
    double workers, threads; /* most at a time; threads: of all workers together */
    double recorded_workers, recorded_threads;
    uint64_t chunks, recorded_chunks;
    uint64_t reductions;     /* tasks that merge outputs */
    double events;           /* of the chunks played; NaN: not known */
    double bytes;            /* likewise, read */
    uint32_t repeats;        /* of the play with chunks drawn anew, for the interval */
    roast_budget_row budget; /* of the predicted run; the names of both are absent */
    roast_budget_row recorded_budget;
} roast_what_if_figures;
const roast_what_if_figures *roast_what_if_get(const roast_what_if *what_if);

/* What would limit the run. One row each: name, label. */
#define ROAST_WHAT_IF_LIMITS(X)                                                                    \
    X(outside, "Client and preprocessing") /* time without any task of processing */               \
    X(workers, "Work on all threads")      /* evenly spread, with the workers' ramp-up */          \
    X(longest_chunk, "Longest chunk")                                                              \
    X(reading, "Reading at this rate") /* all bytes, at the rate given or else the measured one */ \
    X(reduction, "Merging outputs")    /* the longest chain of merges behind the last chunk */     \
    X(scheduler, "Scheduler")          /* all tasks, at the measured tasks per second */
typedef enum roast_what_if_limit_kind {
#define X(name, label) ROAST_WHAT_IF_##name,
    ROAST_WHAT_IF_LIMITS(X)
#undef X
        ROAST_WHAT_IF_LIMIT_COUNT
} roast_what_if_limit_kind;
const char *roast_what_if_limit_name(roast_what_if_limit_kind kind);
const char *roast_what_if_limit_label(roast_what_if_limit_kind kind);

typedef struct roast_what_if_limit {
    roast_what_if_limit_kind kind;
    double seconds; /* the run cannot be shorter, if nothing else limited it; NaN: not known */
    double rate;    /* of reading, bytes per second; of the scheduler, tasks per second; else NaN */
    /* false: the measured rate is a lower bound of the capacity; the limit is shown, but not used in the prediction. */
    bool certain;
} roast_what_if_limit;
/* Largest bound first, then those that are not certain, then those that are not known. */
const roast_what_if_limit *roast_what_if_limits(const roast_what_if *what_if, uint32_t *count);
/* The certain limit with the largest bound. */
roast_what_if_limit_kind roast_what_if_limiting(const roast_what_if *what_if);

/* What the recorded run cannot tell, and what was assumed instead; a sentence each. Absent beyond the end. */
uint32_t roast_what_if_note_count(const roast_what_if *what_if);
roast_str roast_what_if_note(const roast_what_if *what_if, uint32_t index);

#endif
