/* The list as a table for people. */
#include "ls.h"

#include <stdio.h>
#include <string.h>

#include "roast/format.h"
#include "roast/grid.h"

enum { GAP = 2, TEXT_SIZE = 512, YEAR = 5, MINUTE = 16 };

/* What is shown, and how. */
typedef struct layout {
    ls_columns columns; /* after the name */
    bool one_year;      /* of all times: it stands in the heading */
    roast_format_column looks[ROAST_FOUND_FIGURE_COUNT];
} layout;

/* ---- cells ---- */

static void put_figure(const roast_found_entry *entry, int figure, const roast_format_column *look,
                       char out[TEXT_SIZE]) {
    const double comparable = 1e4; /* else each value has a unit of its size */
    roast_value value = entry->figures[figure];
    if (figure == ROAST_FOUND_events)
        roast_format_value(value, "count", out, TEXT_SIZE);
    else if (figure == ROAST_FOUND_efficiency && value.kind != ROAST_VALUE_NONE)
        roast_format_value(roast_value_real(100 * roast_value_number(value)), "%", out, TEXT_SIZE);
    else if (look->most <= look->least * comparable)
        roast_format_in_column(look, value, out, TEXT_SIZE);
    else
        roast_format_value(value, look->unit, out, TEXT_SIZE);
}

static void put_cell(const roast_found_entry *entry, int key, const layout *look,
                     char out[TEXT_SIZE]) {
    if (key < ROAST_FOUND_FIGURE_COUNT) {
        put_figure(entry, key, &look->looks[key], out);
    } else if (key == ROAST_FOUND_BY_when) {
        char when[ROAST_FOUND_TIME] = "-";
        if (entry->have_when && roast_found_time(entry->when, when) > 0)
            when[MINUTE] = '\0';
        snprintf(out, TEXT_SIZE, "%s", when + (look->one_year && entry->have_when ? YEAR : 0));
    } else {
        const char *text = roast_found_text(entry, key);
        snprintf(out, TEXT_SIZE, "%s", text != NULL ? text : "-");
    }
}

/* ---- columns ---- */

static void put_heading(const roast_found_list *list, int key, const layout *look,
                        char out[TEXT_SIZE]) {
    static const char *const others[] = {"Name",   "When",  "Outcome",  "Executor",
                                         "Config", "State", "Processor"};
    char when[ROAST_FOUND_TIME] = "";
    if (key < ROAST_FOUND_FIGURE_COUNT) {
        snprintf(out, TEXT_SIZE, "%s", roast_found_figures[key].heading);
        return;
    }
    for (size_t i = 0; key == ROAST_FOUND_BY_when && look->one_year && i < list->count; i++)
        if (list->entries[i].have_when && roast_found_time(list->entries[i].when, when) > 0)
            break;
    when[when[0] != '\0' ? YEAR - 1 : 0] = '\0';
    snprintf(out, TEXT_SIZE, "%s%s%s%s", others[key - ROAST_FOUND_BY_name],
             key == ROAST_FOUND_BY_when ? " (" : "", when,
             key != ROAST_FOUND_BY_when ? ""
             : when[0] != '\0'          ? " UTC)"
                                        : "UTC)");
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Columns of a terminal. Headings may be broken at blanks; numbers are aligned, and so are the units behind them. */
static size_t column_width(const roast_found_list *list, int key, const layout *look) {
    char text[TEXT_SIZE];
    size_t heading = 0, number = 0, rest = 0;
    put_heading(list, key, look, text);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        heading = larger(heading, roast_text_width(roast_str_of(word)));
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].fault != NULL)
            continue;
        put_cell(&list->entries[i], key, look, text);
        const char *unit = key < ROAST_FOUND_FIGURE_COUNT ? strrchr(text, ' ') : NULL;
        size_t behind = unit != NULL ? roast_text_width(roast_str_of(unit)) : 0;
        number = larger(number, roast_text_width(roast_str_of(text)) - behind);
        rest = larger(rest, behind);
    }
    return larger(heading, number + rest);
}

static bool is_known(const roast_found_list *list, int key) {
    for (size_t i = 0; i < list->count; i++) {
        const roast_found_entry *entry = &list->entries[i];
        if (entry->fault != NULL)
            continue;
        if (key < ROAST_FOUND_FIGURE_COUNT ? entry->figures[key].kind != ROAST_VALUE_NONE
            : key == ROAST_FOUND_BY_state  ? roast_found_state(entry)[0] != '\0'
                                           : roast_found_text(entry, key) != NULL)
            return true;
    }
    return false;
}

static bool has_column(const ls_columns *columns, int key) {
    for (size_t i = 0; i < columns->count; i++)
        if (columns->keys[i] == key)
            return true;
    return false;
}

static void drop_column(ls_columns *columns, int key) {
    size_t kept = 0;
    for (size_t i = 0; i < columns->count; i++)
        if (columns->keys[i] != key)
            columns->keys[kept++] = columns->keys[i];
    columns->count = kept;
}

