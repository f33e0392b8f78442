/* The tasks to play: the recorded chunks, or new ones made of their parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/what_if/internal.h"
#include "base/buffer.h"
#include "base/random.h"

static const char where[] = "what if";

/* ---- random numbers ---- */

uint32_t roast_draw_below(roast_draw *draw, uint32_t below) {
    return (uint32_t)roast_random_below(&draw->state, below);
}

double roast_draw_even(roast_draw *draw) {
    return (double)(roast_random_next(&draw->state) >> 11) / 9007199254740992.0;
}

/* Twelve even numbers add up to a nearly normal one. */
double roast_draw_normal(roast_draw *draw) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += roast_draw_even(draw);
    return sum;
}

/* ---- files ---- */

/* A name, or the last part of a path. */
static bool names_file(roast_str name, roast_str given) {
    if (name.data == NULL || given.data == NULL || given.len == 0 || given.len > name.len)
        return false;
    size_t rest = name.len - given.len;
    return memcmp(name.data + rest, given.data, given.len) == 0 &&
           (rest == 0 || name.data[rest - 1] == '/');
}

static roast_status leave_out(const roast_plan *plan, bool *out, roast_error *err) {
    uint32_t count;
    const roast_budget_row *files = roast_budget_rows(plan->past->budget, ROAST_BY_file, &count);
    for (size_t i = 0; i < plan->options.n_leave_out; i++) {
        bool found = false;
        for (uint32_t file = 0; file < count; file++)
            if (names_file(files[file].name, plan->options.leave_out[i]))
                out[file] = found = true;
        if (!found)
            return roast_error_set(
                err, ROAST_EINVAL, where, -1, "no chunk of the run is of file %.*s",
                (int)plan->options.leave_out[i].len, plan->options.leave_out[i].data);
    }
    return ROAST_OK;
}

static roast_status no_memory(roast_error *err) {
    return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory to play the run again");
}

/* The chunks of the files to play first, in the order of these files; then the others in their own order. */
typedef struct ranked {
    uint32_t rank, chunk;
} ranked;

