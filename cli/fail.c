#include "cli.h"

#include <stdarg.h>
#include <stdio.h>

#include "roast/text.h"

static void put_next(const char *next) {
    if (next != NULL)
        fprintf(stderr, "       %s\n", next);
}

cli_exit cli_fail(cli_exit code, const char *next, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("roast: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    put_next(next);
    return code;
}

void cli_note(const char *text) {
    fprintf(stderr, "roast: %s\n", text);
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
    char next[96] = "\"roast help\" lists what there is";
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
