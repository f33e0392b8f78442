#include "cli.h"

#include "roast/grid.h"

void cli_put_padded(roast_sink *out, const char *text, size_t width) {
    roast_sink_puts(out, text);
    for (size_t own = roast_text_width(roast_str_of(text)); own < width; own++)
        roast_sink_puts(out, " ");
}

void cli_put_wrapped(roast_sink *out, const char *text, size_t column, size_t indent) {
    roast_text_put_wrapped(out, roast_str_of(text), (unsigned)column, (unsigned)indent, CLI_WIDTH);
    roast_sink_puts(out, "\n");
}
