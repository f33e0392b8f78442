#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

enum { CHECKSUM = 4 };

unsigned long fuzz_accepted;

int fuzz_run(const uint8_t *data, size_t size, bool (*decode)(const uint8_t *data, size_t size)) {
    if (decode(data, size))
        fuzz_accepted++;
    if (size < CHECKSUM)
        return 0;
    uint8_t *fixed = malloc(size);
    if (fixed == NULL)
        return 0;
    memcpy(fixed, data, size - CHECKSUM);
    uint32_t crc = roast_crc32c(0, data, size - CHECKSUM);
    for (unsigned i = 0; i < CHECKSUM; i++)
        fixed[size - CHECKSUM + i] = (uint8_t)(crc >> 8 * i);
    decode(fixed, size);
    free(fixed);
    return 0;
}

void fuzz_require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

uint64_t fuzz_add_text(uint64_t sum, roast_str text) {
    sum = sum * 31 + (text.data == NULL ? 1 : 2 + text.len);
    for (size_t i = 0; i < text.len; i++)
        sum = sum * 31 + (uint8_t)text.data[i];
    return sum;
}

uint64_t fuzz_add_real(uint64_t sum, double value) {
    uint64_t bits = 1;
    if (!isnan(value))
        memcpy(&bits, &value, sizeof bits);
    return sum * 31 + bits;
}

bool fuzz_save(const char *folder, const char *name, const void *data, size_t size) {
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return false;
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool written = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && written;
}
