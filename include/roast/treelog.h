/* What a process of this machine and its descendants did over time.
 *
 * Every process goes into one log, since nobody knows yet which of them are workers; roast_treelog_series makes a
 * worker series of those that turned out to be. */
#ifndef ROAST_TREELOG_H
#define ROAST_TREELOG_H

#include "roast/proctree.h"
#include "roast/series.h"

typedef struct roast_treelog roast_treelog;

/* One process, from its start to its end. */
typedef struct roast_process_life {
    int64_t pid, parent;
    roast_utc joined;
    roast_utc left; /* when it was first missed; 0 ns: it was there at the last look */
    uint64_t looks; /* that it was seen at */
    bool have_cpu, have_io;
    uint64_t cpu_ns;                  /* as of the last look that saw it */
    uint64_t read_bytes, write_bytes; /* from and to storage; the same */
} roast_process_life;

/* Arguments and errors as of roast_proctree_new. */
roast_status roast_treelog_new(const char *root, int64_t pid, roast_treelog **out,
                               roast_error *err);
void roast_treelog_free(roast_treelog *log);

/* One look at all processes; *changed (NULL: nobody asks): some came or went. One thread at a time. */
roast_status roast_treelog_look(roast_treelog *log, bool *changed, roast_error *err);

/* Every process that was seen, in the order of being seen first; NULL beyond the end. Borrowed until the next
 * look. */
size_t roast_treelog_count(const roast_treelog *log);
const roast_process_life *roast_treelog_at(const roast_treelog *log, size_t index);
uint64_t roast_treelog_looks(const roast_treelog *log);

/* The highest sum over all processes of one look; NaN if it never was there. */
double roast_treelog_peak_memory(const roast_treelog *log);
/* The tightest of the cgroup's limit and the machine's memory, in bytes; NaN if neither is known. */
double roast_treelog_memory_limit(const roast_treelog *log);

/* All processes together as one worker with so many cores: memory, CPU and disk rates are sums. Pages that processes
 * share count once for each of them; what one read or wrote counts once, also when its parent has waited for it. */
roast_status roast_treelog_tree(const roast_treelog *log, roast_str name, roast_str host,
                                int32_t cores, roast_series **out, roast_error *err);

/* How many cores a process counts as: 0 to be seen without being a worker, -1 to be left out. */
typedef int (*roast_treelog_choice)(void *context, const roast_process_life *life);
/* A series of those that `choose` takes, named "<host>:<pid>"; the host's name has at most
 * ROAST_MAX_WORKER_NAME - 32 bytes (ROAST_EINVAL). */
roast_status roast_treelog_series(const roast_treelog *log, roast_treelog_choice choose,
                                  void *context, roast_str host, roast_series **out,
                                  roast_error *err);
/* The same for the looks, joins and leaves that it has not told of before, so that each call takes the time of what
 * is new. After a failure all of it is new still. */
roast_status roast_treelog_news(roast_treelog *log, roast_treelog_choice choose, void *context,
                                roast_str host, roast_series **out, roast_error *err);

#endif
