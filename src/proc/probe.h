/* The backend of roast/proc.h on each kind of system. */
#ifndef ROAST_PROC_PROBE_H
#define ROAST_PROC_PROBE_H

#include "roast/proc.h"

#define ROAST_READING_SET(out, field, value)                                                       \
    ((out)->field = (value), (out)->have |= ROAST_HAVE(field))

/* getrusage(who), of USAGE and PEAK what `groups` asks for. */
void roast_rusage_fill(int who, unsigned groups, roast_reading *out);

/* The memory in use of this process, for the thread of the sampler. root NULL: "/proc". A descriptor, or -1. */
int roast_rss_open(const char *root);
bool roast_rss_read(int file, uint64_t *rss_bytes);
/* Where the sampler finds /proc, for tests. Kept, not copied. */
void roast_sampler_set_root(const char *root);

/* ---- Linux ---- */

/* A thread's folder below /proc. Its files are opened for each reading: a descriptor shows the thread that opened it and
 * no other, and a process may have hundreds of threads. Only statm, the same for all of them, stays open. */
typedef struct roast_probe {
    const char *root, *folder;     /* kept, not copied */
    int statm;                     /* -1: not there */
    bool delays;                   /* whether the kernel keeps them */
    uint64_t own_reads, own_bytes; /* what this probe itself has read */
} roast_probe;

/* The files of root/folder, which may be missing. */
void roast_probe_open(roast_probe *probe, const char *root, const char *folder);
void roast_probe_close(roast_probe *probe);
/* STATM, SCHED, DELAY and IO. */
void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading *out);

#endif
