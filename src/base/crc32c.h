/* CRC-32C (Castagnoli), the checksum of every packed buffer. */
#ifndef ROAST_BASE_CRC32C_H
#define ROAST_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum with the bytes of `data`; crc is 0 at the beginning. */
uint32_t roast_crc32c(uint32_t crc, const void *data, size_t len);

#endif
