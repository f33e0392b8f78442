/* The sampler: true peaks, parking, forks, threads. The memory it reads is a file of the test's,
 * so that nothing depends on time: a test waits until a value was read. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../burn/load.h"
#include "proc/watch.h"
#include "roast/proc.h"
#include "roast/sampler.h"

/* The thread sanitizer cannot follow a thread that starts in the child of a process with
 * threads. */
#if defined(__SANITIZE_THREAD__)
#define FORK_AND_THREADS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORK_AND_THREADS false
#endif
#endif
#ifndef FORK_AND_THREADS
#define FORK_AND_THREADS true
#endif

#define MILLISECOND INT64_C(1000000)
#define MEGABYTE    UINT64_C(1000000)

/* The link puts this before the C library's. */
static bool fail_create;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *context) {
    return fail_create ? EAGAIN : __real_pthread_create(thread, attributes, body, context);
}

/* A root of /proc with one file, ROOT/self/statm, that says what the test wants. */
static char fake_root[] = "/tmp/roast-sampler-XXXXXX";
static int fake_statm = -1;

static uint64_t pages(uint64_t count) {
    return count * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Eight digits, always: the sampler never sees a mixture of two lengths. */
static void set_pages(uint64_t count) {
    char text[32];
    int len = snprintf(text, sizeof text, "90000000 %08llu 1 1 0 1 0\n", (unsigned long long)count);
    assert_int_equal(len, pwrite(fake_statm, text, (size_t)len, 0));
}

static int make_fake_root(void **state) {
    (void)state;
    char path[64];
    if (mkdtemp(fake_root) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/self", fake_root);
    if (mkdir(path, 0700) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/self/statm", fake_root);
    fake_statm = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fake_statm >= 0 ? 0 : -1;
}

static int remove_fake_root(void **state) {
    (void)state;
    char path[64];
    close(fake_statm);
    snprintf(path, sizeof path, "%s/self/statm", fake_root);
    unlink(path);
    snprintf(path, sizeof path, "%s/self", fake_root);
    rmdir(path);
    return rmdir(fake_root);
}

static bool is_linux(void) {
    return strcmp(roast_probe_backend(), "linux") == 0;
}

static void needs_linux(void) {
    if (!is_linux())
        skip();
}

static roast_sampler *make(const char *root, int64_t interval_ns) {
    roast_error err;
    roast_sampler *sampler = NULL;
    assert_ok(roast_sampler_new(root, interval_ns, &sampler, &err), err);
    return sampler;
}

static roast_sampler_stats stats_of(roast_sampler *sampler) {
    roast_sampler_stats stats;
    roast_sampler_get_stats(sampler, &stats);
    return stats;
}

static bool nap(void) {
    return usleep(500) == 0;
}

/* Until two more readings were taken: the second began after this call. False after 20 s. */
static bool sampled_twice(roast_sampler *sampler) {
    uint64_t begin = stats_of(sampler).samples;
    for (int i = 0; i < 40000; i++, nap())
        if (stats_of(sampler).samples >= begin + 2)
            return true;
    return false;
}

static void a_peak_in_between_is_seen(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, MILLISECOND);
    roast_watch *outer = roast_sampler_open(sampler, pages(1000));
    assert_true(sampled_twice(sampler));
    set_pages(5000);
    assert_true(sampled_twice(sampler));
    set_pages(2000);
    assert_true(sampled_twice(sampler));
    /* Opened after the peak: it is not this one's. */
    roast_watch *inner = roast_sampler_open(sampler, pages(2000));
    set_pages(3000);
    assert_true(sampled_twice(sampler));
    set_pages(1000);
    assert_true(sampled_twice(sampler));
    assert_true(roast_sampler_close(sampler, inner, pages(1000)) == pages(3000));
    assert_true(roast_sampler_close(sampler, outer, pages(1000)) == pages(5000));
    roast_sampler_stats stats = stats_of(sampler);
    assert_int_equal(2, stats.watches);
    assert_int_equal(1, stats.thread_starts);
    assert_int_equal(0, stats.missed);
    assert_true(stats.cpu_ns > 0);
    roast_sampler_free(sampler);
}

static void the_ends_count(void **state) {
    (void)state;
    set_pages(1000);
    roast_sampler *sampler = make(NULL, 0);
    assert_int_equal(0, roast_sampler_interval(sampler));
    roast_watch *watch = roast_sampler_open(sampler, 70);
    assert_true(roast_sampler_close(sampler, watch, 30) == 70);
    watch = roast_sampler_open(sampler, 30);
    assert_true(roast_sampler_close(sampler, watch, 70) == 70);
    assert_true(roast_sampler_close(sampler, NULL, 30) == 30);
    /* More than fits beside the flag: the largest that does, or the end. */
    watch = roast_sampler_open(sampler, UINT64_MAX);
    assert_true(roast_sampler_close(sampler, watch, 30) == (UINT64_C(1) << 48) - 1);
    watch = roast_sampler_open(sampler, 30);
    assert_true(roast_sampler_close(sampler, watch, UINT64_MAX) == UINT64_MAX);
    roast_sampler_stats stats = stats_of(sampler);
    assert_int_equal(0, stats.thread_starts);
    assert_int_equal(0, stats.samples);
    assert_int_equal(0, stats.cpu_ns);
    assert_int_equal(4, stats.watches);
    roast_sampler_free(sampler);
    roast_sampler_free(NULL);
}

static void the_interval_can_change(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, 0);
    roast_watch *watch = roast_sampler_open(sampler, pages(1000));
    assert_int_equal(0, stats_of(sampler).thread_starts);
    roast_sampler_set_interval(sampler, MILLISECOND); /* starts for a watch that is open */
    assert_int_equal(MILLISECOND, roast_sampler_interval(sampler));
    assert_true(sampled_twice(sampler));
    roast_sampler_set_interval(sampler, INT64_MAX);
    assert_int_equal(INT64_C(3600) * 1000 * MILLISECOND, roast_sampler_interval(sampler));
    roast_sampler_set_interval(sampler, 1);
    assert_int_equal(100000, roast_sampler_interval(sampler));
    assert_true(sampled_twice(sampler)); /* it does not sleep for the hour */
    roast_sampler_set_interval(sampler, -1);
    assert_int_equal(0, roast_sampler_interval(sampler));
    uint64_t samples = stats_of(sampler).samples;
    usleep(5000);
    assert_true(stats_of(sampler).samples <= samples + 1); /* one may have been under way */
    roast_sampler_set_interval(sampler, MILLISECOND);
    assert_true(sampled_twice(sampler));
    roast_sampler_close(sampler, watch, 0);
    assert_int_equal(1, stats_of(sampler).thread_starts);
    roast_sampler_free(sampler);
}

/* A thread that sleeps for an hour is not waited for. */
static void a_long_interval_ends_at_once(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, INT64_C(3600) * 1000 * MILLISECOND);
    roast_watch *watch = roast_sampler_open(sampler, 7);
    assert_int_equal(1, stats_of(sampler).thread_starts);
    nap(); /* it may sleep already */
    assert_true(roast_sampler_close(sampler, watch, 5) == 7);
    roast_sampler_free(sampler);
}

