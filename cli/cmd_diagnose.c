#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measured.h"
#include "roast/grid.h"
#include "roast/json.h"
#include "roast/format.h"
#include "roast/summary.h"
#include "roast/text.h"

typedef struct request {
    bool json;
    bool kinds[ROAST_FINDING_KIND_COUNT]; /* to fail on */
    roast_severity least;                 /* to fail on; ROAST_SEVERITY_COUNT: on none */
} request;

/* ---- arguments ---- */

static bool take_severity(request *wanted, roast_str word) {
    for (int i = 0; i < ROAST_SEVERITY_COUNT; i++) {
        roast_severity severity = (roast_severity)i;
        if (!roast_str_equal(word, roast_str_of(roast_severity_name(severity))))
            continue;
        if (severity < wanted->least)
            wanted->least = severity;
        return true;
    }
    return false;
}

static bool take_kind(request *wanted, roast_str word) {
    for (int i = 0; i < ROAST_FINDING_KIND_COUNT; i++) {
        if (!roast_str_equal(word, roast_str_of(roast_finding_kind_name((roast_finding_kind)i))))
            continue;
        wanted->kinds[i] = true;
        return true;
    }
    return false;
}

static cli_exit fail_on_what(roast_str word) {
    roast_nearest nearest;
    char next[96] = "\"roast help diagnose\" lists all kinds";
    roast_nearest_init(&nearest, word);
    for (int i = 0; i < ROAST_FINDING_KIND_COUNT; i++)
        roast_nearest_offer(&nearest, roast_str_of(roast_finding_kind_name((roast_finding_kind)i)));
    for (int i = 0; i < ROAST_SEVERITY_COUNT; i++)
        roast_nearest_offer(&nearest, roast_str_of(roast_severity_name((roast_severity)i)));
    if (nearest.found.data != NULL)
        snprintf(next, sizeof next,
                 "did you mean \"%.*s\"? \"roast help diagnose\" lists all kinds",
                 (int)nearest.found.len, nearest.found.data);
    return cli_fail(CLI_USAGE, next, "there is no finding \"%.*s\"", (int)word.len, word.data);
}

static cli_exit take_words(void *wanted, const char *words) {
    for (;;) {
        roast_str word = {words, strcspn(words, ",")};
        if (!take_severity(wanted, word) && !take_kind(wanted, word))
            return fail_on_what(word);
        if (words[word.len] == '\0')
            return CLI_OK;
        words += word.len + 1;
    }
}

static const cli_option options[] = {
    {CLI_CALL, 'f', "fail-on", "WHAT",
     "exit with 1 if there is a finding of these kinds (separated by commas), or of at least this "
     "severity (note, warning, critical); may be given several times",
     .take = take_words},
    {CLI_FLAG, '\0', "json", NULL, "the findings as JSON, with why each matters",
     offsetof(request, json)},
    {0},
};

/* ---- as text ---- */

enum { INDENT = 2, LABEL = 10 };

static void put_text(roast_sink *out, const char *label, roast_str text, unsigned width) {
    unsigned indent = label != NULL ? INDENT + LABEL : INDENT;
    roast_sink_printf(out, "%*s", INDENT, "");
    if (label != NULL)
        roast_sink_printf(out, "%-*s", LABEL, label);
    roast_text_put_wrapped(out, text, indent, indent, width);
    roast_sink_puts(out, "\n");
}

static void put_finding(roast_sink *out, const roast_finding *finding, unsigned width) {
    char saves[64];
    roast_sink_printf(out, "%s: %s", roast_severity_name(finding->severity),
                      roast_finding_kind_name(finding->kind));
    if (finding->saving_core_seconds > 0) {
        roast_format_value(roast_value_real(finding->saving_core_seconds), "s", saves,
                           sizeof saves);
        roast_sink_printf(out, ", up to %s of core time", saves);
    }
    roast_sink_printf(out, " (confidence %.0f%%)\n", finding->confidence * 100);
    put_text(out, NULL, finding->title, width);
    put_text(out, "seen", finding->evidence, width);
    put_text(out, "why", roast_str_of(roast_finding_kind_why(finding->kind)), width);
    put_text(out, "change", finding->advice, width);
}

