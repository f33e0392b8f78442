#include "cli.h"

enum { MOST_NAMES = 16, MOST_WORDS = CLI_PYTHON_WORDS + 1 + 2 * (3 + MOST_NAMES) + 4 };

typedef struct request {
    const char *host, *port, *base;
    const char *names[MOST_NAMES];
    int n_names;
    bool open;
} request;

static cli_exit take_name(void *request_, const char *name) {
    request *wanted = request_;
    if (wanted->n_names == MOST_NAMES)
        return cli_fail(CLI_USAGE, NULL, "--allow-host may be given %d times at most", MOST_NAMES);
    wanted->names[wanted->n_names++] = name;
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_TEXT, '\0', "host", "ADDRESS", "listen there (127.0.0.1: this machine alone)",
     offsetof(request, host)},
    {CLI_TEXT, '\0', "port", "N", "the port; 0: any (8799, or any if that is taken)",
     offsetof(request, port)},
    {CLI_TEXT, '\0', "base-url", "PATH", "the path under which a proxy shows it",
     offsetof(request, base)},
    {CLI_CALL, '\0', "allow-host", "NAME",
     "a name under which a browser may ask, such as that of a proxy; may be given several times",
     .take = take_name},
    {CLI_FLAG, '\0', "open", NULL, "open it in a browser", offsetof(request, open)},
    {0},
};

static int add_option(const char **words, int count, const char *option, const char *value) {
    if (value == NULL)
        return count;
    words[count] = option;
    words[count + 1] = value;
    return count + 2;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    const char *words[MOST_WORDS];
    int count = CLI_PYTHON_WORDS;
    cli_exit code = cli_read_options(&cli_verb_board, &wanted, &n_args, args);
    (void)out;
    if (code != CLI_OK)
        return code;
    if (n_args > 1)
        return cli_fail(CLI_USAGE, "give it the folder that holds them all",
                        "\"board\" does not take \"%s\"", args[1]);
    words[count++] = "board";
    count = add_option(words, count, "--host", wanted.host);
    count = add_option(words, count, "--port", wanted.port);
    count = add_option(words, count, "--base-url", wanted.base);
    for (int i = 0; i < wanted.n_names; i++)
        count = add_option(words, count, "--allow-host", wanted.names[i]);
    if (wanted.open)
        words[count++] = "--open";
    words[count++] = "--";
    words[count++] = n_args > 0 ? args[0] : ".";
    words[count] = NULL;
    return cli_become_python(words);
}

const cli_verb cli_verb_board = {
    .name = "board",
    .usage = "[DIR] [OPTION ...]",
    .summary = "all measurements below a folder in a browser, live",
    .details = "Serves the measurements below DIR (without it: this folder) to a browser, until\n"
               "Ctrl-C, and prints the address: a table of all runs, one run with its report,\n"
               "live while it goes on, several compared, their scaling, and SQL. It reads what\n"
               "is on disk and changes nothing. Only browsers with the token from the address\n"
               "can see it.\n"
               "The server is Python's: python3 -m roastcoffea board.\n",
    .options = options,
    .run = run,
};
