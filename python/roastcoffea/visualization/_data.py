"""The numbers of a plot: tables and series of a run, or the user's own data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from roastcoffea import _core
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.visualization.drawing import zero_of

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


def tracking_of(tracking_data: Tracking) -> _core.Run:
    """A run with the samples of the workers; from a series without a Python object for each."""
    if tracking_data is None:
        raise ValueError(f"tracking_data cannot be None: {TRACK}")
    if isinstance(tracking_data, _core.Run):
        return tracking_data
    if isinstance(tracking_data, TrackingData):
        # dict() makes the samples where the series cannot be had without that.
        series = tracking_data.series
        return _core.Run(series=series if series is not None else dict(tracking_data))
    return _core.Run(series=tracking_data)


def start_of(*data: Any) -> float | None:
    """The start of the run that the data are from; None if they do not know it, as plain dicts and lists."""
    known = (
        one.t_start if isinstance(one, _core.Run) else getattr(one, "run_start", None) for one in data
    )
    return next((zero for start in known if (zero := zero_of(start)) is not None), None)


_BAR_COLUMNS = ("t_start", "duration", "before_process_s", "worker", "host", "dataset", "error")


def run_of(chunks: Chunks) -> _core.Run:
    """A run with the chunks; from a table those columns that bars are drawn from."""
    if isinstance(chunks, _core.Run):
        return chunks
    if isinstance(chunks, _core.Table):
        columns = [chunks.column(name).tolist() for name in _BAR_COLUMNS]
        rows = zip(*columns, strict=True)
        chunks = [
            {name: cell for name, cell in zip(_BAR_COLUMNS, row) if cell is not None and cell == cell}
            for row in rows
        ]
    listed = chunks if isinstance(chunks, list) else list(chunks or ())
    return _core.Run(chunks=listed)


def chunks_of(chunks: Chunks, what: str = "chunk metrics") -> _core.Table:
    """The table of the chunks, of which there must be one at least. `what` is missing otherwise."""
    table = chunks if isinstance(chunks, _core.Table) else run_of(chunks).chunks
    if len(table) == 0:
        raise ValueError(f"No {what} available: {DECORATE}")
    return table


def reads_of(chunks: Chunks) -> _core.Table:
    """The table of the reads of each branch."""
    table = chunks if isinstance(chunks, _core.Table) else run_of(chunks).reads
    if len(table) == 0:
        raise ValueError(
            f"No reads of branches available: {DECORATE}; they are measured where the events come "
            "from NanoEvents in virtual mode"
        )
    return table


def intervals_of(info: Info) -> tuple[Any, Any, Any]:
    """When each chunk began and ended, and the bytes that it read; from chunks or a chunk_info."""
    if isinstance(info, Mapping):
        if info:
            return _rows_of(info)
    elif info is not None:
        table = chunks_of(info)
        return table.column("t_start"), table.column("t_end"), table.column("bytes_read")
    raise ValueError(f"No chunk_info provided: pass metrics['chunk_info']; to get it, {DECORATE}")


def _rows_of(info: Mapping[Any, Any]) -> tuple[Any, Any, Any]:
    rows = np.empty((len(info), 3))
    for place, row in enumerate(info.values()):
        try:
            rows[place] = [np.nan if value is None else float(value) for value in row[:3]]
        except (TypeError, ValueError):
            raise ValueError(
                f"chunk_info: {row!r} is no (t_start, t_end, bytes_read)"
            ) from None
    return rows[:, 0], rows[:, 1], rows[:, 2]


def metrics_of(metrics: Metrics) -> Mapping[str, Any]:
    """The metrics by name."""
    if metrics is None:
        raise ValueError(
            "metrics cannot be None: pass what MetricsCollector.get_metrics() returned"
        )
    return metrics.metrics() if isinstance(metrics, _core.Run) else metrics


def spans_of(span_metrics: Spans) -> dict[tuple[str, ...], float]:
    """The figures of Dask's spans."""
    run = span_metrics if isinstance(span_metrics, _core.Run) else _core.Run(spans=span_metrics)
    return run.spans
