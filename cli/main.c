#include "cli.h"

#include <string.h>
#include <unistd.h>

const cli_verb *const cli_verbs[] = {
#define X(name) &cli_verb_##name,
    CLI_VERB_LIST(X)
#undef X
        NULL,
};

const cli_verb *cli_find_verb(const char *name) {
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

static bool asks_for_help(const char *arg) {
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static cli_exit dispatch(roast_sink *out, int n_args, char **args) {
    if (asks_for_help(args[0]) || strcmp(args[0], "--version") == 0) {
        if (n_args > 1)
            return cli_fail(CLI_USAGE, "\"roast help\" shows the usage",
                            "\"%s\" does not take \"%s\"", args[0], args[1]);
        if (asks_for_help(args[0]))
            cli_put_help(out);
        else
            roast_sink_printf(out, "roast %s\n", roast_version());
        return CLI_OK;
    }
    if (args[0][0] == '-')
        return cli_fail(CLI_USAGE, "\"roast help\" shows the usage", "there is no option \"%s\"",
                        args[0]);
    const cli_verb *verb = cli_find_verb(args[0]);
    if (verb == NULL)
        return cli_fail_verb(args[0]);
    if (n_args == 2 && asks_for_help(args[1])) {
        cli_put_verb_help(out, verb);
        return CLI_OK;
    }
    return verb->run(out, n_args - 1, args + 1);
}

/* A failed output takes precedence over the exit code of the verb. */
static cli_exit finish(roast_sink *out, cli_exit code) {
    roast_error error;
    if (roast_sink_finish(out, &error) == ROAST_OK)
        return code;
    return cli_fail(CLI_INTERNAL, "free some space, or write the output elsewhere",
                    "the output could not be written: %s", error.message);
}

int main(int argc, char **argv) {
    bool bare = argc < 2;
    roast_sink *out;
    roast_error error;
    if (roast_sink_new_fd(bare ? STDERR_FILENO : STDOUT_FILENO, &out, &error) != ROAST_OK)
        return cli_fail_error(&error, NULL);
    cli_exit code = CLI_USAGE;
    if (bare)
        cli_put_help(out);
    else
        code = dispatch(out, argc - 1, argv + 1);
    code = finish(out, code);
    roast_sink_free(out);
    return code;
}
