#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measured.h"
#include "roast/export.h"
#include "roast/grid.h"
#include "roast/sql.h"

enum { CSV = 1, JSON };

typedef struct request {
    const char *path, *query;
    const char *save; /* NULL: no database is written */
    int form;         /* 0: a table for people */
    bool no_header, safe;
    double timeout; /* 0: none */
    int64_t limit;
} request;

static const cli_option options[] = {
    {CLI_FORM, '\0', "csv", NULL, "the answer as CSV", offsetof(request, form), CSV},
    {CLI_FORM, '\0', "json", NULL, "the answer as JSON: a list of objects", offsetof(request, form),
     JSON},
    {CLI_FLAG, '\0', "safe", NULL, CLI_SAFE_TEXT, offsetof(request, safe)},
    {CLI_FLAG, '\0', "no-header", NULL, "without the names of the columns (not with --json)",
     offsetof(request, no_header)},
    {CLI_NUMBER, '\0', "timeout", "SECONDS", "stop if the query takes longer",
     offsetof(request, timeout), .least = 0, .most = 1e9},
    {CLI_INTEGER, '\0', "limit", "N", "only the first N rows", offsetof(request, limit), .least = 1,
     .most = 1e15},
    {CLI_TEXT, '\0', "save", "FILE",
     "write all tables into FILE, an SQLite database for other programs; without QUERY",
     offsetof(request, save)},
    {0},
};

static cli_exit take_arguments(request *wanted, int n_args, char **args) {
    cli_exit code = cli_read_options(&cli_verb_sql, wanted, &n_args, args);
    if (code != CLI_OK)
        return code;
    if (n_args == 0)
        return cli_fail_no_path();
    if (n_args > 2)
        return cli_fail(CLI_USAGE, "put the query into quotes: it is one argument",
                        "\"sql\" does not take \"%s\"", args[2]);
    wanted->path = args[0];
    wanted->query = args[1]; /* NULL: there is none */
    if (wanted->save != NULL && wanted->query != NULL)
        return cli_fail(CLI_USAGE, "use one of the two", "--save takes no query");
    return wanted->safe && wanted->form != CSV ? cli_fail_safe() : CLI_OK;
}

/* ---- the list of tables ---- */

static void put_list(roast_sink *out) {
    const roast_sql_table *table;
    for (uint32_t i = 0; (table = roast_sql_table_at(i)) != NULL; i++) {
        roast_sink_printf(out, "%s\n  ", table->name);
        cli_put_wrapped(out, table->columns, 2, 2);
    }
}

/* ---- answers ---- */

/* The answer to a query. */
typedef struct answer_reader {
    roast_sql *sql;
    uint32_t columns;
    char *digits; /* of the bytes that were shown last */
    int64_t left; /* rows that may still be shown */
} answer_reader;

/* Whether there is one more row to show. */
static roast_status next_row(answer_reader *from, bool *there, roast_error *err) {
    ROAST_TRY(roast_sql_next(from->sql, there, err));
    if (*there && from->left-- == 0) {
        cli_note("there are more rows");
        *there = false;
    }
    return ROAST_OK;
}

/* A cell of the row; bytes become a text of hexadecimal digits, valid until the next call. */
static roast_status read_cell(answer_reader *from, uint32_t column, roast_sql_cell *out,
                              roast_error *err) {
    *out = roast_sql_cell_at(from->sql, column);
    if (out->kind != ROAST_SQL_BLOB)
        return ROAST_OK;
    roast_free(from->digits);
    from->digits = out->text.len < SIZE_MAX / 2 - 1 ? roast_alloc(out->text.len * 2 + 1) : NULL;
    if (from->digits == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "sql", -1, "no memory for the answer");
    from->digits[0] = '\0';
    for (size_t i = 0; i < out->text.len; i++)
        snprintf(from->digits + 2 * i, 3, "%02x", (unsigned char)out->text.data[i]);
    *out = (roast_sql_cell){.kind = ROAST_SQL_TEXT, .text = roast_str_of(from->digits)};
    return ROAST_OK;
}

