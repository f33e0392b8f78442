/* Where a measurement goes: what it replaces, what it leaves alone, and what is left of a save that
 * failed or was killed. */
#include "store_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static roast_status save_as(const roast_run *run, const char *path, bool overwrite,
                            roast_error *err) {
    const roast_store_file files[] = {{"metrics.json", "{}", 2}, {"start_end_time.txt", "1,2", 3}};
    const roast_store_options options = {
        .path = path, .overwrite = overwrite, .files = files, .n_files = 2};
    roast_error_reset(err);
    return roast_store_save(run, &options, err);
}

static roast_run *run_of(uint64_t chunks) {
    roast_run *run = empty_run();
    roast_run_take_chunks(run, plain_log(1, 1, chunks));
    return run;
}

static uint64_t chunks_at(const char *path) {
    roast_run *run = NULL;
    roast_error err;
    assert_ok(roast_store_load(path, &run, &err), err);
    uint64_t count = roast_chunklog_count(roast_run_chunks_view(run));
    roast_run_free(run);
    return count;
}

/* ---- what is replaced and what is not ---- */

static void test_overwrite(void **state) {
    (void)state;
    roast_run *three = run_of(3), *four = run_of(4);
    roast_error err;
    assert_ok(save_as(three, place, false, &err), err);
    assert_int_equal(3, chunks_at(place));
    assert_status(ROAST_EIO, save_as(four, place, false, &err));
    assert_int_equal(EEXIST, err.os_errno);
    assert_int_equal(3, chunks_at(place));
    assert_ok(save_as(four, place, true, &err), err);
    assert_int_equal(4, chunks_at(place));
    assert_int_equal(1, count_names(folder));
    assert_int_equal(3, count_names(place));
    roast_run_free(three);
    roast_run_free(four);
}

/* What the user put into the directory of a measurement stays there. */
static void test_other_files_stay(void **state) {
    (void)state;
    roast_run *run = run_of(3);
    roast_error err;
    assert_ok(save_as(run, place, true, &err), err);
    write_bytes(inside("config.json"), "old", 3);
    write_bytes(inside("report.html"), "mine", 4);
    assert_int_equal(0, mkdir(inside("plots"), 0777));
    write_bytes(inside("plots/a.png"), "png", 3);
    assert_ok(save_as(run, place, true, &err), err);
    packed report = read_bytes(inside("report.html"));
    assert_memory_equal("mine", report.data, 4);
    free(report.data);
    assert_true(exists(inside("plots/a.png")));
    assert_false(exists(inside("config.json"))); /* of the older measurement */
    assert_int_equal(3, chunks_at(place));
    assert_int_equal(1, count_names(folder));
    roast_run_free(run);
}

static void check_refused(const char *path) {
    roast_run *run = run_of(1);
    roast_error err;
    assert_status(ROAST_EIO, save_as(run, path, true, &err));
    assert_int_equal(EEXIST, err.os_errno);
    assert_non_null(strstr(err.message, "not a measurement"));
    roast_run_free(run);
}

static void test_not_a_measurement(void **state) {
    (void)state;
    assert_int_equal(0, mkdir(place, 0777));
    write_bytes(inside("precious.txt"), "data", 4);
    check_refused(place);
    assert_int_equal(1, count_names(place));
    write_bytes(inside("metrics.json"), "{}", 2); /* somebody else's */
    write_bytes(inside("metadata.json"), "{\"format\": \"other\"}", 19);
    write_bytes(inside("run.sqlite"), "SQLite format 3", 15);
    check_refused(place);
    assert_int_equal(4, count_names(place));
    char path[256];
    snprintf(path, sizeof path, "%s/file", folder);
    write_bytes(path, "x", 1);
    check_refused(path);
    assert_int_equal(2, count_names(folder));
}

