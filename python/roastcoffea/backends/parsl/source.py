"""Collecting a run on Parsl: HighThroughputExecutors and pools of threads.

During the run the launches and ends of tries are noted in the client. At the end the logs of the workers tell when and
where each of them ran, and the database of the monitoring hub, where it is on, how much CPU time the workers used.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roastcoffea._core import Attempts, WorkerSeries, now
from roastcoffea.backends.executors import class_names
from roastcoffea.backends.parsl.database import Database, Reading, Started, database_of
from roastcoffea.backends.parsl.logs import Execution, Life, read_logs
from roastcoffea.backends.parsl.tries import LOST, Try, key_of, watch_launches, watch_submits, watch_threads
from roastcoffea.backends.dask.remote import read_counters
from roastcoffea.backends.dask.task_watch import FAILURE_LENGTH, FAILURES
from roastcoffea.backends.local import _Sampler
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source, check_interval
from roastcoffea.worker.channel import close, forget, take_memory
from roastcoffea.common.extras import needed
from roastcoffea.common.guard import Notes, attempt, words
from roastcoffea.common.marks import Mark
from roastcoffea.common.texts import listed

__all__ = ["ParslSource"]

_INTERNAL = "_parsl_internal"  # the kernel's own threads
_HUB_SECONDS = 4.0  # the hub collects for a second what it writes
_LOOK_SECONDS = 0.1


@dataclass
class _Place:
    """Where one executor of the kernel runs its tasks."""

    label: str
    threads: int = 0  # of this process; 0: it is no pool of threads
    interchange: Path | None = None  # the log of a HighThroughputExecutor
    logs: Path | None = None  # the folder with the logs of its pools


@dataclass
class _Watched:
    """What is known of a kernel, from the beginning of a run to its end."""

    kernel: Any
    places: list[_Place]
    begun: float
    tries: list[Try] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    sampler: _Sampler | None = None

    @property
    def threads(self) -> int:
        return sum(place.threads for place in self.places)

    def close(self) -> None:
        while self.marks:
            self.marks[-1].take_off()
            self.marks.pop()
        if self.sampler is not None:
            self.sampler.stop()


class ParslSource(Source):
    """Runs on the kernel that is loaded, one after the other."""

    how_to_install = "install it in the environment that worker_init of the provider activates"

    def __init__(self, executor: Any = None) -> None:
        self.executor = executor
        self._notes = Notes()
        self._watched: _Watched | None = None
        self._topic: str | None = None
        self._arrived: list[bytes] = []
        self._told = 0  # how many of these news() has returned
        self._follows = False  # whether workers are tracked

    def begin(self, interval: float | None) -> Engine:
        check_interval(interval)
        self.abandon()
        self._notes, self._follows = Notes(), interval is not None
        kernel = attempt(
            "no kernel of Parsl is loaded, so that workers, tries and the budget are not known; "
            "call parsl.load(config) before", self._notes.add, _loaded_kernel,
        )
        if kernel is None:
            return Engine("Parsl", list(self._notes))
        watched = self._watched = _Watched(kernel, self._find_places(kernel), now())
        if attempt("the tries of the tasks are not known", self._notes.add, self._watch, watched) is None:
            watched.close()
        if all(place.threads for place in watched.places):
            self._topic = f"memory:parsl-{uuid.uuid4().hex}"
            if interval is not None:
                watched.sampler = attempt(
                    "this process cannot be sampled", self._notes.add, _Sampler, None, interval
                )
                if watched.sampler is not None:
                    watched.sampler.start()
        tells = ("series", "attempts") if self._follows else ("attempts",)
        return Engine(f"Parsl {_version()}", list(self._notes), self._topic, tells=tells)

    def news(self) -> News:
        watched, samples = self._watched, None
        if self._topic is not None:
            self._arrived += take_memory(self._topic)
        if watched is not None and watched.sampler is not None:
            samples = watched.sampler.news({os.getpid(): watched.threads})
        ended = [] if watched is None else [one for one in list(watched.tries) if one.ended is not None]
        failed = [(one.exception or one.outcome, key_of(one.name, one.task)) for one in ended if one.outcome != "done"]
        last = [(words[:FAILURE_LENGTH], key) for words, key in failed[-FAILURES:]]
        done = None
        if watched is not None and self._topic is None:
            done = sum(one.outcome == "done" and one.kind == "processing" for one in ended)
        # Only now: after a failure the next call repeats them.
        told, self._told = self._told, len(self._arrived)
        return News(self._arrived[told:], samples, (len(failed), last), done)

    def end(self, ran: Ran) -> Collected:
        watched, found, counters = self._watched, Collected(), read_counters()
        if self._topic is not None:
            close(self._topic)
            self._arrived += take_memory(self._topic)
        found.records = self._arrived
        if watched is not None:
            watched.close()
            attempt("what Parsl knows of the run", self._notes.add, self._tell, watched, ran, found)
            if watched.sampler is not None:
                workers: dict[int, int | None] = {os.getpid(): watched.threads}
                found.series = watched.sampler.tree.series(workers, socket.gethostname())
                found.counters = watched.sampler.counters(workers, counters)
        self.abandon()
        found.notes = list(self._notes)
        return found

    def abandon(self) -> None:
        if self._watched is not None:
            self._watched.close()
        if self._topic is not None:
            forget(self._topic)
        self._watched, self._topic, self._arrived, self._told = None, None, [], 0

    # ---- the beginning ----

    def _find_places(self, kernel: Any) -> list[_Place]:
        places = []
        for label, executor in kernel.executors.items():
            if label == _INTERNAL or not self._is_used(label):
                continue
            names = class_names(executor)
            if "ThreadPoolExecutor" in names:
                places.append(_Place(label, threads=executor.max_threads or 1))
            elif "HighThroughputExecutor" in names:
                interchange = Path(executor.logdir, "interchange.log").absolute()
                places.append(_Place(label, 0, interchange, Path(executor.worker_logdir).absolute()))
            else:
                places.append(_Place(label))
                self._notes.add(
                    f"the workers of {label}, a {names[0]}, are not known: of Parsl's executors the "
                    "HighThroughputExecutor and pools of threads are measured"
                )
        return places

    def _is_used(self, label: str) -> bool:
        """Coffea sends its tasks to executors of these labels."""
        used = [getattr(self.executor, f"{what}_executors", "all") for what in ("jobs", "merges")]
        return any(labels == "all" or label in labels for labels in used)

    def _watch(self, watched: _Watched) -> bool:
        kernel = watched.kernel
        watched.marks.append(watch_launches(kernel, watched.tries))
        watched.marks.append(watch_submits(kernel))
        for place in watched.places:
            if place.threads:
                watched.marks.append(watch_threads(kernel.executors[place.label].executor))
        return True

    # ---- the end ----

    def _tell(self, watched: _Watched, ran: Ran, found: Collected) -> None:
        ended = now()
        lives, executions = self._read_logs(watched)
        started, readings = self._read_monitoring(watched)
        offsets = _clock_offsets(watched.tries, executions)
        _shift(lives, executions, offsets)
        lives = [life for life in lives if life.joined < ended and (life.left is None or life.left > watched.begun)]
        if lives and watched.threads:
            self._notes.add("threads of this process are not in the number of workers, nor in the budget")
        if lives and self._follows:
            found.series = _series_of(lives)
        if lives:
            found.clock_offsets = {
                life.worker: -offsets[life.host] for life in lives if life.host and offsets.get(life.host)
            }
        names = {(chunk["host"], chunk["pid"]): chunk["worker"] for chunk in ran.records if chunk["worker"]}
        pids = {(reading.task, reading.number): reading.pid for reading in readings}
        rows = [
            _row(one, executions.get((one.executor, one.id)), started.get((one.task, one.number)), pids, names)
            for one in list(watched.tries)
        ]
        rows += _earlier(watched, executions)
        processor = next(iter(ran.processors)) if len(ran.processors) == 1 else "processing"
        found.attempts = _attempts_of(rows, lives, processor, ended)
        cpu = _worker_cpu(watched, lives, readings, executions)
        if cpu is not None:
            found.counters = {("worker", "process-cpu", "seconds"): cpu}
        jobs = [
            f"block-{block}: {job}" for place in watched.places
            for block, job in getattr(watched.kernel.executors[place.label], "blocks_to_job_id", {}).items()
        ]
        if jobs:
            found.about["parsl_jobs"] = listed(jobs)

    def _read_logs(self, watched: _Watched) -> tuple[list[Life], dict[tuple[str, str | None], Execution]]:
        lives: list[Life] = []
        executions: dict[tuple[str, str | None], Execution] = {}
        for place in watched.places:
            if place.interchange is None or place.logs is None:
                continue
            logs = read_logs(place.interchange, place.logs)
            lives += logs.lives
            executions.update({(place.label, number): task for number, task in logs.tasks.items()})
            if not logs.lives and any(one.executor == place.label for one in watched.tries):
                self._notes.add(
                    f"there is no log of a worker of {place.label} in {place.logs}, so that its workers, the budget and "
                    "the starts of tries are not known; worker_logdir_root of the executor must be a folder that this "
                    "machine sees, and log_config must leave the workers' logs as they are"
                )
        return lives, executions

    def _read_monitoring(self, watched: _Watched) -> tuple[dict[tuple[int, int], Started], list[Reading]]:
        hub = watched.kernel.monitoring
        path = None if hub is None else database_of(hub.logging_endpoint)
        if path is None:
            return {}, []
        done = {(one.task, one.number) for one in watched.tries if one.outcome == "done"}
        until = time.monotonic() + _HUB_SECONDS
        measured = getattr(hub, "resource_monitoring_enabled", True)
        if not measured:
            self._notes.add("the CPU time of the workers is not known: resource_monitoring_enabled of Parsl's monitoring is off")
        try:
            with closing(Database(path)) as database:
                version: int | None = None
                while True:
                    before, version = version, database.version()
                    if before != version:  # else nothing was written since
                        rows, readings = database.read(watched.kernel.run_id)
                        started = {(one.task, one.number): one for one in rows}
                        written = {place for place, one in started.items() if one.ended}
                        written.intersection_update((one.task, one.number) for one in readings)
                    if done <= written:
                        return started, readings
                    if not measured:  # what is never written is not waited for
                        return started, []
                    if time.monotonic() > until:
                        self._notes.add(
                            "the CPU time of the workers is not known: Parsl's database of the monitoring lacks "
                            f"{len(done - written)} tries that have ended"
                        )
                        return started, []
                    time.sleep(_LOOK_SECONDS)
        except Exception as error:
            self._notes.add(f"the CPU time of the workers is not known: {path}: {words(error)}")
            return {}, []


def _loaded_kernel() -> Any:
    needed("this backend", "parsl", "parsl")
    import parsl

    return parsl.dfk()


def _version() -> str:
    import parsl

    return str(parsl.__version__)


# ---- workers ----

def _series_of(lives: Iterable[Life]) -> WorkerSeries:
    """One core each: a worker runs one task at a time."""
    changes = []
    for life in lives:
        changes.append((life.joined, 1, life))
        if life.left is not None:
            changes.append((life.left, 0, life))
    series = WorkerSeries()
    # A worker leaves before the next process of its rank joins.
    for when, joins, life in sorted(changes, key=lambda change: change[:2]):
        if joins:
            series.join(life.worker, when, cores=1, host=life.host)
        else:
            series.leave(life.worker, when)
    return series


def _clock_offsets(
    tries: list[Try], executions: dict[tuple[str, str | None], Execution]
) -> dict[str, float]:
    """Seconds that the clock of a host is ahead of the client's, at least. A task starts after its launch and stops
    before its end is known; a clock that says otherwise is wrong."""
    bounds: dict[str, tuple[float, float]] = {}
    for one in tries:
        seen = executions.get((one.executor, one.id))
        if seen is None or not seen.life.host:
            continue
        least, most = bounds.get(seen.life.host, (float("-inf"), float("inf")))
        most = min(most, seen.start - one.launched)
        if seen.stop is not None and one.ended is not None and one.outcome != LOST:
            least = max(least, seen.stop - one.ended)
        bounds[seen.life.host] = least, most
    return {host: max(least, min(0.0, most)) if least <= most else 0.0 for host, (least, most) in bounds.items()}


def _shift(
    lives: list[Life], executions: dict[tuple[str, str | None], Execution], offsets: dict[str, float]
) -> None:
    """Puts moments of workers on the client's clock. That a pool was lost is a moment of that clock already."""
    for life in lives:
        ahead = offsets.get(life.host or "", 0.0)
        life.joined -= ahead
        if life.left is not None and not life.by_client:
            life.left -= ahead
    for seen in executions.values():
        ahead = offsets.get(seen.life.host or "", 0.0)
        seen.start -= ahead
        if seen.stop is not None:
            seen.stop -= ahead


