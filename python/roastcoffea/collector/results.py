"""The results of a run, just collected or from disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roastcoffea._core import Run, Summary
from roastcoffea.advice import Advice
from roastcoffea.common.answers import print_drawn
from roastcoffea.comparison import Comparison
from roastcoffea.export.measurements import SavedMeasurement, read_measurement
from roastcoffea.what_if import WhatIf

__all__ = ["Results", "SavedRun", "compare", "open_run", "runs_of"]


class Results:
    """Results of a run; a derived class has ``metrics`` and ``run``."""

    if TYPE_CHECKING:  # properties or attributes

        @property
        def metrics(self) -> dict[str, Any] | None: ...

        @property
        def run(self) -> Run | None: ...

    def _ready_metrics(self) -> dict[str, Any]:
        if self.metrics is None:
            raise RuntimeError(
                "there is nothing to show yet: the summary is there when the `with` block has ended"
            )
        return self.metrics

    def _shown_metrics(self) -> Mapping[str, Any] | Run:
        """The metrics of the summary."""
        return self._ready_metrics()

    def print_summary(self, full: bool = False) -> None:
        """Prints one screen: the outcome, rates, efficiency, the first findings, the budget.

        Args:
            full: Whether to print all tables.
        """
        metrics = self._shown_metrics()
        try:
            from roastcoffea.export.reporter import print_tables
        except ImportError:  # rich is missing: it only hands on what the engine draws
            summary = Summary(metrics, self.run)
            print_drawn(lambda width, color: summary.draw(width, color, full=full))
        else:
            print_tables(metrics, run=self.run, full=full)

    def plot_all(self, folder: str | os.PathLike[str], format: str = "png") -> dict[str, Path]:
        """Draws every plot that there is data for into a folder; returns ``{name: path}``.

        Args:
            folder: It is made if it is missing.
            format: Of the files, as matplotlib knows it: png, pdf, svg.
        """
        from roastcoffea.visualization.plots import plot_all

        self._ready_metrics()
        return plot_all(self, folder, format)


    def _ready_run(self) -> Run:
        self._ready_metrics()
        assert self.run is not None
        return self.run

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Writes a report as one HTML file that needs only a browser; returns the path.

        Args:
            path: The file; one that is there is replaced.
        """
        from roastcoffea.report import save_report

        self._ready_metrics()
        return save_report(self, path)

    def _repr_html_(self) -> str | None:
        """The summary in a notebook; None while there is none."""
        from roastcoffea.report import summary_html

        return None if self.metrics is None else summary_html(self)

    def compare(self, other: Any) -> Comparison:
        """This run, as B, compared with an earlier one.

        Args:
            other: A measurement, a collector after its run, or a list of these.
        """
        return Comparison(runs_of(other, "A"), runs_of(self, "B"), _others_like(other))

    def what_if(
        self,
        *,
        workers: int | None = None,
        threads: int | None = None,
        chunksize: int | None = None,
        without_files: Iterable[str] = (),
        times: int | None = None,
        preload: bool = False,
        at_rate: float | str | None = None,
    ) -> WhatIf:
        """How long the run would take with other workers, chunks, files or storage. What is not given stays as it was
        recorded. A ValueError if the run has no records of chunks, or an option cannot be.

        Args:
            workers: The number of workers.
            threads: Threads of each worker.
            chunksize: Events per chunk.
            without_files: Files to leave out.
            times: How many times as many files, like those of the run.
            preload: Whether process() waits for all of its reads at once instead of one after the other.
            at_rate: What the storage gives to all workers together: bytes per second, or a text like "2Gbps".
        """
        return WhatIf(self._ready_run(), workers=workers, threads=threads, chunksize=chunksize,
                      without_files=without_files, times=times, preload=preload, at_rate=at_rate)

    def budget(
        self, by: Literal["dataset", "worker", "host", "file", "storage"] | None = None
    ) -> dict[Any, Any] | None:
        """Where every core-second went; None if the available core-seconds are not known.

        Args:
            by: One budget for each dataset, worker, host, file or storage.
        """
        return self._ready_run().budget(by)

    def _budget_total(self) -> dict[str, Any] | None:
        """The parts of the whole budget alone: a saved run has them already."""
        return self._ready_run().budget_total()

    def diagnose(self) -> list[dict[str, Any]]:
        """What to change, worst first."""
        return self._ready_run().diagnose()

    def advice(self) -> Advice:
        """What to pass to the next Runner: chunk size, branches to preload, workers, files; each with its finding
        and the predicted wall time."""
        return Advice(self._ready_run())

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Every try of every task, as the scheduler saw it; empty if the tasks were not watched."""
        attempts = self._ready_run().attempts
        return [] if attempts is None else attempts.records()

    @property
    def outcome(self) -> str | None:
        """How the run ended: "done", "failed" or "interrupted"; None if that is not known."""
        ending = None if self.run is None else self.run.ending
        outcome: str | None = None if ending is None else ending.get("outcome")
        return outcome

    @property
    def lost_workers(self) -> list[dict[str, Any]]:
        """The workers that left, and the likely cause."""
        return self._ready_run().lost_workers()


class SavedRun(Results):
    """A measurement from disk."""

    metrics: dict[str, Any]
    run: Run

    def __init__(self, measurement: SavedMeasurement) -> None:
        self.metrics = measurement.metrics
        self.run = measurement.run
        self.t_start, self.t_end = measurement.t_start, measurement.t_end
        self.config = measurement.config
        self.state = measurement.state
        self._legacy = measurement.legacy

    def _shown_metrics(self) -> Mapping[str, Any] | Run:
        # `metrics` holds the numbers of 0.1.x; the summary is computed again, as in ``roast show``.
        return self.run if self._legacy else self.metrics

    def __repr__(self) -> str:
        state = "" if self.state == "finished" else f", {self.state}"
        return f"<SavedRun: {len(self.chunk_metrics)} chunks, {self.t_end - self.t_start:.1f} s{state}>"

    @property
    def chunk_metrics(self) -> list[Any]:
        """The chunks of the run."""
        chunks = self.metrics.get("raw_chunk_metrics")
        return chunks if isinstance(chunks, list) else self.run.chunk_log

    @property
    def tracking_data(self) -> Any:
        """The samples of the workers."""
        return self.metrics.get("tracking_data")

    @property
    def span_metrics(self) -> dict[Any, Any]:
        """What the engine measured of its tasks."""
        spans: dict[Any, Any] = self.metrics.get("raw_span_metrics") or {}
        return spans

    @property
    def meta(self) -> dict[str, str]:
        """The origin of the run."""
        return self.run.meta

    @property
    def notes(self) -> list[str]:
        """What could not be measured, and why."""
        return self.run.notes

    def get_metrics(self) -> dict[str, Any]:
        """Every metric under every name."""
        return self.metrics


def open_run(path: str | os.PathLike[str]) -> SavedRun:
    """Opens a measurement of ours or of roastcoffea 0.1.x, with all results of a collector.

    Args:
        path: The folder of the measurement.
    """
    return SavedRun(read_measurement(path))


def compare(a: Any, b: Any, *more: Any, runs_differ: float | None = None) -> Any:
    """Compares B with A; with more runs, each of them with A, as a list.

    Each is a measurement (a path, or what ``open_run`` gives), a collector after its run, or a list of these. Three runs of
    each side tell by how much runs differ that do not differ by design. With fewer, that is known from other runs of the
    same processor, files and executor in the folder of the paths, if there are at least five; else it is assumed, and the
    answer says so.

    Args:
        a: The run or runs to compare with.
        b: The new run or runs.
        more: Further runs, each compared with A.
        runs_differ: The standard deviation of the time of runs that do not differ by design: 0.03 for 3 %.
    """
    first = runs_of(a, "A")  # a measurement is read once
    found = [
        Comparison(first, runs_of(other, "B"), _others_like(a, other) if runs_differ is None else (), runs_differ)
        for other in (b, *more)
    ]
    return found if more else found[0]


def _others_like(*given: Any) -> list[list[Run]]:
    """Other runs of the same work, beside the measurements that were given as paths."""
    sides = [side if isinstance(side, (list, tuple)) else [side] for side in given]
    paths = [one for side in sides for one in side if isinstance(one, (str, os.PathLike))]
    if not paths or min(map(len, sides)) >= 3:  # three of each side tell it themselves
        return []
    from roastcoffea.runs.repeats import find_repeats, load

    return load(find_repeats(paths))


def runs_of(given: Any, what: str) -> list[tuple[str, Run]]:
    """The runs of measurements (paths, or what ``open_run`` gives) and collectors, one or a list of them, with a name
    each. `what` names the argument."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    runs = [_named_run(one, what) for one in given] if several else [_named_run(given, what)]
    if not runs:
        raise ValueError(f"{what}: there is no run")
    return runs


def _named_run(one: Any, what: str) -> tuple[str, Run]:
    if isinstance(one, Run):
        return what, one
    if isinstance(one, Results):
        run = one._ready_run()
        return run.meta.get("start_utc", what), run
    if isinstance(one, (str, os.PathLike)):
        return os.fspath(one), open_run(one).run
    raise TypeError(f"{what}: a measurement, a collector, or a list of these, not {type(one).__name__}")
