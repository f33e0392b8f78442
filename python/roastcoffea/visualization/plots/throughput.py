"""How much was done over time: tasks and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.visualization._axes import (
    Array,
    array,
    bits_scale,
    count_axis,
    from_zero,
    legend,
    line,
    note,
    right_axis,
    time_axis,
)
from roastcoffea.visualization._data import Info, Tracking, intervals_of, tracking_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure, style_axes
from roastcoffea.visualization.plots._timelines import Measure, draw_per_worker, draw_total, missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roastcoffea._core import _Throughput

__all__ = [
    "plot_throughput_and_workers_timeline",
    "plot_throughput_timeline",
    "plot_total_active_tasks_timeline",
    "plot_worker_activity_timeline",
]

_ACTIVE = Measure(
    "active_tasks",
    "Number of active tasks",
    missing("worker active tasks"),
    whole=True,
    smooth=True,
)
_TOTAL = _ACTIVE._replace(label="Total active tasks")
BINS = 200
# Seconds by which the clocks of workers and scheduler may differ.
CLOCKS_APART = 60.0


def plot_worker_activity_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Worker Activity Over Time",
    max_legend_entries: int = 5,
) -> tuple[Figure, Axes]:
    """Tasks that are assigned to each worker."""
    return draw_per_worker(tracking_data, _ACTIVE, output_path, figsize, title, max_legend_entries)


def plot_total_active_tasks_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 5),
    title: str = "Total Active Tasks Over Time",
) -> tuple[Figure, Axes]:
    """Tasks that are assigned to any worker."""
    return draw_total(tracking_data, _TOTAL, output_path, figsize, title)


def plot_throughput_timeline(
    chunk_info: Info,
    tracking_data: Tracking = None,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Data Throughput Over Time",
) -> tuple[Figure, Axes]:
    """Bytes that the chunks read, each spread over the time it ran; and the number of workers."""
    data = _throughput_of(chunk_info)
    figure, axes = new_figure(figsize, output_path)
    edges = time_axis(axes, data["start"], float(data["edges"][-1]))(data["edges"])
    _draw_rate(axes, edges, data)
    if tracking_data is not None:
        workers = _workers_beside(tracking_data, data)
        if workers is None:
            axes.annotate(
                "worker counts are of another time",
                xy=(0, 0),
                xycoords="axes fraction",
                xytext=(0, -24),
                textcoords="offset points",
                fontsize=8,
                va="top",
                color=Colors.text,
            )
        else:
            right = right_axis(axes, "Number of workers", Colors.vermilion)
            _draw_workers(right, workers, data, edges)
    return finish(figure, axes, title, output_path)


def plot_throughput_and_workers_timeline(
    chunk_info: Info,
    tracking_data: Tracking = None,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Throughput and Workers Over Time",
) -> tuple[Figure, Axes]:
    """Data rate above; below it the chunks that were running and the workers that were there."""
    data = _throughput_of(chunk_info)
    figure, axes = new_figure(figsize, output_path)
    figure.delaxes(axes)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for panel in (top, below):
        style_axes(panel)
    edges = time_axis(below, data["start"], float(data["edges"][-1]))(data["edges"])
    _draw_rate(top, edges, data)
    running = array(data["running"])
    below.stairs(running, edges, fill=True, color=Colors.green, alpha=0.3, label="Chunks running")
    largest = float(running.max())
    workers = _workers_beside(tracking_data, data) if tracking_data is not None else None
    if workers is not None:
        _draw_workers(below, workers, data, edges)
        largest = max(largest, float(array(workers["workers"]).max()))
    elif tracking_data is not None:
        note(top, "worker counts are of another time")
    below.set_ylabel("Number")
    count_axis(below.yaxis)
    from_zero(below, largest)
    legend(below)
    return finish(figure, top, title, output_path)


def _throughput_of(info: Info) -> _Throughput:
    data = _core.plot_throughput(intervals_of(info), BINS)
    if data is None:
        raise ValueError(
            "No bytes read in chunk_info: they are counted where @track_metrics sees the file that "
            "the events come from (a NanoEvents factory)"
        )
    return data


def _draw_rate(axes: Axes, edges: Array, data: _Throughput) -> None:
    rates = array(data["rates"]) * 8
    scale = bits_scale(float(rates.max()))
    rates = scale(rates)
    axes.stairs(rates, edges, fill=True, color=Colors.blue, alpha=0.25)
    axes.stairs(rates, edges, color=Colors.blue, linewidth=1.2, label="Data rate")
    axes.set_ylabel(f"Data rate ({scale.unit})")
    from_zero(axes, float(rates.max()))


def _workers_beside(tracking_data: Tracking, data: _Throughput) -> Any:
    """The counts of workers; None where they were not taken while the chunks ran."""
    workers = _core.plot_worker_counts(tracking_of(tracking_data))
    if workers is None:
        return None
    begin = workers["start"] - data["start"]
    together = (
        begin + workers["time"][-1] >= -CLOCKS_APART and begin <= data["edges"][-1] + CLOCKS_APART
    )
    return workers if together else None


def _draw_workers(axes: Axes, workers: Any, data: _Throughput, edges: Array) -> None:
    """On the same axis of time, as far as the chunks go."""
    seconds = array(workers["time"]) + (workers["start"] - data["start"])
    scaled = seconds * (float(edges[-1]) / data["edges"][-1])
    counts = array(workers["workers"])
    line(axes, scaled, counts, "Workers", Colors.vermilion, steps=True, width=1.4)
    count_axis(axes.yaxis)
    from_zero(axes, float(counts.max()))
