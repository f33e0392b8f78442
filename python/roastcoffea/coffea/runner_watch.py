"""Watches Coffea's Runner while a collector is open.

Every run goes through one method of Runner, and from there to the call of an executor. Both are wrapped while at least
one watch is open, and restored with the last one. If other code has wrapped a method meanwhile, it is left unchanged:
our wrapper stays inside and does nothing. The arguments and results of an executor contain everything that is needed;
neither the Runner nor the processor is changed. A call is seen by the watches of its own context (thread or task). A
call from a context without a watch is seen if there is only one watch.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, MutableMapping
from concurrent.futures import BrokenExecutor, Future
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol

from roastcoffea._core import now
from roastcoffea.backends.executors import kind_of, takes_in_turn
from roastcoffea.backends.source import current_call
from roastcoffea.coffea.carriage import carrying_records
from roastcoffea.coffea.closures import argument, find, replace, with_arguments
from roastcoffea.decorator import bare, is_tracked
from roastcoffea.common.guard import attempt, hook, words
from roastcoffea.common.marks import Mark
from roastcoffea.coffea.preprocess_watch import METHODS, InTurn, Preprocessing, watch_files
from roastcoffea.coffea.pieces import Counted
from roastcoffea.coffea.skips import noting_skips
from roastcoffea.worker.tasks import Task, register

__all__ = ["FLAG", "OUTPUT_KEY", "RunnerCall", "RunnerWatch", "Tasks"]

OUTPUT_KEY = "__roastcoffea_metrics__"
REPLAYED_KEY = "__roastcoffea_replayed__"
SKIPPED_KEY = "__roastcoffea_skipped__"
FLAG = "_roastcoffea_collect_metrics"

# From the inside out: the first one that this version of Coffea has is wrapped.
_METHODS = ("_run_impl", "_run", "run")


class Watcher(Protocol):
    """The receiver of the calls."""

    def call_begins(self, call: RunnerCall) -> None: ...

    def call_ends(self, call: RunnerCall) -> None: ...

    def work_is_known(self, call: RunnerCall) -> None: ...

    def preprocessed(self, preprocessing: Preprocessing) -> None: ...

    def note(self, text: str) -> None: ...


class RunnerCall:
    """The state of one call of a Runner."""

    def __init__(self, runner: Any, fileset: Any, processor: Any) -> None:
        self.runner = runner
        self.fileset = fileset
        self.processor = processor
        self.watched = False
        self.watchers: list[Watcher] = []
        self.chunks: list[list[Any]] = []  # lists of chunk records that were found in outputs
        self.items: list[Any] = []  # the pieces of work, as soon as Coffea has them
        self.processed: list[Any] = []  # of the pieces, those whose output came back
        self.tasks = Tasks()
        self.failed: list[Any] = []  # of the pieces, those that a pool of this machine could not do
        self.finished: list[Any] | None = None  # of the pieces, those that a pool of this machine has done
        self.in_turn: InTurn | None = None  # the pieces, where they are processed one after the other
        self.returned = False  # whether the executor returned an output
        self.skipped: dict[Any, str] = {}  # pieces that Coffea left out, and why
        self.preprocessing: Preprocessing | None = None
        self.executing = False  # whether an executor has the pieces
        self.execution: list[float] = []  # when the executor began and ended
        self.looked = False  # whether what is ours was taken out of the output
        self.metrics_wanted = True  # whether the user wants Coffea's report as well
        self.replayed = 0  # of the pieces, those that came from a checkpoint
        self.report: dict[str, Any] | None = None
        self.error: BaseException | None = None
        self.begun = False  # whether it is the call of this context
        self.outer: RunnerCall | None = None  # the call around it

    def state(self) -> Counted:
        """How many pieces are done so far: that is known of executors of this machine."""
        done = None if self.finished is None else len(self.finished)
        return Counted(len(self.items), done if self.in_turn is None else self.in_turn.at, is_tracked(self.processor))

    def tell(self, method: str) -> None:
        for watcher in self.watchers:
            attempt("a call of the Runner", watcher.note, getattr(watcher, method), self)

    def note(self, text: str) -> None:
        for watcher in self.watchers:
            watcher.note(text)

    def take_chunks(self, output: Any) -> None:
        """Removes the records from an output without a trace."""
        if isinstance(output, MutableMapping):
            found = output.pop(OUTPUT_KEY, None)
            if isinstance(found, list):
                self.chunks.append(found)


class Tasks:
    """Which piece of work is in which task of the engine. No future is kept: that would keep its result."""

    def __init__(self) -> None:
        self._noted: list[tuple[list[str], list[Any]]] = []

    def note(self, keys: list[str], items: list[Any]) -> None:
        """The keys of tasks, in the order of the pieces."""
        self._noted.append((keys, items))

    def add(self, other: Tasks) -> None:
        self._noted += other._noted

    def items(self, keys: Iterable[str]) -> list[Any]:
        """The pieces of these tasks, as far as they are known."""
        wanted = set(keys)
        return [item for noted, items in self._noted for key, item in zip(noted, items) if key in wanted]


class _Patch:
    """A wrapper in place of a method. While it is not active, it only calls the method."""

    def __init__(self, owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.owner, self.name = owner, name
        self.active = True
        self.original = original = owner.__dict__[name]
        watched = wrap(original)

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return watched(*args, **kwargs) if self.active else original(*args, **kwargs)

        self.method = method


class RunnerWatch:
    """While it is open, the watcher is notified of calls of Runner."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def open(self) -> None:
        with _lock:
            _open.append(self._watcher)
            _here.set((*_here.get(), self._watcher))
            _install()

    def close(self) -> None:
        with _lock:
            _open[:] = [one for one in _open if one is not self._watcher]
            if not _open:
                _remove()
            _here.set(tuple(one for one in _here.get() if one is not self._watcher))
            if not _open:  # an interrupt may have come before the end of a call was noted
                _call.set(None)
                _preprocessing.set(None)