static void put_all(roast_sink *out, const roast_run *about, const roast_findings *findings) {
    roast_headline headline;
    unsigned width = cli_terminal_width(STDOUT_FILENO);
    uint32_t count = roast_findings_count(findings);
    if (width < ROAST_GRID_MIN_WIDTH)
        width = ROAST_GRID_MIN_WIDTH;
    roast_headline_init(&headline, about);
    roast_headline_draw(&headline, width, out);
    if (count == 0)
        roast_sink_puts(out, "nothing stands out\n");
    for (uint32_t i = 0; i < count; i++) {
        roast_sink_puts(out, i > 0 ? "\n" : "");
        put_finding(out, roast_findings_at(findings, i), width);
    }
    if (count > 0)
        roast_sink_puts(out, "\nMore: roast explain KIND\n");
}

/* ---- as JSON ---- */

static void put_json(roast_sink *out, const roast_run *about, const roast_findings *findings) {
    roast_json json;
    roast_json_init(&json, out, 3);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "outcome",
                        roast_end_name(roast_ending_outcome(roast_run_ending_view(about))));
    roast_json_put_array(&json, "findings");
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        roast_json_begin_object(&json);
        roast_json_put_text(&json, "kind", roast_finding_kind_name(finding->kind));
        roast_json_put_text(&json, "severity", roast_severity_name(finding->severity));
        roast_json_put_str(&json, "title", finding->title);
        roast_json_put_str(&json, "evidence", finding->evidence);
        roast_json_put_str(&json, "advice", finding->advice);
        roast_json_put_real(&json, "saving_core_seconds", finding->saving_core_seconds);
        roast_json_put_real(&json, "confidence", finding->confidence);
        roast_json_put_text(&json, "why", roast_finding_kind_why(finding->kind));
        roast_json_end_object(&json);
    }
    roast_json_end_array(&json);
    roast_json_end_object(&json);
    roast_json_end(&json);
}

/* ---- the verb ---- */

static bool is_unwanted(const request *wanted, const roast_findings *findings) {
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        if (wanted->kinds[finding->kind] || finding->severity >= wanted->least)
            return true;
    }
    return false;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.least = ROAST_SEVERITY_COUNT};
    measured it;
    roast_error err;
    const char *path;
    cli_exit code = cli_read_path(&cli_verb_diagnose, &wanted, n_args, args, &path);
    if (code != CLI_OK)
        return code;
    roast_status status = measured_open(&it, path, NEED_FINDINGS, &err);
    if (status == ROAST_OK && wanted.json)
        put_json(out, it.about, it.findings);
    else if (status == ROAST_OK)
        put_all(out, it.about, it.findings);
    if (status == ROAST_OK && is_unwanted(&wanted, it.findings))
        code = CLI_NO;
    measured_close(&it);
    return status == ROAST_OK ? code : cli_fail_error(&err, CLI_NEXT_LS);
}

const cli_verb cli_verb_diagnose = {
    .name = "diagnose",
    .usage = "RUN [OPTION ...]",
    .summary = "what slowed a run down, and what to change",
    .details = "RUN is the directory of a measurement. The worst findings come first: each gives\n"
               "the evidence, why it matters, what to change, and how much core time that would\n"
               "save at most.\n"
               "Kinds: chunks_too_small, chunks_too_large, before_process_dominates, io_bound,\n"
               "metadata_bound, decompression_bound, gil_contention, straggler_worker,\n"
               "straggler_host, straggler_file, straggler_storage, long_tail, too_few_workers,\n"
               "too_many_workers, memory_pressure, spilling, unused_branches, reread_branches,\n"
               "preload, reduction_bound, lost_work, serialization_heavy, slow_section,\n"
               "measurement, ramp_up, worker_overhead, skipped_files, preprocessing_bound,\n"
               "client_bound, cold_start.\n"
               "The exit code is 0, or 1 if there is a finding that --fail-on names: for\n"
               "automatic tests of an analysis.\n",
    .options = options,
    .run = run,
};