def _worker_cpu(
    watched: _Watched, lives: list[Life], readings: list[Reading],
    executions: dict[tuple[str, str | None], Execution],
) -> float | None:
    """CPU seconds of the processes of all workers in the run; None: one of them was never read."""
    ran_on = {}
    for one in watched.tries:
        seen = executions.get((one.executor, one.id))
        if seen is not None:
            ran_on[one.task, one.number] = seen.life
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for reading in readings:
        life = ran_on.get((reading.task, reading.number))
        if life is not None and life.pid == reading.pid:
            # One that was there before the run has used some before.
            first.setdefault(id(life), 0.0 if life.joined >= watched.begun else reading.cpu)
            last[id(life)] = reading.cpu
    if not lives or any(id(life) not in last for life in lives):
        return None
    return sum(last.values()) - sum(first.values())


# ---- tries ----

@dataclass
class _Row:
    key: str
    kind: str
    name: str
    outcome: str
    launched: float | None = None
    ended: float | None = None
    worker: str | None = None
    thread: int | None = None
    start: float | None = None
    stop: float | None = None
    exception: str | None = None
    life: Life | None = None


def _row(
    one: Try, seen: Execution | None, started: Started | None,
    pids: dict[tuple[int, int], int], names: dict[tuple[str, int], str],
) -> _Row:
    row = _Row(key_of(one.name, one.task), one.kind, one.name, one.outcome, one.launched, one.ended, exception=one.exception)
    if seen is not None:
        row.worker, row.thread, row.life = seen.life.worker, seen.life.pid, seen.life
        row.start, row.stop = seen.start, seen.stop
    elif one.run is not None:
        row.worker, row.thread = f"{socket.gethostname()}:{os.getpid()}", one.run.thread
        row.start, row.stop = one.run.start, one.run.stop
    elif started is not None and started.host is not None:
        pid = pids.get((one.task, one.number))
        row.start, row.stop, row.thread = started.start, started.stop, pid
        row.worker = None if pid is None else names.get((started.host, pid))
    return row


