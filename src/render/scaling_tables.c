#include "roast/scaling_tables.h"

#include <math.h>
#include <stdio.h>

#include "render/grid_columns.h"
#include "render/grid_internal.h"
#include "render/json_writer.h"
#include "render/summary.h"
#include "roast/format.h"

/* ---- numbers ---- */

static void put_number(double value, const char *unit, char *out, size_t size) {
    roast_format_value(roast_summary_real(value), unit, out, size);
}

/* "12.1 kHz to 14.0 kHz"; "-" if it is not known. */
static void put_interval(const roast_estimate *estimate, double factor, const char *unit, char *out,
                         size_t size) {
    char low[48], high[48];
    if (isnan(estimate->low) || isnan(estimate->high)) {
        snprintf(out, size, "-");
        return;
    }
    put_number(estimate->low * factor, unit, low, sizeof low);
    put_number(estimate->high * factor, unit, high, sizeof high);
    if (isinf(estimate->high))
        snprintf(out, size, "at least %s", low);
    else
        snprintf(out, size, "%s to %s", low, high);
}

static roast_status add_number(roast_grid *grid, const char *key, double value, const char *unit,
                               roast_error *err) {
    return roast_summary_add_value(grid, key, roast_summary_real(value), unit, err);
}

/* ---- headline ---- */

/* The parts that explain most of the loss, in words. */
static void put_reasons(const roast_scaling *scaling, char *out, size_t size) {
    uint32_t count;
    size_t used = 0;
    const roast_scaling_loss *losses = roast_scaling_losses(scaling, &count);
    out[0] = '\0';
    for (uint32_t i = 0; i < count && i < 3 && losses[i].share >= 0.1; i++) {
        int len = snprintf(out + used, size - used, "%s%s %.0f %%", i > 0 ? ", " : ": ",
                           roast_budget_part_label(losses[i].part), losses[i].share * 100);
        if (len < 0 || (size_t)len >= size - used)
            return;
        used += (size_t)len;
    }
}

void roast_scaling_headline(const roast_scaling *scaling, char *out, size_t size) {
    uint32_t count;
    char reasons[256], most[32], least[32];
    const roast_scaling_point *points = roast_scaling_points(scaling, &count);
    if (count < 2) {
        snprintf(out, size,
                 "All runs have the same number of cores: there is nothing to say about scaling.");
        return;
    }
    const roast_scaling_point *last = &points[count - 1];
    put_reasons(scaling, reasons, sizeof reasons);
    put_number(last->cores, "1", most, sizeof most);
    put_number(points[0].cores, "1", least, sizeof least);
    bool lost = last->efficiency < 0.95;
    snprintf(out, size, "%s scaling: efficiency %.0f %% at %s cores, compared with %s%s%s.",
             roast_scaling_get_kind(scaling) == ROAST_SCALING_strong ? "Strong"
             : roast_scaling_get_kind(scaling) == ROAST_SCALING_weak ? "Weak"
                                                                     : "Mixed",
             last->efficiency * 100, most, least, lost && reasons[0] != '\0' ? ". Of the loss" : "",
             lost ? reasons : "");
}

/* ---- tables ---- */

