#include "roast/what_if_tables.h"

#include <math.h>
#include <stdio.h>

#include "render/grid_columns.h"
#include "render/grid_internal.h"
#include "render/json_writer.h"
#include "render/summary.h"
#include "roast/format.h"

/* ---- numbers ---- */

static const char *put_time(double seconds, char *out, size_t size) {
    roast_format_value(roast_summary_real(seconds), "s", out, size);
    return out;
}

static roast_status add_number(roast_grid *grid, const char *key, double value, const char *unit,
                               roast_error *err) {
    return roast_summary_add_value(grid, key, roast_summary_real(value), unit, err);
}

/* ---- headline ---- */

static const char *words_of(roast_what_if_limit_kind kind) {
    static const char *const words[] = {[ROAST_WHAT_IF_outside] =
                                            "the time of the client and of preprocessing",
                                        [ROAST_WHAT_IF_workers] = "the work on all threads",
                                        [ROAST_WHAT_IF_longest_chunk] = "the longest chunk",
                                        [ROAST_WHAT_IF_reading] = "the rate of reading",
                                        [ROAST_WHAT_IF_reduction] = "merging the outputs",
                                        [ROAST_WHAT_IF_scheduler] = "the scheduler"};
    return words[kind];
}

void roast_what_if_headline(const roast_what_if *what_if, char *out, size_t size) {
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    char wall[48], low[48], high[48], recorded[48], range[128] = "";
    put_time(figures->wall, wall, sizeof wall);
    put_time(figures->recorded, recorded, sizeof recorded);
    if (!isnan(figures->low))
        snprintf(range, sizeof range, " (%s to %s)", put_time(figures->low, low, sizeof low),
                 put_time(figures->high, high, sizeof high));
    snprintf(out, size, "%s%s instead of %s. What limits it most is %s.", wall, range, recorded,
             words_of(roast_what_if_limiting(what_if)));
}

/* ---- tables ---- */

static roast_status add_row(roast_grid *grid, const char *label, const char *key, double recorded,
                            double predicted, const char *unit, roast_error *err) {
    ROAST_TRY(roast_grid_add_text(grid, label, err));
    ROAST_TRY(add_number(grid, key, recorded, unit, err));
    return add_number(grid, key, predicted, unit, err);
}

static roast_status fill_figures(const roast_what_if *what_if, roast_grid *grid, roast_error *err) {
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    char low[48], high[48], caption[160];
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"", ROAST_ALIGN_LEFT}, {"Recorded", ROAST_ALIGN_NUMBER},
                                {"Predicted", ROAST_ALIGN_NUMBER}));
    const struct {
        const char *label, *key;
        double recorded, predicted;
        const char *unit;
    } rows[] = {
        {"Wall Time", "wall_time", figures->recorded, figures->wall, "s"},
        {"Replayed", "replayed", figures->replayed, NAN, "s"},
        {"Workers", "workers", figures->recorded_workers, figures->workers, "1"},
        {"Threads", "threads", figures->recorded_threads, figures->threads, "1"},
        {"Chunks", "chunks", (double)figures->recorded_chunks, (double)figures->chunks, "1"},
        {"Core Time", "available", figures->recorded_budget.available, figures->budget.available,
         "s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ROAST_TRY(add_row(grid, rows[i].label, rows[i].key, rows[i].recorded, rows[i].predicted,
                          rows[i].unit, err));
    if (isnan(figures->low))
        return ROAST_OK;
    snprintf(caption, sizeof caption, "90 %% interval of the wall time: %s to %s",
             put_time(figures->low, low, sizeof low), put_time(figures->high, high, sizeof high));
    return roast_grid_set_caption(grid, roast_str_of(caption), err);
}

static const char *unit_of_rate(roast_what_if_limit_kind kind) {
    return kind == ROAST_WHAT_IF_reading ? "bytes/s" : "tasks/s";
}

