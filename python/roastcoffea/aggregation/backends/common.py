"""Worker metrics from tracking data in the form that all backends share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea import _core

__all__ = [
    "TrackingDataParser",
    "calculate_average_memory_per_worker",
    "calculate_peak_memory",
    "calculate_time_averaged_workers",
]

Tracking = Mapping[Any, Any] | _core.WorkerSeries | None


def _part(tracking_data: Tracking, key: str) -> Tracking:
    """Tracking data of which only ``key`` is known; its part alone is accepted too."""
    if tracking_data is None or isinstance(tracking_data, _core.WorkerSeries):
        return tracking_data
    if "worker_counts" in tracking_data or "worker_memory" in tracking_data:
        return {key: tracking_data.get(key)}
    return {key: tracking_data}


def calculate_time_averaged_workers(tracking_data: Tracking) -> float | None:
    """The number of workers, averaged over time."""
    return _core.worker_metrics(_part(tracking_data, "worker_counts"))["time_avg_workers"]


def calculate_peak_memory(tracking_data: Tracking) -> float | None:
    """The largest memory of any worker in any sample, in bytes."""
    return _core.worker_metrics(_part(tracking_data, "worker_memory"))["peak_memory_bytes"]


def calculate_average_memory_per_worker(tracking_data: Tracking) -> float | None:
    """The memory of a worker, averaged over time and then over workers, in bytes."""
    metrics = _core.worker_metrics(_part(tracking_data, "worker_memory"))
    return metrics["avg_memory_per_worker_bytes"]


class TrackingDataParser:
    """Turns tracking data into worker metrics."""

    calculate_time_averaged_workers = staticmethod(calculate_time_averaged_workers)
    calculate_peak_memory = staticmethod(calculate_peak_memory)
    calculate_average_memory_per_worker = staticmethod(calculate_average_memory_per_worker)

    @staticmethod
    def parse_tracking_data(tracking_data: Tracking) -> dict[str, float | None]:
        """All worker metrics; None for those that were not measured."""
        return _core.worker_metrics(tracking_data)
