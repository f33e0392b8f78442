/* The branches and files that advice names. */
#include <math.h>
#include <stdlib.h>

#include "analyse/advise/internal.h"
#include "base/buffer.h"

typedef struct roast_advised_entry {
    uint32_t dataset; /* number */
    size_t order;
    roast_str of, name; /* borrowed from the run */
} entry;

void roast_advised_names_reset(roast_advised_names *names) {
    roast_groups_reset(&names->datasets);
    roast_free(names->entries);
    *names = (roast_advised_names){0};
}

static roast_status add_name(roast_advised_names *names, roast_str dataset, roast_str name) {
    void *list = names->entries;
    ROAST_TRY(
        roast_array_reserve(&list, &names->capacity, sizeof *names->entries, names->count + 1));
    names->entries = list;
    entry *added = &names->entries[names->count];
    *added = (entry){.order = names->count, .of = dataset, .name = name};
    names->datasets.size = sizeof(uint32_t);
    ROAST_TRY(roast_groups_find(&names->datasets, dataset, &added->dataset));
    names->count++;
    return ROAST_OK;
}

static int by_dataset(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->dataset != y->dataset)
        return x->dataset < y->dataset ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

roast_status roast_advised_names_take(roast_advised_names *names, roast_arena *arena,
                                      roast_advice_item *item) {
    roast_advice_name *copies = roast_arena_alloc(arena, (names->count + 1) * sizeof *copies);
    if (copies == NULL)
        return ROAST_ENOMEM;
    if (names->count > 0)
        qsort(names->entries, names->count, sizeof *names->entries, by_dataset);
    for (size_t i = 0; i < names->count; i++) {
        const entry *from = &names->entries[i];
        bool again = i > 0 && from[-1].dataset == from->dataset;
        copies[i].dataset = again ? copies[i - 1].dataset : (roast_str){NULL, 0};
        if (!again)
            ROAST_TRY(roast_arena_str(arena, from->of, &copies[i].dataset));
        ROAST_TRY(roast_arena_str(arena, from->name, &copies[i].name));
    }
    item->names = copies;
    item->n_names = (uint32_t)names->count;
    return ROAST_OK;
}

/* ---- branches ---- */

typedef struct branch_use {
    uint32_t dataset;
    roast_str of, branch;
    uint64_t chunks;            /* that read it, or had it preloaded */
    bool preloaded, read_again; /* in a chunk */
} branch_use;

typedef struct branch_uses {
    roast_groups datasets; /* an item: chunks whose reads are known, uint64_t */
    roast_groups
        uses; /* an item: branch_use; the name is that of the dataset, a 0, and that of the branch */
    roast_buffer key;
} branch_uses;

static roast_status count_read(branch_uses *all, uint32_t dataset, roast_str of,
                               const roast_read *read) {
    uint32_t id;
    all->key.len = 0;
    ROAST_TRY(roast_buffer_append(&all->key, of.data, of.len));
    ROAST_TRY(roast_buffer_append(&all->key, "", 1));
    ROAST_TRY(roast_buffer_append(&all->key, read->branch.data, read->branch.len));
    ROAST_TRY(
        roast_groups_find(&all->uses, (roast_str){(const char *)all->key.data, all->key.len}, &id));
    branch_use *use = roast_groups_item(&all->uses, id);
    use->dataset = dataset;
    use->of = of;
    use->branch = read->branch;
    use->chunks++;
    use->preloaded |= read->bytes < 0;
    use->read_again |= read->bytes >= 0 && read->count > 1;
    return ROAST_OK;
}

static roast_status count_reads(const roast_chunklog *log, branch_uses *all) {
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        roast_tail_cursor tail;
        roast_read read;
        uint32_t dataset;
        if (chunk.error_type.data != NULL || !chunk.has_reads || chunk.dataset.data == NULL)
            continue;
        ROAST_TRY(roast_groups_find(&all->datasets, chunk.dataset, &dataset));
        ++*(uint64_t *)roast_groups_item(&all->datasets, dataset);
        roast_chunk_reads(log, &chunk, &tail);
        while (roast_chunk_next_read(&tail, &read))
            ROAST_TRY(count_read(all, dataset, chunk.dataset, &read));
    }
    return ROAST_OK;
}

