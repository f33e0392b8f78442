"""Computes the metrics of a run from collected data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from roastcoffea._core import Run
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.common.guard import Notes, words

__all__ = ["Computed", "Inputs", "compute"]

# The parts of a run, the most important first.
_PARTS = ("chunks", "report", "series", "attempts", "spans", "phases", "section_metrics", "custom_metrics")


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
    lacks: str | None = None  # why a part of what was measured is not in it


def compute(aggregator: MetricsAggregator, inputs: Callable[[set[str]], Inputs], notes: Notes) -> Computed:
    """Computes all metrics; if that fails, without each part of the run that makes it fail. `inputs` is called with the
    names of the parts to leave out. The result has `notes`, and new ones."""
    try:
        return _compute(aggregator, inputs(set()), set(), notes)
    except Exception as error:
        notes.add(f"the metrics could not be computed with all that was measured: {words(error)}")
    # One part after the other is put in again: a bad one costs none of the others.
    left_out, found = set(_PARTS), Computed()
    reasons: dict[str, str] = {}
    for part in ("", *_PARTS):
        try:
            tried = left_out - {part}
            found, left_out = _compute(aggregator, inputs(tried), tried, notes), tried
        except Exception as error:
            reasons[part] = words(error)
            if not part:
                break
            notes.add(f"the metrics are without {part}: {words(error)}")
    if found.run is None:
        notes.add("the metrics could not be computed at all")
    elif reasons:  # once more, with the last notes
        with suppress(Exception):
            found = _compute(aggregator, inputs(left_out), left_out, notes)
    return Computed(found.run, found.metrics, notes, next(iter(reasons.values()), None))


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
