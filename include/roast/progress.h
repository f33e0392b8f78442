/* The progress of a run, while it goes on. */
#ifndef ROAST_PROGRESS_H
#define ROAST_PROGRESS_H

#include "roast/run.h"

/* Rates cover the last ten seconds; with long chunks, two mean durations, but at most a minute. */
#define ROAST_PROGRESS_SECONDS  60
#define ROAST_PROGRESS_SHORTEST 10

/* Arrivals in one second. */
typedef struct roast_progress_second {
    int64_t when; /* which second it is, since the start */
    double events, bytes;
} roast_progress_second;

/* The caller's storage; fields are read through roast_progress_look only. */
typedef struct roast_progress {
    double start, first_begin; /* s, on the clock of the caller */
    uint64_t chunks, failed;
    bool have_events, have_bytes;
    double seconds; /* in process(), of all chunks that were done */
    roast_progress_second recent[ROAST_PROGRESS_SECONDS];
    double workers, memory, memory_limit; /* at the last tick; NaN: not known */
} roast_progress;

/* Times are seconds on a clock of the caller, the same in all calls. */
void roast_progress_init(roast_progress *progress, double start);
/* Chunks that have arrived, each once. */
void roast_progress_add_chunks(roast_progress *progress, const roast_chunklog *log, double now);
/* The samples since the last call; the last tick counts. */
void roast_progress_add_series(roast_progress *progress, const roast_series *news);

typedef struct roast_progress_view {
    uint64_t chunks; /* done */
    uint64_t failed;
    double byte_rate, event_rate; /* present rates per second; NaN: not known, as below */
    double workers;
    double memory, memory_limit; /* bytes, of all workers together */
    double seconds_left;
} roast_progress_view;
/* total: chunks of the whole run; 0: not known. */
roast_progress_view roast_progress_look(const roast_progress *progress, double now, uint64_t total);

/* How long the rest takes at the pace so far; `since`: seconds from the beginning of the first chunk. NaN: not known. */
double roast_progress_left(double since, uint64_t done, uint64_t total);
/* The same for a run from disk, by its clock and its number of chunks; `first`: when its first chunk began, in seconds
 * since 1970, NaN for not known. Preprocessing is not part of the pace. The clock of a worker may be wrong: the chunks
 * do not count as longer than the run. */
double roast_progress_left_of(const roast_run *run, double first);

#endif
