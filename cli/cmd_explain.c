#include "cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "roast/found.h"
#include "roast/diagnose.h"
#include "roast/summary.h"

/* ---- the place of a row of the catalogue ---- */

/* The parts of the catalogue, in the order of the page. */
typedef struct metric_place {
    roast_metric_scope scope;
    bool inside_chunk; /* of the tables: those of a chunk */
    const char *title;
    const char *path; /* of a value in Python */
} metric_place;

static const metric_place places[] = {
    {ROAST_IN_METRICS, false, "Metrics of a run", "get_metrics()[KEY]"},
    {ROAST_IN_TABLE, false, "Tables of a run", "get_metrics()[TABLE][NAME][KEY]"},
    {ROAST_IN_CHUNK, false, "Values of a chunk", "chunk_metrics[i][KEY]"},
    {ROAST_IN_TABLE, true, "Tables of a chunk", "chunk_metrics[i][TABLE][NAME or j][KEY]"},
    {ROAST_IN_SERIES, false, "Values of a worker over time", "tracking_data[KEY]"},
    {ROAST_IN_LIVE, false, "Runs that go on", "roast_KEY of MetricsCollector(dashboard=True)"},
};
enum { PLACES = sizeof places / sizeof *places };

/* The prefix of a table inside a chunk. */
static const char in_chunk[] = "chunk.";

static bool is_inside_chunk(const roast_metric_info *info) {
    return info->scope == ROAST_IN_TABLE && strncmp(info->group, in_chunk, strlen(in_chunk)) == 0;
}

/* The name of a row's group or table, as people write it. */
static const char *group_name(const roast_metric_info *info) {
    return info->group + (is_inside_chunk(info) ? strlen(in_chunk) : 0);
}

static bool is_in(const roast_metric_info *info, const metric_place *place) {
    return info->scope == place->scope && is_inside_chunk(info) == place->inside_chunk;
}

static bool same_group(const roast_metric_info *a, const roast_metric_info *b) {
    return a->scope == b->scope && strcmp(a->group, b->group) == 0;
}

/* Calls `put` for each group of a place, with its first row. */
static void put_groups(roast_sink *out, const metric_place *place,
                       void (*put)(roast_sink *, const roast_metric_info *)) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        uint32_t first = 0;
        while (!same_group(roast_catalogue_at(first), info))
            first++;
        if (first == i && is_in(info, place))
            put(out, info);
    }
}

static const char *path_of(const roast_metric_info *info) {
    for (int i = 0; i < PLACES; i++)
        if (is_in(info, &places[i]))
            return places[i].path;
    return roast_metric_scope_name(info->scope);
}

/* ---- the list ---- */

enum { KEY_WIDTH = 37, UNIT_WIDTH = 8, LABEL_AT = 2 + KEY_WIDTH + 1 + UNIT_WIDTH + 1 };

static size_t put_column(roast_sink *out, const char *text, size_t width) {
    size_t own = roast_text_width(roast_str_of(text));
    cli_put_padded(out, text, width);
    roast_sink_puts(out, " ");
    return (own > width ? own : width) + 1;
}

static void put_group(roast_sink *out, const roast_metric_info *first) {
    roast_sink_printf(out, "\n%s\n", group_name(first));
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (!same_group(info, first))
            continue;
        roast_sink_puts(out, "  ");
        size_t column = 2 + put_column(out, info->key, KEY_WIDTH);
        column += put_column(out, info->unit, UNIT_WIDTH);
        cli_put_wrapped(out, info->label, column, LABEL_AT);
    }
}

static void put_list(roast_sink *out) {
    for (int i = 0; i < PLACES; i++) {
        roast_sink_printf(out, "%s%s: %s\n", i == 0 ? "" : "\n", places[i].title, places[i].path);
        put_groups(out, &places[i], put_group);
    }
    roast_sink_puts(out, "\n\"roast explain KEY\" gives the formula of a metric and its limits.\n");
}

/* ---- the page of the documentation ---- */

/* Everything that Markdown or its tables could take for markup is escaped; a line feed becomes a
 * blank. */
static void put_escaped(roast_sink *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            roast_sink_puts(out, " ");
            continue;
        }
        if (strchr("\\`*_<>[]{}|~$#&", *text) != NULL)
            roast_sink_puts(out, "\\");
        roast_sink_write(out, text, 1);
    }
}

