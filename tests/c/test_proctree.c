/* Process trees: fixed and changing fixtures, and the children of this process. */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../burn/load.h"
#include "proc/proctree.h"

#define DATA "tests/data/proc/tree"

static void needs_linux(void) {
    if (strcmp(roast_probe_backend(), "linux") != 0)
        skip();
}

static roast_proctree *open_tree(const char *root, int64_t pid) {
    roast_error err;
    roast_proctree *tree = NULL;
    assert_ok(roast_proctree_new(root, pid, &tree, &err), err);
    return tree;
}

static void look(roast_proctree *tree) {
    roast_error err;
    assert_ok(roast_proctree_look(tree, NULL, &err), err);
}

static void look_at(roast_proctree *tree, int64_t seconds) {
    roast_error err;
    roast_mono when = {seconds * INT64_C(1000000000)};
    assert_ok(roast_proctree_look(tree, &when, &err), err);
}

static const roast_tree_process *find(const roast_proctree *tree, int64_t pid) {
    for (size_t i = 0; i < tree->now.count; i++)
        if (tree->now.at[i].pid == pid)
            return &tree->now.at[i];
    return NULL;
}

static const roast_tree_process *there(const roast_proctree *tree, int64_t pid) {
    const roast_tree_process *process = find(tree, pid);
    if (process == NULL)
        fail_msg("process %lld is not there", (long long)pid);
    return process;
}

