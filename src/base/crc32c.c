#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

/* table[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes go in one step.
 */
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* further[n]: what moves a checksum n words (of eight bytes) on, so that the checksums of three lanes can
 * be put together: x^(64 n - 33) modulo the polynomial. */
enum { WORDS_A_LANE = 64, LANES = 3, SHORT_OF_LANES = 96 };
static uint32_t further[WORDS_A_LANE + 1];

static uint32_t times_x(uint32_t value, int times) {
    for (int i = 0; i < times; i++)
        value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
    return value;
}

static void fill_further(void) {
    uint32_t value =
        times_x(UINT32_C(1) << 31, 64 - 33); /* the highest bit is 1, the lowest x^31 */
    for (int words = 1; words <= WORDS_A_LANE; words++) {
        further[words] = value;
        value = times_x(value, 64);
    }
}

static void fill_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < 8; k++)
            table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 0xff];
    fill_further();
}

uint32_t roast_crc32c_portable(uint32_t crc, const void *data, size_t len) {
    pthread_once(&table_once, fill_table);
    const uint8_t *p = data;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[7][crc & 0xff] ^ table[6][(crc >> 8) & 0xff] ^ table[5][(crc >> 16) & 0xff] ^
              table[4][crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; len > 0; p++, len--)
        crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* A multiplication without carries by x^(64 n - 33), the instruction by x^32 and modulo the polynomial;
 * one more x is in the order of the bits. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t move_on(uint64_t crc, size_t words) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                           _mm_cvtsi64_si128((int64_t)further[words]), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* The instruction takes three cycles, but one can begin in each: so three lanes at once. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t three_lanes(uint64_t crc, const uint8_t *p,
                                                                     size_t words) {
    uint64_t second = 0, third = 0, word[LANES];
    const size_t lane = words * 8;
    for (const uint8_t *end = p + lane; p < end; p += 8) {
        memcpy(&word[0], p, 8);
        memcpy(&word[1], p + lane, 8);
        memcpy(&word[2], p + 2 * lane, 8);
        crc = _mm_crc32_u64(crc, word[0]);
        second = _mm_crc32_u64(second, word[1]);
        third = _mm_crc32_u64(third, word[2]);
    }
    return move_on(crc, 2 * words) ^ move_on(second, words) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t len, bool has_pclmul) {
    const uint8_t *p = data;
    uint64_t wide = (uint32_t)~crc, word;
    if (has_pclmul && len >= SHORT_OF_LANES)
        pthread_once(&table_once, fill_table);
    while (has_pclmul && len >= SHORT_OF_LANES) {
        size_t words = len / (8 * LANES);
        if (words > WORDS_A_LANE / 2)
            words = WORDS_A_LANE / 2;
        wide = three_lanes(wide, p, words);
        p += words * 8 * LANES;
        len -= words * 8 * LANES;
    }
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    uint32_t narrow = (uint32_t)wide;
    for (; len > 0; p++, len--)
        narrow = _mm_crc32_u8(narrow, *p);
    return ~narrow;
}

uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len) {
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, len, __builtin_cpu_supports("pclmul"));
    return roast_crc32c_portable(crc, data, len);
}
#else
uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len) {
    return roast_crc32c_portable(crc, data, len);
}
#endif
