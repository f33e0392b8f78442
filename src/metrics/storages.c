/* The reads by storage: the protocol and host of the files, over all chunks without an error. */
#include <stdlib.h>

#include "metrics/formulas.h"

typedef struct roast_storage_total {
    uint64_t chunks, files;
    roast_known_sum bytes, requests, before_ns;
    roast_known_sum read_ns, read_bytes, read_bytes_ns; /* of columns inside process() */
    roast_known_sum waiting_ns, duration_ns;            /* of chunks that tell all of it */
} roast_storage_total;

void roast_storage_totals_init(roast_storage_totals *totals) {
    *totals = (roast_storage_totals){.storages = ROAST_GROUPS(roast_storage_total),
                                     .files = ROAST_GROUPS(char)};
}

void roast_storage_totals_reset(roast_storage_totals *totals) {
    roast_groups_reset(&totals->storages);
    roast_groups_reset(&totals->files);
}

/* ---- one chunk ---- */

#define ADD(sum, chunk, field)                                                                     \
    if (roast_chunk_has(chunk, ROAST_CHUNK_HAS(field)))                                            \
    roast_known_sum_add(sum, (chunk)->field)

/* As the budget does: of the time in reads, what neither the thread nor threads without a chunk computed. */
static int64_t waiting_ns(const roast_chunk *chunk, int64_t read_ns) {
    double others =
        (double)chunk->cpu_process_ns - (double)chunk->cpu_user_ns - (double)chunk->cpu_system_ns;
    double waiting = (double)read_ns - (double)chunk->read_cpu_ns - fmax(0, others);
    return waiting > 0 ? (int64_t)waiting : 0;
}

static void add_reads(roast_storage_total *to, const roast_chunk *chunk,
                      const roast_chunk_reads_total *reads) {
    const uint64_t wanted = ROAST_CHUNK_HAS(cpu_process_ns) | ROAST_CHUNK_HAS(cpu_user_ns) |
                            ROAST_CHUNK_HAS(cpu_system_ns) | ROAST_CHUNK_HAS(read_cpu_ns) |
                            ROAST_CHUNK_HAS(duration_ns);
    roast_known_sum_add(&to->read_ns, reads->time_ns);
    roast_known_sum_add(&to->read_bytes, reads->bytes);
    roast_known_sum_add(&to->read_bytes_ns, reads->bytes_ns);
    if (roast_chunk_has(chunk, wanted)) {
        roast_known_sum_add(&to->waiting_ns, waiting_ns(chunk, reads->time_ns));
        roast_known_sum_add(&to->duration_ns, chunk->duration_ns);
    }
}

roast_status roast_storage_totals_add(roast_storage_totals *totals, const roast_chunk *chunk,
                                      const roast_chunk_reads_total *reads) {
    uint32_t id, file, known = roast_groups_count(&totals->files);
    if (chunk->error_type.data != NULL || chunk->file.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_groups_find_storage(&totals->storages, chunk->packed.file, chunk->file, &id));
    ROAST_TRY(roast_groups_find_ref(&totals->files, chunk->packed.file, chunk->file, &file));
    roast_storage_total *to = roast_groups_item(&totals->storages, id);
    to->chunks++;
    to->files += file == known;
    ADD(&to->bytes, chunk, bytes_read);
    ADD(&to->requests, chunk, read_requests);
    ADD(&to->before_ns, chunk, before_process_ns);
    if (chunk->has_reads)
        add_reads(to, chunk, reads);
    return ROAST_OK;
}

/* ---- the end ---- */

static int slowest_first(const void *left, const void *right) {
    const roast_storage_row *a = left, *b = right;
    int order = roast_larger_first(a->waiting_seconds, b->waiting_seconds);
    return order != 0 ? order : roast_compare_names(a->name, b->name);
}

static roast_value ratio(const roast_known_sum *part, double per, const roast_known_sum *whole) {
    return roast_value_real_if(part->known > 0 && whole->total > 0,
                               per * (double)part->total / (double)whole->total);
}

roast_status roast_storage_totals_finish(const roast_storage_totals *totals,
                                         roast_metrics *metrics) {
    uint32_t count = roast_groups_count(&totals->storages);
    if (count == 0)
        return ROAST_OK;
    roast_storage_row *rows = roast_metrics_make_rows(metrics, ROAST_ROWS_per_storage, count);
    if (rows == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++) {
        const roast_storage_total *from = roast_groups_item(&totals->storages, id);
        rows[id] = (roast_storage_row){
            .num_chunks = from->chunks,
            .num_files = from->files,
            .bytes_read = roast_known_whole(&from->bytes),
            .read_requests = roast_known_whole(&from->requests),
            .read_seconds = roast_known_seconds(&from->read_ns),
            .read_rate = ratio(&from->read_bytes, 1e9, &from->read_bytes_ns),
            .waiting_seconds = roast_known_seconds(&from->waiting_ns),
            .waiting_percent = ratio(&from->waiting_ns, 100, &from->duration_ns),
            .mean_before_process =
                roast_value_real_if(from->before_ns.known > 0, (double)from->before_ns.total / 1e9 /
                                                                   (double)from->before_ns.known),
        };
        ROAST_TRY(roast_arena_str(&metrics->arena, roast_groups_name(&totals->storages, id),
                                  &rows[id].name));
    }
    qsort(rows, count, sizeof *rows, slowest_first);
    return ROAST_OK;
}