static int by_rank(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

static roast_status play_first(roast_plan *plan) {
    uint32_t count;
    const roast_budget_row *files = roast_budget_rows(plan->past->budget, ROAST_BY_file, &count);
    ranked *list = roast_alloc((plan->n_kept + 1) * sizeof *list);
    uint32_t *rank_of = roast_alloc(((size_t)count + 1) * sizeof *rank_of);
    bool known = list != NULL && rank_of != NULL;
    for (uint32_t file = 0; file < count && known; file++) {
        size_t rank = 0;
        while (rank < plan->options.n_first &&
               !names_file(files[file].name, plan->options.first[rank]))
            rank++;
        rank_of[file] = (uint32_t)rank;
    }
    for (size_t i = 0; i < plan->n_kept && known; i++) {
        uint32_t file = plan->past->chunks[plan->kept[i]].file;
        list[i].rank = file < count ? rank_of[file] : (uint32_t)plan->options.n_first;
        list[i].chunk = plan->kept[i];
    }
    if (known)
        qsort(list, plan->n_kept, sizeof *list, by_rank);
    for (size_t i = 0; i < plan->n_kept && known; i++)
        plan->kept[i] = list[i].chunk;
    roast_free(list);
    roast_free(rank_of);
    return known ? ROAST_OK : ROAST_ENOMEM;
}

static roast_status keep_chunks(roast_plan *plan, roast_error *err) {
    const roast_past *past = plan->past;
    uint32_t files;
    roast_budget_rows(past->budget, ROAST_BY_file, &files);
    bool *out = roast_alloc_zero(files + 1);
    plan->kept = roast_alloc((past->n_chunks + 1) * sizeof *plan->kept);
    roast_status status =
        out != NULL && plan->kept != NULL ? leave_out(plan, out, err) : no_memory(err);
    for (size_t i = 0; i < past->n_chunks && status == ROAST_OK; i++) {
        const roast_past_chunk *chunk = &past->chunks[i];
        if (chunk->file < files && out[chunk->file])
            continue;
        plan->kept[plan->n_kept++] = (uint32_t)i;
        plan->events += chunk->events; /* NaN: one does not tell */
    }
    roast_free(out);
    if (status == ROAST_OK && plan->n_kept == 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "all files are left out");
    if (status == ROAST_OK && plan->options.n_first > 0 && play_first(plan) != ROAST_OK)
        return no_memory(err);
    return status;
}

/* ---- new chunks ---- */

/* A chunk in the order of its file; files in the order in which the run came to them. */
typedef struct placed {
    uint32_t file_first; /* the first chunk of its file */
    uint32_t dataset;
    int64_t entry;
    uint32_t chunk;
} placed;

static int by_place(const void *left, const void *right) {
    const placed *a = left, *b = right;
    if (a->file_first != b->file_first)
        return a->file_first < b->file_first ? -1 : 1;
    if (a->dataset != b->dataset)
        return a->dataset < b->dataset ? -1 : 1;
    if (a->entry != b->entry)
        return a->entry < b->entry ? -1 : 1;
    return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

typedef struct cutting {
    roast_plan *plan;
    size_t first_capacity, parts_capacity, n_parts;
} cutting;

static roast_status add_task(cutting *c) {
    void *first = c->plan->first_part;
    if (c->plan->n_once >= ROAST_WHAT_IF_CHUNKS)
        return ROAST_ELIMIT;
    ROAST_TRY(roast_array_reserve(&first, &c->first_capacity, sizeof *c->plan->first_part,
                                  c->plan->n_once + 2));
    c->plan->first_part = first;
    c->plan->first_part[c->plan->n_once++] = (uint32_t)c->n_parts;
    return ROAST_OK;
}

static roast_status add_part(cutting *c, uint32_t chunk, double events) {
    void *parts = c->plan->parts;
    ROAST_TRY(
        roast_array_reserve(&parts, &c->parts_capacity, sizeof *c->plan->parts, c->n_parts + 1));
    c->plan->parts = parts;
    c->plan->parts[c->n_parts++] = (roast_chunk_part){chunk, (float)events};
    return ROAST_OK;
}

/* Cuts the events of the chunks of one file anew. */
static roast_status cut_file(cutting *c, const placed *list, size_t count) {
    const roast_past_chunk *chunks = c->plan->past->chunks;
    double events = 0, size;
    for (size_t i = 0; i < count; i++)
        events += chunks[list[i].chunk].events;
    double n = roast_chunks_of_file(events, (double)c->plan->options.chunksize);
    if (!(n < ROAST_WHAT_IF_CHUNKS))
        return ROAST_ELIMIT;
    size = ceil(events / n);
    double room = 0;
    for (size_t i = 0; i < count; i++) {
        double left = chunks[list[i].chunk].events;
        while (left > 0) {
            if (room <= 0) {
                ROAST_TRY(add_task(c));
                room = size;
            }
            double part = fmin(left, room);
            ROAST_TRY(add_part(c, list[i].chunk, part));
            left -= part;
            room -= part;
        }
    }
    return ROAST_OK;
}

static roast_status cut_files(cutting *c, const placed *list, size_t count) {
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        const roast_past_chunk *chunk = &c->plan->past->chunks[list[i].chunk];
        if (isnan(chunk->events)) { /* stays as it is */
            ROAST_TRY(add_task(c));
            ROAST_TRY(add_part(c, list[i].chunk, -1));
        } else {
            while (end < count && list[end].file_first == list[i].file_first &&
                   list[end].dataset == list[i].dataset &&
                   !isnan(c->plan->past->chunks[list[end].chunk].events))
                end++;
            ROAST_TRY(cut_file(c, list + i, end - i));
        }
        i = end;
    }
    c->plan->first_part[c->plan->n_once] = (uint32_t)c->n_parts;
    return ROAST_OK;
}

static roast_status cut_chunks(roast_plan *plan) {
    const roast_past *past = plan->past;
    uint32_t files;
    roast_budget_rows(past->budget, ROAST_BY_file, &files);
    placed *list = roast_alloc((plan->n_kept + 1) * sizeof *list);
    uint32_t *first_of = roast_alloc(((size_t)files + 1) * sizeof *first_of);
    cutting c = {.plan = plan};
    roast_status status = list != NULL && first_of != NULL ? ROAST_OK : ROAST_ENOMEM;
    for (uint32_t i = 0; i < files && status == ROAST_OK; i++)
        first_of[i] = UINT32_MAX;
    for (size_t i = 0; i < plan->n_kept && status == ROAST_OK; i++) {
        const roast_past_chunk *chunk = &past->chunks[plan->kept[i]];
        uint32_t first = (uint32_t)i; /* in the order in which they are played */
        if (chunk->file < files) {
            if (first_of[chunk->file] == UINT32_MAX)
                first_of[chunk->file] = first;
            first = first_of[chunk->file];
        }
        list[i] = (placed){first, chunk->dataset, chunk->entry, plan->kept[i]};
    }
    if (status == ROAST_OK) {
        qsort(list, plan->n_kept, sizeof *list, by_place);
        status = cut_files(&c, list, plan->n_kept);
    }
    roast_free(list);
    roast_free(first_of);
    return status;
}

/* ---- groups to draw from ---- */

static roast_status make_groups(roast_plan *plan) {
    const roast_past *past = plan->past;
    uint32_t files;
    roast_budget_rows(past->budget, ROAST_BY_file, &files);
    plan->n_groups = files + past->n_datasets + 1;
    plan->ratios = roast_alloc((past->n_chunks + 1) * sizeof *plan->ratios);
    plan->group_first = roast_alloc_zero(((size_t)plan->n_groups + 2) * sizeof *plan->group_first);
    if (plan->ratios == NULL || plan->group_first == NULL)
        return ROAST_ENOMEM;
    /* Counted two places on: while they are filled in, group_first[g + 1] is the next free place of g. */
    for (size_t i = 0; i < past->n_chunks; i++)
        plan->group_first[past->chunks[i].drawn_from + 2]++;
    for (uint32_t group = 0; group < plan->n_groups; group++)
        plan->group_first[group + 2] += plan->group_first[group + 1];
    for (size_t i = 0; i < past->n_chunks; i++)
        plan->ratios[plan->group_first[past->chunks[i].drawn_from + 1]++] =
            past->chunks[i].cost / past->chunks[i].usual;
    return ROAST_OK;
}

static roast_status make_rest(roast_plan *plan) {
    ROAST_TRY(make_groups(plan));
    if (plan->options.chunksize > 0)
        ROAST_TRY(cut_chunks(plan));
    else
        plan->n_once = plan->n_kept;
    if (plan->n_once > ROAST_WHAT_IF_CHUNKS / plan->times)
        return ROAST_ELIMIT;
    plan->n_tasks = plan->n_once * plan->times;
    plan->events *= plan->times;
    plan->costs = roast_alloc((plan->past->n_chunks + 1) * sizeof *plan->costs);
    plan->fixed = roast_alloc(((size_t)plan->past->n_datasets + 1) * sizeof *plan->fixed);
    plan->seconds = roast_alloc((plan->n_tasks + 1) * sizeof *plan->seconds);
    plan->bytes = roast_alloc((plan->n_tasks + 1) * sizeof *plan->bytes);
    return plan->costs != NULL && plan->fixed != NULL && plan->seconds != NULL &&
                   plan->bytes != NULL
               ? ROAST_OK
               : ROAST_ENOMEM;
}

roast_status roast_plan_make(const roast_past *past, const roast_what_if_options *options,
                             roast_plan *plan, roast_error *err) {
    *plan = (roast_plan){
        .past = past, .options = *options, .times = options->times > 0 ? options->times : 1};
    ROAST_TRY(keep_chunks(plan, err));
    roast_status status = make_rest(plan);
    if (status == ROAST_ELIMIT)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "the run would have more than %u chunks", ROAST_WHAT_IF_CHUNKS);
    return status == ROAST_OK ? ROAST_OK : no_memory(err);
}

