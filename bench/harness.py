"""Rounds, figures, rows and verdicts: what every subject uses."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from bench.targets import TARGETS, Against


class NotMeasured(Exception):
    """A subject cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Figure:
    """One cost, as it came out in each round."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least: what is above it is the machine's other work."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float | None:
        """The distance of the quartiles over the median; None with fewer than four rounds."""
        if len(self.rounds) < 4 or not self.median:
            return None
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / abs(self.median)

    def less(self, other: Figure) -> Figure:
        """Without what `other` costs at its least: the difference of two noisy rounds could be anything."""
        return Figure(tuple(one - other.best for one in self.rounds))

    def relative(self, other: Figure, relation: Callable[[float, float], float]) -> Figure:
        """Round by round, where both were measured in the same rounds; else of the two minima."""
        if len(self.rounds) != len(other.rounds):
            return Figure((relation(self.best, other.best),))
        return Figure(tuple(map(relation, self.rounds, other.rounds)))


def figure(values: float | Iterable[float]) -> Figure:
    return Figure((values,) if isinstance(values, (int, float)) else tuple(values))


@dataclass(frozen=True)
class Row:
    """One line of the table. `key` is "subject/name", as in targets.py."""

    key: str
    unit: str  # "s", "bytes", "share"
    measured: Figure
    floor: Figure | None = None
    floor_is: str = ""  # in words


@dataclass(frozen=True)
class Verdict:
    """How a row stands to its target. ok None: it has no limit."""

    value: float | None  # what the limit is compared with
    spread: float | None
    limit: float | None
    against: Against | None
    ok: bool | None


def judge(row: Row) -> Verdict:
    target = TARGETS.get(row.key)
    if target is None:
        ratio = row.measured.best / row.floor.best if row.floor and row.floor.best else None
        return Verdict(ratio, row.measured.spread, None, None, None)
    value, spread = row.measured.best, row.measured.spread
    if target.of_median:
        value = row.measured.median
    if target.against is not Against.ALONE:
        if target.of_median:
            raise ValueError(f"{row.key}: a limit for the median is not relative to a floor")
        if row.floor is None:
            raise ValueError(f"{row.key}: its limit is relative to a floor, and it has none")
        if target.against is Against.FLOOR_TIMES:
            value = row.measured.best / row.floor.best
            spread = row.measured.relative(row.floor, lambda a, b: a / b).spread
        else:
            value = row.measured.best - row.floor.best
    return Verdict(value, spread, target.limit, target.against, value <= target.limit)


class Harness:
    """What a subject measures with."""

    def __init__(self, rounds: int, quick: bool, programs: Path) -> None:
        self.rounds = rounds
        self.quick = quick
        self.programs = programs
        self._outputs: dict[tuple[str, ...], dict[str, Any]] = {}

    def progress(self, text: str) -> None:
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def interleave(
        self, bodies: Mapping[str, Callable[[], float]], times: int = 1
    ) -> dict[str, Figure]:
        """Runs all bodies in every round, there and back in turns, so that what the machine does
        meanwhile meets all of them. A body returns what one use cost in this round. `times`: how
        many times more rounds than usual (for short ones)."""
        collected: dict[str, list[float]] = {name: [] for name in bodies}
        for body in bodies.values():
            body()  # the interpreter specialises code, the allocator grows: not in a round
        gc.collect()
        gc.freeze()  # what others made is not walked in our time
        order = list(bodies)
        for _ in range(self.rounds * times):
            for name in order:
                collected[name].append(bodies[name]())
            order.reverse()
        gc.unfreeze()
        return {name: Figure(tuple(values)) for name, values in collected.items()}

    def program(self, name: str, *arguments: str) -> dict[str, Any]:
        """What a C program of bench/ printed; it is run once."""
        command = (name, *arguments)
        if command not in self._outputs:
            path = self.programs / name
            if not path.is_file():
                raise NotMeasured(f"{path} is missing: run `make bench`, or name its folder with --programs")
            self.progress(f"running {' '.join(command)} ...")
            result = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise NotMeasured(f"{name} failed: {result.stderr.strip()}")
            self._outputs[command] = json.loads(result.stdout)
        return self._outputs[command]


def with_own_code(body: Callable[[], float]) -> Callable[[], float]:
    """A copy of a function whose code the interpreter specialises apart: a loop that has met one class is
    not slowed down by having met another."""
    if not isinstance(body, FunctionType):
        raise TypeError(f"a Python function is expected, not {type(body).__name__}")
    return FunctionType(body.__code__.replace(), body.__globals__, body.__name__, body.__defaults__,
                        body.__closure__)
