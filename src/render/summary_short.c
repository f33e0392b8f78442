/* The short form of the summary: findings, and what could be measured too, in a few lines. */
#include "render/grid_internal.h"
#include "render/summary.h"

enum { TOP_FINDINGS = 3, ADVICE_LINES = 2, TEXT_AT = 10 };

/* The columns of the table of findings. */
enum { SEVERITY, TITLE, ADVICE, SAVING };

/* ---- findings ---- */

/* "Chunks are too small (saves up to 12 s of core time)" */
static void put_title(const roast_grid *findings, uint32_t row, unsigned width, roast_sink *sink) {
    roast_str saving = roast_grid_text(findings, row, SAVING);
    roast_sink *title = NULL;
    roast_error err;
    roast_status status = roast_sink_new_memory(&title, &err);
    if (status == ROAST_OK) {
        roast_sink_str(title, roast_grid_text(findings, row, TITLE));
        if (!roast_str_equal(saving, roast_str_of("-"))) {
            roast_sink_puts(title, " (saves up to ");
            roast_sink_str(title, saving);
            roast_sink_puts(title, " of core time)");
        }
        status = roast_sink_finish(title, &err);
    }
    if (status == ROAST_OK)
        roast_text_put_wrapped(sink, roast_sink_memory(title), TEXT_AT, TEXT_AT, width);
    else
        roast_sink_fail(sink, status, err.message);
    roast_sink_free(title);
}

static void put_finding(const roast_grid *findings, uint32_t row, unsigned width, bool color,
                        roast_sink *sink) {
    roast_str severity = roast_grid_text(findings, row, SEVERITY);
    roast_sink_str(sink, severity);
    roast_sink_printf(sink, "%*s", TEXT_AT - (int)severity.len, "");
    roast_sink_puts(sink, color ? "\x1b[1m" : "");
    put_title(findings, row, width, sink);
    roast_sink_puts(sink, color ? "\x1b[0m" : "");
    roast_sink_printf(sink, "\n%*s", TEXT_AT, "");
    roast_text_put_lines(sink, roast_grid_text(findings, row, ADVICE), TEXT_AT, width,
                         ADVICE_LINES);
    roast_sink_puts(sink, "\n");
}

void roast_summary_draw_findings(const roast_grid *findings, uint32_t count, unsigned width,
                                 bool color, roast_sink *sink) {
    uint32_t shown = count < TOP_FINDINGS ? count : TOP_FINDINGS;
    for (uint32_t row = 0; row < shown; row++)
        put_finding(findings, row, width, color, sink);
    if (shown < count)
        roast_sink_printf(sink, "%*sand %u more\n", TEXT_AT, "", (unsigned)(count - shown));
}

/* ---- gaps ---- */

void roast_summary_draw_gaps(const roast_grid *gaps, unsigned width, roast_sink *sink) {
    for (uint32_t row = 0; row < roast_grid_row_count(gaps); row++) {
        roast_str label = roast_grid_text(gaps, row, 0);
        roast_sink_str(sink, label);
        roast_sink_puts(sink, ": ");
        roast_text_put_wrapped(sink, roast_grid_text(gaps, row, 1), roast_width_of(label) + 2, 2,
                               width);
        roast_sink_puts(sink, "\n");
    }
}
