"""How fast the run was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["aggregate_workflow_metrics"]


def aggregate_workflow_metrics(
    coffea_report: Mapping[str, Any] | None,
    t_start: float | None,
    t_end: float | None,
    custom_metrics: Mapping[str, Any] | None = None,
) -> dict[str, float | None]:
    """Times, rates and totals from Coffea's report; ``custom_metrics`` replaces its totals."""
    return _core.workflow_metrics(coffea_report, t_start, t_end, custom_metrics)
