"""The task of the calling thread, as its engine knows it.

An engine whose wrapper runs in the worker sets the task with `running`. An engine that keeps the task somewhere else
adds a reader with `register`; readers for Dask, Parsl and TaskVine are built in. The decorator calls `current` once per
chunk.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from roastcoffea.worker.facility import batch_job

__all__ = ["Task", "current", "parsl_worker", "register", "running", "whoami"]


class Task(NamedTuple):
    """A task; None for unknown fields. Times are seconds since 1970."""

    key: str | None = None
    worker: str | None = None
    started: float | None = None


_running = threading.local()
_readers: dict[str, Callable[[], Task | None]] = {}


def register(name: str, reader: Callable[[], Task | None]) -> None:
    """Adds a reader, which returns None if its engine runs no task in the calling thread. A reader of the same
    name is replaced."""
    _readers[name] = reader


def current() -> Task | None:
    """The task of the calling thread: the one that was set with `running`, else the first that a reader knows."""
    task: Task | None = getattr(_running, "task", None)
    if task is not None:
        return task
    for reader in _readers.values():
        task = reader()
        if task is not None:
            return task
    return None


@contextmanager
def running(**fields: Any) -> Iterator[None]:
    """Sets the task of the calling thread, with the fields of `Task`, during a ``with`` block."""
    outer = getattr(_running, "task", None)
    _running.task = Task(**fields)
    try:
        yield
    finally:
        _running.task = outer


def _dask() -> Task | None:
    """Dask keeps the task in a variable of each thread. Its worker module is never loaded from here."""
    module = sys.modules.get("distributed.worker")
    state = getattr(module, "thread_state", None)
    started = getattr(state, "start_time", None)
    if started is None:
        return None
    key = getattr(state, "key", None)
    worker = getattr(state, "execution_state", {}).get("worker")
    # A key may be a tuple.
    return Task(None if key is None else str(key), getattr(worker, "address", None), started)


# ---- what does not change as long as a process lives ----

_VINE_FOLDER = re.compile(r"(?:task|func)\.[0-9]+")


def parsl_worker(block: str, pool: str, rank: str | int) -> str:
    """The name of a worker of Parsl's HighThroughputExecutor: the folder of its log, and its rank. Its process may be
    replaced by another one."""
    return f"block-{block}/{pool}/{rank}"


def whoami() -> dict[str, str]:
    """The engine that this process works for, and the resources that it has from it, as texts; unknown ones are left
    out."""
    known = {"engine": _process().engine, "worker": _process().worker, "batch_job": batch_job()}
    if _process().engine == "taskvine":
        known.update({name.lower(): os.environ.get(name) for name in ("CORES", "MEMORY", "DISK")})
    return {name: value for name, value in known.items() if value}


class _Process(NamedTuple):
    pid: int = 0
    engine: str | None = None
    worker: str | None = None
    task: Task | None = None  # if the process runs one task only
    calls: bool = False  # functions are called in it, each in a folder of its own


_known = _Process()


def _process() -> _Process:
    """Looked up once a process; a forked one is another."""
    global _known
    if _known.pid != os.getpid():
        _known = _look()
    return _known


def _look() -> _Process:
    environment, pid = os.environ, os.getpid()
    rank, pool, block = (environment.get(f"PARSL_WORKER_{name}") for name in ("RANK", "POOL_ID", "BLOCK_ID"))
    if rank and pool and block:
        worker = parsl_worker(block, pool, rank)
        return _Process(pid, "parsl", worker, Task(worker=worker))
    if environment.get("CORES") and (folder := _vine_folder()):
        return _Process(pid, "taskvine", None, Task(key=folder), folder.startswith("func."))
    return _Process(pid)


def _vine_folder() -> str | None:
    """TaskVine names a task by the folder that it runs in, and by nothing else."""
    try:
        parts = os.getcwd().split(os.sep)
    except OSError:  # it was removed
        return None
    return next((part for part in reversed(parts) if _VINE_FOLDER.fullmatch(part)), None)


def _of_process() -> Task | None:
    """Parsl and TaskVine name worker or task by what the process was started with."""
    process = _known if _known.pid == os.getpid() else _process()
    if process.calls:
        return Task(key=_vine_folder())
    return process.task


register("dask", _dask)
register("process", _of_process)
