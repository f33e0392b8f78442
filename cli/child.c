#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

static roast_status failed(roast_error *err, const char *what) {
    int code = errno;
    roast_error_set(err, ROAST_EIO, "run", -1, "%s: %s", what, strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return ROAST_EIO;
}

/* ---- starting ---- */

/* The child waits until `go` is closed, so that it is sampled from the beginning. `told` gets the errno of exec where
 * that fails; otherwise exec closes it. */
typedef struct start_pipes {
    int go[2], told[2];
} start_pipes;

/* The signal settings that roast was started with; the command gets the same. */
typedef struct signals_before {
    sigset_t mask;
    struct sigaction child;
} signals_before;

static void become_command(char **command, const start_pipes *pipes,
                           const signals_before *signals) {
    char byte;
    close(pipes->go[1]);
    close(pipes->told[0]);
    while (read(pipes->go[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(pipes->go[0]);
    sigaction(SIGCHLD, &signals->child, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    execvp(command[0], command);
    int code = errno;
    (void)!write(pipes->told[1], &code, sizeof code);
    _exit(code == ENOENT ? 127 : 126);
}

static roast_status make_pipes(start_pipes *pipes, roast_error *err) {
    if (pipe2(pipes->go, O_CLOEXEC) != 0)
        return failed(err, "pipe");
    if (pipe2(pipes->told, O_CLOEXEC) == 0)
        return ROAST_OK;
    roast_status status = failed(err, "pipe");
    close(pipes->go[0]);
    close(pipes->go[1]);
    return status;
}

static roast_status start(char **command, start_pipes *pipes, const signals_before *signals,
                          pid_t *child, roast_error *err) {
    ROAST_TRY(make_pipes(pipes, err));
    *child = fork();
    if (*child == 0)
        become_command(command, pipes, signals);
    roast_status status = *child < 0 ? failed(err, "fork") : ROAST_OK;
    close(pipes->go[0]);
    close(pipes->told[1]);
    if (status != ROAST_OK) {
        close(pipes->go[1]);
        close(pipes->told[0]);
    }
    return status;
}

/* Lets the command begin. 0, or the errno of exec. */
static int let_go(start_pipes *pipes) {
    int code = 0;
    ssize_t got;
    close(pipes->go[1]);
    do
        got = read(pipes->told[0], &code, sizeof code);
    while (got < 0 && errno == EINTR);
    close(pipes->told[0]);
    return got == (ssize_t)sizeof code ? code : 0;
}

/* ---- watching ---- */

static double pause_of(const child_result *result, double interval) {
    return result->log != NULL ? roast_treelog_pause(result->log, interval) : interval;
}

static void look(child_result *result) {
    if (result->log != NULL && roast_treelog_look(result->log, NULL, NULL) != ROAST_OK)
        result->failed_looks++;
}

static struct timespec timespec_of(double seconds) {
    return (struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
}

/* The terminal sends its signals to the whole group, the child included: only a signal that was sent to roast alone is
 * passed on. */
static void pass_on(const siginfo_t *info, pid_t child) {
    if (info->si_signo != SIGCHLD && info->si_code <= 0)
        kill(child, info->si_signo);
}

static bool has_ended(pid_t child, int *status, struct rusage *usage) {
    pid_t got;
    do
        got = wait4(child, status, WNOHANG, usage);
    while (got < 0 && errno == EINTR);
    return got != 0;
}

static void watch_to_its_end(child_result *result, pid_t child, const sigset_t *awaited,
                             double interval, int *status, struct rusage *usage) {
    double pause = pause_of(result, interval);
    roast_mono last = roast_mono_now();
    while (!has_ended(child, status, usage)) {
        double since = (double)roast_mono_since(last, roast_mono_now()) / 1e9;
        struct timespec rest = timespec_of(since < pause ? pause - since : 0);
        siginfo_t info;
        int number = sigtimedwait(awaited, &info, &rest);
        if (number > 0) {
            pass_on(&info, child);
        } else if (number < 0 && errno == EAGAIN) {
            last = roast_mono_now();
            look(result);
            pause = pause_of(result, interval);
        }
    }
}

/* ---- all of it ---- */

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void take_result(child_result *result, int status, const struct rusage *usage) {
    enum { BLOCK = 512 };
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->status = result->signal != 0 ? 128 + result->signal : WEXITSTATUS(status);
    result->user = seconds_of(usage->ru_utime);
    result->system = seconds_of(usage->ru_stime);
    result->max_rss = (double)usage->ru_maxrss * 1024;
    result->read = (double)usage->ru_inblock * BLOCK;
    result->written = (double)usage->ru_oublock * BLOCK;
}

static void begin_watching(child_result *result, pid_t child) {
    if (roast_treelog_new(NULL, child, &result->log, &result->unwatched) != ROAST_OK)
        result->log = NULL;
    else if (roast_treelog_look(result->log, NULL, NULL) != ROAST_OK)
        result->failed_looks++;
}

/* Blocks the signals, so that sigtimedwait gets them. SIGCHLD may have been ignored when roast was started; then the
 * kernel would not keep the status of the command. */
static void take_signals(sigset_t *awaited, signals_before *before) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigemptyset(awaited);
    sigaddset(awaited, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(awaited, forwarded[i]);
    sigprocmask(SIG_BLOCK, awaited, &before->mask);
    sigaction(SIGCHLD, &plain, &before->child);
}

roast_status child_run(char **command, double interval, child_result *out, roast_error *err) {
    sigset_t awaited;
    signals_before before;
    start_pipes pipes;
    pid_t child;
    int status = 0;
    struct rusage usage = {0};
    *out = (child_result){0};
    take_signals(&awaited, &before);
    roast_status made = start(command, &pipes, &before, &child, err);
    if (made == ROAST_OK) {
        begin_watching(out, child);
        out->start = roast_utc_now();
        roast_mono began = roast_mono_now();
        out->exec_errno = let_go(&pipes);
        watch_to_its_end(out, child, &awaited, interval, &status, &usage);
        out->wall = (double)roast_mono_since(began, roast_mono_now()) / 1e9;
        take_result(out, status, &usage);
    }
    sigaction(SIGCHLD, &before.child, NULL);
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
    return made;
}

void child_reset(child_result *result) {
    roast_treelog_free(result->log);
    *result = (child_result){0};
}