void roast_plan_reset(roast_plan *plan) {
    roast_free(plan->first_part);
    roast_free(plan->parts);
    roast_free(plan->kept);
    roast_free(plan->costs);
    roast_free(plan->fixed);
    roast_free(plan->seconds);
    roast_free(plan->bytes);
    roast_free(plan->ratios);
    roast_free(plan->group_first);
    *plan = (roast_plan){0};
}

/* ---- seconds ---- */

/* Of a chunk's cost, the part off the CPU. */
static double off_share(const roast_past_chunk *chunk) {
    double on = (double)chunk->before + (double)chunk->read - (double)chunk->wait +
                (double)chunk->cpu + (double)chunk->after;
    return chunk->cost > 0 ? fmin(1, fmax(0, 1 - on / chunk->cost)) : 0;
}

/* What the options change of a chunk's cost, as a factor. */
static double factor_of(const roast_plan *plan, const roast_scenario *scenario,
                        const roast_past_chunk *chunk) {
    double factor = 1, more = plan->thread_ratio;
    if (plan->options.preload && !scenario->no_preload && chunk->reads > 1 && chunk->cost > 0)
        factor -= (double)chunk->wait / chunk->cost * (1 - 1 / (double)chunk->reads);
    if (scenario->lock && more > 1)
        factor += (1 - off_share(chunk)) * (more - 1);
    else if (scenario->lock && more < 1)
        factor -= off_share(chunk) * (1 - more);
    return fmax(0, factor);
}

