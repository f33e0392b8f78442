/* Numbers in as few bits as they need: the low bits of a byte come first.
 *
 * Rice: a number is split at bit k; what is above is counted in ones and ended by a zero, what is
 * below follows as it is. Gamma: how many bits there are below the highest one, in ones, then they. */
#ifndef ROAST_STORE_BITS_H
#define ROAST_STORE_BITS_H

#include "base/buffer.h"

enum {
    ROAST_RICE_ONES = 24,      /* so many say that all 64 bits follow */
    ROAST_BITS_LONGEST = 24,   /* bytes that one number can take, rounded up */
    ROAST_RICE_WIDTH_BITS = 6, /* of k */
};

/* ---- out ---- */

/* Zeroed storage is empty. Bytes go to `out`, where there must be room for them. */
typedef struct roast_bits_writer {
    roast_buffer *out;
    uint64_t waiting;
    unsigned count; /* bits that wait, less than 8 */
} roast_bits_writer;

/* Up to 56 bits; what is above them must be 0. */
static inline void roast_bits_put(roast_bits_writer *w, uint64_t value, unsigned bits) {
    w->waiting |= value << w->count;
    w->count += bits;
    while (w->count >= 8) {
        w->out->data[w->out->len++] = (uint8_t)w->waiting;
        w->waiting >>= 8;
        w->count -= 8;
    }
}

static inline void roast_bits_put_64(roast_bits_writer *w, uint64_t value) {
    roast_bits_put(w, value & 0xffffffff, 32);
    roast_bits_put(w, value >> 32, 32);
}

/* `n` ones and a zero. */
static inline void roast_bits_put_ones(roast_bits_writer *w, unsigned n) {
    for (; n >= 32; n -= 32)
        roast_bits_put(w, 0xffffffff, 32);
    roast_bits_put(w, (UINT64_C(1) << n) - 1, n + 1);
}

/* At least 1. */
static inline void roast_bits_put_gamma(roast_bits_writer *w, uint64_t value) {
    unsigned below = 63u - (unsigned)__builtin_clzll(value);
    roast_bits_put_ones(w, below);
    uint64_t rest = value ^ UINT64_C(1) << below;
    roast_bits_put(w, rest & 0xffffffff, below < 32 ? below : 32);
    if (below > 32)
        roast_bits_put(w, rest >> 32, below - 32);
}

static inline void roast_bits_put_rice(roast_bits_writer *w, uint64_t value, unsigned k) {
    uint64_t above = value >> k;
    if (above >= ROAST_RICE_ONES) {
        roast_bits_put(w, (UINT64_C(1) << ROAST_RICE_ONES) - 1, ROAST_RICE_ONES);
        roast_bits_put_64(w, value);
        return;
    }
    roast_bits_put(w, (UINT64_C(1) << above) - 1, (unsigned)above + 1);
    uint64_t below = value & ((UINT64_C(1) << k) - 1);
    roast_bits_put(w, below & 0xffffffff, k < 32 ? k : 32);
    if (k > 32)
        roast_bits_put(w, below >> 32, k - 32);
}

/* The last byte, filled up with zeros. */
static inline void roast_bits_finish(roast_bits_writer *w) {
    if (w->count > 0)
        roast_bits_put(w, 0, 8 - w->count);
}

/* ---- in ---- */

typedef struct roast_bits_reader {
    const uint8_t *at, *end;
    uint64_t waiting;
    unsigned count;
    bool failed; /* something was asked for beyond the end, or cannot be */
} roast_bits_reader;

/* At least 56 bits, where there are as many. What `waiting` holds above `count` bits comes again. */
static inline void roast_bits_fill(roast_bits_reader *r) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (r->end - r->at >= 8 && r->count < 64) {
        uint64_t word;
        memcpy(&word, r->at, sizeof word);
        r->waiting |= word << r->count;
        r->at += (63 - r->count) >> 3;
        r->count |= 56;
        return;
    }
#endif
    while (r->count <= 56 && r->at < r->end) {
        r->waiting |= (uint64_t)*r->at++ << r->count;
        r->count += 8;
    }
}

/* Up to 56 bits. */
static inline uint64_t roast_bits_get(roast_bits_reader *r, unsigned bits) {
    if (r->count < bits) {
        roast_bits_fill(r);
        if (r->count < bits) {
            r->failed = true;
            return 0;
        }
    }
    uint64_t value = r->waiting & ((UINT64_C(1) << bits) - 1);
    r->waiting >>= bits;
    r->count -= bits;
    return value;
}

static inline uint64_t roast_bits_get_wide(roast_bits_reader *r, unsigned bits) {
    uint64_t low = roast_bits_get(r, bits < 32 ? bits : 32);
    return bits > 32 ? low | roast_bits_get(r, bits - 32) << 32 : low;
}

/* How many ones come before a zero, at most `limit`; the zero behind `limit` ones is not read. */
static inline unsigned roast_bits_get_ones(roast_bits_reader *r, unsigned limit) {
    unsigned n = 0;
    while (n < limit) {
        if (r->count == 0)
            roast_bits_fill(r);
        if (r->count == 0) {
            r->failed = true;
            return 0;
        }
        unsigned here = r->waiting == UINT64_MAX ? 64 : (unsigned)__builtin_ctzll(~r->waiting);
        if (here > r->count)
            here = r->count;
        if (here > limit - n)
            here = limit - n;
        n += here;
        r->waiting = here == 64 ? 0 : r->waiting >> here;
        r->count -= here;
        if (n < limit && r->count > 0) {
            r->waiting >>= 1;
            r->count--;
            break;
        }
    }
    return n;
}

static inline uint64_t roast_bits_get_gamma(roast_bits_reader *r) {
    unsigned below = roast_bits_get_ones(r, 64);
    if (below > 63)
        r->failed = true;
    if (r->failed)
        return 1;
    return UINT64_C(1) << below | roast_bits_get_wide(r, below);
}

static inline uint64_t roast_bits_get_rice(roast_bits_reader *r, unsigned k) {
    if (r->count < 56)
        roast_bits_fill(r);
    unsigned ones = r->waiting == UINT64_MAX ? 64 : (unsigned)__builtin_ctzll(~r->waiting);
    if (ones < ROAST_RICE_ONES && ones + 1 + k <= r->count) { /* most of them */
        uint64_t below = r->waiting >> (ones + 1) & ((UINT64_C(1) << k) - 1);
        unsigned bits = ones + 1 + k;
        r->waiting = bits < 64 ? r->waiting >> bits : 0;
        r->count -= bits;
        return (uint64_t)ones << k | below;
    }
    uint64_t above = roast_bits_get_ones(r, ROAST_RICE_ONES);
    if (above == ROAST_RICE_ONES)
        return roast_bits_get_wide(r, 64);
    return above << k | roast_bits_get_wide(r, k);
}

#endif
