#include "cli.h"
#include "findings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "roast/grid.h"
#include "roast/json.h"
#include "roast/legacy.h"
#include "roast/render.h"
#include "roast/text.h"

enum { FAIL_ON = 1, JSON };

static const cli_option options[] = {
    {FAIL_ON, 'f', "fail-on", "WHAT",
     "end with 1 if there is a finding like that: kinds, separated by commas, or a severity (note, "
     "warning, critical), which stands for all that are as bad or worse; may be given several "
     "times"},
    {JSON, '\0', "json", NULL, "the findings as JSON, with why each matters"},
    {0},
};

typedef struct request {
    const char *path;
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

static cli_exit take_words(request *wanted, const char *words) {
    for (;;) {
        roast_str word = {words, strcspn(words, ",")};
        if (!take_severity(wanted, word) && !take_kind(wanted, word))
            return fail_on_what(word);
        if (words[word.len] == '\0')
            return CLI_OK;
        words += word.len + 1;
    }
}

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_diagnose, .n_args = n_args, .args = args};
    cli_exit code = CLI_OK;
    int id;
    while (code == CLI_OK && (id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        if (id == FAIL_ON)
            code = take_words(wanted, parser.value);
        else if (id == JSON)
            wanted->json = true;
        else if (id == CLI_ARGS_WRONG)
            code = CLI_USAGE;
        else if (wanted->path != NULL)
            code = cli_fail_argument(&cli_verb_diagnose, parser.value);
        else
            wanted->path = parser.value;
    }
    if (code == CLI_OK && wanted->path == NULL)
        return cli_fail(CLI_USAGE, "\"roast ls\" lists the measurements below a folder",
                        "no measurement was named");
    return code;
}

/* ---- the findings ---- */

static roast_status diagnose_run(roast_run *run, roast_findings **out, roast_error *err) {
    roast_status status = roast_diagnose_run(run, NULL, out, err);
    roast_run_free(run);
    return status;
}

static roast_status read_findings(const char *path, roast_findings **out, roast_error *err) {
    roast_store *store;
    roast_run *run;
    *out = NULL;
    if (roast_store_is_measurement(path) == ROAST_STORE_LEGACY) {
        ROAST_TRY(roast_legacy_load(path, &run, err));
        return diagnose_run(run, out, err);
    }
    ROAST_TRY(roast_store_open(path, &store, err));
    roast_status status = findings_saved(store, out, err);
    roast_store_close(store);
    if (status != ROAST_OK || *out != NULL)
        return status;
    ROAST_TRY(roast_store_load(path, &run, err));
    return diagnose_run(run, out, err);
}

/* ---- as text ---- */

enum { INDENT = 2, LABEL = 10 };

static roast_status put_text(roast_sink *out, const char *label, roast_str text, unsigned width,
                             roast_error *err) {
    roast_sink *clean;
    ROAST_TRY(roast_sink_new_memory(&clean, err));
    roast_text_put_clean(clean, text);
    roast_status status = roast_sink_finish(clean, err);
    if (status == ROAST_OK) {
        unsigned indent = label != NULL ? INDENT + LABEL : INDENT;
        roast_sink_printf(out, "%*s", INDENT, "");
        if (label != NULL)
            roast_sink_printf(out, "%-*s", LABEL, label);
        roast_text_put_wrapped(out, roast_sink_memory(clean), indent, indent, width);
        roast_sink_puts(out, "\n");
    }
    roast_sink_free(clean);
    return status;
}

static roast_status put_finding(roast_sink *out, const roast_finding *finding, unsigned width,
                                roast_error *err) {
    char saves[64];
    roast_sink_printf(out, "%s: %s", roast_severity_name(finding->severity),
                      roast_finding_kind_name(finding->kind));
    if (finding->saving_core_seconds > 0) {
        roast_format_value(roast_value_real(finding->saving_core_seconds), "s", saves,
                           sizeof saves);
        roast_sink_printf(out, ", up to %s of core time", saves);
    }
    roast_sink_printf(out, " (confidence %.0f%%)\n", finding->confidence * 100);
    ROAST_TRY(put_text(out, NULL, finding->title, width, err));
    ROAST_TRY(put_text(out, "seen", finding->evidence, width, err));
    ROAST_TRY(
        put_text(out, "why", roast_str_of(roast_finding_kind_why(finding->kind)), width, err));
    return put_text(out, "change", finding->advice, width, err);
}

static roast_status put_all(roast_sink *out, const roast_findings *findings, roast_error *err) {
    unsigned width = cli_terminal_width(STDOUT_FILENO);
    uint32_t count = roast_findings_count(findings);
    if (width < ROAST_GRID_MIN_WIDTH)
        width = ROAST_GRID_MIN_WIDTH;
    if (count == 0)
        roast_sink_puts(out, "nothing stands out\n");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            roast_sink_puts(out, "\n");
        ROAST_TRY(put_finding(out, roast_findings_at(findings, i), width, err));
    }
    return ROAST_OK;
}

/* ---- as JSON ---- */

static void put_json(roast_sink *out, const roast_findings *findings) {
    roast_json json;
    roast_json_init(&json, out, 3);
    roast_json_begin_object(&json);
    roast_json_key(&json, "findings");
    roast_json_begin_array(&json);
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *finding = roast_findings_at(findings, i);
        roast_json_begin_object(&json);
        roast_json_put_str(&json, "kind", roast_str_of(roast_finding_kind_name(finding->kind)));
        roast_json_put_str(&json, "severity", roast_str_of(roast_severity_name(finding->severity)));
        roast_json_put_str(&json, "title", finding->title);
        roast_json_put_str(&json, "evidence", finding->evidence);
        roast_json_put_str(&json, "advice", finding->advice);
        roast_json_put_real(&json, "saving_core_seconds", finding->saving_core_seconds);
        roast_json_put_real(&json, "confidence", finding->confidence);
        roast_json_put_str(&json, "why", roast_str_of(roast_finding_kind_why(finding->kind)));
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
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    roast_findings *findings;
    roast_error err;
    roast_status status = read_findings(wanted.path, &findings, &err);
    if (status == ROAST_OK && wanted.json)
        put_json(out, findings);
    else if (status == ROAST_OK)
        status = put_all(out, findings, &err);
    if (status == ROAST_OK && is_unwanted(&wanted, findings))
        code = CLI_NO;
    roast_findings_free(findings);
    return status == ROAST_OK
               ? code
               : cli_fail_error(&err, "\"roast ls\" lists the measurements below a folder");
}

const cli_verb cli_verb_diagnose = {
    .name = "diagnose",
    .usage = "RUN [OPTION ...]",
    .summary = "what held a run up, and what to change",
    .details = "RUN is the directory of a measurement. The findings are ranked, the worst first:\n"
               "each says what was seen, why it matters, what to change, and how much core time\n"
               "that would save at most.\n"
               "Kinds: chunks_too_small, chunks_too_large, before_process_dominates, io_bound,\n"
               "metadata_bound, decompression_bound, gil_contention, straggler_worker,\n"
               "straggler_host, straggler_file, long_tail, too_few_workers, too_many_workers,\n"
               "memory_pressure, spilling, unused_branches, reread_branches, preload,\n"
               "reduction_bound, lost_work, serialization_heavy, slow_section, measurement.\n"
               "Ends with 0, or with 1 where --fail-on names something that was found: for\n"
               "automatic tests of an analysis.\n",
    .options = options,
    .run = run,
};
