"""MetricsCollector: what a user puts around a run."""

from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from roastcoffea._core import (
    ChunkLog,
    Run,
    faults,
    hold_clock,
    now,
    parse_work_item,
    release_clock,
    shift_clocks,
    split_replayed,
    sum_reports,
)
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.registry import backend_name, make_backend
from roastcoffea.export.measurements import (
    at_free_name,
    beside_run,
    measurement_path,
    save_measurement,
)
from roastcoffea.guard import attempt, hook, listen, unlisten, warn, words
from roastcoffea.identity import RunIdentity
from roastcoffea.live import LiveWriter
from roastcoffea.marks import GONE, Mark
from roastcoffea.preprocess_watch import Preprocessing
from roastcoffea.progress import LiveLine, SharedNews, shows_own_bar
from roastcoffea.provenance import provenance
from roastcoffea.results import Results
from roastcoffea.runner_watch import FLAG, OUTPUT_KEY, RunnerCall, RunnerWatch, Tasks, is_tracked

__all__ = ["MetricsCollector"]

_TOPIC = "_roastcoffea_topic"
_CHUNKS = "_chunk_metrics"
SPAN_NAME = "coffea-processing"
INSTALL_ON_WORKERS = (
    'client.register_plugin(distributed.PipInstall(packages=["roastcoffea"])) installs it on all workers'
)
# What a run is made of, the most doubtful first: where the metrics cannot be computed, they are computed without.
_PARTS = ("series", "spans", "attempts", "section_metrics", "custom_metrics", "chunks", "report")


