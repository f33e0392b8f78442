/* A table of text, as its two files see it. */
#ifndef ROAST_RENDER_GRID_INTERNAL_H
#define ROAST_RENDER_GRID_INTERNAL_H

#include "base/arena.h"
#include "roast/grid.h"

typedef struct roast_grid_column {
    roast_str heading;
    roast_align align;
    /* The widest so far, in columns of a terminal: of the numbers that cells begin with, of what stands
     * behind such a number, of all other texts. */
    unsigned number, rest, text;
} roast_grid_column;

typedef struct roast_grid_cell {
    roast_str text; /* cleaned */
    const roast_grid_value *values;
    uint32_t n_values;
    uint32_t number; /* bytes of the number it begins with, 0 if it begins with none */
} roast_grid_cell;

struct roast_grid {
    roast_arena arena; /* all texts and values */
    const char *id;
    roast_str title, caption;
    roast_grid_column *columns;
    size_t n_columns, columns_capacity;
    roast_grid_cell *cells; /* row by row */
    size_t n_cells, cells_capacity;
    bool facts;
};

static inline const roast_grid_cell *roast_grid_cell_at(const roast_grid *grid, size_t row,
                                                        size_t column) {
    return &grid->cells[row * grid->n_columns + column];
}

#endif