static void test_empty_directory(void **state) {
    (void)state;
    roast_run *run = run_of(2);
    roast_error err;
    assert_int_equal(0, mkdir(place, 0777));
    assert_ok(save_as(run, place, false, &err), err);
    assert_int_equal(2, chunks_at(place));
    roast_run_free(run);
}

static void test_paths(void **state) {
    (void)state;
    roast_run *run = run_of(2);
    roast_error err;
    char path[300], deep[600], name[260];
    snprintf(path, sizeof path, "%s/new/folders/run", folder);
    assert_ok(save_as(run, path, false, &err), err);
    assert_int_equal(2, chunks_at(path));
    strcat(path, "//");
    assert_ok(save_as(run, path, true, &err), err);
    assert_int_equal(2, chunks_at(path));
    /* A link to a measurement stays a link. */
    char link[128];
    snprintf(link, sizeof link, "%s/link", folder);
    path[strlen(path) - 2] = '\0';
    assert_int_equal(0, symlink(path, link));
    roast_run *more = run_of(5);
    assert_ok(save_as(more, link, true, &err), err);
    assert_int_equal(5, chunks_at(path));
    struct stat info;
    assert_int_equal(0, lstat(link, &info));
    assert_true(S_ISLNK(info.st_mode));
    /* As long as a name can be; but SQLite opens no path of more than 512 bytes. */
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(deep, sizeof deep, "%s/%s", folder, name);
    assert_ok(save_as(more, deep, false, &err), err);
    assert_ok(save_as(run, deep, true, &err), err);
    assert_int_equal(2, chunks_at(deep));
    snprintf(deep, sizeof deep, "%s/%s/%s", folder, name, name);
    assert_status(ROAST_EIO, save_as(run, deep, false, &err));
    assert_non_null(strstr(err.message, "at most 468 bytes"));
    assert_int_equal(-1, access(deep, F_OK));
    roast_run_free(run);
    roast_run_free(more);
}

static void test_relative_path(void **state) {
    (void)state;
    roast_run *run = run_of(2);
    roast_error err;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(0, chdir(folder));
    roast_status status = save_as(run, "here", false, &err);
    bool found = roast_store_is_measurement("here") == ROAST_STORE_OURS;
    assert_int_equal(0, chdir(before));
    assert_ok(status, err);
    assert_true(found);
    roast_run_free(run);
}

/* ---- what a directory is ---- */

static void test_kinds(void **state) {
    (void)state;
    roast_run *run = run_of(1);
    roast_error err;
    assert_int_equal(ROAST_STORE_NONE, roast_store_is_measurement(NULL));
    assert_int_equal(ROAST_STORE_NONE, roast_store_is_measurement(place));
    assert_int_equal(ROAST_STORE_NONE, roast_store_is_measurement(folder));
    assert_ok(save_as(run, place, false, &err), err);
    assert_int_equal(ROAST_STORE_OURS, roast_store_is_measurement(place));
    assert_int_equal(ROAST_STORE_NONE, roast_store_is_measurement(inside("run.sqlite")));
    char path[256];
    snprintf(path, sizeof path, "%s/.roast-0123-4567.tmp", folder);
    assert_int_equal(0, rename(place, path));
    assert_int_equal(ROAST_STORE_NONE, roast_store_is_measurement(path));
    const char *legacy = "tests/data/measurements_0_1_2/local";
    assert_int_equal(ROAST_STORE_LEGACY, roast_store_is_measurement(legacy));
    roast_store *store;
    assert_status(ROAST_EUNSUPPORTED, roast_store_open(legacy, &store, &err));
    assert_non_null(strstr(err.message, "import"));
    roast_run_free(run);
}