static uint64_t ticks(uint64_t count) {
    return count * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

static size_t open_descriptors(void) {
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* ---- a tree that stands still ---- */

static void descendants_and_nobody_else(void **state) {
    (void)state;
    needs_linux();
    static const int64_t expected[] = {90, 100, 101, 102};
    roast_proctree *tree = open_tree(DATA, 100);
    for (int i = 0; i < 3; i++) {
        look(tree);
        assert_int_equal(4, tree->now.count);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(expected[k], tree->now.at[k].pid);
        assert_int_equal(0, tree->ended.count);
    }
    roast_proctree_free(tree);
    tree = open_tree(DATA, 102);
    look(tree);
    assert_int_equal(2, tree->now.count);
    roast_proctree_free(tree);
}

static void values_of_a_process(void **state) {
    (void)state;
    needs_linux();
    roast_proctree *tree = open_tree(DATA, 100);
    look_at(tree, 5);
    const roast_tree_process *process = there(tree, 90);
    assert_int_equal(102, process->parent);
    assert_int_equal(2000, process->start_ticks);
    assert_int_equal(0, process->started.ns);
    assert_true(process->when.ns == INT64_C(5000000000));
    assert_int_equal(90 * sysconf(_SC_PAGESIZE), process->reading.rss_bytes);
    assert_int_equal(901, process->reading.read_bytes);
    assert_int_equal(902, process->reading.write_bytes);
    assert_true(process->have_cpu);
    assert_true(process->cpu_ns == ticks(34));
    assert_true(isnan(process->cpu_percent));
    assert_true(isnan(process->read_bps) && isnan(process->write_bps));
    /* No time has passed: still no rate. */
    look_at(tree, 5);
    assert_true(isnan(there(tree, 90)->cpu_percent));
    look_at(tree, 6);
    assert_true(there(tree, 90)->cpu_percent == 0);
    roast_proctree_free(tree);
}

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    roast_error err;
    roast_proctree *tree = NULL;
    char longest[2 * PATH_MAX];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_status(ROAST_EINVAL, roast_proctree_new(NULL, -1, &tree, &err));
    assert_status(ROAST_EINVAL, roast_proctree_new(DATA, 0, &tree, &err));
    assert_status(ROAST_ELIMIT, roast_proctree_new(longest, 100, &tree, NULL));
    needs_linux();
    assert_status(ROAST_ENOTFOUND, roast_proctree_new(DATA, 999, &tree, &err));
    assert_status(ROAST_ENOTFOUND, roast_proctree_new(DATA, 103, &tree, &err)); /* has ended */
    assert_status(ROAST_ENOTFOUND, roast_proctree_new(DATA, 106, &tree, &err)); /* no text */
    assert_status(ROAST_EIO, roast_proctree_new(DATA "/nowhere", 100, &tree, &err));
    assert_status(ROAST_EIO, roast_proctree_new(DATA "/version", 100, &tree, NULL));
    assert_null(tree);
    roast_proctree_free(NULL);
}

static roast_status two_looks(void *context) {
    roast_proctree *tree = NULL;
    roast_status status = roast_proctree_new(context, context != NULL ? 100 : 0, &tree, NULL);
    for (int i = 0; status == ROAST_OK && i < 2; i++)
        status = roast_proctree_look(tree, NULL, NULL);
    roast_proctree_free(tree);
    return status;
}

static void memory_runs_short(void **state) {
    (void)state;
    assert_true(alloc_walk(two_looks, NULL) >= 3);
    needs_linux();
    assert_true(alloc_walk(two_looks, (void *)DATA) >= 3);
}

/* The look that failed is forgotten, and the next one goes on from the last good one. */
static void failed_look_changes_nothing(void **state) {
    (void)state;
    needs_linux();
    roast_proctree *tree = open_tree(DATA, 100);
    look_at(tree, 1);
    alloc_fail_from(0);
    roast_mono when = {INT64_C(2000000000)};
    roast_status status = roast_proctree_look(tree, &when, NULL);
    alloc_fail_stop();
    assert_status(ROAST_ENOMEM, status); /* of the second look: its lists are new */
    assert_int_equal(4, tree->now.count);
    assert_true(there(tree, 101)->when.ns == INT64_C(1000000000));
    look_at(tree, 3);
    assert_int_equal(4, tree->now.count);
    assert_int_equal(0, tree->ended.count);
    assert_true(there(tree, 101)->cpu_percent == 0);
    roast_proctree_free(tree);
}

/* ---- a tree that changes ---- */

static char scratch[PATH_MAX];

static int make_scratch(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/roast-tree-XXXXXX", folder != NULL ? folder : "/tmp");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static int remove_scratch(void **state) {
    (void)state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

typedef struct fake {
    int64_t pid, parent;
    uint64_t start, cpu_ticks, pages, read, written;
    char state;
} fake;

static void write_text(int64_t pid, const char *name, const char *text) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%lld", scratch, (long long)pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%lld/%s", scratch, (long long)pid, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(0, fclose(file));
}

static void put(fake process) {
    char text[512];
    snprintf(
        text, sizeof text, "%lld (x y) %c %lld 0 0 0 0 0 0 0 0 0 %llu 0 0 0 20 0 1 0 %llu 0 0 0\n",
        (long long)process.pid, process.state != 0 ? process.state : 'S', (long long)process.parent,
        (unsigned long long)process.cpu_ticks, (unsigned long long)process.start);
    write_text(process.pid, "stat", text);
    snprintf(text, sizeof text, "%llu %llu 0 0 0 0 0\n",
             (unsigned long long)(process.pages > 0 ? process.pages * 2 : 0),
             (unsigned long long)process.pages);
    write_text(process.pid, "statm", text);
    snprintf(text, sizeof text, "read_bytes: %llu\nwrite_bytes: %llu\n",
             (unsigned long long)process.read, (unsigned long long)process.written);
    write_text(process.pid, "io", text);
}

/* Moved away, not removed: a file system may give the inode of a folder to the next one, procfs does
 * not. */
static void end(int64_t pid) {
    static int graves;
    char from[PATH_MAX + 64], to[PATH_MAX + 64];
    write_text(pid, "statm", ""); /* what was open of it says nothing any more */
    snprintf(from, sizeof from, "%s/%lld", scratch, (long long)pid);
    snprintf(to, sizeof to, "%s/ended-%d", scratch, graves++);
    assert_int_equal(0, rename(from, to));
}

static void rates_between_looks(void **state) {
    (void)state;
    needs_linux();
    put((fake){.pid = 10, .parent = 1, .start = 5, .cpu_ticks = 100, .pages = 10});
    roast_proctree *tree = open_tree(scratch, 10);
    look_at(tree, 1);
    uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
    put((fake){.pid = 10,
               .start = 5,
               .cpu_ticks = 100 + 3 * second,
               .pages = 20,
               .read = 500,
               .written = 90});
    look_at(tree, 3);
    const roast_tree_process *process = there(tree, 10);
    assert_near(150, process->cpu_percent);
    assert_near(250, process->read_bps);
    assert_near(45, process->write_bps);
    assert_int_equal(20 * sysconf(_SC_PAGESIZE), process->reading.rss_bytes);
    assert_int_equal(1, process->parent);
    /* A count that runs backwards is no rate, and one that is missing is none either. */
    put((fake){.pid = 10, .start = 5, .cpu_ticks = 1, .pages = 20, .read = 400, .written = 190});
    look_at(tree, 4);
    process = there(tree, 10);
    assert_true(isnan(process->cpu_percent) && isnan(process->read_bps));
    assert_near(100, process->write_bps);
    write_text(10, "io", "read_bytes: 600\n");
    write_text(10, "stat", "10 (x) S 1 0\n");
    look_at(tree, 5);
    process = there(tree, 10);
    assert_false(process->have_cpu);
    assert_true(isnan(process->cpu_percent) && isnan(process->write_bps));
    assert_near(200, process->read_bps);
    roast_proctree_free(tree);
}

static void processes_come_and_go(void **state) {
    (void)state;
    needs_linux();
    put((fake){.pid = 10, .parent = 1, .start = 5, .pages = 10});
    put((fake){.pid = 11, .parent = 10, .start = 6, .pages = 11});
    roast_proctree *tree = open_tree(scratch, 10);
    look(tree);
    assert_int_equal(2, tree->now.count);
    /* A grandchild with a smaller number, and a stranger. */
    put((fake){.pid = 7, .parent = 11, .start = 8, .pages = 7});
    put((fake){.pid = 8, .parent = 1, .start = 8, .pages = 8});
    look(tree);
    assert_int_equal(3, tree->now.count);
    there(tree, 7);
    /* Its parent ends: it belongs to the tree all the same. */
    end(11);
    put((fake){.pid = 7, .parent = 1, .start = 8, .pages = 7});
    look(tree);
    assert_int_equal(2, tree->now.count);
    assert_int_equal(11, there(tree, 7)->parent);
    assert_int_equal(1, tree->ended.count);
    assert_int_equal(11, tree->ended.at[0].pid);
    look(tree);
    assert_int_equal(0, tree->ended.count);
    /* One that ended and was not waited for. */
    put((fake){.pid = 7, .parent = 11, .start = 8, .state = 'Z'});
    look(tree);
    assert_null(find(tree, 7));
    assert_int_equal(7, tree->ended.at[0].pid);
    look(tree);
    assert_int_equal(0, tree->ended.count);
    end(10);
    look(tree);
    assert_int_equal(0, tree->now.count);
    assert_int_equal(1, tree->ended.count);
    roast_proctree_free(tree);
}

static void families_in_any_order(void **state) {
    (void)state;
    needs_linux();
    /* The root's parent is no member; its descendants have smaller and smaller numbers. */
    put((fake){.pid = 20, .parent = 1, .start = 1, .pages = 1});
    put((fake){.pid = 10, .parent = 20, .start = 5, .pages = 10});
    for (int64_t pid = 9; pid > 2; pid--)
        put((fake){.pid = pid, .parent = pid + 1, .start = 20 - (uint64_t)pid, .pages = 1});
    put((fake){.pid = 11, .parent = 20, .start = 6, .pages = 1});
    /* Two that are each other's parents, and one that is its own: no family at all. */
    put((fake){.pid = 31, .parent = 32, .start = 7, .pages = 1});
    put((fake){.pid = 32, .parent = 31, .start = 7, .pages = 1});
    put((fake){.pid = 33, .parent = 33, .start = 7, .pages = 1});
    roast_proctree *tree = open_tree(scratch, 10);
    look(tree);
    assert_int_equal(8, tree->now.count);
    for (int64_t pid = 3; pid <= 10; pid++)
        there(tree, pid);
    roast_proctree_free(tree);
}

static void number_that_is_given_out_again(void **state) {
    (void)state;
    needs_linux();
    put((fake){.pid = 10, .parent = 1, .start = 5, .pages = 10});
    put((fake){.pid = 11, .parent = 10, .start = 6, .cpu_ticks = 100, .pages = 11});
    put((fake){.pid = 12, .parent = 1, .start = 6, .pages = 12});
    roast_proctree *tree = open_tree(scratch, 10);
    look_at(tree, 1);
    end(11);
    end(12);
    put((fake){.pid = 11, .parent = 10, .start = 60, .cpu_ticks = 900, .pages = 21});
    put((fake){.pid = 12, .parent = 10, .start = 61, .pages = 22});
    look_at(tree, 2);
    assert_int_equal(3, tree->now.count);
    assert_int_equal(60, there(tree, 11)->start_ticks);
    assert_true(isnan(there(tree, 11)->cpu_percent));
    assert_int_equal(21 * sysconf(_SC_PAGESIZE), there(tree, 11)->reading.rss_bytes);
    there(tree, 12);
    assert_int_equal(1, tree->ended.count);
    assert_int_equal(6, tree->ended.at[0].start_ticks);
    /* Now a stranger's. */
    end(11);
    put((fake){.pid = 11, .parent = 1, .start = 70, .pages = 31});
    look_at(tree, 3);
    assert_null(find(tree, 11));
    assert_int_equal(1, tree->ended.count);
    roast_proctree_free(tree);
}

/* The kernel forgets the inode of a process: the same number and start are the same process. */
static void inode_that_is_forgotten(void **state) {
    (void)state;
    needs_linux();
    put((fake){.pid = 10, .parent = 1, .start = 5, .pages = 10});
    put((fake){.pid = 11, .parent = 10, .start = 6, .pages = 11});
    roast_proctree *tree = open_tree(scratch, 10);
    look_at(tree, 1);
    char from[PATH_MAX + 64], to[PATH_MAX + 64];
    snprintf(from, sizeof from, "%s/11", scratch);
    snprintf(to, sizeof to, "%s/old", scratch);
    assert_int_equal(0, rename(from, to));
    put((fake){.pid = 11, .parent = 1, .start = 6, .pages = 11});
    look_at(tree, 2);
    assert_int_equal(10, there(tree, 11)->parent);
    assert_true(there(tree, 11)->cpu_percent == 0);
    assert_int_equal(0, tree->ended.count);
    roast_proctree_free(tree);
}

static void many_processes_few_descriptors(void **state) {
    (void)state;
    needs_linux();
    enum { CHILDREN = 100, FIRST = 1000 };
    put((fake){.pid = 10, .parent = 1, .start = 5, .pages = 10});
    for (int i = 0; i < CHILDREN; i++)
        put((fake){.pid = FIRST + i, .parent = 10, .start = 6, .pages = 11});
    size_t before = open_descriptors();
    roast_proctree *tree = open_tree(scratch, 10);
    look(tree);
    look(tree);
    assert_int_equal(CHILDREN + 1, tree->now.count);
    for (size_t i = 0; i < tree->now.count; i++)
        assert_true(tree->now.at[i].reading.have & ROAST_HAVE(read_bytes));
    assert_int_equal(before + 1, open_descriptors());
    for (int i = 0; i < CHILDREN; i++)
        end(FIRST + i);
    look(tree);
    assert_int_equal(1, tree->now.count);
    roast_proctree_free(tree);
    assert_int_equal(before, open_descriptors());
}

/* What cannot be opened is not known; that does not make a process end. */
static void out_of_descriptors(void **state) {
    (void)state;
    needs_linux();
    enum { CHILDREN = 70 };
    put((fake){.pid = 10, .parent = 1, .start = 5, .pages = 10});
    for (int i = 0; i < CHILDREN; i++)
        put((fake){.pid = 1000 + i, .parent = 10, .start = 6, .pages = 11});
    roast_proctree *tree = open_tree(scratch, 10);
    look(tree);
    int highest = open("/dev/null", O_RDONLY);
    assert_true(highest >= 0);
    close(highest);
    struct rlimit limit, low;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    low = (struct rlimit){(rlim_t)highest, limit.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &low));
    roast_status status = roast_proctree_look(tree, NULL, NULL);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
    assert_status(ROAST_OK, status);
    assert_int_equal(CHILDREN + 1, tree->now.count);
    assert_int_equal(0, tree->ended.count);
    assert_false(tree->now.at[CHILDREN].reading.have & ROAST_HAVE(rss_bytes));
    look(tree);
    assert_true(tree->now.at[CHILDREN].reading.have & ROAST_HAVE(rss_bytes));
    roast_proctree_free(tree);
}

