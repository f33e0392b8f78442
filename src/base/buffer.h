/* A growable run of bytes. */
#ifndef ROAST_BASE_BUFFER_H
#define ROAST_BASE_BUFFER_H

#include <string.h>

#include "roast/base.h"

/* Zeroed storage is an empty buffer. */
typedef struct roast_buffer {
    uint8_t *data;
    size_t len;
    size_t capacity;
} roast_buffer;

/* Frees what it holds; the storage is an empty buffer again. */
void roast_buffer_reset(roast_buffer *buffer);
/* Room for `extra` more bytes; grows by halves, beyond a megabyte by eighths. ROAST_ENOMEM leaves the buffer as it is. */
roast_status roast_buffer_reserve(roast_buffer *buffer, size_t extra);
roast_status roast_buffer_append(roast_buffer *buffer, const void *data, size_t len);
/* Frees the reserved bytes beyond len; a failure is harmless and ignored. */
void roast_buffer_shrink(roast_buffer *buffer);

/* Appends to reserved space. */
static inline void roast_buffer_push(roast_buffer *buffer, const void *data, size_t len) {
    if (len > 0)
        memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
}

/* Grows an array of *capacity elements of `size` bytes to at least `wanted` elements. */
roast_status roast_array_reserve(void **items, size_t *capacity, size_t size, size_t wanted);
/* The same; new elements are zeroed. */
roast_status roast_array_reserve_zero(void **items, size_t *capacity, size_t size, size_t wanted);

#endif
