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
