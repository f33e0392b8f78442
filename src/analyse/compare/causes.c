/* What contributed to the change of the time of all chunks.
 *
 * For each chunk of B there is a time that A would have taken: that of the same piece in A, or that of A's events of
 * the file, or of the dataset. The differences are added up by dataset, file, worker, host, section and branch. A group is named
 * before another if more of the change is in it than its share of the time explains: so a section of one dataset comes
 * before the dataset, and before the section in all datasets, if the change is there alone. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/compare/internal.h"

/* Changes that are shown have intervals; there is no room to show more. */
enum { MOST_CAUSES = 12 };
/* Of the change of all chunks: a smaller contribution is not worth a line. */
static const double least_share = 0.02;

/* Seconds of B, and those that A would have taken. */
typedef struct times {
    double now, base;
} times;

typedef struct cause {
    roast_change_kind kind;
    uint32_t id, dataset; /* numbers of names; of the dataset ROAST_NO_GROUP: all */
    times seconds;
    double excess; /* of the change, beyond the share of the time */
} cause;

typedef struct causes {
    cause *items;
    size_t count, capacity;
} causes;

/* ---- what A would have taken ---- */

/* A place is a piece of work. If pieces are not compared in pairs, it is a file that both sides have, or else a
 * dataset. */
typedef struct expected {
    bool by_piece;
    size_t n_files, n_datasets;
    uint8_t *files;               /* by file: a bit for each side that has it */
    double *numbers[ROAST_SIDES]; /* of the chunks of a place; of their events if it is no piece */
    double *seconds;              /* of a place, in A */
} expected;

static size_t place_of(const expected *all, const roast_compared_chunk *chunk) {
    uint32_t dataset = chunk->names[ROAST_BY_dataset], file = chunk->names[ROAST_BY_file];
    if (all->by_piece)
        return chunk->piece;
    if (file < all->n_files && all->files[file] == 3)
        return file;
    return all->n_files + (dataset < all->n_datasets ? dataset : all->n_datasets);
}

static double number_of(const expected *all, const roast_compared_chunk *chunk) {
    return all->by_piece ? 1 : chunk->events > 0 ? (double)chunk->events : 0;
}

static void free_expected(expected *all) {
    roast_free(all->numbers[0]);
    roast_free(all->numbers[1]);
    roast_free(all->seconds);
    roast_free(all->files);
}

static roast_status find_files(const roast_comparison *comparison, expected *all) {
    all->n_files = roast_groups_count(&comparison->names[ROAST_BY_file]);
    all->files = roast_alloc_zero(all->n_files + 1);
    if (all->files == NULL)
        return ROAST_ENOMEM;
    for (unsigned i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < comparison->sides[i].n_chunks; at++) {
            uint32_t file = comparison->sides[i].chunks[at].names[ROAST_BY_file];
            if (file < all->n_files)
                all->files[file] |= (uint8_t)(1u << i);
        }
    return ROAST_OK;
}

static roast_status make_expected(const roast_comparison *comparison, expected *all) {
    all->by_piece = comparison->paired;
    all->n_datasets = roast_groups_count(&comparison->names[ROAST_BY_dataset]);
    ROAST_TRY(find_files(comparison, all));
    size_t count =
        (all->by_piece ? comparison->pieces.count : all->n_files + all->n_datasets) + (size_t)1;
    all->seconds = roast_alloc_zero(count * sizeof *all->seconds);
    for (int i = 0; i < ROAST_SIDES; i++) {
        const roast_compared_side *side = &comparison->sides[i];
        all->numbers[i] = roast_alloc_zero(count * sizeof **all->numbers);
        if (all->numbers[i] == NULL || all->seconds == NULL)
            return ROAST_ENOMEM;
        for (size_t at = 0; at < side->n_chunks; at++) {
            const roast_compared_chunk *chunk = &side->chunks[at];
            double seconds = (double)chunk->costs[ROAST_COST_all];
            all->numbers[i][place_of(all, chunk)] += number_of(all, chunk);
            if (i == ROAST_SIDE_A && seconds > 0)
                all->seconds[place_of(all, chunk)] += seconds;
        }
    }
    return ROAST_OK;
}