/* The costs of the recorded chunks, each as another one of its group had them for its events. */
static void fill_costs(roast_plan *plan, const roast_scenario *scenario, double drift,
                       roast_draw *draw) {
    const roast_past *past = plan->past;
    bool plain = !plan->options.preload && !scenario->lock;
    for (size_t k = 0; k < plan->n_kept; k++) {
        uint32_t i = plan->kept[k];
        const roast_past_chunk *chunk = &past->chunks[i];
        double cost = chunk->cost;
        if (draw != NULL) {
            uint32_t first = plan->group_first[chunk->drawn_from];
            uint32_t count = plan->group_first[chunk->drawn_from + 1] - first;
            cost = drift * chunk->usual * plan->ratios[first + roast_draw_below(draw, count)];
        }
        plan->costs[i] = plain ? cost : cost * factor_of(plan, scenario, chunk);
    }
}

static void fill_fixed(roast_plan *plan, const roast_scenario *scenario, roast_draw *draw) {
    for (uint32_t i = 0; i < plan->past->n_datasets; i++) {
        const roast_past_dataset *dataset = &plan->past->datasets[i];
        double fixed = scenario->fixed_most ? dataset->fixed_most : dataset->fixed;
        if (draw != NULL && dataset->fitted)
            fixed = fmax(0, fixed + dataset->error * roast_draw_normal(draw));
        plan->fixed[i] = fixed;
    }
}

/* A basket is read whole by each chunk that has events in it. */
typedef struct baskets {
    double once; /* as much of the reading as if nothing were read twice */
    double
        beyond; /* what a chunk of the recorded size reads beyond its events, as a share of its file */
} baskets;

static baskets baskets_of(const roast_past_chunk *chunk) {
    double covered = (double)chunk->covered, share = (double)chunk->share;
    if (!(covered > share) || !(share > 0))
        return (baskets){1, 0};
    /* Who reads all of the file for a part of its events would do so for fewer. */
    return (baskets){share / covered, covered > 0.999 ? 1 : covered - share};
}

static void fill_task(roast_plan *plan, size_t task, size_t to) {
    double seconds = 0, bytes = 0, fixed = 0, described = 0, events = 0;
    double read = 0, columns = 0, share = 0, beyond = 0;
    for (uint32_t at = plan->first_part[task]; at < plan->first_part[task + 1]; at++) {
        const roast_chunk_part *part = &plan->parts[at];
        const roast_past_chunk *chunk = &plan->past->chunks[part->chunk];
        double cost = plan->costs[part->chunk], taken = (double)part->events;
        if (taken < 0) { /* the whole chunk */
            seconds += cost;
            bytes += (double)chunk->bytes;
            continue;
        }
        double own = chunk->dataset < plan->past->n_datasets ? plan->fixed[chunk->dataset] : 0;
        own = fmin(own, cost);
        double of = taken / chunk->events;
        double reading =
            fmin(cost - own, chunk->cost > 0 ? (double)chunk->read / chunk->cost * cost : 0) * of;
        baskets read_in = baskets_of(chunk);
        seconds += (cost - own) * of - reading;
        read += reading * read_in.once;
        plan->read_then += reading;
        columns += ((double)chunk->bytes - (double)chunk->described) * of * read_in.once;
        share += (double)chunk->share * of;
        beyond += read_in.beyond * taken;
        fixed += own * taken;
        described += (double)chunk->described * taken;
        events += taken;
    }
    if (events > 0) {
        double again = share > 0 ? fmin(1, share + beyond / events) / share : 1;
        again = fmax(1, again);
        plan->read_now += read * again;
        seconds += read * again + fixed / events;
        bytes += columns * again + described / events;
    }
    plan->seconds[to] = seconds;
    plan->bytes[to] = (float)bytes;
}

void roast_plan_fill(roast_plan *plan, const roast_scenario *scenario, roast_draw *draw) {
    double drift = fmax(0.2, 1 + plan->past->drift * plan->sigmas);
    fill_fixed(plan, scenario, draw);
    plan->read_then = plan->read_now = 0;
    for (uint32_t time = 0; time < plan->times; time++) {
        if (time == 0 || draw != NULL)
            fill_costs(plan, scenario, drift, draw);
        for (size_t task = 0, to = time * plan->n_once; task < plan->n_once; task++, to++) {
            if (plan->first_part != NULL) {
                fill_task(plan, task, to);
                continue;
            }
            plan->seconds[to] = plan->costs[plan->kept[task]];
            plan->bytes[to] = plan->past->chunks[plan->kept[task]].bytes;
        }
    }
}
