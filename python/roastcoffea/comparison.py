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
    """What differs between A and B, by how much, and whether it is more than chance. ``roastcoffea.compare`` makes it.

    Args:
        a: The runs to compare with, as ``(name, run)``.
        b: The new runs.
    """

    def __init__(self, a: Sequence[tuple[str, _core.Run]], b: Sequence[tuple[str, _core.Run]]) -> None:
        self._engine: _core.Comparison = _core.Comparison(a, b)
        known: dict[str, Any] = json.loads(self._engine.json())
        self.headline = known["headline"]  #: the answer in a sentence
        self.names: tuple[list[str], list[str]] = known["a"], known["b"]  #: of the runs of both sides
        self.paired: bool = known["compared"] == "pairs"  #: whether chunks are compared in pairs
        self.cost: dict[str, Any] = known["cost"]  #: the time of all chunks
        self.conditions: list[dict[str, Any]] = known["conditions"]  #: settings and versions that differ
        self.causes: list[dict[str, Any]] = known["causes"]  #: parts of a chunk's time that differ
        self.figures: list[dict[str, Any]] = known["figures"]  #: of whole runs
        self.budget: list[dict[str, Any]] = known["budget"]  #: parts of the core time
        self.findings: list[dict[str, Any]] = known["findings"]  #: that came or went

    def gate(self, condition: str, strict: bool = False) -> tuple[bool, str]:
        """Whether a condition fails, and why.

        Args:
            condition: ``"wall_time>5%"``, ``"section:selection>10%"`` or ``"finding:spilling"``.
            strict: Whether changes that may be chance fail, too.
        """
        return self._engine.gate(condition, strict)

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        return self._engine.tables

    def _repr_html_(self) -> str:
        from roastcoffea.report import comparison_html

        return comparison_html(self.headline, self.tables)

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the comparison as one HTML file that needs only a browser; returns the path.

        Args:
            path: The file; one that is there is replaced.
        """
        from roastcoffea.report import save_comparison

        return save_comparison(self.headline, self.names, self.tables, path)
