"""One line with the progress of a run, while it goes on."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from roastcoffea._core import ChunkLog, Progress, WorkerSeries, format_value

__all__ = ["LiveLine", "shows_own_bar"]


def shows_own_bar(executor: Any) -> bool:
    """Whether a Coffea executor draws a progress bar of its own."""
    return bool(getattr(executor, "status", False))


class LiveLine:
    """Rewrites one line of a terminal at each update, until it is stopped.

    If `stream` (default: standard error) is not a terminal, or cannot return to the beginning of a line, nothing is
    written. The line has no colours.
    """

    interval = 0.5

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._progress = Progress(clock())
        self._total = 0
        self._width = 0  # of the text in the terminal
        self._hidden = 0
        self._ended = False
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """Whether there is a terminal to write to."""
        try:
            return self._stream.isatty() and os.environ.get("TERM") != "dumb"
        except (AttributeError, ValueError):  # no stream, or a closed one
            return False

    def expect(self, chunks: int) -> None:
        """So many chunks more will come."""
        with self._lock:  # two threads may call two Runners
            self._total += chunks

    def start(self) -> None:
        """The run begins: rates count from here."""
        self._progress = Progress(self._clock())

    def stop(self) -> None:
        """Erases the line; the cursor is where it began."""
        with self._lock:
            self._ended = True
            self._erase()

    def give_way(self) -> None:
        """Hides the line while Coffea writes; each call needs one come_back()."""
        with self._lock:
            self._hidden += 1
            self._erase()

    def come_back(self) -> None:
        with self._lock:
            self._hidden = max(0, self._hidden - 1)

    # ---- the text ----

    def take(self, records: list[bytes], samples: WorkerSeries | None) -> None:
        if self._ended:
            return
        now = self._clock()
        for data in records:
            self._progress.add_chunks(ChunkLog.from_bytes(data), now)
        if samples is not None:
            self._progress.add_series(samples)
        line = self._words(now)
        with self._lock:
            self._write(line)

    def failed(self, error: Exception) -> None:
        """Switches the line off: the run matters more."""
        self.stop()

    def _words(self, now: float) -> str:
        seen = self._progress.look(now, self._total)
        done = format_value(seen["chunks"], "1")
        parts = [f"{done} of {format_value(self._total, '1')} chunks" if self._total else f"{done} chunks"]
        if seen["failed"]:
            parts.append(f"{format_value(seen['failed'], '1')} failed")
        if seen["byte_rate"] is not None:
            parts.append(format_value(seen["byte_rate"] * 8e-9, "Gbit/s"))
        if seen["event_rate"] is not None:
            parts.append(format_value(seen["event_rate"], "Hz"))
        if seen["workers"] is not None:
            workers = int(seen["workers"])
            parts.append(f"{format_value(workers, '1')} worker{'' if workers == 1 else 's'}")
        if seen["memory"] is not None:
            limit = f" of {format_value(seen['memory_limit'], 'bytes')}" if seen["memory_limit"] else ""
            parts.append(f"{format_value(seen['memory'], 'bytes')}{limit}")
        if seen["seconds_left"] is not None:
            parts.append(f"{format_value(seen['seconds_left'], 's')} left")
        return " · ".join(parts)

    # ---- the terminal ----

    def _write(self, line: str) -> None:
        if self._hidden or self._ended:
            return
        # One column stays free: a full line would make the terminal begin another one.
        line = line[: max(self._columns() - 1, 1)]
        self._put("\r" + line + " " * (self._width - len(line)))
        self._width = len(line)

    def _columns(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (AttributeError, OSError, ValueError):
            columns = 0
        # A terminal that does not know its width says 0.
        return columns or shutil.get_terminal_size().columns

    def _erase(self) -> None:
        if self._width:
            self._put("\r" + " " * self._width + "\r")
            self._width = 0

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone
            pass
