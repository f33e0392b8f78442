/* Sweeps over the time of each worker: what its threads did at each moment. */
#include <math.h>
#include <stdlib.h>

#include "analyse/budget/internal.h"
#include "roast/attempts.h"

typedef enum moment_kind {
    LIFE_BEGINS, /* index: of the life */
    SENT,        /* index: of the task */
    LOST_SENT,   /* of a try whose computing time is not known */
    START,
    STOP,
    ENDED,
    LOST_ENDED,
    LIFE_ENDS
} moment_kind;

typedef struct moment {
    int64_t when;
    uint64_t index;
    uint32_t kind;
} moment;

typedef struct sweep {
    roast_budget_work *work;
    uint32_t worker;
    int64_t now;
    int64_t threads, running, waiting, lost; /* how many there are now */
    double weight; /* time that a running task had a thread: more tasks than threads share them */
    double excess; /* s that chunks took longer than their tasks seem to have had a thread */
    moment *moments;
    size_t capacity, count;
    roast_budget_cpu cpu; /* loaded where pieces of work ran without a record */
} sweep;

static roast_status add_moment(sweep *s, moment_kind kind, int64_t when, uint64_t index) {
    const roast_budget_work *work = s->work;
    void *moments = s->moments;
    ROAST_TRY(roast_array_reserve(&moments, &s->capacity, sizeof *s->moments, s->count + 1));
    s->moments = moments;
    when = when < work->from ? work->from : when > work->to ? work->to : when;
    s->moments[s->count++] = (moment){when, index, kind};
    return ROAST_OK;
}

static roast_status add_task(sweep *s, uint64_t index) {
    const roast_budget_task *task = &s->work->tasks[index];
    if (task->start != ROAST_NO_TIME) {
        ROAST_TRY(add_moment(s, SENT, task->sent, index));
        ROAST_TRY(add_moment(s, START, task->start, index));
        ROAST_TRY(add_moment(s, STOP, task->stop, index));
        return add_moment(s, ENDED, task->ended, index);
    }
    if (task->sent == ROAST_NO_TIME || task->sent >= task->ended)
        return ROAST_OK;
    bool lost = task->use == ROAST_USE_LOST;
    ROAST_TRY(add_moment(s, lost ? LOST_SENT : SENT, task->sent, index));
    return add_moment(s, lost ? LOST_ENDED : ENDED, task->ended, index);
}

