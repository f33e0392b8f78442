"""The results of a run, just collected or from disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roastcoffea._core import Run
from roastcoffea.export.measurements import SavedMeasurement, read_measurement

__all__ = ["Results", "SavedRun", "open_run"]


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

    def print_summary(self) -> None:
        """Prints the tables of the metrics."""
        from roastcoffea.export.reporter import print_tables

        print_tables(self._shown_metrics(), run=self.run)

    def plot_all(self, folder: str | os.PathLike[str], format: str = "png") -> dict[str, Path]:
        """Draws every plot that there is data for into a folder; ``{name: path}``."""
        from roastcoffea.visualization.plots import plot_all

        self._ready_metrics()
        return plot_all(self, folder, format)


    def _ready_run(self) -> Run:
        self._ready_metrics()
        assert self.run is not None
        return self.run

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Writes a report as one HTML file that needs only a browser; returns the path."""
        from roastcoffea.report import save_report

        self._ready_metrics()
        return save_report(self, path)

    def _repr_html_(self) -> str | None:
        """The summary in a notebook; None while there is none."""
        from roastcoffea.report import summary_html

        return None if self.metrics is None else summary_html(self)

    def budget(
        self, by: Literal["dataset", "worker", "host", "file"] | None = None
    ) -> dict[Any, Any] | None:
        """Where every core-second went; None if the available core-seconds are not known."""
        return self._ready_run().budget(by)

    def diagnose(self) -> list[dict[str, Any]]:
        """What to change, worst first."""
        return self._ready_run().diagnose()

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
    """Opens a measurement of ours or of roastcoffea 0.1.x, with all results of a collector."""
    return SavedRun(read_measurement(path))
