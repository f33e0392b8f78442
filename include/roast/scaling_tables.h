/* Scaling as tables and as JSON: what "roast scaling" and scaling() show. */
#ifndef ROAST_SCALING_TABLES_H
#define ROAST_SCALING_TABLES_H

#include "roast/grid.h"
#include "roast/scaling.h"
#include "roast/sink.h"

/* One row per table, in their order: id, title. */
#define ROAST_SCALING_TABLES(X)                                                                    \
    X(points, "Scaling")                                                                           \
    X(losses, "Where the Efficiency Went")                                                         \
    X(laws, "Laws")                                                                                \
    X(predictions, "Predictions")
typedef enum roast_scaling_table_number {
#define X(id, title) ROAST_SCALING_TABLE_##id,
    ROAST_SCALING_TABLES(X)
#undef X
        ROAST_SCALING_TABLE_COUNT
} roast_scaling_table_number;

/* What is shown: the scaling, and the numbers of cores to predict. */
typedef struct roast_scaling_view {
    const roast_scaling *scaling;
    const double *cores;
    size_t n_cores;
} roast_scaling_view;

/* The answer in a sentence: "Efficiency 61 % at 64 cores, compared with 4: ..." */
#define ROAST_SCALING_HEADLINE 512u
void roast_scaling_headline(const roast_scaling *scaling, char *out, size_t size);
/* One table; it may have no rows. */
roast_status roast_scaling_table(const roast_scaling_view *view, roast_scaling_table_number number,
                                 roast_grid **out, roast_error *err);
/* The headline, then the tables that have rows. */
roast_status roast_scaling_draw(const roast_scaling_view *view, unsigned width, bool color,
                                roast_sink *sink, roast_error *err);
void roast_scaling_json(const roast_scaling_view *view, roast_sink *sink);

#endif
