#include "roast/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "roast/grid.h"

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

/* What a spreadsheet takes for a formula, and runs. */
static bool looks_like_a_formula(roast_str text) {
    return text.len > 0 && memchr("=+-@", text.data[0], 4) != NULL;
}

/* As a terminal can show it: one line, no control characters. */
static void put_clean_letters(roast_sink *sink, roast_str text) {
    if (looks_like_a_formula(text))
        roast_sink_puts(sink, "'");
    for (size_t at = 0; at < text.len;) {
        const char *quote = memchr(text.data + at, '"', text.len - at);
        size_t end = quote != NULL ? (size_t)(quote - text.data) + 1 : text.len;
        roast_text_put_clean(sink, (roast_str){text.data + at, end - at});
        if (quote != NULL)
            roast_sink_puts(sink, "\""); /* once more */
        at = end;
    }
}

static void put_letters(roast_sink *sink, roast_str text) {
    const uint8_t *at = (const uint8_t *)text.data;
    for (size_t left = text.len, len; left > 0; at += len, left -= len) {
        for (len = 0; len < left && at[len] < 0x80 && at[len] != '"';)
            len++;
        if (len > 0 || roast_utf8_character(at, left, &len))
            roast_sink_write(sink, at, len);
        else
            roast_sink_puts(sink, ROAST_UTF8_REPLACEMENT);
        if (*at == '"')
            roast_sink_puts(sink, "\""); /* once more */
    }
}

void roast_csv_put_text(roast_csv_row *row, roast_str text) {
    begin_field(row);
    if (text.data == NULL)
        return;
    bool quotes = needs_quotes(text);
    if (quotes)
        roast_sink_puts(row->sink, "\"");
    if (row->safe)
        put_clean_letters(row->sink, text);
    else
        put_letters(row->sink, text);
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

void roast_csv_put_absent(roast_csv_row *row) {
    begin_field(row);
}

void roast_csv_end_row(roast_csv_row *row) {
    roast_sink_puts(row->sink, "\r\n");
    row->begun = false;
}
