/* Counts the bytes that libroast holds, through its allocation hook; for the C benchmarks. */
#ifndef ROAST_BENCH_COUNTED_H
#define ROAST_BENCH_COUNTED_H

#include <malloc.h>
#include <stdlib.h>

#include "roast/base.h"

/* As malloc_usable_size tells: what was asked for and what rounding up adds. */
typedef struct counted_bytes {
    size_t live, peak;
} counted_bytes;

static inline void *counted_hook(void *context, void *ptr, size_t size) {
    counted_bytes *bytes = context;
    size_t before = malloc_usable_size(ptr);
    if (size == 0) {
        free(ptr);
        bytes->live -= before;
        return NULL;
    }
    void *memory = realloc(ptr, size);
    if (memory == NULL)
        return NULL;
    bytes->live += malloc_usable_size(memory) - before;
    if (bytes->live > bytes->peak)
        bytes->peak = bytes->live;
    return memory;
}

#endif