/* Parked, it uses no CPU time; ticking, it would use some within 20 ms. */
static bool comes_to_rest(roast_sampler *sampler) {
    for (int i = 0; i < 200; i++) {
        uint64_t used = stats_of(sampler).cpu_ns;
        usleep(20000);
        if (stats_of(sampler).cpu_ns == used)
            return true;
    }
    return false;
}

static void parks_and_wakes(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, 100000); /* 5 idle ticks are 0.5 ms */
    for (int i = 0; i < 20; i++) {
        roast_watch *watch = roast_sampler_open(sampler, 0);
        assert_true(sampled_twice(sampler));
        assert_true(roast_sampler_close(sampler, watch, 0) == pages(1000));
        usleep(i % 2 ? 100 : 5000); /* ticking on, or parked */
    }
    assert_true(comes_to_rest(sampler));
    assert_int_equal(1, stats_of(sampler).thread_starts);
    roast_sampler_free(sampler);
}

static void failed_readings_are_counted(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, MILLISECOND);
    roast_watch *watch = roast_sampler_open(sampler, 7);
    assert_true(sampled_twice(sampler));
    assert_int_equal(0, ftruncate(fake_statm, 0));
    for (int i = 0; i < 40000 && stats_of(sampler).missed < 2; i++)
        nap();
    assert_true(stats_of(sampler).missed >= 2);
    assert_true(roast_sampler_close(sampler, watch, 7) == pages(1000));
    roast_sampler_free(sampler);
    /* Nothing to read from the beginning: no thread. */
    sampler = make(fake_root, MILLISECOND);
    watch = roast_sampler_open(sampler, 7);
    roast_sampler_set_interval(sampler, 2 * MILLISECOND);
    assert_int_equal(0, stats_of(sampler).thread_starts);
    assert_true(roast_sampler_close(sampler, watch, 5) == 7);
    roast_sampler_free(sampler);
}