/* Whether both sides have chunks to compare this one with. */
static bool is_compared(const expected *all, const roast_compared_chunk *chunk) {
    size_t place = place_of(all, chunk);
    return all->numbers[0][place] > 0 && all->numbers[1][place] > 0;
}

/* ---- groups ---- */

static roast_status add_cause(causes *all, const cause *one) {
    void *items = all->items;
    ROAST_TRY(roast_array_reserve(&items, &all->capacity, sizeof *all->items, all->count + 1));
    all->items = items;
    all->items[all->count++] = *one;
    return ROAST_OK;
}

/* Sums by a number, in an array that the caller frees. */
static times *new_times(size_t count) {
    return roast_alloc_zero((count + 1) * sizeof(times));
}

static void add_times(times *to, double now, double base) {
    to->now += now;
    to->base += base;
}

/* *total: all chunks that can be compared. */
static void sum_groups(const roast_compared_side *side, const expected *all,
                       times *const sums[ROAST_SPLIT_COUNT], times *total) {
    for (size_t i = 0; i < side->n_chunks; i++) {
        const roast_compared_chunk *chunk = &side->chunks[i];
        double now = (double)chunk->costs[ROAST_COST_all];
        if (isnan(now) || !is_compared(all, chunk))
            continue;
        size_t place = place_of(all, chunk);
        double base =
            all->seconds[place] * number_of(all, chunk) / all->numbers[ROAST_SIDE_A][place];
        add_times(total, now, base);
        for (int by = 0; by < ROAST_SPLIT_COUNT; by++)
            if (chunk->names[by] != ROAST_NO_GROUP)
                add_times(&sums[by][chunk->names[by]], now, base);
    }
}

/* Datasets, files, workers and hosts. */
static roast_status add_groups(const roast_comparison *comparison, const expected *all,
                               causes *found, times *total) {
    static const roast_change_kind kinds[ROAST_SPLIT_COUNT] = {
        [ROAST_BY_dataset] = ROAST_CHANGE_dataset,
        [ROAST_BY_file] = ROAST_CHANGE_file,
        [ROAST_BY_worker] = ROAST_CHANGE_worker,
        [ROAST_BY_host] = ROAST_CHANGE_host};
    times *sums[ROAST_SPLIT_COUNT] = {NULL};
    roast_status status = ROAST_OK;
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++) {
        sums[by] = new_times(roast_groups_count(&comparison->names[by]));
        if (sums[by] == NULL)
            status = ROAST_ENOMEM;
    }
    if (status == ROAST_OK)
        sum_groups(&comparison->sides[ROAST_SIDE_B], all, sums, total);
    for (int by = 0; by < ROAST_SPLIT_COUNT; by++) {
        uint32_t count = roast_groups_count(&comparison->names[by]);
        for (uint32_t id = 0; id < count && status == ROAST_OK; id++) {
            const cause one = {kinds[by], id, ROAST_NO_GROUP, sums[by][id], 0};
            if (one.seconds.now > 0 || one.seconds.base > 0)
                status = add_cause(found, &one);
        }
        roast_free(sums[by]);
    }
    return status;
}

