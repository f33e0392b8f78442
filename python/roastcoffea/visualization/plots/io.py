"""What was read: branches, bytes, how much of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roastcoffea import _core
from roastcoffea.visualization._axes import (
    Array,
    Scale,
    array,
    bar_height,
    bars_label,
    bytes_scale,
    count_axis,
    from_zero,
    legend,
    line,
    shorten,
    time_scale,
)
from roastcoffea.visualization._data import (
    DECORATE,
    Chunks,
    Metrics,
    chunks_of,
    metrics_of,
    reads_of,
)
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure, style_axes
from roastcoffea.visualization.plots._distributions import draw_histogram
from roastcoffea.visualization.plots._per_chunk import (
    MOST_BARS,
    draw_per_chunk,
    places_of,
    ranges_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "plot_branch_access_per_chunk",
    "plot_branch_reads",
    "plot_bytes_accessed_per_chunk",
    "plot_compression_ratio_distribution",
    "plot_data_access_percentage",
]


def plot_branch_access_per_chunk(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Branches Accessed Per Chunk",
) -> tuple[Figure, Axes]:
    """How many branches process() touched, chunk by chunk."""
    table = chunks_of(chunk_metrics)
    data = ranges_of(
        table,
        "num_branches_accessed",
        "No branch access data in chunk metrics: it is recorded by @track_metrics where the "
        "events come from a NanoEvents factory with an access_log",
    )
    figure, axes = new_figure(figsize, output_path)
    draw_per_chunk(
        axes, data, len(table), Scale(1, ""), Colors.blue, "Branches accessed", "{:,.1f}"
    )
    count_axis(axes.yaxis)
    return finish(figure, axes, title, output_path)


def plot_bytes_accessed_per_chunk(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Bytes Accessed Per Chunk (Compressed vs Uncompressed)",
) -> tuple[Figure, Axes]:
    """Size of the branches that process() touched, in the file and in memory."""
    table = chunks_of(chunk_metrics)
    found = _sizes_of(table)
    figure, axes = new_figure(figsize, output_path)
    largest = max(data["max"] for _, data, _, _ in found)
    scale = bytes_scale(largest)
    for name, data, color, shift in found:
        places, means = places_of(data, len(table)), scale(data["means"])
        label = f"{name} (mean {_core.format_value(data['mean'], 'bytes')})"
        if len(table) <= MOST_BARS:
            axes.bar(places + shift, means, width=0.4, color=color, linewidth=0, label=label)
        else:
            axes.fill_between(
                places,
                scale(data["lows"]),
                scale(data["highs"]),
                color=color,
                alpha=0.2,
                linewidth=0,
            )
            line(axes, places, means, label, color, width=1.1)
    axes.set_xlabel("Chunk (in the order of their start)")
    axes.set_ylabel(f"Bytes ({scale.unit})")
    axes.set_xlim(-0.5 - 0.01 * len(table), len(table) - 0.5 + 0.01 * len(table))
    count_axis(axes.xaxis)
    from_zero(axes, largest / scale.divisor)
    legend(axes)
    return finish(figure, axes, title, output_path)


def _sizes_of(table: _core.Table) -> list[tuple[str, Any, str, float]]:
    found = []
    for name, column, color, shift in (
        ("Compressed", "accessed_bytes", Colors.blue, -0.2),
        ("Uncompressed", "accessed_uncompressed_bytes", Colors.orange, 0.2),
    ):
        try:
            found.append((name, ranges_of(table, column, ""), color, shift))
        except ValueError:
            continue
    if not found:
        raise ValueError(
            "No bytes access data in chunk metrics: it is recorded by @track_metrics where the "
            "sizes of the file's branches are known (ROOT files that uproot opened)"
        )
    return found


def plot_compression_ratio_distribution(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Compression Ratio Distribution Across Files",
    bins: int = 20,
) -> tuple[Figure, Axes]:
    """Compressed over uncompressed size of each file."""
    values = metrics_of(metrics).get("compression_ratios")
    data = _core.plot_histogram(values, bins) if values else None
    if data is None:
        raise ValueError(f"No compression ratio data available: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    draw_histogram(
        axes, data, Scale(1, ""), "ratio", "Compression ratio (compressed / uncompressed)", "files"
    )
    return finish(figure, axes, title, output_path)


def plot_data_access_percentage(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Bytes Read Percentage Distribution",
    bins: int = 20,
) -> tuple[Figure, Axes]:
    """How much of each file's bytes belong to the branches that were read."""
    values = metrics_of(metrics).get("bytes_read_percent_per_file")
    data = _core.plot_histogram(values, bins) if values else None
    if data is None:
        raise ValueError(f"No bytes read percentage data available: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    draw_histogram(axes, data, Scale(1, ""), "%", "Bytes read (% of the file's tree)", "files")
    return finish(figure, axes, title, output_path)


def plot_branch_reads(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Bytes and Time per Branch",
    top: int = 20,
) -> tuple[Figure, Axes]:
    """The branches that cost most: bytes that were read, and the time that it took."""
    table = reads_of(chunk_metrics)
    branches = table.categories("branch")
    codes = table.column("branch.code")
    measures = [
        array(_core.plot_sums(codes, table.column(column), len(branches)))
        for column in ("bytes", "seconds")
    ]
    if not any(measure.any() for measure in measures):
        raise ValueError("No bytes and no times in the reads of branches: neither was measured")
    first = measures[0] if measures[0].any() else measures[1]
    most = np.argsort(-first, kind="stable")[: max(1, top)]
    figure, axes = new_figure(figsize, output_path)
    figure.delaxes(axes)
    panels = figure.subplots(1, 2, sharey=True)
    names = [shorten(branches[code]) for code in most]
    for panel, values, unit, label, color in (
        (panels[0], measures[0], "bytes", "Bytes read", Colors.blue),
        (panels[1], measures[1], "s", "Time to read and unpack", Colors.vermilion),
    ):
        _draw_branches(panel, values[most], names, unit, label, color)
    left = len(branches) - len(most)
    panels[1].annotate(
        f"… and {left:,} more branches" if left > 0 else "",
        xy=(1, 0),
        fontsize=8,
        ha="right",
        va="top",
        xycoords="axes fraction",
        xytext=(0, -24),
        textcoords="offset points",
        color=Colors.text,
    )
    figure.suptitle(title, fontsize=12, fontweight="bold", color=Colors.ink)
    return finish(figure, panels[0], "", output_path)


def _draw_branches(
    axes: Axes, values: Array, names: list[str], unit: str, label: str, color: str
) -> None:
    style_axes(axes, grid="x")
    places = np.arange(len(names))
    largest = float(values.max())
    scale = bytes_scale(largest) if unit == "bytes" else time_scale(largest)
    axes.barh(
        places, scale(values), height=bar_height(len(names)), color=color, alpha=0.8, linewidth=0
    )
    for place, value in zip(places, values):
        bars_label(
            axes,
            value / scale.divisor,
            float(place),
            _core.format_value(float(value), unit),
            right=True,
        )
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, largest / scale.divisor * 1.22 if largest > 0 else 1)
    axes.set_xlabel(f"{label} ({scale.unit})")
