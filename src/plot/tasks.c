#include "roast/tasks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/intern.h"
#include "model/match.h"
#include "roast/lanes.h"

/* When a task began is computed from the clocks of two machines, and may lie before the end of the task before: by
 * 50 ms on a busy machine. A thread runs one task at a time, so that the bar is moved, by so many nanoseconds at most,
 * and never beyond process() of its chunk, or the middle of a try. Where the thread is not known, tasks may have run at
 * a time, and only the bars of chunks are moved. */
#define SLACK_OF_THREAD 100000000
#define SLACK           1000000

/* A chunk with its task, or a try. The owner of its bar is the number of the worker. */
typedef struct item {
    roast_bar bar;
    uint64_t key;     /* of a try: see model/match.h */
    int64_t when;     /* likewise */
    uint32_t partner; /* of a chunk: its try; ROAST_NO_MATCH: not known */
    bool there;
    bool processing; /* a try that processed a chunk to its end */
    bool started;    /* of a chunk: it knows when its task began */
} item;

/* The two names of a thread, the kernel's and Python's, are known as one thread from the tries of chunks. */
typedef struct thread_names {
    roast_intern known; /* worker and Python's name */
    int64_t *ours;      /* the kernel's */
    size_t capacity;
} thread_names;

typedef struct lane {
    uint32_t worker, copy;
    int64_t thread;
} lane;

struct roast_task_lanes {
    roast_intern workers;
    roast_buffer text;
    item *items; /* the tries, then the chunks */
    size_t tries, count;
    roast_match match;
    uint32_t *numbers; /* of the workers of the tries */
    thread_names threads;
    lane *lanes;
    size_t lanes_capacity;
    uint32_t n_lanes;
};

void roast_task_lanes_free(roast_task_lanes *lanes) {
    if (lanes == NULL)
        return;
    roast_intern_reset(&lanes->workers);
    roast_buffer_reset(&lanes->text);
    roast_free(lanes->items);
    roast_match_reset(&lanes->match);
    roast_free(lanes->numbers);
    roast_intern_reset(&lanes->threads.known);
    roast_free(lanes->threads.ours);
    roast_free(lanes->lanes);
    roast_free(lanes);
}

/* ---- in ---- */

static roast_status worker_of_chunk(roast_task_lanes *lanes, const roast_chunk *chunk,
                                    uint32_t *out) {
    roast_str name = chunk->worker;
    char pid[24];
    if (name.data == NULL) {
        lanes->text.len = 0;
        int len = snprintf(pid, sizeof pid, ":%" PRId64, chunk->pid);
        ROAST_TRY(roast_buffer_append(&lanes->text, chunk->host.data, chunk->host.len));
        ROAST_TRY(roast_buffer_append(&lanes->text, pid, (size_t)len));
        name = (roast_str){(const char *)lanes->text.data, lanes->text.len};
        if (chunk->host.data == NULL && chunk->pid == 0)
            name = roast_str_of("unknown");
    }
    return roast_intern_add(&lanes->workers, name, out);
}