/* A cost of all datasets, and of each. A chunk of A counts as often as B has its place. */
static roast_status add_cost(const roast_comparison *comparison, const expected *all,
                             const roast_cost_column columns[ROAST_SIDES], cause like,
                             causes *found) {
    uint32_t count = roast_groups_count(&comparison->names[ROAST_BY_dataset]);
    times *sums = new_times(count);
    roast_status status = ROAST_OK;
    if (sums == NULL)
        return ROAST_ENOMEM;
    for (int i = 0; i < ROAST_SIDES; i++)
        for (size_t at = 0; at < roast_cost_count(&columns[i]); at++) {
            const roast_compared_chunk *chunk = roast_cost_chunk(&columns[i], at);
            uint32_t dataset = chunk->names[ROAST_BY_dataset];
            double seconds = roast_cost_value(&columns[i], at);
            size_t place = place_of(all, chunk);
            if (!(seconds > 0) || !is_compared(all, chunk))
                continue;
            times *sum = &sums[dataset < count ? dataset : count];
            if (i == ROAST_SIDE_A)
                sum->base += seconds * all->numbers[1][place] / all->numbers[0][place];
            else
                sum->now += seconds;
        }
    for (uint32_t id = 0; id <= count; id++) {
        cause one = like;
        one.dataset = id;
        one.seconds = sums[id];
        add_times(&like.seconds, sums[id].now, sums[id].base);
        if (status == ROAST_OK && id < count && count > 1 &&
            (sums[id].now > 0 || sums[id].base > 0))
            status = add_cause(found, &one);
    }
    roast_free(sums);
    return status == ROAST_OK ? add_cause(found, &like) : status;
}

/* Puts the uses of each section together, in the order of their chunks. */
static roast_status sort_uses(roast_compared_side *side, uint32_t n_sections) {
    size_t *places = roast_alloc_zero(((size_t)n_sections + 1) * sizeof *places), start = 0;
    roast_compared_use *sorted = roast_alloc((side->n_uses + 1) * sizeof *sorted);
    bool enough = places != NULL && sorted != NULL;
    for (size_t i = 0; enough && i < side->n_uses; i++)
        places[side->uses[i].section]++;
    for (uint32_t id = 0; enough && id < n_sections; id++) {
        size_t count = places[id];
        places[id] = start;
        start += count;
    }
    for (size_t i = 0; enough && i < side->n_uses; i++)
        sorted[places[side->uses[i].section]++] = side->uses[i];
    roast_free(places);
    roast_free(enough ? side->uses : sorted);
    if (enough)
        side->uses = sorted;
    return enough ? ROAST_OK : ROAST_ENOMEM;
}

static roast_cost_column column_of_cost(const roast_comparison *comparison, int side, int cost) {
    return (roast_cost_column){&comparison->sides[side], cost, NULL, 0};
}

/* The uses of one section; they are sorted by then. */
roast_cost_column roast_column_of_section(const roast_comparison *comparison, int side,
                                          uint32_t section) {
    const roast_compared_side *of = &comparison->sides[side];
    size_t low[2] = {0, 0};
    for (uint32_t end = 0; end < 2; end++) { /* the first use of this section, and of the next */
        size_t high = of->n_uses;
        while (low[end] < high) {
            size_t middle = low[end] + (high - low[end]) / 2;
            if (of->uses[middle].section < section + end)
                low[end] = middle + 1;
            else
                high = middle;
        }
    }
    return (roast_cost_column){of, -1, of->uses + low[0], low[1] - low[0]};
}

static roast_status add_sections(roast_comparison *comparison, const expected *all, causes *found) {
    uint32_t count = roast_groups_count(&comparison->sections);
    for (int i = 0; i < ROAST_SIDES; i++)
        ROAST_TRY(sort_uses(&comparison->sides[i], count));
    for (uint32_t id = 0; id < count; id++) {
        const roast_cost_column columns[ROAST_SIDES] = {
            roast_column_of_section(comparison, ROAST_SIDE_A, id),
            roast_column_of_section(comparison, ROAST_SIDE_B, id)};
        cause like = {.kind = ROAST_CHANGE_section, .id = id, .dataset = ROAST_NO_GROUP};
        ROAST_TRY(add_cost(comparison, all, columns, like, found));
    }
    return ROAST_OK;
}

static roast_status add_phase(const roast_comparison *comparison, const expected *all,
                              causes *found) {
    const roast_cost_column columns[ROAST_SIDES] = {
        column_of_cost(comparison, ROAST_SIDE_A, ROAST_COST_before),
        column_of_cost(comparison, ROAST_SIDE_B, ROAST_COST_before)};
    cause like = {.kind = ROAST_CHANGE_phase, .dataset = ROAST_NO_GROUP};
    return add_cost(comparison, all, columns, like, found);
}

