#include "model/series_internal.h"

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
    roast_series_state next = slot->last;
    uint8_t row[ROAST_SERIES_ROW_MAX];
    /* What was absent in the row before may be there again with a value that was never told here. */
    columns =
        slot->rows.length == 0 ? ROAST_SERIES_ALL : (columns | next.missing) & ROAST_SERIES_ALL;
    size_t len = roast_series_row_write_steps(&next, tick, columns, steps, missing, row);
    roast_status status = roast_stream_append(&series->pool, &slot->rows, row, len);
    if (status != ROAST_OK)
        return roast_error_set(err, status, where, -1, "no memory for the worker series");
    slot->last = next;
    series->sample_count++;
    return ROAST_OK;
}
