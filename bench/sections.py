"""`with track_time(self, "x"): pass` and its like, inside an open chunk of a decorated processor.

Floor and product stand in one function, with the same kinds of variables, and take turns; what the loop
itself costs is taken off both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os import pread
from time import perf_counter

from coffea.processor import ProcessorABC

from bench.harness import Figure, Harness, Row, figure
from roastcoffea import track_memory, track_metrics, track_time

# Uses of a section that a chunk keeps one by one; beyond them they are folded.
KEPT = 256
TIME_USES = 250
MEMORY_USES = 100
FOLDED_USES = 1000
STATM_BYTES = 160  # more than the file ever has


class Sections(ProcessorABC):
    """Its chunk is open while `measure` runs."""

    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, measure: Callable[[Sections], None]) -> dict[str, object]:
        measure(self)
        return {}

    def postprocess(self, accumulator: object) -> object:
        return accumulator


Pair = tuple[float, float]  # seconds a use: floor, product


def _pair(uses: int, loop: float, floor: float, product: float) -> Pair:
    return (floor - loop) / uses, (product - loop) / uses


def time_pair(self: Sections, uses: int) -> Pair:
    timing: dict[str, float] = {}
    loop = range(uses)
    t0 = perf_counter()
    for _ in loop:
        pass
    t1 = perf_counter()
    for _ in loop:
        start = perf_counter()
        timing["x"] = perf_counter() - start
    t2 = perf_counter()
    for _ in loop:
        with track_time(self, "x"):
            pass
    t3 = perf_counter()
    return _pair(uses, t1 - t0, t2 - t1, t3 - t2)


def memory_pair(self: Sections, uses: int, file: int) -> Pair:
    loop = range(uses)
    t0 = perf_counter()
    for _ in loop:
        pass
    t1 = perf_counter()
    for _ in loop:
        pread(file, STATM_BYTES, 0)
        pread(file, STATM_BYTES, 0)
    t2 = perf_counter()
    for _ in loop:
        with track_memory(self, "x"):
            pass
    t3 = perf_counter()
    return _pair(uses, t1 - t0, t2 - t1, t3 - t2)


def _in_fresh_chunks(harness: Harness, times: int, measure: Callable[[Sections], Pair]) -> list[Figure]:
    """Floor and product, each use in a chunk that has none yet."""
    pairs: list[Pair] = []

    def one_chunk() -> float:
        Sections().process(lambda processor: pairs.append(measure(processor)))
        return pairs[-1][1]

    harness.interleave({"chunk": one_chunk}, times)
    return [figure(side) for side in zip(*pairs[1:], strict=True)]  # the first one was a warm-up


def rows(harness: Harness) -> Iterator[Row]:
    harness.progress("sections: track_time ...")
    floor, product = _in_fresh_chunks(harness, 20, lambda self: time_pair(self, TIME_USES))
    pair = "two perf_counter() and a dict store"
    yield Row("sections/track_time", "s", product, floor, pair)

    def folded(self: Sections) -> Pair:
        for _ in range(KEPT):
            with track_time(self, "x"):
                pass
        return time_pair(self, FOLDED_USES)

    floor, product = _in_fresh_chunks(harness, 5, folded)
    yield Row(f"sections/track_time, folded beyond {KEPT}", "s", product, floor, pair)

    harness.progress("sections: track_memory ...")
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        floor, product = _in_fresh_chunks(harness, 10, lambda self: memory_pair(self, MEMORY_USES, file))
    finally:
        os.close(file)
    yield Row("sections/track_memory", "s", product, floor, "two os.pread of /proc/self/statm")
