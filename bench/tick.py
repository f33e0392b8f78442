"""The sampler on Dask's scheduler: one look at every worker, and what is kept of it.

The workers are distributed's own WorkerState objects of a scheduler that was made and not started, with
tasks assigned by its own methods. Between two ticks each of them gets a heartbeat: new metrics, as a dict of
its own, and another last_seen.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from bench.harness import Harness, Row, figure
from roastcoffea import _core

SIZES = (100, 1_000, 10_000)
SAMPLES_A_SIZE = 300_000
THREADS = 4
PAGE = 4096


def make_scheduler() -> Any:
    from distributed import Scheduler

    logging.getLogger("distributed").setLevel(logging.ERROR)

    async def make() -> Any:
        scheduler = Scheduler(dashboard=False, dashboard_address=":0")
        scheduler.http_server.stop()  # it listens as soon as it is made
        return scheduler

    return asyncio.run(make())


def add_worker(scheduler: Any, index: int, draw: random.Random) -> Any:
    from distributed.core import Status
    from distributed.scheduler import WorkerState

    address = f"tcp://10.{index // 250}.{index % 250}.7:{30_000 + index}"
    worker = WorkerState(address=address, status=Status.running, pid=20_000 + index, name=index,
                         nthreads=THREADS, memory_limit=4 * 10**9, local_directory="", nanny=None,
                         server_id=f"Worker-{index}", scheduler=scheduler)
    for _ in range(THREADS + 1):
        task = scheduler.new_task(f"TTbarProcessor-{draw.getrandbits(128):032x}", None, "processing")
        worker.add_to_processing(task)
    worker.executing = {task: draw.uniform(0, 2) for task in list(worker.processing)[:THREADS]}
    worker.nbytes = draw.randint(10_000, 300_000)
    worker.metrics["memory"] = draw.randint(100_000, 400_000) * PAGE
    scheduler.workers[address] = worker
    return worker


def heartbeat(worker: Any, when: float, draw: random.Random) -> None:
    """What Scheduler.heartbeat_worker leaves behind, as far as a sampler looks."""
    memory = worker.metrics["memory"] + draw.randint(-2000, 2000) * PAGE
    worker.metrics = {
        "task_counts": {"executing": THREADS},
        "managed_bytes": worker.nbytes,
        "spilled_bytes": {"memory": 0, "disk": 0},
        "transfer": {"incoming_bytes": 0, "outgoing_bytes": 0},
        "event_loop_interval": 0.02,
        "cpu": draw.randint(0, 4000) / 10,
        "memory": memory,
        "time": when,
        "host_net_io": {"read_bps": draw.uniform(2e7, 6e7), "write_bps": draw.uniform(2e5, 9e5)},
        "host_disk_io": {"read_bps": draw.uniform(0, 4e5), "write_bps": draw.uniform(0, 9e5)},
        "num_fds": 40,
    }
    worker.last_seen = when + draw.uniform(0, 0.5)


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

    def __init__(self, size: int) -> None:
        self.draw = random.Random(size)
        self.scheduler = make_scheduler()
        self.workers = [add_worker(self.scheduler, index, self.draw) for index in range(size)]
        self.series = _core.WorkerSeries()
        self.when = 1.79e9

    def _heartbeats(self) -> None:
        self.when += 1
        for worker in self.workers:
            heartbeat(worker, self.when, self.draw)

    def tick(self) -> tuple[float, float]:
        """Seconds a worker: of the plain loop, and of the sampler. Each comes first to what the
        heartbeats left: the second one would find it in the caches."""
        self._heartbeats()
        t0 = perf_counter()
        python_loop(self.scheduler.workers.values())
        t1 = perf_counter()
        self._heartbeats()
        t2 = perf_counter()
        self.series.tick(self.scheduler.workers, self.when)
        t3 = perf_counter()
        return (t1 - t0) / len(self.workers), (t3 - t2) / len(self.workers)


def _rows_of_size(harness: Harness, size: int) -> Iterator[Row]:
    harness.progress(f"tick: {size} workers ...")
    cluster = Cluster(size)
    cluster.tick()
    ticks = max(10, min(600, SAMPLES_A_SIZE // size // (10 if harness.quick else 1)))
    loop, sampler = zip(*(cluster.tick() for _ in range(ticks)), strict=True)
    samples = cluster.series.sample_count
    if samples != (ticks + 1) * size:
        raise AssertionError(f"{samples} samples of {(ticks + 1) * size} were kept")
    yield Row(f"tick/{size:,} workers", "s", figure(sampler), figure(loop),
              "the same attributes in a Python loop")
    yield Row(f"tick/kept a sample, {size:,} workers x {ticks + 1} ticks", "bytes",
              figure(cluster.series.nbytes / samples))


def _program_rows(harness: Harness) -> Iterator[Row]:
    """The series alone, in C: 10,000 workers over 600 ticks."""
    measured = harness.program("bench_series")
    yield Row("tick/of it the series, engine alone", "s", figure(1e-9 * ns for ns in measured["append_ns"]),
              figure(1e-9 * ns for ns in measured["floor_copy_ns"]), "memcpy of the values")
    samples = measured["samples"]
    for changing, kept in measured["kept_bytes"].items():
        key = "tick/kept a sample" if changing == "heartbeat" else "tick/kept a sample, every column changes"
        yield Row(key, "bytes", figure(kept / samples))


def rows(harness: Harness) -> Iterator[Row]:
    for size in SIZES:
        yield from _rows_of_size(harness, size)
    yield from _program_rows(harness)
