/* Workers that left: their last samples, and the likely cause. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/diagnose/internal.h"
#include "base/number.h"
#include "roast/failures.h"

/* A task that a worker had when it left. */
typedef struct lost_task {
    uint32_t departure, key;
} lost_task;

struct roast_lost_workers {
    roast_lost_worker *workers; /* one per departure */
    uint32_t *first_task;       /* of each in `tasks`, and where the last one's end */
    uint32_t count;
    roast_groups keys; /* an item: uint32_t, with how many workers the task was lost */
    lost_task *tasks;
    size_t tasks_capacity, task_count;
};

/* ---- samples ---- */

static void look_at_samples(const roast_series *series, uint32_t worker, roast_lost_worker *out) {
    double left = (double)out->departure.when.ns / 1e9;
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, series, worker);
    while (roast_series_cursor_next(&cursor, &sample)) {
        double age = left - (double)sample.when.ns / 1e9;
        double limit = sample.value[ROAST_COLUMN_memory_limit];
        double fraction = sample.value[ROAST_COLUMN_memory] / limit;
        double seen = sample.value[ROAST_COLUMN_last_seen];
        if (age < 0)
            break;
        if (!isnan(seen))
            out->silence = left > seen ? left - seen : 0;
        if (age <= ROAST_LAST_SAMPLES_S && limit > 0 && !isnan(fraction) &&
            !(fraction < out->memory_fraction)) {
            out->memory_fraction = fraction;
            out->memory_age = age;
        }
    }
}

/* ---- tasks ---- */

static roast_status add_task(roast_lost_workers *lost, const roast_attempt *attempt) {
    lost_task task = {.departure = attempt->departure};
    void *tasks = lost->tasks;
    ROAST_TRY(roast_array_reserve(&tasks, &lost->tasks_capacity, sizeof *lost->tasks,
                                  lost->task_count + 1));
    lost->tasks = tasks;
    ROAST_TRY(roast_groups_find(&lost->keys, attempt->key, &task.key));
    ++*(uint32_t *)roast_groups_item(&lost->keys, task.key);
    lost->tasks[lost->task_count++] = task;
    return ROAST_OK;
}

static roast_status find_tasks(roast_lost_workers *lost, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_status status = ROAST_OK;
    roast_attempt_cursor_init(&cursor, attempts);
    while (status == ROAST_OK && roast_attempt_cursor_next(&cursor, &attempt))
        if (attempt.departure < lost->count && lost->task_count < UINT32_MAX)
            status = add_task(lost, &attempt);
    return status;
}

static int by_departure(const void *a, const void *b) {
    const lost_task *x = a, *y = b;
    if (x->departure != y->departure)
        return x->departure < y->departure ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

static void sort_tasks(roast_lost_workers *lost) {
    if (lost->task_count > 0)
        qsort(lost->tasks, lost->task_count, sizeof *lost->tasks, by_departure);
    for (size_t i = 0, next = 0; i <= lost->count; i++) {
        while (next < lost->task_count && lost->tasks[next].departure < i)
            next++;
        lost->first_task[i] = (uint32_t)next;
    }
    for (size_t i = 0; i < lost->task_count; i++) {
        roast_lost_worker *worker = &lost->workers[lost->tasks[i].departure];
        uint32_t others = *(uint32_t *)roast_groups_item(&lost->keys, lost->tasks[i].key) - 1;
        worker->others = others > worker->others ? others : worker->others;
    }
}

/* ---- all ---- */

/* Departure by departure; the workers of the series by their names. */
static roast_status find_workers(const roast_run *run, roast_lost_workers *lost) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    const roast_series *series = roast_run_series_view(run);
    roast_intern names = {0};
    roast_status status = ROAST_OK;
    uint32_t id;
    for (uint32_t i = 0; status == ROAST_OK && i < roast_series_worker_count(series); i++)
        status = roast_intern_add(&names, roast_series_worker_name(series, i), &id);
    for (uint32_t i = 0; status == ROAST_OK && i < lost->count; i++) {
        roast_lost_worker worker = {.departure = roast_attempts_departure(attempts, i),
                                    .memory_fraction = NAN,
                                    .memory_age = NAN,
                                    .silence = NAN};
        worker.worker = roast_attempts_worker(attempts, worker.departure.worker);
        if (names.count > 0 && roast_intern_find(&names, worker.worker, &id))
            look_at_samples(series, id, &worker);
        lost->workers[i] = worker;
    }
    roast_intern_reset(&names);
    return status;
}