/* Microseconds as nanoseconds, kept within the type. */
static int64_t nanoseconds(int64_t us) {
    int64_t ns;
    if (__builtin_mul_overflow(us, 1000, &ns))
        return us < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return ns;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return sum;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Workers have numbers in the order of their first bars. */
static roast_status worker_of_attempt(roast_task_lanes *lanes, const roast_attempts *attempts,
                                      uint32_t worker, uint32_t *out) {
    if (worker == ROAST_NO_WORKER)
        return roast_intern_add(&lanes->workers, roast_str_of("unknown"), out);
    if (lanes->numbers[worker] == ROAST_NO_WORKER)
        ROAST_TRY(roast_intern_add(&lanes->workers, roast_attempts_worker(attempts, worker),
                                   &lanes->numbers[worker]));
    *out = lanes->numbers[worker];
    return ROAST_OK;
}

static roast_status add_attempt(roast_task_lanes *lanes, const roast_attempts *attempts,
                                const roast_attempt *attempt) {
    item *one = &lanes->items[lanes->count++];
    *one = (item){.partner = ROAST_NO_MATCH};
    if (attempt->start_us == ROAST_NO_TIME || attempt->stop_us == ROAST_NO_TIME ||
        attempt->stop_us < attempt->start_us)
        return ROAST_OK;
    one->there = true;
    one->processing =
        attempt->kind == ROAST_KIND_processing && attempt->outcome == ROAST_OUTCOME_done;
    one->bar.start = one->bar.latest = nanoseconds(attempt->start_us);
    one->bar.stop = nanoseconds(attempt->stop_us);
    one->bar.thread = (int64_t)attempt->thread;
    if (one->bar.thread != 0)
        one->bar.latest = smaller(plus(one->bar.start, SLACK_OF_THREAD),
                                  one->bar.start + (one->bar.stop / 2 - one->bar.start / 2));
    one->key = roast_match_key(attempt);
    one->when = attempt->start_us;
    return worker_of_attempt(lanes, attempts, attempt->worker, &one->bar.owner);
}

#define POSITIVE(chunk, field)                                                                     \
    ((chunk)->have & ROAST_CHUNK_HAS(field) && (chunk)->field > 0 ? (chunk)->field : 0)

static roast_status add_chunk(roast_task_lanes *lanes, const roast_chunk *chunk) {
    uint32_t number = (uint32_t)lanes->count++;
    item *one = &lanes->items[number];
    *one = (item){.partner = ROAST_NO_MATCH};
    if ((chunk->have & ROAST_CHUNK_HAS(start_us)) == 0)
        return ROAST_OK;
    one->there = true;
    one->started = (chunk->have & ROAST_CHUNK_HAS(before_process_ns)) != 0;
    int64_t process = nanoseconds(chunk->start_us);
    one->bar.start = plus(process, -POSITIVE(chunk, before_process_ns));
    one->bar.stop = plus(process, POSITIVE(chunk, duration_ns));
    one->bar.thread = chunk->have & ROAST_CHUNK_HAS(thread) ? chunk->thread : 0;
    one->bar.latest =
        smaller(plus(one->bar.start, one->bar.thread != 0 ? SLACK_OF_THREAD : SLACK), process);
    ROAST_TRY(worker_of_chunk(lanes, chunk, &one->bar.owner));
    return lanes->tries > 0 ? roast_match_add(&lanes->match, chunk, one->bar.owner, number)
                            : ROAST_OK;
}

/* Whether so many chunks need no bars of their own: each of them is in a try. */
static bool tries_suffice(const roast_task_lanes *lanes, uint64_t chunks, size_t most) {
    uint64_t there = 0;
    for (size_t i = 0; chunks > most && i < lanes->tries; i++)
        there += lanes->items[i].processing;
    return chunks > most && there >= chunks;
}

static roast_status make_numbers(roast_task_lanes *lanes, uint32_t workers) {
    lanes->numbers = roast_alloc(((size_t)workers + 1) * sizeof *lanes->numbers);
    if (lanes->numbers == NULL)
        return ROAST_ENOMEM;
    for (uint32_t i = 0; i < workers; i++)
        lanes->numbers[i] = ROAST_NO_WORKER;
    return ROAST_OK;
}

static roast_status read_run(roast_task_lanes *lanes, const roast_run *run, size_t most) {
    const roast_chunklog *log = roast_run_chunks_view(run);
    const roast_attempts *attempts = roast_run_attempts_view(run);
    uint64_t tries = attempts != NULL ? roast_attempts_count(attempts) : 0;
    uint64_t all = tries + roast_chunklog_count(log);
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    if (all >= ROAST_NO_MATCH)
        return ROAST_ELIMIT;
    lanes->items = roast_alloc(((size_t)all + 1) * sizeof *lanes->items);
    if (lanes->items == NULL)
        return ROAST_ENOMEM;
    if (attempts != NULL) {
        ROAST_TRY(make_numbers(lanes, roast_attempts_worker_count(attempts)));
        roast_attempt_cursor_init(&cursor, attempts);
    }
    while (lanes->count < tries && roast_attempt_cursor_next(&cursor, &attempt))
        ROAST_TRY(add_attempt(lanes, attempts, &attempt));
    lanes->tries = lanes->count;
    if (tries_suffice(lanes, roast_chunklog_count(log), most))
        return ROAST_OK;
    roast_chunk_cursor_init(&chunks, log);
    while (lanes->count < all && roast_chunk_cursor_next(&chunks, &chunk))
        ROAST_TRY(add_chunk(lanes, &chunk));
    return ROAST_OK;
}

/* ---- lanes ---- */

/* Each try finds its chunk; of several the nearest is the chunk's. */
static void pair_up(roast_task_lanes *lanes) {
    for (size_t i = 0; lanes->match.count > 0 && i < lanes->tries; i++) {
        const item *one = &lanes->items[i];
        uint32_t found = one->there && one->key != 0
                             ? roast_match_find(&lanes->match, one->key, one->bar.owner, one->when)
                             : ROAST_NO_MATCH;
        if (found == ROAST_NO_MATCH && one->there)
            found = roast_match_find_within(&lanes->match, (uint64_t)one->bar.thread,
                                            one->bar.owner, one->when, one->bar.stop / 1000);
        if (found == ROAST_NO_MATCH)
            continue;
        item *chunk = &lanes->items[found];
        if (chunk->partner == ROAST_NO_MATCH ||
            roast_match_distance(one->bar.start, chunk->bar.start) <
                roast_match_distance(lanes->items[chunk->partner].bar.start, chunk->bar.start))
            chunk->partner = (uint32_t)i;
    }
}

typedef struct thread_name {
    int64_t worker, theirs;
} thread_name;

static roast_str name_bytes(const thread_name *name) {
    return (roast_str){(const char *)name, sizeof *name};
}

static roast_status same_thread(thread_names *threads, const item *chunk, const item *attempt) {
    thread_name name = {chunk->bar.owner, attempt->bar.thread};
    void *ours = threads->ours;
    uint32_t before = threads->known.count, id;
    if (chunk->bar.thread == 0 || attempt->bar.thread == 0)
        return ROAST_OK;
    ROAST_TRY(roast_intern_add(&threads->known, name_bytes(&name), &id));
    ROAST_TRY(
        roast_array_reserve(&ours, &threads->capacity, sizeof *threads->ours, (size_t)id + 1));
    threads->ours = ours;
    if (id == before)
        threads->ours[id] = chunk->bar.thread;
    return ROAST_OK;
}

/* A bar that begins with process() begins with its task instead. */
static void start_with(roast_bar *bar, const roast_bar *attempt) {
    int64_t process = bar->start;
    bar->start = smaller(attempt->start, process);
    bar->latest = smaller(attempt->latest, process);
}

/* The bar of a chunk lasts as long as its try, which it replaces. */
static roast_status join_pairs(roast_task_lanes *lanes) {
    for (size_t i = lanes->tries; i < lanes->count; i++) {
        item *chunk = &lanes->items[i];
        if (chunk->partner == ROAST_NO_MATCH)
            continue;
        item *attempt = &lanes->items[chunk->partner];
        attempt->there = false;
        if (!chunk->started)
            start_with(&chunk->bar, &attempt->bar);
        int64_t stop = plus(chunk->bar.start, plus(attempt->bar.stop, -attempt->bar.start));
        chunk->bar.stop = stop > chunk->bar.stop ? stop : chunk->bar.stop;
        ROAST_TRY(same_thread(&lanes->threads, chunk, attempt));
    }
    return ROAST_OK;
}

static void name_thread(roast_task_lanes *lanes, roast_bar *bar) {
    thread_name name = {bar->owner, bar->thread};
    uint32_t id;
    if (lanes->threads.known.count > 0 &&
        roast_intern_find(&lanes->threads.known, name_bytes(&name), &id))
        bar->thread = lanes->threads.ours[id];
}

static roast_status number_lanes(roast_task_lanes *lanes, roast_bar **bars, size_t n) {
    uint32_t first = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 &&
            (bars[i]->owner != bars[i - 1]->owner || bars[i]->thread != bars[i - 1]->thread))
            first = lanes->n_lanes;
        uint32_t copy = bars[i]->lane;
        bars[i]->lane += first;
        if (bars[i]->lane < lanes->n_lanes)
            continue;
        void *made = lanes->lanes;
        ROAST_TRY(roast_array_reserve(&made, &lanes->lanes_capacity, sizeof *lanes->lanes,
                                      (size_t)lanes->n_lanes + 1));
        lanes->lanes = made;
        lanes->lanes[lanes->n_lanes++] = (lane){bars[i]->owner, copy, bars[i]->thread};
    }
    return ROAST_OK;
}

