"""Reads: branches, bytes, share of the files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roastcoffea._core import Table, format_value
from roastcoffea.visualization.binning import Array, group_sums, histogram
from roastcoffea.visualization.drawing import Scale, scale_of
from roastcoffea.visualization._axes import count_axis, note, row_bars, row_names, unit_scale
from roastcoffea.visualization._data import (
    DECORATE, Chunks, Metrics, chunks_of, metrics_of, reads_of, run_of,
)
from roastcoffea.visualization._figure import (
    Colors, Drawn, Output, Size, finish, new_figure, style_axes,
)
from roastcoffea.visualization.plots._distributions import draw_histogram
from roastcoffea.visualization.plots._per_chunk import (
    BAND, draw_per_chunk, finish_per_chunk, mean_line, ranges_in, ranges_of,
)

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
) -> Drawn:
    """How many branches process() touched, chunk by chunk."""
    table = chunks_of(chunk_metrics, "chunk metrics data")
    data = ranges_in(
        table,
        "num_branches_accessed",
        "No branch access data in chunk metrics: it is recorded by @track_metrics where the "
        "events come from a NanoEvents factory with an access_log",
    )
    figure, axes = new_figure(figsize, output_path)
    draw_per_chunk(axes, data, len(table), Scale(1, ""), Colors.blue, band_label=BAND)
    mean_line(axes, data.mean, f"{data.mean:,.1f}")
    finish_per_chunk(axes, len(table), data.max, "Branches accessed")
    count_axis(axes.yaxis)
    return finish(figure, axes, title, output_path)


def plot_bytes_accessed_per_chunk(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Bytes Accessed Per Chunk (Compressed vs Uncompressed)",
) -> Drawn:
    """What each chunk read of the branches: compressed in the file, uncompressed in memory.

    A chunk reads whole baskets: compressed they may be larger than what its own events take in memory. Chunks that did
    not record their reads (of 0.1.x, say) show the sizes of the whole branches in the file.
    """
    table = chunks_of(chunk_metrics, "chunk metrics data")
    what, values = "Bytes", _read_of_each(chunk_metrics, len(table))
    if values is None:
        what = "Bytes of the whole branches"
        values = table.column("accessed_bytes"), table.column("accessed_uncompressed_bytes")
    found = [
        (name, data, color, shift)
        for name, column, color, shift in zip(
            ("Compressed", "Uncompressed"), values, (Colors.blue, Colors.orange), (-0.2, 0.2)
        )
        if (data := ranges_of(table, column)) is not None
    ]
    if not found:
        raise ValueError(
            "No bytes access data in chunk metrics: it is recorded by @track_metrics where the "
            "sizes of the file's branches are known (ROOT files that uproot opened)"
        )
    figure, axes = new_figure(figsize, output_path)
    largest = max(data.max for _, data, _, _ in found)
    scale = scale_of(largest, "B")
    for name, data, color, shift in found:
        label = f"{name} (mean {format_value(data.mean, 'bytes')})"
        draw_per_chunk(axes, data, len(table), scale, color, label, width=0.4, shift=shift)
    finish_per_chunk(axes, len(table), largest / scale.divisor, f"{what} ({scale.unit})")
    return finish(figure, axes, title, output_path)


def _read_of_each(chunk_metrics: Chunks, chunks: int) -> tuple[Array, Array] | None:
    """Compressed and uncompressed bytes that each chunk read; None if no read is known."""
    if isinstance(chunk_metrics, Table):
        return None
    reads = run_of(chunk_metrics).reads
    if len(reads) == 0:
        return None
    of, there = reads.column("chunk"), (reads.column("bytes"), reads.column("uncompressed_bytes"))
    compressed, uncompressed = (group_sums(of, values, chunks) for values in there)
    known = np.isfinite(compressed).any() or np.isfinite(uncompressed).any()
    return (compressed, uncompressed) if known else None


def plot_compression_ratio_distribution(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Compression Ratio Distribution Across Files",
    bins: int = 20,
) -> Drawn:
    """Compressed over uncompressed size of each file."""
    label = "Compression ratio (compressed / uncompressed)"
    values = metrics_of(metrics).get("compression_ratios")
    return _draw_per_file(values, "compression ratio", "ratio", label, output_path, figsize, title, bins)


def plot_data_access_percentage(
    metrics: Metrics,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Bytes Read Percentage Distribution",
    bins: int = 20,
) -> Drawn:
    """How much of each file's bytes belong to the branches that were read."""
    label = "Bytes read (% of the file's tree)"
    values = metrics_of(metrics).get("bytes_read_percent_per_file")
    return _draw_per_file(values, "bytes read percentage", "%", label, output_path, figsize, title, bins)


def _draw_per_file(
    values: Sequence[float] | None,
    what: str,
    unit: str,
    label: str,
    output_path: Output,
    figsize: Size,
    title: str,
    bins: int,
) -> Drawn:
    data = histogram(values, bins) if values else None
    if data is None:
        raise ValueError(f"No {what} data available: {DECORATE}")
    return draw_histogram(data, Scale(1, ""), unit, label, "files", output_path, figsize, title)


def plot_branch_reads(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Bytes and Time per Branch",
    top: int = 20,
) -> Drawn:
    """The most expensive branches: bytes read, and time."""
    table = reads_of(chunk_metrics)
    branches = table.categories("branch")
    codes = table.column("branch.code")
    measures = [
        np.nan_to_num(group_sums(codes, table.column(column), len(branches)))
        for column in ("bytes", "seconds")
    ]
    if not any(measure.any() for measure in measures):
        raise ValueError("No bytes and no times in the reads of branches: neither was measured")
    first = measures[0] if measures[0].any() else measures[1]
    most = np.argsort(-first, kind="stable")[: max(1, top)]
    figure, axes = new_figure(figsize, output_path)
    figure.delaxes(axes)
    panels = figure.subplots(1, 2, sharey=True)
    for panel, measure, unit, label, color in (
        (panels[0], measures[0], "bytes", "Bytes read", Colors.blue),
        (panels[1], measures[1], "s", "Time to read and unpack", Colors.vermilion),
    ):
        style_axes(panel, grid="x")
        values = measure[most]
        scale = unit_scale(float(values.max()), unit)
        texts = [format_value(float(value), unit) for value in values]
        row_bars(panel, scale(values), color, texts=texts, alpha=0.8)
        row_names(panel, [branches[code] for code in most], float(values.max()) / scale.divisor, 1.22)
        panel.set_xlabel(f"{label} ({scale.unit})")
    if len(branches) > len(most):
        note(panels[1], f"… and {len(branches) - len(most):,} more branches")
    figure.suptitle(title, fontsize=12, fontweight="bold", color=Colors.ink)
    return finish(figure, panels[0], "", output_path)
