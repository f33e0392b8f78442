"""MetricsCollector around a real analysis: the same run with it and without it, in turns.

What one run takes varies by more than what is sought: bursts of something else on the machine make a chunk take half
as long again. So a run is cut at the ends of its chunks, of each piece the median over all runs is taken, and the
medians are added up: a burst then spoils one piece of one run. Nothing that comes in every run is lost by that, be it at
the start, at the end or in a chunk; what falls on a piece in less than half of the runs is, so the difference of
whole runs stands beside it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from coffea.processor import ProcessorABC
from scipy import stats

from bench.harness import Figure, Harness, Row, figure
from bench.sides import OURS, THEIRS, Side
from bench.targets import TARGETS
from bench.work.decorator import Events
from roastcoffea import channel, track_metrics
from roastcoffea._core import ChunkLog

Pieces: TypeAlias = npt.NDArray[np.float64]  # a row a run

CONFIDENCE = 0.95
RESAMPLED = 2000
COPIES = {"iterative": 2, "Dask": 8}  # of four chunks each: a run takes five seconds and more
KNOWN_TO_THEM = ("Dask",)
PACE = 200  # chunks a second, of the worker that sends records beside the output
PACED_SECONDS = 1.0


# ---- whole runs ----


class Pairs:
    """Runs of one side with the collector and without it, next to each other."""

    def __init__(self) -> None:
        self.runs: dict[bool, list[dict[str, Any]]] = {False: [], True: []}

    def add(self, side: Side, first: bool) -> None:
        for collect in (first, not first):
            self.runs[collect].append(side.call("analysis", "run", collect=collect))

    def around(self) -> Figure:
        return figure(one["around"] for one in self.runs[True])

    def whole(self, collect: bool, name: str) -> list[float]:
        """Of each run: on the wall all processes take the same time, in CPU time they add up."""
        return [sum(map(sum, one[name])) / (len(one[name]) if name == "seconds" else 1) for one in self.runs[collect]]

    def whole_differences(self, name: str) -> list[float]:
        return [a / b - 1 for a, b in zip(self.whole(True, name), self.whole(False, name), strict=True)]

    def pieces(self, collect: bool, name: str) -> Pieces:
        return np.array([[piece for process in one[name] for piece in process] for one in self.runs[collect]])


def difference(collected: Pieces, bare: Pieces) -> float:
    """Of the sums of the pieces' medians, as a share."""
    return float(np.median(collected, axis=0).sum() / np.median(bare, axis=0).sum()) - 1


def interval(collected: Pieces, bare: Pieces) -> tuple[float, float]:
    """Where the difference lies, by drawing pairs of runs anew."""
    random, pairs = np.random.default_rng(0), len(bare)
    if pairs < 2:
        return -math.inf, math.inf
    drawn = [difference(collected[chosen], bare[chosen]) for chosen in random.integers(pairs, size=(RESAMPLED, pairs))]
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def order_matters(collected: Pieces, bare: Pieces) -> bool:
    """Whether it makes a difference which of a pair came first (they take turns): then one run leaves something
    behind for the next, and the figure for both orders says nothing of what one run costs."""
    low, high = interval(collected[0::2], bare[0::2])
    other_low, other_high = interval(collected[1::2], bare[1::2])
    return low > other_high or other_low > high


def _reading(collected: Pieces, bare: Pieces, limit: float) -> str:
    """The interval in words: a wide one must not pass for a good result."""
    low, high = interval(collected, bare)
    if order_matters(collected, bare):
        found = ("it depends on which of the two came first: these runs can neither show nor refute that the limit "
                 "is kept")
    elif low > limit:
        found = "the limit is missed"
    elif high <= limit:
        found = "the limit is kept"
    else:
        found = "the limit lies within: these runs can neither show nor refute that it is kept"
    return (f"{100 * CONFIDENCE:g} % interval of {len(bare)} pairs of runs, {100 * low:+.2f} % to {100 * high:+.2f} %; "
            f"{found}")


def _student(differences: list[float]) -> str:
    """Student's t interval of the mean of whole runs, in words."""
    if len(differences) < 2:
        return "of one pair of runs"
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1)) * error
    mean = statistics.fmean(differences)
    return f"{100 * CONFIDENCE:g} % t interval {100 * (mean - reach):+.2f} % to {100 * (mean + reach):+.2f} %"


