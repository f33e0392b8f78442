/* The true peak of resident memory while a watch is open.
 *
 * One thread of the process, without Python, reads RSS every interval while at least one watch is open, and raises
 * the peak of each. The thread starts with the first watch. A process that forks gets a thread of its own at its
 * next watch. */
#ifndef ROAST_SAMPLER_H
#define ROAST_SAMPLER_H

#include "roast/base.h"

typedef struct roast_watch roast_watch;

#define ROAST_SAMPLER_DEFAULT_NS INT64_C(50000000)

typedef struct roast_sampler_stats {
    uint64_t samples;       /* RSS readings taken */
    uint64_t missed;        /* readings that failed */
    uint64_t watches;       /* watches opened */
    uint64_t thread_starts; /* 1, plus 1 for each fork that sampled */
    uint64_t cpu_ns;        /* CPU time of the sampling thread */
} roast_sampler_stats;

/* The interval is limited to 100 us at least and an hour at most. 0 (or less) switches the sampling off: a peak is
 * then the larger of the readings at both ends, as if the thread cannot be started or RSS cannot be read. */
void roast_sampler_set_interval(int64_t interval_ns);
int64_t roast_sampler_interval(void);

/* Opens a watch for the calling thread; rss_now is the first value of the peak. NULL if memory is short
 * (roast_sampler_close accepts NULL). Watches of one thread nest. */
roast_watch *roast_sampler_open(uint64_t rss_now);
/* Ends it and returns the peak, at least rss_now. */
uint64_t roast_sampler_close(roast_watch *watch, uint64_t rss_now);

/* Ends the thread and clears the statistics; the next watch starts a new one. No watch may be open. */
void roast_sampler_stop(void);
void roast_sampler_get_stats(roast_sampler_stats *out);

#endif
