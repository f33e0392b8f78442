/* Workers, ticks, joins and leaves; the rows of a worker are in series_rows.c. */
#include "model/series_internal.h"

static const roast_series_column_info columns[ROAST_COLUMNS] = {
#define X(name, key, json, steps, unit) {#name, key, json, steps, unit},
    ROAST_SERIES_COLUMNS(X)
#undef X
};

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
    for (uint32_t i = 0; i < series->names.count; i++)
        roast_buffer_reset(&series->workers[i].rows);
    roast_intern_reset(&series->names);
    roast_intern_reset(&series->hosts);
    roast_free(series->workers);
    roast_free(series->ticks);
    roast_free(series->changes);
    roast_free(series);
}

size_t roast_series_memory(const roast_series *series) {
    size_t rows = 0;
    for (uint32_t i = 0; i < series->names.count; i++)
        rows += series->workers[i].rows.capacity;
    return sizeof *series + roast_intern_memory(&series->names) +
           roast_intern_memory(&series->hosts) +
           series->workers_capacity * sizeof *series->workers +
           series->ticks_capacity * sizeof *series->ticks +
           series->changes_capacity * sizeof *series->changes + rows;
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
    roast_status status =
        roast_series_row_write(&slot->last, series->tick_count - 1, value, &slot->rows);
    if (status != ROAST_OK)
        return no_memory(status, err);
    series->sample_count++;
    return ROAST_OK;
}

static void set_present(roast_series *series, uint32_t worker, bool present) {
    roast_worker_slot *slot = &series->workers[worker];
    series->present_count += (uint32_t)present - (uint32_t)slot->present;
    slot->present = present;
}

roast_status roast_series_sample(roast_series *series, uint32_t worker, roast_utc when,
                                 const double value[ROAST_COLUMNS], roast_error *err) {
    ROAST_TRY(check_worker(series, worker, err));
    /* With this one, which counts only once its tick is there. */
    uint32_t present = series->present_count + !series->workers[worker].present;
    uint64_t count = series->tick_count;
    if (count == 0 || series->ticks[count - 1].when != when.ns)
        ROAST_TRY(roast_series_tick(series, when, present, err));
    else if (series->ticks[count - 1].workers < present)
        series->ticks[count - 1].workers = present;
    set_present(series, worker, true);
    return roast_series_append(series, worker, value, err);
}

roast_status roast_series_change(roast_series *series, uint32_t worker,
                                 roast_worker_change_kind kind, roast_utc when, int32_t threads,
                                 roast_error *err) {
    const char *where = "worker series";
    ROAST_TRY(check_worker(series, worker, err));
    if (kind != ROAST_WORKER_JOINED && kind != ROAST_WORKER_LEFT)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%d is no kind of change", (int)kind);
    if (threads < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "a worker with %d threads", threads);
    void *changes = series->changes;
    roast_status status =
        roast_array_reserve(&changes, &series->changes_capacity, sizeof *series->changes,
                            (size_t)series->change_count + 1);
    if (status != ROAST_OK)
        return no_memory(status, err);
    series->changes = changes;
    set_present(series, worker, kind == ROAST_WORKER_JOINED);
    series->changes[series->change_count++] = (roast_worker_change){worker, kind, when, threads};
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

uint64_t roast_series_change_count(const roast_series *series) {
    return series->change_count;
}

roast_worker_change roast_series_change_at(const roast_series *series, uint64_t index) {
    if (index >= series->change_count)
        return (roast_worker_change){.worker = UINT32_MAX};
    return series->changes[index];
}

/* ---- comparing ---- */

/* Rows are the same if their bytes are: a value has one encoding. */
static bool same_rows(const roast_series *series, uint32_t worker, const roast_series *other) {
    const roast_buffer *rows = &series->workers[worker].rows, *there;
    uint32_t number;
    if (rows->len == 0)
        return true;
    if (!roast_intern_find(&other->names, roast_intern_get(&series->names, worker), &number))
        return false;
    there = &other->workers[number].rows;
    return there->len == rows->len && memcmp(there->data, rows->data, rows->len) == 0;
}

bool roast_series_same_samples(const roast_series *series, const roast_series *other) {
    if (series->tick_count != other->tick_count || series->sample_count != other->sample_count)
        return false;
    for (uint64_t i = 0; i < series->tick_count; i++) {
        const roast_tick *tick = &series->ticks[i], *there = &other->ticks[i];
        if (tick->workers != there->workers || tick->when / 1000 != there->when / 1000)
            return false;
    }
    for (uint32_t i = 0; i < series->names.count; i++)
        if (!same_rows(series, i, other))
            return false;
    return true;
}

/* ---- appending a series ---- */

/* `base`: the tick that was added for the first one of `more`. */
static roast_status extend_rows(roast_series *series, uint32_t worker, const roast_series *more,
                                uint32_t number, uint64_t base) {
    roast_worker_slot *slot = &series->workers[worker];
    roast_series_cursor cursor;
    roast_sample sample;
    roast_series_cursor_init(&cursor, more, number);
    while (roast_series_cursor_next(&cursor, &sample)) {
        uint64_t tick = base + cursor.row.tick - 1; /* the cursor stands behind the sample */
        ROAST_TRY(roast_series_row_write(&slot->last, tick, sample.value, &slot->rows));
        series->sample_count++;
    }
    return ROAST_OK;
}

static roast_status extend_worker(roast_series *series, const roast_series *more, uint32_t number,
                                  uint64_t base, uint32_t *worker, roast_error *err) {
    roast_str host = roast_series_worker_host(more, number);
    ROAST_TRY(roast_series_worker(series, roast_series_worker_name(more, number), worker, err));
    if (host.data != NULL)
        ROAST_TRY(roast_series_set_host(series, *worker, host, err));
    roast_status status = extend_rows(series, *worker, more, number, base);
    return status == ROAST_OK ? ROAST_OK : no_memory(status, err);
}

static roast_status extend_all(roast_series *series, const roast_series *more, uint32_t *workers,
                               roast_error *err) {
    uint64_t base = series->tick_count;
    for (uint64_t i = 0; i < more->tick_count; i++)
        ROAST_TRY(roast_series_tick(series, (roast_utc){more->ticks[i].when},
                                    more->ticks[i].workers, err));
    for (uint32_t i = 0; i < more->names.count; i++)
        ROAST_TRY(extend_worker(series, more, i, base, &workers[i], err));
    for (uint64_t i = 0; i < more->change_count; i++) {
        const roast_worker_change *change = &more->changes[i];
        ROAST_TRY(roast_series_change(series, workers[change->worker], change->kind, change->when,
                                      change->threads, err));
    }
    return ROAST_OK;
}

roast_status roast_series_extend(roast_series *series, const roast_series *more, roast_error *err) {
    uint32_t *workers = roast_alloc((more->names.count + 1) * sizeof *workers);
    if (workers == NULL)
        return no_memory(ROAST_ENOMEM, err);
    roast_status status = extend_all(series, more, workers, err);
    roast_free(workers);
    return status;
}
