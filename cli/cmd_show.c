#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measured.h"
#include "roast/summary.h"
#include "roast/text.h"

typedef struct request {
    int64_t width;
    bool color, json, full;
    const char *table;     /* NULL: no single one */
    roast_budget_split by; /* ROAST_SPLIT_COUNT: not split */
} request;

static cli_exit take_color(void *request_, const char *when) {
    request *wanted = request_;
    if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        wanted->color = when[0] == 'a';
    else if (strcmp(when, "auto") != 0)
        return cli_fail(CLI_USAGE, "use auto, always or never", "--color does not take \"%s\"",
                        when);
    return CLI_OK;
}

static cli_exit take_split(void *request_, const char *name) {
    request *wanted = request_;
    for (int split = 0; split < ROAST_SPLIT_COUNT; split++)
        if (strcmp(name, roast_budget_split_name((roast_budget_split)split)) == 0) {
            wanted->by = (roast_budget_split)split;
            return CLI_OK;
        }
    return cli_fail(CLI_USAGE, "use dataset, worker, host, file or storage",
                    "--budget-by does not take \"%s\"", name);
}

static const cli_option options[] = {
    {CLI_INTEGER, 'w', "width", "N",
     "columns to draw in, at least 40 (COLUMNS, or those of the terminal, or 80)",
     offsetof(request, width), .least = 1, .most = 10000},
    {CLI_CALL, '\0', "color", "WHEN",
     "auto (the default: on a terminal, unless NO_COLOR is set), always or never",
     .take = take_color},
    {CLI_FLAG, '\0', "full", NULL, "all tables and notes", offsetof(request, full)},
    {CLI_TEXT, '\0', "table", "ID",
     "only this table: challenge, budget, ... (as --json names them)", offsetof(request, table)},
    {CLI_CALL, '\0', "budget-by", "WHAT",
     "only the budget, by dataset, worker, host, file or storage", .take = take_split},
    {CLI_FLAG, '\0', "json", NULL, "all tables as JSON: every value with its key and unit",
     offsetof(request, json)},
    {0},
};

/* Says that there is no such table, and which is near. */
static cli_exit fail_table(const roast_summary *summary, const char *id) {
    char next[400];
    size_t used = (size_t)snprintf(next, sizeof next, "there are");
    roast_nearest nearest;
    roast_nearest_init(&nearest, roast_str_of(id));
    for (uint32_t i = 0; i < roast_summary_count(summary) && used < sizeof next; i++) {
        const char *name = roast_grid_id(roast_summary_at(summary, i));
        roast_nearest_offer(&nearest, roast_str_of(name));
        used += (size_t)snprintf(next + used, sizeof next - used, " %s", name);
    }
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next, "did you mean \"%.*s\"?", (int)nearest.found.len,
                 nearest.found.data);
    return cli_fail(CLI_USAGE, next, "no table has the name \"%s\"", id);
}

/* *code: what is wrong with the request was reported. */
static roast_status show(const measured *it, const request *wanted, roast_sink *out, cli_exit *code,
                         roast_error *err) {
    roast_summary *summary;
    ROAST_TRY(roast_summary_new(it->metrics, it->about, it->findings, &summary, err));
    roast_status status = ROAST_OK;
    if (wanted->json) {
        if (it->state != NULL)
            status = roast_summary_add_note(summary, roast_str_of(it->state), err);
        if (status == ROAST_OK)
            roast_summary_json(summary, out);
    } else {
        if (it->state != NULL && wanted->table == NULL)
            roast_sink_printf(out, "%s\n\n", it->state);
        if (wanted->table == NULL)
            roast_summary_draw(summary, wanted->full, (unsigned)wanted->width, wanted->color, out);
        else if (!roast_summary_draw_table(summary, wanted->table, (unsigned)wanted->width,
                                           wanted->color, out))
            *code = fail_table(summary, wanted->table);
    }
    roast_summary_free(summary);
    return status;
}

static roast_status show_budget(const measured *it, const request *wanted, roast_sink *out,
                                roast_error *err) {
    roast_budget *budget = NULL;
    roast_grid *grid = NULL;
    roast_status status = roast_budget_compute(it->run, &budget, err);
    if (status == ROAST_OK)
        status = roast_budget_grid(budget, wanted->by, &grid, err);
    if (status == ROAST_OK)
        roast_grid_draw(grid, (unsigned)wanted->width, wanted->color, out);
    roast_grid_free(grid);
    roast_budget_free(budget);
    return status;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.width = cli_terminal_width(STDOUT_FILENO),
                      .color = cli_terminal_color(STDOUT_FILENO),
                      .by = ROAST_SPLIT_COUNT};
    measured it;
    roast_error err;
    const char *path;
    cli_exit code = cli_read_path(&cli_verb_show, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    bool split = wanted.by != ROAST_SPLIT_COUNT;
    if (split && (wanted.json || wanted.full || wanted.table != NULL))
        return cli_fail(
            CLI_USAGE, "leave one of them out",
            "--budget-by shows one table: it does not go with --json, --full or --table");
    roast_status status =
        measured_open(&it, path, split ? NEED_RUN : NEED_METRICS | NEED_FINDINGS, &err);
    if (status == ROAST_OK && split)
        status = show_budget(&it, &wanted, out, &err);
    else if (status == ROAST_OK)
        status = show(&it, &wanted, out, &code, &err);
    measured_close(&it);
    return status == ROAST_OK ? code : cli_fail_error(&err, CLI_NEXT_LS);
}

const cli_verb cli_verb_show = {
    .name = "show",
    .usage = "RUN [OPTION ...]",
    .summary = "one screen about a measurement, as print_summary() shows it",
    .details = "RUN is the directory of a measurement: finished, still being written, left by a\n"
               "program that was killed, or written by roastcoffea 0.1.x.\n"
               "\n"
               "The screen has the outcome, wall time, rates, efficiency, the first findings and\n"
               "the main parts of the budget. --full shows all tables. The table of the 200 Gbps\n"
               "challenge is among them if the run is at most 1,000 times slower than that;\n"
               "--table challenge shows it always. --budget-by storage says which server or\n"
               "site took the core time.\n",
    .options = options,
    .run = run,
};
