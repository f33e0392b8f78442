#include "top.h"

#include <errno.h>
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

static volatile sig_atomic_t stopped;

static void stop(int signal_) {
    (void)signal_;
    stopped = 1;
}

/* For a new size of the window: that a call was interrupted is all that matters. */
static void wake(int signal_) {
    (void)signal_;
}

typedef struct screen {
    bool is_terminal, reads_keys;
    struct termios before;
    sigset_t waits; /* the signals that are blocked while it waits */
} screen;

static void enter(screen *on) {
    const struct sigaction action = {.sa_handler = stop};
    on->is_terminal = isatty(STDOUT_FILENO);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGWINCH, &(struct sigaction){.sa_handler = wake}, NULL);
    /* One that comes before the wait must not be lost. */
    sigset_t window;
    sigemptyset(&window);
    sigaddset(&window, SIGWINCH);
    sigprocmask(SIG_BLOCK, &window, &on->waits);
    sigdelset(&on->waits, SIGWINCH);
    on->reads_keys = on->is_terminal && tcgetattr(STDIN_FILENO, &on->before) == 0;
    if (on->reads_keys) {
        struct termios keys = on->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
}

static void leave(const screen *on) {
    if (on->reads_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &on->before);
}

/* Waits; false: someone wants to leave. A new size of the window ends the wait. */
static bool wait_for_key(const screen *on, double seconds) {
    const struct timespec time = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    fd_set keys;
    char key = 0;
    FD_ZERO(&keys);
    if (on->reads_keys)
        FD_SET(STDIN_FILENO, &keys);
    int ready =
        pselect(on->reads_keys ? STDIN_FILENO + 1 : 0, &keys, NULL, NULL, &time, &on->waits);
    if (ready > 0 && read(STDIN_FILENO, &key, 1) <= 0)
        return false;
    return !stopped && key != 'q' && key != 'Q';
}

/* Writes the lines that fit over those that are there: nothing is cleared first, so nothing flickers. */
static void put_lines(roast_sink *out, roast_str text, unsigned height) {
    const char *line = text.data, *end = text.data + text.len;
    roast_sink_puts(out, "\x1b[H");
    for (unsigned row = 0; line < end && row + 1 < height; row++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next : end;
        roast_sink_str(out, (roast_str){line, (size_t)(next - line)});
        roast_sink_puts(out, "\x1b[K\r\n");
        line = next < end ? next + 1 : end;
    }
    roast_sink_puts(out, "q leaves\x1b[K\x1b[J");
}

/* ---- looks ---- */

typedef struct watch {
    const char *path;
    top_look before;
    roast_sink *out;
    bool whole_screen;
    screen terminal;
} watch;

/* One look. *live: whether the run goes on. */
static roast_status look(watch *w, bool *live, roast_error *err) {
    measured it;
    struct winsize size = {.ws_row = 24};
    roast_sink *text;
    ROAST_TRY(measured_open(&it, w->path, NEED_RUN | NEED_METRICS | NEED_FINDINGS, err));
    *live = it.store != NULL && roast_store_get_state(it.store) == ROAST_STORE_LIVE;
    roast_status status = roast_sink_new_memory(&text, err);
    if (status == ROAST_OK) {
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        if (w->whole_screen)
            status = top_put_screen(&it, w->path, &w->before, cli_terminal_width(STDOUT_FILENO),
                                    cli_terminal_color(STDOUT_FILENO), text, err);
        else
            top_put_line(&it, &w->before, text);
        if (status == ROAST_OK && w->terminal.is_terminal)
            put_lines(w->out, roast_sink_memory(text), size.ws_row);
        else if (status == ROAST_OK)
            roast_sink_printf(w->out, "%.*s%s", (int)roast_sink_memory(text).len,
                              roast_sink_memory(text).data, w->whole_screen ? "" : "\n");
        roast_sink_free(text);
    }
    measured_close(&it);
    return status == ROAST_OK ? roast_sink_finish(w->out, err) : status;
}

/* A look reads the whole run: of a large one seldom, so that it takes a twentieth of a core at most. */
static roast_status look_and_rest(watch *w, bool *live, double *rest, roast_error *err) {
    enum { RESTS = 20 };
    clock_t before = clock();
    roast_status status = look(w, live, err);
    *rest = RESTS * (double)(clock() - before) / CLOCKS_PER_SEC;
    return status;
}

static roast_status follow(watch *w, double interval, roast_error *err) {
    bool live = true;
    double rest;
    enter(&w->terminal);
    w->whole_screen = w->terminal.is_terminal;
    if (w->terminal.is_terminal)
        roast_sink_puts(w->out, "\x1b[?1049h\x1b[?25l");
    roast_status status = look_and_rest(w, &live, &rest, err);
    while (status == ROAST_OK && live && wait_for_key(&w->terminal, fmax(interval, rest)))
        status = look_and_rest(w, &live, &rest, err);
    if (w->terminal.is_terminal)
        roast_sink_puts(w->out, "\x1b[?25h\x1b[?1049l");
    leave(&w->terminal);
    if (status == ROAST_OK && !live)
        roast_sink_printf(w->out, "The run has ended: roast show %s\n", w->path);
    return status;
}

static cli_exit watch_run(roast_sink *out, const char *path, const request *wanted) {
    watch w = {.path = path, .before = {NAN, NAN}, .out = out, .whole_screen = true};
    bool live;
    roast_error err;
    roast_status status = wanted->once ? look(&w, &live, &err) : follow(&w, wanted->interval, &err);
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
               "MetricsCollector(..., output_dir=...). q leaves. Without a terminal it prints a\n"
               "line at each look, until the run ends.\n",
    .options = options,
    .run = run,
};
