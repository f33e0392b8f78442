/* A run to measure with: a million chunks on 2,000 workers, with the tries of their tasks and samples of the workers. */
#ifndef ROAST_BENCH_SAMPLE_RUN_H
#define ROAST_BENCH_SAMPLE_RUN_H

#include "roast/run.h"

enum { SAMPLE_RUN_CHUNKS = 1000000, SAMPLE_RUN_WORKERS = 2000 };

/* Ends the program where memory is short. */
roast_run *sample_cluster_make(void);

#endif
