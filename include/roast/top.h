/* Rows that belong together, summed up: the largest groups, and one row for all the others. */
#ifndef ROAST_TOP_H
#define ROAST_TOP_H

#include "roast/base.h"

typedef enum roast_top_kind { ROAST_TOP_SUM, ROAST_TOP_MAX } roast_top_kind;

/* One figure of each row; NaN where it is absent. The caller's. */
typedef struct roast_top_column {
    const double *values;
    roast_top_kind kind;
} roast_top_column;

typedef struct roast_top roast_top;

/* codes[i] is the group of row i, 0 to groups - 1; any other belongs to none and is left out. The
 * groups that have a row come in the order of a column, the largest first, those without a figure last,
 * alike ones by their number; all but the first `limit` of them are summed up in the rest. Nothing is
 * borrowed afterwards. ROAST_EINVAL: there is no such column; ROAST_ENOMEM. */
roast_status roast_top_new(const int32_t *codes, size_t n, uint32_t groups,
                           const roast_top_column *columns, uint32_t n_columns, uint32_t order,
                           uint32_t limit, roast_top **out, roast_error *err);
void roast_top_free(roast_top *top);

/* Groups that stand alone, and groups in the rest. */
uint32_t roast_top_count(const roast_top *top);
uint32_t roast_top_rest(const roast_top *top);
/* The group in a place; -1 in the place behind the last, which is that of the rest, and beyond. */
int32_t roast_top_code(const roast_top *top, uint32_t place);
/* How many rows it has; 0 beyond the rest. */
uint64_t roast_top_rows(const roast_top *top, uint32_t place);
/* NaN: no row has the figure, or there is no such place or column. */
double roast_top_value(const roast_top *top, uint32_t place, uint32_t column);
/* One figure divided by another: a rate, a mean. NaN where one of them is not there, or the lower is 0. */
double roast_top_ratio(const roast_top *top, uint32_t place, uint32_t over, uint32_t under);

#endif
