/* The inside of a table of text. */
#ifndef ROAST_RENDER_GRID_INTERNAL_H
#define ROAST_RENDER_GRID_INTERNAL_H

#include "base/arena.h"
#include "roast/grid.h"

typedef struct roast_grid_column {
    roast_str heading;
    roast_align align;
    /* The largest widths so far: of the numbers at the beginning of cells, of the text after such a number, and of
     * cells without a number. */
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

/* The widths that grids drawn below each other share, in columns of a terminal, so that they line up. */
typedef struct roast_grid_frame {
    unsigned width;  /* of the terminal */
    unsigned label;  /* of the labels of facts */
    unsigned number; /* of the numbers of facts, without their units */
    unsigned rule;   /* of the line below a title */
} roast_grid_frame;
/* A frame for no grid yet; roast_grid_frame_fit widens it for a grid. */
roast_grid_frame roast_grid_frame_of(unsigned width);
void roast_grid_frame_fit(roast_grid_frame *frame, const roast_grid *grid);
/* As roast_grid_draw, in a frame that was fitted to the grid. */
void roast_grid_draw_in(const roast_grid *grid, const roast_grid_frame *frame, bool color,
                        roast_sink *sink);

/* A list of facts: no headings are drawn, and grids of facts in one frame line up with each other. */
void roast_grid_set_facts(roast_grid *grid);

/* Limited, so that sums of widths stay small. */
static inline unsigned roast_width_of(roast_str text) {
    size_t width = roast_text_width(text);
    return width < 100000 ? (unsigned)width : 100000;
}

/* As roast_text_put_wrapped of a text that is safe already, in at most so many lines; a cut is marked at the end. */
void roast_text_put_lines(roast_sink *sink, roast_str text, unsigned indent, unsigned width,
                          unsigned lines);

/* The title of a grid and the line below it, in a frame. */
void roast_grid_draw_title(const roast_grid *grid, const roast_grid_frame *frame, bool color,
                           roast_sink *sink);

static inline bool roast_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline const roast_grid_cell *roast_grid_cell_at(const roast_grid *grid, size_t row,
                                                        size_t column) {
    return &grid->cells[row * grid->n_columns + column];
}

#endif
