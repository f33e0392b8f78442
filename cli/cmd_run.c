#include "cli.h"
#include "child.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roast/proc.h"
#include "roast/measurement.h"
#include "roast/format.h"

enum { PATH_SIZE = 4096 };

typedef struct request {
    const char *folder, *name;
    double interval;
    bool quiet;
    char **command;
    char path[PATH_SIZE]; /* of the measurement */
} request;

static const cli_option options[] = {
    {CLI_TEXT, 'o', "output", "DIR", "the folder of the measurement (this one)",
     offsetof(request, folder)},
    {CLI_TEXT, '\0', "name", "NAME",
     "the name of the measurement; an existing one of that name is replaced (date and time)",
     offsetof(request, name)},
    {CLI_NUMBER, 'i', "interval", "SECONDS", "interval between two samples of the processes (1)",
     offsetof(request, interval), .least = 0.001, .most = 86400},
    {CLI_FLAG, 'q', "quiet", NULL, "print nothing at the end", offsetof(request, quiet)},
    {0},
};

/* ---- arguments ---- */

static cli_exit check_name(const char *name) {
    if (name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
        strchr(name, '/') == NULL)
        return CLI_OK;
    return cli_fail(CLI_USAGE, "--output names the folder", "\"%s\" is no name of a measurement",
                    name);
}

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_exit code = cli_read_options(&cli_verb_run, wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args == 0)
        return cli_fail(CLI_USAGE, "usage: roast run [OPTION ...] -- COMMAND [ARGUMENT ...]",
                        "there is no command to run");
    wanted->command = args;
    return wanted->name != NULL ? check_name(wanted->name) : CLI_OK;
}

/* ---- where to ---- */

static cli_exit fail_folder(const char *folder) {
    return cli_fail(CLI_INPUT, "the command was not started", "%s: %s", folder, strerror(errno));
}

/* Finds what can go wrong before hours are spent on the command. */
static cli_exit check_folder(const request *wanted) {
    struct stat info;
    if (mkdir(wanted->folder, 0777) != 0 && errno != EEXIST)
        return fail_folder(wanted->folder);
    if (access(wanted->folder, W_OK | X_OK) != 0)
        return fail_folder(wanted->folder);
    if (wanted->name != NULL && stat(wanted->path, &info) == 0 &&
        roast_store_is_measurement(wanted->path) == ROAST_STORE_NONE)
        return cli_fail(CLI_INPUT, "the command was not started",
                        "%s exists and is not a measurement", wanted->path);
    return CLI_OK;
}

static cli_exit choose_path(request *wanted, roast_utc when) {
    char name[256];
    if (wanted->name == NULL)
        roast_store_new_name(wanted->folder, when, name, sizeof name);
    int len = snprintf(wanted->path, sizeof wanted->path, "%s/%s", wanted->folder,
                       wanted->name != NULL ? wanted->name : name);
    return len > 0 && len < PATH_SIZE ? CLI_OK : cli_fail(CLI_USAGE, NULL, "the path is too long");
}

/* ---- what was measured ---- */

