/* What packing and unpacking a piece of a worker series share. */
#ifndef ROAST_STORE_SERIES_PACK_INTERNAL_H
#define ROAST_STORE_SERIES_PACK_INTERNAL_H

#include "store/bits.h"
#include "store/series_pack.h"

#define ROAST_PIECE_MAGIC "RCSP"
enum { ROAST_PIECE_VERSION = 1, ROAST_PIECE_HEADER = 5, ROAST_PIECE_CHECKSUM = 4 };

/* Which ticks of the piece a worker has a row in. */
enum { ROAST_PRESENT_NEVER, ROAST_PRESENT_ALWAYS, ROAST_PRESENT_RUNS, ROAST_PRESENT_KINDS };
enum { ROAST_PRESENT_BITS = 2 };

struct roast_pack_rows {
    uint32_t count;                                  /* rows */
    uint16_t tick[ROAST_PIECE_TICKS];                /* of a row, since the piece began */
    uint16_t missing[ROAST_PIECE_TICKS];             /* columns that are absent in it */
    uint16_t changed[ROAST_PIECE_TICKS];             /* columns that differ from the row before */
    uint16_t event[ROAST_PIECE_TICKS];               /* rows in which any column changed */
    uint32_t changes[ROAST_COLUMNS];                 /* how often, a column */
    int64_t value[ROAST_COLUMNS][ROAST_PIECE_TICKS]; /* at each change, a column */
    uint64_t numbers[ROAST_PIECE_TICKS];             /* a list on its way */
};
_Static_assert(ROAST_COLUMNS <= 16, "a set of columns takes 16 bits");
_Static_assert(ROAST_PIECE_TICKS <= UINT16_MAX, "a tick takes 16 bits");

#endif
