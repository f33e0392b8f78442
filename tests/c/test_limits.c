/* cgroup limits and counters of a machine from fixture trees, and the token of a process. */
#include "support.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roast/proc.h"

#define DATA "tests/data/proc/limits/"

static roast_limits limits_of(const char *cgroup_root, int64_t pid) {
    roast_error err;
    roast_limits limits;
    memset(&limits, 0xaa, sizeof limits);
    assert_ok(roast_limits_read(DATA "proc", cgroup_root, pid, &limits, &err), err);
    return limits;
}

static void assert_limits(roast_limits limits, uint64_t memory_bytes, double cpu_cores) {
    assert_int_equal(memory_bytes > 0, limits.have_memory);
    assert_true(limits.memory_bytes == memory_bytes);
    assert_int_equal(cpu_cores > 0, limits.have_cpu);
    assert_near(cpu_cores, limits.cpu_cores);
}

static void limits_on_the_path(void **state) {
    (void)state;
    static const struct {
        int64_t pid;
        uint64_t memory_bytes;
        double cpu_cores;
    } rows[] = {
        {1, 3000000000, 1.5},
        {2, 4000000000, 0.5},   /* the parent's are tighter */
        {3, 0, 0},              /* "max" */
        {4, 0, 0},              /* version 1 only */
        {5, 3000000000, 1.5},   /* both versions */
        {6, 0, 0},              /* no such line */
        {7, 0, 0},              /* no numbers */
        {8, 3000000000, 1.5},   /* the group is gone, one above is not */
        {9, 0, 0},              /* out of sight */
        {10, 0, 0},             /* no file */
        {11, 0, 0},             /* cut short */
        {12, 0, 0},             /* empty */
        {13, 0, 0},             /* too large; a period of 0 */
        {14, 1000000000, 0.25}, /* its own are tighter */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_limits(limits_of(DATA "cgroup", rows[i].pid), rows[i].memory_bytes,
                      rows[i].cpu_cores);
}

static void limits_at_the_root(void **state) {
    (void)state;
    assert_limits(limits_of(DATA "container", 0), 2000000000, 4);
    assert_limits(limits_of(DATA "container", 1), 2000000000, 4);
    assert_limits(limits_of(DATA "container", 9), 2000000000, 4);
    assert_limits(limits_of(DATA "cgroup", 0), 0, 0);
}

static void limits_of_a_hybrid_system(void **state) {
    (void)state;
    assert_limits(limits_of(DATA "hybrid", 5), 5000000000, 0);
    assert_limits(limits_of(DATA "nowhere", 5), 0, 0);
}

static void limits_refuse_what_is_not_there(void **state) {
    (void)state;
    roast_error err;
    roast_limits limits = {.memory_bytes = 7};
    assert_status(ROAST_ENOTFOUND, roast_limits_read(DATA "proc", NULL, 999, &limits, &err));
    assert_status(ROAST_EINVAL, roast_limits_read(NULL, NULL, -1, &limits, &err));
    char longest[2 * PATH_MAX];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_status(ROAST_ELIMIT, roast_limits_read(longest, NULL, 0, &limits, NULL));
    assert_int_equal(7, limits.memory_bytes);
    /* Too long a cgroup root has no files. */
    assert_limits(limits_of(longest, 1), 0, 0);
}

static void limits_of_this_machine(void **state) {
    (void)state;
    roast_error err;
    roast_limits limits;
    assert_ok(roast_limits_read(NULL, NULL, 0, &limits, &err), err);
    assert_true(limits.have_memory == (limits.memory_bytes > 0));
    assert_true(limits.have_cpu == (limits.cpu_cores > 0));
}

/* The link puts this before the C library's. */
static bool no_entropy;
ssize_t __real_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags) {
    if (!no_entropy)
        return __real_getrandom(buffer, size, flags);
    errno = ENOSYS;
    return -1;
}

