/* The names by which chunks are grouped. */
#ifndef ROAST_ANALYSE_CHUNK_NAMES_H
#define ROAST_ANALYSE_CHUNK_NAMES_H

#include "roast/budget.h"
#include "roast/chunklog.h"

/* The name of a chunk for each split but its storage, and the reference of the log to it: see roast_groups_find_ref. */
typedef struct roast_chunk_names {
    roast_str names[ROAST_SPLIT_COUNT];
    uint32_t refs[ROAST_SPLIT_COUNT];
} roast_chunk_names;

static inline roast_chunk_names roast_chunk_names_of(const roast_chunk *chunk) {
    return (roast_chunk_names){
        .names = {[ROAST_BY_worker] = chunk->worker,
                  [ROAST_BY_host] = chunk->host,
                  [ROAST_BY_dataset] = chunk->dataset,
                  [ROAST_BY_file] = chunk->file},
        .refs = {[ROAST_BY_worker] = chunk->packed.origin,
                 [ROAST_BY_host] = chunk->packed.origin,
                 [ROAST_BY_dataset] = chunk->packed.dataset,
                 [ROAST_BY_file] = chunk->packed.file},
    };
}

#endif
