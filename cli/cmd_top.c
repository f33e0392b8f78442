#include "top.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "roast/found.h"

typedef struct request {
    double interval;
    bool once;
} request;

static const cli_option options[] = {
    {CLI_NUMBER, 'i', "interval", "SECONDS", "between two looks (2)", offsetof(request, interval),
     .least = 0.1, .most = 3600},
    {CLI_FLAG, '\0', "once", NULL, "show it once", offsetof(request, once)},
    {0},
};

/* ---- which run ---- */

/* The newest one of a folder that goes on; the path of it into `path`. */
static roast_status find_live(const char *folder, roast_sink *path, bool *found, roast_error *err) {
    roast_found *list;
    ROAST_TRY(roast_found_new(&list, err));
    roast_status status = roast_found_search(list, folder, ROAST_FOUND_DEPTH, err);
    if (status == ROAST_OK)
        status = roast_found_read(list, &(roast_found_wanted){0}, err);
    *found = false;
    if (status == ROAST_OK) {
        roast_found_sort(list, ROAST_FOUND_BY_when, false, SIZE_MAX);
        const roast_found_list all = roast_found_all(list);
        for (size_t i = 0; i < all.count && !*found; i++)
            if (all.entries[i].fault == NULL &&
                strcmp(roast_found_state(&all.entries[i]), "live") == 0) {
                roast_sink_printf(path, "%s%c", all.entries[i].path, '\0');
                *found = true;
            }
    }
    roast_found_free(list);
    return status;
}

/* ---- the terminal ---- */

static volatile sig_atomic_t ends, resized, suspended;

static void take_signal(int signal_) {
    if (signal_ == SIGWINCH)
        resized = 1;
    else if (signal_ == SIGTSTP)
        suspended = 1;
    else
        ends = 1;
}

typedef struct screen {
    bool is_terminal, reads_keys;
    struct termios before;
    sigset_t waits; /* the signals that are blocked while it waits */
} screen;

/* Signals arrive during the wait alone, so that none is lost before it. */
static void take_signals(screen *on) {
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (on->is_terminal || taken[i] != SIGTSTP) {
            sigaction(taken[i], &(struct sigaction){.sa_handler = take_signal}, NULL);
            sigaddset(&set, taken[i]);
        }
    sigprocmask(SIG_BLOCK, &set, &on->waits);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigdelset(&on->waits, taken[i]);
}

