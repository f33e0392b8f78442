/* What is shown of a run that goes on. */
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roast/ending.h"
#include "roast/format.h"
#include "roast/grid.h"
#include "roast/progress.h"
#include "roast/summary.h"

enum { FAILURES = 3, LEAST_WIDTH = 40 };
static const char bold[] = "\x1b[1m", plain[] = "\x1b[0m";

static double metric(const measured *it, const char *key) {
    return roast_value_number(roast_metrics_get(it->metrics, key));
}

static void put_number(roast_sink *out, double value, const char *unit) {
    char text[64];
    roast_format_value(roast_value_real(value), unit, text, sizeof text);
    roast_sink_puts(out, text);
}

/* ---- progress and rates ---- */

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

/* `behind` follows what is written, if anything is. */
static void put_progress(const measured *it, const char *behind, roast_sink *out) {
    const roast_ending_pieces pieces = roast_ending_get_pieces(roast_run_ending_view(it->about));
    if (pieces.all < 0 || pieces.done < 0)
        return;
    roast_sink_printf(out, "%" PRId64 " of %" PRId64 " chunks done", pieces.done, pieces.all);
    if (pieces.failed > 0)
        roast_sink_printf(out, ", %" PRId64 " failed", pieces.failed);
    double left = roast_progress_left_of(it->about, first_chunk(it));
    if (left > 0) {
        roast_sink_puts(out, ", about ");
        put_number(out, left, "s");
        roast_sink_puts(out, " left");
    }
    roast_sink_puts(out, behind);
}

void top_take(const measured *it, top_look *look) {
    const double when = metric(it, "wall_time"), events = metric(it, "total_events");
    look->live = it->store != NULL && roast_store_get_state(it->store) == ROAST_STORE_LIVE;
    if (when > look->when)
        look->rate = (events - look->events) / (when - look->when);
    if (when > look->when || isnan(look->when)) {
        look->when = when;
        look->events = events;
    }
}

/* At the last sample; NaN: not known. */
static double workers_now(const measured *it) {
    const roast_series *series = it->run != NULL ? roast_run_series_view(it->run) : NULL;
    uint64_t ticks = series != NULL ? roast_series_tick_count(series) : 0;
    return ticks > 0 ? roast_series_tick_workers(series, ticks - 1) : (double)NAN;
}

static void put_rates(const measured *it, const top_look *look, roast_sink *out) {
    double now = look->live ? workers_now(it) : (double)NAN, average = metric(it, "avg_workers");
    if (look->rate >= 0) {
        put_number(out, look->rate / 1e3, "kHz");
        roast_sink_puts(out, " now · ");
    }
    if (metric(it, "total_events") > 0) {
        put_number(out, metric(it, "event_rate_wall_khz"), "kHz");
        roast_sink_puts(out, " so far · ");
    }
    if (now >= 0)
        roast_sink_printf(out, "%.0f worker%s now", now, now == 1 ? "" : "s");
    if (average > 0) {
        roast_sink_puts(out, now >= 0 ? ", " : "");
        put_number(out, average, "1");
        roast_sink_puts(out, now >= 0 ? " on average" : " workers on average");
    } else if (!(now >= 0))
        roast_sink_puts(out, "no worker is known");
    roast_sink_puts(out, "\n");
}

void top_put_line(const measured *it, const top_look *look, roast_sink *out) {
    put_progress(it, " · ", out);
    put_rates(it, look, out);
}

/* ---- parts of the screen ---- */

typedef struct frame {
    const measured *it;
    unsigned width, lines; /* lines 0: as many as are needed */
    bool color;
} frame;

/* A text in one line; what does not fit is cut. */
static void put_cut(roast_sink *out, roast_str text, unsigned width) {
    size_t end = text.len;
    if (roast_text_width(text) > width)
        do {
            for (end--; end > 0 && (text.data[end] & 0xc0) == 0x80;)
                end--;
        } while (end > 0 && roast_text_width((roast_str){text.data, end}) >= width);
    roast_sink_str(out, (roast_str){text.data, end});
    roast_sink_puts(out, end < text.len ? "…\n" : "\n");
}

