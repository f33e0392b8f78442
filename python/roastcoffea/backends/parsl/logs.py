"""The logs of Parsl's HighThroughputExecutor: which process ran which task, and when.

A pool writes `block-<n>/<pool>/manager.log`, each of its workers `worker_<rank>.log` in the same folder, and the
interchange, which runs on the client's machine, `interchange.log`. All begin a line with the seconds since 1970 by the
clock of the machine that writes it. Only lines that say something about workers or tasks are looked at, each once: in Python a
million lines take some seconds, which a run of a million lines (300,000 tasks) does not notice.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from roastcoffea.worker.tasks import parsl_worker

__all__ = ["Execution", "Life", "Logs", "read_logs"]

_PROCESS = re.compile(rb"HTEX-Worker-\d+-(\d+)")
_SAYS = {b"Receive", b"Complet", b"Worker ", b"Manager"}  # how messages about workers and tasks begin
_DIED = re.compile(rb"(\d+\.\d+) .* worker_watchdog ERROR: Worker (\d+) has died\s*$")
_STOPPED = re.compile(rb"(\d+\.\d+) .* process_worker_pool ran for \S+ seconds\s*$")
_REGISTERED = re.compile(rb"(\d+\.\d+) .* Registration info for manager b'([^']+)': .*'hostname': '([^']*)'")
_MISSED = re.compile(rb"(\d+\.\d+) .* Too many heartbeats missed for manager b'([^']+)'")
_HELD = re.compile(rb"(\d+\.\d+) .* HOLD_MANAGER for b'([^']+)'")
_RANK = re.compile(r"worker_(\d+)\.log")


@dataclass
class Life:
    """One process of a worker; the next one of its rank has the same name."""

    worker: str
    pid: int
    joined: float
    host: str | None = None
    left: float | None = None  # None: it was there at the end
    expected: bool = False  # it was told to leave
    by_client: bool = False  # `left` is a moment of the client's clock
    last: float = 0.0  # its last line


@dataclass(slots=True)
class Execution:
    """One try of a task, as its worker saw it."""

    life: Life
    start: float
    stop: float | None = None


@dataclass
class _Interchange:
    hosts: dict[str, str] = field(default_factory=dict)  # of each pool
    missed: dict[str, float] = field(default_factory=dict)  # when a pool was given up
    held: set[str] = field(default_factory=set)  # pools that got no more tasks: they are scaled in


@dataclass
class Logs:
    lives: list[Life] = field(default_factory=list)
    tasks: dict[str, Execution] = field(default_factory=dict)  # by the executor's number of a try


def read_logs(interchange: Path, folder: Path) -> Logs:
    """All workers of one executor whose pools log into `folder`. Files that cannot be read are passed over."""
    logs, known = Logs(), _read_interchange(interchange)
    for pool in sorted(folder.glob("block-*/*")):
        block = pool.parent.name.removeprefix("block-")
        died, stopped = _read_manager(pool / "manager.log")
        for path in sorted(pool.glob("worker_*.log")):
            rank = _RANK.fullmatch(path.name)
            if rank is None:
                continue
            lives = _read_worker(path, parsl_worker(block, pool.name, rank[1]), logs)
            _end_lives(lives, died.get(rank[1], []), stopped, pool.name, known)
            logs.lives += lives
    return logs


def _lines(path: Path, *words: bytes) -> Iterator[bytes]:
    """The lines of a regular file that have one of these words; without words, all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        if not words:
            yield from file
            return
        wanted = re.compile(b"|".join(map(re.escape, words)))
        for line in file:
            if wanted.search(line):
                yield line


def _read_interchange(path: Path) -> _Interchange:
    known = _Interchange()
    for line in _lines(path, b"Registration info", b"heartbeats missed", b"HOLD_MANAGER"):
        if found := _REGISTERED.match(line):
            known.hosts[_text(found[2])] = _text(found[3])
        elif found := _MISSED.match(line):
            known.missed[_text(found[2])] = float(found[1])
        elif found := _HELD.match(line):
            known.held.add(_text(found[2]))
    return known


def _read_manager(path: Path) -> tuple[dict[str, list[float]], float | None]:
    """When the pool noticed that a worker had died, by rank, and when the pool stopped."""
    died: dict[str, list[float]] = {}
    stopped = None
    for line in _lines(path, b"has died", b"process_worker_pool ran"):
        if found := _DIED.match(line):
            died.setdefault(_text(found[2]), []).append(float(found[1]))
        elif found := _STOPPED.match(line):
            stopped = float(found[1])
    return died, stopped


def _read_worker(path: Path, worker: str, logs: Logs) -> list[Life]:
    """A line: time, date, clock, process, thread, place, function and level before the first ": ", then the message."""
    lives: list[Life] = []
    name = b""  # of the process of the last life
    for line in _lines(path):
        head, _, message = line.partition(b": ")
        if message[:7] not in _SAYS:
            continue
        fields = head.split(b" ", 4)
        try:
            when = float(fields[0])
            if fields[3] != name or not lives:  # its first line may be missing
                pid = _PROCESS.fullmatch(fields[3])
                if pid is None:
                    continue
                name = fields[3]
                lives.append(Life(worker, int(pid[1]), when))
            _take(lives[-1], when, message.split(), logs)
        except (IndexError, ValueError):  # a line that is cut, or of somebody else
            continue
    return lives


def _take(life: Life, when: float, words: list[bytes], logs: Logs) -> None:
    life.last = when
    what = words[0]
    if what == b"Received" and words[3].isdigit():
        logs.tasks[words[3].decode()] = Execution(life, when)
    elif what == b"Completed":
        task = logs.tasks.get(_text(words[3]))
        if task is not None and task.life is life:
            task.stop = when
    elif words[-2:] == [b"shutting", b"down"]:
        life.left = when  # an orphan ends when its chunk has ended


def _end_lives(
    lives: list[Life], died: list[float], stopped: float | None, pool: str, known: _Interchange
) -> None:
    """When a process ended is in no log, only when that was noticed: until then its core was taken."""
    for number, life in enumerate(lives):
        life.host = known.hosts.get(pool)
        following = lives[number + 1] if number + 1 < len(lives) else None
        noticed = [when for when in died if life.last <= when and (following is None or when <= following.joined)]
        if noticed or following is not None:
            life.left = noticed[0] if noticed else following.joined if following else None
        elif life.left is None and stopped is not None:
            life.left, life.expected = max(stopped, life.last), True
        elif life.left is None and pool in known.missed:
            life.left, life.expected, life.by_client = known.missed[pool], pool in known.held, True


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
