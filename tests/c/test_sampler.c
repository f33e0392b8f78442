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
#include "proc/probe.h"
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

/* The sampler as if it had never run. */
static void begin(const char *root, int64_t interval_ns) {
    roast_sampler_stop();
    roast_sampler_set_root(root);
    roast_sampler_set_interval(interval_ns);
}

static roast_sampler_stats now(void) {
    roast_sampler_stats stats;
    roast_sampler_get_stats(&stats);
    return stats;
}

static bool nap(void) {
    return usleep(500) == 0;
}

/* Until two more readings were taken: the second began after this call. False after 20 s. */
static bool sampled_twice(void) {
    uint64_t begin = now().samples;
    for (int i = 0; i < 40000; i++, nap())
        if (now().samples >= begin + 2)
            return true;
    return false;
}

static void a_peak_in_between_is_seen(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, MILLISECOND);
    roast_watch *outer = roast_sampler_open(pages(1000));
    assert_true(sampled_twice());
    set_pages(5000);
    assert_true(sampled_twice());
    set_pages(2000);
    assert_true(sampled_twice());
    /* Opened after the peak: it is not this one's. */
    roast_watch *inner = roast_sampler_open(pages(2000));
    set_pages(3000);
    assert_true(sampled_twice());
    set_pages(1000);
    assert_true(sampled_twice());
    assert_true(roast_sampler_close(inner, pages(1000)) == pages(3000));
    assert_true(roast_sampler_close(outer, pages(1000)) == pages(5000));
    roast_sampler_stats stats = now();
    assert_int_equal(2, stats.watches);
    assert_int_equal(1, stats.thread_starts);
    assert_int_equal(0, stats.missed);
    assert_true(stats.cpu_ns > 0);
    roast_sampler_stop();
}

static void the_ends_count(void **state) {
    (void)state;
    set_pages(1000);
    begin(NULL, 0);
    assert_int_equal(0, roast_sampler_interval());
    roast_watch *watch = roast_sampler_open(70);
    assert_true(roast_sampler_close(watch, 30) == 70);
    watch = roast_sampler_open(30);
    assert_true(roast_sampler_close(watch, 70) == 70);
    assert_true(roast_sampler_close(NULL, 30) == 30);
    roast_sampler_stats stats = now();
    assert_int_equal(0, stats.thread_starts);
    assert_int_equal(0, stats.samples);
    assert_int_equal(0, stats.cpu_ns);
    assert_int_equal(2, stats.watches);
    roast_sampler_stop();
}

static void the_interval_can_change(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, 0);
    roast_watch *watch = roast_sampler_open(pages(1000));
    assert_int_equal(0, now().thread_starts);
    roast_sampler_set_interval(MILLISECOND); /* starts for a watch that is open */
    assert_int_equal(MILLISECOND, roast_sampler_interval());
    assert_true(sampled_twice());
    roast_sampler_set_interval(INT64_MAX);
    assert_int_equal(INT64_C(3600) * 1000 * MILLISECOND, roast_sampler_interval());
    roast_sampler_set_interval(1);
    assert_int_equal(100000, roast_sampler_interval());
    assert_true(sampled_twice()); /* it does not sleep for the hour */
    roast_sampler_set_interval(-1);
    assert_int_equal(0, roast_sampler_interval());
    uint64_t samples = now().samples;
    usleep(5000);
    assert_true(now().samples <= samples + 1); /* one may have been under way */
    roast_sampler_set_interval(MILLISECOND);
    assert_true(sampled_twice());
    roast_sampler_close(watch, 0);
    assert_int_equal(1, now().thread_starts);
    roast_sampler_stop();
}

/* A thread that sleeps for an hour is not waited for. */
static void a_long_interval_ends_at_once(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, INT64_C(3600) * 1000 * MILLISECOND);
    roast_watch *watch = roast_sampler_open(7);
    assert_int_equal(1, now().thread_starts);
    nap(); /* it may sleep already */
    assert_true(roast_sampler_close(watch, 5) == 7);
    roast_sampler_stop();
}

/* Parked, it uses no CPU time; ticking, it would use some within 20 ms. */
static bool comes_to_rest(void) {
    for (int i = 0; i < 200; i++) {
        uint64_t used = now().cpu_ns;
        usleep(20000);
        if (now().cpu_ns == used)
            return true;
    }
    return false;
}

static void parks_and_wakes(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, 100000); /* 5 idle ticks are 0.5 ms */
    for (int i = 0; i < 20; i++) {
        roast_watch *watch = roast_sampler_open(0);
        assert_true(sampled_twice());
        assert_true(roast_sampler_close(watch, 0) == pages(1000));
        usleep(i % 2 ? 100 : 5000); /* ticking on, or parked */
    }
    assert_true(comes_to_rest());
    assert_int_equal(1, now().thread_starts);
    roast_sampler_stop();
}

