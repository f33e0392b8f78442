/* How complete the records are: which chunks tell what, and what of our own measuring failed. */
#include "metrics/formulas.h"

/* One row a figure: the metric, and the fields that a chunk must have to be counted. */
#define COUNTED(X)                                                                                 \
    X(chunks_with_cpu_time, ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns))         \
    X(chunks_with_peak_memory, ROAST_CHUNK_HAS(rss_peak))                                          \
    X(chunks_with_bytes_read, ROAST_CHUNK_HAS(bytes_read))                                         \
    X(chunks_with_before_process, ROAST_CHUNK_HAS(before_process_ns))

/* One row a figure: the metric, the field that is summed up over the chunks that have it, and of which
 * chunks: those without an error, or all. */
#define SUMMED(X)                                                                                  \
    X(bytes_read_from_chunks, bytes_read, false)                                                   \
    X(metadata_bytes_read, metadata_bytes, false)                                                  \
    X(total_read_requests, read_requests, false)                                                   \
    X(total_dropped_sections, dropped_sections, true)                                              \
    X(measurement_faults, faults, true)

enum {
#define X(name, fields) COUNT_##name,
    COUNTED(X)
#undef X
        COUNTS
};

enum {
#define X(name, field, of_all) SUM_##name,
    SUMMED(X)
#undef X
        SUMS
};

struct roast_quality_totals {
    uint64_t chunks, with_branches, counts[COUNTS], known[SUMS];
    int64_t sums[SUMS];
    uint64_t timed, with_cpu, with_before, with_measuring;
    int64_t duration_ns, cpu_ns, before_ns, measuring_ns;
};

roast_status roast_quality_totals_new(roast_quality_totals **out) {
    *out = roast_alloc_zero(sizeof **out);
    return *out != NULL ? ROAST_OK : ROAST_ENOMEM;
}

void roast_quality_totals_free(roast_quality_totals *totals) {
    roast_free(totals);
}

/* ---- one chunk ---- */

static bool has(const roast_chunk *chunk, uint64_t fields) {
    return (chunk->have & fields) == fields;
}

static void add_sum(roast_quality_totals *totals, int which, int64_t value) {
    totals->known[which]++;
    totals->sums[which] = roast_add_i64(totals->sums[which], value);
}

static void add_times(roast_quality_totals *totals, const roast_chunk *chunk) {
    if (has(chunk, ROAST_CHUNK_HAS(duration_ns))) {
        totals->timed++;
        totals->duration_ns = roast_add_i64(totals->duration_ns, chunk->duration_ns);
    }
    if (has(chunk, ROAST_CHUNK_HAS(cpu_user_ns) | ROAST_CHUNK_HAS(cpu_system_ns))) {
        totals->with_cpu++;
        totals->cpu_ns =
            roast_add_i64(totals->cpu_ns, roast_add_i64(chunk->cpu_user_ns, chunk->cpu_system_ns));
    }
    if (has(chunk, ROAST_CHUNK_HAS(before_process_ns))) {
        totals->with_before++;
        totals->before_ns = roast_add_i64(totals->before_ns, chunk->before_process_ns);
    }
}

void roast_quality_totals_add(roast_quality_totals *totals, const roast_chunk *chunk) {
    bool good = chunk->error_type.data == NULL;
    totals->chunks++;
    totals->with_branches += chunk->has_branches;
#define X(name, fields) totals->counts[COUNT_##name] += has(chunk, fields);
    COUNTED(X)
#undef X
#define X(name, field, of_all)                                                                     \
    if ((good || (of_all)) && has(chunk, ROAST_CHUNK_HAS(field)))                                  \
        add_sum(totals, SUM_##name, chunk->field);
    SUMMED(X)
#undef X
    if (has(chunk, ROAST_CHUNK_HAS(measuring_ns))) {
        totals->with_measuring++;
        totals->measuring_ns = roast_add_i64(totals->measuring_ns, chunk->measuring_ns);
    }
    if (good)
        add_times(totals, chunk);
}

/* ---- the end ---- */

static roast_value seconds_if(uint64_t known, int64_t ns) {
    return known > 0 ? roast_value_real((double)ns / 1e9) : roast_value_none();
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
#define X(name, field, of_all)                                                                     \
    if (totals->known[SUM_##name] > 0)                                                             \
        roast_put(metrics, ROAST_M_##name, roast_value_int(totals->sums[SUM_##name]));
    SUMMED(X)
#undef X
    roast_put(metrics, ROAST_M_chunk_seconds, seconds_if(totals->timed, totals->duration_ns));
    roast_put(metrics, ROAST_M_chunk_cpu_seconds, seconds_if(totals->with_cpu, totals->cpu_ns));
    roast_put(metrics, ROAST_M_before_process_seconds,
              seconds_if(totals->with_before, totals->before_ns));
    roast_put(metrics, ROAST_M_measuring_seconds,
              seconds_if(totals->with_measuring, totals->measuring_ns));
}