class MetricsCollector(Results):
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
        A folder: the measurement is saved there when the context ends, however it ends, and can be
        read there while the run goes on. `measurement_path` tells its name. What is told after the end
        is saved with the next look at the results or at `measurement_path`, or when the program ends.
    measurement_name, overwrite, config
        As of :meth:`save_measurement`, for the measurement in `output_dir`.
    live
        Whether one line in the terminal says how far the run is. It gives way to Coffea's own bar.
    """

    _stale = False  # something was told since the results were computed

    def __init__(
        self,
        client: Any = None,
        backend: str | AbstractMetricsBackend | None = None,
        track_workers: bool = True,
        worker_tracking_interval: float = 1.0,
        processor_instance: Any = None,
        output_dir: str | os.PathLike[str] | None = None,
        measurement_name: str | None = None,
        overwrite: bool = True,
        config: Mapping[str, Any] | None = None,
        live: bool = False,
    ) -> None:
        self.client = client
        self.track_workers = track_workers
        self.worker_tracking_interval = worker_tracking_interval
        self.output_dir = output_dir
        self.measurement_name = measurement_name
        self.overwrite = overwrite
        self.config = config
        self._measurement_path: Path | None = None
        self._told_in = 0  # the process in which something was told after the end
        if output_dir is not None and measurement_name is not None:
            measurement_path(output_dir, measurement_name)  # says at once what is wrong with it
        self.metrics_backend = make_backend(client, backend)
        self.backend = backend_name(self.metrics_backend)
        self.aggregator = MetricsAggregator(self.backend)
        self._users_processor = processor_instance
        self._wants_line = live
        self._watch = RunnerWatch(self)
        self._state = "new"
        self._lock = threading.RLock()  # two threads may call one Runner
        self._reset()

    def _reset(self) -> None:
        """Nothing is measured yet."""
        self._save_late()
        self._stale = False
        self.processor_instance = self._users_processor
        self.t_start: float | None = None
        self.t_end: float | None = None
        self._metrics: dict[str, Any] | None = None
        self._coffea_report: dict[str, Any] | None = None
        self.reports: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.custom_metrics: Mapping[str, Any] | None = None
        self.tracking_data: Any = None
        self.span_info: Any = None
        self.span_metrics: dict[Any, Any] | None = None
        self.section_metrics: list[Mapping[str, Any]] = []
        self._run: Run | None = None
        self.replayed_chunks = 0
        self.notes: list[str] = []
        self._noted: set[str] = set()
        self._collected = ChunkLog()
        self._replayed = ChunkLog()
        self._fresh: tuple[Any, ChunkLog] | None = None
        self._recorded = ChunkLog()
        self._given: ChunkLog | None = None
        self._shown: tuple[ChunkLog, ChunkLog] | None = None
        self._report_given = False
        self._identity: RunIdentity | None = None
        self._clock_offsets: dict[str, float] = {}
        self._marks: list[_Marked] = []
        self._around: set[MetricsCollector] = set()  # others that have seen a call of this run
        self._faults = 0
        self.preprocessing: list[Preprocessing] = []
        self._provenance: dict[str, str] = {}
        self._live: LiveWriter | None = None
        self._news = SharedNews(self.metrics_backend)
        self._line = LiveLine(self._news.reader()) if self._wants_line else None
        self._items: list[Any] = []  # the pieces of work of all calls, until the end
        self._tasks = Tasks()
        self._suspects: list[tuple[Any, ...]] = []  # pieces that failed at least once
        self._failed_items: list[Any] = []
        self._replayed_in_calls = 0
        self._expected = 0  # chunks of processors with our decorator, which leave a record each
        self._expected_items: list[Any] = []  # the same as pieces of work, until the end
        self._during, self._after = ExitStack(), ExitStack()
        self._fetched = False
        self._unanswered = 0

    def note(self, text: str) -> None:
        """Keeps what could not be measured, and why; each text once."""
        if text not in self._noted:
            self._noted.add(text)
            self.notes.append(text)

    # ---- the context ----

    def __enter__(self) -> MetricsCollector:
        if self._state == "open":
            raise RuntimeError("this collector is measuring already: a second one measures at the same time")
        if self._state == "ended":
            self._reset()
        # What was put in place is taken away again, whatever fails here.
        with ExitStack() as after, ExitStack() as during:
            self._state = "entering"
            after.callback(self._has_ended)
            after.callback(unlisten, self.note)
            listen(self.note)
            after.callback(release_clock)
            hold_clock()
            self._faults = faults()["count"]
            self._provenance = provenance()
            self._begin_measurement(after)
            self._begin_backend(after)
            after.callback(self._close_during)
            during.callback(self._unmark_all)
            if self.processor_instance is not None:
                self._mark(self.processor_instance)
            during.callback(self._watch.close)
            self._watch.open()
            self._start_threads(during)
            self.t_start = self._now()
            self._during, self._after = during.pop_all(), after.pop_all()
            self._state = "open"
        return self

    def _has_ended(self) -> None:
        self._state = "ended"

    def _begin_backend(self, after: ExitStack) -> None:
        backend = self.metrics_backend
        after.callback(attempt, "the end of the run", self.note, self._abandon)
        backend.begin_run(self.worker_tracking_interval if self.track_workers else None)
        self._identity = RunIdentity(backend.open_channel())
        after.callback(self._identity.close)
        self._identity.open()
        if self.track_workers:
            backend.start_tracking(self.worker_tracking_interval)
        if backend.supports_fine_metrics():
            self.span_info = backend.create_span(SPAN_NAME)

    def _abandon(self) -> None:
        """Where not all of the backend's data could be fetched."""
        if not self._fetched:
            self.metrics_backend.abandon_run()

    def _start_threads(self, during: ExitStack) -> None:
        if self._live is not None:
            during.callback(self._live.stop)
            self._live.start()
        if self._line is not None:
            during.callback(self._line.stop)
            self._line.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if self._state != "open":
            return
        self._state = "ending"
        with self._after:
            self._stop_clock()
            self._stop_watching()
            self._fetched = self._fetch()
            self._aggregate()
            self._end_measurement()

    @hook("how long the run took is not known")
    def _stop_clock(self) -> None:
        self.t_end = self._now()

    def _now(self) -> float:
        """On the clock of the run, which goes on evenly whoever sets the system's."""
        return now() + self.metrics_backend.clock_offset

    @hook("the end of watching")
    def _stop_watching(self) -> None:
        self._close_during()

    def _close_during(self) -> None:
        self._during.close()

    @hook("what was measured", default=False)
    def _fetch(self) -> bool:
        """All that the backend has; a part that cannot be had is a note. Whether nothing failed."""
        backend = self.metrics_backend
        self._unanswered = 0
        self._ask("the end of the run", backend.end_run, self.span_info)
        if self.span_info is not None or backend.supports_fine_metrics():
            self.span_metrics = self._ask("span metrics", backend.get_span_metrics, self.span_info)
        for data in self._ask("records beside the output", backend.close_channel) or []:
            self._ask("a message of records is damaged", self._take_message, data)
        self._around.clear()
        if self.track_workers:
            if type(backend).confirm_workers is not AbstractMetricsBackend.confirm_workers:
                pids = {chunk["pid"] for chunk in self._collected.copy()} - {None}
                self._ask("the processes of the workers", backend.confirm_workers, pids)
            self.tracking_data = self._ask("worker series", backend.stop_tracking)
        self._clock_offsets = backend.clock_offsets
        if self._identity is not None and self._identity.mixed:
            self.note("another collector measured the same processor in another thread: chunks of both are in here")
        for note in backend.notes:
            self.note(note)
        if faults()["count"] > self._faults:
            self.note(f"a measurement of ours failed: {faults()['last']}")
        return self._unanswered == 0

    def _take_message(self, data: bytes) -> None:
        """Of two collectors around one call the inner one alone is sent the records beside the output."""
        records = ChunkLog.from_bytes(data)
        for collector in (self, *(other for other in self._around if other._state == "open")):
            with collector._lock:
                collector._collected.merge_unique(records)

    def _ask(self, what: str, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:
            self._unanswered += 1
            self.note(f"{what}: {words(error)}")
            return None

    # ---- the measurement in output_dir ----

    def _begin_measurement(self, after: ExitStack) -> None:
        """A folder that cannot be written to is told now, not after hours."""
        if self.output_dir is None:
            return
        self._measurement_path, self._live = at_free_name(
            lambda path, replace: LiveWriter(path, replace, self._news.reader(), self._meta, self._now),
            self.output_dir, self.measurement_name, self.overwrite,
        )
        after.callback(self._abandon_measurement)

    def _abandon_measurement(self) -> None:
        """Where the run did not begin. One that was interrupted keeps what was written meanwhile."""
        if self._live is not None and self._state == "entering":
            self._live.abandon()

    @hook("the measurement could not be saved")
    def _end_measurement(self) -> None:
        live, self._live = self._live, None
        if live is None:
            return
        if self.run is None or self.metrics is None:
            live.abandon()
            return
        run, metrics, times = self.run, self.metrics, self._times()

        def finish() -> None:
            beside = beside_run(metrics, run, *times, self.config)
            self.notes += beside["notes"]
            live.finish(run, beside)

        self._try_to_save(finish)

    def _try_to_save(self, save: Callable[[], Any]) -> None:
        try:
            save()
        except Exception as error:
            # The user's results are worth more than ours: they must not be lost with an exception here.
            text = f"the measurement could not be saved: {words(error)}"
            self.note(text)
            warn(f"{text}; save_measurement(another_folder) can still save it", stacklevel=4)

    def _times(self) -> tuple[float, float]:
        if self.t_start is None or self.t_end is None or self.metrics is None:
            raise RuntimeError(
                "there is nothing to save yet: a measurement is complete when the `with` block has ended"
            )
        return self.t_start, self.t_end

    def save_measurement(
        self,
        output_dir: str | os.PathLike[str],
        measurement_name: str | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        overwrite: bool = True,
    ) -> Path:
        """Saves all that was measured as ``output_dir/measurement_name``; returns that path.

        Without a name it is the date and time of the run. An older measurement of that name is
        replaced, all of it or not at all; with ``overwrite=False`` it is a FileExistsError.
        """
        t0, t1 = self._times()
        return save_measurement(
            self._ready_metrics(), t0, t1, output_dir, measurement_name,
            self.config if config is None else config, overwrite=overwrite,
        )

    # ---- what the Runner tells ----

    def call_begins(self, call: RunnerCall) -> None:
        with self._lock:
            if self.processor_instance is None:
                self.processor_instance = call.processor
            self._mark(call.processor)
            self.calls.append(describe(call))
            self._around.update(other for other in call.watchers if isinstance(other, MetricsCollector))
            self._around.discard(self)
            self._meet_others()
        self._look_for_us(call)
        if self._line is not None and shows_own_bar(getattr(call.runner, "executor", None)):
            self._line.give_way()

    def _meet_others(self) -> None:
        watching = [other._identity for other in (self, *self._around)]
        topics = [identity.topic for identity in watching if identity is not None]
        if self._identity is not None and self._marks:
            self._identity.meet(self._marks[-1].topics(), topics)

    def _look_for_us(self, call: RunnerCall) -> None:
        """Says before the run what workers without this package mean for it."""
        lacking = self.metrics_backend.workers_without_us
        if not lacking:
            return
        if is_tracked(call.processor):
            text = "which the decorator of process() needs: chunks will fail there with ModuleNotFoundError"
            warn(f"{lacking} cannot import roastcoffea, {text}; {INSTALL_ON_WORKERS}")
        else:
            text = "so that no chunk has a record; all that Dask itself tells is measured"
        self.note(f"{lacking} cannot import roastcoffea, {text}; {INSTALL_ON_WORKERS}")

    def work_is_known(self, call: RunnerCall) -> None:
        if self._line is not None:
            self._line.expect(len(call.items))

    def call_ends(self, call: RunnerCall) -> None:
        with self._lock:
            try:
                self._items += call.items
                self._tasks.add(call.tasks)
                self._replayed_in_calls += call.replayed
                for chunks in call.chunks:
                    self._ask(f"what the output has under {OUTPUT_KEY}", self._take, chunks)
                if call.report is not None:
                    self._ask("Coffea's report", self._take_report, call, call.report)
            finally:
                self._unmark(call)
        if self._line is not None and shows_own_bar(getattr(call.runner, "executor", None)):
            self._line.come_back()
        self._suspects += map(_piece_of, call.failed)
        self._suspects += _pieces_in(call.error)

    def _take_report(self, call: RunnerCall, report: dict[str, Any]) -> None:
        sum_reports([report])  # says what is wrong with it
        self.reports.append(report)
        if is_tracked(call.processor):
            self._expected += len(call.processed)
            self._expected_items += call.processed

    def preprocessed(self, preprocessing: Preprocessing) -> None:
        self.preprocessing.append(preprocessing)

    def _mark(self, processor: Any) -> None:
        if self._identity is not None:
            marked = _Marked(processor)
            self._marks.append(marked)
            marked.put(self._identity.topic)

    def _unmark(self, call: RunnerCall) -> None:
        for marked in reversed(self._marks):
            if marked.processor is call.processor:
                self._marks.remove(marked)
                marked.undo([chunks for chunks in call.chunks if isinstance(chunks, ChunkLog)])
                return

    def _unmark_all(self) -> None:
        while self._marks:
            self._marks.pop().undo([self._collected])

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
        given = dict(report)
        Run(report=given, custom_metrics=custom_metrics)  # says at once what is wrong with it
        self._coffea_report = given
        self.custom_metrics = custom_metrics
        self._report_given = True
        self._refresh()

    def set_chunk_metrics(self, chunk_metrics: Iterable[Mapping[str, Any]]) -> None:
        """The chunks of a run, in place of those that were collected.

        Records of the decorator are added to what was collected instead, each once: on a cluster the
        user's own processor has seen none of them.
        """
        if isinstance(chunk_metrics, ChunkLog):
            self._take(chunk_metrics)
        elif chunks := ChunkLog(chunk_metrics):
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
        one = ChunkLog([chunk])
        self._recorded.extend(one)
        if self._shown is not None:
            self._shown[1].extend(one)
        self._refresh()

    def record_section_metrics(self, section: Mapping[str, Any]) -> None:
        """Adds a section that was measured elsewhere."""
        if not isinstance(section, Mapping):
            raise TypeError(f"a section is a mapping, not {type(section).__name__}")
        Run(section_metrics=[section])  # says at once what is wrong with it
        self.section_metrics.append(section)
        self._refresh()

    def _take(self, chunks: list[Any]) -> None:
        """Each record once; those that were changed by hand are records all the same."""
        self._collected.merge_unique(chunks if isinstance(chunks, ChunkLog) else ChunkLog(chunks))

    # ---- what comes out ----

    @property
    def metrics(self) -> dict[str, Any] | None:
        """Every metric under every name; None until the context has ended."""
        self._compute_again()
        return self._metrics

    @property
    def run(self) -> Run | None:
        """What the engine knows of the run; None until the context has ended."""
        self._compute_again()
        return self._run

    @property
    def coffea_report(self) -> dict[str, Any] | None:
        """Coffea's report: the one that was given, or the sum over all calls of a Runner."""
        self._compute_again()
        return self._coffea_report

    @property
    def measurement_path(self) -> Path | None:
        """Where the measurement in `output_dir` is, with all that was told so far."""
        self._compute_again()
        return self._measurement_path

    @property
    def chunk_metrics(self) -> list[Any]:
        """The chunks of this run: one and the same list as long as none comes in, then a longer one."""
        chunks = self._given if self._given is not None else self._fresh_chunks()
        if not self._recorded:
            return chunks
        if self._shown is None or self._shown[0] is not chunks:
            self._shown = chunks, chunks.copy()
            self._shown[1].extend(self._recorded)
        return self._shown[1]

    def _fresh_chunks(self) -> ChunkLog:
        """Without those that a checkpoint replayed, and all on the clock of the run."""
        if self._identity is None:
            return self._collected
        state = len(self._collected), frozenset(self._identity.topics), self._clock_offsets
        if self._fresh is None or self._fresh[0] != state:
            fresh, self._replayed = split_replayed(self._collected, self._identity.topics)
            self._fresh = state, shift_clocks(fresh, self._clock_offsets) if self._clock_offsets else fresh
        self.replayed_chunks = len(self._replayed) + self._replayed_in_calls
        return self._fresh[1]

    def _report(self) -> dict[str, Any] | None:
        if self._report_given:
            return self._coffea_report
        if not self.reports:
            return None
        return sum_reports(self.reports)

    def _refresh(self) -> None:
        """What is told after the end counts as well: the next look at the results computes them again."""
        if self.t_end is None or self._metrics is None:
            return
        self._stale = True
        self._told_in = os.getpid()
        _stale.add(self)

    def _compute_again(self) -> None:
        """Where something was told after the end; the measurement in `output_dir` is saved again, too."""
        if not self._stale:
            return
        self._stale = False
        try:
            self._aggregate()
        except BaseException:
            self._stale = True
            raise
        _stale.discard(self)
        if (path := self._measurement_path) is not None:
            self._try_to_save(lambda: self.save_measurement(path.parent, path.name))

    def _save_late(self) -> None:
        """Saves what was told after the end and nobody has looked at since. A forked process leaves that to its
        parent."""
        if self._stale and self._measurement_path is not None and self._told_in == os.getpid():
            with suppress(Exception):
                self._compute_again()

    def __del__(self) -> None:
        self._save_late()

    def _aggregate(self) -> None:
        """Computes all metrics; where that fails, without the parts of the run that may be the reason."""
        left_out: tuple[str, ...] = ()
        for part in (*_PARTS, ""):
            try:
                self._compute(left_out)
                return
            except Exception as error:
                self.note(f"the metrics could not be computed with all that was measured: {words(error)}")
                left_out = (*left_out, part)
        self.note("the metrics could not be computed at all")

    def _compute(self, left_out: tuple[str, ...]) -> None:
        chunks = [] if "chunks" in left_out else self.chunk_metrics
        self._coffea_report = report = self._report()
        if report is not None and self._replayed:
            report = sum_reports([report], self._replayed)
        if self.replayed_chunks:
            self.note(f"{self.replayed_chunks} chunks were replayed from a checkpoint: they are left out of all rates")
        tracking = self.tracking_data
        if self.track_workers and self.metrics_backend.series is not None:
            tracking = self.metrics_backend.series
        attempts = self.metrics_backend.attempts
        if attempts is not None:
            for name in {self.processor_name, *(call["processor"] for call in self.calls)} - {None}:
                attempts.set_kind(name, "processing")
        self._note_missing_records(chunks)
        parts: dict[str, Any] = {
            "report": report,
            "chunks": chunks,
            "series": None if self.aggregator.own_form else tracking,
            "spans": self._figures(),
            "custom_metrics": self.custom_metrics,
            "section_metrics": self.section_metrics,
            "attempts": attempts,
        }
        run = Run(
            t_start=self.t_start,
            t_end=self.t_end,
            processor_name=self.processor_name,
            meta=self._meta(),
            notes=self.notes,
            replayed=self.replayed_chunks,
            **{name: part for name, part in parts.items() if name not in left_out},
        )
        for note in run.notes:  # of values that could not be kept
            self.note(note)
        self._metrics = self.aggregator.metrics_of(
            run,
            None if "series" in left_out else tracking,
            None if "spans" in left_out else self.span_metrics,
            chunks,
            [] if "section_metrics" in left_out else self.section_metrics,
        )
        self._run = run
        self._note_failed_items()

    def _note_missing_records(self, chunks: list[Any]) -> None:
        """A record of a try that failed, or a second one of a piece of work, does not make up for a missing one."""
        items, self._expected_items = self._expected_items, []
        pieces, run = {_piece_of(item) for item in items}, Run(chunks=chunks)
        without = pieces.intersection(run.failed_pieces(list(pieces)))
        expected = self._expected - self.replayed_chunks
        known = min(len(chunks), self._expected - len(without))
        if known < expected:
            self.note(f"{known} of {expected} chunks have a record: what is known of chunks alone is known of these")

    def _figures(self) -> dict[Any, Any]:
        """What the spans measured and, in the same form, what preprocessing cost."""
        spans = self.span_metrics or {}
        figures = dict(spans.get("cumulative_worker_metrics", spans))
        total = sum(self.preprocessing, Preprocessing())
        if self.preprocessing:
            figures["preprocess", "wall", "seconds"] = total.seconds
            figures["preprocess", "files", "count"] = total.files
        if self.preprocessing and total.bytes is not None:
            figures["preprocess", "read", "bytes"] = total.bytes
            figures["preprocess", "read", "count"] = total.requests
        return figures

    def _meta(self) -> dict[str, str]:
        """Texts about the run: where it comes from, and what the Runner's calls said of themselves."""
        meta = {**self._provenance, "backend": self.backend}
        if self.t_start is not None:
            meta["start_utc"] = datetime.fromtimestamp(self.t_start, timezone.utc).isoformat()
        if self._clock_offsets:
            meta["clock_offsets"] = json.dumps(self._clock_offsets)
        for call in self.calls:
            meta.update((key, str(value)) for key, value in call.items())
        if self.calls:
            meta["calls"] = json.dumps(self.calls, default=str)
        return meta

    def _note_failed_items(self) -> None:
        """Of millions of pieces of work only those that failed are kept."""
        items, self._items = self._items, []
        tasks, self._tasks = self._tasks, Tasks()
        suspects, self._suspects = self._suspects, []
        if self.run is None or not items:
            return
        suspects += map(_piece_of, tasks.items(self.run.failed_tasks()))
        failed = set(self.run.failed_pieces(suspects))
        by_piece = {_piece_of(item): item for item in reversed(items)}
        self._failed_items = [
            item for item in items if (piece := _piece_of(item)) in failed and by_piece[piece] is item
        ]

    def failed_fileset(self) -> list[Any]:
        """The pieces of work that failed, which Coffea runs again with ``runner(pieces, processor)``."""
        self._ready_metrics()
        return list(self._failed_items)

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


# Those that nobody has looked at since something was told.
_stale: weakref.WeakSet[MetricsCollector] = weakref.WeakSet()


@atexit.register
def _save_all_late() -> None:
    for collector in list(_stale):
        collector._save_late()


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


def _piece_of(item: Any) -> tuple[Any, ...]:
    """A WorkItem as the engine names it."""
    return item.dataset, item.filename, item.treename, item.entrystart, item.entrystop


def _pieces_in(error: BaseException | None) -> Iterator[tuple[Any, ...]]:
    """The pieces that an error names, and those that it comes from."""
    while error is not None:
        if (piece := parse_work_item(str(error))) is not None:
            yield piece
        error = error.__cause__ or error.__context__


def _files_of(entry: Any) -> Any:
    """The files of a dataset, in any form that Coffea takes."""
    files = entry.get("files", entry) if isinstance(entry, Mapping) else getattr(entry, "files", entry)
    return files if hasattr(files, "__len__") and not isinstance(files, str) else [files]


class _Marked:
    """A processor with the flag and the topic of a collector."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self._marks: list[Mark] = []

    def put(self, topic: str) -> None:
        processor = self.processor
        for owner, name, value, missing in (
            (processor, FLAG, True, False), (type(processor), FLAG, True, False), (processor, _TOPIC, topic, GONE),
        ):
            self._marks += [Mark(owner, name, value, missing)]

    def topics(self) -> list[str]:
        """All that collectors have put onto the processor."""
        return self._marks[-1].others()

    def undo(self, records: list[ChunkLog]) -> None:
        """`records` are those that were made meanwhile: a copy of the processor has seen them."""
        for mark in reversed(self._marks):
            mark.take_off()
        # A processor without our decorator stays as it was: it may go where this package is not.
        if not any(records):
            return
        there = getattr(self.processor, _CHUNKS, None)
        chunks = there if isinstance(there, ChunkLog) else ChunkLog().stay_here()
        for part in records:
            chunks.merge_unique(part)
        with suppress(Exception):
            setattr(self.processor, _CHUNKS, chunks)
