/* Numbers as text. */
#ifndef ROAST_FORMAT_H
#define ROAST_FORMAT_H

#include "roast/base.h"
#include "roast/metrics.h"

/* A value with a unit of its size, three digits: "25.1 ms", "1.52 MB", "12.3 kHz", "1,234,567", "-" if it was not
 * measured. Per cent have one decimal, bytes none. `unit` is one of the catalogue's, or "count" for
 * large counts in three digits, "1.23 G". A measured value other than 0
 * never shows as 0: "< 0.1 %". No number has an exponent. Written as snprintf would; the length without the terminator
 * (in bytes: UTF-8). */
size_t roast_format_value(roast_value value, const char *unit, char *out, size_t size);

/* The values of a column of a table have one unit and one number of decimals: "12.30 s", "0.25 s", "< 0.01 s". Set
 * `unit`, zero the rest, add all values, then write them. */
typedef struct roast_format_column {
    const char *unit;   /* one of the catalogue's; borrowed */
    double least, most; /* of the magnitudes that are not 0 */
} roast_format_column;
void roast_format_column_add(roast_format_column *column, roast_value value);
/* As roast_format_value. */
size_t roast_format_in_column(const roast_format_column *column, roast_value value, char *out,
                              size_t size);

#endif
