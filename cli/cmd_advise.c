#include "cli.h"

#include <unistd.h>

#include "measured.h"
#include "roast/advice_text.h"

typedef struct request {
    bool json;
} request;

static const cli_option options[] = {
    {CLI_FLAG, '\0', "json", NULL,
     "all of it as JSON, with the arguments as Coffea takes them and all names",
     offsetof(request, json)},
    {0},
};

static roast_status advise(roast_sink *out, const request *wanted, const measured *it,
                           roast_error *err) {
    roast_advice *advice;
    ROAST_TRY(roast_advise_run(it->run, it->metrics, &advice, err));
    if (wanted->json)
        roast_advice_json(advice, out);
    else
        roast_advice_draw(advice, cli_terminal_width(STDOUT_FILENO), out);
    roast_advice_free(advice);
    return ROAST_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    measured it;
    roast_error err;
    const char *path;
    cli_exit code = cli_read_path(&cli_verb_advise, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    roast_status status = measured_open(&it, path, NEED_RUN | NEED_METRICS, &err);
    if (status == ROAST_OK)
        status = advise(out, &wanted, &it, &err);
    measured_close(&it);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, CLI_NEXT_LS);
}

const cli_verb cli_verb_advise = {
    .name = "advise",
    .usage = "RUN [OPTION ...]",
    .summary = "what to pass to the next Runner",
    .details = "RUN is the directory of a measurement. Shows the settings that the findings of\n"
               "the run ask for: chunk size, branches to preload, workers and their threads,\n"
               "files to leave out or to list first. Each has the finding that it comes from,\n"
               "and the wall time that \"roast what-if\" predicts for it, or why there is no\n"
               "prediction. \"roast diagnose\" has the findings that no setting helps against.\n",
    .options = options,
    .run = run,
};