static roast_status find(const roast_run *run, roast_lost_workers *lost) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    uint32_t count = attempts != NULL ? roast_attempts_departure_count(attempts) : 0;
    lost->keys = ROAST_GROUPS(uint32_t);
    lost->workers = roast_alloc(((size_t)count + 1) * sizeof *lost->workers);
    lost->first_task = roast_alloc_zero(((size_t)count + 1) * sizeof *lost->first_task);
    if (lost->workers == NULL || lost->first_task == NULL)
        return ROAST_ENOMEM;
    lost->count = count;
    if (count > 0) {
        ROAST_TRY(find_workers(run, lost));
        ROAST_TRY(find_tasks(lost, attempts));
    }
    sort_tasks(lost);
    return ROAST_OK;
}

roast_status roast_lost_workers_find(const roast_run *run, roast_lost_workers **out,
                                     roast_error *err) {
    roast_lost_workers *lost = roast_alloc_zero(sizeof *lost);
    roast_status status = lost != NULL ? find(run, lost) : ROAST_ENOMEM;
    if (status != ROAST_OK) {
        roast_lost_workers_free(lost);
        return roast_error_set(err, status, "lost workers", -1, "no memory for the lost workers");
    }
    *out = lost;
    return ROAST_OK;
}

void roast_lost_workers_free(roast_lost_workers *lost) {
    if (lost == NULL)
        return;
    roast_free(lost->workers);
    roast_free(lost->first_task);
    roast_groups_reset(&lost->keys);
    roast_free(lost->tasks);
    roast_free(lost);
}

uint32_t roast_lost_workers_count(const roast_lost_workers *lost) {
    return lost->count;
}

roast_lost_worker roast_lost_workers_at(const roast_lost_workers *lost, uint32_t index) {
    return index < lost->count ? lost->workers[index]
                               : (roast_lost_worker){.departure.worker = ROAST_NO_WORKER};
}

roast_str roast_lost_workers_task(const roast_lost_workers *lost, uint32_t index, uint32_t task) {
    if (index >= lost->count || task >= lost->first_task[index + 1] - lost->first_task[index])
        return (roast_str){NULL, 0};
    return roast_groups_name(&lost->keys, lost->tasks[lost->first_task[index] + task].key);
}

size_t roast_lost_worker_cause(const roast_lost_worker *lost, char *out, size_t size) {
    int len;
    double percent = lost->memory_fraction * 100;
    if (lost->departure.expected)
        len = snprintf(out, size, "it was told to leave");
    else if (lost->memory_fraction >= roast_limit.memory_cause)
        len = roast_number_print(out, size, "memory reached %.0f%% of the limit %.1f s before",
                                 percent, lost->memory_age);
    else if (lost->silence > roast_limit.silence)
        len = snprintf(out, size, "it had not been heard of for %.0f s", lost->silence);
    else if (lost->others > 0)
        len = snprintf(out, size, "%u other worker%s left with one of its tasks, too", lost->others,
                       lost->others > 1 ? "s" : "");
    else if (!isnan(lost->memory_fraction))
        len = snprintf(out, size,
                       "not known; memory was at %.0f%% of the limit at most in the last %.0f s",
                       percent, ROAST_LAST_SAMPLES_S);
    else
        len = snprintf(out, size, "not known");
    return len > 0 ? (size_t)len : 0;
}
