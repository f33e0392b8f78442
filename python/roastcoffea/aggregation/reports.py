"""Several reports of Coffea as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

from roastcoffea import _core

__all__ = ["report_of", "sum_reports"]

_COLLECTIONS = (list, tuple, set, frozenset)


def sum_reports(
    reports: Iterable[Mapping[str, Any]], replayed: _core.ChunkLog | None = None
) -> dict[str, Any]:
    """Numbers are added, collections merged; of any other type the last value counts. Replayed chunks are
    subtracted."""
    total: dict[str, Any] = {}
    for report in tuple(reports):
        if not hasattr(report, "keys"):
            raise TypeError(f"a report: a mapping is expected, not {type(report).__name__}")
        for key, value in list(report.items()):
            total[key] = _joined(total[key], value) if key in total else value
    if replayed:
        for key, number in report_of(replayed).items():
            if isinstance(total.get(key), Number):
                total[key] -= number
    return total


def report_of(chunks: _core.ChunkLog) -> dict[str, Any]:
    """Coffea's report of these chunks alone, as far as their records tell."""
    if not chunks:
        return {}
    metrics = _core.chunk_metrics(chunks)
    known = {
        "chunks": metrics["num_successful_chunks"],
        "entries": metrics["total_events_from_chunks"],
        "bytesread": metrics["bytes_read_from_chunks"],
        "processtime": metrics["chunk_seconds"],
    }
    return {key: number for key, number in known.items() if number is not None}


def _joined(old: Any, new: Any) -> Any:
    if isinstance(old, _COLLECTIONS) and isinstance(new, _COLLECTIONS):
        both = {*old, *new}
        try:
            return sorted(both)
        except TypeError:  # of mixed types
            return list(both)
    if _adds(old) and _adds(new) and not isinstance(new, bool):
        return old + new
    return new


def _adds(value: Any) -> bool:
    return hasattr(value, "__index__") or hasattr(value, "__float__")
