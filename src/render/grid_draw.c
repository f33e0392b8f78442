/* Tables of text: their layout and drawing. */
#include "render/grid_internal.h"
#include "render/unicode.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LEAST_NAME = 8, LEAST_REST = 12 };

static const char ellipsis[] = "…";

static const char no_memory[] = "no memory to draw a table";

static const char bold[] = "\x1b[1m", faint[] = "\x1b[2m", plain[] = "\x1b[0m";

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static size_t larger_size(size_t a, size_t b) {
    return a > b ? a : b;
}

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static roast_str part(roast_str text, size_t from, size_t to) {
    return (roast_str){text.data + from, to - from};
}

/* ---- breaking a text into lines ---- */

static size_t skip_blanks(roast_str text, size_t at) {
    while (at < text.len && text.data[at] == ' ')
        at++;
    return at;
}

/* The last blank at or before `len` that a line may end at; `len` if there is none. If
 * possible a number stays with the word that follows it. */
static size_t last_break(roast_str text, size_t len) {
    size_t among_others = 0;
    for (size_t at = len; at > 0; at--) {
        if (text.data[at] != ' ')
            continue;
        if (!roast_is_digit(text.data[at - 1]))
            return at;
        if (among_others == 0)
            among_others = at;
    }
    return among_others > 0 ? among_others : len;
}

/* The next line of at most `width` columns; *at moves past it. A word that is longer than a line is broken. */
static roast_str next_line(roast_str text, size_t *at, unsigned width) {
    size_t start = skip_blanks(text, *at);
    roast_str rest = part(text, start, text.len);
    size_t len = roast_text_head(rest, width > 0 ? width : 1, NULL);
    if (len == 0 && rest.len > 0) { /* a wide character in a single column */
        uint32_t code;
        len = roast_utf8_next(rest, 0, &code);
    }
    if (len < rest.len)
        len = last_break(rest, len);
    *at = skip_blanks(text, start + len);
    while (len > 0 && rest.data[len - 1] == ' ')
        len--;
    return part(rest, 0, len);
}

/* The widest word of a text. */
static unsigned longest_word(roast_str text) {
    unsigned longest = 0;
    for (size_t at = skip_blanks(text, 0); at < text.len; at = skip_blanks(text, at)) {
        size_t end = at;
        while (end < text.len && text.data[end] != ' ')
            end++;
        longest = larger(longest, roast_width_of(part(text, at, end)));
        at = end;
    }
    return longest;
}

static void put_wrapped(roast_sink *sink, roast_str text, unsigned at, unsigned indent,
                        unsigned width) {
    size_t from = 0;
    for (unsigned column = at;; column = indent) {
        roast_str line = next_line(text, &from, width > column ? width - column : 1);
        roast_sink_str(sink, line);
        if (from >= text.len)
            return;
        roast_sink_printf(sink, "\n%*s", (int)indent, "");
    }
}

/* A line that is cut ends with a clause, if one ends in it. */
static roast_str end_of_clause(roast_str line) {
    for (size_t at = line.len; at > 1; at--)
        if (line.data[at - 1] == ' ' && (line.data[at - 2] == ';' || line.data[at - 2] == '.'))
            return part(line, 0, at - (line.data[at - 2] == ';' ? 2 : 1));
    return line;
}

void roast_text_put_lines(roast_sink *sink, roast_str text, unsigned indent, unsigned width,
                          unsigned lines) {
    const unsigned room = width > indent + GAP ? width - indent : GAP + 1;
    size_t from = 0;
    for (unsigned i = 1; from < text.len; i++) {
        size_t at = from;
        roast_str line = next_line(text, &from, room);
        bool cut = i == lines && from < text.len;
        if (cut) {
            line = end_of_clause(next_line(text, &at, room - GAP));
            from = text.len;
        }
        if (i > 1)
            roast_sink_printf(sink, "\n%*s", (int)indent, "");
        roast_sink_str(sink, line);
        roast_sink_puts(sink, cut ? " …" : "");
    }
}

