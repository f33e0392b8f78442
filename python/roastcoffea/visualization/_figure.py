"""Figures: how they are made, styled and saved.

A figure is a plain object without a reference in pyplot, so a loop over a thousand plots keeps none of them. It shows
itself in a notebook (``_repr_png_``).

There is one exception for interactive use. If pyplot is in use and its backend can show figures (a window, a notebook's
inline backend), a figure belongs to pyplot, so that it appears below the cell or with ``plt.show()``. In a script that
saves the figure to a file it does not, because nothing would close it. In a cell that ends with ``fig`` it leaves pyplot
when it is shown.
"""

from __future__ import annotations

import io
import sys
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from roastcoffea.common.extras import needed
from roastcoffea.common.kernel import in_kernel

needed("a plot", "matplotlib", "plots")
from matplotlib.axes import Axes as Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure

Output = str | PathLike[str] | None
Size = tuple[float, float]
# What every plot returns.
Drawn: TypeAlias = tuple[Figure, Axes]


class Colors:
    """Safe for colour-blind readers: the palette of Okabe and Ito, and greys."""

    blue = "#0072B2"
    orange = "#E69F00"
    green = "#009E73"
    vermilion = "#D55E00"
    purple = "#CC79A7"
    sky = "#56B4E9"
    yellow = "#F0E442"
    ink = "#262626"
    text = "#595959"
    spine = "#8c8c8c"
    grid = "#e6e6e6"
    rest = "#b3b3b3"
    series = (blue, vermilion, green, purple, orange, sky, ink, yellow)


_CANNOT_SHOW = frozenset({"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"})
_nothing_shown = 0


class PlotFigure(Figure):
    """A figure that a notebook can show without pyplot."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Called before a notebook shows the figure, in whatever format. The inline backend shows all figures of pyplot
        at the end of a cell: one that the cell itself shows leaves pyplot, or it would be there twice."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and "inline" in pyplot.get_backend().lower():
            pyplot.close(self)
        return {}

    def _repr_png_(self) -> bytes:
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=self.dpi)
        return target.getvalue()


class unshown:
    """Inside this context no figure belongs to pyplot."""

    def __enter__(self) -> None:
        global _nothing_shown
        _nothing_shown += 1

    def __exit__(self, *exc: object) -> None:
        global _nothing_shown
        _nothing_shown -= 1


def _shown(output_path: Output) -> bool:
    # A notebook shows figures even before pyplot is imported.
    if _nothing_shown or ("matplotlib.pyplot" not in sys.modules and not in_kernel()):
        return False
    from matplotlib import pyplot

    backend = pyplot.get_backend().lower()
    return backend not in _CANNOT_SHOW and (output_path is None or pyplot.isinteractive())


def new_figure(figsize: Size, output_path: Output) -> tuple[PlotFigure, Axes]:
    """An empty figure with one pair of axes."""
    figure: Any
    if _shown(output_path):
        from matplotlib import pyplot

        figure = pyplot.figure(FigureClass=PlotFigure, figsize=figsize, layout="constrained")
    else:
        figure = PlotFigure(figsize=figsize, layout="constrained")
        FigureCanvasAgg(figure)
    figure.set_facecolor("white")
    axes = figure.add_subplot()
    style_axes(axes)
    return figure, axes


def style_axes(axes: Axes, *, grid: str = "y") -> None:
    """Thin lines, quiet colours; `grid` is the axis whose values are read off: "x", "y" or ""."""
    axes.set_facecolor("white")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(0.6)
        spine.set_color(Colors.spine)
    axes.tick_params(width=0.6, length=3, color=Colors.spine, labelcolor=Colors.text, labelsize=9)
    axes.xaxis.label.set(color=Colors.ink, fontsize=10)
    axes.yaxis.label.set(color=Colors.ink, fontsize=10)
    axes.set_axisbelow(True)
    axes.grid(False)
    if grid in ("x", "y"):
        axes.grid(True, axis="x" if grid == "x" else "y", color=Colors.grid, linewidth=0.7)


def save(figure: Figure, output_path: Output) -> None:
    """Saves to a file; its name gives the format, its folder is made."""
    if output_path is not None:
        Path(output_path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output_path, dpi=150)


def finish(figure: Figure, axes: Axes, title: str, output_path: Output) -> Drawn:
    """The title, and the file if one is wanted."""
    axes.set_title(title, fontsize=12, fontweight="bold", color=Colors.ink, pad=10)
    save(figure, output_path)
    return figure, axes