static roast_status fill_points(const roast_scaling_view *view, roast_grid *grid,
                                roast_error *err) {
    uint32_t count;
    const roast_scaling_point *points = roast_scaling_points(view->scaling, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Cores", ROAST_ALIGN_NUMBER},
                                {"Runs", ROAST_ALIGN_NUMBER}, {"Wall", ROAST_ALIGN_NUMBER},
                                {"Events", ROAST_ALIGN_NUMBER}, {"Event Rate", ROAST_ALIGN_NUMBER},
                                {"Spread", ROAST_ALIGN_NUMBER}, {"Speed-up", ROAST_ALIGN_NUMBER},
                                {"Efficiency", ROAST_ALIGN_NUMBER}));
    for (uint32_t i = 0; i < count; i++) {
        const roast_scaling_point *point = &points[i];
        ROAST_TRY(add_number(grid, "cores", point->cores, "1", err));
        ROAST_TRY(roast_summary_add_value(grid, "runs", roast_value_int(point->runs), "1", err));
        ROAST_TRY(add_number(grid, "wall_time", point->wall, "s", err));
        ROAST_TRY(roast_summary_add_value(
            grid, "events", roast_value_int((int64_t)round(point->events)), "1", err));
        ROAST_TRY(add_number(grid, "event_rate_hz", point->rate, "Hz", err));
        ROAST_TRY(add_number(grid, "spread_percent", 100 * point->spread / point->rate, "%", err));
        ROAST_TRY(add_number(grid, "speedup", point->speedup, "×", err));
        ROAST_TRY(add_number(grid, "efficiency_percent", 100 * point->efficiency, "%", err));
    }
    return ROAST_OK;
}

static roast_status fill_losses(const roast_scaling_view *view, roast_grid *grid,
                                roast_error *err) {
    uint32_t count;
    const roast_scaling_loss *losses = roast_scaling_losses(view->scaling, &count);
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Part", ROAST_ALIGN_LEFT},
                                {"Smallest", ROAST_ALIGN_NUMBER}, {"Largest", ROAST_ALIGN_NUMBER},
                                {"Difference", ROAST_ALIGN_NUMBER},
                                {"of Loss", ROAST_ALIGN_NUMBER}));
    for (uint32_t i = 0; i < count; i++) {
        const roast_scaling_loss *loss = &losses[i];
        if (!(loss->smallest > 0) && !(loss->largest > 0))
            continue;
        ROAST_TRY(roast_grid_add_text(grid, roast_budget_part_label(loss->part), err));
        ROAST_TRY(add_number(grid, "smallest", loss->smallest, "s", err));
        ROAST_TRY(add_number(grid, "largest", loss->largest, "s", err));
        ROAST_TRY(add_number(grid, "difference", loss->largest - loss->smallest, "s", err));
        ROAST_TRY(add_number(grid, "share_percent", 100 * loss->share, "%", err));
    }
    return roast_grid_set_caption(
        grid, roast_str_of("core time per event of the smallest and the largest size"), err);
}

static roast_status fill_laws(const roast_scaling_view *view, roast_grid *grid, roast_error *err) {
    char text[128];
    ROAST_TRY(
        ROAST_ADD_COLUMNS(grid, err, {"Law", ROAST_ALIGN_LEFT}, {"Serial Part", ROAST_ALIGN_NUMBER},
                          {"95 % Interval", ROAST_ALIGN_RIGHT}, {"Crosstalk", ROAST_ALIGN_NUMBER},
                          {"Peak at", ROAST_ALIGN_RIGHT}, {"Deviation", ROAST_ALIGN_NUMBER}));
    for (int i = 0; i < ROAST_LAW_COUNT; i++) {
        roast_law_fit fit = roast_scaling_fit(view->scaling, (roast_law)i);
        if (!fit.known)
            continue;
        ROAST_TRY(roast_grid_add_text(grid, roast_law_label((roast_law)i), err));
        ROAST_TRY(add_number(grid, "serial_percent", 100 * fit.serial.at, "%", err));
        put_interval(&fit.serial, 100, "%", text, sizeof text);
        ROAST_TRY(roast_grid_add_text(grid, text, err));
        ROAST_TRY(add_number(grid, "crosstalk_percent",
                             i == ROAST_LAW_amdahl ? (double)NAN : 100 * fit.crosstalk.at, "%",
                             err));
        if (isinf(fit.peak) || fit.peak > 1e7)
            snprintf(text, sizeof text, "none");
        else
            snprintf(text, sizeof text, "%.0f cores", fit.peak);
        ROAST_TRY(roast_grid_add_text(grid, text, err));
        ROAST_TRY(add_number(grid, "error_percent", 100 * fit.error, "%", err));
    }
    return ROAST_OK;
}

