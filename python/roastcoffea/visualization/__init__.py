"""Plots of a run, in matplotlib: see roastcoffea.visualization.plots.

This is the list of them: the module of each, and what plot_all makes it from (see everything.py).
"""

__all__ = ["PLOTS"]

PLOTS = {
    "plot_core_second_budget": ("budget", "budget"),
    "plot_throughput_and_workers_timeline": ("throughput", "info", "tracking"),
    "plot_throughput_timeline": ("throughput", "info", "tracking"),
    "plot_chunk_gantt": ("gantt", "tasks"),
    "plot_runtime_distribution": ("chunks", "chunks"),
    "plot_runtime_vs_events": ("chunks", "chunks"),
    "plot_peak_memory_per_chunk": ("memory", "chunks"),
    "plot_section_breakdown": ("sections", "metrics"),
    "plot_branch_reads": ("io", "reads"),
    "plot_branch_access_per_chunk": ("io", "chunks"),
    "plot_bytes_accessed_per_chunk": ("io", "chunks"),
    "plot_compression_ratio_distribution": ("io", "metrics"),
    "plot_data_access_percentage": ("io", "metrics"),
    "plot_worker_count_timeline": ("workers", "tracking"),
    "plot_memory_utilization_mean_timeline": ("memory", "tracking"),
    "plot_memory_utilization_per_worker_timeline": ("memory", "tracking"),
    "plot_cpu_utilization_mean_timeline": ("cpu", "tracking"),
    "plot_cpu_utilization_per_worker_timeline": ("cpu", "tracking"),
    "plot_occupancy_timeline": ("cpu", "tracking"),
    "plot_executing_tasks_timeline": ("cpu", "tracking"),
    "plot_worker_activity_timeline": ("throughput", "tracking"),
    "plot_total_active_tasks_timeline": ("throughput", "tracking"),
    "plot_efficiency_summary": ("scaling", "metrics"),
    "plot_resource_utilization": ("scaling", "metrics"),
    "plot_per_task_cpu_io": ("per_task", "spans"),
    "plot_per_task_bytes_read": ("per_task", "spans"),
    "plot_per_task_overhead": ("per_task", "spans"),
}
