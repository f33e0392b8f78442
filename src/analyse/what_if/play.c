/* List scheduling: a task goes to the thread that is free first. */
#include <math.h>
#include <stdlib.h>

#include "analyse/what_if/internal.h"
#include "base/buffer.h"

/* ---- threads ---- */

static int by_free(const void *left, const void *right) {
    const roast_slot *a = left, *b = right;
    return (a->free > b->free) - (a->free < b->free);
}

static roast_status add_slots(roast_stage *stage, const roast_past_worker *worker, double cold) {
    uint32_t threads = worker->threads;
    void *slots = stage->slots;
    ROAST_TRY(roast_array_reserve(&slots, &stage->slots_capacity, sizeof *stage->slots,
                                  stage->n_slots + threads));
    stage->slots = slots;
    for (uint32_t i = 0; i < threads; i++)
        stage->slots[stage->n_slots++] = (roast_slot){worker->begin + cold, worker->until};
    return ROAST_OK;
}

static double between(double low, double high, double share) {
    return low + (high - low) * share;
}

roast_past_worker roast_past_worker_like(const roast_past *past,
                                         const roast_what_if_options *options, uint64_t number) {
    if (options->workers == 0 && options->threads == 0)
        return past->workers[number];
    double peak = past->peak, count = options->workers > 0 ? options->workers : peak;
    double place = fmin(fmax(0, ((double)number + 0.5) * peak / count - 0.5), peak - 1);
    const roast_past_worker *low = &past->workers[(size_t)place];
    const roast_past_worker *high = &past->workers[(size_t)ceil(place)];
    double share = place - floor(place);
    return (roast_past_worker){.joined = between(low->joined, high->joined, share),
                               .begin = between(low->begin, high->begin, share),
                               .until = INFINITY,
                               .threads = options->threads > 0 ? options->threads : low->threads};
}

uint64_t roast_past_worker_count(const roast_past *past, const roast_what_if_options *options) {
    if (options->workers > 0)
        return options->workers;
    return options->threads > 0 ? past->peak : past->n_workers;
}

roast_status roast_stage_set_slots(roast_stage *stage, const roast_past *past,
                                   const roast_what_if_options *options, double cold) {
    stage->n_slots = 0;
    for (uint64_t i = 0; i < roast_past_worker_count(past, options); i++) {
        const roast_past_worker worker = roast_past_worker_like(past, options, i);
        ROAST_TRY(add_slots(stage, &worker, cold));
    }
    /* A sorted list is a heap. */
    qsort(stage->slots, stage->n_slots, sizeof *stage->slots, by_free);
    return ROAST_OK;
}

/* The first slot is free later than before, or gone. Four children lie in one line of the cache: with 10,000 threads
 * the heap is half as deep as one with two. */
static void sink_first(roast_stage *stage) {
    enum { CHILDREN = 4 };
    roast_slot *slots = stage->slots, moved = slots[0];
    size_t at = 0, count = stage->n_slots;
    for (;;) {
        size_t child = CHILDREN * at + 1, end = child + CHILDREN < count ? child + CHILDREN : count;
        if (child >= count)
            break;
        for (size_t other = child + 1; other < end; other++)
            child = slots[other].free < slots[child].free ? other : child;
        if (moved.free <= slots[child].free)
            break;
        slots[at] = slots[child];
        at = child;
    }
    slots[at] = moved;
}

/* The thread that is free first; those whose worker has left by then are taken away, but for the last one. */
static roast_slot *first_free(roast_stage *stage) {
    while (stage->n_slots > 1 && stage->slots[0].free >= stage->slots[0].until) {
        stage->slots[0] = stage->slots[--stage->n_slots];
        sink_first(stage);
    }
    return &stage->slots[0];
}

/* ---- merges ---- */

static void queue_merge(roast_stage *stage, uint32_t merge) {
    size_t at = stage->queue_count++;
    const double *ready = stage->merge_ready;
    while (at > 0 && ready[stage->queue[(at - 1) / 2]] > ready[merge]) {
        stage->queue[at] = stage->queue[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    stage->queue[at] = merge;
}

static uint32_t take_merge(roast_stage *stage) {
    uint32_t first = stage->queue[0], moved = stage->queue[--stage->queue_count];
    const double *ready = stage->merge_ready;
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= stage->queue_count)
            break;
        child += child + 1 < stage->queue_count &&
                 ready[stage->queue[child + 1]] < ready[stage->queue[child]];
        if (ready[moved] <= ready[stage->queue[child]])
            break;
        stage->queue[at] = stage->queue[child];
        at = child;
    }
    stage->queue[at] = moved;
    return first;
}

/* The tree of merges: each level merges the outputs of the one below, in their order. */
typedef struct tree {
    uint32_t width, levels;
    uint64_t first[64], count[64]; /* of the merges of a level; level 0 are the chunks */
} tree;

static tree make_tree(uint64_t chunks, uint32_t width) {
    tree out = {.width = width, .count = {chunks}};
    while (width > 1 && out.count[out.levels] > 1) {
        uint64_t below = out.count[out.levels],
                 next = out.levels == 0 ? 0 : out.first[out.levels] + below;
        out.levels++;
        out.first[out.levels] = next;
        out.count[out.levels] = (below + width - 1) / width;
    }
    return out;
}

static uint64_t merges_of(const tree *t) {
    return t->levels > 0 ? t->first[t->levels] + t->count[t->levels] : 0;
}