static void failed_readings_are_counted(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, MILLISECOND);
    roast_watch *watch = roast_sampler_open(7);
    assert_true(sampled_twice());
    assert_int_equal(0, ftruncate(fake_statm, 0));
    for (int i = 0; i < 40000 && now().missed < 2; i++)
        nap();
    assert_true(now().missed >= 2);
    assert_true(roast_sampler_close(watch, 7) == pages(1000));
    roast_sampler_stop();
    /* Nothing to read from the beginning: no thread. */
    begin(fake_root, MILLISECOND);
    watch = roast_sampler_open(7);
    roast_sampler_set_interval(2 * MILLISECOND);
    assert_int_equal(0, now().thread_starts);
    assert_true(roast_sampler_close(watch, 5) == 7);
    roast_sampler_stop();
}

static void no_thread_is_no_error(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, MILLISECOND);
    fail_create = true;
    roast_watch *watch = roast_sampler_open(9);
    fail_create = false;
    assert_non_null(watch);
    assert_true(roast_sampler_close(watch, 8) == 9);
    watch = roast_sampler_open(9); /* it is not tried with each watch */
    roast_sampler_stats stats = now();
    assert_int_equal(0, stats.thread_starts + stats.samples + stats.cpu_ns);
    roast_sampler_set_interval(MILLISECOND);
    assert_true(sampled_twice());
    assert_true(roast_sampler_close(watch, 8) == pages(1000));
    roast_sampler_stop();
}

static void without_proc(void **state) {
    (void)state;
    begin("tests/nowhere", MILLISECOND); /* nothing to read: no thread */
    roast_watch *watch = roast_sampler_open(7);
    assert_true(roast_sampler_close(watch, 5) == 7);
    assert_int_equal(0, now().thread_starts);
}

static roast_status make_and_fill(void *unused) {
    (void)unused;
    enum { WATCHES = 2 };
    roast_watch *watches[WATCHES];
    begin(NULL, 0);
    roast_status status = ROAST_OK;
    for (int i = 0; i < WATCHES; i++) {
        watches[i] = roast_sampler_open((uint64_t)i);
        if (watches[i] == NULL)
            status = ROAST_ENOMEM;
    }
    for (int i = 0; i < WATCHES; i++)
        if (roast_sampler_close(watches[i], 0) != (watches[i] ? (uint64_t)i : 0))
            status = ROAST_ESTATE;
    roast_sampler_stop();
    return status;
}

static void memory_may_be_short(void **state) {
    (void)state;
    assert_int_equal(2, alloc_walk(make_and_fill, NULL));
}

/* Watches may close in any order. */
static void any_order(void **state) {
    (void)state;
    begin(NULL, 0);
    for (int first = 0; first < 3; first++) {
        roast_watch *watches[3];
        for (int i = 0; i < 3; i++)
            watches[i] = roast_sampler_open((uint64_t)i + 1);
        for (int i = 0; i < 3; i++) {
            int at = (first + 2 * i) % 3;
            assert_int_equal(at + 1, roast_sampler_close(watches[at], 0));
        }
    }
    roast_sampler_stop();
}

static atomic_int crowd_faults;

/* Many short watches, up to 20 a thread at once. */
static void *join_crowd(void *unused) {
    enum { DEPTH = 20, ROUNDS = 300 };
    roast_watch *watches[DEPTH];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < DEPTH; i++)
            watches[i] = roast_sampler_open((uint64_t)i);
        if (round % 50 == 0)
            nap();
        for (int i = 0; i < DEPTH; i++) {
            uint64_t peak = roast_sampler_close(watches[i], 0);
            if (watches[i] == NULL || (peak != (uint64_t)i && peak != pages(1000)))
                atomic_fetch_add(&crowd_faults, 1);
        }
    }
    return unused;
}

static void threads_do_not_mix(void **state) {
    (void)state;
    needs_linux();
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    set_pages(1000);
    begin(fake_root, 100000);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, join_crowd, NULL));
    for (int i = 0; i < 20; i++, nap())
        roast_sampler_set_interval(i % 3 == 0 ? 0 : 100000 * (i % 3));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    assert_int_equal(0, atomic_load(&crowd_faults));
    assert_int_equal(THREADS * 300 * 20, now().watches);
    roast_sampler_stop();
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
    roast_watch *before; /* opened by the thread that forks */
    uint64_t starts;
} forked;