static roast_status fill_predictions(const roast_scaling_view *view, roast_grid *grid,
                                     roast_error *err) {
    char text[128];
    ROAST_TRY(ROAST_ADD_COLUMNS(grid, err, {"Cores", ROAST_ALIGN_NUMBER}, {"Law", ROAST_ALIGN_LEFT},
                                {"Event Rate", ROAST_ALIGN_NUMBER},
                                {"95 % Interval", ROAST_ALIGN_RIGHT}));
    for (size_t at = 0; at < view->n_cores; at++)
        for (int i = 0; i < ROAST_LAW_COUNT; i++) {
            roast_estimate rate =
                roast_scaling_predict(view->scaling, (roast_law)i, view->cores[at]);
            if (isnan(rate.at))
                continue;
            ROAST_TRY(add_number(grid, "cores", view->cores[at], "1", err));
            ROAST_TRY(roast_grid_add_text(grid, roast_law_label((roast_law)i), err));
            ROAST_TRY(add_number(grid, "event_rate_hz", rate.at, "Hz", err));
            put_interval(&rate, 1, "Hz", text, sizeof text);
            ROAST_TRY(roast_grid_add_text(grid, text, err));
        }
    return ROAST_OK;
}

roast_status roast_scaling_table(const roast_scaling_view *view, roast_scaling_table_number number,
                                 roast_grid **out, roast_error *err) {
    static const struct {
        const char *id, *title;
        roast_status (*fill)(const roast_scaling_view *, roast_grid *, roast_error *);
    } tables[] = {
#define X(id, title) {#id, title, fill_##id},
        ROAST_SCALING_TABLES(X)
#undef X
    };
    roast_grid *grid;
    if ((unsigned)number >= ROAST_SCALING_TABLE_COUNT)
        return roast_error_set(err, ROAST_EINVAL, "scaling", -1, "there is no table %u",
                               (unsigned)number);
    ROAST_TRY(roast_grid_new(tables[number].id, roast_str_of(tables[number].title), &grid, err));
    roast_status status = tables[number].fill(view, grid, err);
    if (status != ROAST_OK) {
        roast_grid_free(grid);
        return status;
    }
    *out = grid;
    return ROAST_OK;
}

/* ---- all of it ---- */

static roast_status table_of(const void *view, int number, roast_grid **out, roast_error *err) {
    return roast_scaling_table(view, (roast_scaling_table_number)number, out, err);
}

roast_status roast_scaling_draw(const roast_scaling_view *view, unsigned width, bool color,
                                roast_sink *sink, roast_error *err) {
    char headline[ROAST_SCALING_HEADLINE];
    roast_scaling_headline(view->scaling, headline, sizeof headline);
    roast_text_put_wrapped(sink, roast_str_of(headline), 0, 0, roast_grid_frame_of(width).width);
    roast_sink_puts(sink, "\n");
    ROAST_TRY(
        roast_grid_draw_tables(view, ROAST_SCALING_TABLE_COUNT, table_of, width, color, sink, err));
    uint32_t sizes;
    roast_scaling_points(view->scaling, &sizes);
    if (sizes < 3)
        roast_sink_puts(sink,
                        "\nNo law is fitted, and nothing predicted: that takes three sizes.\n");
    return ROAST_OK;
}

/* ---- JSON ---- */

static void put_estimate(roast_json *json, const char *key, const roast_estimate *estimate) {
    roast_json_put_object(json, key);
    roast_json_put_real(json, "at", estimate->at);
    roast_json_put_real(json, "low", estimate->low);
    roast_json_put_real(json, "high", estimate->high);
    roast_json_end_object(json);
}

