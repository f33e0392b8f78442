"""How much was done over time: tasks and bytes."""

from __future__ import annotations

from roastcoffea.visualization.binning import Rates, WorkerCounts, throughput, worker_counts
from roastcoffea.visualization.drawing import scale_of
from roastcoffea.visualization._axes import (
    Clock, count_axis, from_zero, legend, line, note, right_axis, time_axis,
)
from roastcoffea.visualization._data import Info, Tracking, intervals_of, start_of, tracking_of
from roastcoffea.visualization._figure import (
    Axes, Colors, Drawn, Output, Size, finish, new_figure, style_axes,
)
from roastcoffea.visualization.plots._timelines import Measure, draw_per_worker, draw_total, missing

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
) -> Drawn:
    """Tasks that are assigned to each worker."""
    return draw_per_worker(tracking_data, _ACTIVE, output_path, figsize, title, max_legend_entries)


def plot_total_active_tasks_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 5),
    title: str = "Total Active Tasks Over Time",
) -> Drawn:
    """Tasks that are assigned to any worker."""
    return draw_total(tracking_data, _TOTAL, output_path, figsize, title)


def plot_throughput_timeline(
    chunk_info: Info,
    tracking_data: Tracking = None,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Data Throughput Over Time",
) -> Drawn:
    """Bytes that the chunks read, each spread over the time it ran; and the number of workers."""
    data = _throughput_of(chunk_info)
    workers = _workers_during(tracking_data, data)
    figure, axes = new_figure(figsize, output_path)
    clock = time_axis(axes, _zero(chunk_info, tracking_data, workers, data), data.start, float(data.edges[-1]))
    _draw_rate(axes, clock, data)
    if workers is not None:
        right = right_axis(axes, "Number of workers", Colors.vermilion)
        _draw_workers(right, clock, workers, data)
    elif tracking_data is not None:
        note(axes, _OTHER_TIME, "left")
    return finish(figure, axes, title, output_path)


def plot_throughput_and_workers_timeline(
    chunk_info: Info,
    tracking_data: Tracking = None,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Throughput and Workers Over Time",
) -> Drawn:
    """Data rate above; below it the chunks that were running and the workers that were there."""
    data = _throughput_of(chunk_info)
    workers = _workers_during(tracking_data, data)
    figure, axes = new_figure(figsize, output_path)
    figure.delaxes(axes)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for panel in (top, below):
        style_axes(panel)
    clock = time_axis(below, _zero(chunk_info, tracking_data, workers, data), data.start, float(data.edges[-1]))
    _draw_rate(top, clock, data)
    below.stairs(
        data.running,
        clock(data.edges),
        fill=True,
        color=Colors.green,
        alpha=0.3,
        label="Chunks running",
    )
    largest = float(data.running.max())
    if workers is not None:
        _draw_workers(below, clock, workers, data)
        largest = max(largest, float(workers.workers.max()))
    elif tracking_data is not None:
        note(top, _OTHER_TIME)
    below.set_ylabel("Number")
    count_axis(below.yaxis)
    from_zero(below, largest)
    legend(below)
    return finish(figure, top, title, output_path)


_OTHER_TIME = "the worker counts are from another time"


def _throughput_of(info: Info) -> Rates:
    data = throughput(*intervals_of(info), BINS)
    if data is None:
        raise ValueError(
            "No bytes read in chunk_info: they are counted where @track_metrics sees the file that "
            "the events come from (a NanoEvents factory)"
        )
    return data


def _zero(info: Info, tracking_data: Tracking, workers: WorkerCounts | None, data: Rates) -> float:
    """The start of the run; where it is not known, the earliest of all moments."""
    start = start_of(info, tracking_data)
    if start is not None:
        return start
    return data.start if workers is None else min(workers.start, data.start)


def _draw_rate(axes: Axes, time: Clock, data: Rates) -> None:
    scale, edges = scale_of(float(data.rates.max()) * 8, "bps"), time(data.edges)
    rates = scale(data.rates * 8)
    axes.stairs(rates, edges, fill=True, color=Colors.blue, alpha=0.25)
    axes.stairs(rates, edges, color=Colors.blue, linewidth=1.2, label="Data rate")
    axes.set_ylabel(f"Data rate ({scale.unit})")
    from_zero(axes, float(rates.max()))


def _workers_during(tracking_data: Tracking, data: Rates) -> WorkerCounts | None:
    """The counts of workers; None where there are none, or they were not taken while the chunks ran."""
    workers = worker_counts(tracking_of(tracking_data)) if tracking_data is not None else None
    if workers is None:
        return None
    begin = workers.start - data.start
    late, early = begin - data.edges[-1], -(begin + workers.time[-1])
    return workers if max(late, early) <= CLOCKS_APART else None


def _draw_workers(axes: Axes, time: Clock, workers: WorkerCounts, data: Rates) -> None:
    """On the same axis of time, as far as the chunks go."""
    times = time(workers.time + (workers.start - data.start))
    line(axes, times, workers.workers, "Workers", Colors.vermilion, steps=True, width=1.4)
    count_axis(axes.yaxis)
    from_zero(axes, float(workers.workers.max()))
