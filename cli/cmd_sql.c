#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "roast/export.h"
#include "roast/grid.h"
#include "roast/sql.h"
#include "source.h"

enum { CSV = 1, JSON, SAFE, NO_HEADER, TIMEOUT };

static const cli_option options[] = {
    {CSV, '\0', "csv", NULL, "the answer as CSV"},
    {JSON, '\0', "json", NULL, "the answer as JSON: a list of objects"},
    {SAFE, '\0', "safe", NULL, CLI_SAFE_TEXT},
    {NO_HEADER, '\0', "no-header", NULL, "without the names of the columns (not with --json)"},
    {TIMEOUT, '\0', "timeout", "SECONDS", "give up when the answer takes longer"},
    {0},
};

typedef struct request {
    const char *path, *query;
    int form; /* 0: a table for people */
    bool no_header, safe;
    double timeout; /* 0: none */
} request;

/* ---- arguments ---- */

static cli_exit take_argument(request *wanted, const cli_parser *parser, int id) {
    switch (id) {
    case CSV:
    case JSON:
        if (wanted->form != 0 && wanted->form != id)
            return cli_fail(CLI_USAGE, "ask once for each of them",
                            "--csv and --json do not go together");
        wanted->form = id;
        return CLI_OK;
    case SAFE:
        wanted->safe = true;
        return CLI_OK;
    case NO_HEADER:
        wanted->no_header = true;
        return CLI_OK;
    case TIMEOUT:
        return cli_number(parser, 0, 1e9, &wanted->timeout) ? CLI_OK : CLI_USAGE;
    default: /* CLI_ARGS_PLAIN */
        if (wanted->path == NULL)
            wanted->path = parser->value;
        else if (wanted->query == NULL)
            wanted->query = parser->value;
        else
            return cli_fail(CLI_USAGE, "put the query into quotes: it is one argument",
                            "\"sql\" does not take \"%s\"", parser->value);
        return CLI_OK;
    }
}

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_parser parser = {.verb = &cli_verb_sql, .n_args = n_args, .args = args};
    int id;
    while ((id = cli_next_argument(&parser)) != CLI_ARGS_END) {
        cli_exit code = id == CLI_ARGS_WRONG ? CLI_USAGE : take_argument(wanted, &parser, id);
        if (code != CLI_OK)
            return code;
    }
    if (wanted->path == NULL)
        return cli_fail(CLI_USAGE, "\"roast ls\" lists the measurements below a folder",
                        "no measurement was named");
    return wanted->safe && wanted->form != CSV ? cli_fail_safe() : CLI_OK;
}

/* ---- the table of metrics ---- */

static roast_sql_cell value_cell(roast_value value) {
    if (value.kind == ROAST_VALUE_INT)
        return roast_sql_int(value.integer);
    return roast_sql_real(roast_value_number(value));
}

static roast_status add_metrics(roast_sql *sql, const roast_metrics *metrics, roast_error *err) {
    ROAST_TRY(roast_sql_add_table(sql, "metrics", "key value unit label", err));
    for (uint32_t i = 0; i < roast_catalogue_count(); i++) {
        const roast_metric_info *info = roast_catalogue_at(i);
        if (info->scope != ROAST_IN_METRICS ||
            (info->type != ROAST_TYPE_INT && info->type != ROAST_TYPE_REAL))
            continue;
        const roast_sql_cell row[] = {
            roast_sql_text(roast_str_of(info->key)),
            value_cell(roast_metrics_at(metrics, i)),
            roast_sql_text(roast_str_of(info->unit)),
            roast_sql_text(roast_str_of(info->label)),
        };
        ROAST_TRY(roast_sql_add_row(sql, row, err));
    }
    return ROAST_OK;
}

/* ---- the list of tables ---- */

static void put_tables(const roast_sql *sql, bool stored, roast_sink *out) {
    const roast_sql_table *table;
    for (uint32_t i = 0; (table = roast_sql_table_at(sql, i)) != NULL; i++) {
        if (table->stored != stored)
            continue;
        roast_sink_printf(out, "%s\n  ", table->name);
        cli_put_wrapped(out, table->columns, 2, 2);
    }
}

static void put_list(const roast_sql *sql, roast_sink *out) {
    put_tables(sql, false, out);
    roast_sink_puts(out, "\nAs they are stored: numbers of rows of other tables, packed lists\n\n");
    put_tables(sql, true, out);
}

/* ---- answers ---- */

/* Bytes as hexadecimal digits; the caller's, to be freed. NULL: no memory. */
static char *hexadecimal(roast_str bytes) {
    char *text = bytes.len < SIZE_MAX / 2 - 1 ? roast_alloc(bytes.len * 2 + 1) : NULL;
    for (size_t i = 0; text != NULL && i < bytes.len; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)bytes.data[i]);
    if (text != NULL && bytes.len == 0)
        text[0] = '\0';
    return text;
}

