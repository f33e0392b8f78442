/* One try as bytes, and back. */
#include "model/attempts_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- keys ---- */
enum { HASH_DIGITS = 2 * ROAST_KEY_HASH_BYTES, NUMBER_DIGITS = 18 /* always fit in 63 bits */ };

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool split_hash(roast_str key, roast_split_key *out) {
    if (key.len < HASH_DIGITS + 1 || key.data[key.len - HASH_DIGITS - 1] != '-')
        return false;
    const char *digits = key.data + key.len - HASH_DIGITS;
    for (unsigned i = 0; i < ROAST_KEY_HASH_BYTES; i++) {
        int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out->hash[i] = (uint8_t)(high << 4 | low);
    }
    out->form = ROAST_KEY_HASHED;
    out->stem = (roast_str){key.data, key.len - HASH_DIGITS - 1};
    return true;
}

/* Only a number that is written as we write it: without zeros before it. */
static bool split_number(roast_str key, roast_split_key *out) {
    size_t at = key.len;
    uint64_t number = 0, place = 1;
    for (; at > 0 && key.data[at - 1] >= '0' && key.data[at - 1] <= '9'; at--) {
        if (key.len - at == NUMBER_DIGITS)
            return false;
        number += place * (uint64_t)(key.data[at - 1] - '0');
        place *= 10;
    }
    size_t digits = key.len - at;
    if (digits == 0 || at == 0 || key.data[at - 1] != '-' || (digits > 1 && key.data[at] == '0'))
        return false;
    *out =
        (roast_split_key){.form = ROAST_KEY_NUMBERED, .stem = {key.data, at - 1}, .number = number};
    return true;
}

void roast_key_split(roast_str key, roast_split_key *out) {
    *out = (roast_split_key){.form = key.data == NULL ? ROAST_KEY_NONE : ROAST_KEY_TEXT};
    if (key.data == NULL)
        return;
    if (!split_hash(key, out) && !split_number(key, out)) {
        out->form = ROAST_KEY_TEXT;
        out->stem = key;
    }
}

size_t roast_attempt_key(const roast_attempt *attempt, char *out, size_t size) {
    char end[HASH_DIGITS + 2] = "";
    roast_str stem = attempt->key;
    if (stem.data == NULL) {
        stem = (roast_str){"", 0};
    } else if (attempt->key_hash.data != NULL && attempt->key_hash.len == ROAST_KEY_HASH_BYTES) {
        end[0] = '-';
        for (unsigned i = 0; i < ROAST_KEY_HASH_BYTES; i++)
            snprintf(end + 1 + 2 * i, 3, "%02x", (uint8_t)attempt->key_hash.data[i]);
    } else if (attempt->key_number >= 0) {
        snprintf(end, sizeof end, "-%lld", (long long)attempt->key_number);
    }
    size_t tail = strlen(end), len = stem.len + tail;
    if (size == 0)
        return len;
    size_t room = size - 1, from_stem = stem.len < room ? stem.len : room;
    size_t from_tail = tail < room - from_stem ? tail : room - from_stem;
    memcpy(out, stem.data, from_stem);
    memcpy(out + from_stem, end, from_tail);
    out[from_stem + from_tail] = '\0';
    return len;
}

/* ---- what came to nothing ---- */
static double seconds_between(int64_t earlier, int64_t later) {
    double seconds = ((double)later - (double)earlier) / 1e6;
    return seconds > 0 ? seconds : 0;
}

double roast_attempt_wasted_seconds(const roast_attempt *attempt) {
    if (attempt->outcome == ROAST_OUTCOME_done)
        return 0;
    if (attempt->start_us != ROAST_NO_TIME && attempt->stop_us != ROAST_NO_TIME)
        return seconds_between(attempt->start_us, attempt->stop_us);
    if (attempt->sent_us != ROAST_NO_TIME && attempt->ended_us != ROAST_NO_TIME)
        return seconds_between(attempt->sent_us, attempt->ended_us);
    return NAN;
}

int64_t roast_attempt_wasted_bytes(const roast_attempt *attempt) {
    return attempt->outcome == ROAST_OUTCOME_done ? 0 : attempt->nbytes;
}

/* ---- reading ---- */
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

static int64_t signed_number(row_reader *r, const char *fault) {
    return roast_unzigzag(number(r, fault));
}

static int64_t positive(row_reader *r, bool there, const char *fault) {
    if (!there)
        return -1;
    uint64_t value = number(r, fault);
    if (value > INT64_MAX)
        r->fault = fault;
    return (int64_t)value;
}

static roast_str known(row_reader *r, const roast_intern *from, uint64_t id, const char *fault) {
    if (r->fault == NULL && id >= from->count)
        r->fault = fault;
    return r->fault == NULL ? roast_intern_get(from, (uint32_t)id) : (roast_str){NULL, 0};
}

static roast_str bytes(row_reader *r, uint64_t len, const char *fault) {
    if (r->fault == NULL && len > (size_t)(r->end - r->at))
        r->fault = fault;
    if (r->fault != NULL)
        return (roast_str){NULL, 0};
    roast_str text = {(const char *)r->at, (size_t)len};
    r->at += len;
    return text;
}

