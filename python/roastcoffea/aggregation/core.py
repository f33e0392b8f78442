"""All metrics of a run at once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea import _core
from roastcoffea.aggregation.backends import get_parser
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.aggregation.backends.dask import DaskTrackingDataParser

__all__ = ["Metrics", "MetricsAggregator"]


class Metrics(dict[str, Any]):
    """Metrics by name. One that was not measured is not in it: ``get(name, 0)`` gives the 0, and
    ``metrics[name]`` gives None; a name that no metric has is a KeyError."""

    def __missing__(self, name: str) -> None:
        if name not in _names():
            raise KeyError(name)


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(
        name
        for row in _core.catalogue()
        if row["scope"] == "metrics"
        for name in (row["key"], *row["aliases"])
    )


class MetricsAggregator:
    """Computes the metrics of a run that was collected on a backend."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.parser = get_parser(backend)

    def aggregate(
        self,
        coffea_report: Mapping[str, Any] | None,
        tracking_data: Mapping[str, Any] | _core.WorkerSeries | None,
        t_start: float | None,
        t_end: float | None,
        custom_metrics: Mapping[str, Any] | None = None,
        span_metrics: Mapping[Any, Any] | None = None,
        processor_name: str | None = None,
        chunk_metrics: Iterable[Mapping[str, Any]] | None = None,
        section_metrics: Iterable[Mapping[str, Any]] | None = None,
    ) -> Metrics:
        """All metrics under all their names, and the raw records behind them."""
        chunks = _as_list(chunk_metrics)
        sections = _as_list(section_metrics)
        own_form = type(self.parser) is not DaskTrackingDataParser
        metrics = _core.all_metrics(
            coffea_report,
            None if own_form else tracking_data,
            t_start,
            t_end,
            custom_metrics=custom_metrics,
            span_metrics=span_metrics,
            processor_name=processor_name,
            chunk_metrics=chunks,
            section_metrics=sections,
        )
        if own_form and tracking_data is not None:
            worker = self.parser.parse_tracking_data(tracking_data)
            metrics.update(worker)
            metrics.update(_core.efficiency_metrics(metrics, worker))
        if isinstance(tracking_data, _core.WorkerSeries):
            tracking_data = TrackingData(tracking_data)
        measured = Metrics((name, value) for name, value in metrics.items() if value is not None)
        measured["tracking_data"] = tracking_data
        measured["raw_chunk_metrics"] = chunks
        measured["raw_section_metrics"] = sections
        measured["raw_span_metrics"] = {} if span_metrics is None else span_metrics
        return measured


def _as_list(records: Iterable[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """A list as it is (a ChunkLog stays packed), anything else as a list."""
    if records is None:
        return []
    return records if isinstance(records, list) else list(records)
