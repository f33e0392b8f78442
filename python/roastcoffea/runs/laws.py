"""Laws of scaling, and what they leave open.

The core time per event with N cores is a + b (N - 1) + c N (N - 1), with no number below 0: b / a is the serial part,
c / a the crosstalk. Amdahl's law has no crosstalk. An interval holds what all such laws say that fit nearly as well as the
best one: runs on few cores hardly tell a little crosstalk from none, and on many cores that makes the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from roastcoffea.runs.statistics import ALPHA, Array, quantile

__all__ = ["LAWS", "Fit", "Laws"]

#: Name, label, how many of the numbers it has.
LAWS = {"amdahl": ("Amdahl's law", 2), "usl": ("Universal scalability law", 3)}
_FINE = 160  # steps of each share in the laws that are tried
_FAR = 4.0  # times the largest size: where the shares of the laws are taken
_ENOUGH = 2.0  # standard deviations by which the law with more numbers has to be better


@dataclass(frozen=True)
class Fit:
    """The best law of a kind."""

    numbers: Array  # a, b, c
    error: float  # the mean relative deviation

    def time(self, cores: float) -> float:
        return float(self.numbers @ _terms(np.array([cores]))[0])

    @property
    def peak(self) -> float:
        a, b, c = self.numbers
        return math.sqrt(max(0.0, 1 - b / a) * a / c) if c > 0 else math.inf


def _terms(cores: Array) -> Array:
    return np.column_stack([np.ones(len(cores)), cores - 1, cores * (cores - 1)])


class Laws:
    """The laws of runs with so many cores, each with its core time per event. `variance` is that of one run's logarithm,
    known by `freedom`."""

    def __init__(self, cores: Array, times: Array, variance: float, freedom: float) -> None:
        self.cores, self.times = cores, times
        self.fits = {name: self._fit(count) for name, (_, count) in LAWS.items()}
        left = len(cores) - 3
        squares = self._squares(self.fits["usl"])
        beyond = squares / left if left > 0 else 0.0
        #: Whether a law describes the runs at all: what it leaves is what runs differ by.
        self.holds = left <= 0 or squares <= variance * (left + 3 * math.sqrt(2 * left))
        spread = max(variance, beyond)
        better = self._squares(self.fits["amdahl"]) - squares
        self.chosen = None if not self.holds else "usl" if better > _ENOUGH**2 * spread else "amdahl"
        self._reach = quantile(1 - ALPHA / 2, max(freedom, 1.0)) ** 2 * spread
        self._try()

    def _fit(self, count: int) -> Fit:
        """Least squares of relative deviations. A number that would be below 0 is 0: all choices of those are tried."""
        rows = _terms(self.cores)[:, :count] / self.times[:, None]
        best, found = math.inf, np.zeros(3)
        for size in range(1, count + 1):
            for chosen in combinations(range(count), size):
                numbers = np.linalg.lstsq(rows[:, chosen], np.ones(len(rows)), rcond=None)[0]
                squares = float(((rows[:, chosen] @ numbers - 1) ** 2).sum())
                if (numbers >= 0).all() and 0 in chosen and squares < best * (1 - 1e-9):
                    best, found = squares, np.zeros(3)
                    found[list(chosen)] = numbers
        return Fit(found, math.sqrt(best / len(rows)))

    def _squares(self, fit: Fit) -> float:
        return fit.error**2 * len(self.cores)

    def _try(self) -> None:
        """All laws, by the shares of their numbers in the time on many cores, and between which times each fits well
        enough."""
        far = _FAR * float(self.cores.max())
        steps = np.linspace(0, 1, _FINE + 1) ** 2  # finer where a share is small
        b, c = (one.ravel() for one in np.meshgrid(steps, steps))
        kept = b + c <= 1
        shares = np.column_stack([1 - b - c, b, c])[kept]
        per_time = shares / _terms(np.array([far]))[0]  # the numbers of a law whose time is 1 there
        fitted = per_time @ (_terms(self.cores) / self.times[:, None]).T
        sums, squares = fitted.sum(axis=1), (fitted * fitted).sum(axis=1)
        most = self._squares(self.fits["usl"]) + self._reach
        inside = sums * sums - squares * (len(self.cores) - most)
        good = inside >= 0
        width = np.sqrt(inside[good])
        self._laws = per_time[good]
        self._low, self._high = ((sums[good] + sign * width) / squares[good] for sign in (-1, 1))

    def between(self, of: Callable[[Array], Array], scaled: bool = True) -> tuple[float, float]:
        """The least and the most of a figure of the laws that fit well enough; `scaled`: a time, not a ratio."""
        if len(self._laws) == 0:
            return math.nan, math.nan
        values = of(self._laws)
        low, high = (values * self._low, values * self._high) if scaled else (values, values)
        return float(low.min()), float(high.max())

    def time(self, cores: float) -> tuple[float, float]:
        """The least and the most core time per event."""
        return self.between(lambda laws: np.asarray(laws @ _terms(np.array([cores]))[0]))

    def part(self, number: int) -> tuple[float, float]:
        """The serial part (1) or the crosstalk (2)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.between(lambda laws: np.nan_to_num(laws[:, number] / laws[:, 0], nan=np.inf), scaled=False)
