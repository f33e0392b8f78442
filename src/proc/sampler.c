/* The sampling thread: ticks while a watch is open, goes on ticking for a while without reading when the last one
 * closes (chunks come by the thousand a second, and a wake-up costs microseconds), then waits for the next watch. */
#include "roast/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "proc/probe.h"

enum { IDLE_TICKS = 5 };
#define MIN_INTERVAL_NS INT64_C(100000)        /* shorter ones would only measure ourselves */
#define MAX_INTERVAL_NS INT64_C(3600000000000) /* keeps every sum of times far from overflow */

struct roast_watch {
    roast_watch *next, **link;
    pthread_t owner;
    uint64_t peak;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pthread_cond_t changed;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static roast_watch *watches;
static const char *proc_root;
static int64_t interval_ns = ROAST_SAMPLER_DEFAULT_NS;
static int file = -1; /* statm of this process */
static pthread_t thread;
static enum {
    NO_THREAD,  /* the next watch starts it */
    AWAKE,      /* ticking */
    PARKED,     /* waiting for a watch */
    IMPOSSIBLE, /* could not be started, or nothing to read: peaks are the ends */
} state;
static bool stop;
static roast_sampler_stats stats;

/* With the lock held, as all functions but the public ones. */
static uint64_t end_watch(roast_watch *watch) {
    uint64_t peak = watch->peak;
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    roast_free(watch);
    return peak;
}

static void init_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void close_file(void) {
    if (file >= 0)
        close(file);
    file = -1;
}

/* Held across the fork, so that the child finds neither half-changed fields nor a lock whose
 * owner did not come along. */
static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&lock);
}

/* The child has only the thread that forked: it keeps the watches of that thread. */
static void after_fork_in_child(void) {
    for (roast_watch *watch = watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (!pthread_equal(watch->owner, pthread_self()))
            end_watch(watch);
    }
    close_file();     /* the parent's */
    init_condition(); /* the old one still counts the parent's thread among those that wait */
    state = NO_THREAD;
    pthread_mutex_unlock(&lock);
}

static void prepare(void) {
    init_condition();
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enter(void) {
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&lock);
}

/* ---- the thread ---- */

/* Reads once for all that is open; false if nothing is. */
static bool tick(void) {
    uint64_t rss_bytes;
    if (watches == NULL)
        return false;
    if (!roast_rss_read(file, &rss_bytes)) {
        stats.missed++;
        return true;
    }
    stats.samples++;
    for (roast_watch *watch = watches; watch != NULL; watch = watch->next)
        if (watch->peak < rss_bytes)
            watch->peak = rss_bytes;
    return true;
}

static void park(void) {
    state = PARKED;
    while (state == PARKED && !stop)
        pthread_cond_wait(&changed, &lock);
}

/* False if the sampler was stopped or its interval changed before the time. */
static bool wait_until(int64_t ns) {
    const struct timespec deadline = {.tv_sec = ns / INT64_C(1000000000),
                                      .tv_nsec = ns % INT64_C(1000000000)};
    int64_t before_ns = interval_ns;
    int waited = 0;
    while (waited != ETIMEDOUT && !stop && interval_ns == before_ns)
        waited = pthread_cond_timedwait(&changed, &lock, &deadline);
    return !stop && interval_ns == before_ns;
}

/* On a grid, so that the time of a tick does not add up; from now on after a pause. */
static int64_t next_deadline(int64_t last) {
    int64_t now = roast_mono_now().ns;
    return last > now - interval_ns && last <= now ? last + interval_ns : now + interval_ns;
}

static void *run_thread(void *unused) {
#ifdef __linux__
    prctl(PR_SET_NAME, "roast-sampler");
#endif
    int idle = 0;
    int64_t deadline = 0;
    pthread_mutex_lock(&lock);
    while (!stop) {
        if (interval_ns == 0 || idle >= IDLE_TICKS) {
            park();
            idle = 0;
            continue;
        }
        deadline = next_deadline(deadline);
        if (wait_until(deadline))
            idle = tick() ? 0 : idle + 1;
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Without signals: they are for the program's own threads. */
static bool start_without_signals(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, run_thread, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void start_thread(void) {
    uint64_t rss_bytes;
    state = IMPOSSIBLE;
    if (file < 0)
        file = roast_rss_open(proc_root);
    if (file < 0 || !roast_rss_read(file, &rss_bytes))
        return;
    if (start_without_signals()) {
        state = AWAKE;
        stats.thread_starts++;
    }
}

/* Sees to it that the thread ticks, if there is something to watch. */
static void rouse(void) {
    if (interval_ns == 0 || watches == NULL)
        return;
    if (state == NO_THREAD) {
        start_thread();
    } else if (state == PARKED) {
        state = AWAKE;
        pthread_cond_signal(&changed);
    }
}

/* ---- for everybody ---- */

void roast_sampler_set_root(const char *root) {
    proc_root = root;
}

void roast_sampler_stop(void) {
    enter();
    stop = true;
    bool running = state == AWAKE || state == PARKED;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (running)
        pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    stop = false;
    state = NO_THREAD;
    stats = (roast_sampler_stats){0};
    close_file();
    pthread_mutex_unlock(&lock);
}

void roast_sampler_set_interval(int64_t ns) {
    enter();
    interval_ns = ns <= 0                ? 0
                  : ns < MIN_INTERVAL_NS ? MIN_INTERVAL_NS
                  : ns < MAX_INTERVAL_NS ? ns
                                         : MAX_INTERVAL_NS;
    if (state == IMPOSSIBLE)
        state = NO_THREAD; /* another chance */
    rouse();
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

int64_t roast_sampler_interval(void) {
    enter();
    int64_t ns = interval_ns;
    pthread_mutex_unlock(&lock);
    return ns;
}

roast_watch *roast_sampler_open(uint64_t rss_now) {
    roast_watch *watch = roast_alloc(sizeof *watch);
    if (watch == NULL)
        return NULL;
    enter();
    *watch = (roast_watch){watches, &watches, pthread_self(), rss_now};
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    watches = watch;
    stats.watches++;
    rouse();
    pthread_mutex_unlock(&lock);
    return watch;
}

uint64_t roast_sampler_close(roast_watch *watch, uint64_t rss_now) {
    if (watch == NULL)
        return rss_now;
    enter();
    uint64_t peak = end_watch(watch);
    pthread_mutex_unlock(&lock);
    return peak > rss_now ? peak : rss_now;
}

void roast_sampler_get_stats(roast_sampler_stats *out) {
    clockid_t clock;
    struct timespec used;
    enter();
    *out = stats;
    if ((state == AWAKE || state == PARKED) && pthread_getcpuclockid(thread, &clock) == 0 &&
        clock_gettime(clock, &used) == 0)
        out->cpu_ns = (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
    pthread_mutex_unlock(&lock);
}
