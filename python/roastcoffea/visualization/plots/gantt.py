"""The chunks of each worker over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roastcoffea.binning import Array, Gantt, gantt
from roastcoffea.drawing import Scale, owner_column, shorten
from roastcoffea.visualization._axes import color_bar, legend, time_axis
from roastcoffea.visualization._data import DECORATE, Chunks, chunks_of
from roastcoffea.visualization._figure import (
    Axes, Colors, Drawn, Figure, Output, Size, finish, new_figure, style_axes,
)

if TYPE_CHECKING:
    from roastcoffea._core import Table

__all__ = ["plot_chunk_gantt"]

MOST_CHUNKS = 5000
MOST_ROWS = 100
MOST_NAMES = 30
# Colours of datasets, without that of failed chunks.
_SERIES = (Colors.blue, Colors.orange, Colors.green, Colors.purple, Colors.sky, Colors.yellow)


def plot_chunk_gantt(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Chunks Per Worker Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """One bar per chunk in the row of its worker, coloured by dataset, failed ones in red.

    Workers with several threads have several rows.

    Beyond 5,000 chunks or 100 workers: how many chunks of a worker ran at a time, as shades.
    """
    table = chunks_of(chunk_metrics)
    column = owner_column(table)
    if column is None:
        raise ValueError(f"No worker in chunk metrics: {DECORATE}")
    owners = table.categories(column)
    data = gantt(
        table.column(f"{column}.code"),
        table.column("t_start"),
        table.column("t_end"),
        limit=MOST_CHUNKS,
        rows=MOST_ROWS,
    )
    if data is None:
        raise ValueError(f"No times or no workers in chunk metrics: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    style_axes(axes, grid="x" if data.busy is None else "")
    scale = time_axis(axes, data.start, float(data.edges[-1]))
    if data.busy is None:
        _draw_bars(axes, data, table, scale, max(1, max_legend_entries))
    else:
        _draw_shades(figure, axes, data, data.busy, scale)
    _name_rows(axes, data, [owners[code] for code in data.owners])
    return finish(figure, axes, title, output_path)


def _draw_bars(axes: Axes, data: Gantt, table: Table, scale: Scale, entries: int) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    left = scale(data.left)
    # Narrower than this a bar would not be seen at all.
    width = np.maximum(scale(data.width), 4e-4 * scale(data.edges)[-1])
    top = data.row + 0.1
    corners = np.stack(
        [
            np.stack([left, top], 1),
            np.stack([left + width, top], 1),
            np.stack([left + width, top + 0.8], 1),
            np.stack([left, top + 0.8], 1),
        ],
        1,
    )
    datasets = table.categories("dataset")
    codes = table.column("dataset.code")[data.chunk]
    failed = table.column("error.code")[data.chunk] >= 0
    colors, handles = _dataset_colors(datasets, codes, entries)
    face = np.where(failed, Colors.vermilion, colors)
    axes.add_collection(
        PolyCollection(list(corners), facecolors=list(face), edgecolors="white", linewidths=0.3)
    )
    if failed.any():
        handles.append(Patch(facecolor=Colors.vermilion, label=f"failed ({int(failed.sum()):,})"))
    if handles:
        legend(axes, handles=handles)


def _dataset_colors(datasets: list[str], codes: Array, entries: int) -> tuple[Array, list[object]]:
    """One colour per chunk; datasets beyond the entries of the legend are grey."""
    from matplotlib.patches import Patch

    chunks = np.bincount(codes[codes >= 0], minlength=len(datasets))
    most = [int(code) for code in np.argsort(-chunks, kind="stable")][: min(entries, len(_SERIES))]
    palette = np.full(len(datasets) + 1, Colors.rest, dtype=object)
    handles: list[object] = []
    for place, code in enumerate(most):
        palette[code] = _SERIES[place]
        handles.append(
            Patch(facecolor=_SERIES[place], label=f"{shorten(datasets[code])} ({chunks[code]:,})")
        )
    left = len(datasets) - len(most)
    if left > 0:
        handles.append(Patch(facecolor=Colors.rest, label=f"… and {left:,} more datasets"))
    if not datasets:
        palette[-1] = Colors.blue
    return palette[codes], handles


def _draw_shades(figure: Figure, axes: Axes, data: Gantt, busy: Array, scale: Scale) -> None:
    edges = scale(data.edges)
    image = axes.imshow(
        busy,
        aspect="auto",
        cmap="Blues",
        interpolation="nearest",
        vmin=0,
        extent=(float(edges[0]), float(edges[-1]), len(data.owners), 0),
    )
    color_bar(figure, axes, image, f"Chunks running per worker ({data.n:,} in all)")


def _name_rows(axes: Axes, data: Gantt, names: list[str]) -> None:
    """Each worker at the middle of its rows; of many only how many there are."""
    first_row = data.first_row
    axes.set_ylim(float(first_row[-1]), 0)
    if len(names) <= MOST_NAMES:
        middles = (first_row[:-1] + first_row[1:]) / 2
        axes.set_yticks(middles, [shorten(name, 28) for name in names])
        axes.tick_params(axis="y", length=0)
        across = axes.get_yaxis_transform()
        axes.hlines(first_row[1:-1], 0, 1, transform=across, color=Colors.grid, linewidth=0.6)
        return
    rows = len(first_row) - 1
    merged = f", {len(names) / rows:.0f} to a row" if rows < len(names) else ""
    axes.set_yticks([])
    axes.set_ylabel(f"{len(names):,} workers, in the order of their first chunk{merged}")
