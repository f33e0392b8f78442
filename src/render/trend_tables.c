#include "roast/trend_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/statistics/levels.h"
#include "base/number.h"
#include "base/utf8.h"
#include "metrics/formulas.h"
#include "render/grid_columns.h"
#include "render/grid_internal.h"
#include "render/moment.h"
#include "render/summary.h"
#include "roast/format.h"

/* Of many groups and changes, the largest and the latest are drawn. */
enum { MOST_GROUPS = 20, MOST_CHANGES = 20, INDENT = 2, VALUE_TEXT = 64 };

/* ---- words ---- */

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* "2026-11-15 23:05"; the day alone with `len` 10. */
static void put_when(roast_utc when, size_t len, char out[ROAST_MOMENT_TEXT]) {
    roast_moment_text(when, "", out);
    out[10] = ' ';
    out[len] = '\0';
}

static void put_value(const roast_trend *trend, double value, char out[VALUE_TEXT]) {
    roast_format_value(roast_summary_real(value), roast_trend_metric(trend)->unit, out, VALUE_TEXT);
}

static void put_count(uint64_t count, char out[VALUE_TEXT]) {
    roast_format_value(roast_value_int((int64_t)count), "1", out, VALUE_TEXT);
}

static uint32_t change_count(const roast_trend *trend, uint32_t *runs) {
    uint32_t changes = 0;
    *runs = 0;
    for (uint32_t i = 0; i < roast_trend_group_count(trend); i++) {
        changes += roast_trend_group_at(trend, i)->n_levels - 1;
        *runs += roast_trend_group_at(trend, i)->n_runs;
    }
    return changes;
}

void roast_trend_headline(const roast_trend *trend, char *out, size_t size) {
    uint32_t runs, changes = change_count(trend, &runs), groups = roast_trend_group_count(trend);
    const char *key = roast_trend_metric(trend)->key;
    char found[VALUE_TEXT] = "no", of[VALUE_TEXT], in[VALUE_TEXT];
    if (changes > 0)
        put_count(changes, found);
    put_count(runs, of);
    put_count(groups, in);
    if (runs == 0)
        snprintf(out, size, "%s: there is no run with a value.", key);
    else
        snprintf(out, size, "%s: %s change%s of level in %s run%s (%s group%s of comparable ones).",
                 key, found, changes > 1 ? "s" : "", of, plural(runs), in, plural(groups));
}

/* "DimuonAnalysis on DYJets, TTbar: 120 runs of 300,000 events" */
static void put_title(const roast_trend_group *group, char *out, size_t size) {
    char least[VALUE_TEXT] = "", most[VALUE_TEXT] = "", runs[VALUE_TEXT];
    roast_str processor = group->processor, datasets = group->datasets;
    if (processor.data == NULL)
        processor = roast_str_of("Unknown processor");
    processor = roast_utf8_cut(processor, 120);
    if (!isnan(group->least_events)) {
        put_count((uint64_t)group->least_events, least);
        put_count((uint64_t)group->most_events, most);
    }
    put_count(group->n_runs, runs);
    snprintf(out, size, "%.*s%s%.*s: %s run%s%s%s%s%s%s", (int)processor.len, processor.data,
             datasets.data != NULL ? " on " : "", (int)datasets.len,
             datasets.data != NULL ? datasets.data : "", runs, plural(group->n_runs),
             least[0] != '\0' ? " of " : "", least, strcmp(least, most) != 0 ? " to " : "",
             strcmp(least, most) != 0 ? most : "", least[0] != '\0' ? " events" : "");
}

/* ---- the table ---- */

/* A text of any length from a run; a revision is known by its first digits. */
static roast_str shortened(const roast_trend_cause *cause, roast_str text) {
    return roast_utf8_cut(text, cause->fact == ROAST_FACT_git_revision ? 10 : 40);
}

static void put_causes(const roast_trend_level *level, roast_sink *out) {
    if (level->n_causes == 0)
        roast_sink_puts(out, "nothing that is recorded");
    for (uint32_t i = 0; i < level->n_causes; i++) {
        const roast_trend_cause *cause = &level->causes[i];
        int away = cause->away < 0 ? -cause->away : cause->away;
        roast_sink_printf(out, "%s%s ", i > 0 ? "; " : "", roast_trend_fact_label(cause->fact));
        roast_sink_str(out, shortened(cause, cause->before));
        roast_sink_puts(out, " -> ");
        roast_sink_str(out, shortened(cause, cause->after));
        if (away > 0)
            roast_sink_printf(out, " (%d run%s %s)", away, plural((uint64_t)away),
                              cause->away < 0 ? "earlier" : "later");
    }
}

