"""Ratios of what chunks cost on two sides, B over A, with their intervals.

The cost is a sum of time, per event. For each chunk of B there is what A would have taken: A's time per event of the same
file, or of the dataset if A does not have the file. The unit of repetition is the run. With one run on each side, what runs
differ by is the part that can be seen inside of a run (chunks, workers, files, the hour) and a part that cannot; that part
is known from other runs, or assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from roastcoffea.runs.columns import Chunks, Shared
from roastcoffea.runs.statistics import (
    ALPHA,
    TIMES,
    Array,
    Spread,
    Variance,
    estimate,
    pooled,
    quantile,
    shares_variance,
)

__all__ = ["ASSUMED", "Change", "Ratio", "Sides"]

ASSUMED = 0.03  #: the standard deviation between runs, where nothing tells it
_ASSUMED_FREEDOM = 6.0  # an assumption counts as much as seven runs
_GIVEN_FREEDOM = 300.0  # what the user says is taken at the word
_ENOUGH_FREEDOM = 4  # from here on what was measured counts alone: three runs of each side
_ENOUGH_PAIRS = 0.8  # of the pieces of work, or of the events
_LEAST_ROWS = 6  # fewer chunks tell nothing of their spread
_FEW_ROWS = 30  # fewer tell little of it


@dataclass
class Change:
    """A figure of both sides. None: not known."""

    kind: str  # metric, cost, part, dataset, file, worker, host, section, branch, phase
    name: str
    label: str
    unit: str
    a: float | None
    b: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    share: float | None = None  # of the change of the time of all chunks
    dataset: str | None = None  # of a section or phase; None: of all
    better: int = -1  # 1 if more is better, 0 if neither

    @property
    def verdict(self) -> str:
        if self.low is None or self.high is None:
            return "unknown"
        return "more" if self.low > 1 else "less" if self.high < 1 else "chance"

    def take(self, ratio: Ratio, alpha: float = ALPHA) -> None:
        self.ratio, self.low, self.high = ratio.interval(alpha)


@dataclass(frozen=True)
class Ratio:
    """The logarithm of B over A, and what its interval follows from."""

    log: float
    variance: float = math.nan  # of the logarithm
    freedom: float = math.nan
    of_one_run: float = math.nan  # the variance of the figure of one run

    def interval(self, alpha: float) -> tuple[float | None, float | None, float | None]:
        if not math.isfinite(self.log):
            return None, None, None
        if not self.variance >= 0:
            return math.exp(self.log), None, None
        reach = quantile(1 - alpha / 2, self.freedom) * math.sqrt(self.variance)
        return math.exp(self.log), math.exp(self.log - reach), math.exp(min(self.log + reach, 700))

    @property
    def clearness(self) -> float:
        return abs(self.log) / math.sqrt(self.variance) if self.variance > 0 else 0.0


_NONE = Ratio(math.nan)


@dataclass
class Sides:
    """The chunks of the runs of A, of B, and of other runs that are like them, one after the other. `others` come in
    groups that nothing but chance tells apart."""

    shared: Shared
    a: Sequence[Chunks]
    b: Sequence[Chunks]
    others: Sequence[Sequence[Chunks]] = ()
    given: float | None = None  # what runs differ by, as the user says
    groups: list[range] = field(init=False)

    def __post_init__(self) -> None:
        self.groups, at = [], 0
        for group in (self.a, self.b, *self.others):
            self.groups.append(range(at, at + len(group)))
            at += len(group)

    @cached_property
    def runs(self) -> list[Chunks]:
        return [*self.a, *self.b, *(one for group in self.others for one in group)]

    def column(self, name: str) -> Array:
        return np.concatenate([getattr(one, name) for one in self.runs])

    @cached_property
    def run(self) -> Array:
        return np.repeat(np.arange(len(self.runs)), [len(one) for one in self.runs])

    @cached_property
    def in_b(self) -> Array:
        return (self.run >= len(self.a)) & (self.run < len(self.a) + len(self.b))

    @cached_property
    def in_a(self) -> Array:
        return self.run < len(self.a)

    @cached_property
    def events(self) -> Array:
        """Of each chunk; 1 if those of any are not known."""
        found = self.column("events")
        return np.ones(len(found)) if self.unit == "chunk" else found

    @cached_property
    def unit(self) -> str:
        """What costs are divided by: each "event", or each "chunk"."""
        found = self.column("events")
        return "event" if np.isfinite(found).all() and (found > 0).any() else "chunk"

    @cached_property
    def dataset(self) -> Array:
        return self.column("dataset")

    @cached_property
    def file(self) -> Array:
        return self.column("file")

    @cached_property
    def piece(self) -> Array:
        """Files with their entries, by number."""
        found = self.file
        for name in ("start", "stop"):
            _, codes = np.unique(self.column(name), return_inverse=True)
            found = found * (codes.max(initial=0) + 1) + codes
        return found

    @cached_property
    def worker(self) -> Array:
        return self.column("worker")

    @cached_property
    def host(self) -> Array:
        return self.column("host")

    @cached_property
    def time(self) -> Array:
        return self.column("time") + np.where(self.in_b, TIMES, 0)

    def cost(self, name: str) -> Array:
        return np.concatenate([one.costs[name] for one in self.runs])

    def section(self, number: int) -> Array:
        return np.concatenate([one.sections.get(number, np.zeros(len(one))) for one in self.runs])

    # ---- what is compared with what ----

    def _in_both(self, codes: Array, count: int) -> Array:
        """By number, whether A and B both have it; the last place is that of chunks without one."""
        found = np.ones(count + 1, bool)
        for side in (self.in_a, self.in_b):
            found &= np.bincount(codes[side], minlength=count + 1) > 0 if count else False
        return found

    @cached_property
    def by_file(self) -> Array:
        files = len(self.shared.file)
        return self._in_both(self.file, files)[self.file]

    @cached_property
    def place(self) -> Array:
        """The file if both sides have it, else the dataset; -1: nothing to compare with."""
        datasets = len(self.shared.dataset)
        known = np.where(self.dataset < 0, datasets, self.dataset)
        both = self._in_both(known, datasets)
        both[datasets] = True  # chunks without a dataset are compared with each other
        return np.where(self.by_file, self.file, np.where(both[known], len(self.shared.file) + known, -1))

    @cached_property
    def pieces(self) -> int:
        """Pieces of work that both sides have."""
        return len(np.intersect1d(self.piece[self.in_a & (self.place >= 0)], self.piece[self.in_b & (self.place >= 0)]))

    @cached_property
    def compared(self) -> str:
        """"pairs" of chunks, the same "files" cut otherwise, or "events" of the same datasets."""
        kept = self.place >= 0
        most = max(len(np.unique(self.piece[side & kept])) for side in (self.in_a, self.in_b))
        if self.pieces > 0 and self.pieces >= _ENOUGH_PAIRS * most:
            return "pairs"
        side = self.in_b & kept
        alike = self.events[side & self.by_file].sum()
        return "files" if alike > 0 and alike >= _ENOUGH_PAIRS * self.events[side].sum() else "events"

    def _weights(self, cost: Array, mask: Array) -> tuple[Array, Array, Array]:
        """Which chunks count, what A would have taken for each, and how often one of A counts, so that A's work is that
        of B."""
        used = mask & np.isfinite(cost) & (self.place >= 0)
        places = len(self.shared.file) + len(self.shared.dataset) + 1
        a, b = used & self.in_a, used & self.in_b
        seconds = np.bincount(self.place[a], cost[a], places)
        events = [np.bincount(self.place[side], self.events[side], places) for side in (a, b)]
        with np.errstate(invalid="ignore", divide="ignore"):
            per_event = np.where((events[0] > 0) & (events[1] > 0), seconds / events[0], np.nan)
            often = np.where(self.in_b, 1.0, (events[1] / events[0])[self.place])
        expected = per_event[self.place] * self.events
        used &= np.isfinite(expected) & np.isfinite(often)
        return used, expected, often

    def sums(self, cost: Array, mask: Array | None = None) -> tuple[float, float, float]:
        """Seconds that A would have taken for the chunks of B, what they took, and their events; of one run of B."""
        used, expected, _ = self._weights(cost, self._all if mask is None else mask)
        used = used & self.in_b
        return tuple(float(one[used].sum()) / len(self.b) for one in (expected, cost, self.events))  # type: ignore[return-value]

    def sums_by(self, cost: Array, codes: Array, count: int) -> dict[int, tuple[float, float]]:
        """For each number in `codes` what A would have taken for the chunks of B, and what they took."""
        used, expected, _ = self._weights(cost, self._all)
        used = used & self.in_b & (codes >= 0)
        sums = [np.bincount(codes[used], one[used], count) / len(self.b) for one in (expected, cost)]
        return {int(i): (float(sums[0][i]), float(sums[1][i])) for i in np.flatnonzero((sums[0] > 0) | (sums[1] > 0))}

    @cached_property
    def _all(self) -> Array:
        return np.ones(len(self.run), bool)

    # ---- ratios ----

    def ratio(self, cost: Array, mask: Array | None = None) -> Ratio:
        """Of the sums of a cost."""
        used, expected, often = self._weights(cost, self._all if mask is None else mask)
        runs = len(self.runs)
        took = np.bincount(self.run[used], (cost * often)[used], runs)
        would = np.bincount(self.run[used], (expected * often)[used], runs)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(took / would)
        return self.of_runs(logs, lambda: self._within(cost, used, often))

    @cached_property
    def within(self) -> float:
        """The variance of the logarithm of the ratio that can be seen inside of the runs."""
        cost = self.cost("all")
        used, _, often = self._weights(cost, self._all)
        return self._within(cost, used, often)

    def typical(self) -> Ratio:
        """Of the typical chunk: the median of the ratios."""
        cost = self.cost("all")
        used, expected, _ = self._weights(cost, self._all)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.where(used & (cost > 0) & (expected > 0), np.log(cost / expected), np.nan)
        pairs = self._pairs(used & np.isfinite(logs)) if len(self.a) == len(self.b) == 1 else None
        if pairs is not None:
            middle = float(np.median(np.log(cost[pairs[1]] / cost[pairs[0]])))
            found = np.array([0.0, middle] + [np.nan] * (len(self.runs) - 2))
        else:
            found = np.array([np.nanmedian(logs[self.run == i]) if np.isfinite(logs[self.run == i]).any() else np.nan
                              for i in range(len(self.runs))])
        return self.of_runs(found, lambda: self._within(np.where(used, expected, np.nan), used, np.ones(len(cost)), cost))

    def of_runs(self, logs: Array, within: Callable[[], float]) -> Ratio:
        """`logs`: one figure of each run. `within()` is the variance that can be seen inside of the two runs."""
        groups = [logs[group.start:group.stop] for group in self.groups]
        a, b = (one[np.isfinite(one)] for one in groups[:2])
        if len(a) == 0 or len(b) == 0:
            return _NONE
        log = float(b.mean() - a.mean())
        seen, inside = self._measured(groups), within() / 2
        if seen.freedom < _ENOUGH_FREEDOM:
            assumed = inside + (ASSUMED if self.given is None else self.given) ** 2
            prior = _ASSUMED_FREEDOM if self.given is None else _GIVEN_FREEDOM
            both = prior + seen.freedom
            seen = Variance((prior * assumed + np.nan_to_num(seen.value) * seen.freedom) / both, both)
        elif inside > seen.value:  # few runs may be alike by chance, but not more than their chunks allow
            seen = Variance(inside, seen.freedom)
        return Ratio(log, seen.value * (1 / len(a) + 1 / len(b)), seen.freedom, seen.value)

    def _measured(self, groups: Sequence[Array]) -> Variance:
        """The variance between runs; what the user says stands for runs that are not compared themselves."""
        return pooled(groups if self.given is None else groups[:2])

    @cached_property
    def basis(self) -> tuple[str, int]:
        """What the spread between runs is known from: "runs" of both sides, "others" of the folder, "assumed"; and the
        degrees of freedom."""
        own = sum(len(group) - 1 for group in self.groups[:2])
        others = sum(max(len(group) - 1, 0) for group in self.groups[2:]) if self.given is None else 0
        return "runs" if own >= _ENOUGH_FREEDOM else "others" if own + others >= _ENOUGH_FREEDOM else "assumed", own + others

    # ---- the variance inside of a run ----

    @cached_property
    def _all_pairs(self) -> tuple[Array, Array]:
        """The rows of A and of B with the same piece of work, of the first run of each."""
        rows = [np.flatnonzero((self.place >= 0) & (self.run == run)) for run in (0, len(self.a))]
        _, first, second = np.intersect1d(self.piece[rows[0]], self.piece[rows[1]], return_indices=True)
        return rows[0][first], rows[1][second]

    def _pairs(self, used: Array) -> tuple[Array, Array] | None:
        if self.compared != "pairs":
            return None
        a, b = self._all_pairs
        kept = used[a] & used[b]
        return (a[kept], b[kept]) if kept.any() else None

    def _within(self, cost: Array, used: Array, often: Array, noise_of: Array | None = None) -> float:
        """Of the logarithm of B over A, first run against first run. The shares of the chunks follow `cost`; the spread
        is that of `noise_of`."""
        few = (used & self.in_b).sum() < _FEW_ROWS  # of one file, say: what all chunks show is the better estimate
        spread = self._whole_spread if few else self.spread(cost if noise_of is None else noise_of, used)
        if spread is None:
            return math.nan
        variance = 0.0
        for run in (0, len(self.a)):
            rows = np.flatnonzero(used & (self.run == run))
            weight = cost[rows] * often[rows]
            if not weight.sum() > 0:
                return math.nan
            shares = weight / weight.sum()
            variance += shares_variance(shares, self.worker[rows], self.time[rows], spread)
            variance += self._other_files(rows, shares, spread)
        return variance

    def widest(self) -> tuple[str, float] | None:
        """What makes the interval of one run against one run wide, "worker", "drift" or "noise", and the factor by which
        it changes the cost of a chunk. None: not known, or several runs tell."""
        spread = self._whole_spread
        if spread is None or len(self.runs) > 2:
            return None
        cost = self.cost("all")
        used, _, often = self._weights(cost, self._all)
        parts = {"noise": Spread(spread.noise, 0, 0), "worker": Spread(0, spread.worker, 0), "drift": Spread(0, 0, spread.drift)}
        sums = dict.fromkeys(parts, 0.0)
        for run in (0, len(self.a)):
            rows = np.flatnonzero(used & (self.run == run))
            weight = cost[rows] * often[rows]
            for name, part in parts.items():
                sums[name] += shares_variance(weight / weight.sum(), self.worker[rows], self.time[rows], part)
        name = max(sums, key=lambda one: sums[one])
        return name, math.exp(math.sqrt(getattr(spread, name)))

    def _other_files(self, rows: Array, shares: Array, spread: Spread) -> float:
        """What other files add, beyond the noise of their chunks: files that only one side has are drawn by chance."""
        lone = ~self.by_file[rows]
        if not lone.any():
            return 0.0
        rows, shares = rows[lone], shares[lone]
        _, place = np.unique(self.place[rows], return_inverse=True)
        per_event = (np.bincount(place, shares) / np.bincount(place, self.events[rows]))[place]
        own = np.where(self.file[rows] < 0, -1 - np.arange(len(rows)), self.file[rows])
        _, file = np.unique(own, return_inverse=True)
        beyond = np.bincount(file, shares - per_event * self.events[rows])
        count = len(beyond)
        found = float((beyond**2).sum()) * count / max(count - len(np.unique(place)), 1)
        return max(0.0, found - spread.noise * float((shares**2).sum()))

    @cached_property
    def _whole_spread(self) -> Spread | None:
        return self.spread(self.cost("all"), self._all & (self.place >= 0))

    def spread(self, cost: Array, used: Array) -> Spread | None:
        """Of the logarithms of a cost; None: there are too few chunks to tell."""
        used = used & (cost > 0) & (self.events > 0)
        pairs = self._pairs(used)
        if pairs is None:
            rows = np.flatnonzero(used & ((self.run == 0) | (self.run == len(self.a))))
            files = self.run[rows] * (len(self.shared.file) + 1) + self.file[rows]
            repeated = len(rows) - len(np.unique(files)) >= 0.3 * len(rows)
            if repeated or self.compared == "events":
                return self._alone(rows, cost, files if repeated else self.run[rows] * (self.place.max() + 2) + self.place[rows])
            pairs = self._whole_files(rows)
            cost = cost / self.events
        a, b = pairs
        if len(a) < _LEAST_ROWS:
            return None
        return estimate(np.log(cost[b] / cost[a]), [self.worker[a], self.worker[b]], [self.time[a], self.time[b]],
                        self.file[b], self.dataset[b])  # a dataset that changed as a whole is no drift

    def _alone(self, rows: Array, cost: Array, center: Array) -> Spread | None:
        """Of chunks without partners."""
        if len(rows) < _LEAST_ROWS:
            return None
        other = np.where(self.in_b[rows] & (self.worker[rows] >= 0), len(self.shared.worker), 0)
        return estimate(np.log(cost[rows] / self.events[rows]), [self.worker[rows] + other], [self.time[rows]],
                        self.file[rows], center)

    def _whole_files(self, rows: Array) -> tuple[Array, Array]:
        """One chunk of each file of both: files that are hardly cut have a chunk or two."""
        a, b = (rows[self.run[rows] == run] for run in (0, len(self.a)))
        _, first, second = np.intersect1d(self.file[a], self.file[b], return_indices=True)
        return a[first], b[second]