static void put_names(roast_sink *out, const roast_metric_info *info) {
    roast_sink_printf(out, "`%s`", info->key);
    for (const char *at = info->aliases; *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        roast_sink_puts(out, " `");
        roast_sink_write(out, at, len);
        roast_sink_puts(out, "`");
        at += len;
    }
}

static void put_row(roast_sink *out, const roast_metric_info *info) {
    const char *const cells[] = {roast_metric_type_name(info->type), info->unit, info->label,
                                 info->formula, info->caveat};
    roast_sink_puts(out, "| ");
    put_names(out, info);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        roast_sink_puts(out, " | ");
        put_escaped(out, cells[i]);
    }
    roast_sink_puts(out, " |\n");
}

static void put_markdown_group(roast_sink *out, const roast_metric_info *first) {
    roast_sink_puts(out, "\n### ");
    put_escaped(out, group_name(first));
    roast_sink_puts(out, "\n\n| names | type | unit | label | formula | limits |\n"
                         "|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        if (same_group(roast_catalogue_at(i), first))
            put_row(out, roast_catalogue_at(i));
}

static void put_markdown(roast_sink *out) {
    roast_sink_puts(out,
                    "<!-- Written by \"roast explain --markdown\" from "
                    "src/metrics/catalogue.def; do not edit. -->\n"
                    "# Metrics\n\n"
                    "A value that was not measured is absent or `None`, never 0. A value has all "
                    "the names of its row.\nUnits are decimal: 1 MB is 10⁶ bytes.\n");
    for (int i = 0; i < PLACES; i++) {
        roast_sink_printf(out, "\n## %s\n\nIn Python: `%s`.\n", places[i].title, places[i].path);
        put_groups(out, &places[i], put_markdown_group);
    }
}

/* ---- one key ---- */

static bool has_name(const roast_metric_info *info, const char *name) {
    size_t len = strlen(name);
    if (strcmp(info->key, name) == 0)
        return true;
    for (const char *at = info->aliases; *at != '\0'; at += strspn(at, " ")) {
        size_t alias_len = strcspn(at, " ");
        if (alias_len == len && memcmp(at, name, len) == 0)
            return true;
        at += alias_len;
    }
    return false;
}

static void put_field(roast_sink *out, const char *name, const char *text) {
    enum { TEXT_AT = 15 };
    if (text[0] == '\0')
        return;
    roast_sink_puts(out, "  ");
    cli_put_padded(out, name, TEXT_AT - 2);
    cli_put_wrapped(out, text, TEXT_AT, TEXT_AT);
}

static void put_metric(roast_sink *out, const roast_metric_info *info) {
    roast_sink_printf(out, "%s: ", info->key);
    cli_put_wrapped(out, info->label, strlen(info->key) + 2, 2);
    put_field(out, "found in", path_of(info));
    put_field(out, info->scope == ROAST_IN_TABLE ? "table" : "group", group_name(info));
    put_field(out, "other names", info->aliases);
    put_field(out, "unit", info->unit);
    put_field(out, "type", roast_metric_type_name(info->type));
    put_field(out, "formula", info->formula);
    put_field(out, "caveat", info->caveat);
}

/* ---- words ---- */

/* Whether two names are the same but for case, and for "_" instead of a blank. */
static bool same_words(const char *a, const char *b) {
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        int x = *a == '_' ? ' ' : tolower((unsigned char)*a);
        int y = *b == '_' ? ' ' : tolower((unsigned char)*b);
        if (x != y)
            return false;
    }
    return true;
}

static bool is_text(roast_str text, const char *words) {
    char copy[200];
    snprintf(copy, sizeof copy, "%.*s", (int)(text.len < sizeof copy ? text.len : sizeof copy - 1),
             text.data);
    return text.len < sizeof copy && same_words(copy, words);
}

/* The metrics of a name, or of a label as the tables show it: a flag for each row of the catalogue. */
typedef struct wanted_metrics {
    const char *words;
    bool *flags;
    uint32_t count;
} wanted_metrics;

static void want(wanted_metrics *wanted, const roast_metric_info *info) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        if (roast_catalogue_at(i) == info && !wanted->flags[i]) {
            wanted->flags[i] = true;
            wanted->count++;
        }
}

