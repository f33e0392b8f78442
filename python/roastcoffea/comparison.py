"""Two runs, or two groups of runs, compared."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.answers import Answer

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Comparison"]


class Comparison(Answer):
    """What differs between A and B, by how much, and whether it is more than chance."""

    def __init__(self, a: Sequence[tuple[str, _core.Run]], b: Sequence[tuple[str, _core.Run]]) -> None:
        """The runs of both sides with their names; ``roastcoffea.compare`` finds them."""
        self._engine: _core.Comparison = _core.Comparison(a, b)
        known: dict[str, Any] = json.loads(self._engine.json())
        self.headline = known["headline"]  # the answer in a sentence
        self.names: tuple[list[str], list[str]] = known["a"], known["b"]  # of the runs of both sides
        self.paired: bool = known["compared"] == "pairs"  # whether chunks are compared in pairs
        self.cost: dict[str, Any] = known["cost"]  # the time of all chunks
        self.conditions: list[dict[str, Any]] = known["conditions"]
        self.causes: list[dict[str, Any]] = known["causes"]
        self.figures: list[dict[str, Any]] = known["figures"]
        self.budget: list[dict[str, Any]] = known["budget"]
        self.findings: list[dict[str, Any]] = known["findings"]

    def gate(self, condition: str, strict: bool = False) -> tuple[bool, str]:
        """Whether a condition fails, and why: ``"wall_time>5%"``, ``"section:selection>10%"``,
        ``"finding:spilling"``. Changes that may be chance fail only if `strict`."""
        return self._engine.gate(condition, strict)

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        return self._engine.tables

    def _repr_html_(self) -> str:
        from roastcoffea.report import comparison_html

        return comparison_html(self.headline, self.tables)

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the comparison as one HTML file that needs only a browser; returns the path."""
        from roastcoffea.report import save_comparison

        return save_comparison(self.headline, self.names, self.tables, path)