/* The first change of a group that is drawn. */
static uint32_t first_drawn(const roast_trend_group *group) {
    return group->n_levels > MOST_CHANGES + 1 ? group->n_levels - MOST_CHANGES : 1;
}

/* The sign of a change in the line of blocks; those that are only counted have one in common. */
static char mark_of(const roast_trend_group *group, uint32_t number) {
    static const char marks[MOST_CHANGES + 1] = "123456789abcdefghijk";
    uint32_t first = first_drawn(group);
    return number >= first ? marks[number - first] : '*';
}

static double change_percent(const roast_trend_group *group, uint32_t level) {
    double before = group->levels[level - 1].median;
    return before != 0 ? 100 * (group->levels[level].median - before) / fabs(before) : (double)NAN;
}

enum { CHANGE_TEXT = 48 };

static void put_change(const roast_trend_group *group, uint32_t level, char out[CHANGE_TEXT]) {
    double percent = change_percent(group, level);
    roast_number_print(out, CHANGE_TEXT, isnan(percent) ? "-" : "%+.1f %%", percent);
}

static roast_status add_change(roast_grid *grid, const roast_trend *trend,
                               const roast_trend_group *group, uint32_t number, roast_sink *causes,
                               roast_error *err) {
    const roast_trend_level *level = &group->levels[number];
    const char *unit = roast_trend_metric(trend)->unit;
    const char mark[] = {mark_of(group, number), '\0'};
    char when[ROAST_MOMENT_TEXT], change[CHANGE_TEXT];
    put_when(group->runs[level->first]->when, 16, when);
    put_change(group, number, change);
    put_causes(level, causes);
    ROAST_TRY(roast_sink_finish(causes, err));
    ROAST_TRY(roast_grid_add_text(grid, mark, err));
    ROAST_TRY(roast_grid_add_text(grid, when, err));
    ROAST_TRY(roast_summary_add_value(
        grid, "before", roast_summary_real(group->levels[number - 1].median), unit, err));
    ROAST_TRY(roast_summary_add_value(grid, "after", roast_summary_real(level->median), unit, err));
    ROAST_TRY(roast_grid_add_text(grid, change, err));
    return roast_grid_add_cell(grid, roast_sink_memory(causes), NULL, 0, err);
}

static roast_status fill_table(roast_grid *grid, const roast_trend *trend, uint32_t number,
                               roast_error *err) {
    const roast_trend_group *group = roast_trend_group_at(trend, number);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"", ROAST_ALIGN_LEFT},
                                {"From (UTC)", ROAST_ALIGN_RIGHT}, {"Before", ROAST_ALIGN_NUMBER},
                                {"After", ROAST_ALIGN_NUMBER}, {"Change", ROAST_ALIGN_RIGHT},
                                {"What changed", ROAST_ALIGN_LEFT}));
    for (uint32_t i = 1; i < group->n_levels; i++) {
        roast_sink *causes;
        ROAST_TRY(roast_sink_new_memory(&causes, err));
        roast_status status = add_change(grid, trend, group, i, causes, err);
        roast_sink_free(causes);
        ROAST_TRY(status);
    }
    return ROAST_OK;
}

roast_status roast_trend_table(const roast_trend *trend, uint32_t group, roast_grid **out,
                               roast_error *err) {
    char title[512];
    if (group >= roast_trend_group_count(trend))
        return roast_error_set(err, ROAST_EINVAL, "trend", -1, "there is no group %u",
                               (unsigned)group);
    put_title(roast_trend_group_at(trend, group), title, sizeof title);
    roast_grid *grid;
    ROAST_TRY(roast_grid_new("changes", roast_str_of(title), &grid, err));
    roast_status status = fill_table(grid, trend, group, err);
    if (status != ROAST_OK) {
        roast_grid_free(grid);
        return status;
    }
    *out = grid;
    return ROAST_OK;
}

/* ---- the line of blocks ---- */

/* The medians of as many runs per column as needed; `scratch` has room for all runs. */
static void fill_columns(const roast_trend_group *group, unsigned count, double *columns,
                         double *scratch) {
    for (unsigned i = 0; i < count; i++) {
        uint64_t from = (uint64_t)i * group->n_runs / count;
        uint64_t to = ((uint64_t)i + 1) * group->n_runs / count;
        for (uint64_t run = from; run < to; run++)
            scratch[run - from] = group->runs[run]->value;
        columns[i] = roast_median(scratch, (size_t)(to - from));
    }
}