def _earlier(watched: _Watched, executions: dict[tuple[str, str | None], Execution]) -> list[_Row]:
    """Tasks that were launched before the run and kept workers busy in it."""
    ours = {(one.executor, one.id) for one in watched.tries}
    return [
        _Row(f"earlier-{label}-{number}", "other", "earlier", "done", worker=seen.life.worker, thread=seen.life.pid,
             start=seen.start, stop=seen.stop, ended=seen.stop)
        for (label, number), seen in executions.items()
        if (label, number) not in ours and seen.stop is not None and seen.stop > watched.begun
    ]


def _attempts_of(rows: list[_Row], lives: list[Life], processor: str, ended: float) -> Attempts:
    """In the order of their ends. A worker runs one task at a time, and loses one at most."""
    attempts = Attempts()
    lost = set()
    for row in sorted(rows, key=lambda row: ended if row.ended is None else row.ended):
        left = None if row.life is None else row.life.left
        departed = row.outcome == LOST and left is not None and left <= ended
        if departed and row.life is not None and left is not None:
            attempts.worker_left(row.life.worker, left, expected=False, running=1)
            lost.add(id(row.life))
            if row.stop is None:  # its process died before that was noticed
                row.stop = left if row.start is None else max(left, row.start)
        _add(attempts, row, processor, ended, departed)
    for life in lives:
        if life.left is not None and life.left <= ended and id(life) not in lost:
            attempts.worker_left(life.worker, life.left, expected=life.expected)
    return attempts


def _add(attempts: Attempts, row: _Row, processor: str, ended: float, departed: bool) -> None:
    name = row.name or processor
    attempts.add(
        row.key, name=name, kind=row.kind, worker=row.worker, thread=row.thread,
        # It waits in the queue of its executor until a worker takes it.
        ready=row.launched, sent=row.start, start=row.start, stop=row.stop,
        ended=ended if row.ended is None else row.ended,
        outcome=row.outcome, exception=row.exception, departed=departed,
    )
