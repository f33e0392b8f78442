/* Pieces of a worker series as bytes: some ticks of all workers, column by column. A piece goes on
 * where the one before it ended. docs/format/measurement.md specifies the bytes. */
#ifndef ROAST_STORE_SERIES_PACK_H
#define ROAST_STORE_SERIES_PACK_H

#include "base/buffer.h"
#include "roast/series.h"

enum {
    ROAST_PIECE_TICKS = 4096,     /* of a piece, at most */
    ROAST_PIECE_SAMPLES = 131072, /* of a piece that has more than one tick */
};

/* What a row is compared with. */
typedef struct roast_pack_state {
    int64_t steps[ROAST_COLUMNS];
    uint32_t missing; /* a bit a column */
} roast_pack_state;

/* Rows of one worker in a piece, and what else packing and unpacking need; some 600 kB. */
typedef struct roast_pack_rows roast_pack_rows;

/* Either direction. Zeroed storage stands in front of the first piece. */
typedef struct roast_pack {
    roast_pack_state *states; /* one a worker */
    size_t states_capacity;
    uint32_t workers; /* that have a state */
    roast_pack_rows *rows;
} roast_pack;

void roast_pack_reset(roast_pack *pack);
/* Room for so many workers. */
roast_status roast_pack_reserve(roast_pack *pack, uint32_t workers);

/* Where to read the rows of a worker while pieces are made: one a worker of the series. */
typedef struct roast_pack_source {
    roast_series_cursor cursor;
    roast_sample sample; /* read, but of a later tick */
    uint64_t tick;       /* of it */
    bool waiting;
} roast_pack_source;

/* Packs the ticks [first, first + ticks) of `series` behind what is in `out`. Its worker i is
 * number[i] among `workers` ones (NULL: i); the sources stand before `first`. *samples: how many. */
roast_status roast_pack_piece(roast_pack *pack, const roast_series *series,
                              roast_pack_source *sources, const uint32_t *number, uint32_t workers,
                              uint64_t first, uint32_t ticks, roast_buffer *out, uint64_t *samples);

/* Puts the samples of a piece of `ticks` ticks into `series`, which has its ticks, from
 * `first_tick` on, and its workers. Gives NULL, or what is wrong with the piece; *status is then
 * ROAST_ECORRUPT, ROAST_EVERSION or ROAST_ENOMEM. */
const char *roast_unpack_piece(roast_pack *pack, const void *bytes, size_t len,
                               roast_series *series, uint64_t first_tick, uint32_t ticks,
                               uint64_t *samples, roast_status *status);

#endif