/* A measurement of 0.1.x is one, too, and may be replaced. */
static void test_legacy_is_replaced(void **state) {
    (void)state;
    static const char metadata[] = "{\"format\": \"roastcoffea_measurement_v1\"}";
    roast_run *run = run_of(2);
    roast_error err;
    assert_int_equal(0, mkdir(place, 0777));
    write_bytes(inside("metadata.json"), metadata, sizeof metadata - 1);
    write_bytes(inside("metrics.json"), "{}", 2);
    assert_status(ROAST_EIO, save_as(run, place, false, &err));
    assert_ok(save_as(run, place, true, &err), err);
    assert_int_equal(2, chunks_at(place));
    roast_run_free(run);
}

static void test_new_names(void **state) {
    (void)state;
    char name[64], path[256];
    const roast_utc when = {INT64_C(1790000000123456789)};
    for (int i = 1; i < 12; i++) {
        char wanted[64];
        size_t len = roast_store_new_name(folder, when, name, sizeof name);
        snprintf(wanted, sizeof wanted, i == 1 ? "2026-09-21_14-13-20" : "2026-09-21_14-13-20_%d",
                 i);
        assert_string_equal(wanted, name);
        assert_int_equal(strlen(wanted), len);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        assert_int_equal(0, mkdir(path, 0777));
    }
    roast_store_new_name(folder, (roast_utc){-1}, name, sizeof name);
    assert_string_equal("1969-12-31_23-59-59", name);
    assert_int_equal(19, roast_store_new_name(folder, (roast_utc){0}, name, 5));
    assert_string_equal("1970", name);
}

static void test_missing(void **state) {
    (void)state;
    roast_error err = load_failure();
    assert_int_equal(ROAST_ENOTFOUND, err.status);
    assert_non_null(strstr(err.message, place));
    assert_int_equal(0, mkdir(place, 0777));
    err = load_failure();
    assert_int_equal(ROAST_ENOTFOUND, err.status);
    assert_non_null(strstr(err.message, "run.sqlite"));
    assert_int_equal(0, mkdir(inside("run.sqlite"), 0777));
    err = load_failure();
    assert_true(err.status == ROAST_ECORRUPT || err.status == ROAST_EIO);
    roast_store *store;
    assert_status(ROAST_EINVAL, roast_store_open("", &store, &err));
    assert_status(ROAST_EINVAL, roast_store_open(NULL, &store, &err));
    assert_status(ROAST_ENOTFOUND, roast_store_open("/etc/passwd", &store, &err));
}

/* ---- a full disk, and a folder that nobody may write to ---- */

/* In a process of its own, whose files may have `limit` bytes; its exit code tells. */
static int save_with_limit(const roast_run *run, rlim_t limit) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limits = {limit, limit};
        roast_error err;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limits);
        roast_status status = save_as(run, place, true, &err);
        bool told = status == ROAST_EIO && err.os_errno != 0 && err.message[0] != '\0';
        _exit(status == ROAST_OK ? 0 : told ? 1 : 2);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_full_disk(void **state) {
    (void)state;
    roast_run *old = run_of(1), *run = rich_run();
    roast_error err;
    int failures = 0, code = 1;
    assert_ok(save_as(old, place, false, &err), err);
    for (rlim_t limit = 0; code != 0; limit += 997, failures++) {
        assert_true(limit < 1000000);
        code = save_with_limit(run, limit);
        assert_int_not_equal(2, code);
        assert_int_equal(1, count_names(folder)); /* nothing is left */
        if (code != 0)
            assert_int_equal(1, chunks_at(place));
    }
    assert_true(failures > 5);
    roast_run *back = load();
    assert_same_run(run, back);
    roast_run_free(back);
    roast_run_free(run);
    roast_run_free(old);
}

/* Nobody, not even root, makes a directory in these. */
static void test_no_place(void **state) {
    (void)state;
    static const char *const places[] = {"/proc/roast/run", "/proc/self/run", "/dev/null/run",
                                         "/sys/run"};
    roast_run *run = run_of(1);
    roast_error err;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        assert_status(ROAST_EIO, save_as(run, places[i], true, &err));
        assert_int_not_equal(0, err.os_errno);
        assert_non_null(strstr(err.message, strerror(err.os_errno)));
    }
    roast_run_free(run);
}