/* ---- this process ---- */

static void getrusage_knows_this_process_only(void **state) {
    (void)state;
    if (strcmp(roast_probe_backend(), "getrusage") != 0)
        skip();
    roast_proctree *tree = NULL;
    assert_status(ROAST_EUNSUPPORTED, roast_proctree_new(DATA, 100, &tree, NULL));
    assert_status(ROAST_EUNSUPPORTED, roast_proctree_new(NULL, getppid(), &tree, NULL));
    tree = open_tree(NULL, 0);
    look(tree);
    assert_int_equal(1, tree->now.count);
    assert_false(tree->now.at[0].reading.have & ROAST_HAVE(rss_bytes));
    assert_int_equal(0, tree->now.at[0].started.ns);
    roast_proctree_free(tree);
}

static void this_process_is_in_its_tree(void **state) {
    (void)state;
    roast_proctree *tree = open_tree(NULL, 0);
    look(tree);
    const roast_tree_process *self = there(tree, getpid());
    assert_int_equal(getppid(), self->parent);
    assert_true(self->have_cpu);
    uint64_t before = self->cpu_ns;
    burn_cpu(0.05);
    look(tree);
    self = there(tree, getpid());
    assert_true(self->cpu_ns - before >= UINT64_C(50000000) - ticks(1));
    assert_true(self->cpu_percent > 0);
    roast_proctree_free(tree);
    /* The same by number, and by the name of the root. */
    tree = open_tree("/proc", 0);
    look(tree);
    there(tree, getpid());
    roast_proctree_free(tree);
    tree = open_tree(NULL, getpid());
    look(tree);
    there(tree, getpid());
    roast_proctree_free(tree);
}

