/* How attempts are kept; shared by the files of this module. The bytes are specified in
 * docs/format/attempts.md. */
#ifndef ROAST_MODEL_ATTEMPTS_INTERNAL_H
#define ROAST_MODEL_ATTEMPTS_INTERNAL_H

#include "base/intern.h"
#include "base/redact.h"
#include "base/varint.h"
#include "roast/attempts.h"

struct roast_attempts {
    roast_intern prefixes;
    uint8_t *kinds; /* of the prefixes */
    size_t kinds_capacity;
    roast_intern workers;  /* a worker's number is that of its name */
    roast_intern texts;    /* types and messages of exceptions */
    roast_buffer redacted; /* such a text on its way there */
    roast_buffer rows;
    uint64_t count;
    int64_t last_us; /* the moment that was written last: the next one is a difference to it */
    roast_departure *departures;
    size_t departures_capacity;
    uint32_t departure_count;
    roast_intern lost;     /* keys whose result was lost */
    uint64_t *lost_before; /* how many rows there were then */
    size_t lost_capacity;
};

/* The bits of a row's first byte. */
enum {
    ROAST_ROW_OUTCOME = 3,      /* outcome */
    ROAST_ROW_FOREIGN = 1 << 2, /* it has neither prefix nor key */
    ROAST_ROW_MOMENTS = 1 << 3, /* five bits: which moments there are */
};

/* Appends a row that was checked. ROAST_ENOMEM: names may have been added, but no row. */
roast_status roast_attempt_row_write(roast_attempts *attempts, const roast_attempt *from);
/* Reads the row at *at, which moves on. Gives NULL, or what is wrong with it. *last_us is the moment
 * that was read last, in this row or one before. */
const char *roast_attempt_row_read(const roast_attempts *attempts, int64_t *last_us,
                                   const uint8_t **at, const uint8_t *end, roast_attempt *out);
/* A prefix that is new is "other". */
roast_status roast_attempts_prefix(roast_attempts *attempts, roast_str prefix, uint32_t *id);

#endif
