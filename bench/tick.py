"""The sampler on Dask's scheduler: one look at every worker, and what is kept of it.

The workers are distributed's own WorkerState objects, with tasks assigned by the scheduler's own methods. A heartbeat
gives one of them new metrics, as a dict of its own, and another last_seen. First the sampler alone, over a scheduler
that was made and not started, once with a heartbeat of every worker before every look, which is the worst there is, and
once at Dask's own pace, which is slower the more workers there are; then as a backend has it run on a scheduler that
runs, at Dask's pace.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any, NamedTuple

from bench.harness import Figure, Harness, Row, figure
from bench.work.scheduler import add_worker, heartbeat, looks_a_heartbeat, next_second
from roastcoffea import _core

SIZES = (100, 1_000, 10_000)
SAMPLES_A_SIZE = 300_000
# Workers: seconds between two looks, seconds of a round.
ON_SCHEDULER = {100: {"interval": 0.02, "seconds": 2.0}, 1_000: {"interval": 0.1, "seconds": 3.0},
                10_000: {"interval": 0.8, "seconds": 6.4}}
# Where what is kept is weighed: many ticks, so that it is more than what the process breathes.
WEIGHED = {"workers": 1_000, "interval": 0.05, "seconds": 6.0}


def make_scheduler() -> Any:
    from distributed import Scheduler

    logging.getLogger("distributed").setLevel(logging.ERROR)

    async def make() -> Any:
        scheduler = Scheduler(dashboard=False, dashboard_address=":0")
        scheduler.http_server.stop()  # it listens as soon as it is made
        return scheduler

    return asyncio.run(make())


def python_loop(workers: Any) -> None:
    """The same attributes, read by Python and dropped."""
    for worker in workers:
        metrics = worker.metrics
        metrics["memory"]
        worker.memory_limit
        len(worker.processing)
        worker.nthreads
        worker.nbytes
        worker.occupancy
        len(worker.executing)
        worker.last_seen
        metrics["cpu"]
        metrics["spilled_bytes"]["disk"]
        metrics["host_net_io"]["read_bps"]
        metrics["host_net_io"]["write_bps"]
        metrics["host_disk_io"]["read_bps"]
        metrics["host_disk_io"]["write_bps"]


class Cluster:
    """A scheduler with its workers, and the series that samples them."""

    def __init__(self, size: int, looks_a_heartbeat: int) -> None:
        self.draw = random.Random(size)
        self.scheduler = make_scheduler()
        self.workers = [add_worker(self.scheduler, index, self.draw) for index in range(size)]
        self.series = _core.WorkerSeries()
        self.when = 1.79e9
        self.looks, self.every = 0, looks_a_heartbeat
        for worker in self.workers:
            heartbeat(worker, self.when, self.draw)

    def _next_second(self) -> None:
        self.when += 1
        self.looks += 1
        next_second(self.workers, self.looks, self.every, self.draw, self.when)

    def tick(self) -> tuple[float, float]:
        """Seconds a worker: of the plain loop, and of the sampler. Each comes first to what the
        heartbeats left: the second one would find it in the caches."""
        self._next_second()
        t0 = perf_counter()
        python_loop(self.scheduler.workers.values())
        t1 = perf_counter()
        self._next_second()
        t2 = perf_counter()
        _core.sample_workers(self.series, self.scheduler.workers, self.when)
        t3 = perf_counter()
        return (t1 - t0) / len(self.workers), (t3 - t2) / len(self.workers)


class Sampled(NamedTuple):
    """Seconds a worker of the sampler and of the plain loop, and the bytes kept of a sample."""

    sampler: Figure
    loop: Figure
    kept: float


def sampled(harness: Harness, size: int, at_dasks_pace: bool = False) -> Sampled:
    cluster = Cluster(size, looks_a_heartbeat(size) if at_dasks_pace else 1)
    cluster.tick()
    ticks = max(10, min(600, SAMPLES_A_SIZE // size // (10 if harness.quick else 1)))
    loop, sampler = zip(*(cluster.tick() for _ in range(ticks)), strict=True)
    samples = cluster.series.sample_count
    if samples != (ticks + 1) * size:
        raise AssertionError(f"{samples} samples of {(ticks + 1) * size} were kept")
    return Sampled(figure(sampler), figure(loop), cluster.series.nbytes / samples)


def _sampler_rows(harness: Harness) -> Iterator[Row]:
    for size in SIZES:
        harness.progress(f"tick: {size} workers ...")
        found = sampled(harness, size)
        yield Row(f"tick/{size:,} workers", "s", found.sampler, found.loop, "the same attributes in a Python loop")
        yield Row(f"tick/kept a sample, {size:,} workers", "bytes", figure(found.kept))
        found = sampled(harness, size, at_dasks_pace=True)
        yield Row(f"tick/{size:,} workers, at Dask's pace", "s", found.sampler, found.loop,
                  "the same attributes in a Python loop")
        yield Row(f"tick/kept a sample, {size:,} workers, at Dask's pace", "bytes", figure(found.kept))


def _program_rows(harness: Harness) -> Iterator[Row]:
    """The series alone, in C: 10,000 workers over 600 ticks."""
    measured = harness.program("bench_series")
    yield Row("tick/of it the series, engine alone", "s", figure(1e-9 * ns for ns in measured["append_ns"]),
              figure(1e-9 * ns for ns in measured["floor_copy_ns"]), "memcpy of the values")
    samples = measured["samples"]
    for changing, kept in measured["kept_bytes"].items():
        key = "tick/kept a sample" if changing == "heartbeat" else "tick/kept a sample, every column changes"
        yield Row(key, "bytes", figure(kept / samples))


def _scheduler_rows(harness: Harness) -> Iterator[Row]:
    rounds = max(1, harness.rounds // 7)
    with ExitStack() as stack:
        sides = harness.sides()
        for side in sides.values():
            stack.enter_context(side)
        for size, timing in ON_SCHEDULER.items():
            harness.progress(f"tick: {size} workers on a running scheduler ...")
            more = round(max(ON_SCHEDULER) / size) ** 0.25  # what is short is done more often
            found = harness.ask(sides, round(rounds * more), "scheduler", "sample", workers=size, **timing)
            yield Row(f"tick/{size:,} workers, on the scheduler", "s", found.our("seconds"),
                      theirs=found.their("seconds"), theirs_is="nine series; ours are fourteen")
    with ExitStack() as stack:
        sides = harness.sides()  # fresh ones: a heap that was used before has room that nobody would see
        for side in sides.values():
            stack.enter_context(side)
        found = harness.ask(sides, 1, "scheduler", "sample", **WEIGHED)
    yield Row("tick/memory a sample, on the scheduler", "bytes", found.our("bytes"), theirs=found.their("bytes"))


def rows(harness: Harness) -> Iterator[Row]:
    yield from _sampler_rows(harness)
    yield from _program_rows(harness)
    yield from _scheduler_rows(harness)
