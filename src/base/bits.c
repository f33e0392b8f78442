#include "base/bits.h"

static uint64_t get_bits(roast_bit_reader *reader, unsigned width) { /* at most 57 */
    uint64_t bits = roast_low_bits(roast_peek_bits(reader), width);
    reader->at += width;
    return bits;
}

uint64_t roast_get_long_bit_number(roast_bit_reader *reader, unsigned usual) {
    enum { HALF = 32 };
    unsigned more = 0;
    /* No number has more bits than 64: of more ones than that the rest is taken for what follows. */
    while (more < 64 - usual && get_bits(reader, 1) != 0)
        more++;
    if (more == 64 - usual)
        reader->at++; /* the 0 */
    unsigned width = usual + more - (more > 0), low = width > HALF ? HALF : width;
    uint64_t value = get_bits(reader, low);
    value |= get_bits(reader, width - low) << low;
    return value | (uint64_t)(more > 0) << width;
}