static void want_named(wanted_metrics *wanted,
                       bool (*is)(const roast_metric_info *, const char *)) {
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        if (is(roast_catalogue_at(i), wanted->words))
            want(wanted, roast_catalogue_at(i));
}

static bool has_label(const roast_metric_info *info, const char *words) {
    return same_words(info->label, words);
}

/* The rows of a table of facts that have this label. */
static void want_rows(wanted_metrics *wanted, const roast_grid *grid) {
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++) {
        uint32_t count;
        if (!is_text(roast_grid_text(grid, row, 0), wanted->words))
            continue;
        const roast_grid_value *values = roast_grid_values(grid, row, 1, &count);
        for (uint32_t i = 0; i < count; i++)
            want(wanted, roast_catalogue_find(values[i].key, NULL));
    }
}

/* The columns of a table that have this heading. One key may be in several tables. */
static void want_columns(wanted_metrics *wanted, const roast_grid *grid) {
    for (uint32_t column = 1; column < roast_grid_column_count(grid); column++) {
        uint32_t count;
        const roast_grid_value *values = roast_grid_values(grid, 0, column, &count);
        if (count == 0 || !is_text(roast_grid_heading(grid, column), wanted->words))
            continue;
        for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
            const roast_metric_info *info = roast_catalogue_at(i);
            if (info->scope == ROAST_IN_TABLE && !is_inside_chunk(info) &&
                strcmp(info->key, values[0].key) == 0)
                want(wanted, info);
        }
    }
}

/* Two rows of nothing for each table: of one dataset there is no table. */
static roast_status add_empty_rows(roast_metrics *metrics, roast_error *err) {
    for (int kind = 0; kind < ROAST_SECTION_KINDS; kind++) {
        const roast_section_row section = {.kind = (roast_section_kind)kind};
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_sections, &section, err));
    }
    for (int i = 0; i < 2; i++) {
        const roast_dataset_row dataset = {.num_chunks = 0};
        const roast_worker_row worker = {.peak_memory_percent = roast_value_real(1)};
        const roast_branch_row branch = {.num_chunks = 0};
        const roast_storage_row storage = {.num_chunks = 0};
        const roast_task_row task = {.count = roast_value_int(0)};
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_per_dataset, &dataset, err));
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_per_storage, &storage, err));
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_worker_health, &worker, err));
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_branch_read_metrics, &branch, err));
        ROAST_TRY(roast_row_table_add(metrics, ROAST_ROWS_task_metrics, &task, err));
    }
    ROAST_TRY(roast_metrics_set(metrics, "branch_read_bytes", roast_value_int(1), err));
    return roast_metrics_set(metrics, "num_chunks", roast_value_int(1), err);
}

/* A summary of hardly a number has all labels. */
static roast_status want_labelled(wanted_metrics *wanted, roast_error *err) {
    roast_metrics *none = NULL;
    roast_summary *summary = NULL;
    want_named(wanted, has_label);
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++)
        if (same_words(roast_found_figures[i].heading, wanted->words))
            want(wanted, roast_catalogue_find(roast_found_figures[i].key, NULL));
    roast_status status = roast_metrics_new(&none, err);
    if (status == ROAST_OK)
        status = add_empty_rows(none, err);
    if (status == ROAST_OK)
        status = roast_summary_new(none, NULL, NULL, &summary, err);
    if (status == ROAST_OK)
        want_rows(wanted, roast_summary_overview(summary));
    for (uint32_t i = 0; status == ROAST_OK && i < roast_summary_count(summary); i++) {
        const roast_grid *grid = roast_summary_at(summary, i);
        if (roast_grid_column_count(grid) == 2)
            want_rows(wanted, grid);
        else
            want_columns(wanted, grid);
    }
    roast_summary_free(summary);
    roast_metrics_free(none);
    return status;
}

