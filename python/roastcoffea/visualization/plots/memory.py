"""Memory: of the workers over time, and of each chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea.visualization._axes import bytes_scale
from roastcoffea.visualization._data import Chunks, chunks_of
from roastcoffea.visualization._figure import Colors, Output, Size, finish, new_figure
from roastcoffea.visualization.plots._per_chunk import draw_per_chunk, ranges_of
from roastcoffea.visualization.plots._timelines import Measure, draw_mean, draw_per_worker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roastcoffea.visualization._data import Tracking

__all__ = [
    "plot_memory_utilization_mean_timeline",
    "plot_memory_utilization_per_worker_timeline",
    "plot_peak_memory_per_chunk",
]

_SHARE = Measure(
    "memory_share",
    "Memory utilization (% of limit)",
    "Memory or memory limit data not available: collect with "
    "MetricsCollector(client, track_workers=True) on workers that have a limit "
    "(LocalCluster(memory_limit=...), dask worker --memory-limit)",
    percent=True,
)


def plot_memory_utilization_mean_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (10, 4),
    title: str = "Memory Utilization Over Time",
) -> tuple[Figure, Axes]:
    """Memory in per cent of the workers' limits: mean and spread over workers."""
    return draw_mean(tracking_data, _SHARE, output_path, figsize, title)


def plot_memory_utilization_per_worker_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Memory Utilization Per Worker Over Time",
    max_legend_entries: int = 5,
) -> tuple[Figure, Axes]:
    """Memory in per cent of its limit, of each worker."""
    return draw_per_worker(tracking_data, _SHARE, output_path, figsize, title, max_legend_entries)


def plot_peak_memory_per_chunk(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Peak Memory Per Chunk",
) -> tuple[Figure, Axes]:
    """The highest resident memory of the worker process while each chunk ran."""
    table = chunks_of(chunk_metrics)
    data = ranges_of(
        table,
        "mem_peak_mb",
        "No peak memory in chunk metrics: it is sampled while process() runs unless "
        "configure(sampler_interval=0) switched that off",
    )
    figure, axes = new_figure(figsize, output_path)
    scale = bytes_scale(data["max"] * 1e6)
    draw_per_chunk(
        axes,
        data,
        len(table),
        scale._replace(divisor=scale.divisor / 1e6),
        Colors.blue,
        f"Peak memory ({scale.unit})",
        f"{{:.3g}} {scale.unit}",
    )
    return finish(figure, axes, title, output_path)
