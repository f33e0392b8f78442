/* Metrics computed from other metrics. */
#include "metrics/formulas.h"

/* The target of analysis facilities for the high-luminosity LHC. */
static const double CHALLENGE_GBPS = 200;

roast_status roast_metrics_efficiency(roast_metrics *metrics, roast_error *err) {
    (void)err;
    const roast_value *values = metrics->values;
    roast_value wall = values[ROAST_M_wall_time];
    roast_value cpu = values[ROAST_M_total_cpu_time];
    roast_value paid = roast_value_product(wall, values[ROAST_M_total_cores]);
    roast_value events = values[ROAST_M_total_events];

    roast_put(metrics, ROAST_M_core_efficiency, roast_value_ratio(cpu, paid, 1, 1));
    roast_put(metrics, ROAST_M_cpu_efficiency_fine,
              roast_value_ratio(values[ROAST_M_cpu_time_seconds], paid, 1, 1));
    roast_put(metrics, ROAST_M_worker_cpu_percent,
              roast_value_ratio(values[ROAST_M_worker_cpu_seconds], paid, 100, 1));
    roast_put(metrics, ROAST_M_speedup_factor, roast_value_ratio(cpu, wall, 1, 1));
    roast_put(metrics, ROAST_M_io_overhead_pct,
              roast_value_ratio(values[ROAST_M_io_time_seconds], wall, 100, 1));
    roast_put(metrics, ROAST_M_efficiency_ratio,
              roast_value_ratio(values[ROAST_M_event_rate_wall_khz],
                                values[ROAST_M_event_rate_agg_khz], 1, 1));
    /* Without a rate the factor is not defined. */
    if (roast_value_number(values[ROAST_M_data_rate_gbps]) > 0)
        roast_put(
            metrics, ROAST_M_challenge_factor,
            roast_value_real(CHALLENGE_GBPS / roast_value_number(values[ROAST_M_data_rate_gbps])));
    roast_put(metrics, ROAST_M_useful_rate_gbps,
              roast_value_ratio(values[ROAST_M_files_accessed_bytes], wall, 8, 1e9));
    roast_put(metrics, ROAST_M_event_rate_core_hz, roast_value_ratio(events, paid, 1, 1));
    roast_put(metrics, ROAST_M_event_rate_core_khz, roast_value_ratio(events, paid, 1, 1e3));
    return ROAST_OK;
}
