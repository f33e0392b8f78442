/* Tables of text for people.
 *
 * Add the columns of a grid, then its cells, row by row; then draw it, any number of times and in any width. The
 * texts are data: control characters and escape sequences are shown (\x1b), never sent to a terminal. */
#ifndef ROAST_GRID_H
#define ROAST_GRID_H

#include "roast/base.h"
#include "roast/metrics.h"
#include "roast/sink.h"

typedef enum roast_align {
    ROAST_ALIGN_LEFT, /* a text; broken at blanks if it is too long */
    ROAST_ALIGN_NAME, /* a name; if it is too long, the beginning that all names of the column share is told below
                        * the table, and the end is cut ("…"); names that would look the same are broken instead */
    ROAST_ALIGN_RIGHT, /* never broken */
    ROAST_ALIGN_NUMBER /* "1.52 MB": numbers end in one column, their units begin in one */
} roast_align;

/* A number of a cell, for programs. Key and unit are borrowed and must outlive the grid; those of the catalogue do. */
typedef struct roast_grid_value {
    const char *key;
    roast_value value;
    const char *unit;
} roast_grid_value;

typedef struct roast_grid roast_grid;

/* `id` names the table for programs; the title is drawn above it, unless it is absent or empty. Both are copied. */
roast_status roast_grid_new(const char *id, roast_str title, roast_grid **out, roast_error *err);
void roast_grid_free(roast_grid *grid);
/* All columns come before the first cell (ROAST_ESTATE). */
roast_status roast_grid_add_column(roast_grid *grid, roast_str heading, roast_align align,
                                   roast_error *err);
/* The next cell, row by row. The text is copied and made safe to show; an absent text is shown as "-". Values may be
 * NULL. */
roast_status roast_grid_add_cell(roast_grid *grid, roast_str text, const roast_grid_value *values,
                                 uint32_t n_values, roast_error *err);
/* A line below the table. */
roast_status roast_grid_set_caption(roast_grid *grid, roast_str caption, roast_error *err);

const char *roast_grid_id(const roast_grid *grid);
/* As they are drawn; borrowed. Absent if there is none. */
roast_str roast_grid_title(const roast_grid *grid);
roast_str roast_grid_caption(const roast_grid *grid);
uint32_t roast_grid_column_count(const roast_grid *grid);
roast_str roast_grid_heading(const roast_grid *grid, uint32_t column);
/* Complete rows. */
uint32_t roast_grid_row_count(const roast_grid *grid);
/* Absent beyond the end. */
roast_str roast_grid_text(const roast_grid *grid, uint32_t row, uint32_t column);
/* The numbers of a cell; *count is 0 beyond the end. Borrowed. */
const roast_grid_value *roast_grid_values(const roast_grid *grid, uint32_t row, uint32_t column,
                                          uint32_t *count);
/* Whether there is a row with a value that was measured, or a row of texts alone. */
bool roast_grid_has_content(const roast_grid *grid);

/* The least width to draw in: a narrower one counts as this one. */
#define ROAST_GRID_MIN_WIDTH 40u
/* Draws title, rule, headings, rows and caption in so many columns (0: as many as the grid needs). Each line ends with
 * a line feed and never with a blank. `color`: bold and faint by ANSI sequences. Failures stick to the sink. */
void roast_grid_draw(const roast_grid *grid, unsigned width, bool color, roast_sink *sink);

/* Columns that a text takes in a terminal: wide characters take two, combining ones none. */
size_t roast_text_width(roast_str text);
/* Writes a text with control characters as escapes (\x1b), so that it is safe to show. */
void roast_text_put_clean(roast_sink *sink, roast_str text);
/* Writes a text, safe to show, broken at blanks into lines of `width` columns. The first line begins at column `at`,
 * the others are indented by `indent`; no line feed at the end. */
void roast_text_put_wrapped(roast_sink *sink, roast_str text, unsigned at, unsigned indent,
                            unsigned width);

#endif
