#include "analyse/diagnose/chunk_cost.h"

#include "analyse/diagnose/internal.h"

bool roast_chunk_cost_fit(const roast_line *line, roast_chunk_cost *out) {
    double intercept, slope, r;
    if (line->count < roast_limit.least_chunks || !(line->mean_x > 0) ||
        sqrt(line->m2_x / (double)line->count) < roast_limit.fit_spread * line->mean_x)
        return false;
    if (!roast_line_fit(line, &intercept, &slope) || !roast_line_correlation(line, &r) ||
        !(slope > 0) || r < roast_limit.fit_correlation)
        return false;
    *out = (roast_chunk_cost){fmax(0, intercept), slope, roast_line_intercept_error(line)};
    return true;
}

/* Half a chunk more is rounded to the even number, as Python does. */
double roast_chunks_of_file(double events, double chunksize) {
    return fmax(1, nearbyint(events / chunksize));
}

double roast_waiting_reads(double read, double read_cpu, double off, double queue) {
    if (isnan(read_cpu))
        return fmin(read, off - queue);
    return off > 0 ? fmin(fmax(0, read - read_cpu), off) * (off - queue) / off : 0;
}
