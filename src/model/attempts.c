/* Tries, workers, departures; a row is written and read in attempts_rows.c. */
#include "model/attempts_internal.h"
#include "base/names.h"

static const char *const where = "attempts";

ROAST_NAMES(roast_attempt_kind_name, roast_attempt_kind, ROAST_ATTEMPT_KINDS, ROAST_NAME_IN_WORDS)

ROAST_NAMES(roast_outcome_name, roast_outcome, ROAST_OUTCOMES, ROAST_NAME_IN_WORDS)

/* ---- life ---- */
static roast_status no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, where, -1, "no memory for the attempts");
}

roast_status roast_attempts_new(roast_attempts **out, roast_error *err) {
    roast_attempts *attempts = roast_alloc_zero(sizeof *attempts);
    if (attempts == NULL)
        return no_memory(ROAST_ENOMEM, err);
    *out = attempts;
    return ROAST_OK;
}

void roast_attempts_free(roast_attempts *attempts) {
    if (attempts == NULL)
        return;
    roast_intern_reset(&attempts->prefixes);
    roast_free(attempts->kinds);
    roast_intern_reset(&attempts->workers);
    roast_intern_reset(&attempts->texts);
    roast_buffer_reset(&attempts->redacted);
    roast_buffer_reset(&attempts->rows);
    roast_free(attempts->departures);
    roast_intern_reset(&attempts->lost);
    roast_free(attempts->lost_before);
    roast_free(attempts);
}

uint64_t roast_attempts_count(const roast_attempts *attempts) {
    return attempts->count;
}

size_t roast_attempts_memory(const roast_attempts *attempts) {
    return sizeof *attempts + roast_intern_memory(&attempts->prefixes) + attempts->kinds_capacity +
           roast_intern_memory(&attempts->workers) + roast_intern_memory(&attempts->texts) +
           attempts->redacted.capacity + attempts->rows.capacity +
           attempts->departures_capacity * sizeof *attempts->departures +
           roast_intern_memory(&attempts->lost) +
           attempts->lost_capacity * sizeof *attempts->lost_before;
}

/* ---- names ---- */
roast_status roast_attempts_add_worker(roast_attempts *attempts, roast_str name, uint32_t *worker,
                                       roast_error *err) {
    if (name.data == NULL || name.len == 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a worker needs a name");
    if (name.len > ROAST_MAX_KEY)
        return roast_error_set(err, ROAST_ELIMIT, where, -1,
                               "a worker's name has %zu bytes, the limit is %u", name.len,
                               ROAST_MAX_KEY);
    roast_status status = roast_intern_add(&attempts->workers, name, worker);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

uint32_t roast_attempts_worker_count(const roast_attempts *attempts) {
    return attempts->workers.count;
}

roast_str roast_attempts_worker(const roast_attempts *attempts, uint32_t worker) {
    return worker < attempts->workers.count ? roast_intern_get(&attempts->workers, worker)
                                            : (roast_str){NULL, 0};
}

roast_status roast_attempts_set_kind(roast_attempts *attempts, roast_str prefix,
                                     roast_attempt_kind kind, roast_error *err) {
    uint32_t id;
    if (prefix.data == NULL || (unsigned)kind >= ROAST_KIND_foreign)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "a kind needs a prefix, and is processing, reduction or other");
    roast_status status = roast_attempts_prefix(attempts, prefix, &id);
    if (status != ROAST_OK)
        return no_memory(status, err);
    attempts->kinds[id] = (uint8_t)kind;
    return ROAST_OK;
}

/* ---- one try ---- */
static roast_status check(const roast_attempts *attempts, const roast_attempt *from,
                          roast_error *err) {
    if ((unsigned)from->outcome >= ROAST_OUTCOME_COUNT)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%d is no outcome",
                               (int)from->outcome);
    if (from->worker != ROAST_NO_WORKER && from->worker >= attempts->workers.count)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no worker number %u",
                               from->worker);
    if (from->departure != ROAST_NO_DEPARTURE && from->departure > attempts->departure_count)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no departure number %u",
                               from->departure);
    return ROAST_OK;
}

