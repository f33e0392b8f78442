/* The summary as a whole: its tables and notes, drawn or as JSON. */
#include "render/summary.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "render/grid_internal.h"
#include "render/json_writer.h"

enum {
#define X(id, title, fill) TABLE_##id,
    ROAST_SUMMARY_TABLES(X)
#undef X
        TABLES
};

/* A scalar that was measured, by the catalogue's index. */
typedef struct scalar {
    uint32_t index;
    roast_value value;
} scalar;

struct roast_summary {
    roast_headline headline;
    roast_grid *tables[TABLES];
    roast_grid *overview, *main_parts, *gaps, *cards; /* of the short form */
    uint32_t n_findings;                              /* also of those that are not in the table */
    bool far_from_challenge;
    scalar *scalars;
    uint32_t n_scalars;
    roast_arena arena; /* texts of the notes */
    roast_str *notes;
    size_t n_notes, notes_capacity;
};

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "summary", -1, "no memory for the summary of a run");
}

/* ---- making it ---- */

/* 0.1.x knew Dask's figures alone, and its title stays for them. */
static roast_str title_of(const char *id, const char *title, const roast_run *about,
                          char room[64]) {
    const char *engine = strcmp(id, "fine") == 0 ? roast_summary_engine(about) : NULL;
    if (engine == NULL)
        return roast_str_of(title);
    snprintf(room, 64, "Fine Metrics (from %s)", engine);
    return roast_str_of(room);
}

