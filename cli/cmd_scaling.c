#include "cli.h"

#include <stdlib.h>

typedef struct request {
    bool json;
} request;

static cli_exit take_cores(void *wanted, const char *text) {
    (void)wanted;
    char *end;
    double cores = strtod(text, &end);
    if (end == text || *end != '\0' || !(cores > 0) || !(cores <= 1e9))
        return cli_fail(CLI_USAGE, NULL, "--cores takes a number of cores, not \"%s\"", text);
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_CALL, 'c', "cores", "N",
     "predict the event rate with so many cores; may be given several times", .take = take_cores},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

static cli_exit run(roast_sink *out, int n_args, char **args) {
    (void)out;
    cli_exit code = cli_check_options(&cli_verb_scaling, &(request){0}, n_args, args);
    return code == CLI_OK ? cli_run_in_python("scaling", n_args, args) : code;
}

const cli_verb cli_verb_scaling = {
    .name = "scaling",
    .usage = "RUN ... [OPTION ...]",
    .summary = "how the event rate of several runs depends on their cores",
    .details = "Each RUN is the directory of a measurement. Runs with the same number of cores\n"
               "(on average over time, within 5 %) are repeats. Runs of another processor, of\n"
               "other datasets, on another executor or with other threads per worker are left\n"
               "out. Speed-up and efficiency are compared with the smallest size. From three\n"
               "sizes on, Amdahl's law and the universal scalability law are fitted, and the\n"
               "runs choose one. The interval of a prediction, 95 %, holds what all laws say\n"
               "that fit the runs; where that is too much, nothing is predicted.\n",
    .options = options,
    .run = run,
};
