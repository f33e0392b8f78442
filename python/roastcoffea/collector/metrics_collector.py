"""MetricsCollector, the context manager around a run."""

from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from roastcoffea._core import (
    ChunkLog,
    Run,
    Summary,
    batch_jobs,
    faults,
    format_value,
    hold_clock,
    name_workers,
    now,
    release_clock,
    shift_clocks,
    split_replayed,
    start_tasks,
)
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.aggregation.reports import report_of, sum_reports
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.registry import Backend, backend_name, make_backend, source_of
from roastcoffea.backends.source import Collected, Engine, Ran
from roastcoffea.collector.computed import Computed, Inputs, compute
from roastcoffea.export.measurements import save_measurement
from roastcoffea.common.guard import Notes, attempt, hook, listen, unlisten
from roastcoffea.coffea.identity import RunIdentity
from roastcoffea.collector.live_writer import LiveWriter
from roastcoffea.coffea.preprocess_watch import Preprocessing
from roastcoffea.collector.news import NewsThread
from roastcoffea.collector.progress import LiveLine
from roastcoffea.collector.on_disk import OnDisk
from roastcoffea.collector.provenance import kept
from roastcoffea.common.texts import listed
from roastcoffea.collector.provenance import provenance as find_provenance
from roastcoffea.coffea.recorder import Recorder
from roastcoffea.collector.results import Results
from roastcoffea.coffea.runner_watch import OUTPUT_KEY, RunnerWatch
from roastcoffea.collector.settings import Settings
from roastcoffea.collector.textfile import TextFile
from roastcoffea.common.undo import Undo

__all__ = ["MetricsCollector"]

_T = TypeVar("_T")


