#include "model/series_internal.h"

#include <math.h>
#include <string.h>

static const roast_series_column_info columns[ROAST_COLUMNS] = {
#define X(name, key, json, steps, unit) {#name, key, json, steps, unit},
    ROAST_SERIES_COLUMNS(X)
#undef X
};

#define CURSOR_AT_START UINT64_MAX /* no position: blocks are numbered in 32 bits */

const roast_series_column_info *roast_series_column_at(roast_series_column column) {
    return (unsigned)column < ROAST_COLUMNS ? &columns[column] : NULL;
}

/* ---- life ---- */
static roast_status no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "worker series", -1, "no memory for the worker series");
}

roast_status roast_series_new(roast_series **out, roast_error *err) {
    roast_series *series = roast_alloc_zero(sizeof *series);
    if (series == NULL)
        return no_memory(ROAST_ENOMEM, err);
    *out = series;
    return ROAST_OK;
}

void roast_series_free(roast_series *series) {
    if (series == NULL)
        return;
    roast_intern_reset(&series->names);
    roast_intern_reset(&series->hosts);
    roast_free(series->workers);
    roast_free(series->ticks);
    roast_free(series->events);
    roast_block_pool_reset(&series->pool);
    roast_free(series);
}

size_t roast_series_memory(const roast_series *series) {
    return sizeof *series + roast_intern_memory(&series->names) +
           roast_intern_memory(&series->hosts) +
           series->workers_capacity * sizeof *series->workers +
           series->ticks_capacity * sizeof *series->ticks +
           series->events_capacity * sizeof *series->events +
           roast_block_pool_memory(&series->pool);
}

/* ---- workers ---- */
roast_status roast_series_worker(roast_series *series, roast_str name, uint32_t *worker,
                                 roast_error *err) {
    const char *where = "worker series";
    if (name.data == NULL || name.len == 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a worker needs a name");
    if (name.len > ROAST_MAX_WORKER_NAME)
        return roast_error_set(err, ROAST_ELIMIT, where, -1,
                               "a worker's name has %zu bytes, the limit is %u", name.len,
                               ROAST_MAX_WORKER_NAME);
    uint32_t before = series->names.count, number;
    /* First the slot, then the name: a failure in between leaves nothing that counts. */
    void *workers = series->workers;
    roast_status status = roast_array_reserve(&workers, &series->workers_capacity,
                                              sizeof *series->workers, (size_t)before + 1);
    series->workers = workers;
    if (status == ROAST_OK)
        status = roast_intern_add(&series->names, name, &number);
    if (status != ROAST_OK)
        return no_memory(status, err);
    if (number == before && before >= ROAST_MAX_WORKERS) {
        roast_intern_truncate(&series->names, before);
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "more than %u workers",
                               ROAST_MAX_WORKERS);
    }
    if (number == before)
        series->workers[number] = (roast_worker_slot){.host = ROAST_NO_HOST};
    *worker = number;
    return ROAST_OK;
}

uint32_t roast_series_worker_count(const roast_series *series) {
    return series->names.count;
}

roast_str roast_series_worker_name(const roast_series *series, uint32_t worker) {
    if (worker >= series->names.count)
        return (roast_str){NULL, 0};
    return roast_intern_get(&series->names, worker);
}

static roast_status check_worker(const roast_series *series, uint32_t worker, roast_error *err) {
    if (worker < series->names.count)
        return ROAST_OK;
    return roast_error_set(err, ROAST_EINVAL, "worker series", -1, "there is no worker number %u",
                           worker);
}

roast_status roast_series_set_host(roast_series *series, uint32_t worker, roast_str host,
                                   roast_error *err) {
    ROAST_TRY(check_worker(series, worker, err));
    uint32_t number = ROAST_NO_HOST;
    if (host.len > ROAST_MAX_WORKER_NAME)
        return roast_error_set(err, ROAST_ELIMIT, "worker series", -1,
                               "a host's name has %zu bytes, the limit is %u", host.len,
                               ROAST_MAX_WORKER_NAME);
    if (host.data != NULL) {
        roast_status status = roast_intern_add(&series->hosts, host, &number);
        if (status != ROAST_OK)
            return no_memory(status, err);
    }
    series->workers[worker].host = number;
    return ROAST_OK;
}

roast_str roast_series_worker_host(const roast_series *series, uint32_t worker) {
    if (worker >= series->names.count || series->workers[worker].host == ROAST_NO_HOST)
        return (roast_str){NULL, 0};
    return roast_intern_get(&series->hosts, series->workers[worker].host);
}

