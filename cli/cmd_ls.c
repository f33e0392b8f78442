#include "ls.h"

#include <string.h>
#include <unistd.h>

enum { MAX_FILTERS = 32, DEFAULT_DEPTH = 16 };

enum { JSON = 1, CSV };

typedef struct request {
    int sort, form;
    bool reverse, safe;
    int64_t depth, limit;
    ls_filter filters[MAX_FILTERS];
    size_t n_filters;
} request;

/* ---- arguments ---- */

static cli_exit take_sort(void *request_, const char *name) {
    request *wanted = request_;
    wanted->sort = ls_key(name, strlen(name));
    return wanted->sort < LS_KEYS ? CLI_OK : ls_fail_key(name, strlen(name));
}

static cli_exit take_filter(void *request_, const char *text) {
    request *wanted = request_;
    if (wanted->n_filters == MAX_FILTERS)
        return cli_fail(CLI_USAGE, NULL, "more than %d filters", MAX_FILTERS);
    return ls_parse_filter(text, &wanted->filters[wanted->n_filters++]);
}

static const cli_option options[] = {
    {CLI_CALL, 's', "sort", "KEY",
     "sort by when (the default), name, outcome, wall, events, gbps, khz, workers or efficiency; "
     "newest, largest or first in the alphabet first",
     .take = take_sort},
    {CLI_FLAG, 'r', "reverse", NULL, "reverse the order", offsetof(request, reverse)},
    {CLI_CALL, 'f', "filter", "TEST",
     "only matching ones: KEY and a value with >, >=, <, <=, = or != between them, or a part of "
     "the name, or a pattern for all of it (skim_*); may be given more than once",
     .take = take_filter},
    {CLI_INTEGER, 'd', "depth", "N", "how many folders deep to look (16)", offsetof(request, depth),
     .least = 0, .most = 1000},
    {CLI_INTEGER, 'n', "limit", "N", "only the first N", offsetof(request, limit), .least = 0,
     .most = 1e15},
    {CLI_FORM, '\0', "json", NULL, "as JSON, with the keys that \"roast explain\" knows",
     offsetof(request, form), JSON},
    {CLI_FORM, '\0', "csv", NULL, "as comma-separated values, with the same keys",
     offsetof(request, form), CSV},
    {CLI_FLAG, '\0', "safe", NULL, CLI_SAFE_TEXT, offsetof(request, safe)},
    {0},
};

/* ---- the list ---- */

static roast_status search_all(found_list *list, int64_t depth, int n_folders, char **folders,
                               roast_error *err) {
    for (int i = 0; i < n_folders; i++)
        ROAST_TRY(found_search(list, folders[i], depth, err));
    /* In several folders there may be several of one name. */
    for (size_t i = 0; n_folders > 1 && i < list->count; i++)
        list->entries[i].name = list->entries[i].path;
    return n_folders > 0 ? ROAST_OK : found_search(list, ".", depth, err);
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
    if (wanted->form == JSON)
        ls_put_json(out, list);
    else if (wanted->form == CSV)
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
    cli_exit code = cli_read_options(&cli_verb_ls, &wanted, &n_args, args);
    if (code == CLI_OK && wanted.safe && wanted.form != CSV)
        code = cli_fail_safe();
    if (code != CLI_OK)
        return code;
    roast_status status = search_all(&list, wanted.depth, n_args, args, &err);
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
               "event rate by wall time, workers, core efficiency. Those that cannot be read are\n"
               "listed below the table, with the reason. Only the small parts are read.\n"
               "\n"
               "In filters, wall is in seconds, gbps in Gbit/s, khz in kHz, efficiency a ratio;\n"
               "when is compared as far as it is given: \"when>=2026-11\". outcome is how a run\n"
               "ended, done, failed or interrupted: \"outcome=failed\".\n",
    .options = options,
    .run = run,
};
