#include "cli.h"

#include <unistd.h>

#include "measured.h"
#include "roast/redact.h"
#include "roast/what_if_tables.h"

enum { MOST_FILES = 256 };

typedef struct request {
    bool json, preload;
    int64_t workers, threads, chunksize, times;
    double rate; /* bytes per second */
    roast_str files[MOST_FILES];
    size_t n_files;
} request;

/* A record has the name of its file without secrets: so the argument loses them in its place. */
static cli_exit take_file(void *wanted, const char *text) {
    request *into = wanted;
    roast_str name = roast_str_of(text);
    if (into->n_files == MOST_FILES)
        return cli_fail(CLI_USAGE, NULL, "--without-file may be given %d times at most",
                        MOST_FILES);
    name.len = roast_redact_name(name, (char *)text);
    into->files[into->n_files++] = name;
    return CLI_OK;
}

static cli_exit take_rate(void *wanted, const char *text) {
    roast_error err;
    if (roast_what_if_rate(roast_str_of(text), &((request *)wanted)->rate, &err) == ROAST_OK)
        return CLI_OK;
    return cli_fail(CLI_USAGE, "2Gbps and 250MB/s are such rates", "--at-rate: %s", err.message);
}

static const cli_option options[] = {
    {CLI_INTEGER, 'w', "workers", "N", "with so many workers", offsetof(request, workers),
     .least = 1, .most = ROAST_WHAT_IF_WORKERS},
    {CLI_INTEGER, 't', "threads", "N", "with so many threads per worker",
     offsetof(request, threads), .least = 1, .most = ROAST_WHAT_IF_THREADS},
    {CLI_INTEGER, 'c', "chunksize", "EVENTS", "with chunks of so many events",
     offsetof(request, chunksize), .least = 1, .most = 1e12},
    {CLI_CALL, '\0', "without-file", "FILE",
     "without this file, by its name or the end of its path; may be given several times",
     .take = take_file},
    {CLI_INTEGER, 'n', "times", "N", "with N times as many files, like those of the run",
     offsetof(request, times), .least = 1, .most = ROAST_WHAT_IF_CHUNKS},
    {CLI_FLAG, '\0', "preload", NULL, "if process() did not wait for each of its reads",
     offsetof(request, preload)},
    {CLI_CALL, '\0', "at-rate", "RATE",
     "if the storage gave so much to all workers together: 2Gbps, 250MB/s", .take = take_rate},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

static roast_status show(roast_sink *out, const request *wanted, const roast_run *run,
                         roast_error *err) {
    const roast_what_if_options changed = {.workers = (uint32_t)wanted->workers,
                                           .threads = (uint32_t)wanted->threads,
                                           .chunksize = (uint64_t)wanted->chunksize,
                                           .leave_out = wanted->files,
                                           .n_leave_out = wanted->n_files,
                                           .times = (uint32_t)wanted->times,
                                           .preload = wanted->preload,
                                           .read_rate = wanted->rate};
    roast_what_if *what_if;
    ROAST_TRY(roast_what_if_new(run, &changed, &what_if, err));
    roast_status status = ROAST_OK;
    if (wanted->json)
        roast_what_if_json(what_if, out);
    else
        status = roast_what_if_draw(what_if, cli_terminal_width(STDOUT_FILENO),
                                    cli_terminal_color(STDOUT_FILENO), out, err);
    roast_what_if_free(what_if);
    return status;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    const char *path;
    measured it;
    roast_error err;
    cli_exit code = cli_read_path(&cli_verb_what_if, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    if (measured_open(&it, path, NEED_RUN, &err) != ROAST_OK)
        return cli_fail_error(&err, CLI_NEXT_LS);
    roast_status status = show(out, &wanted, it.run, &err);
    measured_close(&it);
    if (status == ROAST_ENOTFOUND) /* no file: it is the run that has nothing to play */
        return cli_fail(CLI_INPUT, NULL, "%s", err.message);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, NULL);
}

const cli_verb cli_verb_what_if = {
    .name = "what-if",
    .usage = "RUN [OPTION ...]",
    .summary = "how long a run would take with other workers, chunks or files",
    .details = "RUN is the directory of a measurement. Its tasks are simulated: each goes to the\n"
               "thread that is free first, with the cost that was measured for its chunk. Chunks\n"
               "of another size cost what their events cost, and a fixed part each. The 90 %\n"
               "interval covers random variation of chunks, the part of the wall time that the\n"
               "simulation does not reproduce, and unknown quantities. Without an option the run\n"
               "is simulated as it was recorded.\n",
    .options = options,
    .run = run,
};
