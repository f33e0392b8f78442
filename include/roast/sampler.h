/* The true peak of resident memory while something is open.
 *
 * One thread without Python reads RSS every interval while at least one watch is open, and raises
 * the peak of each. A process that forks gets a new thread at its next watch. Opening and closing a
 * watch takes no lock that another thread could hold, and no system call while the thread is awake.
 */
#ifndef ROAST_SAMPLER_H
#define ROAST_SAMPLER_H

#include "roast/base.h"

typedef struct roast_sampler roast_sampler;
typedef struct roast_watch roast_watch;

#define ROAST_SAMPLER_DEFAULT_NS INT64_C(20000000)

typedef struct roast_sampler_stats {
    uint64_t samples;       /* RSS readings taken */
    uint64_t missed;        /* readings that failed */
    uint64_t watches;       /* watches opened */
    uint64_t thread_starts; /* 1, and one more for each fork that went on sampling */
    uint64_t cpu_ns;        /* CPU time of the sampling thread(s) of this process */
} roast_sampler_stats;

/* proc_root NULL: "/proc". interval_ns 0: no thread, a peak is then the larger of its two ends;
 * so it is where the thread cannot be started or the build cannot read RSS. An interval is taken
 * as at least 100 us and at most an hour; a negative one is ROAST_EINVAL. The thread starts with
 * the first watch. */
roast_status roast_sampler_new(const char *proc_root, int64_t interval_ns, roast_sampler **out,
                               roast_error *err);
/* Stops and joins the thread. No watch may be open. */
void roast_sampler_free(roast_sampler *sampler);
/* Changes the interval; 0 (or less) switches the sampling off. */
void roast_sampler_set_interval(roast_sampler *sampler, int64_t interval_ns);
int64_t roast_sampler_interval(const roast_sampler *sampler);

/* Begins to watch on behalf of the calling thread; rss_now is the first value of the peak. NULL if
 * memory is short (roast_sampler_close takes that NULL). Watches of one thread nest. */
roast_watch *roast_sampler_open(roast_sampler *sampler, uint64_t rss_now);
/* Ends it and returns the peak, at least rss_now. */
uint64_t roast_sampler_close(roast_sampler *sampler, roast_watch *watch, uint64_t rss_now);

void roast_sampler_get_stats(roast_sampler *sampler, roast_sampler_stats *out);

#endif
