/* Shared by the files of the trace. */
#ifndef ROAST_RENDER_TRACE_H
#define ROAST_RENDER_TRACE_H

#include "base/intern.h"
#include "render/json_writer.h"
#include "roast/export.h"

/* How much happened over time, in bins that grow with the run: their number does not. */
enum { ROAST_RATE_BINS = 1024 };
typedef struct roast_rates {
    int64_t width; /* of a bin, in nanoseconds; 0: nothing is in it */
    double events[ROAST_RATE_BINS];
    double bytes[ROAST_RATE_BINS];
    double busy[ROAST_RATE_BINS]; /* seconds of chunks */
} roast_rates;
/* Spreads the amounts evenly over the time from start to stop (nanoseconds since the run began). */
void roast_rates_add(roast_rates *rates, int64_t start, int64_t stop, double events, double bytes);

/* Where a section is drawn, in nanoseconds since process() was entered. */
typedef struct roast_drawn_section {
    roast_section section;
    int64_t start, stop;
    int64_t next;   /* where the next one inside the same one begins */
    int64_t used;   /* so far something inside it is drawn */
    int32_t inside; /* the section of time around it; -1: the chunk */
} roast_drawn_section;
/* Moves starts and stops so that slices are disjoint or nested, within the duration of the chunk. Sections of
 * memory and bytes are instants: they stop where they start. */
void roast_sections_fit(roast_drawn_section *sections, uint32_t count, int64_t lasted);

#endif
