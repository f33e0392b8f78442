#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
#include <wchar.h>

#include "roast/sink.h"

enum { FD_BUFFER = 1 << 16 }; /* what the sink promises to gather before it writes */

static roast_sink *memory_sink(void) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_memory(&sink, &err), err);
    return sink;
}

static roast_sink *fd_sink(int fd) {
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_fd(fd, &sink, &err), err);
    return sink;
}

static void test_memory(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink = memory_sink();
    assert_str("", roast_sink_memory(sink));
    roast_sink_write(sink, "ab\0c", 4);
    roast_sink_write(sink, NULL, 0);
    roast_sink_puts(sink, "-puts-");
    roast_sink_str(sink, (roast_str){"strxx", 3});
    roast_sink_str(sink, roast_str_of(NULL));
    roast_sink_printf(sink, "-%d%%", 42);
    assert_ok(roast_sink_finish(sink, &err), err);
    roast_str got = roast_sink_memory(sink);
    assert_int_equal(17, got.len);
    assert_memory_equal("ab\0c-puts-str-42%", got.data, 17);
    assert_int_equal(17, roast_sink_count(sink));
    roast_sink_puts(sink, "!"); /* finish is no end */
    assert_int_equal(18, roast_sink_memory(sink).len);
    roast_sink_free(sink);
    roast_sink_free(NULL);
}

static void test_printf_of_any_length(void **state) {
    (void)state;
    roast_error err;
    for (int len = 505; len < 520; len++) {
        roast_sink *sink = memory_sink();
        roast_sink_printf(sink, "%*d|", len, 7);
        assert_ok(roast_sink_finish(sink, &err), err);
        roast_str got = roast_sink_memory(sink);
        assert_int_equal(len + 1, got.len);
        assert_memory_equal("7|", got.data + len - 1, 2);
        roast_sink_free(sink);
    }
    roast_sink *sink = memory_sink();
    roast_sink_printf(sink, "%100000d", 7);
    assert_int_equal(100000, roast_sink_memory(sink).len);
    roast_sink_printf(sink, "%s", "");
    assert_int_equal(100000, roast_sink_count(sink));
    roast_sink_free(sink);
}

static void test_printf_that_fails_sticks(void **state) {
    (void)state;
    const wchar_t no_character[] = {0x7fffffff, 0};
    roast_sink *sink = memory_sink();
    roast_sink_printf(sink, "%ls", no_character);
    roast_sink_puts(sink, "late");
    assert_status(ROAST_EINVAL, roast_sink_finish(sink, NULL));
    assert_int_equal(0, roast_sink_count(sink));
    roast_sink_free(sink);
}

static void test_count(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink = NULL;
    assert_ok(roast_sink_new_count(&sink, &err), err);
    for (int i = 0; i < 1000; i++)
        roast_sink_puts(sink, "1234567890");
    assert_ok(roast_sink_finish(sink, &err), err);
    assert_int_equal(10000, roast_sink_count(sink));
    assert_str("", roast_sink_memory(sink));
    roast_sink_free(sink);
}

static void test_first_failure_sticks(void **state) {
    (void)state;
    roast_error err;
    roast_sink *sink = memory_sink();
    roast_sink_puts(sink, "good");
    roast_sink_fail(sink, ROAST_ELIMIT, "first");
    roast_sink_fail(sink, ROAST_EIO, "second");
    roast_sink_puts(sink, "late");
    roast_sink_printf(sink, "%d", 1);
    assert_int_equal(4, roast_sink_count(sink));
    assert_str("good", roast_sink_memory(sink));
    for (int i = 0; i < 2; i++) {
        assert_status(ROAST_ELIMIT, roast_sink_finish(sink, &err));
        assert_int_equal(ROAST_ELIMIT, err.status);
        assert_string_equal("first", err.message);
        assert_int_equal(4, err.position);
    }
    assert_status(ROAST_ELIMIT, roast_sink_finish(sink, NULL));
    roast_sink_free(sink);
}

/* ---- file descriptors ---- */
static int temporary_file(void) {
    FILE *file = tmpfile();
    assert_non_null(file);
    int fd = dup(fileno(file));
    fclose(file);
    assert_true(fd >= 0);
    return fd;
}