/* ---- in ---- */
roast_status roast_series_tick(roast_series *series, roast_utc when, uint32_t n_workers,
                               roast_error *err) {
    const char *where = "worker series tick";
    if (n_workers > ROAST_MAX_WORKERS)
        return roast_error_set(err, ROAST_ELIMIT, where, -1, "%u workers, the limit is %u",
                               n_workers, ROAST_MAX_WORKERS);
    uint64_t count = series->tick_count;
    if (count > 0 && when.ns < series->ticks[count - 1].when)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "the time of a tick is before that of the last one");
    void *ticks = series->ticks;
    roast_status status = roast_array_reserve(&ticks, &series->ticks_capacity,
                                              sizeof *series->ticks, (size_t)count + 1);
    if (status != ROAST_OK)
        return no_memory(status, err);
    series->ticks = ticks;
    series->ticks[count] = (roast_tick){when.ns, n_workers};
    series->tick_count++;
    return ROAST_OK;
}

roast_status roast_series_append(roast_series *series, uint32_t worker,
                                 const double value[ROAST_COLUMNS], roast_error *err) {
    ROAST_TRY(check_worker(series, worker, err));
    roast_worker_slot *slot = &series->workers[worker];
    if (series->tick_count == 0)
        return roast_error_set(err, ROAST_ESTATE, "worker series append", -1,
                               "a row was given before the first tick");
    if (slot->last.tick == series->tick_count)
        return roast_error_set(err, ROAST_ESTATE, "worker series append", -1,
                               "worker %u has a row in this tick already", worker);
    if (worker + 4 < series->names.count)
        roast_stream_expect(&series->pool, &series->workers[worker + 4].rows);
    roast_series_state next = slot->last;
    uint8_t row[ROAST_SERIES_ROW_MAX];
    size_t len = roast_series_row_write(&next, series->tick_count - 1, value, row);
    roast_status status = roast_stream_append(&series->pool, &slot->rows, row, len);
    if (status != ROAST_OK)
        return no_memory(status, err);
    slot->last = next;
    series->sample_count++;
    return ROAST_OK;
}

