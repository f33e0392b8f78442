"""The task of the calling thread, as its engine knows it.

An engine whose wrapper runs in the worker sets the task with `running`. An engine that keeps the task somewhere else
adds a reader with `register`; the reader of Dask is built in. The decorator calls `current` once per chunk.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

__all__ = ["Task", "current", "register", "running"]


class Task(NamedTuple):
    """A task; None for unknown fields. Times are seconds since 1970."""

    key: str | None = None
    attempt: int | None = None
    worker: str | None = None
    sent: float | None = None
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
    return Task(None if key is None else str(key), None, getattr(worker, "address", None), None, started)


register("dask", _dask)
