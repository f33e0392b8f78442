"""Collecting a run on this machine: Coffea's IterativeExecutor and FuturesExecutor, without Dask.

Samples this process and its descendants; which of them are workers is decided at the end.

- Chunks run in this process, one by one or in a pool of threads: it is the worker.
- Chunks run in a pool of processes: its processes are the workers, one core each. This process submits,
  waits and merges. It has a row in the series, since its memory counts, but no cores, and is not counted.
- Other children, such as a resource tracker, a fork server or a user's own, are left out.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Set
from typing import Any

from roastcoffea._core import ChunkLog, ProcessTree, WorkerSeries
from roastcoffea.backends._executors import kind_of, threads_of
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source, check_interval
from roastcoffea.channel import SharedFile, flush, take_memory
from roastcoffea.guard import Notes, attempt, words

__all__ = ["LocalSource"]


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
                self._notes.add(
                    f"{type(self.executor).__name__}: only processes of this machine that descend from this one "
                    "are measured; a backend of its own would see its workers (docs/backends.md)"
                )
            self._sampler = attempt(
                "the processes cannot be sampled", self._notes.add, _Sampler, self.executor, interval
            )
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
        found = Collected()
        attempt("the last records that were sent are lost", self._notes.add, self._close_channel)
        found.records = self._arrived
        if self._sampler is not None:
            attempt("worker series", self._notes.add, self._end_series, self._sampler, ran, found)
        self.abandon()
        found.notes = list(self._notes)
        return found

    def abandon(self) -> None:
        sampler, self._sampler = self._sampler, None
        shared, self._shared, self._topic = self._shared, None, None
        if shared is not None:
            shared.close()
        if sampler is not None:
            sampler.stop()

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
        flush(self._topic)
        self._arrived += self._take_records(last=True)
        if self._shared is not None and self._shared.damaged:
            self._notes.add(f"records that were sent are damaged in {self._shared.damaged} places, and left out there")

    # ---- workers ----

    def _end_series(self, sampler: _Sampler, ran: Ran, found: Collected) -> None:
        sampler.stop()
        if sampler.failed:
            self._notes.add(f"{sampler.failed} samples of the processes failed, the last one: {sampler.error}")
        pids = attempt("the processes of the workers", self._notes.add, ran.processes) or set()
        for data in self._arrived:
            pids |= attempt("the processes of the workers", self._notes.add, _processes_in, data) or set()
        workers = sampler.workers(pids)
        series = sampler.tree.series(workers, socket.gethostname())
        if any(workers.values()):
            found.series = series
        else:  # the number of workers is not known, so not 0
            found.tracking_data = {**series.as_tracking_data(), "worker_counts": {}}


def _processes_in(data: bytes) -> set[int]:
    return Ran(records=ChunkLog.from_bytes(data)).processes()


class _Sampler:
    """A thread that samples the processes, in C, without the GIL."""

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
        # A pool may live for less than the interval: when processes start or end, the next sample is soon.
        self._pause = self.tree.pause(interval)
        self._thread: threading.Thread | None = threading.Thread(target=self._run, name="roastcoffea-local", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and takes the last sample. A second call does nothing."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
            self._look()

    def news(self) -> WorkerSeries | None:
        """The samples since the last call; None before the first worker: an empty series would mean that there are
        none."""
        with self._lock:
            workers = self.workers(set())
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
        if kind == "elsewhere":
            return {self._own: 1 if self._own in confirmed else None}
        return {self._own: None if kind == "processes" else threads_of(self._executor)}

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
