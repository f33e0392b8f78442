"""One line with the progress of a run, while it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from roastcoffea._core import ChunkLog, Progress, WorkerSeries, format_value
from roastcoffea.coffea.pieces import Pieces
from roastcoffea.collector.screens import Screen, find_screen

__all__ = ["LiveLine", "seen_in_words"]


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
