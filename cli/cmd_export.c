#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measured.h"
#include "output.h"
#include "roast/export.h"

enum { JSON = 1, CSV, OPENMETRICS, TRACE };

typedef struct request {
    const char *path;
    int form;
    int table; /* -1: not told */
    bool all, samples, safe;
    const char *output;
} request;

/* ---- arguments ---- */

static cli_exit take_table(void *request_, const char *name) {
    request *wanted = request_;
    for (int table = 0; table < ROAST_TABLES; table++)
        if (strcmp(roast_table_name(table), name) == 0) {
            wanted->table = table;
            return CLI_OK;
        }
    return cli_fail(CLI_USAGE, "the tables are chunks, sections, samples and reads",
                    "there is no table \"%s\"", name);
}

static const cli_option options[] = {
    {CLI_FORM, '\0', "json", NULL, "all measured data, in the form of get_metrics()",
     offsetof(request, form), JSON},
    {CLI_FORM, '\0', "csv", NULL, "one table (see --table), or all of them into a folder (see -o)",
     offsetof(request, form), CSV},
    {CLI_FORM, '\0', "openmetrics", NULL, "the metrics as OpenMetrics text, for Prometheus",
     offsetof(request, form), OPENMETRICS},
    {CLI_FORM, '\0', "trace", NULL,
     "a trace in Chrome's format, for ui.perfetto.dev: a lane for each thread of a worker, slices "
     "for tasks, chunks and sections, counters for memory, CPU and throughput",
     offsetof(request, form), TRACE},
    {CLI_CALL, 't', "table", "TABLE",
     "with --csv: chunks (the default), sections, samples or reads", .take = take_table},
    {CLI_FLAG, '\0', "safe", NULL, CLI_SAFE_TEXT, offsetof(request, safe)},
    {CLI_FLAG, '\0', "all", NULL,
     "with --openmetrics: also sections, storage, files, branches, workers and tasks, and every "
     "dataset beyond 100; each becomes a label",
     offsetof(request, all)},
    {CLI_FLAG, '\0', "samples", NULL,
     "with --openmetrics: also the samples of the workers, each with its time",
     offsetof(request, samples)},
    {CLI_TEXT, 'o', "output", "PATH",
     "a file instead of standard output; with --csv and a folder: a file for each table there",
     offsetof(request, output)},
    {0},
};

static cli_exit check(const request *wanted) {
    if (wanted->form == 0)
        return cli_fail(CLI_USAGE, "add --json, --csv, --openmetrics or --trace",
                        "the form is missing");
    if (wanted->table >= 0 && wanted->form != CSV)
        return cli_fail(CLI_USAGE, "add --csv", "--table is for --csv");
    if (wanted->safe && wanted->form != CSV)
        return cli_fail_safe();
    if (wanted->all && wanted->form != OPENMETRICS)
        return cli_fail(CLI_USAGE, "add --openmetrics", "--all is for --openmetrics");
    if (wanted->samples && wanted->form != OPENMETRICS)
        return cli_fail(CLI_USAGE, "add --openmetrics, or use --csv --table samples",
                        "--samples is for --openmetrics");
    return CLI_OK;
}

/* ---- one form ---- */

/* The last part of the path. */
static roast_str name_of(const char *path) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return (roast_str){path + start, end - start};
}

static void write_openmetrics(const measured *it, const request *wanted, roast_sink *sink) {
    char *whole = realpath(wanted->path, NULL);
    int form = ROAST_OPENMETRICS | (wanted->all ? ROAST_OPENMETRICS_TABLES : 0) |
               (wanted->samples ? ROAST_OPENMETRICS_SAMPLES : 0);
    roast_openmetrics_write(it->metrics, it->findings, it->about,
                            name_of(whole != NULL ? whole : wanted->path), (roast_exposition)form,
                            sink);
    free(whole);
}

