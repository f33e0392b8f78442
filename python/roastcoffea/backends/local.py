"""Collecting a run on this machine: Coffea's IterativeExecutor and FuturesExecutor, without Dask.

Samples this process and its descendants; which of them are workers is decided at the end.

- Chunks run in this process, one by one or in a pool of threads: it is the worker.
- Chunks run in a pool of processes: its processes are the workers, one core each. This process submits,
  waits and merges. It has a row in the series, since its memory counts, but no cores, and is not counted.
- Other children, such as a resource tracker, a fork server or a user's own, are left out.
- Chunks run elsewhere (Parsl, TaskVine, a pool of another package): no process of this machine is a worker, even
  where the engine runs on it. Its workers and cores are known to the engine alone.
"""

from __future__ import annotations

import os
import resource
import socket
import threading
import uuid
from collections.abc import Mapping, Set
from typing import Any

from roastcoffea._core import ChunkLog, ProcessTree, WorkerSeries
from roastcoffea.backends.counters import Counters
from roastcoffea.backends.executors import kind_of, threads_of
from roastcoffea.backends.dask.remote import read_counters
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source, check_interval
from roastcoffea.worker.channel import SharedFile, close, forget, take_memory
from roastcoffea.common.guard import Notes, attempt, words

__all__ = ["LocalSource"]


# Seconds: the kernel counts the CPU time of children that have ended in steps of a few ms.
TICK = 0.05


class LocalSource(Source):
    """Runs on this machine, one after the other. There are no spans; the chunks know their CPU time."""

    def __init__(self, executor: Any = None) -> None:
        self.executor = executor
        self._notes = Notes()
        self._sampler: _Sampler | None = None
        self._topic: str | None = None
        self._shared: SharedFile | None = None
        self._arrived: list[bytes] = []
        self._told = 0  # how many of these news() has returned

    def begin(self, interval: float | None) -> Engine:
        check_interval(interval)
        self.abandon()
        self._notes, self._arrived, self._told = Notes(), [], 0
        self._open_channel()
        if interval is not None:
            if kind_of(self.executor) == "elsewhere":
                self._note_elsewhere(_name_of(self.executor))
            else:
                self._sampler = attempt(
                    "the processes cannot be sampled", self._notes.add, _Sampler, self.executor, interval
                )
                if self._sampler is not None:
                    self._sampler.start()
        tells = [] if self._sampler is None else ["series"]
        return Engine("processes of this machine", list(self._notes), self._topic, tells=tells)

    def news(self) -> News:
        if self._topic is not None:
            self._arrived += self._take_records()
        samples = None if self._sampler is None else self._sampler.news()
        # Only now: after a failure the next call repeats them.
        told, self._told = self._told, len(self._arrived)
        return News(self._arrived[told:], samples)

    def end(self, ran: Ran) -> Collected:
        found, counters = Collected(), read_counters()
        attempt("the last records that were sent are lost", self._notes.add, self._close_channel)
        found.records = self._arrived
        if self._sampler is not None and ran.elsewhere:
            self._note_elsewhere(*sorted(ran.elsewhere))
        elif self._sampler is not None:
            attempt("worker series", self._notes.add, self._end_series, self._sampler, ran, found, counters)
        self.abandon()
        found.notes = list(self._notes)
        return found

    def abandon(self) -> None:
        if self._sampler is not None:
            self._sampler.stop()
        if self._topic is not None:
            forget(self._topic)
        if self._shared is not None:
            self._shared.close()
        self._sampler = self._shared = self._topic = None

    # ---- records that are sent ----

    def _open_channel(self) -> None:
        if kind_of(self.executor) in ("serial", "threads"):
            self._topic = f"memory:local-{uuid.uuid4().hex}"
            return
        try:
            self._shared = SharedFile()
            self._topic = self._shared.topic
        except (AttributeError, OSError) as error:
            self._notes.add(f"records travel in the output alone: {words(error)}")

    def _take_records(self, last: bool = False) -> list[bytes]:
        return take_memory(self._topic or "") if self._shared is None else self._shared.read(last)

    def _close_channel(self) -> None:
        if self._topic is None:
            return
        close(self._topic)
        self._arrived += self._take_records(last=True)
        if self._shared is not None and self._shared.damaged:
            self._notes.add(f"records that were sent are damaged in {self._shared.damaged} places, and left out there")

    # ---- workers ----

    def _note_elsewhere(self, *executors: str) -> None:
        self._notes.add(
            f"{', '.join(executors)}: workers, cores and the budget are not known, as the chunks ran elsewhere; "
            "MetricsCollector(executor) picks the backend of an engine, if there is one (docs/engines.md)"
        )

    def _end_series(self, sampler: _Sampler, ran: Ran, found: Collected, counters: Mapping[str, Any]) -> None:
        sampler.stop()
        if sampler.failed:
            self._notes.add(f"{sampler.failed} samples of the processes failed, the last one: {sampler.error}")
        pids = attempt("the processes of the workers", self._notes.add, ran.processes, socket.gethostname()) or set()
        for data in self._arrived:
            pids |= attempt("the processes of the workers", self._notes.add, _processes_in, data) or set()
        workers = sampler.workers(pids)
        series = sampler.tree.series(workers, socket.gethostname())
        if any(workers.values()):
            found.series = series
        else:  # the number of workers is not known, so not 0
            found.tracking_data = {**series.as_tracking_data(), "worker_counts": {}}
        found.counters = sampler.counters(workers, counters)


