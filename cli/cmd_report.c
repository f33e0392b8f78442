#include "cli.h"

typedef struct request {
    const char *output;
    bool open;
} request;

static const cli_option options[] = {
    {CLI_TEXT, 'o', "output", "FILE", "write it there (RUN.html next to RUN)",
     offsetof(request, output)},
    {CLI_FLAG, '\0', "open", NULL, "open it in a browser", offsetof(request, open)},
    {0},
};

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    const char *path, *words[CLI_PYTHON_WORDS + 6];
    int count = CLI_PYTHON_WORDS;
    (void)out;
    cli_exit code = cli_read_path(&cli_verb_report, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    words[count++] = "report";
    if (wanted.output != NULL) {
        words[count++] = "--output";
        words[count++] = wanted.output;
    }
    if (wanted.open)
        words[count++] = "--open";
    words[count++] = "--";
    words[count++] = path;
    words[count] = NULL;
    return cli_become_python(words);
}

const cli_verb cli_verb_report = {
    .name = "report",
    .usage = "RUN [OPTION ...]",
    .summary = "one HTML file with everything about a run",
    .details = "Writes one HTML file with everything about a measurement, and prints its path.\n"
               "Any browser opens it; it loads nothing from elsewhere. The page is made by\n"
               "Python with Bokeh: python3 -m roastcoffea report.\n",
    .options = options,
    .run = run,
};
