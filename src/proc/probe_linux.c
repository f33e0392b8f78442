/* The backend for Linux: /proc, and getrusage for this process and the calling thread.
 *
 * A process as a whole has no run-queue wait, no block-I/O wait and, read from its files, no
 * context switches: the kernel keeps them for each thread (the process's files show the first
 * thread's alone), and a sum over the threads that live would lose what those that ended had
 * gathered, and run backwards. A thread has them all. */
#include "proc/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/process.h"
#include "proc/procfs.h"

typedef enum file_kind { STATM, STAT, STATUS, SCHEDSTAT, IO, KINDS } file_kind;
_Static_assert((int)KINDS == (int)ROAST_PROBE_FILES, "a descriptor for each file");

static const char *const file_names[KINDS] = {"statm", "stat", "status", "schedstat", "io"};

const char *roast_probe_backend(void) {
    return "linux";
}

/* May getrusage stand in for the files? Not under another root: its files are meant. */
static inline bool is_live(const roast_probe *probe) {
    return probe->root == NULL && probe->pid == 0 && probe->tid <= 0;
}

static const char *root_of(const roast_probe *probe) {
    return probe->root != NULL ? probe->root : "/proc";
}

/* "self" and "thread-self" are right even where /proc belongs to another pid namespace. */
static int directory_path(const roast_probe *probe, char *path, size_t size) {
    const char *root = root_of(probe);
    if (probe->tid == -1)
        return snprintf(path, size, "%s/thread-self", root);
    char process[24] = "self";
    if (probe->pid > 0)
        snprintf(process, sizeof process, "%lld", (long long)probe->pid);
    if (probe->tid == 0)
        return snprintf(path, size, "%s/%s", root, process);
    return snprintf(path, size, "%s/%s/task/%lld", root, process, (long long)probe->tid);
}

static int open_directory(const roast_probe *probe, roast_error *err) {
    char path[PATH_MAX];
    int len = directory_path(probe, path, sizeof path);
    if (len < 0 || (size_t)len >= sizeof path) {
        roast_error_set(err, ROAST_ELIMIT, "roast_probe_new", -1,
                        "the path of the root is longer than %d bytes", PATH_MAX);
        errno = ENAMETOOLONG;
        return -1;
    }
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        roast_error_set(err, errno == ENOENT || errno == ENOTDIR ? ROAST_ENOTFOUND : ROAST_EIO,
                        "roast_probe_new", -1, "%s: %s", path, strerror(errno));
    return directory;
}

/* Since Linux 5.14 the kernel says whether it keeps block-I/O delays; before, it just did. */
static bool keeps_delays(const roast_probe *probe) {
    char path[PATH_MAX], text[2];
    int len = snprintf(path, sizeof path, "%s/sys/kernel/task_delayacct", root_of(probe));
    if (len < 0 || (size_t)len >= sizeof path)
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    ssize_t got = pread(file, text, sizeof text, 0);
    close(file);
    return got >= 1 && text[0] == '1' && (got == 1 || text[1] == '\n');
}

static unsigned files_of(const roast_probe *probe) {
    bool thread = probe->tid != 0;
    unsigned files = 1u << STATM | 1u << IO;
    if (thread)
        files |= 1u << SCHEDSTAT;
    if (!is_live(probe))
        files |= 1u << STAT | 1u << STATUS;
    if (probe->delays)
        files |= 1u << STAT;
    return files;
}

roast_status roast_probe_attach(roast_probe *probe, roast_error *err) {
    for (int kind = 0; kind < KINDS; kind++)
        probe->files[kind] = -1;
    probe->delays = probe->tid != 0 && keeps_delays(probe);
    roast_error why;
    roast_error_reset(&why);
    int directory = open_directory(probe, &why);
    if (directory < 0) {
        if (is_live(probe))
            return ROAST_OK; /* this process is there even if /proc is not: getrusage remains */
        if (err != NULL)
            *err = why;
        return why.status;
    }
    unsigned files = files_of(probe);
    for (int kind = 0; kind < KINDS; kind++)
        if (files & 1u << kind)
            probe->files[kind] = openat(directory, file_names[kind], O_RDONLY | O_CLOEXEC);
    close(directory);
    return ROAST_OK;
}

