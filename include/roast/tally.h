/* The chunks of a run by dataset, counted while it goes on. */
#ifndef ROAST_TALLY_H
#define ROAST_TALLY_H

#include "roast/chunklog.h"

/* Each dataset becomes a time series in Prometheus, so further ones are counted together as ROAST_TALLY_OTHERS. A longer
 * name is cut. */
#define ROAST_TALLY_DATASETS 100
#define ROAST_TALLY_NAME     200 /* bytes */
#define ROAST_TALLY_OTHERS   "(others)"

typedef struct roast_tally_row {
    uint64_t done, failed; /* chunks */
    /* Of those that are done; -1: none of them has told it. */
    int64_t events, bytes;
    double seconds; /* inside process() */
} roast_tally_row;

typedef struct roast_tally roast_tally;

roast_status roast_tally_new(roast_tally **out, roast_error *err);
void roast_tally_free(roast_tally *tally);
/* Chunks that have arrived. Without memory (ROAST_ENOMEM) some of them are not counted. */
roast_status roast_tally_add(roast_tally *tally, const roast_chunklog *log, roast_error *err);
uint32_t roast_tally_count(const roast_tally *tally);
/* Row and name of a dataset, borrowed until the next call of roast_tally_add; a chunk without a dataset has the name "". */
const roast_tally_row *roast_tally_at(const roast_tally *tally, uint32_t index, roast_str *name);

#endif
