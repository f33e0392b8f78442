#include "roast/compare_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "render/grid_columns.h"
#include "render/grid_internal.h"
#include "render/json_writer.h"
#include "render/summary.h"
#include "roast/format.h"

/* ---- numbers ---- */

/* "+12.3 %"; large ones as a factor. */
static void put_percent(double ratio, char *out, size_t size) {
    double percent = (ratio - 1) * 100;
    if (isnan(ratio))
        snprintf(out, size, "-");
    else if (ratio >= 10)
        roast_number_print(out, size, ratio >= 100 ? "× %.0f" : "× %.1f", ratio);
    else
        roast_number_print(out, size, fabs(percent) < 0.05 ? "%.1f %%" : "%+.1f %%",
                           fabs(percent) < 0.05 ? 0 : percent);
}

static void put_interval(const roast_change *change, char *out, size_t size) {
    char low[32], high[32];
    if (change->verdict == ROAST_LIKELIHOOD_unknown) {
        snprintf(out, size, "-");
        return;
    }
    put_percent(change->low, low, sizeof low);
    put_percent(change->high, high, sizeof high);
    snprintf(out, size, "%s to %s", low, high);
}

static void put_change(const roast_change *change, char *out, size_t size) {
    if (change->verdict == ROAST_LIKELIHOOD_chance)
        snprintf(out, size, "~");
    else
        put_percent(change->ratio, out, size);
}

/* ---- headline ---- */

static void put_share(double ratio, char *out, size_t size) {
    roast_number_print(out, size, "%.1f %%", fabs(ratio - 1) * 100);
}

void roast_comparison_headline(const roast_comparison *comparison, char *out, size_t size) {
    const roast_change *cost = roast_comparison_cost(comparison);
    char percent[32], interval[96], ends[2][32];
    uint64_t count;
    bool paired = roast_comparison_is_paired(comparison, &count);
    const char *per = paired ? "chunk" : "event";
    char counted[64];
    snprintf(counted, sizeof counted, paired ? "%llu pairs of chunks" : "%llu chunks of B",
             (unsigned long long)count);
    if (isnan(cost->ratio)) {
        snprintf(out, size, "No chunk of B can be compared with one of A.");
        return;
    }
    put_percent(cost->ratio, percent, sizeof percent);
    put_interval(cost, interval, sizeof interval);
    put_share(cost->low, ends[0], sizeof ends[0]);
    put_share(cost->high, ends[1], sizeof ends[1]);
    bool less = cost->verdict == ROAST_LIKELIHOOD_less;
    if (cost->verdict == ROAST_LIKELIHOOD_unknown)
        snprintf(out, size, "The time per %s changed by %s; %s are too few to tell it from chance.",
                 per, percent, counted);
    else if (cost->verdict == ROAST_LIKELIHOOD_chance)
        snprintf(out, size, "No difference beyond chance in the time per %s: %s (%s; %s).", per,
                 percent, interval, counted);
    else {
        put_share(cost->ratio, percent, sizeof percent);
        snprintf(out, size, "B takes %s %s time per %s than A (%s to %s; %s).", percent,
                 less ? "less" : "more", per, ends[less ? 1 : 0], ends[less ? 0 : 1], counted);
    }
}

/* ---- tables ---- */

static roast_status fill_conditions(const roast_comparison *comparison, roast_grid *grid,
                                    roast_error *err) {
    uint32_t count;
    const roast_condition *conditions = roast_comparison_conditions(comparison, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"What", ROAST_ALIGN_LEFT}, {"A", ROAST_ALIGN_NAME},
                                {"B", ROAST_ALIGN_NAME}, {"What Follows", ROAST_ALIGN_LEFT}));
    for (uint32_t i = 0; i < count; i++) {
        const roast_str cells[] = {conditions[i].what, conditions[i].a, conditions[i].b,
                                   conditions[i].follows.data != NULL ? conditions[i].follows
                                                                      : roast_str_of("")};
        for (int cell = 0; cell < 4; cell++)
            ROAST_TRY(roast_grid_add_cell(grid, cells[cell], NULL, 0, err));
    }
    return ROAST_OK;
}

/* A count is whole, unless it is a mean of several runs. */
static roast_value number(double value, const roast_change *change) {
    bool count = strcmp(change->unit, "1") == 0 || strcmp(change->unit, "bytes") == 0;
    if (count && value == floor(value) && fabs(value) < 1e15)
        return roast_value_int((int64_t)value);
    return roast_summary_real(value);
}

