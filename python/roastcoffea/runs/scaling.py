"""How the event rate of several runs depends on their cores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from roastcoffea._core import Run
from roastcoffea.runs.changes import ASSUMED
from roastcoffea.runs.compare import budget_parts
from roastcoffea.runs.known import Known
from roastcoffea.runs.laws import LAWS, Laws
from roastcoffea.runs.statistics import pooled
from roastcoffea.runs.tables import Table, number

__all__ = ["Scaled", "scale", "tables"]

_SAME_SIZE = 0.05  # runs whose cores differ by less are of one size: cores are a mean over time
_SAME_EVENTS, _SAME_SHARE = 0.1, 0.25  # so much may the events differ, or the events per core
_LEAST_SIZES = 3
_ASSUMED_FREEDOM = 6.0  # as in comparisons
_ENOUGH_FREEDOM = 4
_WIDE = 3.0  # high over low: beyond it nothing is predicted
_ALIKE = {"processor": "another processor", "executor": "another executor"}


@dataclass
class Sized:
    """A run with its size."""

    known: Known
    cores: float
    wall: float
    events: float

    @property
    def rate(self) -> float:
        return self.events / self.wall

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.known.name, "cores": self.cores, "wall_time": self.wall, "events": self.events,
                "event_rate_hz": self.rate}


@dataclass
class Scaled:
    """The answer."""

    headline: str
    kind: str  # "strong", "weak", "unknown"
    points: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    left_out: list[dict[str, str]]  # name, reason
    law: str | None  # the one that the runs choose; None: too few sizes, or none fits
    rests_on: str
    losses: list[dict[str, Any]]
    laws: Laws | None = field(repr=False, default=None)

    def predict(self, cores: float, law: str) -> dict[str, float]:
        assert self.laws is not None
        low, high = self.laws.time(cores)
        found = {"at": cores / self.laws.fits[law].time(cores), "low": cores / high, "high": cores / low}
        return {key: value for key, value in found.items() if math.isfinite(value)}

    def law_dict(self, name: str, cores: Sequence[float]) -> dict[str, Any]:
        assert self.laws is not None
        fit = self.laws.fits[name]
        a, b, c = fit.numbers
        found: dict[str, Any] = {"single_core_hz": self.predict(1.0, name)}
        for key, place, at in (("serial", 1, min(b / a, 1.0)), ("crosstalk", 2, c / a)):
            low, high = self.laws.part(place)
            found[key] = {"at": float(at), "low": low, "high": min(high, 1.0) if place == 1 else high}
            found[key] = {what: value for what, value in found[key].items() if math.isfinite(value)}
        if math.isfinite(fit.peak):
            found["peak_cores"] = fit.peak
        return {**found, "error": fit.error,
                "predictions": [{"cores": one, "event_rate_hz": self.predict(one, name)} for one in cores]}

    def as_dict(self, cores: Sequence[float]) -> dict[str, Any]:
        found = {"headline": self.headline, "kind": self.kind, "points": self.points, "runs": self.runs,
                 "left_out": self.left_out, "rests_on": self.rests_on,
                 "laws": {name: self.law_dict(name, cores) for name in LAWS} if self.laws is not None else {},
                 "losses": self.losses}
        return found if self.law is None else {**found, "law": self.law}


def scale(runs: Sequence[tuple[str, Run]]) -> Scaled:
    sized, left_out = _comparable([_size(Known.of(name, run)) for name, run in runs])
    sized.sort(key=lambda one: one.cores)
    sizes = _sizes(sized)
    points = _points(sizes)
    losses = _losses(sizes)
    kind = _kind(points)
    laws, rests = _laws(sized, sizes) if len(sizes) >= _LEAST_SIZES else (None, "")
    return Scaled(_headline(kind, points, losses), kind, points, [one.as_dict() for one in sized], left_out,
                  laws.chosen if laws is not None else None, rests, losses, laws)


def _size(known: Known) -> Sized:
    found = Sized(known, *(known.value(key) for key in ("total_cores", "wall_time", "total_events")))
    for what, value in (("its events were", found.events), ("its wall time was", found.wall), ("its cores were", found.cores)):
        if not value > 0:
            raise ValueError(f"{known.name}: {what} not measured; scaling needs events, wall time and cores")
    return found


def _comparable(sized: list[Sized]) -> tuple[list[Sized], list[dict[str, str]]]:
    """The most runs that only differ in their size; of the others each has a reason."""
    def work(one: Sized) -> tuple[Any, ...]:
        meta, datasets = one.known.run.meta, one.known.metrics.get("per_dataset") or {}
        threads = one.known.value("cores_per_worker")
        return (*(meta.get(key) for key in _ALIKE), tuple(sorted(map(str, datasets))) or None,
                None if math.isnan(threads) else round(threads, 1))

    most = Counter(map(work, sized)).most_common(1)[0][0]
    reasons = (*_ALIKE.values(), "other datasets", "other threads per worker")
    left_out = []
    for one in sized:
        why = [reason for reason, mine, theirs in zip(reasons, work(one), most) if mine != theirs]
        if why:
            left_out.append({"name": one.known.name, "reason": ", ".join(why)})
    return [one for one in sized if work(one) == most], left_out


def _sizes(sized: list[Sized]) -> list[list[Sized]]:
    sizes: list[list[Sized]] = []
    for one in sized:
        if sizes and one.cores < sizes[-1][0].cores * (1 + _SAME_SIZE):
            sizes[-1].append(one)
        else:
            sizes.append([one])
    return sizes


def _points(sizes: list[list[Sized]]) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    for runs in sizes:
        def mean(key: str, runs: list[Sized] = runs) -> float:
            return float(np.mean([getattr(one, key) for one in runs]))

        point = {"runs": len(runs), "cores": mean("cores"), "wall_time": mean("wall"), "events": mean("events"),
                 "event_rate_hz": mean("rate")}
        if len(runs) > 1:
            point["spread_hz"] = float(np.std([one.rate for one in runs], ddof=1))
        first = points[0] if points else point
        point["speedup"] = point["event_rate_hz"] / first["event_rate_hz"] * first["cores"]
        point["efficiency"] = point["speedup"] / point["cores"]
        points.append(point)
    return points


def _kind(points: list[dict[str, Any]]) -> str:
    events = [one["events"] for one in points]
    shares = [one["events"] / one["cores"] for one in points]
    if len(points) < 2:
        return "unknown"
    if max(events) <= min(events) * (1 + _SAME_EVENTS):
        return "strong"
    return "weak" if max(shares) <= min(shares) * (1 + _SAME_SHARE) else "unknown"


def _laws(sized: list[Sized], sizes: list[list[Sized]]) -> tuple[Laws, str]:
    seen = pooled(np.log([one.rate / one.cores for one in runs]) for runs in sizes)
    variance, freedom, rests = seen.value, float(seen.freedom), f"what {len(sized)} runs differ by"
    if seen.freedom < _ENOUGH_FREEDOM:
        known = np.nan_to_num(seen.value) * seen.freedom
        freedom = _ASSUMED_FREEDOM + seen.freedom
        variance = (_ASSUMED_FREEDOM * ASSUMED**2 + known) / freedom
        part = " in part" if seen.freedom else ""
        rests = f"{part} an assumption: runs differ by {ASSUMED * 100:.3g} %; repeat sizes to know".lstrip()
    cores, rates = np.array([one.cores for one in sized]), np.array([one.rate for one in sized])
    return Laws(cores, cores / rates, variance, freedom), rests


def _losses(sizes: list[list[Sized]]) -> list[dict[str, Any]]:
    """Core-seconds per event of each part, in the smallest and the largest size; none if a run has no budget."""
    if len(sizes) < 2:
        return []
    ends = []
    for runs in (sizes[0], sizes[-1]):
        budgets = [one.known.run.budget_total() for one in runs]
        if None in budgets:
            return []
        events = sum(one.events for one in runs)
        ends.append({key: sum(one["parts"].get(key) or 0.0 for one in budgets if one is not None) / events
                     for key in budget_parts()})
    change = sum(ends[1].values()) - sum(ends[0].values())
    rows: list[dict[str, Any]] = [{"part": key, "smallest": ends[0][key], "largest": ends[1][key],
             "share": (ends[1][key] - ends[0][key]) / change if change else 0.0} for key in budget_parts()]
    return sorted(rows, key=lambda row: -float(row["share"]))


def _headline(kind: str, points: list[dict[str, Any]], losses: list[dict[str, Any]]) -> str:
    if len(points) < 2:
        return "All runs have the same number of cores: there is nothing to say about scaling."
    last, reasons = points[-1], ""
    parts = [one for one in losses[:3] if one["share"] >= 0.1]
    if last["efficiency"] < 0.95 and parts:
        words = ", ".join(f"{budget_parts()[one['part']]} {100 * one['share']:.0f} %" for one in parts)
        reasons = f". Of the loss: {words}"
    name = {"strong": "Strong", "weak": "Weak"}.get(kind, "Mixed")
    return (f"{name} scaling: efficiency {100 * last['efficiency']:.0f} % at {number(last['cores'], '1')} cores, compared "
            f"with {number(points[0]['cores'], '1')}{reasons}.")


# ---- its tables ----


def tables(found: Scaled, cores: Sequence[float]) -> list[Table]:
    return [_points_table(found), _losses_table(found), _laws_table(found), _predictions(found, cores), _left_out(found)]


def _points_table(found: Scaled) -> Table:
    rows = [
        (number(one["cores"], "1"), number(one["runs"], "1"), number(one["wall_time"], "s"), number(round(one["events"]), "1"),
         number(one["event_rate_hz"], "Hz"),
         number(100 * one["spread_hz"] / one["event_rate_hz"], "%") if "spread_hz" in one else "-",
         number(one["speedup"], "×"), number(100 * one["efficiency"], "%"))
        for one in found.points
    ]
    headings = ("Cores", "Runs", "Wall", "Events", "Event Rate", "Spread", "Speed-up", "Efficiency")
    return Table("points", "Scaling", tuple((one, "number") for one in headings), rows)


def _losses_table(found: Scaled) -> Table:
    rows = [
        (budget_parts()[one["part"]], number(one["smallest"], "s"), number(one["largest"], "s"),
         number(one["largest"] - one["smallest"], "s"), number(100 * one["share"], "%"))
        for one in found.losses if one["smallest"] > 0 or one["largest"] > 0
    ]
    columns = (("Part", "left"), *((one, "number") for one in ("Smallest", "Largest", "Difference", "of Loss")))
    return Table("losses", "Where the Efficiency Went", columns, rows,
                 "core time per event of the smallest and the largest size")


def _between(known: dict[str, float], factor: float, unit: str) -> str:
    if "low" not in known:
        return "-"
    low = number(known["low"] * factor, unit)
    return f"{low} to {number(known['high'] * factor, unit)}" if "high" in known else f"at least {low}"


def _laws_table(found: Scaled) -> Table:
    rows = []
    for name, (label, count) in LAWS.items() if found.laws is not None else ():
        law = found.law_dict(name, ())
        peak = law.get("peak_cores", math.inf)
        rows.append((label + (" *" if name == found.law else ""), number(100 * law["serial"]["at"], "%"),
                     _between(law["serial"], 100, "%"), number(100 * law["crosstalk"]["at"], "%") if count > 2 else "-",
                     f"{peak:.0f} cores" if peak <= 1e7 else "none", number(100 * law["error"], "%")))
    columns = (("Law", "left"), ("Serial Part", "number"), ("95 % Interval", "right"), ("Crosstalk", "number"),
               ("Peak at", "right"), ("Deviation", "number"))
    chosen = "*: the law that the runs choose" if found.law is not None else "no law fits: the runs differ from each by more " \
        "than from each other"
    return Table("laws", "Laws", columns, rows, f"{chosen}. Intervals follow from {found.rests_on}")


def _predictions(found: Scaled, cores: Sequence[float]) -> Table:
    rows = []
    for one in cores if found.laws is not None else ():
        for name, (label, _) in LAWS.items():
            if name != (found.law or "usl"):
                continue
            rate = found.predict(one, name)
            sure = "high" in rate and rate["high"] <= _WIDE * rate["low"]
            rows.append((number(one, "1"), label, number(rate["at"], "Hz") if sure else "not predicted",
                         _between(rate, 1, "Hz")))
    columns = (("Cores", "number"), ("Law", "left"), ("Event Rate", "number"), ("95 % Interval", "right"))
    return Table("predictions", "Predictions", columns, rows, "the interval holds what all laws say that fit the runs")


def _left_out(found: Scaled) -> Table:
    rows = [(one["name"], one["reason"]) for one in found.left_out]
    return Table("left_out", "Not Compared", (("Run", "name"), ("Why", "left")), rows)
