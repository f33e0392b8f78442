"""How long the chunks took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea import _core
from roastcoffea.visualization._axes import (
    Scale,
    array,
    color_bar,
    count_axis,
    from_zero,
    time_scale,
)
from roastcoffea.visualization._data import DECORATE, Chunks, chunks_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure
from roastcoffea.visualization.plots._distributions import draw_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roastcoffea._core import _Pairs

__all__ = ["plot_runtime_distribution", "plot_runtime_vs_events"]


def plot_runtime_distribution(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Chunk Runtime Distribution",
    bins: int = 30,
) -> tuple[Figure, Axes]:
    """Durations of the chunks that ended well."""
    table = chunks_of(chunk_metrics)
    data = _core.plot_histogram(table.column("duration"), bins, skip=table.column("error.code"))
    if data is None:
        raise ValueError(f"No runtimes in chunk metrics (or all chunks failed): {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    scale = time_scale(data["max"])
    draw_histogram(axes, data, scale, "s", f"Runtime ({scale.unit})", "chunks")
    return finish(figure, axes, title, output_path)


def plot_runtime_vs_events(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (10, 6),
    title: str = "Chunk Runtime vs Number of Events",
) -> tuple[Figure, Axes]:
    """Duration against events of the chunks that ended well, and the line through them."""
    table = chunks_of(chunk_metrics)
    data = _core.plot_pairs(
        table.column("num_events"), table.column("duration"), skip=table.column("error.code")
    )
    if data is None:
        raise ValueError(f"No runtime vs events data available in chunk metrics: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    scale = time_scale(data["y_edges"][-1])
    if "counts" in data:
        _draw_cells(figure, axes, data, scale)
    else:
        axes.scatter(
            array(data["x"]),
            scale(data["y"]),
            s=32 if data["n"] <= 200 else 14,
            color=Colors.blue,
            alpha=0.6,
            linewidths=0,
            label=f"{data['n']:,} chunks",
        )
    _draw_fit(axes, data, scale)
    axes.set_xlabel("Number of events")
    axes.set_ylabel(f"Runtime ({scale.unit})")
    count_axis(axes.xaxis)
    from_zero(axes, data["y_edges"][-1] / scale.divisor)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", frameon=True, framealpha=0.8, edgecolor="none", fontsize=9)
    return finish(figure, axes, title, output_path)


def _draw_cells(figure: Figure, axes: Axes, data: _Pairs, scale: Scale) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    columns, rows = array(data["x_edges"]), scale(data["y_edges"])
    counts = array(data["counts"]).reshape(len(rows) - 1, len(columns) - 1)
    mesh = axes.pcolormesh(
        columns,
        rows,
        counts,
        cmap=colormaps["Blues"].with_extremes(under="white", bad="white"),
        rasterized=True,
        norm=LogNorm(vmin=0.5, vmax=float(counts.max()), clip=False),
    )
    color_bar(figure, axes, mesh, f"Number of chunks (of {data['n']:,})")
    axes.grid(False)


def _draw_fit(axes: Axes, data: _Pairs, scale: Scale) -> None:
    slope, intercept = data["slope"], data["intercept"]
    if slope is None or intercept is None:
        return
    ends = array((data["x_edges"][0], data["x_edges"][-1]))
    fixed = _core.format_value(intercept, "s")
    each = _core.format_value(slope, "s")
    correlation = f" (r = {data['r']:.2f})" if data["r"] is not None else ""
    axes.plot(
        ends,
        scale(intercept + slope * ends),
        color=Colors.vermilion,
        linewidth=1.4,
        label=f"Trend: {fixed} + {each} per event{correlation}",
    )
