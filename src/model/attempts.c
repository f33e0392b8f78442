#include "model/attempts_internal.h"

#include <string.h>

static const char *const where = "attempts";

const char *roast_attempt_kind_name(roast_attempt_kind kind) {
    static const char *const names[] = {
#define X(name, words) words,
        ROAST_ATTEMPT_KINDS(X)
#undef X
    };
    return (unsigned)kind < ROAST_KIND_COUNT ? names[kind] : "unknown";
}

const char *roast_outcome_name(roast_outcome outcome) {
    static const char *const names[] = {
#define X(name, words) words,
        ROAST_OUTCOMES(X)
#undef X
    };
    return (unsigned)outcome < ROAST_OUTCOME_COUNT ? names[outcome] : "unknown";
}

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
    roast_intern_reset(&attempts->stems);
    roast_intern_reset(&attempts->workers);
    roast_intern_reset(&attempts->threads);
    roast_intern_reset(&attempts->texts);
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
           roast_intern_memory(&attempts->stems) + roast_intern_memory(&attempts->workers) +
           roast_intern_memory(&attempts->threads) + roast_intern_memory(&attempts->texts) +
           attempts->rows.capacity + attempts->departures_capacity * sizeof *attempts->departures +
           roast_intern_memory(&attempts->lost) +
           attempts->lost_capacity * sizeof *attempts->lost_before;
}

/* ---- names ---- */
static roast_str cut(roast_str text, size_t most) {
    if (text.len <= most)
        return text;
    /* Not in the middle of a character. */
    while (most > 0 && ((uint8_t)text.data[most] & 0xc0) == 0x80)
        most--;
    return (roast_str){text.data, most};
}

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

