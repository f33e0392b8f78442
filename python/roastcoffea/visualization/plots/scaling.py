"""How well the cluster was used, and its size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea._core import format_value
from roastcoffea.visualization.drawing import scale_of
from roastcoffea.visualization._axes import bars_label, count_axis, from_zero, note, right_axis
from roastcoffea.visualization._data import Metrics, metrics_of
from roastcoffea.visualization._figure import Axes, Colors, Drawn, Output, Size, finish, new_figure

__all__ = ["plot_efficiency_summary", "plot_resource_utilization"]


def plot_efficiency_summary(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Efficiency Metrics Summary",
) -> Drawn:
    """The share of the cores' time that was used, and the speed-up."""
    found = metrics_of(metrics)
    # The counters of the processes are exact; samples and the threads of tasks are shown where there is nothing better.
    cpu = [("CPU of the workers", "worker_cpu_percent", 1)]
    if found.get("worker_cpu_percent") is None:
        cpu = [
            ("CPU efficiency\n(Dask spans)", "cpu_efficiency_fine", 100),
            ("CPU utilization\n(samples)", "cpu_utilization_avg_pct", 1),
        ]
    bars = _known(
        found,
        (
            ("Core efficiency", "core_efficiency", 100),
            *cpu,
            ("Memory utilization\n(samples)", "memory_utilization_avg_pct", 1),
        ),
    )
    speedup = found.get("speedup_factor", found.get("speedup"))
    if not bars and speedup is None:
        raise ValueError(
            "No efficiency metrics available (core_efficiency or speedup_factor): they need "
            "Coffea's report (savemetrics=True, set_coffea_report) and track_workers=True"
        )
    figure, axes = new_figure(figsize, output_path)
    _columns(axes, [(value, f"{value:.1f}%") for _, value in bars], Colors.blue)
    _names(axes, [name for name, _ in bars])
    axes.set_ylabel("Share (%)")
    from_zero(axes, max((value for _, value in bars), default=0), 102)
    if speedup is not None:
        wall = found.get("wall_time", found.get("elapsed_time_seconds"))
        over = f" of {format_value(wall, 's')}" if wall is not None else ""
        text = f"Speed-up: {speedup:,.2f}× (CPU time / wall time{over})"
        note(axes, text, "center", 46, fontsize=11, color=Colors.ink)
    return finish(figure, axes, title, output_path)


def plot_resource_utilization(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Resource Utilization Summary",
) -> Drawn:
    """Workers and cores to the left, memory per worker to the right."""
    found = metrics_of(metrics)
    counts = _known(
        found,
        (
            ("Workers\n(mean over time)", "avg_workers", 1),
            ("Workers\n(peak)", "peak_workers", 1),
            ("Cores\n(mean over time)", "total_cores", 1),
        ),
    )
    memory = _known(
        found,
        (
            ("Memory of a worker\n(mean)", "avg_memory_per_worker_bytes", 1),
            ("Memory of a worker\n(peak)", "peak_memory_bytes", 1),
        ),
    )
    if not counts and not memory:
        raise ValueError(
            "No resource metrics available (workers, cores, or memory): collect with "
            "MetricsCollector(client, track_workers=True)"
        )
    figure, axes = new_figure(figsize, output_path)
    _columns(axes, [(value, format_value(value, "1")) for _, value in counts], Colors.blue)
    axes.set_ylabel("Number", color=Colors.blue)
    count_axis(axes.yaxis)
    from_zero(axes, 1.03 * max((value for _, value in counts), default=0))
    if memory:
        scale = scale_of(max(value for _, value in memory), "B")
        right = right_axis(axes, f"Memory ({scale.unit})", Colors.vermilion)
        bars = [(value / scale.divisor, format_value(value, "bytes")) for _, value in memory]
        _columns(right, bars, Colors.vermilion, first=len(counts))
        from_zero(right, 1.03 * max(height for height, _ in bars))
    _names(axes, [name for name, _ in counts + memory])
    return finish(figure, axes, title, output_path)


def _known(
    metrics: Mapping[str, Any], rows: tuple[tuple[str, str, float], ...]
) -> list[tuple[str, float]]:
    """Of these the ones that were measured, in the units of the plot."""
    return [
        (name, metrics[key] * factor) for name, key, factor in rows if metrics.get(key) is not None
    ]


def _columns(axes: Axes, bars: list[tuple[float, str]], color: str, first: int = 0) -> None:
    """Bars with their values above them."""
    for place, (height, text) in enumerate(bars, first):
        axes.bar(place, height, width=0.6, color=color, alpha=0.85)
        bars_label(axes, place, height, text, right=False)


def _names(axes: Axes, names: list[str]) -> None:
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, max(len(names), 1) - 0.4)