/* One lane for each worker, under the worker's number. */
static roast_status lay_together(roast_task_lanes *lanes) {
    void *made = lanes->lanes;
    ROAST_TRY(roast_array_reserve(&made, &lanes->lanes_capacity, sizeof *lanes->lanes,
                                  (size_t)lanes->workers.count + 1));
    lanes->lanes = made;
    for (; lanes->n_lanes < lanes->workers.count; lanes->n_lanes++)
        lanes->lanes[lanes->n_lanes] = (lane){lanes->n_lanes, 0, 0};
    for (size_t i = 0; i < lanes->count; i++)
        lanes->items[i].bar.lane = lanes->items[i].bar.owner;
    return ROAST_OK;
}

static size_t count_bars(const roast_task_lanes *lanes) {
    size_t bars = 0;
    for (size_t i = 0; i < lanes->count; i++)
        bars += lanes->items[i].there;
    return bars;
}

static roast_status pack(roast_task_lanes *lanes) {
    size_t n = 0;
    roast_bar **bars = roast_alloc((lanes->count + 1) * sizeof *bars);
    if (bars == NULL)
        return ROAST_ENOMEM;
    for (size_t i = 0; i < lanes->count; i++) {
        item *one = &lanes->items[i];
        if (!one->there)
            continue;
        if (i < lanes->tries)
            name_thread(lanes, &one->bar);
        bars[n++] = &one->bar;
    }
    roast_status status = roast_bars_pack(bars, n, NULL);
    if (status == ROAST_OK)
        status = number_lanes(lanes, bars, n);
    roast_free(bars);
    return status;
}

