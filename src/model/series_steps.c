#include "model/series_internal.h"

static roast_status no_memory(roast_status status, roast_error *err) {
    return roast_error_set(err, status, "worker series", -1, "no memory for the worker series");
}

roast_status roast_series_repeat(roast_series *series, uint32_t worker, uint64_t count) {
    static const uint8_t nothing_changed[ROAST_BLOCK_BYTES]; /* two bytes a row */
    if (worker >= series->names.count || series->workers[worker].rows.length == 0 ||
        count > series->tick_count - series->workers[worker].last.tick)
        return ROAST_EINVAL;
    roast_worker_slot *slot = &series->workers[worker];
    while (count > 0) {
        uint64_t now = count < sizeof nothing_changed / 2 ? count : sizeof nothing_changed / 2;
        ROAST_TRY(
            roast_stream_append(&series->pool, &slot->rows, nothing_changed, (size_t)now * 2));
        slot->last.tick += now;
        series->sample_count += now;
        count -= now;
    }
    return ROAST_OK;
}

roast_status roast_series_append_steps(roast_series *series, uint32_t worker, uint64_t tick,
                                       uint32_t columns, const int64_t steps[ROAST_COLUMNS],
                                       uint32_t missing, roast_error *err) {
    const char *where = "worker series";
    if (worker >= series->names.count || tick >= series->tick_count ||
        tick < series->workers[worker].last.tick || missing > ROAST_SERIES_ALL)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "there is no place for a row of worker %u in tick %llu", worker,
                               (unsigned long long)tick);
    roast_worker_slot *slot = &series->workers[worker];
    if (columns == 0 && missing == slot->last.missing && tick == slot->last.tick &&
        slot->rows.length > 0) {
        roast_status repeated = roast_series_repeat(series, worker, 1);
        return repeated == ROAST_OK ? ROAST_OK : no_memory(repeated, err);
    }
    roast_series_state before = slot->last;
    uint8_t row[ROAST_SERIES_ROW_MAX];
    /* What was absent in the row before may be there again with a value that was never told here. */
    columns =
        slot->rows.length == 0 ? ROAST_SERIES_ALL : (columns | before.missing) & ROAST_SERIES_ALL;
    size_t len = roast_series_row_write_steps(&slot->last, tick, columns, steps, missing, row);
    roast_status status = roast_stream_append(&series->pool, &slot->rows, row, len);
    if (status != ROAST_OK) {
        slot->last = before;
        return no_memory(status, err);
    }
    series->sample_count++;
    return ROAST_OK;
}
