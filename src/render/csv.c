#include "roast/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "render/moment.h"
#include "render/unicode.h"

/* ---- one row ---- */

static void begin_field(roast_csv_row *row) {
    if (row->begun)
        roast_sink_puts(row->sink, ",");
    row->begun = true;
}

static bool needs_quotes(roast_str text) {
    if (text.len == 0)
        return true; /* so that it is not an absent one */
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '"' || text.data[i] == ',' || text.data[i] == '\r' ||
            text.data[i] == '\n')
            return true;
    /* Readers that cut blanks leave those within quotes. */
    return text.data[0] == ' ' || text.data[text.len - 1] == ' ';
}

/* A spreadsheet would run such a text. */
static bool looks_like_a_formula(roast_str text) {
    return text.len > 0 && memchr("=+-@", text.data[0], 4) != NULL;
}

static void put_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    if (code == '"')
        roast_sink_puts(sink, "\"\"");
    else if (code == ROAST_BROKEN)
        roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
    else
        roast_sink_str(sink, bytes);
}

/* As a terminal can show it: one line, no control characters. */
static void put_clean_character(roast_sink *sink, uint32_t code, roast_str bytes) {
    if (code == '"')
        put_character(sink, code, bytes);
    else
        roast_put_clean_code(sink, code, bytes);
}

void roast_csv_put_text(roast_csv_row *row, roast_str text) {
    begin_field(row);
    if (text.data == NULL)
        return;
    bool quotes = needs_quotes(text);
    if (quotes)
        roast_sink_puts(row->sink, "\"");
    if (row->safe && looks_like_a_formula(text))
        roast_sink_puts(row->sink, "'");
    roast_text_put_by(row->sink, text, "\"", row->safe ? put_clean_character : put_character);
    if (quotes)
        roast_sink_puts(row->sink, "\"");
}

void roast_csv_put_int(roast_csv_row *row, int64_t value) {
    begin_field(row);
    roast_sink_printf(row->sink, "%" PRId64, value);
}

void roast_csv_put_real(roast_csv_row *row, double value) {
    char text[ROAST_NUMBER_TEXT];
    begin_field(row);
    if (isnan(value))
        return;
    roast_sink_write(row->sink, text, roast_number_text(value, text));
}

void roast_csv_end_row(roast_csv_row *row) {
    roast_sink_puts(row->sink, "\r\n");
    row->begun = false;
}

/* ---- a table ---- */

static void put_cell(roast_csv_row *out, const roast_column *column, uint64_t row) {
    char moment[ROAST_MOMENT_TEXT];
    if (!roast_column_has(column, row)) {
        begin_field(out);
        return;
    }
    switch (column->cell) {
    case ROAST_CELL_INT:
        roast_csv_put_int(out, ((const int64_t *)column->values)[row]);
        return;
    case ROAST_CELL_REAL:
        roast_csv_put_real(out, ((const double *)column->values)[row]);
        return;
    case ROAST_CELL_TIME:
        roast_moment_text((roast_utc){((const int64_t *)column->values)[row]}, "Z", moment);
        roast_csv_put_text(out, roast_str_of(moment));
        return;
    case ROAST_CELL_TEXT:
        break;
    }
    roast_csv_put_text(out, roast_column_text(column, ((const int32_t *)column->values)[row]));
}

roast_status roast_csv_table(const roast_run *run, roast_table table, bool safe, roast_sink *sink,
                             roast_error *err) {
    roast_csv_row out = {.sink = sink, .safe = safe};
    roast_columns *columns;
    ROAST_TRY(roast_columns_new(run, table, &columns, err));
    uint32_t count = roast_columns_count(columns);
    for (uint32_t i = 0; i < count; i++)
        roast_csv_put_text(&out, roast_str_of(roast_columns_at(columns, i)->name));
    roast_csv_end_row(&out);
    for (uint64_t row = 0; row < roast_columns_rows(columns); row++) {
        for (uint32_t i = 0; i < count; i++)
            put_cell(&out, roast_columns_at(columns, i), row);
        roast_csv_end_row(&out);
    }
    roast_columns_free(columns);
    return ROAST_OK;
}
