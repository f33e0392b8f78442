"""MetricsCollector: what a user puts around a run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from roastcoffea._core import ChunkLog, Run, faults, split_replayed, sum_reports
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.registry import backend_name, make_backend
from roastcoffea.runner_watch import OUTPUT_KEY, RunnerCall, RunnerWatch

__all__ = ["MetricsCollector"]

_FLAG = "_roastcoffea_collect_metrics"
_TOPIC = "_roastcoffea_topic"
_CHUNKS = "_chunk_metrics"
SPAN_NAME = "coffea-processing"
# A record that ended this long before the run began is one that a checkpoint kept, not a slow clock.
REPLAY_MARGIN_S = 5.0


class MetricsCollector:
    """Collects the metrics of what runs inside ``with MetricsCollector(...) as mc:``.

    Parameters
    ----------
    client
        A ``distributed.Client``, any Coffea executor, or a ``Runner``; the backend follows from it.
    backend
        The name of a backend, or one that is ready to use; instead of what follows from `client`.
    track_workers, worker_tracking_interval
        Whether workers are sampled, and every how many seconds.
    processor_instance
        The processor; may be left out, as it is taken from the Runner's call.
    output_dir
        Where measurements are to be saved. This version cannot save them yet, and says so in a warning.
    """

    def __init__(
        self,
        client: Any = None,
        backend: str | AbstractMetricsBackend | None = None,
        track_workers: bool = True,
        worker_tracking_interval: float = 1.0,
        processor_instance: Any = None,
        output_dir: Any = None,
    ) -> None:
        self.client = client
        self.track_workers = track_workers
        self.worker_tracking_interval = worker_tracking_interval
        self.processor_instance = processor_instance
        self.output_dir = output_dir
        if output_dir is not None:
            warnings.warn(
                "output_dir: measurements cannot be saved yet; what was measured is in .metrics and .run",
                stacklevel=2,
            )
        self.metrics_backend = make_backend(client, backend)
        self.backend = backend_name(self.metrics_backend)
        self.aggregator = MetricsAggregator(self.backend)
        self.t_start: float | None = None
        self.t_end: float | None = None
        self.metrics: dict[str, Any] | None = None
        self.coffea_report: dict[str, Any] | None = None
        self.reports: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.custom_metrics: Mapping[str, Any] | None = None
        self.tracking_data: Any = None
        self.span_info: Any = None
        self.span_metrics: dict[Any, Any] | None = None
        self.section_metrics: list[Mapping[str, Any]] = []
        self.run: Run | None = None
        self.replayed_chunks = 0
        self.notes: list[str] = []
        self._collected = ChunkLog()
        self._replayed = ChunkLog()
        self._recorded: list[Mapping[str, Any]] = []
        self._given: list[Mapping[str, Any]] | None = None
        self._report_given = False
        self._topic: str | None = None
        self._marks: list[_Mark] = []
        self._watch = RunnerWatch(self)
        self._faults = 0

    # ---- the context ----

    def __enter__(self) -> MetricsCollector:
        self._faults = faults()["count"]
        self._topic = self.metrics_backend.open_channel()
        if self.processor_instance is not None:
            self._mark(self.processor_instance)
        try:
            if self.track_workers:
                self.metrics_backend.start_tracking(self.worker_tracking_interval)
            if self.metrics_backend.supports_fine_metrics():
                self.span_info = self.metrics_backend.create_span(SPAN_NAME)
        except BaseException:
            self._unmark_all()
            self._ask("worker series", self.metrics_backend.stop_tracking)
            self._ask("records beside the output", self.metrics_backend.close_channel)
            raise
        self._watch.open()
        self.t_start = time.time()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.t_end = time.time()
        self._watch.close()
        self._unmark_all()
        self._fetch()
        self._aggregate()

    def _fetch(self) -> None:
        """All that the backend has; a part that cannot be had is a note, never an exception."""
        backend = self.metrics_backend
        if self.span_info is not None or backend.supports_fine_metrics():
            self.span_metrics = self._ask("span metrics", backend.get_span_metrics, self.span_info)
        for data in self._ask("records beside the output", backend.close_channel) or []:
            self._collected.merge_unique(ChunkLog.from_bytes(data))
        if self.track_workers:
            if type(backend).confirm_workers is not AbstractMetricsBackend.confirm_workers:
                backend.confirm_workers({chunk["pid"] for chunk in self._collected.copy()} - {None})
            self.tracking_data = self._ask("worker series", backend.stop_tracking)
        self.notes += [note for note in backend.notes if note not in self.notes]
        if faults()["count"] > self._faults:
            self.notes.append(f"a measurement of ours failed: {faults()['last']}")

    def _ask(self, what: str, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:
            self.notes.append(f"{what}: {type(error).__name__}: {error}")
            return None

    # ---- what the Runner tells ----

    def call_begins(self, call: RunnerCall) -> None:
        if self.processor_instance is None:
            self.processor_instance = call.processor
        self.calls.append(describe(call))
        self._mark(call.processor)

    def call_ends(self, call: RunnerCall) -> None:
        for chunks in call.chunks:
            self._take(chunks)
        if call.report is not None:
            self.reports.append(call.report)
        self._unmark(call.processor)

    def _mark(self, processor: Any) -> None:
        self._marks.append(_Mark(processor, self._topic))

    def _unmark(self, processor: Any) -> None:
        for mark in reversed(self._marks):
            if mark.processor is processor:
                mark.undo(self._collected)
                self._marks.remove(mark)
                return

    def _unmark_all(self) -> None:
        while self._marks:
            self._marks.pop().undo(self._collected)

    # ---- what the user tells ----

    @property
    def processor_name(self) -> str | None:
        """The prefix of the processing tasks."""
        if self.processor_instance is None:
            return None
        return type(self.processor_instance).__name__

    def set_coffea_report(
        self, report: Mapping[str, Any], custom_metrics: Mapping[str, Any] | None = None
    ) -> None:
        """The report that ``Runner`` returned; it replaces what was taken from the call."""
        self.coffea_report = dict(report)
        self.custom_metrics = custom_metrics
        self._report_given = True
        self._refresh()

    def set_chunk_metrics(self, chunk_metrics: Iterable[Mapping[str, Any]]) -> None:
        """The chunks of a run, in place of those that were collected.

        Records of the decorator are added to what was collected instead, each once: on a cluster the
        user's own processor has seen none of them.
        """
        chunks = chunk_metrics if isinstance(chunk_metrics, list) else list(chunk_metrics)
        if isinstance(chunks, ChunkLog):
            self._take(chunks)
        elif chunks:
            self._given = chunks
        self._refresh()

    def extract_metrics_from_output(self, output: Any) -> None:
        """Takes the records out of an output; one that is no mapping is left alone."""
        if isinstance(output, dict) or hasattr(output, "keys"):
            found = output.pop(OUTPUT_KEY, None)
            if isinstance(found, list):
                self._take(found)
        self._refresh()

    def record_chunk_metrics(self, chunk: Mapping[str, Any]) -> None:
        """Adds a chunk that was measured elsewhere."""
        ChunkLog([chunk])  # says at once what is wrong with it
        self._recorded.append(chunk)
        self._refresh()

    def record_section_metrics(self, section: Mapping[str, Any]) -> None:
        """Adds a section that was measured elsewhere."""
        if not isinstance(section, Mapping):
            raise TypeError(f"a section is a mapping, not {type(section).__name__}")
        self.section_metrics.append(section)
        self._refresh()

    def _take(self, chunks: list[Any]) -> None:
        """Each record once; those that were changed by hand are records all the same."""
        self._collected.merge_unique(chunks if isinstance(chunks, ChunkLog) else ChunkLog(chunks))

    # ---- what comes out ----

    @property
    def chunk_metrics(self) -> list[Any]:
        """The chunks of this run."""
        if self._given is not None:
            return [*self._given, *self._recorded]
        chunks = self._fresh_chunks()
        return [*chunks, *self._recorded] if self._recorded else chunks

    def _fresh_chunks(self) -> ChunkLog:
        """Without those that a checkpoint replayed with the numbers of another run."""
        if self.t_start is None:
            return self._collected
        fresh, self._replayed = split_replayed(self._collected, self.t_start - REPLAY_MARGIN_S)
        self.replayed_chunks = len(self._replayed)
        return fresh

    def _report(self) -> dict[str, Any] | None:
        if self._report_given:
            return self.coffea_report
        if not self.reports:
            return None
        return sum_reports(self.reports)

    def _refresh(self) -> None:
        """What is told after the end counts as well."""
        if self.t_end is not None and self.metrics is not None:
            self._aggregate()

    def _aggregate(self) -> None:
        chunks = self.chunk_metrics
        self.coffea_report = report = self._report()
        if report is not None and self.replayed_chunks:
            report = sum_reports([report], self._replayed)
            note = (f"{self.replayed_chunks} chunks were replayed from a checkpoint: they are left out of "
                    "all rates")
            if note not in self.notes:
                self.notes.append(note)
        series = self.metrics_backend.series if self.track_workers else None
        self.metrics = self.aggregator.aggregate(
            report,
            self.tracking_data if series is None else series,
            self.t_start,
            self.t_end,
            custom_metrics=self.custom_metrics,
            span_metrics=self.span_metrics,
            processor_name=self.processor_name,
            chunk_metrics=chunks,
            section_metrics=self.section_metrics,
        )
        self.metrics["replayed_chunks"] = self.replayed_chunks
        self.metrics["notes"] = list(self.notes)
        self.run = Run(
            report=report,
            t_start=self.t_start,
            t_end=self.t_end,
            chunks=chunks,
            series=series,
            spans=self.span_metrics,
            processor_name=self.processor_name,
            custom_metrics=self.custom_metrics,
            section_metrics=self.section_metrics,
            meta={key: str(value) for call in self.calls for key, value in call.items()},
        )

    def get_metrics(self) -> dict[str, Any]:
        """Every metric under every name."""
        if self.metrics is None:
            raise RuntimeError(
                "there are no metrics yet: they are computed when the `with MetricsCollector(...)` block ends"
            )
        if self.coffea_report is None:
            raise RuntimeError(
                "there is no Coffea report: no Runner was called in the context and set_coffea_report(report) "
                "was not called; what was measured without one is in .metrics"
            )
        return self.metrics

    def print_summary(self) -> None:
        """Prints the tables of the metrics."""
        if self.metrics is None:
            raise RuntimeError(
                "there is nothing to show yet: the summary is there when the `with` block has ended"
            )
        from roastcoffea.export.reporter import print_tables

        print_tables(self.metrics)


def describe(call: RunnerCall) -> dict[str, Any]:
    """What a call of a Runner says of itself."""
    runner, fileset = call.runner, call.fileset
    known: dict[str, Any] = {
        "executor": type(getattr(runner, "executor", None)).__name__,
        "schema": getattr(getattr(runner, "schema", None), "__name__", None),
        "chunksize": getattr(runner, "chunksize", None),
        "maxchunks": getattr(runner, "maxchunks", None),
        "format": getattr(runner, "format", None),
        "processor": type(call.processor).__name__,
    }
    if isinstance(fileset, Mapping):
        known["datasets"] = len(fileset)
        known["files"] = sum(len(_files_of(entry)) for entry in fileset.values())
    elif isinstance(fileset, list):
        known["work_items"] = len(fileset)
    return {key: value for key, value in known.items() if value is not None}


def _files_of(entry: Any) -> Any:
    """The files of a dataset, in any form that Coffea takes."""
    files = entry.get("files", entry) if isinstance(entry, Mapping) else getattr(entry, "files", entry)
    return files if hasattr(files, "__len__") and not isinstance(files, str) else [files]


class _Mark:
    """What a collector puts on a processor, and how it was before."""

    def __init__(self, processor: Any, topic: str | None) -> None:
        self.processor = processor
        self._chunks = getattr(processor, _CHUNKS, None)
        self._before: list[tuple[Any, str, Any]] = []
        # The records of this very instance would travel with it to every worker: they wait here.
        with suppress(Exception):
            delattr(processor, _CHUNKS)
        for owner in (processor, type(processor)):
            self._set(owner, _FLAG, True, missing=False)
        if topic is not None:
            self._set(processor, _TOPIC, topic, missing=_GONE)

    def _set(self, owner: Any, name: str, value: Any, missing: Any) -> None:
        before = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing
        with suppress(Exception):  # a type that cannot be changed: the instance is enough
            setattr(owner, name, value)
            self._before.append((owner, name, before))

    def undo(self, collected: ChunkLog) -> None:
        for owner, name, value in reversed(self._before):
            with suppress(Exception):
                if value is _GONE:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)
        self._before = []
        chunks = ChunkLog()
        for part in (self._chunks, getattr(self.processor, _CHUNKS, None), collected):
            if isinstance(part, ChunkLog):
                chunks.merge_unique(part)
        with suppress(Exception):
            setattr(self.processor, _CHUNKS, chunks)


class _Gone:
    """Stands for an attribute that was not there."""


_GONE = _Gone()