static void csv_cell(roast_csv_row *row, const roast_sql_cell *cell) {
    if (cell->kind == ROAST_SQL_INT)
        roast_csv_put_int(row, cell->integer);
    else if (cell->kind == ROAST_SQL_REAL)
        roast_csv_put_real(row, cell->real);
    else
        roast_csv_put_text(row, cell->kind == ROAST_SQL_TEXT ? cell->text : (roast_str){NULL, 0});
}

static roast_status put_csv(answer_reader *from, const request *wanted, roast_sink *out,
                            roast_error *err) {
    roast_csv_row row = {.sink = out, .safe = wanted->safe || isatty(STDOUT_FILENO)};
    roast_sql_cell cell;
    for (uint32_t i = 0; i < from->columns && !wanted->no_header; i++)
        roast_csv_put_text(&row, roast_str_of(roast_sql_column(from->sql, i)));
    if (!wanted->no_header)
        roast_csv_end_row(&row);
    for (bool there;;) {
        ROAST_TRY(next_row(from, &there, err));
        if (!there)
            return ROAST_OK;
        for (uint32_t i = 0; i < from->columns; i++) {
            ROAST_TRY(read_cell(from, i, &cell, err));
            csv_cell(&row, &cell);
        }
        roast_csv_end_row(&row);
    }
}

static void json_cell(roast_json *json, const roast_sql_cell *cell) {
    if (cell->kind == ROAST_SQL_INT)
        roast_json_int(json, cell->integer);
    else if (cell->kind == ROAST_SQL_REAL)
        roast_json_real(json, cell->real);
    else
        roast_json_str(json, cell->kind == ROAST_SQL_TEXT ? cell->text : (roast_str){NULL, 0});
}

