#include "base/arena.h"

#include <string.h>

struct roast_arena_block {
    struct roast_arena_block *next;
    size_t used, size; /* of the bytes behind this header */
    max_align_t data[];
};

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 1 << 20 };

void roast_arena_reset(roast_arena *arena) {
    while (arena->head != NULL) {
        struct roast_arena_block *next = arena->head->next;
        roast_free(arena->head);
        arena->head = next;
    }
    arena->total = 0;
}

static bool add_block(roast_arena *arena, size_t wanted) {
    size_t size = arena->head == NULL ? FIRST_BLOCK : arena->head->size * 2;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < wanted)
        size = wanted;
    struct roast_arena_block *block = roast_alloc(sizeof *block + size);
    if (block == NULL)
        return false;
    block->next = arena->head;
    block->used = 0;
    block->size = size;
    arena->head = block;
    arena->total += sizeof *block + size;
    return true;
}

void *roast_arena_alloc(roast_arena *arena, size_t size) {
    const size_t unit = sizeof(max_align_t);
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + unit - 1) / unit * unit;
    if (arena->head == NULL || arena->head->size - arena->head->used < size) {
        if (!add_block(arena, size))
            return NULL;
    }
    void *memory = (char *)arena->head->data + arena->head->used;
    arena->head->used += size;
    return memory;
}

roast_status roast_arena_str(roast_arena *arena, roast_str text, roast_str *out) {
    if (text.data == NULL) {
        *out = text;
        return ROAST_OK;
    }
    char *copy = roast_arena_alloc(arena, text.len + 1);
    if (copy == NULL)
        return ROAST_ENOMEM;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out = (roast_str){copy, text.len};
    return ROAST_OK;
}
