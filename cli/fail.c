#include "cli.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "roast/grid.h"
#include "roast/text.h"

/* A message may hold names of files or bytes of a damaged measurement: it is made safe to show. */
static void put_line(const char *before, const char *text) {
    roast_sink *out;
    if (roast_sink_new_fd(STDERR_FILENO, &out, NULL) != ROAST_OK)
        return;
    roast_sink_puts(out, before);
    roast_text_put_clean(out, roast_str_of(text));
    roast_sink_puts(out, "\n");
    roast_sink_finish(out, NULL);
    roast_sink_free(out);
}

cli_exit cli_fail(cli_exit code, const char *next, const char *format, ...) {
    char text[2 * PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_note(text);
    if (next != NULL)
        put_line("       ", next);
    return code;
}

cli_exit cli_fail_no_path(void) {
    return cli_fail(CLI_USAGE, CLI_NEXT_LS, "no measurement was named");
}

cli_exit cli_fail_safe(void) {
    return cli_fail(CLI_USAGE, "add --csv", "--safe is for --csv");
}

void cli_note(const char *text) {
    put_line("roast: ", text);
}

static cli_exit code_of(roast_status status) {
    switch (status) {
    case ROAST_OK:
        return CLI_OK;
    case ROAST_EINVAL:
        return CLI_USAGE;
    case ROAST_EIO:
    case ROAST_ENOTFOUND:
    case ROAST_EUNSUPPORTED:
        return CLI_INPUT;
    case ROAST_ECORRUPT:
    case ROAST_EVERSION:
    case ROAST_ELIMIT:
        return CLI_DAMAGED;
    default:
        return CLI_INTERNAL;
    }
}

cli_exit cli_fail_error(const roast_error *error, const char *next) {
    return cli_fail(code_of(error->status), next, "%s: %s", roast_status_text(error->status),
                    error->message);
}

cli_exit cli_fail_verb(const char *name) {
    roast_nearest nearest;
    roast_nearest_init(&nearest, roast_str_of(name));
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        roast_nearest_offer(&nearest, roast_str_of((*verb)->name));
    char next[96] = "\"roast help\" lists all verbs";
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next, "did you mean \"roast %.*s\"? \"roast help\" lists all verbs",
                 (int)nearest.found.len, nearest.found.data);
    return cli_fail(CLI_USAGE, next, "there is no verb \"%s\"", name);
}

cli_exit cli_fail_argument(const cli_verb *verb, const char *argument) {
    char next[96];
    snprintf(next, sizeof next, "usage: roast %s %s", verb->name, verb->usage);
    return cli_fail(CLI_USAGE, next, "\"%s\" does not take \"%s\"", verb->name, argument);
}
