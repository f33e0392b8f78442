/* Lists of whole numbers as JSON, "[1,-2,null]", so that SQL reads them, too. */
#ifndef ROAST_STORE_NUMBERS_H
#define ROAST_STORE_NUMBERS_H

#include "base/buffer.h"

enum { ROAST_NUMBER_MAX = 22 }; /* bytes that one takes, its comma included */

/* Begins a list in an empty buffer with room for `count` numbers. */
roast_status roast_numbers_begin(roast_buffer *out, size_t count);
void roast_numbers_put(roast_buffer *out, int64_t value);
void roast_numbers_put_unsigned(roast_buffer *out, uint64_t value);
/* A negative one is "not known": null. */
void roast_numbers_put_known(roast_buffer *out, int64_t value);
void roast_numbers_end(roast_buffer *out);

/* Reads a list as it was written. Zeroed storage has none. */
typedef struct roast_numbers {
    const char *at, *end;
} roast_numbers;
/* false: the text is no list. */
bool roast_numbers_open(roast_numbers *list, roast_str text);
/* false: there is none left, or it does not fit. */
bool roast_numbers_get(roast_numbers *list, int64_t *value);
bool roast_numbers_get_unsigned(roast_numbers *list, uint64_t *value);
/* -1 for null. */
bool roast_numbers_get_known(roast_numbers *list, int64_t *value);
/* Whether all were read. */
bool roast_numbers_done(const roast_numbers *list);

#endif
