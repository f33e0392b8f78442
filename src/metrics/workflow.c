/* How fast the run was: its clock and Coffea's own report. */
#include "metrics/formulas.h"

static roast_value count_chunks(const roast_run *run, const roast_report *report) {
    if (report->have_chunks)
        return roast_value_int(report->chunks);
    uint64_t records = roast_chunklog_count(roast_run_chunks_view(run));
    return records > 0 ? roast_value_int((int64_t)records) : roast_value_none();
}

roast_status roast_metrics_workflow(roast_metrics *metrics, const roast_run *run,
                                    roast_error *err) {
    (void)err;
    const roast_value none = roast_value_none();
    roast_run_clock clock = roast_run_get_clock(run);
    roast_report report = roast_run_get_report(run);
    roast_value wall = clock.have ? roast_value_real(clock.end - clock.start) : none;
    roast_value cpu = report.have_processtime ? roast_value_real(report.processtime) : none;
    roast_value events = report.have_entries ? roast_value_int(report.entries) : none;
    roast_value bytes = report.have_bytesread ? roast_value_int(report.bytesread) : none;
    roast_value chunks = count_chunks(run, &report);

    roast_put(metrics, ROAST_M_wall_time, wall);
    roast_put(metrics, ROAST_M_total_cpu_time, cpu);
    roast_put(metrics, ROAST_M_num_chunks, chunks);
    roast_put(metrics, ROAST_M_avg_cpu_time_per_chunk, roast_value_ratio(cpu, chunks, 1, 1));
    roast_put(metrics, ROAST_M_total_events, events);
    roast_put(metrics, ROAST_M_total_bytes_read_coffea, bytes);
    roast_put(metrics, ROAST_M_data_rate_gbps, roast_value_ratio(bytes, wall, 8, 1e9));
    roast_put(metrics, ROAST_M_data_rate_mbps, roast_value_ratio(bytes, wall, 1, 1e6));
    roast_put(metrics, ROAST_M_event_rate_wall_khz, roast_value_ratio(events, wall, 1, 1e3));
    roast_put(metrics, ROAST_M_event_rate_agg_khz, roast_value_ratio(events, cpu, 1, 1e3));
    return ROAST_OK;
}