static uint64_t token_of_a_child(void) {
    int pipes[2];
    uint64_t tokens[2] = {0, 0};
    assert_int_equal(0, pipe(pipes));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tokens[0] = roast_process_token();
        tokens[1] = roast_process_token();
        _exit(write(pipes[1], tokens, sizeof tokens) == sizeof tokens ? 0 : 1);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(sizeof tokens, read(pipes[0], tokens, sizeof tokens));
    close(pipes[0]);
    close(pipes[1]);
    assert_true(tokens[0] == tokens[1]);
    return tokens[0];
}

static void each_process_has_a_token(void **state) {
    (void)state;
    uint64_t own = roast_process_token();
    assert_true(own != 0);
    for (int i = 0; i < 2; i++) {
        no_entropy = i == 1;
        uint64_t first = token_of_a_child(), second = token_of_a_child();
        assert_true(first != 0 && second != 0 && first != second);
        assert_true(first != own && second != own);
    }
    no_entropy = false;
    assert_true(own == roast_process_token());
}

static void *take_token(void *out) {
    *(uint64_t *)out = roast_process_token();
    return NULL;
}

static void threads_share_the_token(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint64_t tokens[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, take_token, &tokens[i]));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    for (int i = 0; i < THREADS; i++)
        assert_true(tokens[i] == roast_process_token());
}

/* ---- the machine ---- */

static const uint64_t TICK_NS = 10000000;

static void counters_of_a_machine(void **state) {
    (void)state;
    roast_error err;
    roast_machine machine;
    if (sysconf(_SC_CLK_TCK) != 100)
        skip();
    assert_ok(roast_machine_read("tests/data/proc/machine", &machine, &err), err);
    /* The time of guests, behind the eight counters, is part of the first. */
    assert_true(machine.busy_ns == 1400 * TICK_NS);
    assert_true(machine.all_ns == 7000 * TICK_NS);
    assert_int_equal(ROAST_ENOTFOUND, roast_machine_read(DATA "proc", &machine, &err));
    char root[PATH_MAX];
    memset(root, 'a', sizeof root - 1);
    root[sizeof root - 1] = '\0';
    assert_int_equal(ROAST_ENOTFOUND, roast_machine_read(root, &machine, &err));
}

static void counters_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t busy, all; /* ticks; 0: refused */
    } rows[] = {
        {"cpu  1 2 3 4\n", 6, 10}, /* an old kernel */
        {"cpu  1 2 3 4 5\ncpu0 9 9 9 9 9\n", 6, 15},
        {"cpu  1 2 3\n", 0, 0},
        {"cpu  1 2 3 4", 0, 0}, /* cut short */
        {"cpu0 1 2 3 4\n", 0, 0},
        {"cpu  1 2 x 4\n", 0, 0},
        {"cpu  1 2 18446744073709551615 4\n", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        roast_error err;
        roast_machine machine = {1, 1};
        roast_status status = roast_machine_parse(roast_str_of(rows[i].text), &machine, &err);
        assert_int_equal(rows[i].all > 0 ? ROAST_OK : ROAST_ECORRUPT, status);
        if (status == ROAST_OK)
            assert_true(machine.busy_ns * rows[i].all == machine.all_ns * rows[i].busy);
    }
}

static void counters_of_this_machine(void **state) {
    (void)state;
    roast_error err;
    roast_machine before, after;
    if (strcmp(roast_probe_backend(), "linux") != 0)
        skip();
    assert_ok(roast_machine_read(NULL, &before, &err), err);
    assert_true(before.busy_ns > 0 && before.all_ns >= before.busy_ns);
    usleep(50000);
    assert_ok(roast_machine_read(NULL, &after, &err), err);
    assert_true(after.all_ns > before.all_ns && after.busy_ns >= before.busy_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_the_token),
        cmocka_unit_test(each_process_has_a_token),
        cmocka_unit_test(limits_on_the_path),
        cmocka_unit_test(limits_at_the_root),
        cmocka_unit_test(limits_of_a_hybrid_system),
        cmocka_unit_test(limits_refuse_what_is_not_there),
        cmocka_unit_test(limits_of_this_machine),
        cmocka_unit_test(counters_of_a_machine),
        cmocka_unit_test(counters_that_are_none),
        cmocka_unit_test(counters_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