static void put_blocks(const double *columns, unsigned count, double least, double most, bool ascii,
                       roast_sink *sink) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    enum { HEIGHTS = sizeof blocks / sizeof *blocks };
    roast_sink_puts(sink, "  ");
    for (unsigned i = 0; i < count; i++) {
        double part = most > least ? (columns[i] - least) / (most - least) : 0.5;
        int height = (int)(part * HEIGHTS);
        height = height < HEIGHTS ? height : HEIGHTS - 1;
        roast_sink_puts(sink, (ascii ? letters : blocks)[height]);
    }
    roast_sink_puts(sink, "\n");
}

/* Below the column that holds the first run of a new level. */
static void put_marks(const roast_trend_group *group, unsigned count, roast_sink *sink) {
    unsigned next = 0;
    if (group->n_levels < 2)
        return;
    roast_sink_puts(sink, "  ");
    for (uint32_t i = 1; i < group->n_levels; i++) {
        unsigned column =
            (unsigned)((((uint64_t)group->levels[i].first + 1) * count - 1) / group->n_runs);
        const char mark[] = {mark_of(group, i), '\0'};
        if (column < next)
            continue; /* another change stands there */
        for (; next < column; next++)
            roast_sink_puts(sink, " ");
        roast_sink_puts(sink, mark);
        next++;
    }
    roast_sink_puts(sink, "\n");
}

static void put_line(const roast_trend *trend, const roast_trend_group *group, unsigned count,
                     const double *columns, bool ascii, roast_sink *sink) {
    char low[VALUE_TEXT], high[VALUE_TEXT], now[VALUE_TEXT], runs[VALUE_TEXT];
    char first[ROAST_MOMENT_TEXT], last[ROAST_MOMENT_TEXT];
    const roast_trend_level *level = &group->levels[group->n_levels - 1];
    double least = columns[0], most = columns[0];
    for (unsigned i = 1; i < count; i++) {
        least = fmin(least, columns[i]);
        most = fmax(most, columns[i]);
    }
    put_blocks(columns, count, least, most, ascii, sink);
    put_marks(group, count, sink);
    put_value(trend, least, low);
    put_value(trend, most, high);
    put_value(trend, level->median, now);
    put_when(group->runs[0]->when, 10, first);
    put_when(group->runs[group->n_runs - 1]->when, 10, last);
    if (least < most)
        roast_sink_printf(sink, "  %s %s  %s %s", ascii ? "_" : "▁", low, ascii ? "#" : "█", high);
    else
        roast_sink_printf(sink, "  %s", high);
    roast_sink_printf(sink, "  %s to %s\n", first, last);
    put_count(level->count, runs);
    roast_sink_printf(sink, "  level now: %s, the median of %s%s run%s\n", now,
                      group->n_levels > 1 ? "the last " : "", runs, plural(level->count));
    if (group->n_runs < roast_trend_least_runs(trend))
        roast_sink_printf(sink, "  too few runs to find a change: that takes %u\n",
                          (unsigned)roast_trend_least_runs(trend));
}

static roast_status draw_line(const roast_trend *trend, const roast_trend_group *group,
                              const roast_trend_look *look, unsigned width, roast_sink *sink,
                              roast_error *err) {
    unsigned count = group->n_runs < width - INDENT ? group->n_runs : width - INDENT;
    double *columns = roast_alloc(((size_t)count + group->n_runs) * sizeof *columns);
    if (columns == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "trend", -1, "no memory for a line of runs");
    fill_columns(group, count, columns, columns + count);
    put_line(trend, group, count, columns, look->ascii, sink);
    roast_free(columns);
    return ROAST_OK;
}

/* ---- all ---- */

static roast_status draw_title(const roast_trend_group *group, roast_grid_frame *frame, bool color,
                               roast_sink *sink, roast_error *err) {
    char title[512];
    roast_grid *grid;
    put_title(group, title, sizeof title);
    ROAST_TRY(roast_grid_new("group", roast_str_of(title), &grid, err));
    roast_grid_frame_fit(frame, grid);
    roast_grid_draw_title(grid, frame, color, sink);
    roast_grid_free(grid);
    return ROAST_OK;
}

/* "2.48 -> 2.06 kHz/core": a unit that both have stands there once. */
static void put_levels(const roast_trend *trend, const roast_trend_group *group, uint32_t number,
                       roast_sink *sink) {
    char before[VALUE_TEXT], after[VALUE_TEXT];
    put_value(trend, group->levels[number - 1].median, before);
    put_value(trend, group->levels[number].median, after);
    char *unit = strchr(before, ' ');
    const char *other = strchr(after, ' ');
    if (unit != NULL && other != NULL && strcmp(unit, other) == 0)
        *unit = '\0';
    roast_sink_printf(sink, "%s -> %s", before, after);
}

