#include "cli.h"

#include <string.h>

static size_t width_of(const char *text, size_t len) {
    size_t width = 0;
    for (size_t i = 0; i < len; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

size_t cli_text_width(const char *text) {
    return width_of(text, strlen(text));
}

static void put_blanks(roast_sink *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        roast_sink_puts(out, " ");
}

void cli_put_padded(roast_sink *out, const char *text, size_t width) {
    size_t own = cli_text_width(text);
    roast_sink_puts(out, text);
    put_blanks(out, own < width ? width - own : 0);
}

void cli_put_wrapped(roast_sink *out, const char *text, size_t column, size_t indent) {
    bool line_is_empty = true;
    for (;;) {
        text += strspn(text, " \n");
        size_t len = strcspn(text, " \n");
        if (len == 0)
            break;
        size_t width = width_of(text, len);
        if (!line_is_empty && column + 1 + width > CLI_WIDTH) {
            roast_sink_puts(out, "\n");
            put_blanks(out, indent);
            column = indent;
            line_is_empty = true;
        }
        if (!line_is_empty) {
            roast_sink_puts(out, " ");
            column++;
        }
        roast_sink_write(out, text, len);
        column += width;
        line_is_empty = false;
        text += len;
    }
    roast_sink_puts(out, "\n");
}
