#include "cli.h"

#include <stdio.h>
#include <string.h>

#include "roast/diagnose.h"

static void put_verbs(roast_sink *out) {
    size_t width = 0;
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        size_t own = strlen((*verb)->name);
        width = own > width ? own : width;
    }
    roast_sink_puts(out, "\nVerbs\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        roast_sink_puts(out, "  ");
        cli_put_padded(out, (*verb)->name, width + 2);
        cli_put_wrapped(out, (*verb)->summary, width + 4, width + 4);
    }
}

void cli_put_help(roast_sink *out) {
    roast_sink_puts(out, "roast: the measuring instrument for Coffea analyses\n\n"
                         "Usage: roast VERB [ARGUMENT ...]\n"
                         "       roast help [VERB]\n"
                         "       roast --version\n");
    put_verbs(out);
    roast_sink_puts(out, "\nExit codes\n");
#define X(name, number, text) roast_sink_printf(out, "  %d  %s\n", number, text);
    CLI_EXIT_LIST(X)
#undef X
}

/* "-o, --output DIR" */
static void option_heading(const cli_option *option, char *out, size_t size) {
    char letter[8] = "    ";
    if (option->letter != '\0')
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(out, size, "%s--%s%s%s", letter, option->name, option->value != NULL ? " " : "",
             option->value != NULL ? option->value : "");
}

static void put_options(roast_sink *out, const cli_option *options) {
    enum { WIDEST = 24 };
    char heading[64];
    roast_sink_puts(out, "\nOptions\n");
    for (const cli_option *option = options; option->kind != 0; option++) {
        option_heading(option, heading, sizeof heading);
        roast_sink_puts(out, "  ");
        if (strlen(heading) > WIDEST)
            roast_sink_printf(out, "%s\n%*s", heading, WIDEST + 4, "");
        else
            cli_put_padded(out, heading, WIDEST + 2);
        cli_put_wrapped(out, option->text, WIDEST + 4, WIDEST + 4);
    }
}

void cli_put_verb_help(roast_sink *out, const cli_verb *verb) {
    roast_sink_printf(out, "Usage: roast %s%s%s\n\n", verb->name, verb->usage[0] != '\0' ? " " : "",
                      verb->usage);
    roast_sink_puts(out, verb->details);
    if (verb->options != NULL)
        put_options(out, verb->options);
}

static bool is_finding(const char *name) {
    for (int kind = 0; kind < ROAST_FINDING_KIND_COUNT; kind++)
        if (strcmp(name, roast_finding_kind_name((roast_finding_kind)kind)) == 0)
            return true;
    return false;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    if (n_args > 1)
        return cli_fail_argument(&cli_verb_help, args[1]);
    if (n_args == 0) {
        cli_put_help(out);
        return CLI_OK;
    }
    if (args[0][0] == '-')
        return cli_fail_argument(&cli_verb_help, args[0]);
    const cli_verb *verb = cli_find_verb(args[0]);
    if (verb == NULL && is_finding(args[0]))
        return cli_verb_explain.run(out, n_args, args);
    if (verb == NULL)
        return cli_fail_verb(args[0]);
    cli_put_verb_help(out, verb);
    return CLI_OK;
}

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB|KIND]",
    .summary = "this page, or the page of one verb or kind of finding",
    .details = "Without VERB: the list of verbs and the exit codes.\n"
               "\n"
               "  VERB  what it does, and its options\n"
               "  KIND  what a finding such as io_bound means, as \"roast explain\" says it\n",
    .run = run,
};
