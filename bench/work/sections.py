"""`with track_time(self, "x"): pass` and its like, inside an open chunk of a decorated processor.

Floor and product stand in one function, with the same kinds of variables, and take turns; what the loop
itself costs is taken off both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from os import pread
from time import perf_counter
from typing import Any

from coffea.processor import ProcessorABC

from bench.work import OURS
from bench.work.chunks import KEY
from bench.work.decorator import Events
from roastcoffea import track_bytes, track_memory, track_metrics, track_time

STATM_BYTES = 160  # more than the file ever has

Costs = tuple[float, float, float]  # seconds a use: the bare loop, floor, product


class Work(Events):
    """Events that are to be measured with."""

    def __init__(self, measure: Callable[[Sections], Costs]) -> None:
        super().__init__()
        self.measure = measure
        self.costs: Costs | None = None


class Sections(ProcessorABC):
    """Its chunk is open while its work is measured."""

    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events: Work) -> dict[str, Any]:
        events.costs = events.measure(self)
        return {}

    def postprocess(self, accumulator: object) -> object:
        return accumulator


def _a_use(uses: int, *moments: float) -> Costs:
    loop, floor, product = ((end - start) / uses for start, end in pairwise(moments))
    return loop, floor, product


def _time_costs(self: Sections, uses: int) -> Costs:
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


def _memory_costs(self: Sections, uses: int, file: int) -> Costs:
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


class _Bytes:
    """A file as uproot has it, as far as its bytes are counted, behind events."""

    def __init__(self) -> None:
        self.source = self
        self.num_requested_bytes = 0
        self.file_handle = self
        self.file = self
        self.attrs = {"@events_factory": self}


def _bytes_costs(self: Sections, uses: int, events: _Bytes) -> Costs:
    loop = range(uses)
    t0 = perf_counter()
    for _ in loop:
        pass
    t1 = perf_counter()
    for _ in loop:
        before = events.attrs["@events_factory"].file_handle.file.source.num_requested_bytes
        events.attrs["@events_factory"].file_handle.file.source.num_requested_bytes - before
    t2 = perf_counter()
    for _ in loop:
        with track_bytes(self, events, "x"):
            pass
    t3 = perf_counter()
    return _a_use(uses, t0, t1, t2, t3)


def _recorded(output: dict[str, Any], kind: str, uses: int) -> None:
    """That the work was done. 0.1.2 keeps one value a name."""
    chunk = output[KEY][0]
    if "x" not in chunk[kind]:
        raise AssertionError(f"the section is not in {kind}")
    kept = len(chunk["memory_sections"]) + sum(each["count"] for each in chunk["sections"]) if OURS else 0
    if OURS and kind != "bytes" and kept != uses:
        raise AssertionError(f"{kept} sections of {uses} were recorded")


def _in_fresh_chunks(
    chunks: int, kind: str, uses: int, measure: Callable[[Sections], Costs]
) -> dict[str, list[float]]:
    """Each time a chunk that has no section yet. The loop is taken off at its least."""
    costs: list[Costs] = []
    for _ in range(chunks + 1):  # the first one is a warm-up
        work = Work(measure)
        output = Sections().process(work)
        assert work.costs is not None
        costs.append(work.costs)
        if len(costs) == 1:
            _recorded(output, kind, uses)
    loop, floor, product = zip(*costs[1:], strict=True)
    return {"floor": [one - min(loop) for one in floor], "product": [one - min(loop) for one in product]}


def time(chunks: int, uses: int) -> dict[str, list[float]]:
    return _in_fresh_chunks(chunks, "timing", uses, lambda self: _time_costs(self, uses))


def time_folded(chunks: int, kept: int, uses: int) -> dict[str, list[float]]:
    """Beyond the uses that we keep one by one."""

    def measure(self: Sections) -> Costs:
        for _ in range(kept):
            with track_time(self, "x"):
                pass
        return _time_costs(self, uses)

    return _in_fresh_chunks(chunks, "timing", kept + uses, measure)


def memory(chunks: int, uses: int) -> dict[str, list[float]]:
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return _in_fresh_chunks(chunks, "memory", uses, lambda self: _memory_costs(self, uses, file))
    finally:
        os.close(file)


def bytes_(chunks: int, uses: int) -> dict[str, list[float]]:
    events = _Bytes()
    return _in_fresh_chunks(chunks, "bytes", uses, lambda self: _bytes_costs(self, uses, events))
