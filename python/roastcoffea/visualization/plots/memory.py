"""Memory: of the workers over time, and of each chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roastcoffea._core import format_value
from roastcoffea.visualization.drawing import scale_of
from roastcoffea.visualization._data import Chunks, chunks_of
from roastcoffea.visualization._figure import Colors, Drawn, Output, Size, finish, new_figure
from roastcoffea.visualization.plots._per_chunk import (
    BAND, draw_per_chunk, finish_per_chunk, mean_line, ranges_in,
)
from roastcoffea.visualization.plots._timelines import Measure, draw_mean, draw_per_worker

if TYPE_CHECKING:
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
) -> Drawn:
    """Memory in per cent of the workers' limits: mean and spread over workers."""
    return draw_mean(tracking_data, _SHARE, output_path, figsize, title)


def plot_memory_utilization_per_worker_timeline(
    tracking_data: Tracking,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Memory Utilization Per Worker Over Time",
    max_legend_entries: int = 5,
) -> Drawn:
    """Memory in per cent of its limit, of each worker."""
    return draw_per_worker(tracking_data, _SHARE, output_path, figsize, title, max_legend_entries)


def plot_peak_memory_per_chunk(
    chunk_metrics: Chunks,
    output_path: Output = None,
    figsize: Size = (12, 6),
    title: str = "Peak Memory Per Chunk",
) -> Drawn:
    """The highest resident memory of the worker process while each chunk ran."""
    table = chunks_of(chunk_metrics)
    data = ranges_in(
        table,
        "mem_peak_mb",
        "No peak memory in chunk metrics: it is sampled while process() runs unless "
        "the sampler of the worker was switched off",
    )
    figure, axes = new_figure(figsize, output_path)
    scale = scale_of(data.max * 1e6, "B")
    in_mb = scale._replace(divisor=scale.divisor / 1e6)
    draw_per_chunk(axes, data, len(table), in_mb, Colors.blue, band_label=BAND)
    mean = data.mean / in_mb.divisor
    mean_line(axes, mean, format_value(data.mean, "MB"))
    label = f"Peak memory ({scale.unit})"
    finish_per_chunk(axes, len(table), data.max / in_mb.divisor, label)
    return finish(figure, axes, title, output_path)
