"""Shared by the plots: units, the axis of time, legends, bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from roastcoffea.visualization.binning import Array
from roastcoffea.visualization.drawing import Scale, scale_of, short_names, time_scale
from roastcoffea.visualization._figure import Axes, Colors, Figure, style_axes


def unit_scale(largest: float, unit: str) -> Scale:
    """For seconds ("s") or bytes up to `largest`."""
    return time_scale(largest) if unit == "s" else scale_of(largest, "B")


# ---- axes ----


class Clock(NamedTuple):
    """Seconds since the first moment of the data, as the axis of time shows them."""

    divisor: float
    unit: str
    shift: float  # from the zero of the axis to the first moment of the data, s

    def __call__(self, seconds: Any) -> Any:
        return (np.asarray(seconds) + self.shift) / self.divisor


def time_axis(axes: Axes, start: float | None, first: float, end: float) -> Clock:
    """Time since the start of the run, or since the `first` moment of the data where the start is not known.

    Moments are in seconds since 1970; `end` is the last one, in seconds since the first.
    """
    zero = first if start is None else start
    scale = time_scale(max(first - zero + end, 0.0))
    clock = Clock(*scale, first - zero)
    axes.set_xlabel(f"Time since start ({scale.unit})")
    # Years of a clock that does not count from 1970 mean nothing.
    if zero > 86400 * 365:
        note(axes, f"start: {datetime.fromtimestamp(zero, UTC):%Y-%m-%d %H:%M:%S} UTC")
    low, high = min(float(clock(0.0)), 0.0), float(clock(end))
    if high > low:
        axes.set_xlim(low - 0.01 * (high - low), high + 0.01 * (high - low))
    else:
        axes.set_xlim(-0.5, 0.5)
        axes.set_xticks([0])
    return clock


def note(axes: Axes, text: str, side: str = "right", below: int = 24, **options: Any) -> None:
    """Small print below the axes, at one of their corners or in the middle."""
    axes.annotate(
        text,
        xy=({"left": 0.0, "center": 0.5, "right": 1.0}[side], 0),
        xycoords="axes fraction",
        xytext=(0, -below),
        textcoords="offset points",
        ha=side,
        va="top",
        **{"fontsize": 8, "color": Colors.text, **options},
    )


def from_zero(axes: Axes, largest: float, least_top: float = 0.0) -> None:
    """The y axis from 0 to somewhat above the largest value, at least to `least_top`."""
    top = max(largest * 1.05, least_top)
    axes.set_ylim(0, top if np.isfinite(top) and top > 0 else 1)


def count_axis(axis: Any) -> None:
    """Whole numbers, with commas."""
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def right_axis(axes: Axes, label: str, color: str) -> Any:
    """A second y axis; its values are drawn in `color`."""
    right = axes.twinx()
    style_axes(right, grid="")
    right.spines["left"].set_visible(False)
    right.spines["right"].set_visible(True)
    right.set_ylabel(label, color=color)
    right.tick_params(axis="y", labelcolor=color)
    return right


# ---- lines, areas, bars ----


def line(
    axes: Axes,
    times: Array,
    values: Array,
    label: str,
    color: str,
    *,
    steps: bool = False,
    width: float = 1.6,
    zorder: float = 3,
) -> None:
    """A line; one single value is a dot."""
    axes.plot(
        times,
        values,
        label=label,
        color=color,
        linewidth=width,
        zorder=zorder,
        drawstyle="steps-post" if steps else "default",
        marker="o" if len(times) == 1 else "",
        markersize=5,
    )


def steps_area(axes: Axes, times: Array, values: Array, label: str) -> None:
    """A number that changes in steps, its area shaded."""
    if len(times) > 1:
        axes.fill_between(times, 0, values, color=Colors.blue, alpha=0.14, linewidth=0, step="post")
    line(axes, times, values, label, Colors.blue, steps=True)
    axes.set_ylabel(label)
    count_axis(axes.yaxis)
    from_zero(axes, float(np.nanmax(values)))


def band(
    axes: Axes, times: Array, low: Array, high: Array, label: str, color: str, alpha: float
) -> None:
    """The area between two lines; at one single moment a bar."""
    if len(times) == 1:
        axes.vlines(times, low, high, color=color, alpha=alpha, linewidth=5, label=label)
    else:
        axes.fill_between(times, low, high, color=color, alpha=alpha, linewidth=0, label=label)


def legend(axes: Axes, *, title: str | None = None, handles: Any = None) -> None:
    """To the right of the axes, where it hides nothing."""
    options: dict[str, Any] = {} if handles is None else {"handles": handles}
    made = axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=9,
        labelcolor=Colors.ink,
        title=title,
        title_fontsize=9,
        alignment="left",
        borderaxespad=0.0,
        **options,
    )
    made.get_title().set_color(Colors.text)


def color_bar(figure: Figure, axes: Axes, image: Any, label: str) -> None:
    """The meaning of the colours of an image."""
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(label, fontsize=10, color=Colors.ink)
    bar.ax.tick_params(width=0.6, length=3, color=Colors.spine, labelcolor=Colors.text, labelsize=9)
    for spine in bar.ax.spines.values():
        spine.set_visible(False)


def row_names(axes: Axes, names: Sequence[str], largest: float, space: float) -> None:
    """Rows from top to bottom; the axis ends at `space` times the largest value, for texts behind the bars."""
    axes.set_yticks(range(len(names)), short_names(names))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, largest * space if largest > 0 else 1)


def row_bars(
    axes: Axes, widths: Any, color: str, *, left: Any = 0, texts: Iterable[str] = (), **options: Any
) -> None:
    """Horizontal bars from top to bottom, with texts at their ends. Few of them need not fill the figure."""
    height = min(0.7, 0.25 + 0.1 * len(widths))
    axes.barh(range(len(widths)), widths, left=left, height=height, color=color, **{"linewidth": 0, **options})
    for place, (width, text) in enumerate(zip(widths, texts)):
        bars_label(axes, float(width), place, text, right=True)


def bars_label(axes: Axes, x: float, y: float, text: str, *, right: bool) -> None:
    """The text at the end of a bar; to the right of it, or above it."""
    axes.annotate(
        text,
        xy=(x, y),
        xytext=(4, 0) if right else (0, 3),
        textcoords="offset points",
        ha="left" if right else "center",
        va="center" if right else "bottom",
        fontsize=9,
        color=Colors.ink,
    )
