/* The backend for Linux: /proc/thread-self and getrusage.
 *
 * Waits and context switches are those of the thread: the kernel keeps them for each thread, and a sum over the
 * living threads would lose the part of ended threads and run backwards. */
#include "proc/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proc/procfs.h"

const char *roast_probe_backend(void) {
    return "linux";
}

static int open_file(const char *root, const char *folder, const char *name) {
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s/%s", root != NULL ? root : "/proc", folder, name);
    return len > 0 && (size_t)len < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Since Linux 5.14 the kernel says whether it keeps block-I/O delays; before, it just did. */
static bool keeps_delays(const char *root) {
    char text[2];
    int file = open_file(root, "sys/kernel", "task_delayacct");
    if (file < 0)
        return errno == ENOENT;
    ssize_t got = pread(file, text, sizeof text, 0);
    close(file);
    return got >= 1 && text[0] == '1' && (got == 1 || text[1] == '\n');
}

void roast_probe_open(roast_probe *probe, const char *root, const char *folder) {
    *probe = (roast_probe){.root = root,
                           .folder = folder,
                           .statm = open_file(root, folder, "statm"),
                           .delays = keeps_delays(root)};
}

void roast_probe_close(roast_probe *probe) {
    if (probe->statm >= 0)
        close(probe->statm);
}

enum { TEXT = 2048 }; /* the 52 numbers and the name in stat stay under 1200 bytes */

/* Fills `buffer` from the start of the file; an empty text if there is none. */
static roast_cursor read_text(roast_probe *probe, int file, char buffer[TEXT]) {
    ssize_t got = file >= 0 ? pread(file, buffer, TEXT, 0) : -1;
    if (got < 0)
        return (roast_cursor){buffer, buffer};
    probe->own_reads++;
    probe->own_bytes += (uint64_t)got;
    return (roast_cursor){buffer, buffer + got};
}

static roast_cursor read_once(roast_probe *probe, const char *name, char buffer[TEXT]) {
    int file = open_file(probe->root, probe->folder, name);
    roast_cursor text = read_text(probe, file, buffer);
    if (file >= 0)
        close(file);
    return text;
}

void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading *out) {
    char buffer[TEXT];
    if (groups & ROAST_READ_DELAY && probe->delays)
        roast_procfs_delay(read_once(probe, "stat", buffer), out);
    if (groups & ROAST_READ_STATM)
        roast_procfs_statm(read_text(probe, probe->statm, buffer), out);
    if (groups & ROAST_READ_SCHED)
        roast_procfs_schedstat(read_once(probe, "schedstat", buffer), out);
    if (groups & ROAST_READ_IO)
        roast_procfs_io(read_once(probe, "io", buffer), out);
}

/* ---- the calling thread's ---- */

/* The statm of this process, for all of its threads; -1: not open. It is never closed: a program that closes all
 * descriptors may have given the number to a file of its own. */
static _Atomic int statm = -1;
static pthread_once_t statm_once = PTHREAD_ONCE_INIT;
static bool forks_are_noticed;

/* In a forked child the open file is still the parent's. */
static void forget_in_child(void) {
    atomic_store(&statm, -1);
}

static void notice_forks(void) {
    forks_are_noticed = pthread_atfork(NULL, NULL, forget_in_child) == 0;
}

static int open_statm(void) {
    int file = atomic_load(&statm), fresh;
    pthread_once(&statm_once, notice_forks);
    if (file >= 0 || !forks_are_noticed || (fresh = roast_rss_open(NULL)) < 0)
        return file;
    if (atomic_compare_exchange_strong(&statm, &file, fresh))
        return fresh;
    close(fresh); /* another thread was faster */
    return file;
}

static _Thread_local struct {
    roast_probe probe;
    uint64_t process; /* its token */
} own;

/* "thread-self" is right even if /proc belongs to another pid namespace. */
static roast_probe *own_probe(void) {
    if (own.process != roast_process_token()) {
        own.process = roast_process_token();
        own.probe = (roast_probe){
            .folder = "thread-self", .statm = open_statm(), .delays = keeps_delays(NULL)};
    }
    return &own.probe;
}

void roast_probe_read(unsigned groups, roast_reading *out) {
    roast_rusage_fill(RUSAGE_THREAD, groups, out);
    if (!(groups & ~(unsigned)(ROAST_READ_USAGE | ROAST_READ_PEAK)))
        return;
    roast_probe *probe = own_probe();
    roast_probe_fill(probe, groups & ~(unsigned)ROAST_READ_IO, out);
    /* The probe's own reads are not the thread's. The kernel counts a read when it is over, so the text does not
     * contain the one that fetched it. */
    uint64_t reads = probe->own_reads, bytes = probe->own_bytes;
    if (!(groups & ROAST_READ_IO))
        return;
    roast_probe_fill(probe, ROAST_READ_IO, out);
    out->read_calls -= out->read_calls >= reads ? reads : 0;
    out->read_chars -= out->read_chars >= bytes ? bytes : 0;
}

/* ---- the sampler's ---- */

int roast_rss_open(const char *root) {
    return open_file(root, "self", "statm");
}

bool roast_rss_read(int file, uint64_t *rss_bytes) {
    char buffer[160];
    roast_reading reading = {0};
    ssize_t got = pread(file, buffer, sizeof buffer, 0);
    if (got > 0)
        roast_procfs_statm((roast_cursor){buffer, buffer + got}, &reading);
    *rss_bytes = reading.rss_bytes;
    return (reading.have & ROAST_HAVE(rss_bytes)) != 0;
}
