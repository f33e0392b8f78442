#include "roast/what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/statistics/intervals.h"
#include "analyse/what_if/internal.h"
#include "base/number.h"

static const char where[] = "what if";

/* One in twenty beyond either end: 90 %. */
static const double beyond = 0.05;
enum {
    LEAST_CHUNKS = 3,      /* for an interval */
    MOST_REPEATS = 50,     /* more do not change its ends by more than a tenth of its width */
    LEAST_REPEATS = 3,     /* of a large run, whose chunks hardly differ in their sum */
    MOST_PLAYED = 8000000, /* tasks in all repeats: some two seconds */
};

/* ---- checks ---- */

static roast_status check(const roast_what_if_options *options, roast_error *err) {
    if (options->workers > ROAST_WHAT_IF_WORKERS)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "at most %u workers can be played",
                               ROAST_WHAT_IF_WORKERS);
    if (options->threads > ROAST_WHAT_IF_THREADS)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "at most %u threads of a worker can be played",
                               ROAST_WHAT_IF_THREADS);
    if (!(options->read_rate >= 0) || isinf(options->read_rate))
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "a rate of reading is a number of bytes per second above 0");
    return ROAST_OK;
}

roast_status roast_what_if_rate(roast_str text, double *out, roast_error *err) {
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"bps", 1 / 8.0}, {"B/s", 1}};
    static const struct {
        char letter;
        double factor;
    } prefixes[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
    char copy[48] = "", *end;
    if (text.data != NULL && text.len < sizeof copy)
        memcpy(copy, text.data, text.len);
    double rate = roast_number_read(copy, &end);
    bool number = end != copy && rate > 0 && rate < 1e15;
    end += *end == ' ';
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (*end == prefixes[i].letter) {
            rate *= prefixes[i].factor;
            end++;
            break;
        }
    for (unsigned i = 0; number && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *out = rate * units[i].bytes;
            return ROAST_OK;
        }
    return roast_error_set(err, ROAST_EINVAL, where, -1, "\"%.*s\" is no rate of reading",
                           (int)(text.len < sizeof copy ? text.len : sizeof copy),
                           text.data != NULL ? text.data : "");
}

/* ---- one play ---- */

static double threads_of(const roast_past *past) {
    double sum = 0;
    for (uint32_t i = 0; i < past->peak; i++)
        sum += past->workers[i].threads;
    return sum;
}

static roast_cast cast_of(const roast_question *q, const roast_plan *plan) {
    const roast_past *past = &q->past;
    return (roast_cast){.seconds = plan->seconds,
                        .bytes = plan->options.read_rate > 0 ? plan->bytes : NULL,
                        .n_tasks = plan->n_tasks,
                        .lost = &past->lost,
                        .times = plan->times,
                        .overhead = past->overhead,
                        .dispatch = isnan(past->task_seconds) ? 0 : past->task_seconds,
                        .rate = plan->options.read_rate,
                        .merge_width = past->merge_width,
                        .merge_cost = roast_past_merge_cost(past)};
}

static roast_status play(roast_question *q, roast_plan *plan, double cold, roast_play *out) {
    const roast_cast cast = cast_of(q, plan);
    ROAST_TRY(roast_stage_set_slots(&q->stage, &q->past, &plan->options, cold));
    return roast_stage_play(&q->stage, &cast, out);
}

/* Seconds of the tasks of preprocessing on these workers, who are all there. */
static roast_status play_lengths(roast_question *q, const roast_what_if_options *options,
                                 double *seconds) {
    const roast_seconds *lengths = &q->past.lengths;
    roast_play found = {0};
    size_t count = lengths->count * (options->times > 0 ? options->times : 1);
    double *list = roast_alloc((count + 1) * sizeof *list);
    if (list == NULL)
        return ROAST_ENOMEM;
    for (size_t i = 0; i < count; i++)
        list[i] = lengths->list[i % lengths->count];
    const roast_cast cast = {.seconds = list, .n_tasks = count};
    roast_status status = roast_stage_set_slots(&q->stage, &q->past, options, 0);
    for (size_t i = 0; i < q->stage.n_slots && status == ROAST_OK; i++)
        q->stage.slots[i] = (roast_slot){q->past.cold_length, INFINITY};
    if (status == ROAST_OK)
        status = roast_stage_play(&q->stage, &cast, &found);
    roast_free(list);
    *seconds = found.end;
    return status;
}

