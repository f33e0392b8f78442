/* Files: how they came to a worker, which task made them, and which were made twice.
 *
 * The log has no line for a file that comes from another worker. A worker reports each file that is in its cache,
 * whatever its origin: sent by the manager (there was a line before), made by a task (reported before the line with the
 * task's start, which is the same moment), or from another worker. So every other file counts as a transfer between
 * workers until a task turns out to have made it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engines/taskvine_internal.h"

enum { RECENT = 1 << 16 };

/* ---- the newest values ---- */

void roast_recent_reset(roast_recent *recent) {
    for (int i = 0; i < 2; i++) {
        roast_intern_reset(&recent->keys[i]);
        roast_free(recent->values[i]);
    }
    *recent = (roast_recent){.size = recent->size};
}

size_t roast_recent_memory(const roast_recent *recent) {
    size_t sum = 0;
    for (int i = 0; i < 2; i++)
        sum += roast_intern_memory(&recent->keys[i]) + recent->capacity[i] * recent->size;
    return sum;
}

/* The older ones are forgotten; their memory is used again. */
static void age(roast_recent *recent) {
    roast_intern keys = recent->keys[1];
    void *values = recent->values[1];
    size_t capacity = recent->capacity[1];
    recent->keys[1] = recent->keys[0];
    recent->values[1] = recent->values[0];
    recent->capacity[1] = recent->capacity[0];
    roast_intern_truncate(&keys, 0);
    recent->keys[0] = keys;
    recent->values[0] = values;
    recent->capacity[0] = capacity;
}

void *roast_recent_find(const roast_recent *recent, uint64_t key) {
    const roast_str text = {(const char *)&key, sizeof key};
    uint32_t id;
    for (int i = 0; i < 2; i++)
        if (recent->keys[i].count > 0 && roast_intern_find(&recent->keys[i], text, &id))
            return (char *)recent->values[i] + id * recent->size;
    return NULL;
}

void *roast_recent_add(roast_recent *recent, uint64_t key) {
    uint32_t id;
    void *found = roast_recent_find(recent, key);
    if (found != NULL)
        return found;
    if (recent->keys[0].count >= RECENT)
        age(recent);
    if (roast_array_reserve(&recent->values[0], &recent->capacity[0], recent->size,
                            (size_t)recent->keys[0].count + 1) != ROAST_OK ||
        roast_intern_add_key(&recent->keys[0], key, &id) != ROAST_OK)
        return NULL;
    void *value = (char *)recent->values[0] + id * recent->size;
    memset(value, 0, recent->size);
    return value;
}

/* ---- transfers ---- */

static uint64_t key_of(uint32_t worker, uint64_t what) {
    const uint64_t parts[] = {worker, what};
    return roast_hash(parts, sizeof parts);
}

static void add_transfer(roast_taskvine *log, roast_taskvine_way way, int64_t bytes, int64_t us) {
    roast_taskvine_transfers *sum = &log->facts.transfers[way];
    if (roast_vine_is_before(log))
        return;
    sum->count++;
    sum->bytes = roast_add_capped(sum->bytes, bytes);
    if (us > 0)
        sum->us = roast_add_capped(sum->us, us);
}

/* A file, its size and how long it took; they stand alike in both lines. */
static bool read_file(roast_fields *fields, uint64_t *file, int64_t *bytes, int64_t *us,
                      bool *temporary) {
    roast_str name = roast_fields_next(fields);
    bool good =
        name.data != NULL && roast_field_number(roast_fields_next(fields), INT64_MAX, bytes);
    *us = roast_field_duration(roast_fields_next(fields));
    if (!good)
        return false;
    *file = roast_hash(name.data, name.len) | 1; /* never 0 */
    *temporary = name.len > 5 && memcmp(name.data, "temp-", 5) == 0;
    return true;
}

roast_status roast_vine_transfer_line(roast_taskvine *log, uint32_t worker, roast_fields *fields) {
    roast_str direction = roast_fields_next(fields);
    bool input = roast_field_is(direction, "INPUT"), temporary;
    uint64_t file;
    int64_t bytes, us;
    if ((!input && !roast_field_is(direction, "OUTPUT")) ||
        !read_file(fields, &file, &bytes, &us, &temporary))
        return ROAST_ECORRUPT;
    if (input && roast_recent_add(&log->sent, key_of(worker, file)) == NULL)
        return ROAST_ENOMEM;
    add_transfer(log, input ? ROAST_WAY_manager : ROAST_WAY_output, bytes, us);
    return ROAST_OK;
}

