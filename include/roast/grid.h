/* Tables of text for people: what is in them, and how they look in a given width.
 *
 * A grid is filled column by column, row by row, and drawn as often as wanted. The texts in it are
 * data: control characters and escape sequences are shown (\x1b), never sent to a terminal. Several
 * grids that are drawn below each other share a frame, so that they line up. */
#ifndef ROAST_GRID_H
#define ROAST_GRID_H

#include "roast/base.h"
#include "roast/metrics.h"
#include "roast/sink.h"

typedef enum roast_align {
    ROAST_ALIGN_LEFT,  /* a text; breaks at blanks where the width does not suffice */
    ROAST_ALIGN_NAME,  /* a name; shortened in the middle where the width does not suffice */
    ROAST_ALIGN_RIGHT, /* never broken */
    ROAST_ALIGN_NUMBER /* "1.52 MB": numbers end in one column, their units begin in one */
} roast_align;

/* A number behind a cell, for programs. key and unit are borrowed and must outlive the grid: those of
 * the catalogue do. */
typedef struct roast_grid_value {
    const char *key;
    roast_value value;
    const char *unit;
} roast_grid_value;

typedef struct roast_grid roast_grid;

/* `id` names the table for programs, the title stands above it for people; both are copied. An
 * absent or empty title: none is drawn. */
roast_status roast_grid_new(const char *id, roast_str title, roast_grid **out, roast_error *err);
void roast_grid_free(roast_grid *grid);
/* All columns come before the first cell (ROAST_ESTATE). */
roast_status roast_grid_add_column(roast_grid *grid, roast_str heading, roast_align align,
                                   roast_error *err);
/* The next cell, row by row. The text is copied and cleaned; an absent one is shown as "-". Values may
 * be NULL. */
roast_status roast_grid_add_cell(roast_grid *grid, roast_str text, const roast_grid_value *values,
                                 uint32_t n_values, roast_error *err);
/* A line below the table. */
roast_status roast_grid_set_caption(roast_grid *grid, roast_str caption, roast_error *err);
/* A list of facts: no headings are drawn, and grids of facts in one frame line up with each other. */
void roast_grid_set_facts(roast_grid *grid, bool facts);

const char *roast_grid_id(const roast_grid *grid);
/* Cleaned, as drawn; borrowed. Absent where there is none. */
roast_str roast_grid_title(const roast_grid *grid);
roast_str roast_grid_caption(const roast_grid *grid);
uint32_t roast_grid_column_count(const roast_grid *grid);
roast_str roast_grid_heading(const roast_grid *grid, uint32_t column);
/* Rows, the last one only once all its cells are there. */
uint32_t roast_grid_row_count(const roast_grid *grid);
/* Absent beyond the end. */
roast_str roast_grid_text(const roast_grid *grid, uint32_t row, uint32_t column);
const roast_grid_value *roast_grid_values(const roast_grid *grid, uint32_t row, uint32_t column,
                                          uint32_t *count);
/* Whether there is a row that has no values, or one that was measured. */
bool roast_grid_has_content(const roast_grid *grid);

/* What grids drawn below each other have in common, in columns of a terminal. */
typedef struct roast_grid_frame {
    unsigned width;  /* what there is */
    unsigned label;  /* of the first column of facts */
    unsigned number; /* of the numbers of facts, without their units */
    unsigned rule;   /* of the line below a title */
} roast_grid_frame;

/* Nothing is drawn narrower than this: a narrower width counts as this one. */
#define ROAST_GRID_MIN_WIDTH 40u

/* A frame without any grid; and one that a grid was fitted into. */
roast_grid_frame roast_grid_frame_of(unsigned width);
void roast_grid_frame_fit(roast_grid_frame *frame, const roast_grid *grid);

/* Title, rule, headings, rows, caption; a line feed behind each line, no blank at the end of one. With
 * `color`: bold and faint by ANSI sequences. frame NULL: as wide as it needs to be. Failures stick to
 * the sink. */
void roast_grid_draw(const roast_grid *grid, const roast_grid_frame *frame, bool color,
                     roast_sink *sink);

/* Columns that a cleaned text takes in a terminal: wide characters take two, combining ones none. */
size_t roast_text_width(roast_str text);
/* Writes a text as it is safe to show: see above. */
void roast_text_put_clean(roast_sink *sink, roast_str text);
/* Writes a text broken at blanks into lines of `width` columns. The first line begins at column `at`,
 * the others are indented by `indent`; no line feed at the end. */
void roast_text_put_wrapped(roast_sink *sink, roast_str text, unsigned at, unsigned indent,
                            unsigned width);

#endif