/* Quoted, so that a shell reads the same words. */
static void put_command(roast_sink *sink, char **command) {
    for (char **word = command; *word != NULL; word++) {
        bool plain = (*word)[0] != '\0' &&
                     (*word)[strspn(*word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789@%+=:,./_-")] == '\0';
        roast_sink_puts(sink, word != command ? " " : "");
        roast_sink_puts(sink, plain ? "" : "'");
        for (const char *c = *word; *c != '\0'; c++) {
            if (*c == '\'')
                roast_sink_puts(sink, "'\\''");
            else
                roast_sink_write(sink, c, 1);
        }
        roast_sink_puts(sink, plain ? "" : "'");
    }
}

static roast_status set_command(roast_run *run, char **command, roast_error *err) {
    roast_sink *sink;
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    put_command(sink, command);
    roast_status status = roast_sink_finish(sink, err);
    if (status == ROAST_OK)
        status = roast_run_set_meta(run, roast_str_of("command"), roast_sink_memory(sink), err);
    roast_sink_free(sink);
    return status;
}

static roast_status set_number(roast_run *run, const char *key, double value, roast_error *err) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    return roast_run_set_meta(run, roast_str_of(key), roast_str_of(text), err);
}

static roast_status set_facts(roast_run *run, const child_result *result, roast_error *err) {
    ROAST_TRY(roast_run_set_meta(run, roast_str_of("executor"), roast_str_of("command"), err));
    ROAST_TRY(roast_run_set_meta(run, roast_str_of("roastcoffea_version"),
                                 roast_str_of(roast_version()), err));
    ROAST_TRY(set_number(run, "exit_status", result->status, err));
    ROAST_TRY(set_number(run, "cpu_user_seconds", result->user, err));
    ROAST_TRY(set_number(run, "cpu_system_seconds", result->system, err));
    ROAST_TRY(set_number(run, "largest_process_bytes", result->max_rss, err));
    ROAST_TRY(set_number(run, "storage_read_bytes", result->read, err));
    ROAST_TRY(set_number(run, "storage_write_bytes", result->written, err));
    if (result->log != NULL)
        ROAST_TRY(set_number(run, "processes", (double)roast_treelog_count(result->log), err));
    return ROAST_OK;
}

/* A command that a signal ended was interrupted if it is one that asks a program to end. */
static roast_status set_ending(roast_run *run, const child_result *result, roast_error *err) {
    char what[64];
    bool asked = result->signal == SIGINT || result->signal == SIGTERM || result->signal == SIGHUP;
    roast_end outcome = result->status == 0 ? ROAST_END_done
                        : asked             ? ROAST_END_interrupted
                                            : ROAST_END_failed;
    roast_ending *ending;
    ROAST_TRY(roast_ending_new(outcome, &ending, err));
    roast_run_take_ending(run, ending);
    if (outcome == ROAST_END_done)
        return ROAST_OK;
    if (result->signal != 0)
        snprintf(what, sizeof what, "signal %d (%s)", result->signal, strsignal(result->signal));
    else
        snprintf(what, sizeof what, "exit status %d", result->status);
    const roast_run_error error = {.type = roast_str_of(what), .entry_start = -1, .entry_stop = -1};
    return roast_ending_set_error(ending, &error, err);
}

/* The cores that the command may use: those of its affinity, at most the quota of its cgroup. */
static int32_t usable_cores(void) {
    cpu_set_t set;
    roast_limits limits = {0};
    double cores = sched_getaffinity(0, sizeof set, &set) == 0
                       ? CPU_COUNT(&set)
                       : (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (roast_limits_read(NULL, NULL, 0, &limits, NULL) == ROAST_OK && limits.have_cpu)
        cores = fmin(cores, ceil(limits.cpu_cores));
    return cores >= 1 ? (int32_t)cores : 1;
}

static roast_status set_series(roast_run *run, const child_result *result, roast_error *err) {
    char host[256] = "localhost", note[320], name[320];
    roast_series *series;
    if (result->log == NULL) {
        snprintf(note, sizeof note, "the processes could not be watched: %.200s",
                 result->unwatched.message);
        return roast_run_add_note(run, roast_str_of(note), err);
    }
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    snprintf(name, sizeof name, "%s:%lld", host,
             (long long)(roast_treelog_count(result->log) > 0
                             ? roast_treelog_at(result->log, 0)->pid
                             : 0));
    ROAST_TRY(roast_treelog_tree(result->log, roast_str_of(name), roast_str_of(host),
                                 usable_cores(), &series, err));
    roast_run_take_series(run, series);
    ROAST_TRY(roast_run_add_note(
        run,
        roast_str_of("one command: its processes count as one worker; shared memory counts "
                     "once for each of them"),
        err));
    if (result->failed_looks == 0)
        return ROAST_OK;
    snprintf(note, sizeof note, "%llu samples of the processes failed",
             (unsigned long long)result->failed_looks);
    return roast_run_add_note(run, roast_str_of(note), err);
}

static roast_status fill(roast_run *run, const request *wanted, const child_result *result,
                         roast_error *err) {
    const roast_report report = {.have_processtime = true,
                                 .processtime = result->user + result->system};
    double start = (double)result->start.ns / 1e9;
    roast_run_set_clock(run, start, start + result->wall);
    roast_run_set_report(run, &report);
    ROAST_TRY(roast_run_describe_host(run, err));
    ROAST_TRY(set_command(run, wanted->command, err));
    ROAST_TRY(set_facts(run, result, err));
    ROAST_TRY(set_ending(run, result, err));
    return set_series(run, result, err);
}

static roast_status keep(const request *wanted, const child_result *result, roast_error *err) {
    roast_run *run;
    ROAST_TRY(roast_run_new(&run, err));
    roast_status status = fill(run, wanted, result, err);
    if (status == ROAST_OK)
        status = roast_measurement_save(run, wanted->path, wanted->name != NULL,
                                        (roast_str){NULL, 0}, err);
    roast_run_free(run);
    return status;
}

/* ---- what is said ---- */

typedef struct shown {
    char text[48];
} shown;

static shown show(double value, const char *unit) {
    shown out;
    roast_format_value(isnan(value) ? roast_value_none() : roast_value_real(value), unit, out.text,
                       sizeof out.text);
    return out;
}

static void summarise(const request *wanted, const child_result *result) {
    double cpu = result->user + result->system, peak = result->max_rss;
    size_t processes = 0;
    if (result->log != NULL) {
        peak = fmax(peak, roast_treelog_peak_memory(result->log));
        processes = roast_treelog_count(result->log);
    }
    if (result->signal != 0)
        fprintf(stderr, "roast: %s was ended by signal %d (%s)\n", wanted->command[0],
                result->signal, strsignal(result->signal));
    else
        fprintf(stderr, "roast: %s ended with exit status %d\n", wanted->command[0],
                result->status);
    fprintf(stderr, "       wall %s, CPU %s (%s user, %s system)", show(result->wall, "s").text,
            show(cpu, "s").text, show(result->user, "s").text, show(result->system, "s").text);
    if (result->wall > 0)
        fprintf(stderr, ", %.2f of %d cores", cpu / result->wall, usable_cores());
    fprintf(stderr, "\n       peak memory %s, read %s, written %s", show(peak, "bytes").text,
            show(result->read, "bytes").text, show(result->written, "bytes").text);
    if (processes > 0)
        fprintf(stderr, ", %zu process%s seen", processes, processes == 1 ? "" : "es");
    fprintf(stderr, "\n       saved as %s\n", wanted->path);
}

/* ---- the verb ---- */

/* Where the user gave no name, another run may have taken the free name in the meantime: then the next one is tried. */
static cli_exit keep_somewhere(request *wanted, const child_result *result) {
    enum { TRIES = 100 };
    roast_error err;
    for (int i = 0;; i++) {
        cli_exit code = choose_path(wanted, result->start);
        if (code != CLI_OK || keep(wanted, result, &err) == ROAST_OK)
            return code;
        if (wanted->name != NULL || err.os_errno != EEXIST || i == TRIES)
            return cli_fail_error(&err, "the command has run, but its measurement was not saved");
    }
}

/* A failed command's status comes first: a script relies on it. */
static cli_exit finish(request *wanted, const child_result *result) {
    if (result->exec_errno != 0) {
        cli_fail(CLI_INPUT, NULL, "%s: %s", wanted->command[0], strerror(result->exec_errno));
        return (cli_exit)result->status;
    }
    cli_exit code = keep_somewhere(wanted, result);
    if (code == CLI_OK && !wanted->quiet)
        summarise(wanted, result);
    return result->status != 0 ? (cli_exit)result->status : code;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    (void)out;
    request wanted = {.folder = ".", .interval = 1};
    child_result result;
    roast_error err;
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code == CLI_OK)
        code = choose_path(&wanted, roast_utc_now());
    if (code == CLI_OK)
        code = check_folder(&wanted);
    if (code != CLI_OK)
        return code;
    if (child_run(wanted.command, wanted.interval, &result, &err) != ROAST_OK)
        return cli_fail_error(&err, NULL);
    code = finish(&wanted, &result);
    child_reset(&result);
    return code;
}

const cli_verb cli_verb_run = {
    .name = "run",
    .usage = "[OPTION ...] -- COMMAND [ARGUMENT ...]",
    .summary = "runs a command and measures it with all its processes",
    .details = "For commands other than Coffea: CPU time, memory and disk traffic of the command\n"
               "and all its descendants over time, as one worker, saved like any measurement.\n"
               "Signals that are sent to roast go to the command.\n"
               "\n"
               "The exit status is that of the command, 128 plus the number of the signal that\n"
               "ended it, 127 if there is no such command, or 126 if it cannot be run. If the\n"
               "command succeeded but could not be saved, it is an exit code of roast.\n",
    .options = options,
    .ends_with_command = true,
    .run = run,
};
