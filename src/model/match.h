/* Which chunk ran in which try of a task.
 *
 * A chunk belongs to the tries with its task key on its worker. Where a task was tried several times, the try that
 * began nearest to the chunk's task is meant: clocks of two machines differ, so that no interval can be compared.
 *
 * TaskVine does not tell a task which worker it runs on: a chunk with a key and without a worker (ROAST_NO_WORKER) belongs
 * to the try with its key, on any worker.
 *
 * Some engines do not tell the worker which task it runs. A chunk without a task key belongs to the try that its thread
 * ran at that time: both moments are then of the worker's own clock. */
#ifndef ROAST_MODEL_MATCH_H
#define ROAST_MODEL_MATCH_H

#include "roast/attempts.h"
#include "roast/chunklog.h"

#define ROAST_NO_MATCH UINT32_MAX

typedef struct roast_match_chunk {
    uint64_t key; /* a hash of the whole task key, or of the thread where there is none */
    int64_t when; /* us since 1970: its task began, as far as that is known */
    uint32_t worker;
    uint32_t number;
    bool
        repeated; /* it raised, and nobody knows when its task began: a later one is its repetition inside the task */
} roast_match_chunk;

/* Zeroed storage is empty. Use: add all chunks, sort, then find. */
typedef struct roast_match {
    roast_match_chunk *chunks;
    size_t capacity, count;
    size_t without_key;
} roast_match;

void roast_match_reset(roast_match *match);
/* Adds a chunk under the caller's numbers of its worker and of itself. One without a task key and a thread is left out.
 * ROAST_ENOMEM, ROAST_ELIMIT. */
roast_status roast_match_add(roast_match *match, const roast_chunk *chunk, uint32_t worker,
                             uint32_t number);
void roast_match_sort(roast_match *match);
/* The key of a try as a number for roast_match_find; 0: it has none. */
uint64_t roast_match_key(const roast_attempt *attempt);
/* The number of the chunk that ran in a try which began at `when` (us since 1970), or ROAST_NO_MATCH. Of several tries
 * inside a task the last one made its result. */
uint32_t roast_match_find(const roast_match *match, uint64_t key, uint32_t worker, int64_t when);
/* The last chunk without a task key that a thread of a worker began between two moments, or ROAST_NO_MATCH: of several
 * tries inside a task the last one made its result. */
uint32_t roast_match_find_within(const roast_match *match, uint64_t thread, uint32_t worker,
                                 int64_t from, int64_t to);
/* By the key on its worker, by the key alone, or by the thread: what is first found. */
typedef struct roast_match_try {
    uint64_t key; /* 0: it has none */
    int64_t when;
    uint32_t worker;
    uint64_t thread; /* 0: not known */
    int64_t until;   /* it has ended by then */
} roast_match_try;
uint32_t roast_match_find_try(const roast_match *match, const roast_match_try *one);
/* How far two moments lie apart. */
uint64_t roast_match_distance(int64_t a, int64_t b);

#endif
