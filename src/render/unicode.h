/* Characters of UTF-8 and the columns they take in a terminal. */
#ifndef ROAST_RENDER_UNICODE_H
#define ROAST_RENDER_UNICODE_H

#include "roast/base.h"
#include "roast/sink.h"

#define ROAST_BROKEN UINT32_MAX /* no character: bytes that are no UTF-8 */

/* The character at text[at], and how many bytes it takes. `at` must be below text.len. */
size_t roast_utf8_next(roast_str text, size_t at, uint32_t *code);
/* Control characters, and those that change the writing direction or end a line: not safe for a terminal. */
bool roast_code_is_unsafe(uint32_t code);

/* Writes one character; `code` is ROAST_BROKEN for bytes that are no UTF-8. */
typedef void (*roast_character_writer)(roast_sink *sink, uint32_t code, roast_str bytes);
/* Writes a text: printable ASCII as it is, but for the letters in `special`; all other characters by `put`. */
void roast_text_put_by(roast_sink *sink, roast_str text, const char *special,
                       roast_character_writer put);
/* Safe to show: as roast_text_put_clean does it. */
void roast_put_clean_code(roast_sink *sink, uint32_t code, roast_str bytes);

/* 0, 1 or 2; control characters count as 1. */
unsigned roast_code_width(uint32_t code);

/* Bytes of the longest start of `text` that takes at most `columns`; combining characters stay with their base.
 * *taken may be NULL. */
size_t roast_text_head(roast_str text, size_t columns, size_t *taken);

#endif
