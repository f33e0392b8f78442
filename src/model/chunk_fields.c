/* How the numbers of a chunk are packed; the list with the letters is ROAST_CHUNK_FIELDS. */
#include "model/chunklog_internal.h"

#include "base/varint.h"

enum { MICROSECOND = 1000, PAGE_SHIFT = 12, PAGE = 1 << PAGE_SHIFT };

/* A number of units and what is left; its low bit says whether something is left. The quotient must
 * be below 2^63. */
static uint8_t *put_units(uint8_t *at, uint64_t quotient, uint64_t rest) {
    at = roast_put_varint(at, quotient << 1 | (rest != 0));
    return rest != 0 ? roast_put_varint(at, rest) : at;
}

static bool get_units(const uint8_t **at, const uint8_t *end, uint64_t *quotient, uint64_t *rest) {
    *rest = 0;
    if (!roast_get_varint(at, end, quotient))
        return false;
    bool left = *quotient & 1;
    *quotient >>= 1;
    return !left || roast_get_varint(at, end, rest);
}

/* Every number goes in as the difference to its base, in two's complement: no value overflows. */
#define KNOWN(chunk, name)  ((chunk)->have & ROAST_CHUNK_HAS(name) ? (uint64_t)(chunk)->name : 0)
#define BASE_U(chunk, near) 0
#define BASE_T(chunk, near) 0
#define BASE_P(chunk, near) 0
#define BASE_S(chunk, near) (KNOWN(chunk, near) + KNOWN(chunk, num_events))
#define BASE_Q(chunk, near) KNOWN(chunk, near)

static uint8_t *put_U(uint8_t *at, uint64_t value) {
    return roast_put_varint(at, value);
}

static uint8_t *put_T(uint8_t *at, uint64_t value) {
    return put_units(at, value / MICROSECOND, value % MICROSECOND);
}

static uint8_t *put_P(uint8_t *at, uint64_t value) {
    return put_units(at, value / PAGE, value % PAGE);
}

static uint8_t *put_S(uint8_t *at, uint64_t value) {
    return roast_put_zigzag(at, (int64_t)value);
}

static uint8_t *put_Q(uint8_t *at, uint64_t value) {
    uint64_t sign = value >> 63 ? ~(UINT64_MAX >> PAGE_SHIFT) : 0;
    return put_units(at, roast_zigzag((int64_t)(value >> PAGE_SHIFT | sign)), value % PAGE);
}

static bool get_U(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    return roast_get_varint(at, end, value);
}

static bool get_T(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t quotient, rest;
    if (!get_units(at, end, &quotient, &rest))
        return false;
    *value = quotient * MICROSECOND + rest;
    return true;
}

static bool get_P(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t quotient, rest;
    if (!get_units(at, end, &quotient, &rest))
        return false;
    *value = quotient * PAGE + rest;
    return true;
}

static bool get_S(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    int64_t difference;
    if (!roast_get_zigzag(at, end, &difference))
        return false;
    *value = (uint64_t)difference;
    return true;
}

static bool get_Q(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t quotient, rest;
    if (!get_units(at, end, &quotient, &rest))
        return false;
    *value = (uint64_t)roast_unzigzag(quotient) * PAGE + rest;
    return true;
}

uint64_t roast_fields_present(const roast_chunk *chunk) {
    uint64_t present = 0;
#define X(name, packing, near)                                                                     \
    if ((chunk->have & ROAST_CHUNK_HAS(name)) &&                                                   \
        (uint64_t)chunk->name != BASE_##packing(chunk, near))                                      \
        present |= ROAST_CHUNK_HAS(name);
    ROAST_CHUNK_FIELDS(X)
#undef X
    return present;
}

uint8_t *roast_fields_put(uint8_t *at, const roast_chunk *chunk, uint64_t present) {
#define X(name, packing, near)                                                                     \
    if (present & ROAST_CHUNK_HAS(name))                                                           \
        at = put_##packing(at, (uint64_t)chunk->name - BASE_##packing(chunk, near));
    ROAST_CHUNK_FIELDS(X)
#undef X
    return at;
}

bool roast_fields_get(const uint8_t **at, const uint8_t *end, uint64_t present, roast_chunk *out) {
    uint64_t value;
#define X(name, packing, near)                                                                     \
    if (out->have & ROAST_CHUNK_HAS(name)) {                                                       \
        value = 0;                                                                                 \
        if ((present & ROAST_CHUNK_HAS(name)) && !get_##packing(at, end, &value))                  \
            return false;                                                                          \
        out->name = (int64_t)(value + BASE_##packing(out, near));                                  \
    }
    ROAST_CHUNK_FIELDS(X)
#undef X
    return true;
}
