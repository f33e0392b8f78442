/* What limits the predicted run, and what the recorded one cannot tell. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose/internal.h"
#include "analyse/what_if/internal.h"
#include "base/buffer.h"

const char *roast_what_if_limit_name(roast_what_if_limit_kind kind) {
    static const char *const names[] = {
#define X(name, label) #name,
        ROAST_WHAT_IF_LIMITS(X)
#undef X
    };
    return (unsigned)kind < ROAST_WHAT_IF_LIMIT_COUNT ? names[kind] : "unknown";
}

const char *roast_what_if_limit_label(roast_what_if_limit_kind kind) {
    static const char *const labels[] = {
#define X(name, label) label,
        ROAST_WHAT_IF_LIMITS(X)
#undef X
    };
    return (unsigned)kind < ROAST_WHAT_IF_LIMIT_COUNT ? labels[kind] : "unknown";
}

/* ---- limits ---- */

static int by_bound(const void *left, const void *right) {
    const roast_what_if_limit *a = left, *b = right;
    int class_a = isnan(a->seconds) ? 2 : !a->certain,
        class_b = isnan(b->seconds) ? 2 : !b->certain;
    if (class_a != class_b)
        return class_a - class_b;
    if (class_a < 2 && a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

/* The end, if all work were spread evenly over the threads from the beginning of each on. */
static double even_end(roast_question *q, double work) {
    double begins = 0;
    size_t threads = q->slots;
    if (roast_stage_set_slots(&q->stage, &q->past, &q->plan.options, q->past.cold) != ROAST_OK)
        return NAN; /* cannot be: the stage has had room for them */
    for (size_t i = 0; i < threads; i++)
        begins += q->stage.slots[i].free;
    /* Threads that begin after the even end do nothing. They are sorted: the last ones. */
    while (threads > 1 && q->stage.slots[threads - 1].free > (work + begins) / (double)threads)
        begins -= q->stage.slots[--threads].free;
    return threads > 0 ? (work + begins) / (double)threads : (double)NAN;
}

void roast_what_if_find_limits(roast_question *q) {
    const roast_past *past = &q->past;
    const roast_play *found = &q->predicted;
    roast_what_if_limit *limits = q->answer->limits;
    double rate = q->plan.options.read_rate, outside = q->outside;
    double tasks = (double)q->plan.n_tasks + (double)found->merges;
    uint32_t levels;
    roast_merge_tree(q->plan.n_tasks, past->merge_width, &levels);
    double chain = levels * (past->overhead + past->merge_width * roast_past_merge_cost(past));
    double first = even_end(q, 0);
    double work = even_end(q, found->busy + found->overhead + found->merging + found->lost);
    /* What was played takes as much longer or shorter as the run itself did. */
    double scale = found->end > 0 ? (q->answer->figures.wall - outside) / found->end : 1;
    double bounds[ROAST_WHAT_IF_LIMIT_COUNT] = {
        [ROAST_WHAT_IF_outside] = outside,
        [ROAST_WHAT_IF_workers] = outside + scale * work,
        [ROAST_WHAT_IF_longest_chunk] = outside + scale * (first + past->overhead + found->longest),
        [ROAST_WHAT_IF_reading] =
            outside + q->answer->figures.bytes / (rate > 0 ? rate : past->rate),
        [ROAST_WHAT_IF_reduction] = levels > 0 ? outside + scale * chain : (double)NAN,
        [ROAST_WHAT_IF_scheduler] = outside + tasks * past->task_seconds,
    };
    for (int i = 0; i < ROAST_WHAT_IF_LIMIT_COUNT; i++)
        limits[i] = (roast_what_if_limit){.kind = (roast_what_if_limit_kind)i,
                                          .seconds = bounds[i],
                                          .rate = NAN,
                                          .certain = true};
    limits[ROAST_WHAT_IF_reading].certain = rate > 0;
    limits[ROAST_WHAT_IF_reading].rate = rate > 0 ? rate : past->rate;
    limits[ROAST_WHAT_IF_scheduler].rate = 1 / past->task_seconds;
    qsort(limits, ROAST_WHAT_IF_LIMIT_COUNT, sizeof *limits, by_bound);
}

roast_what_if_limit_kind roast_what_if_limiting(const roast_what_if *what_if) {
    return what_if->limits[0].kind;
}

/* ---- notes ---- */

static roast_status add_note(roast_what_if *answer, const roast_words *words) {
    void *notes = answer->notes;
    ROAST_TRY(roast_array_reserve(&notes, &answer->notes_capacity, sizeof *answer->notes,
                                  (size_t)answer->n_notes + 1));
    answer->notes = notes;
    ROAST_TRY(roast_arena_str(&answer->arena, (roast_str){words->text, words->len},
                              &answer->notes[answer->n_notes]));
    answer->n_notes++;
    return ROAST_OK;
}

#define NOTE(...)                                                                                  \
    do {                                                                                           \
        roast_words words_ = {.len = 0};                                                           \
        roast_say(&words_, __VA_ARGS__);                                                           \
        ROAST_TRY(add_note(q->answer, &words_));                                                   \
    } while (0)

/* So much of the wall time is worth a sentence. */
static const double notable = 0.05;

static roast_status note_storage(const roast_question *q) {
    const roast_what_if_figures *figures = &q->answer->figures;
    double middle = figures->wall - q->outside;
    if (q->plan.options.read_rate > 0) {
        if (isnan(figures->bytes))
            NOTE("How many bytes the chunks read was not measured: the rate of reading changes "
                 "nothing.");
        return ROAST_OK;
    }
    if (!(middle > 0) || isnan(figures->bytes) || isnan(q->past.rate)) {
        if (figures->threads > figures->recorded_threads)
            NOTE("How much the run read was not measured: whether the storage is fast enough for "
                 "more threads is not known.");
        return ROAST_OK;
    }
    double rate = figures->bytes / middle;
    if (rate > (1 + notable) * q->past.rate)
        NOTE("The storage would have to give %s per second; %s per second were measured. Whether "
             "it can is not known: a rate of reading (--at-rate) limits it.",
             roast_say_bytes(rate), roast_say_bytes(q->past.rate));
    return ROAST_OK;
}

static roast_status note_sizes(const roast_question *q) {
    bool unfitted = false;
    for (uint32_t i = 0; i < q->past.n_datasets; i++)
        unfitted = unfitted || (q->past.datasets[i].chunks > 0 && !q->past.datasets[i].fitted);
    if (q->plan.options.chunksize == 0)
        return ROAST_OK;
    if (unfitted)
        NOTE("The chunks of the run do not tell how much of process() is a fixed cost of a chunk: "
             "their sizes are too much alike, or their times vary too much. The interval reaches "
             "from none of it to all of it.");
    if (q->past.unrecorded > 0)
        NOTE("%s without a record are played as they were.",
             roast_say_many((double)q->past.unrecorded, "task"));
    return ROAST_OK;
}

static roast_status note_workers(const roast_question *q) {
    const roast_past *past = &q->past;
    const roast_what_if_figures *figures = &q->answer->figures;
    bool changed = q->plan.options.workers > 0 || q->plan.options.threads > 0;
    double last = past->workers[past->peak - 1].begin;
    if (q->plan.thread_ratio != 1)
        NOTE("Threads of one worker share Python's lock. The interval reaches from threads that do "
             "not disturb each other to threads that never compute at the same time.");
    if (changed && past->replaced > 0)
        NOTE("%s of the run left and came again; here all stay to the end.",
             roast_say_many((double)past->replaced, "worker"));
    if (changed && last > notable * figures->wall)
        NOTE("All workers are assumed to start within %s, as in the recorded run.",
             roast_say_time(last));
    if (changed && past->lengths.count == 0 && q->outside > notable * figures->wall)
        NOTE("%s of preprocessing and of the client stay as they were.",
             roast_say_time(q->outside));
    if (figures->threads > figures->recorded_threads)
        NOTE("Each new worker is as fast as the recorded ones: cores, memory and network of its "
             "own.");
    return ROAST_OK;
}

static roast_status note_tasks(const roast_question *q) {
    const roast_past *past = &q->past;
    double tasks = (double)q->plan.n_tasks + (double)q->predicted.merges;
    double rate = tasks / fmax(q->answer->figures.wall - q->outside, 1e-9);
    if (isnan(past->task_seconds)) {
        if (q->answer->figures.threads > q->answer->figures.recorded_threads)
            NOTE("The time of the scheduler was not measured: it limits nothing here.");
    } else if (rate * past->task_seconds > notable) {
        NOTE("%s tasks per second are %s of what the scheduler can send by its measured time of "
             "%s a task. Receiving messages is neither in that time nor in the interval.",
             roast_say_count(rate), roast_say_percent(rate * past->task_seconds),
             roast_say_time(past->task_seconds));
    }
    if (past->width_assumed && past->merge_width > 0)
        NOTE("How many outputs a task merges was not measured: %u, as Coffea does by default.",
             past->merge_width);
    if (past->other_seconds > notable * past->middle * q->answer->figures.recorded_threads)
        NOTE("%s of other tasks are left out of the simulation.",
             roast_say_time(past->other_seconds));
    return ROAST_OK;
}

static roast_status note_rest(const roast_question *q) {
    const roast_what_if_figures *figures = &q->answer->figures;
    double unexplained = figures->recorded - figures->replayed;
    bool waits = false;
    if (q->past.queued > notable)
        NOTE("%s of process() waited for a core: the machines were busy with other things. The "
             "interval reaches from half of that waiting to half as much again.",
             roast_say_percent(q->past.queued));
    for (size_t i = 0; i < q->plan.n_kept && q->plan.options.preload; i++)
        waits = waits || (q->past.chunks[q->plan.kept[i]].reads > 1 &&
                          q->past.chunks[q->plan.kept[i]].wait > 0);
    if (q->plan.options.preload && waits)
        NOTE("Reading at once saves at most the waiting of all reads but one. The interval covers "
             "every saving between none and this.");
    if (q->plan.options.preload && !waits)
        NOTE("No waiting for reads was measured in process(): preloading changes nothing here.");
    if (fabs(unexplained) > notable * figures->recorded)
        NOTE("%s of the recorded wall time are not explained by its tasks; they are in the "
             "interval.",
             roast_say_time(fabs(unexplained)));
    if (isnan(figures->low))
        NOTE("There are too few chunks for an interval.");
    return ROAST_OK;
}

roast_status roast_what_if_add_notes(roast_question *q) {
    ROAST_TRY(note_storage(q));
    ROAST_TRY(note_sizes(q));
    ROAST_TRY(note_workers(q));
    ROAST_TRY(note_tasks(q));
    return note_rest(q);
}
