/* The probe behind roast/proc.h, and what a backend has to provide. */
#ifndef ROAST_PROC_PROBE_H
#define ROAST_PROC_PROBE_H

#include <sys/resource.h>

#include "roast/proc.h"

enum { ROAST_PROBE_FILES = 5 };

/* What the calling thread's probe knows of it for as long as it is not taken off its core. */
typedef struct roast_on_core {
    uint64_t switches; /* the count all this was read at, 0: nothing is known */
    bool knows_wait, knows_cpu;
    uint64_t wait_ns;
    uint64_t cpu_ns;
    int64_t cpu_at_ns; /* the clock when cpu_ns was read */
} roast_on_core;

struct roast_probe {
    const char *root; /* NULL: the running system's */
    int64_t pid, tid; /* as given to roast_probe_new */
    uint64_t owner;   /* roast_thread_serial() of the thread that tid -1 stands for */
    unsigned generation;
    unsigned groups;
    bool groups_known;
    bool delays;                   /* block-I/O waits are kept and can be asked for */
    uint64_t own_reads, own_bytes; /* what this probe itself has read */
    int files[ROAST_PROBE_FILES];
    roast_on_core on_core;
    uint64_t cpu_told_ns; /* of the calling thread: it never runs backwards */
};

/* Which end of what is measured a reading is for: the CPU time stands next to the inside. */
typedef enum roast_reading_end { ROAST_READING_BEFORE, ROAST_READING_AFTER } roast_reading_end;

#define ROAST_READING_SET(out, field, value)                                                       \
    ((out)->field = (value), (out)->have |= ROAST_HAVE(field))

/* The backend: opens what it reads from, closes it, fills what is there into a zeroed reading. */
roast_status roast_probe_attach(roast_probe *probe, roast_error *err);
void roast_probe_detach(roast_probe *probe);
void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading_end end,
                      roast_reading *out);
/* The memory in use, as cheaply as can be; false if it cannot be told. */
bool roast_probe_fill_rss(roast_probe *probe, uint64_t *rss_bytes);

/* The same of a probe whose process may have forked: rss_bytes of ROAST_READ_STATM. */
bool roast_probe_rss(roast_probe *probe, uint64_t *rss_bytes);

/* getrusage(who), of USAGE and PEAK what `groups` asks for. */
void roast_rusage_fill(int who, unsigned groups, roast_reading *out);
/* Its steps: the call, whose CPU times are as of the scheduler's last tick; the exact sum of the
 * two by the clock of `who`; and the parting of that sum. False: nothing was read. */
bool roast_rusage_call(int who, unsigned groups, roast_reading *out);
bool roast_rusage_clock(int who, uint64_t *cpu_ns);
void roast_rusage_part(uint64_t cpu_ns, roast_reading *out);

#endif
