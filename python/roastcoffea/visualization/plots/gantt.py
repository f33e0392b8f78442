"""The tasks of each worker over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roastcoffea.visualization.binning import Array, Gantt, Group, Tasks, numbers, task_groups, tasks
from roastcoffea.visualization.drawing import owner_column, short_names
from roastcoffea.visualization._axes import Clock, color_bar, legend, time_axis
from roastcoffea.visualization._data import DECORATE, Chunks, chunks_of, run_of, start_of
from roastcoffea.visualization._figure import (
    Axes, Colors, Drawn, Figure, Output, Size, finish, new_figure, style_axes,
)

if TYPE_CHECKING:
    from roastcoffea._core import Table

__all__ = ["plot_chunk_gantt"]

MOST_BARS = 5000
MOST_ROWS = 100
MOST_NAMES = 30
# Colours of datasets, without that of failed chunks.
_SERIES = (Colors.blue, Colors.orange, Colors.green, Colors.purple, Colors.sky, Colors.yellow)


def plot_chunk_gantt(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 7),
    title: str = "Tasks Per Worker Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """One bar per task in the row of its worker's thread, failed ones in red.

    A task of a chunk has the colour of its dataset, strong while process() ran, light before and after. All tasks are
    known of a run (``mc.run``); a list of chunks knows their own tasks only.

    Beyond 5,000 tasks or 100 workers: how many tasks of a worker ran at a time, as shades.
    """
    run = run_of(chunk_metrics)
    data = tasks(run, MOST_BARS, MOST_ROWS)
    if data is None:
        chunks_of(run)
        raise ValueError(f"No times in chunk metrics: {DECORATE}")
    if run.attempts is None and owner_column(run.chunks) is None:
        raise ValueError(f"No worker in chunk metrics: {DECORATE}")
    figure, axes = new_figure(figsize, output_path)
    style_axes(axes, grid="x" if data.bars.busy is None else "")
    clock = time_axis(axes, start_of(chunk_metrics), data.bars.start, float(data.bars.edges[-1]))
    if data.bars.busy is None:
        _draw_bars(axes, data, run.chunks, clock, max(1, max_legend_entries))
    else:
        _draw_shades(figure, axes, data.bars, data.bars.busy, clock)
    _name_rows(axes, data.bars, data.workers)
    return finish(figure, axes, title, output_path)


def _draw_bars(axes: Axes, data: Tasks, chunks: Table, clock: Clock, entries: int) -> None:
    from matplotlib.patches import Patch

    bars = data.bars
    color, groups = task_groups(data, chunks, min(entries, len(_SERIES)))
    palette = np.array([*_SERIES, Colors.rest], dtype=object)
    colors = np.where(data.failed, Colors.vermilion, palette[color])
    inside = data.chunk >= 0
    _draw_boxes(axes, clock, bars.left, bars.width, bars.row, colors, np.where(inside, 0.35, 0.85))
    handles = [Patch(facecolor=palette[group.color], label=text) for group, text in _texts(groups)]
    if inside.any():
        start, end = (numbers(chunks.column(name))[data.chunk[inside]] for name in ("t_start", "t_end"))
        _draw_boxes(axes, clock, start - bars.start, end - start, bars.row[inside], colors[inside], 1.0)
        if (bars.width[inside] > end - start + 1e-6).any():
            handles.append(Patch(facecolor=Colors.ink, alpha=0.2, label="light: before and\nafter process()"))
    if data.failed.any():
        handles.append(Patch(facecolor=Colors.vermilion, label=f"failed ({int(data.failed.sum()):,})"))
    legend(axes, handles=handles)


def _draw_boxes(
    axes: Axes, clock: Clock, left: Array, width: Array, row: Array, colors: Array, alpha: Array | float
) -> None:
    from matplotlib.collections import PolyCollection

    begin = clock(left)
    # Narrower than this a bar would not be seen at all.
    end = np.maximum(clock(left + width), begin + 4e-4 * np.ptp(axes.get_xlim()))
    top, bottom = row + 0.1, row + 0.9
    corners = np.stack([np.stack([x, y], 1) for x, y in ((begin, top), (end, top), (end, bottom), (begin, bottom))], 1)
    axes.add_collection(
        PolyCollection(list(corners), facecolors=list(colors), alpha=alpha, edgecolors="white", linewidths=0.3)
    )


def _texts(groups: list[Group]) -> list[tuple[Group, str]]:
    names = short_names([group.label for group in groups])
    return [(group, f"{name} ({group.n:,})") for group, name in zip(groups, names)]


def _draw_shades(figure: Figure, axes: Axes, data: Gantt, busy: Array, clock: Clock) -> None:
    edges = clock(data.edges)
    image = axes.imshow(
        busy,
        aspect="auto",
        cmap="Blues",
        interpolation="nearest",
        vmin=0,
        extent=(float(edges[0]), float(edges[-1]), len(data.owners), 0),
    )
    color_bar(figure, axes, image, f"Tasks running per worker ({data.n:,} in all)")


def _name_rows(axes: Axes, data: Gantt, names: list[str]) -> None:
    """Each worker at the middle of its rows; of many only how many there are."""
    first_row = data.first_row
    axes.set_ylim(float(first_row[-1]), 0)
    if len(names) <= MOST_NAMES:
        middles = (first_row[:-1] + first_row[1:]) / 2
        axes.set_yticks(middles, short_names(names, 28))
        axes.tick_params(axis="y", length=0)
        across = axes.get_yaxis_transform()
        axes.hlines(first_row[1:-1], 0, 1, transform=across, color=Colors.grid, linewidth=0.6)
        return
    rows = len(first_row) - 1
    merged = f", {len(names) / rows:.0f} to a row" if rows < len(names) else ""
    axes.set_yticks([])
    axes.set_ylabel(f"{len(names):,} workers, in the order of their first task{merged}")