static void test_fd_gathers_and_keeps_the_order(void **state) {
    (void)state;
    roast_error err;
    static char big[3 * FD_BUFFER], back[sizeof big];
    int fd = temporary_file();
    roast_sink *sink = fd_sink(fd);
    roast_sink_puts(sink, "first");
    assert_int_equal(0, lseek(fd, 0, SEEK_CUR)); /* nothing is written yet */
    assert_str("", roast_sink_memory(sink));
    memset(big, 'b', sizeof big);
    roast_sink_write(sink, big, 2 * FD_BUFFER); /* goes past the buffer, behind what is in it */
    assert_int_equal(5 + 2 * FD_BUFFER, lseek(fd, 0, SEEK_CUR));
    roast_sink_puts(sink, "last");
    roast_sink_write(sink, big, FD_BUFFER - 4); /* fills it to the last byte */
    assert_int_equal(5 + 2 * FD_BUFFER, lseek(fd, 0, SEEK_CUR));
    roast_sink_puts(sink, "!");
    assert_int_equal(5 + 3 * FD_BUFFER, lseek(fd, 0, SEEK_CUR));
    assert_ok(roast_sink_finish(sink, &err), err);
    assert_int_equal(6 + 3 * FD_BUFFER, roast_sink_count(sink));
    assert_int_equal(6 + 3 * FD_BUFFER, lseek(fd, 0, SEEK_CUR));
    assert_int_equal(9, pread(fd, back, 9, 5 + 2 * FD_BUFFER - 5));
    assert_memory_equal("bbbbblast", back, 9);
    assert_int_equal(6, pread(fd, back, 6, 0));
    assert_memory_equal("firstb", back, 6);
    assert_int_equal(2, pread(fd, back, 9, 4 + 3 * FD_BUFFER));
    assert_memory_equal("b!", back, 2);
    roast_sink_free(sink);
    assert_int_equal(0, close(fd)); /* it stayed ours and open */
}

static void assert_write_fails(int fd, int expected) {
    roast_error err;
    roast_error_reset(&err);
    roast_sink *sink = fd_sink(fd);
    roast_sink_puts(sink, "lost");
    assert_status(ROAST_EIO, roast_sink_finish(sink, &err));
    assert_int_equal(expected, err.os_errno);
    assert_string_equal(strerror(expected), err.message);
    roast_sink_puts(sink, "more");
    assert_status(ROAST_EIO, roast_sink_finish(sink, NULL));
    roast_sink_free(sink);
}

static void test_fd_failures(void **state) {
    (void)state;
    int fd = dup(STDERR_FILENO);
    assert_int_equal(0, close(fd));
    assert_write_fails(fd, EBADF);
    fd = open("/dev/full", O_WRONLY);
    if (fd >= 0) { /* systems other than Linux have none */
        assert_write_fails(fd, ENOSPC);
        static char big[2 * FD_BUFFER];
        roast_sink *sink = fd_sink(fd);
        roast_sink_write(sink, big, sizeof big);
        assert_int_equal(0, roast_sink_count(sink));
        assert_status(ROAST_EIO, roast_sink_finish(sink, NULL));
        roast_sink_free(sink);
        close(fd);
    }
}

static int full_pipe[2];
static volatile sig_atomic_t drained;

static void drain(int signal) {
    (void)signal;
    char bytes[4096];
    int before = errno;
    ssize_t got;
    while ((got = read(full_pipe[0], bytes, sizeof bytes)) > 0)
        drained += (int)got;
    errno = before;
}

/* A signal breaks off a write that waits, a pipe takes less than it is given: nothing is lost. */
static void test_fd_survives_signals_and_short_writes(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    roast_error err;
    assert_int_equal(0, pipe(full_pipe));
    assert_int_equal(0, fcntl(full_pipe[0], F_SETFL, O_NONBLOCK));
    struct sigaction handler = {.sa_handler = drain}, old; /* without SA_RESTART */
    assert_int_equal(0, sigaction(SIGALRM, &handler, &old));
    const struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    assert_int_equal(0, setitimer(ITIMER_REAL, &every, NULL));
    drained = 0;
    roast_sink *sink = fd_sink(full_pipe[1]);
    char *bytes = test_calloc(1, SIZE);
    roast_sink_write(sink, bytes, SIZE);
    assert_ok(roast_sink_finish(sink, &err), err);
    assert_int_equal(0, setitimer(ITIMER_REAL, &never, NULL));
    drain(SIGALRM);
    assert_int_equal(SIZE, drained);
    assert_int_equal(0, sigaction(SIGALRM, &old, NULL));
    test_free(bytes);
    roast_sink_free(sink);
    close(full_pipe[0]);
    close(full_pipe[1]);
}

/* ---- failing allocations ---- */
static roast_status write_all(roast_sink *sink) {
    for (int i = 0; i < 50; i++)
        roast_sink_printf(sink, "%*d", 10 + 30 * i, i);
    return roast_sink_finish(sink, NULL);
}

static roast_status walk_memory(void *context) {
    (void)context;
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, NULL));
    roast_status status = write_all(sink);
    roast_sink_free(sink);
    return status;
}

static roast_status walk_fd(void *context) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_fd(*(int *)context, &sink, NULL));
    roast_status status = write_all(sink);
    roast_sink_free(sink);
    return status;
}

static roast_status walk_count(void *context) {
    (void)context;
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_count(&sink, NULL));
    roast_status status = write_all(sink);
    roast_sink_free(sink);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    int fd = temporary_file();
    assert_true(alloc_walk(walk_memory, NULL) > 30);
    assert_true(alloc_walk(walk_fd, &fd) > 30);
    assert_true(alloc_walk(walk_count, NULL) > 30);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_printf_of_any_length),
        cmocka_unit_test(test_printf_that_fails_sticks),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_first_failure_sticks),
        cmocka_unit_test(test_fd_gathers_and_keeps_the_order),
        cmocka_unit_test(test_fd_failures),
        cmocka_unit_test(test_fd_survives_signals_and_short_writes),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
