/* The bytes of many streams that grow a little at a time, all at once.
 *
 * A buffer for each worker would hold a tenth to a third of its size in reserve and leave holes in
 * the heap whenever it moves. So all streams of a series share one pool of small blocks: a stream
 * is a chain of them and wastes half a block (128 bytes, 0.2 bytes a sample after 600 ticks), and
 * nothing moves. */
#ifndef ROAST_MODEL_SERIES_STREAM_H
#define ROAST_MODEL_SERIES_STREAM_H

#include "roast/base.h"

enum {
    ROAST_BLOCK_SIZE = 256,
    ROAST_BLOCK_BYTES = ROAST_BLOCK_SIZE - 4,
    ROAST_SLAB_BLOCKS = 64, /* blocks that are allocated together */
};

typedef struct roast_block {
    uint32_t next; /* valid unless it is the last one of its stream */
    uint8_t bytes[ROAST_BLOCK_BYTES];
} roast_block;

/* Zeroed storage is an empty pool. */
typedef struct roast_block_pool {
    roast_block **slabs;
    size_t slab_capacity;
    uint32_t block_count; /* handed out; slabs for them all exist */
} roast_block_pool;

/* Zeroed storage is an empty stream. A position is block × ROAST_BLOCK_SIZE + byte in the block. */
typedef struct roast_stream {
    uint64_t end; /* position behind the last byte; meaningless while length is 0 */
    uint64_t length;
    uint32_t first;
} roast_stream;

void roast_block_pool_reset(roast_block_pool *pool);
size_t roast_block_pool_memory(const roast_block_pool *pool);

/* Appends 1 to ROAST_BLOCK_BYTES bytes. ROAST_ENOMEM or ROAST_ELIMIT leave the stream as it is. */
roast_status roast_stream_append(roast_block_pool *pool, roast_stream *stream, const void *data,
                                 size_t len);
/* A hint that it is appended to soon: its end is fetched. */
void roast_stream_expect(const roast_block_pool *pool, const roast_stream *stream);

/* ---- reading: here, as it is done for every sample ---- */

static inline roast_block *roast_block_at(const roast_block_pool *pool, uint64_t block) {
    return &pool->slabs[block / ROAST_SLAB_BLOCKS][block % ROAST_SLAB_BLOCKS];
}

/* The position of the first byte; the stream must not be empty. */
static inline uint64_t roast_stream_begin(const roast_stream *stream) {
    return (uint64_t)stream->first * ROAST_BLOCK_SIZE;
}

/* The bytes that lie in one piece at `position`; 0 only at the end of the stream. */
static inline size_t roast_stream_piece(const roast_block_pool *pool, const roast_stream *stream,
                                        uint64_t position, const uint8_t **data) {
    if (stream->length == 0 || position == stream->end)
        return 0;
    if (position % ROAST_BLOCK_SIZE == ROAST_BLOCK_BYTES)
        position =
            (uint64_t)roast_block_at(pool, position / ROAST_BLOCK_SIZE)->next * ROAST_BLOCK_SIZE;
    uint64_t block = position / ROAST_BLOCK_SIZE;
    size_t from = position % ROAST_BLOCK_SIZE, to = ROAST_BLOCK_BYTES;
    if (block == stream->end / ROAST_BLOCK_SIZE)
        to = stream->end % ROAST_BLOCK_SIZE;
    *data = roast_block_at(pool, block)->bytes + from;
    return to - from;
}

/* The position `len` bytes on, len being at most ROAST_BLOCK_BYTES and within the stream. */
static inline uint64_t roast_stream_advance(const roast_block_pool *pool, uint64_t position,
                                            size_t len) {
    size_t used = position % ROAST_BLOCK_SIZE;
    if (used + len <= ROAST_BLOCK_BYTES)
        return position + len;
    uint64_t next = roast_block_at(pool, position / ROAST_BLOCK_SIZE)->next;
    return next * ROAST_BLOCK_SIZE + (used + len - ROAST_BLOCK_BYTES);
}

#endif
