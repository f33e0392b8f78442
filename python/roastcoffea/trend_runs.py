"""A metric of many runs over time, and where its level changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roastcoffea.common.answers import Answer
from roastcoffea.common.extras import needed

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Trend", "trend"]


class Trend(Answer):
    """The runs of a folder, comparable ones together, with the changes of their level.

    Args:
        folder: The folder with the measurements, or a list of folders.
        metric: The key of the metric.
        where: A test, or several, as ``roast ls --filter`` takes them: ``"when>=2026-11"``.
        error_rate: The probability of a change where there is none, for each group: 0.001 to 0.2.
        depth: How many folders deep to look.
    """

    def __init__(self, folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
                 metric: str = "event_rate_core_khz", where: str | Iterable[str] = (), error_rate: float = 0.01,
                 depth: int = 16) -> None:
        needed("trend()", "numpy", "plots")
        from roastcoffea.runs.trend import find_trend

        folders = [folder] if isinstance(folder, (str, os.PathLike)) else list(folder)
        tests = (where,) if isinstance(where, str) else tuple(where)
        found = self._found = find_trend(folders, metric, tests, error_rate, depth)
        known = self._known = found.as_dict()
        self.headline = found.headline  #: the answer in a sentence
        self.metric: str = found.metric
        self.unit: str = found.unit
        self.error_rate: float = found.error_rate
        #: Largest first: processor, datasets, least_events, most_events, changes, levels, runs.
        self.groups: list[dict[str, Any]] = known["groups"]
        self.left_out: dict[str, int] = found.left_out  #: runs that are not part of any level, by the reason

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes of all groups, in the order of time: when, before, after, change, what changed there."""
        return sorted((change for group in self.groups for change in group["changes"]),
                      key=lambda change: str(change["when"]))

    @property
    def tables(self) -> list[_SummaryTable]:
        """The changes of each group as texts: id, title, columns, rows, caption."""
        from roastcoffea.runs.trend import tables

        return [one.as_dict() for one in tables(self._found)]

    def as_dict(self) -> dict[str, Any]:
        """All of it, as ``roast trend --json`` prints it."""
        return self._known

    def _draw(self, width: int = 80, color: bool = False, ascii_only: bool | None = None) -> str:
        from roastcoffea.runs.trend import draw

        if ascii_only is None:
            ascii_only = "utf" not in (sys.stdout.encoding or "utf-8").lower()
        return draw(self._found, width, color, ascii_only)


def trend(folder: str | os.PathLike[str], metric: str = "event_rate_core_khz", where: str | Iterable[str] = (),
          error_rate: float = 0.01) -> Trend:
    """A metric of the measurements below a folder over time: comparable runs together, the runs at which the level
    changed, and what changed there.

    Args:
        folder: The folder with the measurements.
        metric: The key of the metric.
        where: A test, or several, as ``roast ls --filter`` takes them: ``"when>=2026-11"``.
        error_rate: The probability of a change where there is none, for each group: 0.001 to 0.2.
    """
    return Trend(folder, metric, where, error_rate)
