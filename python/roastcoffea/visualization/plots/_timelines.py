"""Workers over time: all of them as one, or each of them as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from roastcoffea import _core
from roastcoffea.visualization._axes import (
    Scale,
    array,
    band,
    count_axis,
    from_zero,
    legend,
    line,
    shorten,
    time_axis,
)
from roastcoffea.visualization._data import TRACK, Tracking, tracking_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roastcoffea._core import _Timeline

    _Lines = list[tuple[str, memoryview[float], memoryview[float], float, float]]

__all__ = ["Measure", "draw_mean", "draw_per_worker", "draw_total", "timeline_of"]

# Lines of other workers that the eye can still follow; beyond that bands say more.
MOST_LINES = 40
LINE_POINTS = 400
SMOOTH_POINTS = 150


class Measure(NamedTuple):
    """What is drawn of each worker."""

    name: str
    label: str
    missing: str
    percent: bool = False
    whole: bool = False
    # Jumps up and down all the time: a line of many samples shows means of neighbours.
    smooth: bool = False
    # Drawn instead where the first is not there, and how it is called then.
    other_name: str | None = None
    other_label: str = ""


def timeline_of(tracking_data: Tracking, measure: Measure, lines: int = 0) -> tuple[_Timeline, str]:
    """The numbers and the label of the y axis."""
    data = tracking_of(tracking_data)

    def look(name: str) -> _Timeline | None:
        points = SMOOTH_POINTS if measure.smooth else LINE_POINTS
        return _core.plot_timeline(
            data, name, lines=lines, line_points=points, means=measure.smooth
        )

    found, label = look(measure.name), measure.label
    if found is None and measure.other_name is not None:
        found, label = look(measure.other_name), measure.other_label
    if found is None:
        raise ValueError(measure.missing)
    return found, label


def missing(what: str, switch: str = TRACK) -> str:
    return f"No {what} data available: {switch}"


def draw_mean(
    tracking_data: Tracking, measure: Measure, output_path: Output, figsize: Size, title: str
) -> tuple[Figure, Axes]:
    """The mean over workers, and how far they lie apart."""
    data, label = timeline_of(tracking_data, measure)
    figure, axes = new_figure(figsize, output_path)
    times = _times(axes, data)(data["time"])
    n = data["n_workers"]
    if n > 1:
        band(
            axes,
            times,
            array(data["min"]),
            array(data["max"]),
            "Lowest to highest",
            Colors.blue,
            0.14,
        )
    if n > 4:
        band(
            axes,
            times,
            array(data["p10"]),
            array(data["p90"]),
            "10% to 90% of workers",
            Colors.blue,
            0.24,
        )
    line(axes, times, array(data["mean"]), "Mean", Colors.blue)
    _value_axis(axes, data, measure, label)
    if n > 1:
        legend(axes, title=f"{n:,} workers")
    return finish(figure, axes, title, output_path)


def draw_total(
    tracking_data: Tracking, measure: Measure, output_path: Output, figsize: Size, title: str
) -> tuple[Figure, Axes]:
    """The sum over workers."""
    data, label = timeline_of(tracking_data, measure)
    figure, axes = new_figure(figsize, output_path)
    times, total = _times(axes, data)(data["time"]), array(data["sum"])
    if len(times) > 1:
        axes.fill_between(times, 0, total, color=Colors.blue, alpha=0.14, linewidth=0, step="post")
    line(axes, times, total, label, Colors.blue, steps=True)
    axes.set_ylabel(label)
    count_axis(axes.yaxis)
    from_zero(axes, float(np.nanmax(total)))
    return finish(figure, axes, title, output_path)


def draw_per_worker(
    tracking_data: Tracking,
    measure: Measure,
    output_path: Output,
    figsize: Size,
    title: str,
    max_legend_entries: int,
) -> tuple[Figure, Axes]:
    """The workers with the highest peaks as named lines, the others in grey behind them."""
    named = max(0, max_legend_entries)
    data, label = timeline_of(tracking_data, measure, lines=max(named, MOST_LINES + 1))
    figure, axes = new_figure(figsize, output_path)
    scale = _times(axes, data)
    n, lines = data["n_workers"], data["lines"]
    if n > max(MOST_LINES, named):
        _draw_bands(axes, scale, data)
    else:
        for _, times, values, _, _ in lines[named:]:
            line(
                axes,
                scale(times),
                array(values),
                "_others",
                Colors.rest,
                steps=_steps(measure, times),
                width=0.7,
                zorder=2,
            )
    # The highest one last, so that it lies on top.
    for place, (name, times, values, _, _) in reversed(list(enumerate(lines[:named]))):
        line(
            axes,
            scale(times),
            array(values),
            shorten(name),
            _color(place),
            steps=_steps(measure, times),
            width=1.2,
        )
    smooth_only = measure.smooth and n <= max(MOST_LINES, named)
    _value_axis(axes, data, measure, label, lines if smooth_only else None)
    smoothed = measure.smooth and any(len(times) == SMOOTH_POINTS for _, times, _, _, _ in lines)
    _name_workers(axes, n, min(named, n), "Highest peaks" + "\n(lines are smoothed)" * smoothed)
    return finish(figure, axes, title, output_path)


def _steps(measure: Measure, times: memoryview[float]) -> bool:
    """Whole numbers jump; means of them do not."""
    return measure.whole and len(times) < SMOOTH_POINTS


def _color(place: int) -> str:
    return Colors.series[place % len(Colors.series)]


def _times(axes: Axes, data: _Timeline) -> Scale:
    """The axis ends with the last point that is drawn."""
    return time_axis(axes, data["start"], float(data["time"][-1]))


def _draw_bands(axes: Axes, scale: Scale, data: _Timeline) -> None:
    times = scale(data["time"])
    band(axes, times, array(data["min"]), array(data["max"]), "_range", Colors.rest, 0.25)
    band(axes, times, array(data["p10"]), array(data["p90"]), "_most", Colors.rest, 0.45)
    line(axes, times, array(data["p50"]), "_median", Colors.spine, width=0.9, zorder=2)


def _name_workers(axes: Axes, n: int, named: int, title: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    drawn = [found for found in axes.get_lines() if not str(found.get_label()).startswith("_")]
    handles: list[Line2D | Patch] = list(reversed(drawn))
    rest = n - named
    if rest > 0:
        text = f"… and {rest:,} more" if named else f"{rest:,} workers"
        if n > max(MOST_LINES, named):
            handles += [
                Patch(facecolor=Colors.rest, alpha=0.25, label=f"{text}:\nlowest to highest"),
                Patch(facecolor=Colors.rest, alpha=0.7, label="10% to 90% of workers"),
                Line2D([], [], color=Colors.spine, linewidth=0.9, label="median"),
            ]
        else:
            handles.append(Line2D([], [], color=Colors.rest, linewidth=0.7, label=text))
    if handles:
        legend(axes, title=title if rest and named else None, handles=handles)


def _value_axis(
    axes: Axes, data: _Timeline, measure: Measure, label: str, lines: _Lines | None = None
) -> None:
    """From 0 to the highest sample, or to the highest point of `lines`."""
    axes.set_ylabel(label)
    if measure.whole:
        count_axis(axes.yaxis)
    share = measure.percent and label == measure.label
    largest = max(max(line[2]) for line in lines) if lines else np.nanmax(array(data["max"]))
    from_zero(axes, float(largest), 102 if share else 0)