static int sample_in_child(void *context) {
    forked *parent = context;
    if (now().cpu_ns != 0)
        return 1;
    roast_watch *watch = roast_sampler_open(1);
    if (watch == NULL || now().thread_starts != parent->starts + 1)
        return 2;
    if (!sampled_twice())
        return 3;
    if (roast_sampler_close(watch, 0) != pages(1000))
        return 4;
    if (roast_sampler_close(parent->before, 0) != pages(1000))
        return 5;
    /* The watch of the parent's other thread is forgotten: but for a reading that was under way,
     * nothing is read any more. */
    uint64_t samples = now().samples;
    usleep(20000);
    if (now().samples > samples + 1)
        return 6;
    roast_sampler_stop();
    return 0;
}

static atomic_int other_stage;

static void *hold_a_watch(void *unused) {
    roast_watch *watch = roast_sampler_open(3);
    atomic_store(&other_stage, 1);
    while (atomic_load(&other_stage) != 2)
        nap();
    roast_sampler_close(watch, 0);
    return unused;
}

static void a_fork_samples_for_itself(void **state) {
    (void)state;
    needs_linux();
    if (!FORK_AND_THREADS)
        skip();
    set_pages(1000);
    begin(fake_root, MILLISECOND);
    forked parent = {.starts = 1};
    parent.before = roast_sampler_open(2);
    pthread_t other;
    atomic_store(&other_stage, 0);
    assert_int_equal(0, pthread_create(&other, NULL, hold_a_watch, NULL));
    while (atomic_load(&other_stage) != 1)
        nap();
    assert_true(sampled_twice());
    for (int i = 0; i < 3; i++)
        assert_int_equal(0, in_child(sample_in_child, &parent));
    assert_true(sampled_twice()); /* the parent's goes on */
    assert_int_equal(1, now().thread_starts);
    atomic_store(&other_stage, 2);
    assert_int_equal(0, pthread_join(other, NULL));
    roast_sampler_close(parent.before, 0);
    roast_sampler_stop();
}

static int stop_in_child(void *unused) {
    (void)unused;
    roast_sampler_stop(); /* nothing to join here */
    return 0;
}

static void a_fork_may_just_end(void **state) {
    (void)state;
    set_pages(1000);
    begin(NULL, 100000);
    roast_watch *watch = roast_sampler_open(1);
    /* A build that cannot read the memory in use needs no thread. */
    assert_int_equal(is_linux(), now().thread_starts);
    assert_int_equal(0, in_child(stop_in_child, NULL));
    roast_sampler_close(watch, 1);
    usleep(10000); /* parked, or soon */
    assert_int_equal(0, in_child(stop_in_child, NULL));
    roast_sampler_stop();
}

static uint64_t rss_now(void) {
    roast_reading reading = {0};
    roast_probe_read(ROAST_READ_STATM, &reading);
    return reading.rss_bytes;
}

static void wait_for_samples(void *unused) {
    (void)unused;
    assert_true(sampled_twice());
}

/* Returns the peak over what was there before. */
static uint64_t grown_peak(size_t bytes) {
    uint64_t before = rss_now();
    roast_watch *watch = roast_sampler_open(before);
    assert_true(burn_memory(bytes, wait_for_samples, NULL));
    uint64_t after = rss_now(), peak = roast_sampler_close(watch, after);
    assert_true(after < before + bytes / 2); /* the ends do not show it */
    return peak - before;
}

static int check_peak_in_child(void *unused) {
    (void)unused;
    double grown = (double)grown_peak(100 * MEGABYTE);
    return grown > 95e6 && grown < 105e6 ? 0 : 1;
}

static void the_peak_is_true(void **state) {
    (void)state;
    needs_linux();
    begin(NULL, MILLISECOND);
    double grown = (double)grown_peak(100 * MEGABYTE);
    assert_true(grown > 95e6 && grown < 105e6);
    if (FORK_AND_THREADS)
        assert_int_equal(0, in_child(check_peak_in_child, NULL));
    roast_sampler_stop();
}

static void takes_no_signal(void **state) {
    (void)state;
    needs_linux();
    set_pages(1000);
    begin(fake_root, MILLISECOND);
    sigset_t user, before, pending;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    roast_watch *watch = roast_sampler_open(0);
    assert_int_equal(0, pthread_sigmask(SIG_BLOCK, &user, &before));
    /* SIGUSR1 would end the process if the sampler's thread took it. */
    assert_int_equal(0, kill(getpid(), SIGUSR1));
    assert_true(sampled_twice());
    assert_int_equal(0, sigpending(&pending));
    assert_true(sigismember(&pending, SIGUSR1));
    int taken;
    assert_int_equal(0, sigwait(&user, &taken));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    roast_sampler_close(watch, 0);
    roast_sampler_stop();
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
        cmocka_unit_test(without_proc),
        cmocka_unit_test(any_order),
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
