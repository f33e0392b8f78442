/* The largest groups of many rows. */
#include "roast/top.h"

#include <math.h>
#include <stdlib.h>

typedef struct group {
    int32_t code;
    uint64_t rows;
    double key;
} group;

struct roast_top {
    uint32_t count, rest, n_columns;
    group *groups;  /* count of them, and the rest behind them */
    double *values; /* n_columns a group, in the order of the groups */
};

/* ---- figures ---- */

static void add_figure(double *sum, double value, roast_top_kind kind) {
    if (isnan(value))
        return;
    if (isnan(*sum))
        *sum = value;
    else if (kind == ROAST_TOP_SUM)
        *sum += value;
    else if (value > *sum)
        *sum = value;
}

static void add_row(double *sums, const roast_top_column *columns, uint32_t n_columns, size_t row) {
    for (uint32_t column = 0; column < n_columns; column++)
        add_figure(&sums[column], columns[column].values[row], columns[column].kind);
}

static void clear(double *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = NAN;
}

/* ---- order ---- */

static int largest_first(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (!isnan(x->key) && x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->code > y->code) - (x->code < y->code);
}

/* Moves those with a row to the front and sorts them; returns how many there are. */
static uint32_t sort_groups(group *groups, uint32_t n) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++)
        if (groups[i].rows > 0)
            groups[used++] = groups[i];
    qsort(groups, used, sizeof *groups, largest_first);
    return used;
}

/* ---- making it ---- */

/* What is summed up before it is known which groups are the largest. */
typedef struct sums {
    group *groups;
    double *values;
} sums;

static void sums_reset(sums *all) {
    roast_free(all->groups);
    roast_free(all->values);
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, "top", -1, "no memory to sum up groups");
}

static roast_status sum_up(const int32_t *codes, size_t n, uint32_t groups,
                           const roast_top_column *columns, uint32_t n_columns, uint32_t order,
                           sums *all, roast_error *err) {
    size_t cells = (size_t)groups * n_columns;
    all->groups = roast_alloc_zero(((size_t)groups + 1) * sizeof *all->groups);
    all->values = roast_alloc((cells + 1) * sizeof *all->values);
    if (all->groups == NULL || all->values == NULL)
        return no_memory(err);
    clear(all->values, cells);
    for (uint32_t i = 0; i < groups; i++)
        all->groups[i].code = (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        if (codes[i] < 0 || (uint32_t)codes[i] >= groups)
            continue;
        all->groups[codes[i]].rows++;
        add_row(all->values + (size_t)codes[i] * n_columns, columns, n_columns, i);
    }
    for (uint32_t i = 0; i < groups; i++)
        all->groups[i].key = all->values[(size_t)i * n_columns + order];
    return ROAST_OK;
}

/* Takes over the first groups and sums up the others. */
static void take(roast_top *top, const sums *all, uint32_t used, const roast_top_column *columns) {
    size_t width = top->n_columns;
    group *rest = &top->groups[top->count];
    double *of_rest = top->values + top->count * width;
    clear(of_rest, width);
    *rest = (group){-1, 0, NAN};
    for (uint32_t place = 0; place < used; place++) {
        const double *from = all->values + (size_t)all->groups[place].code * width;
        bool alone = place < top->count;
        if (alone)
            top->groups[place] = all->groups[place];
        else
            rest->rows += all->groups[place].rows;
        for (size_t column = 0; column < width; column++) {
            if (alone)
                top->values[place * width + column] = from[column];
            else
                add_figure(&of_rest[column], from[column], columns[column].kind);
        }
    }
}

static roast_status make(const sums *all, uint32_t used, uint32_t limit,
                         const roast_top_column *columns, uint32_t n_columns, roast_top **out,
                         roast_error *err) {
    roast_top *top = roast_alloc_zero(sizeof *top);
    if (top == NULL)
        return no_memory(err);
    top->count = used < limit ? used : limit;
    top->rest = used - top->count;
    top->n_columns = n_columns;
    top->groups = roast_alloc(((size_t)top->count + 1) * sizeof *top->groups);
    top->values = roast_alloc(((size_t)top->count + 1) * n_columns * sizeof *top->values);
    if (top->groups == NULL || top->values == NULL) {
        roast_top_free(top);
        return no_memory(err);
    }
    take(top, all, used, columns);
    *out = top;
    return ROAST_OK;
}

roast_status roast_top_new(const int32_t *codes, size_t n, uint32_t groups,
                           const roast_top_column *columns, uint32_t n_columns, uint32_t order,
                           uint32_t limit, roast_top **out, roast_error *err) {
    if (order >= n_columns || groups > INT32_MAX)
        return roast_error_set(err, ROAST_EINVAL, "top", -1, "column %u of %u, %u groups", order,
                               n_columns, groups);
    sums all = {NULL, NULL};
    roast_status status = sum_up(codes, n, groups, columns, n_columns, order, &all, err);
    if (status == ROAST_OK)
        status = make(&all, sort_groups(all.groups, groups), limit, columns, n_columns, out, err);
    sums_reset(&all);
    return status;
}

void roast_top_free(roast_top *top) {
    if (top == NULL)
        return;
    roast_free(top->groups);
    roast_free(top->values);
    roast_free(top);
}

/* ---- looking ---- */

uint32_t roast_top_count(const roast_top *top) {
    return top->count;
}

uint32_t roast_top_rest(const roast_top *top) {
    return top->rest;
}

int32_t roast_top_code(const roast_top *top, uint32_t place) {
    return place < top->count ? top->groups[place].code : -1;
}

uint64_t roast_top_rows(const roast_top *top, uint32_t place) {
    return place <= top->count ? top->groups[place].rows : 0;
}

double roast_top_value(const roast_top *top, uint32_t place, uint32_t column) {
    if (place > top->count || column >= top->n_columns)
        return NAN;
    return top->values[(size_t)place * top->n_columns + column];
}

double roast_top_ratio(const roast_top *top, uint32_t place, uint32_t over, uint32_t under) {
    double lower = roast_top_value(top, place, under);
    return lower != 0 ? roast_top_value(top, place, over) / lower : NAN;
}
