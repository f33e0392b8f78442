"""All formulas over a million chunks with three sections each: in C, and from Python on a ChunkLog."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from time import perf_counter

from bench.harness import Harness, NotMeasured, Row, figure
from bench.work.chunks import KEY, added, make_outputs
from roastcoffea._core import ChunkLog

CHUNKS = 1_000_000


def _rows_of_program(harness: Harness) -> Iterator[Row]:
    measured = harness.program("bench_metrics", str(max(3, harness.rounds // 4)))
    yield Row("metrics/compute", "s", figure(measured["compute_seconds"]),
              figure(measured["floor_walk_seconds"]), "walking the log")
    chunks = measured["chunks"]
    yield Row("metrics/memory a chunk", "bytes", figure(measured["peak_bytes"] / chunks),
              figure(measured["log_bytes"] / chunks), "the log alone")


def _big_log(few: ChunkLog) -> ChunkLog:
    log = ChunkLog()
    while len(log) < CHUNKS:
        log += few
    return log


def _rows_from_python(harness: Harness) -> Iterator[Row]:
    try:
        aggregate = importlib.import_module("roastcoffea.aggregation.chunk").aggregate_chunk_metrics
    except ImportError as missing:
        raise NotMeasured(str(missing)) from missing
    harness.progress("metrics: a million chunks from Python ...")
    few = added(make_outputs(20_000, 2))[KEY]
    log = _big_log(few)
    costs = []
    for _ in range(max(3, harness.rounds // 10)):
        start = perf_counter()
        result = aggregate(log)
        costs.append((perf_counter() - start) * CHUNKS / len(log))
    if result["num_successful_chunks"] != len(log):
        raise NotMeasured(f"{result['num_successful_chunks']} chunks of {len(log)} were counted")
    yield Row("metrics/compute from Python", "s", figure(costs))


def rows(harness: Harness) -> Iterator[Row]:
    yield from _rows_of_program(harness)
    yield from _rows_from_python(harness)
