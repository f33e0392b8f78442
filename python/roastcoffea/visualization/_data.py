"""Where the numbers of a plot come from: a run's own tables and series, or what users have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from roastcoffea import _core
from roastcoffea.aggregation.tracking import TrackingData

__all__ = [
    "Chunks",
    "Info",
    "Metrics",
    "Spans",
    "Tracking",
    "chunks_of",
    "intervals_of",
    "metrics_of",
    "reads_of",
    "spans_of",
    "tracking_of",
]

Tracking: TypeAlias = Mapping[str, Any] | _core.WorkerSeries | _core.Run | None
Chunks: TypeAlias = Iterable[Mapping[str, Any]] | _core.Table | _core.Run | None
Info: TypeAlias = Mapping[Any, Any] | Chunks
Metrics: TypeAlias = Mapping[str, Any] | _core.Run | None
Spans: TypeAlias = Mapping[Any, Any] | _core.Run | None

DECORATE = (
    "decorate the processor's process() with @track_metrics and run it inside "
    "`with MetricsCollector(...)`"
)
TRACK = "collect with MetricsCollector(client, track_workers=True)"


def tracking_of(tracking_data: Tracking) -> Mapping[str, Any] | _core.WorkerSeries:
    """The series where there is one: millions of samples need no Python objects then."""
    found = tracking_data.series if isinstance(tracking_data, _core.Run) else tracking_data
    if found is None:
        raise ValueError(f"tracking_data cannot be None: {TRACK}")
    if isinstance(found, TrackingData):
        # dict() makes what was not made yet, where there is no series to be had without that.
        return found.series if isinstance(found.series, _core.WorkerSeries) else dict(found)
    return found


def _run_of(chunks: Iterable[Mapping[str, Any]] | _core.Run | None) -> _core.Run:
    if isinstance(chunks, _core.Run):
        return chunks
    listed = chunks if isinstance(chunks, list) else list(chunks or ())
    return _core.Run(chunks=listed)


def chunks_of(chunks: Chunks) -> _core.Table:
    """The table of the chunks, of which there must be one at least."""
    table = chunks if isinstance(chunks, _core.Table) else _run_of(chunks).chunks
    if len(table) == 0:
        raise ValueError(f"No chunk metrics available: {DECORATE}")
    return table


def reads_of(chunks: Chunks) -> _core.Table:
    """The table of what was read of each branch."""
    table = chunks if isinstance(chunks, _core.Table) else _run_of(chunks).reads
    if len(table) == 0:
        raise ValueError(
            f"No reads of branches available: {DECORATE}; they are measured where the events come "
            "from NanoEvents in virtual mode"
        )
    return table


def intervals_of(info: Info) -> Any:
    """A chunk_info as it is; of chunks when each began and ended, and the bytes that it read."""
    if isinstance(info, Mapping):
        if info:
            return info
    elif info is not None:
        table = chunks_of(info)
        return table.column("t_start"), table.column("t_end"), table.column("bytes_read")
    raise ValueError(f"No chunk_info provided: pass metrics['chunk_info']; to have one, {DECORATE}")


def metrics_of(metrics: Metrics) -> Mapping[str, Any]:
    """The metrics by name."""
    if metrics is None:
        raise ValueError(
            "metrics cannot be None: pass what MetricsCollector.get_metrics() returned"
        )
    return metrics.metrics() if isinstance(metrics, _core.Run) else metrics


def spans_of(span_metrics: Spans) -> Mapping[Any, Any]:
    """The figures of Dask's spans."""
    found = span_metrics.spans if isinstance(span_metrics, _core.Run) else span_metrics
    return {} if found is None else found
