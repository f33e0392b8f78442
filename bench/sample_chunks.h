/* Chunks as a NanoAOD analysis on a cluster gives them, all kernel readings taken; the same ones in
 * every run. */
#ifndef ROAST_BENCH_SAMPLE_CHUNKS_H
#define ROAST_BENCH_SAMPLE_CHUNKS_H

#include "roast/run.h"

/* One chunk and all that it borrows. */
typedef struct sample_chunk {
    roast_chunk chunk;
    roast_section sections[3];
    roast_str branches[2];
    char file[128], uuid[40], worker[32], host[16], task_key[80];
} sample_chunk;

/* The chunk of that number. It points into `out`, which must not be moved. */
void sample_chunk_make(sample_chunk *out, uint64_t index);

/* A run of so many chunks with the report and the clock that go with them; NULL where memory is short. */
roast_run *sample_run_make(uint64_t chunks);

/* Even pseudo-random whole numbers, from `state`. */
int64_t sample_random(uint64_t *state, int64_t low, int64_t high);

#endif