roast_status roast_series_event(roast_series *series, uint32_t worker, roast_worker_event_kind kind,
                                roast_utc when, int32_t threads, roast_error *err) {
    const char *where = "worker series event";
    ROAST_TRY(check_worker(series, worker, err));
    if (kind != ROAST_WORKER_JOINED && kind != ROAST_WORKER_LEFT)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%d is no kind of event", (int)kind);
    if (threads < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a worker with %d threads", threads);
    void *events = series->events;
    roast_status status = roast_array_reserve(
        &events, &series->events_capacity, sizeof *series->events, (size_t)series->event_count + 1);
    if (status != ROAST_OK)
        return no_memory(status, err);
    series->events = events;
    series->events[series->event_count++] = (roast_worker_event){worker, kind, when, threads};
    return ROAST_OK;
}

/* ---- out ---- */
uint64_t roast_series_tick_count(const roast_series *series) {
    return series->tick_count;
}

roast_utc roast_series_tick_time(const roast_series *series, uint64_t tick) {
    return (roast_utc){tick < series->tick_count ? series->ticks[tick].when : 0};
}

uint32_t roast_series_tick_workers(const roast_series *series, uint64_t tick) {
    return tick < series->tick_count ? series->ticks[tick].workers : 0;
}

uint64_t roast_series_sample_count(const roast_series *series) {
    return series->sample_count;
}

uint64_t roast_series_event_count(const roast_series *series) {
    return series->event_count;
}

roast_worker_event roast_series_event_at(const roast_series *series, uint64_t index) {
    if (index >= series->event_count)
        return (roast_worker_event){.worker = UINT32_MAX};
    return series->events[index];
}

void roast_series_cursor_init(roast_series_cursor *cursor, const roast_series *series,
                              uint32_t worker) {
    roast_series_cursor_init_for(cursor, series, worker, ROAST_SERIES_ALL);
}

void roast_series_cursor_init_for(roast_series_cursor *cursor, const roast_series *series,
                                  uint32_t worker, uint32_t wanted) {
    *cursor = (roast_series_cursor){.series = series,
                                    .worker = worker,
                                    .wanted = wanted & ROAST_SERIES_ALL,
                                    .offset = CURSOR_AT_START};
    for (unsigned column = 0; column < ROAST_COLUMNS; column++)
        if ((cursor->wanted >> column & 1) == 0)
            cursor->value[column] = NAN;
}

/* Whether the row that begins these bytes ends among them: as many bytes that end a number as it has
 * numbers. To copy the longest row there could be takes longer. */
static bool holds_row(const uint8_t *data, size_t len) {
    if (len < 2)
        return false;
    uint32_t mask = (uint32_t)data[0] | (uint32_t)data[1] << 8;
    uint64_t wanted = (uint64_t)__builtin_popcount(mask);
    wanted += mask >> ROAST_COLUMN_memory & 1; /* may have two */
    size_t at = 2;
    for (uint64_t word; wanted > 0 && len - at >= sizeof word; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        uint64_t ends = (~word >> 7 & UINT64_C(0x0101010101010101)) * UINT64_C(0x0101010101010101);
        wanted -= ends >> 56 < wanted ? ends >> 56 : wanted;
    }
    for (; wanted > 0 && at < len; at++)
        wanted -= data[at] < 0x80;
    return wanted == 0;
}

/* The bytes of the row at `position`, and perhaps more behind it; copied together where the row may
 * run over the end of its block. */
static const uint8_t *row_bytes(const roast_series *series, const roast_stream *rows,
                                uint64_t position, uint8_t scratch[ROAST_SERIES_ROW_MAX],
                                size_t *len) {
    const uint8_t *data = NULL;
    *len = roast_stream_piece(&series->pool, rows, position, &data);
    if (*len >= ROAST_SERIES_ROW_MAX || holds_row(data, *len))
        return data;
    memcpy(scratch, data, *len);
    position = roast_stream_advance(&series->pool, position, *len);
    size_t more = roast_stream_piece(&series->pool, rows, position, &data);
    if (more > ROAST_SERIES_ROW_MAX - *len)
        more = ROAST_SERIES_ROW_MAX - *len;
    if (more > 0)
        memcpy(scratch + *len, data, more);
    *len += more;
    return scratch;
}

/* Passes a row without a change, which is two bytes of zero; false: the next one is another. */
static inline bool pass_same(roast_series_cursor *cursor, const roast_series *series,
                             const roast_stream *rows) {
    const uint8_t *row = NULL;
    size_t len = roast_stream_piece(&series->pool, rows, cursor->offset, &row);
    if (len < 2 || row[0] != 0 || row[1] != 0 || cursor->row.tick >= series->tick_count)
        return false;
    cursor->offset = roast_stream_advance(&series->pool, cursor->offset, 2);
    cursor->row.tick++;
    return true;
}

static bool read_row(roast_series_cursor *cursor, const roast_series *series,
                     const roast_stream *rows) {
    uint8_t scratch[ROAST_SERIES_ROW_MAX];
    size_t len;
    const uint8_t *start = row_bytes(series, rows, cursor->offset, scratch, &len), *at = start;
    roast_series_state *row = &cursor->row;
    if (roast_series_row_read(row, series->tick_count, &at, start + len) != NULL) {
        cursor->offset = rows->end; /* cannot be: append and decode let only whole rows in */
        return false;
    }
    uint32_t changed = (uint32_t)start[0] | (uint32_t)start[1] << 8;
    if (changed & ROAST_SERIES_MISSING)
        changed = ROAST_SERIES_ALL;
    cursor->offset = roast_stream_advance(&series->pool, cursor->offset, (size_t)(at - start));
    for (changed &= cursor->wanted; changed != 0; changed &= changed - 1) {
        unsigned column = (unsigned)__builtin_ctz(changed);
        double value = (double)row->steps[column], steps_per_unit = columns[column].steps_per_unit;
        if (steps_per_unit != 1) /* a division takes as long as all the rest */
            value /= steps_per_unit;
        cursor->value[column] = row->missing >> column & 1 ? NAN : value;
    }
    return true;
}

bool roast_series_cursor_step(roast_series_cursor *cursor, roast_utc *when) {
    const roast_series *series = cursor->series;
    if (cursor->worker >= series->names.count)
        return false;
    const roast_stream *rows = &series->workers[cursor->worker].rows;
    if (rows->length == 0 || cursor->offset == rows->end)
        return false;
    if (cursor->offset == CURSOR_AT_START)
        cursor->offset = roast_stream_begin(rows);
    if (!pass_same(cursor, series, rows) && !read_row(cursor, series, rows))
        return false;
    *when = (roast_utc){series->ticks[cursor->row.tick - 1].when};
    return true;
}

bool roast_series_cursor_next(roast_series_cursor *cursor, roast_sample *out) {
    if (!roast_series_cursor_step(cursor, &out->when))
        return false;
    out->worker = cursor->worker;
    memcpy(out->value, cursor->value, sizeof out->value);
    return true;
}

uint64_t roast_series_cursor_skip_same(roast_series_cursor *cursor, roast_utc *last) {
    const roast_series *series = cursor->series;
    uint64_t count = 0;
    if (cursor->worker >= series->names.count || cursor->offset == CURSOR_AT_START)
        return 0;
    const roast_stream *rows = &series->workers[cursor->worker].rows;
    /* A block at a time: within one nothing but the bytes themselves has to be looked at. */
    for (bool whole = true; whole && cursor->offset != rows->end;) {
        const uint8_t *row = NULL;
        size_t len = roast_stream_piece(&series->pool, rows, cursor->offset, &row), passed = 0;
        uint64_t left = series->tick_count - cursor->row.tick;
        while (len - passed >= 2 && row[passed] == 0 && row[passed + 1] == 0 && left > 0) {
            passed += 2;
            left--;
        }
        whole = passed > 0 && passed == len;
        if (passed == 0)
            break;
        cursor->offset = roast_stream_advance(&series->pool, cursor->offset, passed);
        cursor->row.tick += passed / 2;
        count += passed / 2;
    }
    if (count > 0)
        *last = (roast_utc){series->ticks[cursor->row.tick - 1].when};
    return count;
}
