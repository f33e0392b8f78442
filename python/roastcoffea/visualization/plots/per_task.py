"""Where the time and the bytes of the tasks went, by the names of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roastcoffea import _core
from roastcoffea.visualization._axes import (
    Scale,
    array,
    bar_height,
    bars_label,
    bytes_scale,
    legend,
    note,
    shorten,
    time_scale,
)
from roastcoffea.visualization._data import Spans, spans_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "extract_per_task_metrics",
    "plot_per_task_bytes_read",
    "plot_per_task_cpu_io",
    "plot_per_task_overhead",
]

MOST_TASKS = 20
_SPANS = (
    "they come from Dask's spans: collect with MetricsCollector(client) on a Dask cluster whose "
    "scheduler has the spans extension (distributed.diagnostics.enable-spans, the default)"
)

# What is stacked: label, activity, colour.
_Parts = tuple[tuple[str, str, str], ...]


def extract_per_task_metrics(span_metrics: Spans) -> dict[str, dict[str, float]]:
    """``{task: {activity: seconds or bytes}}`` of what the tasks themselves did."""
    return _core.plot_tasks(spans_of(span_metrics))


def plot_per_task_cpu_io(
    span_metrics: Spans,
    output_path: Output = None,
    title: str = "CPU vs I/O Time per Task",
    figsize: Size = (12, 6),
) -> tuple[Figure, Axes]:
    """Time on the CPU, and time that the task's thread waited (for files, mostly)."""
    parts = (
        ("CPU", "thread-cpu", Colors.blue),
        ("Not on the CPU (I/O, waiting)", "thread-noncpu", Colors.orange),
    )
    return _draw(span_metrics, parts, "CPU/IO", "s", "Time", output_path, title, figsize)


def plot_per_task_bytes_read(
    span_metrics: Spans,
    output_path: Output = None,
    title: str = "Bytes Read per Task",
    figsize: Size = (12, 6),
) -> tuple[Figure, Axes]:
    """Bytes that tasks read from their worker's memory and from its spilled data on disk."""
    parts = (
        ("From memory", "memory-read", Colors.blue),
        ("From disk (spilled)", "disk-read", Colors.vermilion),
    )
    return _draw(
        span_metrics, parts, "bytes read", "bytes", "Bytes read", output_path, title, figsize
    )


def plot_per_task_overhead(
    span_metrics: Spans,
    output_path: Output = None,
    title: str = "Compression & Serialization Overhead per Task",
    figsize: Size = (12, 6),
) -> tuple[Figure, Axes]:
    """Time that went into packing and unpacking: in tasks, and when workers exchange data.

    Rows such as "get-data" and "gather-dep" are what Dask's workers do beside tasks.
    """
    parts = (
        ("Compress", "compress", Colors.blue),
        ("Decompress", "decompress", Colors.sky),
        ("Serialize", "serialize", Colors.vermilion),
        ("Deserialize", "deserialize", Colors.orange),
    )
    return _draw(span_metrics, parts, "overhead", "s", "Time", output_path, title, figsize)


def _draw(
    span_metrics: Spans,
    parts: _Parts,
    what: str,
    unit: str,
    label: str,
    output_path: Output,
    title: str,
    figsize: Size,
) -> tuple[Figure, Axes]:
    # Only the time of packing lies outside tasks, most of it: where workers send and fetch data.
    tasks = _core.plot_tasks(spans_of(span_metrics), beside=what == "overhead")
    names = [
        name
        for name, values in tasks.items()
        if any(activity in values for _, activity, _ in parts)
    ]
    if not names:
        raise ValueError(f"No per-task {what} metrics found in span_metrics: {_SPANS}")
    amounts = array(
        [[tasks[name].get(activity, 0.0) for _, activity, _ in parts] for name in names]
    )
    totals = amounts.sum(axis=1)
    most = np.argsort(-totals, kind="stable")[:MOST_TASKS]
    largest = float(totals.max())
    scale: Scale = bytes_scale(largest) if unit == "bytes" else time_scale(largest)
    figure, axes = new_figure(figsize, output_path)
    style_axes(axes, grid="x")
    places, left = np.arange(len(most)), np.zeros(len(most))
    for column, (part, _, color) in enumerate(parts):
        width = scale(amounts[most, column])
        axes.barh(
            places,
            width,
            left=left,
            height=bar_height(len(most)),
            color=color,
            label=part,
            linewidth=0,
        )
        left = left + width
    for place, task in enumerate(most):
        text = _core.format_value(float(totals[task]), unit)
        bars_label(axes, float(left[place]), place, text, right=True)
    axes.set_yticks(places, [shorten(names[task]) for task in most])
    axes.set_ylim(len(most) - 0.4, -0.6)
    axes.set_xlim(0, largest / scale.divisor * 1.12 if largest > 0 else 1)
    axes.set_xlabel(f"{label} ({scale.unit})")
    if len(names) > len(most):
        note(axes, f"… and {len(names) - len(most):,} more tasks")
    legend(axes)
    return finish(figure, axes, title, output_path)