/* The same for a text from outside. */
static void put_clean_cut(roast_sink *out, const char *text, unsigned width) {
    roast_sink *clean;
    roast_error err;
    roast_status status = roast_sink_new_memory(&clean, &err);
    if (status != ROAST_OK) {
        roast_sink_fail(out, status, err.message);
        return;
    }
    roast_text_put_clean(clean, roast_str_of(text));
    put_cut(out, roast_sink_memory(clean), width);
    roast_sink_free(clean);
}

/* `more`: rows that are not shown. */
static void put_more(unsigned more, roast_sink *out) {
    if (more > 0)
        roast_sink_printf(out, " · %u more", more);
}

static void put_heading(const frame *on, const char *text, unsigned more, roast_sink *out) {
    roast_sink_printf(out, "%s%s%s", on->color ? bold : "", text, on->color ? plain : "");
    put_more(more, out);
    roast_sink_puts(out, "\n");
}

static void put_bar(double share, unsigned width, const char *rest, roast_sink *out) {
    double full = round(share * width);
    for (unsigned i = 0; i < width; i++)
        roast_sink_puts(out, i < full ? "█" : rest);
}

static void put_progress_bar(const frame *on, roast_sink *out) {
    const roast_ending_pieces pieces =
        roast_ending_get_pieces(roast_run_ending_view(on->it->about));
    if (pieces.all <= 0 || pieces.done < 0)
        return;
    put_bar((double)pieces.done / (double)pieces.all, on->width, "░", out);
    roast_sink_puts(out, "\n");
}

/* Name, progress and rates. */
static void put_head(const frame *on, const char *name, const top_look *look, roast_sink *out) {
    const char *last = strrchr(name, '/');
    bool fits = roast_text_width(roast_str_of(name)) <= on->width;
    put_clean_cut(out, fits || last == NULL || last[1] == '\0' ? name : last + 1, on->width);
    put_progress_bar(on, out);
    put_progress(on->it, "\n", out);
    put_rates(on->it, look, out);
}

/* How many parts of the budget are larger than this one. */
static unsigned rank_of(const roast_budget_row *budget, int part) {
    unsigned larger = 0;
    for (int other = 0; other < ROAST_PART_COUNT; other++)
        if (budget->parts[other] > budget->parts[part] ||
            (other < part && budget->parts[other] == budget->parts[part]))
            larger++;
    return larger;
}

/* The `most` largest parts of the budget, a bar each, in the order of all parts. */
static void put_budget(const frame *on, unsigned most, roast_sink *out) {
    enum { LABEL = 22, SHARE = 9 };
    const double least = 0.02;
    const roast_budget_row *budget =
        on->it->findings != NULL ? roast_findings_budget(on->it->findings) : NULL;
    if (budget == NULL || !(budget->available > 0))
        return;
    unsigned count = 0;
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        count += budget->parts[part] / budget->available >= least;
    put_heading(on, "Core time", count > most ? count - most : 0, out);
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        double share = budget->parts[part] / budget->available;
        if (!(share >= least) || rank_of(budget, part) >= most)
            continue;
        cli_put_padded(out, roast_budget_part_label((roast_budget_part)part), LABEL);
        roast_sink_printf(out, "%5.1f %%  ", 100 * share);
        put_bar(share, on->width > LABEL + SHARE ? on->width - LABEL - SHARE : 0, "", out);
        roast_sink_puts(out, "\n");
    }
}

static void put_failure(const frame *on, roast_str told, roast_str where, roast_str more,
                        roast_sink *out) {
    char text[512];
    bool placed = where.len > 0;
    snprintf(text, sizeof text, "%.*s%s%.*s%s%s%.*s", (int)told.len, told.data, placed ? " (" : "",
             (int)where.len, placed ? where.data : "", placed ? ")" : "",
             more.data != NULL ? ": " : "", (int)more.len, more.data != NULL ? more.data : "");
    roast_sink_puts(out, "  ");
    put_clean_cut(out, text, on->width - 2);
}

