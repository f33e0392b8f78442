#include "cli.h"

#include <string.h>
#include <unistd.h>

#include "measured.h"
#include "roast/summary.h"

typedef struct request {
    int64_t width;
    bool color, json;
} request;

static cli_exit take_color(void *request_, const char *when) {
    request *wanted = request_;
    if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        wanted->color = when[0] == 'a';
    else if (strcmp(when, "auto") != 0)
        return cli_fail(CLI_USAGE, "use auto, always or never", "--color does not take \"%s\"",
                        when);
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_INTEGER, 'w', "width", "N",
     "columns to draw in, at least 40 (COLUMNS, or those of the terminal, or 80)",
     offsetof(request, width), .least = 1, .most = 10000},
    {CLI_CALL, '\0', "color", "WHEN",
     "auto (the default: on a terminal, unless NO_COLOR is set), always or never",
     .take = take_color},
    {CLI_FLAG, '\0', "json", NULL, "the same as JSON: every value with its key and unit",
     offsetof(request, json)},
    {0},
};

static roast_status show(const measured *it, const request *wanted, roast_sink *out,
                         roast_error *err) {
    roast_summary *summary;
    ROAST_TRY(roast_summary_new(it->metrics, it->about, it->findings, &summary, err));
    roast_status status = ROAST_OK;
    if (wanted->json) {
        if (it->state != NULL)
            status = roast_summary_add_note(summary, roast_str_of(it->state), err);
        if (status == ROAST_OK)
            roast_summary_json(summary, out);
    } else {
        if (it->state != NULL)
            roast_sink_printf(out, "%s\n\n", it->state);
        roast_summary_draw(summary, (unsigned)wanted->width, wanted->color, out);
    }
    roast_summary_free(summary);
    return status;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.width = cli_terminal_width(STDOUT_FILENO),
                      .color = cli_terminal_color(STDOUT_FILENO)};
    measured it;
    roast_error err;
    const char *path;
    cli_exit code = cli_read_path(&cli_verb_show, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    roast_status status = measured_open(&it, path, NEED_METRICS | NEED_FINDINGS, &err);
    if (status == ROAST_OK)
        status = show(&it, &wanted, out, &err);
    measured_close(&it);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, CLI_NEXT_LS);
}

const cli_verb cli_verb_show = {
    .name = "show",
    .usage = "RUN [OPTION ...]",
    .summary = "the tables of a measurement, as print_summary() shows them",
    .details = "RUN is the directory of a measurement: finished, still being written, left by a\n"
               "program that was killed, or written by roastcoffea 0.1.x.\n",
    .options = options,
    .run = run,
};
