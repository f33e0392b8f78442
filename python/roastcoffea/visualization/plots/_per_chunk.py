"""One value per chunk, in the order in which the chunks began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roastcoffea.visualization.binning import Ranges, ranges
from roastcoffea.visualization.drawing import Scale
from roastcoffea.visualization._axes import band, count_axis, from_zero, legend, line
from roastcoffea.visualization._figure import Axes, Colors

if TYPE_CHECKING:
    from roastcoffea._core import Table


# Bars that are still seen as bars; beyond that stretches of neighbours are drawn.
MOST_BARS = 200
STRETCHES = 400
LEAST_STRETCH = 10
BAND = "Lowest to highest\nof {:,} chunks"


def ranges_of(table: Table, values: Any) -> Ranges | None:
    """A value per chunk; many values are combined into ranges of neighbours. None if there is none."""
    groups = len(table) if len(table) <= MOST_BARS else min(STRETCHES, len(table) // LEAST_STRETCH)
    return ranges(values, groups, table.column("t_start"))


def ranges_in(table: Table, column: str, missing: str) -> Ranges:
    """The same for the values of a column; ValueError with the text if there is none."""
    data = ranges_of(table, table.column(column))
    if data is None:
        raise ValueError(missing)
    return data


def draw_per_chunk(
    axes: Axes,
    data: Ranges,
    chunks: int,
    scale: Scale,
    color: str,
    label: str | None = None,
    *,
    band_label: str = "",
    width: float = 0.8,
    shift: float = 0.0,
) -> None:
    """Bars; of many chunks the mean and the extremes of neighbours."""
    groups, means = len(data.means), scale(data.means)
    places = (np.arange(groups) + 0.5) * (chunks / groups) - 0.5
    if chunks <= MOST_BARS:
        axes.bar(places + shift, means, width=width, color=color, linewidth=0, label=label)
        return
    about = band_label.format(round(chunks / groups)) or "_band"
    band(axes, places, scale(data.lows), scale(data.highs), about, color, 0.22)
    line(axes, places, means, label or "Mean of these", color, width=1.1)


def mean_line(axes: Axes, mean: float, text: str) -> None:
    axes.axhline(mean, color=Colors.ink, linewidth=1, linestyle="--", label=f"Mean: {text}")


def finish_per_chunk(axes: Axes, chunks: int, largest: float, label: str) -> None:
    """Axes and legend."""
    axes.set_ylabel(label)
    axes.set_xlabel("Chunk (in the order of their start)")
    count_axis(axes.xaxis)
    axes.set_xlim(-0.5 - 0.01 * chunks, chunks - 0.5 + 0.01 * chunks)
    from_zero(axes, largest)
    legend(axes)