static void put_failed_heading(const frame *on, const char *what, uint64_t count, roast_sink *out) {
    char text[64];
    snprintf(text, sizeof text, "%s: %" PRIu64, what, count);
    put_heading(on, text, 0, out);
}

/* The next line of a text, which is taken off it. */
static roast_str next_line(roast_str *text) {
    const char *end = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
    const size_t len = end != NULL ? (size_t)(end - text->data) : text->len;
    const roast_str line = {text->data, len};
    const size_t taken = end != NULL ? len + 1 : len;
    *text = (roast_str){text->data + taken, text->len - taken};
    return line;
}

/* Tries of tasks that failed, as the scheduler saw them: how many, and the last ones, oldest first. */
static uint64_t failed_tries(const frame *on, roast_str last[FAILURES], size_t *count) {
    roast_str text = roast_run_meta(on->it->about, roast_str_of(ROAST_META_FAILED_TRIES));
    char number[24] = "";
    *count = 0;
    if (text.data == NULL)
        return 0;
    const roast_str first = next_line(&text);
    snprintf(number, sizeof number, "%.*s", (int)first.len, first.data);
    while (text.len > 0)
        last[(*count)++ % FAILURES] = next_line(&text);
    return strtoull(number, NULL, 10);
}

static void put_failed_tries(const frame *on, uint64_t all, const roast_str last[FAILURES],
                             size_t count, roast_sink *out) {
    put_failed_heading(on, "Failed tries of tasks", all, out);
    for (size_t i = 0; i < count && i < FAILURES; i++) {
        const roast_str line = last[(count - 1 - i) % FAILURES];
        const char *tab = line.len > 0 ? memchr(line.data, '\t', line.len) : NULL;
        const size_t told = tab != NULL ? (size_t)(tab - line.data) : line.len;
        const roast_str where =
            tab != NULL ? (roast_str){tab + 1, line.len - told - 1} : (roast_str){0};
        put_failure(on, (roast_str){line.data, told}, where, (roast_str){0}, out);
    }
}

/* The last failures, the newest first, a line each. A chunk that raised is a failed try as well; a try that failed outside
 * of process() leaves no chunk. */
static void put_failures(const frame *on, roast_sink *out) {
    const roast_chunklog *log = on->it->run != NULL ? roast_run_chunks_view(on->it->run) : NULL;
    roast_chunk last[FAILURES], chunk;
    roast_str last_tries[FAILURES];
    size_t count = 0, tries_count;
    roast_chunk_cursor cursor;
    if (log != NULL) {
        roast_chunk_cursor_init(&cursor, log);
        while (roast_chunk_cursor_next(&cursor, &chunk))
            if (chunk.error_type.data != NULL)
                last[count++ % FAILURES] = chunk;
    }
    const uint64_t tries = failed_tries(on, last_tries, &tries_count);
    if (tries > count) {
        put_failed_tries(on, tries, last_tries, tries_count, out);
        return;
    }
    if (count > 0)
        put_failed_heading(on, "Failed", count, out);
    for (size_t i = 0; i < count && i < FAILURES; i++) {
        const roast_chunk *one = &last[(count - 1 - i) % FAILURES];
        put_failure(on, one->error_type, one->dataset, one->error_message, out);
    }
}

static void put_table(const frame *on, const roast_summary *summary, const char *id,
                      roast_sink *out) {
    for (uint32_t i = 0; i < roast_summary_count(summary); i++) {
        const roast_grid *grid = roast_summary_at(summary, i);
        if (strcmp(roast_grid_id(grid), id) == 0 && roast_grid_has_content(grid))
            roast_grid_draw(grid, on->width, on->color, out);
    }
}

/* ---- the screen ---- */

enum { HEAD, BUDGET, SECTIONS, WORKERS, FAILED, PARTS };

typedef struct part {
    roast_sink *text;
    unsigned lines, shown;
} part;