/* The run as it was, and what of it stays the same. */
static roast_status play_recorded(roast_question *q) {
    const roast_what_if_options nothing = {0};
    const roast_scenario known = {0};
    roast_plan plan;
    double then = 0, now = 0;
    roast_status status = roast_plan_make(&q->past, &nothing, &plan, NULL);
    if (status == ROAST_OK) {
        plan.thread_ratio = 1;
        roast_plan_fill(&plan, &known, NULL);
        status = play(q, &plan, q->past.cold, &q->recorded);
    }
    roast_plan_reset(&plan);
    if (status == ROAST_OK)
        status = play_lengths(q, &nothing, &then);
    if (status == ROAST_OK)
        status = play_lengths(q, &q->plan.options, &now);
    q->outside = fmax(0, q->past.outside + now - then);
    return status;
}

/* What the play does not explain of the recorded run is in the predicted one, too: in proportion, or as many seconds
 * (`fixed` 1), or anything between. */
static double wall_of(const roast_question *q, double end, double fixed) {
    double unexplained = q->past.middle - q->recorded.end;
    double ratio = q->recorded.end > 0 ? end / q->recorded.end : 1;
    return q->outside + fmax(0, end + unexplained * (fixed + (1 - fixed) * ratio));
}

/* ---- repeats ---- */

/* What is not known: as it was assumed, and each the other way. */
static uint32_t scenarios_of(const roast_question *q, roast_scenario out[4]) {
    uint32_t count = 1;
    bool unfitted = false;
    out[0] = (roast_scenario){0};
    for (uint32_t i = 0; i < q->past.n_datasets; i++)
        unfitted = unfitted || (q->past.datasets[i].chunks > 0 && !q->past.datasets[i].fitted);
    if (q->plan.options.chunksize > 0 && unfitted)
        out[count++] = (roast_scenario){.fixed_most = true};
    if (q->plan.thread_ratio != 1)
        out[count++] = (roast_scenario){.lock = true};
    if (q->plan.options.preload)
        out[count++] = (roast_scenario){.no_preload = true};
    return count;
}

static roast_status repeat(roast_question *q, const roast_scenario *scenario, uint32_t repeats,
                           roast_draw *draw, roast_stats *walls) {
    for (uint32_t i = 0; i < repeats; i++) {
        roast_play found;
        double cold = fmax(0, q->past.cold + q->past.cold_error * roast_draw_normal(draw));
        /* Evenly over its distribution: few repeats are enough. */
        q->plan.sigmas = roast_normal_above(1 - (i + 0.5) / repeats);
        roast_plan_fill(&q->plan, scenario, draw);
        ROAST_TRY(play(q, &q->plan, cold, &found));
        roast_stats_add(walls, wall_of(q, found.end, roast_draw_even(draw)));
    }
    return ROAST_OK;
}

/* The interval holds what is drawn under each assumption. */
static roast_status find_interval(roast_question *q) {
    roast_what_if_figures *figures = &q->answer->figures;
    roast_scenario scenarios[4];
    uint32_t count = scenarios_of(q, scenarios);
    double played = (double)(q->plan.n_once + q->plan.n_kept) * q->plan.times * count;
    double repeats = floor(fmax(LEAST_REPEATS, fmin(MOST_REPEATS, MOST_PLAYED / played)));
    roast_draw draw = {.state = 1};
    figures->low = figures->high = NAN;
    if (q->plan.n_kept < LEAST_CHUNKS)
        return ROAST_OK;
    figures->repeats = (uint32_t)repeats;
    double reach = roast_normal_above(beyond);
    for (uint32_t i = 0; i < count; i++) {
        roast_stats walls = {0};
        ROAST_TRY(repeat(q, &scenarios[i], figures->repeats, &draw, &walls));
        double spread = reach * roast_stats_std(&walls);
        figures->low = fmin(figures->low, walls.mean - spread);
        figures->high = fmax(figures->high, walls.mean + spread);
    }
    figures->low = fmax(0, fmin(figures->low, figures->wall));
    figures->high = fmax(figures->high, figures->wall);
    return ROAST_OK;
}

