/* The backend for Linux: /proc/thread-self and getrusage.
 *
 * Waits and context switches are those of the thread: the kernel keeps them for each thread, and a sum over the
 * living threads would lose the part of ended threads and run backwards. */
#include "proc/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proc/procfs.h"

typedef enum file_kind { STATM, STAT, SCHEDSTAT, IO, KINDS } file_kind;
_Static_assert((int)KINDS == (int)ROAST_PROBE_FILES, "a descriptor for each file");

static const char *const file_names[KINDS] = {"statm", "stat", "schedstat", "io"};

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
    *probe = (roast_probe){.own_reads = 0};
    for (int kind = 0; kind < KINDS; kind++)
        probe->files[kind] =
            kind != STAT || keeps_delays(root) ? open_file(root, folder, file_names[kind]) : -1;
}

void roast_probe_close(roast_probe *probe) {
    for (int kind = 0; kind < KINDS; kind++)
        if (probe->files[kind] >= 0)
            close(probe->files[kind]);
}

/* Fills `buffer` from the start of the file; an empty text if there is none. */
static roast_cursor read_text(roast_probe *probe, file_kind kind, char *buffer, size_t size) {
    ssize_t got = probe->files[kind] >= 0 ? pread(probe->files[kind], buffer, size, 0) : -1;
    if (got < 0)
        return (roast_cursor){buffer, buffer};
    probe->own_reads++;
    probe->own_bytes += (uint64_t)got;
    return (roast_cursor){buffer, buffer + got};
}

void roast_probe_fill(roast_probe *probe, unsigned groups, roast_reading *out) {
    char buffer[2048]; /* the 52 numbers and the name in stat stay under 1200 bytes */
    const size_t size = sizeof buffer;
    if (groups & ROAST_READ_DELAY)
        roast_procfs_delay(read_text(probe, STAT, buffer, size), out);
    if (groups & ROAST_READ_STATM)
        roast_procfs_statm(read_text(probe, STATM, buffer, size), out);
    if (groups & ROAST_READ_SCHED)
        roast_procfs_schedstat(read_text(probe, SCHEDSTAT, buffer, size), out);
    if (groups & ROAST_READ_IO)
        roast_procfs_io(read_text(probe, IO, buffer, size), out);
}

/* ---- the calling thread's own ----
 *
 * In a forked child the files of the parent's other threads stay open until it ends or executes a program: their
 * storage is gone, and nobody is left to close them. */

static _Thread_local struct {
    roast_probe probe;
    bool open;
    uint64_t process; /* its token: in a forked child the open files are still the parent's */
} own;
static pthread_key_t own_key;
static bool own_key_made;
static pthread_once_t own_key_once = PTHREAD_ONCE_INIT;

static void close_own(void *probe) {
    roast_probe_close(probe);
    own.open = false;
}

static void make_own_key(void) {
    own_key_made = pthread_key_create(&own_key, close_own) == 0;
}

/* "thread-self" is right even if /proc belongs to another pid namespace. NULL: the files could not be closed. */
static roast_probe *open_own(void) {
    pthread_once(&own_key_once, make_own_key);
    if (!own_key_made || pthread_setspecific(own_key, &own.probe) != 0)
        return NULL;
    if (own.open)
        roast_probe_close(&own.probe);
    roast_probe_open(&own.probe, NULL, "thread-self");
    own.process = roast_process_token();
    own.open = true;
    return &own.probe;
}

void roast_probe_read(unsigned groups, roast_reading *out) {
    roast_rusage_fill(RUSAGE_THREAD, groups, out);
    if (!(groups & ~(unsigned)(ROAST_READ_USAGE | ROAST_READ_PEAK)))
        return;
    bool fresh = own.open && own.process == roast_process_token();
    roast_probe *probe = fresh ? &own.probe : open_own();
    if (probe == NULL)
        return;
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
