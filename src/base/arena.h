/* Memory that is freed all at once; its blocks never move. */
#ifndef ROAST_BASE_ARENA_H
#define ROAST_BASE_ARENA_H

#include "roast/base.h"

/* Zeroed storage is an empty arena. */
typedef struct roast_arena {
    struct roast_arena_block *head;
    size_t total; /* bytes held, block headers included */
} roast_arena;

void roast_arena_reset(roast_arena *arena);
/* Aligned for any type; NULL if memory is short. */
void *roast_arena_alloc(roast_arena *arena, size_t size) ROAST_MUST_USE;
/* A copy of the text with a terminator. The absent string stays absent. */
roast_status roast_arena_str(roast_arena *arena, roast_str text, roast_str *out);

#endif
