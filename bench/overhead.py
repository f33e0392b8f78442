"""MetricsCollector around a real analysis: the same run with it and without it, in turns.

What a run takes varies by more than what is sought, and the machine itself becomes slower and faster within seconds. So
the runs are short and many, and neighbours are compared. The way into the context and out of it costs the same whatever
the run: it is shown apart, and counted once for an analysis of LONGER times as many chunks; even that takes seconds only.
What else comes once a run is counted each time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np
from coffea.processor import ProcessorABC
from scipy import stats

from bench.harness import Figure, Harness, Row, figure
from bench.sides import OURS, THEIRS, Side
from bench.targets import TARGETS
from bench.work.decorator import Events
from roastcoffea import track_metrics
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog

CONFIDENCE = 0.95
COPIES = 1  # of four chunks: a run takes one or two seconds
LONGER = 8
PAIRS_A_ROUND = {"iterative": 10, "Dask": 20}
OF_THEM_EVERY = 20  # pairs: what is sought of theirs is no small difference
KNOWN_TO_THEM = ("Dask",)
PACE = 200  # chunks a second, of the worker that sends records beside the output
PACED_SECONDS = 1.0


# ---- whole runs ----


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
        """Of an analysis LONGER times as long, as shares of it."""
        around = f"{name} around"  # without the collector: what reading the clocks there takes
        return [(a[name] + (a[around] - b[around]) / LONGER) / b[name] - 1
                for a, b in zip(self.runs[True], self.runs[False], strict=True)]


def interval(differences: list[float]) -> tuple[float, float, float]:
    """The middle of the differences, and Wilcoxon's interval around it: the median of the means of any two, which a
    few pairs spoilt by something else on the machine do not move."""
    n = len(differences)
    means = np.sort(np.add.outer(differences, differences)[np.triu_indices(n)] / 2)
    middle = float(np.median(means))
    spread = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    outside = math.floor(n * (n + 1) / 4 - spread)
    if outside < 1:
        return middle, -math.inf, math.inf
    return middle, float(means[outside - 1]), float(means[-outside])


def order_matters(differences: list[float]) -> bool:
    """Whether it makes a difference which of a pair came first (they take turns): then one run leaves something
    behind for the next, and the figure for both orders says nothing of what one run costs."""
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
    return (f"{100 * CONFIDENCE:g} % interval of {len(differences)} paired differences, "
            f"{100 * low:+.2f} % to {100 * high:+.2f} %; {found}")


def _measured(sides: dict[str, Side], pairs: int) -> dict[str, Pairs]:
    found = {name: Pairs() for name in sides}
    for side in sides.values():
        for collect in (False, True):
            side.call("analysis", "run", collect=collect)  # workers import, caches fill
    for pair in range(pairs):
        for name, side in sides.items():
            if name == OURS or pair % OF_THEM_EVERY == 0:
                found[name].add(side, first=bool(pair % 2))
    return found


def _difference_rows(executor: str, what: str, ours: Pairs, name: str) -> Iterator[Row]:
    differences = ours.differences(name)
    middle, low, high = interval(differences)
    key = f"overhead/{executor}, difference{what}"
    yield Row(key, "share", figure(middle), None, f"of a run {LONGER} times as long")
    yield Row(f"{key} at least", "share", figure(low), None,
              _reading(differences, TARGETS[f"{key} at least"].limit))
    yield Row(f"{key} at most", "share", figure(high))


def _run_rows(harness: Harness, executor: str) -> Iterator[Row]:
    pairs = 2 if harness.quick else harness.rounds * PAIRS_A_ROUND[executor]
    harness.progress(f"overhead: {executor}, {pairs} pairs of runs ...")
    with ExitStack() as stack:
        sides = {name: side for name, side in harness.sides().items()
                 if name == OURS or executor in KNOWN_TO_THEM}
        for side in sides.values():
            stack.enter_context(side)
            chunks = side.call("analysis", "start", executor=executor, copies=COPIES)
            stack.callback(side.call, "analysis", "stop")
        found = _measured(sides, pairs)
    ours, theirs = found[OURS], found.get(THEIRS)
    for name, unit in (("seconds", "a run"), ("cpu", "a run, CPU time")):
        yield Row(f"overhead/{executor}, {unit}", "s", ours.figure(True, name), ours.figure(False, name),
                  f"the same {chunks} chunks without the collector",
                  None if theirs is None else theirs.figure(True, name))
    yield Row(f"overhead/{executor}, into the context and out of it", "s", ours.figure(True, "seconds around"),
              theirs=None if theirs is None else theirs.figure(True, "seconds around"))
    yield from _difference_rows(executor, "", ours, "seconds")
    yield from _difference_rows(executor, " in CPU time", ours, "cpu")
    if theirs is not None:
        differences = theirs.differences("seconds")
        middle, low, high = interval(differences)
        yield Row(f"overhead/{executor}, difference with 0.1.2", "share", figure(middle), None,
                  f"{100 * CONFIDENCE:g} % interval of {len(differences)} paired differences, {100 * low:+.2f} % to "
                  f"{100 * high:+.2f} %")


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
    for executor in PAIRS_A_ROUND:
        yield from _run_rows(harness, executor)
