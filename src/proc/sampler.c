/* The sampling thread: ticks while a watch is open, goes on ticking for a while without reading
 * when the last one closes (chunks come by the thousand a second, and a wake-up costs
 * microseconds), then parks.
 *
 * A tick costs little more than its sleep and its reading. The thread takes no lock for it: between
 * short ticks it just sleeps, and looks only afterwards whether something has changed. */
#include "roast/sampler.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "proc/probe.h"
#include "proc/process.h"
#include "proc/watch.h"
#include "roast/proc.h"

enum { IDLE_TICKS = 5, STACK_BYTES = 64 * 1024 };
#define MIN_INTERVAL_NS INT64_C(100000)        /* shorter ones would only measure ourselves */
#define MAX_INTERVAL_NS INT64_C(3600000000000) /* keeps every sum of times far from overflow */
/* A sleep up to this long is not broken off: who stops the thread waits for its end. */
#define MAX_SLEEP_NS INT64_C(50000000)

typedef enum thread_state {
    NO_THREAD,  /* the next watch starts it */
    AWAKE,      /* ticking */
    PARKED,     /* waiting for a watch */
    IMPOSSIBLE, /* could not be started, or nothing to read: peaks are the ends */
} thread_state;

struct roast_sampler {
    roast_watch_set set;
    roast_probe *probe; /* read by the sampling thread alone */
    _Atomic int64_t interval_ns;
    _Atomic int state; /* written under the lock */
    _Atomic uint64_t samples, missed, watches;
    bool can_read;
    _Atomic bool stop;    /* written under the lock */
    pthread_mutex_t lock; /* the fields below */
    pthread_cond_t changed;
    pthread_t thread;
    uint64_t thread_starts;
    roast_sampler *next; /* in `samplers` */
};

/* Every sampler there is, for the fork handlers. Lock order: this one, then a sampler's. */
static pthread_mutex_t samplers_lock = PTHREAD_MUTEX_INITIALIZER;
static roast_sampler *samplers;
static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

static bool init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

/* Held across the fork, so that the child finds neither half-changed fields nor a lock whose
 * owner did not come along. */
static void before_fork(void) {
    pthread_mutex_lock(&samplers_lock);
    for (roast_sampler *sampler = samplers; sampler != NULL; sampler = sampler->next)
        pthread_mutex_lock(&sampler->lock);
}

static void after_fork_in_parent(void) {
    for (roast_sampler *sampler = samplers; sampler != NULL; sampler = sampler->next)
        pthread_mutex_unlock(&sampler->lock);
    pthread_mutex_unlock(&samplers_lock);
}

/* The child has only the thread that forked. The probe opens its files anew by itself. */
static void after_fork_in_child(void) {
    for (roast_sampler *sampler = samplers; sampler != NULL; sampler = sampler->next) {
        roast_watch_keep_only(&sampler->set, roast_thread_serial());
        /* Made anew: the old one still counts the parent's thread among those that wait. */
        bool ready = init_condition(&sampler->changed) && sampler->can_read;
        atomic_store(&sampler->state, ready ? NO_THREAD : IMPOSSIBLE);
        pthread_mutex_unlock(&sampler->lock);
    }
    pthread_mutex_unlock(&samplers_lock);
}

static void register_fork_handlers(void) {
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enlist(roast_sampler *sampler) {
    pthread_mutex_lock(&samplers_lock);
    sampler->next = samplers;
    samplers = sampler;
    pthread_mutex_unlock(&samplers_lock);
}

static void delist(roast_sampler *sampler) {
    pthread_mutex_lock(&samplers_lock);
    roast_sampler **link = &samplers;
    while (*link != sampler)
        link = &(*link)->next;
    *link = sampler->next;
    pthread_mutex_unlock(&samplers_lock);
}

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / INT64_C(1000000000),
                             .tv_nsec = ns % INT64_C(1000000000)};
}

/* One more in a counter that nobody else writes. */
static void count(_Atomic uint64_t *counter) {
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + 1, memory_order_relaxed);
}

/* Reads once for all that is open; false if nothing is. */
static bool tick(roast_sampler *sampler) {
    if (!roast_watch_note(&sampler->set))
        return false;
    uint64_t rss_bytes;
    if (roast_probe_rss(sampler->probe, &rss_bytes)) {
        roast_watch_raise(&sampler->set, rss_bytes);
        count(&sampler->samples);
    } else {
        count(&sampler->missed);
    }
    return true;
}