def _measured(harness: Harness, sides: dict[str, Side], pairs: int) -> dict[str, Pairs]:
    found = {name: Pairs() for name in sides}
    for side in sides.values():
        for collect in (False, True):
            side.call("analysis", "run", collect=collect)  # workers import, caches fill
    for pair in range(pairs):
        for name, side in sides.items():
            if name == OURS or pair % 4 == 0:  # what is sought of theirs is no small difference
                found[name].add(side, first=bool(pair % 2))
    return found


def _difference_rows(executor: str, what: str, ours: Pairs, name: str) -> Iterator[Row]:
    collected, bare = ours.pieces(True, name), ours.pieces(False, name)
    low, high = interval(collected, bare)
    key = f"overhead/{executor}, difference{what}"
    yield Row(key, "share", figure(difference(collected, bare)))
    yield Row(f"{key} at least", "share", figure(low), None,
              _reading(collected, bare, TARGETS[f"{key} at least"].limit))
    yield Row(f"{key} at most", "share", figure(high))
    whole = ours.whole_differences(name)
    yield Row(f"{key}, mean of whole runs", "share", figure(statistics.fmean(whole)), None, _student(whole))


def _run_rows(harness: Harness, executor: str) -> Iterator[Row]:
    # A run on Dask has a third one beside it, with 0.1.2.
    pairs = 2 if harness.quick else harness.rounds if executor in KNOWN_TO_THEM else harness.rounds * 3
    harness.progress(f"overhead: {executor}, {pairs} pairs of runs ...")
    with ExitStack() as stack:
        sides = {name: side for name, side in harness.sides().items()
                 if name == OURS or executor in KNOWN_TO_THEM}
        for side in sides.values():
            stack.enter_context(side)
            chunks = side.call("analysis", "start", executor=executor, copies=COPIES[executor])
            stack.callback(side.call, "analysis", "stop")
        found = _measured(harness, sides, pairs)
    ours, theirs = found[OURS], found.get(THEIRS)
    for name, unit in (("seconds", "a run"), ("cpu", "a run, CPU time")):
        yield Row(f"overhead/{executor}, {unit}", "s", figure(ours.whole(True, name)), figure(ours.whole(False, name)),
                  f"the same {chunks} chunks without the collector",
                  None if theirs is None else figure(theirs.whole(True, name)))
    yield Row(f"overhead/{executor}, into the context and out of it", "s", ours.around(),
              theirs=None if theirs is None else theirs.around())
    yield from _difference_rows(executor, "", ours, "seconds")
    yield from _difference_rows(executor, " in CPU time", ours, "cpu")
    if theirs is not None:
        whole = theirs.whole_differences("seconds")
        yield Row(f"overhead/{executor}, difference with 0.1.2", "share", figure(statistics.fmean(whole)), None,
                  _student(whole))


# ---- records beside the output ----


class Empty(ProcessorABC):
    @track_metrics
    def process(self, events: Any) -> dict[str, Any]:
        return {}

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def _paced(topic: str | None) -> Callable[[], float]:
    """CPU seconds a second of a process that handles PACE chunks in one."""
    uses = round(PACE * PACED_SECONDS)

    def one_round() -> float:
        processor, events = Empty(), Events()
        processor._roastcoffea_collect_metrics = True
        if topic is not None:
            processor._roastcoffea_topic = topic
        start, cpu = perf_counter(), time.process_time()
        for i in range(uses):
            time.sleep(max(0.0, start + i / PACE - perf_counter()))
            processor.process(events)
        if topic is not None:
            channel.flush(topic)
        cpu, wall = time.process_time() - cpu, perf_counter() - start
        sent = sum(len(ChunkLog.from_bytes(data)) for data in channel.take_memory(topic)) if topic else 0
        if sent != (uses if topic else 0):
            raise AssertionError(f"{sent} records of {uses} were delivered")
        return cpu / wall

    return one_round


def _beside_rows(harness: Harness) -> Iterator[Row]:
    harness.progress("overhead: records beside the output ...")
    few = Harness(1 if harness.quick else 3, harness.quick, harness.programs)
    costs = few.interleave({"without": _paced(None), "with": _paced("memory:bench-overhead")})
    yield Row("overhead/records beside the output", "share", costs["with"], costs["without"],
              f"{PACE} chunks a second that are recorded, but not sent beside the output")


def rows(harness: Harness) -> Iterator[Row]:
    yield from _beside_rows(harness)
    for executor in COPIES:
        yield from _run_rows(harness, executor)
