"""Two sides of one or several runs each: what differs, by how much, and whether it is more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from roastcoffea import _core
from roastcoffea._core import Run
from roastcoffea.runs.causes import ChangedFiles, changed_files, find_causes
from roastcoffea.runs.changes import ASSUMED, Change, Ratio, Sides
from roastcoffea.runs.columns import COSTS, Shared, chunks_of
from roastcoffea.runs.conditions import conditions
from roastcoffea.runs.known import Known, mean_of
from roastcoffea.runs.statistics import quantile
from roastcoffea.runs.tables import Table, interval, number, percent, seconds

__all__ = ["Compared", "compare_runs"]

#: The figures of whole runs: key, label, and whether more is better.
_FIGURES = {
    "total_events": ("Events", 0),
    "num_chunks": ("Chunks", 0),
    "num_failed_chunks": ("Failed Chunks", -1),
    "event_rate_wall_khz": ("Event Rate", 1),
    "event_rate_core_khz": ("Event Rate per Core", 1),
    "data_rate_gbps": ("Data Rate", 0),  # reading the same bytes again raises it
    "useful_rate_gbps": ("Useful Data Rate", 1),
    "total_bytes_read_coffea": ("Bytes Read", -1),
    "files_accessed_bytes": ("Bytes of Branches Used", 0),
    "core_efficiency": ("Core Efficiency", 1),
    "cpu_efficiency_fine": ("CPU Efficiency", 1),
    "avg_workers": ("Workers", 0),
    "total_cores": ("Cores", 0),
    "peak_memory_bytes": ("Peak Memory", -1),
}
#: One run of each side has an interval of these, too: they follow the cost, and end with the last chunk.
_FOLLOW_THE_COST = ("wall_time", "event_rate_wall_khz", "event_rate_core_khz")
_FOUND_AT = 0.8  # how often the number of runs that is advised finds a change


@dataclass
class Compared:
    """The answer."""

    headline: str
    a: list[str]
    b: list[str]
    compared: str  # "pairs" of chunks, "files" that are cut otherwise, "events"
    chunks: int  # pairs, or chunks of B
    rests_on: str  # what the intervals follow from
    cost: dict[str, Any]
    conditions: list[dict[str, Any]]
    causes: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    budget: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    changed_files: dict[str, Any] | None = None  # a few files that explain the change


@cache
def catalogue() -> dict[str, Any]:
    return {name: row for row in _core.catalogue() for name in (row["key"], *row["aliases"])}


@cache
def budget_parts() -> dict[str, str]:
    """The parts of the budget, in their order."""
    return {row["key"]: row["label"] for row in _core.catalogue()
            if row["group"] == "budget" and row["key"] != "available_core_seconds"}


class Question:
    """Two sides that are compared; it keeps what a condition may ask for later."""

    def __init__(self, a: Sequence[tuple[str, Run]], b: Sequence[tuple[str, Run]],
                 others: Sequence[Sequence[Run]] = (), given: float | None = None) -> None:
        self.a, self.b = [Known.of(*one) for one in a], [Known.of(*one) for one in b]
        self.others = [[Known.of("", one) for one in group] for group in others]
        shared = Shared.new()
        self.sides = Sides(
            shared, [chunks_of(one.run, shared) for one in self.a], [chunks_of(one.run, shared) for one in self.b],
            [[chunks_of(one, shared) for one in group] for group in others], given,
        )

    # ---- figures ----

    def _cost(self, name: str, label: str, kind: str = "cost", values: Any = None) -> Change | None:
        cost = self.sides.cost(name) if values is None else values
        base, now, events = self.sides.sums(cost)
        if not events > 0:
            return None
        row = Change(kind, name, label, "s", base / events, now / events)
        row.take(self.sides.ratio(cost))
        return row

    def costs(self) -> list[Change]:
        rows = []
        for name, label in COSTS.items():
            row = self._cost(name, label)
            if row is None or not (row.a or row.b):
                continue
            if name == "all":
                row.label += f" per {self.sides.unit.capitalize()}"
            rows.append(row)
            if name == "all":
                rows += filter(None, [self._wall_time(), self._typical()])
        return rows

    def _typical(self) -> Change | None:
        found = self.sides.typical()
        if not math.isfinite(found.log):
            return None
        cost = self.sides.cost("all")
        a, b = (float(np.median(cost[side])) for side in (self.sides.in_a, self.sides.in_b))
        row = Change("cost", "typical", "Typical Chunk", "s", a, b)
        row.take(found)
        return row

    def _wall_time(self) -> Change | None:
        return self._metric("wall_time", "Wall Time", -1)

    def _metric(self, key: str, label: str, better: int) -> Change | None:
        values = [np.array([one.value(key) for one in side]) for side in (self.a, self.b)]
        a, b = (mean_of(side, key) for side in (self.a, self.b))
        if math.isnan(a) and math.isnan(b):
            return None
        row = Change("metric", key, label, catalogue()[key]["unit"], None if math.isnan(a) else a, None if math.isnan(b) else b,
                     better=better)
        if a > 0 and not math.isnan(b):
            row.ratio = b / a
        found = self._of_metric(key, values)
        if found is not None:
            row.take(found)
        return row

    def _of_metric(self, key: str, values: Sequence[Any]) -> Ratio | None:
        """None: one run of each side, and nothing inside of it tells what chance does."""
        if any((one[np.isfinite(one)] <= 0).any() or not np.isfinite(one).any() for one in values):
            return None
        several = sum(len(one) - 1 for one in values)
        follows = key in _FOLLOW_THE_COST and len(self.sides.run) > 0
        if several == 0 and not follows:
            return None
        known = [one.value(key) for side in (self.a, self.b, *self.others) for one in side]
        logs = np.log([one if one > 0 else math.nan for one in known])
        return self.sides.of_runs(logs, self._within_wall if follows else lambda: 0.0)

    def _within_wall(self) -> float:
        """Of the logarithm of the wall time: that of the cost, and that of who takes the last chunk."""
        cost = self.sides.cost("all")
        variance = self.sides.within
        for side, known in ((self.sides.in_a, self.a[0]), (self.sides.in_b, self.b[0])):
            longest = cost[side & (self.sides.run == (0 if known is self.a[0] else len(self.a)))]
            wall = known.value("wall_time")
            if len(longest) and wall > 0:
                variance += (float(np.mean(longest)) / wall) ** 2 / 3
        return variance

    def all_figures(self) -> list[Change]:
        rows = self.costs()
        if not any(one.name == "wall_time" for one in rows):
            rows += filter(None, [self._wall_time()])
        return rows + [row for key, (label, better) in _FIGURES.items() if (row := self._metric(key, label, better))]

    # ---- budget and findings ----

    def compare_budgets(self) -> list[Change]:
        sides = [[one.run.budget_total() for one in side] for side in (self.a, self.b)]
        events = [mean_of(side, "total_events") for side in (self.a, self.b)]
        per_event = events[0] > 0 and events[1] > 0 and events[0] != events[1]

        def mean(side: int, key: str) -> float | None:
            found: list[float | None] = [one["available_core_seconds"] if key == "available" else one["parts"].get(key)
                     for one in sides[side] if one is not None]
            kept = [float(one) for one in found if one is not None]
            return sum(kept) / len(kept) / (events[side] if per_event else 1) if kept else None

        rows = []
        for key, label in {"available": "Available", **budget_parts()}.items():
            a, b = mean(0, key), mean(1, key)
            if a is None and b is None:
                continue
            row = Change("part", key, label, "s", a, b, better=0 if key == "compute_cpu" else -1)
            if a and b is not None:
                row.ratio = b / a
            rows.append(row)
        whole = rows[0] if rows and rows[0].name == "available" else None
        change = whole.b - whole.a if whole is not None and whole.a is not None and whole.b is not None else 0
        for row in rows:
            if change and row.a is not None and row.b is not None:
                row.share = (row.b - row.a) / change
        return rows

    def compare_findings(self) -> list[dict[str, Any]]:
        """Of the last run of each side: those of earlier ones may be mended."""
        a, b = ({one["kind"]: one for one in reversed(side[-1].run.diagnose())} for side in (self.a, self.b))
        severities = ("note", "warning", "critical")

        def worse(now: dict[str, Any], before: dict[str, Any]) -> bool:
            return severities.index(now["severity"]) > severities.index(before["severity"]) or (
                (now["saving_core_seconds"] or 0) > 1.5 * (before["saving_core_seconds"] or 0))

        rows = []
        for one in self.b[-1].run.diagnose():
            before = a.get(one["kind"])
            if before is None or worse(one, before):
                rows.append({"change": "new" if before is None else "worse", **one})
        rows += [{"change": "gone", **one} for one in self.a[-1].run.diagnose() if one["kind"] not in b]
        return [{key: one[key] for key in ("change", "kind", "severity", "title", "saving_core_seconds")
                 if one.get(key) is not None} for one in rows]

    # ---- what a condition asks ----

    def section(self, name: str) -> Change:
        number = self.sides.shared.section.get(name)
        if number < 0:
            raise ValueError(f'no run has a section "{name}"')
        row = self._cost(name, name, "section", self.sides.section(number))
        return row or Change("section", name, name, "s", None, None)

    def runs_to_see(self, name: str, ratio: float) -> int | None:
        """How many runs of each side find a change by that factor in eight of ten cases."""
        key = "all" if name in _FOLLOW_THE_COST or name not in COSTS else name
        one_run = self.sides.ratio(self.sides.cost(key)).of_one_run
        if not one_run > 0 or not ratio > 0 or ratio == 1:
            return None
        wanted = math.log(ratio) ** 2 / (2 * one_run)
        for runs in range(2, 100):
            freedom = 2 * (runs - 1)
            if runs * wanted >= (quantile(0.975, freedom) + quantile(_FOUND_AT, freedom)) ** 2:
                return runs
        return 100


def row_of(change: Change) -> dict[str, Any]:
    """For programs: what is not known is absent."""
    found = {"kind": change.kind, "name": change.name, "dataset": change.dataset, "label": change.label, "unit": change.unit,
             "a": change.a, "b": change.b, "ratio": change.ratio, "low": change.low, "high": change.high,
             "share": change.share, "verdict": change.verdict}
    return {key: value for key, value in found.items() if value is not None and value == value}


# ---- the answer ----


def compare_runs(question: Question) -> Compared:
    sides = question.sides
    base, now, _ = sides.sums(sides.cost("all"))
    whole = sides.ratio(sides.cost("all"))
    cost = Change("cost", "all", "Time of All Chunks", "s", base, now, share=1.0)
    cost.take(whole)
    files = changed_files(sides)
    chunks = sides.pieces if sides.compared == "pairs" else len(np.unique(sides.piece[sides.in_b & (sides.place >= 0)]))
    figures = question.all_figures()
    return Compared(
        headline=_headline(cost, sides, rests_on(question), files, figures), a=[one.name for one in question.a],
        b=[one.name for one in question.b], compared=sides.compared, chunks=chunks, rests_on=rests_on(question),
        cost=row_of(cost), conditions=conditions(question.a, question.b, sides),
        causes=[row_of(one) for one in find_causes(sides, whole)], figures=[row_of(one) for one in figures],
        budget=[row_of(one) for one in question.compare_budgets()], findings=question.compare_findings(),
        changed_files=None if files is None else vars(files),
    )


def rests_on(question: Question) -> str:
    """What an interval follows from, in words."""
    sides = question.sides
    known, freedom = sides.basis
    counts = [f"{len(side)} run{'s' if len(side) > 1 else ''}" for side in (sides.a, sides.b)]
    text = f"{counts[0]} against {counts[1]}"
    if known == "runs":
        return text
    if known == "others":
        others = sum(len(group) for group in sides.others)
        return f"{text}; what runs differ by is known from {others} others like them"
    differ = f"{(ASSUMED if sides.given is None else sides.given) * 100:.3g} %"
    if sides.given is not None:
        return f"{text}, given that runs differ by {differ}"
    part = " in part" if freedom else ""
    return f"{text},{part} assuming that runs differ by {differ}; measure three of each to know"


def _share(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.1f} %"


_WIDE = 4.0  # between the ends of an interval: no answer that helps
_WHY_WIDE = {
    "worker": "workers of one run typically differ by a factor of {:.1f}: a slow one has more of the chunks of one run by chance",
    "drift": "the machine was faster and slower by a factor of {:.1f} while the runs went on",
    "noise": "chunks that should cost the same typically differ by a factor of {:.1f}",
}


def _headline(cost: Change, sides: Sides, rests: str, files: ChangedFiles | None, figures: Sequence[Change]) -> str:
    unit = sides.unit
    if cost.ratio is None:
        return "No chunk of B can be compared with one of A."
    if cost.low is None or cost.high is None:
        return (f"The core time per {unit} changed by {percent(cost.ratio)}; there are too few chunks or runs to tell it "
                "from chance.")
    if cost.verdict == "chance":
        said = (f"No difference beyond chance in the core time per {unit}: {percent(cost.ratio)} "
                f"({interval(cost.low, cost.high)}; {rests}).")
    else:
        less = cost.verdict == "less"
        ends = (cost.high, cost.low) if less else (cost.low, cost.high)
        said = (f"B takes {_share(cost.ratio)} {'less' if less else 'more'} core time per {unit} than A "
                f"({_share(ends[0])} to {_share(ends[1])}; {rests}).")
    why = sides.widest() if cost.verdict == "chance" and cost.high > _WIDE * cost.low else None
    wide = f"The interval is wide as {_WHY_WIDE[why[0]].format(why[1])}." if why is not None else ""
    return " ".join(filter(None, [said, wide, _about_files(files), _about_typical(cost, files, figures)]))


def _about_files(files: ChangedFiles | None) -> str:
    if files is None:
        return ""
    count, others = len(files.names), files.files - len(files.names)
    if files.ratio > 1.5 or files.ratio < 1 / 1.5:
        factor = files.ratio if files.ratio > 1 else 1 / files.ratio
        did = f"take{'s' if count == 1 else ''} {factor:.1f} times as {'long' if files.ratio > 1 else 'little time'}"
    else:
        did = f"changed by {percent(files.ratio)}"
    rest = "are unchanged" if abs(files.rest - 1) < 0.05 else f"changed by {percent(files.rest)}"
    return f"{count} of {files.files} files {did}; the other {others} {rest}."


def _about_typical(cost: Change, files: ChangedFiles | None, figures: Sequence[Change]) -> str:
    """Where the cost and the typical chunk disagree, that is the news; files that explain it say more."""
    typical = next((one for one in figures if one.name == "typical"), None)
    if files is not None or typical is None or None in (typical.ratio, cost.low, cost.high):
        return ""
    agrees = cost.low <= typical.ratio <= cost.high or cost.verdict == typical.verdict  # type: ignore[operator]
    return "" if agrees else f"The typical chunk changed by {percent(typical.ratio)}: a part of the chunks makes the difference."


# ---- its tables ----


def tables(found: Compared) -> list[Table]:
    return [_conditions(found), _causes(found), _figures(found), _budget(found), _findings(found)]


def _change(row: dict[str, Any]) -> str:
    return "~" if row["verdict"] == "chance" else percent(row.get("ratio"))


def _conditions(found: Compared) -> Table:
    rows = [(one["what"], one["a"], one["b"], one.get("follows", "")) for one in found.conditions]
    return Table("conditions", "What Differs", (("What", "left"), ("A", "name"), ("B", "name"), ("What Follows", "left")), rows)


def _figures(found: Compared) -> Table:
    rows = [
        (one["label"], number(one.get("a"), one["unit"]), number(one.get("b"), one["unit"]), _change(one),
         interval(one.get("low"), one.get("high")))
        for one in found.figures
    ]
    columns = ("Figure", "left"), ("A", "number"), ("B", "number"), ("Change", "right"), ("95 % Interval", "right")
    return Table("figures", "Figures", columns, rows, f"~: may be chance. Intervals: {found.rests_on}")


def _of_seconds(id: str, title: str, heading: str, rows: Sequence[dict[str, Any]], labels: Sequence[str],
                caption: str) -> Table:
    a, b = [one.get("a") for one in rows], [one.get("b") for one in rows]
    texts = seconds([*a, *b, *(y - x if x is not None and y is not None else None for x, y in zip(a, b))])
    count = len(rows)
    shares = [f"{one['share'] * 100:.0f} %".replace("-0 %", "0 %") if math.isfinite(one.get("share", math.nan)) else "-"
              for one in rows]
    columns = ((heading, "left"), ("A", "number"), ("B", "number"), ("Change", "right"), ("Difference", "number"),
               ("of Change", "right"))
    made = [(labels[i], texts[i], texts[count + i], _change(rows[i]), texts[2 * count + i], shares[i]) for i in range(count)]
    return Table(id, title, columns, made, caption)


def _causes(found: Compared) -> Table:
    labels = [
        ("" if one["kind"] == "phase" else one["kind"] + " ") + one["name"] + (f" in {one['dataset']}" if "dataset" in one else "")
        for one in found.causes
    ]
    return _of_seconds("causes", "What Contributed Most", "What", found.causes, labels,
                       "time of chunks; A: what A would have taken for the chunks of B")


def _budget(found: Compared) -> Table:
    rows = [one for one in found.budget if one.get("a", 0) > 0 or one.get("b", 0) > 0]
    return _of_seconds("budget", "Budget", "Part", rows, [one["label"] for one in rows],
                       "core time; per event if the events differ")


def _findings(found: Compared) -> Table:
    rows = [
        (one["change"], one["severity"], one["title"], number(one.get("saving_core_seconds") or None, "s"))
        for one in found.findings
    ]
    return Table("findings", "Findings", (("Change", "right"), ("Severity", "right"), ("What", "left"), ("Saves", "number")), rows)
