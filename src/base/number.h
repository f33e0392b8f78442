/* Numbers as text, and back. The locale of the user's program has no say: its point may be a comma. */
#ifndef ROAST_BASE_NUMBER_H
#define ROAST_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "roast/base.h"

/* snprintf and strtod with a point as the decimal point. */
int roast_number_print(char *out, size_t size, const char *format, ...) ROAST_PRINTF(3, 4);
double roast_number_read(const char *text, char **end);

enum { ROAST_NUMBER_TEXT = 40 }; /* bytes that any number needs, terminator included */

/* The shortest digits that give this very double again: "0.1", "3.0", "1e-05"; with a point or an
 * exponent always, so that a reader keeps it a real. "nan", "inf" and "-inf" for what is no finite
 * number. The length. */
size_t roast_number_text(double value, char out[ROAST_NUMBER_TEXT]);

/* The length of a number that Python writes into JSON and JSON does not know, "NaN" or "-Infinity", at the beginning of
 * so many bytes; 0: none begins there. */
size_t roast_number_unknown_to_json(const char *at, size_t left);

#endif
