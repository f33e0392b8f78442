"""Metrics computed from other metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["calculate_efficiency_metrics"]


def calculate_efficiency_metrics(
    workflow_metrics: Mapping[str, Any] | None, worker_metrics: Mapping[str, Any] | None
) -> dict[str, float | None]:
    """Efficiencies, speedup and rates per core. Fine metrics may be in either argument."""
    return _core.efficiency_metrics(workflow_metrics, worker_metrics)