/* "12.3 MB/s", "6,490 tasks/s", "-" */
static void put_rate(const roast_what_if_limit *limit, char *out, size_t size) {
    char number[48];
    if (isnan(limit->rate)) {
        snprintf(out, size, "-");
        return;
    }
    bool reading = limit->kind == ROAST_WHAT_IF_reading;
    roast_value value = reading ? roast_value_real(limit->rate)
                                : roast_value_int((int64_t)fmin(1e15, round(limit->rate)));
    roast_format_value(value, reading ? "bytes" : "1", number, sizeof number);
    snprintf(out, size, "%s%s", number, reading ? "/s" : " tasks/s");
}

static roast_status fill_limits(const roast_what_if *what_if, roast_grid *grid, roast_error *err) {
    uint32_t count;
    char rate[64];
    const roast_what_if_limit *limits = roast_what_if_limits(what_if, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Limit", ROAST_ALIGN_LEFT},
                                {"At Least", ROAST_ALIGN_NUMBER}, {"Rate", ROAST_ALIGN_RIGHT},
                                {"", ROAST_ALIGN_LEFT}));
    for (uint32_t i = 0; i < count; i++) {
        const roast_what_if_limit *limit = &limits[i];
        if (isnan(limit->seconds))
            continue;
        put_rate(limit, rate, sizeof rate);
        ROAST_TRY(roast_grid_add_text(grid, roast_what_if_limit_label(limit->kind), err));
        ROAST_TRY(add_number(grid, "seconds", limit->seconds, "s", err));
        ROAST_TRY(roast_grid_add_text(grid, rate, err));
        ROAST_TRY(roast_grid_add_text(grid, limit->certain ? "" : "if that is all there is", err));
    }
    return roast_grid_set_caption(
        grid, roast_str_of("the wall time, if nothing else but the client took any"), err);
}

static roast_status fill_budget(const roast_what_if *what_if, roast_grid *grid, roast_error *err) {
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    const roast_budget_row *then = &figures->recorded_budget, *now = &figures->budget;
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Part", ROAST_ALIGN_LEFT},
                                {"Recorded", ROAST_ALIGN_NUMBER}, {"Share", ROAST_ALIGN_NUMBER},
                                {"Predicted", ROAST_ALIGN_NUMBER}, {"Share", ROAST_ALIGN_NUMBER}));
    for (int part = 0; part < ROAST_PART_COUNT; part++) {
        double a = then->parts[part], b = now->parts[part];
        if (!(fabs(a) > 0.0005 * then->available) && !(fabs(b) > 0.0005 * now->available))
            continue;
        ROAST_TRY(roast_grid_add_text(grid, roast_budget_part_label((roast_budget_part)part), err));
        ROAST_TRY(add_number(grid, "recorded", a, "s", err));
        ROAST_TRY(add_number(grid, "recorded_percent", 100 * a / then->available, "%", err));
        ROAST_TRY(add_number(grid, "predicted", b, "s", err));
        ROAST_TRY(add_number(grid, "predicted_percent", 100 * b / now->available, "%", err));
    }
    return ROAST_OK;
}

roast_status roast_what_if_table(const roast_what_if *what_if, roast_what_if_table_number number,
                                 roast_grid **out, roast_error *err) {
    static const struct {
        const char *id, *title;
        roast_status (*fill)(const roast_what_if *, roast_grid *, roast_error *);
    } tables[] = {
#define X(id, title) {#id, title, fill_##id},
        ROAST_WHAT_IF_TABLES(X)
#undef X
    };
    roast_grid *grid;
    if ((unsigned)number >= ROAST_WHAT_IF_TABLE_COUNT)
        return roast_error_set(err, ROAST_EINVAL, "what if", -1, "there is no table %u",
                               (unsigned)number);
    ROAST_TRY(roast_grid_new(tables[number].id, roast_str_of(tables[number].title), &grid, err));
    roast_status status = tables[number].fill(what_if, grid, err);
    if (status != ROAST_OK) {
        roast_grid_free(grid);
        return status;
    }
    *out = grid;
    return ROAST_OK;
}

/* ---- all of it ---- */

static roast_status table_of(const void *what_if, int number, roast_grid **out, roast_error *err) {
    return roast_what_if_table(what_if, (roast_what_if_table_number)number, out, err);
}

