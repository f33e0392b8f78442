"""Workers over time: all of them as one, or each of them as a line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from roastcoffea.visualization.binning import Line, Timeline, timeline
from roastcoffea.visualization.drawing import short_names
from roastcoffea.visualization._axes import (
    Clock, band, count_axis, from_zero, legend, line, steps_area, time_axis,
)
from roastcoffea.visualization._data import TRACK, Tracking, start_of, tracking_of
from roastcoffea.visualization._figure import Axes, Colors, Drawn, Output, Size, finish, new_figure


# Lines of other workers that the eye can still follow; beyond that bands say more.
MOST_LINES = 40
LINE_POINTS = 400
SMOOTH_POINTS = 150
SMALL_SHARE = 25  # per cent


class Measure(NamedTuple):
    """A figure of each worker, and its axis."""

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


def _timeline_of(
    tracking_data: Tracking, measure: Measure, lines: int = 0
) -> tuple[Timeline, str]:
    """The numbers and the label of the y axis."""
    run = tracking_of(tracking_data)
    points = SMOOTH_POINTS if measure.smooth else LINE_POINTS
    for name, label in ((measure.name, measure.label), (measure.other_name, measure.other_label)):
        if name is not None:
            data = timeline(run, name, lines=lines, line_points=points, smooth=measure.smooth)
            if data is not None:
                return data, label
    raise ValueError(measure.missing)


def missing(what: str, switch: str = TRACK) -> str:
    return f"No {what} data available: {switch}"


def draw_mean(
    tracking_data: Tracking, measure: Measure, output_path: Output, figsize: Size, title: str
) -> Drawn:
    """The mean over workers, and how far they lie apart."""
    data, label = _timeline_of(tracking_data, measure)
    figure, axes = new_figure(figsize, output_path)
    times = _times(axes, tracking_data, data)(data.time)
    n = data.n_workers
    if n > 1:
        band(axes, times, data.min, data.max, "Lowest to highest", Colors.blue, 0.14)
    if n > 4:
        band(axes, times, data.p10, data.p90, "10% to 90% of workers", Colors.blue, 0.24)
    line(axes, times, data.mean, "Mean", Colors.blue)
    _value_axis(axes, data, measure, label)
    if n > 1:
        legend(axes, title=f"{n:,} workers")
    return finish(figure, axes, title, output_path)


def draw_total(
    tracking_data: Tracking, measure: Measure, output_path: Output, figsize: Size, title: str
) -> Drawn:
    """The sum over workers."""
    data, label = _timeline_of(tracking_data, measure)
    figure, axes = new_figure(figsize, output_path)
    steps_area(axes, _times(axes, tracking_data, data)(data.time), data.sum, label)
    return finish(figure, axes, title, output_path)


def draw_per_worker(
    tracking_data: Tracking,
    measure: Measure,
    output_path: Output,
    figsize: Size,
    title: str,
    max_legend_entries: int,
) -> Drawn:
    """The workers with the highest peaks as named lines, the others in grey behind them."""
    named = max(0, max_legend_entries)
    data, label = _timeline_of(tracking_data, measure, lines=max(named, MOST_LINES + 1))
    figure, axes = new_figure(figsize, output_path)
    scale = _times(axes, tracking_data, data)
    names = short_names([one.name for one in data.lines])
    n, lines = data.n_workers, data.lines
    crowded = n > max(MOST_LINES, named)
    if crowded:
        times = scale(data.time)
        band(axes, times, data.min, data.max, "_range", Colors.rest, 0.25)
        band(axes, times, data.p10, data.p90, "_most", Colors.rest, 0.45)
        line(axes, times, data.p50, "_median", Colors.spine, width=0.9, zorder=2)
    # The highest one last, so that it lies on top.
    for place, one in reversed(list(enumerate(lines[: named if crowded else None]))):
        front = place < named
        line(
            axes,
            scale(one.time),
            one.values,
            names[place] if front else "_others",
            Colors.series[place % len(Colors.series)] if front else Colors.rest,
            # Whole numbers jump; means of them do not.
            steps=measure.whole and len(one.time) < SMOOTH_POINTS,
            width=1.2 if front else 0.7,
            zorder=3 if front else 2,
        )
    _value_axis(axes, data, measure, label, lines if measure.smooth and not crowded else None)
    smoothed = measure.smooth and any(len(one.time) == SMOOTH_POINTS for one in lines)
    title_of_legend = "Highest peaks" + "\n(lines are smoothed)" * smoothed
    _name_workers(axes, n, min(named, n), crowded, title_of_legend)
    return finish(figure, axes, title, output_path)


def _times(axes: Axes, tracking_data: Tracking, data: Timeline) -> Clock:
    """The axis ends with the last point that is drawn."""
    return time_axis(axes, start_of(tracking_data), data.start, float(data.time[-1]))


def _name_workers(axes: Axes, n: int, named: int, crowded: bool, title: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    drawn = [found for found in axes.get_lines() if not str(found.get_label()).startswith("_")]
    handles: list[Line2D | Patch] = list(reversed(drawn))
    rest = n - named
    if rest > 0:
        text = f"… and {rest:,} more" if named else f"{rest:,} workers"
        if crowded:
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
    axes: Axes, data: Timeline, measure: Measure, label: str, lines: list[Line] | None = None
) -> None:
    """From 0 to the highest sample, or to the highest point of `lines`."""
    axes.set_ylabel(label)
    if measure.whole:
        count_axis(axes.yaxis)
    share = measure.percent and label == measure.label
    largest = max(one.values.max() for one in lines) if lines else np.nanmax(data.max)
    # Against 100 % small shares would be a line on the axis.
    from_zero(axes, float(largest), 102 if share and largest > SMALL_SHARE else 0)
