"""A scheduler of Dask that runs, whose workers are Dask's own objects and were never started; a side's own
backend samples it."""

from __future__ import annotations

import gc
import random
import time
from asyncio import Handle
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = 4
PAGE = 4096


# ---- the workers ----


def add_worker(scheduler: Any, index: int, draw: random.Random) -> Any:
    from distributed.core import Status
    from distributed.scheduler import WorkerState

    # Of loopback: nobody is there, and a message to it must not leave this machine.
    address = f"tcp://127.{index // 250}.{index % 250}.7:{30_000 + index}"
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


def looks_a_heartbeat(workers: int) -> int:
    """How many looks, one a second, the scheduler takes at a worker from one heartbeat to the next: 2 in a
    cluster of 100, 51 in one of 10,000."""
    from distributed.scheduler import heartbeat_interval

    return max(1, round(heartbeat_interval(workers)))


def next_second(workers: list[Any], look: int, every: int, draw: random.Random, when: float) -> None:
    """What happens from one look to the next: each `every`-th worker is heard from, and of each twentieth a
    task ends."""
    for worker in workers[look % every :: every]:
        heartbeat(worker, when, draw)
    for worker in workers[look % 20 :: 20]:
        worker.nbytes = draw.randint(10_000, 300_000)


# ---- the scheduler's loop ----


class _Loop:
    """The CPU time of all that the scheduler's loop runs, without the heartbeats that we make there."""

    def __init__(self, workers: list[Any], interval: float) -> None:
        from tornado.ioloop import PeriodicCallback

        self.workers, self.draw = workers, random.Random(len(workers))
        self.seconds, self.looks, self.every = 0.0, 0, looks_a_heartbeat(len(workers))
        self.callback = PeriodicCallback(self._heartbeats, 1000 * interval)
        self._run: Callable[[Handle], None] = Handle._run
        Handle._run = self._timed()  # type: ignore[method-assign]
        self.callback.start()

    def _timed(self) -> Callable[[Handle], None]:
        run, now = self._run, time.thread_time

        def timed(handle: Handle) -> None:
            start = now()
            run(handle)
            self.seconds += now() - start

        return timed

    def _heartbeats(self) -> None:
        start = time.thread_time()
        next_second(self.workers, self.looks, self.every, self.draw, time.time())
        self.looks += 1
        self.seconds -= time.thread_time() - start

    def stop(self) -> float:
        self.callback.stop()
        Handle._run = self._run  # type: ignore[method-assign]
        return self.seconds


_loop: _Loop | None = None
_workers: list[Any] = []


def _populate(count: int, dask_scheduler: Any = None) -> None:
    draw = random.Random(count)
    _workers[:] = [add_worker(dask_scheduler, index, draw) for index in range(count)]
    for worker in _workers:
        heartbeat(worker, time.time(), draw)


def _leave(dask_scheduler: Any = None) -> None:
    """The workers that never were: nobody is to close them."""
    for worker in _workers:
        dask_scheduler.workers.pop(worker.address, None)
    dask_scheduler.tasks.clear()
    _workers.clear()


def _watch(interval: float, dask_scheduler: Any = None) -> None:
    global _loop
    _loop = _Loop(_workers, interval)


def _stop_watching(dask_scheduler: Any = None) -> float:
    assert _loop is not None
    return _loop.stop()


# ---- a backend that samples it ----


def _held() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def _ticks(data: dict[str, Any], start: float, end: float) -> int:
    return sum(1 for when in data["worker_counts"] if start <= when.timestamp() < end)


def _sampled(client: Any, workers: int, interval: float, seconds: float) -> dict[str, float]:
    from roastcoffea.backends.dask import DaskMetricsBackend

    client.run_on_scheduler(_watch, interval)
    time.sleep(seconds / 2)
    idle = client.run_on_scheduler(_stop_watching) / (seconds / 2)
    client.run_on_scheduler(_leave)  # the beginning of a run asks every worker that is there, and so does its end
    backend = DaskMetricsBackend(client)
    backend.start_tracking(interval)
    client.run_on_scheduler(_populate, workers)
    time.sleep(0.2 + 2 * interval)
    gc.collect()
    before, start = _held(), time.time()
    client.run_on_scheduler(_watch, interval)
    time.sleep(seconds)
    busy = client.run_on_scheduler(_stop_watching)
    end, held = time.time(), _held() - before
    client.run_on_scheduler(_leave)
    samples = workers * _ticks(backend.stop_tracking(), start, end)
    if samples < workers * 0.5 * seconds / interval:
        raise AssertionError(f"{samples} samples of {workers} workers in {seconds} s")
    return {"seconds": (busy - idle * (end - start)) / samples, "bytes": max(0, held) / samples}


def sample(workers: int, interval: float, seconds: float) -> dict[str, float]:
    """Seconds of CPU time of the scheduler's loop and bytes of memory a worker sample, as the backend takes
    them; what the loop does without it is taken off."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run_on_scheduler(_populate, workers)
        try:
            return _sampled(client, workers, interval, seconds)
        finally:
            client.run_on_scheduler(_leave)
