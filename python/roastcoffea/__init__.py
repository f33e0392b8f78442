"""roastcoffea: the measuring instrument for Coffea analyses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from roastcoffea._core import (
    BaseInstrumentationContext,
    ChunkLog,
    __version__,
    track_bytes,
    track_memory,
    track_metrics,
    track_time,
)

if TYPE_CHECKING:
    from roastcoffea.backends.registry import register_backend
    from roastcoffea.collector import MetricsCollector
    from roastcoffea.export.measurements import load_measurement
    from roastcoffea.results import open_run
    from roastcoffea.visualization.plots import (
        plot_all,
        plot_branch_access_per_chunk,
        plot_branch_reads,
        plot_bytes_accessed_per_chunk,
        plot_chunk_gantt,
        plot_compression_ratio_distribution,
        plot_core_second_budget,
        plot_cpu_utilization_mean_timeline,
        plot_cpu_utilization_per_worker_timeline,
        plot_data_access_percentage,
        plot_efficiency_summary,
        plot_executing_tasks_timeline,
        plot_memory_utilization_mean_timeline,
        plot_memory_utilization_per_worker_timeline,
        plot_occupancy_timeline,
        plot_peak_memory_per_chunk,
        plot_per_task_bytes_read,
        plot_per_task_cpu_io,
        plot_per_task_overhead,
        plot_resource_utilization,
        plot_runtime_distribution,
        plot_runtime_vs_events,
        plot_section_breakdown,
        plot_throughput_and_workers_timeline,
        plot_throughput_timeline,
        plot_total_active_tasks_timeline,
        plot_worker_activity_timeline,
        plot_worker_count_timeline,
    )

track_section = track_time

__all__ = [
    "BaseInstrumentationContext",
    "ChunkLog",
    "MetricsCollector",
    "__version__",
    "load_measurement",
    "open_run",
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
    "register_backend",
    "track_bytes",
    "track_memory",
    "track_metrics",
    "track_section",
    "track_time",
]


# Loaded when somebody asks for them. Every worker imports this package for its decorators, and needs no more than the
# engine; matplotlib takes longer to import than all of it.
_HOMES = {
    "MetricsCollector": "collector",
    "load_measurement": "export.measurements",
    "open_run": "results",
    "register_backend": "backends.registry",
    **{name: "visualization.plots" for name in __all__ if name.startswith("plot_")},
}
_MODULES = {"aggregation", "backends", "collector", "decorator", "export", "instrumentation", "report", "utils",
            "visualization"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
