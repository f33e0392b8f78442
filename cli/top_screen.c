/* What is shown of a run that goes on. */
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "roast/ending.h"
#include "roast/format.h"
#include "roast/grid.h"
#include "roast/progress.h"
#include "roast/summary.h"

enum { FAILURES = 3 };

static double metric(const measured *it, const char *key) {
    return roast_value_number(roast_metrics_get(it->metrics, key));
}

static void put_number(roast_sink *out, double value, const char *unit) {
    char text[64];
    roast_format_value(roast_value_real(value), unit, text, sizeof text);
    roast_sink_puts(out, text);
}

/* ---- the line ---- */

/* When the first chunk began; NaN: not known. */
static double first_chunk(const measured *it) {
    const roast_chunklog *log = it->run != NULL ? roast_run_chunks_view(it->run) : NULL;
    double first = NAN;
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    if (log == NULL)
        return first;
    roast_chunk_cursor_init_some(&cursor, log, ROAST_CHUNK_HAS(start_us));
    while (roast_chunk_cursor_next(&cursor, &chunk))
        if ((chunk.have & ROAST_CHUNK_HAS(start_us)) != 0)
            first = fmin(first, (double)chunk.start_us / 1e6);
    return first;
}

static void put_progress(const measured *it, const roast_ending_pieces *pieces, roast_sink *out) {
    if (pieces->all < 0 || pieces->done < 0)
        return;
    roast_sink_printf(out, "%" PRId64 " of %" PRId64 " chunks done", pieces->done, pieces->all);
    if (pieces->failed > 0)
        roast_sink_printf(out, ", %" PRId64 " failed", pieces->failed);
    double left = roast_progress_left_of(it->about, first_chunk(it));
    if (left > 0) {
        roast_sink_puts(out, ", about ");
        put_number(out, left, "s");
        roast_sink_puts(out, " left");
    }
    roast_sink_puts(out, " · ");
}

void top_put_line(const measured *it, top_look *before, roast_sink *out) {
    const roast_ending_pieces pieces = roast_ending_get_pieces(roast_run_ending_view(it->about));
    const top_look now = {metric(it, "wall_time"), metric(it, "total_events")};
    double rate = (now.events - before->events) / (now.when - before->when);
    double workers = metric(it, "avg_workers");
    put_progress(it, &pieces, out);
    if (isfinite(rate) && rate >= 0) {
        put_number(out, rate / 1e3, "kHz");
        roast_sink_puts(out, " now · ");
    }
    if (now.events > 0) {
        put_number(out, metric(it, "event_rate_wall_khz"), "kHz");
        roast_sink_puts(out, " so far · ");
    }
    if (workers > 0) {
        put_number(out, workers, "1");
        roast_sink_puts(out, " workers on average");
    } else
        roast_sink_puts(out, "no worker is known");
    if (now.when > before->when || isnan(before->when))
        *before = now;
}

/* ---- the screen ---- */

static void put_bar(double share, unsigned width, const char *rest, roast_sink *out) {
    double full = round(share * width);
    for (unsigned i = 0; i < width; i++)
        roast_sink_puts(out, i < full ? "█" : rest);
}

static void put_progress_bar(const measured *it, unsigned width, roast_sink *out) {
    const roast_ending_pieces pieces = roast_ending_get_pieces(roast_run_ending_view(it->about));
    if (pieces.all <= 0 || pieces.done < 0)
        return;
    put_bar((double)pieces.done / (double)pieces.all, width, "░", out);
    roast_sink_puts(out, "\n");
}

/* The largest parts of the budget, a bar each, in the order of all parts. */
static void put_budget(const measured *it, unsigned width, roast_sink *out) {
    enum { LABEL = 22, SHARE = 9 };
    const double least = 0.02;
    const roast_budget_row *budget =
        it->findings != NULL ? roast_findings_budget(it->findings) : NULL;
    if (budget == NULL || !(budget->available > 0))
        return;
    roast_sink_puts(out, "\nCore time\n");
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        double share = budget->parts[part] / budget->available;
        if (!(share >= least))
            continue;
        cli_put_padded(out, roast_budget_part_label((roast_budget_part)part), LABEL);
        roast_sink_printf(out, "%5.1f %%  ", 100 * share);
        put_bar(share, width > LABEL + SHARE ? width - LABEL - SHARE : 0, "", out);
        roast_sink_puts(out, "\n");
    }
}

/* The last ones that failed, the newest first. */
static void put_failures(const measured *it, unsigned width, roast_sink *out) {
    const roast_chunklog *log = it->run != NULL ? roast_run_chunks_view(it->run) : NULL;
    roast_chunk last[FAILURES], chunk;
    size_t count = 0;
    roast_chunk_cursor cursor;
    if (log == NULL)
        return;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk))
        if (chunk.error_type.data != NULL)
            last[count++ % FAILURES] = chunk;
    if (count > 0)
        roast_sink_printf(out, "\nFailed: %zu\n", count);
    for (size_t i = 0; i < count && i < FAILURES; i++) {
        const roast_chunk *one = &last[(count - 1 - i) % FAILURES];
        char text[512];
        snprintf(text, sizeof text, "%.*s: %.*s (%.*s)", (int)one->error_type.len,
                 one->error_type.data, (int)one->error_message.len,
                 one->error_message.data != NULL ? one->error_message.data : "",
                 (int)one->dataset.len, one->dataset.data != NULL ? one->dataset.data : "");
        roast_sink_puts(out, "  ");
        roast_text_put_wrapped(out, roast_str_of(text), 2, 2, width);
        roast_sink_puts(out, "\n");
    }
}

roast_status top_put_screen(const measured *it, const char *name, top_look *before, unsigned width,
                            bool color, roast_sink *out, roast_error *err) {
    static const char *const tables[] = {"time_sections", "workers"};
    roast_summary *summary;
    ROAST_TRY(roast_summary_new(it->metrics, it->about, it->findings, &summary, err));
    roast_text_put_wrapped(out, roast_str_of(name), 0, 0, width);
    roast_sink_puts(out, "\n");
    put_progress_bar(it, width, out);
    top_put_line(it, before, out);
    roast_sink_puts(out, "\n");
    put_failures(it, width, out);
    put_budget(it, width, out);
    for (uint32_t i = 0; i < roast_summary_count(summary); i++)
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
            const roast_grid *grid = roast_summary_at(summary, i);
            if (strcmp(roast_grid_id(grid), tables[k]) != 0 || !roast_grid_has_content(grid))
                continue;
            roast_sink_puts(out, "\n");
            roast_grid_draw(grid, width, color, out);
        }
    roast_summary_free(summary);
    return ROAST_OK;
}
