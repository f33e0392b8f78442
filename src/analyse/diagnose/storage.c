/* Storages that are slower than the others.
 *
 * A storage is compared with the others dataset by dataset, as datasets differ and may be spread unevenly: the difference
 * of their medians in each, and the median of these differences. What a slow storage costs is waiting. So a storage is
 * not to blame if its events take more CPU time, if its chunks waited for a core, or if workers that read from others as
 * well found it no slower. */
#include <math.h>
#include <stdlib.h>

#include "analyse/diagnose/internal.h"

#define MAD_TO_SIGMA    1.4826
#define MEDIAN_TO_ERROR 1.2533

/* The chunks of a storage in a dataset, or on a worker. */
typedef struct cell {
    uint32_t group, storage, chunks;
    double middle; /* median of their values */
} cell;

typedef struct cells {
    cell *list;
    size_t count;
    double scatter; /* of a chunk within its cell */
} cells;

typedef struct entry {
    uint32_t group, storage;
    double value;
} entry;

/* A value that counts as often as it weighs. */
typedef struct weighed {
    double value, weight;
} weighed;

typedef struct contrast {
    double
        above; /* log of how many times as slow as the others; NaN: they have no group in common */
    double own, others; /* chunks that were compared */
} contrast;

typedef struct slow_storage {
    uint32_t storage;
    double above;
    double lost; /* s */
    contrast by_worker;
} slow_storage;

typedef struct doors {
    roast_diagnosis *d;
    double (*cost)(const roast_fact *fact);
    const char *where;
    double *excess;
    double *values;   /* of each chunk: what is compared */
    double *space;    /* as many */
    entry *entries;   /* as many */
    weighed *weighed; /* as many */
} doors;

/* ---- cells ---- */

static int by_group_and_storage(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

/* The values of all chunks, cell by cell. */
static roast_status make_cells(const doors *s, roast_budget_split by, cells *out) {
    const roast_facts *facts = &s->d->facts;
    size_t count = 0, deviations = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if (fact->group[by] != ROAST_NOBODY && fact->storage != ROAST_NOBODY &&
            !isnan(s->values[i]))
            s->entries[count++] = (entry){fact->group[by], fact->storage, s->values[i]};
    }
    *out = (cells){.list = roast_alloc((count + 1) * sizeof *out->list)};
    if (out->list == NULL)
        return ROAST_ENOMEM;
    if (count > 0)
        qsort(s->entries, count, sizeof *s->entries, by_group_and_storage);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && by_group_and_storage(&s->entries[from], &s->entries[to]) == 0;
             to++)
            s->space[to] = s->entries[to].value;
        cell *one = &out->list[out->count++];
        *one = (cell){s->entries[from].group, s->entries[from].storage, (uint32_t)(to - from),
                      roast_median(s->space + from, to - from)};
        for (size_t i = from; i < to; i++, deviations++)
            s->space[i] = fabs(s->space[i] - one->middle);
    }
    out->scatter =
        fmax(MAD_TO_SIGMA * roast_median(s->space, deviations), roast_limit.least_scatter);
    return ROAST_OK;
}

/* ---- contrasts ---- */

