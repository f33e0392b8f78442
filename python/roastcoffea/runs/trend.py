"""A metric of many runs over time: comparable runs together, and where their level changed."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from roastcoffea import _core
from roastcoffea.runs.levels import LEAST, Step, find_steps
from roastcoffea.runs.tables import Table

__all__ = ["DEPTH", "Found", "Group", "draw", "find_trend", "tables"]

DEPTH = 16  # folders
_SAME_EVENTS = 0.1  # the events of comparable runs differ by at most so much
_NEAR = 2  # a cause is looked for so many runs away from a change
_LEFT = ("failed", "interrupted", "unfinished", "no_value", "no_time", "unreadable")
_RATES = (0.001, 0.2)

#: What may be the cause of a change: key of the text of a run, words; in the order in which they are listed.
_FACTS = {
    "git_revision": "git revision", "chunksize": "chunk size", "executor": "executor", "workers": "workers",
    "schema": "schema", "format": "file format", "files": "files", "reducer": "reducer", "engine": "engine",
    "python_version": "Python", "coffea_version": "coffea", "dask_version": "dask",
    "distributed_version": "distributed", "uproot_version": "uproot", "awkward_version": "awkward",
    "numpy_version": "numpy", "roastcoffea_version": "roastcoffea", "architecture": "architecture",
    "kernel": "kernel", "host": "host",
}


@dataclass
class Group:
    """Comparable runs, by time."""

    runs: list[dict[str, Any]]  # as the engine lists them
    steps: list[Step]

    @property
    def levels(self) -> list[tuple[int, int, float]]:
        """The first run, how many they are, and their median."""
        edges = [0, *(step.at for step in self.steps), len(self.runs)]
        return [(first, end - first, float(np.median([run["value"] for run in self.runs[first:end]])))
                for first, end in zip(edges, edges[1:])]

    @property
    def title(self) -> str:
        first, count = self.runs[0], len(self.runs)
        known = sorted(run["events"] for run in self.runs if run["events"] is not None)
        on = f" on {first['datasets']}" if first["datasets"] is not None else ""
        events = ""
        if known:
            least, most = (_count(one) for one in (known[0], known[-1]))
            events = f" of {least}{f' to {most}' if most != least else ''} events"
        return f"{(first['processor'] or 'Unknown processor')[:120]}{on}: {_count(count)} run{_plural(count)}{events}"

    def as_dict(self) -> dict[str, Any]:
        levels = self.levels
        known = [run["events"] for run in self.runs if run["events"] is not None]
        about = {key: self.runs[0][key] for key in ("processor", "datasets") if self.runs[0][key] is not None}
        if known:
            about |= {"least_events": int(min(known)), "most_events": int(max(known))}
        return about | {
            "changes": [self._change(i) for i in range(1, len(levels))],
            "levels": [{"first": first, "runs": runs, "median": median} for first, runs, median in levels],
            "runs": [{"name": run["name"], "when": when(run).isoformat(), "value": run["value"]} for run in self.runs],
        }

    def _change(self, number: int) -> dict[str, Any]:
        (_, _, before), (first, _, after) = self.levels[number - 1:number + 1]
        run = self.runs[first]
        found = {"run": first, "name": run["name"], "when": when(run).isoformat(), "before": before, "after": after}
        if before:
            found["change"] = (after - before) / abs(before)
        return {**found, "p": self.steps[number - 1].p, "changed": self.causes(number)}

    def causes(self, number: int) -> list[dict[str, Any]]:
        """The nearest change of each fact around a change of level, to a value that no run of the level before had."""
        (low, _, _), (first, count, _) = self.levels[number - 1:number + 1]
        found = []
        for fact in _FACTS:
            texts = [run["facts"].get(fact) for run in self.runs[low:first + count]]
            for away in sorted(range(-_NEAR, _NEAR + 1), key=lambda one: (abs(one), one)):
                at = first + away - low
                if 0 < at < len(texts) and None not in texts[at - 1:at + 1] and texts[at] not in texts[:at]:
                    found.append({"what": fact, "before": texts[at - 1], "after": texts[at], "runs_away": away})
                    break
        return found


@dataclass
class Found:
    """The answer."""

    metric: str
    unit: str
    error_rate: float
    groups: list[Group]
    left_out: dict[str, int]
    measurements: int  # also those that the tests left out

    @property
    def headline(self) -> str:
        changes = sum(len(group.steps) for group in self.groups)
        runs, groups = sum(len(group.runs) for group in self.groups), len(self.groups)
        if not runs:
            return f"{self.metric}: there is no run with a value."
        return (f"{self.metric}: {_count(changes) if changes else 'no'} change{'s' if changes > 1 else ''} of level in "
                f"{_count(runs)} run{_plural(runs)} ({_count(groups)} group{_plural(groups)} of comparable ones).")

    def as_dict(self) -> dict[str, Any]:
        return {"headline": self.headline, "metric": self.metric, "unit": self.unit, "error_rate": self.error_rate,
                "least_runs": LEAST, "groups": [group.as_dict() for group in self.groups], "left_out": self.left_out}


def find_trend(folders: Iterable[str | os.PathLike[str]], metric: str, where: Sequence[str], error_rate: float,
               depth: int = DEPTH) -> Found:
    about = next((row for row in _core.catalogue() if metric in (row["key"], *row["aliases"])), None)
    if about is None:
        raise ValueError(f'no metric has the name "{metric}"')
    if about["scope"] != "metrics" or about["type"] not in ("int", "real"):
        raise ValueError(f'"{metric}" is not a number of a run')
    if not _RATES[0] <= error_rate <= _RATES[1]:
        raise ValueError(f"an error rate is a number from {_RATES[0]:g} to {_RATES[1]:g}")
    measurements, runs = _core.find_runs(tuple(map(os.fsencode, folders)), about["key"], tuple(where), depth)
    left = Counter(why for run in runs if (why := _why_left_out(run)))
    kept = [run for run in runs if not _why_left_out(run)]
    groups = [Group(group, find_steps(np.array([run["value"] for run in group]), error_rate)) for group in _groups(kept)]
    return Found(about["key"], about["unit"], error_rate, groups, {why: left[why] for why in _LEFT}, measurements)


def _why_left_out(run: dict[str, Any]) -> str | None:
    if not run["readable"]:
        return "unreadable"
    if not run["finished"]:
        return "unfinished"
    if run["outcome"] in ("failed", "interrupted"):
        return str(run["outcome"])
    if run["value"] is None or not math.isfinite(run["value"]):
        return "no_value"
    return "no_time" if run["when"] is None else None


def _groups(runs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Comparable runs, by time; the largest group first. Sorted by their events, a group goes on as long as its runs are
    comparable with the first one."""
    def work(run: dict[str, Any]) -> tuple[str, str, float]:
        return run["processor"] or "", run["datasets"] or "", -1.0 if run["events"] is None else run["events"]

    groups: list[list[dict[str, Any]]] = []
    for run in sorted(runs, key=work):
        if groups and work(groups[-1][0])[:2] == work(run)[:2]:
            first, events = work(groups[-1][0])[2], work(run)[2]
            if (first < 0) == (events < 0) and events <= first * (1 + _SAME_EVENTS if first > 0 else 1):
                groups[-1].append(run)
                continue
        groups.append([run])
    for group in groups:
        group.sort(key=lambda run: (run["when"], run["name"]))
    return sorted(groups, key=lambda group: (-len(group), work(group[0])))


