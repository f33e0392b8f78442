#include "cli.h"

#include <string.h>

typedef struct request {
    bool json, strict;
    const char *differ;
} request;

static cli_exit take_condition(void *wanted, const char *text) {
    (void)wanted;
    (void)text; /* Python reads it */
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_CALL, 'f', "fail-on", "CONDITION",
     "exit with 1 if a change is beyond a limit and more than chance: \"wall_time>5%\", "
     "\"event_rate_core_khz<-3%\", \"section:selection>10%\", or if B has a new or worse finding: "
     "\"finding:spilling\"; may be given several times",
     .take = take_condition},
    {CLI_TEXT, '\0', "runs-differ", "SHARE",
     "what the times of runs differ by that do not differ by design, as a standard deviation "
     "(3%); without it, it is known from several runs of each side or from others in the folder, "
     "or assumed",
     offsetof(request, differ)},
    {CLI_FLAG, '\0', "strict", NULL,
     "changes that may be chance, and figures without an interval, fail as well",
     offsetof(request, strict)},
    {CLI_FLAG, '\0', "json", NULL, "all of it as JSON", offsetof(request, json)},
    {0},
};

/* Where the side B begins, behind "--"; n_args if there is no "--". */
static int find_divider(int n_args, char **args) {
    for (int i = 0; i < n_args; i++)
        if (strcmp(args[i], "--") == 0)
            return i;
    return n_args;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    (void)out;
    int at = find_divider(n_args, args);
    cli_exit code = cli_check_options(&cli_verb_compare, &(request){0}, at, args);
    if (code == CLI_OK && at < n_args)
        code = cli_check_options(&cli_verb_compare, &(request){0}, n_args - at - 1, args + at + 1);
    return code == CLI_OK ? cli_run_in_python("compare", n_args, args) : code;
}

const cli_verb cli_verb_compare = {
    .name = "compare",
    .usage = "A B ... [OPTION ...] | A ... -- B ... [OPTION ...]",
    .summary = "what differs between runs, and whether it is more than chance",
    .details = "A and B are directories of measurements; A is the one to compare with. With\n"
               "more, each is compared with the first. Several runs of each side stand on both\n"
               "sides of \"--\".\n"
               "The first figure is the cost: core time per event. An interval holds the true\n"
               "change with 95 %; \"~\" stands for a change that may be chance. Chunks of one\n"
               "run share its machine and its hour, so the unit of chance is the run. What runs\n"
               "differ by is known from three runs of each side, or from five others of the\n"
               "same processor, files and executor in the folder; else it is assumed, and the\n"
               "answer says so.\n",
    .options = options,
    .run = run,
};
