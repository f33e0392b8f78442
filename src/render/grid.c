/* Tables of text: their content. */
#include "render/grid_internal.h"

#include <string.h>

#include "base/buffer.h"

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "table", -1, "no memory for a table");
}

/* A copy that is safe to show. */
static roast_status keep_text(roast_grid *grid, roast_str text, roast_str *out, roast_error *err) {
    roast_sink *sink;
    if (text.data == NULL) {
        *out = text;
        return ROAST_OK;
    }
    ROAST_TRY(roast_sink_new_memory(&sink, err));
    roast_text_put_clean(sink, text);
    roast_status status = roast_sink_finish(sink, err);
    if (status == ROAST_OK &&
        roast_arena_str(&grid->arena, roast_sink_memory(sink), out) != ROAST_OK)
        status = no_memory(err);
    roast_sink_free(sink);
    return status;
}

/* ---- life ---- */

static roast_status name_grid(roast_grid *grid, const char *id, roast_str title, roast_error *err) {
    roast_str name;
    ROAST_TRY(keep_text(grid, roast_str_of(id != NULL ? id : ""), &name, err));
    grid->id = name.data;
    if (title.len == 0)
        return ROAST_OK;
    return keep_text(grid, title, &grid->title, err);
}

roast_status roast_grid_new(const char *id, roast_str title, roast_grid **out, roast_error *err) {
    roast_grid *grid = roast_alloc_zero(sizeof *grid);
    if (grid == NULL)
        return no_memory(err);
    roast_status status = name_grid(grid, id, title, err);
    if (status != ROAST_OK) {
        roast_grid_free(grid);
        return status;
    }
    *out = grid;
    return ROAST_OK;
}

void roast_grid_free(roast_grid *grid) {
    if (grid == NULL)
        return;
    roast_arena_reset(&grid->arena);
    roast_free(grid->columns);
    roast_free(grid->cells);
    roast_free(grid);
}

/* ---- in ---- */

roast_status roast_grid_add_column(roast_grid *grid, roast_str heading, roast_align align,
                                   roast_error *err) {
    if (grid->n_cells > 0)
        return roast_error_set(err, ROAST_ESTATE, "table", -1,
                               "a column was added behind the first cell");
    void *columns = grid->columns;
    if (roast_array_reserve(&columns, &grid->columns_capacity, sizeof *grid->columns,
                            grid->n_columns + 1) != ROAST_OK)
        return no_memory(err);
    grid->columns = columns;
    roast_grid_column column = {.align = align};
    ROAST_TRY(
        keep_text(grid, heading.data != NULL ? heading : roast_str_of(""), &column.heading, err));
    grid->columns[grid->n_columns++] = column;
    return ROAST_OK;
}

/* "-1.5" of "-1.5 s", "< 0.1" of "< 0.1 %", "-" of "-"; nothing of "a 1". */
static uint32_t number_length(roast_str text) {
    size_t at =
        text.len > 2 && (text.data[0] == '<' || text.data[0] == '>') && text.data[1] == ' ' ? 2 : 0;
    size_t sign = text.len > at && (text.data[at] == '-' || text.data[at] == '+');
    if (text.len == 1 && text.data[0] == '-')
        return 1;
    if (text.len <= at + sign || !roast_is_digit(text.data[at + sign]))
        return 0;
    const char *blank = memchr(text.data + at, ' ', text.len - at);
    return (uint32_t)(blank != NULL ? (size_t)(blank - text.data) : text.len);
}

static roast_status keep_values(roast_grid *grid, const roast_grid_value *values, uint32_t count,
                                roast_grid_cell *cell) {
    if (count == 0)
        return ROAST_OK;
    roast_grid_value *copy = roast_arena_alloc(&grid->arena, count * sizeof *copy);
    if (copy == NULL)
        return ROAST_ENOMEM;
    memcpy(copy, values, count * sizeof *copy);
    cell->values = copy;
    cell->n_values = count;
    return ROAST_OK;
}