_lock = threading.RLock()
_open: list[Watcher] = []
_here: ContextVar[tuple[Watcher, ...]] = ContextVar("roastcoffea_watchers", default=())
_call: ContextVar[RunnerCall | None] = current_call
_preprocessing: ContextVar[Preprocessing | None] = ContextVar("roastcoffea_preprocessing", default=None)
_patched: list[_Patch] = []


def _watchers() -> list[Watcher]:
    here = [one for one in _here.get() if one in _open]
    return here or (list(_open) if len(_open) == 1 else [])


# ---- wrapping ----

def _install() -> None:
    """Imports Coffea, if it is installed: a program may import its Runner only inside the context."""
    try:
        runner: type = import_module("coffea.processor.executor").Runner
    except ImportError:
        return
    for name in _METHODS:
        if callable(runner.__dict__.get(name)):
            _wrap(runner, name, _watched_run)
            break
    if callable(runner.__dict__.get("preprocess")):
        _wrap(runner, "preprocess", _untraced)
    for name, fetcher in METHODS.items():
        if callable(runner.__dict__.get(name)):
            _wrap(runner, name, functools.partial(_watched_preprocessing, fetcher))


def _wrap(owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Called under the lock. A second call does nothing."""
    if not any(patch.owner is owner and patch.name == name for patch in _patched):
        patch = _Patch(owner, name, wrap)
        _patched.append(patch)  # first: whatever happens, it can be restored
        setattr(owner, name, patch.method)


def _remove() -> None:
    """Called under the lock; calls nothing that could fail."""
    for patch in _patched:
        patch.active = False
        if patch.name in patch.owner.__dict__ and patch.owner.__dict__[patch.name] is patch.method:
            setattr(patch.owner, patch.name, patch.original)
    _patched[:] = []


def _wrap_executor(executor: Any) -> None:
    """Wraps the call of an executor, and the methods by which Coffea's own executors submit pieces: of Dask's client
    and of a pool."""
    client = getattr(sys.modules.get("distributed.client"), "Client", None)
    pool = getattr(executor, "pool", None)
    for owner, name, wrap in (
        (type(executor), "__call__", _watched_execution),
        (client, "map", functools.partial(_noted, _note_tasks)),
        (pool if isinstance(pool, type) else type(pool), "submit", functools.partial(_noted, _note_future)),
    ):
        for base in getattr(owner, "__mro__", ()):
            if callable(base.__dict__.get(name)):
                with _lock:
                    if _open:  # another thread may have closed the last watch meanwhile
                        _wrap(base, name, wrap)
                break


# ---- a call of a Runner ----

def _watched_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, fileset: Any, processor_instance: Any, *args: Any, **kwargs: Any) -> Any:
        call = RunnerCall(self, fileset, processor_instance)
        error: BaseException | None = None
        try:
            _begin_call(call)
            result = original(self, fileset, processor_instance, *args, **kwargs)
            if call.watched:
                _look_again(call, result)
            return result
        except BaseException as raised:
            error = raised
            raise
        finally:
            if call.watched:
                _end_call(call, error)
            del error  # it knows this frame

    return run


@hook("a call of the Runner could not be watched")
def _begin_call(call: RunnerCall) -> None:
    call.watched = bool(_open)
    call.watchers = _watchers()
    call.watched = bool(call.watchers)
    if call.watched:
        _wrap_executor(getattr(call.runner, "executor", None))
        call.outer = _call.get()
        call.begun = True  # first: an interrupt may come at once
        _call.set(call)
        call.tell("call_begins")


@hook("the end of a Runner's call")
def _end_call(call: RunnerCall, error: BaseException | None) -> None:
    call.error = call.error or error
    try:
        if call.begun:
            _call.set(call.outer)
    finally:
        call.tell("call_ends")


def _untraced(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tracing calls process() on arrays without data, to find the columns it uses: that is not a chunk."""

    @functools.wraps(original)
    def preprocess(self: Any, *args: Any, **kwargs: Any) -> Any:
        mark = _switch_off(kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            if mark is not None:
                mark.take_off()

    return preprocess


@hook("tracing may be measured as chunks")
def _switch_off(options: dict[str, Any]) -> Mark | None:
    processor = options.get("processor_instance")
    return None if options.get("trace") is None or processor is None else Mark(bare(processor), FLAG, False)


# ---- a call of an executor ----

def _watched_execution(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def execute(self: Any, items: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        begun = _begin_execution(self, items, function)
        if begun is None:
            return original(self, items, function, *args, **kwargs)
        items, closure, look_at, execution = begun
        try:
            result = original(self, items, closure, *args, **kwargs)
        finally:
            _end_execution(execution)
        return look_at(result) or result

    return execute


@hook("the arguments of the executor could not be read")
def _begin_execution(
    executor: Any, items: Any, function: Any
) -> tuple[Any, Any, Callable[[Any], Any], list[float]] | None:
    """The items and the function to execute instead, who looks at the result and may change it, and where to note the
    end; None where nobody watches, and where the method of one executor calls that of another, both of which are
    wrapped."""
    preprocessing, call = _preprocessing.get(), _call.get()
    if preprocessing is not None:
        if preprocessing.executing:
            return None
        return *watch_files(executor, preprocessing.retries, items, function, preprocessing), []
    if call is None or call.executing:
        return None
    work = find(function, getattr(type(call.runner), "_work_function", None))
    if work is None:
        return None
    call.executing = True
    call.items = list(items)
    if takes_in_turn(executor):
        call.in_turn = items = InTurn(call.items)
    call.tell("work_is_known")
    watched = _with_report(call, work) or work
    dataframes = argument(work, "use_dataframes")  # their output is no mapping
    if not dataframes:
        watched = carrying_records(executor, watched, call.processor, OUTPUT_KEY)
    closure = replace(function, work, watched)
    if not dataframes:
        retries = getattr(type(call.runner), "automatic_retries", None)
        closure = noting_skips(executor, closure, retries, mark_skipped, SKIPPED_KEY)
    call.execution.append(now())
    return items, closure, functools.partial(_look_at_output, call), call.execution


def _whole_call() -> Task | None:
    """The task of an executor that takes its pieces in turn is its call: a chunk begins when the last one has ended."""
    call = _call.get()
    return None if call is None or call.in_turn is None else Task(started=call.in_turn.begun)


register("in turn", _whole_call)


@hook("when the executor ended is not known")
def _end_execution(execution: list[float]) -> None:
    execution.append(now())


def mark_skipped(key: str, value: Any, reason: str) -> Any:
    """Runs in the process that could not do a piece of work: an output that says why."""
    item = value[0] if isinstance(value, tuple) else value
    return {key: {(item.dataset, item.filename, item.treename, item.entrystart, item.entrystop): reason}}


@hook("Coffea's report is not there")
def _with_report(call: RunnerCall, work: functools.partial[Any]) -> functools.partial[Any] | None:
    """The same work with Coffea's report in its output; checkpoints do not change."""
    wanted = bool(argument(work, "savemetrics"))
    checkpointer = argument(work, "checkpointer")
    if checkpointer is not None:
        from coffea.processor import CheckpointerABC  # type: ignore[import-untyped]

        if kind_of(call.runner.executor) == "elsewhere" and not is_tracked(call.processor):
            call.note(
                "Coffea's report was not requested: the checkpoints would contain it. With @track_metrics it can be "
                "removed from them"
            )
            return None
        if not isinstance(checkpointer, CheckpointerABC):
            return None  # Coffea says so
        from roastcoffea.coffea.checkpoints import CleanCheckpoints

        checkpointer = CleanCheckpoints(checkpointer, wanted, OUTPUT_KEY, REPLAYED_KEY)
    call.metrics_wanted = wanted
    return with_arguments(work, savemetrics=True, checkpointer=checkpointer)


@hook("the output of the run could not be read")
def _look_at_output(call: RunnerCall, result: Any) -> Any:
    """Runs before postprocess() gets the output of the executor. Returns what Coffea gets instead of it, if it has
    nothing but our entries."""
    wrapped, error = result
    if isinstance(error, BaseException):
        call.error = error
    ours_alone = isinstance(wrapped, MutableMapping) and set(wrapped) == {SKIPPED_KEY}
    _take_out(call, wrapped)
    call.looked = True
    return (None, error) if ours_alone else None


@hook("the output of the run could not be read")
def _look_again(call: RunnerCall, result: Any) -> None:
    """If the executor's call was not seen: removes our entries from the result."""
    if not call.looked:
        _take_out(call, result)


def _take_out(call: RunnerCall, wrapped: Any) -> None:
    """Takes report and records out of Coffea's wrapped output."""
    if not isinstance(wrapped, MutableMapping):
        return
    try:
        call.skipped = wrapped.pop(SKIPPED_KEY, {})
        report = wrapped.get("metrics") if call.metrics_wanted else wrapped.pop("metrics", None)
        replayed = wrapped.pop(REPLAYED_KEY, {})
        if report is None and replayed:
            report = {"entries": 0, "bytesread": 0, "processtime": 0}  # all of it was replayed
        if isinstance(report, dict):
            call.report = _work_of(report, len(call.items), replayed)
        call.replayed += replayed.get("chunks", 0)
        call.processed = list(wrapped.get("processed", [] if call.skipped else call.items))
        call.returned = True
    finally:
        call.take_chunks(wrapped)
        call.take_chunks(wrapped.get("out"))  # where process() ran without our entry beside it


def _work_of(report: dict[str, Any], chunks: int, replayed: dict[str, Any]) -> dict[str, Any]:
    """Coffea's report without the chunks that a checkpoint replayed: they are another run's work."""
    plain = {key: list(value) if isinstance(value, set) else value for key, value in report.items()}
    plain["chunks"] = chunks
    return {key: value - replayed[key] if key in replayed else value for key, value in plain.items()}


# ---- preprocessing ----

def _watched_preprocessing(fetcher: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Counts the reads of preprocessing, which no report contains."""

    @functools.wraps(original)
    def preprocess_fileset(self: Any, *args: Any, **kwargs: Any) -> Any:
        begun = _begin_preprocessing(self, fetcher)
        error: BaseException | None = None
        try:
            return original(self, *args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            if begun is not None:
                _end_preprocessing(*begun, error)
            del error  # it knows this frame

    return preprocess_fileset


@hook("preprocessing could not be watched")
def _begin_preprocessing(runner: Any, fetcher: str) -> tuple[Preprocessing, float] | None:
    if not _watchers():
        return None
    preprocessing = Preprocessing(getattr(type(runner), fetcher, None))
    preprocessing.retries = getattr(type(runner), "automatic_retries", None)
    if (call := _call.get()) is not None:
        call.preprocessing = preprocessing
    _wrap_executor(getattr(runner, "pre_executor", None))
    begun = time.perf_counter()
    _preprocessing.set(preprocessing)
    return preprocessing, begun


@hook("the end of preprocessing")
def _end_preprocessing(preprocessing: Preprocessing, begun: float, error: BaseException | None) -> None:
    _preprocessing.set(None)
    preprocessing.seconds += time.perf_counter() - begun
    preprocessing.ended = now()
    if error is not None:
        preprocessing.find_bad_files(error)
    preprocessing.forget_files()
    for watcher in _watchers():
        attempt("preprocessing", watcher.note, watcher.preprocessed, preprocessing)


# ---- how pieces are submitted ----

def _noted(note: Callable[..., None], original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, a method that makes futures, with `note(futures, *args)` after each call."""

    @functools.wraps(original)
    def submit(self: Any, *args: Any, **kwargs: Any) -> Any:
        futures = original(self, *args, **kwargs)
        note(futures, *args)
        return futures

    return submit


@hook("the pieces of failed tasks are not known")
def _note_tasks(futures: Any, function: Any = None, values: Any = (), *more: Any) -> None:
    """A worker that dies does not say which piece of work its tasks had."""
    call = _call.get()
    if call is None or not isinstance(values, list) or not isinstance(futures, list):
        return
    items = [_item_in(value) for value in values]
    if items and items[0] is not None and len(items) == len(futures):
        call.tasks.note([str(future.key) for future in futures], items)


@hook("the pieces that a pool could not do are not known")
def _note_future(future: Any, function: Any = None, value: Any = None, *more: Any) -> None:
    """Of the pieces that a pool could not do, Coffea names the first one only."""
    call, item, preprocessing = _call.get(), _item_in(value), _preprocessing.get()
    if preprocessing is not None:
        future.add_done_callback(functools.partial(_note_bad_file, preprocessing, value))
    elif call is not None and item is not None:
        call.finished = [] if call.finished is None else call.finished
        future.add_done_callback(functools.partial(_note_end, call.finished, call.failed, item))


@hook("whether a piece of work failed is not known")
def _note_end(finished: list[Any], failed: list[Any], item: Any, future: Future[Any]) -> None:
    if not future.cancelled():
        (finished if future.exception() is None else failed).append(item)


@hook("whether a file failed in preprocessing is not known")
def _note_bad_file(preprocessing: Preprocessing, file: Any, future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None and not isinstance(error, BrokenExecutor):  # which ends all that the pool had
        preprocessing.add_bad_file(file, words(error))


def _item_in(value: Any) -> Any:
    """The piece of work in the argument of a task, which may be (piece, heavy input)."""
    item = value[0] if isinstance(value, tuple) and value else value
    return item if hasattr(item, "entrystart") else None
