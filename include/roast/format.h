/* Numbers as text. */
#ifndef ROAST_FORMAT_H
#define ROAST_FORMAT_H

#include "roast/base.h"
#include "roast/metrics.h"

/* A value with a unit of its size, three digits: "25.1 ms", "1.52 MB", "12.3 kHz", "1,234,567", "-" if it was not
 * measured. `unit` is one of the catalogue's. A measured value other than 0 never shows as 0. Written as snprintf
 * would; the length without the terminator (in bytes: UTF-8). */
size_t roast_format_value(roast_value value, const char *unit, char *out, size_t size);
/* The same in one unit, whatever the size: `shown` is "MHz", "Gbps", "GB", ...; "%" for a ratio; "" for the bare
 * number. A unit that does not fit is ignored. */
size_t roast_format_value_as(roast_value value, const char *unit, const char *shown, char *out,
                             size_t size);

#endif
