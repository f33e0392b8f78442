"""One value a chunk, in the order in which the chunks began."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roastcoffea import _core
from roastcoffea.visualization._axes import Array, Scale, band, count_axis, from_zero, legend, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from roastcoffea._core import Table, _Ranges

__all__ = ["MOST_BARS", "draw_per_chunk", "places_of", "ranges_of"]

# Bars that are still seen as bars; beyond that stretches of neighbours are drawn.
MOST_BARS = 200
STRETCHES = 400
LEAST_STRETCH = 10


def ranges_of(table: Table, column: str, missing: str) -> _Ranges:
    """The values of a column as they are where there are few, otherwise in stretches."""
    groups = len(table) if len(table) <= MOST_BARS else min(STRETCHES, len(table) // LEAST_STRETCH)
    data = _core.plot_ranges(table.column(column), groups, order=table.column("t_start"))
    if data is None:
        raise ValueError(missing)
    return data


def places_of(data: _Ranges, chunks: int) -> Array:
    """Where the values stand: number of the chunk, or the middle of the stretch."""
    groups = len(data["means"])
    return (np.arange(groups) + 0.5) * (chunks / groups) - 0.5


def draw_per_chunk(
    axes: Axes, data: _Ranges, chunks: int, scale: Scale, color: str, label: str, text: str
) -> None:
    """Bars; of many chunks the mean and the extremes of neighbours. `text` formats the mean."""
    places, means = places_of(data, chunks), scale(data["means"])
    if chunks <= MOST_BARS:
        axes.bar(places, means, width=0.8, color=color, linewidth=0)
    else:
        band(
            axes,
            places,
            scale(data["lows"]),
            scale(data["highs"]),
            f"Lowest to highest\nof {chunks / len(means):,.0f} chunks",
            color,
            0.22,
        )
        line(axes, places, means, "Mean of these", color, width=1.1)
    mean = data["mean"] / scale.divisor
    axes.axhline(
        mean, color="#262626", linewidth=1, linestyle="--", label=f"Mean: {text.format(mean)}"
    )
    axes.set_ylabel(label)
    axes.set_xlabel("Chunk (in the order of their start)")
    count_axis(axes.xaxis)
    axes.set_xlim(-0.5 - 0.01 * chunks, chunks - 0.5 + 0.01 * chunks)
    from_zero(axes, data["max"] / scale.divisor)
    legend(axes)