/* No time passes between moments of one time: any order does, as long as a task begins before it ends. */
static int in_order(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Those of a worker that did one task after the other come in order. */
static void sort_moments(sweep *s) {
    for (size_t i = 1; i < s->count; i++)
        if (in_order(&s->moments[i - 1], &s->moments[i]) > 0) {
            qsort(s->moments, s->count, sizeof *s->moments, in_order);
            return;
        }
}

/* ---- idle ---- */

static double least(double a, double b) {
    return b < a ? b : a;
}

/* The CPU time of the worker's process while pieces of work ran without a record, as far as threads were free. */
static double blind_cpu(const sweep *s, int64_t from, int64_t to, double threads) {
    const roast_stretches *blind = &s->work->blind;
    double seconds = 0;
    for (size_t i = 0; i < blind->count; i++) {
        int64_t begin = blind->list[i].from > from ? blind->list[i].from : from;
        int64_t end = blind->list[i].to < to ? blind->list[i].to : to;
        if (begin < end)
            seconds += least(threads * (double)(end - begin) / 1e6,
                             roast_budget_cpu_within(&s->cpu, begin, end));
    }
    return seconds;
}

static void add(sweep *s, roast_budget_part part, double seconds) {
    roast_budget_add(s->work, part, seconds, s->worker, NULL);
}

/* Seconds between two moments in which a free thread waited for something else than a task. */
static double waited(const roast_budget_work *work, int64_t from, int64_t to) {
    return roast_stretches_within(&work->client, from, to) +
           roast_stretches_within(&work->waiting, from, to);
}

static void add_idle(sweep *s, int64_t from, int64_t to, double threads) {
    const roast_budget_work *work = s->work;
    const roast_budget_worker *worker = &work->workers[s->worker];
    int64_t begun = worker->first_sent != INT64_MAX ? worker->first_sent : work->first_task;
    int64_t ramp = begun < from ? from : begun > to ? to : begun;
    int64_t tail = work->tail < ramp ? ramp : work->tail > to ? to : work->tail;
    double ramp_up = (double)(ramp - from) / 1e6 - waited(work, from, ramp);
    double middle = (double)(tail - ramp) / 1e6 - waited(work, ramp, tail);
    double queued = least(roast_stretches_within(&work->queue, ramp, tail), middle);
    add(s, ROAST_PART_idle_ramp_up, threads * ramp_up);
    add(s, ROAST_PART_idle_between, threads * queued);
    add(s, ROAST_PART_idle_starved, threads * (middle - queued));
    add(s, ROAST_PART_idle_tail, threads * ((double)(to - tail) / 1e6 - waited(work, tail, to)));
}

/* Threads that are not known to have done anything are idle only where something tells that. */
static void add_free(sweep *s, int64_t from, int64_t to, double threads) {
    const roast_budget_work *work = s->work;
    add(s, ROAST_PART_client, threads * roast_stretches_within(&work->client, from, to));
    add(s, ROAST_PART_preprocessing, threads * roast_stretches_within(&work->waiting, from, to));
    if (work->sees_idle) {
        add_idle(s, from, to, threads);
        return;
    }
    add(s, ROAST_PART_idle_tail, threads * roast_stretches_within(&work->tails, from, to));
    add(s, ROAST_PART_compute_cpu, blind_cpu(s, from, to, threads));
}

/* ---- a task ---- */

/* Splits off-CPU time; if one chunk has no waits, the whole has none. The kernel's waits are those of all of
 * process(): the reads get a proportional share. */
static void split_offcpu(sweep *s, const roast_budget_clocks *chunk, double off, double scale) {
    double all = chunk->duration - chunk->cpu, share = all > off ? off / all : 1;
    double io = least(chunk->io_wait * share, off);
    double queue = least(chunk->runqueue * share, isnan(io) ? off : off - io);
    roast_budget_row *rows[ROAST_BUDGET_ROWS] = {NULL};
    unsigned count = roast_budget_rows_of(s->work, s->worker, chunk, rows);
    for (unsigned i = 0; i < count; i++) {
        rows[i]->offcpu_io += io * scale;
        rows[i]->offcpu_runqueue += queue * scale;
    }
}

/* Splits the time in reads. When other threads computed is not known: it was in the reads as far as it fits. */
static void split_read(sweep *s, const roast_budget_clocks *chunk, double read, double scale) {
    double cpu = least((double)chunk->read_cpu, read);
    double others = least((double)chunk->others, read - cpu);
    roast_budget_row *rows[ROAST_BUDGET_ROWS] = {NULL};
    unsigned count = roast_budget_rows_of(s->work, s->worker, chunk, rows);
    for (unsigned i = 0; i < count; i++) {
        rows[i]->read_cpu += cpu * scale;
        rows[i]->read_others += others * scale;
    }
}

double roast_budget_compute_cpu(const roast_budget_clocks *chunk, double duration, double read) {
    double reads = isnan(chunk->read_cpu) ? 0 : (double)chunk->read_cpu;
    double cpu = chunk->cpu > reads ? chunk->cpu - reads : 0;
    return least(cpu, duration - read);
}

static const roast_budget_clocks no_clocks = {.io_wait = NAN,
                                              .runqueue = NAN,
                                              .read_cpu = NAN,
                                              .others = NAN,
                                              .dataset = ROAST_NONE,
                                              .file = ROAST_NONE,
                                              .storage = ROAST_NONE};

/* The clocks of a chunk are exact. When its task ran is not: Dask corrects that by its estimate of the worker's clock,
 * which differs from task to task by what a heartbeat takes (50 ms on a busy machine). So tasks of one thread seem to
 * overlap. A task that others share a thread with, or that is not all within the run, differs by more. */
static bool is_jitter(const roast_budget_work *work, const roast_budget_task *task, double excess) {
    static const double MOST = 0.25; /* s */
    return excess <= MOST && task->start >= work->from && task->stop <= work->to;
}

double roast_budget_ahead(const roast_budget_task *task, const roast_budget_clocks *chunk,
                          double *cold) {
    double since = fmax(0, (double)(chunk->start - task->start) / 1e6);
    double ahead = isnan(chunk->before) ? since : fmax(0, chunk->before);
    *cold = 0;
    if (isnan(chunk->loaded))
        return ahead;
    *cold = fmax(0, fmax(since, ahead) - (double)chunk->loaded);
    return fmin(ahead, (double)chunk->loaded) + *cold;
}

/* Distributes the `seconds` that a processing task had a thread. */
static void add_processing(sweep *s, const roast_budget_task *task, double seconds) {
    double whole = (double)(task->stop - task->start) / 1e6;
    if (task->chunk == ROAST_NONE) {
        if (!isnan(s->work->cpu_share)) {
            add(s, ROAST_PART_compute_cpu, seconds * s->work->cpu_share);
            add(s, ROAST_PART_compute_offcpu, seconds * (1 - s->work->cpu_share));
            split_offcpu(s, &no_clocks, seconds, 1);
        } else if (s->work->chunk_count == 0) {
            add(s, ROAST_PART_processing, seconds);
        }
        return;
    }
    const roast_budget_clocks *chunk = &s->work->chunks[task->chunk];
    double cold, before = roast_budget_ahead(task, chunk, &cold);
    double duration = chunk->duration, excess = before + duration - seconds;
    bool fits = excess <= 0 || is_jitter(s->work, task, excess);
    if (!fits) {
        before = least(before, whole);
        duration = least(duration, whole - before);
    }
    double read = isnan(chunk->read) ? 0 : least(chunk->read, duration);
    double scale = fits ? 1 : whole > 0 ? seconds / whole : 0;
    s->excess += fits && excess > 0 ? excess : 0;
    double after = (fits ? fmax(seconds, before + duration) : whole) - before - duration;
    cold = least(cold, before);
    double repeated = least(chunk->repeated, before - cold);
    double exit =
        s->work->own_python && after > (double)chunk->packed ? after - (double)chunk->packed : 0;
    const struct {
        roast_budget_part part;
        double seconds;
    } shares[] = {{ROAST_PART_cold_start, cold + exit},
                  {ROAST_PART_before_process, before - cold - repeated},
                  {ROAST_PART_lost, repeated},
                  {ROAST_PART_read, read},
                  {ROAST_PART_after_process, after - exit}};
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
        roast_budget_add(s->work, shares[i].part, shares[i].seconds * scale, s->worker, chunk);
    if (read > 0)
        split_read(s, chunk, read, scale);
    if (isnan(chunk->cpu))
        return; /* not known how: it stays unaccounted */
    double cpu = roast_budget_compute_cpu(chunk, duration, read), off = duration - read - cpu;
    roast_budget_add(s->work, ROAST_PART_compute_cpu, cpu * scale, s->worker, chunk);
    roast_budget_add(s->work, ROAST_PART_compute_offcpu, off * scale, s->worker, chunk);
    split_offcpu(s, chunk, off, scale);
}

static void end_task(sweep *s, const roast_budget_task *task) {
    double seconds = (s->weight - task->weight) / 1e6;
    const roast_budget_clocks *chunk =
        task->chunk != ROAST_NONE ? &s->work->chunks[task->chunk] : NULL;
    switch ((roast_task_use)task->use) {
    case ROAST_USE_PROCESSING:
        add_processing(s, task, seconds);
        break;
    case ROAST_USE_REDUCTION:
        add(s, ROAST_PART_reduction, seconds);
        break;
    case ROAST_USE_OTHER:
        add(s, ROAST_PART_other_tasks, seconds);
        break;
    case ROAST_USE_PREPROCESSING:
        add(s, ROAST_PART_preprocessing, seconds);
        break;
    case ROAST_USE_LOST:
        roast_budget_add(s->work, ROAST_PART_lost, seconds, s->worker, chunk);
        break;
    }
}

/* What chunks took longer is missing in the time between tasks, or in that of tasks without clocks of their own. */
static void pay_excess(sweep *s) {
    static const roast_budget_part parts[] = {
        ROAST_PART_worker_overhead, ROAST_PART_idle_between, ROAST_PART_idle_starved,
        ROAST_PART_idle_tail,       ROAST_PART_idle_ramp_up, ROAST_PART_client,
        ROAST_PART_preprocessing,   ROAST_PART_other_tasks,  ROAST_PART_reduction};
    const roast_budget_row *row =
        roast_budget_row_at(&s->work->budget->tables[ROAST_BY_worker], s->worker);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && s->excess > 0; i++) {
        double paid = least(s->excess, fmax(0, row->parts[parts[i]]));
        add(s, parts[i], -paid);
        s->excess -= paid;
    }
}

