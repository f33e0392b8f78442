#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/text.h"

/* The arguments after a verb, read one by one. */
typedef struct argument_reader {
    const cli_verb *verb;
    void *request;
    int n_args;
    char **args;
    int at; /* of the next one */
} argument_reader;

/* ---- values ---- */

static cli_exit take_number(const cli_option *option, const char *text, double *out) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= option->least && value <= option->most))
        return cli_fail(CLI_USAGE, NULL, "\"%s\" is not a number from %g to %g", text,
                        option->least, option->most);
    *out = value;
    return CLI_OK;
}

static cli_exit take_integer(const cli_option *option, const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || (double)value < option->least ||
        (double)value > option->most)
        return cli_fail(CLI_USAGE, NULL, "\"%s\" is not a whole number from %.0f to %.0f", text,
                        option->least, option->most);
    *out = value;
    return CLI_OK;
}

static cli_exit take_form(const cli_verb *verb, const cli_option *option, int *form) {
    for (const cli_option *other = verb->options; *form != 0 && other->kind != 0; other++)
        if (other->kind == CLI_FORM && other->id == *form && other != option)
            return cli_fail(CLI_USAGE, "use one of them", "--%s and --%s do not go together",
                            other->name, option->name);
    *form = option->id;
    return CLI_OK;
}

static cli_exit set(argument_reader *reader, const cli_option *option, const char *value) {
    void *target = (char *)reader->request + option->at;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)target = true;
        return CLI_OK;
    case CLI_FORM:
        return take_form(reader->verb, option, target);
    case CLI_TEXT:
        *(const char **)target = value;
        return CLI_OK;
    case CLI_INTEGER:
        return take_integer(option, value, target);
    case CLI_NUMBER:
        return take_number(option, value, target);
    case CLI_CALL:
        break;
    }
    return option->take(reader->request, value);
}

/* ---- options ---- */

static const cli_option *find_option(const cli_verb *verb, roast_str name, char letter) {
    for (const cli_option *option = verb->options; option != NULL && option->kind != 0; option++)
        if (letter != '\0' ? option->letter == letter
                           : roast_str_equal(name, roast_str_of(option->name)))
            return option;
    return NULL;
}

static cli_exit unknown(const cli_verb *verb, const char *argument, roast_str name) {
    char next[96];
    roast_nearest nearest;
    roast_nearest_init(&nearest, name);
    for (const cli_option *option = verb->options; option != NULL && option->kind != 0; option++)
        roast_nearest_offer(&nearest, roast_str_of(option->name));
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next, "did you mean \"--%.*s\"? \"roast help %s\" lists all options",
                 (int)nearest.found.len, nearest.found.data, verb->name);
    else
        snprintf(next, sizeof next, "\"roast help %s\" lists its options", verb->name);
    return cli_fail(CLI_USAGE, next, "\"%s\" has no option \"%s\"", verb->name, argument);
}

/* The value of an option is in the same argument (`attached`), or is the next one. */
static cli_exit take_option(argument_reader *reader, const cli_option *option,
                            const char *attached) {
    char next[96];
    snprintf(next, sizeof next, "usage: roast %s --%s%s%s", reader->verb->name, option->name,
             option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    if (option->value == NULL && attached != NULL)
        return cli_fail(CLI_USAGE, next, "\"--%s\" takes no value", option->name);
    if (option->value != NULL && attached == NULL && reader->at == reader->n_args)
        return cli_fail(CLI_USAGE, next, "\"--%s\" needs a value", option->name);
    if (option->value != NULL && attached == NULL)
        attached = reader->args[reader->at++];
    return set(reader, option, attached);
}

/* "--output=DIR", "--output", "-oDIR" or "-o" */
static cli_exit read_option(argument_reader *reader, const char *argument) {
    bool is_long = argument[1] == '-';
    const char *equals = is_long ? strchr(argument, '=') : NULL;
    const char *attached = equals != NULL ? equals + 1 : NULL;
    roast_str name = {argument + 1 + is_long, strcspn(argument + 1 + is_long, "=")};
    const cli_option *option = find_option(reader->verb, name, is_long ? '\0' : argument[1]);
    if (!is_long && argument[2] != '\0')
        attached = argument + 2;
    if (option == NULL || (!is_long && attached != NULL && option->value == NULL))
        return unknown(reader->verb, argument, name);
    return take_option(reader, option, attached);
}

cli_exit cli_read_options(const cli_verb *verb, void *request, int *n_args, char **args) {
    argument_reader reader = {verb, request, *n_args, args, 0};
    bool plain = false; /* "--" was there */
    int kept = 0;
    while (reader.at < reader.n_args) {
        char *argument = args[reader.at++];
        if (!plain && strcmp(argument, "--") == 0) {
            plain = true;
            continue;
        }
        if (plain || argument[0] != '-' || argument[1] == '\0') {
            args[kept++] = argument;
            plain = plain || verb->ends_with_command;
            continue;
        }
        cli_exit code = read_option(&reader, argument);
        if (code != CLI_OK)
            return code;
    }
    args[kept] = NULL;
    *n_args = kept;
    return CLI_OK;
}

cli_exit cli_read_path(const cli_verb *verb, void *request, int n_args, char **args,
                       const char **path) {
    cli_exit code = cli_read_options(verb, request, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args == 0)
        return cli_fail_no_path();
    *path = args[0];
    return n_args == 1 ? CLI_OK : cli_fail_argument(verb, args[1]);
}