/* ---- the budget ---- */

typedef struct sums {
    double before, read, cpu, offcpu, after;
} sums;

/* The parts of the tasks: as recorded, but that a fixed cost is paid for each new chunk. It is paid before and after
 * process() first. */
static sums sum_parts(const roast_plan *plan, double busy) {
    sums all = {0};
    double cost = 0, fixed = 0;
    double again = plan->read_then > 0 ? plan->read_now / plan->read_then : 1;
    for (size_t i = 0; i < plan->n_kept; i++) {
        const roast_past_chunk *chunk = &plan->past->chunks[plan->kept[i]];
        all.before += (double)chunk->before;
        all.read += (double)chunk->read * again;
        all.cpu += (double)chunk->cpu;
        all.after += (double)chunk->after;
        cost += chunk->cost + (double)chunk->read * (again - 1);
        fixed += chunk->dataset < plan->past->n_datasets
                     ? fmin(plan->past->datasets[chunk->dataset].fixed, chunk->cost)
                     : 0;
    }
    all.offcpu = fmax(0, cost - all.before - all.read - all.cpu - all.after);
    double more = (double)plan->n_once / (double)plan->n_kept - 1;
    double outside = fmin(fixed, all.before + all.after);
    double share = all.before + all.after > 0 ? outside / (all.before + all.after) : 0;
    all.before += all.before * share * more;
    all.after += all.after * share * more;
    double in = fmax(0, all.read + all.cpu + all.offcpu + (fixed - outside) * more);
    double scale_in =
        all.read + all.cpu + all.offcpu > 0 ? in / (all.read + all.cpu + all.offcpu) : 0;
    double sum = all.before + all.after + in, scale = sum > 0 ? busy / sum : 0;
    return (sums){all.before * scale, all.read * scale * scale_in, all.cpu * scale * scale_in,
                  all.offcpu * scale * scale_in, all.after * scale};
}

/* Fills in the available time of the threads, and what they wait for before their first task. */
static void add_threads(const roast_question *q, roast_budget_row *row, double middle) {
    const roast_past *past = &q->past;
    const roast_what_if_options *options = &q->plan.options;
    double outside = 0;
    for (uint64_t i = 0; i < roast_past_worker_count(past, options); i++) {
        const roast_past_worker worker = roast_past_worker_like(past, options, i);
        double joined = fmin(fmax(0, worker.joined), middle);
        double until = fmin(worker.until, middle);
        /* Who comes late has not waited for the client before. */
        double waited = worker.joined > 0 ? 0 : q->outside;
        row->available += worker.threads * (waited + fmax(0, until - joined));
        row->parts[ROAST_PART_idle_ramp_up] +=
            worker.threads * fmax(0, fmin(worker.begin, until) - joined);
        outside += worker.threads * waited;
    }
    row->parts[ROAST_PART_client] = outside * past->share_client;
    row->parts[ROAST_PART_preprocessing] = outside * (1 - past->share_client);
}

static void find_budget(roast_question *q) {
    roast_what_if_figures *figures = &q->answer->figures;
    roast_budget_row *row = &figures->budget;
    const roast_play *found = &q->predicted;
    const roast_budget_row *past = roast_budget_total(q->past.budget);
    sums parts = sum_parts(&q->plan, found->busy);
    double cold = q->past.cold * figures->threads;
    figures->recorded_budget = *past;
    figures->recorded_budget.name = (roast_str){NULL, 0};
    add_threads(q, row, figures->wall - q->outside);
    row->parts[ROAST_PART_before_process] = parts.before + cold;
    row->parts[ROAST_PART_read] = parts.read + found->reading;
    row->parts[ROAST_PART_compute_cpu] = parts.cpu;
    row->parts[ROAST_PART_compute_offcpu] = parts.offcpu;
    row->parts[ROAST_PART_after_process] = parts.after;
    row->parts[ROAST_PART_reduction] = found->merging;
    row->parts[ROAST_PART_worker_overhead] = found->overhead;
    row->parts[ROAST_PART_lost] = found->lost;
    row->parts[ROAST_PART_idle_starved] = found->starved;
    row->parts[ROAST_PART_idle_tail] = found->tail;
    double sum = 0;
    for (int part = 0; part < ROAST_PART_unaccounted; part++)
        sum += row->parts[part];
    row->parts[ROAST_PART_unaccounted] = row->available - sum;
    row->offcpu_io = row->offcpu_runqueue = row->offcpu_rest = NAN;
    row->read_cpu = row->read_others = row->read_wait = NAN;
    /* What nobody measured is not known of the prediction either. */
    for (int part = 0; part < ROAST_PART_COUNT; part++)
        if (isnan(past->parts[part]) && row->parts[part] == 0)
            row->parts[part] = NAN;
}