static roast_status add_numbers(roast_grid *grid, const roast_change *change, roast_error *err) {
    char text[96];
    /* A share is shown in per cent. */
    bool share = strcmp(change->unit, "ratio") == 0;
    const char *unit = share ? "%" : change->unit;
    double factor = share ? 100 : 1;
    ROAST_TRY(roast_summary_add_value(grid, "a", number(change->a * factor, change), unit, err));
    ROAST_TRY(roast_summary_add_value(grid, "b", number(change->b * factor, change), unit, err));
    put_change(change, text, sizeof text);
    return roast_grid_add_text(grid, text, err);
}

static roast_status fill_figures(const roast_comparison *comparison, roast_grid *grid,
                                 roast_error *err) {
    uint32_t count, known = 0;
    uint64_t pairs;
    bool paired = roast_comparison_is_paired(comparison, &pairs);
    const roast_change *rows = roast_comparison_figures(comparison, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Figure", ROAST_ALIGN_LEFT}, {"A", ROAST_ALIGN_NUMBER},
                                {"B", ROAST_ALIGN_NUMBER}, {"Change", ROAST_ALIGN_RIGHT},
                                {"95 % Interval", ROAST_ALIGN_RIGHT}));
    for (uint32_t i = 0; i < count; i++) {
        char text[96];
        bool whole =
            roast_str_equal(rows[i].name, roast_str_of("all")); /* the others are its parts */
        snprintf(text, sizeof text, "%.*s%s", (int)rows[i].label.len, rows[i].label.data,
                 !whole   ? ""
                 : paired ? " per Chunk"
                          : " per Event");
        ROAST_TRY(roast_grid_add_text(grid, text, err));
        ROAST_TRY(add_numbers(grid, &rows[i], err));
        put_interval(&rows[i], text, sizeof text);
        ROAST_TRY(roast_grid_add_text(grid, text, err));
        known += rows[i].kind == ROAST_CHANGE_metric && rows[i].verdict != ROAST_LIKELIHOOD_unknown;
    }
    return roast_grid_set_caption(
        grid,
        roast_str_of(known > 0 ? "~: may be chance"
                               : "~: may be chance. Figures of a whole run have an interval if "
                                 "there are at least two runs of each side"),
        err);
}

/* Rows of seconds: both sides and the difference in one unit, the change, and its share of the whole change. */
static roast_status add_seconds(roast_grid *grid, const roast_change *change,
                                const roast_format_column *look, roast_error *err) {
    char text[64];
    ROAST_TRY(roast_summary_add_in_column(grid, "a", roast_summary_real(change->a), look, err));
    ROAST_TRY(roast_summary_add_in_column(grid, "b", roast_summary_real(change->b), look, err));
    put_change(change, text, sizeof text);
    ROAST_TRY(roast_grid_add_text(grid, text, err));
    ROAST_TRY(roast_summary_add_in_column(grid, "difference",
                                          roast_summary_real(change->b - change->a), look, err));
    if (isnan(change->share) || isinf(change->share))
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.0f %%",
                 fabs(change->share) < 0.005 ? 0 : change->share * 100);
    return roast_grid_add_text(grid, text, err);
}

static roast_format_column look_of(const roast_change *rows, uint32_t count) {
    roast_format_column look = {.unit = "s"};
    for (uint32_t i = 0; i < count; i++) {
        roast_format_column_add(&look, roast_summary_real(rows[i].a));
        roast_format_column_add(&look, roast_summary_real(rows[i].b));
    }
    return look;
}

static roast_status add_columns_of_seconds(roast_grid *grid, const char *heading,
                                           roast_error *err) {
    return ROAST_ADD_COLUMNS(grid, err, {heading, ROAST_ALIGN_LEFT}, {"A", ROAST_ALIGN_NUMBER},
                             {"B", ROAST_ALIGN_NUMBER}, {"Change", ROAST_ALIGN_RIGHT},
                             {"Difference", ROAST_ALIGN_NUMBER}, {"of Change", ROAST_ALIGN_RIGHT});
}

static roast_status fill_budget(const roast_comparison *comparison, roast_grid *grid,
                                roast_error *err) {
    uint32_t count;
    const roast_change *rows = roast_comparison_budget(comparison, &count);
    const roast_format_column look = look_of(rows, count);
    ROAST_TRY(add_columns_of_seconds(grid, "Part", err));
    for (uint32_t i = 0; i < count; i++) {
        if (!(rows[i].a > 0) && !(rows[i].b > 0))
            continue;
        ROAST_TRY(roast_grid_add_cell(grid, rows[i].label, NULL, 0, err));
        ROAST_TRY(add_seconds(grid, &rows[i], &look, err));
    }
    return roast_grid_set_caption(grid, roast_str_of("core time; per event if the events differ"),
                                  err);
}

