#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "roast/export.h"
#include "source.h"

enum { JSON = 1, CSV, OPENMETRICS, TRACE, TABLE, SAFE, SAMPLES, OUTPUT };

static const cli_option options[] = {
    {JSON, '\0', "json", NULL,
     "all that was measured, in the shape of get_metrics(); what was not is absent"},
    {CSV, '\0', "csv", NULL, "one table (see --table), or all of them into a folder (see -o)"},
    {OPENMETRICS, '\0', "openmetrics", NULL, "the metrics as OpenMetrics text, for Prometheus"},
    {TRACE, '\0', "trace", NULL,
     "a trace in Chrome's format, for ui.perfetto.dev: a lane for each thread of a worker, slices "
     "for "
     "tasks, chunks and sections, counters for memory, CPU and throughput"},
    {TABLE, 't', "table", "TABLE", "with --csv: chunks (the default), sections, samples or reads"},
    {SAFE, '\0', "safe", NULL, CLI_SAFE_TEXT},
    {SAMPLES, '\0', "samples", NULL,
     "with --openmetrics: also the workers over time, every value with its moment"},
    {OUTPUT, 'o', "output", "PATH",
     "a file instead of standard output; with --csv and a folder: a file for each table there"},
    {0},
};

typedef struct request {
    const char *path;
    int form;
    int table; /* -1: not told */
    bool samples, safe;
    const char *output;
} request;

/* ---- arguments ---- */

static int find_table(const char *name) {
    for (int table = 0; table < ROAST_TABLES; table++)
        if (strcmp(roast_table_name(table), name) == 0)
            return table;
    return -1;
}

static cli_exit take_form(request *wanted, int form) {
    if (wanted->form != 0 && wanted->form != form)
        return cli_fail(CLI_USAGE, "export once for each of them",
                        "--%s and --%s do not go together", options[wanted->form - 1].name,
                        options[form - 1].name);
    wanted->form = form;
    return CLI_OK;
}

static cli_exit take_argument(request *wanted, const cli_parser *parser, int id) {
    switch (id) {
    case JSON:
    case CSV:
    case OPENMETRICS:
    case TRACE:
        return take_form(wanted, id);
    case TABLE:
        wanted->table = find_table(parser->value);
        if (wanted->table < 0)
            return cli_fail(CLI_USAGE, "there are chunks, sections, samples and reads",
                            "there is no table \"%s\"", parser->value);
        return CLI_OK;
    case SAFE:
        wanted->safe = true;
        return CLI_OK;
    case SAMPLES:
        wanted->samples = true;
        return CLI_OK;
    case OUTPUT:
        wanted->output = parser->value;
        return CLI_OK;
    default: /* CLI_ARGS_PLAIN */
        if (wanted->path != NULL)
            return cli_fail_argument(&cli_verb_export, parser->value);
        wanted->path = parser->value;
        return CLI_OK;
    }
}

static cli_exit check(const request *wanted) {
    if (wanted->path == NULL)
        return cli_fail(CLI_USAGE, "\"roast ls\" lists the measurements below a folder",
                        "no measurement was named");
    if (wanted->form == 0)
        return cli_fail(CLI_USAGE, "say --json, --csv, --openmetrics or --trace",
                        "the form was not named");
    if (wanted->table >= 0 && wanted->form != CSV)
        return cli_fail(CLI_USAGE, "say --csv as well", "--table is for --csv");
    if (wanted->safe && wanted->form != CSV)
        return cli_fail_safe();
    if (wanted->samples && wanted->form != OPENMETRICS)
        return cli_fail(CLI_USAGE, "say --openmetrics as well; --csv --table samples has them, too",
                        "--samples is for --openmetrics");
    return CLI_OK;
}

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_export, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        cli_exit code = id == CLI_ARGS_WRONG ? CLI_USAGE : take_argument(wanted, &parser, id);
        if (code != CLI_OK)
            return code;
    }
    return check(wanted);
}

/* ---- JSON ---- */

static roast_status put_files(source *from, roast_json_run *writer, roast_error *err) {
    const roast_chunklog *log;
    roast_file file;
    for (bool there;;) {
        ROAST_TRY(source_next_file(from, &log, &file, &there, err));
        if (!there)
            return ROAST_OK;
        ROAST_TRY(roast_json_run_file(writer, log, &file, err));
    }
}

static roast_status put_chunks(source *from, roast_json_run *writer, roast_error *err) {
    const roast_chunklog *log;
    roast_chunk chunk;
    for (bool there;;) {
        ROAST_TRY(source_next_chunk(from, &log, &chunk, &there, err));
        if (!there)
            return ROAST_OK;
        ROAST_TRY(roast_json_run_chunk(writer, log, &chunk, err));
    }
}

