#include "proc/probe.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "proc/process.h"

static roast_status attach(roast_probe *probe, roast_error *err) {
    probe->generation = roast_fork_generation();
    probe->owner = probe->tid == -1 ? roast_thread_serial() : 0;
    probe->groups_known = false;
    probe->on_core = (roast_on_core){0};
    probe->cpu_told_ns = 0;
    return roast_probe_attach(probe, err);
}

/* In a forked child the files that were opened as /proc/self are still the parent's. */
static inline void follow_fork(roast_probe *probe) {
    if (probe->pid != 0 || probe->generation == roast_fork_generation())
        return;
    roast_probe_detach(probe);
    (void)attach(probe, NULL);
}

static roast_status check_ids(int64_t pid, int64_t tid, roast_error *err) {
    static const char where[] = "roast_probe_new";
    if (pid < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%lld is no process", (long long)pid);
    if (tid < -1)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%lld is no thread", (long long)tid);
    if (tid == -1 && pid != 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "the calling thread is not one of process %lld", (long long)pid);
    return ROAST_OK;
}

roast_status roast_probe_new(const char *root, int64_t pid, int64_t tid, roast_probe **out,
                             roast_error *err) {
    ROAST_TRY(check_ids(pid, tid, err));
    /* The running system's own files and getrusage agree; any other root is read from its files. */
    if (root != NULL && strcmp(root, "/proc") == 0)
        root = NULL;
    size_t root_size = root != NULL ? strlen(root) + 1 : 0;
    if (root_size > PATH_MAX)
        return roast_error_set(err, ROAST_ELIMIT, "roast_probe_new", -1,
                               "the path of the root is longer than %d bytes", PATH_MAX);
    roast_probe *probe = roast_alloc_zero(sizeof *probe + root_size);
    if (probe == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "roast_probe_new", -1, "no memory for a probe");
    probe->pid = pid;
    probe->tid = tid;
    if (root != NULL)
        probe->root = memcpy(probe + 1, root, root_size);
    roast_fork_watch();
    roast_status status = attach(probe, err);
    if (status != ROAST_OK) {
        roast_free(probe);
        return status;
    }
    *out = probe;
    return ROAST_OK;
}

void roast_probe_free(roast_probe *probe) {
    if (probe == NULL)
        return;
    roast_probe_detach(probe);
    roast_free(probe);
}

void roast_probe_read(roast_probe *probe, unsigned groups, roast_reading *out) {
    follow_fork(probe);
    *out = (roast_reading){0};
    roast_probe_fill(probe, groups, ROAST_READING_AFTER, out);
}

void roast_probe_read_before(roast_probe *probe, unsigned groups, roast_reading *out) {
    follow_fork(probe);
    *out = (roast_reading){0};
    roast_probe_fill(probe, groups, ROAST_READING_BEFORE, out);
}

bool roast_probe_rss(roast_probe *probe, uint64_t *rss_bytes) {
    follow_fork(probe);
    return roast_probe_fill_rss(probe, rss_bytes);
}

unsigned roast_probe_groups(roast_probe *probe) {
    follow_fork(probe);
    if (probe->groups_known)
        return probe->groups;
    roast_reading reading = {0};
    roast_probe_fill(probe, ROAST_READ_ALL, ROAST_READING_AFTER, &reading);
    probe->groups = 0;
#define X(field, group, unit, text)                                                                \
    if (reading.have & ROAST_HAVE(field))                                                          \
        probe->groups |= ROAST_READ_##group;
    ROAST_READING_LIST(X)
#undef X
    probe->groups_known = true;
    return probe->groups;
}

/* The calling thread's own probe. It lives in the thread's storage, so that the only thing that
 * can be short is the key that closes it. In a forked child the files of the parent's other
 * threads stay open until it ends or executes a program: their storage is gone, and nobody is
 * left to close them. */
static _Thread_local struct {
    roast_probe probe;
    bool open;
} own;
static pthread_key_t own_key;
static bool own_key_made;
static pthread_once_t own_key_once = PTHREAD_ONCE_INIT;

static void close_own(void *thread_probe) {
    roast_probe_detach(thread_probe);
    own.open = false;
}

static void make_own_key(void) {
    own_key_made = pthread_key_create(&own_key, close_own) == 0;
}

static roast_probe *open_own(void) {
    pthread_once(&own_key_once, make_own_key);
    if (!own_key_made || pthread_setspecific(own_key, &own.probe) != 0)
        return NULL;
    roast_fork_watch();
    own.probe = (roast_probe){.tid = -1};
    (void)attach(&own.probe, NULL); /* of one's own thread a missing file is no failure */
    own.open = true;
    return &own.probe;
}

roast_probe *roast_probe_this_thread(void) {
    return own.open ? &own.probe : open_own();
}
