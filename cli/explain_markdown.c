#include "explain.h"

#include <string.h>

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

static void put_group(roast_sink *out, const roast_metric_info *first) {
    roast_sink_puts(out, "\n### ");
    put_escaped(out, explain_group_name(first));
    roast_sink_puts(out, "\n\n| names | type | unit | label | formula | what it cannot tell |\n"
                         "|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < roast_catalogue_count(); i++)
        if (explain_same_group(roast_catalogue_at(i), first))
            put_row(out, roast_catalogue_at(i));
}

void explain_put_markdown(roast_sink *out) {
    roast_sink_puts(out, "<!-- Written by \"roast explain --markdown\" from "
                         "src/metrics/catalogue.def; do not edit. -->\n"
                         "# Metrics\n\n"
                         "What was not measured is absent or `None`, never 0. A value has all the "
                         "names of its row.\nUnits are decimal: 1 MB is 10⁶ bytes.\n");
    const explain_scope *scope;
    for (size_t s = 0; (scope = explain_scope_at(s)) != NULL; s++) {
        roast_sink_printf(out, "\n## %s\n\nIn Python: `%s`.\n", scope->title, scope->path);
        for (uint32_t i = 0; i < roast_catalogue_count(); i++)
            if (explain_is_in(roast_catalogue_at(i), scope) && explain_group_starts(i))
                put_group(out, roast_catalogue_at(i));
    }
}
