/* Samples of a process of this machine and its descendants over time.
 *
 * All processes go into one log, since the workers among them are known only at the end; roast_treelog_series
 * makes a worker series of the workers. */
#ifndef ROAST_TREELOG_H
#define ROAST_TREELOG_H

#include "roast/series.h"

typedef struct roast_treelog roast_treelog;

/* One process, from its start to its end. */
typedef struct roast_process_life {
    int64_t pid, parent;
    roast_utc joined;
    roast_utc left; /* when it was first missing; 0 ns: it existed at the last look */
    uint64_t looks; /* that it was seen at */
    bool have_cpu, have_io;
    uint64_t cpu_ns;                  /* as of the last look that saw it */
    uint64_t read_bytes, write_bytes; /* from and to storage; the same */
} roast_process_life;

/* Arguments and errors as of roast_proctree_new. */
roast_status roast_treelog_new(const char *root, int64_t pid, roast_treelog **out,
                               roast_error *err);
void roast_treelog_free(roast_treelog *log);

/* One look at all processes; *changed (may be NULL): some started or ended. One thread at a time. */
roast_status roast_treelog_look(roast_treelog *log, bool *changed, roast_error *err);

/* How long to wait for the next look, in seconds: asked once after each look, and before the first. Processes may
 * live for less than the interval: when some started or ended the next look is soon, and the pauses double up to
 * the interval again. There are at most 64 such extra looks. */
double roast_treelog_pause(roast_treelog *log, double interval);

/* Every process that was seen, in the order of the first look at it; NULL beyond the end. Borrowed until the next
 * look. */
size_t roast_treelog_count(const roast_treelog *log);
const roast_process_life *roast_treelog_at(const roast_treelog *log, size_t index);

/* The highest sum over all processes of one look; NaN: not known. */
double roast_treelog_peak_memory(const roast_treelog *log);

/* All processes together as one worker with so many cores: memory, CPU and disk rates are sums. Shared pages count
 * once for each process; bytes that a process read or wrote count once, also if its parent has waited for it. */
roast_status roast_treelog_tree(const roast_treelog *log, roast_str name, roast_str host,
                                int32_t cores, roast_series **out, roast_error *err);

/* How many cores a process counts as: 0 to be seen without being a worker, -1 to be left out. */
typedef int (*roast_treelog_choice)(void *context, const roast_process_life *life);
/* A series of those that `choose` takes, named "<host>:<pid>"; the host's name has at most
 * ROAST_MAX_WORKER_NAME - 32 bytes (ROAST_EINVAL). */
roast_status roast_treelog_series(const roast_treelog *log, roast_treelog_choice choose,
                                  void *context, roast_str host, roast_series **out,
                                  roast_error *err);
/* The same for the looks, joins and leaves since the last call, so that the time of a call depends only on the
 * news. After a failure the next call repeats them. */
roast_status roast_treelog_news(roast_treelog *log, roast_treelog_choice choose, void *context,
                                roast_str host, roast_series **out, roast_error *err);

#endif
