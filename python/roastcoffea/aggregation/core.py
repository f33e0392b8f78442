"""All metrics of a run at once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea import _core
from roastcoffea.aggregation.backends import COMMON, get_parser, is_common
from roastcoffea.aggregation.chunk import build_chunk_info, keep_types
from roastcoffea.aggregation.on_demand import MadeOnDemand
from roastcoffea.aggregation.tracking import TrackingData

__all__ = ["Metrics", "MetricsAggregator"]

_ENDING = ("outcome", "error", "skipped_files")  # how the run ended


class Metrics(dict[str, Any]):
    """Metrics by name. A metric that was not measured is not in it: ``get(name, 0)`` gives the 0, and ``metrics[name]``
    gives None; an unknown name is a KeyError. ``run`` is the run that they were computed from."""

    run: _core.Run | None = None

    def __missing__(self, name: str) -> None:
        if name not in _names() and name not in _ENDING:
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

    def __init__(self, backend: str = COMMON) -> None:
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
        chunks, sections = _as_list(chunk_metrics), _as_list(section_metrics)
        run = _core.Run(
            report=coffea_report,
            t_start=t_start,
            t_end=t_end,
            chunks=chunks,
            series=None if self.own_form else tracking_data,
            spans=span_metrics,
            processor_name=processor_name,
            custom_metrics=custom_metrics,
            section_metrics=sections,
        )
        return self.metrics_of(run, tracking_data, span_metrics, chunks, sections)

    @property
    def own_form(self) -> bool:
        """Whether the backend's tracking data are in a form that only its own parser knows."""
        return not is_common(self.parser)

    def metrics_of(
        self,
        run: _core.Run,
        tracking_data: Mapping[str, Any] | _core.WorkerSeries | None,
        span_metrics: Mapping[Any, Any] | None,
        chunks: list[Any],
        sections: list[Any],
    ) -> Metrics:
        """The metrics of a run, and its records as the user knows them."""
        metrics = run.metrics(files_and_workers=False)
        keep_types(metrics["sections"], sections)
        if self.own_form and tracking_data is not None:
            worker = self.parser.parse_tracking_data(tracking_data)
            metrics.update(worker)
            metrics.update(_core.efficiency_metrics(metrics, worker))
        if isinstance(tracking_data, _core.WorkerSeries):
            tracking_data = TrackingData(tracking_data, run_start=run.t_start)
        measured = Metrics((name, value) for name, value in metrics.items() if value is not None)
        measured["chunk_info"] = (
            MadeOnDemand(lambda: build_chunk_info(run.chunk_log), run_start=run.t_start) if chunks else {}
        )
        followed = tracking_data is not None  # asking whether it is empty would fill it
        for name, there in (
            ("file_metadata", bool(chunks)), ("file_read_metrics", bool(chunks)), ("worker_health", followed),
        ):
            measured[name] = MadeOnDemand(functools.partial(run.metrics_table, name)) if there else {}
        if run.has_budget:
            measured["budget"] = MadeOnDemand(lambda: run.budget() or {})
        measured["tracking_data"] = tracking_data
        measured["raw_chunk_metrics"] = chunks
        measured["raw_section_metrics"] = sections
        measured["raw_span_metrics"] = {} if span_metrics is None else span_metrics
        measured.run = run
        measured["notes"] = run.notes
        measured["replayed_chunks"] = run.replayed
        if (ending := run.ending) is not None:
            measured.update((name, ending[name]) for name in _ENDING if name in ending)
        return measured


def _as_list(records: Iterable[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """A list as it is (a ChunkLog stays packed), anything else as a list."""
    if records is None:
        return []
    return records if isinstance(records, list) else list(records)
