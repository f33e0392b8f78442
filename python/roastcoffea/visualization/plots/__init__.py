"""Every plot by name.

Each returns ``(figure, axes)``, saves the figure where `output_path` says so, and raises ValueError
where its data is missing, with what to switch on.
"""

# First of all: it says what to do where matplotlib is missing.
import roastcoffea.visualization._figure  # noqa: F401
from roastcoffea.visualization.plots.budget import plot_core_second_budget
from roastcoffea.visualization.plots.chunks import (
    plot_runtime_distribution,
    plot_runtime_vs_events,
)
from roastcoffea.visualization.plots.cpu import (
    plot_cpu_utilization_mean_timeline,
    plot_cpu_utilization_per_worker_timeline,
    plot_executing_tasks_timeline,
    plot_occupancy_timeline,
)
from roastcoffea.visualization.plots.everything import Plots, plot_all
from roastcoffea.visualization.plots.gantt import plot_chunk_gantt
from roastcoffea.visualization.plots.io import (
    plot_branch_access_per_chunk,
    plot_branch_reads,
    plot_bytes_accessed_per_chunk,
    plot_compression_ratio_distribution,
    plot_data_access_percentage,
)
from roastcoffea.visualization.plots.memory import (
    plot_memory_utilization_mean_timeline,
    plot_memory_utilization_per_worker_timeline,
    plot_peak_memory_per_chunk,
)
from roastcoffea.visualization.plots.per_task import (
    extract_per_task_metrics,
    plot_per_task_bytes_read,
    plot_per_task_cpu_io,
    plot_per_task_overhead,
)
from roastcoffea.visualization.plots.scaling import (
    plot_efficiency_summary,
    plot_resource_utilization,
)
from roastcoffea.visualization.plots.sections import plot_section_breakdown
from roastcoffea.visualization.plots.throughput import (
    plot_throughput_and_workers_timeline,
    plot_throughput_timeline,
    plot_total_active_tasks_timeline,
    plot_worker_activity_timeline,
)
from roastcoffea.visualization.plots.workers import plot_worker_count_timeline

__all__ = [
    "Plots",
    "extract_per_task_metrics",
    "plot_all",
    "plot_branch_access_per_chunk",
    "plot_branch_reads",
    "plot_bytes_accessed_per_chunk",
    "plot_chunk_gantt",
    "plot_compression_ratio_distribution",
    "plot_core_second_budget",
    "plot_cpu_utilization_mean_timeline",
    "plot_cpu_utilization_per_worker_timeline",
    "plot_data_access_percentage",
    "plot_efficiency_summary",
    "plot_executing_tasks_timeline",
    "plot_memory_utilization_mean_timeline",
    "plot_memory_utilization_per_worker_timeline",
    "plot_occupancy_timeline",
    "plot_peak_memory_per_chunk",
    "plot_per_task_bytes_read",
    "plot_per_task_cpu_io",
    "plot_per_task_overhead",
    "plot_resource_utilization",
    "plot_runtime_distribution",
    "plot_runtime_vs_events",
    "plot_section_breakdown",
    "plot_throughput_and_workers_timeline",
    "plot_throughput_timeline",
    "plot_total_active_tasks_timeline",
    "plot_worker_activity_timeline",
    "plot_worker_count_timeline",
]
