"""Where the level of a series changes.

At each place the mean of the values before it is compared with that of the values from it on. Values that follow each other
depend on each other, so a difference is measured by how much means of such values vary: from the spread of the values around
their levels, and from how much each is like the one before. The clearest difference is compared with the clearest ones of
made series without any change, whose neighbours are as alike as in none, 0.3 or 0.6 of their variance: it counts if it is
rare in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roastcoffea.runs.statistics import Array

__all__ = ["LEAST", "Step", "find_steps"]

LEAST = 10  #: in fewer values no change can be found
_SHORTEST = 2  # values of a level
_MOST = 400  # longer series are tested by means of neighbours
_LIKE = (0.0, 0.3, 0.6)  # correlations of neighbours
_PER_RATE = 10  # made series as clear as what was measured that are allowed, at least
_LEAST_MADE = 1000
_NEAREST = 16  # values on each side of a change that place it
_DEEPEST = 24


@dataclass(frozen=True)
class Step:
    at: int  #: the first value of the new level
    p: float  #: the share of made series without a change that have one as clear


def find_steps(values: Array, error_rate: float) -> list[Step]:
    """The changes of level, in their order."""
    steps = _divide(np.asarray(values, float), 0, len(values), error_rate, 0)
    for i, step in enumerate(steps):  # once more, each between its neighbours: by now these are levels
        low = steps[i - 1].at if i > 0 else 0
        high = steps[i + 1].at if i + 1 < len(steps) else len(values)
        steps[i] = Step(_place(values[low:high], step.at - low) + low, step.p)
    return steps


def _divide(values: Array, first: int, end: int, error_rate: float, depth: int) -> list[Step]:
    part = values[first:end]
    if len(part) < LEAST or depth == _DEEPEST or part.min() == part.max():
        return []
    width = -(-len(part) // _MOST)
    short = np.add.reduceat(part, np.arange(0, len(part), width)) / np.diff(np.append(np.arange(0, len(part), width), len(part)))
    found, place = _clearest(_calm(short[None, :]))
    p = _probability(len(short), error_rate, float(found[0]))
    if p > error_rate:
        return []
    at = min(int(place[0]) * width, len(part) - 1)
    low, high = max(0, at - _NEAREST * width), min(len(part), at + _NEAREST * width)
    at = first + low + _place(part[low:high], at - low)
    return [*_divide(values, first, at, error_rate, depth + 1), Step(at, p), *_divide(values, at, end, error_rate, depth + 1)]


def _place(values: Array, at: int) -> int:
    """Where each value is nearest to the median of its side."""
    before, after = np.median(values[:at]), np.median(values[at:])
    sums = np.cumsum(np.abs(values - before) - np.abs(values - after))[:-1]
    return int(np.argmin(sums)) + 1 if len(sums) else at


# ---- the statistic, of many series at once: one in each row ----


def _calm(series: Array) -> Array:
    """Outliers drawn in: what is far from its neighbours counts as three standard deviations."""
    padded = np.pad(series, ((0, 0), (2, 2)), mode="edge")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5, axis=1), axis=2)
    off = series - middle
    reach = 3 * 1.4826 * np.median(np.abs(off), axis=1, keepdims=True)
    return np.asarray(np.where(reach > 0, middle + np.clip(off, -reach, reach), series))


def _clearest(series: Array) -> tuple[Array, Array]:
    """How clear the clearest change of each is, and the first value after it."""
    count, length = series.shape
    rows, places = np.arange(count), np.arange(length)
    series = series - series.mean(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((count, 1)), np.cumsum(series, axis=1)], axis=1)
    start, end = np.zeros((count, length), int), np.full((count, length), length)
    levels = max(3, length // 20 + 1)
    for step in range(levels - 1):  # as many as may be there: what is around levels is noise
        gains = _gains(sums, start, end)
        at = gains.argmax(axis=1)
        best = gains[rows, at]
        if step == 0:
            first, place = best, at
        low, high = start[rows, at][:, None], end[rows, at][:, None]
        split = (best > 0)[:, None] & (places >= low) & (places < high)
        end = np.where(split & (places < at[:, None]), at[:, None], end)
        start = np.where(split & (places >= at[:, None]), at[:, None], start)
    column = rows[:, None]
    noise = series - (sums[column, end] - sums[column, start]) / (end - start)
    squares = (noise * noise).sum(axis=1)
    squares = np.maximum(squares, 1e-12 * np.abs(series).max(axis=1) ** 2 * length + 1e-300)
    alike = np.clip((noise[:, 1:] * noise[:, :-1]).sum(axis=1) / squares, 0, 0.9)
    return first * (length - levels) / squares * (1 - alike) / (1 + alike), place


def _gains(sums: Array, start: Array, end: Array) -> Array:
    """By how much the squares around the levels fall if the level of each value ends before it."""
    rows, places = np.arange(len(sums))[:, None], np.arange(start.shape[1])
    before, after = places - start, end - places
    possible = (before >= _SHORTEST) & (after >= _SHORTEST)
    with np.errstate(invalid="ignore", divide="ignore"):
        beyond = sums[:, :-1] - sums[rows, start] - before / (end - start) * (sums[rows, end] - sums[rows, start])
        return np.asarray(np.where(possible, beyond**2 * (end - start) / (before * after), -1.0))


# ---- series without a change ----


def _probability(length: int, error_rate: float, found: float) -> float:
    """The largest share of made series that are as clear, over all ways in which neighbours may be alike."""
    number = max(_LEAST_MADE, int(np.ceil(_PER_RATE / error_rate)))
    return max(float(((made >= found).sum() + 1) / (number + 1)) for made in _made(length, number))


@lru_cache(maxsize=64)
def _made(length: int, number: int) -> list[Array]:
    rng = np.random.default_rng(length)  # always the same, and so is the answer
    found = []
    for like in _LIKE:
        series = rng.normal(size=(length, number))
        for i in range(1, length):
            series[i] = like * series[i - 1] + np.sqrt(1 - like * like) * series[i]
        found.append(np.concatenate([_clearest(_calm(part))[0] for part in np.array_split(series.T, max(1, length * number // 100_000))]))
    return found
