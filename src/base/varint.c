#include "base/varint.h"

bool roast_get_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    const uint8_t *p = *at;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            break;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = p;
            *value = result;
            return true;
        }
    }
    *at = p;
    return false;
}

/* Eight bytes at a time: only where numbers end matters. A number of nine bytes is below 2^63; longer ones are read. */
bool roast_skip_varints(const uint8_t **at, const uint8_t *end, uint64_t count, uint64_t limit) {
    const uint8_t *p = *at;
    uint64_t value, open = 0; /* bytes before p that belong to the number at p */
    while (count > 0 && limit >> 63 != 0 && end - p >= 8) {
        uint64_t ends = ~roast_little_endian(p) & UINT64_C(0x8080808080808080);
        uint64_t here = (ends >> 7) * UINT64_C(0x0101010101010101) >> 56; /* numbers that end */
        if (ends == 0 || open + (uint64_t)__builtin_ctzll(ends) / 8 > 8)
            break;
        if (here >= count) {
            while (--count > 0)
                ends &= ends - 1;
            *at = p + __builtin_ctzll(ends) / 8 + 1;
            return true;
        }
        count -= here;
        open = (uint64_t)__builtin_clzll(ends) / 8;
        p += 8;
    }
    for (*at = p - open; count > 0; count--)
        if (!roast_get_any_varint(at, end, &value) || value > limit)
            return false;
    return true;
}