def when(run: dict[str, Any]) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=run["when"] // 1000)


def _count(number: float) -> str:
    return _core.format_value(int(number), "1")


def _plural(number: int) -> str:
    return "" if number == 1 else "s"


# ---- shown ----

_MOST_GROUPS = 20  # of many groups and changes, the largest and the latest are drawn
_MARKS = "123456789abcdefghijk"
_BLOCKS, _LETTERS = "▁▂▃▄▅▆▇█", "_.,-=+*#"
_LEFT_WORDS = {"no_value": "without a value", "no_time": "without a time"}


def tables(found: Found) -> list[Table]:
    """The changes of each group."""
    columns = (("", "left"), ("From (UTC)", "right"), ("Before", "number"), ("After", "number"), ("Change", "right"),
               ("What changed", "left"))
    return [Table("changes", group.title, columns, [_row(found, group, i) for i in range(1, len(group.levels))])
            for group in found.groups]


def _row(found: Found, group: Group, number: int) -> tuple[str, ...]:
    (_, _, before), (first, _, after) = group.levels[number - 1:number + 1]
    return (_mark(group, number), f"{when(group.runs[first]):%Y-%m-%d %H:%M}", _core.format_value(before, found.unit),
            _core.format_value(after, found.unit), f"{100 * (after - before) / abs(before):+.1f} %" if before else "-",
            _causes(group, number))