/* ---- all ---- */

static void fill_figures(roast_question *q) {
    roast_what_if_figures *figures = &q->answer->figures;
    const roast_what_if_options *options = &q->plan.options;
    figures->recorded = q->past.wall;
    figures->replayed = q->past.outside + q->recorded.end;
    figures->recorded_workers = q->past.peak;
    figures->recorded_threads = threads_of(&q->past);
    figures->workers = options->workers > 0 ? options->workers : q->past.peak;
    figures->threads = options->threads > 0   ? figures->workers * options->threads
                       : options->workers > 0 ? (double)q->slots
                                              : figures->recorded_threads;
    figures->chunks = q->plan.n_tasks;
    figures->recorded_chunks = q->past.n_chunks;
    figures->reductions = q->predicted.merges;
    figures->events = q->plan.events;
    figures->bytes = 0;
    for (size_t i = 0; i < q->plan.n_tasks; i++)
        figures->bytes += (double)q->plan.bytes[i]; /* NaN: one does not tell */
    figures->wall = wall_of(q, q->predicted.end, 0);
}

static roast_status answer(roast_question *q, const roast_what_if_options *options,
                           roast_error *err) {
    const roast_scenario known = {0};
    ROAST_TRY(roast_past_fit(&q->past));
    ROAST_TRY(roast_plan_make(&q->past, options, &q->plan, err));
    double threads = threads_of(&q->past) / q->past.peak;
    q->plan.thread_ratio = options->threads > 0 ? options->threads / threads : 1;
    ROAST_TRY(play_recorded(q));
    roast_plan_fill(&q->plan, &known, NULL);
    ROAST_TRY(play(q, &q->plan, q->past.cold, &q->predicted));
    q->slots = q->stage.n_slots;
    fill_figures(q);
    find_budget(q);
    roast_what_if_find_limits(q);
    ROAST_TRY(find_interval(q));
    return roast_what_if_add_notes(q);
}

roast_status roast_what_if_new(const roast_run *run, const roast_what_if_options *options,
                               roast_what_if **out, roast_error *err) {
    static const roast_what_if_options nothing = {0};
    roast_question q = {0};
    if (options == NULL)
        options = &nothing;
    ROAST_TRY(check(options, err));
    ROAST_TRY(roast_past_load(run, options->preload, &q.past, err));
    q.answer = roast_alloc_zero(sizeof *q.answer);
    roast_status status = q.answer != NULL ? answer(&q, options, err) : ROAST_ENOMEM;
    roast_plan_reset(&q.plan);
    roast_stage_reset(&q.stage);
    roast_past_reset(&q.past);
    if (status == ROAST_OK) {
        *out = q.answer;
        return ROAST_OK;
    }
    roast_what_if_free(q.answer);
    if (status == ROAST_ENOMEM)
        return roast_error_set(err, status, where, -1, "no memory to play the run again");
    return status;
}

void roast_what_if_free(roast_what_if *what_if) {
    if (what_if == NULL)
        return;
    roast_arena_reset(&what_if->arena);
    roast_free(what_if->notes);
    roast_free(what_if);
}

const roast_what_if_figures *roast_what_if_get(const roast_what_if *what_if) {
    return &what_if->figures;
}

const roast_what_if_limit *roast_what_if_limits(const roast_what_if *what_if, uint32_t *count) {
    *count = ROAST_WHAT_IF_LIMIT_COUNT;
    return what_if->limits;
}

uint32_t roast_what_if_note_count(const roast_what_if *what_if) {
    return what_if->n_notes;
}

roast_str roast_what_if_note(const roast_what_if *what_if, uint32_t index) {
    return index < what_if->n_notes ? what_if->notes[index] : (roast_str){NULL, 0};
}
