"""The tries of Parsl's tasks, as the client sees them.

`launch_task` of the kernel starts each try and returns its future. It is the one call through which all of them go, and
a public one. When a try starts and stops is known to its worker: a log tells it at the end, or, for a pool of threads
of this process, a function around the task.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roastcoffea._core import now
from roastcoffea.backends.source import note_task
from roastcoffea.common.endings import describe_error
from roastcoffea.common.guard import hook
from roastcoffea.common.marks import Mark

__all__ = ["LOST", "Run", "Try", "key_of", "watch_launches", "watch_submits", "watch_threads"]

# A worker, or a pool of them, that went away with the task.
_LOSSES = ("WorkerLost", "ManagerLost")
LOST = "lost"
_RUN = "_roastcoffea_run"


@dataclass
class Run:
    """When a thread of this process ran a task."""

    start: float | None = None
    stop: float | None = None
    thread: int | None = None


@dataclass
class Try:
    task: int
    number: int  # from 0
    executor: str  # its label
    id: str | None  # the executor's own number of it
    kind: str
    name: str  # what its tasks are called; empty for processing
    launched: float
    run: Run | None = None
    ended: float | None = None
    outcome: str = LOST  # if it has not ended
    exception: str | None = None


def watch_launches(kernel: Any, tries: list[Try]) -> Mark:
    """Adds every try from now on to `tries`, until the mark is taken off."""
    return Mark(kernel, "launch_task", _watching(kernel.launch_task, tries))


def watch_submits(kernel: Any) -> Mark:
    """Notes which piece of work each task has, until the mark is taken off. Called in the thread of the Runner; tries may
    be launched in another one."""
    return Mark(kernel, "submit", _noting(kernel.submit))


def key_of(name: str, task: int) -> str:
    """Of all tries of a task. `name`: what its tasks are called; empty for processing."""
    return f"{name or 'processing'}-task-{task}"


def watch_threads(pool: Any) -> Mark:
    """Measures every call in a pool of threads from now on, until the mark is taken off."""
    return Mark(pool, "submit", _timing(pool.submit))


def _watching(original: Callable[..., Any], tries: list[Try]) -> Callable[..., Any]:
    @functools.wraps(original)
    def launch_task(task_record: Any) -> Any:
        launched = _look_at_clock()
        future = original(task_record)
        if launched is not None:
            _note_launch(tries, launched, task_record, future)
        return future

    return launch_task


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(*args: Any, **kwargs: Any) -> Any:
        future = original(*args, **kwargs)
        _note_piece(future, *args, **kwargs)
        return future

    return submit


@hook("the piece of work of a task of Parsl is not known")
def _note_piece(future: Any, function: Any, app_args: Any = (), *_: Any, **__: Any) -> None:
    item = _argument_of(app_args)
    if type(item).__name__ == "WorkItem":
        note_task(key_of("", future.tid), item)


@hook("a try of a task of Parsl is not known")
def _look_at_clock() -> float | None:
    return now()


@hook("a try of a task of Parsl is not known")
def _note_launch(tries: list[Try], launched: float, task_record: Any, future: Any) -> None:
    if task_record["from_memo"]:
        return  # an old result: nothing runs
    kind, name = _kind_of(task_record)
    identity = getattr(future, "parsl_executor_task_id", None)
    one = Try(
        task_record["id"], task_record["fail_count"], task_record["executor"],
        None if identity is None else str(identity), kind, name, launched, getattr(future, _RUN, None),
    )
    tries.append(one)
    future.add_done_callback(functools.partial(_note_end, one))


def _kind_of(task_record: Any) -> tuple[str, str]:
    """Coffea's tasks are all called "wrapper": their argument tells what they do."""
    item = _argument_of(task_record["args"])
    if type(item).__name__ == "WorkItem":
        return "processing", ""
    if type(item).__name__ == "FileMeta":
        return "other", "preprocessing"
    name = str(task_record["func_name"])
    return ("reduction", "reduction") if name == "wrapper" else ("other", name)


def _argument_of(args: Any) -> Any:
    item = args[0] if args else None
    return item[0] if isinstance(item, tuple) and item else item


@hook("how a try of a task of Parsl ended is not known")
def _note_end(one: Try, future: Any) -> None:
    one.ended = now()
    if future.cancelled():
        return
    error = future.exception()
    if error is None:
        result = future.result()
        # A worker sends an exception of the task as its result.
        wrapped = type(result).__name__ == "RemoteExceptionWrapper"
        error = result.e_value if wrapped else None
    if error is None:
        one.outcome = "done"
        return
    one.outcome = LOST if type(error).__name__ in _LOSSES else "raised"
    told = describe_error(error)  # the user's, not that of Coffea around it
    one.exception = f"{told['type']}: {told['message']}"


def _timing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def submit(task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        timed = _timed(task)
        if timed is None:
            return original(task, *args, **kwargs)
        future = original(timed, *args, **kwargs)
        _attach(future, timed.args[0])
        return future

    return submit


@hook("when a task of Parsl ran is not known")
def _timed(task: Callable[..., Any]) -> functools.partial[Any] | None:
    return functools.partial(_call, Run(), task)


@hook("when a task of Parsl ran is not known")
def _attach(future: Any, run: Run) -> None:
    setattr(future, _RUN, run)


def _call(run: Run, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    _note_start(run)
    try:
        return original(*args, **kwargs)
    finally:
        _note_stop(run)


@hook("when a task of Parsl started is not known")
def _note_start(run: Run) -> None:
    run.thread = threading.get_native_id()
    run.start = now()


@hook("when a task of Parsl stopped is not known")
def _note_stop(run: Run) -> None:
    run.stop = now()