/* A thread that opens a watch first opens it, then looks at the state; we first change the state,
 * then look for watches: one of the two sees the other. */
static void park(roast_sampler *sampler) {
    pthread_mutex_lock(&sampler->lock);
    atomic_store(&sampler->state, PARKED);
    if (atomic_load(&sampler->interval_ns) > 0 && roast_watch_any(&sampler->set))
        atomic_store(&sampler->state, AWAKE);
    while (atomic_load(&sampler->state) == PARKED && !atomic_load(&sampler->stop))
        pthread_cond_wait(&sampler->changed, &sampler->lock);
    pthread_mutex_unlock(&sampler->lock);
}

static bool goes_on(const roast_sampler *sampler, int64_t interval_ns) {
    return !atomic_load(&sampler->stop) && atomic_load(&sampler->interval_ns) == interval_ns;
}

/* To the deadline or until something changes. A condition variable takes a third more CPU time
 * than a plain sleep, which matters only where ticks are many. */
static void wait_until(roast_sampler *sampler, const struct timespec *deadline,
                       int64_t interval_ns) {
    pthread_mutex_lock(&sampler->lock);
    while (goes_on(sampler, interval_ns))
        if (pthread_cond_timedwait(&sampler->changed, &sampler->lock, deadline) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&sampler->lock);
}

/* False if something changed meanwhile. */
static bool sleep_until(roast_sampler *sampler, int64_t deadline_ns, int64_t interval_ns) {
    struct timespec deadline = timespec_of(deadline_ns);
    if (interval_ns > MAX_SLEEP_NS)
        wait_until(sampler, &deadline, interval_ns);
    else /* no signal breaks it off: the thread takes none */
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
    return goes_on(sampler, interval_ns);
}

/* On a grid, so that the time of a tick does not add up; from now on after a pause. The clock is not looked
 * at each time: after a pause some ticks come at once, then it is noticed. */
static int64_t next_deadline(int64_t last, int64_t interval, unsigned tick) {
    enum { TICKS_A_LOOK = 16 };
    if (tick % TICKS_A_LOOK != 0)
        return last + interval;
    int64_t now = roast_mono_now().ns;
    return last > now - interval && last <= now ? last + interval : now + interval;
}

static void name_thread(void) {
#ifdef __linux__
    prctl(PR_SET_NAME, "roast-sampler");
#endif
}

static void *run_thread(void *context) {
    roast_sampler *sampler = context;
    name_thread();
    int idle = 0;
    unsigned ticks = 0; /* since something changed */
    int64_t deadline = 0;
    while (!atomic_load(&sampler->stop)) {
        int64_t interval = atomic_load(&sampler->interval_ns);
        if (interval == 0 || idle >= IDLE_TICKS) {
            park(sampler);
            idle = 0;
            ticks = 0;
            continue;
        }
        deadline = next_deadline(deadline, interval, ticks++);
        if (sleep_until(sampler, deadline, interval))
            idle = tick(sampler) ? 0 : idle + 1;
        else
            ticks = 0;
    }
    return NULL;
}

static bool create_small(roast_sampler *sampler) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t size = least > STACK_BYTES ? (size_t)least : STACK_BYTES;
    bool done = pthread_attr_setstacksize(&attributes, size) == 0 &&
                pthread_create(&sampler->thread, &attributes, run_thread, sampler) == 0;
    pthread_attr_destroy(&attributes);
    return done;
}

/* With the lock held. The thread takes no signal: they are for the program's own threads. A
 * program with much thread-local storage needs a larger stack than ours, hence the second try. */
static void start_thread(roast_sampler *sampler) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started =
        create_small(sampler) || pthread_create(&sampler->thread, NULL, run_thread, sampler) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sampler->thread_starts += started;
    atomic_store(&sampler->state, started ? AWAKE : IMPOSSIBLE);
}

/* With the lock held. */
static void rouse(roast_sampler *sampler) {
    int state = atomic_load(&sampler->state);
    if (state == NO_THREAD) {
        start_thread(sampler);
    } else if (state == PARKED) {
        atomic_store(&sampler->state, AWAKE);
        pthread_cond_signal(&sampler->changed);
    }
}

static int64_t usable_interval(int64_t interval_ns) {
    if (interval_ns <= 0)
        return 0;
    if (interval_ns < MIN_INTERVAL_NS)
        return MIN_INTERVAL_NS;
    return interval_ns < MAX_INTERVAL_NS ? interval_ns : MAX_INTERVAL_NS;
}

