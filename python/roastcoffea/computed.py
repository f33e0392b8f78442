"""Computes the metrics of a run from collected data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roastcoffea._core import Run
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.guard import Notes, words

__all__ = ["Computed", "Inputs", "compute"]

# The parts of a run, the most doubtful first: if the metrics cannot be computed, they are computed without them.
_PARTS = ("series", "spans", "attempts", "phases", "section_metrics", "custom_metrics", "chunks", "report")


@dataclass
class Inputs:
    """The inputs of a run."""

    times: tuple[float | None, float | None]
    processor_name: str | None
    meta: dict[str, str]
    replayed: int
    report: dict[str, Any] | None
    chunks: list[Any]
    tracking: Any  # a WorkerSeries, or tracking data
    figures: dict[Any, Any]  # of tasks, and of preprocessing
    span_metrics: Mapping[Any, Any] | None  # as the user knows them
    attempts: Any
    phases: list[tuple[str, float, float]]  # what the client waited for
    custom_metrics: Mapping[str, Any] | None
    sections: list[Mapping[str, Any]]
    ending: Mapping[str, Any] | None = None  # how the run ended


@dataclass
class Computed:
    """The results; no run if the metrics could not be computed at all."""

    run: Run | None = None
    metrics: dict[str, Any] | None = None
    notes: Notes = field(default_factory=Notes)


def compute(aggregator: MetricsAggregator, inputs: Callable[[set[str]], Inputs], notes: Notes) -> Computed:
    """Computes all metrics; if that fails, without the parts of the run that may be the reason. `inputs` is called with
    the names of these parts. The result has `notes`, and new ones."""
    left_out: set[str] = set()
    for part in (*_PARTS, ""):
        try:
            return _compute(aggregator, inputs(left_out), left_out, notes)
        except Exception as error:
            notes.add(f"the metrics could not be computed with all that was measured: {words(error)}")
            left_out.add(part)
    notes.add("the metrics could not be computed at all")
    return Computed(notes=notes)


def _compute(aggregator: MetricsAggregator, inputs: Inputs, left_out: set[str], notes: Notes) -> Computed:
    parts: dict[str, Any] = {
        "report": inputs.report,
        "chunks": inputs.chunks,
        "series": None if aggregator.own_form else inputs.tracking,
        "spans": inputs.figures,
        "custom_metrics": inputs.custom_metrics,
        "section_metrics": inputs.sections,
        "attempts": inputs.attempts,
        "phases": inputs.phases,
    }
    run = Run(
        t_start=inputs.times[0],
        t_end=inputs.times[1],
        processor_name=inputs.processor_name,
        meta=inputs.meta,
        notes=notes,
        replayed=inputs.replayed,
        ending=inputs.ending,
        **{name: part for name, part in parts.items() if name not in left_out},
    )
    for note in run.notes:  # of values that could not be kept
        notes.add(note)
    metrics = aggregator.metrics_of(
        run,
        None if "series" in left_out else inputs.tracking,
        None if "spans" in left_out else inputs.span_metrics,
        inputs.chunks,
        [] if "section_metrics" in left_out else inputs.sections,
    )
    return Computed(run, metrics, notes)
