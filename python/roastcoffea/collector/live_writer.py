"""Writes a measurement while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from roastcoffea import _core
from roastcoffea._core import ChunkLog, Run, WorkerSeries
from roastcoffea.aggregation.reports import report_of, sum_reports
from roastcoffea.export.measurements import additions_to
from roastcoffea.common.guard import words
from roastcoffea.coffea.pieces import Pieces

__all__ = ["FAILURES", "LiveWriter", "read_failures"]

# The key of the meta data with the tries that have failed so far. include/roast/run.h says how it is written.
FAILURES = "failed_tries"


def _write_failures(count: int, last: list[tuple[str, str]]) -> str:
    lines = ("\t".join(" ".join(words.split()) for words in one) for one in last)
    return "\n".join([str(count), *lines])


def read_failures(meta: Mapping[str, str]) -> tuple[int, list[tuple[str, str]]]:
    """The number of tries that have failed so far, and the last ones: exception; task and worker."""
    count, *lines = meta.get(FAILURES, "0").split("\n")
    last = [(told, where) for told, _, where in (line.partition("\t") for line in lines)]
    return int(count) if count.isdecimal() else len(last), last


class LiveWriter:
    """Appends the news to a measurement."""

    # A client that is killed loses unwritten data: at most two seconds, including the transfer.
    interval = 1.0

    def __init__(
        self, path: Path, overwrite: bool, meta: Callable[[], dict[str, str]], pieces: Pieces,
        clock: Callable[[], float] = _core.now,
    ) -> None:
        self.path = path
        self.failure: str | None = None  # why something could not be written
        self._meta = meta
        self._pieces = pieces
        self._clock = clock
        self._measurement = _core.LiveMeasurement(path, overwrite=overwrite)
        self._start = clock()
        # Not written yet; kept here if writing fails.
        self._chunks, self._series = ChunkLog(), WorkerSeries()
        self._written = 0, 0  # chunks and samples
        self._report: dict[str, Any] = {}
        self.failures: tuple[int, list[tuple[str, str]]] = (0, [])  # tries: how many, and the last ones

    def take(self, records: list[bytes], samples: WorkerSeries | None) -> None:
        for data in records:
            try:
                self._chunks.merge_unique(ChunkLog.from_bytes(data))
            except ValueError as error:  # a damaged one; the others are kept
                self.failed(error)
        if samples is not None:
            self._series.extend(samples)
        report = sum_reports([self._report, report_of(self._chunks)])
        pieces, done = self._pieces.count(report.get("chunks", 0))
        self._measurement.append(
            Run(
                t_start=self._start, t_end=self._clock(), chunks=self._chunks, series=self._series,
                meta=self._described(), report=report, ending={"pieces": pieces, "pieces_done": done},
            )
        )
        self._report = report
        self._written = self._written[0] + len(self._chunks), self._written[1] + len(self._series)
        self._chunks, self._series = ChunkLog(), WorkerSeries()

    def _described(self) -> dict[str, str]:
        meta = self._meta()
        return {**meta, FAILURES: _write_failures(*self.failures)} if self.failures[0] else meta

    def has_more_than(self, run: Run) -> bool:
        """Whether what was written is missing in a run."""
        return len(run.chunk_log) < self._written[0] or len(run.series or ()) < self._written[1]

    def failed(self, error: Exception) -> None:
        """The run goes on, and the next attempt may succeed; the whole run is written at the end."""
        self.failure = words(error)

    def abandon(self) -> None:
        """Leaves nothing behind."""
        self._measurement.abandon()

    def keep(self, reason: str) -> None:
        """Leaves it as it was written, and says why it is not finished."""
        with suppress(Exception):
            self._measurement.append(
                Run(t_start=self._start, t_end=self._clock(), meta=self._described(), notes=[f"unfinished: {reason}"])
            )
        with suppress(Exception):  # it may have been finished before an interrupt
            self._measurement.close()

    def finish(
        self, run: Run, metrics: Mapping[str, Any], t0: float, t1: float, config: Mapping[str, Any] | None
    ) -> list[str]:
        """Replaces it by the whole run. Returns notes: what could not be saved, or not be written during the run."""
        parts = additions_to(metrics, run, t0, t1, config)
        self._measurement.finish(run, **parts)
        if self.failure is None:
            return parts["notes"]
        return [*parts["notes"], f"not all data was written during the run ({self.failure}); it was saved at the end"]
