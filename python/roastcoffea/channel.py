"""The way of records beside the output: from the process that made them to the one that collects.

A topic is a string ``"<kind>:<rest>"``. The engine holds the records of a topic back for a moment and then
calls `deliver` in the thread that processed the chunk; `flush` sends what is still held back.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from roastcoffea import _core

__all__ = ["close", "deliver", "flush", "flush_later", "read_files", "take_memory"]

_LENGTH = struct.Struct("<I")
_kept: dict[str, list[bytes]] = {}
_closed: deque[str] = deque(maxlen=1000)
_lock = threading.Lock()


def deliver(topic: str, data: bytes) -> None:
    """Sends one packed chunk log; nobody listens to a topic that was closed."""
    if topic in _closed:
        return
    kind, _, rest = topic.partition(":")
    if kind == "memory":
        with _lock:
            _kept.setdefault(topic, []).append(data)
    elif kind == "file":
        _append(Path(rest), data)
    elif kind == "dask":
        _log_event(topic, data)
    else:
        raise ValueError(f"a topic begins with memory:, file: or dask:, not {topic!r}")


def flush(topic: str | None = None) -> None:
    """Sends what this process still holds back, of one topic or of all."""
    _core.flush_outbox(topic)


def flush_later(topic: str, seconds: float) -> None:
    """Sees to it that what is held back now is sent in a moment. In memory it waits for who takes it."""
    if not topic.startswith("dask:"):
        return
    worker = _dask_worker()
    # By way of the loop: the thread of a task must not touch its timers.
    worker.loop.add_callback(worker.loop.call_later, seconds, _flush_on, worker)


def _flush_on(worker: Any) -> None:
    """In the event loop of a worker: what is sent goes through this very worker."""
    from distributed.utils import set_thread_state

    with suppress(Exception), set_thread_state(execution_state={"worker": worker}):
        flush()


def close(topic: str) -> None:
    """Sends what is held back. Chunks that are still running, of a run that failed, send nothing more."""
    flush(topic)
    _closed.append(topic)


def take_memory(topic: str) -> list[bytes]:
    """What was delivered in this process; it is gone afterwards."""
    flush(topic)
    with _lock:
        return _kept.pop(topic, [])


def read_files(
    directory: str | os.PathLike[str], read: dict[str, int] | None = None
) -> list[bytes]:
    """What the processes of this machine have written. One that was killed while it wrote leaves a last
    record that is cut: it is left out. With `read`, what was read there before is left out as well."""
    found: list[bytes] = []
    read = {} if read is None else read
    for path in sorted(Path(directory).glob("*.chunks")):
        with open(path, "rb") as file:
            file.seek(read.get(path.name, 0))
            data = file.read()
        at = 0
        while at + _LENGTH.size <= len(data):
            (size,) = _LENGTH.unpack_from(data, at)
            if at + _LENGTH.size + size > len(data):
                break
            found.append(data[at + _LENGTH.size : at + _LENGTH.size + size])
            at += _LENGTH.size + size
        read[path.name] = read.get(path.name, 0) + at
    return found


def _append(directory: Path, data: bytes) -> None:
    """One write of one record: two threads of a process do not mix, and no lock is needed."""
    path = directory / f"{os.getpid()}.chunks"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, _LENGTH.pack(len(data)) + data)
    finally:
        os.close(descriptor)


def _log_event(topic: str, data: bytes) -> None:
    """From the thread of a task by its own worker; from elsewhere (a flush) by any of this process."""
    _dask_worker().log_event(topic, {"roastcoffea": data})


def _dask_worker() -> Any:
    from distributed import worker as module

    task: Any = vars(module)["thread_state"]
    worker = getattr(task, "execution_state", {}).get("worker")
    if worker is None:
        worker = next(iter(module.Worker._instances), None)
    if worker is None:
        raise ValueError("there is no Dask worker in this process")
    return worker