/* A line of numbers, and what changed below it. */
static roast_status draw_change(const roast_trend *trend, const roast_trend_group *group,
                                uint32_t number, unsigned width, roast_sink *sink,
                                roast_error *err) {
    enum { BELOW = 5 };
    char when[ROAST_MOMENT_TEXT], change[CHANGE_TEXT];
    roast_sink *causes;
    ROAST_TRY(roast_sink_new_memory(&causes, err));
    put_when(group->runs[group->levels[number].first]->when, 16, when);
    put_change(group, number, change);
    roast_sink_printf(sink, "  %c  %s  %9s  ", mark_of(group, number), when, change);
    put_levels(trend, group, number, sink);
    put_causes(&group->levels[number], causes);
    roast_status status = roast_sink_finish(causes, err);
    roast_sink_puts(sink, "\n     ");
    roast_text_put_wrapped(sink, roast_sink_memory(causes), BELOW, BELOW, width);
    roast_sink_puts(sink, "\n");
    roast_sink_free(causes);
    return status;
}

static roast_status draw_group(const roast_trend *trend, uint32_t number,
                               const roast_trend_look *look, roast_sink *sink, roast_error *err) {
    const roast_trend_group *group = roast_trend_group_at(trend, number);
    roast_grid_frame frame = roast_grid_frame_of(look->width);
    uint32_t first = first_drawn(group);
    roast_sink_puts(sink, "\n");
    ROAST_TRY(draw_title(group, &frame, look->color, sink, err));
    ROAST_TRY(draw_line(trend, group, look, frame.width, sink, err));
    if (group->n_levels > 1)
        roast_sink_puts(sink, "\n");
    if (first > 1)
        roast_sink_printf(sink, "  %u earlier change%s: --json has all of them\n",
                          (unsigned)(first - 1), plural(first - 1));
    for (uint32_t i = first; i < group->n_levels; i++)
        ROAST_TRY(draw_change(trend, group, i, frame.width, sink, err));
    return ROAST_OK;
}

/* "Not part of any level: 3 failed, 1 interrupted." */
static void put_left_out(const roast_trend *trend, unsigned width, roast_sink *sink) {
    char text[256];
    size_t used = 0;
    for (int i = 0; i < ROAST_LEFT_COUNT; i++) {
        uint32_t count = roast_trend_left_out(trend, (roast_trend_left)i);
        if (count > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u %s",
                                     used > 0 ? ", " : "Not part of any level: ", (unsigned)count,
                                     roast_trend_left_words((roast_trend_left)i));
    }
    if (used == 0)
        return;
    snprintf(text + used, sizeof text - used, ".");
    roast_text_put_wrapped(sink, roast_str_of(text), 0, 0, width);
    roast_sink_puts(sink, "\n");
}

static void put_rate(const roast_trend *trend, unsigned width, roast_sink *sink) {
    char text[160];
    roast_number_print(
        text, sizeof text,
        "In a group without any change, one is found with a probability of at most %.3g %%.",
        100 * roast_trend_error_rate(trend));
    roast_text_put_wrapped(sink, roast_str_of(text), 0, 0, width);
    roast_sink_puts(sink, "\n");
}

/* One run has nothing to be compared with; if that is all, it is drawn nevertheless. */
static uint32_t drawn_groups(const roast_trend *trend) {
    uint32_t count = 0, all = roast_trend_group_count(trend);
    while (count < all && count < MOST_GROUPS &&
           (count == 0 || roast_trend_group_at(trend, count)->n_runs > 1))
        count++;
    return count;
}

roast_status roast_trend_draw(const roast_trend *trend, const roast_trend_look *look,
                              roast_sink *sink, roast_error *err) {
    char headline[ROAST_TREND_HEADLINE];
    uint32_t drawn = drawn_groups(trend), all = roast_trend_group_count(trend);
    unsigned width = roast_grid_frame_of(look->width).width;
    roast_trend_headline(trend, headline, sizeof headline);
    roast_text_put_wrapped(sink, roast_str_of(headline), 0, 0, width);
    roast_sink_puts(sink, "\n");
    for (uint32_t i = 0; i < drawn; i++)
        ROAST_TRY(draw_group(trend, i, look, sink, err));
    if (all > 0)
        roast_sink_puts(sink, "\n");
    if (all > drawn)
        roast_sink_printf(sink, "%u smaller group%s: --json has all of them\n",
                          (unsigned)(all - drawn), plural(all - drawn));
    if (drawn > 0)
        put_rate(trend, width, sink);
    put_left_out(trend, width, sink);
    return ROAST_OK;
}