static roast_status build(roast_task_lanes *lanes, const roast_run *run, size_t most) {
    ROAST_TRY(read_run(lanes, run, most));
    roast_match_sort(&lanes->match);
    pair_up(lanes);
    roast_match_reset(&lanes->match);
    ROAST_TRY(join_pairs(lanes));
    return count_bars(lanes) > most ? lay_together(lanes) : pack(lanes);
}

roast_status roast_task_lanes_new(const roast_run *run, size_t most, roast_task_lanes **out,
                                  roast_error *err) {
    roast_task_lanes *lanes = roast_alloc_zero(sizeof *lanes);
    roast_status status = lanes != NULL ? build(lanes, run, most) : ROAST_ENOMEM;
    if (status != ROAST_OK) {
        roast_task_lanes_free(lanes);
        return roast_error_set(err, status, "lanes", -1, "no memory for the lanes of the workers");
    }
    *out = lanes;
    return ROAST_OK;
}

/* ---- out ---- */

uint32_t roast_task_lanes_count(const roast_task_lanes *lanes) {
    return lanes->n_lanes;
}

roast_lane roast_task_lanes_at(const roast_task_lanes *lanes, uint32_t index) {
    const lane *one = &lanes->lanes[index];
    return (roast_lane){roast_intern_get(&lanes->workers, one->worker), one->worker, one->thread,
                        one->copy};
}

uint32_t roast_task_lanes_worker_count(const roast_task_lanes *lanes) {
    return lanes->workers.count;
}

roast_str roast_task_lanes_worker(const roast_task_lanes *lanes, uint32_t number) {
    return roast_intern_get(&lanes->workers, number);
}

static roast_lane_place place_of(const item *one) {
    return (roast_lane_place){one->there, one->bar.lane, one->bar.start, one->bar.stop};
}

roast_lane_place roast_task_lanes_chunk(const roast_task_lanes *lanes, size_t number) {
    number += lanes->tries;
    return number < lanes->count ? place_of(&lanes->items[number])
                                 : (roast_lane_place){.there = false};
}

bool roast_task_lanes_have_chunks(const roast_task_lanes *lanes) {
    return lanes->count > lanes->tries;
}

roast_lane_place roast_task_lanes_attempt(const roast_task_lanes *lanes, size_t number) {
    return place_of(&lanes->items[number]);
}
