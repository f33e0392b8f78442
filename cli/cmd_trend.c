#include "cli.h"

#include <stdio.h>

#include "filters.h"

typedef struct request {
    const char *metric;
    filters filters;
    double error_rate;
    int64_t depth;
    bool json;
} request;

static cli_exit take_filter(void *request_, const char *text) {
    return filters_add(&((request *)request_)->filters, text);
}

static const cli_option options[] = {
    {CLI_TEXT, 'm', "metric", "KEY",
     "the number to follow (event_rate_core_khz); \"roast explain\" lists all",
     offsetof(request, metric)},
    {CLI_CALL, 'w', "where", "TEST", FILTER_TEXT "; keys as in \"roast ls\"", .take = take_filter},
    {CLI_NUMBER, 'e', "error-rate", "P",
     "the probability of a change where there is none, for each group (0.01)",
     offsetof(request, error_rate), .least = 0.001, .most = 0.2},
    {CLI_INTEGER, 'd', "depth", "N", "how many folders deep to look (16)", offsetof(request, depth),
     .least = 0, .most = 1000},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

static cli_exit check_metric(const char *name) {
    char next[ROAST_MAX_METRIC_NAME + 32] = "\"roast explain\" lists all metrics";
    const roast_metric_info *info = roast_catalogue_find(name, NULL);
    const char *nearest = roast_catalogue_nearest(name);
    if (info == NULL && nearest != NULL)
        snprintf(next, sizeof next, "did you mean \"%s\"?", nearest);
    if (info == NULL)
        return cli_fail(CLI_USAGE, next, "no metric has the name \"%s\"", name);
    if (info->scope != ROAST_IN_METRICS ||
        (info->type != ROAST_TYPE_INT && info->type != ROAST_TYPE_REAL))
        return cli_fail(CLI_USAGE, next, "\"%s\" is not a number of a run", name);
    return CLI_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    (void)out;
    request wanted = {0};
    cli_exit code = cli_check_options(&cli_verb_trend, &wanted, n_args, args);
    if (code == CLI_OK && wanted.metric != NULL)
        code = check_metric(wanted.metric);
    return code == CLI_OK ? cli_run_in_python("trend", n_args, args) : code;
}

const cli_verb cli_verb_trend = {
    .name = "trend",
    .usage = "[OPTION ...] [DIR ...]",
    .summary = "a metric of many runs over time, and where it changed",
    .details = "Takes the measurements below each DIR (without any: this folder). Runs are\n"
               "comparable if processor and datasets are the same and the events differ by at\n"
               "most 10 %. For each group of them: a line of blocks over time, the runs at which\n"
               "the level changed, and what changed there: git revision, chunk size, executor,\n"
               "workers, versions, host. A level is the median of its runs. Runs that failed or\n"
               "were interrupted, live and unreadable ones are not part of any level; they are\n"
               "counted.\n"
               "\n"
               "Runs that follow each other depend on each other (a busy week, then a quiet\n"
               "one), and the test allows for it. In a group without any change it finds one\n"
               "with a probability of at most 1 % (--error-rate). A small change takes some\n"
               "forty runs to be found, a clear one ten to twenty.\n",
    .options = options,
    .run = run,
};
