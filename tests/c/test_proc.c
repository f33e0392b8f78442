/* Readings of the calling thread: figures from fixture trees, odd input, threads and forks of this process. */
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
#include "proc/probe.h"

#define DATA     "tests/data/proc/"
#define MEGABYTE UINT64_C(1000000)

static bool is_linux(void) {
    return strcmp(roast_probe_backend(), "linux") == 0;
}

static void needs_linux(void) {
    if (!is_linux())
        skip();
}

static void backend_has_a_name(void **state) {
    (void)state;
    assert_true(is_linux() || strcmp(roast_probe_backend(), "getrusage") == 0);
}

#ifndef ROAST_TEST_GETRUSAGE
/* The fixtures' values; those that the kernel gives in ticks and pages depend on the machine. */
static uint64_t ticks(uint64_t count) {
    return count * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Of the files; the rest comes from getrusage. */
static const uint32_t OF_FILES =
    ROAST_HAVE(rss_bytes) | ROAST_HAVE(runqueue_wait_ns) | ROAST_HAVE(io_wait_ns) |
    ROAST_HAVE(read_chars) | ROAST_HAVE(write_chars) | ROAST_HAVE(read_calls) |
    ROAST_HAVE(write_calls) | ROAST_HAVE(read_bytes) | ROAST_HAVE(write_bytes);

static roast_reading fixture_values(void) {
    return (roast_reading){
        .rss_bytes = 12500 * (uint64_t)sysconf(_SC_PAGESIZE),
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

static roast_reading read_once(const char *root, const char *folder) {
    roast_probe probe;
    roast_reading reading = {0};
    roast_probe_open(&probe, root, folder);
    roast_probe_fill(&probe, ROAST_READ_ALL, &reading);
    roast_probe_close(&probe);
    return reading;
}

static void the_files_of_a_thread(void **state) {
    (void)state;
    roast_reading reading = read_once(DATA "plain", "4321/task/4322");
    assert_int_equal(OF_FILES, reading.have);
    assert_fixture_values(&reading);
    assert_int_equal(0, read_once(DATA "plain", "999").have);
    assert_int_equal(0, read_once("tests/nowhere", "self").have);
    char longest[2 * PATH_MAX];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(0, read_once(longest, "self").have);
}

static void groups_are_read_alone(void **state) {
    (void)state;
    roast_probe probe;
    roast_probe_open(&probe, DATA "plain", "4321/task/4322");
    for (unsigned groups = 0; groups <= ROAST_READ_ALL; groups++) {
        uint32_t expected = 0;
#define X(field, group, unit, text)                                                                \
    if (groups & ROAST_READ_##group)                                                               \
        expected |= ROAST_HAVE(field);
        ROAST_READING_LIST(X)
#undef X
        roast_reading reading = {0};
        roast_probe_fill(&probe, groups, &reading);
        assert_int_equal(expected & OF_FILES, reading.have);
        assert_fixture_values(&reading);
    }
    roast_probe_close(&probe);
}

static void delays_only_where_they_are_kept(void **state) {
    (void)state;
    assert_false(read_once(DATA "nodelay", "10/task/10").have & ROAST_HAVE(io_wait_ns));
    assert_false(read_once(DATA "strangedelay", "10/task/10").have & ROAST_HAVE(io_wait_ns));
    /* No such switch: an older kernel, which always kept them. */
    assert_true(read_once(DATA "odd", "77/task/77").have & ROAST_HAVE(io_wait_ns));
}

static void odd_files(void **state) {
    (void)state;
    static const struct {
        const char *folder;
        uint32_t have;
    } rows[] = {
        {"77/task/77", OF_FILES}, /* the name is "(a) b) R (x" */
        {"78/task/78", 0},        /* empty files */
        /* too large, negative, hexadecimal */
        {"79/task/79", ROAST_HAVE(io_wait_ns) | ROAST_HAVE(write_calls) | ROAST_HAVE(write_chars)},
        /* no line end: the last number of each file may have lost digits */
        {"80/task/80", ROAST_HAVE(read_chars)},
        {"81/task/81",
         ROAST_HAVE(write_chars) | ROAST_HAVE(write_calls)}, /* lines, fields missing */
        {"84/task/84", 0},                                   /* no text at all */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        roast_reading reading = read_once(DATA "odd", rows[i].folder);
        if (reading.have != rows[i].have)
            fail_msg("%s: have %x, not %x", rows[i].folder, reading.have, rows[i].have);
        if (i == 2) { /* the largest number there is, is one */
            assert_true(reading.write_chars == UINT64_MAX);
            reading.write_chars = fixture_values().write_chars;
        }
        assert_fixture_values(&reading);
    }
}

static void zeros_that_mean_nothing(void **state) {
    (void)state;
    /* A process that has ended: no memory, and no run queue was kept. */
    roast_reading reading = read_once(DATA "odd", "82/task/82");
    assert_false(reading.have & (ROAST_HAVE(rss_bytes) | ROAST_HAVE(runqueue_wait_ns)));
    /* One slice, no wait: that is a measurement. */
    reading = read_once(DATA "odd", "83/task/83");
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
    roast_probe probe;
    roast_probe_open(&probe, root, "5");
    uint32_t before = 0;
    for (size_t have = 0; have <= len; have++) {
        if (have > 0)
            assert_int_equal(1, write(file, text + have - 1, 1));
        roast_reading reading = {0};
        roast_probe_fill(&probe, ROAST_READ_ALL, &reading);
        assert_fixture_values(&reading);
        assert_int_equal(before, before & reading.have); /* more text never takes away */
        before = reading.have;
        assert_true(have > 0 || before == 0);
    }
    assert_true(before != 0);
    roast_probe_close(&probe);
    close(file);
    assert_int_equal(0, unlink(path));
}

static void cut_short_everywhere(void **state) {
    (void)state;
    static const char *const names[] = {"stat", "statm", "schedstat", "io"};
    char root[] = "/tmp/roast-proc-XXXXXX", folder[64];
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/5", root);
    assert_int_equal(0, mkdir(folder, 0700));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        grow_file(root, names[i]);
    rmdir(folder);
    assert_int_equal(0, rmdir(root));
}
#endif

/* The link puts these before the C library's; clang's sanitizers call them, too, before they are
 * ready to watch anything. */
#if defined(__clang__)
#define UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNWATCHED
#endif
static bool fail_atfork;
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

UNWATCHED int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                                    void (*child)(void)) {
    return fail_atfork ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
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

static uint32_t what_can_be_read(void) {
    roast_reading reading = {0};
    roast_probe_read(ROAST_READ_ALL, &reading);
    return reading.have;
}

static int without_a_handler(void *context) {
    (void)context;
    fail_atfork = true;
    uint32_t have = what_can_be_read();
    return (have & ROAST_HAVE(rss_bytes)) == 0 && have & ROAST_HAVE(cpu_user_ns) ? 0 : 1;
}

/* First in the list: the handler is registered once in the life of a process. A child would take the memory of its parent
 * for its own. */
static void no_memory_where_forks_are_not_noticed(void **state) {
    (void)state;
    assert_int_equal(0, in_child(without_a_handler, NULL));
    assert_int_equal(is_linux(), (what_can_be_read() & ROAST_HAVE(rss_bytes)) != 0);
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

static void *read_in_thread(void *unused) {
    (void)unused;
    uint32_t both = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(peak_rss_bytes);
    return (what_can_be_read() & both) == both ? NULL : "no usage of its own";
}

static void run_thread(void *(*body)(void *), void *context) {
    pthread_t thread;
    void *fault;
    assert_int_equal(0, pthread_create(&thread, NULL, body, context));
    assert_int_equal(0, pthread_join(thread, &fault));
    if (fault != NULL)
        fail_msg("%s", (const char *)fault);
}

static void *reads_and_leaves_no_file(void *before) {
    void *fault = read_in_thread(NULL);
    if (fault != NULL)
        return fault;
    return open_files() == *(int *)before ? NULL : "a file stayed open";
}

static void one_file_for_all_threads(void **state) {
    (void)state;
    run_thread(read_in_thread, NULL); /* whatever the C library opens for a thread is open now */
    if (!is_linux())
        return;
    int before = open_files();
    for (int i = 0; i < 3; i++)
        run_thread(reads_and_leaves_no_file, &before);
    assert_int_equal(before, open_files());
}

static void this_process_is_alive(void **state) {
    (void)state;
    roast_reading reading = {0};
    roast_probe_read(ROAST_READ_ALL, &reading);
    uint32_t usage = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(cpu_system_ns) |
                     ROAST_HAVE(minor_faults) | ROAST_HAVE(major_faults) |
                     ROAST_HAVE(voluntary_switches) | ROAST_HAVE(involuntary_switches) |
                     ROAST_HAVE(peak_rss_bytes);
    assert_int_equal(usage, usage & reading.have);
    assert_true(reading.peak_rss_bytes > 100000 && reading.minor_faults > 0);
    assert_int_equal(is_linux(), (reading.have & ROAST_HAVE(rss_bytes)) != 0);
}

static void hold_and_read(void *reading) {
    roast_probe_read(ROAST_READ_STATM | ROAST_READ_PEAK, reading);
}

/* True if 64 MB taken by this process are seen. */
static bool sees_our_memory(void) {
    roast_reading before = {0}, during = {0};
    roast_probe_read(ROAST_READ_STATM, &before);
    if (!burn_memory(64 * MEGABYTE, hold_and_read, &during))
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

/* Whether readings, at times with a switch in between, at times without, tell each time what the kernel tells before
 * and after. NULL, or what is wrong. */
static const char *stays_true(void) {
    const struct timespec moment = {0, 1000};
    for (int i = 0; i < 300; i++) {
        roast_reading reading = {0};
        if (i % 3 == 0)
            nanosleep(&moment, NULL);
        uint64_t cpu_low = kernel_cpu_ns(), wait_low = kernel_wait_ns();
        roast_probe_read(ROAST_READ_USAGE | ROAST_READ_SCHED, &reading);
        uint64_t wait_high = kernel_wait_ns(), cpu_high = kernel_cpu_ns();
        uint64_t cpu = reading.cpu_user_ns + reading.cpu_system_ns;
        if (reading.have & ROAST_HAVE(runqueue_wait_ns) &&
            (reading.runqueue_wait_ns < wait_low || reading.runqueue_wait_ns > wait_high))
            return "a wait that the thread did not have then";
        if (cpu < cpu_low || cpu > cpu_high)
            return "a CPU time that the thread did not have then";
    }
    return NULL;
}

static void *fresh_thread_stays_true(void *unused) {
    (void)unused;
    return (void *)stays_true();
}

static void a_thread_is_told_the_truth_each_time(void **state) {
    (void)state;
    needs_linux();
    run_thread(fresh_thread_stays_true, NULL);
    assert_null(stays_true());
}

/* Groups that are read one after the other add up to the whole. */
static void readings_add_up(void **state) {
    (void)state;
    roast_reading parts = {0};
    for (unsigned group = 1; group < ROAST_READ_ALL; group <<= 1)
        roast_probe_read(group, &parts);
    assert_int_equal(what_can_be_read(), parts.have);
}

static int child_reads_itself(void *unused) {
    (void)unused;
    if (!sees_our_memory())
        return 1;
    return stays_true() == NULL ? 0 : 2;
}

static void a_fork_gets_its_own_files(void **state) {
    (void)state;
    needs_linux();
    assert_true(sees_our_memory());
    assert_int_equal(0, in_child(child_reads_itself, NULL));
    assert_true(sees_our_memory());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_where_forks_are_not_noticed),
        cmocka_unit_test(backend_has_a_name),
#ifndef ROAST_TEST_GETRUSAGE
        cmocka_unit_test(the_files_of_a_thread),
        cmocka_unit_test(groups_are_read_alone),
        cmocka_unit_test(delays_only_where_they_are_kept),
        cmocka_unit_test(odd_files),
        cmocka_unit_test(zeros_that_mean_nothing),
        cmocka_unit_test(cut_short_everywhere),
#endif
        cmocka_unit_test(one_file_for_all_threads),
        cmocka_unit_test(this_process_is_alive),
        cmocka_unit_test(a_thread_is_told_the_truth_each_time),
        cmocka_unit_test(readings_add_up),
        cmocka_unit_test(a_fork_gets_its_own_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
