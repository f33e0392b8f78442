"""Intervals that hold although chunks of one run share its workers, its files and its hour.

Only numpy: the package asks for no scipy, and what is needed of it is the quantile of one distribution. The tests compare
that with scipy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

__all__ = ["ALPHA", "TIMES", "Array", "Spread", "Variance", "estimate", "group_means", "moments", "pooled", "quantile",
           "shares_variance"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

ALPHA = 0.05  #: how often an interval may miss the truth

_ANGLES = np.linspace(0, np.pi / 2, 20_001)


def quantile(probability: float, freedom: float) -> float:
    """Of Student's distribution, for probabilities from 0.5 on; with t = tan(angle) * sqrt(freedom) its density is a
    power of a cosine."""
    if freedom > 300:
        return NormalDist().inv_cdf(probability)
    density = np.cos(_ANGLES) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return float(np.sqrt(freedom) * np.tan(np.interp(2 * probability - 1, area / area[-1], _ANGLES)))


@dataclass(frozen=True)
class Variance:
    """Of the logarithm of one run's figure, with the degrees of freedom that it is known by."""

    value: float
    freedom: float


def pooled(groups: Iterable[Array]) -> Variance:
    """The variance inside of groups of runs that do not differ by design."""
    total, freedom = 0.0, 0
    for group in groups:
        values = np.asarray(group, float)
        values = values[np.isfinite(values)]
        if len(values) > 1:
            total += float(((values - values.mean()) ** 2).sum())
            freedom += len(values) - 1
    return Variance(total / freedom if freedom else np.nan, freedom)


# ---- inside of one run ----

_MOST_ROWS = 600  # more would make a variance sharper than anything that matters
TIMES = 48  # moments that a run is cut into
_SEEN = 2.0  # standard errors that a variance must have
_MEMORY = 1.0  # a drift is taken to last for this part of a run


@dataclass(frozen=True)
class Spread:
    """Variances of the logarithm of a chunk's cost: of each chunk, of its worker, and of the hour."""

    noise: float
    worker: float
    drift: float


def group_means(values: Array, groups: Array) -> Array:
    """For each value the mean of its group."""
    _, groups = np.unique(groups, return_inverse=True)
    return (np.bincount(groups, values) / np.bincount(groups))[groups]


def moments(starts: Array) -> Array:
    """The numbers of the parts of a run in which chunks began."""
    if len(starts) == 0:
        return np.zeros(0, int)
    low, high = np.nanmin(starts), np.nanmax(starts)
    if not high > low:
        return np.zeros(len(starts), int)
    return np.asarray(np.nan_to_num((starts - low) / (high - low) * TIMES).astype(int).clip(0, TIMES - 1))


def _likeness() -> Array:
    """Of two moments; those of A come before those of B, and are of another hour."""
    steps = np.arange(TIMES)
    return np.asarray(np.kron(np.eye(2), np.exp(-np.abs(steps[:, None] - steps) / (_MEMORY * TIMES))))


_LIKENESS = _likeness()


def estimate(values: Array, workers: Sequence[Array], times: Sequence[Array], files: Array, center: Array) -> Spread:
    """The variances behind `values`, each of which holds a chunk of every side in `workers` and `times`.

    By moments: the products of two values are the sum of what the two share. Means of the groups in `center` are taken
    off first, and files that changed as a whole are no noise."""
    if len(values) > _MOST_ROWS:
        chosen = np.linspace(0, len(values) - 1, _MOST_ROWS).astype(int)
        values, files, center = values[chosen], files[chosen], center[chosen]
        workers, times = [one[chosen] for one in workers], [one[chosen] for one in times]
    kept = _usual(values - group_means(values, center), files)
    values, files, center = values[kept], files[kept], center[kept]
    workers, times = [one[kept] for one in workers], [one[kept] for one in times]
    shared = [
        np.eye(len(values)) * len(workers),
        sum((one[:, None] == one) & (one[:, None] >= 0) for one in workers).astype(float),
        sum(_LIKENESS[one[:, None], one] for one in times),
    ]
    if len(np.unique(center)) < len(np.unique(files)) < 0.7 * len(files):
        shared.append((files[:, None] == files).astype(float))
    residuals = values - group_means(values, center)
    shared = [_centered(_centered(np.asarray(one), center).T, center) for one in shared]
    found = _solve(np.array([[float((a * b).sum()) for b in shared] for a in shared]),
                   np.array([float(residuals @ one @ residuals) for one in shared]), len(workers))
    return Spread(found[0], found[1], found[2])


def _centered(rows: Array, center: Array) -> Array:
    """The same without the means of the groups of rows."""
    _, groups, counts = np.unique(center, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return np.asarray(rows - rows.mean(axis=0))
    order = np.argsort(groups, kind="stable")
    sums = np.add.reduceat(rows[order], np.concatenate([[0], np.cumsum(counts)[:-1]]), axis=0)
    return np.asarray(rows - (sums / counts[:, None])[groups])


def _usual(residuals: Array, files: Array) -> Array:
    """Which values are no outliers: a file, or a chunk, that is ten times as slow is a change and not noise."""
    whole = group_means(residuals, files)
    kept = np.ones(len(residuals), bool)
    for one in (whole, residuals - whole):
        middle = np.median(one)
        width = 1.4826 * np.median(np.abs(one - middle))
        if width > 0:
            kept &= np.abs(one - middle) <= 5 * width
    return kept if kept.sum() > 3 else np.ones(len(residuals), bool)


def _solve(products: Array, sums: Array, sides: int) -> list[float]:
    """Least squares without negative variances: the most negative one is set to 0, and the others are solved again."""
    free = [i for i in range(len(sums)) if products[i, i] > 1e-9 * products[0, 0]]
    while free:
        found = np.linalg.lstsq(products[np.ix_(free, free)], sums[free], rcond=None)[0]
        worst = int(np.argmin(found))
        if found[worst] >= 0:
            break
        free.pop(worst)
    result = [0.0] * max(len(sums), 3)
    for i, place in enumerate(free):
        result[place] = float(found[i])
    # What noise alone would seem to show is noise: such an estimate has this standard error if there is nothing.
    whole = [i for i in range(len(sums)) if products[i, i] > 1e-9 * products[0, 0]]
    errors = np.sqrt(2 * np.maximum(np.diag(np.linalg.pinv(products[np.ix_(whole, whole)])), 0))
    for error, place in zip(errors, whole):
        if place > 0 and result[place] < _SEEN * error * result[0] * sides:
            result[place] = 0.0
    return result


def shares_variance(shares: Array, workers: Array, times: Array, spread: Spread) -> float:
    """The variance of the logarithm of a sum of chunks, each of which has a share of it."""
    by_worker = np.bincount(workers + 1, shares)
    by_time = np.bincount(times, shares, 2 * TIMES)
    alone = float((shares[workers < 0] ** 2).sum())  # nothing is known of their workers: each has its own
    return float(spread.noise * (shares**2).sum() + spread.worker * ((by_worker[1:] ** 2).sum() + alone)
                 + spread.drift * by_time @ _LIKENESS @ by_time)