def _processes_in(data: bytes) -> set[int]:
    return Ran(records=ChunkLog.from_bytes(data)).processes(socket.gethostname())


class _Sampler:
    """A thread that samples the processes, in C, without the GIL. It runs from `start` to `stop`."""

    def __init__(self, executor: Any, interval: float) -> None:
        self.pool: set[int] = set()
        self.failed = 0
        self.error = ""
        self.tree = ProcessTree()
        self._executor = executor
        self._lock = threading.Lock()  # one thread at a time samples the tree
        self._interval = interval
        self._own = os.getpid()
        self._own_pool = _pool_instances(executor)
        # The executor has not made its pool yet: existing pools belong to others.
        self._others = set() if executor is None or self._own_pool else _processes_of_pools()
        self._stop = threading.Event()
        self.tree.sample()
        self._begun = read_counters()
        self._begun_waited = _waited_cpu()
        self._begun_cpu = {process["pid"]: process["cpu"] for process in self.tree.processes}
        # A pool may live for less than the interval: when processes start or end, the next sample is soon.
        self._pause = self.tree.pause(interval)
        self._thread: threading.Thread | None = threading.Thread(target=self._run, name="roastcoffea-local", daemon=True)

    def start(self) -> None:
        """Call it when `stop` is sure to be called: an interrupt may come at once."""
        if self._thread is not None:
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread and takes the last sample. A second call does nothing."""
        self._stop.set()
        if self._thread is not None:
            if self._thread.is_alive():
                self._thread.join()
            self._look()
            self._thread = None

    def news(self, workers: Mapping[int, int | None] | None = None) -> WorkerSeries | None:
        """The samples since the last call; None before the first worker: an empty series would mean that there are none.
        `workers`: {pid: cores}, where the caller knows better."""
        with self._lock:
            workers = self.workers(set()) if workers is None else dict(workers)
            return self.tree.news(workers, socket.gethostname()) if any(workers.values()) else None

    def workers(self, confirmed: Set[int]) -> dict[int, int | None]:
        """{pid: cores}; None for this process if it is no worker. `confirmed` are processes that ran chunks."""
        kind = kind_of(self._executor)
        seen = {process["pid"] for process in self.tree.processes} - {self._own}
        workers = confirmed & seen
        if kind in ("processes", "unknown"):
            workers |= self.pool & seen
        if workers:
            return {self._own: None, **dict.fromkeys(workers, 1)}
        return {self._own: None if kind == "processes" else threads_of(self._executor)}

    def counters(self, workers: Mapping[int, int | None], ended: Mapping[str, Any]) -> dict[Any, float]:
        """The CPU time of the workers and of this machine; `ended` are the last counters of this process."""
        counters = Counters()
        own = "client" if workers.get(self._own) is None else "worker"
        counters.begin({own: self._begun})
        counters.end({own: ended})
        for name, cpu in zip(("worker", "scheduler"), self._descendants_cpu(workers), strict=True):
            if name != own:
                counters.begin({name: {**self._begun, "process": (name,), "cpu": 0.0}})
                counters.end({name: None if cpu is None else {**ended, "process": (name,), "cpu": cpu}})
        return counters.figures()

    def _descendants_cpu(self, workers: Mapping[int, int | None]) -> tuple[float, float] | tuple[None, None]:
        """CPU seconds in the run of the descendants that are workers, and of the others. The last sample of a process
        that has ended is too early; but this process waited for it, and knows the sum of those. None: it has not
        waited for all of them, or one that is no worker is among them."""
        seen = [process for process in self.tree.processes if process["pid"] != self._own]
        ended = [process for process in seen if process["left"] is not None]
        waited = _waited_cpu() - self._begun_waited
        alive = sum(self._cpu_of(process) for process in seen if process["left"] is None)
        others = sum(self._cpu_of(process) for process in seen if process["pid"] not in workers)
        ended_others = sum(self._cpu_of(process) for process in ended if process["pid"] not in workers)
        before = sum(self._begun_cpu.get(process["pid"]) or 0.0 for process in ended)
        if any(process["parent"] != self._own for process in ended) or waited < before + sum(map(self._cpu_of, ended)) - TICK:
            return None, None
        used = waited - before + alive
        return (None, None) if ended_others > 0.01 * used else (used - others, others)

    def _cpu_of(self, process: Mapping[str, Any]) -> float:
        """Until the last sample of it."""
        return (process["cpu"] or 0.0) - (self._begun_cpu.get(process["pid"]) or 0.0)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            self._look()

    def _note_pools(self) -> None:
        if self._own_pool:
            for pool in self._own_pool:
                self.pool |= set(getattr(pool, "_processes", None) or ())
        else:
            self.pool |= _processes_of_pools() - self._others

    def _look(self) -> None:
        self._pause = self._interval
        try:
            with self._lock:
                # Before as well: a pool that breaks forgets its processes at once.
                self._note_pools()
                self.tree.sample()
                self._note_pools()
                self._pause = self.tree.pause(self._interval)
        except Exception as error:
            self.failed += 1
            self.error = words(error)


def _name_of(executor: Any) -> str:
    """With the pool that it runs its chunks in, if that is the user's."""
    pool = getattr(executor, "pool", None)
    if pool is None:
        return type(executor).__name__
    return f"{type(executor).__name__} with {getattr(pool, '__name__', None) or type(pool).__name__}"


def _waited_cpu() -> float:
    """CPU seconds of the children of this process that have ended and were waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _pool_instances(executor: Any) -> list[Any]:
    """The pools of an executor that the user made, if the main one is among them."""
    pool = getattr(executor, "pool", None)
    if pool is None or not hasattr(pool, "submit") or isinstance(pool, type):
        return []
    merging = getattr(executor, "mergepool", None)
    return [pool, merging] if hasattr(merging, "_processes") else [pool]


def _processes_of_pools() -> set[int]:
    """The processes of all running pools of concurrent.futures and loky.

    Each has a thread that manages it and knows its processes. The pool object itself is not reachable: Coffea does not
    expose its own.
    """
    pids: set[int] = set()
    for thread in threading.enumerate():
        processes = getattr(thread, "processes", None)
        if isinstance(processes, dict):
            pids.update(pid for pid in list(processes) if isinstance(pid, int))
    return pids
