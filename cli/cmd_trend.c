#include "cli.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filters.h"
#include "roast/trend_tables.h"

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
     offsetof(request, error_rate), .least = ROAST_TREND_LEAST_RATE,
     .most = ROAST_TREND_LARGEST_RATE},
    {CLI_INTEGER, 'd', "depth", "N", "how many folders deep to look (16)", offsetof(request, depth),
     .least = 0, .most = 1000},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

/* Whether the characters of the environment's locale are not UTF-8. */
static bool is_ascii(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return true;
    bool ascii = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") != 0;
    freelocale(locale);
    return ascii;
}

static roast_status show(roast_sink *out, const roast_trend *trend, bool json, roast_error *err) {
    const roast_trend_look look = {.width = cli_terminal_width(STDOUT_FILENO),
                                   .color = cli_terminal_color(STDOUT_FILENO),
                                   .ascii = is_ascii()};
    if (!json)
        return roast_trend_draw(trend, &look, out, err);
    roast_trend_json(trend, out);
    return ROAST_OK;
}

static roast_status find(roast_found *found, const request *wanted, int n_args, char **args,
                         roast_error *err) {
    const roast_found_wanted parts = {.config =
                                          filters_have(&wanted->filters, ROAST_FOUND_BY_config),
                                      .metric = wanted->metric,
                                      .facts = true};
    ROAST_TRY(roast_found_search_all(found, (const char *const *)args, (size_t)n_args,
                                     wanted->depth, err));
    ROAST_TRY(roast_found_read(found, &parts, err));
    if (roast_found_all(found).count == 0)
        cli_note("no measurement was found");
    roast_found_keep(found, wanted->filters.items, wanted->filters.count);
    return ROAST_OK;
}

static cli_exit fail_metric(const char *metric, const roast_error *err) {
    char next[ROAST_MAX_METRIC_NAME + 32] = "\"roast explain\" lists all metrics";
    const char *nearest = roast_catalogue_nearest(metric);
    if (roast_catalogue_find(metric, NULL) == NULL && nearest != NULL)
        snprintf(next, sizeof next, "did you mean \"%s\"?", nearest);
    return cli_fail(CLI_USAGE, next, "%s", err->message);
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.metric = "event_rate_core_khz",
                      .error_rate = ROAST_TREND_ERROR_RATE,
                      .depth = ROAST_FOUND_DEPTH};
    roast_trend *trend;
    roast_found *found = NULL;
    roast_error err;
    cli_exit code = cli_read_options(&cli_verb_trend, &wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (roast_trend_new(wanted.metric, wanted.error_rate, &trend, &err) != ROAST_OK)
        return err.status == ROAST_ENOMEM ? cli_fail_error(&err, NULL)
                                          : fail_metric(wanted.metric, &err);
    roast_status status = roast_found_new(&found, &err);
    if (status == ROAST_OK)
        status = find(found, &wanted, n_args, args, &err);
    if (status == ROAST_OK)
        status = roast_found_trend(found, trend, &err);
    if (status == ROAST_OK)
        status = roast_trend_finish(trend, &err);
    if (status == ROAST_OK)
        status = show(out, trend, wanted.json, &err);
    roast_trend_free(trend);
    roast_found_free(found);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, NULL);
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
               "The test for a change compares ranks, so that outliers do not matter. In a group\n"
               "without any change it finds one with a probability of at most 1 %\n"
               "(--error-rate). A clear change is found after five to seven runs.\n",
    .options = options,
    .run = run,
};
