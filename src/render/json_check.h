/* JSON that somebody else wrote and that is to stand inside ours. */
#ifndef ROAST_RENDER_JSON_CHECK_H
#define ROAST_RENDER_JSON_CHECK_H

#include "roast/sink.h"

/* Whether the text is one value of JSON, as Python's json module writes it: NaN, Infinity and -Infinity
 * are let through. Containers deeper than 512 are not. */
bool roast_json_is_valid(roast_str text);
/* Writes a valid one, with null for the three, U+FFFD for what is not UTF-8, and escapes for what is not safe to
 * show in a terminal. */
void roast_json_copy(roast_sink *sink, roast_str text);
/* The first character of a text (not empty, above U+007E) as it stands in a string; how many bytes it has. */
size_t roast_json_put_character(roast_sink *sink, roast_str text);

#endif
