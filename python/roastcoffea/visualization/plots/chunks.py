"""How long the chunks took."""

from __future__ import annotations

from roastcoffea._core import format_value
from roastcoffea.visualization.binning import Array, Pairs, histogram, pairs
from roastcoffea.visualization.drawing import Scale, time_scale
from roastcoffea.visualization._axes import color_bar, count_axis, from_zero
from roastcoffea.visualization._data import DECORATE, Chunks, chunks_of
from roastcoffea.visualization._figure import (
    Axes, Colors, Drawn, Figure, Output, Size, finish, new_figure,
)
from roastcoffea.visualization.plots._distributions import draw_histogram

__all__ = ["plot_runtime_distribution", "plot_runtime_vs_events"]


def plot_runtime_distribution(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Chunk Runtime Distribution",
    bins: int = 30,
) -> Drawn:
    """Durations of the chunks that ended well."""
    table = chunks_of(chunk_metrics)
    data = histogram(table.column("duration"), bins, skip=table.column("error.code"))
    if data is None:
        raise ValueError(f"No runtimes in chunk metrics (or all chunks failed): {DECORATE}")
    scale = time_scale(data.max)
    label = f"Runtime ({scale.unit})"
    return draw_histogram(data, scale, "s", label, "chunks", output_path, figsize, title)


def plot_runtime_vs_events(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Chunk Runtime vs Number of Events",
) -> Drawn:
    """Duration against events of the chunks that ended well, and the line through them."""
    table = chunks_of(chunk_metrics)
    data = pairs(table.column("num_events"), table.column("duration"), table.column("error.code"))
    if data is None:
        raise ValueError(f"No runtime vs events data available in chunk metrics: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    scale = time_scale(data.y_edges[-1])
    if data.counts is not None:
        _draw_cells(figure, axes, data, data.counts, scale)
    else:
        axes.scatter(
            data.x,
            scale(data.y),
            s=32 if data.n <= 200 else 14,
            color=Colors.blue,
            alpha=0.6,
            linewidths=0,
            label=f"{data.n:,} chunks",
        )
    _draw_fit(axes, data, scale)
    axes.set_xlabel("Number of events")
    axes.set_ylabel(f"Runtime ({scale.unit})")
    count_axis(axes.xaxis)
    from_zero(axes, data.y_edges[-1] / scale.divisor)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", frameon=True, framealpha=0.8, edgecolor="none", fontsize=9)
    return finish(figure, axes, title, output_path)


def _draw_cells(figure: Figure, axes: Axes, data: Pairs, counts: Array, scale: Scale) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    mesh = axes.pcolormesh(
        data.x_edges,
        scale(data.y_edges),
        counts,
        cmap=colormaps["Blues"].with_extremes(under="white", bad="white"),
        rasterized=True,
        norm=LogNorm(vmin=0.5, vmax=float(counts.max()), clip=False),
    )
    color_bar(figure, axes, mesh, f"Number of chunks (of {data.n:,})")
    axes.grid(False)


def _draw_fit(axes: Axes, data: Pairs, scale: Scale) -> None:
    if data.slope is None or data.intercept is None:
        return
    ends = data.x_edges[[0, -1]]
    fixed, each = format_value(data.intercept, "s"), format_value(data.slope, "s")
    correlation = f" (r = {data.r:.2f})" if data.r is not None else ""
    axes.plot(
        ends,
        scale(data.intercept + data.slope * ends),
        color=Colors.vermilion,
        linewidth=1.4,
        label=f"Trend: {fixed} + {each} per event{correlation}",
    )
