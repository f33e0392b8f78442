/* What a task costs besides its own time: the scheduler, and the time between two tasks of a thread. */
#include <math.h>
#include <stdlib.h>

#include "analyse/budget/internal.h"
#include "analyse/what_if/internal.h"

enum {
    MOST_TRIES = 20000,   /* of which the scheduler's time is taken */
    LEAST_REPLIES = 10,   /* of the scheduler, for a median */
    MOST_REPLY_US = 50000 /* later than that, something else made it send a task */
};

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* ---- the scheduler ---- */

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The median time from an end of a task to the next task sent; NaN: too few. */
static double median_reply(int64_t *sent, size_t n_sent, int64_t *ended, size_t n_ended,
                           double *replies) {
    size_t count = 0, next = 0;
    qsort(sent, n_sent, sizeof *sent, ascending);
    qsort(ended, n_ended, sizeof *ended, ascending);
    for (size_t i = 0; i < n_ended; i++) {
        while (next < n_sent && sent[next] < ended[i])
            next++;
        bool answered = next < n_sent && (i + 1 == n_ended || sent[next] < ended[i + 1]);
        if (answered && sent[next] - ended[i] < MOST_REPLY_US)
            replies[count++] = (double)(sent[next] - ended[i]) / 1e6;
    }
    return count >= LEAST_REPLIES ? roast_median(replies, count) : (double)NAN;
}

/* The scheduler sends the next task as soon as it has learned that one has ended, in one go: the time between is what
 * a task costs it, but for the messages. A part of the tries is enough. */
roast_status roast_past_find_dispatch(roast_past *past, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    size_t n_sent = 0, n_ended = 0;
    int64_t *sent = roast_alloc(MOST_TRIES * sizeof *sent);
    int64_t *ended = roast_alloc(MOST_TRIES * sizeof *ended);
    double *replies = roast_alloc(MOST_TRIES * sizeof *replies);
    roast_status status =
        sent != NULL && ended != NULL && replies != NULL ? ROAST_OK : ROAST_ENOMEM;
    roast_attempt_cursor_init(&cursor, attempts);
    for (size_t i = 0;
         status == ROAST_OK && i < MOST_TRIES && roast_attempt_cursor_next(&cursor, &attempt);
         i++) {
        if (attempt.sent_us != ROAST_NO_TIME)
            sent[n_sent++] = attempt.sent_us;
        if (attempt.ended_us != ROAST_NO_TIME)
            ended[n_ended++] = attempt.ended_us;
    }
    if (status == ROAST_OK)
        past->task_seconds = median_reply(sent, n_sent, ended, n_ended, replies);
    roast_free(sent);
    roast_free(ended);
    roast_free(replies);
    return status;
}

/* ---- between tasks ---- */

/* From the first task of processing to the beginning of the last one, of a worker. */
typedef struct window {
    int64_t from, to;
} window;

static bool is_played(const roast_budget_task *task) {
    return task->start != ROAST_NO_TIME &&
           (task->use == ROAST_USE_PROCESSING || task->use == ROAST_USE_REDUCTION);
}

static void find_windows(const roast_budget_work *work, window *windows, uint32_t workers) {
    for (uint32_t i = 0; i < workers; i++)
        windows[i] = (window){INT64_MAX, INT64_MIN};
    for (uint64_t i = 0; i < work->task_count; i++) {
        const roast_budget_task *task = &work->tasks[i];
        window *one = &windows[task->worker];
        if (task->start == ROAST_NO_TIME || task->use != ROAST_USE_PROCESSING)
            continue;
        one->from = task->start < one->from ? task->start : one->from;
        one->to = task->start > one->to ? task->start : one->to;
    }
}

/* Seconds in these windows in which threads had no task. */
static double free_in_windows(const roast_budget_work *work, const window *windows) {
    double seconds = 0;
    for (size_t i = 0; i < work->life_count; i++) {
        const roast_budget_life *life = &work->lives[i];
        const window *one = &windows[life->worker];
        int64_t from = one->from > life->from ? one->from : life->from;
        int64_t to = one->to < life->to ? one->to : life->to;
        seconds += from < to ? (double)(to - from) / 1e6 * life->threads : 0;
    }
    for (uint64_t i = 0; i < work->task_count; i++) {
        const roast_budget_task *task = &work->tasks[i];
        const window *one = &windows[task->worker];
        int64_t from = task->start > one->from ? task->start : one->from;
        int64_t to = task->stop < one->to ? task->stop : one->to;
        if (is_played(task) && from < to)
            seconds -= (double)(to - from) / 1e6;
    }
    return fmax(0, seconds);
}

/* Time between two tasks. The budget has it of the whole run, with that of preprocessing; the windows have what
 * threads waited for other reasons, too. */
roast_status roast_past_find_overhead(roast_past *past, const roast_budget_work *work) {
    const roast_budget_row *total = roast_budget_total(work->budget);
    uint32_t workers = roast_groups_count(&work->budget->tables[ROAST_BY_worker].rows);
    double tasks = (double)past->n_chunks + (double)past->merges;
    window *windows = roast_alloc(((size_t)workers + 1) * sizeof *windows);
    if (windows == NULL)
        return ROAST_ENOMEM;
    find_windows(work, windows, workers);
    double budgeted = known(total->parts[ROAST_PART_worker_overhead]) +
                      known(total->parts[ROAST_PART_idle_between]);
    past->overhead = fmin(budgeted, free_in_windows(work, windows)) / tasks;
    roast_free(windows);
    return ROAST_OK;
}