roast_status roast_attempts_prefix(roast_attempts *attempts, roast_str prefix, uint32_t *id) {
    uint32_t before = attempts->prefixes.count;
    void *kinds = attempts->kinds;
    ROAST_TRY(roast_array_reserve(&kinds, &attempts->kinds_capacity, 1, (size_t)before + 1));
    attempts->kinds = kinds;
    ROAST_TRY(roast_intern_add(&attempts->prefixes, cut(prefix, ROAST_MAX_KEY), id));
    if (*id == before)
        attempts->kinds[before] = ROAST_KIND_other;
    return ROAST_OK;
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
typedef struct row {
    uint8_t bytes[ROAST_ATTEMPT_ROW_MAX];
    uint8_t *at;
} row;

static void put(row *out, uint64_t value) {
    out->at = roast_put_varint(out->at, value);
}

static void put_difference(row *out, int64_t later, int64_t earlier) {
    out->at = roast_put_zigzag(out->at, roast_wrap_sub(later, earlier));
}

static void put_bytes(row *out, const void *data, size_t len) {
    memcpy(out->at, data, len);
    out->at += len;
}

static roast_status put_key(roast_attempts *attempts, const roast_split_key *key, row *out) {
    uint32_t stem;
    switch (key->form) {
    case ROAST_KEY_NONE:
        break;
    case ROAST_KEY_TEXT:
        put(out, key->stem.len);
        put_bytes(out, key->stem.data, key->stem.len);
        break;
    case ROAST_KEY_HASHED:
        ROAST_TRY(roast_intern_add(&attempts->stems, key->stem, &stem));
        put(out, stem);
        put_bytes(out, key->hash, sizeof key->hash);
        break;
    case ROAST_KEY_NUMBERED:
        ROAST_TRY(roast_intern_add(&attempts->stems, key->stem, &stem));
        put(out, stem);
        put(out, key->number);
        break;
    }
    return ROAST_OK;
}

static roast_status put_names(roast_attempts *attempts, const roast_attempt *from,
                              const roast_split_key *key, row *out) {
    if (from->kind != ROAST_KIND_foreign) {
        uint32_t prefix;
        if (from->prefix.data != NULL)
            ROAST_TRY(roast_attempts_prefix(attempts, from->prefix, &prefix));
        put(out, from->prefix.data != NULL ? (uint64_t)prefix + 1 : 0);
    }
    ROAST_TRY(put_key(attempts, key, out));
    if (from->worker != ROAST_NO_WORKER)
        put(out, from->worker);
    if (from->thread != 0) {
        uint32_t thread;
        char name[8];
        for (unsigned i = 0; i < sizeof name; i++)
            name[i] = (char)(from->thread >> 8 * i);
        ROAST_TRY(roast_intern_add(&attempts->threads, (roast_str){name, sizeof name}, &thread));
        put(out, thread);
    }
    return ROAST_OK;
}

static bool has_compute(const roast_attempt *from) {
    return from->start_us != ROAST_NO_TIME && from->stop_us != ROAST_NO_TIME;
}

static void put_times(const roast_attempts *attempts, const roast_attempt *from, row *out) {
    int64_t near = from->ended_us;
    put_difference(out, near, attempts->last_us);
    if (has_compute(from)) {
        put_difference(out, near, from->stop_us);
        put_difference(out, from->stop_us, from->start_us);
        near = from->start_us;
    }
    if (from->sent_us != ROAST_NO_TIME) {
        put_difference(out, near, from->sent_us);
        near = from->sent_us;
    }
    if (from->ready_us != ROAST_NO_TIME)
        put_difference(out, near, from->ready_us);
    const int64_t amounts[] = {from->transfer_us, from->deserialize_us, from->disk_us,
                               from->nbytes};
    for (unsigned i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (amounts[i] >= 0)
            put(out, (uint64_t)amounts[i]);
}

static roast_status put_end(roast_attempts *attempts, const roast_attempt *from, row *out) {
    if (from->error_type.data != NULL) {
        uint32_t type, message = 0;
        bool told = from->error_message.data != NULL;
        ROAST_TRY(
            roast_intern_add(&attempts->texts, cut(from->error_type, ROAST_MAX_ERROR_TYPE), &type));
        if (told)
            ROAST_TRY(roast_intern_add(
                &attempts->texts, cut(from->error_message, ROAST_MAX_ERROR_MESSAGE), &message));
        put(out, type);
        put(out, told ? (uint64_t)message + 1 : 0);
    }
    if (from->departure != ROAST_NO_DEPARTURE)
        put(out, from->departure);
    return ROAST_OK;
}

static void put_flags(const roast_attempt *from, roast_key_form form, row *out) {
    *out->at++ = (uint8_t)((unsigned)from->outcome | (unsigned)form << ROAST_ROW_FORM_SHIFT |
                           (has_compute(from) ? ROAST_ROW_COMPUTE : 0) |
                           (from->error_type.data != NULL ? ROAST_ROW_ERROR : 0) |
                           (from->departure != ROAST_NO_DEPARTURE ? ROAST_ROW_DEPARTURE : 0) |
                           (from->kind == ROAST_KIND_foreign ? ROAST_ROW_FOREIGN : 0));
    *out->at++ = (uint8_t)((from->worker != ROAST_NO_WORKER ? ROAST_ROW_WORKER : 0) |
                           (from->thread != 0 ? ROAST_ROW_THREAD : 0) |
                           (from->sent_us != ROAST_NO_TIME ? ROAST_ROW_SENT : 0) |
                           (from->ready_us != ROAST_NO_TIME ? ROAST_ROW_READY : 0) |
                           (from->transfer_us >= 0 ? ROAST_ROW_TRANSFER : 0) |
                           (from->deserialize_us >= 0 ? ROAST_ROW_DESERIALIZE : 0) |
                           (from->disk_us >= 0 ? ROAST_ROW_DISK : 0) |
                           (from->nbytes >= 0 ? ROAST_ROW_NBYTES : 0));
}

static roast_status write_row(roast_attempts *attempts, const roast_attempt *from, row *out) {
    roast_split_key key;
    roast_str text =
        from->kind == ROAST_KIND_foreign ? (roast_str){NULL, 0} : cut(from->key, ROAST_MAX_KEY);
    roast_key_split(text, &key);
    out->at = out->bytes;
    put_flags(from, key.form, out);
    ROAST_TRY(put_names(attempts, from, &key, out));
    put_times(attempts, from, out);
    ROAST_TRY(put_end(attempts, from, out));
    return roast_buffer_append(&attempts->rows, out->bytes, (size_t)(out->at - out->bytes));
}

static roast_status check(const roast_attempts *attempts, const roast_attempt *from,
                          roast_error *err) {
    if (from->ended_us == ROAST_NO_TIME)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "an attempt needs its end");
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
    const uint32_t prefixes = attempts->prefixes.count, stems = attempts->stems.count;
    const uint32_t threads = attempts->threads.count, texts = attempts->texts.count;
    row out;
    roast_status status = write_row(attempts, attempt, &out);
    if (status != ROAST_OK) {
        roast_intern_truncate(&attempts->prefixes, prefixes);
        roast_intern_truncate(&attempts->stems, stems);
        roast_intern_truncate(&attempts->threads, threads);
        roast_intern_truncate(&attempts->texts, texts);
        return no_memory(status, err);
    }
    attempts->last_us = attempt->ended_us;
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
    key = cut(key, ROAST_MAX_KEY);
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
    uint64_t *found = roast_alloc(count * sizeof *found); /* offset of the row + 1 */
    char *text = roast_alloc(ROAST_MAX_KEY + 1);
    if (found == NULL || text == NULL) {
        roast_free(found);
        roast_free(text);
        return no_memory(ROAST_ENOMEM, err);
    }
    memset(found, 0, count * sizeof *found);
    roast_attempt_cursor cursor;
    roast_attempt attempt;
    roast_attempt_cursor_init(&cursor, attempts);
    for (uint64_t offset = 0; roast_attempt_cursor_next(&cursor, &attempt);
         offset = cursor.offset) {
        uint32_t id;
        if (attempt.outcome != ROAST_OUTCOME_done || attempt.key.data == NULL)
            continue;
        size_t len = roast_attempt_key(&attempt, text, ROAST_MAX_KEY + 1);
        if (roast_intern_find(&attempts->lost, (roast_str){text, len}, &id) &&
            cursor.index <= attempts->lost_before[id])
            found[id] = offset + 1;
    }
    for (uint32_t id = 0; id < count; id++)
        if (found[id] != 0)
            attempts->rows.data[found[id] - 1] |= ROAST_OUTCOME_recomputed; /* done is 0 */
    roast_free(found);
    roast_free(text);
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

uint32_t roast_attempts_departure_count(const roast_attempts *attempts) {
    return attempts->departure_count;
}

roast_departure roast_attempts_departure(const roast_attempts *attempts, uint32_t index) {
    return index < attempts->departure_count ? attempts->departures[index]
                                             : (roast_departure){.worker = ROAST_NO_WORKER};
}