/* The reads of branches are known in all; those of A are scaled to the time that A would have taken. */
static roast_status add_branches(const roast_comparison *comparison, const times *total,
                                 causes *found) {
    double all_of_a = 0;
    const roast_compared_side *a = &comparison->sides[ROAST_SIDE_A];
    const roast_compared_side *b = &comparison->sides[ROAST_SIDE_B];
    for (size_t i = 0; i < a->n_chunks; i++)
        if (a->chunks[i].costs[ROAST_COST_all] > 0)
            all_of_a += (double)a->chunks[i].costs[ROAST_COST_all];
    double scale = all_of_a > 0 ? total->base / all_of_a : 0;
    for (uint32_t id = 0; id < roast_groups_count(&comparison->branches); id++) {
        times seconds = {id < b->branches_capacity ? b->branches[id] : 0,
                         id < a->branches_capacity ? a->branches[id] * scale : 0};
        ROAST_TRY(add_cause(found, &(cause){ROAST_CHANGE_branch, id, ROAST_NO_GROUP, seconds, 0}));
    }
    return ROAST_OK;
}

/* ---- the largest ---- */

static int larger_excess(const void *left, const void *right) {
    const cause *a = left, *b = right;
    if (a->excess != b->excess)
        return a->excess > b->excess ? -1 : 1;
    return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind)
                              : (a->id > b->id) - (a->id < b->id);
}

/* A file, or a part of a dataset, that explains nearly as much as the whole dataset comes before it. */
static const double prefer_specific = 1.25;

/* In the direction of the change of all chunks; the other direction is below 0. A worker of B has done other chunks than
 * any worker of A: it can be the reason for a loss, never for a gain. */
static void set_excess(causes *found, const times *total) {
    double change = total->now - total->base, sign = change < 0 ? -1 : 1;
    for (size_t i = 0; i < found->count; i++) {
        cause *one = &found->items[i];
        double share = total->base > 0 ? one->seconds.base / total->base : 0;
        one->excess = sign * (one->seconds.now - one->seconds.base - share * change);
        if (one->kind == ROAST_CHANGE_file || one->dataset != ROAST_NO_GROUP)
            one->excess *= prefer_specific;
        if (sign < 0 && (one->kind == ROAST_CHANGE_worker || one->kind == ROAST_CHANGE_host))
            one->excess = 0;
    }
}

static roast_str name_of(const roast_comparison *comparison, const cause *one) {
    switch (one->kind) {
    case ROAST_CHANGE_section:
        return roast_groups_name(&comparison->sections, one->id);
    case ROAST_CHANGE_branch:
        return roast_groups_name(&comparison->branches, one->id);
    case ROAST_CHANGE_file:
        return roast_groups_name(&comparison->names[ROAST_BY_file], one->id);
    case ROAST_CHANGE_worker:
        return roast_groups_name(&comparison->names[ROAST_BY_worker], one->id);
    case ROAST_CHANGE_host:
        return roast_groups_name(&comparison->names[ROAST_BY_host], one->id);
    case ROAST_CHANGE_dataset:
        return roast_groups_name(&comparison->names[ROAST_BY_dataset], one->id);
    default:
        return roast_str_of("before process()");
    }
}

static roast_status set_interval(roast_comparison *comparison, const cause *one, size_t tests,
                                 roast_change *change) {
    roast_cost_column columns[ROAST_SIDES];
    uint32_t dataset = one->kind == ROAST_CHANGE_dataset ? one->id : one->dataset;
    for (int i = 0; i < ROAST_SIDES; i++)
        columns[i] =
            one->kind == ROAST_CHANGE_section ? roast_column_of_section(comparison, i, one->id)
            : one->kind == ROAST_CHANGE_phase ? column_of_cost(comparison, i, ROAST_COST_before)
                                              : column_of_cost(comparison, i, ROAST_COST_all);
    if (one->kind == ROAST_CHANGE_section || one->kind == ROAST_CHANGE_phase ||
        one->kind == ROAST_CHANGE_dataset)
        return roast_comparison_ratio(comparison, columns, dataset, ROAST_ALPHA / (double)tests,
                                      change);
    return ROAST_OK;
}

