/* The clocks of the chunks, and which task each was in. */
#include <math.h>
#include <stdio.h>

#include "analyse/budget_internal.h"
#include "model/attempts_internal.h"

/* ---- the clocks of the chunks ---- */

#define SECONDS(chunk, field)                                                                      \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field / 1e9 : (double)NAN)

/* Both sides split a key the same way, so that nobody has to put one together. */
uint64_t roast_budget_key_hash(roast_str stem, roast_str hash, int64_t number) {
    uint64_t result = roast_hash(stem.data, stem.len);
    if (hash.data != NULL)
        return result * 3 + roast_hash(hash.data, hash.len);
    return number >= 0 ? result * 5 + roast_hash(&number, sizeof number) : result;
}

static uint64_t chunk_key(const roast_chunk *chunk) {
    roast_split_key key;
    if (chunk->task_hash.data != NULL)
        return roast_budget_key_hash(chunk->task_key, chunk->task_hash, -1);
    roast_key_split(chunk->task_key, &key);
    if (key.form == ROAST_KEY_HASHED)
        return roast_budget_key_hash(key.stem, (roast_str){(const char *)key.hash, sizeof key.hash},
                                     -1);
    return roast_budget_key_hash(key.stem, (roast_str){NULL, 0},
                                 key.form == ROAST_KEY_NUMBERED ? (int64_t)key.number : -1);
}

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
    return ROAST_OK;
}

roast_status roast_budget_add_chunk(roast_budget_work *work, const roast_chunklog *log,
                                    const roast_chunk *chunk) {
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
        .thread = chunk->thread,
        .key = chunk->task_key.data != NULL ? chunk_key(chunk) : 0,
        .dataset = ROAST_NONE,
        .file = ROAST_NONE,
        .read_cpu = (float)SECONDS(chunk, read_cpu_ns),
        .worker = ROAST_NONE,
        .next = ROAST_NONE,
        .failed = chunk->error_type.data != NULL,
    };
    ROAST_TRY(chunk_worker(work, chunk, &clocks->worker));
    roast_budget_table *tables = work->budget->tables;
    if (chunk->dataset.data != NULL)
        ROAST_TRY(roast_budget_table_id(&tables[ROAST_BY_dataset], chunk->packed.context,
                                        chunk->dataset, &clocks->dataset));
    if (chunk->file.data != NULL)
        ROAST_TRY(roast_budget_table_id(&tables[ROAST_BY_file], chunk->packed.file, chunk->file,
                                        &clocks->file));
    work->chunk_count++;
    return ROAST_OK;
}

/* Chunks and slots are too many for any cache, and are needed in no order: asking for them some tasks
 * ahead takes a fourth of the time. */
enum { SLOT_AHEAD = 32, CHUNK_AHEAD = 16 };

static roast_status index_chunks(roast_budget_work *work) {
    size_t slots = 16;
    while (slots < (size_t)work->chunk_count * 2)
        slots *= 2;
    work->slots = roast_alloc(slots * sizeof *work->slots);
    if (work->slots == NULL)
        return ROAST_ENOMEM;
    work->slot_mask = (uint32_t)(slots - 1);
    for (size_t i = 0; i < slots; i++)
        work->slots[i] = ROAST_NONE;
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        if (i + SLOT_AHEAD < work->chunk_count)
            __builtin_prefetch(&work->slots[work->chunks[i + SLOT_AHEAD].key & work->slot_mask], 1);
        if (work->chunks[i].key == 0)
            continue;
        uint32_t *slot = &work->slots[work->chunks[i].key & work->slot_mask];
        work->chunks[i].next = *slot;
        *slot = i;
    }
    return ROAST_OK;
}

/* The chunk of a try: the same key, on the same worker, and of several tries the nearest in time. */
static uint32_t chunk_of(const roast_budget_work *work, const roast_budget_task *task) {
    int64_t near = task->start != ROAST_NO_TIME ? task->start : task->ended;
    uint32_t found = ROAST_NONE;
    uint64_t best = 0;
    for (uint32_t i = work->slots[task->key & work->slot_mask]; i != ROAST_NONE;
         i = work->chunks[i].next) {
        const roast_budget_clocks *chunk = &work->chunks[i];
        if (chunk->key != task->key || chunk->worker != task->worker)
            continue;
        uint64_t apart = chunk->start > near ? (uint64_t)chunk->start - (uint64_t)near
                                             : (uint64_t)near - (uint64_t)chunk->start;
        if (found == ROAST_NONE || apart < best) {
            found = i;
            best = apart;
        }
    }
    return found;
}

static void ask_ahead(const roast_budget_work *work, uint64_t task) {
    if (task + SLOT_AHEAD < work->task_count)
        __builtin_prefetch(&work->slots[work->tasks[task + SLOT_AHEAD].key & work->slot_mask]);
    if (task + CHUNK_AHEAD < work->task_count) {
        uint32_t chunk = work->slots[work->tasks[task + CHUNK_AHEAD].key & work->slot_mask];
        if (chunk != ROAST_NONE)
            __builtin_prefetch(&work->chunks[chunk]);
    }
}

roast_status roast_budget_match_chunks(roast_budget_work *work) {
    ROAST_TRY(index_chunks(work));
    for (uint64_t i = 0; i < work->task_count; i++) {
        ask_ahead(work, i);
        work->tasks[i].chunk =
            work->tasks[i].key != 0 ? chunk_of(work, &work->tasks[i]) : ROAST_NONE;
    }
    roast_free(work->slots);
    work->slots = NULL;
    return ROAST_OK;
}
