/* A process and all its descendants, looked at again and again.
 *
 * A look lists all processes of the machine, and reads `stat` of the new ones only: a known process is recognised by the
 * inode of its directory. (The lists of children under /proc/<pid>/task are not used: there is one file a thread, they
 * are missing on many kernels, and they may leave out a child while another one ends.) A descendant stays one when its
 * parent ends. Built with getrusage: this process only. */
#ifndef ROAST_PROC_PROCTREE_H
#define ROAST_PROC_PROCTREE_H

#include "roast/proc.h"

typedef struct roast_tree_process {
    int64_t pid, parent;  /* the parent's as of the first look */
    uint64_t start_ticks; /* clock ticks since boot: distinguishes processes with a reused number */
    roast_utc started;    /* the same as a point in time; 0 ns: not known */
    roast_mono when;      /* of the values below */
    roast_reading reading; /* rss_bytes, read_bytes and write_bytes, where `have` says so */
    bool have_cpu;
    uint64_t cpu_ns; /* CPU time of all its threads since it started */
    /* Since the look before; NaN at the first one, and where the values are not there. */
    double cpu_percent;         /* of one core: up to 100 a thread */
    double read_bps, write_bps; /* from and to storage */
} roast_tree_process;

/* What is remembered of any process of the machine. */
typedef struct roast_listed {
    int64_t pid, parent;
    uint64_t inode; /* of its directory; 0: not to be relied on */
    uint64_t start_ticks;
    bool member;  /* of the tree */
    bool fresh;   /* this listing is the first with it */
    bool settled; /* whether a fresh one is a member is known */
} roast_listed;

typedef struct roast_listing {
    roast_listed *at; /* by pid */
    size_t count, capacity;
} roast_listing;

typedef struct roast_processes {
    roast_tree_process *at; /* by pid */
    size_t count, capacity;
} roast_processes;

typedef struct roast_proctree {
    const char *root; /* NULL: the running system's */
    int64_t pid;
    int directory; /* the root's; the backend's */
    bool clocks;   /* the kernel's CPU clocks can be asked by pid */
    roast_listing listing;
    roast_listing spare; /* the listing before, its memory to be used again */
    /* What the last look saw, what the look before saw, and those of them that the last one missed. */
    roast_processes now, before, ended;
} roast_proctree;

/*   root  where /proc is mounted, NULL for "/proc"
 *   pid   whose descendants; 0 for this process (under "/proc" only)
 *
 * Errors: ROAST_ENOTFOUND if there is no such process, ROAST_EIO if the root cannot be read, ROAST_EINVAL,
 * ROAST_EUNSUPPORTED if the build cannot read it, ROAST_ELIMIT for too long a root. */
roast_status roast_proctree_new(const char *root, int64_t pid, roast_proctree **out,
                                roast_error *err);
void roast_proctree_free(roast_proctree *tree);

/* One look. `when` NULL: now. A process that has ended but was not yet waited for is not there. On failure
 * (ROAST_EIO, ROAST_ENOMEM) the last look stays. One thread at a time. */
roast_status roast_proctree_look(roast_proctree *tree, const roast_mono *when, roast_error *err);

/* ---- for the backends ---- */

/* Memory for one more; false if it is short. */
bool roast_listing_grow(roast_listing *listing);

/* Resolves pid 0 and checks that the process is there. */
roast_status roast_proctree_attach(roast_proctree *tree, roast_error *err);
void roast_proctree_detach(roast_proctree *tree);
/* Fills tree->spare with what there is now; tree->listing is what was there before. */
roast_status roast_proctree_list(roast_proctree *tree, roast_error *err);
/* Fills reading, cpu_ns and have_cpu of out->pid. False: it has ended. */
bool roast_proctree_read(roast_proctree *tree, roast_tree_process *out);
/* 0 ns: not known. */
roast_utc roast_proctree_started(const roast_proctree *tree, uint64_t start_ticks);

#endif