/* All that are of use; then without the least important ones, until all names have room. */
static void choose_columns(const roast_found_list *list, unsigned width, layout *look) {
    static const int all[] = {ROAST_FOUND_BY_when, ROAST_FOUND_BY_outcome, ROAST_FOUND_wall,
                              ROAST_FOUND_events,  ROAST_FOUND_gbps,       ROAST_FOUND_useful,
                              ROAST_FOUND_khz,     ROAST_FOUND_workers,    ROAST_FOUND_efficiency,
                              ROAST_FOUND_BY_state};
    static const int least[] = {ROAST_FOUND_workers, ROAST_FOUND_BY_state, ROAST_FOUND_gbps,
                                ROAST_FOUND_useful, ROAST_FOUND_khz};
    size_t total = column_width(list, ROAST_FOUND_BY_name, look);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool maybe = all[i] == ROAST_FOUND_BY_outcome || all[i] == ROAST_FOUND_BY_state ||
                     all[i] == ROAST_FOUND_useful;
        if (maybe && !is_known(list, all[i]))
            continue;
        look->columns.keys[look->columns.count++] = all[i];
        total += GAP + column_width(list, all[i], look);
    }
    for (size_t i = 0; total > width && i < sizeof least / sizeof *least; i++)
        if (has_column(&look->columns, least[i])) {
            drop_column(&look->columns, least[i]);
            total -= GAP + column_width(list, least[i], look);
        }
}

static bool is_one_year(const roast_found_list *list) {
    char first[ROAST_FOUND_TIME] = "", other[ROAST_FOUND_TIME];
    for (size_t i = 0; i < list->count; i++) {
        const roast_found_entry *entry = &list->entries[i];
        if (entry->fault != NULL || !entry->have_when || roast_found_time(entry->when, other) == 0)
            continue;
        if (first[0] != '\0' && strncmp(first, other, YEAR) != 0)
            return false;
        memcpy(first, other, sizeof first);
    }
    return first[0] != '\0';
}

static layout lay_out(const roast_found_list *list, const ls_columns *wanted, unsigned width) {
    layout look = {.columns = *wanted, .one_year = is_one_year(list)};
    for (int i = 0; i < ROAST_FOUND_FIGURE_COUNT; i++) {
        const roast_metric_info *info = roast_catalogue_find(roast_found_figures[i].key, NULL);
        look.looks[i].unit = info != NULL ? info->unit : "1";
        for (size_t row = 0; row < list->count; row++)
            if (list->entries[row].fault == NULL)
                roast_format_column_add(&look.looks[i], list->entries[row].figures[i]);
    }
    if (wanted->count == 0)
        choose_columns(list, width, &look);
    return look;
}

/* ---- the table ---- */

static roast_status add_column(roast_grid *grid, const roast_found_list *list, int key,
                               const layout *look, roast_error *err) {
    char heading[TEXT_SIZE];
    roast_align align = key < ROAST_FOUND_FIGURE_COUNT ? ROAST_ALIGN_NUMBER
                        : key == ROAST_FOUND_BY_name || key == ROAST_FOUND_BY_config
                            ? ROAST_ALIGN_NAME
                            : ROAST_ALIGN_RIGHT;
    put_heading(list, key, look, heading);
    return roast_grid_add_column(grid, roast_str_of(heading), align, err);
}

static roast_status add_cell(roast_grid *grid, const roast_found_entry *entry, int key,
                             const layout *look, roast_error *err) {
    char text[TEXT_SIZE];
    /* A name of any length; others were made to fit. */
    if (key == ROAST_FOUND_BY_name || (key == ROAST_FOUND_BY_config && entry->config != NULL))
        return roast_grid_add_cell(grid, roast_str_of(roast_found_text(entry, key)), NULL, 0, err);
    put_cell(entry, key, look, text);
    return roast_grid_add_cell(grid, roast_str_of(text), NULL, 0, err);
}

static roast_status add_row(roast_grid *grid, const roast_found_entry *entry, const layout *look,
                            roast_error *err) {
    ROAST_TRY(add_cell(grid, entry, ROAST_FOUND_BY_name, look, err));
    for (size_t i = 0; i < look->columns.count; i++)
        ROAST_TRY(add_cell(grid, entry, look->columns.keys[i], look, err));
    return ROAST_OK;
}

/* How many measurements have that state. */
static size_t count_states(const roast_found_list *list, const char *state) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->entries[i].fault == NULL &&
                 strcmp(roast_found_state(&list->entries[i]), state) == 0;
    return count;
}

/* "2 of 0.1.x, 1 live" */
static roast_status set_caption(roast_grid *grid, const roast_found_list *list, roast_error *err) {
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

static roast_status fill_grid(roast_grid *grid, const roast_found_list *list, const layout *look,
                              roast_error *err) {
    ROAST_TRY(add_column(grid, list, ROAST_FOUND_BY_name, look, err));
    for (size_t i = 0; i < look->columns.count; i++)
        ROAST_TRY(add_column(grid, list, look->columns.keys[i], look, err));
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].fault == NULL)
            ROAST_TRY(add_row(grid, &list->entries[i], look, err));
    return has_column(&look->columns, ROAST_FOUND_BY_state) ? ROAST_OK
                                                            : set_caption(grid, list, err);
}

/* `above`: there is a table above it. */
static void put_faults(roast_sink *out, const roast_found_list *list, unsigned width, bool above) {
    bool first = true;
    for (size_t i = 0; i < list->count; i++) {
        const roast_found_entry *entry = &list->entries[i];
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

roast_status ls_put_table(roast_sink *out, const roast_found_list *list, const ls_columns *wanted,
                          bool color, unsigned width, roast_error *err) {
    roast_grid *grid;
    const layout look = lay_out(list, wanted, width);
    ROAST_TRY(roast_grid_new("measurements", (roast_str){NULL, 0}, &grid, err));
    roast_status status = fill_grid(grid, list, &look, err);
    bool rows = roast_grid_row_count(grid) > 0;
    if (status == ROAST_OK && rows)
        roast_grid_draw(grid, width, color, out);
    roast_grid_free(grid);
    if (status == ROAST_OK)
        put_faults(out, list, width, rows);
    return status;
}
