"""Conditions under which a comparison fails: "wall_time>5%"."""

from __future__ import annotations

import math
import re
from typing import Any

from roastcoffea import _core
from roastcoffea.runs.compare import Compared, Question, catalogue, row_of

__all__ = ["UNSURE", "gate"]

UNSURE = "in 8 of 10 cases takes"  #: part of a reason: the runs are too few to see the change

_CONDITION = re.compile(r"(?P<name>.+)(?P<sign>[<>])(?P<percent>[^<>]*)%", re.DOTALL)


def gate(question: Question, found: Compared, condition: str, strict: bool) -> tuple[bool, str]:
    """Whether a condition fails, and why. Without `strict` only a change that is more than chance fails. A ValueError: the
    text is no condition, or names nothing that was measured."""
    if condition.startswith("finding:"):
        return _gate_finding(found, condition.removeprefix("finding:"))
    read = _CONDITION.fullmatch(condition)
    limit = _number(read["percent"]) if read else math.nan
    if read is None or not math.isfinite(limit):
        raise ValueError(f'"{condition}" is no condition: write "wall_time>5%", "event_rate_core_khz<-3%", '
                         '"section:NAME>10%" or "finding:KIND"')
    name, above = read["name"], read["sign"] == ">"
    change = _find(question, found, name)
    ratio = change.get("ratio")
    if ratio is None:
        raise ValueError(f'"{name}" is not compared: no such figure was measured on both sides')
    percent = (ratio - 1) * 100
    beyond = percent > limit if above else percent < limit
    failed = beyond and (strict or change["verdict"] == ("more" if above else "less"))
    return failed, _why(question, change, name, percent, limit)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _gate_finding(found: Compared, kind: str) -> tuple[bool, str]:
    if kind not in _core.finding_kinds():
        raise ValueError(f'there is no finding "{kind}"')
    for one in reversed(found.findings):
        if one["kind"] == kind and one["change"] != "gone":
            return True, f"{one['change']} finding {kind}: {one['title']}"
    return False, f"no new finding {kind}"


def _find(question: Question, found: Compared, name: str) -> dict[str, Any]:
    if name.startswith("section:"):
        return row_of(question.section(name.removeprefix("section:")))
    key = catalogue()[name]["key"] if name in catalogue() else name
    for one in (*found.figures, *found.budget):
        if one["name"] in (name, key):
            return one
    return {}


def _why(question: Question, change: dict[str, Any], name: str, percent: float, limit: float) -> str:
    sure = change["verdict"] in ("more", "less")
    if "low" in change:
        within = f"{(change['low'] - 1) * 100:+.1f}% to {(change['high'] - 1) * 100:+.1f}%"
        within += "" if sure else ", which may be chance"
    else:
        within = "no interval: too few chunks or runs"
    why = f"{name} changed by {percent:+.1f}% ({within}); the limit is {limit:+.1f}%"
    runs = None if sure else question.runs_to_see(name, 1 + limit / 100)
    if runs is None:
        return why
    more = "more than 100" if runs > 100 else str(runs)
    return f"{why}. To see a change by {limit:+.1f}% {UNSURE} {more} runs of each side"
