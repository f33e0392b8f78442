"""What all charts have in common: colours, figures, the axis of time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from roastcoffea.report._bokeh import Plot, figure, models

__all__ = [
    "BLUE",
    "FONT",
    "GREEN",
    "GREY",
    "ORANGE",
    "PALETTE",
    "PURPLE",
    "SKY",
    "VERMILION",
    "Array",
    "Scale",
    "array",
    "chart",
    "hover",
    "scale_of",
    "shades",
    "shorten",
    "show_time",
    "time_chart",
    "times",
]

# Told apart by everyone: the palette of Okabe and Ito, its blue a little lighter for dark ground.
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

Array = np.ndarray[Any, np.dtype[Any]]


class Scale(NamedTuple):
    divisor: float
    unit: str


_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def scale_of(largest: float, unit: str) -> Scale:
    """For values of a unit up to `largest`."""
    for prefix, divisor in _PREFIXES:
        if largest >= divisor:
            break
    return Scale(divisor, f"{prefix}{unit}")


def array(values: Any) -> Array:
    """The engine's memory as an array, without a copy."""
    return np.asarray(values)


def times(seconds: Any, shift: float = 0.0) -> Array:
    """Seconds since the start of the run as the axis of time has them."""
    return (array(seconds) + shift) * 1000.0


def shades(color: str, count: int = 64) -> list[str]:
    """From next to nothing to the whole colour, on any ground."""
    return [f"{color}{round(40 + 215 * place / (count - 1)):02x}" for place in range(count)]


def shorten(name: str, length: int) -> str:
    """A long name without its middle."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[-(length - 1 - head):]}"


def _dress(plot: Plot) -> Plot:
    """Colours come from the page, so that they follow its theme."""
    plot.toolbar_location = None
    plot.toolbar.logo = None
    plot.background_fill_alpha = plot.border_fill_alpha = 0
    plot.outline_line_color = None
    plot.min_border_right = 12
    plot.title.text_font = FONT
    plot.title.text_font_size = "12px"
    plot.title.text_font_style = "bold"
    plot.grid.grid_line_width = 1
    for axis in plot.axis:
        axis.axis_line_alpha = 0
        axis.major_tick_line_alpha = axis.minor_tick_line_alpha = 0
        axis.major_label_text_font = axis.axis_label_text_font = FONT
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "11px"
        axis.axis_label_text_font_style = "normal"
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
    plot.yaxis.formatter = models.BasicTickFormatter(use_scientific=False)
    plot.min_border_left = 64
    return _dress(plot)


def time_chart(
    height: int, title: str, span: models.Range1d, cursor: models.Span, border: int
) -> Plot:
    """A chart over the time of the run: all of them move together, and show the same moment."""
    box, wheel = models.BoxZoomTool(dimensions="width"), models.WheelZoomTool(
        dimensions="width", modifiers={"ctrl": True}
    )
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_axis_type="datetime",
        x_range=span,
        title=title,
        tools=[box, wheel, models.CrosshairTool(overlay=cursor, dimensions="height")],
        active_drag=box,
        active_scroll=wheel,
    )
    plot.yaxis.formatter = models.BasicTickFormatter(use_scientific=False)
    plot.yaxis.ticker.desired_num_ticks = 4
    plot.min_border_left = border
    plot.xaxis.visible = False
    return _dress(plot)


def show_time(plot: Plot, milliseconds: float) -> None:
    """Numbers below the last of the charts over time."""
    clock = "%H:%M:%S"
    # At the beginning, which counts as a day, the clock says as much.
    day = "day %j" if milliseconds > 86_400_000 else clock
    plot.xaxis.formatter = models.DatetimeTickFormatter(
        microseconds="%S.%6N s",
        milliseconds="%S.%3N s",
        seconds=clock,
        minsec=clock,
        minutes=clock,
        hourmin=clock,
        hours=clock,
        days=day,
        months=day,
        years=day,
    )
    plot.xaxis.axis_label = "time since the start, h:min:s"
    plot.xaxis.visible = True
    plot.height += 40


def hover(
    plot: Plot, renderers: list[Any], rows: list[tuple[str, str]], line: bool = False
) -> None:
    """Texts beside the pointer; names in them are shown as texts."""
    plot.add_tools(
        models.HoverTool(
            renderers=renderers,
            tooltips=rows,
            mode="vline" if line else "mouse",
            formatters={"@t": "datetime"},
            point_policy="snap_to_data" if line else "follow_mouse",
            attachment="horizontal",
        )
    )
