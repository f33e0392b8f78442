/* The CPU time of a worker's process, from its samples. */
#include <math.h>

#include "analyse/budget/internal.h"
#include "base/bisect.h"

roast_status roast_budget_cpu_load(const roast_series *series, uint32_t worker,
                                   roast_budget_cpu *cpu) {
    roast_series_cursor cursor;
    roast_sample sample;
    double total = 0;
    cpu->count = 0;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        int64_t when = sample.when.ns / 1000;
        double percent = sample.value[ROAST_COLUMN_cpu]; /* since the sample before */
        if (cpu->count > 0 && percent > 0)
            total += percent / 100 * (double)(when - cpu->points[cpu->count - 1].when) / 1e6;
        void *points = cpu->points;
        ROAST_TRY(
            roast_array_reserve(&points, &cpu->capacity, sizeof *cpu->points, cpu->count + 1));
        cpu->points = points;
        cpu->points[cpu->count++] = (roast_budget_cpu_point){when, total};
    }
    return ROAST_OK;
}

static double total_at(const roast_budget_cpu *cpu, int64_t when) {
    size_t low;
    ROAST_BISECT(low, cpu->count, cpu->points[low].when <= when);
    if (low == 0)
        return 0;
    const roast_budget_cpu_point *last = &cpu->points[low - 1];
    if (low == cpu->count)
        return last->total;
    return last->total + (last[1].total - last->total) * (double)(when - last->when) /
                             (double)(last[1].when - last->when);
}

double roast_budget_cpu_within(const roast_budget_cpu *cpu, int64_t from, int64_t to) {
    return total_at(cpu, to) - total_at(cpu, from);
}
