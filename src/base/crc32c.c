#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

/* table[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes go in one step.
 */
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* far[k][b]: the same for byte k of a checksum and STRETCH zero bytes, so that the checksums of
 * stretches can be put together. */
enum { STRETCH = 128 };
static uint32_t far[4][256];

static void fill_far(void) {
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = UINT32_C(1) << bit;
        for (int i = 0; i < STRETCH; i++)
            crc = (crc >> 8) ^ table[0][crc & 0xff];
        uint32_t *part = far[bit / 8];
        for (uint32_t byte = 0; byte < 256; byte++)
            part[byte] ^= byte >> bit % 8 & 1 ? crc : 0;
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
    fill_far();
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
static uint64_t move_far(uint64_t crc) {
    return far[0][crc & 0xff] ^ far[1][crc >> 8 & 0xff] ^ far[2][crc >> 16 & 0xff] ^
           far[3][crc >> 24 & 0xff];
}

/* The instruction takes three cycles, but one can begin in each: so three stretches at once. */
__attribute__((target("sse4.2"))) static uint64_t three_stretches(uint64_t crc, const uint8_t *p) {
    uint64_t second = 0, third = 0, words[3];
    for (int i = 0; i < STRETCH; i += 8) {
        memcpy(&words[0], p + i, 8);
        memcpy(&words[1], p + STRETCH + i, 8);
        memcpy(&words[2], p + 2 * STRETCH + i, 8);
        crc = __builtin_ia32_crc32di(crc, words[0]);
        second = __builtin_ia32_crc32di(second, words[1]);
        third = __builtin_ia32_crc32di(third, words[2]);
    }
    return move_far(move_far(crc) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t len) {
    const uint8_t *p = data;
    uint64_t wide = (uint32_t)~crc, word;
    if (len >= 3 * STRETCH)
        pthread_once(&table_once, fill_table);
    for (; len >= 3 * STRETCH; p += 3 * STRETCH, len -= 3 * STRETCH)
        wide = three_stretches(wide, p);
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    uint32_t narrow = (uint32_t)wide;
    for (; len > 0; p++, len--)
        narrow = __builtin_ia32_crc32qi(narrow, *p);
    return ~narrow;
}

uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len) {
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, len);
    return roast_crc32c_portable(crc, data, len);
}
#else
uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len) {
    return roast_crc32c_portable(crc, data, len);
}
#endif