static roast_status put_json(answer_reader *from, roast_sink *out, roast_error *err) {
    roast_json json;
    roast_sql_cell cell;
    roast_json_init(&json, out, 1);
    roast_json_begin_array(&json);
    for (bool there;;) {
        ROAST_TRY(next_row(from, &there, err));
        if (!there)
            break;
        roast_json_begin_object(&json);
        for (uint32_t i = 0; i < from->columns; i++) {
            ROAST_TRY(read_cell(from, i, &cell, err));
            roast_json_key(&json, roast_sql_column(from->sql, i));
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

static roast_status grid_cell(answer_reader *from, uint32_t column, roast_grid *grid,
                              roast_error *err) {
    char number[64];
    roast_sql_cell cell;
    roast_str text = {NULL, 0};
    ROAST_TRY(read_cell(from, column, &cell, err));
    if (cell.kind == ROAST_SQL_TEXT) {
        text = cell.text;
    } else if (cell.kind != ROAST_SQL_NULL) {
        number_text(&cell, number, sizeof number);
        text = roast_str_of(number);
    }
    return roast_grid_add_cell(grid, text, NULL, 0, err);
}

/* The first row tells which columns hold numbers. */
static roast_status fill_grid(answer_reader *from, const request *wanted, roast_grid *grid,
                              roast_error *err) {
    bool there;
    ROAST_TRY(next_row(from, &there, err));
    for (uint32_t i = 0; i < from->columns; i++) {
        roast_sql_kind kind = there ? roast_sql_cell_at(from->sql, i).kind : ROAST_SQL_NULL;
        bool number = kind == ROAST_SQL_INT || kind == ROAST_SQL_REAL;
        roast_str heading = roast_str_of(wanted->no_header ? "" : roast_sql_column(from->sql, i));
        ROAST_TRY(roast_grid_add_column(grid, heading,
                                        number ? ROAST_ALIGN_RIGHT : ROAST_ALIGN_NAME, err));
    }
    while (there) {
        for (uint32_t i = 0; i < from->columns; i++)
            ROAST_TRY(grid_cell(from, i, grid, err));
        ROAST_TRY(next_row(from, &there, err));
    }
    return ROAST_OK;
}

/* Whether the columns stay readable in so many columns of a terminal: 12 of each are enough to tell texts apart. */
static bool fits(const roast_grid *grid, unsigned width) {
    const size_t enough = 12, gap = 2;
    size_t needed = 0;
    for (uint32_t column = 0; column < roast_grid_column_count(grid); column++) {
        size_t most = roast_text_width(roast_grid_heading(grid, column));
        for (uint32_t row = 0; most < enough && row < roast_grid_row_count(grid); row++) {
            size_t own = roast_text_width(roast_grid_text(grid, row, column));
            most = own > most ? own : most;
        }
        needed += (most < enough ? most : enough) + gap;
    }
    return needed <= (size_t)width + gap;
}

/* A line for each column, a blank line between two rows. */
static void put_lines(const roast_grid *grid, unsigned width, roast_sink *out) {
    size_t longest = 0;
    if (roast_grid_row_count(grid) == 0)
        roast_sink_puts(out, "no rows\n");
    for (uint32_t column = 0; column < roast_grid_column_count(grid); column++) {
        size_t own = roast_text_width(roast_grid_heading(grid, column));
        longest = own > longest ? own : longest;
    }
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++) {
        roast_sink_puts(out, row > 0 ? "\n" : "");
        for (uint32_t column = 0; column < roast_grid_column_count(grid); column++) {
            roast_str heading = roast_grid_heading(grid, column);
            roast_sink_str(out, heading);
            roast_sink_printf(out, "%*s", (int)(longest - roast_text_width(heading)) + 2, "");
            roast_text_put_wrapped(out, roast_grid_text(grid, row, column), (unsigned)longest + 2,
                                   (unsigned)longest + 2, width);
            roast_sink_puts(out, "\n");
        }
    }
}

static roast_status put_table(answer_reader *from, const request *wanted, roast_sink *out,
                              roast_error *err) {
    roast_grid *grid;
    /* only a terminal limits the width */
    unsigned width = isatty(STDOUT_FILENO) ? cli_terminal_width(STDOUT_FILENO) : 0;
    ROAST_TRY(roast_grid_new("sql", (roast_str){NULL, 0}, &grid, err));
    roast_status status = fill_grid(from, wanted, grid, err);
    if (status == ROAST_OK && width > 0 && !wanted->no_header && !fits(grid, width))
        put_lines(grid, width, out);
    else if (status == ROAST_OK)
        roast_grid_draw(grid, width, cli_terminal_color(STDOUT_FILENO), out);
    roast_grid_free(grid);
    return status;
}

static roast_status answer(roast_sql *sql, const request *wanted, roast_sink *out,
                           roast_error *err) {
    roast_sql_set_time_limit(sql, wanted->timeout);
    ROAST_TRY(roast_sql_ask(sql, roast_str_of(wanted->query), err));
    answer_reader from = {
        .sql = sql, .columns = roast_sql_column_count(sql), .left = wanted->limit};
    roast_status status = wanted->form == CSV    ? put_csv(&from, wanted, out, err)
                          : wanted->form == JSON ? put_json(&from, out, err)
                                                 : put_table(&from, wanted, out, err);
    roast_free(from.digits);
    return status;
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

static cli_exit run(roast_sink *out, int n_args, char **args) {
    request wanted = {.limit = INT64_MAX};
    measured it;
    roast_sql *sql = NULL;
    roast_error err;
    cli_exit code = take_arguments(&wanted, n_args, args);
    if (code != CLI_OK)
        return code;
    if (measured_open(&it, wanted.path, NEED_RUN | NEED_METRICS, &err) != ROAST_OK)
        return cli_fail_error(&err, CLI_NEXT_LS);
    roast_status status = ROAST_OK;
    if (wanted.save != NULL) {
        status = roast_sql_save(it.run, it.metrics, wanted.save, &err);
    } else if (wanted.query == NULL) {
        put_list(out);
    } else {
        status = roast_sql_new(it.run, it.metrics, &sql, &err);
        if (status == ROAST_OK)
            status = answer(sql, &wanted, out, &err);
    }
    roast_sql_free(sql);
    measured_close(&it);
    return status == ROAST_OK ? CLI_OK : fail(&err);
}

const cli_verb cli_verb_sql = {
    .name = "sql",
    .usage = "RUN [QUERY] [OPTION ...]",
    .summary = "SQL queries on a measurement",
    .details = "QUERY is one SELECT in SQLite's dialect; it cannot change anything. Without it:\n"
               "the tables and their columns: chunks, sections, reads, attempts, ..., and\n"
               "\n"
               "  samples     the samples of each worker over time\n"
               "  metrics     key, value, unit and label of each metric\n"
               "\n"
               "Times are seconds since 1970. In a terminal, an answer that is too wide has a\n"
               "line for each value.\n",
    .options = options,
    .run = run,
};
