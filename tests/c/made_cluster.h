/* A cluster with known costs: it runs an analysis by itself, task by task, and leaves a run as it would be recorded. It
 * shares no code with the engine's own play. */
#ifndef ROAST_TESTS_MADE_CLUSTER_H
#define ROAST_TESTS_MADE_CLUSTER_H

#include "budget_sample.h"

enum { MADE_FILES = 64, MADE_THREADS = 4096, MADE_TASKS = 20000 };

typedef struct made_cluster {
    int workers, threads;
    double ramp; /* s from the first worker to the last */
    int files;
    double lengths[MADE_FILES]; /* events */
    double slow;                /* factor on the events of file 0; 0: 1 */
    int chunksize;
    double open;       /* s before process() */
    double fixed;      /* s in process(), a chunk */
    double per_event;  /* s */
    double noise;      /* relative, of a chunk */
    int warm;          /* threads whose first chunk is like the others */
    double cold;       /* s, of the first chunk of a thread */
    double drift;      /* relative: how much slower the last chunk is than the first */
    int width;         /* outputs merged by a task; 0: they are merged by the client */
    double merge;      /* s an input */
    double head, tail; /* s of the client before and after */
    double bytes;      /* an event */
    double wait;       /* share of process() that waits for reads */
    int reads;         /* of a chunk */
    double queued;     /* share of process() that waits for a core */
    double
        basket; /* events; each chunk reads the baskets that it has events in. 0: it reads its events */
    double read; /* s for an event that is read, beside per_event */
    double look; /* s of the task that counts the events of a file, in the head; 0: there is none */
    double look_cold; /* s that the first one of a worker takes longer */
    bool unwatched;   /* no tries are recorded */
    uint64_t seed;
} made_cluster;

static inline double made_even(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

typedef struct made_task {
    int file;
    double events, entry, end;
} made_task;

/* Chunks as Coffea makes them. */
static inline int made_chunks(const made_cluster *c, made_task *out) {
    int count = 0;
    for (int file = 0; file < c->files; file++) {
        double n = nearbyint(c->lengths[file] / c->chunksize), size;
        n = n < 1 ? 1 : n;
        size = ceil(c->lengths[file] / n);
        for (double entry = 0; entry < c->lengths[file]; entry += size) {
            assert_true(count < MADE_TASKS);
            out[count++] = (made_task){file, fmin(size, c->lengths[file] - entry), entry, 0};
        }
    }
    return count;
}

/* The events that a chunk reads: of whole baskets, the last one of a file is shorter. */
static inline double made_covered(const made_cluster *c, const made_task *task) {
    double end = task->entry + task->events;
    if (c->basket <= 0)
        return task->events;
    return fmin(ceil(end / c->basket) * c->basket, c->lengths[task->file]) -
           floor(task->entry / c->basket) * c->basket;
}

static inline int made_first_free(const double *free_at, int count) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if (free_at[i] < free_at[best])
            best = i;
    return best;
}