static roast_status put_run(source *from, roast_json_run *writer, roast_error *err) {
    const roast_series *series;
    roast_series *own;
    ROAST_TRY(put_files(from, writer, err));
    ROAST_TRY(source_series(from, &series, &own, err));
    roast_status status = roast_json_run_series(writer, series, err);
    roast_series_free(own);
    if (status == ROAST_OK)
        status = put_chunks(from, writer, err);
    return status == ROAST_OK ? roast_json_run_end(writer, err) : status;
}

static roast_status write_json(source *from, const roast_metrics *metrics, roast_sink *sink,
                               roast_error *err) {
    roast_json_run *writer;
    ROAST_TRY(roast_json_run_new(metrics, from->head, sink, &writer, err));
    roast_status status = put_run(from, writer, err);
    roast_json_run_free(writer);
    return status;
}

/* ---- CSV ---- */

static roast_status csv_files(source *from, roast_csv *csv, roast_error *err) {
    const roast_chunklog *log;
    roast_file file;
    for (bool there;;) {
        ROAST_TRY(source_next_file(from, &log, &file, &there, err));
        if (!there)
            return ROAST_OK;
        ROAST_TRY(roast_csv_file(csv, &file, err));
    }
}

static roast_status csv_chunks(source *from, roast_csv *csv, roast_error *err) {
    const roast_chunklog *log;
    roast_chunk chunk;
    for (bool there;;) {
        ROAST_TRY(source_next_chunk(from, &log, &chunk, &there, err));
        if (!there)
            return ROAST_OK;
        ROAST_TRY(roast_csv_chunk(csv, log, &chunk, err));
    }
}

static roast_status csv_beside(source *from, roast_csv *csv, roast_error *err) {
    const roast_chunklog *log = roast_run_sections_view(from->head);
    roast_chunk_cursor cursor;
    roast_chunk record;
    if (log == NULL)
        return ROAST_OK;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &record))
        ROAST_TRY(roast_csv_beside(csv, log, &record, err));
    return ROAST_OK;
}

static roast_status csv_series(source *from, roast_csv *csv, roast_error *err) {
    const roast_series *piece;
    roast_series *own;
    for (;;) {
        ROAST_TRY(source_next_series(from, &piece, &own, err));
        if (piece == NULL)
            return ROAST_OK;
        roast_csv_series(csv, piece);
        roast_series_free(own);
    }
}

static roast_status put_table(source *from, roast_table table, roast_csv *csv, roast_error *err) {
    source_rewind(from);
    if (table == ROAST_TABLE_samples)
        return csv_series(from, csv, err);
    if (table == ROAST_TABLE_chunks)
        ROAST_TRY(csv_files(from, csv, err));
    ROAST_TRY(csv_chunks(from, csv, err));
    return csv_beside(from, csv, err);
}

static roast_status write_csv(source *from, const request *wanted, bool terminal, roast_sink *sink,
                              roast_error *err) {
    roast_table table = wanted->table < 0 ? ROAST_TABLE_chunks : (roast_table)wanted->table;
    roast_csv *csv;
    ROAST_TRY(roast_csv_new(table, sink, &csv, err));
    if (wanted->safe || terminal)
        roast_csv_set_safe(csv);
    roast_status status = put_table(from, table, csv, err);
    roast_csv_free(csv);
    return status;
}

/* ---- OpenMetrics ---- */

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

static roast_status write_openmetrics(source *from, const roast_metrics *metrics,
                                      const request *wanted, roast_sink *sink, roast_error *err) {
    const roast_series *series = NULL;
    roast_series *own = NULL;
    char *whole = realpath(wanted->path, NULL);
    if (wanted->samples)
        ROAST_TRY(source_series(from, &series, &own, err));
    roast_openmetrics_write(metrics, from->head, name_of(whole != NULL ? whole : wanted->path),
                            series, sink);
    roast_series_free(own);
    free(whole);
    return ROAST_OK;
}

/* ---- trace ---- */

static roast_status find_lanes(source *from, roast_lanes *lanes, roast_error *err) {
    const roast_chunklog *log;
    roast_attempt attempt;
    roast_chunk chunk;
    roast_str worker;
    for (bool there = true; there;) {
        ROAST_TRY(source_next_attempt(from, &attempt, &worker, &there, err));
        if (there)
            ROAST_TRY(roast_lanes_add_attempt(lanes, &attempt, worker, err));
    }
    for (bool there = true; there;) {
        ROAST_TRY(source_next_chunk(from, &log, &chunk, &there, err));
        if (there)
            ROAST_TRY(roast_lanes_add_chunk(lanes, &chunk, err));
    }
    return roast_lanes_settle(lanes, err);
}

