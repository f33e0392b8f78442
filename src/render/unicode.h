/* Characters of UTF-8 and the columns they take in a terminal. */
#ifndef ROAST_RENDER_UNICODE_H
#define ROAST_RENDER_UNICODE_H

#include "roast/base.h"

#define ROAST_BROKEN UINT32_MAX /* no character: bytes that are no UTF-8 */

/* The character at text[at], and how many bytes it takes. `at` must be below text.len. */
size_t roast_utf8_next(roast_str text, size_t at, uint32_t *code);
/* Control characters, and those that turn the direction of what follows or end a line: nothing for a terminal. */
bool roast_code_is_unsafe(uint32_t code);
/* 0, 1 or 2; control characters count as 1. */
unsigned roast_code_width(uint32_t code);

/* Bytes of the longest start of `text` that takes at most `columns`; combining characters stay with
 * what they belong to. *taken may be NULL. */
size_t roast_text_head(roast_str text, size_t columns, size_t *taken);
/* Where the longest such end begins. */
size_t roast_text_tail(roast_str text, size_t columns, size_t *taken);

#endif
