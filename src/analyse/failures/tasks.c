/* Processing tasks that were tried and never done. */
#include "metrics/groups.h"
#include "roast/failures.h"

struct roast_failed_tasks {
    roast_groups tasks; /* by key; an item: bool, done after all by some other try */
    uint32_t *failed;   /* those that were never done */
    uint32_t count;
};

/* A task that was not needed any more has not failed. */
static bool has_failed(const roast_attempt *attempt) {
    return attempt->kind == ROAST_KIND_processing && attempt->key.data != NULL &&
           (attempt->outcome == ROAST_OUTCOME_raised ||
            (attempt->outcome == ROAST_OUTCOME_lost && attempt->departure != ROAST_NO_DEPARTURE));
}

static roast_status find_failed(roast_failed_tasks *failed, const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    uint32_t id;
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt)) {
        if (!has_failed(&attempt))
            continue;
        ROAST_TRY(roast_groups_find(&failed->tasks, attempt.key, &id));
    }
    return ROAST_OK;
}

static void note_done(roast_failed_tasks *failed, roast_str key) {
    uint32_t id;
    if (roast_intern_find(&failed->tasks.names, key, &id))
        *(bool *)roast_groups_item(&failed->tasks, id) = true;
}

static void find_done(roast_failed_tasks *failed, const roast_run *run,
                      const roast_attempts *attempts) {
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_chunk_cursor chunks;
    roast_chunk chunk;
    char key[ROAST_MAX_KEY + 64];
    roast_attempt_cursor_init(&cursor, attempts);
    while (roast_attempt_cursor_next(&cursor, &attempt))
        if (attempt.outcome == ROAST_OUTCOME_done && attempt.key.data != NULL)
            note_done(failed, attempt.key);
    /* A result may be lost with its worker although process() went well. */
    roast_chunk_cursor_init(&chunks, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&chunks, &chunk)) {
        if (chunk.error_type.data != NULL || chunk.task_key.data == NULL)
            continue;
        size_t len = roast_chunk_task_key(&chunk, key, sizeof key);
        note_done(failed, (roast_str){key, len < sizeof key ? len : sizeof key - 1});
    }
}

static roast_status find_all(roast_failed_tasks *failed, const roast_run *run,
                             const roast_attempts *attempts) {
    /* The try that went well may have another name. */
    if (roast_run_meta(run, roast_str_of(ROAST_META_FROM_LOG)).data != NULL)
        return ROAST_OK;
    ROAST_TRY(find_failed(failed, attempts));
    uint32_t count = roast_groups_count(&failed->tasks);
    if (count == 0)
        return ROAST_OK;
    find_done(failed, run, attempts);
    failed->failed = roast_alloc(count * sizeof *failed->failed);
    if (failed->failed == NULL)
        return ROAST_ENOMEM;
    for (uint32_t id = 0; id < count; id++)
        if (!*(bool *)roast_groups_item(&failed->tasks, id))
            failed->failed[failed->count++] = id;
    return ROAST_OK;
}

roast_status roast_failed_tasks_find(const roast_run *run, roast_failed_tasks **out,
                                     roast_error *err) {
    const roast_attempts *attempts = roast_run_attempts_view(run);
    roast_failed_tasks *failed = roast_alloc_zero(sizeof *failed);
    roast_status status = failed != NULL ? ROAST_OK : ROAST_ENOMEM;
    if (status == ROAST_OK)
        failed->tasks = ROAST_GROUPS(bool);
    if (status == ROAST_OK && attempts != NULL)
        status = find_all(failed, run, attempts);
    if (status != ROAST_OK) {
        roast_failed_tasks_free(failed);
        return roast_error_set(err, status, "failed tasks", -1, "no memory for the tasks");
    }
    *out = failed;
    return ROAST_OK;
}

void roast_failed_tasks_free(roast_failed_tasks *tasks) {
    if (tasks == NULL)
        return;
    roast_groups_reset(&tasks->tasks);
    roast_free(tasks->failed);
    roast_free(tasks);
}

uint32_t roast_failed_tasks_count(const roast_failed_tasks *tasks) {
    return tasks->count;
}

roast_str roast_failed_tasks_key(const roast_failed_tasks *tasks, uint32_t index) {
    return index < tasks->count ? roast_groups_name(&tasks->tasks, tasks->failed[index])
                                : (roast_str){NULL, 0};
}
