"""`with track_time(self, "x"): pass` and its like, inside an open chunk of a decorated processor.

Floor and product stand in one function, with the same kinds of variables, and take turns; what the loop
itself costs is taken off both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
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


Costs = tuple[float, float, float]  # seconds a use: the bare loop, floor, product


def _a_use(uses: int, *moments: float) -> Costs:
    loop, floor, product = ((end - start) / uses for start, end in pairwise(moments))
    return loop, floor, product


def time_costs(self: Sections, uses: int) -> Costs:
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
    return _a_use(uses, t0, t1, t2, t3)


def memory_costs(self: Sections, uses: int, file: int) -> Costs:
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
    return _a_use(uses, t0, t1, t2, t3)


def _in_fresh_chunks(
    harness: Harness, times: int, uses: int, measure: Callable[[Sections], Costs]
) -> tuple[Figure, Figure]:
    """Floor and product, each round in a chunk that has no section yet; `uses` of them are recorded."""
    costs: list[Costs] = []

    def one_chunk() -> float:
        processor = Sections()
        processor.process(lambda opened: costs.append(measure(opened)))
        if len(costs) == 1:
            chunk = processor._chunk_metrics[0]
            recorded = len(chunk["memory_sections"]) + sum(each["count"] for each in chunk["sections"])
            if recorded != uses:
                raise AssertionError(f"{recorded} sections of {uses} were recorded")
        return costs[-1][-1]

    harness.interleave({"chunk": one_chunk}, times)
    loop, floor, product = map(figure, zip(*costs[1:], strict=True))  # the first one was a warm-up
    return floor.less(loop), product.less(loop)


def rows(harness: Harness) -> Iterator[Row]:
    harness.progress("sections: track_time ...")
    floor, product = _in_fresh_chunks(harness, 20, TIME_USES, lambda self: time_costs(self, TIME_USES))
    pair = "two perf_counter() and a dict store"
    yield Row("sections/track_time", "s", product, floor, pair)

    def folded(self: Sections) -> Costs:
        for _ in range(KEPT):
            with track_time(self, "x"):
                pass
        return time_costs(self, FOLDED_USES)

    floor, product = _in_fresh_chunks(harness, 5, KEPT + FOLDED_USES, folded)
    yield Row(f"sections/track_time, folded beyond {KEPT}", "s", product, floor, pair)

    harness.progress("sections: track_memory ...")
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        floor, product = _in_fresh_chunks(
            harness, 10, MEMORY_USES, lambda self: memory_costs(self, MEMORY_USES, file))
    finally:
        os.close(file)
    yield Row("sections/track_memory", "s", product, floor, "two os.pread of /proc/self/statm")