static int smallest_first(const void *a, const void *b) {
    const weighed *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Where half of the weight is below, and half above. */
static double weighed_median(weighed *list, size_t count) {
    double all = 0, sum = 0;
    size_t i = 0;
    qsort(list, count, sizeof *list, smallest_first);
    for (size_t j = 0; j < count; j++)
        all += list[j].weight;
    while (i + 1 < count && (sum += list[i].weight) < all / 2)
        i++;
    return sum == all / 2 && i + 1 < count ? (list[i].value + list[i + 1].value) / 2
                                           : list[i].value;
}

/* A storage in one group, whose cells are `from` to `to`, is compared with the others there. */
static bool compare_in_group(const cells *all, size_t from, size_t to, uint32_t storage,
                             weighed *space, weighed *out, double *others) {
    const cell *own = NULL;
    size_t count = 0;
    double chunks = 0;
    for (size_t i = from; i < to; i++) {
        const cell *one = &all->list[i];
        if (one->storage == storage) {
            own = one;
            continue;
        }
        space[count++] = (weighed){one->middle, one->chunks};
        chunks += one->chunks;
    }
    if (own == NULL || count == 0)
        return false;
    *out = (weighed){own->middle - weighed_median(space, count), own->chunks};
    *others += chunks;
    return true;
}

static contrast contrast_of(const doors *s, const cells *all, uint32_t storage) {
    contrast c = {.above = NAN};
    size_t count = 0;
    for (size_t from = 0, to; from < all->count; from = to) {
        for (to = from; to < all->count && all->list[to].group == all->list[from].group;)
            to++;
        /* Behind the results there is always space for the cells of one group. */
        if (compare_in_group(all, from, to, storage, s->weighed + count + 1, &s->weighed[count],
                             &c.others))
            c.own += s->weighed[count++].weight;
    }
    if (count > 0)
        c.above = weighed_median(s->weighed, count);
    return c;
}

static bool is_enough(const contrast *c) {
    return c->own >= roast_limit.group_chunks && c->others >= roast_limit.group_chunks;
}

/* By a factor that matters, and by several times what chance makes of it. */
static bool is_slow(const contrast *c, double scatter) {
    if (!is_enough(c) || !(c->above >= log(roast_limit.slow_place)))
        return false;
    double error = MEDIAN_TO_ERROR * scatter * sqrt(1 / c->own + 1 / c->others);
    return c->above >= roast_limit.significance * error;
}

/* ---- values ---- */

static double queue_of(const roast_fact *fact) {
    return fact->queue > 0 ? (double)fact->queue : 0;
}

/* The cost without the wait for a core, over what is expected. */
static void take_excess(const doors *s) {
    for (size_t i = 0; i < s->d->facts.count; i++) {
        const roast_fact *fact = &s->d->facts.facts[i];
        double cost = s->cost(fact), left = cost - queue_of(fact);
        s->values[i] = left > 0 ? s->excess[i] + log(left / cost) : (double)NAN;
    }
}

static void take_cpu(const doors *s) {
    for (size_t i = 0; i < s->d->facts.count; i++) {
        const roast_fact *fact = &s->d->facts.facts[i];
        s->values[i] = fact->cpu > 0 && fact->events > 0 ? log((double)(fact->cpu / fact->events))
                                                         : (double)NAN;
    }
}

/* ---- who is slow ---- */

/* Whether chunks of more than one file were read from it: a single file may be slow by itself. */
static bool has_files(const doors *s, uint32_t storage) {
    uint32_t first = ROAST_NOBODY;
    for (size_t i = 0; i < s->d->facts.count; i++) {
        const roast_fact *fact = &s->d->facts.facts[i];
        if (fact->storage != storage || fact->file == first)
            continue;
        if (first != ROAST_NOBODY)
            return true;
        first = fact->file;
    }
    return false;
}

enum { MOST_SLOW = 16 };

/* The slow ones, the slowest first; how many. */
static roast_status find_slow(const doors *s, slow_storage slow[MOST_SLOW], uint32_t *count) {
    cells datasets = {0}, workers = {0}, cpu = {0};
    take_excess(s);
    roast_status status = make_cells(s, ROAST_BY_dataset, &datasets);
    if (status == ROAST_OK)
        status = make_cells(s, ROAST_BY_worker, &workers);
    take_cpu(s);
    if (status == ROAST_OK)
        status = make_cells(s, ROAST_BY_dataset, &cpu);
    *count = 0;
    for (uint32_t id = 0; status == ROAST_OK && id < roast_groups_count(&s->d->facts.storages);
         id++) {
        contrast found = contrast_of(s, &datasets, id);
        if (!is_slow(&found, datasets.scatter) || !has_files(s, id) || *count == MOST_SLOW)
            continue;
        contrast of_cpu = contrast_of(s, &cpu, id), here = contrast_of(s, &workers, id);
        if (of_cpu.above > found.above / 2 ||
            (is_enough(&here) && !(here.above > log(roast_limit.slow_place) / 2)))
            continue;
        uint32_t place = (*count)++;
        for (; place > 0 && slow[place - 1].above < found.above; place--)
            slow[place] = slow[place - 1];
        slow[place] = (slow_storage){.storage = id, .above = found.above, .by_worker = here};
    }
    roast_free(datasets.list);
    roast_free(workers.list);
    roast_free(cpu.list);
    return status;
}

/* What each costs: no more than its chunks waited. From now on they count as quick as the others. */
static void excuse(const doors *s, slow_storage *slow, uint32_t count) {
    for (size_t i = 0; i < s->d->facts.count; i++) {
        const roast_fact *fact = &s->d->facts.facts[i];
        for (uint32_t at = 0; at < count; at++) {
            if (slow[at].storage != fact->storage)
                continue;
            double left = s->cost(fact) - queue_of(fact),
                   cpu = fact->cpu > 0 ? (double)fact->cpu : 0;
            slow[at].lost += fmax(0, fmin(left * (1 - exp(-slow[at].above)), left - cpu));
            s->excess[i] -= slow[at].above;
        }
    }
}

/* ---- words ---- */

static roast_status tell(const doors *s, const slow_storage *slow, uint32_t count) {
    roast_diagnosis *d = s->d;
    const slow_storage *worst = &slow[0];
    const char *name = roast_say_name(roast_groups_name(&d->facts.storages, worst->storage));
    uint64_t chunks = roast_fact_group_at(&d->facts.storages, worst->storage)->chunks;
    double lost = 0, factor = exp(worst->above);
    bool local = roast_str_equal(roast_groups_name(&d->facts.storages, worst->storage),
                                 roast_str_of("file"));
    for (uint32_t i = 0; i < count; i++)
        lost += slow[i].lost;
    if (!roast_diagnosis_matters(d, lost))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_straggler_storage, lost,
                       is_enough(&worst->by_worker) ? 0.9 : 0.7);
    roast_say(&v.title, "Storage %s is %s times as slow%s as the others", name,
              roast_say_times(factor), s->where);
    if (count > 1)
        roast_say(&v.title, " (and %u more)", (unsigned)(count - 1));
    roast_say(&v.evidence,
              "The median of its %s takes %s times as long%s as chunks of the same datasets and "
              "sizes from other storages, and no more CPU time: they wait.",
              roast_say_many((double)chunks, "chunk"), roast_say_times(factor), s->where);
    if (is_enough(&worst->by_worker))
        roast_say(&v.evidence,
                  " Workers that also read from other storages wait longer for this one.");
    roast_say(&v.advice, "%s: at the speed of the others %s of core time would be saved",
              local ? "Read these files from another place"
                    : "Read these files from another server or site",
              roast_say_time(lost));
    if (d->threads > 0)
        roast_say(&v.advice, ", at most %s of the wall time of %s",
                  roast_say_time(fmin(lost / d->threads, d->wall)), roast_say_time(d->wall));
    roast_say(&v.advice, ".%s",
              local ? ""
                    : " A cache near the workers (XCache) saves that only from the second reading "
                      "of a file on; reads of more bytes at once (preload) wait less often.");
    return roast_diagnosis_add(d, &v);
}