static roast_status fill_causes(const roast_comparison *comparison, roast_grid *grid,
                                roast_error *err) {
    uint32_t count;
    const roast_change *rows = roast_comparison_causes(comparison, &count);
    const roast_format_column look = look_of(rows, count);
    ROAST_TRY(add_columns_of_seconds(grid, "What", err));
    for (uint32_t i = 0; i < count; i++) {
        const roast_change *row = &rows[i];
        char text[512];
        const char *kind = row->kind == ROAST_CHANGE_phase ? "" : roast_change_kind_name(row->kind);
        snprintf(text, sizeof text, "%s%s%.*s%s%.*s", kind, *kind != '\0' ? " " : "",
                 (int)row->name.len, row->name.data, row->dataset.data != NULL ? " in " : "",
                 (int)row->dataset.len, row->dataset.data != NULL ? row->dataset.data : "");
        ROAST_TRY(roast_grid_add_text(grid, text, err));
        ROAST_TRY(add_seconds(grid, row, &look, err));
    }
    return roast_grid_set_caption(
        grid, roast_str_of("time of chunks; A: what A would have taken for the chunks of B"), err);
}

static roast_status fill_findings(const roast_comparison *comparison, roast_grid *grid,
                                  roast_error *err) {
    uint32_t count;
    const roast_changed_finding *rows = roast_comparison_findings(comparison, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Change", ROAST_ALIGN_RIGHT},
                                {"Severity", ROAST_ALIGN_RIGHT}, {"What", ROAST_ALIGN_LEFT},
                                {"Saves", ROAST_ALIGN_NUMBER}));
    for (uint32_t i = 0; i < count; i++) {
        double saving = rows[i].saving_core_seconds > 0 ? rows[i].saving_core_seconds : NAN;
        ROAST_TRY(roast_grid_add_text(grid, roast_finding_change_name(rows[i].change), err));
        ROAST_TRY(roast_grid_add_text(grid, roast_severity_name(rows[i].severity), err));
        ROAST_TRY(roast_grid_add_cell(grid, rows[i].title, NULL, 0, err));
        ROAST_TRY(roast_summary_add_value(grid, "saving_core_seconds", roast_summary_real(saving),
                                          "s", err));
    }
    return ROAST_OK;
}

roast_status roast_comparison_table(const roast_comparison *comparison, roast_compare_table table,
                                    roast_grid **out, roast_error *err) {
    static const struct {
        const char *id, *title;
        roast_status (*fill)(const roast_comparison *, roast_grid *, roast_error *);
    } tables[] = {
#define X(id, title) {#id, title, fill_##id},
        ROAST_COMPARE_TABLES(X)
#undef X
    };
    roast_grid *grid;
    if ((unsigned)table >= ROAST_COMPARE_TABLE_COUNT)
        return roast_error_set(err, ROAST_EINVAL, "comparison", -1, "there is no table %u",
                               (unsigned)table);
    ROAST_TRY(roast_grid_new(tables[table].id, roast_str_of(tables[table].title), &grid, err));
    roast_status status = tables[table].fill(comparison, grid, err);
    if (status != ROAST_OK) {
        roast_grid_free(grid);
        return status;
    }
    *out = grid;
    return ROAST_OK;
}

/* ---- all of it ---- */

static void put_names(const roast_comparison *comparison, unsigned width, roast_sink *sink) {
    for (unsigned side = 0; side < ROAST_SIDES; side++) {
        uint32_t count = roast_comparison_run_count(comparison, side);
        for (uint32_t i = 0; i < count; i++) {
            roast_sink_puts(sink, i > 0 ? "   " : side == ROAST_SIDE_A ? "A: " : "B: ");
            roast_text_put_wrapped(sink, roast_comparison_run_name(comparison, side, i), 3, 3,
                                   width);
            roast_sink_puts(sink, "\n");
        }
    }
}

static roast_status table_of(const void *comparison, int number, roast_grid **out,
                             roast_error *err) {
    return roast_comparison_table(comparison, (roast_compare_table)number, out, err);
}