static roast_status prepare_merges(roast_stage *stage, const tree *t) {
    size_t merges = (size_t)merges_of(t) + 1;
    void *ready = stage->merge_ready, *left = stage->merge_left, *queue = stage->queue;
    ROAST_TRY(
        roast_array_reserve(&ready, &stage->merges_capacity, sizeof *stage->merge_ready, merges));
    stage->merge_ready = ready;
    ROAST_TRY(roast_array_reserve(&left, &stage->left_capacity, sizeof *stage->merge_left, merges));
    stage->merge_left = left;
    ROAST_TRY(roast_array_reserve(&queue, &stage->queue_capacity, sizeof *stage->queue, merges));
    stage->queue = queue;
    stage->queue_count = 0;
    for (uint32_t level = 1; level <= t->levels; level++)
        for (uint64_t i = 0; i < t->count[level]; i++) {
            uint64_t inputs = t->count[level - 1] - i * t->width;
            stage->merge_ready[t->first[level] + i] = 0;
            stage->merge_left[t->first[level] + i] =
                inputs < t->width ? (uint32_t)inputs : t->width;
        }
    return ROAST_OK;
}

static uint32_t inputs_of(const tree *t, uint32_t level, uint64_t index) {
    uint64_t inputs = t->count[level - 1] - index * t->width;
    return inputs < t->width ? (uint32_t)inputs : t->width;
}

/* One output is there: of number `index` in a level. */
static void give_output(roast_stage *stage, const tree *t, uint32_t level, uint64_t index,
                        double when) {
    if (level >= t->levels)
        return;
    uint64_t merge = t->first[level + 1] + index / t->width;
    stage->merge_ready[merge] = fmax(stage->merge_ready[merge], when);
    if (--stage->merge_left[merge] == 0)
        queue_merge(stage, (uint32_t)merge);
}

/* ---- the play ---- */

typedef struct playing {
    roast_stage *stage;
    const roast_cast *cast;
    tree tree;
    roast_play *out;
    double pipe;       /* the storage is busy until then */
    double dispatched; /* when the last task was sent */
    bool last_begun;   /* all chunks have begun */
} playing;

/* When the slot's next task is sent: the scheduler sends one after the other. */
static double send_task(playing *p, double from) {
    if (p->cast->dispatch > 0) {
        p->dispatched = fmax(from, p->dispatched + p->cast->dispatch);
        from = p->dispatched;
    }
    p->out->overhead += p->cast->overhead;
    return from;
}

static void end_task(playing *p, roast_slot *slot, double end) {
    slot->free = end;
    p->out->end = fmax(p->out->end, end);
    sink_first(p->stage);
}

/* Reads share what the storage gives: one after the other, a chunk's end waits for its bytes. */
static double after_reading(playing *p, double begin, double end, double bytes) {
    if (p->cast->rate <= 0 || !(bytes > 0))
        return end;
    p->pipe = fmax(p->pipe, begin) + bytes / p->cast->rate;
    return fmax(end, p->pipe);
}

static void play_chunk(playing *p, size_t number) {
    roast_slot *slot = first_free(p->stage);
    double from = slot->free, sent = send_task(p, from), begin = sent + p->cast->overhead;
    double done = begin + p->cast->seconds[number], end = done;
    if (p->cast->bytes != NULL)
        end = after_reading(p, begin, done, (double)p->cast->bytes[number]);
    p->out->starved += sent - from;
    p->out->busy += done - begin;
    p->out->reading += end - done;
    p->out->longest = fmax(p->out->longest, done - begin);
    give_output(p->stage, &p->tree, 0, number, end);
    end_task(p, slot, end);
}

static void play_merge(playing *p) {
    uint32_t merge = take_merge(p->stage), level = 1;
    while (level < p->tree.levels && merge >= p->tree.first[level + 1])
        level++;
    uint64_t index = merge - p->tree.first[level];
    double seconds = p->cast->merge_cost * inputs_of(&p->tree, level, index);
    roast_slot *slot = first_free(p->stage);
    double from = slot->free, sent = send_task(p, fmax(from, p->stage->merge_ready[merge]));
    double begin = sent + p->cast->overhead;
    *(p->last_begun ? &p->out->tail : &p->out->starved) += sent - from;
    p->out->merging += seconds;
    p->out->merges++;
    give_output(p->stage, &p->tree, level, index, begin + seconds);
    end_task(p, slot, begin + seconds);
}

static void play_lost(playing *p, double seconds) {
    roast_slot *slot = first_free(p->stage);
    double begin = send_task(p, slot->free) + p->cast->overhead;
    p->out->lost += seconds;
    end_task(p, slot, begin + seconds);
}

roast_status roast_stage_play(roast_stage *stage, const roast_cast *cast, roast_play *out) {
    playing p = {.stage = stage,
                 .cast = cast,
                 .tree = make_tree(cast->n_tasks, cast->merge_width),
                 .out = out};
    size_t next = 0, lost = 0, n_lost = cast->lost != NULL ? cast->lost->count * cast->times : 0;
    *out = (roast_play){0};
    ROAST_TRY(prepare_merges(stage, &p.tree));
    for (;;) {
        double now = first_free(stage)->free;
        p.last_begun = next == cast->n_tasks;
        bool merge = stage->queue_count > 0;
        if (merge && (stage->merge_ready[stage->queue[0]] <= now || p.last_begun))
            play_merge(&p);
        else if (lost < n_lost && lost * cast->n_tasks <= next * n_lost)
            play_lost(&p,
                      cast->lost->list[lost++ % cast->lost->count]); /* evenly among the chunks */
        else if (next < cast->n_tasks)
            play_chunk(&p, next++);
        else
            break;
    }
    for (size_t i = 0; i < stage->n_slots; i++)
        out->tail += fmax(0, out->end - stage->slots[i].free);
    return ROAST_OK;
}

void roast_stage_reset(roast_stage *stage) {
    roast_free(stage->slots);
    roast_free(stage->merge_ready);
    roast_free(stage->merge_left);
    roast_free(stage->queue);
    *stage = (roast_stage){0};
}
