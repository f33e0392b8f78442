/* The columns of a table as a list. */
#ifndef ROAST_RENDER_GRID_COLUMNS_H
#define ROAST_RENDER_GRID_COLUMNS_H

#include "roast/grid.h"

typedef struct roast_grid_column_of {
    const char *heading;
    roast_align align;
} roast_grid_column_of;

roast_status roast_grid_add_columns(roast_grid *grid, const roast_grid_column_of *columns,
                                    size_t count, roast_error *err);
/* ROAST_ADD_COLUMNS(grid, err, {"Part", ROAST_ALIGN_LEFT}, ...) */
#define ROAST_ADD_COLUMNS(grid, err, ...)                                                          \
    roast_grid_add_columns(                                                                        \
        grid, (const roast_grid_column_of[]){__VA_ARGS__},                                         \
        sizeof((const roast_grid_column_of[]){__VA_ARGS__}) / sizeof(roast_grid_column_of), err)

/* A cell that is a text. */
static inline roast_status roast_grid_add_text(roast_grid *grid, const char *text,
                                               roast_error *err) {
    return roast_grid_add_cell(grid, roast_str_of(text), NULL, 0, err);
}

/* Draws the tables one below the other, with a blank line above each; those without rows are left out. `make` makes
 * the table of a number from its source. */
roast_status roast_grid_draw_tables(const void *source, int count,
                                    roast_status (*make)(const void *source, int number,
                                                         roast_grid **out, roast_error *err),
                                    unsigned width, bool color, roast_sink *sink, roast_error *err);

#endif
