/* Walks over what hangs on a chunk, wherever it lies: packed in a log, or in arrays of the chunk. */
#ifndef ROAST_RENDER_TAILS_H
#define ROAST_RENDER_TAILS_H

#include "roast/chunklog.h"

typedef struct roast_tail {
    const roast_chunklog *log; /* NULL: arrays */
    const void *items;
    uint32_t index, count;
    roast_tail_cursor packed;
} roast_tail;

#define ROAST_TAIL(what, member, item)                                                             \
    static inline roast_tail roast_tail_of_##member(const roast_chunklog *log,                     \
                                                    const roast_chunk *chunk) {                    \
        roast_tail tail = {.log = log, .items = chunk->member};                                    \
        if (log != NULL)                                                                           \
            roast_chunk_##member(log, chunk, &tail.packed);                                        \
        else if (chunk->member != NULL)                                                            \
            tail.count = chunk->n_##member;                                                        \
        return tail;                                                                               \
    }                                                                                              \
    static inline bool roast_tail_next_##what(roast_tail *tail, item *out) {                       \
        if (tail->log != NULL)                                                                     \
            return roast_chunk_next_##what(&tail->packed, out);                                    \
        if (tail->index == tail->count)                                                            \
            return false;                                                                          \
        *out = ((const item *)tail->items)[tail->index++];                                         \
        return true;                                                                               \
    }

ROAST_TAIL(branch, branches, roast_str)
ROAST_TAIL(section, sections, roast_section)
ROAST_TAIL(read, reads, roast_read)
ROAST_TAIL(custom, customs, roast_custom)

/* The branches of a file, the same way. */
static inline roast_tail roast_tail_of_file(const roast_chunklog *log, const roast_file *file) {
    roast_tail tail = {.log = log, .items = file->branches};
    if (log != NULL)
        roast_file_branches(log, file, &tail.packed);
    else if (file->branches != NULL)
        tail.count = file->n_branches;
    return tail;
}

static inline bool roast_tail_next_size(roast_tail *tail, roast_branch_size *out) {
    if (tail->log != NULL)
        return roast_file_next_branch(&tail->packed, out);
    if (tail->index == tail->count)
        return false;
    *out = ((const roast_branch_size *)tail->items)[tail->index++];
    return true;
}

#endif
