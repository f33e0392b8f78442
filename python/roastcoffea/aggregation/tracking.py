"""Tracking data that is made on first use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea._core import WorkerSeries
from roastcoffea.aggregation.on_demand import MadeOnDemand

__all__ = ["SERIES", "TrackingData"]

SERIES = frozenset(WorkerSeries().as_tracking_data())  # the entries that the engine knows


class TrackingData(MadeOnDemand):
    """The tracking data of a series; `more`: further entries, which are the user's own."""

    def __init__(
        self, series: WorkerSeries, more: Mapping[Any, Any] | None = None, run_start: float | None = None
    ) -> None:
        self.more = dict(more or {})
        super().__init__(lambda: series.as_tracking_data() | self.more, (*SERIES, *self.more), run_start)
        self._series = series

    @property
    def series(self) -> WorkerSeries | None:
        """The series, unless the dict was filled: then it may have been changed."""
        return None if self.is_made else self._series