static roast_status choose_branches(const branch_uses *all, roast_finding_kind kind,
                                    roast_advised_names *names) {
    for (uint32_t i = 0; i < roast_groups_count(&all->uses); i++) {
        const branch_use *use = roast_groups_item(&all->uses, i);
        uint64_t chunks = *(uint64_t *)roast_groups_item(&all->datasets, use->dataset);
        bool common = (double)use->chunks >= roast_limit.preload_common * (double)chunks;
        if (use->preloaded || (common && kind == ROAST_FINDING_preload) ||
            (common && kind == ROAST_FINDING_reread_branches && use->read_again))
            ROAST_TRY(add_name(names, use->of, use->branch));
    }
    return ROAST_OK;
}

roast_status roast_advised_branches(const roast_diagnosis *d, roast_finding_kind kind,
                                    roast_advised_names *names) {
    branch_uses all = {.datasets = ROAST_GROUPS(uint64_t), .uses = ROAST_GROUPS(branch_use)};
    roast_status status = count_reads(roast_run_chunks_view(d->run), &all);
    if (status == ROAST_OK)
        status = choose_branches(&all, kind, names);
    roast_groups_reset(&all.datasets);
    roast_groups_reset(&all.uses);
    roast_buffer_reset(&all.key);
    return status;
}

/* ---- files ---- */

typedef struct file_cost {
    uint32_t file, dataset;
    double longest; /* s: of its chunks */
} file_cost;

static int by_longest(const void *a, const void *b) {
    const file_cost *x = a, *y = b;
    if (x->longest != y->longest)
        return x->longest > y->longest ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

/* All files, in the order of the facts. */
static file_cost *cost_files(const roast_facts *facts) {
    uint32_t count = roast_groups_count(&facts->files);
    file_cost *costs = roast_alloc(((size_t)count + 1) * sizeof *costs);
    for (uint32_t i = 0; costs != NULL && i < count; i++)
        costs[i] = (file_cost){i, ROAST_NOBODY, 0};
    for (size_t i = 0; costs != NULL && i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if (fact->file == ROAST_NOBODY)
            continue;
        costs[fact->file].dataset = fact->dataset;
        costs[fact->file].longest = fmax(costs[fact->file].longest, roast_fact_cost(fact));
    }
    return costs;
}

static roast_status add_file(const roast_facts *facts, const file_cost *cost,
                             roast_advised_names *names) {
    if (cost->dataset == ROAST_NOBODY)
        return ROAST_OK;
    return add_name(names, roast_groups_name(&facts->datasets, cost->dataset),
                    roast_groups_name(&facts->files, cost->file));
}

roast_status roast_advised_first_files(const roast_diagnosis *d, roast_finding_kind kind,
                                       roast_advised_names *names) {
    enum { ENOUGH = 100 }; /* of the longest: behind them the order hardly matters */
    const roast_facts *facts = &d->facts;
    uint32_t count = roast_groups_count(&facts->files);
    file_cost *costs = cost_files(facts);
    roast_status status = costs != NULL ? ROAST_OK : ROAST_ENOMEM;
    if (kind == ROAST_FINDING_straggler_file) {
        for (uint32_t i = 0; status == ROAST_OK && i < d->n_slow_files; i++)
            status = add_file(facts, &costs[d->slow_files[i]], names);
    } else if (status == ROAST_OK && count > 0) {
        qsort(costs, count, sizeof *costs, by_longest);
        for (uint32_t i = 0; status == ROAST_OK && i < count && i < ENOUGH &&
                             costs[i].longest >= roast_limit.slow_file * facts->median_cost;
             i++)
            status = add_file(facts, &costs[i], names);
    }
    roast_free(costs);
    return status;
}

roast_status roast_advised_bad_files(const roast_diagnosis *d, roast_finding_kind kind,
                                     roast_advised_names *names) {
    const roast_ending *ending = roast_run_ending_view(d->run);
    const roast_run_error *error = roast_ending_error(ending);
    if (kind == ROAST_FINDING_lost_work)
        return roast_is_error_of_file(error) && error->dataset.data != NULL
                   ? add_name(names, error->dataset, error->file)
                   : ROAST_OK;
    for (uint32_t i = 0; i < roast_ending_skipped_count(ending); i++) {
        roast_skipped_file skipped = roast_ending_skipped(ending, i);
        ROAST_TRY(add_name(names, skipped.dataset, skipped.file));
    }
    return ROAST_OK;
}