static roast_status make_tables(roast_summary *summary, const roast_summary_source *source,
                                roast_error *err) {
    char room[64];
#define X(id, title, fill)                                                                         \
    ROAST_TRY(roast_grid_new(#id, title_of(#id, title, source->about, room),                       \
                             &summary->tables[TABLE_##id], err));                                  \
    ROAST_TRY(fill(source, summary->tables[TABLE_##id], err));
    ROAST_SUMMARY_TABLES(X)
#undef X
    return ROAST_OK;
}

static roast_status make_short(roast_summary *summary, const roast_summary_source *source,
                               roast_error *err) {
    const roast_str no_title = {NULL, 0};
    ROAST_TRY(roast_grid_new("overview", no_title, &summary->overview, err));
    ROAST_TRY(roast_summary_fill_overview(source, summary->overview, err));
    ROAST_TRY(roast_grid_new("main_parts", roast_str_of("Budget"), &summary->main_parts, err));
    ROAST_TRY(roast_summary_fill_main_parts(source, summary->main_parts, err));
    ROAST_TRY(roast_grid_new("gaps", no_title, &summary->gaps, err));
    ROAST_TRY(roast_summary_fill_gaps(source, summary->gaps, err));
    ROAST_TRY(roast_grid_new("cards", no_title, &summary->cards, err));
    summary->n_findings = roast_summary_count_findings(source->findings);
    return roast_summary_fill_cards(source, summary->cards, err);
}

/* A run that is slower by more than this factor has nothing to do with the challenge. */
static bool is_far_from_challenge(const roast_metrics *metrics) {
    const double far = 1000;
    return !(roast_value_number(roast_metrics_get(metrics, "challenge_factor")) <= far);
}

static roast_status keep_scalars(roast_summary *summary, const roast_metrics *metrics,
                                 roast_error *err) {
    uint32_t known = roast_catalogue_count();
    summary->scalars = roast_arena_alloc(&summary->arena, known * sizeof *summary->scalars);
    if (summary->scalars == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < known; i++) {
        roast_value value = roast_metrics_at(metrics, i);
        if (value.kind != ROAST_VALUE_NONE)
            summary->scalars[summary->n_scalars++] = (scalar){i, value};
    }
    return ROAST_OK;
}

static roast_status take_notes(roast_summary *summary, const roast_run *about, roast_error *err) {
    for (uint32_t i = 0; about != NULL && i < roast_run_note_count(about); i++)
        ROAST_TRY(roast_summary_add_note(summary, roast_run_note(about, i), err));
    return ROAST_OK;
}

roast_status roast_summary_new(const roast_metrics *metrics, const roast_run *about,
                               const roast_findings *findings, roast_summary **out,
                               roast_error *err) {
    const roast_summary_source source = {metrics, about, findings};
    roast_summary *summary = roast_alloc_zero(sizeof *summary);
    if (summary == NULL)
        return no_memory(err);
    roast_headline_init(&summary->headline, about);
    summary->far_from_challenge = is_far_from_challenge(metrics);
    roast_status status = make_tables(summary, &source, err);
    if (status == ROAST_OK)
        status = make_short(summary, &source, err);
    if (status == ROAST_OK)
        status = keep_scalars(summary, metrics, err);
    if (status == ROAST_OK)
        status = take_notes(summary, about, err);
    if (status != ROAST_OK) {
        roast_summary_free(summary);
        return status;
    }
    *out = summary;
    return ROAST_OK;
}

void roast_summary_free(roast_summary *summary) {
    if (summary == NULL)
        return;
    for (int i = 0; i < TABLES; i++)
        roast_grid_free(summary->tables[i]);
    roast_grid_free(summary->overview);
    roast_grid_free(summary->main_parts);
    roast_grid_free(summary->gaps);
    roast_grid_free(summary->cards);
    roast_arena_reset(&summary->arena);
    roast_free(summary->notes);
    roast_free(summary);
}

roast_status roast_summary_add_note(roast_summary *summary, roast_str note, roast_error *err) {
    for (size_t i = 0; i < summary->n_notes; i++)
        if (note.data == NULL || roast_str_equal(summary->notes[i], note))
            return ROAST_OK;
    void *notes = summary->notes;
    if (roast_array_reserve(&notes, &summary->notes_capacity, sizeof *summary->notes,
                            summary->n_notes + 1) != ROAST_OK)
        return no_memory(err);
    summary->notes = notes;
    if (roast_arena_str(&summary->arena, note, &summary->notes[summary->n_notes]) != ROAST_OK)
        return no_memory(err);
    summary->n_notes++;
    return ROAST_OK;
}

/* ---- parts ---- */

const roast_headline *roast_summary_headline(const roast_summary *summary) {
    return &summary->headline;
}

uint32_t roast_summary_count(const roast_summary *summary) {
    (void)summary;
    return TABLES;
}

const roast_grid *roast_summary_at(const roast_summary *summary, uint32_t index) {
    return index < TABLES ? summary->tables[index] : NULL;
}

const roast_grid *roast_summary_find(const roast_summary *summary, const char *id) {
    for (int i = 0; i < TABLES; i++)
        if (strcmp(roast_grid_id(summary->tables[i]), id) == 0)
            return summary->tables[i];
    return NULL;
}

const roast_grid *roast_summary_overview(const roast_summary *summary) {
    return summary->overview;
}

const roast_grid *roast_summary_cards(const roast_summary *summary) {
    return summary->cards;
}

bool roast_summary_shows(const roast_summary *summary, uint32_t index) {
    return index < TABLES && roast_grid_has_content(summary->tables[index]) &&
           !(index == TABLE_challenge && summary->far_from_challenge);
}

uint32_t roast_summary_note_count(const roast_summary *summary) {
    return (uint32_t)summary->n_notes;
}

roast_str roast_summary_note(const roast_summary *summary, uint32_t index) {
    return index < summary->n_notes ? summary->notes[index] : (roast_str){0};
}

/* ---- as text ---- */

static roast_grid_frame frame_of(const roast_summary *summary, unsigned width) {
    roast_grid_frame frame = roast_grid_frame_of(width);
    /* Twice: the width of a grid of facts depends on the widest label of all grids. */
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < TABLES; i++)
            if (roast_summary_shows(summary, i))
                roast_grid_frame_fit(&frame, summary->tables[i]);
    return frame;
}

static void draw_note(roast_str note, unsigned width, roast_sink *sink) {
    static const char mark[] = "note: ";
    roast_sink_puts(sink, mark);
    roast_text_put_wrapped(sink, note, sizeof mark - 1, sizeof mark - 1, width);
    roast_sink_puts(sink, "\n");
}

static void draw_full(const roast_summary *summary, const roast_grid_frame *frame, bool color,
                      roast_sink *sink) {
    bool first = true;
    for (uint32_t i = 0; i < TABLES; i++) {
        if (!roast_summary_shows(summary, i))
            continue;
        if (!first)
            roast_sink_puts(sink, "\n");
        first = false;
        roast_grid_draw_in(summary->tables[i], frame, color, sink);
    }
    for (size_t i = 0; i < summary->n_notes; i++) {
        if (i == 0 && !first)
            roast_sink_puts(sink, "\n");
        draw_note(summary->notes[i], frame->width, sink);
    }
}

/* How to see more; the same in a terminal and in Python. */
static void draw_more(const roast_summary *summary, unsigned width, roast_sink *sink) {
    char text[160], notes[40] = "";
    if (summary->n_notes > 0)
        snprintf(notes, sizeof notes, ", and %zu note%s", summary->n_notes,
                 summary->n_notes == 1 ? "" : "s");
    snprintf(text, sizeof text,
             "More%s: print_summary(full=True), roast show --full, roast diagnose", notes);
    roast_text_put_wrapped(sink, roast_str_of(text), 0, 2, width);
    roast_sink_puts(sink, "\n");
}

static void draw_short(const roast_summary *summary, unsigned width, bool color, roast_sink *sink) {
    const roast_grid *findings = summary->tables[TABLE_findings];
    roast_grid_frame frame = roast_grid_frame_of(width);
    for (int round = 0; round < 2; round++) {
        roast_grid_frame_fit(&frame, summary->overview);
        roast_grid_frame_fit(&frame, summary->main_parts);
    }
    roast_grid_draw_in(summary->overview, &frame, color, sink);
    roast_sink_puts(sink, "\n");
    if (summary->n_findings > 0) {
        frame.rule = frame.width; /* as their texts */
        roast_grid_draw_title(findings, &frame, color, sink);
        roast_summary_draw_findings(findings, summary->n_findings, frame.width, color, sink);
        roast_sink_puts(sink, "\n");
    }
    if (roast_grid_has_content(summary->main_parts)) {
        roast_grid_draw_in(summary->main_parts, &frame, color, sink);
        roast_sink_puts(sink, "\n");
    }
    roast_summary_draw_gaps(summary->gaps, frame.width, sink);
    draw_more(summary, frame.width, sink);
}

void roast_summary_draw(const roast_summary *summary, bool full, unsigned width, bool color,
                        roast_sink *sink) {
    roast_grid_frame frame = frame_of(summary, width);
    roast_headline_draw(&summary->headline, frame.width, sink);
    if (full)
        draw_full(summary, &frame, color, sink);
    else
        draw_short(summary, width, color, sink);
}

bool roast_summary_draw_table(const roast_summary *summary, const char *id, unsigned width,
                              bool color, roast_sink *sink) {
    const roast_grid *grid = roast_summary_find(summary, id);
    roast_grid_frame frame = frame_of(summary, width);
    if (grid == NULL)
        return false;
    roast_grid_frame_fit(&frame, grid); /* it may be one without content */
    roast_grid_draw_in(grid, &frame, color, sink);
    return true;
}

/* ---- as JSON ---- */

static void put_value(roast_json *json, const char *key, roast_value value, const char *unit) {
    roast_json_put_object(json, key);
    roast_json_key(json, "value");
    if (value.kind == ROAST_VALUE_INT)
        roast_json_int(json, value.integer);
    else
        roast_json_real(json, value.real);
    roast_json_put_text(json, "unit", unit);
    roast_json_end_object(json);
}

static void put_row(roast_json *json, const roast_grid *grid, uint32_t row) {
    uint32_t columns = roast_grid_column_count(grid);
    roast_json_begin_object(json);
    roast_json_put_array(json, "cells");
    for (uint32_t column = 0; column < columns; column++)
        roast_json_str(json, roast_grid_text(grid, row, column));
    roast_json_end_array(json);
    roast_json_put_object(json, "values");
    for (uint32_t column = 0; column < columns; column++) {
        uint32_t count;
        const roast_grid_value *values = roast_grid_values(grid, row, column, &count);
        for (uint32_t i = 0; i < count; i++)
            if (values[i].value.kind != ROAST_VALUE_NONE)
                put_value(json, values[i].key, values[i].value, values[i].unit);
    }
    roast_json_end_object(json);
    roast_json_end_object(json);
}

static void put_table(roast_json *json, const roast_grid *grid) {
    roast_json_begin_object(json);
    roast_json_put_text(json, "id", roast_grid_id(grid));
    roast_json_put_str(json, "title", roast_grid_title(grid));
    roast_json_put_str(json, "caption", roast_grid_caption(grid));
    roast_json_put_array(json, "columns");
    for (uint32_t column = 0; column < roast_grid_column_count(grid); column++)
        roast_json_str(json, roast_grid_heading(grid, column));
    roast_json_end_array(json);
    roast_json_put_array(json, "rows");
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++)
        put_row(json, grid, row);
    roast_json_end_array(json);
    roast_json_end_object(json);
}

void roast_summary_json(const roast_summary *summary, roast_sink *sink) {
    roast_json json;
    roast_json_init(&json, sink, 5);
    roast_json_begin_object(&json);
    if (summary->headline.outcome[0] != '\0')
        roast_json_put_text(&json, "headline", summary->headline.outcome);
    if (summary->headline.warning[0] != '\0')
        roast_json_put_text(&json, "warning", summary->headline.warning);
    roast_json_put_array(&json, "tables");
    for (int i = 0; i < TABLES; i++)
        if (roast_grid_has_content(summary->tables[i]))
            put_table(&json, summary->tables[i]);
    roast_json_end_array(&json);
    roast_json_put_object(&json, "metrics");
    for (uint32_t i = 0; i < summary->n_scalars; i++) {
        const roast_metric_info *info = roast_catalogue_at(summary->scalars[i].index);
        put_value(&json, info->key, summary->scalars[i].value, info->unit);
    }
    roast_json_end_object(&json);
    roast_json_put_array(&json, "notes");
    for (size_t i = 0; i < summary->n_notes; i++)
        roast_json_str(&json, summary->notes[i]);
    roast_json_end_array(&json);
    roast_json_end_object(&json);
    roast_json_end(&json);
}