static int save_as_nobody(const roast_run *run) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        roast_error err;
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        roast_status status = save_as(run, place, true, &err);
        _exit(status == ROAST_EIO && err.os_errno == EACCES ? 0 : 1);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_no_permission(void **state) {
    (void)state;
    roast_run *run = run_of(1);
    assert_int_equal(0, chmod(folder, 0555));
    int code = save_as_nobody(run);
    assert_int_equal(0, chmod(folder, 0777));
    if (code == 3)
        skip(); /* no other user can be had here */
    assert_int_equal(0, code);
    assert_int_equal(0, count_names(folder));
    roast_run_free(run);
}

/* ---- killed saves ---- */

static void check_after_kill(uint64_t first, uint64_t second) {
    roast_run *run = NULL;
    roast_error err;
    if (!exists(place))
        return;
    assert_ok(roast_store_load(place, &run, &err), err);
    uint64_t count = roast_chunklog_count(roast_run_chunks_view(run));
    assert_true(count == first || count == second);
    roast_run_free(run);
}

static void save_for_ever(const roast_run *first, const roast_run *second) {
    roast_error err;
    for (;;)
        if (save_as(first, place, true, &err) != ROAST_OK ||
            save_as(second, place, true, &err) != ROAST_OK)
            _exit(1);
}

static unsigned random_state = 12345;
static unsigned random_below(unsigned limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

/* Changes with every name that comes or goes. */
static int64_t last_change(void) {
    struct stat info;
    assert_int_equal(0, stat(folder, &info));
    return info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
}

static void kill_once(const roast_run *first, const roast_run *second) {
    int64_t before = last_change();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        save_for_ever(first, second);
    for (int i = 0; i < 10000 && last_change() == before; i++)
        usleep(100); /* until it is at work */
    usleep(random_below(8000));
    kill(child, SIGKILL);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status)); /* it did not give up by itself */
}

static void test_kill(void **state) {
    (void)state;
    roast_run *first = run_of(30), *second = run_of(60);
    int amidst = 0;
    for (int i = 0; i < 200; i++) {
        kill_once(first, second);
        amidst += count_names(folder) > 1;
        check_after_kill(30, 60);
    }
    assert_true(amidst > 0); /* some were half-way */
    /* The next save takes away what the killed ones left. */
    roast_error err;
    assert_ok(save_as(first, place, true, &err), err);
    assert_int_equal(1, count_names(folder));
    assert_int_equal(3, count_names(place));
    roast_run_free(first);
    roast_run_free(second);
}

/* What somebody else is writing right now is not swept away. */
static void test_sweep(void **state) {
    (void)state;
    roast_run *run = run_of(1);
    roast_error err;
    char path[256];
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        save_for_ever(run, run);
    for (int i = 0; i < 60; i++) {
        roast_status status = save_as(run, place, true, &err);
        assert_ok(status, err);
    }
    kill(child, SIGKILL);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(1, chunks_at(place));
    /* Temporary directories of other measurements stay. */
    snprintf(path, sizeof path, "%s/.roast-0000000000000000-1.tmp", folder);
    assert_int_equal(0, mkdir(path, 0777));
    assert_ok(save_as(run, place, true, &err), err);
    assert_true(exists(path));
    roast_run_free(run);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_overwrite),
        TEST(test_other_files_stay),
        TEST(test_not_a_measurement),
        TEST(test_empty_directory),
        TEST(test_paths),
        TEST(test_relative_path),
        TEST(test_kinds),
        TEST(test_legacy_is_replaced),
        TEST(test_new_names),
        TEST(test_missing),
        TEST(test_full_disk),
        TEST(test_no_place),
        TEST(test_no_permission),
        TEST(test_kill),
        TEST(test_sweep),
    };
    return cmocka_run_group_tests_name("store place", tests, NULL, NULL);
}
