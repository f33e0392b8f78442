"""How the chunks were distributed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["aggregate_chunk_metrics", "build_chunk_info"]


def aggregate_chunk_metrics(
    chunk_metrics: Iterable[Mapping[str, Any]] | None,
    section_metrics: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Statistics over chunks, ``per_dataset`` and ``sections``."""
    return _core.chunk_metrics(chunk_metrics, section_metrics)


def build_chunk_info(
    chunk_metrics: Iterable[Mapping[str, Any]] | None,
) -> dict[tuple[str, int, int], tuple[float, float, int | None]]:
    """``{(file, entry_start, entry_stop): (t_start, t_end, bytes_read)}`` of the chunks that have a place
    and a time."""
    return _core.chunk_info(chunk_metrics)
