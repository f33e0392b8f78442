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

/* One call gives both groups: the kernel puts the process's peak into a thread's usage, too. */
static void fill_live(const roast_probe *probe, unsigned groups, roast_reading *out) {
    bool thread = probe->tid == -1;
    /* getrusage knows only the thread that calls it. */
    if (thread && probe->owner != roast_thread_serial())
        groups &= ~(unsigned)ROAST_READ_USAGE;
    if (groups & (ROAST_READ_USAGE | ROAST_READ_PEAK))
        roast_rusage_fill(thread ? RUSAGE_THREAD : RUSAGE_SELF, groups, out);
}

void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading *out) {
    unsigned of_stat = probe->delays ? groups & ROAST_READ_DELAY : 0;
    unsigned usage = groups & (ROAST_READ_USAGE | ROAST_READ_PEAK);
    if (usage != 0 && is_live(probe)) {
        fill_live(probe, usage, out);
    } else if (usage != 0) {
        of_stat |= usage & ROAST_READ_USAGE;
        if (probe->tid != 0 || (usage & ROAST_READ_PEAK))
            fill_status(probe, usage, out);
    }
    if (of_stat != 0)
        fill_stat(probe, of_stat, out);
    if (groups & ROAST_READ_STATM)
        fill_statm(probe, out);
    if (groups & ROAST_READ_SCHED)
        fill_schedstat(probe, out);
    if (groups & ROAST_READ_IO)
        fill_io(probe, out);
}
