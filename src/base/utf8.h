/* UTF-8 that came from outside. */
#ifndef ROAST_BASE_UTF8_H
#define ROAST_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* U+FFFD, which stands for what is broken. */
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

#endif
