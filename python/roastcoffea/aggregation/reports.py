"""Several reports of Coffea as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

from roastcoffea import _core

__all__ = ["sum_reports"]

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
        metrics = _core.chunk_metrics(replayed)
        for key, number in (
            ("chunks", len(replayed)),
            ("entries", metrics["total_events_from_chunks"]),
            ("bytesread", metrics["bytes_read_from_chunks"]),
            ("processtime", metrics["chunk_seconds"]),
        ):
            if number is not None and isinstance(total.get(key), Number):
                total[key] -= number
    return total


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
