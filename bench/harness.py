"""Rounds, figures, rows and verdicts: what every subject uses."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from bench.sides import OURS, THEIRS, Side
from bench.targets import BETTER, TARGETS, Against


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
    def worst(self) -> Figure:
        """The most of all rounds, for what must hold in each."""
        return Figure((max(self.rounds),))

    @property
    def quartiles(self) -> tuple[float, float] | None:
        """None with fewer than four rounds."""
        if len(self.rounds) < 4:
            return None
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return low, high

    @property
    def spread(self) -> float | None:
        """The distance of the quartiles over the median."""
        if self.quartiles is None or not self.median:
            return None
        low, high = self.quartiles
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
    """One line of the table. `key` is "subject/name", as in targets.py. Of all figures less is better."""

    key: str
    unit: str  # "s", "bytes", "share", "times"
    measured: Figure
    floor: Figure | None = None
    floor_is: str = ""  # in words
    theirs: Figure | None = None  # the same with 0.1.2
    theirs_is: str = ""  # in words, where it is not quite the same


@dataclass(frozen=True)
class Verdict:
    """How a row stands to its target. ok None: it has none."""

    value: float | None  # what the limit is compared with
    spread: float | None
    limit: float | None
    against: Against | None
    ok: bool | None


@dataclass(frozen=True)
class Comparison:
    """How a row stands to 0.1.2. ok None: there is no target."""

    times: float | None  # theirs / ours, of the minima; None of a share, which may be 0
    spread: tuple[float, float] | None  # the quartiles of the ratio, round by round
    least: float | None
    ok: bool | None


def ratio(a: float, b: float) -> float:
    return a / b if b else float("inf")


def judge(row: Row) -> Verdict:
    target = TARGETS.get(row.key)
    if target is None:
        value = row.measured.best / row.floor.best if row.floor and row.floor.best else None
        return Verdict(value, row.measured.spread, None, None, None)
    value, spread = row.measured.best, row.measured.spread
    if target.against is not Against.ALONE:
        if row.floor is None:
            raise ValueError(f"{row.key}: its limit is relative to a floor, and it has none")
        if target.against is Against.FLOOR_TIMES:
            value = row.measured.best / row.floor.best
            spread = row.measured.relative(row.floor, ratio).spread
        else:
            value = row.measured.best - row.floor.best
    return Verdict(value, spread, target.limit, target.against, value <= target.limit)


def compare(row: Row) -> Comparison | None:
    """None: the row has nothing of 0.1.2."""
    if row.theirs is None:
        return None
    least = BETTER.get(row.key)
    if row.unit == "share":
        return Comparison(None, None, None, None)
    times = ratio(row.theirs.best, row.measured.best)
    spread = row.theirs.relative(row.measured, ratio).quartiles
    return Comparison(times, spread, least, None if least is None else times >= least)


@dataclass
class Answers:
    """What the two sides answered, call by call."""

    ours: list[Any] = field(default_factory=list)
    theirs: list[Any] = field(default_factory=list)

    def __iadd__(self, other: Answers) -> Answers:
        self.ours += other.ours
        self.theirs += other.theirs
        return self

    def _figure(self, answers: list[Any], name: str) -> Figure | None:
        values: list[float] = []
        for one in answers:
            value = one[name]
            values += value if isinstance(value, list) else [value]
        return Figure(tuple(values)) if values else None

    def our(self, name: str) -> Figure:
        found = self._figure(self.ours, name)
        if found is None:
            raise NotMeasured("our side was not asked")
        return found

    def their(self, name: str) -> Figure | None:
        return self._figure(self.theirs, name)


@dataclass(frozen=True)
class Ended:
    """A program that has ended well."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


class Harness:
    """What a subject measures with."""

    def __init__(self, rounds: int, quick: bool, programs: Path, theirs: Path | None = None,
                 no_theirs: str = "") -> None:
        self.rounds = rounds
        self.quick = quick
        self.programs = programs
        self.theirs_packages = theirs
        self.no_theirs = no_theirs  # why there is nothing to compare with
        self.growth: list[dict[str, Any]] = []  # points of the growth table
        self._outputs: dict[tuple[str, ...], dict[str, Any]] = {}

    def progress(self, text: str) -> None:
        print(f"bench: {text}", file=sys.stderr, flush=True)

    # ---- within this process ----

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

    # ---- on the two sides ----

    def sides(self) -> dict[str, Side]:
        """Fresh processes; ours alone where 0.1.2 is not there. Each is to be closed."""
        made = {OURS: Side(OURS, None)}
        if self.theirs_packages is not None:
            made[THEIRS] = Side(THEIRS, self.theirs_packages)
        return made

    def ask(self, sides: Mapping[str, Side], rounds: int, module: str, function: str, /,
            **arguments: Any) -> Answers:
        """The same of all sides in turns, there and back."""
        answers: dict[str, list[Any]] = {OURS: [], THEIRS: []}
        order = list(sides)
        for _ in range(rounds):
            for name in order:
                answers[name].append(sides[name].call(module, function, **arguments))
            order.reverse()
        return Answers(answers[OURS], answers[THEIRS])

    # ---- programs ----

    def program(self, name: str, *arguments: str) -> dict[str, Any]:
        """What a C program of bench/ printed; it is run once."""
        command = (name, *arguments)
        if command not in self._outputs:
            self.progress(f"running {' '.join(command)} ...")
            self._outputs[command] = json.loads(self.run(self.built(name), *arguments).output)
        return self._outputs[command]

    @property
    def roast(self) -> Path:
        """The program, as it was built with the C programs of bench/."""
        return self.built("roast", "cli")

    def built(self, name: str, folder: str = "bench") -> Path:
        path = self.programs / folder / name
        if not path.is_file():
            raise NotMeasured(f"{path} is missing: run `make bench`, or name its folder with --programs")
        return path

    def run(self, *command: str | Path, environment: Mapping[str, str] | None = None) -> Ended:
        """Runs a program to its end: how long it took, and the most memory that it held."""
        with tempfile.NamedTemporaryFile("r", suffix=".json") as report:
            result = subprocess.run(
                [self.built("bench_launch"), report.name, *command], stdout=subprocess.PIPE, text=True,
                env=None if environment is None else dict(environment), check=False)
            if result.returncode != 0:
                raise NotMeasured(f"{Path(command[0]).name} ended with {result.returncode}")
            told = json.load(report)
        return Ended(told["seconds"], told["cpu_seconds"], told["peak_bytes"], result.stdout)


def with_own_code(body: Callable[[], float]) -> Callable[[], float]:
    """A copy of a function whose code the interpreter specialises apart: a loop that has met one class is
    not slowed down by having met another."""
    if not isinstance(body, FunctionType):
        raise TypeError(f"a Python function is expected, not {type(body).__name__}")
    return FunctionType(body.__code__.replace(), body.__globals__, body.__name__, body.__defaults__,
                        body.__closure__)
