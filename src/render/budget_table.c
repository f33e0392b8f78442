/* The budget by dataset, worker, host, file or storage. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/summary.h"
#include "roast/budget.h"

enum { PARTS_SHOWN = 4, MOST_ROWS = 20 };

/* The parts with the most core-seconds in the rows with a name, in the order of the budget. */
static unsigned choose_parts(const roast_budget_row *rows, uint32_t count,
                             roast_budget_part chosen[PARTS_SHOWN]) {
    double sums[ROAST_PART_COUNT] = {0};
    bool taken[ROAST_PART_COUNT] = {false};
    unsigned shown = 0;
    for (uint32_t i = 0; i < count; i++)
        for (int part = 0; rows[i].name.data != NULL && part < ROAST_PART_COUNT; part++)
            sums[part] += isnan(rows[i].parts[part]) ? 0 : rows[i].parts[part];
    for (int n = 0; n < PARTS_SHOWN; n++) {
        int best = -1;
        for (int part = 0; part < ROAST_PART_COUNT; part++)
            if (!taken[part] && sums[part] > 0 && (best < 0 || sums[part] > sums[best]))
                best = part;
        if (best >= 0)
            taken[best] = true;
    }
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (taken[part])
            chosen[shown++] = (roast_budget_part)part;
    return shown;
}

static int larger_first(const void *a, const void *b) {
    const roast_budget_row *x = *(const roast_budget_row *const *)a,
                           *y = *(const roast_budget_row *const *)b;
    /* What belongs to none of them comes last. */
    if ((x->name.data == NULL) != (y->name.data == NULL))
        return x->name.data == NULL ? 1 : -1;
    return (x->available < y->available) - (x->available > y->available);
}

/* The core-seconds, the chosen parts, and all others. */
static void values_of(const roast_budget_row *row, const roast_budget_part *chosen, unsigned shown,
                      roast_value values[PARTS_SHOWN + 2]) {
    double others = row->available;
    values[0] = roast_summary_real(row->available);
    for (unsigned i = 0; i < shown; i++) {
        values[i + 1] = roast_summary_real(row->parts[chosen[i]]);
        others -= isnan(row->parts[chosen[i]]) ? 0 : row->parts[chosen[i]];
    }
    /* Rounding of sums leaves some nanoseconds. */
    values[shown + 1] = roast_value_real(fabs(others) < 1e-9 * row->available ? 0 : others);
}

static roast_status add_columns(roast_grid *grid, roast_budget_split split,
                                const roast_budget_part *chosen, unsigned shown, roast_error *err) {
    char heading[32];
    snprintf(heading, sizeof heading, "%s", roast_budget_split_name(split));
    heading[0] = (char)(heading[0] - 'a' + 'A');
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of(heading), ROAST_ALIGN_NAME, err));
    ROAST_TRY(roast_grid_add_column(grid, roast_str_of("Core Time"), ROAST_ALIGN_NUMBER, err));
    for (unsigned i = 0; i < shown; i++)
        ROAST_TRY(roast_grid_add_column(grid, roast_str_of(roast_budget_part_label(chosen[i])),
                                        ROAST_ALIGN_NUMBER, err));
    return roast_grid_add_column(grid, roast_str_of("Others"), ROAST_ALIGN_NUMBER, err);
}

static roast_status add_rows(roast_grid *grid, const roast_budget_row **rows, uint32_t count,
                             const roast_budget_part *chosen, unsigned shown, roast_error *err) {
    roast_format_column looks[PARTS_SHOWN + 2];
    roast_value values[PARTS_SHOWN + 2];
    for (unsigned c = 0; c < shown + 2; c++)
        looks[c] = (roast_format_column){.unit = "s"};
    for (uint32_t i = 0; i < count; i++) {
        values_of(rows[i], chosen, shown, values);
        for (unsigned c = 0; c < shown + 2; c++)
            roast_format_column_add(&looks[c], values[c]);
    }
    for (uint32_t i = 0; i < count; i++) {
        values_of(rows[i], chosen, shown, values);
        ROAST_TRY(roast_grid_add_cell(
            grid, rows[i]->name.data != NULL ? rows[i]->name : roast_str_of("of none of them"),
            NULL, 0, err));
        for (unsigned c = 0; c < shown + 2; c++) {
            const char *key = c == 0           ? "available_core_seconds"
                              : c == shown + 1 ? "other_parts"
                                               : roast_budget_part_name(chosen[c - 1]);
            ROAST_TRY(roast_summary_add_in_column(grid, key, values[c], &looks[c], err));
        }
    }
    return ROAST_OK;
}

static roast_status fill(roast_grid *grid, const roast_budget_row **sorted,
                         const roast_budget_row *rows, uint32_t count, roast_budget_split split,
                         roast_error *err) {
    roast_budget_part chosen[PARTS_SHOWN];
    unsigned shown = choose_parts(rows, count, chosen);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &rows[i];
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, larger_first);
    ROAST_TRY(add_columns(grid, split, chosen, shown, err));
    ROAST_TRY(add_rows(grid, sorted, count < MOST_ROWS ? count : MOST_ROWS, chosen, shown, err));
    if (count <= MOST_ROWS)
        return ROAST_OK;
    char caption[96];
    snprintf(caption, sizeof caption, "the %d with the most core time of %u", MOST_ROWS, count);
    return roast_grid_set_caption(grid, roast_str_of(caption), err);
}

roast_status roast_budget_grid(const roast_budget *budget, roast_budget_split split,
                               roast_grid **out, roast_error *err) {
    uint32_t count;
    const roast_budget_row *rows = roast_budget_rows(budget, split, &count);
    char title[48];
    roast_grid *grid = NULL;
    snprintf(title, sizeof title, "Budget by %s", roast_budget_split_name(split));
    const roast_budget_row **sorted = roast_alloc(((size_t)count + 1) * sizeof *sorted);
    roast_status status =
        sorted != NULL ? roast_grid_new("budget_by", roast_str_of(title), &grid, err)
                       : roast_error_set(err, ROAST_ENOMEM, "budget", -1, "no memory for its rows");
    if (status == ROAST_OK)
        status = fill(grid, sorted, rows, count, split, err);
    roast_free(sorted);
    if (status == ROAST_OK)
        *out = grid;
    else
        roast_grid_free(grid);
    return status;
}
