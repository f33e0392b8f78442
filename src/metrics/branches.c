/* The cost of reading each branch, over all chunks without an error. */
#include <stdlib.h>

#include "metrics/formulas.h"

static void add(roast_known_sum *to, int64_t value) {
    if (value >= 0)
        roast_known_sum_add(to, value);
}

static void add_read(roast_branch_total *to, const roast_read *read) {
    to->chunks++;
    add(&to->time_ns, read->time_ns);
    add(&to->bytes, read->bytes);
    add(&to->uncompressed_bytes, read->uncompressed_bytes);
    add(&to->count, read->count);
}

static void add_here(roast_chunk_reads_total *here, const roast_read *read) {
    if (read->time_ns < 0)
        return;
    here->time_ns = roast_add_capped(here->time_ns, read->time_ns);
    if (read->bytes < 0)
        return;
    here->bytes = roast_add_capped(here->bytes, read->bytes);
    here->bytes_ns = roast_add_capped(here->bytes_ns, read->time_ns);
}

roast_status roast_branch_totals_add(roast_branch_totals *totals, const roast_chunklog *log,
                                     const roast_chunk *chunk) {
    totals->here = (roast_chunk_reads_total){0};
    if (!chunk->has_reads || chunk->error_type.data != NULL)
        return ROAST_OK;
    roast_tail_cursor cursor;
    roast_read read;
    totals->chunks++;
    roast_chunk_reads(log, chunk, &cursor);
    for (uint32_t i = 0; roast_chunk_next_read(&cursor, &read); i++) {
        uint32_t id;
        ROAST_TRY(roast_groups_find_listed(&totals->branches, chunk->packed.reads, chunk->n_reads,
                                           i, read.branch, &id));
        add_read(roast_groups_item(&totals->branches, id), &read);
        add_read(&totals->all, &read);
        add_here(&totals->here, &read);
    }
    return ROAST_OK;
}

/* ---- the end ---- */

static int compare_branches(const void *left, const void *right) {
    const roast_branch_row *a = left, *b = right;
    int order = roast_larger_first(a->bytes, b->bytes);
    if (order == 0)
        order = roast_larger_first(a->seconds, b->seconds);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static void put_totals(roast_metrics *metrics, const roast_branch_totals *totals) {
    const roast_branch_total *all = &totals->all;
    roast_put(metrics, ROAST_M_chunks_with_reads, roast_value_int((int64_t)totals->chunks));
    roast_put(metrics, ROAST_M_branch_read_seconds, roast_known_seconds(&all->time_ns));
    roast_put(metrics, ROAST_M_branch_read_bytes, roast_known_whole(&all->bytes));
    roast_put(metrics, ROAST_M_branch_read_uncompressed_bytes,
              roast_known_whole(&all->uncompressed_bytes));
    roast_put(metrics, ROAST_M_branch_read_count, roast_known_whole(&all->count));
}

roast_status roast_branch_totals_finish(roast_branch_totals *totals, roast_metrics *metrics) {
    uint32_t count = roast_groups_count(&totals->branches);
    if (totals->chunks == 0)
        return ROAST_OK;
    roast_branch_row *rows =
        roast_metrics_make_rows(metrics, ROAST_ROWS_branch_read_metrics, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++) {
        const roast_branch_total *from = roast_groups_item(&totals->branches, id);
        rows[id] = (roast_branch_row){
            .num_chunks = from->chunks,
            .seconds = roast_known_seconds(&from->time_ns),
            .bytes = roast_known_whole(&from->bytes),
            .uncompressed_bytes = roast_known_whole(&from->uncompressed_bytes),
            .count = roast_known_whole(&from->count),
        };
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(&totals->branches, id),
                                  &rows[id].name));
    }
    qsort(rows, count, sizeof *rows, compare_branches);
    put_totals(metrics, totals);
    return ROAST_OK;
}
