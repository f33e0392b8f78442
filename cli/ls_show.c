#include "ls.h"

#include <stdio.h>
#include <string.h>

#include "roast/export.h"
#include "roast/grid.h"
#include "roast/json.h"
#include "roast/format.h"

/* ---- a table ---- */

/* Columns that a narrow terminal leaves out. */
typedef struct layout {
    bool with_workers;
    bool with_state; /* a column for the state; otherwise a line below the table */
} layout;
enum { ROOM_FOR_ALL = 100 };

/* How many measurements have that state. */
static size_t count_states(const found_list *list, const char *state) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count +=
            list->entries[i].fault == NULL && strcmp(found_state(&list->entries[i]), state) == 0;
    return count;
}

static layout layout_of(const found_list *list, unsigned width) {
    bool wide = width >= ROOM_FOR_ALL;
    return (layout){wide, wide && count_states(list, "") < list->count};
}

static bool is_shown(const layout *look, int figure) {
    return figure != FOUND_workers || look->with_workers;
}

static roast_status add_columns(roast_grid *grid, const layout *look, roast_error *err) {
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Name"), ROAST_ALIGN_NAME, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("When (UTC)"), ROAST_ALIGN_RIGHT, err));
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        if (is_shown(look, i))
            ROAST_TRY(roast_grid_add_column(grid, roast_str_of(found_figures[i].heading),
                                            ROAST_ALIGN_NUMBER, err));
    return look->with_state
               ? roast_grid_add_column(grid, roast_str_of("State"), ROAST_ALIGN_RIGHT, err)
               : ROAST_OK;
}

/* A large count in three digits: "1.23 G". */
static void format_count(roast_value value, char *out, size_t size) {
    static const char *const prefixes[] = {"k", "M", "G", "T", "P", "E"};
    double number = roast_value_number(value);
    size_t prefix = 0;
    if (!(number >= 99999.5)) {
        roast_format_value(value, "1", out, size);
        return;
    }
    for (number /= 1000; number >= 999.5 && prefix < 5; prefix++)
        number /= 1000;
    snprintf(out, size, "%.*f %s",
             number < 9.995   ? 2
             : number < 99.95 ? 1
                              : 0,
             number, prefixes[prefix]);
}

static roast_status add_figure(roast_grid *grid, const found_entry *entry, int figure,
                               roast_error *err) {
    char text[64];
    const roast_metric_info *info = roast_catalogue_find(found_figures[figure].key, NULL);
    roast_grid_value value = {found_figures[figure].key, entry->figures[figure],
                              info != NULL ? info->unit : "1"};
    if (figure == FOUND_events)
        format_count(value.value, text, sizeof text);
    else if (figure == FOUND_efficiency)
        roast_format_value_as(value.value, value.unit, "%", text, sizeof text);
    else
        roast_format_value(value.value, value.unit, text, sizeof text);
    return roast_grid_add_cell(grid, roast_str_of(text), &value, 1, err);
}

static roast_status add_row(roast_grid *grid, const found_entry *entry, const layout *look,
                            roast_error *err) {
    enum { MINUTE = 16 };
    char when[FOUND_TIME_SIZE] = "-";
    if (entry->have_when && found_time(entry->when, when) > 0)
        when[MINUTE] = '\0';
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(entry->name), NULL, 0, err));
    ROAST_TRY(roast_grid_add_cell(grid, roast_str_of(when), NULL, 0, err));
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        if (is_shown(look, i))
            ROAST_TRY(add_figure(grid, entry, i, err));
    return look->with_state
               ? roast_grid_add_cell(grid, roast_str_of(found_state(entry)), NULL, 0, err)
               : ROAST_OK;
}

/* "2 of 0.1.x, 1 live" */
static roast_status set_caption(roast_grid *grid, const found_list *list, roast_error *err) {
    static const char *const states[] = {"0.1.x", "live", "unfinished"};
    char text[96] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        size_t count = count_states(list, states[i]);
        if (count > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu %s%s",
                                     used > 0 ? ", " : "", count, i == 0 ? "of " : "", states[i]);
    }
    return used > 0 ? roast_grid_set_caption(grid, roast_str_of(text), err) : ROAST_OK;
}