static void csv_cell(roast_csv_row *row, const roast_sql_cell *cell) {
    char *text;
    switch (cell->kind) {
    case ROAST_SQL_NULL:
        roast_csv_put_absent(row);
        return;
    case ROAST_SQL_INT:
        roast_csv_put_int(row, cell->integer);
        return;
    case ROAST_SQL_REAL:
        roast_csv_put_real(row, cell->real);
        return;
    case ROAST_SQL_TEXT:
        roast_csv_put_text(row, cell->text);
        return;
    case ROAST_SQL_BLOB:
        break;
    }
    text = hexadecimal(cell->text);
    if (text == NULL)
        roast_sink_fail(row->sink, ROAST_ENOMEM, "no memory for the answer");
    else
        roast_csv_put_text(row, roast_str_of(text));
    roast_free(text);
}

static roast_status put_csv(roast_sql *sql, const request *wanted, roast_sink *out,
                            roast_error *err) {
    roast_csv_row row = {.sink = out, .safe = wanted->safe || isatty(STDOUT_FILENO)};
    uint32_t columns = roast_sql_column_count(sql);
    for (uint32_t i = 0; i < columns && !wanted->no_header; i++)
        roast_csv_put_text(&row, roast_str_of(roast_sql_column(sql, i)));
    if (!wanted->no_header)
        roast_csv_end_row(&row);
    for (bool there;;) {
        ROAST_TRY(roast_sql_next(sql, &there, err));
        if (!there)
            return ROAST_OK;
        for (uint32_t i = 0; i < columns; i++) {
            roast_sql_cell cell = roast_sql_cell_at(sql, i);
            csv_cell(&row, &cell);
        }
        roast_csv_end_row(&row);
    }
}

static void json_cell(roast_json *json, const roast_sql_cell *cell) {
    char *text;
    switch (cell->kind) {
    case ROAST_SQL_NULL:
        roast_json_null(json);
        return;
    case ROAST_SQL_INT:
        roast_json_int(json, cell->integer);
        return;
    case ROAST_SQL_REAL:
        roast_json_real(json, cell->real);
        return;
    case ROAST_SQL_TEXT:
        roast_json_str(json, cell->text);
        return;
    case ROAST_SQL_BLOB:
        break;
    }
    text = hexadecimal(cell->text);
    if (text == NULL)
        roast_sink_fail(json->sink, ROAST_ENOMEM, "no memory for the answer");
    else
        roast_json_text(json, text);
    roast_free(text);
}

static roast_status put_json(roast_sql *sql, roast_sink *out, roast_error *err) {
    uint32_t columns = roast_sql_column_count(sql);
    roast_json json;
    roast_json_init(&json, out, 1);
    roast_json_begin_array(&json);
    for (bool there;;) {
        ROAST_TRY(roast_sql_next(sql, &there, err));
        if (!there)
            break;
        roast_json_begin_object(&json);
        for (uint32_t i = 0; i < columns; i++) {
            roast_sql_cell cell = roast_sql_cell_at(sql, i);
            roast_json_key(&json, roast_sql_column(sql, i));
            json_cell(&json, &cell);
        }
        roast_json_end_object(&json);
    }
    roast_json_end_array(&json);
    roast_json_end(&json);
    return ROAST_OK;
}

/* As SQLite's own program shows numbers: fifteen digits, and a point in a real. */
static void number_text(const roast_sql_cell *cell, char *out, size_t size) {
    if (cell->kind == ROAST_SQL_INT) {
        snprintf(out, size, "%" PRId64, cell->integer);
        return;
    }
    snprintf(out, size, "%.15g", cell->real);
    if (strspn(out, "-0123456789") == strlen(out) && isfinite(cell->real))
        snprintf(out, size, "%.15g.0", cell->real);
}

static roast_status grid_cell(roast_grid *grid, const roast_sql_cell *cell, roast_error *err) {
    char number[64], *text;
    if (cell->kind == ROAST_SQL_NULL)
        return roast_grid_add_cell(grid, (roast_str){NULL, 0}, NULL, 0, err);
    if (cell->kind == ROAST_SQL_TEXT)
        return roast_grid_add_cell(grid, cell->text, NULL, 0, err);
    if (cell->kind != ROAST_SQL_BLOB) {
        number_text(cell, number, sizeof number);
        return roast_grid_add_cell(grid, roast_str_of(number), NULL, 0, err);
    }
    text = hexadecimal(cell->text);
    if (text == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "sql", -1, "no memory for the answer");
    roast_status status = roast_grid_add_cell(grid, roast_str_of(text), NULL, 0, err);
    roast_free(text);
    return status;
}

