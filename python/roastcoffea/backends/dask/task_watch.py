"""Follows the tasks of Dask's scheduler and records them as Attempts.

`transition` runs in the scheduler's event loop for every step of every task; Dask itself takes some 200 µs per task.
"""

from __future__ import annotations

import functools
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roastcoffea._core import Attempts, now, redact_text

__all__ = ["TaskWatch"]

# Dask estimates how the clock of a worker differs from the scheduler's. While somebody sets a clock, the estimate is
# wrong by as much: the scheduler saw the try begin and end by its own clock, to this many seconds.
SLACK = 1.0
# Other phases of a task in the worker, as Attempts.add names them.
_LENGTHS = {"transfer": "transfer_seconds", "deserialize": "deserialize_seconds", "disk-read": "disk_seconds"}
# Of the tries that failed, so many are told while the run goes on, with so many characters of their exception.
FAILURES, FAILURE_LENGTH = 10, 1000
# Coffea raises an Exception with the repr() of the user's inside: after these words, and before a point.
_OF_COFFEA, _WITHIN = "Exception: Failed processing file: ", ". The error was: "
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _counted(method: Callable[..., None]) -> Callable[..., None]:
    """A message that cannot be read is counted, and its try is lost; nothing is raised into the scheduler."""

    @functools.wraps(method)
    def call(self: TaskWatch, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            self.faults += 1

    return call


@dataclass
class _Try:
    """A try that has not ended; moments in seconds since 1970."""

    own: bool  # of this run
    ready: float | None = None
    sent: float | None = None
    worker: str | None = None
    name: str | None = None  # Dask's name for tasks of this kind
    raised: Mapping[str, Any] | None = None  # the worker's message


class TaskWatch:
    """`tasks` is the scheduler's {key: task}."""

    def __init__(self, tasks: Mapping[Any, Any]) -> None:
        self._tasks = tasks
        self._attempts = Attempts()
        self._own: set[str] = set()
        self._open: dict[str, _Try] = {}
        self._left: tuple[str, str] | None = None  # the last worker that left, and the stimulus
        self._killed: dict[str, list[Any]] = {}  # by worker: tries, while its departure is yet to be told
        self.faults = 0
        self.failed = 0  # tries of this run that raised, or whose worker left
        self.failures: deque[tuple[str, str]] = deque(maxlen=FAILURES)  # the last of them: exception, task and worker
        self._hears = False  # of tasks that raise, before Dask decides on a retry

    # ---- calls of the scheduler ----

    @_counted
    def expect(self, keys: Iterable[Any]) -> None:
        """The tasks with these keys belong to this run."""
        self._own.update(map(str, keys))

    @_counted
    def transition(self, whole: Any, start: str, finish: str, *args: Any, **message: Any) -> None:
        """A step of a task, with the arguments of SchedulerPlugin.transition; `whole` is its key."""
        key = str(whole)
        if start == "processing" and finish != "processing":
            self._end(key, finish, message)
        if finish == "processing":
            if start != finish:
                self._send(key, whole)
        elif finish in ("queued", "no-worker"):
            self._need(key)
        elif finish in ("released", "forgotten"):
            self._open.pop(key, None)
            if finish == "forgotten":
                self._own.discard(key)

    @_counted
    def moved(self, key: Any, worker: str) -> None:
        """A task was taken from its worker and sent to another."""
        one = self._open.get(str(key))
        if one is not None:
            one.sent, one.worker = now(), worker

    @_counted
    def raised(self, **message: Any) -> None:
        """A worker's message that a task raised, before the scheduler decides to try it again."""
        self._hears = True
        one = self._open.get(str(message.get("key")))
        # A worker that has lost the task to another reports nothing about this try.
        if one is not None and message.get("worker") == one.worker:
            one.raised = message

    @_counted
    def left(self, worker: str, expected: bool, running: int, lost: Iterable[Any], stimulus_id: str) -> None:
        """A worker has left with so many running tasks, and with the results of the keys `lost`."""
        self._attempts.worker_left(worker, now(), expected, running, tuple(map(str, lost)))
        self._left = worker, stimulus_id
        for key, one, message in self._killed.pop(worker, ()):
            self._add(key, one, message, "lost", "KilledWorker", departed=True)

    def finish(self) -> Attempts:
        """Ends the watch; tries that have not ended count as lost."""
        for worker in list(self._killed):
            self.left(worker, False, 0, (), "")
        for key, one in self._open.items():
            if one.own and one.sent is not None:
                self._add(key, one, {}, "lost", "cancelled: it had not ended when the run ended")
        self._open.clear()
        attempts, self._attempts = self._attempts, Attempts()
        return attempts

    # ---- how a try begins ----

    def _need(self, key: str) -> _Try:
        one = self._open.get(key)
        if one is None:
            one = self._open[key] = _Try(key in self._own, now())
        return one

    def _send(self, key: str, whole: Any) -> None:
        one = self._need(key)
        one.sent = now()
        task = self._tasks.get(whole)
        one.worker = getattr(getattr(task, "processing_on", None), "address", None)
        if one.own:
            one.name = getattr(getattr(task, "prefix", None), "name", None)

    # ---- how it ends ----

    def _end(self, key: str, finish: str, message: Mapping[str, Any]) -> None:
        one = self._open.pop(key, None) or _Try(False)
        accounted = message.get("startstops") is not None
        if finish == "memory":
            self._add(key, one, message, "done")
        elif finish == "erred" and accounted:
            self._add(key, one, message, "raised", _exception(message))
        elif finish == "erred":
            # Too many workers have died of it. The scheduler reports the last one a moment later.
            self._killed.setdefault(message.get("worker") or one.worker or "", []).append((key, one, message))
        else:
            self._add_guessed(key, one, message)

    def _add_guessed(self, key: str, one: _Try, message: Mapping[str, Any]) -> None:
        """Its end was not reported: guesses the outcome from the reason why it left its worker."""
        stimulus = str(message.get("stimulus_id", ""))
        # When a task raises for the last time, Dask also cancels others that are not needed any more.
        if one.raised is not None or (not self._hears and stimulus.startswith("task-erred-")):
            self._add(key, one, one.raised or message, "raised", _exception(one.raised or {}))
        elif self._left == (one.worker, stimulus):
            self._add(key, one, message, "lost", departed=True)
        else:
            why = stimulus.rpartition("-")[0] or stimulus  # without the moment at its end
            self._add(key, one, message, "lost", f"called off: {why}")

    def _add(
        self, key: str, one: _Try, message: Mapping[str, Any], outcome: str, exception: str | None = None,
        departed: bool = False,
    ) -> None:
        if one.own and (outcome == "raised" or departed):
            self.failed += 1
            told = redact_text(_users(exception) or "") or (
                "its worker left" if departed else "it raised; the exception is not known"
            )
            self.failures.append((told[:FAILURE_LENGTH], ", ".join(filter(None, (one.name, one.worker)))[:FAILURE_LENGTH]))
        known: dict[str, Any] = {
            "kind": "other" if one.own else "foreign",
            "name": one.name,
            "ready": one.ready,
            "sent": one.sent,
            "ended": now(),
            "outcome": outcome,
            "exception": exception,
            "departed": departed,
        }
        try:
            self._attempts.add(key, **known, worker=message.get("worker") or one.worker, **_details(message, known))
        except Exception:  # a message of another version of Dask
            self.faults += 1
            self._attempts.add(key, **known, worker=one.worker)


def _details(message: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The worker's message about a try that ended."""
    return {
        "thread": message.get("thread"),
        "nbytes": message.get("nbytes") if known["outcome"] == "done" else None,
        **_phases(message.get("startstops") or (), known["sent"], known["ended"]),
    }


def _phases(startstops: Iterable[Mapping[str, Any]], sent: float | None, ended: float) -> dict[str, float]:
    """The phases of a try from the worker's message: when it computed, and how long it did other things. A phase longer
    than the whole try was measured with a clock that was set meanwhile, and is left out."""
    longest = ended - sent + SLACK if sent is not None else float("inf")
    found: dict[str, float] = {}
    start = stop = None
    for phase in startstops:
        if phase["action"] == "compute":
            start, stop = phase["start"], phase["stop"]
        elif name := _LENGTHS.get(phase["action"]):
            found[name] = found.get(name, 0.0) + max(0.0, phase["stop"] - phase["start"])
    found = {name: seconds for name, seconds in found.items() if seconds <= longest}
    if start is None or stop is None or not 0 <= stop - start <= longest:
        return found
    # Between the moments when it was sent and when it ended, by the clock of this process. Where Dask's estimate puts it
    # elsewhere: a worker tells at once that a task has ended, while a task may wait long before it starts.
    later = now() - time.time()
    if stop + later > ended + SLACK or (sent is not None and start + later < sent - SLACK):
        later = ended - stop
    return {**found, "start": start + later, "stop": stop + later}


def _users(exception: str | None) -> str | None:
    """The user's exception, if Coffea's is around it."""
    if exception is None or not exception.startswith(_OF_COFFEA):
        return exception
    inside = exception.partition(_WITHIN)[2]
    return _exception({"exception_text": inside.removesuffix(".")}) or exception


def _exception(message: Mapping[str, Any]) -> str | None:
    """'ValueError: no' from the repr() of an exception, "ValueError('no')"."""
    text = message.get("exception_text")
    if not text:
        return None
    kind, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")"):
        return str(text)
    words = rest[:-1]
    if len(words) >= 2 and words[0] in "'\"" and words[-1] == words[0]:
        words = re.sub(r"\\([\\'\"ntr])", lambda found: _ESCAPES.get(found[1], found[1]), words[1:-1])
    return f"{kind}: {words}" if words else str(kind)
