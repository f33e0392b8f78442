/* A prediction as tables and as JSON: what "roast what-if" and what_if() show. */
#ifndef ROAST_WHAT_IF_TABLES_H
#define ROAST_WHAT_IF_TABLES_H

#include "roast/grid.h"
#include "roast/sink.h"
#include "roast/what_if.h"

/* One row per table, in their order: id, title. */
#define ROAST_WHAT_IF_TABLES(X)                                                                    \
    X(figures, "What If")                                                                          \
    X(limits, "What Would Limit It")                                                               \
    X(budget, "Budget")
typedef enum roast_what_if_table_number {
#define X(id, title) ROAST_WHAT_IF_TABLE_##id,
    ROAST_WHAT_IF_TABLES(X)
#undef X
        ROAST_WHAT_IF_TABLE_COUNT
} roast_what_if_table_number;

/* The answer in a sentence: "41 s to 48 s instead of 3.2 min, limited by the work on all threads." */
#define ROAST_WHAT_IF_HEADLINE 256u
void roast_what_if_headline(const roast_what_if *what_if, char *out, size_t size);
/* One table; it may have no rows. */
roast_status roast_what_if_table(const roast_what_if *what_if, roast_what_if_table_number number,
                                 roast_grid **out, roast_error *err);
/* The headline, the tables, and the notes. */
roast_status roast_what_if_draw(const roast_what_if *what_if, unsigned width, bool color,
                                roast_sink *sink, roast_error *err);
void roast_what_if_json(const roast_what_if *what_if, roast_sink *sink);

#endif
