/* Where the tasks' time went: from Dask's spans. */
#include "metrics/formulas.h"

/* One activity in one unit. What Dask did not record is not known, not 0. */
typedef struct activity {
    const char *name, *unit;
    bool seen;
    double total, processor, other;
} activity;

enum {
    CPU,
    NONCPU,
    MEMORY_READ,
    DISK_READ,
    DISK_WRITE,
    COMPRESS,
    DECOMPRESS,
    SERIALIZE,
    DESERIALIZE,
    ACTIVITIES
};

static bool is_text(roast_str text, const char *wanted) {
    return text.data != NULL && roast_str_equal(text, roast_str_of(wanted));
}

static void add_span(activity activities[ACTIVITIES], const roast_span_value *span,
                     roast_str processor) {
    for (int i = 0; i < ACTIVITIES; i++) {
        activity *of = &activities[i];
        if (!is_text(span->activity, of->name) || !is_text(span->unit, of->unit))
            continue;
        of->seen = true;
        of->total += span->value;
        if (processor.data == NULL ||
            (is_text(span->context, "execute") && span->prefix.data != NULL &&
             roast_str_equal(span->prefix, processor)))
            of->processor += span->value;
        else
            of->other += span->value;
        return;
    }
}

/* What Coffea did before the run comes in the form of spans, in a context of its own. */
static void add_preprocessing(roast_metrics *metrics, const roast_span_value *span) {
    static const struct {
        const char *activity, *unit;
        uint32_t metric;
    } figures[] = {
        {"wall", "seconds", ROAST_M_preprocess_seconds},
        {"files", "count", ROAST_M_preprocess_files},
        {"read", "bytes", ROAST_M_preprocess_bytes_read},
        {"read", "count", ROAST_M_preprocess_read_requests},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (is_text(span->activity, figures[i].activity) && is_text(span->unit, figures[i].unit))
            roast_put(metrics, figures[i].metric,
                      figures[i].metric == ROAST_M_preprocess_seconds
                          ? roast_value_real(span->value)
                          : roast_value_rounded(span->value));
}

static roast_value total_of(const activity *of) {
    return of->seen ? roast_value_real(of->total) : roast_value_none();
}

static roast_value bytes_of(const activity *of) {
    return of->seen ? roast_value_rounded(of->total) : roast_value_none();
}

static roast_value processor_of(const activity *of) {
    return of->seen ? roast_value_real(of->processor) : roast_value_none();
}

static roast_value overhead_of(const activity *of) {
    return of->seen ? roast_value_real(of->other) : roast_value_none();
}

static roast_value sum_of(const activity *a, const activity *b) {
    if (!a->seen && !b->seen)
        return roast_value_none();
    return roast_value_real(a->total + b->total);
}

static void put_shares(roast_metrics *metrics, const activity *cpu, const activity *noncpu) {
    if (!cpu->seen || !noncpu->seen)
        return;
    double sum = cpu->processor + noncpu->processor;
    roast_put(metrics, ROAST_M_processor_cpu_percentage,
              roast_value_real(100 * roast_ratio(cpu->processor, sum)));
    roast_put(metrics, ROAST_M_processor_noncpu_percentage,
              roast_value_real(100 * roast_ratio(noncpu->processor, sum)));
}

roast_status roast_metrics_fine(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    (void)err;
    activity a[ACTIVITIES] = {
        [CPU] = {.name = "thread-cpu", .unit = "seconds"},
        [NONCPU] = {.name = "thread-noncpu", .unit = "seconds"},
        [MEMORY_READ] = {.name = "memory-read", .unit = "bytes"},
        [DISK_READ] = {.name = "disk-read", .unit = "bytes"},
        [DISK_WRITE] = {.name = "disk-write", .unit = "bytes"},
        [COMPRESS] = {.name = "compress", .unit = "seconds"},
        [DECOMPRESS] = {.name = "decompress", .unit = "seconds"},
        [SERIALIZE] = {.name = "serialize", .unit = "seconds"},
        [DESERIALIZE] = {.name = "deserialize", .unit = "seconds"},
    };
    roast_str processor = roast_run_processor(run);
    for (uint32_t i = 0; i < roast_run_span_count(run); i++) {
        roast_span_value span = roast_run_span(run, i);
        if (is_text(span.context, "preprocess"))
            add_preprocessing(metrics, &span);
        else
            add_span(a, &span, processor);
    }
    roast_put(metrics, ROAST_M_cpu_time_seconds, total_of(&a[CPU]));
    roast_put(metrics, ROAST_M_io_time_seconds, total_of(&a[NONCPU]));
    roast_put(metrics, ROAST_M_processor_cpu_time_seconds, processor_of(&a[CPU]));
    roast_put(metrics, ROAST_M_processor_noncpu_time_seconds, processor_of(&a[NONCPU]));
    roast_put(metrics, ROAST_M_overhead_cpu_time_seconds, overhead_of(&a[CPU]));
    roast_put(metrics, ROAST_M_overhead_noncpu_time_seconds, overhead_of(&a[NONCPU]));
    put_shares(metrics, &a[CPU], &a[NONCPU]);
    roast_put(metrics, ROAST_M_total_bytes_memory_read_dask, bytes_of(&a[MEMORY_READ]));
    roast_put(metrics, ROAST_M_disk_read_bytes, bytes_of(&a[DISK_READ]));
    roast_put(metrics, ROAST_M_disk_write_bytes, bytes_of(&a[DISK_WRITE]));
    roast_put(metrics, ROAST_M_compression_time_seconds, total_of(&a[COMPRESS]));
    roast_put(metrics, ROAST_M_decompression_time_seconds, total_of(&a[DECOMPRESS]));
    roast_put(metrics, ROAST_M_total_compression_overhead_seconds,
              sum_of(&a[COMPRESS], &a[DECOMPRESS]));
    roast_put(metrics, ROAST_M_serialization_time_seconds, total_of(&a[SERIALIZE]));
    roast_put(metrics, ROAST_M_deserialization_time_seconds, total_of(&a[DESERIALIZE]));
    roast_put(metrics, ROAST_M_total_serialization_overhead_seconds,
              sum_of(&a[SERIALIZE], &a[DESERIALIZE]));
    return ROAST_OK;
}
