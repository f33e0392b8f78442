/* The tasks of a run by their prefix: the tries that the scheduler saw, and the figures of the engine. */
#include <stdlib.h>

#include "metrics/formulas.h"
#include "roast/figures.h"

typedef struct task_total {
    uint64_t tries, failed;
    roast_known_sum time_us; /* of tries whose start and end are known */
    roast_known_sum bytes;   /* of the results */
    bool has_cpu, has_run;
    double cpu_seconds, run_seconds; /* by the engine: on the CPU, and in all */
} task_total;

static void add_try(task_total *to, const roast_attempt *attempt) {
    to->tries++;
    to->failed +=
        attempt->outcome == ROAST_OUTCOME_raised || attempt->outcome == ROAST_OUTCOME_lost;
    if (attempt->start_us != ROAST_NO_TIME && attempt->stop_us != ROAST_NO_TIME &&
        attempt->stop_us >= attempt->start_us)
        roast_known_sum_add(&to->time_us, roast_sub_capped(attempt->stop_us, attempt->start_us));
    if (attempt->nbytes >= 0)
        roast_known_sum_add(&to->bytes, attempt->nbytes);
}

/* Tasks of other clients are left out. */
static roast_status add_tries(roast_groups *groups, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    if (attempts == NULL)
        return ROAST_OK;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        uint32_t id;
        if (attempt.kind == ROAST_KIND_foreign)
            continue;
        ROAST_TRY(roast_groups_find(groups, attempt.prefix, &id));
        add_try(roast_groups_item(groups, id), &attempt);
    }
    return ROAST_OK;
}

static roast_status add_figures(roast_groups *groups, const roast_run *run) {
    for (uint32_t i = 0; i < roast_run_figure_count(run); i++) {
        roast_figure figure = roast_run_figure(run, i);
        uint32_t id;
        bool cpu = figure.activity == ROAST_ACTIVITY_cpu;
        if (figure.kind == ROAST_KIND_COUNT || figure.prefix.data == NULL ||
            !(cpu || figure.activity == ROAST_ACTIVITY_noncpu))
            continue;
        ROAST_TRY(roast_groups_find(groups, figure.prefix, &id));
        task_total *total = roast_groups_item(groups, id);
        total->has_run = true;
        total->run_seconds += figure.value;
        total->has_cpu = total->has_cpu || cpu;
        total->cpu_seconds += cpu ? figure.value : 0;
    }
    return ROAST_OK;
}

/* The time is that of the tries; if it is not known, that of the engine. */
static roast_task_row row_of(const task_total *total, bool watched) {
    double seconds = total->run_seconds, timed = (double)total->time_us.known;
    if (timed > 0)
        seconds = (double)total->time_us.total / 1e6;
    roast_task_row row = {
        .seconds = roast_value_real_if(timed > 0 || total->has_run, seconds),
        .mean_seconds = roast_value_real_if(timed > 0, seconds / (timed > 0 ? timed : 1)),
        .cpu_seconds = roast_value_real_if(total->has_cpu, total->cpu_seconds),
        .result_bytes = roast_known_whole(&total->bytes),
    };
    if (watched) {
        row.count = roast_value_int((int64_t)total->tries);
        row.failed = roast_value_int((int64_t)total->failed);
    }
    return row;
}

static int compare_tasks(const void *left, const void *right) {
    const roast_task_row *a = left, *b = right;
    int order = roast_larger_first(a->seconds, b->seconds);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static roast_status make_rows(const roast_groups *groups, bool watched, roast_metrics *metrics) {
    uint32_t count = roast_groups_count(groups);
    roast_task_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_task_metrics, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++) {
        rows[id] = row_of(roast_groups_item(groups, id), watched);
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(groups, id), &rows[id].name));
    }
    qsort(rows, count, sizeof *rows, compare_tasks);
    return ROAST_OK;
}

roast_status roast_metrics_tasks(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    roast_groups groups = ROAST_GROUPS(task_total);
    roast_status status = add_tries(&groups, attempts);
    if (status == ROAST_OK)
        status = add_figures(&groups, run);
    if (status == ROAST_OK)
        status = make_rows(&groups, attempts != NULL, metrics);
    roast_groups_reset(&groups);
    return status == ROAST_OK ? ROAST_OK : roast_metrics_no_memory(err);
}