void roast_probe_detach(roast_probe *probe) {
    for (int kind = 0; kind < KINDS; kind++) {
        if (probe->files[kind] >= 0)
            close(probe->files[kind]);
        probe->files[kind] = -1;
    }
}

/* Fills `buffer` from the start of the file; an empty text if there is none. */
static inline roast_cursor read_text(roast_probe *probe, file_kind kind, char *buffer,
                                     size_t size) {
    int file = probe->files[kind];
    if (file < 0)
        return (roast_cursor){buffer, buffer};
    ssize_t got = pread(file, buffer, size, 0);
    if (got < 0)
        got = 0;
    probe->own_reads++;
    probe->own_bytes += (uint64_t)got;
    return (roast_cursor){buffer, buffer + got};
}

static inline uint64_t page_bytes(void) {
    static _Atomic uint64_t known; /* asked for once: see roast_procfs_rss */
    uint64_t size = atomic_load_explicit(&known, memory_order_relaxed);
    if (size == 0) {
        size = (uint64_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, size, memory_order_relaxed);
    }
    return size;
}

static inline uint64_t tick_ns(void) {
    return UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* 52 numbers of up to 20 digits and a name stay under 1200 bytes. */
enum { STAT_BYTES = 2048 };
/* The lines we want stand behind the list of groups, 11 bytes each, and the masks of CPUs. */
enum { STATUS_BYTES = 16384 };

bool roast_probe_fill_rss(roast_probe *probe, uint64_t *rss_bytes) {
    char buffer[160];
    return roast_procfs_rss(read_text(probe, STATM, buffer, sizeof buffer), page_bytes(),
                            rss_bytes);
}

static void fill_statm(roast_probe *probe, roast_reading *out) {
    char buffer[160];
    roast_procfs_statm(read_text(probe, STATM, buffer, sizeof buffer), page_bytes(), out);
}

static void fill_stat(roast_probe *probe, unsigned groups, roast_reading *out) {
    char buffer[STAT_BYTES];
    roast_procfs_stat(read_text(probe, STAT, buffer, sizeof buffer), tick_ns(), groups, out);
}

static void fill_status(roast_probe *probe, unsigned groups, roast_reading *out) {
    char buffer[STATUS_BYTES];
    roast_procfs_status(read_text(probe, STATUS, buffer, sizeof buffer), probe->tid != 0, groups,
                        out);
}

static void fill_schedstat(roast_probe *probe, roast_reading *out) {
    char buffer[80];
    roast_procfs_schedstat(read_text(probe, SCHEDSTAT, buffer, sizeof buffer), out);
}

/* A thread's probe reads in that thread: what it read itself is not the thread's doing. (The kernel
 * counts a read when it is over, so the text does not contain the one that fetched it.) */
static void fill_io(roast_probe *probe, roast_reading *out) {
    char buffer[512];
    uint64_t reads = probe->own_reads, bytes = probe->own_bytes;
    roast_procfs_io(read_text(probe, IO, buffer, sizeof buffer), out);
    if (!is_live(probe) || probe->tid != -1 || probe->owner != roast_thread_serial())
        return;
    out->read_calls -= out->read_calls >= reads ? reads : 0;
    out->read_chars -= out->read_chars >= bytes ? bytes : 0;
}

/* ---- the calling thread ----
 *
 * A thread that has not been taken off its core has waited for none, and its CPU time has gone
 * with the clock. How often it was taken off is told by getrusage, which is called anyway: so what
 * was read at the same count need not be read again. The count is always read before what is kept
 * under it and after what is derived from it: a switch in between shows at the next look. */

/* How far the CPU time is carried on. A core that serves interrupts or that the hypervisor takes
 * away is not the thread's, and is not counted as a switch: for longer than this the kernel is
 * asked. */
enum { CARRY_NS = 100000 };

static void fill_wait(roast_probe *probe, roast_reading *out) {
    roast_on_core *on_core = &probe->on_core;
    if (on_core->knows_wait) {
        ROAST_READING_SET(out, runqueue_wait_ns, on_core->wait_ns);
        return;
    }
    fill_schedstat(probe, out);
    on_core->knows_wait = on_core->switches != 0 && (out->have & ROAST_HAVE(runqueue_wait_ns));
    on_core->wait_ns = out->runqueue_wait_ns;
}

static bool read_cpu(roast_on_core *on_core, uint64_t *cpu_ns) {
    if (!roast_rusage_clock(RUSAGE_THREAD, cpu_ns))
        return false;
    on_core->knows_cpu = on_core->switches != 0;
    on_core->cpu_ns = *cpu_ns;
    on_core->cpu_at_ns = on_core->knows_cpu ? roast_mono_now().ns : 0;
    return true;
}

/* `now` was read before the count of switches. */
static void fill_cpu(roast_probe *probe, roast_mono now, roast_reading *out) {
    roast_on_core *on_core = &probe->on_core;
    int64_t since = now.ns - on_core->cpu_at_ns;
    uint64_t cpu_ns;
    if (on_core->knows_cpu && since >= 0 && since <= CARRY_NS)
        cpu_ns = on_core->cpu_ns + (uint64_t)since;
    else if (!read_cpu(on_core, &cpu_ns))
        return;
    if (cpu_ns < probe->cpu_told_ns)
        cpu_ns = probe->cpu_told_ns;
    probe->cpu_told_ns = cpu_ns;
    roast_rusage_part(cpu_ns, out);
}

/* One call gives PEAK as well: the kernel puts the process's into a thread's usage, too. */
static void fill_thread(roast_probe *probe, unsigned groups, roast_reading_end end,
                        roast_reading *out) {
    roast_mono now = roast_mono_now();
    if (!roast_rusage_call(RUSAGE_THREAD, groups, out)) {
        if (groups & ROAST_READ_SCHED)
            fill_schedstat(probe, out);
        return;
    }
    /* A system that counts no switches (always 0) is asked each time. */
    uint64_t switches = out->voluntary_switches + out->involuntary_switches;
    if (switches == 0 || switches != probe->on_core.switches)
        probe->on_core = (roast_on_core){.switches = switches};
    if (end == ROAST_READING_AFTER)
        fill_cpu(probe, now, out);
    if (groups & ROAST_READ_SCHED)
        fill_wait(probe, out);
    if (end == ROAST_READING_BEFORE)
        fill_cpu(probe, now, out);
}

/* Fills what needs no file, or only now and then; returns the groups that are left to read. */
static unsigned fill_live(roast_probe *probe, unsigned groups, roast_reading_end end,
                          roast_reading *out) {
    const unsigned of_thread = ROAST_READ_USAGE | ROAST_READ_PEAK | ROAST_READ_SCHED;
    const unsigned of_process = ROAST_READ_USAGE | ROAST_READ_PEAK;
    if (probe->tid == 0) {
        if (groups & of_process)
            roast_rusage_fill(RUSAGE_SELF, groups & of_process, out);
        return groups & ~of_process;
    }
    /* getrusage knows only the thread that calls it. */
    if ((groups & ROAST_READ_USAGE) && probe->owner == roast_thread_serial()) {
        fill_thread(probe, groups & of_thread, end, out);
        return groups & ~of_thread;
    }
    if (groups & ROAST_READ_PEAK)
        roast_rusage_fill(RUSAGE_THREAD, ROAST_READ_PEAK, out);
    return groups & ~of_process;
}

static void fill_files(roast_probe *probe, unsigned groups, roast_reading *out) {
    unsigned of_stat = groups & ROAST_READ_USAGE;
    if (probe->delays)
        of_stat |= groups & ROAST_READ_DELAY;
    if ((groups & ROAST_READ_PEAK) || (of_stat & ROAST_READ_USAGE && probe->tid != 0))
        fill_status(probe, groups, out);
    if (of_stat != 0)
        fill_stat(probe, of_stat, out);
    if (groups & ROAST_READ_STATM)
        fill_statm(probe, out);
    if (groups & ROAST_READ_SCHED)
        fill_schedstat(probe, out);
    if (groups & ROAST_READ_IO)
        fill_io(probe, out);
}

void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading_end end,
                      roast_reading *out) {
    if (!is_live(probe)) {
        fill_files(probe, groups, out);
        return;
    }
    const unsigned at_the_inside = ROAST_READ_USAGE | ROAST_READ_PEAK | ROAST_READ_SCHED;
    if (end == ROAST_READING_BEFORE)
        fill_files(probe, groups & ~at_the_inside, out);
    unsigned left = fill_live(probe, groups, end, out);
    fill_files(probe, end == ROAST_READING_BEFORE ? left & at_the_inside : left, out);
}