void roast_text_put_wrapped(roast_sink *sink, roast_str text, unsigned at, unsigned indent,
                            unsigned width) {
    roast_sink *clean = NULL;
    roast_error err;
    roast_status status = roast_sink_new_memory(&clean, &err);
    if (status == ROAST_OK) {
        roast_text_put_clean(clean, text);
        status = roast_sink_finish(clean, &err);
    }
    if (status == ROAST_OK)
        put_wrapped(sink, roast_sink_memory(clean), at, indent, width);
    else
        roast_sink_fail(sink, status, err.message);
    roast_sink_free(clean);
}

/* ---- lines without a blank at their end ---- */

typedef struct pen {
    roast_sink *sink;
    bool color;
    unsigned column;  /* where the next text goes */
    unsigned written; /* where the last one ended */
} pen;

static void put_styled(pen *p, roast_str text, const char *style) {
    if (text.len == 0)
        return;
    for (; p->written < p->column; p->written++)
        roast_sink_puts(p->sink, " ");
    if (p->color && style != NULL)
        roast_sink_puts(p->sink, style);
    roast_sink_str(p->sink, text);
    if (p->color && style != NULL)
        roast_sink_puts(p->sink, plain);
    p->column += roast_width_of(text);
    p->written = p->column;
}

static void end_line(pen *p) {
    roast_sink_puts(p->sink, "\n");
    p->column = p->written = 0;
}

static void put_paragraph(pen *p, roast_str text, unsigned width, const char *style) {
    for (size_t at = 0; at < text.len;) {
        put_styled(p, next_line(text, &at, width), style);
        end_line(p);
    }
}

/* ---- widths ---- */

typedef struct column_layout {
    unsigned width, number;
    size_t at;      /* of the cell or heading that is drawn: bytes that are done */
    unsigned lines; /* of the heading */
    size_t shared;  /* bytes at the beginning of all names, which are not drawn */
    bool broken;    /* names are broken into lines, not cut */
} column_layout;

/* ---- names ---- */

/* The name without the beginning that all names of its column share. */
static roast_str name_at(const roast_grid *grid, uint32_t row, size_t column, size_t shared) {
    roast_str text = roast_grid_cell_at(grid, row, (uint32_t)column)->text;
    return part(text, shared, text.len);
}

/* As much of a name as is shown before the ellipsis. */
static roast_str cut_name(roast_str name, unsigned width) {
    return part(name, 0, roast_text_head(name, width > 1 ? width - 1 : 0, NULL));
}

static void put_name(pen *p, roast_str name, unsigned width, const char *style) {
    bool whole = roast_width_of(name) <= width;
    put_styled(p, whole ? name : cut_name(name, width), style);
    if (!whole)
        put_styled(p, roast_str_of(ellipsis), style);
}

/* Bytes of the beginning that all names of a column share, up to the end of a part of a path or an address. */
static size_t shared_beginning(const roast_grid *grid, size_t column) {
    uint32_t rows = roast_grid_row_count(grid);
    if (rows < 2 || grid->columns[column].heading.len == 0)
        return 0;
    roast_str first = name_at(grid, 0, column, 0);
    size_t same = first.len;
    for (uint32_t row = 1; row < rows; row++) {
        roast_str other = name_at(grid, row, column, 0);
        size_t at = 0;
        while (at < same && at < other.len && other.data[at] == first.data[at])
            at++;
        same = at < other.len ? at : at - (at > 0); /* something is left of each */
    }
    while (same > 0 && first.data[same - 1] != '/' && first.data[same - 1] != ':')
        same--;
    return same < first.len ? same : 0;
}

static unsigned longest_name(const roast_grid *grid, size_t column, size_t shared) {
    unsigned longest = 0;
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++)
        longest = larger(longest, roast_width_of(name_at(grid, row, column, shared)));
    return longest;
}

