"""What the plots have in common: units, the axis of time, legends, bands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from roastcoffea.visualization._figure import Colors, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Scale",
    "array",
    "bar_height",
    "bars_label",
    "band",
    "bits_scale",
    "bytes_scale",
    "color_bar",
    "count_axis",
    "from_zero",
    "legend",
    "line",
    "note",
    "right_axis",
    "shorten",
    "time_axis",
    "time_scale",
]

Array = np.ndarray[Any, np.dtype[Any]]


class Scale(NamedTuple):
    """What values are divided by, and the name of the unit then."""

    divisor: float
    unit: str

    def __call__(self, values: Any) -> Any:
        return np.asarray(values) / self.divisor


_BYTES = (Scale(1e12, "TB"), Scale(1e9, "GB"), Scale(1e6, "MB"), Scale(1e3, "kB"), Scale(1, "B"))
_BITS = (
    Scale(1e12, "Tbps"),
    Scale(1e9, "Gbps"),
    Scale(1e6, "Mbps"),
    Scale(1e3, "kbps"),
    Scale(1, "bps"),
)
_TIMES = (Scale(3600, "h"), Scale(60, "min"), Scale(1, "s"), Scale(1e-3, "ms"), Scale(1e-6, "µs"))


def _largest_below(scales: Sequence[Scale], largest: float, least: float) -> Scale:
    for scale in scales:
        if largest >= least * scale.divisor:
            return scale
    return scales[-1]


def bytes_scale(largest: float) -> Scale:
    """For bytes up to `largest`."""
    return _largest_below(_BYTES, largest, 1)


def bits_scale(largest: float) -> Scale:
    """For bits per second up to `largest`."""
    return _largest_below(_BITS, largest, 1)


def time_scale(largest: float) -> Scale:
    """For seconds up to `largest`: two minutes or hours at least, so that a minute is 60 s."""
    if largest <= 0:
        return Scale(1, "s")
    return _largest_below(_TIMES, largest, 2 if largest >= 60 else 1)


def array(values: Any) -> Array:
    """The engine's memory as an array, without a copy."""
    return np.asarray(values)


def shorten(name: str, length: int = 34) -> str:
    """A long name without its middle."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[-(length - 1 - head) :]}"


# ---- axes ----


def time_axis(axes: Axes, start: float, end: float) -> Scale:
    """Time since the start, whose date stands in the corner; `end` is the last moment (s)."""
    scale = time_scale(end)
    axes.set_xlabel(f"Time since start ({scale.unit})")
    # Years of a clock that does not count from 1970 mean nothing.
    if start > 86400 * 365:
        note(axes, f"start: {datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M:%S} UTC")
    last = end / scale.divisor
    if last > 0:
        axes.set_xlim(-0.01 * last, 1.01 * last)
    else:
        axes.set_xlim(-0.5, 0.5)
        axes.set_xticks([0])
    return scale


def note(axes: Axes, text: str) -> None:
    """Small print below the lower right corner."""
    axes.annotate(
        text,
        xy=(1, 0),
        xycoords="axes fraction",
        xytext=(0, -24),
        fontsize=8,
        textcoords="offset points",
        ha="right",
        va="top",
        color=Colors.text,
    )


def from_zero(axes: Axes, largest: float, least_top: float = 0.0) -> None:
    """The y axis from 0 to somewhat above the largest value, at least to `least_top`."""
    top = max(largest * 1.05, least_top)
    axes.set_ylim(0, top if np.isfinite(top) and top > 0 else 1)


def count_axis(axis: Any) -> None:
    """Whole numbers, with commas."""
    axis.set_major_locator(MaxNLocator(integer=True))
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


# ---- what is drawn ----


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


def band(
    axes: Axes, times: Array, low: Array, high: Array, label: str, color: str, alpha: float
) -> None:
    """The room between two lines; of one single moment a bar."""
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
    """What the colours of an image mean."""
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(label, fontsize=10, color=Colors.ink)
    bar.ax.tick_params(width=0.6, length=3, color=Colors.spine, labelcolor=Colors.text, labelsize=9)
    for spine in bar.ax.spines.values():
        spine.set_visible(False)


def bar_height(bars: int) -> float:
    """Of horizontal bars: few of them need not fill the figure."""
    return min(0.7, 0.25 + 0.1 * bars)


def bars_label(axes: Axes, x: float, y: float, text: str, *, right: bool) -> None:
    """What a bar's end says; to the right of it, or above it."""
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
