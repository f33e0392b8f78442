#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roast/text.h"

static const cli_option *find_option(const cli_verb *verb, const char *name, size_t len) {
    for (const cli_option *option = verb->options; option != NULL && option->id != 0; option++)
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0)
            return option;
    return NULL;
}

static const cli_option *find_letter(const cli_verb *verb, char letter) {
    for (const cli_option *option = verb->options; option != NULL && option->id != 0; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static int unknown(const cli_verb *verb, const char *argument) {
    char next[96];
    roast_nearest nearest;
    size_t dashes = strspn(argument, "-");
    roast_nearest_init(&nearest, (roast_str){argument + dashes, strcspn(argument + dashes, "=")});
    for (const cli_option *option = verb->options; option != NULL && option->id != 0; option++)
        roast_nearest_offer(&nearest, roast_str_of(option->name));
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next, "did you mean \"--%.*s\"? \"roast help %s\" lists all options",
                 (int)nearest.found.len, nearest.found.data, verb->name);
    else
        snprintf(next, sizeof next, "\"roast help %s\" lists its options", verb->name);
    cli_fail(CLI_USAGE, next, "\"%s\" has no option \"%s\"", verb->name, argument);
    return CLI_ARGS_WRONG;
}

/* The value behind an option: in the same argument, or the next one. */
static int take_value(cli_parser *parser, const cli_option *option, const char *attached) {
    char next[96];
    snprintf(next, sizeof next, "usage: roast %s --%s%s%s", parser->verb->name, option->name,
             option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    parser->value = NULL;
    if (option->value == NULL && attached != NULL) {
        cli_fail(CLI_USAGE, next, "\"--%s\" takes no value", option->name);
        return CLI_ARGS_WRONG;
    }
    if (option->value == NULL)
        return option->id;
    if (attached == NULL && parser->at == parser->n_args) {
        cli_fail(CLI_USAGE, next, "\"--%s\" needs a value", option->name);
        return CLI_ARGS_WRONG;
    }
    parser->value = attached != NULL ? attached : parser->args[parser->at++];
    return option->id;
}

static int take_long(cli_parser *parser, const char *argument) {
    const char *equals = strchr(argument, '=');
    size_t len = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const cli_option *option = find_option(parser->verb, argument + 2, len - 2);
    if (option == NULL)
        return unknown(parser->verb, argument);
    return take_value(parser, option, equals != NULL ? equals + 1 : NULL);
}

static int take_short(cli_parser *parser, const char *argument) {
    const cli_option *option = find_letter(parser->verb, argument[1]);
    if (option == NULL || (argument[2] != '\0' && option->value == NULL))
        return unknown(parser->verb, argument);
    return take_value(parser, option, argument[2] != '\0' ? argument + 2 : NULL);
}

int cli_next_argument(cli_parser *parser) {
    if (parser->at >= parser->n_args)
        return CLI_ARGS_END;
    const char *argument = parser->args[parser->at++];
    if (!parser->plain && strcmp(argument, "--") == 0) {
        parser->plain = true;
        return cli_next_argument(parser);
    }
    if (parser->plain || argument[0] != '-' || argument[1] == '\0') {
        parser->value = argument;
        return CLI_ARGS_PLAIN;
    }
    return argument[1] == '-' ? take_long(parser, argument) : take_short(parser, argument);
}

bool cli_number(const cli_parser *parser, double least, double most, double *out) {
    char *end;
    double value = strtod(parser->value, &end);
    if (end != parser->value && *end == '\0' && value >= least && value <= most) {
        *out = value;
        return true;
    }
    cli_fail(CLI_USAGE, NULL, "\"%s\" is no number from %g to %g", parser->value, least, most);
    return false;
}

bool cli_integer(const cli_parser *parser, int64_t least, int64_t most, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(parser->value, &end, 10);
    if (end != parser->value && *end == '\0' && errno == 0 && value >= least && value <= most) {
        *out = value;
        return true;
    }
    cli_fail(CLI_USAGE, NULL, "\"%s\" is no whole number from %lld to %lld", parser->value,
             (long long)least, (long long)most);
    return false;
}