def _mark(group: Group, number: int) -> str:
    """In the line of blocks; changes that are only counted have one in common."""
    first = max(1, len(group.levels) - len(_MARKS))
    return _MARKS[number - first] if number >= first else "*"


def _causes(group: Group, number: int) -> str:
    def words(one: dict[str, Any]) -> str:
        length, away = 10 if one["what"] == "git_revision" else 40, abs(one["runs_away"])
        side = f" ({away} run{_plural(away)} {'earlier' if one['runs_away'] < 0 else 'later'})" if away else ""
        return f"{_FACTS[one['what']]} {one['before'][:length]} -> {one['after'][:length]}{side}"

    return "; ".join(map(words, group.causes(number))) or "nothing that is recorded"


def draw(found: Found, width: int, color: bool, ascii: bool) -> str:
    room = max(width, 40)
    lines = [_core.wrap_text(found.headline, 0, room)]
    drawn = [group for i, group in enumerate(found.groups[:_MOST_GROUPS]) if i == 0 or len(group.runs) > 1]
    for group in drawn:
        lines += ["", *_title(group.title, room, color), *_line(found, group, room - 2, ascii)]
        lines += _changes(found, group, room)
    if found.groups:
        lines.append("")
    if smaller := len(found.groups) - len(drawn):
        lines.append(f"{smaller} smaller group{_plural(smaller)}: --json has all of them")
    if drawn:
        lines.append(_core.wrap_text("In a group without any change, one is found with a probability of at most "
                                     f"{100 * found.error_rate:.3g} %.", 0, room))
    if left := [f"{count} {_LEFT_WORDS.get(why, why)}" for why, count in found.left_out.items() if count]:
        lines.append(_core.wrap_text(f"Not part of any level: {', '.join(left)}.", 0, room))
    return "".join(line + "\n" for line in lines)


def _title(title: str, room: int, color: bool) -> list[str]:
    """As the engine draws that of a table."""
    return _core.draw_table(title, (("", "left"),), (("",),), None, room, color).rstrip("\n").split("\n")[:-1]


def _line(found: Found, group: Group, room: int, ascii: bool) -> list[str]:
    """A block of each run, or of the median of several; the changes below it."""
    values = np.array([run["value"] for run in group.runs])
    count, blocks = min(len(values), room), _LETTERS if ascii else _BLOCKS
    columns = np.array([np.median(part) for part in np.array_split(values, count)])
    least, most = columns.min(), columns.max()
    heights = (columns - least) / (most - least) if most > least else np.full(count, 0.5)
    lines = ["  " + "".join(blocks[min(int(one * len(blocks)), len(blocks) - 1)] for one in heights)]
    marks = [" "] * count
    for number, step in reversed(list(enumerate(group.steps, 1))):
        marks[min(step.at * count // len(values), count - 1)] = _mark(group, number)
    if group.steps:
        lines.append("  " + "".join(marks).rstrip())
    texts = [_core.format_value(float(one), found.unit) for one in (least, most)]
    scale = f"{blocks[0]} {texts[0]}  {blocks[-1]} {texts[1]}" if least < most else texts[1]
    _, runs, median = group.levels[-1]
    lines.append(f"  {scale}  {when(group.runs[0]):%Y-%m-%d} to {when(group.runs[-1]):%Y-%m-%d}")
    lines.append(f"  level now: {_core.format_value(median, found.unit)}, the median of "
                 f"{'the last ' if group.steps else ''}{_count(runs)} run{_plural(runs)}")
    if len(values) < LEAST:
        lines.append(f"  too few runs to find a change: that takes {LEAST}")
    return lines


def _changes(found: Found, group: Group, room: int) -> list[str]:
    """A line of numbers of each, and what changed below it."""
    lines = [""] if group.steps else []
    first = max(1, len(group.levels) - len(_MARKS))
    if first > 1:
        lines.append(f"  {first - 1} earlier change{_plural(first - 1)}: --json has all of them")
    for number in range(first, len(group.levels)):
        mark, start, before, after, change, causes = _row(found, group, number)
        if before.partition(" ")[2] == after.partition(" ")[2]:  # a unit that both have stands there once
            before = before.partition(" ")[0]
        lines.append(f"  {mark}  {start}  {change:>9}  {before} -> {after}")
        lines.append("     " + _core.wrap_text(causes, 5, room))
    return lines
