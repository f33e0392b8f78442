"""Fetches news while a run goes on, for the live line and the measurement on disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from roastcoffea._core import WorkerSeries

__all__ = ["NewsSource", "NewsThread", "Taker"]


class NewsSource(Protocol):
    def news(self) -> tuple[Any, ...]:
        """Packed chunk logs and samples, each once; and the tries that have failed and the processing tasks that are done
        so far, where they are known."""


class Taker(Protocol):
    """A receiver of the news."""

    @property
    def interval(self) -> float:
        """Seconds between two calls of `take`."""

    def take(self, records: list[bytes], samples: WorkerSeries | None) -> None: ...

    def failed(self, error: Exception) -> None:
        """The news could not be fetched, or `take` has raised."""


@runtime_checkable
class FailureTaker(Taker, Protocol):
    """A receiver that also wants the tries that have failed so far: how many, and the last ones."""

    failures: tuple[int, list[tuple[str, str]]]


class Counter(Protocol):
    """Counts the pieces of work that are done."""

    tasks_done: int | None


class NewsThread:
    """A thread that asks a source and gives the news to each taker."""

    def __init__(self, source: NewsSource, takers: Sequence[Taker], pieces: Counter | None = None) -> None:
        self._source = source
        self._pieces = pieces
        self._takers = takers
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._takers:
            self._thread = threading.Thread(target=self._run, name="roastcoffea-news", daemon=True)
            self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Returns whether it has ended, within so many seconds. A second call waits again."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True

    def look(self) -> None:
        try:
            records, samples, *more = self._source.news()
            if self._pieces is not None and len(more) > 1:
                self._pieces.tasks_done = more[1]
        except Exception as error:
            for taker in self._takers:
                _tell(taker, error)
            return
        for taker in self._takers:
            try:
                if more and isinstance(taker, FailureTaker):
                    taker.failures = more[0]
                taker.take(records, samples)
            except Exception as error:
                _tell(taker, error)

    def _run(self) -> None:
        interval = min(taker.interval for taker in self._takers)
        while not self._stop.wait(interval):
            self.look()


def _tell(taker: Taker, error: Exception) -> None:
    with suppress(Exception):  # the other takers need the thread
        taker.failed(error)
