/* What reading each branch cost, over all chunks without an error. */
#include <stdlib.h>

#include "base/buffer.h"
#include "metrics/formulas.h"
#include "metrics/names.h"

/* A sum of what was known; `known` counts how often it was. */
typedef struct sum {
    uint64_t known;
    int64_t total;
} sum;

typedef struct branch_total {
    uint64_t chunks;
    sum time_ns, bytes, uncompressed_bytes, count;
} branch_total;

struct roast_branch_totals {
    roast_names names;
    branch_total *branches; /* by the number of the name */
    size_t capacity, n_branches;
    uint64_t chunks; /* that tell what they read */
    branch_total all;
};

roast_status roast_branch_totals_new(roast_branch_totals **out) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : ROAST_ENOMEM;
}

void roast_branch_totals_free(roast_branch_totals *totals) {
    if (totals == NULL)
        return;
    roast_names_reset(&totals->names);
    roast_free(totals->branches);
    roast_free(totals);
}

/* ---- one chunk ---- */

static roast_status find_branch(roast_branch_totals *totals, roast_str name, branch_total **out) {
    uint32_t id;
    if (totals->n_branches >= totals->capacity) {
        void *memory = totals->branches;
        ROAST_TRY(roast_array_reserve(&memory, &totals->capacity, sizeof *totals->branches,
                                      totals->n_branches + 1));
        totals->branches = memory;
    }
    ROAST_TRY(roast_names_id(&totals->names, name.data != NULL ? name : roast_str_of(""), &id));
    if (id == totals->n_branches)
        totals->branches[totals->n_branches++] = (branch_total){0};
    *out = &totals->branches[id];
    return ROAST_OK;
}

static void add(sum *to, int64_t value) {
    if (value < 0)
        return;
    to->known++;
    to->total = roast_add_i64(to->total, value);
}

static void add_read(branch_total *to, const roast_read *read) {
    to->chunks++;
    add(&to->time_ns, read->time_ns);
    add(&to->bytes, read->bytes);
    add(&to->uncompressed_bytes, read->uncompressed_bytes);
    add(&to->count, read->count);
}

roast_status roast_branch_totals_add(roast_branch_totals *totals, const roast_chunklog *log,
                                     const roast_chunk *chunk) {
    if (!chunk->has_reads || chunk->error_type.data != NULL)
        return ROAST_OK;
    roast_tail_cursor cursor;
    roast_read read;
    totals->chunks++;
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read)) {
        branch_total *branch;
        ROAST_TRY(find_branch(totals, read.branch, &branch));
        add_read(branch, &read);
        add_read(&totals->all, &read);
    }
    return ROAST_OK;
}

/* ---- the end ---- */

static roast_value whole(const sum *of) {
    return of->known > 0 ? roast_value_int(of->total) : roast_value_none();
}

static roast_value in_seconds(const sum *of) {
    return of->known > 0 ? roast_value_real((double)of->total / 1e9) : roast_value_none();
}

static roast_branch_row branch_row(roast_str name, const branch_total *from) {
    return (roast_branch_row){
        .name = name,
        .num_chunks = from->chunks,
        .seconds = in_seconds(&from->time_ns),
        .bytes = whole(&from->bytes),
        .uncompressed_bytes = whole(&from->uncompressed_bytes),
        .count = whole(&from->count),
    };
}

/* What was not measured comes last. */
static int larger_first(roast_value a, roast_value b) {
    double x = a.kind != ROAST_VALUE_NONE ? roast_value_number(a) : -1;
    double y = b.kind != ROAST_VALUE_NONE ? roast_value_number(b) : -1;
    return (x < y) - (x > y);
}

static int compare_branches(const void *left, const void *right) {
    const roast_branch_row *a = left, *b = right;
    int order = larger_first(a->bytes, b->bytes);
    if (order == 0)
        order = larger_first(a->seconds, b->seconds);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static void put_totals(roast_metrics *metrics, const roast_branch_totals *totals) {
    const branch_total *all = &totals->all;
    roast_put(metrics, ROAST_M_chunks_with_reads, roast_value_int((int64_t)totals->chunks));
    roast_put(metrics, ROAST_M_branch_read_seconds, in_seconds(&all->time_ns));
    roast_put(metrics, ROAST_M_branch_read_bytes, whole(&all->bytes));
    roast_put(metrics, ROAST_M_branch_read_uncompressed_bytes, whole(&all->uncompressed_bytes));
    roast_put(metrics, ROAST_M_branch_read_count, whole(&all->count));
}

roast_status roast_branch_totals_finish(roast_branch_totals *totals, roast_metrics *metrics) {
    if (totals->chunks == 0)
        return ROAST_OK;
    void *memory;
    ROAST_TRY(roast_metrics_table(metrics, totals->n_branches, sizeof(roast_branch_row), &memory));
    roast_branch_row *rows = memory;
    for (uint32_t id = 0; id < totals->n_branches; id++) {
        roast_str name;
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_names_get(&totals->names, id), &name));
        rows[id] = branch_row(name, &totals->branches[id]);
    }
    qsort(rows, totals->n_branches, sizeof *rows, compare_branches);
    metrics->branches = rows;
    metrics->n_branches = (uint32_t)totals->n_branches;
    put_totals(metrics, totals);
    return ROAST_OK;
}
