"""The numbers of a run in a file for node_exporter's textfile collector."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from roastcoffea._core import ChunkLog, Progress, Run, Tally, WorkerSeries, prometheus_live
from roastcoffea.common.guard import words

__all__ = ["TextFile", "textfile_path"]


def textfile_path(given: str | os.PathLike[str] | None) -> Path | None:
    """Says at once if node_exporter would not read it."""
    if given is None:
        return None
    path = Path(given)
    if path.suffix != ".prom":
        raise ValueError(f"textfile: node_exporter reads files whose names end with .prom, not {path.name!r}")
    return path


class TextFile:
    """Replaces the file at each interval, and at the end by all metrics with budget and findings."""

    def __init__(self, path: Path, label: str, interval: float) -> None:
        self.path, self.interval = path.absolute(), interval
        self.failure: str | None = None  # why something could not be written
        self._label, self._started = label, time.time()
        self._tally, self._progress = Tally(), Progress(time.monotonic())
        self._due = 0.0
        self._written: os.stat_result | None = None  # the file as we have made it

    def begin(self) -> None:
        """Raises if the file cannot be written."""
        self._write(self._live(True))

    def take(self, records: list[bytes], samples: WorkerSeries | None) -> None:
        for data in records:
            try:
                self._tally.add(ChunkLog.from_bytes(data))
            except ValueError as error:  # a damaged one
                self.failed(error)
        if samples is not None:
            self._progress.add_series(samples)
        if time.monotonic() >= self._due:
            self._write(self._live(True))

    def failed(self, error: Exception) -> None:
        """The run goes on, and the next attempt may succeed."""
        self.failure = words(error)

    def abandon(self) -> None:
        """Leaves nothing behind; a file of another process is not touched."""
        with suppress(OSError):
            if self._written is not None and os.path.samestat(self.path.stat(), self._written):
                self.path.unlink()

    def end(self, run: Run | None, chunks: list[Any]) -> None:
        """`chunks` are all of the run: the news of the last ones may not have been taken."""
        if isinstance(chunks, ChunkLog):
            self._tally = Tally()
            self._tally.add(chunks)
        final = "" if run is None else run.prometheus(self._label)
        self._write(final + self._live(False))

    def _live(self, is_open: bool) -> str:
        seen: dict[str, Any] = dict(self._progress.look(time.monotonic())) if is_open else {}
        return prometheus_live([{
            "run": self._label, "tally": self._tally, "run_open": is_open, "run_start_time": self._started,
            "workers": seen.get("workers"), "memory": seen.get("memory"),
        }])

    def _write(self, content: str) -> None:
        """By rename: a reader sees the old file or the new one. node_exporter may run as another user."""
        self._due = time.monotonic() + self.interval
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        with suppress(FileNotFoundError):
            temporary.unlink()  # of a process that was killed
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            with open(file, "w", encoding="utf-8") as out:
                out.write(content)
            self._written = temporary.stat()
            os.replace(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
