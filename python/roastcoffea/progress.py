"""One line with the progress of a run, while it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from roastcoffea._core import ChunkLog, Progress, WorkerSeries, format_value
from roastcoffea.screens import Screen, find_screen

__all__ = ["Counted", "LiveLine", "Pieces", "seen_in_words"]


class Counted(NamedTuple):
    """The pieces of work of one call of a Runner."""

    pieces: int
    done: int | None  # None: only the records of chunks tell
    tracked: bool  # whether each piece leaves a record

    def state(self) -> Counted:
        return self


class Call(Protocol):
    def state(self) -> Counted:
        """What is known of it now."""


class Pieces:
    """The pieces of work of all calls of Runners so far."""

    def __init__(self) -> None:
        self.records_arrive = True  # during the run, not with the output alone
        self.tasks_done: int | None = None  # as the engine knows it, where records do not arrive
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def call_ends(self, call: Call) -> None:
        """The call itself is not kept: it holds objects of the user."""
        self._calls[:] = [one.state() if one is call else one for one in self._calls]

    def count(self, records: int) -> tuple[int | None, int | None]:
        """How many there are, and how many of them are done; None: not known. `records`: how many chunks have left a
        record of success."""
        calls = [call.state() for call in list(self._calls)]
        if not calls:
            return None, None
        pieces, known = sum(call.pieces for call in calls), [call.done for call in calls if call.done is not None]
        if len(known) == len(calls):
            return pieces, sum(known)
        # A piece whose result was lost with its worker leaves two records.
        told = self.records_arrive and all(call.tracked for call in calls)
        done = records if told else self.tasks_done
        return pieces, None if done is None else min(done, pieces)


class LiveLine:
    """Replaces one line of `screen` at each update, until it is stopped. `own_limits`: whether each worker has a memory
    limit of its own; processes of one machine share one, and a sum of it would be wrong."""

    interval = 0.5

    def __init__(
        self, pieces: Pieces, screen: Screen, own_limits: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pieces = pieces
        self._screen = screen
        self._own_limits = own_limits
        self._clock = clock
        self._progress = Progress(clock())
        self._stopped = False
        self._lock = threading.Lock()

    @classmethod
    def on_screen(cls, pieces: Pieces, own_limits: bool) -> LiveLine | None:
        """A line in the terminal or the notebook; None if there is neither."""
        screen = find_screen()
        return None if screen is None else cls(pieces, screen, own_limits)

    def start(self) -> None:
        """The run begins: rates count from here."""
        self._progress = Progress(self._clock())
        self._screen.begin()

    def stop(self) -> None:
        """Erases the line."""
        with self._lock:
            if not self._stopped:
                self._screen.erase()
            self._stopped = True

    def end(self, text: str) -> None:
        """The last state of the line, which stays."""
        self.stop()
        self._screen.end(text)

    def take(self, records: list[bytes], samples: WorkerSeries | None) -> None:
        now = self._clock()
        for data in records:
            self._progress.add_chunks(ChunkLog.from_bytes(data), now)
        if samples is not None:
            self._progress.add_series(samples)
        parts = self._words(now)
        with self._lock:
            if not self._stopped:
                self._screen.show(fitted(parts, self._screen.columns))

    def failed(self, error: Exception) -> None:
        """Hides the line until there are news again."""
        with self._lock:
            if not self._stopped:
                self._screen.erase()

    def _words(self, now: float) -> list[str]:
        records = self._progress.look(now)["chunks"]
        pieces, done = self._pieces.count(records)
        seen: dict[str, Any] = dict(self._progress.look(now, pieces or 0))
        if not self._own_limits:
            seen["memory_limit"] = None
        return seen_in_words(seen, pieces, done)


def seen_in_words(seen: Mapping[str, Any], pieces: int | None = None, done: int | None = None) -> list[str]:
    """What `Progress.look` says, the most important first; `pieces` and `done` as of `Pieces.count`."""
    parts = [_chunks(seen["chunks"], pieces, done)]
    if seen["failed"]:
        parts.append(f"{format_value(seen['failed'], '1')} failed")
    if seen["seconds_left"]:
        parts.append(f"{format_value(seen['seconds_left'], 's')} left")
    if seen["event_rate"] is not None:
        parts.append(format_value(seen["event_rate"], "Hz"))
    if seen["byte_rate"] is not None:
        parts.append(format_value(seen["byte_rate"] * 8e-9, "Gbit/s"))
    if seen["workers"] is not None:
        workers = int(seen["workers"])
        parts.append(f"{format_value(workers, '1')} worker{'' if workers == 1 else 's'}")
    if seen["memory"] is not None:
        limit = seen["memory_limit"]
        of_it = f" of {format_value(limit, 'bytes')}" if limit else ""
        parts.append(f"{format_value(seen['memory'], 'bytes')}{of_it}")
    return parts


def _chunks(records: int, pieces: int | None, done: int | None) -> str:
    if pieces is None:
        return f"{format_value(records, '1')} chunk{'' if records == 1 else 's'}" if records else "no chunk yet"
    counted = "" if done is None else f"{format_value(done, '1')} of "
    return f"{counted}{format_value(pieces, '1')} chunk{'' if pieces == 1 else 's'}"


def fitted(parts: list[str], columns: int | None) -> str:
    """The parts as one line, without the last ones if it would be too long."""
    kept = list(parts)
    while columns is not None and len(kept) > 1 and len(" · ".join(kept)) > columns:
        kept.pop()
    line = " · ".join(kept)
    return line if columns is None or len(line) <= columns else f"{line[:columns - 1]}…"
