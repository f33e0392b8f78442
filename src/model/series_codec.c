/* A worker series as bytes: docs/format/worker-series.md. */
#include "model/series_internal.h"

#include <string.h>

#include "base/crc32c.h"

static const char magic[4] = {'R', 'C', 'W', 'S'};
enum { VERSION = 1, HEADER = sizeof magic + 1, CHECKSUM = 4 };
/* The fewest bytes of an entry: a count is checked against them before memory is taken. */
enum { TICK_MIN = 2, WORKER_MIN = 4, EVENT_MIN = 3 };

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

static void put_signed(writer *w, int64_t value) {
    put_number(w, roast_zigzag(value));
}

/* later - earlier for any two numbers; the reader adds it the same way. */
static int64_t difference(int64_t earlier, int64_t later) {
    return (int64_t)((uint64_t)later - (uint64_t)earlier);
}

static void put_ticks(writer *w, const roast_series *series) {
    roast_tick last = {0, 0};
    put_number(w, series->tick_count);
    for (uint64_t i = 0; i < series->tick_count; i++) {
        const roast_tick *tick = &series->ticks[i];
        if (i == 0)
            put_signed(w, tick->when);
        else
            put_number(w, (uint64_t)tick->when - (uint64_t)last.when);
        put_signed(w, (int64_t)tick->workers - (int64_t)last.workers);
        last = *tick;
    }
}

static void put_workers(writer *w, const roast_series *series) {
    uint32_t count = roast_series_worker_count(series);
    put_number(w, count);
    for (uint32_t i = 0; i < count; i++) {
        roast_str name = roast_series_worker_name(series, i);
        roast_str host = roast_series_worker_host(series, i);
        put_number(w, name.len);
        put(w, name.data, name.len);
        put_number(w, host.data == NULL ? 0 : host.len + 1);
        put(w, host.data, host.len);

        const roast_stream *rows = &series->workers[i].rows;
        const uint8_t *piece = NULL;
        uint64_t position = roast_stream_begin(rows);
        put_number(w, rows->length);
        for (size_t len; (len = roast_stream_piece(&series->pool, rows, position, &piece)) > 0;) {
            put(w, piece, len);
            position = roast_stream_advance(&series->pool, position, len);
        }
    }
}

static void put_events(writer *w, const roast_series *series) {
    int64_t last = 0;
    put_number(w, series->event_count);
    for (uint64_t i = 0; i < series->event_count; i++) {
        const roast_worker_event *event = &series->events[i];
        put_number(w, (uint64_t)event->worker * 2 + (event->kind == ROAST_WORKER_LEFT));
        put_signed(w, difference(last, event->when.ns));
        put_number(w, (uint64_t)event->threads);
        last = event->when.ns;
    }
}

roast_status roast_series_encode(const roast_series *series, roast_sink *sink, roast_error *err) {
    writer w = {.sink = sink};
    const uint8_t version = VERSION;
    put(&w, magic, sizeof magic);
    put(&w, &version, 1);
    put_ticks(&w, series);
    put_workers(&w, series);
    put_events(&w, series);
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
    return roast_error_set(r->err, status, "worker series", position, "%s (byte %lld)", what,
                           (long long)position);
}

static roast_status damaged(const reader *r, const char *what) {
    return fail(r, ROAST_ECORRUPT, what);
}

static size_t left(const reader *r) {
    return (size_t)(r->end - r->at);
}

static roast_status get_number(reader *r, const char *what, uint64_t *value) {
    const uint8_t *at = r->at;
    if (!roast_get_varint(&at, r->end, value))
        return damaged(r, what);
    r->at = at;
    return ROAST_OK;
}

static roast_status get_signed(reader *r, const char *what, int64_t *value) {
    uint64_t raw;
    ROAST_TRY(get_number(r, what, &raw));
    *value = roast_unzigzag(raw);
    return ROAST_OK;
}

/* How many entries follow, each of which takes at least `least` bytes. */
static roast_status get_count(reader *r, size_t least, const char *what, uint64_t *count) {
    const uint8_t *before = r->at;
    ROAST_TRY(get_number(r, what, count));
    if (*count <= left(r) / least)
        return ROAST_OK;
    r->at = before;
    return damaged(r, what);
}

static roast_status get_text(reader *r, uint64_t len, const char *what, roast_str *text) {
    if (len > left(r))
        return damaged(r, what);
    if (len > ROAST_MAX_WORKER_NAME)
        return fail(r, ROAST_ELIMIT, what);
    *text = (roast_str){(const char *)r->at, (size_t)len};
    r->at += len;
    return ROAST_OK;
}

