"""MetricsCollector around a real analysis: the same run with it and without it, in turns.

What one run takes varies by more than what is sought, so the differences of neighbours are looked at, and
an interval for their mean is told. The CPU time of all processes varies far less than the time on the wall; both
are held against the limit.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC
from scipy import stats

from bench.harness import Figure, Harness, Row, figure
from bench.sides import OURS, THEIRS, Side
from bench.targets import TARGETS
from bench.work.decorator import Events
from roastcoffea import channel, track_metrics
from roastcoffea._core import ChunkLog

CONFIDENCE = 0.95
COPIES = {"iterative": 2, "Dask": 2}  # of four chunks each: a run takes some seconds
KNOWN_TO_THEM = ("Dask",)
PACE = 200  # chunks a second, of the worker that sends records beside the output
PACED_SECONDS = 1.0


# ---- whole runs ----


def interval(differences: list[float]) -> tuple[float, float, float]:
    """The mean, and Student's t interval around it."""
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return mean, -math.inf, math.inf
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1)) * error
    return mean, mean - reach, mean + reach


def order_matters(differences: list[float]) -> bool:
    """Whether it makes a difference which of a pair came first (they take turns): then one run leaves something
    behind for the next, and the mean over both orders says nothing of what one run costs."""
    _, low, high = interval(differences[0::2])
    _, other_low, other_high = interval(differences[1::2])
    return low > other_high or other_low > high


def _reading(differences: list[float], limit: float) -> str:
    """The interval in words: a wide one must not pass for a good result."""
    _, low, high = interval(differences)
    if order_matters(differences):
        found = ("it depends on which of the two came first: these runs can neither show nor refute that the limit "
                 "is kept")
    elif low > limit:
        found = "the limit is missed"
    elif high <= limit:
        found = "the limit is kept"
    else:
        found = "the limit lies within: these runs can neither show nor refute that it is kept"
    return (f"{100 * CONFIDENCE:g} % t interval of {len(differences)} paired differences, "
            f"{100 * low:+.2f} % to {100 * high:+.2f} %; {found}")


class Pairs:
    """Runs of one side with the collector and without it, next to each other."""

    def __init__(self) -> None:
        self.runs: dict[bool, list[dict[str, float]]] = {False: [], True: []}

    def add(self, side: Side, first: bool) -> None:
        for collect in (first, not first):
            self.runs[collect].append(side.call("analysis", "run", collect=collect))

    def figure(self, collect: bool, name: str) -> Figure:
        return figure(one[name] for one in self.runs[collect])

    def differences(self, name: str) -> list[float]:
        return [a[name] / b[name] - 1 for a, b in zip(self.runs[True], self.runs[False], strict=True)]


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
    differences = ours.differences(name)
    mean, low, high = interval(differences)
    key = f"overhead/{executor}, difference{what}"
    yield Row(key, "share", figure(mean))
    yield Row(f"{key} at least", "share", figure(low), None,
              _reading(differences, TARGETS[f"{key} at least"].limit))
    yield Row(f"{key} at most", "share", figure(high))


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
        yield Row(f"overhead/{executor}, {unit}", "s", ours.figure(True, name), ours.figure(False, name),
                  f"the same {chunks} chunks without the collector",
                  None if theirs is None else theirs.figure(True, name))
    yield Row(f"overhead/{executor}, into the context and out of it", "s", ours.figure(True, "around"),
              theirs=None if theirs is None else theirs.figure(True, "around"))
    yield from _difference_rows(executor, "", ours, "seconds")
    yield from _difference_rows(executor, " in CPU time", ours, "cpu")
    if theirs is not None and len(theirs.runs[True]) > 1:
        mean, low, high = interval(theirs.differences("seconds"))
        yield Row(f"overhead/{executor}, difference with 0.1.2", "share", figure(mean), None,
                  f"{100 * CONFIDENCE:g} % t interval {100 * low:+.2f} % to {100 * high:+.2f} %")


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