static void no_thread_is_no_error(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, MILLISECOND);
    fail_create = true;
    roast_watch *watch = roast_sampler_open(sampler, 9);
    fail_create = false;
    assert_non_null(watch);
    assert_true(roast_sampler_close(sampler, watch, 8) == 9);
    watch = roast_sampler_open(sampler, 9); /* it is not tried with each watch */
    roast_sampler_stats stats = stats_of(sampler);
    assert_int_equal(0, stats.thread_starts + stats.samples + stats.cpu_ns);
    roast_sampler_set_interval(sampler, MILLISECOND);
    assert_true(sampled_twice(sampler));
    assert_true(roast_sampler_close(sampler, watch, 8) == pages(1000));
    roast_sampler_free(sampler);
}

static void refuses_bad_arguments(void **state) {
    (void)state;
    roast_error err;
    roast_sampler *sampler = NULL;
    assert_status(ROAST_EINVAL, roast_sampler_new(NULL, -1, &sampler, &err));
    roast_status missing = is_linux() ? ROAST_ENOTFOUND : ROAST_EUNSUPPORTED;
    assert_status(missing, roast_sampler_new("tests/nowhere", 1, &sampler, &err));
    assert_null(sampler);
}

static roast_status make_and_fill(void *unused) {
    (void)unused;
    enum { WATCHES = ROAST_WATCH_BLOCK + 1 };
    roast_sampler *sampler;
    roast_watch *watches[WATCHES];
    ROAST_TRY(roast_sampler_new(NULL, 0, &sampler, NULL));
    roast_status status = ROAST_OK;
    for (int i = 0; i < WATCHES; i++) {
        watches[i] = roast_sampler_open(sampler, (uint64_t)i);
        if (watches[i] == NULL)
            status = ROAST_ENOMEM;
    }
    for (int i = 0; i < WATCHES; i++)
        if (roast_sampler_close(sampler, watches[i], 0) != (watches[i] ? (uint64_t)i : 0))
            status = ROAST_ESTATE;
    roast_sampler_free(sampler);
    return status;
}

static void memory_may_be_short(void **state) {
    (void)state;
    assert_int_equal(3, alloc_walk(make_and_fill, NULL));
}

/* A reading that was taken before a slot changed hands does not count for the next watch. */
static void a_slot_that_changed_hands(void **state) {
    (void)state;
    static roast_watch_set set;
    roast_watch_set_init(&set);
    assert_false(roast_watch_note(&set));
    roast_watch *first = roast_watch_claim(&set, 1, 10);
    assert_true(roast_watch_any(&set));
    assert_true(roast_watch_note(&set));
    assert_true(roast_watch_release(first) == 10);
    roast_watch *second = roast_watch_claim(&set, 1, 10);
    assert_ptr_equal(first, second);
    roast_watch_raise(&set, 99);
    assert_true(roast_watch_release(second) == 10);
    assert_true(atomic_load(&second->owner) == 0); /* or a forked child would take it for its own */
    second = roast_watch_claim(&set, 1, 10);
    assert_true(roast_watch_note(&set));
    roast_watch *other = roast_watch_claim(&set, 2, 20);
    assert_ptr_not_equal(other, second);
    roast_watch_keep_only(&set, 2);
    roast_watch_raise(&set, 77);
    assert_true(roast_watch_note(&set));
    assert_true(roast_watch_release(other) == 20);
    assert_false(roast_watch_any(&set));
    second = roast_watch_claim(&set, 1, 10);
    assert_true(roast_watch_note(&set));
    roast_watch_raise(&set, 55);
    roast_watch_raise(&set, 44);
    assert_true(roast_watch_release(second) == 55);
    /* The count of uses wraps. */
    for (int i = 0; i < 70000; i++)
        (void)roast_watch_release(roast_watch_claim(&set, 1, 1));
    assert_false(roast_watch_any(&set));
    roast_watch_set_reset(&set);
}