static roast_status get_ticks(reader *r, roast_series *series) {
    uint64_t count;
    roast_tick tick = {0, 0};
    ROAST_TRY(get_count(r, TICK_MIN, "the number of ticks is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t passed;
        int64_t workers;
        if (i == 0) {
            ROAST_TRY(get_signed(r, "the time of the first tick is malformed", &tick.when));
        } else {
            ROAST_TRY(get_number(r, "the time of a tick is malformed", &passed));
            if (passed > (uint64_t)INT64_MAX - (uint64_t)tick.when)
                return damaged(r, "the time of a tick is out of range");
            tick.when = (int64_t)((uint64_t)tick.when + passed);
        }
        ROAST_TRY(get_signed(r, "the worker count of a tick is malformed", &workers));
        if (workers < -(int64_t)tick.workers)
            return damaged(r, "the worker count of a tick is negative");
        if (workers > (int64_t)ROAST_MAX_WORKERS - tick.workers)
            return fail(r, ROAST_ELIMIT, "the worker count of a tick is beyond the limit");
        tick.workers = (uint32_t)(tick.workers + workers);
        ROAST_TRY(roast_series_tick(series, (roast_utc){tick.when}, tick.workers, r->err));
    }
    return ROAST_OK;
}

/* Takes in the rows of one worker, which fill [r->at, end). */
static roast_status get_rows(reader *r, roast_series *series, uint32_t worker, const uint8_t *end) {
    roast_worker_slot *slot = &series->workers[worker];
    while (r->at < end) {
        const uint8_t *at = r->at;
        const char *fault = roast_series_row_read(&slot->last, series->tick_count, &at, end);
        if (fault != NULL)
            return damaged(r, fault);
        size_t len = (size_t)(at - r->at);
        roast_status status = roast_stream_append(&series->pool, &slot->rows, r->at, len);
        if (status != ROAST_OK)
            return fail(r, status, "no memory for the rows of a worker");
        series->sample_count++;
        r->at = at;
    }
    return ROAST_OK;
}

static roast_status get_worker(reader *r, roast_series *series, uint32_t expected) {
    uint64_t len;
    uint32_t worker;
    roast_str name, host;
    ROAST_TRY(get_number(r, "the length of a worker's name is malformed", &len));
    if (len == 0)
        return damaged(r, "a worker has no name");
    ROAST_TRY(get_text(r, len, "a worker's name is too long", &name));
    ROAST_TRY(roast_series_worker(series, name, &worker, r->err));
    if (worker != expected)
        return damaged(r, "a worker is there twice");
    ROAST_TRY(get_number(r, "the length of a host's name is malformed", &len));
    if (len > 0) {
        ROAST_TRY(get_text(r, len - 1, "a host's name is too long", &host));
        ROAST_TRY(roast_series_set_host(series, worker, host, r->err));
    }
    ROAST_TRY(get_number(r, "the length of a worker's rows is malformed", &len));
    if (len > left(r))
        return damaged(r, "the rows of a worker are cut short");
    return get_rows(r, series, worker, r->at + len);
}

static roast_status get_workers(reader *r, roast_series *series) {
    uint64_t count;
    ROAST_TRY(get_count(r, WORKER_MIN, "the number of workers is wrong", &count));
    if (count > ROAST_MAX_WORKERS)
        return fail(r, ROAST_ELIMIT, "there are too many workers");
    for (uint32_t i = 0; i < count; i++)
        ROAST_TRY(get_worker(r, series, i));
    return ROAST_OK;
}

static roast_status get_events(reader *r, roast_series *series) {
    uint64_t count;
    int64_t when = 0;
    ROAST_TRY(get_count(r, EVENT_MIN, "the number of events is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t worker, threads;
        int64_t passed;
        ROAST_TRY(get_number(r, "the worker of an event is malformed", &worker));
        if (worker / 2 >= roast_series_worker_count(series))
            return damaged(r, "an event is about an unknown worker");
        ROAST_TRY(get_signed(r, "the time of an event is malformed", &passed));
        ROAST_TRY(get_number(r, "the threads of an event are malformed", &threads));
        if (threads > INT32_MAX)
            return damaged(r, "the threads of an event are out of range");
        when = (int64_t)((uint64_t)when + (uint64_t)passed);
        ROAST_TRY(roast_series_event(series, (uint32_t)(worker / 2),
                                     worker & 1 ? ROAST_WORKER_LEFT : ROAST_WORKER_JOINED,
                                     (roast_utc){when}, (int32_t)threads, r->err));
    }
    return ROAST_OK;
}

static roast_status get_all(reader *r, roast_series *series) {
    ROAST_TRY(get_ticks(r, series));
    ROAST_TRY(get_workers(r, series));
    ROAST_TRY(get_events(r, series));
    return r->at == r->end ? ROAST_OK : damaged(r, "there are bytes behind the events");
}

static roast_status check_frame(reader *r, size_t len) {
    const char *where = "worker series";
    if (len < HEADER + CHECKSUM)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, (int64_t)len,
                               "%zu bytes are too few for a worker series", len);
    if (memcmp(r->start, magic, sizeof magic) != 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, 0, "this is not a worker series");
    unsigned version = r->start[sizeof magic];
    if (version > VERSION)
        return roast_error_set(r->err, ROAST_EVERSION, where, sizeof magic,
                               "a worker series of version %u; this roastcoffea (%s) reads up to "
                               "version %d: upgrade it",
                               version, roast_version(), VERSION);
    if (version == 0)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, sizeof magic,
                               "a worker series of version 0 does not exist");
    uint32_t stored = 0, found = roast_crc32c(0, r->start, (size_t)(r->end - r->start));
    for (unsigned i = 0; i < CHECKSUM; i++)
        stored |= (uint32_t)r->end[i] << 8 * i;
    if (stored != found)
        return roast_error_set(r->err, ROAST_ECORRUPT, where, r->end - r->start,
                               "the checksum is wrong: %08x is stored, the bytes give %08x", stored,
                               found);
    return ROAST_OK;
}

roast_status roast_series_decode(const void *data, size_t len, roast_series **out,
                                 roast_error *err) {
    const uint8_t *bytes = data;
    size_t body = len < HEADER + CHECKSUM ? 0 : len - CHECKSUM;
    reader r = {
        .start = bytes, .at = bytes, .end = bytes == NULL ? NULL : bytes + body, .err = err};
    ROAST_TRY(check_frame(&r, bytes == NULL ? 0 : len));
    r.at += HEADER;
    roast_series *series;
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = get_all(&r, series);
    if (status != ROAST_OK) {
        roast_series_free(series);
        return status;
    }
    *out = series;
    return ROAST_OK;
}