/* ---- moment by moment ---- */

static void pass(sweep *s, int64_t until) {
    double time = (double)(until - s->now), threads = (double)s->threads;
    double busy = least((double)s->running, threads), free_threads = threads - busy;
    if (time > 0 && threads > 0) {
        double lost = least((double)s->lost, free_threads);
        double overhead = least((double)s->waiting, free_threads - lost);
        if (s->running > 0)
            s->weight += time * busy / (double)s->running;
        add(s, ROAST_PART_lost, lost * time / 1e6);
        add(s, ROAST_PART_worker_overhead, overhead * time / 1e6);
        if (free_threads > lost + overhead)
            add_free(s, s->now, until, free_threads - lost - overhead);
    }
    s->now = until;
}

static void happen(sweep *s, const moment *next) {
    roast_budget_work *work = s->work;
    switch ((moment_kind)next->kind) {
    case LIFE_BEGINS:
        s->threads += work->lives[next->index].threads;
        break;
    case LIFE_ENDS:
        s->threads -= work->lives[next->index].threads;
        break;
    case SENT:
        s->waiting++;
        break;
    case START:
        s->waiting--;
        s->running++;
        work->tasks[next->index].weight = s->weight;
        break;
    case STOP:
        s->running--;
        s->waiting++;
        end_task(s, &work->tasks[next->index]);
        break;
    case ENDED:
        s->waiting--;
        break;
    case LOST_SENT:
        s->lost++;
        break;
    case LOST_ENDED:
        s->lost--;
        break;
    }
}

