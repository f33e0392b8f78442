/* The cost of a chunk: a fixed part and a part for each event. */
#ifndef ROAST_ANALYSE_CHUNK_COST_H
#define ROAST_ANALYSE_CHUNK_COST_H

#include "metrics/formulas.h"

typedef struct roast_chunk_cost {
    double fixed; /* s a chunk */
    double slope; /* s an event */
    double error; /* standard error of the fixed cost */
} roast_chunk_cost;

/* From a line of cost over events. false: the chunks are too few, or too much alike in their events, or their events do
 * not explain their cost. */
bool roast_chunk_cost_fit(const roast_line *line, roast_chunk_cost *out);

/* How many chunks Coffea makes of a file. None reaches beyond a file, and those of one file are of one length. */
double roast_chunks_of_file(double events, double chunksize);

/* How long the reads of a chunk were off the CPU to wait for data. Waiting for a core is in reads as much as elsewhere.
 * Where the CPU time of reads is not known (NaN), all waiting is in them as far as it can. `off` is the time off the
 * CPU, `queue` its part that waited for a core. */
double roast_waiting_reads(double read, double read_cpu, double off, double queue);

#endif
