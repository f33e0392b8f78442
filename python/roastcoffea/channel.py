"""The way of records beside the output: from the process that made them to the one that collects.

A topic is a string ``"<kind>:<rest>"``. The engine holds the records of a topic back for a moment and then
calls `deliver` in the thread that processed the chunk; `flush` sends what is still held back.
"""

from __future__ import annotations

import os
import secrets
import stat
import struct
import threading
import weakref
import zlib
from collections import deque
from contextlib import suppress
from typing import Any

from roastcoffea import _core

__all__ = ["SharedFile", "close", "deliver", "flush", "flush_later", "take_memory"]

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
        _append(rest, data)
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


# Before each record in a shared file: a sign by which records are found again behind damage, length and checksum.
_SIGN = b"\x89roast\r\n"
_HEAD = struct.Struct("<8sII")
_TOKEN_BYTES = 16


class SharedFile:
    """A file in memory that the processes of this machine append records to.

    It has no name in any folder: nothing is left behind, however this process ends, and no full disk concerns it.
    Others open it as this process's descriptor; the token at its beginning tells them that it is the one they mean.
    """

    def __init__(self) -> None:
        """An OSError or AttributeError where the system has no such files."""
        self.damaged = 0  # places where something was written that is no record
        token = secrets.token_bytes(_TOKEN_BYTES)
        self._descriptor = os.memfd_create("roastcoffea")
        self._close = weakref.finalize(self, os.close, self._descriptor)
        os.write(self._descriptor, token)
        self._read = _TOKEN_BYTES
        self.topic = f"file:/proc/{os.getpid()}/fd/{self._descriptor}?{token.hex()}"

    def read(self, last: bool = False) -> list[bytes]:
        """The records that were written since the last call. A record that is not complete waits for the next
        call; there is none after the `last`."""
        data = b""
        while len(data) < (left := os.fstat(self._descriptor).st_size - self._read):
            data += os.pread(self._descriptor, left - len(data), self._read + len(data))
        found: list[bytes] = []
        at = 0
        while len(data) - at >= _HEAD.size:
            sign, length, checksum = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + length
            if sign == _SIGN and end > len(data) and not last:
                break
            record = data[at + _HEAD.size : end]
            if sign == _SIGN and len(record) == length and zlib.crc32(record) == checksum:
                found.append(record)
                at = end
                continue
            self.damaged += 1
            at = data.find(_SIGN, at + 1)
            if at < 0:
                at = len(data)
        self._read += at
        return found

    def close(self) -> None:
        self._close()


def _append(rest: str, data: bytes) -> None:
    """One write of one record: several writers do not mix."""
    path, _, token = rest.rpartition("?")
    # A descriptor that was closed may be a device of the user's by now, which is not to be opened.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("the collector has closed the file of the records")
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        if os.pread(descriptor, _TOKEN_BYTES, 0) != bytes.fromhex(token):
            raise ValueError("the collector has closed the file of the records")
        record = _HEAD.pack(_SIGN, len(data), zlib.crc32(data)) + data
        written = os.write(descriptor, record)
        if written != len(record):
            raise OSError(f"only {written} of {len(record)} bytes of a record could be written")
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