static roast_status write_form(const measured *it, const request *wanted, bool terminal,
                               roast_sink *sink, roast_error *err) {
    roast_table table = wanted->table < 0 ? ROAST_TABLE_chunks : (roast_table)wanted->table;
    switch (wanted->form) {
    case JSON:
        return roast_json_run(it->metrics, it->run, sink, err);
    case CSV:
        return roast_csv_table(it->run, table, wanted->safe || terminal, sink, err);
    case OPENMETRICS:
        write_openmetrics(it, wanted, sink);
        return ROAST_OK;
    default:
        return roast_trace_write(it->run, sink, err);
    }
}

static unsigned needs_of(const request *wanted) {
    if (wanted->form == OPENMETRICS)
        return NEED_METRICS | NEED_FINDINGS | (wanted->samples ? NEED_RUN : 0u);
    return wanted->form == JSON ? NEED_METRICS | NEED_RUN : NEED_RUN;
}

/* ---- where to ---- */

static roast_status write_file(const measured *it, const request *wanted, const char *path,
                               roast_error *err) {
    output to;
    ROAST_TRY(output_open(&to, path, err));
    roast_status status = write_form(it, wanted, isatty(to.fd), to.sink, err);
    roast_status closed = output_close(&to, status == ROAST_OK, status == ROAST_OK ? err : NULL);
    return status != ROAST_OK ? status : closed;
}

static bool is_folder(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static roast_status write_tables(const measured *it, const request *wanted, roast_error *err) {
    size_t size = strlen(wanted->output) + 32;
    char *path = roast_alloc(size);
    roast_status status = path != NULL ? ROAST_OK
                                       : roast_error_set(err, ROAST_ENOMEM, "export", -1,
                                                         "no memory for a file's name");
    for (int table = 0; status == ROAST_OK && table < ROAST_TABLES; table++) {
        request one = *wanted;
        one.table = table;
        snprintf(path, size, "%s/%s.csv", wanted->output, roast_table_name(table));
        status = write_file(it, &one, path, err);
    }
    roast_free(path);
    return status;
}

static roast_status write_out(const measured *it, const request *wanted, roast_sink *out,
                              roast_error *err) {
    if (wanted->output == NULL)
        return write_form(it, wanted, isatty(STDOUT_FILENO), out, err);
    if (wanted->form == CSV && wanted->table < 0 && is_folder(wanted->output))
        return write_tables(it, wanted, err);
    return write_file(it, wanted, wanted->output, err);
}

/* A failed output has an exit code of its own. */
static cli_exit fail(const roast_error *err) {
    if (err->status == ROAST_EIO &&
        (strcmp(err->where, "output") == 0 || strcmp(err->where, "sink") == 0))
        return cli_fail(CLI_INTERNAL, "free some space, or write the output elsewhere",
                        "the output could not be written: %s", err->message);
    return cli_fail_error(err, NULL);
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.table = -1};
    measured it;
    roast_error err;
    cli_exit code = cli_read_path(&cli_verb_export, &wanted, n_args, args, &wanted.path);
    if (code == CLI_OK)
        code = check(&wanted);
    if (code != CLI_OK)
        return code;
    if (measured_open(&it, wanted.path, needs_of(&wanted), &err) != ROAST_OK)
        return cli_fail_error(&err, CLI_NEXT_LS);
    roast_status status = write_out(&it, &wanted, out, &err);
    measured_close(&it);
    return status == ROAST_OK ? CLI_OK : fail(&err);
}

const cli_verb cli_verb_export = {
    .name = "export",
    .usage = "RUN FORM [OPTION ...]",
    .summary = "a measurement for other programs: JSON, CSV, OpenMetrics, a trace",
    .details = "RUN is the directory of a measurement, also of 0.1.x; FORM is one of --json,\n"
               "--csv, --openmetrics and --trace. With --output the file appears when it is\n"
               "complete.\n",
    .options = options,
    .run = run,
};
