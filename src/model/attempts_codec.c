/* Attempts as bytes: docs/format/attempts.md. */
#include "model/attempts_internal.h"

#include <string.h>

#include "base/crc32c.h"

static const char magic[4] = {'R', 'C', 'A', 'T'};
enum { VERSION = 1, HEADER = sizeof magic + 1, CHECKSUM = 4 };
/* The fewest bytes of an entry: a count is checked against them before memory is taken. */
enum { NAME_MIN = 1, DEPARTURE_MIN = 4, ROW_MIN = 3 };

/* ---- out ---- */
typedef struct writer {
    roast_sink *sink;
    uint32_t crc;
} writer;

static void put(writer *w, const void *data, size_t len) {
    if (len == 0)
        return;
    w->crc = roast_crc32c(w->crc, data, len);
    roast_sink_write(w->sink, data, len);
}

static void put_number(writer *w, uint64_t value) {
    uint8_t bytes[ROAST_VARINT_MAX];
    put(w, bytes, (size_t)(roast_put_varint(bytes, value) - bytes));
}

static void put_names(writer *w, const roast_intern *names, const uint8_t *kinds) {
    put_number(w, names->count);
    for (uint32_t i = 0; i < names->count; i++) {
        roast_str name = roast_intern_get(names, i);
        if (kinds != NULL)
            put(w, &kinds[i], 1);
        put_number(w, name.len);
        put(w, name.data, name.len);
    }
}

static void put_departures(writer *w, const roast_attempts *attempts) {
    int64_t last = 0;
    put_number(w, attempts->departure_count);
    for (uint32_t i = 0; i < attempts->departure_count; i++) {
        const roast_departure *departure = &attempts->departures[i];
        put_number(w, (uint64_t)departure->worker * 2 + departure->expected);
        put_number(w, roast_zigzag(roast_wrap_sub(departure->when.ns, last)));
        put_number(w, departure->running);
        put_number(w, departure->lost_results);
        last = departure->when.ns;
    }
}

roast_status roast_attempts_encode(const roast_attempts *attempts, roast_sink *sink,
                                   roast_error *err) {
    writer w = {.sink = sink};
    const uint8_t version = VERSION;
    put(&w, magic, sizeof magic);
    put(&w, &version, 1);
    put_names(&w, &attempts->prefixes, attempts->kinds);
    put_names(&w, &attempts->stems, NULL);
    put_names(&w, &attempts->workers, NULL);
    put_names(&w, &attempts->threads, NULL);
    put_names(&w, &attempts->texts, NULL);
    put_departures(&w, attempts);
    put_number(&w, attempts->count);
    put(&w, attempts->rows.data, attempts->rows.len);
    uint8_t checksum[CHECKSUM];
    for (unsigned i = 0; i < CHECKSUM; i++)
        checksum[i] = (uint8_t)(w.crc >> 8 * i);
    roast_sink_write(sink, checksum, sizeof checksum);
    return roast_sink_finish(sink, err);
}

/* ---- in ---- */
typedef struct reader {
    const uint8_t *start, *at, *end; /* end: where the checksum begins */
    roast_error *err;
} reader;

static roast_status fail(const reader *r, roast_status status, const char *what) {
    int64_t position = r->at - r->start;
    return roast_error_set(r->err, status, "attempts", position, "%s (byte %lld)", what,
                           (long long)position);
}

static roast_status damaged(const reader *r, const char *what) {
    return fail(r, ROAST_ECORRUPT, what);
}

static roast_status get_number(reader *r, const char *what, uint64_t *value) {
    const uint8_t *at = r->at;
    if (!roast_get_varint(&at, r->end, value))
        return damaged(r, what);
    r->at = at;
    return ROAST_OK;
}

/* How many entries follow, each of which takes at least `least` bytes. */
static roast_status get_count(reader *r, size_t least, const char *what, uint64_t *count) {
    const uint8_t *before = r->at;
    ROAST_TRY(get_number(r, what, count));
    if (*count <= (size_t)(r->end - r->at) / least)
        return ROAST_OK;
    r->at = before;
    return damaged(r, what);
}

static roast_status get_name(reader *r, size_t most, roast_str *name) {
    uint64_t len = 0;
    ROAST_TRY(get_number(r, "the length of a name is malformed", &len));
    if (len > (size_t)(r->end - r->at))
        return damaged(r, "a name is cut short");
    if (len > most)
        return fail(r, ROAST_ELIMIT, "a name is beyond the limit");
    *name = (roast_str){(const char *)r->at, (size_t)len};
    r->at += len;
    return ROAST_OK;
}

static roast_status get_names(reader *r, roast_intern *names, size_t least, size_t most) {
    uint64_t count = 0;
    ROAST_TRY(get_count(r, NAME_MIN, "the number of names is wrong", &count));
    if (count > ROAST_INTERN_MAX)
        return fail(r, ROAST_ELIMIT, "there are too many names");
    for (uint64_t i = 0; i < count; i++) {
        roast_str name;
        uint32_t id;
        ROAST_TRY(get_name(r, most, &name));
        if (name.len < least)
            return damaged(r, "a name is too short");
        roast_status status = roast_intern_add(names, name, &id);
        if (status != ROAST_OK)
            return fail(r, status, "no memory for the names");
        if (id != i)
            return damaged(r, "a name is there twice");
    }
    return ROAST_OK;
}