/* Printed words that are no metric. */
static const struct {
    const char *words, *text;
} others[] = {
    {"Share", "Of a row: its part of the sum over all rows of the column to the left. In the "
              "budget: its part of the available core time."},
    {"Self of process()", "The time of a section without the sections inside it, as a part of the "
                          "time in process() of all chunks."},
    {"of Chunks", "In how many of the chunks with a record of their reads the branch was read."},
    {"Saves", "Core time that a finding would save at most, if its advice is followed. The sum "
              "over all threads: on 4 threads, 8 s are 2 s of wall time."},
    {"Core Time", "Time of a thread of a worker, added up over all threads, busy or not."},
    {"Other Parts", "The sum of the parts of the budget that are less than 1 % each."},
    {"Outcome", "How the run ended: done, failed (an exception) or interrupted (Ctrl-C)."},
    {"Severity", "critical: 30 % of the core time or more; warning: 10 % or more, or events are "
                 "missing; note: less, or less than a second."},
    {"Data Quality", "What could not be measured, and why. Each note has its reason and what helps "
                     "in docs/notes.md."},
    {"Chunk Records", "Chunks with a record of @track_metrics, of those in Coffea's report."},
    {"Events in Records", "Events of chunks with a record of @track_metrics, of those in Coffea's "
                          "report."},
};

/* ---- one name ---- */

static void put_gap(roast_sink *out, uint32_t *n) {
    if ((*n)++ > 0)
        roast_sink_puts(out, "\n");
}

static void put_finding(roast_sink *out, const char *words, uint32_t *n) {
    for (int kind = 0; kind < ROAST_FINDING_KIND_COUNT; kind++) {
        char page[80];
        const char *name = roast_finding_kind_name((roast_finding_kind)kind);
        if (!same_words(name, words))
            continue;
        snprintf(page, sizeof page, "docs/findings.md#%s", name);
        put_gap(out, n);
        roast_sink_printf(out, "%s: a kind of finding\n", name);
        put_field(out, "found in", "roast diagnose, diagnose()");
        put_field(out, "why", roast_finding_kind_why((roast_finding_kind)kind));
        put_field(out, "page", page);
    }
}

static void put_other(roast_sink *out, const char *words, uint32_t *n) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!same_words(others[i].words, words))
            continue;
        put_gap(out, n);
        roast_sink_printf(out, "%s\n  ", others[i].words);
        cli_put_wrapped(out, others[i].text, 2, 2);
    }
}

static cli_exit explain_metrics(roast_sink *out, wanted_metrics *wanted) {
    uint32_t n = 0;
    roast_error err;
    want_named(wanted, has_name);
    if (wanted->count == 0 && want_labelled(wanted, &err) != ROAST_OK)
        return cli_fail_error(&err, NULL);
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        if (wanted->flags[i]) {
            put_gap(out, &n);
            put_metric(out, roast_catalogue_at(i));
        }
    put_finding(out, wanted->words, &n);
    put_other(out, wanted->words, &n);
    if (n > 0)
        return CLI_OK;
    const char *nearest = roast_catalogue_nearest(wanted->words);
    char next[160] = "\"roast explain\" lists all names";
    if (nearest != NULL)
        snprintf(next, sizeof next, "did you mean \"%s\"? \"roast explain\" lists all names",
                 nearest);
    return cli_fail(CLI_INPUT, next, "no metric or finding has the name \"%s\"", wanted->words);
}

static cli_exit explain(roast_sink *out, const char *words) {
    wanted_metrics wanted = {.words = words,
                             .flags = roast_alloc_zero(roast_catalogue_count() * sizeof(bool))};
    if (wanted.flags == NULL)
        return cli_fail(CLI_INTERNAL, NULL, "no memory");
    cli_exit code = explain_metrics(out, &wanted);
    roast_free(wanted.flags);
    return code;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    if (n_args > 1)
        return cli_fail_argument(&cli_verb_explain, args[1]);
    if (n_args == 0)
        put_list(out);
    else if (strcmp(args[0], "--markdown") == 0)
        put_markdown(out);
    else if (args[0][0] == '-')
        return cli_fail_argument(&cli_verb_explain, args[0]);
    else
        return explain(out, args[0]);
    return CLI_OK;
}

const cli_verb cli_verb_explain = {
    .name = "explain",
    .usage = "[KEY | --markdown]",
    .summary = "what a metric or a finding means: unit, formula, limits",
    .details = "Without KEY: the names, units and labels of all metrics, by group.\n"
               "\n"
               "  KEY         everything about one metric: any of its names, or the label or\n"
               "              heading that a table shows; or a kind of finding. Case does not\n"
               "              matter; put words with blanks into quotes\n"
               "  --markdown  the page of the documentation, with all metrics\n",
    .run = run,
};
