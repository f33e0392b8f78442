#include "cli.h"

#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "roast/metrics.h"

bool explain_group_starts(uint32_t index) {
    const roast_metric_info *info = roast_catalogue_at(index);
    for (uint32_t i = 0; i < index; i++)
        if (explain_same_group(roast_catalogue_at(i), info))
            return false;
    return true;
}

bool explain_same_group(const roast_metric_info *a, const roast_metric_info *b) {
    return a->scope == b->scope && strcmp(a->group, b->group) == 0;
}

/* What stands in front of the name of a table inside a chunk. */
static const char in_chunk[] = "chunk.";

static bool is_inside_chunk(const roast_metric_info *info) {
    return info->scope == ROAST_IN_TABLE && strncmp(info->group, in_chunk, strlen(in_chunk)) == 0;
}

const char *explain_group_name(const roast_metric_info *info) {
    return info->group + (is_inside_chunk(info) ? strlen(in_chunk) : 0);
}

const explain_scope *explain_scope_at(size_t index) {
    static const explain_scope scopes[] = {
        {ROAST_IN_METRICS, false, "Metrics of a run", "get_metrics()[KEY]"},
        {ROAST_IN_TABLE, false, "Tables of a run", "get_metrics()[TABLE][NAME][KEY]"},
        {ROAST_IN_CHUNK, false, "Values of a chunk", "chunk_metrics[i][KEY]"},
        {ROAST_IN_TABLE, true, "Tables of a chunk", "chunk_metrics[i][TABLE][NAME or j][KEY]"},
        {ROAST_IN_SERIES, false, "Values of a worker over time", "tracking_data[KEY]"},
    };
    return index < sizeof scopes / sizeof *scopes ? &scopes[index] : NULL;
}

bool explain_is_in(const roast_metric_info *info, const explain_scope *scope) {
    return info->scope == scope->scope && is_inside_chunk(info) == scope->inside_chunk;
}

static const char *path_of(const roast_metric_info *info) {
    const explain_scope *scope;
    for (size_t s = 0; (scope = explain_scope_at(s)) != NULL; s++)
        if (explain_is_in(info, scope))
            return scope->path;
    return roast_metric_scope_name(info->scope);
}

/* ---- the list ---- */

enum { KEY_WIDTH = 37, UNIT_WIDTH = 8, LABEL_AT = 2 + KEY_WIDTH + 1 + UNIT_WIDTH + 1 };

static size_t put_column(roast_sink *out, const char *text, size_t width) {
    size_t own = cli_text_width(text);
    cli_put_padded(out, text, width);
    roast_sink_puts(out, " ");
    return (own > width ? own : width) + 1;
}

static void put_group(roast_sink *out, const roast_metric_info *first) {
    roast_sink_printf(out, "\n%s\n", explain_group_name(first));
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (!explain_same_group(info, first))
            continue;
        roast_sink_puts(out, "  ");
        size_t column = 2 + put_column(out, info->key, KEY_WIDTH);
        column += put_column(out, info->unit, UNIT_WIDTH);
        cli_put_wrapped(out, info->label, column, LABEL_AT);
    }
}

static void put_list(roast_sink *out) {
    const explain_scope *scope;
    for (size_t s = 0; (scope = explain_scope_at(s)) != NULL; s++) {
        roast_sink_printf(out, "%s%s: %s\n", s == 0 ? "" : "\n", scope->title, scope->path);
        for (uint32_t i = 0; i < roast_catalogue_count(); i++)
            if (explain_is_in(roast_catalogue_at(i), scope) && explain_group_starts(i))
                put_group(out, roast_catalogue_at(i));
    }
    roast_sink_puts(out,
                    "\n\"roast explain KEY\" tells the formula of one and what it cannot tell.\n");
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
    cli_put_wrapped(out, info->label, cli_text_width(info->key) + 2, 2);
    put_field(out, "found in", path_of(info));
    put_field(out, info->scope == ROAST_IN_TABLE ? "table" : "group", explain_group_name(info));
    put_field(out, "other names", info->aliases);
    put_field(out, "unit", info->unit);
    put_field(out, "type", roast_metric_type_name(info->type));
    put_field(out, "formula", info->formula);
    put_field(out, "caveat", info->caveat);
}

static cli_exit explain_key(roast_sink *out, const char *key) {
    bool found = false;
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (!has_name(info, key))
            continue;
        if (found)
            roast_sink_puts(out, "\n");
        put_metric(out, info);
        found = true;
    }
    if (found)
        return CLI_OK;
    const char *nearest = roast_catalogue_nearest(key);
    char next[160] = "\"roast explain\" lists what there is";
    if (nearest != NULL)
        snprintf(next, sizeof next, "did you mean \"%s\"? \"roast explain\" lists all names",
                 nearest);
    return cli_fail(CLI_INPUT, next, "no metric has the name \"%s\"", key);
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    if (n_args > 1)
        return cli_fail_argument(&cli_verb_explain, args[1]);
    if (n_args == 0)
        put_list(out);
    else if (strcmp(args[0], "--markdown") == 0)
        explain_put_markdown(out);
    else if (args[0][0] == '-')
        return cli_fail_argument(&cli_verb_explain, args[0]);
    else
        return explain_key(out, args[0]);
    return CLI_OK;
}

const cli_verb cli_verb_explain = {
    .name = "explain",
    .usage = "[KEY | --markdown]",
    .summary = "what a metric means: its unit, its formula, what it cannot tell",
    .details = "Without KEY: the names, units and labels of all metrics, by group.\n"
               "\n"
               "  KEY         all that is known of one metric; any of its names will do\n"
               "  --markdown  all of all metrics, as the page of the documentation\n",
    .run = run,
};
