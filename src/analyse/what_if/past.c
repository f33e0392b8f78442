/* What a recorded run tells of its tasks and workers. */
#include <math.h>
#include <stdlib.h>

#include "analyse/budget/internal.h"
#include "analyse/what_if/internal.h"
#include "base/buffer.h"

static const char where[] = "what if";

enum { MOST_COLD = 16 /* threads of a worker: beyond some, which chunk was cold hardly matters */ };

/* What the clocks of the budget do not have of a chunk, by its number. */
typedef struct told {
    double events; /* NaN: not known */
    int64_t entry;
    float bytes, described, accessed, reads;
} told;

typedef struct loading {
    roast_past *past;
    roast_budget_work work;
    told *told;
    size_t told_capacity;
    int64_t from, to; /* of the tasks of processing and merging, us since 1970 */
} loading;

#define NUMBER(chunk, field)                                                                       \
    ((chunk)->have & ROAST_CHUNK_HAS(field) ? (double)(chunk)->field : (double)NAN)

/* ---- chunks ---- */

static float count_reads(const roast_chunklog *log, const roast_chunk *chunk) {
    roast_tail_cursor cursor;
    roast_read read;
    double count = 0;
    roast_chunk_reads(log, chunk, &cursor);
    while (chunk->has_reads && roast_chunk_next_read(&cursor, &read))
        count += read.count > 0 && read.bytes >= 0 ? (double)read.count : 0;
    return (float)count;
}

static roast_status walk_chunks(loading *l, const roast_run *run, bool reads) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    roast_chunk_cursor cursor;
    roast_chunk chunk;
    void *list = NULL;
    ROAST_TRY(roast_array_reserve(&list, &l->told_capacity, sizeof *l->told,
                                  (size_t)roast_chunklog_count(log) + 1));
    l->told = list;
    roast_chunk_cursor_init(&cursor, log);
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        l->told[l->work.added] = (told){
            .events = NUMBER(&chunk, num_events),
            .entry = chunk.have & ROAST_CHUNK_HAS(entry_start) ? chunk.entry_start : 0,
            .bytes = (float)NUMBER(&chunk, bytes_read),
            .described = (float)NUMBER(&chunk, metadata_bytes),
            .accessed = (float)NUMBER(&chunk, accessed_bytes),
            .reads = reads ? count_reads(log, &chunk) : 0,
        };
        ROAST_TRY(roast_budget_add_chunk(&l->work, log, &chunk));
    }
    return ROAST_OK;
}

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* The parts of a task. A task may be shorter than the clocks of its chunk by some jitter. */
static roast_past_chunk past_chunk(const loading *l, const roast_budget_task *task) {
    roast_past_chunk out = {.start = (double)(task->start - l->from) / 1e6,
                            .cost = (double)(task->stop - task->start) / 1e6,
                            .events = NAN,
                            .bytes = NAN,
                            .described = NAN,
                            .covered = NAN,
                            .dataset = UINT32_MAX,
                            .file = UINT32_MAX};
    if (task->chunk == ROAST_NONE)
        return out;
    const roast_budget_clocks *chunk = &l->work.chunks[task->chunk];
    const told *more = &l->told[chunk->number];
    double cold, before = roast_budget_ahead(task, chunk, &cold);
    out.cost = fmax(out.cost, before + chunk->duration);
    double read = fmin(known(chunk->read), chunk->duration);
    double off = isnan(chunk->cpu) ? 0 : fmax(0, chunk->duration - chunk->cpu);
    double queue = fmin(known(chunk->runqueue), off);
    out.before = (float)before;
    out.after = (float)(out.cost - before - chunk->duration);
    out.read = (float)read;
    out.cpu =
        (float)(isnan(chunk->cpu) ? 0 : roast_budget_compute_cpu(chunk, chunk->duration, read));
    out.wait = (float)roast_waiting_reads(read, (double)chunk->read_cpu, off, queue);
    out.reads = more->reads;
    out.events = more->events > 0 ? more->events : (double)NAN;
    out.entry = more->entry;
    out.bytes = more->bytes;
    out.described = more->described;
    out.covered = more->accessed > 0 ? fminf(1, (out.bytes - out.described) / more->accessed) : NAN;
    out.dataset = chunk->dataset;
    out.file = chunk->file;
    return out;
}

/* ---- tasks ---- */

