"""Sends records, independently of the output, from the process that made them to the one that collects them.

A topic is a string ``"<kind>:<rest>"``, an attribute of the processor. The decorator calls `put` with each chunk.
Records of a topic are collected for a moment and sent together by the sender that is registered for the kind.
"""

from __future__ import annotations

import importlib
import os
import secrets
import stat
import struct
import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from roastcoffea._core import ChunkLog

__all__ = ["SharedFile", "carried", "close", "deliver", "flush", "put", "register", "take_memory"]

# A message costs its sender some 10 µs where many are sent, and on Dask, with the event loops of worker and scheduler,
# 1 ms of CPU time: with one message a second or for this many chunks, messages take 0.1 % of a core at most.
_MOST = 256
_DUE_SECONDS = 1.0
_MOST_TOPICS = 64  # with records that wait


class _Way(NamedTuple):
    send: Callable[[str, bytes], None] | None
    flush_later: Callable[[str, float], None] | None
    at_once: bool


class _Held:
    """Records of a topic that were not sent yet. In a deque, threads add and take without a lock, which a forked
    process could inherit locked."""

    def __init__(self) -> None:
        self.logs: deque[ChunkLog] = deque()
        self.since = 0.0


_ways: dict[str, _Way] = {}
_modules = {"dask": "roastcoffea.backends.dask.channel"}  # loaded with the first topic of their kind
_held: dict[str, _Held] = {}
_kept: dict[str, list[bytes]] = {}
_closed: deque[str] = deque(maxlen=1000)
_lock = threading.Lock()
os.register_at_fork(after_in_child=_held.clear)  # the parent sends its records itself


def register(
    kind: str,
    send: Callable[[str, bytes], None] | None,
    flush_later: Callable[[str, float], None] | None = None,
    at_once: bool = False,
) -> None:
    """Adds a kind of topic, or replaces it.

    `send` gets the topic and one packed chunk log, in the thread that processed a chunk or in the one that flushes.
    None: topics of this kind only name a run, nothing is sent. `flush_later` gets the topic and arranges that `flush`
    is called after so many seconds, as the next chunk may take long; without it records wait for the next chunk or for
    the end of the run. `at_once`: each record is sent alone, without waiting.
    """
    _ways[kind] = _Way(send, flush_later, at_once)


def _way(topic: str) -> _Way:
    kind = topic.partition(":")[0]
    if kind not in _ways and kind in _modules:
        importlib.import_module(_modules[kind])
    if kind not in _ways:
        raise ValueError(f"no channel is registered for records of the kind {kind!r}")
    return _ways[kind]


_work = threading.local()


@contextmanager
def carried() -> Iterator[list[ChunkLog]]:
    """Collects the records of this thread during a ``with`` block, so that the outputs need not take them along."""
    outer, _work.records = getattr(_work, "records", None), []
    try:
        yield _work.records
    finally:
        _work.records = outer


def put(topic: str | None, log: ChunkLog, raised: bool) -> ChunkLog | None:
    """Takes the record of a chunk, and sends the records that are due. Returns the records that the output of this
    chunk takes along; with `carried` there are none. On topics without a sender, tries of this process that raised,
    which have no output, go with the next one."""
    records: list[ChunkLog] | None = getattr(_work, "records", None)
    if records is not None and not raised:
        records.append(log)
    earlier = None if topic is None else _send_apart(topic, log.copy(), raised)
    if earlier is None:
        return log if records is None and not raised else None
    if records is None:
        earlier += log
        return earlier
    records.append(earlier)
    return None


def _send_apart(topic: str, log: ChunkLog, raised: bool) -> ChunkLog | None:
    way = _way(topic)
    if way.at_once:
        deliver(topic, log.to_bytes())
        return None
    held = _held.get(topic)
    if way.send is None and not raised:
        return None if held is None else _take(held)
    if held is None:
        if topic in _closed:
            return None
        held = _hold(topic)
    if way.send is None:
        held.logs.append(log)
        if len(held.logs) > _MOST:
            held.logs.popleft()
        return None
    now = time.monotonic()
    begins = not held.logs
    if begins:
        held.since = now
    held.logs.append(log)
    if raised or len(held.logs) >= _MOST or now - held.since >= _DUE_SECONDS:
        _send(topic, held)
    elif begins and way.flush_later is not None:
        way.flush_later(topic, _DUE_SECONDS)
    return None


def _hold(topic: str) -> _Held:
    """Of runs long ago nothing is kept: their end may never have been told here."""
    held = _held.setdefault(topic, _Held())
    for old in list(_held)[:-_MOST_TOPICS]:
        flush(old)
        _held.pop(old, None)
    return held


def _take(held: _Held) -> ChunkLog | None:
    """All waiting records as one log."""
    logs: list[ChunkLog] = []
    with suppress(IndexError):  # another thread may take some of them
        while True:
            logs.append(held.logs.popleft())
    if not logs:
        return None
    whole = logs[0]
    for log in logs[1:]:
        whole += log
    return whole


def _send(topic: str, held: _Held) -> None:
    """A record that cannot be delivered is dropped: the output has it as well."""
    whole = _take(held)
    if whole is not None:
        deliver(topic, whole.to_bytes())


def deliver(topic: str, data: bytes) -> None:
    """Sends one packed chunk log, unless the topic was closed."""
    way = _way(topic)
    if way.send is not None and topic not in _closed:
        way.send(topic, data)


def flush(topic: str | None = None) -> None:
    """Sends the waiting records of this process, of one topic or of all."""
    for each in list(_held) if topic is None else [topic]:
        if (held := _held.get(each)) is not None:
            _send(each, held)


def close(topic: str) -> None:
    """Sends the waiting records. Chunks of a failed run that are still running send nothing more."""
    flush(topic)
    _closed.append(topic)
    _held.pop(topic, None)


def forget(topic: str) -> None:
    """The same, and drops what was delivered in this process."""
    if topic not in _closed:
        close(topic)
    with _lock:
        _kept.pop(topic, None)


def _keep(topic: str, data: bytes) -> None:
    with _lock:
        _kept.setdefault(topic, []).append(data)


def take_memory(topic: str) -> list[bytes]:
    """Takes the records that were delivered in this process."""
    flush(topic)
    with _lock:
        return _kept.pop(topic, [])


# Before each record in a shared file: a mark to find records after damage, length and checksum.
_SIGN = b"\x89roast\r\n"
_HEAD = struct.Struct("<8sII")
_TOKEN_BYTES = 16


class SharedFile:
    """A file in memory that the processes of this machine append records to.

    The file has no name in any folder: nothing is left behind, however this process ends, and a full disk does not
    matter. Other processes open it through the descriptor of this process; the token at its beginning identifies it.
    """

    def __init__(self) -> None:
        """Raises an OSError or AttributeError if the system has no such files."""
        self.damaged = 0  # places with bytes that are no record
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


def _append(topic: str, data: bytes) -> None:
    """One write of one record: several writers do not mix."""
    path, _, token = topic.partition(":")[2].rpartition("?")
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


register("memory", _keep)
# A process of a pool ends without notice.
register("file", _append, at_once=True)
# Only identifies the run.
register("run", None)