roast_status roast_attempts_append(roast_attempts *attempts, const roast_attempt *attempt,
                                   roast_error *err) {
    ROAST_TRY(check(attempts, attempt, err));
    const uint32_t prefixes = attempts->prefixes.count, texts = attempts->texts.count;
    roast_status status = roast_attempt_row_write(attempts, attempt);
    if (status != ROAST_OK) {
        roast_intern_truncate(&attempts->prefixes, prefixes);
        roast_intern_truncate(&attempts->texts, texts);
        return no_memory(status, err);
    }
    attempts->count++;
    return ROAST_OK;
}

/* ---- results that were lost ---- */
static roast_status add_lost(roast_attempts *attempts, roast_str key) {
    uint32_t id;
    void *before = attempts->lost_before;
    ROAST_TRY(roast_array_reserve(&before, &attempts->lost_capacity, sizeof *attempts->lost_before,
                                  (size_t)attempts->lost.count + 1));
    attempts->lost_before = before;
    ROAST_TRY(roast_intern_add(&attempts->lost, key, &id));
    attempts->lost_before[id] = attempts->count;
    return ROAST_OK;
}

roast_status roast_attempts_lose_result(roast_attempts *attempts, roast_str key, roast_error *err) {
    uint32_t id;
    if (key.data == NULL)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a lost result needs its key");
    /* Lost a second time: the first loss is settled before it is forgotten. */
    if (attempts->lost.count > 0 && roast_intern_find(&attempts->lost, key, &id))
        ROAST_TRY(roast_attempts_settle(attempts, err));
    roast_status status = add_lost(attempts, key);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

roast_status roast_attempts_settle(roast_attempts *attempts, roast_error *err) {
    uint32_t count = attempts->lost.count;
    if (count == 0)
        return ROAST_OK;
    uint64_t *found = roast_alloc_zero(count * sizeof *found); /* offset of the row + 1 */
    if (found == NULL)
        return no_memory(ROAST_ENOMEM, err);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    for (uint64_t offset = 0; roast_attempt_cursor_next(&cursor, &attempt);
         offset = cursor.offset) {
        uint32_t id;
        if (attempt.outcome == ROAST_OUTCOME_done && attempt.key.data != NULL &&
            roast_intern_find(&attempts->lost, attempt.key, &id) &&
            cursor.index <= attempts->lost_before[id])
            found[id] = offset + 1;
    }
    for (uint32_t id = 0; id < count; id++)
        if (found[id] != 0)
            attempts->rows.data[found[id] - 1] |= ROAST_OUTCOME_recomputed; /* done is 0 */
    roast_free(found);
    roast_intern_truncate(&attempts->lost, 0);
    return ROAST_OK;
}

/* ---- departures ---- */
roast_status roast_attempts_add_departure(roast_attempts *attempts,
                                          const roast_departure *departure, roast_error *err) {
    if (departure->worker >= attempts->workers.count)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "there is no worker number %u",
                               departure->worker);
    if (attempts->departure_count >= ROAST_NO_DEPARTURE - 1)
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "too many workers have left");
    void *departures = attempts->departures;
    roast_status status =
        roast_array_reserve(&departures, &attempts->departures_capacity,
                            sizeof *attempts->departures, (size_t)attempts->departure_count + 1);
    if (status != ROAST_OK)
        return no_memory(status, err);
    attempts->departures = departures;
    attempts->departures[attempts->departure_count++] = *departure;
    return ROAST_OK;
}

void roast_attempts_add_lost_result(roast_attempts *attempts, uint32_t departure) {
    if (departure < attempts->departure_count &&
        attempts->departures[departure].lost_results < UINT32_MAX)
        attempts->departures[departure].lost_results++;
}

void roast_attempts_truncate_departures(roast_attempts *attempts, uint32_t count) {
    if (count < attempts->departure_count)
        attempts->departure_count = count;
}

uint32_t roast_attempts_departure_count(const roast_attempts *attempts) {
    return attempts->departure_count;
}

roast_departure roast_attempts_departure(const roast_attempts *attempts, uint32_t index) {
    return index < attempts->departure_count ? attempts->departures[index]
                                             : (roast_departure){.worker = ROAST_NO_WORKER};
}