static void enter(screen *on, roast_sink *out) {
    on->reads_keys = on->is_terminal && tcgetattr(STDIN_FILENO, &on->before) == 0;
    if (on->reads_keys) {
        struct termios keys = on->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    if (on->is_terminal)
        roast_sink_puts(out, "\x1b[?1049h\x1b[?25l");
}

/* Messages that follow are for the screen that was there before. */
static void leave(const screen *on, roast_sink *out) {
    roast_error err;
    if (on->is_terminal)
        roast_sink_puts(out, "\x1b[?25h\x1b[?1049l");
    (void)roast_sink_finish(out, &err); /* a failure sticks to the sink */
    if (on->reads_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &on->before);
}

/* Stops as Ctrl-Z asks for, and returns when the shell lets it go on. */
static void suspend(screen *on, roast_sink *out) {
    sigset_t blocked;
    struct sigaction before;
    leave(on, out);
    sigaction(SIGTSTP, &(struct sigaction){.sa_handler = SIG_DFL}, &before);
    raise(SIGTSTP);
    sigprocmask(SIG_SETMASK, &on->waits, &blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    sigaction(SIGTSTP, &before, NULL);
    suspended = 0;
    enter(on, out);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for time, a key or a signal. */
static void wait_once(const screen *on, double seconds) {
    const struct timespec time = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    fd_set keys;
    char key = 0;
    FD_ZERO(&keys);
    if (on->reads_keys)
        FD_SET(STDIN_FILENO, &keys);
    int ready =
        pselect(on->reads_keys ? STDIN_FILENO + 1 : 0, &keys, NULL, NULL, &time, &on->waits);
    if (ready > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q'))
        ends = 1;
}

/* Writes the lines that fit over those that are there: nothing is cleared first, so nothing flickers. */
static void put_lines(roast_sink *out, roast_str text, unsigned lines, const char *last) {
    const char *line = text.data, *end = text.data + text.len;
    roast_sink_puts(out, "\x1b[H");
    for (unsigned row = 0; line < end && row < lines; row++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next : end;
        roast_sink_str(out, (roast_str){line, (size_t)(next - line)});
        roast_sink_puts(out, "\x1b[K\r\n");
        line = next < end ? next + 1 : end;
    }
    roast_sink_printf(out, "%s\x1b[K\x1b[J", last);
}

/* ---- looks ---- */

typedef struct watch {
    const char *path;
    measured it; /* at the last look */
    top_look look;
    roast_sink *out;
    bool whole_screen;
    screen terminal;
} watch;

/* The last row says how to leave. A character in the last column would be erased with the rest of its line. */
static top_size size_of(const screen *on) {
    struct winsize size = {0};
    unsigned width = cli_terminal_width(STDOUT_FILENO);
    if (!on->is_terminal)
        return (top_size){width, 0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return (top_size){width - 1, size.ws_row > 1 ? size.ws_row - 1u : 23};
}

static roast_status draw(const watch *w, roast_error *err) {
    const top_size size = size_of(&w->terminal);
    roast_sink *text;
    ROAST_TRY(roast_sink_new_memory(&text, err));
    roast_status status = ROAST_OK;
    if (w->whole_screen)
        status = top_put_screen(&w->it, w->path, &w->look, size, text, err);
    else
        top_put_line(&w->it, &w->look, text);
    if (status == ROAST_OK)
        status = roast_sink_finish(text, err);
    if (status == ROAST_OK && w->terminal.is_terminal)
        put_lines(w->out, roast_sink_memory(text), size.lines,
                  w->terminal.reads_keys ? "q leaves" : "Ctrl-C leaves");
    else if (status == ROAST_OK)
        roast_sink_str(w->out, roast_sink_memory(text));
    roast_sink_free(text);
    return status == ROAST_OK ? roast_sink_finish(w->out, err) : status;
}

static roast_status look(watch *w, roast_error *err) {
    measured_close(&w->it);
    ROAST_TRY(measured_open(&w->it, w->path, NEED_RUN | NEED_METRICS | NEED_FINDINGS, err));
    top_take(&w->it, &w->look);
    roast_store_close(w->it.store); /* between two looks nothing of ours holds the file */
    w->it.store = NULL;
    return draw(w, err);
}

/* Waits for the time of the next look. What is known is drawn again if the window has changed. */
static roast_status rest(watch *w, double seconds, roast_error *err) {
    const double until = seconds_now() + seconds;
    while (!ends && seconds > 0) {
        wait_once(&w->terminal, seconds);
        bool again = w->terminal.is_terminal && (resized || suspended);
        resized = 0;
        if (suspended)
            suspend(&w->terminal, w->out);
        if (again)
            ROAST_TRY(draw(w, err));
        seconds = until - seconds_now();
    }
    return ROAST_OK;
}

/* A look reads the whole run: of a large one seldom, so that it takes a twentieth of a core at most. */
static roast_status follow(watch *w, double interval, roast_error *err) {
    enum { RESTS = 20 };
    roast_status status = ROAST_OK;
    w->terminal.is_terminal = w->whole_screen = cli_terminal_moves(STDOUT_FILENO);
    take_signals(&w->terminal);
    enter(&w->terminal, w->out);
    while (status == ROAST_OK && !ends) {
        clock_t before = clock();
        status = look(w, err);
        double taken = (double)(clock() - before) / CLOCKS_PER_SEC;
        if (status != ROAST_OK || !w->look.live)
            break;
        status = rest(w, fmax(interval, RESTS * taken), err);
    }
    leave(&w->terminal, w->out);
    if (status == ROAST_OK && !w->look.live)
        roast_sink_printf(w->out, "The run has ended: roast show %s\n", w->path);
    return status;
}

static cli_exit watch_run(roast_sink *out, const char *path, const request *wanted) {
    watch w = {.path = path, .look = {NAN, NAN, NAN, false}, .out = out, .whole_screen = true};
    roast_error err;
    roast_status status = wanted->once ? look(&w, &err) : follow(&w, wanted->interval, &err);
    measured_close(&w.it);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, CLI_NEXT_LS);
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.interval = 2};
    roast_sink *path;
    roast_error err;
    bool found = false;
    cli_exit code = cli_read_options(&cli_verb_top, &wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args > 1)
        return cli_fail_argument(&cli_verb_top, args[1]);
    const char *given = n_args > 0 ? args[0] : ".";
    if (roast_store_is_measurement(given) != ROAST_STORE_NONE)
        return watch_run(out, given, &wanted);
    if (roast_sink_new_memory(&path, &err) != ROAST_OK)
        return cli_fail_error(&err, NULL);
    if (find_live(given, path, &found, &err) != ROAST_OK)
        code = cli_fail_error(&err, NULL);
    else if (!found)
        code = cli_fail(CLI_NO, CLI_NEXT_LS, "no run below \"%s\" goes on", given);
    else
        code = watch_run(out, roast_sink_memory(path).data, &wanted);
    roast_sink_free(path);
    return code;
}

const cli_verb cli_verb_top = {
    .name = "top",
    .usage = "[RUN|DIR] [OPTION ...]",
    .summary = "a run in the terminal, while it goes on",
    .details = "Shows a run that is being measured: progress, event rate now and so far, budget,\n"
               "sections, workers, the last failures. RUN is a measurement; of a DIR (without\n"
               "it: this folder) the newest run that goes on. The collector must write to disk:\n"
               "MetricsCollector(..., output_dir=...). q leaves. Without a terminal, or on\n"
               "one that is \"dumb\", it prints a line at each look, until the run ends.\n",
    .options = options,
    .run = run,
};
