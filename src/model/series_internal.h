/* How a worker series is kept; shared by the files of this module. The bytes are specified in
 * docs/format/worker-series.md. */
#ifndef ROAST_MODEL_SERIES_INTERNAL_H
#define ROAST_MODEL_SERIES_INTERNAL_H

#include "base/intern.h"
#include "base/varint.h"
#include "roast/series.h"

/* ---- rows ---- */
enum {
    ROAST_SERIES_MISSING = 1 << 14, /* in a row's mask: the set of absent columns changed */
    ROAST_SERIES_SKIPPED = 1 << 15, /* ticks went by without a row of this worker */
    ROAST_SERIES_ALL = (1 << ROAST_COLUMNS) - 1,
};

/* Appends the row of `tick` (not below state->tick) and moves the state on. ROAST_ENOMEM leaves both as they
 * are. */
roast_status roast_series_row_write(roast_series_state *state, uint64_t tick,
                                    const double value[ROAST_COLUMNS], roast_buffer *rows);
/* Reads one row at *at, which moves on, of a series with `ticks` ticks; *changed has a bit for each column
 * that may differ from the row before. Gives NULL, or what is wrong with the row; the state is then spoilt. */
const char *roast_series_row_read(roast_series_state *state, uint64_t ticks, const uint8_t **at,
                                  const uint8_t *end, uint32_t *changed);

/* ---- the series ---- */
#define ROAST_NO_HOST UINT32_MAX

typedef struct roast_worker_slot {
    roast_series_state last; /* of its last row */
    uint32_t host;           /* number in `hosts` or ROAST_NO_HOST */
    bool present; /* it joined or was sampled, and has not left: see roast_series_sample */
    roast_buffer rows;
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
    roast_worker_change *changes;
    size_t changes_capacity;
    uint64_t change_count;
    uint64_t sample_count;
    uint32_t present_count;
};

#endif
