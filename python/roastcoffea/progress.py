"""One line that says how far a run has come, while it goes on."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from roastcoffea._core import ChunkLog, Progress, WorkerSeries, format_value

__all__ = ["LiveLine", "NewsReader", "SharedNews", "shows_own_bar"]

# How often the line is written anew.
INTERVAL = 0.5


class News(Protocol):
    """Who tells what is new: a backend, or a reader of shared news."""

    def news(self) -> tuple[list[bytes], WorkerSeries | None]: ...


class SharedNews:
    """The news of a backend for several readers: each gets all of it, and the backend is asked by
    one at a time."""

    def __init__(self, backend: News) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        # A reader that nobody holds any more is one for whom nothing need be kept.
        self._readers: weakref.WeakSet[NewsReader] = weakref.WeakSet()

    def reader(self) -> NewsReader:
        """Told of all that comes from now on."""
        made = NewsReader(self)
        with self._lock:
            self._readers.add(made)
        return made

    def tell(self, reader: NewsReader) -> tuple[list[bytes], WorkerSeries | None]:
        with self._lock:
            self._readers.add(reader)
            logs, piece = self._backend.news()
            for one in self._readers:
                one.keep(logs, piece)
            return reader.take()

    def leave(self, reader: NewsReader) -> None:
        with self._lock:
            self._readers.discard(reader)
            reader.take()


class NewsReader:
    """One who is told the news of a backend."""

    def __init__(self, shared: SharedNews) -> None:
        self._shared = shared
        self._logs: list[bytes] = []
        self._series: WorkerSeries | None = None

    def news(self) -> tuple[list[bytes], WorkerSeries | None]:
        """All that is new to this reader."""
        return self._shared.tell(self)

    def close(self) -> None:
        """Nothing is kept for it until it asks again."""
        self._shared.leave(self)

    def keep(self, logs: list[bytes], piece: WorkerSeries | None) -> None:
        self._logs += logs
        if piece is not None:
            if self._series is None:
                self._series = WorkerSeries()
            self._series.extend(piece)

    def take(self) -> tuple[list[bytes], WorkerSeries | None]:
        told = self._logs, self._series
        self._logs, self._series = [], None
        return told


def shows_own_bar(executor: Any) -> bool:
    """Whether a Coffea executor draws a progress bar of its own."""
    return bool(getattr(executor, "status", False))


class LiveLine:
    """Rewrites one line of a terminal until it is stopped.

    Where `stream` (standard error, if it is not given) is no terminal, or one that cannot go back to
    the beginning of a line, nothing is ever written. The line has no colours.
    """

    def __init__(
        self,
        source: News,
        stream: TextIO | None = None,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._stream = sys.stderr if stream is None else stream
        self._interval = interval
        self._clock = clock
        self._progress = Progress(clock())
        self._total = 0
        self._width = 0  # of what stands in the terminal
        self._hidden = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def active(self) -> bool:
        """Whether there is a terminal to write to."""
        try:
            return self._stream.isatty() and os.environ.get("TERM") != "dumb"
        except (AttributeError, ValueError):  # no stream, or a closed one
            return False

    def expect(self, chunks: int) -> None:
        """So many chunks more will come."""
        self._total += chunks

    def start(self) -> None:
        if not self.active:
            self._leave()
        elif self._thread is None:
            self._progress = Progress(self._clock())
            self._total = 0
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="roastcoffea-line", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Takes the line away; the cursor stands where it began."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._leave()
        with self._lock:
            self._erase()

    def give_way(self) -> None:
        """From now on somebody else writes there; come_back() as often ends it."""
        with self._lock:
            self._hidden += 1
            self._erase()

    def come_back(self) -> None:
        with self._lock:
            self._hidden = max(0, self._hidden - 1)

    def __enter__(self) -> LiveLine:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # ---- what is shown ----

    def look(self) -> str:
        """Fetches what is new; the line."""
        logs, piece = self._source.news()
        now = self._clock()
        for data in logs:
            self._progress.add_chunks(ChunkLog.from_bytes(data), now)
        if piece is not None:
            self._progress.add_series(piece)
        return self._words(now)

    def _words(self, now: float) -> str:
        seen = self._progress.look(now, self._total)
        done = format_value(seen["chunks"], "1")
        parts = [
            (
                f"{done} of {format_value(self._total, '1')} chunks"
                if self._total
                else f"{done} chunks"
            )
        ]
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
            limit = (
                f" of {format_value(seen['memory_limit'], 'bytes')}" if seen["memory_limit"] else ""
            )
            parts.append(f"{format_value(seen['memory'], 'bytes')}{limit}")
        if seen["seconds_left"] is not None:
            parts.append(f"{format_value(seen['seconds_left'], 's')} left")
        return " · ".join(parts)

    # ---- the terminal ----

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                line = self.look()
                with self._lock:
                    self._write(line)
            except Exception:
                # The run is worth more than a line about it: no more of it.
                with self._lock:
                    self._erase()
                self._leave()
                return

    def _leave(self) -> None:
        """Nothing need be kept for a line that is not shown."""
        if isinstance(self._source, NewsReader):
            self._source.close()

    def _write(self, line: str) -> None:
        if self._hidden or self._stop.is_set():
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
