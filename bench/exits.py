"""Leaving the collector's context on a cluster of processes: how long it takes, and whether all of the CPU time that
Dask counted has arrived."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.harness import Harness, Row

CLUSTERS = (2, 12)


def _rows_of(harness: Harness, workers: int) -> Iterator[Row]:
    harness.progress(f"exit: clusters of {workers} workers ...")
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
            side.call("cluster", "start", workers=workers)
            stack.callback(side.call, "cluster", "stop")
        harness.ask(sides, 1, "cluster", "leave")  # imports, and each worker's first task
        found = harness.ask(sides, max(3, harness.rounds // 4), "cluster", "leave")
    yield Row(f"exit/{workers} workers", "s", found.our("seconds"), found.our("call"),
              "one call to the scheduler and one to all workers", found.their("seconds"))
    yield Row(f"exit/CPU time missed, {workers} workers", "share", found.our("missed").worst,
              theirs=None if (theirs := found.their("missed")) is None else theirs.worst)


def rows(harness: Harness) -> Iterator[Row]:
    for workers in CLUSTERS:
        yield from _rows_of(harness, workers)