/* The first row tells which columns hold numbers. */
static roast_status fill_grid(roast_sql *sql, const request *wanted, roast_grid *grid,
                              roast_error *err) {
    uint32_t columns = roast_sql_column_count(sql);
    bool there;
    ROAST_TRY(roast_sql_next(sql, &there, err));
    for (uint32_t i = 0; i < columns; i++) {
        roast_sql_kind kind = there ? roast_sql_cell_at(sql, i).kind : ROAST_SQL_NULL;
        bool number = kind == ROAST_SQL_INT || kind == ROAST_SQL_REAL;
        roast_str heading = roast_str_of(wanted->no_header ? "" : roast_sql_column(sql, i));
        ROAST_TRY(roast_grid_add_column(grid, heading,
                                        number ? ROAST_ALIGN_RIGHT : ROAST_ALIGN_NAME, err));
    }
    while (there) {
        for (uint32_t i = 0; i < columns; i++) {
            roast_sql_cell cell = roast_sql_cell_at(sql, i);
            ROAST_TRY(grid_cell(grid, &cell, err));
        }
        ROAST_TRY(roast_sql_next(sql, &there, err));
    }
    return ROAST_OK;
}

static roast_status put_table(roast_sql *sql, const request *wanted, roast_sink *out,
                              roast_error *err) {
    roast_grid *grid;
    bool terminal = isatty(STDOUT_FILENO);
    roast_grid_frame frame = roast_grid_frame_of(cli_terminal_width(STDOUT_FILENO));
    ROAST_TRY(roast_grid_new("sql", (roast_str){NULL, 0}, &grid, err));
    roast_status status = fill_grid(sql, wanted, grid, err);
    if (status == ROAST_OK) {
        /* Who is no terminal has all the width that it takes. */
        roast_grid_frame_fit(&frame, grid);
        roast_grid_draw(grid, terminal ? &frame : NULL, cli_terminal_color(STDOUT_FILENO), out);
    }
    roast_grid_free(grid);
    return status;
}

static roast_status answer(roast_sql *sql, const request *wanted, roast_sink *out,
                           roast_error *err) {
    ROAST_TRY(roast_sql_ask(sql, roast_str_of(wanted->query), err));
    if (wanted->form == CSV)
        return put_csv(sql, wanted, out, err);
    return wanted->form == JSON ? put_json(sql, out, err) : put_table(sql, wanted, out, err);
}

/* ---- the verb ---- */

static cli_exit fail(const roast_error *err) {
    char next[120] = "\"roast sql RUN\" lists the tables and their columns";
    if (err->status == ROAST_ELIMIT)
        return cli_fail(CLI_NO, "give it more time with --timeout", "%s", err->message);
    if (err->status != ROAST_EINVAL)
        return cli_fail_error(err, NULL);
    if (err->position >= 0)
        snprintf(next, sizeof next,
                 "at character %" PRId64 "; \"roast sql RUN\" lists the tables and their columns",
                 err->position + 1);
    return cli_fail(CLI_USAGE, next, "%s", err->message);
}

static roast_status prepare(source *from, const request *wanted, roast_sql **sql,
                            roast_error *err) {
    roast_metrics *metrics;
    ROAST_TRY(source_metrics(from, wanted->path, &metrics, err));
    roast_status status = roast_sql_new(from->store, sql, err);
    if (status == ROAST_OK)
        status = add_metrics(*sql, metrics, err);
    roast_metrics_free(metrics);
    return status;
}

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {0};
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    source from;
    roast_sql *sql = NULL;
    roast_error err;
    if (roast_store_is_measurement(wanted.path) == ROAST_STORE_LEGACY)
        return cli_fail(CLI_INPUT, "\"roast import\" makes one of ours of it",
                        "%s was written by roastcoffea 0.1.x: it has no tables", wanted.path);
    if (source_open(&from, wanted.path, &err) != ROAST_OK)
        return cli_fail_error(&err, "\"roast ls\" lists the measurements below a folder");
    roast_status status = prepare(&from, &wanted, &sql, &err);
    if (status == ROAST_OK) {
        roast_sql_set_time_limit(sql, wanted.timeout);
        if (wanted.query == NULL)
            put_list(sql, out);
        else
            status = answer(sql, &wanted, out, &err);
    }
    roast_sql_free(sql);
    source_close(&from);
    return status == ROAST_OK ? CLI_OK : fail(&err);
}

const cli_verb cli_verb_sql = {
    .name = "sql",
    .usage = "RUN [QUERY] [OPTION ...]",
    .summary = "questions in SQL to a measurement",
    .details = "QUERY is one SELECT of SQLite's dialect; nothing can be changed. Without it: the\n"
               "tables and their columns. Among them are chunks, sections, reads, attempts, and\n"
               "\n"
               "  samples     what each worker did over time\n"
               "  metrics     key, value, unit and label of each metric\n"
               "\n"
               "Times are seconds since 1970.\n",
    .options = options,
    .run = run,
};