static bool is_table(int which) {
    return which == SECTIONS || which == WORKERS;
}

static unsigned count_lines(roast_str text) {
    unsigned lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    return lines;
}

/* Too much for the screen: every part keeps its heading and a row, the rest is dealt out in turn. Blank lines and the
 * rules of tables go first. */
static void share_out(part parts[PARTS], unsigned lines) {
    unsigned used = 0;
    for (int i = 0; i < PARTS; i++) {
        unsigned least = i == HEAD ? parts[i].lines : is_table(i) ? 3 : 2;
        parts[i].lines -= is_table(i) && parts[i].lines > 0;
        parts[i].shown = parts[i].lines < least ? parts[i].lines : least;
        used += parts[i].shown;
    }
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < PARTS && used < lines; i++)
            if (parts[i].shown < parts[i].lines) {
                parts[i].shown++;
                used++;
                more = true;
            }
    }
}

/* The lines that are shown; behind the heading, how many more there are. */
static void put_shown(const part *one, bool has_rule, roast_sink *out) {
    roast_str text = roast_sink_memory(one->text);
    for (unsigned line = 0, shown = 0; shown < one->shown; line++) {
        size_t len = (size_t)((const char *)memchr(text.data, '\n', text.len) - text.data);
        if (!has_rule || line != 1) {
            roast_sink_str(out, (roast_str){text.data, len});
            if (shown++ == 0)
                put_more(one->lines - one->shown, out);
            roast_sink_puts(out, "\n");
        }
        text = (roast_str){text.data + len + 1, text.len - len - 1};
    }
}

static roast_status put_parts(const frame *on, part parts[PARTS], roast_sink *out,
                              roast_error *err) {
    unsigned wanted = 0;
    for (int i = 0; i < PARTS; i++) {
        ROAST_TRY(roast_sink_finish(parts[i].text, err));
        parts[i].shown = parts[i].lines = count_lines(roast_sink_memory(parts[i].text));
        wanted += parts[i].lines + (i > HEAD && parts[i].lines > 0);
    }
    bool dense = on->lines > 0 && wanted > on->lines;
    if (dense)
        share_out(parts, on->lines);
    for (int i = 0; i < PARTS; i++) {
        if (!dense && i > HEAD && parts[i].lines > 0)
            roast_sink_puts(out, "\n");
        if (dense && i == BUDGET && parts[i].lines > 0)
            put_budget(on, parts[i].shown - 1, out);
        else
            put_shown(&parts[i], dense && is_table(i), out);
    }
    return ROAST_OK;
}

static roast_status put_screen(const frame *on, const char *name, const top_look *look,
                               const roast_summary *summary, roast_sink *out, roast_error *err) {
    part parts[PARTS] = {0};
    roast_status status = ROAST_OK;
    for (int i = 0; i < PARTS && status == ROAST_OK; i++)
        status = roast_sink_new_memory(&parts[i].text, err);
    if (status == ROAST_OK) {
        put_head(on, name, look, parts[HEAD].text);
        put_budget(on, ROAST_PART_COUNT, parts[BUDGET].text);
        put_table(on, summary, "time_sections", parts[SECTIONS].text);
        put_table(on, summary, "workers", parts[WORKERS].text);
        put_failures(on, parts[FAILED].text);
        status = put_parts(on, parts, out, err);
    }
    for (int i = 0; i < PARTS; i++)
        roast_sink_free(parts[i].text);
    return status;
}

roast_status top_put_screen(const measured *it, const char *name, const top_look *look,
                            top_size size, roast_sink *out, roast_error *err) {
    const frame on = {it, size.width > LEAST_WIDTH ? size.width : LEAST_WIDTH, size.lines,
                      cli_terminal_color(STDOUT_FILENO)};
    roast_summary *summary;
    ROAST_TRY(roast_summary_new(it->metrics, it->about, it->findings, &summary, err));
    roast_status status = put_screen(&on, name, look, summary, out, err);
    roast_summary_free(summary);
    return status;
}
