"""The database of Parsl's monitoring hub, where it is on: CPU time of the workers, and tries whose logs cannot be seen.

It is opened read-only. Its times are local times of the client, without a zone. A fork of the worker measures while a
task runs, and counts itself: memory, which both share, is left out; its CPU time is small, and in the readings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

__all__ = ["Database", "Reading", "Started", "database_of"]

_SECONDS_TO_WAIT = 2.0  # for a lock of the hub


class Started(NamedTuple):
    """A try, as the worker reported it."""

    task: int
    number: int  # of the try, from 0
    start: float
    stop: float | None  # None: the worker did not report it
    host: str | None
    ended: bool


class Reading(NamedTuple):
    task: int
    number: int
    when: float
    pid: int
    cpu: float  # seconds since the process started


def database_of(endpoint: str | None) -> Path | None:
    """The file of the hub's endpoint; None: it is no SQLite database."""
    path = (endpoint or "").removeprefix("sqlite:///")
    return Path(path) if path and path != endpoint else None


class Database:
    """The database of a hub that may still write to it. sqlite3.Error: it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_SECONDS_TO_WAIT)

    def version(self) -> int:
        """Another number when somebody has written to it since the last call: a look at the head of the file."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def read(self, run: str) -> tuple[list[Started], list[Reading]]:
        """The tries that started, and the readings of processes in the order of time."""
        started = [
            Started(task, number, start, None if stop is None else _moment(stop), host, ended is not None)
            for task, number, host, ended, stop, start in _timed(self._connection.execute(
                "SELECT try.task_id, try.try_id, hostname, task_try_time_returned, status.timestamp, task_try_time_running "
                "FROM try LEFT JOIN status ON status.run_id = try.run_id AND status.task_id = try.task_id "
                "AND status.try_id = try.try_id AND task_status_name = 'running_ended' WHERE try.run_id = ?", (run,)))
        ]
        readings = [
            Reading(task, number, when, pid, user + system)
            for task, number, pid, user, system, when in _timed(self._connection.execute(
                "SELECT task_id, try_id, psutil_process_pid, psutil_process_time_user, psutil_process_time_system, "
                "timestamp FROM resource WHERE run_id = ? ORDER BY timestamp", (run,)))
            if None not in (pid, user, system)
        ]
        return started, readings

    def close(self) -> None:
        self._connection.close()


def _moment(local: str) -> float:
    return datetime.fromisoformat(local).timestamp()


def _timed(rows: Iterator[tuple]) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Rows with the last column as seconds since 1970; those without it are left out."""
    for *values, local in rows:
        if local is not None:
            yield *values, _moment(local)
