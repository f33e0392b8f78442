"""How the chunks were distributed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["aggregate_chunk_metrics", "build_chunk_info", "keep_types"]


def aggregate_chunk_metrics(
    chunk_metrics: Iterable[Mapping[str, Any]] | None,
    section_metrics: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Statistics over chunks, ``num_chunks`` (with failed ones), ``per_dataset`` and ``sections``."""
    sections = list(section_metrics) if isinstance(section_metrics, Iterable) else section_metrics
    metrics = _core.chunk_metrics(chunk_metrics, sections)
    keep_types(metrics["sections"], sections or ())
    recorded = metrics["num_successful_chunks"], metrics["num_failed_chunks"]
    return {"num_chunks": sum(number or 0 for number in recorded), **metrics}


def keep_types(table: dict[str, dict[str, Any]], section_metrics: Iterable[Mapping[str, Any]]) -> None:
    """Sections whose records state a type keep it: a "memory" section may have a duration, too."""
    typed: set[str] = set()
    for record in section_metrics:
        kind = record.get("type") if isinstance(record, Mapping) else None
        if isinstance(kind, str):
            name = next((record[key] for key in ("section_name", "name", "section") if key in record), None)
            if name in table and name not in typed:
                typed.add(name)
                table[name]["type"] = kind


def build_chunk_info(
    chunk_metrics: Iterable[Mapping[str, Any]] | None,
) -> dict[tuple[str, int, int], tuple[float, float, int | None]]:
    """``{(file, entry_start, entry_stop): (t_start, t_end, bytes_read)}`` of the chunks whose file, entries and times
    are known. A failed try is included only if no other try has its place."""
    info: dict[Any, Any] = {}
    log = chunk_metrics if isinstance(chunk_metrics, _core.ChunkLog) else _core.ChunkLog(chunk_metrics or ())
    for chunk in log:
        place = chunk.get("file"), chunk.get("entry_start"), chunk.get("entry_stop")
        times = chunk.get("t_start"), chunk.get("t_end")
        if None in place or None in times or (chunk.get("error") is not None and place in info):
            continue
        info[place] = (*times, chunk.get("bytes_read"))
    return info