roast_status roast_what_if_draw(const roast_what_if *what_if, unsigned width, bool color,
                                roast_sink *sink, roast_error *err) {
    char headline[ROAST_WHAT_IF_HEADLINE];
    unsigned columns = roast_grid_frame_of(width).width;
    roast_what_if_headline(what_if, headline, sizeof headline);
    roast_text_put_wrapped(sink, roast_str_of(headline), 0, 0, columns);
    roast_sink_puts(sink, "\n");
    ROAST_TRY(roast_grid_draw_tables(what_if, ROAST_WHAT_IF_TABLE_COUNT, table_of, width, color,
                                     sink, err));
    for (uint32_t i = 0; i < roast_what_if_note_count(what_if); i++) {
        roast_sink_puts(sink, i == 0 ? "\n- " : "- ");
        roast_text_put_wrapped(sink, roast_what_if_note(what_if, i), 2, 2, columns);
        roast_sink_puts(sink, "\n");
    }
    return ROAST_OK;
}

/* ---- JSON ---- */

static void put_figures(roast_json *json, const roast_what_if_figures *figures) {
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"wall_time", figures->wall},
                   {"low", figures->low},
                   {"high", figures->high},
                   {"recorded_wall_time", figures->recorded},
                   {"replayed_wall_time", figures->replayed},
                   {"workers", figures->workers},
                   {"threads", figures->threads},
                   {"recorded_workers", figures->recorded_workers},
                   {"recorded_threads", figures->recorded_threads},
                   {"events", figures->events},
                   {"bytes_read", figures->bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!isnan(numbers[i].value))
            roast_json_put_real(json, numbers[i].key, numbers[i].value);
    roast_json_put_int(json, "chunks", (int64_t)figures->chunks);
    roast_json_put_int(json, "recorded_chunks", (int64_t)figures->recorded_chunks);
    roast_json_put_int(json, "reductions", (int64_t)figures->reductions);
    roast_json_put_int(json, "repeats", figures->repeats);
}

static void put_budget(roast_json *json, const char *key, const roast_budget_row *row) {
    roast_json_put_object(json, key);
    roast_json_put_real(json, "available", row->available);
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (!isnan(row->parts[part]))
            roast_json_put_real(json, roast_budget_part_name((roast_budget_part)part),
                                row->parts[part]);
    roast_json_end_object(json);
}

static void put_limits(roast_json *json, const roast_what_if *what_if) {
    uint32_t count;
    const roast_what_if_limit *limits = roast_what_if_limits(what_if, &count);
    roast_json_put_array(json, "limits");
    for (uint32_t i = 0; i < count; i++) {
        if (isnan(limits[i].seconds))
            continue;
        roast_json_begin_object(json);
        roast_json_put_text(json, "limit", roast_what_if_limit_name(limits[i].kind));
        roast_json_put_real(json, "seconds", limits[i].seconds);
        if (!isnan(limits[i].rate)) {
            roast_json_put_real(json, "rate", limits[i].rate);
            roast_json_put_text(json, "unit", unit_of_rate(limits[i].kind));
        }
        roast_json_key_str(json, roast_str_of("certain"));
        roast_json_bool(json, limits[i].certain);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

void roast_what_if_json(const roast_what_if *what_if, roast_sink *sink) {
    const roast_what_if_figures *figures = roast_what_if_get(what_if);
    roast_json json;
    char headline[ROAST_WHAT_IF_HEADLINE];
    roast_what_if_headline(what_if, headline, sizeof headline);
    roast_json_init(&json, sink, 3);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "headline", headline);
    put_figures(&json, figures);
    roast_json_put_text(&json, "limiting",
                        roast_what_if_limit_name(roast_what_if_limiting(what_if)));
    put_limits(&json, what_if);
    put_budget(&json, "budget", &figures->budget);
    put_budget(&json, "recorded_budget", &figures->recorded_budget);
    roast_json_put_array(&json, "notes");
    for (uint32_t i = 0; i < roast_what_if_note_count(what_if); i++)
        roast_json_str(&json, roast_what_if_note(what_if, i));
    roast_json_end_array(&json);
    roast_json_end_object(&json);
    roast_json_end(&json);
}
