"""How many workers there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea import _core
from roastcoffea.visualization._axes import array, count_axis, from_zero, line, time_axis
from roastcoffea.visualization._data import TRACK, Tracking, tracking_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_worker_count_timeline"]


def plot_worker_count_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 4),
    title: str = "Worker Count Over Time",
) -> tuple[Figure, Axes]:
    """The number of workers at each look at the cluster."""
    data = _core.plot_worker_counts(tracking_of(tracking_data))
    if data is None:
        raise ValueError(f"No worker count data available: {TRACK}")
    figure, axes = new_figure(figsize, output_path)
    times, workers = data["time"], array(data["workers"])
    scaled = time_axis(axes, data["start"], float(times[-1]))(times)
    if len(scaled) > 1:
        axes.fill_between(
            scaled, 0, workers, color=Colors.blue, alpha=0.14, linewidth=0, step="post"
        )
    line(axes, scaled, workers, "Workers", Colors.blue, steps=True)
    axes.set_ylabel("Number of workers")
    count_axis(axes.yaxis)
    from_zero(axes, float(workers.max()))
    return finish(figure, axes, title, output_path)
