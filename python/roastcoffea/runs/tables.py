"""The tables of an answer about several runs: written once, for terminal, notebook, page and program.

The engine draws them, as it draws its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roastcoffea import _core

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable

__all__ = ["Table", "draw", "interval", "number", "percent", "seconds"]

_LEAST_WIDTH = 40  # as the engine has it


@dataclass(frozen=True)
class Table:
    """Texts; a column is (heading, "left", "name", "right" or "number")."""

    id: str
    title: str
    columns: tuple[tuple[str, str], ...]
    rows: Sequence[tuple[str, ...]]
    caption: str | None = None

    def as_dict(self) -> _SummaryTable:
        """As the engine's own tables are handed over."""
        return {
            "id": self.id, "title": self.title, "columns": [heading for heading, _ in self.columns],
            "rows": [list(row) for row in self.rows], "numbers": [[None] * len(self.columns) for _ in self.rows],
            "caption": self.caption, "has_content": bool(self.rows), "shown": bool(self.rows),
        }


def draw(paragraphs: Iterable[tuple[str, str]], tables: Iterable[Table], width: int, color: bool) -> str:
    """Texts with what stands in front of them, then the tables that have rows."""
    room = max(width, _LEAST_WIDTH)
    lines = [before + _core.wrap_text(text, len(before), room) + "\n" for before, text in paragraphs]
    drawn = [
        "\n" + _core.draw_table(one.title, one.columns, tuple(one.rows), one.caption, width, color)
        for one in tables if one.rows
    ]
    return "".join(lines + drawn)


def percent(ratio: float | None) -> str:
    """"+12.3 %"; large ones as a factor."""
    if ratio is None or math.isnan(ratio):
        return "-"
    if ratio >= 10:
        return f"× {ratio:.0f}" if ratio >= 100 else f"× {ratio:.1f}"
    change = (ratio - 1) * 100
    return "0.0 %" if abs(change) < 0.05 else f"{change:+.1f} %"


def interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def number(value: float | None, unit: str) -> str:
    """A number as people read it; a share in per cent, a count without digits behind the point if it is whole."""
    if value is not None and unit == "ratio":
        value, unit = value * 100, "%"
    if value is not None and unit in ("1", "bytes") and float(value).is_integer():
        value = int(value)
    return _core.format_value(value, unit)


def seconds(values: Sequence[float | None]) -> list[str]:
    """All in one unit."""
    return _core.format_column(values, "s")
