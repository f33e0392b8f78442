"""Where the tasks' time went, from Dask's spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["parse_fine_metrics"]


def parse_fine_metrics(
    cumulative_worker_metrics: Mapping[Any, Any] | None, processor_name: str | None = None
) -> dict[str, float | None]:
    """Sums over a span; with a processor's name, its tasks are summed separately."""
    return _core.fine_metrics(cumulative_worker_metrics, processor_name)
