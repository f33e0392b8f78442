/* The truth of figures: this process and others with a known load. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../burn/load.h"
#include "roast/proc.h"
#include "proc/proctree.h"

#define DATA     "tests/data/proc/"
#define MEGABYTE UINT64_C(1000000)

static void needs_linux(void) {
    if (strcmp(roast_probe_backend(), "linux") != 0)
        skip();
}

static void run_thread(void *(*body)(void *), void *context) {
    pthread_t thread;
    void *fault;
    assert_int_equal(0, pthread_create(&thread, NULL, body, context));
    assert_int_equal(0, pthread_join(thread, &fault));
    if (fault != NULL)
        fail_msg("%s", (const char *)fault);
}

static uint64_t cpu_of(const roast_reading *reading) {
    return reading->cpu_user_ns + reading->cpu_system_ns;
}

static void *burn_and_compare(void *unused) {
    (void)unused;
    roast_reading start = {0}, burnt = {0}, slept = {0};
    roast_probe_read(ROAST_READ_USAGE, &start);
    burn_cpu(0.3);
    roast_probe_read(ROAST_READ_USAGE, &burnt);
    burn_sleep(0.2);
    roast_probe_read(ROAST_READ_USAGE, &slept);
    /* User and kernel together: the kernel tells the two apart by where its ticks happen to fall. */
    double busy = 1e-9 * (double)(cpu_of(&burnt) - cpu_of(&start));
    double asleep = 1e-9 * (double)(cpu_of(&slept) - cpu_of(&burnt));
    if (busy < 0.27 || busy > 0.33)
        return "0.3 s of CPU time are not seen";
    if (asleep > 0.02)
        return "sleep is seen as CPU time";
    return slept.voluntary_switches > burnt.voluntary_switches ? NULL : "sleep is no switch";
}

static void cpu_time_is_true(void **state) {
    (void)state;
    run_thread(burn_and_compare, NULL);
}