static roast_status get_prefixes(reader *r, roast_attempts *attempts) {
    uint64_t count = 0;
    ROAST_TRY(get_count(r, 1 + NAME_MIN, "the number of prefixes is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        roast_str name;
        uint32_t id;
        if (r->at == r->end || *r->at >= ROAST_KIND_foreign)
            return damaged(r, "the kind of a prefix is unknown");
        uint8_t kind = *r->at++;
        ROAST_TRY(get_name(r, ROAST_MAX_KEY, &name));
        roast_status status = roast_attempts_prefix(attempts, name, &id);
        if (status != ROAST_OK)
            return fail(r, status, "no memory for the prefixes");
        if (id != i)
            return damaged(r, "a prefix is there twice");
        attempts->kinds[id] = kind;
    }
    return ROAST_OK;
}

static roast_status get_departures(reader *r, roast_attempts *attempts) {
    const char *what = "a departure is malformed";
    uint64_t count = 0;
    int64_t when = 0;
    ROAST_TRY(get_count(r, DEPARTURE_MIN, "the number of departures is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t worker = 0, passed = 0, running = 0, results = 0;
        ROAST_TRY(get_number(r, what, &worker));
        ROAST_TRY(get_number(r, what, &passed));
        ROAST_TRY(get_number(r, what, &running));
        ROAST_TRY(get_number(r, what, &results));
        if (worker / 2 >= attempts->workers.count)
            return damaged(r, "a worker left that is not there");
        if (running > UINT32_MAX || results > UINT32_MAX)
            return damaged(r, "a number of tasks is out of range");
        when = roast_wrap_add(when, roast_unzigzag(passed));
        roast_departure departure = {
            (uint32_t)(worker / 2), {when}, worker & 1, (uint32_t)running, (uint32_t)results};
        ROAST_TRY(roast_attempts_add_departure(attempts, &departure, r->err));
    }
    return ROAST_OK;
}

static roast_status get_rows(reader *r, roast_attempts *attempts) {
    uint64_t count = 0;
    ROAST_TRY(get_count(r, ROW_MIN, "the number of attempts is wrong", &count));
    const uint8_t *start = r->at;
    for (uint64_t i = 0; i < count; i++) {
        roast_attempt attempt;
        const char *fault =
            roast_attempt_row_read(attempts, attempts->last_us, &r->at, r->end, &attempt);
        if (fault != NULL)
            return damaged(r, fault);
        attempts->last_us = attempt.ended_us;
    }
    if (r->at != r->end)
        return damaged(r, "there are bytes behind the attempts");
    roast_status status = roast_buffer_append(&attempts->rows, start, (size_t)(r->end - start));
    if (status != ROAST_OK)
        return fail(r, status, "no memory for the attempts");
    attempts->count = count;
    return ROAST_OK;
}

static roast_status get_all(reader *r, roast_attempts *attempts) {
    ROAST_TRY(get_prefixes(r, attempts));
    ROAST_TRY(get_names(r, &attempts->stems, 0, ROAST_MAX_KEY));
    ROAST_TRY(get_names(r, &attempts->workers, 1, ROAST_MAX_KEY));
    ROAST_TRY(get_names(r, &attempts->threads, 8, 8));
    ROAST_TRY(get_names(r, &attempts->texts, 0, ROAST_MAX_ERROR_MESSAGE));
    ROAST_TRY(get_departures(r, attempts));
    return get_rows(r, attempts);
}

static roast_status check_frame(reader *r, size_t len) {
    const char *where = "attempts";
    if (len < HEADER + CHECKSUM)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, (int64_t)len,
                               "%zu bytes are too few for attempts", len);
    if (memcmp(r->start, magic, sizeof magic) != 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, 0, "these are no attempts");
    unsigned version = r->start[sizeof magic];
    if (version > VERSION)
        return roast_error_set(r->err, ROAST_EVERSION, where, sizeof magic,
                               "attempts of version %u; this roastcoffea (%s) reads up to version "
                               "%d: upgrade it",
                               version, roast_version(), VERSION);
    if (version == 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, sizeof magic,
                               "attempts of version 0 do not exist");
    uint32_t stored = 0, found = roast_crc32c(0, r->start, (size_t)(r->end - r->start));
    for (unsigned i = 0; i < CHECKSUM; i++)
        stored |= (uint32_t)r->end[i] << 8 * i;
    if (stored != found)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, r->end - r->start,
                               "the checksum is wrong: %08x is stored, the bytes give %08x", stored,
                               found);
    return ROAST_OK;
}

roast_status roast_attempts_decode(const void *data, size_t len, roast_attempts **out,
                                   roast_error *err) {
    const uint8_t *bytes = data;
    size_t body = len < HEADER + CHECKSUM ? 0 : len - CHECKSUM;
    reader r = {
        .start = bytes, .at = bytes, .end = bytes == NULL ? NULL : bytes + body, .err = err};
    ROAST_TRY(check_frame(&r, bytes == NULL ? 0 : len));
    r.at += HEADER;
    roast_attempts *attempts;
    ROAST_TRY(roast_attempts_new(&attempts, err));
    roast_status status = get_all(&r, attempts);
    if (status != ROAST_OK) {
        roast_attempts_free(attempts);
        return status;
    }
    *out = attempts;
    return ROAST_OK;
}