static void grow(unsigned *widest, roast_str text) {
    unsigned width = roast_width_of(text);
    *widest = width > *widest ? width : *widest;
}

static void measure(roast_grid_column *column, const roast_grid_cell *cell) {
    roast_str text = cell->text;
    if (column->align != ROAST_ALIGN_NUMBER || cell->number == 0) {
        grow(&column->text, text);
        return;
    }
    grow(&column->number, (roast_str){text.data, cell->number});
    grow(&column->rest, (roast_str){text.data + cell->number, text.len - cell->number});
}

roast_status roast_grid_add_cell(roast_grid *grid, roast_str text, const roast_grid_value *values,
                                 uint32_t n_values, roast_error *err) {
    if (grid->n_columns == 0)
        return roast_error_set(err, ROAST_ESTATE, "table", -1, "a cell needs a column");
    void *cells = grid->cells;
    if (roast_array_reserve(&cells, &grid->cells_capacity, sizeof *grid->cells,
                            grid->n_cells + 1) != ROAST_OK)
        return no_memory(err);
    grid->cells = cells;
    roast_grid_cell cell = {0};
    ROAST_TRY(keep_text(grid, text.data != NULL ? text : roast_str_of("-"), &cell.text, err));
    if (keep_values(grid, values, values != NULL ? n_values : 0, &cell) != ROAST_OK)
        return no_memory(err);
    cell.number = number_length(cell.text);
    measure(&grid->columns[grid->n_cells % grid->n_columns], &cell);
    grid->cells[grid->n_cells++] = cell;
    return ROAST_OK;
}

roast_status roast_grid_set_caption(roast_grid *grid, roast_str caption, roast_error *err) {
    return keep_text(grid, caption, &grid->caption, err);
}

void roast_grid_set_facts(roast_grid *grid) {
    grid->facts = true;
}

/* ---- out ---- */

const char *roast_grid_id(const roast_grid *grid) {
    return grid->id;
}

roast_str roast_grid_title(const roast_grid *grid) {
    return grid->title;
}

roast_str roast_grid_caption(const roast_grid *grid) {
    return grid->caption;
}

uint32_t roast_grid_column_count(const roast_grid *grid) {
    return (uint32_t)grid->n_columns;
}

roast_str roast_grid_heading(const roast_grid *grid, uint32_t column) {
    return column < grid->n_columns ? grid->columns[column].heading : (roast_str){0};
}

uint32_t roast_grid_row_count(const roast_grid *grid) {
    return grid->n_columns > 0 ? (uint32_t)(grid->n_cells / grid->n_columns) : 0;
}

static const roast_grid_cell *find_cell(const roast_grid *grid, uint32_t row, uint32_t column) {
    if (column >= grid->n_columns || row >= roast_grid_row_count(grid))
        return NULL;
    return roast_grid_cell_at(grid, row, column);
}

roast_str roast_grid_text(const roast_grid *grid, uint32_t row, uint32_t column) {
    const roast_grid_cell *cell = find_cell(grid, row, column);
    return cell != NULL ? cell->text : (roast_str){0};
}

const roast_grid_value *roast_grid_values(const roast_grid *grid, uint32_t row, uint32_t column,
                                          uint32_t *count) {
    const roast_grid_cell *cell = find_cell(grid, row, column);
    *count = cell != NULL ? cell->n_values : 0;
    return cell != NULL ? cell->values : NULL;
}

static bool row_has_content(const roast_grid *grid, uint32_t row) {
    uint32_t values = 0;
    for (uint32_t column = 0; column < grid->n_columns; column++) {
        const roast_grid_cell *cell = roast_grid_cell_at(grid, row, column);
        values += cell->n_values;
        for (uint32_t i = 0; i < cell->n_values; i++)
            if (cell->values[i].value.kind != ROAST_VALUE_NONE)
                return true;
    }
    return values == 0;
}

bool roast_grid_has_content(const roast_grid *grid) {
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++)
        if (row_has_content(grid, row))
            return true;
    return false;
}
