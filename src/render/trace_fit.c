/* The geometry of a trace: nested sections, and rates in a fixed number of bins. */
#include "render/trace.h"

/* ---- sections ---- */

static bool lasts(const roast_drawn_section *one) {
    return one->section.kind == ROAST_SECTION_TIME;
}

static int64_t between(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Finds the time section around each section; sections of memory or bytes are only moments. */
static void find_around(roast_drawn_section *sections, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        int32_t parent = sections[i].section.parent;
        if (parent < 0 || (uint32_t)parent >= i)
            parent = -1;
        else if (!lasts(&sections[parent]))
            parent = sections[parent].inside;
        sections[i].inside = parent;
    }
}

/* Finds where the next section inside the same one begins. Sections are in the order of entry. */
static void find_next(roast_drawn_section *sections, uint32_t count, int64_t lasted) {
    int64_t next_in_chunk = lasted;
    for (uint32_t i = 0; i < count; i++)
        sections[i].stop = INT64_MAX; /* here: where the first one inside begins that was met */
    for (uint32_t i = count; i-- > 0;) {
        if (!lasts(&sections[i]))
            continue;
        int64_t *first =
            sections[i].inside < 0 ? &next_in_chunk : &sections[sections[i].inside].stop;
        sections[i].next = *first;
        *first = sections[i].start;
    }
}

void roast_sections_fit(roast_drawn_section *sections, uint32_t count, int64_t lasted) {
    int64_t used_of_chunk = 0;
    find_around(sections, count);
    for (uint32_t i = 0; i < count; i++)
        sections[i].start = sections[i].section.start_ns;
    find_next(sections, count, lasted);
    for (uint32_t i = 0; i < count; i++) {
        roast_drawn_section *one = &sections[i];
        roast_drawn_section *around = one->inside < 0 ? NULL : &sections[one->inside];
        int64_t *used = around != NULL ? &around->used : &used_of_chunk, stop;
        int64_t high = around != NULL ? around->stop : lasted;
        one->start = between(one->start, *used, high);
        one->used = one->stop = one->start;
        if (!lasts(one))
            continue;
        if (__builtin_add_overflow(one->start, one->section.value, &stop))
            stop = high;
        if (one->next < high)
            high = one->next > one->start ? one->next : one->start;
        one->stop = between(stop, one->start, high);
        *used = one->stop;
    }
}

/* ---- rates ---- */

enum { FIRST_WIDTH = 1000000 }; /* a millisecond */

static void halve(double bins[ROAST_RATE_BINS]) {
    for (int i = 0; i < ROAST_RATE_BINS; i++)
        bins[i] = i < ROAST_RATE_BINS / 2 ? bins[2 * i] + bins[2 * i + 1] : 0;
}

static void reach(roast_rates *rates, int64_t stop) {
    if (rates->width == 0)
        rates->width = FIRST_WIDTH;
    while (stop / ROAST_RATE_BINS >= rates->width) {
        halve(rates->events);
        halve(rates->bytes);
        halve(rates->busy);
        rates->width *= 2;
    }
}

void roast_rates_add(roast_rates *rates, int64_t start, int64_t stop, double events, double bytes) {
    start = start < 0 ? 0 : start;
    if (stop > INT64_MAX / 8) /* in 36 years: no time of this run */
        return;
    stop = stop > start ? stop : start + 1;
    reach(rates, stop);
    double lasted = (double)(stop - start);
    for (int64_t bin = start / rates->width; bin < ROAST_RATE_BINS; bin++) {
        int64_t low = bin * rates->width, high = low + rates->width;
        if (low >= stop)
            break;
        double share = (double)((stop < high ? stop : high) - (start > low ? start : low));
        rates->events[bin] += events * share / lasted;
        rates->bytes[bin] += bytes * share / lasted;
        rates->busy[bin] += share / 1e9;
    }
}
