"""Where the time and the bytes of the tasks went, by the names of the tasks."""

from __future__ import annotations

import numpy as np

from roastcoffea._core import format_value
from roastcoffea.visualization._axes import bars_label, legend, note, row_bars, row_names, unit_scale
from roastcoffea.visualization._data import Spans, spans_of
from roastcoffea.visualization._figure import (
    Colors, Drawn, Output, Size, finish, new_figure, style_axes,
)

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

# The parts of a bar: label, activity, colour.
_Parts = tuple[tuple[str, str, str], ...]


def extract_per_task_metrics(span_metrics: Spans) -> dict[str, dict[str, float]]:
    """``{task: {activity: seconds or bytes}}`` of what the tasks themselves did."""
    return _tasks_of(span_metrics, outside=False)


# Dask tells seconds and counts of every activity, and bytes of these.
_IN_BYTES = ("memory-read", "disk-read", "disk-write")


def _tasks_of(span_metrics: Spans, outside: bool) -> dict[str, dict[str, float]]:
    """By task; with `outside` also what workers did outside tasks, by its name ("get-data")."""
    tasks: dict[str, dict[str, float]] = {}
    for (context, *prefix, activity, unit), value in spans_of(span_metrics).items():
        inside = context == "execute" and bool(prefix)
        if unit == ("bytes" if activity in _IN_BYTES else "seconds") and (inside or outside):
            of_task = tasks.setdefault(prefix[0] if inside else context, {})
            of_task[activity] = of_task.get(activity, 0.0) + value
    return tasks


def plot_per_task_cpu_io(
    span_metrics: Spans,
    output_path: Output = None,
    title: str = "CPU vs I/O Time per Task",
    figsize: Size = (12, 6),
) -> Drawn:
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
) -> Drawn:
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
) -> Drawn:
    """Time that went into packing and unpacking: in tasks, and when workers exchange data.

    Rows such as "get-data" and "gather-dep" are what Dask's workers do outside tasks.
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
) -> Drawn:
    # Only the time of packing lies outside tasks, most of it: where workers send and fetch data.
    tasks = _tasks_of(span_metrics, outside=what == "overhead")
    names = [
        name
        for name, values in tasks.items()
        if any(activity in values for _, activity, _ in parts)
    ]
    if not names:
        raise ValueError(f"No per-task {what} metrics found in span_metrics: {_SPANS}")
    amounts = np.array(
        [[tasks[name].get(activity, 0.0) for _, activity, _ in parts] for name in names]
    )
    totals = amounts.sum(axis=1)
    most = np.argsort(-totals, kind="stable")[:MOST_TASKS]
    largest = float(totals.max())
    scale = unit_scale(largest, unit)
    figure, axes = new_figure(figsize, output_path)
    style_axes(axes, grid="x")
    left = np.zeros(len(most))
    for column, (part, _, color) in enumerate(parts):
        width = scale(amounts[most, column])
        row_bars(axes, width, color, left=left, label=part if width.any() else "_none")
        left = left + width
    for place, task in enumerate(most):
        text = format_value(float(totals[task]), unit)
        bars_label(axes, float(left[place]), place, text, right=True)
    row_names(axes, [names[task] for task in most], largest / scale.divisor, 1.12)
    axes.set_xlabel(f"{label} ({scale.unit})")
    if len(names) > len(most):
        note(axes, f"… and {len(names) - len(most):,} more tasks")
    legend(axes)
    return finish(figure, axes, title, output_path)