typedef struct crowd {
    roast_sampler *sampler;
    atomic_int faults;
} crowd;

/* Many short watches, up to 20 a thread at once. */
static void *join_crowd(void *context) {
    enum { DEPTH = 20, ROUNDS = 300 };
    crowd *all = context;
    roast_watch *watches[DEPTH];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < DEPTH; i++)
            watches[i] = roast_sampler_open(all->sampler, (uint64_t)i);
        if (round % 50 == 0)
            nap();
        for (int i = 0; i < DEPTH; i++) {
            uint64_t peak = roast_sampler_close(all->sampler, watches[i], 0);
            if (watches[i] == NULL || (peak != (uint64_t)i && peak != pages(1000)))
                atomic_fetch_add(&all->faults, 1);
        }
    }
    return NULL;
}

static void threads_do_not_mix(void **state) {
    (void)state;
    needs_linux();
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    set_pages(1000);
    crowd all = {.sampler = make(fake_root, 100000)};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, join_crowd, &all));
    for (int i = 0; i < 20; i++, nap())
        roast_sampler_set_interval(all.sampler, i % 3 == 0 ? 0 : 100000 * (i % 3));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    assert_int_equal(0, atomic_load(&all.faults));
    assert_int_equal(THREADS * 300 * 20, stats_of(all.sampler).watches);
    roast_sampler_free(all.sampler);
}

static int in_child(int (*body)(void *), void *context) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body(context));
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

typedef struct forked {
    roast_sampler *sampler;
    roast_watch *before; /* opened by the thread that forks */
    uint64_t starts;
} forked;

static int sample_in_child(void *context) {
    forked *parent = context;
    roast_sampler *sampler = parent->sampler;
    if (stats_of(sampler).cpu_ns != 0)
        return 1;
    roast_watch *watch = roast_sampler_open(sampler, 1);
    if (watch == NULL || stats_of(sampler).thread_starts != parent->starts + 1)
        return 2;
    if (!sampled_twice(sampler))
        return 3;
    if (roast_sampler_close(sampler, watch, 0) != pages(1000))
        return 4;
    if (roast_sampler_close(sampler, parent->before, 0) != pages(1000))
        return 5;
    /* The watch of the parent's other thread is forgotten: but for a reading that was under way,
     * nothing is read any more. */
    uint64_t samples = stats_of(sampler).samples;
    usleep(20000);
    if (stats_of(sampler).samples > samples + 1)
        return 6;
    roast_sampler_free(sampler);
    return 0;
}

static atomic_int other_stage;

static void *hold_a_watch(void *sampler) {
    roast_watch *watch = roast_sampler_open(sampler, 3);
    atomic_store(&other_stage, 1);
    while (atomic_load(&other_stage) != 2)
        nap();
    roast_sampler_close(sampler, watch, 0);
    return NULL;
}

static void a_fork_samples_for_itself(void **state) {
    (void)state;
    needs_linux();
    if (!FORK_AND_THREADS)
        skip();
    set_pages(1000);
    forked parent = {.sampler = make(fake_root, MILLISECOND), .starts = 1};
    parent.before = roast_sampler_open(parent.sampler, 2);
    pthread_t other;
    atomic_store(&other_stage, 0);
    assert_int_equal(0, pthread_create(&other, NULL, hold_a_watch, parent.sampler));
    while (atomic_load(&other_stage) != 1)
        nap();
    assert_true(sampled_twice(parent.sampler));
    for (int i = 0; i < 3; i++)
        assert_int_equal(0, in_child(sample_in_child, &parent));
    assert_true(sampled_twice(parent.sampler)); /* the parent's goes on */
    assert_int_equal(1, stats_of(parent.sampler).thread_starts);
    atomic_store(&other_stage, 2);
    assert_int_equal(0, pthread_join(other, NULL));
    roast_sampler_close(parent.sampler, parent.before, 0);
    roast_sampler_free(parent.sampler);
}