static void put_points(roast_json *json, const roast_scaling *scaling) {
    uint32_t count;
    const roast_scaling_point *points = roast_scaling_points(scaling, &count);
    roast_json_put_array(json, "points");
    for (uint32_t i = 0; i < count; i++) {
        roast_json_begin_object(json);
        roast_json_put_value(json, "runs", roast_value_int(points[i].runs));
        roast_json_put_real(json, "cores", points[i].cores);
        roast_json_put_real(json, "wall_time", points[i].wall);
        roast_json_put_real(json, "events", points[i].events);
        roast_json_put_real(json, "event_rate_hz", points[i].rate);
        roast_json_put_real(json, "spread_hz", points[i].spread);
        roast_json_put_real(json, "speedup", points[i].speedup);
        roast_json_put_real(json, "efficiency", points[i].efficiency);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_runs(roast_json *json, const roast_scaling *scaling) {
    uint32_t count;
    const roast_scaling_run *runs = roast_scaling_runs(scaling, &count);
    roast_json_put_array(json, "runs");
    for (uint32_t i = 0; i < count; i++) {
        roast_json_begin_object(json);
        roast_json_put_str(json, "name", runs[i].name);
        roast_json_put_real(json, "cores", runs[i].cores);
        roast_json_put_real(json, "wall_time", runs[i].wall);
        roast_json_put_real(json, "events", runs[i].events);
        roast_json_put_real(json, "event_rate_hz", runs[i].rate);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

static void put_law(roast_json *json, const roast_scaling_view *view, roast_law law) {
    roast_law_fit fit = roast_scaling_fit(view->scaling, law);
    if (!fit.known)
        return;
    roast_json_put_object(json, roast_law_name(law));
    put_estimate(json, "single_core_hz", &fit.single);
    put_estimate(json, "serial", &fit.serial);
    put_estimate(json, "crosstalk", &fit.crosstalk);
    if (!isinf(fit.peak))
        roast_json_put_real(json, "peak_cores", fit.peak);
    roast_json_put_real(json, "error", fit.error);
    roast_json_put_array(json, "predictions");
    for (size_t i = 0; i < view->n_cores; i++) {
        roast_estimate rate = roast_scaling_predict(view->scaling, law, view->cores[i]);
        roast_json_begin_object(json);
        roast_json_put_real(json, "cores", view->cores[i]);
        put_estimate(json, "event_rate_hz", &rate);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
    roast_json_end_object(json);
}

static void put_losses(roast_json *json, const roast_scaling *scaling) {
    uint32_t count;
    const roast_scaling_loss *losses = roast_scaling_losses(scaling, &count);
    roast_json_put_array(json, "losses");
    for (uint32_t i = 0; i < count; i++) {
        roast_json_begin_object(json);
        roast_json_put_text(json, "part", roast_budget_part_name(losses[i].part));
        roast_json_put_real(json, "smallest", losses[i].smallest);
        roast_json_put_real(json, "largest", losses[i].largest);
        roast_json_put_real(json, "share", losses[i].share);
        roast_json_end_object(json);
    }
    roast_json_end_array(json);
}

void roast_scaling_json(const roast_scaling_view *view, roast_sink *sink) {
    roast_json json;
    char headline[ROAST_SCALING_HEADLINE];
    roast_scaling_headline(view->scaling, headline, sizeof headline);
    roast_json_init(&json, sink, 3);
    roast_json_begin_object(&json);
    roast_json_put_text(&json, "headline", headline);
    roast_json_put_text(&json, "kind",
                        roast_scaling_kind_name(roast_scaling_get_kind(view->scaling)));
    put_points(&json, view->scaling);
    put_runs(&json, view->scaling);
    roast_json_put_object(&json, "laws");
    for (int law = 0; law < ROAST_LAW_COUNT; law++)
        put_law(&json, view, (roast_law)law);
    roast_json_end_object(&json);
    put_losses(&json, view->scaling);
    roast_json_end_object(&json);
    roast_json_end(&json);
}
