"""What contributed to the change of the time of all chunks.

For each chunk of B there is a time that A would have taken. The differences are added up by dataset, file, worker, host,
section and branch. A group is named before another if more of the change is in it than its share of the time explains: so a
section of one dataset comes before the dataset, and before the section in all datasets, if the change is there alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from roastcoffea.runs.changes import Change, Ratio, Sides
from roastcoffea.runs.statistics import ALPHA, Array

__all__ = ["ChangedFiles", "changed_files", "find_causes"]

_MOST = 12  # there is no room to show more
_LEAST_SHARE = 0.02  # of the change of all chunks: less is not worth a line
_SPECIFIC = 1.25  # a file, or a part of a dataset, that explains nearly as much as the whole dataset comes before it


@dataclass
class _Cause:
    kind: str
    name: str
    dataset: str | None
    base: float
    now: float
    cost: Array | None = None  # None: there is no test of it
    codes: Array | None = None  # the chunks with this number; None: all
    number: int = -1

    def ratio(self, sides: Sides) -> Ratio | None:
        if self.cost is None:
            return None
        return sides.ratio(self.cost, None if self.codes is None else self.codes == self.number)

    def excess(self, base: float, change: float) -> float:
        """In the direction of the change of all chunks; the other direction is below 0. A worker of B has done other
        chunks than any worker of A: it can be the reason for a loss, never for a gain."""
        sign = -1 if change < 0 else 1
        if sign < 0 and self.kind in ("worker", "host"):
            return 0.0
        found = sign * (self.now - self.base - (self.base / base if base > 0 else 0) * change)
        return found * (_SPECIFIC if self.kind == "file" or self.dataset is not None else 1)


def find_causes(sides: Sides, whole: Ratio) -> list[Change]:
    """Largest first; those that may be chance are left out. Of so many candidates some differ by chance: the error rate
    is shared among all that are tested."""
    cost = sides.cost("all")
    base, now, _ = sides.sums(cost)
    change = now - base
    candidates = [one for one in _candidates(sides, cost, base) if one.now > 0 or one.base > 0]
    candidates.sort(key=lambda one: (-one.excess(base, change), one.kind, one.name, one.dataset or ""))
    tests = sum(one.cost is not None for one in candidates)
    sure = whole.interval(ALPHA)
    changed = sure[1] is None or sure[2] is None or not sure[1] <= 1 <= sure[2]
    looked = [one for one in candidates[:_MOST] if one.excess(base, change) > _LEAST_SHARE * abs(change)]
    found = [(one, one.ratio(sides)) for one in looked]
    rejected = _holm([ratio for _, ratio in found if ratio is not None], tests)
    rows = []
    for one, ratio in found:
        row = Change(one.kind, one.name, one.name, "s", one.base, one.now, dataset=one.dataset,
                     share=(one.now - one.base) / change if change else None)
        if one.base > 0:
            row.ratio = one.now / one.base
        if ratio is not None:
            row.take(ratio, rejected.get(id(ratio), ALPHA / tests))
        if row.verdict in ("more", "less") or (row.verdict == "unknown" and changed):
            rows.append(row)
    return rows


def _holm(ratios: Iterable[Ratio], tests: int) -> dict[int, float]:
    """The error rate of each, by Holm: the clearest has that of all tests, the next one that of the others, until one may
    be chance."""
    rates, place = {}, 0
    for ratio in sorted(ratios, key=lambda one: -one.clearness):
        rate = rates[id(ratio)] = ALPHA / (tests - place)
        _, low, high = ratio.interval(rate)
        if low is not None and high is not None and not low <= 1 <= high:
            place += 1
    return rates


def _candidates(sides: Sides, cost: Array, base: float) -> list[_Cause]:
    shared = sides.shared
    datasets = [i for i in range(len(shared.dataset)) if shared.dataset[i] is not None]
    several = len(datasets) > 1
    found = []
    for kind, names, codes in (("dataset", shared.dataset, sides.dataset), ("file", shared.file, sides.file)):
        for number, (a, b) in sides.sums_by(cost, codes, len(names)).items():
            name = names[number][1] if kind == "file" else names[number]
            if name is not None and name == name:
                found.append(_Cause(kind, name, None, a, b, cost, codes, number))
    for kind, names, codes in (("worker", shared.worker, sides.worker), ("host", shared.host, sides.host)):
        found += [_Cause(kind, names[number], None, a, b)
                  for number, (a, b) in sides.sums_by(cost, codes, len(names)).items()]
    parts = [("section", shared.section[i], sides.section(i)) for i in range(len(shared.section))]
    parts.append(("phase", "before process()", sides.cost("before")))
    for kind, name, values in parts:
        a, b, _ = sides.sums(values)
        found.append(_Cause(kind, name, None, a, b, values))
        if several:
            by_dataset = sides.sums_by(values, sides.dataset, len(shared.dataset))
            found += [_Cause(kind, name, shared.dataset[number], a, b, values, sides.dataset, number)
                      for number, (a, b) in by_dataset.items() if a > 0 or b > 0]
    return found + _branches(sides, base)


def _branches(sides: Sides, base: float) -> list[_Cause]:
    """The reads of branches are known in all; those of A are scaled to the time that A would have taken."""
    took = float(np.nansum(sides.cost("all")[sides.in_a]))
    a, b = ({}, {})  # type: tuple[dict[int, float], dict[int, float]]
    for sums, runs in ((a, sides.a), (b, sides.b)):
        for one in runs:
            for number, seconds in one.branches.items():
                sums[number] = sums.get(number, 0.0) + seconds
    scale = base / took if took > 0 else 0.0
    return [_Cause("branch", sides.shared.branch[number], None, a.get(number, 0.0) * scale, b.get(number, 0.0) / len(sides.b))
            for number in a.keys() | b.keys()]


# ---- a few files ----


@dataclass
class ChangedFiles:
    """Files that changed by much more than the others, and explain the change."""

    names: list[str]
    files: int  # of both sides
    ratio: float  # of what these files cost
    rest: float  # of what the others cost


def changed_files(sides: Sides) -> ChangedFiles | None:
    """None unless at most a third of the files, each far from the others, has more than half of the change."""
    cost = sides.cost("all")
    by_file = {number: pair for number, pair in sides.sums_by(cost, sides.file, len(sides.shared.file)).items()
               if min(pair) > 0}
    if len(by_file) < 6:
        return None
    numbers = list(by_file)
    a, b = np.array(list(by_file.values())).T
    logs = np.log(b / a)
    middle = float(np.median(logs))
    width = 1.4826 * float(np.median(np.abs(logs - middle)))
    far = np.abs(logs - middle) > max(5 * width, 0.2)
    count, beyond = int(far.sum()), (b - a * np.exp(middle))
    if not 0 < count <= len(logs) / 3 or abs(beyond[far].sum()) < abs(beyond.sum()) / 2:
        return None
    names = [str(sides.shared.file[numbers[i]][1]) for i in np.flatnonzero(far)]
    return ChangedFiles(names, len(logs), float(b[far].sum() / a[far].sum()), float(b[~far].sum() / a[~far].sum()))
