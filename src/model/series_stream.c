#include "model/series_stream.h"

#include <string.h>

#include "base/buffer.h"

_Static_assert(sizeof(roast_block) == ROAST_BLOCK_SIZE, "positions count in whole blocks");

static size_t slab_count(const roast_block_pool *pool) {
    return ((size_t)pool->block_count + ROAST_SLAB_BLOCKS - 1) / ROAST_SLAB_BLOCKS;
}

void roast_block_pool_reset(roast_block_pool *pool) {
    for (size_t i = 0; i < slab_count(pool); i++)
        roast_free(pool->slabs[i]);
    roast_free(pool->slabs);
    *pool = (roast_block_pool){0};
}

size_t roast_block_pool_memory(const roast_block_pool *pool) {
    return slab_count(pool) * ROAST_SLAB_BLOCKS * sizeof(roast_block) +
           pool->slab_capacity * sizeof *pool->slabs;
}

static roast_status add_block(roast_block_pool *pool, uint32_t *block) {
    if (pool->block_count == UINT32_MAX)
        return ROAST_ELIMIT;
    size_t slabs = slab_count(pool);
    if (pool->block_count == slabs * ROAST_SLAB_BLOCKS) {
        void *list = pool->slabs;
        ROAST_TRY(roast_array_reserve(&list, &pool->slab_capacity, sizeof *pool->slabs, slabs + 1));
        pool->slabs = list;
        pool->slabs[slabs] = roast_alloc(ROAST_SLAB_BLOCKS * sizeof(roast_block));
        if (pool->slabs[slabs] == NULL)
            return ROAST_ENOMEM;
    }
    *block = pool->block_count++;
    return ROAST_OK;
}

roast_status roast_stream_append(roast_block_pool *pool, roast_stream *stream, const void *data,
                                 size_t len) {
    uint64_t last = stream->end / ROAST_BLOCK_SIZE;
    size_t used = stream->length == 0 ? ROAST_BLOCK_BYTES : stream->end % ROAST_BLOCK_SIZE;
    size_t here = ROAST_BLOCK_BYTES - used < len ? ROAST_BLOCK_BYTES - used : len;
    uint32_t added = 0;
    if (here < len)
        ROAST_TRY(add_block(pool, &added));
    if (here > 0)
        memcpy(roast_block_at(pool, last)->bytes + used, data, here);
    if (here < len) {
        memcpy(roast_block_at(pool, added)->bytes, (const uint8_t *)data + here, len - here);
        if (stream->length == 0)
            stream->first = added;
        else
            roast_block_at(pool, last)->next = added;
        last = added;
        used = 0;
        here = len - here;
    }
    stream->end = last * ROAST_BLOCK_SIZE + used + here;
    stream->length += len;
    return ROAST_OK;
}

void roast_stream_expect(const roast_block_pool *pool, const roast_stream *stream) {
    if (stream->length > 0)
        __builtin_prefetch((const char *)roast_block_at(pool, stream->end / ROAST_BLOCK_SIZE) +
                               stream->end % ROAST_BLOCK_SIZE,
                           1);
}
