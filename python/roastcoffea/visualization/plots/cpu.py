"""Use of the workers' cores over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea.visualization._figure import Drawn, Output, Size
from roastcoffea.visualization.plots._timelines import Measure, draw_mean, draw_per_worker, missing

if TYPE_CHECKING:
    from roastcoffea.visualization._data import Tracking

__all__ = [
    "plot_cpu_utilization_mean_timeline",
    "plot_cpu_utilization_per_worker_timeline",
    "plot_executing_tasks_timeline",
    "plot_occupancy_timeline",
]

_CPU = Measure(
    "cpu_share",
    "CPU utilization (% of the worker's cores)",
    missing("worker CPU"),
    percent=True,
    other_name="cpu",
    other_label="CPU utilization (% of one core)",
)
_OCCUPANCY = Measure(
    "occupancy", "Occupancy (s of expected work)", missing("worker occupancy"), smooth=True
)
_EXECUTING = Measure(
    "executing",
    "Number of executing tasks",
    missing("worker executing tasks"),
    whole=True,
    smooth=True,
)


def plot_cpu_utilization_mean_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 4),
    title: str = "CPU Utilization Over Time",
) -> Drawn:
    """CPU in per cent of the workers' cores: mean and spread over workers."""
    return draw_mean(tracking_data, _CPU, output_path, figsize, title)


def plot_cpu_utilization_per_worker_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "CPU Utilization Per Worker Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """CPU in per cent of its cores, of each worker."""
    return draw_per_worker(tracking_data, _CPU, output_path, figsize, title, max_legend_entries)


def plot_occupancy_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Worker Occupancy Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """Seconds of work that the scheduler expects each worker to have before it."""
    return draw_per_worker(
        tracking_data, _OCCUPANCY, output_path, figsize, title, max_legend_entries
    )


def plot_executing_tasks_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Executing Tasks Per Worker Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """Tasks that run on each worker."""
    return draw_per_worker(
        tracking_data, _EXECUTING, output_path, figsize, title, max_legend_entries
    )
