"""Collecting a run on this machine: Coffea's IterativeExecutor and FuturesExecutor, without Dask.

Every process is looked at, this one and its descendants; who of them is a worker is settled at the end.

- Chunks run in this process, one by one or in a pool of threads: it is the worker.
- Chunks run in a pool of processes: its processes are the workers, one core each. This process submits,
  waits and merges. It has its row in the series, since its memory counts, but no cores, and is not counted.
- Other children, such as a tracker of resources, a server of forks or a user's own, are left out.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import uuid
from collections.abc import Set
from typing import Any, cast

from roastcoffea._core import ProcessTree, WorkerSeries
from roastcoffea.backends._executors import kind_of, threads_of
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.channel import SharedFile, flush, take_memory

__all__ = ["LocalMetricsBackend"]

# A pool may live for less than the interval. So when processes came or went, the next look is soon, and the
# pauses double up to the interval again; all in all not more than so many extra looks.
SOON = 0.02
EXTRA_LOOKS = 64


class LocalMetricsBackend(AbstractMetricsBackend):
    """Collects what the processes of this machine did."""

    def __init__(self, executor: Any = None) -> None:
        self.executor = executor
        self._notes: list[str] = []
        self._sampler: _Sampler | None = None
        self._tracked: _Tracked | None = None
        self._confirmed: set[int] = set()
        self._topic: str | None = None
        self._shared: SharedFile | None = None
        self._arrived: list[bytes] = []  # fetched while the run went on
        self._told = 0  # how many of these news() has told of

    # ---- workers ----

    def start_tracking(self, interval: float) -> None:
        if not (interval > 0 and math.isfinite(interval)):
            raise ValueError(f"interval: {interval!r} is no number of seconds above 0")
        if self._sampler is not None:
            raise RuntimeError("the processes are tracked already: call stop_tracking() first")
        self._tracked = None
        self._confirmed = set()
        try:
            self._sampler = _Sampler(ProcessTree(), interval, self.executor)
        except Exception as error:
            self._note(f"the processes cannot be sampled: {type(error).__name__}: {error}")

    def stop_tracking(self) -> dict[str, Any]:
        sampler, self._sampler = self._sampler, None
        if sampler is None:
            return {}
        sampler.stop()
        if sampler.failed:
            self._note(f"{sampler.failed} looks at the processes failed, the last one: {sampler.error}")
        if kind_of(self.executor) == "elsewhere":
            self._note(
                f"{type(self.executor).__name__}: only processes of this machine that descend from this one "
                "are measured; a backend of its own would see its workers (docs/backends.md)"
            )
        self._tracked = _Tracked(sampler.tree, sampler.pool, self.executor)
        self._tracked.confirm(self._confirmed)
        # Made when somebody looks, since confirm_workers() may still come.
        return TrackingData(cast(WorkerSeries, self._tracked))

    def confirm_workers(self, pids: Set[int]) -> None:
        self._confirmed |= set(pids)
        if self._tracked is not None:
            self._tracked.confirm(pids)

    @property
    def series(self) -> WorkerSeries | None:
        """None while it runs, and where no worker was seen: it would say that there were none."""
        return None if self._tracked is None else self._tracked.series

    # ---- records beside the output ----

    def open_channel(self) -> str | None:
        self.close_channel()
        if kind_of(self.executor) in ("serial", "threads"):
            self._topic = f"memory:local-{uuid.uuid4().hex}"
            return self._topic
        try:
            self._shared = SharedFile()
        except (AttributeError, OSError) as error:
            self._note(f"records travel in the output alone: {type(error).__name__}: {error}")
            return None
        self._topic = self._shared.topic
        return self._topic

    def close_channel(self) -> list[bytes]:
        (topic, self._topic), (shared, self._shared) = (self._topic, None), (self._shared, None)
        if topic is None:
            return []
        arrived, self._arrived, self._told = self._arrived, [], 0
        try:
            if shared is None:
                return [*arrived, *take_memory(topic)]
            flush(topic)
            arrived += shared.read(last=True)
            if shared.damaged:
                self._note(f"records beside the output are damaged in {shared.damaged} places, and left out there")
            return arrived
        except Exception as error:
            self._note(f"the last records beside the output are lost: {type(error).__name__}: {error}")
            return arrived
        finally:
            if shared is not None:
                shared.close()

    # ---- while the run goes on ----

    def news(self) -> tuple[list[bytes], WorkerSeries | None]:
        if self._topic is None:
            return [], None
        self._arrived += take_memory(self._topic) if self._shared is None else self._shared.read()
        piece = self._sampler.news() if self._sampler is not None else None
        # Only now: what could not be told is told by the next call.
        told, self._told = self._told, len(self._arrived)
        return self._arrived[told:], piece

    # ---- spans: there are none; the chunks know their CPU time ----

    def create_span(self, name: str) -> None:
        return None

    def get_span_metrics(self, span_info: Any = None, **options: Any) -> dict[Any, Any]:
        return {}

    def supports_fine_metrics(self) -> bool:
        return False

    # ---- notes ----

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)


class _Tracked:
    """What was seen, from the first look to the last; who of them is a worker may still be told."""

    def __init__(self, tree: ProcessTree, pool: Set[int], executor: Any) -> None:
        self._tree = tree
        self._pool = set(pool)
        self._executor = executor
        self._confirmed: set[int] = set()
        self._own = os.getpid()
        self._series: WorkerSeries | None = None

    def confirm(self, pids: Set[int]) -> None:
        self._confirmed |= set(pids)
        self._series = None

    @property
    def series(self) -> WorkerSeries | None:
        workers = self._workers()
        if self._series is None and any(workers.values()):
            self._series = self._tree.series(workers, socket.gethostname())
        return self._series

    def news(self) -> WorkerSeries | None:
        """The piece of the series that is new since the last call."""
        workers = self._workers()
        return self._tree.news(workers, socket.gethostname()) if any(workers.values()) else None

    def as_tracking_data(self) -> dict[str, dict[Any, Any]]:
        series = self.series
        if series is not None:
            return series.as_tracking_data()
        # How many workers there were is not known, and so not 0.
        series = self._tree.series(self._workers(), socket.gethostname())
        return {**series.as_tracking_data(), "worker_counts": {}}

    def _workers(self) -> dict[int, int | None]:
        """{pid: cores}; None for this process where it is no worker."""
        kind = kind_of(self._executor)
        seen = {process["pid"] for process in self._tree.processes} - {self._own}
        workers = self._confirmed & seen
        if kind in ("processes", "unknown"):
            workers |= self._pool & seen
        if workers:
            return {self._own: None, **dict.fromkeys(workers, 1)}
        if kind == "elsewhere":
            return {self._own: 1 if self._own in self._confirmed else None}
        return {self._own: None if kind == "processes" else threads_of(self._executor)}


class _Sampler:
    """A thread that looks at the processes; the looks themselves are taken in C, without the GIL."""

    def __init__(self, tree: ProcessTree, interval: float, executor: Any) -> None:
        self.pool: set[int] = set()
        self.failed = 0
        self.error = ""
        self.tree = tree
        self._executor = executor
        self._lock = threading.Lock()  # the tree is looked at by one thread at a time
        self._interval = interval
        self._own_pool = _pool_instances(executor)
        # A pool that the executor will make is not there yet: what is there belongs to somebody else.
        self._others = set() if executor is None or self._own_pool else _processes_of_pools()
        self._stop = threading.Event()
        tree.sample()
        self._thread = threading.Thread(target=self._run, name="roastcoffea-local", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and takes the last look."""
        self._stop.set()
        self._thread.join()
        self._look()

    def news(self) -> WorkerSeries | None:
        """What was seen since the last call."""
        with self._lock:
            return _Tracked(self.tree, self.pool, self._executor).news()

    def _run(self) -> None:
        pause, extra = SOON, EXTRA_LOOKS
        while not self._stop.wait(pause if pause < self._interval and extra > 0 else self._interval):
            changed = self._look()
            extra -= 1
            pause = SOON if changed else 2 * pause

    def _note_pools(self) -> None:
        if self._own_pool:
            for pool in self._own_pool:
                self.pool |= set(getattr(pool, "_processes", None) or ())
        else:
            self.pool |= _processes_of_pools() - self._others

    def _look(self) -> bool:
        """Whether processes came or went."""
        try:
            with self._lock:
                # Before as well: a pool that breaks forgets its processes at once.
                self._note_pools()
                changed = self.tree.sample()
                self._note_pools()
                return changed
        except Exception as error:
            self.failed += 1
            self.error = f"{type(error).__name__}: {error}"
            return False


def _pool_instances(executor: Any) -> list[Any]:
    """The pools of an executor that were made by the user, if its main one is."""
    pool = getattr(executor, "pool", None)
    if pool is None or not hasattr(pool, "submit") or isinstance(pool, type):
        return []
    merging = getattr(executor, "mergepool", None)
    return [pool, merging] if hasattr(merging, "_processes") else [pool]


def _processes_of_pools() -> set[int]:
    """The processes of all running pools of concurrent.futures and loky.

    Each has a thread that manages it and knows its processes; a pool itself is reachable only for who made
    it, and Coffea keeps its own to itself.
    """
    pids: set[int] = set()
    for thread in threading.enumerate():
        processes = getattr(thread, "processes", None)
        if isinstance(processes, dict):
            pids.update(pid for pid in list(processes) if isinstance(pid, int))
    return pids
