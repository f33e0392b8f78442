"""Every plot of a run at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from roastcoffea import _core
from roastcoffea.visualization._figure import unshown
from roastcoffea.visualization.plots.budget import plot_core_second_budget
from roastcoffea.visualization.plots.chunks import plot_runtime_distribution, plot_runtime_vs_events
from roastcoffea.visualization.plots.cpu import (
    plot_cpu_utilization_mean_timeline,
    plot_cpu_utilization_per_worker_timeline,
    plot_executing_tasks_timeline,
    plot_occupancy_timeline,
)
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

__all__ = ["Plots", "plot_all"]


class Plots(dict[str, Path]):
    """``{name: file}`` of the plots that were made; ``left_out`` says of the others why not."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Plots: {len(self)} made, {len(self.left_out)} left out>"


class _Source:
    """What the plots are made of, each part looked up once."""

    def __init__(self, source: Any) -> None:
        run = source if isinstance(source, _core.Run) else getattr(source, "run", None)
        self.run: _core.Run | None = run if isinstance(run, _core.Run) else None
        self.metrics = self._metrics_of(source)
        self.tracking = self._part(source, "tracking_data", "tracking_data")
        if self.run is not None and self.run.series is not None:
            self.tracking = self.run.series
        chunks = self._part(source, "chunk_metrics", "raw_chunk_metrics")
        chunk_run = self.run
        if (chunk_run is None or not len(chunk_run.chunks)) and chunks:
            chunk_run = _core.Run(chunks=chunks)
        self.chunks = chunk_run.chunks if chunk_run is not None and len(chunk_run.chunks) else None
        self.reads = chunk_run.reads if chunk_run is not None and len(chunk_run.reads) else None
        self.spans = self._part(source, "span_metrics", "raw_span_metrics")
        if not self.spans and self.run is not None:
            self.spans = self.run.spans
        self.info = self.chunks if self.chunks is not None else self.metrics.get("chunk_info")
        self.budget = self._budget_of(source)

    def _metrics_of(self, source: Any) -> Mapping[str, Any]:
        if isinstance(source, Mapping):
            return source
        found = None if isinstance(source, _core.Run) else getattr(source, "metrics", None)
        if isinstance(found, Mapping):
            return found
        if self.run is not None:
            return self.run.metrics()
        raise TypeError(
            "plots are made of metrics, a Run, a MetricsCollector whose context has ended or a "
            f"saved measurement; not of {type(source).__name__}"
        )

    def _part(self, source: Any, attribute: str, key: str) -> Any:
        found = (
            None if isinstance(source, Mapping | _core.Run) else getattr(source, attribute, None)
        )
        return found if found is not None else self.metrics.get(key)

    def _budget_of(self, source: Any) -> Any:
        if "budget" in self.metrics:
            return self.metrics["budget"]
        make = getattr(source, "budget", getattr(self.run, "budget", None))
        return make() if callable(make) else {}


# Each plot, and what it takes of the source.
_PLOTS: dict[Callable[..., Any], Callable[[_Source], tuple[Any, ...]]] = {
    plot_core_second_budget: lambda source: (source.budget or {},),
    plot_throughput_and_workers_timeline: lambda source: (source.info, source.tracking),
    plot_throughput_timeline: lambda source: (source.info, source.tracking),
    plot_chunk_gantt: lambda source: (source.chunks,),
    plot_runtime_distribution: lambda source: (source.chunks,),
    plot_runtime_vs_events: lambda source: (source.chunks,),
    plot_peak_memory_per_chunk: lambda source: (source.chunks,),
    plot_section_breakdown: lambda source: (source.metrics,),
    plot_branch_reads: lambda source: (source.reads,),
    plot_branch_access_per_chunk: lambda source: (source.chunks,),
    plot_bytes_accessed_per_chunk: lambda source: (source.chunks,),
    plot_compression_ratio_distribution: lambda source: (source.metrics,),
    plot_data_access_percentage: lambda source: (source.metrics,),
    plot_worker_count_timeline: lambda source: (source.tracking,),
    plot_memory_utilization_mean_timeline: lambda source: (source.tracking,),
    plot_memory_utilization_per_worker_timeline: lambda source: (source.tracking,),
    plot_cpu_utilization_mean_timeline: lambda source: (source.tracking,),
    plot_cpu_utilization_per_worker_timeline: lambda source: (source.tracking,),
    plot_occupancy_timeline: lambda source: (source.tracking,),
    plot_executing_tasks_timeline: lambda source: (source.tracking,),
    plot_worker_activity_timeline: lambda source: (source.tracking,),
    plot_total_active_tasks_timeline: lambda source: (source.tracking,),
    plot_efficiency_summary: lambda source: (source.metrics,),
    plot_resource_utilization: lambda source: (source.metrics,),
    plot_per_task_cpu_io: lambda source: (source.spans,),
    plot_per_task_bytes_read: lambda source: (source.spans,),
    plot_per_task_overhead: lambda source: (source.spans,),
}


def plot_all(run_or_metrics: Any, folder: str | PathLike[str], format: str = "png") -> Plots:
    """Saves every plot that there is data for into `folder` as ``<name>.<format>``.

    `run_or_metrics` is a MetricsCollector, a Run, a loaded measurement, or a mapping of metrics.
    Returns ``{name: file}``; ``.left_out`` is ``{name: reason}``.
    """
    source = _Source(run_or_metrics)
    made = Plots()
    Path(folder).mkdir(parents=True, exist_ok=True)
    with unshown():
        for plot, arguments in _PLOTS.items():
            name = plot.__name__.removeprefix("plot_")
            path = Path(folder) / f"{name}.{format.lstrip('.')}"
            try:
                plot(*arguments(source), output_path=path)
            except ValueError as reason:
                made.left_out[name] = str(reason)
            else:
                made[name] = path
    return made
