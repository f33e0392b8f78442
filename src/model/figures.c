/* The names of engines for their figures. No other file of the library uses these names. */
#include "roast/figures.h"

typedef struct activity_name {
    roast_activity activity;
    const char *context, *name, *unit; /* context NULL: any */
} activity_name;

/* Of Dask's spans, of engines without names of their own, of counters, and of Coffea's preprocessing. */
static const activity_name names[] = {
    {ROAST_ACTIVITY_cpu, NULL, "thread-cpu", "seconds"},
    {ROAST_ACTIVITY_noncpu, NULL, "thread-noncpu", "seconds"},
    {ROAST_ACTIVITY_cpu, NULL, "cpu", "seconds"},
    {ROAST_ACTIVITY_noncpu, NULL, "noncpu", "seconds"},
    {ROAST_ACTIVITY_memory_read_bytes, NULL, "memory-read", "bytes"},
    {ROAST_ACTIVITY_disk_read_bytes, NULL, "disk-read", "bytes"},
    {ROAST_ACTIVITY_disk_write_bytes, NULL, "disk-write", "bytes"},
    {ROAST_ACTIVITY_disk, NULL, "disk-read", "seconds"},
    {ROAST_ACTIVITY_disk, NULL, "disk-write", "seconds"},
    {ROAST_ACTIVITY_compress, NULL, "compress", "seconds"},
    {ROAST_ACTIVITY_decompress, NULL, "decompress", "seconds"},
    {ROAST_ACTIVITY_serialize, NULL, "serialize", "seconds"},
    {ROAST_ACTIVITY_deserialize, NULL, "deserialize", "seconds"},
    {ROAST_ACTIVITY_worker_cpu, "worker", "process-cpu", "seconds"},
    {ROAST_ACTIVITY_machine_busy, "machine", "busy", "seconds"},
    {ROAST_ACTIVITY_machine_own, "machine", "own-cpu", "seconds"},
    {ROAST_ACTIVITY_machine_all, "machine", "core", "seconds"},
    {ROAST_ACTIVITY_machine_cores, "machine", "cores", "count"},
    {ROAST_ACTIVITY_preprocess, "preprocess", "wall", "seconds"},
    {ROAST_ACTIVITY_preprocess_files, "preprocess", "files", "count"},
    {ROAST_ACTIVITY_preprocess_bytes, "preprocess", "read", "bytes"},
    {ROAST_ACTIVITY_preprocess_requests, "preprocess", "read", "count"},
    {ROAST_ACTIVITY_task_memory, "worker", "task-memory", "bytes"},
    {ROAST_ACTIVITY_task_memory_used, "worker", "task-memory-used", "bytes"},
#define TRANSFER(way)                                                                              \
    {ROAST_ACTIVITY_transfer_##way, "transfer", #way, "seconds"},                                  \
        {ROAST_ACTIVITY_transfer_##way##_bytes, "transfer", #way, "bytes"}, {                      \
        ROAST_ACTIVITY_transfer_##way##_files, "transfer", #way, "count"                           \
    }
    TRANSFER(manager),
    TRANSFER(peer),
    TRANSFER(output),
#undef TRANSFER
};

static bool is(roast_str text, const char *wanted) {
    return text.data != NULL && roast_str_equal(text, roast_str_of(wanted));
}

static roast_activity activity_of(const roast_span_value *span) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((names[i].context == NULL || is(span->context, names[i].context)) &&
            is(span->activity, names[i].name) && is(span->unit, names[i].unit))
            return names[i].activity;
    return ROAST_ACTIVITY_COUNT;
}

/* An engine that knows the kind of its tasks gives it in place of a context. */
static roast_attempt_kind kind_of(const roast_run *run, const roast_span_value *span) {
    for (int kind = 0; kind < ROAST_KIND_foreign; kind++)
        if (is(span->context, roast_attempt_kind_name((roast_attempt_kind)kind)))
            return (roast_attempt_kind)kind;
    if (!is(span->context, "execute"))
        return ROAST_KIND_COUNT;
    roast_str processor = roast_run_processor(run);
    roast_str reducer = roast_run_meta(run, roast_str_of(ROAST_META_REDUCER));
    if (processor.data == NULL || roast_str_equal(span->prefix, processor))
        return ROAST_KIND_processing;
    return reducer.data != NULL && roast_str_equal(span->prefix, reducer) ? ROAST_KIND_reduction
                                                                          : ROAST_KIND_other;
}

uint32_t roast_run_figure_count(const roast_run *run) {
    return roast_run_span_count(run);
}

roast_figure roast_run_figure(const roast_run *run, uint32_t index) {
    roast_span_value span = roast_run_span(run, index);
    return (roast_figure){kind_of(run, &span), activity_of(&span), span.value, span.prefix};
}