static void read_key(row_reader *r, const roast_attempts *attempts, roast_key_form form,
                     roast_attempt *out) {
    const char *fault = "the key of an attempt is malformed";
    out->key_number = -1;
    switch (form) {
    case ROAST_KEY_NONE:
        return;
    case ROAST_KEY_TEXT: {
        uint64_t len = number(r, fault);
        if (len > ROAST_MAX_KEY)
            r->fault = fault;
        out->key = bytes(r, len, fault);
        return;
    }
    case ROAST_KEY_HASHED:
        out->key = known(r, &attempts->stems, number(r, fault), fault);
        out->key_hash = bytes(r, ROAST_KEY_HASH_BYTES, fault);
        return;
    case ROAST_KEY_NUMBERED:
        out->key = known(r, &attempts->stems, number(r, fault), fault);
        out->key_number = positive(r, true, fault);
        return;
    }
}

static void read_names(row_reader *r, const roast_attempts *attempts, uint8_t first, uint8_t second,
                       roast_attempt *out) {
    const char *fault = "the prefix of an attempt is malformed";
    out->kind = ROAST_KIND_foreign;
    if ((first & ROAST_ROW_FOREIGN) == 0) {
        uint64_t id = number(r, fault);
        out->kind = ROAST_KIND_other;
        if (id > 0) {
            out->prefix = known(r, &attempts->prefixes, id - 1, fault);
            if (r->fault == NULL)
                out->kind = (roast_attempt_kind)attempts->kinds[id - 1];
        }
    }
    read_key(r, attempts, (roast_key_form)(first >> ROAST_ROW_FORM_SHIFT & 3), out);
    out->worker = ROAST_NO_WORKER;
    if (second & ROAST_ROW_WORKER) {
        fault = "the worker of an attempt is malformed";
        uint64_t worker = number(r, fault);
        known(r, &attempts->workers, worker, fault);
        out->worker = (uint32_t)worker;
    }
    if (second & ROAST_ROW_THREAD) {
        fault = "the thread of an attempt is malformed";
        roast_str thread = known(r, &attempts->threads, number(r, fault), fault);
        for (unsigned i = 0; i < thread.len; i++)
            out->thread |= (uint64_t)(uint8_t)thread.data[i] << 8 * i;
    }
}

/* The order of the differences is that of the writer: each to the moment next to it. */
static void read_times(row_reader *r, uint8_t first, uint8_t second, int64_t last_us,
                       roast_attempt *out) {
    const char *fault = "a time of an attempt is malformed";
    int64_t near = out->ended_us = roast_wrap_add(last_us, signed_number(r, fault));
    out->start_us = out->stop_us = out->sent_us = out->ready_us = ROAST_NO_TIME;
    if (first & ROAST_ROW_COMPUTE) {
        out->stop_us = roast_wrap_sub(near, signed_number(r, fault));
        near = out->start_us = roast_wrap_sub(out->stop_us, signed_number(r, fault));
    }
    if (second & ROAST_ROW_SENT)
        near = out->sent_us = roast_wrap_sub(near, signed_number(r, fault));
    if (second & ROAST_ROW_READY)
        out->ready_us = roast_wrap_sub(near, signed_number(r, fault));
    out->transfer_us = positive(r, second & ROAST_ROW_TRANSFER, fault);
    out->deserialize_us = positive(r, second & ROAST_ROW_DESERIALIZE, fault);
    out->disk_us = positive(r, second & ROAST_ROW_DISK, fault);
    out->nbytes = positive(r, second & ROAST_ROW_NBYTES, "the size of a result is malformed");
}

static void read_end(row_reader *r, const roast_attempts *attempts, uint8_t first,
                     roast_attempt *out) {
    out->departure = ROAST_NO_DEPARTURE;
    if (first & ROAST_ROW_ERROR) {
        const char *fault = "the exception of an attempt is malformed";
        out->error_type = known(r, &attempts->texts, number(r, fault), fault);
        uint64_t message = number(r, fault);
        if (message > 0)
            out->error_message = known(r, &attempts->texts, message - 1, fault);
    }
    if (first & ROAST_ROW_DEPARTURE) {
        uint64_t departure = number(r, "the departure of an attempt is malformed");
        /* One that is lost may be noted before its worker is known to have left. */
        if (departure > attempts->departure_count)
            r->fault = "an attempt is lost with a worker that has not left";
        out->departure = (uint32_t)departure;
    }
}

const char *roast_attempt_row_read(const roast_attempts *attempts, int64_t last_us,
                                   const uint8_t **at, const uint8_t *end, roast_attempt *out) {
    row_reader r = {.at = *at, .end = end};
    *out = (roast_attempt){.kind = ROAST_KIND_other};
    if (end - *at < 2)
        return "an attempt is cut short";
    uint8_t first = *r.at++, second = *r.at++;
    out->outcome = (roast_outcome)(first & ROAST_ROW_OUTCOME);
    read_names(&r, attempts, first, second, out);
    read_times(&r, first, second, last_us, out);
    read_end(&r, attempts, first, out);
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
    if (roast_attempt_row_read(attempts, cursor->last_us, &at, end, out) != NULL)
        return false; /* cannot be: append and decode let only whole rows in */
    cursor->offset += (uint64_t)(at - start);
    cursor->last_us = out->ended_us;
    cursor->index++;
    return true;
}