static bool init_locks(roast_sampler *sampler) {
    if (pthread_mutex_init(&sampler->lock, NULL) != 0)
        return false;
    if (init_condition(&sampler->changed))
        return true;
    pthread_mutex_destroy(&sampler->lock);
    return false;
}

roast_status roast_sampler_new(const char *proc_root, int64_t interval_ns, roast_sampler **out,
                               roast_error *err) {
    static const char where[] = "roast_sampler_new";
    if (interval_ns < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "an interval of %lld ns",
                               (long long)interval_ns);
    roast_probe *probe;
    ROAST_TRY(roast_probe_new(proc_root, 0, 0, &probe, err));
    roast_sampler *sampler = roast_alloc_zero(sizeof *sampler);
    if (sampler == NULL || !init_locks(sampler)) {
        roast_free(sampler);
        roast_probe_free(probe);
        return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for a sampler");
    }
    roast_watch_set_init(&sampler->set);
    sampler->probe = probe;
    sampler->can_read = roast_probe_groups(probe) & ROAST_READ_STATM;
    atomic_store(&sampler->interval_ns, usable_interval(interval_ns));
    atomic_store(&sampler->state, sampler->can_read ? NO_THREAD : IMPOSSIBLE);
    pthread_once(&fork_handlers, register_fork_handlers);
    enlist(sampler);
    *out = sampler;
    return ROAST_OK;
}

void roast_sampler_free(roast_sampler *sampler) {
    if (sampler == NULL)
        return;
    delist(sampler);
    pthread_mutex_lock(&sampler->lock);
    atomic_store(&sampler->stop, true);
    int state = atomic_load(&sampler->state);
    pthread_cond_signal(&sampler->changed);
    pthread_mutex_unlock(&sampler->lock);
    if (state == AWAKE || state == PARKED)
        pthread_join(sampler->thread, NULL);
    pthread_cond_destroy(&sampler->changed);
    pthread_mutex_destroy(&sampler->lock);
    roast_watch_set_reset(&sampler->set);
    roast_probe_free(sampler->probe);
    roast_free(sampler);
}

void roast_sampler_set_interval(roast_sampler *sampler, int64_t interval_ns) {
    pthread_mutex_lock(&sampler->lock);
    atomic_store(&sampler->interval_ns, usable_interval(interval_ns));
    /* A thread that could not be started gets another chance. */
    if (atomic_load(&sampler->state) == IMPOSSIBLE && sampler->can_read)
        atomic_store(&sampler->state, NO_THREAD);
    if (interval_ns > 0 && roast_watch_any(&sampler->set))
        rouse(sampler);
    pthread_cond_signal(&sampler->changed);
    pthread_mutex_unlock(&sampler->lock);
}

int64_t roast_sampler_interval(const roast_sampler *sampler) {
    return atomic_load(&sampler->interval_ns);
}

roast_watch *roast_sampler_open(roast_sampler *sampler, uint64_t rss_now) {
    roast_watch *watch = roast_watch_claim(&sampler->set, roast_thread_serial(), rss_now);
    if (watch == NULL)
        return NULL;
    atomic_fetch_add_explicit(&sampler->watches, 1, memory_order_relaxed);
    int state = atomic_load(&sampler->state);
    if ((state == NO_THREAD || state == PARKED) && atomic_load(&sampler->interval_ns) > 0) {
        pthread_mutex_lock(&sampler->lock);
        rouse(sampler);
        pthread_mutex_unlock(&sampler->lock);
    }
    return watch;
}

uint64_t roast_sampler_close(roast_sampler *sampler, roast_watch *watch, uint64_t rss_now) {
    (void)sampler;
    uint64_t peak = watch != NULL ? roast_watch_release(watch) : 0;
    return peak > rss_now ? peak : rss_now;
}

static uint64_t thread_cpu_ns(pthread_t thread) {
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

void roast_sampler_get_stats(roast_sampler *sampler, roast_sampler_stats *out) {
    pthread_mutex_lock(&sampler->lock);
    int state = atomic_load(&sampler->state);
    out->thread_starts = sampler->thread_starts;
    out->cpu_ns = state == AWAKE || state == PARKED ? thread_cpu_ns(sampler->thread) : 0;
    pthread_mutex_unlock(&sampler->lock);
    out->samples = atomic_load(&sampler->samples);
    out->missed = atomic_load(&sampler->missed);
    out->watches = atomic_load(&sampler->watches);
}
