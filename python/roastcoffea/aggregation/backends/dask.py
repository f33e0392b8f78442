"""The parser of tracking data under the names that users know."""

from __future__ import annotations

from roastcoffea.aggregation.backends.common import (
    TrackingDataParser,
    calculate_average_memory_per_worker,
    calculate_peak_memory,
    calculate_time_averaged_workers,
)

__all__ = [
    "DaskTrackingDataParser",
    "calculate_average_memory_per_worker",
    "calculate_peak_memory",
    "calculate_time_averaged_workers",
]

DaskTrackingDataParser = TrackingDataParser