static inline void made_record(roast_run *run, const made_cluster *c, const made_task *task,
                               int number, const char *worker, double start, double process,
                               double before) {
    roast_error err;
    char key[32], file[48];
    snprintf(key, sizeof key, "P-%d", number);
    snprintf(file, sizeof file, "root://store//data/f%d.root", task->file);
    roast_read reads[2] = {{.branch = roast_str_of("Jet_pt")}, {.branch = roast_str_of("Jet_eta")}};
    roast_chunk chunk = {.token = 1,
                         .seq = (uint64_t)number + 1,
                         .task_key = roast_str_of(key),
                         .worker = roast_str_of(worker),
                         .dataset = roast_str_of("ttbar"),
                         .file = roast_str_of(file),
                         .start_us = us(start + before),
                         .num_events = (int64_t)task->events,
                         .entry_start = (int64_t)task->entry,
                         .entry_stop = (int64_t)(task->entry + task->events),
                         .bytes_read = (int64_t)(made_covered(c, task) * c->bytes),
                         .accessed_bytes = (int64_t)(c->lengths[task->file] * c->bytes),
                         .have = ROAST_CHUNK_HAS(start_us) | ROAST_CHUNK_HAS(num_events) |
                                 ROAST_CHUNK_HAS(entry_start) | ROAST_CHUNK_HAS(entry_stop)};
    PUT_NS(&chunk, duration_ns, process);
    PUT_NS(&chunk, before_process_ns, before);
    PUT_NS(&chunk, cpu_user_ns, process * (1 - c->wait));
    PUT_NS(&chunk, cpu_system_ns, 0.0);
    if (c->queued > 0)
        PUT_NS(&chunk, runqueue_wait_ns, process * c->queued);
    if (c->bytes > 0)
        chunk.have |= ROAST_CHUNK_HAS(bytes_read) | ROAST_CHUNK_HAS(metadata_bytes) |
                      ROAST_CHUNK_HAS(accessed_bytes);
    if (c->read > 0) {
        PUT_NS(&chunk, read_cpu_ns, 0.0);
        reads[0].time_ns = (int64_t)(c->read * made_covered(c, task) * 1e9);
        reads[0].count = 1;
        chunk.has_reads = true;
        chunk.reads = reads;
        chunk.n_reads = 1;
    } else if (c->reads > 0) {
        PUT_NS(&chunk, read_cpu_ns, 0.0);
        for (int i = 0; i < 2; i++) {
            reads[i].time_ns = (int64_t)(process * c->wait / 2 * 1e9);
            reads[i].count = c->reads / 2;
        }
        chunk.has_reads = true;
        chunk.reads = reads;
        chunk.n_reads = 2;
    }
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

/* Counts the events of the files. When it ends. */
static inline double made_looks(const made_cluster *c, roast_run *run, roast_attempts *attempts,
                                double from) {
    double free_at[MADE_THREADS], end = from;
    bool warm[MADE_THREADS] = {false};
    for (int i = 0; i < c->workers; i++)
        free_at[i] = from;
    for (int i = 0; i < c->files && c->look > 0; i++) {
        int worker = made_first_free(free_at, c->workers);
        double start = free_at[worker], stop = start + c->look + (warm[worker] ? 0 : c->look_cold);
        char name[16], key[32];
        warm[worker] = true;
        free_at[worker] = stop;
        end = fmax(end, stop);
        snprintf(name, sizeof name, "w%d", worker);
        snprintf(key, sizeof key, "look-%d", i);
        if (attempts != NULL)
            add_try(attempts, "look", key, name, ROAST_OUTCOME_done,
                    (try_times){start, start, start, stop, stop});
    }
    if (run != NULL && end > from)
        add_phase(run, ROAST_PHASE_preprocessing, from, end);
    return end;
}

/* Runs it. The wall time, and the run as it was recorded unless `out` is NULL. */
static inline double made_run(const made_cluster *c, roast_run **out) {
    static made_task tasks[MADE_TASKS], merged[MADE_TASKS];
    static double free_at[MADE_THREADS];
    static bool warm[MADE_THREADS];
    int threads = c->workers * c->threads, count = made_chunks(c, tasks), number = 0;
    uint64_t random = c->seed * 7919 + 1;
    assert_true(threads <= MADE_THREADS);
    roast_run *run = out != NULL ? run_of(1) : NULL;
    roast_attempts *attempts = run != NULL && !c->unwatched ? watch(run) : NULL;
    double head = made_looks(c, run, attempts, c->head), end = head;
    for (int i = 0; i < threads; i++) {
        char name[16];
        double joined = c->workers > 1 ? c->ramp * (i / c->threads) / (c->workers - 1) : 0;
        free_at[i] = head + joined;
        warm[i] = i < c->warm;
        snprintf(name, sizeof name, "w%d", i / c->threads);
        if (run != NULL && i % c->threads == 0)
            join(run, name, joined > 0 ? head + joined : 0, c->threads);
    }
    for (int i = 0; i < count; i++, number++) {
        int thread = made_first_free(free_at, threads);
        char name[16], key[32];
        double factor =
            (1 + c->noise * 2 * (made_even(&random) - 0.5)) * (1 + c->drift * i / count);
        double slow = tasks[i].file == 0 && c->slow > 0 ? c->slow : 1;
        double before = c->open * factor + (warm[thread] ? 0 : c->cold);
        double process = (c->fixed + c->per_event * slow * tasks[i].events) * factor +
                         c->read * made_covered(c, &tasks[i]);
        double start = free_at[thread], stop = start + before + process;
        warm[thread] = true;
        free_at[thread] = tasks[i].end = stop;
        end = fmax(end, stop);
        snprintf(name, sizeof name, "w%d", thread / c->threads);
        snprintf(key, sizeof key, "P-%d", number);
        if (attempts != NULL)
            add_try(attempts, "P", key, name, ROAST_OUTCOME_done,
                    (try_times){head, start, start, stop, stop});
        if (run != NULL)
            made_record(run, c, &tasks[i], number, name, start, process, before);
    }
    /* Merges when all inputs are there; here after all chunks, which ends at the same time but for one merge. */
    while (c->width > 1 && count > 1) {
        int next = 0;
        for (int i = 0; i < count; i += c->width) {
            int thread = made_first_free(free_at, threads), inputs = 0;
            double ready = 0;
            char name[16], key[32];
            for (; inputs < c->width && i + inputs < count; inputs++)
                ready = fmax(ready, tasks[i + inputs].end);
            double start = fmax(ready, free_at[thread]), stop = start + c->merge * inputs;
            free_at[thread] = stop;
            merged[next++] = (made_task){.end = stop};
            end = fmax(end, stop);
            snprintf(name, sizeof name, "w%d", thread / c->threads);
            snprintf(key, sizeof key, "reduce-%d", number++);
            if (attempts != NULL)
                add_try(attempts, "reduce", key, name, ROAST_OUTCOME_done,
                        (try_times){ready, start, start, stop, stop});
        }
        memcpy(tasks, merged, (size_t)next * sizeof *tasks);
        count = next;
    }
    if (run != NULL) {
        roast_run_set_clock(run, (double)T0, (double)T0 + end + c->tail);
        *out = run;
    }
    return end + c->tail;
}

#endif
