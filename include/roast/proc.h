/* Readings of the kernel about this process and the calling thread.
 *
 * Every value may be missing: `have` says which are present. The library can be built to use getrusage alone
 * (option `proc=getrusage`); then only its values are present. */
#ifndef ROAST_PROC_H
#define ROAST_PROC_H

#include "roast/base.h"

/* One row per value: field, the group that reads it, unit, meaning. */
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

/* A group is one system call; USAGE is two, as the CPU clock is exact and getrusage is not. */
typedef enum roast_reading_group {
    ROAST_READ_STATM = 1u << 0, /* statm, of the process */
    ROAST_READ_PEAK =
        1u << 1, /* getrusage, of the process and of the program that it executed from */
    ROAST_READ_USAGE = 1u << 2, /* getrusage, of the thread */
    ROAST_READ_SCHED = 1u << 3, /* schedstat, of the thread */
    ROAST_READ_DELAY = 1u << 4, /* stat, field 42, of the thread, where task_delayacct is on */
    ROAST_READ_IO = 1u << 5,    /* io, of the thread */
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
    uint32_t have; /* ROAST_HAVE(field) of each value present */
#define X(field, group, unit, text) uint64_t field;
    ROAST_READING_LIST(X)
#undef X
} roast_reading;

/* "linux" (/proc) or "getrusage": the source of the readings in this build. */
const char *roast_probe_backend(void);

/* Adds the requested groups to `out`. Never fails: a value that could not be read or parsed is not in `have`. One file
 * stays open for all threads of the process. */
void roast_probe_read(unsigned groups, roast_reading *out);

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

/* CPU time of all cores of a machine since it started, in ns. The kernel counts it in clock ticks, usually of 10 ms. */
typedef struct roast_machine {
    uint64_t busy_ns; /* by any process, in interrupts, and taken away by a hypervisor */
    uint64_t all_ns;  /* busy or not: time × cores */
} roast_machine;

/* From /proc/stat, or from its first line. proc_root: NULL for "/proc". Errors: ROAST_ENOTFOUND if it cannot be read,
 * ROAST_ECORRUPT if it is no such text. */
roast_status roast_machine_read(const char *proc_root, roast_machine *out, roast_error *err);
roast_status roast_machine_parse(roast_str text, roast_machine *out, roast_error *err);

/* CPU time of the threads of this process that run no chunk, as a chunk's share: chunks that overlap share it equally.
 * One thread at a time may call these; `end` in the thread of `begin`, once. `own_ns` is the CPU time of the calling thread
 * where it has just been read, else -1: another reading would take a microsecond. */
typedef struct roast_helpers {
    uint64_t process; /* 0: has not begun */
    double share_ns;
} roast_helpers;
void roast_helpers_begin(roast_helpers *mark, int64_t own_ns);
/* false: not known, also after a fork. */
bool roast_helpers_end(const roast_helpers *mark, int64_t own_ns, int64_t *ns);

/* A random token of this process and boot; a new one after a fork. */
uint64_t roast_process_token(void);

#endif
