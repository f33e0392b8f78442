/* The manual page, made of what the verbs say of themselves. */
#include "cli.h"

#include <string.h>

/* ---- roff ---- */

/* Text between requests: a backslash is doubled, a minus stays one, a line never begins with a request. */
static void put_text(roast_sink *out, const char *text, size_t len, bool at_start) {
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (at_start && (c == '.' || c == '\''))
            roast_sink_puts(out, "\\&");
        if (c == '\\')
            roast_sink_puts(out, "\\e");
        else if (c == '-')
            roast_sink_puts(out, "\\-");
        else
            roast_sink_write(out, &c, 1);
        at_start = c == '\n';
    }
}

static void put_words(roast_sink *out, const char *text) {
    put_text(out, text, strlen(text), true);
}

/* Paragraphs; lines that are indented stay as they are. */
static void put_details(roast_sink *out, const char *text) {
    bool verbatim = false;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        bool indented = text[0] == ' ';
        if (len > 0 && indented != verbatim)
            roast_sink_puts(out, indented ? ".PP\n.nf\n" : ".fi\n.PP\n");
        else if (len == 0 && !verbatim && text[1] != ' ' && text[1] != '\0')
            roast_sink_puts(out, ".PP\n");
        if (len > 0)
            verbatim = indented;
        if (len > 0) {
            put_text(out, text, len, true);
            roast_sink_puts(out, "\n");
        }
        text += len + (text[len] == '\n');
    }
    if (verbatim)
        roast_sink_puts(out, ".fi\n");
}

static void put_option(roast_sink *out, const cli_option *option) {
    roast_sink_puts(out, ".TP\n");
    if (option->letter != '\0')
        roast_sink_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    roast_sink_puts(out, "\\fB\\-\\-");
    put_words(out, option->name);
    roast_sink_puts(out, "\\fR");
    if (option->value != NULL)
        roast_sink_printf(out, " \\fI%s\\fR", option->value);
    roast_sink_puts(out, "\n");
    put_words(out, option->text);
    roast_sink_puts(out, "\n");
}

/* A heading stands in quotes: one inside it would end it. */
static void put_heading(roast_sink *out, const char *text) {
    while (*text != '\0') {
        size_t len = strcspn(text, "\"");
        put_text(out, text, len, false);
        if (text[len] == '"')
            roast_sink_puts(out, "\\(dq");
        text += len + (text[len] == '"');
    }
}

static void put_verb(roast_sink *out, const cli_verb *verb) {
    roast_sink_printf(out, ".SS \"roast %s%s", verb->name, verb->usage[0] != '\0' ? " " : "");
    put_heading(out, verb->usage);
    roast_sink_puts(out, "\"\n");
    put_words(out, verb->summary);
    roast_sink_puts(out, ".\n.PP\n");
    put_details(out, verb->details);
    for (const cli_option *option = verb->options; option != NULL && option->id != 0; option++)
        put_option(out, option);
}

/* ---- what no verb says ---- */

typedef struct man_entry {
    const char *name, *text;
} man_entry;

static const man_entry environment[] = {
    {"COLUMNS", "how wide tables are, where the terminal does not say."},
    {"NO_COLOR", "if it is set, nothing is coloured."},
    {"TZ", "the zone of times that roastcoffea 0.1.x wrote, which have none."},
};

static const man_entry files[] = {
    {"RUN/run.sqlite", "everything that was measured; any SQLite can read it."},
    {"RUN/metrics.json", "every metric, for people and small programs."},
    {"RUN/metadata.json", "when, how long, and where the run comes from."},
    {"RUN/start_end_time.txt", "start and end in seconds since 1970, with a comma between them."},
    {"RUN/config.json", "the user's own configuration, where there is one."},
};

static const man_entry examples[] = {
    {"roast show measurements/2026-11-15_23-01-58", "every table of one run."},
    {"roast ls --filter 'wall>60' --sort gbps measurements",
     "the runs that took more than a minute, the fastest reader first."},
    {"roast sql RUN 'SELECT dataset, avg(duration) FROM chunks GROUP BY dataset'",
     "how long a chunk of each dataset took."},
    {"roast export RUN --trace -o trace.json", "a picture of the run for ui.perfetto.dev."},
    {"roast run -o measurements --name skim -- ./skim.sh input.root",
     "measures a step that is not Coffea."},
    {"roast import old_measurements -o measurements",
     "turns measurements of roastcoffea 0.1.x into ours."},
    {"roast explain chunk_duration_p95", "what this metric means."},
};

static void put_entries(roast_sink *out, const char *title, const man_entry *entries,
                        size_t count) {
    roast_sink_printf(out, ".SH %s\n", title);
    for (size_t i = 0; i < count; i++) {
        roast_sink_puts(out, ".TP\n\\fB");
        put_words(out, entries[i].name);
        roast_sink_puts(out, "\\fR\n");
        put_words(out, entries[i].text);
        roast_sink_puts(out, "\n");
    }
}

#define PUT_ENTRIES(out, title, entries)                                                           \
    put_entries(out, title, entries, sizeof(entries) / sizeof *(entries))

static void put_exit_codes(roast_sink *out) {
    roast_sink_puts(out, ".SH EXIT STATUS\n");
#define X(name, number, text) roast_sink_printf(out, ".TP\n\\fB%d\\fR\n%s.\n", number, text);
    CLI_EXIT_LIST(X)
#undef X
    roast_sink_puts(out, ".PP\n\\fBroast run\\fR ends with the exit status of the command, or 128 "
                         "and the number of the\nsignal that ended it.\n");
}

void cli_put_man(roast_sink *out) {
    roast_sink_puts(out, ".\\\" Written by \"roast help \\-\\-man\"; do not edit.\n"
                         ".TH ROAST 1 \"\" \"roastcoffea\" \"User Commands\"\n"
                         ".SH NAME\n"
                         "roast \\- the measuring instrument for Coffea analyses\n"
                         ".SH SYNOPSIS\n"
                         ".B roast\n\\fIVERB\\fR [\\fIARGUMENT\\fR ...]\n.br\n"
                         ".B roast help\n[\\fIVERB\\fR]\n.br\n"
                         ".B roast \\-\\-version\n"
                         ".SH DESCRIPTION\n"
                         "Shows, lists, converts and makes measurements of runs. A measurement, "
                         "\\fIRUN\\fR, is a directory that\nroastcoffea saved. Answers go to "
                         "standard output, everything else to standard error.\n"
                         ".SH VERBS\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        put_verb(out, *verb);
    put_exit_codes(out);
    PUT_ENTRIES(out, "ENVIRONMENT", environment);
    PUT_ENTRIES(out, "FILES", files);
    PUT_ENTRIES(out, "EXAMPLES", examples);
}
