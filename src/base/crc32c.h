/* CRC-32C (Castagnoli), the checksum of every packed buffer. */
#ifndef ROAST_BASE_CRC32C_H
#define ROAST_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `data` behind what `crc` is the checksum of (0 for nothing). */
uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len);
/* The same by tables alone, for machines without the instruction. */
uint32_t roast_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
