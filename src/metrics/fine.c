/* Where the tasks' time went, from the figures of the engine. */
#include <math.h>

#include "metrics/formulas.h"
#include "roast/figures.h"

/* The sums of one activity. An activity that the engine did not measure is not known, not 0. */
typedef struct activity {
    bool seen;
    double total, processor, other;
} activity;

/* Of figures that do not tell the kind of their task, all are processing where no processor is known. */
static void add_figure(activity *of, const roast_figure *figure, bool no_processor) {
    of->seen = true;
    of->total += figure->value;
    if (figure->kind == ROAST_KIND_processing || (no_processor && figure->kind == ROAST_KIND_COUNT))
        of->processor += figure->value;
    else
        of->other += figure->value;
}

static roast_value total_of(const activity *of) {
    return of->seen ? roast_value_real(of->total) : roast_value_none();
}

static roast_value whole_of(const activity *of) {
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

/* The machine counts in ticks, a process in nanoseconds: the processes may seem to have used more. */
static void put_machines(roast_metrics *metrics, const activity *a) {
    const activity *busy = &a[ROAST_ACTIVITY_machine_busy], *own = &a[ROAST_ACTIVITY_machine_own];
    const activity *all = &a[ROAST_ACTIVITY_machine_all];
    if (busy->seen && own->seen && all->seen && all->total > 0)
        roast_put(metrics, ROAST_M_other_work_percent,
                  roast_value_real(100 * fmax(0, busy->total - own->total) / all->total));
    roast_put(metrics, ROAST_M_machine_cores, whole_of(&a[ROAST_ACTIVITY_machine_cores]));
}

roast_status roast_metrics_fine(roast_metrics *metrics, const roast_run *run, roast_error *err) {
    (void)err;
    activity a[ROAST_ACTIVITY_COUNT + 1] = {{.seen = false}};
    bool no_processor = roast_run_processor(run).data == NULL;
    for (uint32_t i = 0; i < roast_run_figure_count(run); i++) {
        roast_figure figure = roast_run_figure(run, i);
        add_figure(&a[figure.activity], &figure, no_processor);
    }
    const activity *cpu = &a[ROAST_ACTIVITY_cpu], *noncpu = &a[ROAST_ACTIVITY_noncpu];
    const activity *compress = &a[ROAST_ACTIVITY_compress];
    const activity *decompress = &a[ROAST_ACTIVITY_decompress];
    const activity *serialize = &a[ROAST_ACTIVITY_serialize];
    const activity *deserialize = &a[ROAST_ACTIVITY_deserialize];
    roast_put(metrics, ROAST_M_preprocess_seconds, total_of(&a[ROAST_ACTIVITY_preprocess]));
    roast_put(metrics, ROAST_M_preprocess_files, whole_of(&a[ROAST_ACTIVITY_preprocess_files]));
    roast_put(metrics, ROAST_M_preprocess_bytes_read,
              whole_of(&a[ROAST_ACTIVITY_preprocess_bytes]));
    roast_put(metrics, ROAST_M_preprocess_read_requests,
              whole_of(&a[ROAST_ACTIVITY_preprocess_requests]));
    roast_put(metrics, ROAST_M_task_memory_limit_bytes, whole_of(&a[ROAST_ACTIVITY_task_memory]));
    roast_put(metrics, ROAST_M_largest_task_memory_bytes,
              whole_of(&a[ROAST_ACTIVITY_task_memory_used]));
#define TRANSFER(way)                                                                              \
    roast_put(metrics, ROAST_M_transfer_##way##_seconds,                                           \
              total_of(&a[ROAST_ACTIVITY_transfer_##way]));                                        \
    roast_put(metrics, ROAST_M_transfer_##way##_bytes,                                             \
              whole_of(&a[ROAST_ACTIVITY_transfer_##way##_bytes]));                                \
    roast_put(metrics, ROAST_M_transfer_##way##_files,                                             \
              whole_of(&a[ROAST_ACTIVITY_transfer_##way##_files]))
    TRANSFER(manager);
    TRANSFER(peer);
    TRANSFER(output);
#undef TRANSFER
    roast_put(metrics, ROAST_M_worker_cpu_seconds, total_of(&a[ROAST_ACTIVITY_worker_cpu]));
    put_machines(metrics, a);
    roast_put(metrics, ROAST_M_cpu_time_seconds, total_of(cpu));
    roast_put(metrics, ROAST_M_io_time_seconds, total_of(noncpu));
    roast_put(metrics, ROAST_M_processor_cpu_time_seconds, processor_of(cpu));
    roast_put(metrics, ROAST_M_processor_noncpu_time_seconds, processor_of(noncpu));
    roast_put(metrics, ROAST_M_overhead_cpu_time_seconds, overhead_of(cpu));
    roast_put(metrics, ROAST_M_overhead_noncpu_time_seconds, overhead_of(noncpu));
    put_shares(metrics, cpu, noncpu);
    roast_put(metrics, ROAST_M_total_bytes_memory_read_dask,
              whole_of(&a[ROAST_ACTIVITY_memory_read_bytes]));
    roast_put(metrics, ROAST_M_disk_read_bytes, whole_of(&a[ROAST_ACTIVITY_disk_read_bytes]));
    roast_put(metrics, ROAST_M_disk_write_bytes, whole_of(&a[ROAST_ACTIVITY_disk_write_bytes]));
    roast_put(metrics, ROAST_M_compression_time_seconds, total_of(compress));
    roast_put(metrics, ROAST_M_decompression_time_seconds, total_of(decompress));
    roast_put(metrics, ROAST_M_total_compression_overhead_seconds, sum_of(compress, decompress));
    roast_put(metrics, ROAST_M_serialization_time_seconds, total_of(serialize));
    roast_put(metrics, ROAST_M_deserialization_time_seconds, total_of(deserialize));
    roast_put(metrics, ROAST_M_total_serialization_overhead_seconds,
              sum_of(serialize, deserialize));
    return ROAST_OK;
}
