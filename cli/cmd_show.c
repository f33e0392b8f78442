#include "cli.h"
#include "findings.h"

#include <string.h>
#include <unistd.h>

#include "roast/legacy.h"
#include "roast/measurement.h"
#include "roast/store.h"
#include "roast/summary.h"

enum { WIDTH = 1, COLOR, JSON };

static const cli_option options[] = {
    {WIDTH, 'w', "width", "N",
     "columns to draw in (COLUMNS, or what the terminal has, or 80); nothing is drawn narrower "
     "than "
     "40"},
    {COLOR, '\0', "color", "WHEN",
     "auto (the default: on a terminal, unless NO_COLOR is set), always or never"},
    {JSON, '\0', "json", NULL, "the same as JSON: every value with its key and unit"},
    {0},
};

typedef struct request {
    const char *path;
    unsigned width;
    bool color, json;
} request;

/* ---- arguments ---- */

static cli_exit take_color(request *wanted, const char *when) {
    if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        wanted->color = when[0] == 'a';
    else if (strcmp(when, "auto") != 0)
        return cli_fail(CLI_USAGE, "say auto, always or never", "--color does not take \"%s\"",
                        when);
    return CLI_OK;
}

static cli_exit take_option(request *wanted, const cli_parser *parser, int id) {
    int64_t width;
    switch (id) {
    case WIDTH:
        if (!cli_integer(parser, 1, 10000, &width))
            return CLI_USAGE;
        wanted->width = (unsigned)width;
        return CLI_OK;
    case COLOR:
        return take_color(wanted, parser->value);
    case JSON:
        wanted->json = true;
        return CLI_OK;
    default: /* CLI_ARGS_PLAIN */
        if (wanted->path != NULL)
            return cli_fail_argument(&cli_verb_show, parser->value);
        wanted->path = parser->value;
        return CLI_OK;
    }
}

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_show, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        cli_exit code = id == CLI_ARGS_WRONG ? CLI_USAGE : take_option(wanted, &parser, id);
        if (code != CLI_OK)
            return code;
    }
    if (wanted->path == NULL)
        return cli_fail(CLI_USAGE, "\"roast ls\" lists the measurements below a folder",
                        "no measurement was named");
    return CLI_OK;
}

/* ---- the metrics ---- */

/* What a summary is made from. */
typedef struct subject {
    roast_store *store;
    roast_run *run; /* the whole run, where it had to be read */
    roast_metrics *metrics;
    roast_findings *findings;
    const roast_run *about;
    const char *state; /* what is to be said of it; NULL: it is finished */
} subject;

static void forget(subject *it) {
    roast_metrics_free(it->metrics);
    roast_findings_free(it->findings);
    roast_run_free(it->run);
    roast_store_close(it->store);
}

static roast_status compute(subject *it, roast_error *err) {
    it->about = it->run;
    ROAST_TRY(roast_metrics_compute(it->run, &it->metrics, err));
    return roast_diagnose_run(it->run, it->metrics, &it->findings, err);
}

/* What was computed when the measurement was saved. *found is false where that was not, or by a program
 * that knows other metrics: then all of the run is needed. */
static roast_status read_saved(subject *it, bool *found, roast_error *err) {
    roast_str blob;
    *found = false;
    roast_status status = roast_store_blob(it->store, ROAST_METRICS_BLOB, &blob, err);
    if (status == ROAST_OK)
        status = roast_metrics_decode(blob.data, blob.len, &it->metrics, err);
    if (status == ROAST_ENOTFOUND || status == ROAST_EVERSION)
        return ROAST_OK;
    if (status != ROAST_OK)
        return status;
    ROAST_TRY(findings_saved(it->store, &it->findings, err));
    if (roast_metrics_is_current(it->metrics) && it->findings != NULL) {
        *found = true;
        it->about = roast_store_head(it->store);
        return ROAST_OK;
    }
    roast_metrics_free(it->metrics);
    roast_findings_free(it->findings);
    it->metrics = NULL;
    it->findings = NULL;
    return ROAST_OK;
}

static roast_status read_ours(subject *it, const char *path, roast_error *err) {
    static const char *const states[] = {
        [ROAST_STORE_FINISHED] = NULL,
        [ROAST_STORE_LIVE] = "live: this run is still being measured",
        [ROAST_STORE_UNFINISHED] = "unfinished: its writer ended before the run did",
    };
    bool found = false;
    ROAST_TRY(roast_store_open(path, &it->store, err));
    it->state = states[roast_store_get_state(it->store)];
    if (it->state == NULL)
        ROAST_TRY(read_saved(it, &found, err));
    if (found)
        return ROAST_OK;
    ROAST_TRY(roast_store_load(path, &it->run, err));
    return compute(it, err);
}

static roast_status read_subject(subject *it, const char *path, roast_error *err) {
    if (roast_store_is_measurement(path) != ROAST_STORE_LEGACY)
        return read_ours(it, path, err);
    ROAST_TRY(roast_legacy_load(path, &it->run, err));
    return compute(it, err);
}

/* ---- showing ---- */

static roast_status show(const subject *it, const request *wanted, roast_sink *out,
                         roast_error *err) {
    roast_summary *summary;
    roast_status status = roast_summary_new(it->metrics, it->about, &summary, err);
    if (status != ROAST_OK)
        return status;
    status = roast_summary_explain(summary, it->findings, err);
    if (status != ROAST_OK) {
        roast_summary_free(summary);
        return status;
    }
    if (wanted->json) {
        if (it->state != NULL)
            status = roast_summary_add_note(summary, roast_str_of(it->state), err);
        if (status == ROAST_OK)
            roast_summary_json(summary, out);
    } else {
        if (it->state != NULL)
            roast_sink_printf(out, "%s\n\n", it->state);
        roast_summary_draw(summary, wanted->width, wanted->color, out);
    }
    roast_summary_free(summary);
    return status;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.width = cli_terminal_width(STDOUT_FILENO),
                      .color = cli_terminal_color(STDOUT_FILENO)};
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    subject it = {0};
    roast_error err;
    roast_status status = read_subject(&it, wanted.path, &err);
    if (status == ROAST_OK)
        status = show(&it, &wanted, out, &err);
    forget(&it);
    return status == ROAST_OK
               ? CLI_OK
               : cli_fail_error(&err, "\"roast ls\" lists the measurements below a folder");
}

const cli_verb cli_verb_show = {
    .name = "show",
    .usage = "RUN [OPTION ...]",
    .summary = "the tables of a measurement, as print_summary() shows them",
    .details = "RUN is the directory of a measurement: finished, still being written, left by a\n"
               "program that was killed, or written by roastcoffea 0.1.x. What is shown is what\n"
               "print_summary() shows.\n",
    .options = options,
    .run = run,
};