static roast_status fill_grid(roast_grid *grid, const found_list *list, unsigned width,
                              roast_error *err) {
    layout look = layout_of(list, width);
    ROAST_TRY(add_columns(grid, &look, err));
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].fault == NULL)
            ROAST_TRY(add_row(grid, &list->entries[i], &look, err));
    return look.with_state ? ROAST_OK : set_caption(grid, list, err);
}

/* `above`: there is a table above it. */
static void put_faults(roast_sink *out, const found_list *list, unsigned width, bool above) {
    bool first = true;
    for (size_t i = 0; i < list->count; i++) {
        const found_entry *entry = &list->entries[i];
        if (entry->fault == NULL)
            continue;
        if (first)
            roast_sink_puts(out, above ? "\nCannot be read\n" : "Cannot be read\n");
        first = false;
        roast_sink_puts(out, "  ");
        roast_text_put_clean(out, roast_str_of(entry->path));
        roast_sink_puts(out, "\n    ");
        roast_text_put_wrapped(out, roast_str_of(entry->fault), 4, 4, width);
        roast_sink_puts(out, "\n");
    }
}

roast_status ls_put_table(roast_sink *out, const found_list *list, bool color, unsigned width,
                          roast_error *err) {
    roast_grid *grid;
    ROAST_TRY(roast_grid_new("measurements", (roast_str){NULL, 0}, &grid, err));
    roast_status status = fill_grid(grid, list, width, err);
    bool rows = roast_grid_row_count(grid) > 0;
    if (status == ROAST_OK && rows)
        roast_grid_draw(grid, width, color, out);
    roast_grid_free(grid);
    if (status == ROAST_OK)
        put_faults(out, list, width, rows);
    return status;
}

/* ---- for programs ---- */

static void put_json_entry(roast_json *json, const found_entry *entry) {
    const char *state = found_state(entry);
    roast_json_begin_object(json);
    roast_json_put_text(json, "path", entry->path);
    roast_json_put_text(json, "name", entry->name);
    roast_json_put_text(json, "state", state[0] != '\0' ? state : "finished");
    if (entry->have_when) {
        roast_json_key(json, "when");
        roast_json_time(json, entry->when);
    }
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        roast_json_put_value(json, found_figures[i].key, entry->figures[i]);
    roast_json_put_text(json, "error", entry->fault);
    roast_json_end_object(json);
}

void ls_put_json(roast_sink *out, const found_list *list) {
    roast_json json;
    roast_json_init(&json, out, 2);
    roast_json_begin_array(&json);
    for (size_t i = 0; i < list->count; i++)
        put_json_entry(&json, &list->entries[i]);
    roast_json_end_array(&json);
    roast_json_end(&json);
}

static void put_csv_entry(roast_csv_row *row, const found_entry *entry) {
    char when[FOUND_TIME_SIZE];
    const char *state = found_state(entry);
    roast_csv_put_text(row, roast_str_of(entry->path));
    roast_csv_put_text(row, roast_str_of(entry->name));
    roast_csv_put_text(row, roast_str_of(state[0] != '\0' ? state : "finished"));
    roast_csv_put_text(row, entry->have_when && found_time(entry->when, when) > 0
                                ? roast_str_of(when)
                                : (roast_str){NULL, 0});
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++) {
        roast_value value = entry->figures[i];
        if (value.kind == ROAST_VALUE_INT)
            roast_csv_put_int(row, value.integer);
        else
            roast_csv_put_real(row, roast_value_number(value));
    }
    roast_csv_put_text(row, roast_str_of(entry->fault));
    roast_csv_end_row(row);
}

void ls_put_csv(roast_sink *out, const found_list *list, bool safe) {
    static const char *const first[] = {"path", "name", "state", "when"};
    roast_csv_row row = {.sink = out, .safe = safe};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        roast_csv_put_text(&row, roast_str_of(first[i]));
    for (int i = 0; i < FOUND_FIGURE_COUNT; i++)
        roast_csv_put_text(&row, roast_str_of(found_figures[i].key));
    roast_csv_put_text(&row, roast_str_of("error"));
    roast_csv_end_row(&row);
    for (size_t i = 0; i < list->count; i++)
        put_csv_entry(&row, &list->entries[i]);
}
