"""How well the cluster was used, and what there was of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from roastcoffea._core import format_value
from roastcoffea.visualization._axes import (
    bars_label,
    bytes_scale,
    count_axis,
    from_zero,
    right_axis,
)
from roastcoffea.visualization._data import Metrics, metrics_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_efficiency_summary", "plot_resource_utilization"]


def plot_efficiency_summary(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Efficiency Metrics Summary",
) -> tuple[Figure, Axes]:
    """What share of the cores' time was used; the speed-up stands below."""
    found = metrics_of(metrics)
    bars = _known(
        found,
        (
            ("Core efficiency", "core_efficiency", 100),
            ("CPU efficiency\n(Dask spans)", "cpu_efficiency_fine", 100),
            ("CPU utilization\n(samples)", "cpu_utilization_avg_pct", 1),
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
    for place, (_, value) in enumerate(bars):
        axes.bar(place, value, width=0.6, color=Colors.blue, alpha=0.85)
        bars_label(axes, place, value, f"{value:.1f}%", right=False)
    axes.set_xticks(range(len(bars)), [name for name, _ in bars])
    axes.set_xlim(-0.6, max(len(bars), 1) - 0.4)
    axes.set_ylabel("Share (%)")
    from_zero(axes, max((value for _, value in bars), default=0), 102)
    if speedup is not None:
        wall = found.get("wall_time", found.get("elapsed_time_seconds"))
        over = f" of {format_value(wall, 's')}" if wall is not None else ""
        _below(axes, f"Speed-up: {speedup:,.2f}× (CPU time / wall time{over})")
    return finish(figure, axes, title, output_path)


def plot_resource_utilization(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Resource Utilization Summary",
) -> tuple[Figure, Axes]:
    """Workers and cores to the left, memory a worker to the right."""
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
    names = [name for name, _ in counts + memory]
    for place, (_, value) in enumerate(counts):
        axes.bar(place, value, width=0.6, color=Colors.blue, alpha=0.85)
        bars_label(axes, place, value, format_value(value, "1"), right=False)
    axes.set_ylabel("Number", color=Colors.blue)
    count_axis(axes.yaxis)
    from_zero(axes, 1.03 * max((value for _, value in counts), default=0))
    if memory:
        scale = bytes_scale(max(value for _, value in memory))
        right = right_axis(axes, f"Memory ({scale.unit})", Colors.vermilion)
        for place, (_, value) in enumerate(memory, len(counts)):
            height = value / scale.divisor
            right.bar(place, height, width=0.6, color=Colors.vermilion, alpha=0.85)
            bars_label(right, place, height, format_value(value, "bytes"), right=False)
        from_zero(right, 1.03 * max(value for _, value in memory) / scale.divisor)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    return finish(figure, axes, title, output_path)


def _known(
    metrics: Mapping[str, Any], rows: tuple[tuple[str, str, float], ...]
) -> list[tuple[str, float]]:
    """Of these the ones that were measured, in the units of the plot."""
    return [
        (name, metrics[key] * factor) for name, key, factor in rows if metrics.get(key) is not None
    ]


def _below(axes: Axes, text: str) -> None:
    axes.annotate(
        text,
        xy=(0.5, 0),
        xycoords="axes fraction",
        xytext=(0, -46),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=11,
        color=Colors.ink,
    )
