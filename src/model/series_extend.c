/* Puts one series behind another. */
#include "roast/series.h"

/* A worker of the piece: its number in the series that grows, and its next sample. */
typedef struct follower {
    uint32_t worker;
    bool there;
    roast_series_cursor cursor;
    roast_sample next;
} follower;

/* Of its next sample: the cursor stands behind it. */
static uint64_t tick_of(const follower *one) {
    return one->cursor.row.tick - 1;
}

static roast_status follow(roast_series *series, const roast_series *piece, uint32_t number,
                           uint64_t from_tick, follower *out, roast_error *err) {
    ROAST_TRY(
        roast_series_worker(series, roast_series_worker_name(piece, number), &out->worker, err));
    roast_str host = roast_series_worker_host(piece, number);
    if (host.data != NULL)
        ROAST_TRY(roast_series_set_host(series, out->worker, host, err));
    roast_series_cursor_init(&out->cursor, piece, number);
    do
        out->there = roast_series_cursor_next(&out->cursor, &out->next);
    while (out->there && tick_of(out) < from_tick);
    return ROAST_OK;
}

static roast_status add_ticks(roast_series *series, const roast_series *piece, uint64_t from_tick,
                              follower *followers, roast_error *err) {
    uint32_t workers = roast_series_worker_count(piece);
    for (uint64_t tick = from_tick; tick < roast_series_tick_count(piece); tick++) {
        roast_utc when = roast_series_tick_time(piece, tick);
        ROAST_TRY(roast_series_tick(series, when, roast_series_tick_workers(piece, tick), err));
        for (uint32_t i = 0; i < workers; i++) {
            follower *one = &followers[i];
            if (!one->there || tick_of(one) != tick)
                continue;
            ROAST_TRY(roast_series_append(series, one->worker, one->next.value, err));
            one->there = roast_series_cursor_next(&one->cursor, &one->next);
        }
    }
    return ROAST_OK;
}

static roast_status add_events(roast_series *series, const roast_series *piece, uint64_t from_event,
                               const follower *followers, roast_error *err) {
    for (uint64_t i = from_event; i < roast_series_event_count(piece); i++) {
        roast_worker_event event = roast_series_event_at(piece, i);
        ROAST_TRY(roast_series_event(series, followers[event.worker].worker, event.kind, event.when,
                                     event.threads, err));
    }
    return ROAST_OK;
}

roast_status roast_series_extend(roast_series *series, const roast_series *piece,
                                 uint64_t from_tick, uint64_t from_event, roast_error *err) {
    uint32_t workers = roast_series_worker_count(piece);
    if (workers == 0)
        return add_ticks(series, piece, from_tick, NULL, err);
    follower *followers = roast_alloc(workers * sizeof *followers);
    if (followers == NULL)
        return roast_error_set(err, ROAST_ENOMEM, "series extend", -1, "no memory for the series");
    roast_status status = ROAST_OK;
    for (uint32_t i = 0; status == ROAST_OK && i < workers; i++)
        status = follow(series, piece, i, from_tick, &followers[i], err);
    if (status == ROAST_OK)
        status = add_ticks(series, piece, from_tick, followers, err);
    if (status == ROAST_OK)
        status = add_events(series, piece, from_event, followers, err);
    roast_free(followers);
    return status;
}