static int free_in_child(void *sampler) {
    roast_sampler_free(sampler); /* nothing to join here */
    return 0;
}

static void a_fork_may_just_end(void **state) {
    (void)state;
    set_pages(1000);
    roast_sampler *sampler = make(NULL, 100000), *second = make(NULL, MILLISECOND);
    roast_watch *watch = roast_sampler_open(sampler, 1);
    /* A build that cannot read the memory in use needs no thread. */
    assert_int_equal(is_linux(), stats_of(sampler).thread_starts);
    assert_int_equal(0, in_child(free_in_child, second));
    roast_sampler_close(sampler, watch, 1);
    usleep(10000); /* parked, or soon */
    assert_int_equal(0, in_child(free_in_child, sampler));
    roast_sampler_free(sampler);
    roast_sampler_free(second);
}

static uint64_t rss_now(void) {
    roast_reading reading;
    roast_probe_read(roast_probe_this_thread(), ROAST_READ_STATM, &reading);
    return reading.rss_bytes;
}

static void wait_for_samples(void *sampler) {
    assert_true(sampled_twice(sampler));
}

/* Returns the peak over what was there before. */
static uint64_t grown_peak(roast_sampler *sampler, size_t bytes) {
    uint64_t before = rss_now();
    roast_watch *watch = roast_sampler_open(sampler, before);
    assert_true(burn_memory(bytes, wait_for_samples, sampler));
    uint64_t after = rss_now(), peak = roast_sampler_close(sampler, watch, after);
    assert_true(after < before + bytes / 2); /* the ends do not show it */
    return peak - before;
}

static int check_peak_in_child(void *sampler) {
    double grown = (double)grown_peak(sampler, 100 * MEGABYTE);
    return grown > 95e6 && grown < 105e6 ? 0 : 1;
}

static void the_peak_is_true(void **state) {
    (void)state;
    needs_linux();
    roast_sampler *sampler = make(NULL, MILLISECOND);
    double grown = (double)grown_peak(sampler, 100 * MEGABYTE);
    assert_true(grown > 95e6 && grown < 105e6);
    if (FORK_AND_THREADS)
        assert_int_equal(0, in_child(check_peak_in_child, sampler));
    roast_sampler_free(sampler);
}

static void takes_no_signal(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    roast_sampler *sampler = make(fake_root, MILLISECOND);
    sigset_t user, before, pending;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    roast_watch *watch = roast_sampler_open(sampler, 0);
    assert_int_equal(0, pthread_sigmask(SIG_BLOCK, &user, &before));
    /* SIGUSR1 would end the process if the sampler's thread took it. */
    assert_int_equal(0, kill(getpid(), SIGUSR1));
    assert_true(sampled_twice(sampler));
    assert_int_equal(0, sigpending(&pending));
    assert_true(sigismember(&pending, SIGUSR1));
    int taken;
    assert_int_equal(0, sigwait(&user, &taken));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    roast_sampler_close(sampler, watch, 0);
    roast_sampler_free(sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_in_between_is_seen),
        cmocka_unit_test(the_ends_count),
        cmocka_unit_test(the_interval_can_change),
        cmocka_unit_test(a_long_interval_ends_at_once),
        cmocka_unit_test(parks_and_wakes),
        cmocka_unit_test(failed_readings_are_counted),
        cmocka_unit_test(no_thread_is_no_error),
        cmocka_unit_test(refuses_bad_arguments),
        cmocka_unit_test(a_slot_that_changed_hands),
        cmocka_unit_test(threads_do_not_mix),
        cmocka_unit_test(a_fork_samples_for_itself),
        cmocka_unit_test(a_fork_may_just_end),
        cmocka_unit_test(the_peak_is_true),
        cmocka_unit_test(takes_no_signal),
        /* Last: the allocator that fails is not for threads. */
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, make_fake_root, remove_fake_root);
}
