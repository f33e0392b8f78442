"""Records the calls of Coffea's Runner in one run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from roastcoffea._core import ChunkLog, Run
from roastcoffea.aggregation.reports import sum_reports
from roastcoffea.backends.executors import kind_of
from roastcoffea.backends.source import Source
from roastcoffea.decorator import bare, is_tracked
from roastcoffea.common.guard import Notes, attempt, warn
from roastcoffea.coffea.identity import RunIdentity, piece_of, recorded
from roastcoffea.common.marks import GONE, Mark
from roastcoffea.coffea.preprocess_watch import Preprocessing
from roastcoffea.coffea.pieces import Pieces
from roastcoffea.coffea.runner_watch import FLAG, OUTPUT_KEY, RunnerCall
from roastcoffea.coffea.work import Work

__all__ = ["Recorder"]

_TOPIC = "_roastcoffea_topic"
_CHUNKS = "_chunk_metrics"


class Recorder:
    """Watches the calls: marks the processor, and keeps reports, records of chunks and pieces of work."""

    def __init__(self, processor: Any, notes: Notes, source: Source) -> None:
        """`source` is asked which workers lack this package."""
        self.processor = processor  # what the user gave, or that of the first call
        self.calls: list[dict[str, Any]] = []  # the settings of each
        # Classes of the processors of all calls: engines name the tasks that process chunks after them.
        self.processor_names = set[str]() if processor is None else {type(processor).__name__}
        self.reports: list[dict[str, Any]] = []
        self.preprocessing: list[Preprocessing] = []
        self.phases: list[tuple[str, float, float]] = []  # what the client waited for, on its clock
        self.records = ChunkLog()  # from outputs and messages, each once
        self.replayed = 0  # chunks that came from a checkpoint
        self.elsewhere: set[str] = set()  # classes of executors that run chunks on other machines
        self.work = Work()
        self.pieces = Pieces()  # while the run goes on
        self.identity: RunIdentity | None = None
        self.note = notes.add
        self._source = source
        self._lock = threading.RLock()  # two threads may call one Runner
        self._around: set[Recorder] = set()  # those of other collectors that have seen a call of this run
        self._marks: list[_Marked] = []
        self._expected: list[Any] = []  # pieces of processors with our decorator, which leave a record each
        self._expected_chunks = 0
        self._without = 0  # pieces of these that have no record of a try that succeeded

    @property
    def processor_name(self) -> str | None:
        return None if self.processor is None else type(self.processor).__name__

    # ---- calls of the Runner ----

    def call_begins(self, call: RunnerCall) -> None:
        with self._lock:
            if self.processor is None:
                self.processor = call.processor
            self.mark(call.processor)
            self.processor_names.add(type(call.processor).__name__)
            self.calls.append(describe(call))
            executor = getattr(call.runner, "executor", None)
            if kind_of(executor) == "elsewhere":
                self.elsewhere.add(type(executor).__name__)
                if self.identity is not None and self.identity.topic.startswith("file:"):
                    self.pieces.records_arrive = False  # only processes of this machine can write there
            self._around.update(other for other in call.watchers if isinstance(other, Recorder))
            self._around.discard(self)
            self._meet_others()
        self._look_for_us(call)

    def _meet_others(self) -> None:
        watching = [other.identity for other in (self, *self._around)]
        topics = [identity.topic for identity in watching if identity is not None]
        if self.identity is not None and self._marks:
            self.identity.meet(self._marks[-1].topics(), topics)

    def _look_for_us(self, call: RunnerCall) -> None:
        """Says before the run what workers without this package mean for it."""
        lacking, advice = self._source.workers_without_us(), self._source.how_to_install
        if not lacking:
            return
        advice = f"; {advice}" if advice else ""
        if is_tracked(call.processor):
            text = "which the decorator of process() needs: chunks will fail there with ModuleNotFoundError"
            warn(f"{lacking} cannot import roastcoffea, {text}{advice}")
        else:
            text = "so that no chunk has a record; all that the engine itself tells is measured"
        self.note(f"{lacking} cannot import roastcoffea, {text}{advice}")

    def work_is_known(self, call: RunnerCall) -> None:
        self.pieces.add(call)

    def call_ends(self, call: RunnerCall) -> None:
        with self._lock:
            try:
                if len(call.execution) > 1:
                    self.phases.append(("execution", call.execution[0], call.execution[-1]))
                attempt("how a call of the Runner ended", self.note, self.work.add_call, call)
                self.replayed += call.replayed
                for chunks in call.chunks:
                    attempt(f"what the output has under {OUTPUT_KEY}", self.note, self.take, chunks)
                if call.report is not None:
                    attempt("Coffea's report", self.note, self._take_report, call, call.report)
            finally:
                self.pieces.call_ends(call)
                self._unmark(call)

    def _take_report(self, call: RunnerCall, report: dict[str, Any]) -> None:
        sum_reports([report])  # says what is wrong with it
        self.reports.append(report)
        if is_tracked(call.processor):
            self._expected += call.processed

    def preprocessed(self, preprocessing: Preprocessing) -> None:
        with self._lock:
            self.preprocessing.append(preprocessing)
            self.phases.append(("preprocessing", preprocessing.begun, preprocessing.ended))
            self.work.add_bad_files(preprocessing.bad_files)

    # ---- records ----

    def take(self, chunks: list[Any]) -> None:
        """Keeps each record once; records that were changed by hand count too."""
        self.records.merge_unique(chunks if isinstance(chunks, ChunkLog) else ChunkLog(chunks))

    def take_message(self, data: bytes) -> None:
        """Of two nested collectors around one call only the inner one receives records."""
        records = ChunkLog.from_bytes(data)
        around = [other for other in self._around if other.identity is not None and other.identity.is_open]
        for recorder in (self, *around):
            with recorder._lock:
                recorder.records.merge_unique(records)

    def figures(self) -> dict[Any, Any]:
        """The cost of preprocessing, in the form of figures of tasks."""
        if not self.preprocessing:
            return {}
        total = sum(self.preprocessing, Preprocessing())
        figures: dict[Any, Any] = {
            ("preprocess", "wall", "seconds"): total.seconds,
            ("preprocess", "files", "count"): total.files,
        }
        if total.bytes is not None:
            figures["preprocess", "read", "bytes"] = total.bytes
            figures["preprocess", "read", "count"] = total.requests
        return figures

    # ---- marks on the processor ----

    def mark(self, processor: Any) -> None:
        if self.identity is not None:
            marked = _Marked(processor)
            self._marks.append(marked)
            marked.put(self.identity.topic)

    def _unmark(self, call: RunnerCall) -> None:
        for marked in reversed(self._marks):
            if marked.processor is call.processor:
                marked.undo(call.chunks)
                self._marks.remove(marked)
                return

    def unmark_all(self) -> None:
        while self._marks:
            self._marks[-1].undo([self.records])
            self._marks.pop()

    # ---- the end ----

    def count_missing(self, chunks: list[Any], replayed: int) -> str | None:
        """In words: how many of the expected records arrived, if some are missing. A record of a failed try, or a
        second one of a piece, does not replace a missing one."""
        if self._expected:
            pieces = {piece_of(item) for item in self._expected}
            self._expected_chunks = len(self._expected)
            failed = set(Run(chunks=chunks).failed_pieces(list(pieces)))
            self._without = sum(recorded(piece) in failed for piece in pieces)
            self._expected = []  # there may be millions
        expected = self._expected_chunks - replayed
        known = min(len(chunks), self._expected_chunks - self._without)
        if known >= expected:
            return None
        return f"{known} of {expected} chunks have a record: metrics of chunks cover only these"

    def settle(self, make_run: Callable[[], Run]) -> None:
        """`make_run` gives a run with all chunks and attempts."""
        self._around.clear()
        self.work.settle(make_run)


def _name_of(processor: Any) -> str:
    """Of its class; or its own, of a function that is used as a processor."""
    kind = type(processor)
    own = None if hasattr(kind, "process") else getattr(processor, "__name__", None)
    return own if isinstance(own, str) else kind.__name__


def describe(call: RunnerCall) -> dict[str, Any]:
    """The settings of a call of a Runner."""
    runner, fileset = call.runner, call.fileset
    known: dict[str, Any] = {
        "executor": type(getattr(runner, "executor", None)).__name__,
        "schema": getattr(getattr(runner, "schema", None), "__name__", None),
        "chunksize": getattr(runner, "chunksize", None),
        "maxchunks": getattr(runner, "maxchunks", None),
        "format": getattr(runner, "format", None),
        "processor": _name_of(bare(call.processor)),
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


class _Marked:
    """A processor with the flag and the topic of a collector."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self._owner = bare(processor)
        self._marks: list[Mark] = []

    def put(self, topic: str) -> None:
        processor = self._owner
        for owner, name, value, missing in (
            (processor, FLAG, True, False), (type(processor), FLAG, True, False), (processor, _TOPIC, topic, GONE),
        ):
            Mark(owner, name, value, missing, self._marks)

    def topics(self) -> list[str]:
        """All topics that collectors have set on the processor."""
        return self._marks[-1].others()

    def undo(self, found: list[list[Any]]) -> None:
        """`found` are the records made meanwhile by a copy of the processor."""
        for mark in reversed(self._marks):
            mark.take_off()
        records = [part for part in found if isinstance(part, ChunkLog)]
        # A processor without our decorator stays unchanged: it may be sent to a worker without this package.
        if not any(records):
            return
        there = None
        with suppress(Exception):
            there = object.__getattribute__(self._owner, _CHUNKS)
        chunks = there if isinstance(there, ChunkLog) else ChunkLog().stay_here()
        for part in records:
            chunks.merge_unique(part)
        with suppress(Exception):
            setattr(self._owner, _CHUNKS, chunks)
