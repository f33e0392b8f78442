/* UTF-8 that came from outside. */
#ifndef ROAST_BASE_UTF8_H
#define ROAST_BASE_UTF8_H

#include <string.h>

#include "roast/base.h"

/* U+FFFD, in place of invalid bytes. */
#define ROAST_UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Whether a character begins here (left > 0), and its bytes; if none does, the bytes that belong to
 * the broken one: as many as could be the beginning of a character, as Unicode recommends and Python
 * does. */
static inline bool roast_utf8_character(const uint8_t *at, size_t left, size_t *len) {
    uint8_t lead = at[0];
    *len = 1;
    if (lead < 0x80)
        return true;
    if (lead < 0xc2 || lead > 0xf4)
        return false;
    size_t need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    /* The second byte: nothing that a shorter form says, no surrogates, nothing beyond U+10FFFF. */
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (; *len < need && *len < left && at[*len] >= low && at[*len] <= high; ++*len) {
        low = 0x80;
        high = 0xbf;
    }
    return *len == need;
}

/* At most `most` bytes of a text, and no part of a character: its later bytes, at most three, are 10xxxxxx. */
static inline roast_str roast_utf8_cut(roast_str text, size_t most) {
    if (text.len <= most)
        return text;
    size_t len = most;
    while (len > 0 && most - len < 3 && ((uint8_t)text.data[len] & 0xc0) == 0x80)
        len--;
    return (roast_str){text.data, len};
}

/* The text up to the first line feed. */
static inline roast_str roast_first_line(roast_str text) {
    const char *end = text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;
    return (roast_str){text.data, end != NULL ? (size_t)(end - text.data) : text.len};
}

#endif