/* ---- all ---- */

static roast_status find(const doors *s) {
    slow_storage slow[MOST_SLOW];
    uint32_t count;
    ROAST_TRY(find_slow(s, slow, &count));
    if (count == 0)
        return ROAST_OK;
    excuse(s, slow, count);
    return tell(s, slow, count);
}

roast_status roast_straggler_storages(roast_diagnosis *d, double (*cost)(const roast_fact *fact),
                                      const char *where, double *excess) {
    size_t count = d->facts.count;
    if (roast_groups_count(&d->facts.storages) < 2)
        return ROAST_OK;
    doors s = {.d = d,
               .cost = cost,
               .where = where,
               .excess = excess,
               .values = roast_alloc((count + 1) * sizeof *s.values),
               .space = roast_alloc((count + 1) * sizeof *s.space),
               .entries = roast_alloc((count + 1) * sizeof *s.entries),
               .weighed = roast_alloc((2 * count + 2) * sizeof *s.weighed)};
    bool ready = s.values != NULL && s.space != NULL && s.entries != NULL && s.weighed != NULL;
    roast_status status = ready ? find(&s) : ROAST_ENOMEM;
    roast_free(s.values);
    roast_free(s.space);
    roast_free(s.entries);
    roast_free(s.weighed);
    return status;
}