static roast_status trace_tasks(source *from, roast_lanes *lanes, roast_trace *trace,
                                roast_error *err) {
    const roast_chunklog *log;
    roast_attempt attempt;
    roast_chunk chunk;
    roast_str worker;
    roast_place place;
    for (bool there = true; there;) {
        ROAST_TRY(source_next_attempt(from, &attempt, &worker, &there, err));
        if (!there)
            break;
        ROAST_TRY(roast_lanes_next_attempt(lanes, &place, err));
        ROAST_TRY(roast_trace_attempt(trace, &attempt, &place, err));
    }
    for (bool there = true; there;) {
        ROAST_TRY(source_next_chunk(from, &log, &chunk, &there, err));
        if (!there)
            break;
        ROAST_TRY(roast_lanes_next_chunk(lanes, &place, err));
        ROAST_TRY(roast_trace_chunk(trace, log, &chunk, &place, err));
    }
    return roast_trace_end(trace, err);
}

static roast_status trace_series(source *from, roast_trace *trace, roast_error *err) {
    const roast_series *piece;
    roast_series *own;
    for (;;) {
        ROAST_TRY(source_next_series(from, &piece, &own, err));
        if (piece == NULL)
            return ROAST_OK;
        roast_status status = roast_trace_series(trace, piece, err);
        roast_series_free(own);
        ROAST_TRY(status);
    }
}

static roast_status write_trace(source *from, roast_sink *sink, roast_error *err) {
    roast_lanes *lanes;
    roast_trace *trace = NULL;
    ROAST_TRY(roast_lanes_new(&lanes, err));
    roast_status status = find_lanes(from, lanes, err);
    source_rewind(from);
    if (status == ROAST_OK)
        status = roast_trace_new(from->head, lanes, sink, &trace, err);
    if (status == ROAST_OK)
        status = trace_series(from, trace, err);
    if (status == ROAST_OK)
        status = trace_tasks(from, lanes, trace, err);
    roast_trace_free(trace);
    roast_lanes_free(lanes);
    return status;
}

/* ---- where to ---- */

static roast_status write_form(source *from, const request *wanted, bool terminal, roast_sink *sink,
                               roast_error *err) {
    roast_metrics *metrics;
    if (wanted->form == CSV)
        return write_csv(from, wanted, terminal, sink, err);
    if (wanted->form == TRACE)
        return write_trace(from, sink, err);
    ROAST_TRY(source_metrics(from, wanted->path, &metrics, err));
    roast_status status = wanted->form == JSON
                              ? write_json(from, metrics, sink, err)
                              : write_openmetrics(from, metrics, wanted, sink, err);
    roast_metrics_free(metrics);
    return status;
}

static roast_status write_file(source *from, const request *wanted, const char *path,
                               roast_error *err) {
    output to;
    ROAST_TRY(output_open(&to, path, err));
    roast_status status = write_form(from, wanted, isatty(to.fd), to.sink, err);
    roast_status closed = output_close(&to, status == ROAST_OK, status == ROAST_OK ? err : NULL);
    return status != ROAST_OK ? status : closed;
}

static bool is_folder(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static roast_status write_tables(source *from, const request *wanted, roast_error *err) {
    size_t size = strlen(wanted->output) + 32;
    char *path = roast_alloc(size);
    roast_status status = path != NULL ? ROAST_OK
                                       : roast_error_set(err, ROAST_ENOMEM, "export", -1,
                                                         "no memory for a file's name");
    for (int table = 0; status == ROAST_OK && table < ROAST_TABLES; table++) {
        request one = *wanted;
        one.table = table;
        snprintf(path, size, "%s/%s.csv", wanted->output, roast_table_name(table));
        status = write_file(from, &one, path, err);
    }
    roast_free(path);
    return status;
}

static roast_status write_out(source *from, const request *wanted, roast_sink *out,
                              roast_error *err) {
    if (wanted->output == NULL)
        return write_form(from, wanted, isatty(STDOUT_FILENO), out, err);
    if (wanted->form == CSV && wanted->table < 0 && is_folder(wanted->output))
        return write_tables(from, wanted, err);
    return write_file(from, wanted, wanted->output, err);
}

/* What could not be written is not the input's fault. */
static cli_exit fail(const roast_error *err) {
    if (err->status == ROAST_EIO &&
        (strcmp(err->where, "output") == 0 || strcmp(err->where, "sink") == 0))
        return cli_fail(CLI_INTERNAL, "make room, or send the output elsewhere",
                        "the output could not be written: %s", err->message);
    return cli_fail_error(err, NULL);
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.table = -1};
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    source from;
    roast_error err;
    roast_status status = source_open(&from, wanted.path, &err);
    if (status != ROAST_OK)
        return cli_fail_error(&err, "\"roast ls\" lists the measurements below a folder");
    status = write_out(&from, &wanted, out, &err);
    source_close(&from);
    return status == ROAST_OK ? CLI_OK : fail(&err);
}

const cli_verb cli_verb_export = {
    .name = "export",
    .usage = "RUN FORM [OPTION ...]",
    .summary = "a measurement for other programs: JSON, CSV, OpenMetrics, a trace",
    .details = "RUN is the directory of a measurement, of 0.1.x as well; FORM is one of --json,\n"
               "--csv, --openmetrics and --trace. A run of any size is written bit by bit; a\n"
               "file is there once it is whole.\n",
    .options = options,
    .run = run,
};
