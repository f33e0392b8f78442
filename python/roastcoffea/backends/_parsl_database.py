"""The database of Parsl's monitoring hub, where it is on: CPU time of the workers, and tries whose logs cannot be seen.

It is opened read-only. Its times are local times of the client, without a zone. A fork of the worker measures while a
task runs, and counts itself: memory, which both share, is left out; its CPU time is small, and in the readings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

__all__ = ["Reading", "Started", "database_of", "read_database"]

_SECONDS_TO_WAIT = 2.0  # for a lock of the hub


class Started(NamedTuple):
    """A try, as the worker reported it."""

    task: int
    number: int  # of the try, from 0
    start: float
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


def read_database(path: Path, run: str) -> tuple[list[Started], list[Reading]]:
    """The tries that started, and the readings of processes in the order of time. sqlite3.Error: it cannot be read."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_SECONDS_TO_WAIT)) as database:
        started = [
            Started(task, number, when, host, ended is not None)
            for task, number, host, ended, when in _timed(database.execute(
                "SELECT task_id, try_id, hostname, task_try_time_returned, task_try_time_running FROM try "
                "WHERE run_id = ?", (run,)))
        ]
        readings = [
            Reading(task, number, when, pid, user + system)
            for task, number, pid, user, system, when in _timed(database.execute(
                "SELECT task_id, try_id, psutil_process_pid, psutil_process_time_user, psutil_process_time_system, "
                "timestamp FROM resource WHERE run_id = ? ORDER BY timestamp", (run,)))
            if None not in (pid, user, system)
        ]
    return started, readings


def _timed(rows: Iterator[tuple]) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Rows with the last column as seconds since 1970; those without it are left out."""
    for *values, local in rows:
        if local is not None:
            yield *values, datetime.fromisoformat(local).timestamp()
