#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

#include "measured.h"
#include "roast/scaling_tables.h"

enum { MOST_SIZES = 32 };

typedef struct request {
    bool json;
    double cores[MOST_SIZES];
    size_t n_cores;
} request;

static cli_exit take_cores(void *wanted, const char *text) {
    request *into = wanted;
    char *end;
    double cores = strtod(text, &end);
    if (end == text || *end != '\0' || !(cores > 0) || !(cores <= 1e9))
        return cli_fail(CLI_USAGE, NULL, "--cores takes a number of cores, not \"%s\"", text);
    if (into->n_cores == MOST_SIZES)
        return cli_fail(CLI_USAGE, NULL, "--cores may be given %d times at most", MOST_SIZES);
    into->cores[into->n_cores++] = cores;
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_CALL, 'c', "cores", "N",
     "predict the event rate with so many cores; may be given several times", .take = take_cores},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

static roast_status add_run(roast_scaling *scaling, const char *path, roast_error *err) {
    measured it;
    ROAST_TRY(measured_open(&it, path, NEED_METRICS | NEED_FINDINGS, err));
    roast_status status =
        roast_scaling_add(scaling, roast_str_of(path), it.metrics, it.findings, err);
    measured_close(&it);
    return status;
}

/* Twice and four times the largest size. */
static void choose_cores(request *wanted, const roast_scaling *scaling) {
    uint32_t count;
    const roast_scaling_point *points = roast_scaling_points(scaling, &count);
    if (wanted->n_cores > 0)
        return;
    wanted->cores[wanted->n_cores++] = 2 * points[count - 1].cores;
    wanted->cores[wanted->n_cores++] = 4 * points[count - 1].cores;
}

static roast_status show(roast_sink *out, request *wanted, const roast_scaling *scaling,
                         roast_error *err) {
    choose_cores(wanted, scaling);
    const roast_scaling_view view = {scaling, wanted->cores, wanted->n_cores};
    if (!wanted->json)
        return roast_scaling_draw(&view, cli_terminal_width(STDOUT_FILENO),
                                  cli_terminal_color(STDOUT_FILENO), out, err);
    roast_scaling_json(&view, out);
    return ROAST_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    roast_scaling *scaling;
    roast_error err;
    cli_exit code = cli_read_options(&cli_verb_scaling, &wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args == 0)
        return cli_fail_no_path();
    roast_status status = roast_scaling_new(&scaling, &err);
    if (status != ROAST_OK)
        return cli_fail_error(&err, NULL);
    for (int i = 0; i < n_args && status == ROAST_OK; i++)
        status = add_run(scaling, args[i], &err);
    if (status == ROAST_OK)
        status = roast_scaling_finish(scaling, &err);
    if (status == ROAST_OK)
        status = show(out, &wanted, scaling, &err);
    roast_scaling_free(scaling);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, CLI_NEXT_LS);
}

const cli_verb cli_verb_scaling = {
    .name = "scaling",
    .usage = "RUN ... [OPTION ...]",
    .summary = "how the event rate of several runs depends on their cores",
    .details = "Each RUN is the directory of a measurement. Runs with the same number of cores\n"
               "(on average over time, within 5 %) are repeats. Speed-up and efficiency are\n"
               "compared with the smallest size. From three sizes on, Amdahl's law and the\n"
               "universal scalability law are fitted; predictions have an interval of 95 % if\n"
               "there are more runs than the law has numbers (two and three).\n",
    .options = options,
    .run = run,
};