/* Starts tests/burn with one or two arguments; *output is its stdout. */
static pid_t start_burn(const char *what, const char *first, const char *second, int *output) {
    const char *program = getenv("ROAST_BURN");
    if (program == NULL)
        fail_msg("ROAST_BURN does not name the program burn");
    int pipes[2];
    assert_int_equal(0, pipe(pipes));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execl(program, program, what, first, second, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    *output = pipes[0];
    return child;
}

static roast_proctree *tree_of(pid_t child) {
    roast_error err;
    roast_proctree *tree = NULL;
    assert_ok(roast_proctree_new(NULL, child, &tree, &err), err);
    return tree;
}

static void another_process_that_computes(void **state) {
    (void)state;
    needs_linux();
    int output;
    roast_error err;
    pid_t child = start_burn("cpu", "0.3", NULL, &output);
    roast_proctree *tree = tree_of(child);
    double seen = 0;
    while (true) { /* until it has ended */
        assert_ok(roast_proctree_look(tree, NULL, &err), err);
        if (tree->now.count == 0)
            break;
        seen = 1e-9 * (double)tree->now.at[0].cpu_ns;
        usleep(1000);
    }
    struct rusage usage;
    int status;
    assert_int_equal(child, wait4(child, &status, 0, &usage));
    assert_int_equal(0, status);
    double busy = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    assert_true(busy > 0.27);
    assert_true(seen > busy - 0.03 && seen < busy + 0.03);
    roast_proctree_free(tree);
    close(output);
}

static void another_process_that_holds_memory(void **state) {
    (void)state;
    needs_linux();
    int output;
    roast_error err;
    char line[8] = "";
    pid_t child = start_burn("memory", "64", "60", &output);
    assert_int_equal(8, read(output, line, 8)); /* "holding\n" */
    roast_proctree *tree = tree_of(child);
    assert_ok(roast_proctree_look(tree, NULL, &err), err);
    assert_int_equal(1, tree->now.count);
    uint64_t rss_bytes = tree->now.at[0].reading.rss_bytes;
    assert_int_equal(0, kill(child, SIGKILL));
    assert_int_equal(child, waitpid(child, NULL, 0));
    close(output);
    roast_proctree_free(tree);
    assert_true(rss_bytes > 63 * MEGABYTE && rss_bytes < 90 * MEGABYTE);
}

static void reads_are_counted_exactly(void **state) {
    (void)state;
    roast_reading first = {0}, before = {0}, after = {0};
    size_t calls, bytes;
    roast_probe_read(ROAST_READ_ALL, &first);
    if (!(first.have & ROAST_HAVE(read_calls)))
        skip(); /* a kernel without it */
    roast_probe_read(ROAST_READ_ALL, &before);
    assert_true(burn_read(DATA "plain/self/stat", &calls, &bytes));
    roast_probe_read(ROAST_READ_ALL, &after);
    /* What the probe itself reads does not count. */
    assert_int_equal(0, before.read_calls - first.read_calls);
    assert_int_equal(0, before.read_chars - first.read_chars);
    assert_int_equal(2, calls);
    assert_int_equal(calls, after.read_calls - before.read_calls);
    assert_int_equal(bytes, after.read_chars - before.read_chars);
}

/* ---- threads that run no chunk ---- */

static void *burn_three_tenths(void *unused) {
    (void)unused;
    burn_cpu(0.3);
    return NULL;
}

/* Of the CPU time of the process; everything else that this test does takes less than a hundredth of a second. */
static void assert_helpers(double seconds, const roast_helpers *mark) {
    int64_t ns = -1;
    assert_true(roast_helpers_end(mark, -1, &ns));
    if (fabs((double)ns / 1e9 - seconds) > 0.02)
        fail_msg("%.3f s, not %.3f s", (double)ns / 1e9, seconds);
}

/* A thread that is in a chunk of its own, or has been. */
static void *chunk_of_its_own(void *other) {
    roast_helpers mark;
    roast_helpers_begin(&mark, -1);
    burn_cpu(0.2);
    run_thread(burn_three_tenths, NULL);
    /* Two chunks are open, and share the time of the third thread. */
    assert_helpers(0.15, &mark);
    burn_cpu(0.2); /* between two chunks */
    (void)other;
    return NULL;
}

static void threads_without_a_chunk(void **state) {
    (void)state;
    roast_helpers mark, inner;
    int64_t ns;
    roast_helpers_begin(&mark, -1);
    burn_cpu(0.2); /* its own */
    assert_helpers(0, &mark);
    roast_helpers_begin(&mark, -1);
    run_thread(burn_three_tenths, NULL);
    assert_helpers(0.3, &mark);
    /* Between chunks it is nobody's. */
    run_thread(burn_three_tenths, NULL);
    roast_helpers_begin(&mark, -1);
    assert_helpers(0, &mark);
    roast_helpers_begin(&mark, -1);
    run_thread(chunk_of_its_own, NULL);
    run_thread(burn_three_tenths, NULL);
    roast_helpers_end(&mark, -1, &ns);
    /* What a thread used after its last chunk and before it ended nobody could read any more. */
    assert_true((double)ns / 1e9 > 0.44 && (double)ns / 1e9 < 0.67);
    /* One inside of the other: they share. */
    roast_helpers_begin(&mark, -1);
    roast_helpers_begin(&inner, -1);
    run_thread(burn_three_tenths, NULL);
    assert_helpers(0.15, &inner);
    assert_helpers(0.15, &mark);
    assert_false(roast_helpers_end(&(roast_helpers){0}, -1, &ns));
}

static void threads_of_the_parent(void **state) {
    (void)state;
    roast_helpers mark;
    int64_t ns = -1;
    int status = -1;
    roast_helpers_begin(&mark, -1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        roast_helpers own;
        bool foreign = roast_helpers_end(&mark, -1, &ns);
        roast_helpers_begin(&own, -1);
        pthread_t thread;
        if (pthread_create(&thread, NULL, burn_three_tenths, NULL) == 0)
            pthread_join(thread, NULL);
        bool known = roast_helpers_end(&own, -1, &ns);
        _exit(!foreign && known && ns > 280000000 && ns < 320000000 ? 0 : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    roast_helpers_end(&mark, -1, &ns);
}

/* Comes first: only the first chunk of a process needs memory. Without it nothing is known, in that process and for good:
 * the time of a thread that is not noted would count as a helper's. */
static void no_memory_for_a_thread(void **state) {
    (void)state;
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        roast_helpers mark;
        int64_t ns = -1;
        alloc_fail_from(0);
        roast_helpers_begin(&mark, -1);
        bool asked = alloc_fail_stop() > 0;
        bool known = roast_helpers_end(&mark, -1, &ns);
        roast_helpers_begin(&mark, -1);
        bool later = roast_helpers_end(&mark, -1, &ns);
        child = fork(); /* begins anew */
        if (child == 0) {
            roast_helpers_begin(&mark, -1);
            _exit(roast_helpers_end(&mark, -1, &ns) ? 0 : 1);
        }
        bool anew = waitpid(child, &status, 0) == child && status == 0;
        _exit(asked && !known && !later && anew ? 0 : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_for_a_thread),
        cmocka_unit_test(cpu_time_is_true),
        cmocka_unit_test(threads_without_a_chunk),
        cmocka_unit_test(threads_of_the_parent),
        cmocka_unit_test(another_process_that_computes),
        cmocka_unit_test(another_process_that_holds_memory),
        cmocka_unit_test(reads_are_counted_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
