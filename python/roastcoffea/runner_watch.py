"""Watches Coffea's Runner while a collector is open.

Every way of running leads through one method of Runner, and from there to the call of an executor. Both are wrapped
while at least one watch is open, and put back with the last one. What Coffea hands to an executor and gets from it
tells all that must be known; neither the Runner nor the processor is changed. A call is seen by the watches of its own
context (thread or task); one from a context without any is seen by the only watch there is.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, MutableMapping
from concurrent.futures import Future
from contextvars import ContextVar, Token
from importlib import import_module
from typing import Any, Protocol

from roastcoffea._core import track_metrics
from roastcoffea.backends._executors import kind_of
from roastcoffea.closures import argument, find, replace, with_arguments
from roastcoffea.guard import attempt, hook
from roastcoffea.marks import Mark
from roastcoffea.preprocess_watch import METHODS, Preprocessing, count_reading

__all__ = ["FLAG", "OUTPUT_KEY", "RunnerCall", "RunnerWatch", "Tasks", "is_tracked"]

OUTPUT_KEY = "__roastcoffea_metrics__"
REPLAYED_KEY = "__roastcoffea_replayed__"
FLAG = "_roastcoffea_collect_metrics"

# From the inside out: the first one that a version of Coffea has is the one that is wrapped.
_METHODS = ("_run_impl", "_run", "run")


class Watcher(Protocol):
    """Who is told of the calls."""

    def call_begins(self, call: RunnerCall) -> None: ...

    def call_ends(self, call: RunnerCall) -> None: ...

    def work_is_known(self, call: RunnerCall) -> None: ...

    def preprocessed(self, preprocessing: Preprocessing) -> None: ...

    def note(self, text: str) -> None: ...


class RunnerCall:
    """One call of a Runner, as far as it has come."""

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
        self.metrics_wanted = True  # whether the user wants Coffea's report as well
        self.replayed = 0  # of the pieces, those that came from a checkpoint
        self.report: dict[str, Any] | None = None
        self.error: BaseException | None = None
        self.token: Token[Any] | None = None

    def tell(self, event: str) -> None:
        for watcher in self.watchers:
            attempt("a call of the Runner", watcher.note, getattr(watcher, event), self)

    def take_chunks(self, output: Any) -> None:
        """Takes the records out of an output, which looks as if they had never been there."""
        if isinstance(output, MutableMapping):
            found = output.pop(OUTPUT_KEY, None)
            if isinstance(found, list):
                self.chunks.append(found)


def is_tracked(processor: Any) -> bool:
    """Whether process() has our decorator, so that workers need this package in any case."""
    function = getattr(type(processor), "process", processor)
    while function is not None and not isinstance(function, track_metrics):
        function = getattr(function, "__wrapped__", None)
    return function is not None


class Tasks:
    """Which piece of work is in which task of Dask.

    No future is kept: that would keep its result. Of a key there are its 16 bytes, for there may be millions.
    """

    def __init__(self) -> None:
        self._hashed: list[tuple[str, bytes, list[Any]]] = []
        self._by_key: dict[str, Any] = {}

    def note(self, keys: list[str], items: list[Any]) -> None:
        """The keys of tasks, in the order of the pieces."""
        stem = keys[0].rpartition("-")[0]
        digests = [_digest(key, stem) for key in keys]
        if all(digests):
            self._hashed.append((stem, b"".join(digests), items))
        else:
            self._by_key.update(zip(keys, items, strict=True))

    def add(self, other: Tasks) -> None:
        self._hashed += other._hashed
        self._by_key.update(other._by_key)

    def items(self, keys: Iterable[str]) -> list[Any]:
        """The pieces of these tasks, as far as they are known."""
        wanted: dict[str, set[bytes]] = {}  # by what is in front of the hash
        found: list[Any] = []
        for key in keys:
            stem = key.rpartition("-")[0]
            wanted.setdefault(stem, set()).add(_digest(key, stem))
            if key in self._by_key:
                found.append(self._by_key[key])
        for stem, digests, items in self._hashed:
            for at, item in enumerate(items) if stem in wanted else ():
                if digests[at * _DIGEST_BYTES : (at + 1) * _DIGEST_BYTES] in wanted[stem]:
                    found.append(item)
        return found


_DIGEST_BYTES = 16


def _digest(key: str, stem: str) -> bytes:
    """What a key has behind its stem; nothing where that is no hash."""
    head, _, tail = key.rpartition("-")
    try:
        return bytes.fromhex(tail) if head == stem and len(tail) == 2 * _DIGEST_BYTES else b""
    except ValueError:
        return b""


class RunnerWatch:
    """Open: calls of Runner are told to the watcher."""

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


_lock = threading.RLock()
_open: list[Watcher] = []
_here: ContextVar[tuple[Watcher, ...]] = ContextVar("roastcoffea_watchers", default=())
_call: ContextVar[RunnerCall | None] = ContextVar("roastcoffea_call", default=None)
_preprocessing: ContextVar[Preprocessing | None] = ContextVar("roastcoffea_preprocessing", default=None)
_patched: list[tuple[type, str, Callable[..., Any]]] = []


def _watchers() -> list[Watcher]:
    here = [one for one in _here.get() if one in _open]
    return here or (list(_open) if len(_open) == 1 else [])


# ---- what is wrapped ----

def _install() -> None:
    """Imports Coffea, if it is there at all: a program may come to its Runner only inside the context."""
    if _patched:
        return
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
    original = owner.__dict__[name]
    wrapped = wrap(original)
    _patched.append((owner, name, original))  # first: whatever happens, it can be put back
    setattr(owner, name, wrapped)


def _remove() -> None:
    for owner, name, original in _patched:
        setattr(owner, name, original)
    _patched[:] = []


def _wrap_executor(executor: Any) -> None:
    """Wraps the call of an executor, and the ways in which Coffea's own hand the pieces out: that of Dask's client,
    and that of a pool."""
    client = getattr(sys.modules.get("distributed.client"), "Client", None)
    pool = getattr(executor, "pool", None)
    for owner, name, wrap in (
        (type(executor), "__call__", _watched_execution),
        (client, "map", _noted_map),
        (pool if isinstance(pool, type) else type(pool), "submit", _noted_submit),
    ):
        for base in getattr(owner, "__mro__", ()):
            if callable(base.__dict__.get(name)):
                with _lock:
                    if not any(patched is base and at == name for patched, at, _ in _patched):
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
        call.token = _call.set(call)
        call.tell("call_begins")


@hook("the end of a Runner's call")
def _end_call(call: RunnerCall, error: BaseException | None) -> None:
    call.error = call.error or error
    try:
        _leave(_call, call.token)
    finally:
        call.tell("call_ends")


def _leave(variable: ContextVar[Any], token: Token[Any] | None) -> None:
    """Back to what was around."""
    try:
        if token is not None:
            variable.reset(token)
    except BaseException:
        variable.set(None)
        raise


def _untraced(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tracing calls process() on arrays without data, to see what it touches: that is no chunk."""

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
    return None if options.get("trace") is None or processor is None else Mark(processor, FLAG, False)