static roast_status sweep_worker(sweep *s) {
    roast_budget_work *work = s->work;
    const roast_budget_worker *worker = &work->workers[s->worker];
    s->count = 0;
    for (uint32_t i = 0; i < worker->lives; i++) {
        const roast_budget_life *life = &work->lives[worker->first_life + i];
        ROAST_TRY(add_moment(s, LIFE_BEGINS, life->from, worker->first_life + i));
    }
    const uint32_t *order = work->order + worker->first_task;
    for (uint64_t i = 0; i < worker->tasks; i++)
        ROAST_TRY(add_task(s, order[i]));
    for (uint32_t i = 0; i < worker->lives; i++) {
        const roast_budget_life *life = &work->lives[worker->first_life + i];
        ROAST_TRY(add_moment(s, LIFE_ENDS, life->to, worker->first_life + i));
    }
    sort_moments(s);
    s->threads = s->running = s->waiting = s->lost = 0;
    s->weight = s->excess = 0;
    s->now = work->from;
    if (work->blind.count > 0 && !work->has_spans)
        ROAST_TRY(roast_budget_cpu_load(roast_run_series_view(work->run), s->worker, &s->cpu));
    for (size_t i = 0; i < s->count; i++) {
        pass(s, s->moments[i].when);
        happen(s, &s->moments[i]);
    }
    pay_excess(s);
    return ROAST_OK;
}

roast_status roast_budget_sweep(roast_budget_work *work) {
    sweep s = {.work = work};
    roast_status status = ROAST_OK;
    uint32_t count = roast_groups_count(&work->budget->tables[ROAST_BY_worker].rows);
    for (s.worker = 0; s.worker < count && status == ROAST_OK; s.worker++)
        if (work->workers[s.worker].lives > 0)
            status = sweep_worker(&s);
    roast_free(s.moments);
    roast_free(s.cpu.points);
    return status;
}
