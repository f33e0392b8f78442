/* Processing tasks that were tried and never done. */
#include "base/arena.h"
#include "base/buffer.h"
#include "model/attempts_internal.h"
#include "roast/failures.h"

typedef struct failed_task {
    roast_str key; /* in the arena */
    bool done;     /* after all, by some other try */
} failed_task;

struct roast_failed_tasks {
    roast_arena texts;
    failed_task *tasks;
    size_t capacity;
    uint32_t count;
};

typedef struct finder {
    const roast_run *run;
    roast_failed_tasks *failed;
    roast_intern names; /* keys as bytes; a number is that of the task */
    roast_buffer bytes;
} finder;

/* The parts of a key one behind the other, which takes less than to put it together. */
static roast_status as_bytes(finder *f, roast_str stem, roast_str hash, int64_t number) {
    f->bytes.len = 0;
    ROAST_TRY(roast_buffer_append(&f->bytes, stem.data, stem.len));
    if (hash.data != NULL) {
        ROAST_TRY(roast_buffer_append(&f->bytes, "\1", 1));
        return roast_buffer_append(&f->bytes, hash.data, hash.len);
    }
    ROAST_TRY(roast_buffer_append(&f->bytes, "\2", 1));
    return roast_buffer_append(&f->bytes, &number, sizeof number);
}

static roast_str name_of(const finder *f) {
    return (roast_str){(const char *)f->bytes.data, f->bytes.len};
}

static roast_status keep(finder *f, const roast_attempt *attempt) {
    char text[ROAST_MAX_KEY + 64];
    roast_failed_tasks *failed = f->failed;
    void *tasks = failed->tasks;
    ROAST_TRY(roast_array_reserve(&tasks, &failed->capacity, sizeof *failed->tasks,
                                  (size_t)failed->count + 1));
    failed->tasks = tasks;
    size_t len = roast_attempt_key(attempt, text, sizeof text);
    failed_task task = {.done = false};
    ROAST_TRY(roast_arena_str(
        &failed->texts, (roast_str){text, len < sizeof text ? len : sizeof text - 1}, &task.key));
    failed->tasks[failed->count++] = task;
    return ROAST_OK;
}

/* One that nobody needed any more has not failed. */
static bool failed(const roast_attempt *attempt) {
    return attempt->outcome == ROAST_OUTCOME_raised ||
           (attempt->outcome == ROAST_OUTCOME_lost && attempt->departure != ROAST_NO_DEPARTURE);
}

static roast_status find_failed(finder *f, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    uint32_t id;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        if (attempt.kind != ROAST_KIND_processing || attempt.key.data == NULL || !failed(&attempt))
            continue;
        ROAST_TRY(as_bytes(f, attempt.key, attempt.key_hash, attempt.key_number));
        ROAST_TRY(roast_intern_add(&f->names, name_of(f), &id));
        if (id == f->failed->count)
            ROAST_TRY(keep(f, &attempt));
    }
    return ROAST_OK;
}

static roast_status note_done(finder *f, roast_str stem, roast_str hash, int64_t number) {
    uint32_t id;
    ROAST_TRY(as_bytes(f, stem, hash, number));
    if (roast_intern_find(&f->names, name_of(f), &id))
        f->failed->tasks[id].done = true;
    return ROAST_OK;
}

static roast_status note_chunk(finder *f, const roast_chunk *chunk) {
    const roast_str none = {NULL, 0};
    roast_split_key key;
    if (chunk->task_hash.data != NULL)
        return note_done(f, chunk->task_key, chunk->task_hash, -1);
    roast_key_split(chunk->task_key, &key);
    if (key.form == ROAST_KEY_HASHED)
        return note_done(f, key.stem, (roast_str){(const char *)key.hash, sizeof key.hash}, -1);
    return note_done(f, key.stem, none, key.form == ROAST_KEY_NUMBERED ? (int64_t)key.number : -1);
}

static roast_status forget_done(finder *f, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        if (attempt.outcome == ROAST_OUTCOME_done && attempt.key.data != NULL)
            ROAST_TRY(note_done(f, attempt.key, attempt.key_hash, attempt.key_number));
    /* A result may be lost with its worker although process() went well. */
    roast_chunk_cursor_init(&chunks, roast_run_chunks_view(f->run));
    while (roast_chunk_cursor_next(&chunks, &chunk))
        if (chunk.error_type.data == NULL && chunk.task_key.data != NULL)
            ROAST_TRY(note_chunk(f, &chunk));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->failed->count; i++)
        if (!f->failed->tasks[i].done)
            f->failed->tasks[kept++] = f->failed->tasks[i];
    f->failed->count = kept;
    return ROAST_OK;
}

roast_status roast_failed_tasks_find(const roast_run *run, roast_failed_tasks **out,
                                     roast_error *err) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    finder f = {.run = run, .failed = roast_alloc_zero(sizeof *f.failed)};
    roast_status status = f.failed != NULL ? ROAST_OK : ROAST_ENOMEM;
    if (status == ROAST_OK && attempts != NULL)
        status = find_failed(&f, attempts);
    if (status == ROAST_OK && f.failed->count > 0)
        status = forget_done(&f, attempts);
    roast_intern_reset(&f.names);
    roast_buffer_reset(&f.bytes);
    if (status != ROAST_OK) {
        roast_failed_tasks_free(f.failed);
        return roast_error_set(err, status, "failed tasks", -1, "no memory for the tasks");
    }
    *out = f.failed;
    return ROAST_OK;
}

void roast_failed_tasks_free(roast_failed_tasks *tasks) {
    if (tasks == NULL)
        return;
    roast_arena_reset(&tasks->texts);
    roast_free(tasks->tasks);
    roast_free(tasks);
}

uint32_t roast_failed_tasks_count(const roast_failed_tasks *tasks) {
    return tasks->count;
}

roast_str roast_failed_tasks_key(const roast_failed_tasks *tasks, uint32_t index) {
    return index < tasks->count ? tasks->tasks[index].key : (roast_str){NULL, 0};
}
