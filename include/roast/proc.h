/* What the kernel knows of a process or a thread.
 *
 * A probe opens its files once and reads them again with pread. Every value may be missing: `have`
 * says which are there. The library can be built to use getrusage alone (option `proc=getrusage`);
 * then only the values it gives are there. */
#ifndef ROAST_PROC_H
#define ROAST_PROC_H

#include "roast/base.h"

/* One row a value: field, the group that reads it, unit, what it is. */
#define ROAST_READING_LIST(X)                                                                      \
    X(rss_bytes, STATM, "bytes", "resident memory of the process")                                 \
    X(peak_rss_bytes, PEAK, "bytes", "largest resident memory of the process in its life")         \
    X(cpu_user_ns, USAGE, "ns", "CPU time in user mode: what is not the kernel's")                 \
    X(cpu_system_ns, USAGE, "ns", "CPU time in the kernel, as of the scheduler's last tick")       \
    X(minor_faults, USAGE, "1", "page faults served without I/O")                                  \
    X(major_faults, USAGE, "1", "page faults that needed I/O")                                     \
    X(voluntary_switches, USAGE, "1", "context switches by waiting")                               \
    X(involuntary_switches, USAGE, "1", "context switches by preemption")                          \
    X(runqueue_wait_ns, SCHED, "ns", "runnable, but waiting for a core")                           \
    X(io_wait_ns, DELAY, "ns", "waiting for block I/O, in steps of a clock tick")                  \
    X(read_chars, IO, "bytes", "bytes asked for by read calls, cached or not")                     \
    X(write_chars, IO, "bytes", "bytes given to write calls")                                      \
    X(read_calls, IO, "1", "read system calls")                                                    \
    X(write_calls, IO, "1", "write system calls")                                                  \
    X(read_bytes, IO, "bytes", "bytes fetched from storage")                                       \
    X(write_bytes, IO, "bytes", "bytes sent to storage")

/* Each group is at most one system call or one pread, and USAGE one of the CPU clock besides. The
 * peak that getrusage tells begins with that of the program this process executed from, so it can be
 * larger than VmHWM. */
typedef enum roast_reading_group {
    ROAST_READ_STATM = 1u << 0, /* statm */
    ROAST_READ_PEAK = 1u << 1,  /* getrusage of the process; VmHWM for another one */
    ROAST_READ_USAGE = 1u << 2, /* getrusage of the thread or process; stat for another one */
    ROAST_READ_SCHED = 1u << 3, /* schedstat; of a thread only */
    ROAST_READ_DELAY = 1u << 4, /* stat, field 42; of a thread, where task_delayacct is on */
    ROAST_READ_IO = 1u << 5,    /* io */
    ROAST_READ_ALL = (1u << 6) - 1
} roast_reading_group;

enum {
#define X(field, group, unit, text) ROAST_READING_INDEX_##field,
    ROAST_READING_LIST(X)
#undef X
        ROAST_READING_COUNT
};
#define ROAST_HAVE(field) (UINT32_C(1) << ROAST_READING_INDEX_##field)

typedef struct roast_reading {
    uint32_t have; /* ROAST_HAVE(field) of each value that is there */
#define X(field, group, unit, text) uint64_t field;
    ROAST_READING_LIST(X)
#undef X
} roast_reading;

typedef struct roast_probe roast_probe;

/* "linux" (/proc) or "getrusage": where this build takes its figures from. */
const char *roast_probe_backend(void);

/* A probe of a process, or of one thread of it.
 *   root  where /proc is mounted, NULL for "/proc"
 *   pid   0 for this process
 *   tid   0 for the process as a whole; -1 for the calling thread (of this process)
 *
 * A file that is missing or may not be read just leaves its values out. The kernel keeps waits
 * (and, but for getrusage, switches) by thread: a process as a whole has none. pid 0 under
 * "/proc" is read with getrusage where it can be; a number, be it our own, and another root
 * always from the files.
 *
 * Errors: ROAST_ENOTFOUND if there is no such process or thread, ROAST_EUNSUPPORTED if the
 * backend cannot read it, ROAST_EIO if its directory cannot be opened, ROAST_ELIMIT for too long
 * a root. */
roast_status roast_probe_new(const char *root, int64_t pid, int64_t tid, roast_probe **out,
                             roast_error *err);
void roast_probe_free(roast_probe *probe);
/* Reads the groups asked for. Never fails: what could not be read or parsed is not in `have`,
 * and 0. One thread at a time; a probe of the calling thread gives USAGE to that thread only. A
 * probe of this process (pid 0) that came through a fork becomes one of the child. */
void roast_probe_read(roast_probe *probe, unsigned groups, roast_reading *out);
/* The same at the beginning of what is measured. roast_probe_read takes the CPU time first, this
 * one last of all: so what lies between the two contains neither's other readings. */
void roast_probe_read_before(roast_probe *probe, unsigned groups, roast_reading *out);
/* The calling thread's own probe, opened at its first use and closed when the thread ends;
 * opened anew after a fork. It is the library's: not to be freed. rss_bytes and peak_rss_bytes
 * are those of the process. NULL if memory is short. */
roast_probe *roast_probe_this_thread(void);
/* Groups that give anything at all on this machine, found out once (a bit mask). */
unsigned roast_probe_groups(roast_probe *probe);

typedef struct roast_limits {
    bool have_memory; /* false: no limit, or it could not be read */
    bool have_cpu;
    uint64_t memory_bytes;
    double cpu_cores; /* quota / period */
} roast_limits;

/* The tightest cgroup v2 limits (memory.max, cpu.max) on the path from a process's group to the
 * root.
 *
 *   proc_root    NULL for "/proc"
 *   cgroup_root  NULL for "/sys/fs/cgroup"; on a hybrid system its folder "unified" is used
 *   pid          0 for this process
 *
 * A system without cgroup v2 has no limits: ROAST_OK with both false. Errors: ROAST_ENOTFOUND if
 * there is no process `pid`, ROAST_EINVAL, ROAST_ELIMIT for too long a root. */
roast_status roast_limits_read(const char *proc_root, const char *cgroup_root, int64_t pid,
                               roast_limits *out, roast_error *err);

/* A random token of this process and its boot; another one after a fork. */
uint64_t roast_process_token(void);

#endif