static pid_t child_that_waits(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (;;)
            pause();
    }
    return child;
}

static void children_of_this_process(void **state) {
    (void)state;
    needs_linux();
    roast_proctree *tree = open_tree(NULL, 0);
    look(tree);
    size_t alone = tree->now.count;
    roast_utc before = roast_utc_now();
    pid_t child = child_that_waits();
    roast_utc after = roast_utc_now();
    look(tree);
    assert_int_equal(alone + 1, tree->now.count);
    const roast_tree_process *process = there(tree, child);
    assert_int_equal(getpid(), process->parent);
    assert_true(process->reading.have & ROAST_HAVE(rss_bytes));
    /* Starts are told in clock ticks. */
    assert_true(process->started.ns >= before.ns - 2 * (int64_t)ticks(1));
    assert_true(process->started.ns <= after.ns + 2 * (int64_t)ticks(1));
    assert_int_equal(0, kill(child, SIGKILL));
    siginfo_t info;
    assert_int_equal(0, waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    look(tree); /* it has ended, and nobody has waited for it */
    assert_null(find(tree, child));
    assert_int_equal(child, tree->ended.at[0].pid);
    assert_int_equal(child, waitpid(child, NULL, 0));
    look(tree);
    assert_int_equal(alone, tree->now.count);
    assert_int_equal(0, tree->ended.count);
    roast_proctree_free(tree);
}

#define with_scratch(test) cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descendants_and_nobody_else),
        cmocka_unit_test(values_of_a_process),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(memory_runs_short),
        cmocka_unit_test(failed_look_changes_nothing),
        with_scratch(rates_between_looks),
        with_scratch(processes_come_and_go),
        with_scratch(families_in_any_order),
        with_scratch(number_that_is_given_out_again),
        with_scratch(inode_that_is_forgotten),
        with_scratch(many_processes_few_descriptors),
        with_scratch(out_of_descriptors),
        cmocka_unit_test(getrusage_knows_this_process_only),
        cmocka_unit_test(this_process_is_in_its_tree),
        cmocka_unit_test(children_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