static int compare_texts(const void *left, const void *right) {
    const roast_str *a = left, *b = right;
    int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Whether two different names would look the same after a cut. The names are sorted. */
static bool look_the_same(const roast_str *names, uint32_t count, unsigned width) {
    for (uint32_t i = 1; i < count; i++)
        if (roast_width_of(names[i - 1]) > width && roast_width_of(names[i]) > width &&
            !roast_str_equal(names[i - 1], names[i]) &&
            roast_str_equal(cut_name(names[i - 1], width), cut_name(names[i], width)))
            return true;
    return false;
}

/* Decides how names that are too long are shown: without the beginning that all of them share, and then cut; or
 * broken into lines, where a cut would make two names equal. A single name is not cut. */
static roast_status fit_names(const roast_grid *grid, size_t number, column_layout *column) {
    column->shared =
        longest_name(grid, number, 0) > column->width ? shared_beginning(grid, number) : 0;
    column->broken = false;
    unsigned longest = longest_name(grid, number, column->shared);
    if (longest <= column->width) {
        unsigned heading = roast_width_of(grid->columns[number].heading);
        if (column->shared > 0)
            column->width = smaller(column->width, larger(longest, heading));
        return ROAST_OK;
    }
    uint32_t rows = roast_grid_row_count(grid);
    roast_str *names = roast_alloc(rows * sizeof *names);
    if (names == NULL)
        return ROAST_ENOMEM;
    for (uint32_t row = 0; row < rows; row++)
        names[row] = name_at(grid, row, number, column->shared);
    qsort(names, rows, sizeof *names, compare_texts);
    column->broken = rows == 1 || look_the_same(names, rows, column->width);
    roast_free(names);
    return ROAST_OK;
}

static void put_shared(pen *p, const roast_grid *grid, size_t number, const column_layout *column,
                       unsigned width) {
    roast_sink *text = NULL;
    roast_error err;
    roast_status status = roast_sink_new_memory(&text, &err);
    if (status == ROAST_OK) {
        roast_sink_str(text, grid->columns[number].heading);
        roast_sink_puts(text, ": each begins with ");
        roast_sink_str(
            text, part(roast_grid_cell_at(grid, 0, (uint32_t)number)->text, 0, column->shared));
        status = roast_sink_finish(text, &err);
    }
    if (status == ROAST_OK)
        put_paragraph(p, roast_sink_memory(text), width, faint);
    else
        roast_sink_fail(p->sink, status, err.message);
    roast_sink_free(text);
}

static column_layout measure_column(const roast_grid_column *column) {
    return (column_layout){.width = larger(column->number + column->rest, column->text),
                           .number = column->number};
}

static unsigned total_width(const column_layout *columns, size_t count) {
    unsigned total = count > 0 ? GAP * (unsigned)(count - 1) : 0;
    for (size_t i = 0; i < count; i++)
        total += columns[i].width;
    return total;
}

/* Narrows the columns of texts and names, the widest first, until the table fits. */
static void shrink(const roast_grid *grid, column_layout *columns, unsigned width) {
    unsigned total = total_width(columns, grid->n_columns);
    while (total > width) {
        size_t widest = grid->n_columns;
        for (size_t i = 0; i < grid->n_columns; i++) {
            bool yields = grid->columns[i].align == ROAST_ALIGN_LEFT ||
                          grid->columns[i].align == ROAST_ALIGN_NAME;
            if (yields && columns[i].width > LEAST_NAME &&
                (widest == grid->n_columns || columns[i].width > columns[widest].width))
                widest = i;
        }
        if (widest == grid->n_columns)
            return;
        columns[widest].width--;
        total--;
    }
}

/* Headings are broken before names are shortened. */
static unsigned least_width(const roast_grid_column *column, bool broken) {
    unsigned heading = broken ? longest_word(column->heading) : roast_width_of(column->heading);
    return larger(measure_column(column).width, heading);
}

/* The width of all columns, before any is shortened. */
static unsigned wanted_width(const roast_grid *grid, bool broken) {
    unsigned total = GAP * (unsigned)(grid->n_columns - 1);
    for (size_t i = 0; i < grid->n_columns; i++)
        total += least_width(&grid->columns[i], broken);
    return total;
}

static roast_status lay_out_columns(const roast_grid *grid, unsigned width,
                                    column_layout *columns) {
    bool broken = wanted_width(grid, false) > width;
    for (size_t i = 0; i < grid->n_columns; i++) {
        columns[i] = measure_column(&grid->columns[i]);
        columns[i].width = least_width(&grid->columns[i], broken);
        if (grid->columns[i].align == ROAST_ALIGN_NUMBER) /* at the right, under its heading */
            columns[i].number = columns[i].width - grid->columns[i].rest;
    }
    shrink(grid, columns, width);
    for (size_t i = 0; i < grid->n_columns; i++)
        if (grid->columns[i].align == ROAST_ALIGN_NAME)
            ROAST_TRY(fit_names(grid, i, &columns[i]));
    return ROAST_OK;
}

static void lay_out_facts(const roast_grid_frame *frame, column_layout *columns, size_t count) {
    for (size_t i = 0; i < count; i++)
        columns[i] = (column_layout){.number = frame->number};
    columns[0].width = frame->label;
    if (count > 1)
        columns[1].width = frame->width - frame->label - GAP;
}

/* ---- frames ---- */

roast_grid_frame roast_grid_frame_of(unsigned width) {
    width = smaller(width, 10000);
    return (roast_grid_frame){.width = larger(width, ROAST_GRID_MIN_WIDTH)};
}

static unsigned fit_facts(roast_grid_frame *frame, const roast_grid *grid) {
    column_layout label = measure_column(&grid->columns[0]);
    column_layout value = measure_column(&grid->columns[1]);
    frame->number = larger(frame->number, value.number);
    frame->label = larger(frame->label, label.width);
    /* Labels are broken where the values to their right would not fit. */
    unsigned right = frame->number + 1 + LEAST_REST + GAP;
    if (frame->label + right > frame->width)
        frame->label = frame->width > right + LEAST_NAME ? frame->width - right : LEAST_NAME;
    unsigned behind = value.width > value.number ? value.width - value.number : 0;
    return frame->label + GAP + frame->number + behind;
}

static unsigned fit_columns(const roast_grid_frame *frame, const roast_grid *grid) {
    unsigned wanted = wanted_width(grid, false);
    return wanted > frame->width ? wanted_width(grid, true) : wanted;
}

void roast_grid_frame_fit(roast_grid_frame *frame, const roast_grid *grid) {
    unsigned total = roast_width_of(grid->title);
    if (grid->facts && grid->n_columns == 2)
        total = larger(total, fit_facts(frame, grid));
    else if (grid->n_columns > 0)
        total = larger(total, fit_columns(frame, grid));
    frame->rule = smaller(larger(frame->rule, total), frame->width);
}

/* ---- drawing ---- */

/* Draws the next line of a cell, and moves column->at past it. */
static void put_cell_line(pen *p, const roast_grid_cell *cell, roast_align align,
                          column_layout *column) {
    const unsigned start = p->column;
    const char *style = roast_str_equal(cell->text, roast_str_of("-")) ? faint : NULL;
    roast_str rest = part(cell->text, column->at, cell->text.len);
    switch (align) {
    case ROAST_ALIGN_NAME:
        column->at = larger_size(column->at, column->shared);
        if (column->broken) {
            put_styled(p, next_line(cell->text, &column->at, column->width), style);
            break;
        }
        put_name(p, part(cell->text, column->at, cell->text.len), column->width, style);
        column->at = cell->text.len;
        break;
    case ROAST_ALIGN_RIGHT:
        p->column +=
            column->width > roast_width_of(rest) ? column->width - roast_width_of(rest) : 0;
        put_styled(p, rest, style);
        column->at = cell->text.len;
        break;
    case ROAST_ALIGN_NUMBER:
        if (cell->number > 0) {
            roast_str number = part(cell->text, 0, cell->number);
            unsigned own = roast_width_of(number);
            if (column->at == 0) {
                p->column = start + (column->number > own ? column->number - own : 0);
                put_styled(p, number, style);
                column->at = cell->number;
            }
            p->column = start + column->number + 1;
            unsigned room =
                column->width > column->number + 1 ? column->width - column->number - 1 : 1;
            put_styled(p, next_line(cell->text, &column->at, room), style);
            break;
        }
        /* a text among numbers */
        /* fall through */
    case ROAST_ALIGN_LEFT:
        put_styled(p, next_line(cell->text, &column->at, column->width), style);
        break;
    }
    p->column = start + column->width + GAP;
}

static void put_row(pen *p, const roast_grid *grid, const roast_grid_cell *cells,
                    column_layout *columns) {
    for (size_t i = 0; i < grid->n_columns; i++)
        columns[i].at = 0;
    bool more;
    do {
        more = false;
        p->column = 0;
        for (size_t i = 0; i < grid->n_columns; i++) {
            if (columns[i].at < cells[i].text.len)
                put_cell_line(p, &cells[i], grid->columns[i].align, &columns[i]);
            else
                p->column += columns[i].width + GAP;
            more = more || columns[i].at < cells[i].text.len;
        }
        end_line(p);
    } while (more);
}

/* Headings are aligned at their bottom line, and at the right over numbers. */
static void put_headings(pen *p, const roast_grid *grid, column_layout *columns) {
    unsigned lines = 0;
    for (size_t i = 0; i < grid->n_columns; i++) {
        roast_str heading = grid->columns[i].heading;
        columns[i].lines = 0;
        for (size_t at = 0; at < heading.len; columns[i].lines++)
            next_line(heading, &at, columns[i].width);
        columns[i].at = 0;
        lines = larger(lines, columns[i].lines);
    }
    for (; lines > 0; lines--) {
        unsigned start = 0;
        for (size_t i = 0; i < grid->n_columns; i++) {
            roast_str text = {NULL, 0};
            if (columns[i].lines >= lines)
                text = next_line(grid->columns[i].heading, &columns[i].at, columns[i].width);
            bool left = grid->columns[i].align == ROAST_ALIGN_LEFT ||
                        grid->columns[i].align == ROAST_ALIGN_NAME;
            unsigned own = roast_width_of(text);
            p->column = start + (left || own > columns[i].width ? 0 : columns[i].width - own);
            put_styled(p, text, faint);
            start += columns[i].width + GAP;
        }
        end_line(p);
    }
}

static void put_rule(pen *p, unsigned width) {
    if (p->color)
        roast_sink_puts(p->sink, faint);
    for (unsigned i = 0; i < width; i++)
        roast_sink_puts(p->sink, "─");
    if (p->color)
        roast_sink_puts(p->sink, plain);
    end_line(p);
}

void roast_grid_draw_title(const roast_grid *grid, const roast_grid_frame *frame, bool color,
                           roast_sink *sink) {
    pen p = {.sink = sink, .color = color};
    if (grid->title.len == 0)
        return;
    put_paragraph(&p, grid->title, frame->width, bold);
    put_rule(&p, frame->rule);
}

static void draw(const roast_grid *grid, const roast_grid_frame *frame, pen *p,
                 column_layout *columns) {
    bool facts = grid->facts && grid->n_columns == 2;
    roast_status status = ROAST_OK;
    if (facts)
        lay_out_facts(frame, columns, grid->n_columns);
    else
        status = lay_out_columns(grid, frame->width, columns);
    if (status != ROAST_OK) {
        roast_sink_fail(p->sink, status, no_memory);
        return;
    }
    roast_grid_draw_title(grid, frame, p->color, p->sink);
    if (!facts)
        put_headings(p, grid, columns);
    for (uint32_t row = 0; row < roast_grid_row_count(grid); row++)
        put_row(p, grid, roast_grid_cell_at(grid, row, 0), columns);
    for (size_t i = 0; i < grid->n_columns; i++)
        if (columns[i].shared > 0)
            put_shared(p, grid, i, &columns[i], frame->width);
    if (grid->caption.len > 0)
        put_paragraph(p, grid->caption, frame->width, faint);
}

void roast_grid_draw_in(const roast_grid *grid, const roast_grid_frame *frame, bool color,
                        roast_sink *sink) {
    if (grid->n_columns == 0)
        return;
    column_layout *columns = roast_alloc(grid->n_columns * sizeof *columns);
    if (columns == NULL) {
        roast_sink_fail(sink, ROAST_ENOMEM, no_memory);
        return;
    }
    pen p = {.sink = sink, .color = color};
    draw(grid, frame, &p, columns);
    roast_free(columns);
}

void roast_grid_draw(const roast_grid *grid, unsigned width, bool color, roast_sink *sink) {
    roast_grid_frame frame = roast_grid_frame_of(width > 0 ? width : UINT_MAX);
    roast_grid_frame_fit(&frame, grid);
    roast_grid_draw_in(grid, &frame, color, sink);
}