class MetricsCollector(Results):
    """Collects the metrics of what runs inside ``with MetricsCollector(...) as mc:``.

    A second ``with`` of the same collector begins a second run, with nothing of the first one in it. While it is open
    it cannot be entered again.

    Args:
        client: A ``distributed.Client``, any Coffea executor, or a ``Runner``; the backend follows from it.
        backend: The name of a backend, or an instance; it replaces the one that follows from `client`.
        track_workers: Whether workers are sampled.
        worker_tracking_interval: Seconds between two samples of the workers.
        processor_instance: The processor. Optional, as it is taken from the Runner's call.
        output_dir: A folder. The measurement is saved there when the context ends, even after an exception, and can be
            read there while the run goes on; `measurement_path` is its path. A report or a list of chunks set after the
            end is saved at once. Single records added after the end are saved when the program ends, when the collector
            is deleted, or with `save_measurement`.
        measurement_name: The name of the measurement in `output_dir`; by default date and time.
        overwrite: Whether an older measurement of that name is replaced; otherwise it is a FileExistsError.
        config: Settings of yours, saved as ``config.json``.
        live: Whether to show one line with the progress, in the terminal or below the cell of a notebook.
        provenance: Texts about the run by their names, such as ``{"site": "T2_DE_DESY"}``; False for a text that is not
            to be kept, such as ``{"user": False}``.
        dashboard: Whether to show the run on the server of Dask's scheduler: at /roast, and for Prometheus at /metrics and
            /roast/metrics. "workers": also with numbers of each worker, a time series each.
        textfile: A file whose name ends with .prom, for node_exporter's textfile collector. It is replaced at each
            `worker_tracking_interval`; at the end it has all metrics, the budget and the findings.
    """

    def __init__(
        self,
        client: Any = None,
        backend: str | Backend | None = None,
        track_workers: bool = True,
        worker_tracking_interval: float = 1.0,
        processor_instance: Any = None,
        output_dir: str | os.PathLike[str] | None = None,
        measurement_name: str | None = None,
        overwrite: bool = True,
        config: Mapping[str, Any] | None = None,
        live: bool = False,
        provenance: Mapping[str, str | bool] | None = None,
        dashboard: bool | Literal["workers"] = False,
        textfile: str | os.PathLike[str] | None = None,
    ) -> None:
        self.client = client
        self.track_workers = track_workers
        self.worker_tracking_interval = worker_tracking_interval
        self._settings = Settings(
            output_dir, measurement_name, overwrite, config, live, provenance, dashboard, textfile
        )
        self._disk = OnDisk(self._settings, Notes())
        self.metrics_backend = make_backend(client, backend)
        self.backend = backend_name(self.metrics_backend)
        self.aggregator = MetricsAggregator(self.backend)
        self._users_processor = processor_instance
        self._state = "new"
        self._lock = threading.Lock()
        self._measured: object = None  # the run that is measured now
        self._reset()
        if dashboard and not self._source.has_dashboard:
            raise ValueError(
                f"dashboard=True: {self.backend} has no server that could show the run; textfile=... is for every engine"
            )

    def _reset(self) -> None:
        """Nothing is measured yet."""
        self._save_late()
        self.t_start: float | None = None
        self.t_end: float | None = None
        self.custom_metrics: Mapping[str, Any] | None = None
        self.tracking_data: Any = None
        self.span_info: Any = None
        self.span_metrics: Mapping[Any, Any] | None = None
        self.section_metrics: list[Mapping[str, Any]] = []
        self._notes = Notes()
        self._source = source_of(self.metrics_backend)
        self._engine = Engine()
        self._collected = Collected()
        self._has_ended = False  # whether the source has
        self._provenance: dict[str, str] = {}
        self._faults = 0
        self._disk = OnDisk(self._settings, self._notes)
        self._text: TextFile | None = None
        self._label = ""
        self._recorder = Recorder(self._users_processor, self._notes, self._source)
        self._line = LiveLine.on_screen(self._recorder.pieces, self.backend != "local") if self._settings.live else None
        self._watch = RunnerWatch(self._recorder)
        # What takes away again what a run puts in place: at the end of the block, and when all is collected.
        self._during, self._after = Undo(), Undo()
        # Data from the user.
        self._given_report: dict[str, Any] | None = None
        self._given_chunks: ChunkLog | None = None
        self._recorded = ChunkLog()
        # Results, until more data is added.
        self._computed: Computed | None = None
        self._fresh: tuple[Any, ChunkLog, ChunkLog] | None = None
        self._shown: tuple[ChunkLog, ChunkLog] | None = None

    # ---- the context ----

    def __enter__(self) -> MetricsCollector:
        # What was put in place is taken away again, whatever fails here.
        after = Undo()
        try:
            self._enter(after)
        except BaseException:
            after.close()
            raise
        return self

    def _enter(self, after: Undo) -> None:
        run = object()
        after.add(self._leave, run)
        self._begin_run(run)
        self._after, during = after, self._during
        after.add(unlisten, self._notes.add)
        listen(self._notes.add)
        after.add(release_clock)
        hold_clock()
        self._faults = faults()["count"]
        self._provenance = find_provenance(self._settings.texts)
        self._begin_measurement(after)
        self._label = self._find_label()
        self._begin_textfile(after)
        self._begin_source(after)
        after.add(during.close)
        recorder = self._recorder
        during.add(recorder.unmark_all)
        if recorder.processor is not None:
            recorder.mark(recorder.processor)
        during.add(self._watch.close)
        self._watch.open()
        self._start_looking(during)
        self.t_start = self._now()
        self._state = "open"

    def _start_looking(self, during: Undo) -> None:
        if self._line is not None:
            during.add(self._line.stop)
            attempt("the live line", self._notes.add, self._line.start)
        takers = [taker for taker in (self._disk.writer, self._text, self._line) if taker is not None]
        looks = NewsThread(self._source, takers, self._recorder.pieces)
        during.add(self._stop_looking, looks)
        looks.start()

    def _stop_looking(self, looks: NewsThread) -> None:
        if not looks.stop(self._seconds_left()):
            self._notes.add(f"the news of the run have not ended within {self._source.seconds_at_end:g} s")

    @hook("the time limit of the end is not known", default=0.0)
    def _seconds_left(self) -> float:
        return self._source.seconds_left()

    def _begin_run(self, run: object) -> None:
        """From here to the end of the run no other thread can enter."""
        with self._lock:
            if self._measured is not None:
                raise RuntimeError("this collector is measuring already: a second one measures at the same time")
            self._measured = run
        if self._state == "ended":
            self._reset()
        self._state = "entering"

    def _leave(self, run: object) -> None:
        if self._measured is run:
            self._state = "ended"
            self._measured = None

    def _begin_source(self, after: Undo) -> None:
        after.add(self._abandon_source)
        self._source.label, self._source.dashboard = self._label, self._settings.dashboard
        self._source.ends_by = None
        engine = self._source.begin(self.worker_tracking_interval if self.track_workers else None)
        self._engine = _checked(engine, Engine, "begin")
        self.span_info = self._engine.span
        self._recorder.pieces.records_arrive = self._engine.topic is not None
        self._recorder.identity = identity = RunIdentity(self._engine.topic)
        after.add(identity.close)
        identity.open()

    def _abandon_source(self) -> None:
        """Called if the run could not begin, or its data could not be fetched."""
        if not self._has_ended:
            self._source.abandon()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if self._state != "open":
            return
        self._state = "ending"
        try:
            self._seconds_left()  # counts from here
            self._stop_clock()
            self._stop_watching()
            self._note_end(exc_val)
            self._has_ended = self._fetch()
            self._settle()
            attempt("the metrics could not be computed", self._notes.add, self._compute)
            self._end_measurement()
            self._end_textfile()
            self._end_line()
        finally:
            self._after.close()

    @hook("the last state of the live line")
    def _end_line(self) -> None:
        if self._line is None:
            return
        run, metrics = self._results().run, self._results().metrics or {}
        rate, wall = metrics.get("event_rate_wall_khz"), metrics.get("wall_time")
        parts = [] if run is None else [Summary(run).headline[0]]
        if rate is not None:
            parts.append(format_value(rate, "kHz"))
        if wall is not None:
            parts.append(format_value(wall, "s"))
        self._line.end(" · ".join(parts))

    @hook("how long the run took is not known")
    def _stop_clock(self) -> None:
        self.t_end = self._now()

    def _now(self) -> float:
        """On the clock of the run, which does not follow changes of the system's clock."""
        return now() + self._engine.clock_offset

    @hook("the end of watching")
    def _stop_watching(self) -> None:
        self._close_during()

    @hook("how the run ended is not known")
    def _note_end(self, error: BaseException | None) -> None:
        self._recorder.work.block_ends(error)

    def _close_during(self) -> None:
        self._during.close()

    @hook("what was measured", default=False)
    def _fetch(self) -> bool:
        """Fetches everything from the source. Returns whether the source has ended."""
        note, recorder = self._notes.add, self._recorder
        for text in self._engine.cannot:
            note(text)
        ran = Ran(recorder.processor_names, recorder.records.copy(), recorder.elsewhere)
        self._collected = found = _checked(self._source.end(ran), Collected, "end")
        self.span_metrics = found.figures
        self._provenance.update(kept(found.about or {}, self._settings.texts))
        self.tracking_data = (
            found.tracking_data if found.series is None else TrackingData(found.series, run_start=self.t_start)
        )
        for data in found.records or ():
            attempt("a message of records is damaged", note, recorder.take_message, data)
        if recorder.identity is not None and recorder.identity.mixed:
            note("another collector measured the same processor in another thread: chunks of both are in here")
        for text in [*(found.notes or ()), *found.missing_of(self._engine)]:
            note(text)
        if faults()["count"] > self._faults:
            note(f"a measurement of ours failed: {faults()['last']}")
        return True

    @hook("the pieces that failed are not known")
    def _settle(self) -> None:
        attempts, name = self._collected.attempts, self.processor_name
        self._recorder.settle(lambda: Run(chunks=self.chunk_metrics, attempts=attempts, processor_name=name))

    # ---- the measurement in output_dir ----

    @property
    def output_dir(self) -> str | os.PathLike[str] | None:
        """The folder of the measurement."""
        return self._settings.output_dir

    @property
    def measurement_path(self) -> Path | None:
        """Where the measurement in `output_dir` is."""
        return self._disk.path

    def _begin_measurement(self, after: Undo) -> None:
        after.add(self._abandon_measurement)
        self._disk.begin(
            lambda path, replace: LiveWriter(path, replace, self._meta, self._recorder.pieces, self._now)
        )

    def _abandon_measurement(self) -> None:
        if self._state == "entering":
            self._disk.abandon()
        else:
            self._disk.keep("the end of the run was interrupted")

    def _lacks(self) -> str | None:
        return self._results().lacks or (None if self._has_ended else "what was measured could not be fetched")

    @hook("the measurement could not be saved")
    def _end_measurement(self) -> None:
        self._disk.end(self)

    # ---- the run where others look ----

    def _find_label(self) -> str:
        """The name of the run for others: that of its measurement, or the moment of its beginning."""
        if self.measurement_path is not None:
            return self.measurement_path.name
        return self._settings.measurement_name or datetime.fromtimestamp(now()).strftime("%Y-%m-%d_%H-%M-%S")

    def _begin_textfile(self, after: Undo) -> None:
        """Raises now, not after hours, if the file cannot be written."""
        if self._settings.textfile_path is not None:
            self._text = TextFile(self._settings.textfile_path, self._label, self.worker_tracking_interval)
            after.add(self._abandon_textfile)
            self._text.begin()

    def _abandon_textfile(self) -> None:
        if self._text is not None and self._state == "entering":
            self._text.abandon()

    @hook("the file for Prometheus could not be written")
    def _end_textfile(self) -> None:
        if self._text is None:
            return
        self._text.end(self._results().run, self.chunk_metrics)
        if self._text.failure is not None:
            self._notes.add(f"the file for Prometheus was not always written: {self._text.failure}")

    def save_measurement(
        self,
        output_dir: str | os.PathLike[str],
        measurement_name: str | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        overwrite: bool = True,
    ) -> Path:
        """Saves the measurement as ``output_dir/measurement_name``; returns that path.

        Args:
            output_dir: The folder of the measurement; it is made if it is missing.
            measurement_name: By default the date and time of the run.
            config: Settings of yours, saved as ``config.json``; by default those of the collector.
            overwrite: Whether an older measurement of that name is replaced, as a whole; otherwise it is a
                FileExistsError.
        """
        if self.t_start is None or self.t_end is None or self.metrics is None:
            raise RuntimeError(
                "there is nothing to save yet: a measurement is complete when the `with` block has ended"
            )
        self._save_again()
        return save_measurement(
            self._ready_metrics(), self.t_start, self.t_end, output_dir, measurement_name,
            self._settings.config if config is None else config, overwrite=overwrite,
        )

    def _save_again(self) -> None:
        _unsaved.discard(self)
        self._disk.save_again(self)

    def _save_late(self) -> None:
        self._disk.save_late(self)

    def __del__(self) -> None:
        if "_disk" in vars(self):  # or else an argument was wrong
            self._after.close()  # an interrupt may come before the first line of __exit__
            self._save_late()

    # ---- data from the user ----

    def set_coffea_report(
        self, report: Mapping[str, Any], custom_metrics: Mapping[str, Any] | None = None
    ) -> None:
        """Sets the report that ``Runner`` returned, in place of the one taken from the call.

        Args:
            report: Coffea's report.
            custom_metrics: ``{dataset: {"entries", "duration", ...}}``, in place of the totals of the report.
        """
        given = dict(report)
        Run(report=given, custom_metrics=custom_metrics)  # says at once what is wrong with it
        self._given_report, self.custom_metrics = given, custom_metrics
        self._told()
        self._save_again()
        if self._state == "ended":
            self._end_textfile()

    def set_chunk_metrics(self, chunk_metrics: Iterable[Mapping[str, Any]]) -> None:
        """Sets the chunks of a run, in place of the collected ones.

        Records of the decorator are added to the collected ones instead, each once: on a cluster the user's own
        processor has seen none of them.

        Args:
            chunk_metrics: A mapping for each chunk.
        """
        if isinstance(chunk_metrics, ChunkLog):
            self._recorder.take(chunk_metrics)
        elif chunks := ChunkLog(chunk_metrics):
            self._given_chunks = chunks
        self._told()
        self._save_again()
        if self._state == "ended":
            self._end_textfile()

    def extract_metrics_from_output(self, output: Any) -> None:
        """Takes the records out of an output.

        Args:
            output: What the Runner returned. An output that is not a mapping is left unchanged.
        """
        if isinstance(output, dict) or hasattr(output, "keys"):
            found = output.pop(OUTPUT_KEY, None)
            if isinstance(found, list):
                self._recorder.take(found)
                self._told()

    def record_chunk_metrics(self, chunk: Mapping[str, Any]) -> None:
        """Adds a chunk that was measured elsewhere.

        Args:
            chunk: A mapping with the keys of a chunk record.
        """
        one = ChunkLog([chunk])
        self._recorded.extend(one)
        if self._shown is not None:
            self._shown[1].extend(one)
        self._told()

    def record_section_metrics(self, section: Mapping[str, Any]) -> None:
        """Adds a section that was measured elsewhere.

        Args:
            section: A mapping with ``name``, ``duration`` and the other keys of a section.
        """
        if not isinstance(section, Mapping):
            raise TypeError(f"a section is a mapping, not {type(section).__name__}")
        Run(section_metrics=[section])  # says at once what is wrong with it
        self.section_metrics.append(section)
        self._told()

    def _told(self) -> None:
        """Data added after the end counts as well: the results are computed again when they are next read."""
        if self.t_end is None or self._computed is None:
            return
        self._computed = None
        if self._disk.note_addition():
            _unsaved.add(self)

    # ---- results ----

    @property
    def processor_instance(self) -> Any:
        """The processor: the user's argument, or that of the first call."""
        return self._recorder.processor

    @processor_instance.setter
    def processor_instance(self, processor: Any) -> None:
        self._recorder.processor = processor

    @property
    def processor_name(self) -> str | None:
        """The prefix of the processing tasks."""
        return self._recorder.processor_name

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The settings of each call of a Runner."""
        return self._recorder.calls

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Coffea's report of each call."""
        return self._recorder.reports

    @property
    def preprocessing(self) -> list[Preprocessing]:
        """What each preprocessing read."""
        return self._recorder.preprocessing

    @property
    def metrics(self) -> dict[str, Any] | None:
        """Every metric under every name; None until the context has ended."""
        return self._results().metrics

    @property
    def run(self) -> Run | None:
        """The run of the engine; None until the context has ended."""
        return self._results().run

    @property
    def notes(self) -> list[str]:
        """What could not be measured, and why."""
        made = self._results().notes
        return [*made, *(note for note in self._notes if note not in made)]

    @property
    def coffea_report(self) -> dict[str, Any] | None:
        """Coffea's report: the one that was set, or the sum over all calls of a Runner."""
        return None if self._given_report is None and self._state == "open" else self._report()

    @property
    def chunk_metrics(self) -> list[Any]:
        """The chunks of this run. The same list object until further chunks arrive."""
        chunks = self._given_chunks if self._given_chunks is not None else self._split()[0]
        if not self._recorded:
            return chunks
        if self._shown is None or self._shown[0] is not chunks:
            self._shown = chunks, chunks.copy()
            self._shown[1].extend(self._recorded)
        return self._shown[1]

    @property
    def replayed_chunks(self) -> int:
        """Chunks that a checkpoint replayed from another run."""
        return len(self._split()[1]) + self._recorder.replayed

    def _split(self) -> tuple[ChunkLog, ChunkLog]:
        """The records of this run, on its clock, and those that a checkpoint replayed."""
        records, identity = self._recorder.records, self._recorder.identity
        if identity is None:
            return records, ChunkLog()
        offsets = self._collected.clock_offsets
        attempts = self._collected.attempts
        state = len(records), frozenset(identity.topics), offsets, attempts is None
        if self._fresh is None or self._fresh[0] != state:
            fresh, replayed = split_replayed(records, identity.topics)
            if attempts is not None and self._engine.names_workers:
                fresh = name_workers(fresh, attempts)
            fresh = shift_clocks(fresh, offsets) if offsets else fresh
            self._fresh = state, fresh if attempts is None else start_tasks(fresh, attempts), replayed
        return self._fresh[1:]

    def _results(self) -> Computed:
        """The computed results; computed again if data was added since."""
        if self.t_end is None or self._state in ("open", "ending", "entering"):
            return self._computed or Computed()
        if self._computed is None:
            self._compute()
        return self._computed or Computed()

    def _compute(self) -> None:
        notes = Notes(self._notes)
        self._computed = compute(self.aggregator, lambda left_out: self._inputs(left_out, notes), notes)

    def _inputs(self, left_out: set[str], notes: Notes) -> Inputs:
        with_chunks = "chunks" not in left_out
        chunks, replayed = (self.chunk_metrics, self.replayed_chunks) if with_chunks else ([], 0)
        report = None if "report" in left_out else self._reported(chunks, replayed)
        if replayed:
            notes.add(f"{replayed} chunks were replayed from a checkpoint: they are left out of all rates")
        missing = self._recorder.count_missing(chunks, replayed)
        if missing is not None:
            notes.add(missing)
        spans, found = self.span_metrics if "spans" not in left_out else None, self._collected
        return Inputs(
            times=(self.t_start, self.t_end),
            processor_name=self.processor_name,
            meta={**self._meta(), **self._worker_jobs(chunks)},
            replayed=replayed,
            report=report,
            chunks=chunks,
            tracking=self.tracking_data if found.series is None else found.series,
            figures={
                **(spans.get("cumulative_worker_metrics", spans) if spans else {}),
                **self._recorder.figures(),
                **(found.counters or {}),
            },
            span_metrics=self.span_metrics,
            attempts=found.attempts,
            ending=self._recorder.work.ending,
            phases=self._phases(),
            custom_metrics=self.custom_metrics,
            sections=self.section_metrics,
        )

    def _phases(self) -> list[tuple[str, float, float]]:
        """On the clock of the run."""
        offset = self._engine.clock_offset
        return [(kind, begun + offset, ended + offset) for kind, begun, ended in self._recorder.phases]

    def _reported(self, chunks: list[Any], replayed: int) -> dict[str, Any] | None:
        """What Coffea reports of this run alone; of a Runner that raised, what the records tell."""
        report = self._report()
        if report is None:
            return report_of(chunks) or None if self.calls and isinstance(chunks, ChunkLog) else None
        return sum_reports([report], self._split()[1]) if replayed else report

    def _report(self) -> dict[str, Any] | None:
        if self._given_report is not None:
            return self._given_report
        return sum_reports(self.reports) if self.reports else None

    def _meta(self) -> dict[str, str]:
        """Texts about the run: its origin, and the settings of the Runner's calls."""
        meta = {**self._provenance, **kept(self._source.about(), self._settings.texts), "backend": self.backend}
        if self._engine.name:
            meta["engine"] = self._engine.name
        if self._engine.reducer is not None:
            meta["reducer"] = self._engine.reducer
        if self.t_start is not None:
            meta["start_utc"] = datetime.fromtimestamp(self.t_start, timezone.utc).isoformat()
        if self._collected.clock_offsets:
            meta["clock_offsets"] = json.dumps(self._collected.clock_offsets)
        for call in self.calls:
            meta.update((key, str(value)) for key, value in call.items())
        if self.calls:
            meta["calls"] = json.dumps(self.calls, default=str)
        return meta

    def _worker_jobs(self, chunks: list[Any]) -> dict[str, str]:
        """The jobs of batch systems that workers ran in, as their records tell."""
        jobs = batch_jobs(chunks) if isinstance(chunks, ChunkLog) else []
        return kept({"worker_jobs": listed(sorted(jobs))}, self._settings.texts)

    def failed_fileset(self) -> list[Any] | dict[str, Any]:
        """The work that failed or was skipped; ``runner(mc.failed_fileset(), processor)`` does it again.

        A list of pieces of work (Coffea's WorkItem); a fileset if files failed in preprocessing, before there were
        pieces of them. If both happened, each of these files is one piece.
        """
        self._ready_metrics()
        return self._recorder.work.failed_fileset()

    def get_metrics(self) -> dict[str, Any]:
        """Every metric under every name; after a Runner that raised, those that were measured until then."""
        if self.metrics is None:
            raise RuntimeError(
                "there are no metrics yet: they are computed when the `with MetricsCollector(...)` block ends"
            )
        if self.coffea_report is None and not self.calls:
            raise RuntimeError(
                "there is no Coffea report: no Runner was called in the context and set_coffea_report(report) "
                "was not called; what was measured without one is in .metrics"
            )
        return self.metrics


def _checked(answer: Any, expected: type[_T], method: str) -> _T:
    if not isinstance(answer, expected):
        raise TypeError(f"{method}() of the source: {expected.__name__} is expected, not {type(answer).__name__}")
    return answer


# Those that were told something after their end.
_unsaved: weakref.WeakSet[MetricsCollector] = weakref.WeakSet()


@atexit.register
def _save_all_late() -> None:
    for collector in list(_unsaved):
        collector._save_late()
