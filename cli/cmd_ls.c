#include "filters.h"
#include "ls.h"

#include <string.h>
#include <unistd.h>

enum { JSON = 1, CSV };

typedef struct request {
    int sort, form;
    bool reverse, safe;
    int64_t depth, limit;
    filters filters;
    ls_columns columns;
} request;

/* ---- arguments ---- */

static cli_exit take_key(roast_str name, int *key) {
    char hint[ROAST_FOUND_HINT];
    *key = roast_found_key(name);
    if (*key < ROAST_FOUND_KEYS)
        return CLI_OK;
    roast_found_key_hint(name, hint);
    return cli_fail(CLI_USAGE, hint, "no column has the name \"%.*s\"", (int)name.len, name.data);
}

static cli_exit take_sort(void *request_, const char *name) {
    return take_key(roast_str_of(name), &((request *)request_)->sort);
}

static cli_exit take_filter(void *request_, const char *text) {
    return filters_add(&((request *)request_)->filters, text);
}

static cli_exit take_columns(void *request_, const char *names) {
    request *wanted = request_;
    wanted->columns.count = 0;
    for (size_t len; *names != '\0'; names += len + (names[len] == ',')) {
        len = strcspn(names, ",");
        int key;
        cli_exit code = take_key((roast_str){names, len}, &key);
        if (code != CLI_OK)
            return code;
        if (key != ROAST_FOUND_BY_name && wanted->columns.count < ROAST_FOUND_KEYS)
            wanted->columns.keys[wanted->columns.count++] = key;
    }
    return CLI_OK;
}

static const cli_option options[] = {
    {CLI_CALL, 'c', "columns", "KEYS",
     "show these after the name, with commas between them: when, outcome, wall, events, gbps, khz, "
     "workers, efficiency, state, executor, chunksize, processor, config (the first nine, as far "
     "as "
     "there is room)",
     .take = take_columns},
    {CLI_CALL, 's', "sort", "KEY",
     "sort by when (the default), name or any of these columns; newest, largest or first in the "
     "alphabet first",
     .take = take_sort},
    {CLI_FLAG, 'r', "reverse", NULL, "reverse the order", offsetof(request, reverse)},
    {CLI_CALL, 'f', "filter", "TEST", FILTER_TEXT, .take = take_filter},
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

static bool needs_config(const request *wanted) {
    bool needed = wanted->sort == ROAST_FOUND_BY_config ||
                  filters_have(&wanted->filters, ROAST_FOUND_BY_config);
    for (size_t i = 0; i < wanted->columns.count; i++)
        needed |= wanted->columns.keys[i] == ROAST_FOUND_BY_config;
    return needed;
}

static roast_status show(roast_sink *out, roast_found *found, const request *wanted,
                         roast_error *err) {
    const roast_found_list list = roast_found_all(found);
    if (wanted->form == JSON)
        roast_found_json(found, out);
    else if (wanted->form == CSV)
        ls_put_csv(out, &list, wanted->safe || isatty(STDOUT_FILENO));
    else
        return ls_put_table(out, &list, &wanted->columns, cli_terminal_color(STDOUT_FILENO),
                            cli_terminal_width(STDOUT_FILENO), err);
    return ROAST_OK;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.sort = ROAST_FOUND_BY_when, .depth = ROAST_FOUND_DEPTH, .limit = INT64_MAX};
    roast_found *found = NULL;
    roast_error err;
    cli_exit code = cli_read_options(&cli_verb_ls, &wanted, &n_args, args);
    if (code == CLI_OK && wanted.safe && wanted.form != CSV)
        code = cli_fail_safe();
    if (code != CLI_OK)
        return code;
    const roast_found_wanted parts = {.config = needs_config(&wanted)};
    roast_status status = roast_found_new(&found, &err);
    if (status == ROAST_OK)
        status = roast_found_search_all(found, (const char *const *)args, (size_t)n_args,
                                        wanted.depth, &err);
    if (status == ROAST_OK)
        status = roast_found_read(found, &parts, &err);
    if (status == ROAST_OK && roast_found_all(found).count == 0)
        cli_note("no measurement was found");
    if (status == ROAST_OK) {
        roast_found_keep(found, wanted.filters.items, wanted.filters.count);
        roast_found_sort(found, wanted.sort, wanted.reverse, (size_t)wanted.limit);
        status = show(out, found, &wanted, &err);
    }
    roast_found_free(found);
    return status == ROAST_OK ? CLI_OK : cli_fail_error(&err, NULL);
}

const cli_verb cli_verb_ls = {
    .name = "ls",
    .usage = "[OPTION ...] [DIR ...]",
    .summary = "the measurements below some folders, newest first",
    .details = "Lists the measurements below each DIR (without any: this folder), ours and those\n"
               "of roastcoffea 0.1.x: when the run began, how long it took, events, data and\n"
               "event rate by wall time, workers, core efficiency. In a narrow terminal workers\n"
               "and rates are left out to show more of the names. Those that cannot be read are\n"
               "listed below the table, with the reason. Only the small parts are read.\n"
               "\n"
               "In filters, wall is in seconds, gbps in Gbit/s, khz in kHz, efficiency a ratio;\n"
               "when may be shortened: \"when>=2026-11\" means from November 2026 on. outcome is\n"
               "how a run ended, done, failed or interrupted: \"outcome=failed\". config is the\n"
               "config of save_measurement() in one line: \"chunk=500, site=desy\".\n",
    .options = options,
    .run = run,
};
