/* One try as bytes, and back. */
#include "model/attempts_internal.h"

#include <math.h>

#include "base/utf8.h"

/* ---- what came to nothing ---- */

double roast_attempt_wasted_seconds(const roast_attempt *attempt) {
    if (attempt->outcome == ROAST_OUTCOME_done)
        return 0;
    int64_t begin = attempt->start_us != ROAST_NO_TIME ? attempt->start_us : attempt->sent_us;
    int64_t end = attempt->stop_us != ROAST_NO_TIME ? attempt->stop_us : attempt->ended_us;
    if (begin == ROAST_NO_TIME || end == ROAST_NO_TIME)
        return NAN;
    double seconds = ((double)end - (double)begin) / 1e6;
    return seconds > 0 ? seconds : 0;
}

int64_t roast_attempt_wasted_bytes(const roast_attempt *attempt) {
    return attempt->outcome == ROAST_OUTCOME_done ? 0 : attempt->nbytes;
}

/* ---- the fields that are alike ---- */

/* Each moment is kept as the difference to the one before it, in this order. */
enum { MOMENTS = 5, AMOUNTS = 4 };
#define MOMENTS_OF(attempt)                                                                        \
    {                                                                                              \
        &(attempt)->ended_us, &(attempt)->stop_us, &(attempt)->start_us, &(attempt)->sent_us,      \
            &(attempt)->ready_us                                                                   \
    }
/* Kept plus 1: 0 means "not known". */
#define AMOUNTS_OF(attempt)                                                                        \
    { &(attempt)->transfer_us, &(attempt)->deserialize_us, &(attempt)->disk_us, &(attempt)->nbytes }

/* ---- writing ---- */

roast_status roast_attempts_prefix(roast_attempts *attempts, roast_str prefix, uint32_t *id) {
    uint32_t before = attempts->prefixes.count;
    void *kinds = attempts->kinds;
    ROAST_TRY(roast_array_reserve(&kinds, &attempts->kinds_capacity, 1, (size_t)before + 1));
    attempts->kinds = kinds;
    ROAST_TRY(roast_intern_add(&attempts->prefixes, roast_utf8_cut(prefix, ROAST_MAX_KEY), id));
    if (*id == before)
        attempts->kinds[before] = ROAST_KIND_other;
    return ROAST_OK;
}

/* The number of a text, one larger; 0: there is none. */
static roast_status text_id(roast_attempts *attempts, roast_str text, size_t most, uint64_t *out) {
    uint32_t id = 0;
    *out = 0;
    if (text.data == NULL)
        return ROAST_OK;
    ROAST_TRY(roast_redact_in(&attempts->redacted, roast_redact_text, &text));
    ROAST_TRY(roast_intern_add(&attempts->texts, roast_utf8_cut(text, most), &id));
    *out = (uint64_t)id + 1;
    return ROAST_OK;
}

static uint8_t *put_moments(uint8_t *at, const roast_attempt *from, uint8_t *flags,
                            int64_t *last_us) {
    const int64_t *const moments[MOMENTS] = MOMENTS_OF(from);
    for (unsigned i = 0; i < MOMENTS; i++) {
        if (*moments[i] == ROAST_NO_TIME)
            continue;
        *flags |= (uint8_t)(ROAST_ROW_MOMENTS << i);
        at = roast_put_zigzag(at, roast_wrap_sub(*last_us, *moments[i]));
        *last_us = *moments[i];
    }
    return at;
}

roast_status roast_attempt_row_write(roast_attempts *attempts, const roast_attempt *from) {
    enum { LONGEST = 1 + 17 * ROAST_VARINT_MAX + ROAST_MAX_KEY };
    bool foreign = from->kind == ROAST_KIND_foreign;
    uint32_t prefix = UINT32_MAX;
    uint64_t error_type, error_message;
    if (!foreign && from->prefix.data != NULL)
        ROAST_TRY(roast_attempts_prefix(attempts, from->prefix, &prefix));
    ROAST_TRY(text_id(attempts, from->error_type, ROAST_MAX_ERROR_TYPE, &error_type));
    ROAST_TRY(text_id(attempts, from->error_message, ROAST_MAX_ERROR_MESSAGE, &error_message));
    ROAST_TRY(roast_buffer_reserve(&attempts->rows, LONGEST));

    uint8_t *flags = attempts->rows.data + attempts->rows.len, *at = flags + 1;
    roast_str key = foreign ? (roast_str){NULL, 0} : roast_utf8_cut(from->key, ROAST_MAX_KEY);
    *flags = (uint8_t)((unsigned)from->outcome | (foreign ? ROAST_ROW_FOREIGN : 0));
    at = roast_put_varint(at, (uint32_t)(prefix + 1));
    at = roast_put_varint(at, key.data != NULL ? (uint64_t)key.len + 1 : 0);
    if (key.len > 0)
        memcpy(at, key.data, key.len);
    at += key.len;
    at = roast_put_varint(at, (uint32_t)(from->worker + 1));
    at = roast_put_varint(at, from->thread);
    at = put_moments(at, from, flags, &attempts->last_us);
    const int64_t *const amounts[AMOUNTS] = AMOUNTS_OF(from);
    for (unsigned i = 0; i < AMOUNTS; i++)
        at = roast_put_varint(at, *amounts[i] >= 0 ? (uint64_t)*amounts[i] + 1 : 0);
    at = roast_put_varint(at, error_type);
    at = roast_put_varint(at, error_message);
    at = roast_put_varint(at, (uint32_t)(from->departure + 1));
    attempts->rows.len = (size_t)(at - attempts->rows.data);
    return ROAST_OK;
}

