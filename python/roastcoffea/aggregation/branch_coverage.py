"""How much of each file was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roastcoffea import _core

__all__ = ["aggregate_branch_coverage", "parse_accessed_branches"]

DATA = "-data"


def parse_accessed_branches(columns: Iterable[str] | None) -> set[str]:
    """The branches in a report's columns: ``Jet_pt-data`` is one, ``nJet-offsets`` is not."""
    return {column.removesuffix(DATA) for column in columns or () if column.endswith(DATA)}


def aggregate_branch_coverage(
    chunk_metrics: Iterable[Mapping[str, Any]] | None,
    coffea_report: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Branches and bytes read of each file, from the chunks or else from the report's columns."""
    return _core.file_metrics(chunk_metrics, coffea_report)
