/* Integers in as few bytes as they need: seven bits a byte, low ones first, high bit "more
 * follows". Zig-zag folds small negative numbers to small positive ones. */
#ifndef ROAST_BASE_VARINT_H
#define ROAST_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROAST_VARINT_MAX = 10 }; /* bytes of the longest one */

static inline uint64_t roast_zigzag(int64_t value) {
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t roast_unzigzag(uint64_t value) {
    return (int64_t)((value >> 1) ^ (value & 1 ? UINT64_MAX : 0));
}

/* Writes at most ROAST_VARINT_MAX bytes and returns the position after them. */
static inline uint8_t *roast_put_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *roast_put_zigzag(uint8_t *at, int64_t value) {
    return roast_put_varint(at, roast_zigzag(value));
}

/* The number in eight bytes, the low one first. */
static inline uint64_t roast_little_endian(const uint8_t bytes[8]) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Byte by byte; the next one calls it for numbers of more than eight bytes and near the end. */
bool roast_get_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* Reads from *at, which moves on. false where the input ends too early or the number does not fit
 * in 64 bits; *at is then somewhere inside it. There is no branch on the length, for numbers whose lengths no branch
 * predictor can learn. */
static inline bool roast_get_any_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t word, ends;
    if (end - *at < (ptrdiff_t)sizeof word)
        return roast_get_long_varint(at, end, value);
    word = roast_little_endian(*at);
    ends = ~word & UINT64_C(0x8080808080808080); /* the high bit of each byte that ends a number */
    if (ends == 0)
        return roast_get_long_varint(at, end, value);
    *at += __builtin_ctzll(ends) / 8 + 1;
    word &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    /* Sevens of bits become fourteens, twenty-eights and all of them. */
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    *value = (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    return true;
}

/* The same, where most numbers are below 128. */
static inline bool roast_get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    if (*at < end && **at < 0x80) {
        *value = *(*at)++;
        return true;
    }
    return roast_get_any_varint(at, end, value);
}

/* Moves *at past `count` numbers of at most `limit`; false: as above, or one is larger. */
bool roast_skip_varints(const uint8_t **at, const uint8_t *end, uint64_t count, uint64_t limit);

static inline bool roast_get_zigzag(const uint8_t **at, const uint8_t *end, int64_t *value) {
    uint64_t raw;
    if (!roast_get_any_varint(at, end, &raw))
        return false;
    *value = roast_unzigzag(raw);
    return true;
}

/* a + b and a - b for any two numbers, as they wrap around. */
static inline int64_t roast_wrap_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t roast_wrap_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