/* ---- reading ---- */

/* The first fault sticks: everything read after it is 0. */
typedef struct row_reader {
    const uint8_t *at, *end;
    const char *fault;
} row_reader;

static uint64_t number(row_reader *r, const char *fault) {
    uint64_t value = 0;
    if (r->fault == NULL && !roast_get_varint(&r->at, r->end, &value))
        r->fault = fault;
    return r->fault == NULL ? value : 0;
}

/* A number that is kept one larger, 0 for none, and must be below `count`; -1: there is none. */
static int64_t known(row_reader *r, uint64_t count, const char *fault) {
    uint64_t value = number(r, fault);
    if (value > count)
        r->fault = fault;
    return r->fault == NULL ? (int64_t)(value - 1) : -1;
}

static roast_str known_text(row_reader *r, const roast_intern *from, const char *fault) {
    int64_t id = known(r, from->count, fault);
    return id >= 0 ? roast_intern_get(from, (uint32_t)id) : (roast_str){NULL, 0};
}

static void read_names(row_reader *r, const roast_attempts *attempts, bool foreign,
                       roast_attempt *out) {
    int64_t prefix = known(r, attempts->prefixes.count, "the prefix of an attempt is malformed");
    out->kind = ROAST_KIND_other;
    if (prefix >= 0) {
        out->prefix = roast_intern_get(&attempts->prefixes, (uint32_t)prefix);
        out->kind = (roast_attempt_kind)attempts->kinds[prefix];
    }
    if (foreign)
        out->kind = ROAST_KIND_foreign;
    int64_t len = known(r, ROAST_MAX_KEY + 1, "the key of an attempt is malformed");
    if (len > r->end - r->at)
        r->fault = "the key of an attempt is malformed";
    if (len >= 0 && r->fault == NULL) {
        out->key = (roast_str){(const char *)r->at, (size_t)len};
        r->at += len;
    }
    int64_t worker = known(r, attempts->workers.count, "the worker of an attempt is malformed");
    out->worker = worker >= 0 ? (uint32_t)worker : ROAST_NO_WORKER;
    out->thread = number(r, "the thread of an attempt is malformed");
}

static void read_moments(row_reader *r, uint8_t flags, int64_t *last_us, roast_attempt *out) {
    int64_t *const moments[MOMENTS] = MOMENTS_OF(out);
    for (unsigned i = 0; i < MOMENTS; i++) {
        bool there = flags & ROAST_ROW_MOMENTS << i;
        if (there)
            *last_us = roast_wrap_sub(
                *last_us, roast_unzigzag(number(r, "a time of an attempt is malformed")));
        *moments[i] = there ? *last_us : ROAST_NO_TIME;
    }
}

const char *roast_attempt_row_read(const roast_attempts *attempts, int64_t *last_us,
                                   const uint8_t **at, const uint8_t *end, roast_attempt *out) {
    row_reader r = {.at = *at, .end = end};
    *out = (roast_attempt){.kind = ROAST_KIND_other};
    if (*at == end)
        return "an attempt is cut short";
    uint8_t flags = *r.at++;
    out->outcome = (roast_outcome)(flags & ROAST_ROW_OUTCOME);
    read_names(&r, attempts, flags & ROAST_ROW_FOREIGN, out);
    read_moments(&r, flags, last_us, out);
    int64_t *const amounts[AMOUNTS] = AMOUNTS_OF(out);
    for (unsigned i = 0; i < AMOUNTS; i++)
        *amounts[i] = known(&r, (uint64_t)INT64_MAX + 1, "an amount of an attempt is malformed");
    out->error_type = known_text(&r, &attempts->texts, "the exception of an attempt is malformed");
    out->error_message =
        known_text(&r, &attempts->texts, "the exception of an attempt is malformed");
    /* One that is lost may be noted before its worker is known to have left. */
    int64_t departure = known(&r, (uint64_t)attempts->departure_count + 1,
                              "an attempt is lost with a worker that has not left");
    out->departure = departure >= 0 ? (uint32_t)departure : ROAST_NO_DEPARTURE;
    if (r.fault == NULL)
        *at = r.at;
    return r.fault;
}

/* ---- walking ---- */

void roast_attempt_cursor_init(roast_attempt_cursor *cursor, const roast_attempts *attempts) {
    *cursor = (roast_attempt_cursor){.attempts = attempts};
}

bool roast_attempt_cursor_next(roast_attempt_cursor *cursor, roast_attempt *out) {
    const roast_attempts *attempts = cursor->attempts;
    if (cursor->index >= attempts->count)
        return false;
    const uint8_t *start = attempts->rows.data + cursor->offset, *at = start;
    const uint8_t *end = attempts->rows.data + attempts->rows.len;
    if (roast_attempt_row_read(attempts, &cursor->last_us, &at, end, out) != NULL)
        return false; /* cannot be: append and decode let only whole rows in */
    cursor->offset += (uint64_t)(at - start);
    cursor->index++;
    return true;
}
