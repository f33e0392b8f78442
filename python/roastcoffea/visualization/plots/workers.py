"""How many workers there were."""

from __future__ import annotations

from roastcoffea.visualization.binning import worker_counts
from roastcoffea.visualization._axes import steps_area, time_axis
from roastcoffea.visualization._data import TRACK, Tracking, start_of, tracking_of
from roastcoffea.visualization._figure import Drawn, Output, Size, finish, new_figure

__all__ = ["plot_worker_count_timeline"]


def plot_worker_count_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 4),
    title: str = "Worker Count Over Time",
) -> Drawn:
    """The number of workers at each sample."""
    data = worker_counts(tracking_of(tracking_data))
    if data is None:
        raise ValueError(f"No worker count data available: {TRACK}")
    figure, axes = new_figure(figsize, output_path)
    scale = time_axis(axes, start_of(tracking_data), data.start, float(data.time[-1]))
    steps_area(axes, scale(data.time), data.workers, "Number of workers")
    return finish(figure, axes, title, output_path)
