"""Collecting a run of Coffea's TaskVineExecutor.

TaskVine's manager writes a log of everything that its tasks and workers do. The log is read at the end, by the C engine:
while TaskVine waits for tasks, threads of Python hardly run, so that looks at the workers meanwhile come now and then.
The log does not say what a task was for, nor why it raised: both are learned from the calls of `submit` and `wait`.

Coffea makes the manager itself and calls `custom_init` of the executor with it. It keeps the manager for as long as it
needs it; nothing here holds a reference to a manager or a task, since the manager's port is free only when it is gone.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from roastcoffea._core import TaskVineLog, now, redact_text
from roastcoffea.backends.dask.task_watch import FAILURE_LENGTH, FAILURES
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source, check_interval, note_task
from roastcoffea.common.endings import describe_text
from roastcoffea.worker.file_sizes import ASKED_ELSEWHERE, SIZES
from roastcoffea.common.guard import Notes, attempt, hook
from roastcoffea.common.marks import Mark

__all__ = ["TaskVineSource"]

LOG = "transactions"
_LONGEST = 64_000  # characters of what a task printed; the exception is at its end


class TaskVineSource(Source):
    """Runs of a TaskVineExecutor, one after the other."""

    how_to_install = "the environment of the tasks needs this package: environment_file of the TaskVineExecutor"

    def __init__(self, executor: Any = None) -> None:
        self.executor = executor
        self._watch: _Watch | None = None

    def begin(self, interval: float | None) -> Engine:
        check_interval(interval)
        self.abandon()
        cannot = []
        if self.executor is None or not hasattr(self.executor, "custom_init"):
            cannot.append("without the TaskVineExecutor itself nothing is known of its workers: MetricsCollector(executor)")
        else:
            self._watch = _Watch(self.executor)
        return Engine(_name(), cannot, names_workers=True, tells=("series", "attempts") if self._watch is not None else ())

    def news(self) -> News:
        return News() if self._watch is None else self._watch.look()

    def about(self) -> dict[str, str]:
        return {} if self._watch is None or not self._watch.logs else {"taskvine_log": os.path.abspath(self._watch.logs[-1])}

    def end(self, ran: Ran) -> Collected:
        watch, self._watch = self._watch, None
        if watch is None:
            return Collected()
        watch.stop()
        return watch.collect()

    def abandon(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()


def _name() -> str:
    """A package that was built from source, or by Conda, is none of Python's: its module tells."""
    try:
        return f"TaskVine {version('ndcctools')}"
    except PackageNotFoundError:
        told = getattr(sys.modules.get("ndcctools.taskvine"), "__version__", None)
        return "TaskVine" if told is None else f"TaskVine {told}"


