/* Numbers in sentences: two digits that say something. For tables there is roast/format.h. */
#ifndef ROAST_METRICS_FORMAT_H
#define ROAST_METRICS_FORMAT_H

#include "roast/format.h"

typedef enum roast_short_unit {
    ROAST_SHORT_TIME,  /* s: "41 s", "3.2 min" */
    ROAST_SHORT_BYTES, /* "1.5 GB" */
    ROAST_SHORT_RATIO, /* "2.1" */
    ROAST_SHORT_SHARE  /* "73%", "0.5%" */
} roast_short_unit;
/* A number other than 0 never shows as 0: "< 0.1%". */
void roast_format_short(double value, roast_short_unit unit, char *out, size_t size);
/* A whole number with a sign between groups of three digits: "1,234,567". */
void roast_format_count(double count, char between, char *out, size_t size);

#endif
