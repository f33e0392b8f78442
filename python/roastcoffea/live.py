"""Writes a measurement while the run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from roastcoffea import _core
from roastcoffea._core import ChunkLog, Run, WorkerSeries
from roastcoffea.export.measurements import Beside
from roastcoffea.progress import News

__all__ = ["LiveWriter"]

# A client that is killed loses what it did not yet write: at most two seconds, the way here included.
INTERVAL = 1.0


class LiveWriter:
    """A thread that fetches what is new and appends it to a measurement."""

    def __init__(
        self,
        path: Path,
        overwrite: bool,
        source: News,
        meta: Callable[[], dict[str, str]],
        clock: Callable[[], float] = _core.now,
        interval: float = INTERVAL,
    ) -> None:
        self.path = path
        self.failure: str | None = None
        self._meta = meta
        self._source = source
        self._interval = interval
        self._clock = clock
        self._measurement = _core.LiveMeasurement(path, overwrite=overwrite)
        self._start = clock()
        # What was fetched and is not written yet: it waits there when a look fails.
        self._chunks, self._series = ChunkLog(), WorkerSeries()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="roastcoffea-live", daemon=True)

    def start(self) -> None:
        self._start = self._clock()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; what is new since the last look comes with the whole run."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def abandon(self) -> None:
        """Leaves nothing behind."""
        self.stop()
        self._measurement.abandon()

    def finish(self, run: Run, beside: Beside) -> None:
        """Puts the whole run in its place."""
        self._measurement.finish(run, **beside)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.append()
            except Exception as error:
                # The run goes on, and the next look may succeed; the whole run is written at the end.
                self.failure = f"{type(error).__name__}: {error}"

    def append(self) -> None:
        logs, piece = self._source.news()
        for data in logs:
            try:
                self._chunks.merge_unique(ChunkLog.from_bytes(data))
            except ValueError as error:  # a damaged one, which costs the others nothing
                self.failure = f"{type(error).__name__}: {error}"
        if piece is not None:
            self._series.extend(piece)
        self._measurement.append(
            Run(t_start=self._start, t_end=self._clock(), chunks=self._chunks, series=self._series, meta=self._meta())
        )
        self._chunks, self._series = ChunkLog(), WorkerSeries()