class _Watch:
    """Watches the managers that an executor has from now on."""

    def __init__(self, executor: Any) -> None:
        self.begun = now()
        self.logs: list[str] = []  # in the order of the managers
        self.raised: dict[str, dict[int, tuple[str, str]]] = {}  # by log and task: type and message
        self.pieces: dict[str, dict[int, tuple[Any, ...]]] = {}  # by log and task: the chunk
        self._managers: list[weakref.ref[Any]] = []
        self._seen: tuple[str, TaskVineLog] | None = None  # a log while it grows, and its reader
        self._earlier = 0, 0  # what _counts() gave for the logs before it
        self._stopped = False
        self._mark = Mark(executor, "custom_init", self._chain(executor.custom_init))

    def _chain(self, theirs: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        def custom_init(manager: Any) -> Any:
            result = theirs(manager) if theirs is not None else None
            if not self._stopped:  # another collector may call it still
                _meet(self, manager)
            return result

        return custom_init

    def stop(self) -> None:
        """Nothing of ours stays with the user's objects. What the user has set meanwhile stays."""
        self._stopped = True
        self._mark.take_off()
        for known in self._managers:
            if (manager := known()) is not None:
                for name in ("submit", "wait"):
                    if isinstance(call := vars(manager).get(name), _Call) and not call.forget(self):
                        delattr(manager, name)

    def look(self) -> News:
        """The joins and leaves of workers, and those that are connected now; None: nothing has changed. The reader is
        another than that of the end, which has to know first why tasks raised."""
        if not self.logs:
            return News()
        place, series = self.logs[-1], None
        if self._seen is None or self._seen[0] != place:
            if self._seen is not None:
                self._earlier = self._counts()
            self._seen = place, TaskVineLog(self.begun)
        log = self._seen[1]
        if log.read(place):
            series = log.changes()
            series.tick_values(None, {worker: {"cores": cores} for worker, cores in log.present.items()})
        done, raised = self._counts()
        last = list(self.raised[place].items())[-FAILURES:]
        told = [(f"{kind}: {message}"[:FAILURE_LENGTH], f"task.{task}") for task, (kind, message) in last]
        return News(series=series, failures=(raised, told), done=done)

    def _counts(self) -> tuple[int, int]:
        """Processing tasks that are done, and tries that raised, with those of managers before."""
        facts = {} if self._seen is None else self._seen[1].facts
        done, raised = self._earlier
        return done + facts.get("processed", 0), raised + facts.get("raised", 0)

    def collect(self) -> Collected:
        notes, log = Notes(), TaskVineLog(self.begun)
        read = 0
        before: set[int] = set()  # tasks of the manager before this one: theirs are other reasons
        for place in self.logs:
            raised = self.raised.get(place, {})
            for task in before - set(raised):
                log.explain(task, None, None)
            for task, (kind, message) in raised.items():
                log.explain(task, kind, message)
            before |= set(raised)
            read += attempt("TaskVine's log", notes.add, log.read, place) is not None
        if not read:
            if not self.logs:
                notes.add("no manager of TaskVine was seen: no Runner called the executor of this collector")
            return Collected(notes=list(notes))
        offsets, figures = log.clock_offsets, log.figures
        attempts, series = log.end()
        for note in log.notes:
            notes.add(note)
        return Collected(
            series=series, attempts=attempts, figures=figures or None, clock_offsets=offsets, notes=list(notes),
            about=self._resubmitted(),
        )

    def _resubmitted(self) -> dict[str, str]:
        """Coffea submits a chunk whose task failed again, whole or split in two, each time as a new task."""
        again = parts = 0
        for pieces in self.pieces.values():
            files: dict[Any, list[tuple[int, int]]] = {}
            for dataset, file, tree, start, stop in pieces.values():
                files.setdefault((dataset, file, tree), []).append((start, stop))
            for spans in files.values():
                again += len(spans) - len(set(spans))
                parts += _inside_others(sorted(set(spans), key=lambda span: (span[0], -span[1])))
        return {"chunks_submitted_again": str(again), "parts_of_split_chunks": str(parts)}


def _inside_others(spans: list[tuple[int, int]]) -> int:
    """How many spans lie inside of one before them; sorted by their starts, the longer of two first."""
    count = 0
    reach: int | None = None
    for _, stop in spans:
        count += reach is not None and stop <= reach
        reach = stop if reach is None else max(reach, stop)
    return count


class _Call:
    """A method of one manager; hooks hear what it returned and was given, one of each watch. It holds no reference to the
    manager."""

    def __init__(self, manager: Any, name: str, before: Callable[..., None] | None) -> None:
        self._manager, self._name, self._before = weakref.ref(manager), name, before
        self._hooks: dict[_Watch, tuple[Callable[..., None], dict[int, Any]]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        manager = self._manager()
        if self._before is not None:
            self._before(*args, **kwargs)
        result = getattr(type(manager), self._name)(manager, *args, **kwargs)
        for heard, known in list(self._hooks.values()):
            heard(known, result, *args, **kwargs)
        return result

    def forget(self, watch: _Watch) -> int:
        """How many watches are left."""
        self._hooks.pop(watch, None)
        return len(self._hooks)


def _listen(
    watch: _Watch, manager: Any, name: str, heard: Callable[..., None], known: dict[int, Any],
    before: Callable[..., None] | None = None,
) -> None:
    call = vars(manager).get(name)
    if call is None:
        call = _Call(manager, name, before)
        setattr(manager, name, call)
    if isinstance(call, _Call):  # one of the user's own stays
        call._hooks[watch] = heard, known


@hook("TaskVine: the manager")
def _meet(watch: _Watch, manager: Any) -> None:
    """Called for every phase; a manager may serve several."""
    if any(known() is manager for known in watch._managers):
        return
    place = os.path.join(manager.logging_directory, LOG)
    raised = watch.raised.setdefault(place, {})
    watch._managers.append(weakref.ref(manager))
    watch.logs.append(place)
    pieces, sizes = watch.pieces.setdefault(place, {}), _Sizes()
    _listen(watch, manager, "wait", functools.partial(_waited, sizes), raised)
    _listen(watch, manager, "submit", _submitted, pieces, sizes.submits)


class _Sizes:
    """Asks the first task of each file for the sizes of the file. Each task is a new process, which would send them again:
    of 1,600 branches they are most of its record. A task that is made again keeps its environment."""

    def __init__(self) -> None:
        self._asked: set[tuple[Any, ...]] = set()  # files

    @hook("TaskVine: the sizes of a file")
    def submits(self, task: Any) -> None:
        piece = _piece_of(task)
        if piece is not None and piece[:3] in self._asked:
            task.set_env_var(SIZES, ASKED_ELSEWHERE)
        elif piece is not None:
            self._asked.add(piece[:3])

    def failed(self, task: Any) -> None:
        """The next one of its file is asked: it may have been this one."""
        piece = _piece_of(task)
        if piece is not None:
            self._asked.discard(piece[:3])


def _piece_of(task: Any) -> tuple[Any, ...] | None:
    item: Any = getattr(task, "item", None)
    if getattr(item, "entrystart", None) is None:  # a FileMeta, or outputs to be merged
        return None
    return item.dataset, item.filename, item.treename, item.entrystart, item.entrystop


@hook("TaskVine: the chunk of a task")
def _submitted(pieces: dict[int, tuple[Any, ...]], number: Any, task: Any) -> None:
    piece = _piece_of(task)
    if piece is not None:
        pieces[int(number)] = piece
        note_task(f"task.{int(number)}", task.item)


@hook("TaskVine: why a task failed")
def _waited(sizes: _Sizes, raised: dict[int, tuple[str, str]], task: Any, *_: Any, **__: Any) -> None:
    """Only here is the text of an exception: TaskVine has it in what the task printed."""
    if task is None or task.successful():
        return
    sizes.failed(task)
    printed = task.std_output
    found = describe_text(redact_text(str(printed))[-_LONGEST:]) if printed else None
    if found is not None:
        raised[task.id] = found
