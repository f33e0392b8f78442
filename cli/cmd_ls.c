#include "ls.h"

#include <string.h>
#include <unistd.h>

enum { MAX_FILTERS = 32, DEFAULT_DEPTH = 16 };

enum { SORT = 1, REVERSE, FILTER, DEPTH, LIMIT, JSON, CSV, SAFE };

static const cli_option options[] = {
    {SORT, 's', "sort", "KEY",
     "what to sort by: when (the default), name, wall, events, gbps, khz, workers or efficiency; "
     "newest, largest or first in the alphabet first"},
    {REVERSE, 'r', "reverse", NULL, "the other way round"},
    {FILTER, 'f', "filter", "TEST",
     "only those that pass: KEY and a value with >, >=, <, <=, = or != between them, or a part of "
     "the name, or a pattern for all of it (skim_*); may be given more than once"},
    {DEPTH, 'd', "depth", "N", "how many folders deep to look (16)"},
    {LIMIT, 'n', "limit", "N", "only the first N"},
    {JSON, '\0', "json", NULL, "as JSON, with the keys that \"roast explain\" knows"},
    {CSV, '\0', "csv", NULL, "as comma-separated values, with the same keys"},
    {SAFE, '\0', "safe", NULL, CLI_SAFE_TEXT},
    {0},
};

typedef struct request {
    int sort;
    bool reverse, json, csv, safe;
    int64_t depth, limit;
    ls_filter filters[MAX_FILTERS];
    size_t n_filters;
} request;

/* ---- arguments ---- */

static cli_exit take_sort(request *wanted, const char *name) {
    wanted->sort = ls_key(name, strlen(name));
    return wanted->sort < LS_KEYS ? CLI_OK : ls_fail_key(name, strlen(name));
}

static cli_exit take_filter(request *wanted, const char *text) {
    if (wanted->n_filters == MAX_FILTERS)
        return cli_fail(CLI_USAGE, NULL, "more than %d filters", MAX_FILTERS);
    return ls_parse_filter(text, &wanted->filters[wanted->n_filters++]);
}

static cli_exit take_option(request *wanted, const cli_parser *parser, int id) {
    switch (id) {
    case SORT:
        return take_sort(wanted, parser->value);
    case REVERSE:
        wanted->reverse = true;
        return CLI_OK;
    case FILTER:
        return take_filter(wanted, parser->value);
    case DEPTH:
        return cli_integer(parser, 0, 1000, &wanted->depth) ? CLI_OK : CLI_USAGE;
    case LIMIT:
        return cli_integer(parser, 0, INT64_MAX, &wanted->limit) ? CLI_OK : CLI_USAGE;
    case JSON:
        wanted->json = true;
        return CLI_OK;
    case CSV:
        wanted->csv = true;
        return CLI_OK;
    case SAFE:
        wanted->safe = true;
        return CLI_OK;
    default:
        return CLI_USAGE; /* it was told */
    }
}

static cli_exit take_options(request *wanted, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_ls, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        if (id == CLI_ARGS_PLAIN)
            continue;
        cli_exit code = take_option(wanted, &parser, id);
        if (code != CLI_OK)
            return code;
    }
    if (wanted->json && wanted->csv)
        return cli_fail(CLI_USAGE, NULL, "either --json or --csv");
    if (wanted->safe && !wanted->csv)
        return cli_fail_safe();
    return CLI_OK;
}

/* ---- the list ---- */

/* The folders once more: options are known by now. */
static roast_status search_all(found_list *list, const request *wanted, int n_args, char **args,
                               roast_error *err) {
    cli_parser parser = {.verb = &cli_verb_ls, .n_args = n_args, .args = args};
    int id, folders = 0;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        if (id != CLI_ARGS_PLAIN)
            continue;
        folders++;
        ROAST_TRY(found_search(list, parser.value, wanted->depth, err));
    }
    /* In several folders there may be several of one name. */
    for (size_t i = 0; folders > 1 && i < list->count; i++)
        list->entries[i].name = list->entries[i].path;
    return folders > 0 ? ROAST_OK : found_search(list, ".", wanted->depth, err);
}

static roast_status read_all(found_list *list, roast_error *err) {
    for (size_t i = 0; i < list->count; i++)
        ROAST_TRY(found_read(&list->entries[i], err));
    return ROAST_OK;
}

/* Forgets the entry at `index`; the order is lost. */
static void drop(found_list *list, size_t index) {
    roast_free(list->entries[index].path);
    roast_free(list->entries[index].fault);
    list->entries[index] = list->entries[--list->count];
}

static void keep_wanted(found_list *list, const request *wanted) {
    for (size_t i = list->count; i-- > 0;)
        for (size_t f = 0; f < wanted->n_filters; f++)
            if (!ls_passes(&wanted->filters[f], &list->entries[i])) {
                drop(list, i);
                break;
            }
    ls_sort(list, wanted->sort, wanted->reverse);
    while (list->count > (size_t)wanted->limit)
        drop(list, list->count - 1);
}

static roast_status show(roast_sink *out, const found_list *list, const request *wanted,
                         roast_error *err) {
    if (wanted->json)
        ls_put_json(out, list);
    else if (wanted->csv)
        ls_put_csv(out, list, wanted->safe || isatty(STDOUT_FILENO));
    else
        return ls_put_table(out, list, cli_terminal_color(STDOUT_FILENO),
                            cli_terminal_width(STDOUT_FILENO), err);
    return ROAST_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.sort = LS_BY_WHEN, .depth = DEFAULT_DEPTH, .limit = INT64_MAX};
    found_list list = {0};
    roast_error err;
    cli_exit code = take_options(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    roast_status status = search_all(&list, &wanted, n_args, args, &err);
    if (status == ROAST_OK)
        status = read_all(&list, &err);
    if (status == ROAST_OK && list.count == 0)
        cli_note("no measurement was found");
    if (status == ROAST_OK) {
        keep_wanted(&list, &wanted);
        status = show(out, &list, &wanted, &err);
    }
    found_reset(&list);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, NULL);
}

const cli_verb cli_verb_ls = {
    .name = "ls",
    .usage = "[OPTION ...] [DIR ...]",
    .summary = "the measurements below some folders, newest first",
    .details = "Lists the measurements below each DIR (without any: this folder), ours and those\n"
               "of roastcoffea 0.1.x: when the run began, how long it took, events, data and\n"
               "event rate by wall time, workers, core efficiency. Those that cannot be read\n"
               "stand below the table, with what is wrong. Only the small part of each is read.\n"
               "\n"
               "In filters, wall is in seconds, gbps in Gbit/s, khz in kHz, efficiency a ratio;\n"
               "when is compared as far as it is given: \"when>=2026-11\".\n",
    .options = options,
    .run = run,
};
