/* Attempts as bytes: docs/format/attempts.md. */
#include "base/frame.h"
#include "model/attempts_internal.h"

static const roast_frame frame = {"attempts", {'R', 'C', 'A', 'T'}, 1};
/* The fewest bytes of an entry: a count is checked against them before memory is taken. */
enum { NAME_MIN = 1, DEPARTURE_MIN = 4, ROW_MIN = 12 };

/* ---- out ---- */

static void put_names(roast_frame_writer *w, const roast_intern *names) {
    roast_frame_put_number(w, names->count);
    for (uint32_t i = 0; i < names->count; i++)
        roast_frame_put_text(w, roast_intern_get(names, i));
}

static void put_departures(roast_frame_writer *w, const roast_attempts *attempts) {
    int64_t last = 0;
    roast_frame_put_number(w, attempts->departure_count);
    for (uint32_t i = 0; i < attempts->departure_count; i++) {
        const roast_departure *departure = &attempts->departures[i];
        roast_frame_put_number(w, (uint64_t)departure->worker * 2 + departure->expected);
        roast_frame_put_signed(w, roast_wrap_sub(departure->when.ns, last));
        roast_frame_put_number(w, departure->running);
        roast_frame_put_number(w, departure->lost_results);
        last = departure->when.ns;
    }
}

roast_status roast_attempts_encode(const roast_attempts *attempts, roast_sink *sink,
                                   roast_error *err) {
    roast_frame_writer w;
    roast_frame_begin(&w, &frame, sink);
    put_names(&w, &attempts->prefixes);
    roast_frame_put_bytes(&w, attempts->kinds, attempts->prefixes.count);
    put_names(&w, &attempts->workers);
    put_names(&w, &attempts->texts);
    put_departures(&w, attempts);
    roast_frame_put_number(&w, attempts->count);
    roast_frame_put_bytes(&w, attempts->rows.data, attempts->rows.len);
    return roast_frame_finish(&w, err);
}

/* ---- in ---- */

/* A list of names, none of them twice, of `least` to `most` bytes. */
static roast_status get_names(roast_frame_reader *r, roast_intern *names, size_t least,
                              size_t most) {
    uint64_t count;
    ROAST_TRY(roast_frame_get_count(r, NAME_MIN, "the number of names is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        roast_str name;
        uint32_t id;
        ROAST_TRY(roast_frame_get_text(r, most, &name));
        if (name.len < least)
            return roast_frame_damaged(r, "a name is too short");
        roast_status status = roast_intern_add(names, name, &id);
        if (status != ROAST_OK)
            return roast_frame_fail(r, status, "no memory for the names");
        if (id != i)
            return roast_frame_damaged(r, "a name is there twice");
    }
    return ROAST_OK;
}

static roast_status get_kinds(roast_frame_reader *r, roast_attempts *attempts) {
    const uint8_t *bytes;
    void *kinds = NULL;
    uint32_t count = attempts->prefixes.count;
    ROAST_TRY(roast_frame_get_bytes(r, count, &bytes));
    for (uint32_t i = 0; i < count; i++)
        if (bytes[i] >= ROAST_KIND_foreign)
            return roast_frame_damaged(r, "the kind of a prefix is not known");
    if (roast_array_reserve(&kinds, &attempts->kinds_capacity, 1, (size_t)count + 1) != ROAST_OK)
        return roast_frame_fail(r, ROAST_ENOMEM, "no memory for the names");
    attempts->kinds = memcpy(kinds, bytes, count);
    return ROAST_OK;
}

static roast_status get_departures(roast_frame_reader *r, roast_attempts *attempts) {
    uint64_t count;
    int64_t when = 0;
    ROAST_TRY(roast_frame_get_count(r, DEPARTURE_MIN, "the number of departures is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t worker, running, results;
        int64_t passed;
        ROAST_TRY(roast_frame_get_number(r, &worker));
        ROAST_TRY(roast_frame_get_signed(r, &passed));
        ROAST_TRY(roast_frame_get_number(r, &running));
        ROAST_TRY(roast_frame_get_number(r, &results));
        if (worker / 2 >= attempts->workers.count)
            return roast_frame_damaged(r, "a worker left that is not there");
        if (running > UINT32_MAX || results > UINT32_MAX)
            return roast_frame_damaged(r, "a number of tasks is out of range");
        when = roast_wrap_add(when, passed);
        roast_departure departure = {
            (uint32_t)(worker / 2), {when}, worker & 1, (uint32_t)running, (uint32_t)results};
        ROAST_TRY(roast_attempts_add_departure(attempts, &departure, r->err));
    }
    return ROAST_OK;
}

static roast_status get_rows(roast_frame_reader *r, roast_attempts *attempts) {
    ROAST_TRY(
        roast_frame_get_count(r, ROW_MIN, "the number of attempts is wrong", &attempts->count));
    const uint8_t *start = r->at;
    for (uint64_t i = 0; i < attempts->count; i++) {
        roast_attempt attempt;
        const char *fault =
            roast_attempt_row_read(attempts, &attempts->last_us, &r->at, r->end, &attempt);
        if (fault != NULL)
            return roast_frame_damaged(r, fault);
    }
    roast_status status = roast_buffer_append(&attempts->rows, start, (size_t)(r->at - start));
    return status == ROAST_OK ? ROAST_OK
                              : roast_frame_fail(r, status, "no memory for the attempts");
}

static roast_status get_all(roast_frame_reader *r, roast_attempts *attempts) {
    ROAST_TRY(get_names(r, &attempts->prefixes, 0, ROAST_MAX_KEY));
    ROAST_TRY(get_kinds(r, attempts));
    ROAST_TRY(get_names(r, &attempts->workers, 1, ROAST_MAX_KEY));
    ROAST_TRY(get_names(r, &attempts->texts, 0, ROAST_MAX_ERROR_MESSAGE));
    ROAST_TRY(get_departures(r, attempts));
    ROAST_TRY(get_rows(r, attempts));
    return roast_frame_close(r);
}

roast_status roast_attempts_decode(const void *data, size_t len, roast_attempts **out,
                                   roast_error *err) {
    roast_frame_reader r;
    roast_attempts *attempts;
    ROAST_TRY(roast_frame_open(&r, &frame, data, len, err));
    ROAST_TRY(roast_attempts_new(&attempts, err));
    roast_status status = get_all(&r, attempts);
    if (status == ROAST_OK)
        *out = attempts;
    else
        roast_attempts_free(attempts);
    return status;
}
