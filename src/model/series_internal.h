/* How a worker series is kept; shared by the files of this module. The bytes are specified in
 * docs/format/worker-series.md. */
#ifndef ROAST_MODEL_SERIES_INTERNAL_H
#define ROAST_MODEL_SERIES_INTERNAL_H

#include "base/intern.h"
#include "base/varint.h"
#include "model/series_stream.h"
#include "roast/series.h"

/* ---- rows ---- */
enum {
    ROAST_SERIES_MISSING = 1 << 14, /* in a row's mask: the set of absent columns changed */
    ROAST_SERIES_SKIPPED = 1 << 15, /* ticks went by without a row of this worker */
    ROAST_SERIES_ALL = (1 << ROAST_COLUMNS) - 1,
    /* mask, skipped ticks, absent columns, columns (two numbers for memory) */
    ROAST_SERIES_ROW_MAX = 2 + (3 + ROAST_COLUMNS) * ROAST_VARINT_MAX,
};

/* Packs the values of `tick` (not below state->tick), moves the state on, tells the bytes. */
size_t roast_series_row_write(roast_series_state *state, uint64_t tick,
                              const double value[ROAST_COLUMNS], uint8_t out[ROAST_SERIES_ROW_MAX]);
/* The same for values that are counted in steps already, of which only those of `columns` may differ
 * from the row before; of a column in `missing` there is none. */
size_t roast_series_row_write_steps(roast_series_state *state, uint64_t tick, uint32_t columns,
                                    const int64_t steps[ROAST_COLUMNS], uint32_t missing,
                                    uint8_t out[ROAST_SERIES_ROW_MAX]);
/* Reads one row at *at, which moves on, of a series with `ticks` ticks. Gives NULL, or what is
 * wrong with the row; the state is then spoilt. */
const char *roast_series_row_read(roast_series_state *state, uint64_t ticks, const uint8_t **at,
                                  const uint8_t *end);

/* ---- the series ---- */
#define ROAST_NO_HOST UINT32_MAX

typedef struct roast_worker_slot {
    roast_series_state last;
    uint32_t host; /* number in `hosts` or ROAST_NO_HOST */
    roast_stream rows;
} roast_worker_slot;

typedef struct roast_tick {
    int64_t when;
    uint32_t workers;
} roast_tick;

struct roast_series {
    roast_intern names; /* a worker's number is that of its name */
    roast_intern hosts;
    roast_worker_slot *workers;
    size_t workers_capacity;
    roast_tick *ticks;
    size_t ticks_capacity;
    uint64_t tick_count;
    roast_worker_event *events;
    size_t events_capacity;
    uint64_t event_count;
    uint64_t sample_count;
    roast_block_pool pool;
};

/* The last row of a worker once more in each of the `count` ticks behind it. ROAST_EINVAL where it has none,
 * or there are not so many ticks. After ROAST_ENOMEM some of them are there. */
roast_status roast_series_repeat(roast_series *series, uint32_t worker, uint64_t count);
/* A row of a worker in a tick that is there, behind its rows of earlier ticks: for those who have the
 * rows of a worker together. Only `columns` differ from the row before; of a worker's first row all are
 * looked at. ROAST_EINVAL where there is no such place. */
roast_status roast_series_append_steps(roast_series *series, uint32_t worker, uint64_t tick,
                                       uint32_t columns, const int64_t steps[ROAST_COLUMNS],
                                       uint32_t missing, roast_error *err);

#endif