# ---- a call of an executor ----

def _watched_execution(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def execute(self: Any, items: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        begun = _begin_execution(self, items, function)
        if begun is None:
            return original(self, items, function, *args, **kwargs)
        closure, look_at = begun
        result = original(self, items, closure, *args, **kwargs)
        look_at(result)
        return result

    return execute


@hook("what Coffea hands to its executor could not be looked at")
def _begin_execution(executor: Any, items: Any, function: Any) -> tuple[Any, Callable[[Any], None]] | None:
    """What to execute instead, and who looks at the result; None where nobody watches."""
    preprocessing, call = _preprocessing.get(), _call.get()
    if preprocessing is not None:
        return count_reading(executor, function, preprocessing)
    work = None if call is None else find(function, getattr(type(call.runner), "_work_function", None))
    if call is None or work is None:
        return None
    call.items = list(items)
    call.tell("work_is_known")
    closure = _with_report(call, work) or work
    return replace(function, work, closure), functools.partial(_look_at_output, call)


@hook("Coffea's report is not there")
def _with_report(call: RunnerCall, work: functools.partial[Any]) -> functools.partial[Any] | None:
    """The same work with Coffea's report in its output; a checkpoint holds what it would hold without us."""
    call.metrics_wanted = wanted = bool(argument(work, "savemetrics"))
    checkpointer = argument(work, "checkpointer")
    if checkpointer is None:
        return with_arguments(work, savemetrics=True)
    from coffea.processor import CheckpointerABC  # type: ignore[import-untyped]

    at_hand = kind_of(call.runner.executor) != "elsewhere" or is_tracked(call.processor)
    if not at_hand or not isinstance(checkpointer, CheckpointerABC):
        return None  # a worker need not have this package
    from roastcoffea.checkpoints import CleanCheckpoints

    clean = CleanCheckpoints(checkpointer, wanted, OUTPUT_KEY, REPLAYED_KEY)
    return with_arguments(work, savemetrics=True, checkpointer=clean)


@hook("the output of the run could not be looked at")
def _look_at_output(call: RunnerCall, result: Any) -> None:
    """Before postprocess() sees what the executor returns."""
    wrapped, error = result
    if isinstance(error, BaseException):
        call.error = error
    _take_out(call, wrapped)


@hook("the output of the run could not be looked at")
def _look_again(call: RunnerCall, result: Any) -> None:
    """Where the executor's call was not seen: what is ours has no place in the result."""
    _take_out(call, result)


def _take_out(call: RunnerCall, wrapped: Any) -> None:
    """Takes report and records out of Coffea's wrapped output."""
    if not isinstance(wrapped, MutableMapping):
        return
    try:
        report = wrapped.get("metrics") if call.metrics_wanted else wrapped.pop("metrics", None)
        replayed = wrapped.pop(REPLAYED_KEY, {})
        if report is None and replayed:
            report = {"entries": 0, "bytesread": 0, "processtime": 0}  # all of it was replayed
        if isinstance(report, dict):
            call.report = _work_of(report, len(call.items), replayed)
        call.replayed += replayed.get("chunks", 0)
        call.processed = list(wrapped.get("processed", call.items))
    finally:
        call.take_chunks(wrapped.get("out"))


def _work_of(report: dict[str, Any], chunks: int, replayed: dict[str, Any]) -> dict[str, Any]:
    """Coffea's report as it returns it, without what a checkpoint has replayed: that was another run's work."""
    plain = {key: list(value) if isinstance(value, set) else value for key, value in report.items()}
    plain["chunks"] = chunks
    return {key: value - replayed[key] if key in replayed else value for key, value in plain.items()}


# ---- preprocessing ----

def _watched_preprocessing(fetcher: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Preprocessing reads what no report counts."""

    @functools.wraps(original)
    def preprocess_fileset(self: Any, *args: Any, **kwargs: Any) -> Any:
        begun = _begin_preprocessing(self, fetcher)
        try:
            return original(self, *args, **kwargs)
        finally:
            if begun is not None:
                _end_preprocessing(*begun)

    return preprocess_fileset


@hook("preprocessing could not be watched")
def _begin_preprocessing(runner: Any, fetcher: str) -> tuple[Preprocessing, Token[Any], float] | None:
    if not _watchers():
        return None
    preprocessing = Preprocessing(getattr(type(runner), fetcher, None))
    _wrap_executor(getattr(runner, "pre_executor", None))
    begun = time.perf_counter()
    return preprocessing, _preprocessing.set(preprocessing), begun


@hook("the end of preprocessing")
def _end_preprocessing(preprocessing: Preprocessing, token: Token[Any], begun: float) -> None:
    _leave(_preprocessing, token)
    preprocessing.seconds += time.perf_counter() - begun
    for watcher in _watchers():
        attempt("preprocessing", watcher.note, watcher.preprocessed, preprocessing)


# ---- how pieces are handed out ----

def _noted_map(original: Callable[..., Any]) -> Callable[..., Any]:
    """A worker that dies does not say which piece of work its tasks had."""

    @functools.wraps(original)
    def submit(self: Any, *args: Any, **kwargs: Any) -> Any:
        futures = original(self, *args, **kwargs)
        _note_tasks(futures, *args)
        return futures

    return submit


@hook("the pieces of failed tasks are not known")
def _note_tasks(futures: Any, function: Any = None, values: Any = (), *more: Any) -> None:
    call = _call.get()
    if call is None or not isinstance(values, list) or not isinstance(futures, list):
        return
    items = [_item_in(value) for value in values]
    if items and items[0] is not None and len(items) == len(futures):
        call.tasks.note([str(future.key) for future in futures], items)


def _noted_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of the pieces that a pool could not do, Coffea names the first one only."""

    @functools.wraps(original)
    def submit(self: Any, *args: Any, **kwargs: Any) -> Any:
        future = original(self, *args, **kwargs)
        _note_future(future, *args)
        return future

    return submit


@hook("the pieces that a pool could not do are not known")
def _note_future(future: Any, function: Any = None, value: Any = None, *more: Any) -> None:
    call, item = _call.get(), _item_in(value)
    if call is not None and item is not None:
        future.add_done_callback(functools.partial(_note_failure, call.failed, item))


@hook("whether a piece of work failed is not known")
def _note_failure(failed: list[Any], item: Any, future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        failed.append(item)


def _item_in(value: Any) -> Any:
    """The piece of work in what a task is given, which may be (piece, heavy input)."""
    item = value[0] if isinstance(value, tuple) and value else value
    return item if hasattr(item, "entrystart") else None
