#include "base/buffer.h"

void roast_buffer_reset(roast_buffer *buffer) {
    roast_free(buffer->data);
    *buffer = (roast_buffer){0};
}

roast_status roast_buffer_reserve(roast_buffer *buffer, size_t extra) {
    if (extra <= buffer->capacity - buffer->len)
        return ROAST_OK;
    if (extra > SIZE_MAX / 4 - buffer->len)
        return ROAST_ENOMEM;
    void *data = buffer->data;
    ROAST_TRY(roast_array_reserve(&data, &buffer->capacity, 1, buffer->len + extra));
    buffer->data = data;
    return ROAST_OK;
}

roast_status roast_buffer_append(roast_buffer *buffer, const void *data, size_t len) {
    ROAST_TRY(roast_buffer_reserve(buffer, len));
    roast_buffer_push(buffer, data, len);
    return ROAST_OK;
}

void roast_buffer_shrink(roast_buffer *buffer) {
    if (buffer->capacity == buffer->len || buffer->len == 0)
        return;
    uint8_t *data = roast_realloc(buffer->data, buffer->len);
    if (data != NULL) {
        buffer->data = data;
        buffer->capacity = buffer->len;
    }
}

roast_status roast_array_reserve(void **items, size_t *capacity, size_t size, size_t wanted) {
    if (wanted <= *capacity)
        return ROAST_OK;
    if (wanted > SIZE_MAX / 4 / size)
        return ROAST_ENOMEM;
    /* Beyond a megabyte realloc moves pages, not bytes: a large reserve would spare little. */
    size_t grown = *capacity + *capacity / (*capacity * size < (1u << 20) ? 2 : 8);
    if (grown < wanted)
        grown = wanted;
    if (grown * size < 64)
        grown = (64 + size - 1) / size;
    void *moved = roast_realloc(*items, grown * size);
    if (moved == NULL)
        return ROAST_ENOMEM;
    *items = moved;
    *capacity = grown;
    return ROAST_OK;
}

roast_status roast_array_reserve_zero(void **items, size_t *capacity, size_t size, size_t wanted) {
    size_t before = *capacity;
    ROAST_TRY(roast_array_reserve(items, capacity, size, wanted));
    if (*capacity > before)
        memset((char *)*items + before * size, 0, (*capacity - before) * size);
    return ROAST_OK;
}