/* A temporary file; `*known`: it was there before. */
static roast_status temporary_file(roast_taskvine *log, uint64_t file, uint32_t *id, bool *known) {
    uint32_t before = log->files.count;
    void *tasks = log->file_tasks;
    ROAST_TRY(roast_array_reserve(&tasks, &log->files_capacity, sizeof *log->file_tasks,
                                  (size_t)before + 1));
    log->file_tasks = tasks;
    ROAST_TRY(roast_intern_add_key(&log->files, file, id));
    *known = *id < before;
    if (!*known)
        log->file_tasks[*id] = ROAST_NO_TASK;
    return ROAST_OK;
}

roast_status roast_vine_cache_line(roast_taskvine *log, uint32_t worker, roast_fields *fields) {
    uint64_t file;
    int64_t bytes, us, start_us;
    bool temporary, known = true;
    uint32_t id;
    if (!read_file(fields, &file, &bytes, &us, &temporary) ||
        !roast_field_moment(roast_fields_next(fields), &start_us))
        return ROAST_ECORRUPT;
    if (us >= 0)
        roast_vine_clock_seen(&log->workers[worker], start_us + us, ROAST_NO_TIME, log->now_us);
    if (roast_recent_find(&log->sent, key_of(worker, file)) != NULL)
        return ROAST_OK;
    if (temporary) /* the first copy of a result cannot have come from anywhere */
        ROAST_TRY(temporary_file(log, file, &id, &known));
    roast_vine_cached *cached = roast_recent_add(&log->cached, key_of(worker, (uint64_t)start_us));
    if (cached == NULL)
        return ROAST_ENOMEM;
    cached->bytes = roast_add_capped(cached->bytes, bytes);
    cached->file = temporary ? file : cached->file;
    if (!known || roast_vine_is_before(log))
        return ROAST_OK;
    cached->peer++;
    cached->peer_bytes = roast_add_capped(cached->peer_bytes, bytes);
    cached->peer_us = roast_add_capped(cached->peer_us, us > 0 ? us : 0);
    add_transfer(log, ROAST_WAY_peer, bytes, us);
    return ROAST_OK;
}

/* ---- results ---- */

/* A task made a file that another one had made: the copy of the other one was lost with a worker. */
static roast_status make_again(roast_taskvine *log, uint32_t before, uint32_t task) {
    roast_vine_task *first = &log->tasks[before];
    char key[32];
    uint64_t id;
    if (first->lost) /* a program that hands out one name twice */
        return ROAST_OK;
    memcpy(&id, roast_intern_get(&log->task_ids, before).data, sizeof id);
    int len = snprintf(key, sizeof key, "task.%" PRIu64, id);
    ROAST_TRY(roast_attempts_lose_result(log->attempts, (roast_str){key, (size_t)len}, NULL));
    first->lost = true;
    log->facts.recovered++;
    log->facts.processed -= log->facts.processed > 0 && first->category != ROAST_NO_NAME &&
                            log->kinds[first->category] == ROAST_KIND_processing;
    if (log->tasks[task].departures > 0)
        roast_attempts_add_lost_result(log->attempts, log->tasks[task].departures - 1);
    return ROAST_OK;
}

roast_status roast_vine_result(roast_taskvine *log, uint32_t task, uint32_t worker,
                               int64_t start_us, int64_t *bytes) {
    roast_vine_cached *cached = roast_recent_find(&log->cached, key_of(worker, (uint64_t)start_us));
    *bytes = -1;
    if (cached == NULL)
        return ROAST_OK;
    const roast_vine_cached made = *cached;
    roast_taskvine_transfers *peers = &log->facts.transfers[ROAST_WAY_peer];
    *cached = (roast_vine_cached){0};
    peers->count -= made.peer < peers->count ? made.peer : peers->count;
    peers->bytes = roast_sub_capped(peers->bytes, made.peer_bytes);
    peers->us = roast_sub_capped(peers->us, made.peer_us);
    *bytes = made.bytes;
    uint32_t id;
    bool known;
    if (made.file == 0)
        return ROAST_OK;
    ROAST_TRY(temporary_file(log, made.file, &id, &known));
    uint32_t before = log->file_tasks[id];
    log->file_tasks[id] = task;
    return before != ROAST_NO_TASK && before != task ? make_again(log, before, task) : ROAST_OK;
}