roast_status roast_comparison_draw(const roast_comparison *comparison, unsigned width, bool color,
                                   roast_sink *sink, roast_error *err) {
    char headline[ROAST_COMPARE_HEADLINE];
    roast_grid_frame frame = roast_grid_frame_of(width);
    roast_comparison_headline(comparison, headline, sizeof headline);
    put_names(comparison, frame.width, sink);
    roast_text_put_wrapped(sink, roast_str_of(headline), 0, 0, frame.width);
    roast_sink_puts(sink, "\n");
    return roast_grid_draw_tables(comparison, ROAST_COMPARE_TABLE_COUNT, table_of, width, color,
                                  sink, err);
}

/* ---- JSON ---- */

static void put_change_object(roast_json *json, const roast_change *change) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "kind", roast_change_kind_name(change->kind));
    roast_json_put_str(json, "name", change->name);
    roast_json_put_str(json, "dataset", change->dataset);
    roast_json_put_text(json, "unit", change->unit);
    roast_json_put_real(json, "a", change->a);
    roast_json_put_real(json, "b", change->b);
    roast_json_put_real(json, "ratio", change->ratio);
    roast_json_put_real(json, "low", change->low);
    roast_json_put_real(json, "high", change->high);
    roast_json_put_real(json, "share", change->share);
    roast_json_put_text(json, "verdict", roast_likelihood_name(change->verdict));
    roast_json_end_object(json);
}

static void put_changes(roast_json *json, const char *key, const roast_change *rows,
                        uint32_t count) {
    roast_json_put_array(json, key);
    for (uint32_t i = 0; i < count; i++)
        put_change_object(json, &rows[i]);
    roast_json_end_array(json);
}

static void put_sides(roast_json *json, const roast_comparison *comparison) {
    for (unsigned side = 0; side < ROAST_SIDES; side++) {
        roast_json_put_array(json, side == ROAST_SIDE_A ? "a" : "b");
        for (uint32_t i = 0; i < roast_comparison_run_count(comparison, side); i++)
            roast_json_str(json, roast_comparison_run_name(comparison, side, i));
        roast_json_end_array(json);
    }
}

static void put_conditions(roast_json *json, const roast_comparison *comparison) {
    uint32_t count;
    const roast_condition *rows = roast_comparison_conditions(comparison, &count);
    roast_json_put_array(json, "conditions");
    for (uint32_t i = 0; i < count; i++) {
        roast_json_begin_object(json);
        roast_json_put_str(json, "what", rows[i].what);
        roast_json_put_str(json, "a", rows[i].a);
        roast_json_put_str(json, "b", rows[i].b);
        roast_json_put_str(json, "follows", rows[i].follows);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_findings(roast_json *json, const roast_comparison *comparison) {
    uint32_t count;
    const roast_changed_finding *rows = roast_comparison_findings(comparison, &count);
    roast_json_put_array(json, "findings");
    for (uint32_t i = 0; i < count; i++) {
        roast_json_begin_object(json);
        roast_json_put_text(json, "change", roast_finding_change_name(rows[i].change));
        roast_json_put_text(json, "kind", roast_finding_kind_name(rows[i].kind));
        roast_json_put_text(json, "severity", roast_severity_name(rows[i].severity));
        roast_json_put_str(json, "title", rows[i].title);
        roast_json_put_real(json, "saving_core_seconds", rows[i].saving_core_seconds);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

void roast_comparison_json(const roast_comparison *comparison, roast_sink *sink) {
    roast_json json;
    uint32_t count;
    uint64_t compared;
    char headline[ROAST_COMPARE_HEADLINE];
    bool paired = roast_comparison_is_paired(comparison, &compared);
    roast_comparison_headline(comparison, headline, sizeof headline);
    roast_json_init(&json, sink, 3);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "headline", headline);
    put_sides(&json, comparison);
    roast_json_put_text(&json, "compared", paired ? "pairs" : "events");
    roast_json_put_value(&json, "chunks", roast_value_int((int64_t)compared));
    roast_json_key(&json, "cost");
    put_change_object(&json, roast_comparison_cost(comparison));
    put_conditions(&json, comparison);
    const roast_change *rows = roast_comparison_causes(comparison, &count);
    put_changes(&json, "causes", rows, count);
    rows = roast_comparison_figures(comparison, &count);
    put_changes(&json, "figures", rows, count);
    rows = roast_comparison_budget(comparison, &count);
    put_changes(&json, "budget", rows, count);
    put_findings(&json, comparison);
    roast_json_end_object(&json);
    roast_json_end(&json);
}
