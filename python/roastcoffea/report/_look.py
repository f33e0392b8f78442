"""Shared by all charts: colours, figures, the axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from roastcoffea.visualization.binning import Array
from roastcoffea.visualization.drawing import Scale
from roastcoffea.report._bokeh import Plot, figure, models

# Safe for colour-blind readers: the palette of Okabe and Ito, its blue a little lighter for dark ground.
BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE, GREY = (
    "#2484C1",
    "#56B4E9",
    "#009E73",
    "#E69F00",
    "#D55E00",
    "#CC79A7",
    "#8c8c8c",
)
# Of datasets: without that of failed chunks.
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, "#B59F00")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def shades(color: str, count: int = 64) -> list[str]:
    """From next to nothing to the whole colour, on any ground."""
    return [f"{color}{round(40 + 215 * place / (count - 1)):02x}" for place in range(count)]


def _dress(plot: Plot) -> Plot:
    """Colours come from the page, so that they follow its theme."""
    plot.toolbar_location = None
    plot.toolbar.logo = None
    plot.background_fill_alpha = plot.border_fill_alpha = 0
    plot.outline_line_color = None
    plot.min_border_right = 12
    plot.grid.grid_line_width = 1
    for axis in plot.axis:
        axis.axis_line_alpha = 0
        axis.major_tick_line_alpha = axis.minor_tick_line_alpha = 0
        axis.major_label_text_font = axis.axis_label_text_font = FONT
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "11px"
        axis.axis_label_text_font_style = "normal"
        axis.major_label_policy = models.NoOverlap(min_distance=6)
    plot.yaxis.minor_tick_line_color = None
    return plot


def chart(height: int, x_label: str, y_label: str, **options: Any) -> Plot:
    """A chart of two numbers."""
    box, wheel = models.BoxZoomTool(), models.WheelZoomTool(modifiers={"ctrl": True})
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_axis_label=x_label,
        y_axis_label=y_label,
        tools=[box, wheel],
        active_drag=box,
        active_scroll=wheel,
        **options,
    )
    plot.xaxis.formatter = models.NumeralTickFormatter(format="0,0")
    plot.xaxis.ticker.min_interval = 1  # closer ones would have the same label
    plot.yaxis.formatter = models.BasicTickFormatter(use_scientific=False)
    plot.min_border_left = 64
    return _dress(plot)


class Key(NamedTuple):
    """An entry of a legend: how it is drawn ("box", "band", "line", "dots"), and how many bars it has."""

    color: str
    label: str
    bars: int | None = None
    mark: str = "box"


class Chart(NamedTuple):
    """A chart and where it belongs. Title and legend stand in the page, where long texts wrap."""

    identity: str
    plot: Plot
    title: str = ""
    keys: Sequence[Key] = ()
    note: str = ""


class Frame(NamedTuple):
    """The time of the run: all charts over it move together, and show the same moment."""

    start: float  # of the run, seconds since 1970: the zero of the axis
    scale: Scale  # of the axis
    span: Any  # the range of the axis
    cursor: Any
    border: int

    def chart(self, height: int = 96) -> Plot:
        box = models.BoxZoomTool(dimensions="width")
        wheel = models.WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
        plot = figure(
            height=height,
            sizing_mode="stretch_width",
            x_range=self.span,
            tools=[box, wheel, models.CrosshairTool(overlay=self.cursor, dimensions="height")],
            active_drag=box,
            active_scroll=wheel,
        )
        for axis in (plot.xaxis, plot.yaxis):
            axis.formatter = models.BasicTickFormatter(use_scientific=False)
        plot.yaxis.ticker.desired_num_ticks = 4
        plot.min_border_left = self.border
        plot.xaxis.visible = False
        plot.y_range.start = 0
        return _dress(plot)

    def times(self, seconds: Array, start: float) -> Array:
        """Seconds since `start` as the axis has them: since the start of the run, in its unit."""
        return np.asarray(self.scale(seconds + (start - self.start)))

    @property
    def clock(self) -> tuple[str, str]:
        """The moment at the pointer."""
        return "at", f"@t{{0,0.000}} {self.scale.unit}"

    def show_time(self, plot: Plot) -> None:
        """Numbers below the last of the charts over time."""
        plot.xaxis.axis_label = f"time since the start of the run ({self.scale.unit})"
        plot.xaxis.visible = True
        plot.height += 40


def hover(
    plot: Plot, renderers: list[Any], rows: list[tuple[str, str]], line: bool = False
) -> None:
    """Texts at the pointer; names in them are shown as texts."""
    plot.add_tools(
        models.HoverTool(
            renderers=renderers,
            tooltips=rows,
            mode="vline" if line else "mouse",
            point_policy="snap_to_data" if line else "follow_mouse",
            attachment="horizontal",
        )
    )
