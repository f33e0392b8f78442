"""A metric of many runs over time, and where its level changed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roastcoffea import _core
from roastcoffea.answers import Answer

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Trend", "trend"]


class Trend(Answer):
    """The runs of a folder, comparable ones together, with the changes of their level.

    Args:
        folder: The folder with the measurements.
        metric: The key of the metric.
        where: A test, or several, as ``roast ls --filter`` takes them: ``"when>=2026-11"``.
        error_rate: The probability of a change where there is none, for each group.
    """

    def __init__(self, folder: str | os.PathLike[str], metric: str = "event_rate_core_khz",
                 where: str | Iterable[str] = (), error_rate: float = 0.01) -> None:
        tests = (where,) if isinstance(where, str) else where
        self._engine: _core.Trend = _core.Trend(folder, metric, tests, error_rate)
        known: dict[str, Any] = json.loads(self._engine.json())
        self.headline = known["headline"]  #: the answer in a sentence
        self.metric: str = known["metric"]
        self.unit: str = known["unit"]
        self.error_rate: float = known["error_rate"]
        #: Largest first: processor, datasets, least_events, most_events, changes, levels, runs.
        self.groups: list[dict[str, Any]] = known["groups"]
        self.left_out: dict[str, int] = known["left_out"]  #: runs that are not part of any level, by the reason

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes of all groups, in the order of time: when, before, after, change, what changed there."""
        return sorted((change for group in self.groups for change in group["changes"]),
                      key=lambda change: str(change["when"]))

    @property
    def tables(self) -> list[_SummaryTable]:
        """The changes of each group as texts: id, title, columns, rows, caption."""
        return self._engine.tables()

    def _draw(self, width: int = 80, color: bool = False) -> str:
        ascii_only = "utf" not in (sys.stdout.encoding or "utf-8").lower()
        return self._engine.draw(width, color, ascii_only)


def trend(folder: str | os.PathLike[str], metric: str = "event_rate_core_khz", where: str | Iterable[str] = (),
          error_rate: float = 0.01) -> Trend:
    """A metric of the measurements below a folder over time: comparable runs together, the runs at which the level
    changed, and what changed there.

    Args:
        folder: The folder with the measurements.
        metric: The key of the metric.
        where: A test, or several, as ``roast ls --filter`` takes them: ``"when>=2026-11"``.
        error_rate: The probability of a change where there is none, for each group.
    """
    return Trend(folder, metric, where, error_rate)
