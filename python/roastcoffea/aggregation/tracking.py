"""Tracking data that is made on first use."""

from __future__ import annotations

from roastcoffea._core import WorkerSeries
from roastcoffea.aggregation.on_demand import MadeOnDemand

__all__ = ["TrackingData"]


class TrackingData(MadeOnDemand):
    """The tracking data of a series."""

    def __init__(self, series: WorkerSeries) -> None:
        super().__init__(series.as_tracking_data, WorkerSeries().as_tracking_data())
        self._series = series

    @property
    def series(self) -> WorkerSeries | None:
        """The series, unless the dict was filled: then it may have been changed."""
        return None if self.is_made else self._series
