/* Numbers as text that reads back as the same number. */
#ifndef ROAST_BASE_NUMBER_H
#define ROAST_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum { ROAST_NUMBER_TEXT = 40 }; /* bytes that any number needs, terminator included */

/* The shortest digits that give this very double again: "0.1", "3.0", "1e-05"; with a point or an
 * exponent always, so that a reader keeps it a real; a point whatever the locale says. "nan", "inf"
 * and "-inf" for what is no finite number. The length. */
size_t roast_number_text(double value, char out[ROAST_NUMBER_TEXT]);

#endif