/* Of so many candidates some differ by chance: the error rate is shared among them. One that may be chance is left
 * out. Files, workers, hosts and branches have no interval of their own. */
static roast_status keep_largest(roast_comparison *comparison, const causes *found,
                                 const times *total) {
    double change = total->now - total->base;
    size_t tests = 0;
    for (size_t i = 0; i < found->count; i++)
        tests += found->items[i].kind == ROAST_CHANGE_section ||
                 found->items[i].kind == ROAST_CHANGE_phase ||
                 found->items[i].kind == ROAST_CHANGE_dataset;
    for (size_t i = 0, looked = 0; i < found->count && looked < MOST_CAUSES; i++) {
        const cause *one = &found->items[i];
        roast_change row = {.kind = one->kind,
                            .unit = "s",
                            .a = one->seconds.base,
                            .b = one->seconds.now,
                            .ratio = one->seconds.base > 0 ? one->seconds.now / one->seconds.base
                                                           : (double)NAN,
                            .low = NAN,
                            .high = NAN,
                            .share = (one->seconds.now - one->seconds.base) / change,
                            .better = -1};
        if (!(one->excess > least_share * fabs(change)))
            break;
        looked++;
        ROAST_TRY(roast_arena_str(&comparison->arena, name_of(comparison, one), &row.name));
        row.label = row.name;
        if (one->dataset != ROAST_NO_GROUP)
            ROAST_TRY(roast_arena_str(
                &comparison->arena,
                roast_groups_name(&comparison->names[ROAST_BY_dataset], one->dataset),
                &row.dataset));
        double ratio = row.ratio;
        ROAST_TRY(set_interval(comparison, one, tests, &row));
        if (isnan(row.low))
            row.ratio = ratio;
        if (row.verdict != ROAST_LIKELIHOOD_chance)
            ROAST_TRY(roast_changes_add(&comparison->causes, &row));
    }
    return ROAST_OK;
}

static roast_status judge_cost(roast_comparison *comparison, const times *total) {
    roast_cost_column columns[ROAST_SIDES] = {
        column_of_cost(comparison, ROAST_SIDE_A, ROAST_COST_all),
        column_of_cost(comparison, ROAST_SIDE_B, ROAST_COST_all)};
    comparison->cost = (roast_change){.kind = ROAST_CHANGE_cost,
                                      .name = roast_str_of("all"),
                                      .label = roast_str_of("Time of All Chunks"),
                                      .unit = "s",
                                      .a = total->base,
                                      .b = total->now,
                                      .share = 1,
                                      .better = -1};
    return roast_comparison_ratio(comparison, columns, ROAST_NO_GROUP, ROAST_ALPHA,
                                  &comparison->cost);
}

roast_status roast_comparison_find_causes(roast_comparison *comparison) {
    expected all = {0};
    causes found = {0};
    times total = {0};
    roast_status status = make_expected(comparison, &all);
    if (status == ROAST_OK)
        status = add_groups(comparison, &all, &found, &total);
    if (status == ROAST_OK)
        status = add_sections(comparison, &all, &found);
    if (status == ROAST_OK)
        status = add_phase(comparison, &all, &found);
    if (status == ROAST_OK)
        status = add_branches(comparison, &total, &found);
    if (status == ROAST_OK)
        status = judge_cost(comparison, &total);
    if (status == ROAST_OK && found.count > 0) {
        set_excess(&found, &total);
        qsort(found.items, found.count, sizeof *found.items, larger_excess);
        status = keep_largest(comparison, &found, &total);
    }
    free_expected(&all);
    roast_free(found.items);
    return status;
}
