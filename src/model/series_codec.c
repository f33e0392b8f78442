/* A worker series as bytes: docs/format/worker-series.md. */
#include "base/frame.h"
#include "model/series_internal.h"

static const roast_frame frame = {"worker series", {'R', 'C', 'W', 'S'}, 1};
/* The fewest bytes of an entry: a count is checked against them before memory is taken. */
enum { TICK_MIN = 2, WORKER_MIN = 4, CHANGE_MIN = 3 };

/* ---- out ---- */

static void put_ticks(roast_frame_writer *w, const roast_series *series) {
    roast_tick last = {INT64_MIN, 0};
    roast_frame_put_number(w, series->tick_count);
    for (uint64_t i = 0; i < series->tick_count; i++) {
        const roast_tick *tick = &series->ticks[i];
        roast_frame_put_number(w, (uint64_t)tick->when - (uint64_t)last.when);
        roast_frame_put_signed(w, (int64_t)tick->workers - (int64_t)last.workers);
        last = *tick;
    }
}

static void put_workers(roast_frame_writer *w, const roast_series *series) {
    roast_frame_put_number(w, series->names.count);
    for (uint32_t i = 0; i < series->names.count; i++) {
        const roast_buffer *rows = &series->workers[i].rows;
        roast_frame_put_text(w, roast_series_worker_name(series, i));
        roast_frame_put_label(w, roast_series_worker_host(series, i));
        roast_frame_put_text(w, (roast_str){(const char *)rows->data, rows->len});
    }
}

static void put_changes(roast_frame_writer *w, const roast_series *series) {
    int64_t last = 0;
    roast_frame_put_number(w, series->change_count);
    for (uint64_t i = 0; i < series->change_count; i++) {
        const roast_worker_change *change = &series->changes[i];
        roast_frame_put_number(w,
                               (uint64_t)change->worker * 2 + (change->kind == ROAST_WORKER_LEFT));
        roast_frame_put_signed(w, roast_wrap_sub(change->when.ns, last));
        roast_frame_put_number(w, (uint64_t)change->threads);
        last = change->when.ns;
    }
}

roast_status roast_series_encode(const roast_series *series, roast_sink *sink, roast_error *err) {
    roast_frame_writer w;
    roast_frame_begin(&w, &frame, sink);
    put_ticks(&w, series);
    put_workers(&w, series);
    put_changes(&w, series);
    return roast_frame_finish(&w, err);
}

/* ---- in ---- */

static roast_status get_ticks(roast_frame_reader *r, roast_series *series) {
    uint64_t count;
    int64_t when = INT64_MIN, workers = 0;
    ROAST_TRY(roast_frame_get_count(r, TICK_MIN, "the number of ticks is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t passed;
        int64_t more;
        ROAST_TRY(roast_frame_get_number(r, &passed));
        if (passed > (uint64_t)INT64_MAX - (uint64_t)when)
            return roast_frame_damaged(r, "the time of a tick is out of range");
        when = roast_wrap_add(when, (int64_t)passed);
        ROAST_TRY(roast_frame_get_signed(r, &more));
        if (more < -workers || more > (int64_t)ROAST_MAX_WORKERS - workers)
            return roast_frame_damaged(r, "the worker count of a tick is out of range");
        workers += more;
        ROAST_TRY(roast_series_tick(series, (roast_utc){when}, (uint32_t)workers, r->err));
    }
    return ROAST_OK;
}

/* Takes in the rows of one worker, which end at `end`. */
static roast_status get_rows(roast_frame_reader *r, roast_series *series, uint32_t worker,
                             const uint8_t *end) {
    roast_worker_slot *slot = &series->workers[worker];
    const uint8_t *start = r->at;
    while (r->at < end) {
        uint32_t changed;
        const char *fault =
            roast_series_row_read(&slot->last, series->tick_count, &r->at, end, &changed);
        if (fault != NULL)
            return roast_frame_damaged(r, fault);
        series->sample_count++;
    }
    roast_status status = roast_buffer_append(&slot->rows, start, (size_t)(end - start));
    return status == ROAST_OK ? ROAST_OK
                              : roast_frame_fail(r, status, "no memory for the rows of a worker");
}

static roast_status get_worker(roast_frame_reader *r, roast_series *series, uint32_t expected) {
    uint64_t len;
    uint32_t worker;
    roast_str name, host;
    ROAST_TRY(roast_frame_get_text(r, ROAST_MAX_WORKER_NAME, &name));
    if (name.len == 0)
        return roast_frame_damaged(r, "a worker has no name");
    ROAST_TRY(roast_series_worker(series, name, &worker, r->err));
    if (worker != expected)
        return roast_frame_damaged(r, "a worker is there twice");
    ROAST_TRY(roast_frame_get_label(r, ROAST_MAX_WORKER_NAME, &host));
    ROAST_TRY(roast_series_set_host(series, worker, host, r->err));
    ROAST_TRY(roast_frame_get_count(r, 1, "the rows of a worker are cut short", &len));
    return get_rows(r, series, worker, r->at + len);
}

static roast_status get_workers(roast_frame_reader *r, roast_series *series) {
    uint64_t count;
    ROAST_TRY(roast_frame_get_count(r, WORKER_MIN, "the number of workers is wrong", &count));
    if (count > ROAST_MAX_WORKERS)
        return roast_frame_fail(r, ROAST_ELIMIT, "there are too many workers");
    for (uint32_t i = 0; i < count; i++)
        ROAST_TRY(get_worker(r, series, i));
    return ROAST_OK;
}

static roast_status get_changes(roast_frame_reader *r, roast_series *series) {
    uint64_t count;
    int64_t when = 0;
    ROAST_TRY(
        roast_frame_get_count(r, CHANGE_MIN, "the number of joins and leaves is wrong", &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t worker, threads;
        int64_t passed;
        ROAST_TRY(roast_frame_get_number(r, &worker));
        ROAST_TRY(roast_frame_get_signed(r, &passed));
        ROAST_TRY(roast_frame_get_number(r, &threads));
        if (worker / 2 >= series->names.count)
            return roast_frame_damaged(r, "an unknown worker joins or leaves");
        if (threads > INT32_MAX)
            return roast_frame_damaged(r, "the threads of a worker are out of range");
        when = roast_wrap_add(when, passed);
        ROAST_TRY(roast_series_change(series, (uint32_t)(worker / 2),
                                      worker & 1 ? ROAST_WORKER_LEFT : ROAST_WORKER_JOINED,
                                      (roast_utc){when}, (int32_t)threads, r->err));
    }
    return ROAST_OK;
}

static roast_status get_all(roast_frame_reader *r, roast_series *series) {
    ROAST_TRY(get_ticks(r, series));
    ROAST_TRY(get_workers(r, series));
    ROAST_TRY(get_changes(r, series));
    return roast_frame_close(r);
}

roast_status roast_series_decode(const void *data, size_t len, roast_series **out,
                                 roast_error *err) {
    roast_frame_reader r;
    roast_series *series;
    ROAST_TRY(roast_frame_open(&r, &frame, data, len, err));
    ROAST_TRY(roast_series_new(&series, err));
    roast_status status = get_all(&r, series);
    if (status == ROAST_OK)
        *out = series;
    else
        roast_series_free(series);
    return status;
}