/* From the first task sent to the last one ended, of processing and of merging. */
static void find_span(loading *l) {
    l->from = INT64_MAX;
    l->to = INT64_MIN;
    for (uint64_t i = 0; i < l->work.task_count; i++) {
        const roast_budget_task *task = &l->work.tasks[i];
        if (task->start == ROAST_NO_TIME ||
            (task->use != ROAST_USE_PROCESSING && task->use != ROAST_USE_REDUCTION))
            continue;
        int64_t from = task->sent != ROAST_NO_TIME ? task->sent : task->start;
        l->from = from < l->from ? from : l->from;
        l->to = task->stop > l->to ? task->stop : l->to;
    }
    l->from = l->from < l->work.from ? l->work.from : l->from;
    l->to = l->to > l->work.to ? l->work.to : l->to;
}

static roast_status add_seconds(roast_seconds *to, double seconds) {
    void *list = to->list;
    ROAST_TRY(roast_array_reserve(&list, &to->capacity, sizeof *to->list, to->count + 1));
    to->list = list;
    to->list[to->count++] = seconds;
    return ROAST_OK;
}

/* A small key: sorting a million chunks themselves would move each of them twenty times. */
typedef struct start_key {
    double start;
    uint32_t number;
} start_key;

static int by_start(const void *left, const void *right) {
    const start_key *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static roast_status sort_chunks(roast_past *past) {
    start_key *keys = roast_alloc((past->n_chunks + 1) * sizeof *keys);
    roast_past_chunk *sorted = roast_alloc((past->n_chunks + 1) * sizeof *sorted);
    if (keys == NULL || sorted == NULL) {
        roast_free(keys);
        roast_free(sorted);
        return ROAST_ENOMEM;
    }
    for (size_t i = 0; i < past->n_chunks; i++)
        keys[i] = (start_key){past->chunks[i].start, (uint32_t)i};
    qsort(keys, past->n_chunks, sizeof *keys, by_start);
    for (size_t i = 0; i < past->n_chunks; i++)
        sorted[i] = past->chunks[keys[i].number];
    roast_free(keys);
    roast_free(past->chunks);
    past->chunks = sorted;
    past->chunks_capacity = past->n_chunks + 1;
    return ROAST_OK;
}

static roast_status take_task(loading *l, const roast_budget_task *task) {
    roast_past *past = l->past;
    double seconds = (double)(task->stop - task->start) / 1e6;
    void *list = past->chunks;
    switch ((roast_task_use)task->use) {
    case ROAST_USE_PROCESSING:
        ROAST_TRY(roast_array_reserve(&list, &past->chunks_capacity, sizeof *past->chunks,
                                      past->n_chunks + 1));
        past->chunks = list;
        past->unrecorded += task->chunk == ROAST_NONE;
        past->chunks[past->n_chunks++] = past_chunk(l, task);
        break;
    case ROAST_USE_REDUCTION:
        past->merges++;
        past->merge_seconds += seconds;
        break;
    case ROAST_USE_LOST:
        return add_seconds(&past->lost, seconds);
    case ROAST_USE_OTHER:
        past->other_seconds += seconds;
        break;
    case ROAST_USE_PREPROCESSING: /* take_lengths() */
        break;
    }
    return ROAST_OK;
}

/* ---- tasks of preprocessing ---- */

static bool is_length(const roast_budget_task *task) {
    return task->use == ROAST_USE_PREPROCESSING && task->start != ROAST_NO_TIME;
}

/* The first one of a worker imports and opens what the others find there: what it takes longer is taken from it, and
 * given to the workers. */
static roast_status take_lengths_of(loading *l, const uint64_t *first_of) {
    roast_past *past = l->past;
    roast_stats cold = {0}, rest = {0};
    for (uint64_t i = 0; i < l->work.task_count; i++) {
        const roast_budget_task *task = &l->work.tasks[i];
        double seconds = (double)(task->stop - task->start) / 1e6;
        if (!is_length(task))
            continue;
        ROAST_TRY(add_seconds(&past->lengths, seconds));
        roast_stats_add(first_of[task->worker] == i ? &cold : &rest, seconds);
    }
    if (rest.count < 2 || cold.mean <= rest.mean)
        return ROAST_OK;
    past->cold_length = cold.mean - rest.mean;
    for (uint64_t i = 0, at = 0; i < l->work.task_count; i++)
        if (is_length(&l->work.tasks[i])) {
            if (first_of[l->work.tasks[i].worker] == i)
                past->lengths.list[at] = rest.mean;
            at++;
        }
    return ROAST_OK;
}

static roast_status take_lengths(loading *l) {
    uint32_t workers = roast_groups_count(&l->work.budget->tables[ROAST_BY_worker].rows);
    uint64_t *first_of = roast_alloc(((size_t)workers + 1) * sizeof *first_of);
    if (first_of == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < workers; i++)
        first_of[i] = UINT64_MAX;
    for (uint64_t i = 0; i < l->work.task_count; i++) {
        const roast_budget_task *task = &l->work.tasks[i];
        if (is_length(task) && (first_of[task->worker] == UINT64_MAX ||
                                task->start < l->work.tasks[first_of[task->worker]].start))
            first_of[task->worker] = i;
    }
    roast_status status = take_lengths_of(l, first_of);
    roast_free(first_of);
    return status;
}

/* Marks the first chunks of a worker's threads. The tasks of a worker are in no order. */
static void mark_first(loading *l, uint32_t worker, uint32_t threads, uint32_t *chunk_of_task) {
    const roast_budget_worker *one = &l->work.workers[worker];
    for (uint32_t found = 0; found < threads; found++) {
        uint32_t best = ROAST_NONE;
        for (uint64_t i = 0; i < one->tasks; i++) {
            uint32_t at = chunk_of_task[l->work.order[one->first_task + i]];
            if (at != ROAST_NONE && !l->past->chunks[at].first &&
                (best == ROAST_NONE || l->past->chunks[at].start < l->past->chunks[best].start))
                best = at;
        }
        if (best == ROAST_NONE)
            return;
        l->past->chunks[best].first = true;
    }
}

static void mark_cold(loading *l, uint32_t *chunk_of_task) {
    uint32_t workers = roast_groups_count(&l->work.budget->tables[ROAST_BY_worker].rows);
    for (uint32_t i = 0; i < workers; i++) {
        const roast_budget_worker *worker = &l->work.workers[i];
        int32_t threads = 0;
        for (uint32_t life = 0; life < worker->lives; life++)
            if (l->work.lives[worker->first_life + life].threads > threads)
                threads = l->work.lives[worker->first_life + life].threads;
        mark_first(l, i, threads < MOST_COLD ? (uint32_t)threads : MOST_COLD, chunk_of_task);
    }
}

static roast_status take_tasks(loading *l) {
    uint32_t *chunk_of_task = roast_alloc(((size_t)l->work.task_count + 1) * sizeof *chunk_of_task);
    roast_status status = chunk_of_task != NULL ? ROAST_OK : ROAST_ENOMEM;
    for (uint64_t i = 0; i < l->work.task_count && status == ROAST_OK; i++) {
        const roast_budget_task *task = &l->work.tasks[i];
        chunk_of_task[i] = ROAST_NONE;
        if (task->start == ROAST_NO_TIME)
            continue;
        if (task->use == ROAST_USE_PROCESSING)
            chunk_of_task[i] = (uint32_t)l->past->n_chunks;
        status = take_task(l, task);
    }
    if (status == ROAST_OK)
        mark_cold(l, chunk_of_task);
    roast_free(chunk_of_task);
    return status == ROAST_OK ? sort_chunks(l->past) : status;
}

/* ---- workers ---- */

static int by_begin(const void *left, const void *right) {
    const roast_past_worker *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The life of a worker in which a moment lies, or ROAST_NONE. */
static uint32_t life_at(const roast_budget_work *work, uint32_t worker, int64_t when) {
    const roast_budget_worker *one = &work->workers[worker];
    uint32_t low = one->first_life, high = low + one->lives; /* from low on they begin later */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (work->lives[middle].from <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low > one->first_life && when <= work->lives[low - 1].to ? low - 1 : ROAST_NONE;
}

/* When the first task of processing began in each life, or NO_TIME. */
static void find_first_tasks(const roast_budget_work *work, int64_t *first) {
    for (size_t i = 0; i < work->life_count; i++)
        first[i] = ROAST_NO_TIME;
    for (uint64_t i = 0; i < work->task_count; i++) {
        const roast_budget_task *task = &work->tasks[i];
        if (task->use != ROAST_USE_PROCESSING || task->start == ROAST_NO_TIME)
            continue;
        uint32_t life = life_at(work, task->worker, task->start);
        if (life != ROAST_NONE && (first[life] == ROAST_NO_TIME || task->start < first[life]))
            first[life] = task->start;
    }
}

static roast_status add_worker(loading *l, const roast_budget_life *life, int64_t first) {
    roast_past *past = l->past;
    roast_past_worker worker = {.joined = (double)(life->from - l->from) / 1e6,
                                .until = INFINITY,
                                .threads = (uint32_t)life->threads};
    /* Who left without a chunk was there for something else, such as preprocessing. */
    if (life->to <= l->from || life->from >= l->to || (first == ROAST_NO_TIME && life->to < l->to))
        return ROAST_OK;
    worker.begin = first != ROAST_NO_TIME ? (double)(first - l->from) / 1e6 : worker.joined;
    worker.begin = fmax(0, worker.begin);
    if (life->to < l->to)
        worker.until = (double)(life->to - l->from) / 1e6;
    void *list = past->workers;
    ROAST_TRY(roast_array_reserve(&list, &past->workers_capacity, sizeof *past->workers,
                                  past->n_workers + 1));
    past->workers = list;
    past->workers[past->n_workers++] = worker;
    return ROAST_OK;
}

static roast_status take_workers(loading *l) {
    int64_t *first = roast_alloc((l->work.life_count + 1) * sizeof *first);
    roast_status status = first != NULL ? ROAST_OK : ROAST_ENOMEM;
    if (status == ROAST_OK)
        find_first_tasks(&l->work, first);
    for (size_t i = 0; i < l->work.life_count && status == ROAST_OK; i++)
        status = add_worker(l, &l->work.lives[i], first[i]);
    roast_free(first);
    return status;
}

typedef struct coming {
    double when;
    int change;
} coming;

static int by_when(const void *left, const void *right) {
    const coming *a = left, *b = right;
    if (a->when != b->when)
        return a->when < b->when ? -1 : 1;
    return a->change - b->change; /* who leaves makes room first */
}

static roast_status find_peak(roast_past *past) {
    coming *list = roast_alloc((2 * past->n_workers + 1) * sizeof *list);
    int32_t now = 0, most = 0;
    if (list == NULL)
        return ROAST_ENOMEM;
    for (size_t i = 0; i < past->n_workers; i++) {
        list[2 * i] = (coming){past->workers[i].joined, 1};
        list[2 * i + 1] = (coming){past->workers[i].until, -1};
    }
    qsort(list, 2 * past->n_workers, sizeof *list, by_when);
    for (size_t i = 0; i < 2 * past->n_workers; i++) {
        now += list[i].change;
        most = now > most ? now : most;
    }
    roast_free(list);
    qsort(past->workers, past->n_workers, sizeof *past->workers, by_begin);
    past->peak = (uint32_t)most;
    past->replaced = past->n_workers - past->peak;
    return ROAST_OK;
}

/* ---- merging ---- */

uint64_t roast_merge_tree(uint64_t chunks, uint32_t width, uint32_t *levels) {
    uint64_t merges = 0;
    *levels = 0;
    while (chunks > 1 && width > 1) {
        chunks = (chunks + width - 1) / width;
        merges += chunks;
        ++*levels;
    }
    return merges;
}

double roast_past_merge_cost(const roast_past *past) {
    uint32_t levels;
    double inputs = (double)past->n_chunks +
                    (double)roast_merge_tree(past->n_chunks, past->merge_width, &levels) - 1;
    return past->merge_width > 1 && inputs > 0 ? past->merge_seconds / inputs : 0;
}

/* The width whose tree has the recorded number of merges; Coffea's own, where the number is not known. */
static void find_merge_width(roast_past *past) {
    enum { COFFEAS = 20, MOST = 4096 };
    uint32_t levels;
    uint64_t nearest = UINT64_MAX;
    past->width_assumed = past->merges == 0;
    past->merge_width = past->merge_seconds > 0 ? COFFEAS : 0;
    if (past->merges == 0 || past->n_chunks < 2 ||
        roast_merge_tree(past->n_chunks, COFFEAS, &levels) == past->merges)
        return;
    for (uint32_t width = 2; width <= MOST; width++) {
        uint64_t merges = roast_merge_tree(past->n_chunks, width, &levels);
        uint64_t apart = merges > past->merges ? merges - past->merges : past->merges - merges;
        if (apart < nearest) {
            nearest = apart;
            past->merge_width = width;
        }
    }
}

/* ---- all ---- */

static void measure(loading *l) {
    roast_past *past = l->past;
    const roast_budget_row *total = roast_budget_total(l->work.budget);
    double apart = roast_stretches_within(&l->work.client, l->from, l->to) +
                   roast_stretches_within(&l->work.waiting, l->from, l->to);
    double client = known(total->parts[ROAST_PART_client]);
    double preprocessing = known(total->parts[ROAST_PART_preprocessing]);
    past->wall = (double)(l->work.to - l->work.from) / 1e6;
    past->middle = fmax(0, (double)(l->to - l->from) / 1e6 - apart);
    past->outside = fmax(0, past->wall - past->middle);
    past->share_client = client + preprocessing > 0 ? client / (client + preprocessing) : 1;
    if (past->merges == 0)
        past->merge_seconds = known(total->parts[ROAST_PART_reduction]);
    double timed = 0, queued = 0;
    for (uint32_t i = 0; i < l->work.chunk_count; i++) {
        const roast_budget_clocks *chunk = &l->work.chunks[i];
        if (isnan(chunk->runqueue) || chunk->failed)
            continue;
        timed += chunk->duration;
        queued += fmin(chunk->runqueue, chunk->duration);
    }
    past->queued = timed > 0 ? queued / timed : 0;
    past->bytes = 0;
    for (size_t i = 0; i < past->n_chunks; i++)
        past->bytes += (double)past->chunks[i].bytes; /* NaN: one does not tell */
    past->rate = past->middle > 0 ? past->bytes / past->middle : (double)NAN;
    find_merge_width(past);
}

static roast_status load(loading *l, const roast_run *run, bool reads) {
    ROAST_TRY(walk_chunks(l, run, reads));
    ROAST_TRY(roast_budget_share(&l->work));
    find_span(l);
    if (l->from >= l->to)
        return ROAST_ENOTFOUND;
    ROAST_TRY(take_tasks(l));
    ROAST_TRY(take_lengths(l));
    if (l->past->n_chunks == 0)
        return ROAST_ENOTFOUND;
    ROAST_TRY(take_workers(l));
    if (l->past->n_workers == 0)
        return ROAST_ENOTFOUND;
    ROAST_TRY(find_peak(l->past));
    const roast_attempts *attempts = roast_run_attempts_view(run);
    l->past->task_seconds = NAN;
    if (attempts != NULL)
        ROAST_TRY(roast_past_find_dispatch(l->past, attempts));
    ROAST_TRY(roast_past_find_overhead(l->past, &l->work));
    measure(l);
    l->past->n_datasets = roast_groups_count(&l->work.budget->tables[ROAST_BY_dataset].rows);
    l->past->datasets =
        roast_alloc_zero(((size_t)l->past->n_datasets + 1) * sizeof *l->past->datasets);
    return l->past->datasets != NULL ? ROAST_OK : ROAST_ENOMEM;
}

roast_status roast_past_load(const roast_run *run, bool reads, roast_past *past, roast_error *err) {
    loading l = {.past = past};
    *past = (roast_past){0};
    if (roast_chunklog_count(roast_run_chunks_view(run)) == 0)
        return roast_error_set(err, ROAST_ENOTFOUND, where, -1,
                               "the run has no records of chunks: there is nothing to play again");
    ROAST_TRY(roast_budget_begin(run, &l.work, err));
    roast_status status = load(&l, run, reads);
    bool nothing = status == ROAST_ENOTFOUND;
    roast_free(l.told);
    status = roast_budget_end(&l.work, status, &past->budget, err);
    if (status == ROAST_OK)
        return ROAST_OK;
    past->budget = NULL;
    roast_past_reset(past);
    return nothing ? roast_error_set(err, ROAST_ENOTFOUND, where, -1,
                                     "no chunk tells its time and its worker: there is nothing to "
                                     "play again")
                   : status;
}

void roast_past_reset(roast_past *past) {
    roast_free(past->chunks);
    roast_free(past->workers);
    roast_free(past->datasets);
    roast_free(past->lost.list);
    roast_free(past->lengths.list);
    roast_budget_free(past->budget);
    *past = (roast_past){0};
}
