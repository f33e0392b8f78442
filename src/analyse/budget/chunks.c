/* The clocks of the chunks, and which task each was in. */
#include <math.h>
#include <stdio.h>

#include "analyse/budget/internal.h"

/* ---- the clocks of the chunks ---- */

#define SECONDS(chunk, field)                                                                      \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field / 1e9 : (double)NAN)

static double read_seconds(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor cursor;
    roast_read read;
    double seconds = 0;
    if (!chunk->has_reads)
        return NAN;
    roast_chunk_reads(log, chunk, &cursor);
    while (roast_chunk_next_read(&cursor, &read))
        seconds += read.time_ns > 0 ? (double)read.time_ns / 1e9 : 0;
    return seconds;
}

/* On a cluster by its name, on this machine by its process. */
static uint32_t find_worker(roast_budget_work *work, const roast_chunk *chunk) {
    char name[ROAST_MAX_WORKER_NAME + 32];
    if (chunk->worker.data != NULL)
        return roast_budget_worker_of(work, chunk->worker);
    if (chunk->host.data == NULL || chunk->pid == 0 || chunk->host.len > ROAST_MAX_WORKER_NAME)
        return ROAST_NONE;
    int len = snprintf(name, sizeof name, "%.*s:%lld", (int)chunk->host.len, chunk->host.data,
                       (long long)chunk->pid);
    return roast_budget_worker_of(work, (roast_str){name, (size_t)len});
}

/* Looked up once for all chunks of a process. */
static roast_status chunk_worker(roast_budget_work *work, const roast_chunk *chunk,
                                 uint32_t *worker) {
    uint32_t origin = chunk->packed.origin;
    if (origin < work->origins && work->by_origin[origin] != 0) {
        *worker = work->by_origin[origin] - 1;
        return ROAST_OK;
    }
    void *by_origin = work->by_origin;
    ROAST_TRY(roast_array_reserve_zero(&by_origin, &work->origins, sizeof *work->by_origin,
                                       (size_t)origin + 1));
    work->by_origin = by_origin;
    *worker = find_worker(work, chunk);
    work->by_origin[origin] = *worker + 1; /* of one that is not known it is 0 */
    /* An engine may not tell the hosts of its workers; their chunks do. */
    if (*worker == ROAST_NONE || chunk->host.data == NULL ||
        work->workers[*worker].host != ROAST_NONE)
        return ROAST_OK;
    return roast_groups_find(&work->budget->tables[ROAST_BY_host].rows, chunk->host,
                             &work->workers[*worker].host);
}

roast_status roast_budget_add_chunk(roast_budget_work *work, const roast_chunklog *log,
                                    const roast_chunk *chunk) {
    uint32_t number = work->added++;
    if ((chunk->have & ROAST_CHUNK_HAS(start_us)) == 0 ||
        (chunk->have & ROAST_CHUNK_HAS(duration_ns)) == 0)
        return ROAST_OK;
    void *chunks = work->chunks;
    ROAST_TRY(roast_array_reserve(&chunks, &work->chunks_capacity, sizeof *work->chunks,
                                  (size_t)work->chunk_count + 1));
    work->chunks = chunks;
    roast_budget_clocks *clocks = &work->chunks[work->chunk_count];
    *clocks = (roast_budget_clocks){
        .before = SECONDS(chunk, before_process_ns),
        .duration = SECONDS(chunk, duration_ns),
        .read = read_seconds(log, chunk),
        .cpu = SECONDS(chunk, cpu_user_ns) + SECONDS(chunk, cpu_system_ns),
        .io_wait = SECONDS(chunk, io_wait_ns),
        .runqueue = SECONDS(chunk, runqueue_wait_ns),
        .start = chunk->start_us,
        .number = number,
        .thread = chunk->thread,
        .dataset = ROAST_NONE,
        .file = ROAST_NONE,
        .storage = ROAST_NONE,
        .others = (float)(SECONDS(chunk, cpu_process_ns) - SECONDS(chunk, cpu_user_ns) -
                          SECONDS(chunk, cpu_system_ns)),
        .read_cpu = (float)SECONDS(chunk, read_cpu_ns),
        .loaded = (float)SECONDS(chunk, loaded_ns),
        .packed = (float)SECONDS(chunk, packed_ns),
        .worker = ROAST_NONE,
        .failed = chunk->error_type.data != NULL,
    };
    ROAST_TRY(chunk_worker(work, chunk, &clocks->worker));
    roast_budget_table *tables = work->budget->tables;
    if (chunk->dataset.data != NULL)
        ROAST_TRY(roast_groups_find_ref(&tables[ROAST_BY_dataset].rows, chunk->packed.dataset,
                                        chunk->dataset, &clocks->dataset));
    if (chunk->file.data != NULL) {
        ROAST_TRY(roast_groups_find_ref(&tables[ROAST_BY_file].rows, chunk->packed.file,
                                        chunk->file, &clocks->file));
        ROAST_TRY(roast_groups_find_storage(&tables[ROAST_BY_storage].rows, chunk->packed.file,
                                            chunk->file, &clocks->storage));
    }
    if (roast_run_attempts_view(work->run) == NULL) {
        work->chunk_count++;
        return ROAST_OK;
    }
    return roast_match_add(&work->match, chunk, clocks->worker, work->chunk_count++);
}
