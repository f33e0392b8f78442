/* A trend as lines of blocks, tables and JSON: what "roast trend" and trend() show. */
#ifndef ROAST_TREND_TABLES_H
#define ROAST_TREND_TABLES_H

#include "roast/grid.h"
#include "roast/sink.h"
#include "roast/trend.h"

/* The answer in a sentence: "2 changes of level in 120 runs (1 group): ..." */
#define ROAST_TREND_HEADLINE 256u
void roast_trend_headline(const roast_trend *trend, char *out, size_t size);
/* The changes of level of one group; it may have no rows. */
roast_status roast_trend_table(const roast_trend *trend, uint32_t group, roast_grid **out,
                               roast_error *err);

typedef struct roast_trend_look {
    unsigned width; /* columns; at least ROAST_GRID_MIN_WIDTH */
    bool color;
    bool ascii; /* for terminals without block characters */
} roast_trend_look;
/* The headline; for each group a line of blocks, one per run or for several runs their median, the marks of the changes
 * below it, and what changed there; what was left out. Groups of one run and beyond the twenty largest, and changes before the last
 * twenty of a group, are only counted. */
roast_status roast_trend_draw(const roast_trend *trend, const roast_trend_look *look,
                              roast_sink *sink, roast_error *err);
void roast_trend_json(const roast_trend *trend, roast_sink *sink);

#endif
