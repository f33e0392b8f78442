/* A comparison as tables and as JSON: what "roast compare" and compare() show. */
#ifndef ROAST_COMPARE_TABLES_H
#define ROAST_COMPARE_TABLES_H

#include "roast/compare.h"
#include "roast/grid.h"
#include "roast/sink.h"

/* One row per table, in their order: id, title. */
#define ROAST_COMPARE_TABLES(X)                                                                    \
    X(conditions, "What Differs")                                                                  \
    X(causes, "What Contributed Most")                                                             \
    X(figures, "Figures")                                                                          \
    X(budget, "Budget")                                                                            \
    X(findings, "Findings")
typedef enum roast_compare_table {
#define X(id, title) ROAST_COMPARE_##id,
    ROAST_COMPARE_TABLES(X)
#undef X
        ROAST_COMPARE_TABLE_COUNT
} roast_compare_table;

/* The answer in a sentence: "B takes 12 % less time per chunk than A (10 % to 14 % less, 60 pairs of chunks)." */
#define ROAST_COMPARE_HEADLINE 512u
void roast_comparison_headline(const roast_comparison *comparison, char *out, size_t size);
/* One table; it may have no content. */
roast_status roast_comparison_table(const roast_comparison *comparison, roast_compare_table table,
                                    roast_grid **out, roast_error *err);
/* The headline, then the tables that have content. */
roast_status roast_comparison_draw(const roast_comparison *comparison, unsigned width, bool color,
                                   roast_sink *sink, roast_error *err);
/* All lists of the comparison. */
void roast_comparison_json(const roast_comparison *comparison, roast_sink *sink);

#endif
