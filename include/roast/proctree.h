/* A process and all its descendants, seen again and again.
 *
 * The kernel is asked for the list of all processes; what is known of one is kept by the inode of its
 * directory, so that a look reads `stat` of new processes only. (The lists of children under
 * /proc/<pid>/task are not used: one file a thread, missing on many kernels, and by the kernel's own
 * word they may leave out a child while another one ends.) Two files a
 * process are kept open, of 64 processes at most. A descendant stays one when its parent ends. Built with getrusage: this process only. */
#ifndef ROAST_PROCTREE_H
#define ROAST_PROCTREE_H

#include "roast/base.h"
#include "roast/proc.h"

typedef struct roast_process {
    int64_t pid, parent; /* the parent's as of the first look */
    uint64_t
        start_ticks;   /* clock ticks since boot: tells a number that was given out again apart */
    roast_utc started; /* the same as a point in time; 0 ns: not known */
    roast_mono when;   /* of the values below */
    roast_reading reading; /* rss_bytes, read_bytes and write_bytes, where `have` says so */
    bool have_cpu;
    uint64_t cpu_ns; /* CPU time of all its threads since it started */
    /* Since the look before; NaN at the first one, and where the values are not there. */
    double cpu_percent;         /* of one core: up to 100 a thread */
    double read_bps, write_bps; /* from and to storage */
} roast_process;

typedef struct roast_proctree roast_proctree;

/*   root  where /proc is mounted, NULL for "/proc"
 *   pid   whose descendants; 0 for this process (under "/proc" only)
 *
 * Errors: ROAST_ENOTFOUND if there is no such process, ROAST_EIO if the root cannot be read, ROAST_EINVAL,
 * ROAST_EUNSUPPORTED if the build cannot read it, ROAST_ELIMIT for too long a root. */
roast_status roast_proctree_new(const char *root, int64_t pid, roast_proctree **out,
                                roast_error *err);
void roast_proctree_free(roast_proctree *tree);

/* One look. `when` NULL: now. A process that has ended but was not yet waited for is not there. On failure
 * (ROAST_EIO, ROAST_ENOMEM) the last look stands. One thread at a time. */
roast_status roast_proctree_look(roast_proctree *tree, const roast_mono *when, roast_error *err);

/* What the last look saw, by pid; borrowed until the next one. NULL beyond the end. */
size_t roast_proctree_count(const roast_proctree *tree);
const roast_process *roast_proctree_at(const roast_proctree *tree, size_t index);
/* Those that the look before saw and the last one missed, as they were then. */
size_t roast_proctree_ended_count(const roast_proctree *tree);
const roast_process *roast_proctree_ended_at(const roast_proctree *tree, size_t index);

#endif
