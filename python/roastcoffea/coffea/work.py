"""The work of the Runner's calls: how each call ended, and what of its work was done, failed, or left out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roastcoffea._core import Run
from roastcoffea.decorator import is_tracked
from roastcoffea.common.endings import describe_error, is_interrupt, pieces_in
from roastcoffea.coffea.identity import name_of, piece_named, piece_of, recorded
from roastcoffea.coffea.preprocess_watch import BadFile
from roastcoffea.coffea.runner_watch import RunnerCall, Tasks

__all__ = ["Work"]

Piece = tuple[Any, ...]


@dataclass
class _Call:
    """A call of a Runner that has ended, without the objects of the user."""

    items: list[Any]
    processor: str
    returned: bool = True  # whether the executor returned an output
    error: dict[str, Any] | None = None  # the texts of the exception
    interrupted: bool = False
    datasets: set[Any] = field(default_factory=set)
    missing: list[Any] = field(default_factory=list)  # of the items, those that are not in the output
    finished: list[Any] | None = None  # of the items, those that are known to be done; None: not known
    suspects: list[Piece] = field(default_factory=list)  # pieces that failed at least once
    tasks: Tasks = field(default_factory=Tasks)
    tracked: bool = False
    bad_files: list[BadFile] = field(default_factory=list)  # of preprocessing
    skipped: dict[Piece, str] = field(default_factory=dict)  # pieces that Coffea left out, and why

    @property
    def is_clean(self) -> bool:
        """Whether all of its work was done."""
        return self.returned and self.error is None and not self.missing and not self.bad_files

    @property
    def left_out(self) -> list[Any]:
        """The pieces that Coffea has skipped. A recoverable executor also drops pieces that it has not tried."""
        return self.missing if self.error is None or self.skipped else []

    def key(self, piece: Piece) -> tuple[str, Piece]:
        """Two processors may process the same piece."""
        return self.processor, piece


class Work:
    """All calls of a run, in their order; of their work only the failed parts are kept after `settle`."""

    def __init__(self) -> None:
        self.failed_items: list[Any] = []  # WorkItems that failed, or were left out
        self.failed_files: list[BadFile] = []  # files that failed before there were WorkItems of them
        self._calls: list[_Call] = []
        self._error: dict[str, Any] | None = None  # that of the `with` block
        self._interrupted = False
        self._ending: dict[str, Any] | None = None

    # ---- during the run ----

    def add_call(self, call: RunnerCall) -> None:
        ended = _Call(list(call.items), type(call.processor).__name__, call.returned)
        self._calls.append(ended)
        ended.tasks, ended.tracked = call.tasks, is_tracked(call.processor)
        ended.skipped = {piece_named(*piece): reason for piece, reason in call.skipped.items()}
        ended.datasets = set(call.fileset) if isinstance(call.fileset, Mapping) else set()
        ended.suspects = [*map(piece_of, call.failed), *pieces_in(call.error)]
        if call.returned and len(call.processed) < len(call.items):
            done = set(map(piece_of, call.processed))
            ended.missing = [item for item in call.items if piece_of(item) not in done]
        if call.in_turn is not None:
            ended.finished = call.items[: call.in_turn.at]
        elif call.finished is not None:
            ended.finished = list(call.finished)
        if call.error is not None:
            ended.interrupted = is_interrupt(call.error)
            ended.error = describe_error(call.error)
            self._locate(ended, call)

    def _locate(self, ended: _Call, call: RunnerCall) -> None:
        """Adds the piece or the file in work to an error that names none."""
        assert ended.error is not None
        item = None if call.in_turn is None else call.in_turn.in_work
        bad_files = [] if call.items or call.preprocessing is None else call.preprocessing.bad_files
        if "file" in ended.error:
            return
        if item is not None:
            dataset, file, _, start, stop = piece_of(item)
            ended.error |= {"dataset": dataset, "file": file, "entry_start": start, "entry_stop": stop}
        elif len(bad_files) == 1:
            ended.error |= {"dataset": name_of(bad_files[0].dataset), "file": name_of(bad_files[0].file)}

    def add_bad_files(self, files: Iterable[BadFile]) -> None:
        """Files that failed in preprocessing, inside a call or before it."""
        if files := list(files):
            self._calls.append(_Call([], "", bad_files=files))

    def block_ends(self, error: BaseException | None) -> None:
        """The `with` block has ended, with that exception."""
        if error is None:
            return
        described = describe_error(error)
        for call in self._calls:  # the same exception, of which the call knows more
            known = call.error or {}
            if all(known.get(name) == described[name] for name in ("type", "message")):
                described = {**known, **described}
        self._interrupted, self._error = is_interrupt(error), described

    # ---- the end ----

    @property
    def ending(self) -> dict[str, Any]:
        """How the run ended, in the form of ``Run(ending=...)``."""
        if self._ending is None:  # could not be settled
            return self._outcome([call for call in self._calls if call.error is not None])
        return self._ending

    def _outcome(self, raised: list[_Call]) -> dict[str, Any]:
        """`raised`: the calls that raised and were not repeated with success."""
        error, interrupted = self._error, self._interrupted
        if error is None and raised:
            error, interrupted = raised[-1].error, raised[-1].interrupted
        if error is None:
            return {"outcome": "done"}
        return {"outcome": "interrupted" if interrupted else "failed", "error": error}

    def settle(self, make_run: Callable[[], Run]) -> None:
        """`make_run` gives a run with all chunks and attempts; it is called if some work was not done. Of millions of
        pieces of work only those that failed are kept."""
        calls, self._calls = self._calls, []
        if self._ending is not None:
            return
        if all(call.is_clean for call in calls):
            pieces = sum(len(call.items) for call in calls)
            self._ending = {**self._outcome([]), "pieces": pieces or None, "pieces_done": pieces or None}
            return
        known = _Known(calls, make_run())
        failures = [known.failures_of(call) for call in reversed(calls)]  # what a later call has done is no failure
        failures.reverse()
        self.failed_items = [item for one in failures for item in (*one.failed, *one.left_out)]
        self.failed_files = [file for one in failures for file in one.files]
        self._ending = {
            **self._outcome([call for call, one in zip(calls, failures) if not one.made_good]),
            **known.counts(calls),
            "pieces_failed": sum(len(one.failed) for one in failures),
            "skipped_files": [
                {"dataset": name_of(file.dataset), "file": name_of(file.file), "reason": file.reason}
                for call, one in zip(calls, failures)
                for file in (*one.files, *_files_of(call, one.left_out))
            ],
        }

    def failed_fileset(self) -> list[Any] | dict[str, Any]:
        """In a form that a Runner takes."""
        if self.failed_items or not self.failed_files:
            return [*self.failed_items, *map(self._whole_file, self.failed_files)]
        fileset: dict[str, Any] = {}
        for file in self.failed_files:
            dataset = fileset.setdefault(file.dataset, {"files": {}})
            dataset["files"][file.file] = file.treename
            if file.metadata is not None:
                dataset["metadata"] = file.metadata
            if file.preload is not None:
                dataset["preload"] = file.preload
        return fileset

    def _whole_file(self, file: BadFile) -> Any:
        """A WorkItem without an end: the number of entries is not known."""
        return type(self.failed_items[0])(
            file.dataset, file.file, file.treename, 0, None, b"", file.metadata, file.preload
        )


def _files_of(call: _Call, left_out: list[Any]) -> list[BadFile]:
    """The files of pieces that Coffea has skipped, each once."""
    files: dict[Any, BadFile] = {}
    for piece in map(piece_of, left_out):
        files.setdefault(piece[:2], BadFile(piece[0], piece[1], piece[2], call.skipped.get(piece)))
    return list(files.values())


@dataclass
class _Failures:
    """What of a call has failed, and was not done by a later one."""

    made_good: bool  # whether the call did not raise, or its work is done all the same
    files: list[BadFile]  # that failed in preprocessing
    left_out: list[Any]  # WorkItems that Coffea has skipped
    failed: list[Any]  # other WorkItems


class _Known:
    """Which pieces were done, from the last call to the first."""

    def __init__(self, calls: list[_Call], run: Run) -> None:
        lost = run.failed_tasks()
        suspects = [piece for call in calls for piece in call.suspects]
        suspects += [piece_of(item) for call in calls for item in call.tasks.items(lost)]
        raised = [piece_of(item) for call in calls if not call.returned and call.tracked for item in call.items]
        self._failed = set(run.failed_pieces(suspects))
        self._without_record = set(run.failed_pieces(raised)) if raised else set()
        self._attempts = run.attempts
        self._done: set[tuple[str, Piece]] = set()  # in the calls from here on
        self._files: set[tuple[Any, Any]] = set()  # of these pieces
        self._taken: set[tuple[str, Piece]] = set()  # pieces that have failed in the calls from here on
        self._datasets: set[Any] = set()  # of the calls that did not raise
        self._all_known = True

    def failures_of(self, call: _Call) -> _Failures:
        """Called for the last call first."""
        done = self._done_in(call)
        self._all_known &= done is not None
        self._done.update(call.key(piece) for piece in done or ())
        self._files.update(piece[:2] for piece in done or ())
        return _Failures(
            self._is_made_good(call),
            [file for file in call.bad_files if (name_of(file.dataset), name_of(file.file)) not in self._files],
            self._take(call, call.left_out),
            self._take(call, [item for item in call.items if recorded(piece_of(item)) in self._failed]),
        )

    def _take(self, call: _Call, items: list[Any]) -> list[Any]:
        """Those of the items that were neither done nor taken before."""
        taken = {
            key: item for item in items
            if (key := call.key(piece_of(item))) not in self._done and key not in self._taken
        }
        self._taken.update(taken)
        return list(taken.values())

    def _is_made_good(self, call: _Call) -> bool:
        if call.error is None:
            self._datasets |= call.datasets
            return True
        if call.items:
            return all(call.key(piece_of(item)) in self._done for item in call.items)
        # It failed before there were pieces.
        return bool(call.datasets) and call.datasets <= self._datasets

    def _done_in(self, call: _Call) -> set[Piece] | None:
        """The pieces that a call has processed; None if that is not known."""
        if call.returned or not call.items:
            return set(map(piece_of, call.items)).difference(map(piece_of, call.missing))
        finished = call.finished
        if finished is None and self._attempts is not None:
            finished = call.tasks.items(self._done_tasks)
        if call.tracked:  # records that travel with outputs are lost with them
            left_a_record = {piece for piece in map(piece_of, call.items) if recorded(piece) not in self._without_record}
            return left_a_record | set(map(piece_of, finished or ()))
        return None if finished is None else set(map(piece_of, finished))

    @functools.cached_property
    def _done_tasks(self) -> list[str]:
        records = [] if self._attempts is None else self._attempts.records()
        return [one["key"] for one in records if one["kind"] == "processing" and one["outcome"] == "done"]

    def counts(self, calls: list[_Call]) -> dict[str, int | None]:
        """How many pieces there were, and how many of them were done; called after the first call."""
        pieces = {call.key(piece_of(item)) for call in calls for item in call.items}
        done = pieces & self._done
        known = pieces and (self._all_known or done == pieces)
        return {"pieces": len(pieces) or None, "pieces_done": len(done) if known else None}
