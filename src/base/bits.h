/* Numbers in a run of bits, for those whose size is about known.
 *
 * A number is written with a width of its kind, `usual`. One that fits it is a 0 and so many bits; one that
 * needs n bits more is n ones, a 0, and its bits without the highest, which is a 1. So it takes one bit more
 * than it is long where the width is right, and one more for each bit by which it is wrong. Bytes are filled
 * from their low bits on. */
#ifndef ROAST_BASE_BITS_H
#define ROAST_BASE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    ROAST_BIT_NUMBER_MAX = 16, /* bytes of the longest number */
    ROAST_BIT_USUAL_MAX = 56,
    ROAST_BIT_SLACK = 8, /* bytes behind the last one that a writer may touch */
};

/* The bytes of a word, low one first. */
static inline uint64_t roast_word_in_order(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t roast_low_bits(uint64_t value, unsigned width) { /* width below 64 */
    return value & ((UINT64_C(1) << width) - 1);
}

/* ---- writing: {.at = where} begins ---- */

typedef struct roast_bit_writer {
    uint8_t *at;
    uint64_t held;  /* bits that do not fill a byte yet */
    unsigned count; /* of them, below 8 */
} roast_bit_writer;

/* At most 56 bits. */
static inline void roast_put_bits(roast_bit_writer *writer, uint64_t bits, unsigned width) {
    uint64_t held = writer->held | bits << writer->count;
    unsigned count = writer->count + width;
    uint64_t word = roast_word_in_order(held);
    memcpy(writer->at, &word, sizeof word);
    writer->at += count / 8;
    writer->held = held >> count / 8 * 8;
    writer->count = count % 8;
}

static inline void roast_put_bit_number(roast_bit_writer *writer, uint64_t value, unsigned usual) {
    enum { HALF = 32 };
    uint64_t high = value >> usual;
    unsigned more = high == 0 ? 0 : 64 - (unsigned)__builtin_clzll(high), ones = more;
    unsigned width = more == 0 ? usual : usual + more - 1;
    if (ones > HALF) {
        roast_put_bits(writer, UINT32_MAX, HALF);
        ones -= HALF;
    }
    roast_put_bits(writer, roast_low_bits(UINT64_MAX, ones), ones + 1);
    if (width > HALF) {
        roast_put_bits(writer, (uint32_t)value, HALF);
        value >>= HALF;
        width -= HALF;
    }
    roast_put_bits(writer, roast_low_bits(value, width), width);
}

/* The place behind the last byte, which is filled up with zeros. */
static inline uint8_t *roast_bits_end(const roast_bit_writer *writer) {
    return writer->at + (writer->count > 0);
}

/* ---- reading: any bits at all are numbers, and behind the last byte there are zeros ---- */

typedef struct roast_bit_reader {
    const uint8_t *from, *end;
    uint64_t at; /* in bits */
} roast_bit_reader;

/* 57 bits at least. */
static inline uint64_t roast_peek_bits(const roast_bit_reader *reader) {
    uint64_t word = 0;
    size_t size = (size_t)(reader->end - reader->from), byte = (size_t)(reader->at / 8);
    if (size >= sizeof word && byte <= size - sizeof word)
        memcpy(&word, reader->from + byte, sizeof word);
    else if (byte < size)
        memcpy(&word, reader->from + byte, size - byte < sizeof word ? size - byte : sizeof word);
    return roast_word_in_order(word) >> reader->at % 8;
}

/* Numbers that do not lie in 57 bits. */
uint64_t roast_get_long_bit_number(roast_bit_reader *reader, unsigned usual);

static inline uint64_t roast_get_bit_number(roast_bit_reader *reader, unsigned usual) {
    uint64_t word = roast_peek_bits(reader);
    unsigned more = (unsigned)__builtin_ctzll(~word | UINT64_C(1) << 63);
    unsigned width = usual + more - (more > 0);
    if (more + 1 + width > 57) {
        roast_bit_reader copy = *reader; /* so that the reader itself can stay in registers */
        uint64_t number = roast_get_long_bit_number(&copy, usual);
        reader->at = copy.at;
        return number;
    }
    reader->at += more + 1 + width;
    return roast_low_bits(word >> (more + 1), width) | (uint64_t)(more > 0) << width;
}

#endif
