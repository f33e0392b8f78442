"""Two runs, or two groups of runs, compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.common.answers import Answer
from roastcoffea.common.extras import needed

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Comparison"]


class Comparison(Answer):
    """What differs between A and B, by how much, and whether it is more than chance. ``roastcoffea.compare`` makes it.

    Args:
        a: The runs to compare with, as ``(name, run)``.
        b: The new runs.
        others: Groups of other runs of the same work: they tell what runs differ by.
        runs_differ: The standard deviation of the time of runs that do not differ by design: 0.03. Without it, it is
            known from several runs of each side or from the other runs, or assumed.
    """

    def __init__(self, a: Sequence[tuple[str, _core.Run]], b: Sequence[tuple[str, _core.Run]],
                 others: Sequence[Sequence[_core.Run]] = (), runs_differ: float | None = None) -> None:
        needed("compare()", "numpy", "plots")
        from roastcoffea.runs.compare import Question, compare_runs

        self._question = Question(a, b, others, runs_differ)
        found = self._found = compare_runs(self._question)
        self.headline = found.headline  #: the answer in a sentence
        self.rests_on = found.rests_on  #: what the intervals follow from, and what they assume
        self.names: tuple[list[str], list[str]] = found.a, found.b  #: of the runs of both sides
        self.paired: bool = found.compared == "pairs"  #: whether both sides have the same chunks
        self.cost: dict[str, Any] = found.cost  #: the time of all chunks
        self.conditions: list[dict[str, Any]] = found.conditions  #: settings and versions that differ
        self.causes: list[dict[str, Any]] = found.causes  #: parts of the time of the chunks that differ
        self.figures: list[dict[str, Any]] = found.figures  #: of whole runs
        self.budget: list[dict[str, Any]] = found.budget  #: parts of the core time
        self.findings: list[dict[str, Any]] = found.findings  #: that came or went
        self.changed_files: dict[str, Any] | None = found.changed_files  #: a few files that explain the change

    def gate(self, condition: str, strict: bool = False) -> tuple[bool, str]:
        """Whether a condition fails, and why.

        Args:
            condition: ``"wall_time>5%"``, ``"section:selection>10%"`` or ``"finding:spilling"``.
            strict: Whether changes that may be chance fail, too.
        """
        from roastcoffea.runs.gate import gate

        return gate(self._question, self._found, condition, strict)

    @property
    def tables(self) -> list[_SummaryTable]:
        """The tables as texts: id, title, columns, rows, caption."""
        from roastcoffea.runs.compare import tables

        return [one.as_dict() for one in tables(self._found)]

    def as_dict(self) -> dict[str, Any]:
        """All of it, as ``roast compare --json`` prints it."""
        return {key: value for key, value in asdict(self._found).items() if value is not None}

    def _draw(self, width: int = 80, color: bool = False) -> str:
        from roastcoffea.runs.compare import tables
        from roastcoffea.runs.tables import draw

        names = [(f"{letter}: " if i == 0 else "   ", name)
                 for letter, side in zip("AB", self.names) for i, name in enumerate(side)]
        return draw([*names, ("", self.headline)], tables(self._found), width, color)

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
