/* Probes: figures from fixture trees, odd input, threads and forks of this process. */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../burn/load.h"
#include "roast/proc.h"

#define DATA     "tests/data/proc/"
#define MEGABYTE UINT64_C(1000000)

/* The fixtures' values; those that the kernel gives in ticks and pages depend on the machine. */
static uint64_t ticks(uint64_t count) {
    return count * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

static roast_reading fixture_values(void) {
    return (roast_reading){
        .have = (UINT32_C(1) << ROAST_READING_COUNT) - 1,
        .rss_bytes = 12500 * (uint64_t)sysconf(_SC_PAGESIZE),
        .peak_rss_bytes = 65432 * 1024,
        .cpu_user_ns = ticks(150),
        .cpu_system_ns = ticks(60),
        .minor_faults = 111,
        .major_faults = 13,
        .voluntary_switches = 301,
        .involuntary_switches = 302,
        .runqueue_wait_ns = 98765432,
        .io_wait_ns = ticks(44),
        .read_chars = 1001,
        .write_chars = 1002,
        .read_calls = 1003,
        .write_calls = 1004,
        .read_bytes = 1005,
        .write_bytes = 1006,
    };
}

/* Every value that is there must be the fixture's, and every other one 0. */
static void assert_fixture_values(const roast_reading *reading) {
    roast_reading expected = fixture_values();
#define X(field, group, unit, text)                                                                \
    if (reading->field != ((reading->have & ROAST_HAVE(field)) ? expected.field : 0))              \
        fail_msg(#field " is %llu", (unsigned long long)reading->field);
    ROAST_READING_LIST(X)
#undef X
}

static bool is_linux(void) {
    return strcmp(roast_probe_backend(), "linux") == 0;
}

static void needs_linux(void) {
    if (!is_linux())
        skip();
}

static roast_probe *open_probe(const char *root, int64_t pid, int64_t tid) {
    roast_error err;
    roast_probe *probe = NULL;
    assert_ok(roast_probe_new(root, pid, tid, &probe, &err), err);
    return probe;
}

static roast_reading read_once(const char *root, int64_t pid, int64_t tid) {
    roast_probe *probe = open_probe(root, pid, tid);
    roast_reading reading;
    roast_probe_read(probe, ROAST_READ_ALL, &reading);
    roast_probe_free(probe);
    return reading;
}

static void backend_has_a_name(void **state) {
    (void)state;
    assert_true(is_linux() || strcmp(roast_probe_backend(), "getrusage") == 0);
}

static void a_thread_has_everything(void **state) {
    (void)state;
    needs_linux();
    roast_reading expected = fixture_values();
    roast_reading reading = read_once(DATA "plain", 4321, 4322);
    assert_int_equal(expected.have, reading.have);
    assert_fixture_values(&reading);
    /* pid 0 and tid -1 under a root of its own are "self" and "thread-self", and no getrusage. */
    reading = read_once(DATA "plain", 0, -1);
    assert_int_equal(expected.have, reading.have);
    assert_fixture_values(&reading);
}

static void a_process_has_no_waits_and_switches(void **state) {
    (void)state;
    needs_linux();
    uint32_t of_threads = ROAST_HAVE(runqueue_wait_ns) | ROAST_HAVE(io_wait_ns) |
                          ROAST_HAVE(voluntary_switches) | ROAST_HAVE(involuntary_switches);
    for (int64_t pid = 0; pid <= 4321; pid += 4321) {
        roast_reading reading = read_once(DATA "plain", pid, 0);
        assert_int_equal(fixture_values().have & ~of_threads, reading.have);
        assert_fixture_values(&reading);
    }
}

static void groups_are_read_alone(void **state) {
    (void)state;
    needs_linux();
    roast_probe *probe = open_probe(DATA "plain", 4321, 4322);
    for (unsigned groups = 0; groups <= ROAST_READ_ALL; groups++) {
        uint32_t expected = 0;
#define X(field, group, unit, text)                                                                \
    if (groups & ROAST_READ_##group)                                                               \
        expected |= ROAST_HAVE(field);
        ROAST_READING_LIST(X)
#undef X
        roast_reading reading;
        roast_probe_read(probe, groups, &reading);
        assert_int_equal(expected, reading.have);
        assert_fixture_values(&reading);
    }
    assert_int_equal(ROAST_READ_ALL, roast_probe_groups(probe));
    roast_probe_free(probe);
    probe = open_probe(DATA "odd", 80, 80);
    assert_int_equal(ROAST_READ_PEAK | ROAST_READ_USAGE | ROAST_READ_IO, roast_probe_groups(probe));
    assert_int_equal(ROAST_READ_PEAK | ROAST_READ_USAGE | ROAST_READ_IO, roast_probe_groups(probe));
    roast_probe_free(probe);
}

static void delays_only_where_they_are_kept(void **state) {
    (void)state;
    needs_linux();
    assert_false(read_once(DATA "nodelay", 10, 10).have & ROAST_HAVE(io_wait_ns));
    assert_true(read_once(DATA "nodelay", 10, 10).have & ROAST_HAVE(cpu_user_ns));
    assert_false(read_once(DATA "strangedelay", 10, 10).have & ROAST_HAVE(io_wait_ns));
    /* No such switch: an older kernel, which always kept them. */
    assert_true(read_once(DATA "odd", 77, 77).have & ROAST_HAVE(io_wait_ns));
}

static void odd_files(void **state) {
    (void)state;
    needs_linux();
    static const struct {
        int id;
        uint32_t have;
    } rows[] = {
        {77, (UINT32_C(1) << ROAST_READING_COUNT) - 1}, /* the name is "(a) b) R (x" */
        {78, 0},                                        /* empty files */
        /* too large, negative, hexadecimal */
        {79, ROAST_HAVE(major_faults) | ROAST_HAVE(cpu_system_ns) | ROAST_HAVE(io_wait_ns) |
                 ROAST_HAVE(involuntary_switches) | ROAST_HAVE(write_calls) |
                 ROAST_HAVE(write_chars)},
        /* no line end: the last number of each file may have lost digits */
        {80, ROAST_HAVE(read_chars) | ROAST_HAVE(peak_rss_bytes) | ROAST_HAVE(voluntary_switches) |
                 ROAST_HAVE(minor_faults) | ROAST_HAVE(major_faults) | ROAST_HAVE(cpu_user_ns)},
        {81, ROAST_HAVE(write_chars) | ROAST_HAVE(write_calls)}, /* lines and fields missing */
        {84, 0},                                                 /* no text at all */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        roast_reading reading = read_once(DATA "odd", rows[i].id, rows[i].id);
        if (reading.have != rows[i].have)
            fail_msg("%d: have %x, not %x", rows[i].id, reading.have, rows[i].have);
        if (rows[i].id == 79) { /* the largest number there is, is one */
            assert_true(reading.write_chars == UINT64_MAX);
            reading.write_chars = fixture_values().write_chars;
        }
        assert_fixture_values(&reading);
    }
}

static void zeros_that_mean_nothing(void **state) {
    (void)state;
    needs_linux();
    /* A process that has ended: no memory, and no run queue was kept. */
    roast_reading reading = read_once(DATA "odd", 82, 82);
    assert_false(reading.have & (ROAST_HAVE(rss_bytes) | ROAST_HAVE(runqueue_wait_ns)));
    assert_true(reading.have & ROAST_HAVE(cpu_user_ns));
    /* One slice, no wait: that is a measurement. */
    reading = read_once(DATA "odd", 83, 83);
    assert_int_equal(ROAST_HAVE(runqueue_wait_ns), reading.have);
    assert_int_equal(0, reading.runqueue_wait_ns);
}

static size_t load_file(const char *path, char *buffer, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(buffer, 1, size, file);
    fclose(file);
    assert_true(len > 0 && len < size);
    return len;
}

/* Lets the file grow byte by byte under an open probe: a value is right or not there. */
static void grow_file(const char *root, const char *name) {
    char path[PATH_MAX], text[2048];
    snprintf(path, sizeof path, DATA "odd/77/task/77/%s", name);
    size_t len = load_file(path, text, sizeof text);
    snprintf(path, sizeof path, "%s/5/%s", root, name);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    roast_probe *probe = open_probe(root, 0, 5);
    assert_int_equal(0, roast_probe_groups(probe)); /* found out once: it stays so */
    roast_reading reading = {.have = 1};
    uint32_t before = 0;
    for (size_t have = 0; have <= len; have++) {
        if (have > 0)
            assert_int_equal(1, write(file, text + have - 1, 1));
        roast_probe_read(probe, ROAST_READ_ALL, &reading);
        assert_fixture_values(&reading);
        assert_int_equal(before, before & reading.have); /* more text never takes away */
        before = reading.have;
        assert_true(have > 0 || before == 0);
    }
    assert_true(before != 0);
    assert_int_equal(0, roast_probe_groups(probe));
    roast_probe_free(probe);
    close(file);
    assert_int_equal(0, unlink(path));
}

static void cut_short_everywhere(void **state) {
    (void)state;
    needs_linux();
    static const char *const names[] = {"stat", "statm", "status", "schedstat", "io"};
    char root[] = "/tmp/roast-proc-XXXXXX", folders[3][64];
    assert_non_null(mkdtemp(root));
    /* ROOT/self/task is ROOT itself, so that ROOT/self/task/5 is ROOT/5. */
    snprintf(folders[0], sizeof folders[0], "%s/5", root);
    snprintf(folders[1], sizeof folders[1], "%s/self", root);
    snprintf(folders[2], sizeof folders[2], "%s/self/task", root);
    assert_int_equal(0, mkdir(folders[0], 0700));
    assert_int_equal(0, mkdir(folders[1], 0700));
    assert_int_equal(0, symlink("..", folders[2]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        grow_file(root, names[i]);
    unlink(folders[2]);
    rmdir(folders[1]);
    rmdir(folders[0]);
    assert_int_equal(0, rmdir(root));
}

static void refuses_what_is_not_there(void **state) {
    (void)state;
    roast_error err;
    roast_probe *probe = NULL;
    assert_status(ROAST_EINVAL, roast_probe_new(NULL, -1, 0, &probe, &err));
    assert_status(ROAST_EINVAL, roast_probe_new(NULL, 0, -2, &probe, &err));
    assert_status(ROAST_EINVAL, roast_probe_new(NULL, 1, -1, &probe, &err));
    roast_status missing = is_linux() ? ROAST_ENOTFOUND : ROAST_EUNSUPPORTED;
    assert_status(missing, roast_probe_new(DATA "plain", 999, 0, &probe, &err));
    assert_true(err.message[0] != '\0');
    assert_status(missing, roast_probe_new(DATA "plain", 4321, 9, &probe, NULL));
    assert_status(missing, roast_probe_new("tests/nowhere", 0, 0, &probe, &err));
    assert_status(missing,
                  roast_probe_new(DATA "plain/sys/kernel/task_delayacct", 1, 0, &probe, &err));
    char longest[2 * PATH_MAX];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_status(ROAST_ELIMIT, roast_probe_new(longest, 1, 0, &probe, &err));
    assert_int_equal(0, err.os_errno);
    longest[PATH_MAX - 2] = '\0'; /* fits, but not with what follows */
    assert_status(is_linux() ? ROAST_ELIMIT : ROAST_EUNSUPPORTED,
                  roast_probe_new(longest, 1, 0, &probe, &err));
    longest[NAME_MAX + 1] = '\0'; /* no folder can have such a name */
    assert_status(is_linux() ? ROAST_EIO : ROAST_EUNSUPPORTED,
                  roast_probe_new(longest, 1, 0, &probe, &err));
    assert_int_equal(is_linux() ? ENAMETOOLONG : 0, err.os_errno);
    assert_null(probe);
    roast_probe_free(NULL);
}

static roast_status open_and_close(void *root) {
    roast_probe *probe;
    ROAST_TRY(roast_probe_new(root, 0, 0, &probe, NULL));
    roast_probe_free(probe);
    return ROAST_OK;
}

static void memory_may_be_short(void **state) {
    (void)state;
    assert_int_equal(1, alloc_walk(open_and_close, NULL));
    if (is_linux())
        assert_int_equal(1, alloc_walk(open_and_close, DATA "plain"));
}

/* The link puts these before the C library's; clang's sanitizers call them, too, before they are
 * ready to watch anything. */
#if defined(__clang__)
#define UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNWATCHED
#endif
static bool fail_key_create, fail_setspecific;
int __real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

UNWATCHED int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    return fail_key_create ? EAGAIN : __real_pthread_key_create(key, destructor);
}

UNWATCHED int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    return fail_setspecific ? ENOMEM : __real_pthread_setspecific(key, value);
}

/* Exit code of a child that runs `body`; 0 is well. */
static int in_child(int (*body)(void *), void *context) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body(context));
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int without_a_key(void *context) {
    (void)context;
    fail_key_create = true;
    return roast_probe_this_thread() == NULL ? 0 : 1;
}

/* First in the list: the key is made once in the life of a process. */
static void no_key_no_probe_of_the_thread(void **state) {
    (void)state;
    assert_int_equal(0, in_child(without_a_key, NULL));
    fail_setspecific = true;
    assert_null(roast_probe_this_thread());
    fail_setspecific = false;
    assert_non_null(roast_probe_this_thread());
    assert_ptr_equal(roast_probe_this_thread(), roast_probe_this_thread());
}

static int open_files(void) {
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    int count = 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void *use_own_probe(void *others) {
    roast_reading reading;
    roast_probe *own = roast_probe_this_thread();
    if (own == NULL || own == others)
        return "no probe of its own";
    roast_probe_read(own, ROAST_READ_USAGE, &reading);
    if (!(reading.have & ROAST_HAVE(cpu_user_ns)))
        return "no usage of its own";
    /* getrusage would give ours for the other's. */
    roast_probe_read(others, ROAST_READ_ALL, &reading);
    if (reading.have & ROAST_HAVE(cpu_user_ns))
        return "usage of another thread";
    return reading.have & ROAST_HAVE(peak_rss_bytes) ? NULL : "no peak of the process";
}

static void run_thread(void *(*body)(void *), void *context) {
    pthread_t thread;
    void *fault;
    assert_int_equal(0, pthread_create(&thread, NULL, body, context));
    assert_int_equal(0, pthread_join(thread, &fault));
    if (fault != NULL)
        fail_msg("%s", (const char *)fault);
}

static void each_thread_has_its_probe(void **state) {
    (void)state;
    roast_probe *own = roast_probe_this_thread();
    assert_non_null(own);
    run_thread(use_own_probe, own); /* whatever the C library opens for a thread is open now */
    if (!is_linux())
        return;
    int before = open_files();
    for (int i = 0; i < 3; i++)
        run_thread(use_own_probe, own);
    assert_int_equal(before, open_files());
}

static void this_process_is_alive(void **state) {
    (void)state;
    roast_probe *probe = open_probe(NULL, 0, 0);
    roast_reading reading;
    roast_probe_read(probe, ROAST_READ_ALL, &reading);
    uint32_t usage = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(cpu_system_ns) |
                     ROAST_HAVE(minor_faults) | ROAST_HAVE(major_faults) |
                     ROAST_HAVE(voluntary_switches) | ROAST_HAVE(involuntary_switches) |
                     ROAST_HAVE(peak_rss_bytes);
    assert_int_equal(usage, usage & reading.have);
    assert_true(reading.peak_rss_bytes > 100000 && reading.minor_faults > 0);
    unsigned groups = ROAST_READ_USAGE | ROAST_READ_PEAK;
    assert_int_equal(groups, roast_probe_groups(probe) & groups);
    assert_int_equal(is_linux(), (reading.have & ROAST_HAVE(rss_bytes)) != 0);
    assert_int_equal(0, reading.have & (ROAST_HAVE(runqueue_wait_ns) | ROAST_HAVE(io_wait_ns)));
    roast_probe_free(probe);
    /* "/proc" by name is the same. */
    probe = open_probe("/proc", 0, 0);
    assert_int_equal(groups, roast_probe_groups(probe) & groups);
    roast_probe_free(probe);
}

static void hold_and_read(void *probe_and_reading) {
    void **pair = probe_and_reading;
    roast_probe_read(pair[0], ROAST_READ_STATM | ROAST_READ_PEAK, pair[1]);
}

/* True if 64 MB taken by this process are seen by the probe. */
static bool sees_our_memory(roast_probe *probe) {
    roast_reading before, during;
    void *pair[] = {probe, &during};
    roast_probe_read(probe, ROAST_READ_STATM, &before);
    if (!burn_memory(64 * MEGABYTE, hold_and_read, pair))
        return false;
    double grown = (double)during.rss_bytes - (double)before.rss_bytes;
    return grown > 61e6 && grown < 67e6;
}

/* The calling thread's run-queue wait, straight from the kernel; 0 if it is not kept. */
static uint64_t kernel_wait_ns(void) {
    unsigned long long run = 0, wait = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &run, &wait) != 2)
        wait = 0;
    fclose(file);
    return wait;
}

static uint64_t kernel_cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Whether a probe that is read again and again, at times with a switch in between, at times
 * without, tells each time what the kernel tells before and after. NULL, or what is wrong. */
static const char *stays_true(roast_probe *probe, bool before) {
    const unsigned groups = ROAST_READ_USAGE | ROAST_READ_SCHED;
    const struct timespec moment = {0, 1000};
    uint64_t last_cpu = 0, slack = 10 * MEGABYTE; /* ns: the probe may carry on the CPU time */
    for (int i = 0; i < 300; i++) {
        roast_reading reading;
        if (i % 3 == 0)
            nanosleep(&moment, NULL);
        uint64_t cpu_low = kernel_cpu_ns(), wait_low = kernel_wait_ns();
        (before ? roast_probe_read_before : roast_probe_read)(probe, groups, &reading);
        uint64_t wait_high = kernel_wait_ns(), cpu_high = kernel_cpu_ns();
        uint64_t cpu = reading.cpu_user_ns + reading.cpu_system_ns;
        if (reading.have & ROAST_HAVE(runqueue_wait_ns) &&
            (reading.runqueue_wait_ns < wait_low || reading.runqueue_wait_ns > wait_high))
            return "a wait that the thread did not have then";
        if (cpu + slack < cpu_low || cpu > cpu_high + slack)
            return "a CPU time that the thread did not have then";
        if (cpu < last_cpu)
            return "a CPU time that runs backwards";
        last_cpu = cpu;
    }
    return NULL;
}

static void *fresh_thread_stays_true(void *unused) {
    (void)unused;
    const char *fault = stays_true(roast_probe_this_thread(), false);
    return (void *)(fault != NULL ? fault : stays_true(roast_probe_this_thread(), true));
}

static void a_thread_is_told_the_truth_each_time(void **state) {
    (void)state;
    needs_linux();
    run_thread(fresh_thread_stays_true, NULL);
    assert_null(fresh_thread_stays_true(NULL));
}

static void both_ends_tell_the_same(void **state) {
    (void)state;
    roast_probe *probes[] = {roast_probe_this_thread(), open_probe(NULL, 0, 0)};
    for (int i = 0; i < 2; i++) {
        roast_reading before, after;
        roast_probe_read_before(probes[i], ROAST_READ_ALL, &before);
        roast_probe_read(probes[i], ROAST_READ_ALL, &after);
        assert_true(before.have != 0);
        assert_int_equal(before.have, after.have);
        assert_true(before.minor_faults <= after.minor_faults);
        assert_true(before.cpu_user_ns + before.cpu_system_ns <=
                    after.cpu_user_ns + after.cpu_system_ns);
        for (unsigned group = 1; group < ROAST_READ_ALL; group <<= 1) {
            roast_reading alone, first;
            roast_probe_read(probes[i], group, &alone);
            roast_probe_read_before(probes[i], group, &first);
            assert_int_equal(alone.have, first.have);
        }
    }
    roast_probe_free(probes[1]);
}

static int child_reads_itself(void *parents) {
    if (!sees_our_memory(roast_probe_this_thread()))
        return 1;
    if (!sees_our_memory(parents))
        return 2;
    roast_reading reading;
    roast_probe_read(roast_probe_this_thread(), ROAST_READ_USAGE, &reading);
    if (!(reading.have & ROAST_HAVE(cpu_user_ns)))
        return 3;
    return stays_true(roast_probe_this_thread(), false) == NULL ? 0 : 4;
}

static void a_fork_gets_its_own_files(void **state) {
    (void)state;
    needs_linux();
    roast_probe *probe = open_probe(NULL, 0, 0);
    assert_true(sees_our_memory(probe));
    assert_true(sees_our_memory(roast_probe_this_thread()));
    assert_int_equal(0, in_child(child_reads_itself, probe));
    assert_true(sees_our_memory(probe));
    roast_probe_free(probe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_no_probe_of_the_thread),
        cmocka_unit_test(backend_has_a_name),
        cmocka_unit_test(a_thread_has_everything),
        cmocka_unit_test(a_process_has_no_waits_and_switches),
        cmocka_unit_test(groups_are_read_alone),
        cmocka_unit_test(delays_only_where_they_are_kept),
        cmocka_unit_test(odd_files),
        cmocka_unit_test(zeros_that_mean_nothing),
        cmocka_unit_test(cut_short_everywhere),
        cmocka_unit_test(refuses_what_is_not_there),
        cmocka_unit_test(memory_may_be_short),
        cmocka_unit_test(each_thread_has_its_probe),
        cmocka_unit_test(this_process_is_alive),
        cmocka_unit_test(a_thread_is_told_the_truth_each_time),
        cmocka_unit_test(both_ends_tell_the_same),
        cmocka_unit_test(a_fork_gets_its_own_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
