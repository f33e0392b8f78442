/* How complete the records are: how many chunks have each value, and our own failed measurements. */
#include "metrics/formulas.h"

#define CPU_TIME (ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns))

/* One row per figure: the metric, and the fields that a chunk must have to be counted. */
#define COUNTED(X)                                                                                 \
    X(chunks_with_cpu_time, CPU_TIME)                                                              \
    X(chunks_with_peak_memory, ROAST_CHUNK_HAS(rss_peak))                                          \
    X(chunks_with_bytes_read, ROAST_CHUNK_HAS(bytes_read))                                         \
    X(chunks_with_before_process, ROAST_CHUNK_HAS(before_process_ns))

/* One row per figure: the metric, whether chunks with an error count too, the fields that a chunk must have, the
 * summand, and the unit of the sum. */
#define SUMMED(X)                                                                                  \
    X(bytes_read_from_chunks, false, ROAST_CHUNK_HAS(bytes_read), chunk->bytes_read, whole)        \
    X(metadata_bytes_read, false, ROAST_CHUNK_HAS(metadata_bytes), chunk->metadata_bytes, whole)   \
    X(total_read_requests, false, ROAST_CHUNK_HAS(read_requests), chunk->read_requests, whole)     \
    X(total_dropped_sections, true, ROAST_CHUNK_HAS(dropped_sections), chunk->dropped_sections,    \
      whole)                                                                                       \
    X(measurement_faults, true, ROAST_CHUNK_HAS(faults), chunk->faults, whole)                     \
    X(chunk_seconds, false, ROAST_CHUNK_HAS(duration_ns), chunk->duration_ns, seconds)             \
    X(chunk_cpu_seconds, false, CPU_TIME,                                                          \
      roast_add_capped(chunk->cpu_user_ns, chunk->cpu_system_ns), seconds)                         \
    X(before_process_seconds, false, ROAST_CHUNK_HAS(before_process_ns), chunk->before_process_ns, \
      seconds)                                                                                     \
    X(measuring_seconds, true, ROAST_CHUNK_HAS(measuring_ns), chunk->measuring_ns, seconds)

enum {
#define X(name, fields) COUNT_##name,
    COUNTED(X)
#undef X
        COUNTS
};
enum {
#define X(name, of_all, fields, value, told) SUM_##name,
    SUMMED(X)
#undef X
        SUMS
};
_Static_assert(COUNTS == ROAST_QUALITY_COUNTS && SUMS == ROAST_QUALITY_SUMS, "as in formulas.h");

void roast_quality_totals_add(roast_quality_totals *totals, const roast_chunk *chunk) {
    bool good = chunk->error_type.data == NULL;
    totals->chunks++;
    totals->with_branches += chunk->has_branches;
#define X(name, fields) totals->counts[COUNT_##name] += roast_chunk_has(chunk, fields);
    COUNTED(X)
#undef X
#define X(name, of_all, fields, value, told)                                                       \
    if ((good || (of_all)) && roast_chunk_has(chunk, fields))                                      \
        roast_known_sum_add(&totals->sums[SUM_##name], value);
    SUMMED(X)
#undef X
}

void roast_quality_totals_finish(const roast_quality_totals *totals, const roast_run *run,
                                 roast_metrics *metrics) {
    uint64_t replayed = roast_run_replayed(run);
    if (totals->chunks > 0 || replayed > 0)
        roast_put(metrics, ROAST_M_replayed_chunks, roast_value_int((int64_t)replayed));
    if (totals->chunks == 0)
        return;
    roast_put(metrics, ROAST_M_chunks_with_branches,
              roast_value_int((int64_t)totals->with_branches));
#define X(name, fields)                                                                            \
    roast_put(metrics, ROAST_M_##name, roast_value_int((int64_t)totals->counts[COUNT_##name]));
    COUNTED(X)
#undef X
#define X(name, of_all, fields, value, told)                                                       \
    roast_put(metrics, ROAST_M_##name, roast_known_##told(&totals->sums[SUM_##name]));
    SUMMED(X)
#undef X
}
