"""Watches Coffea's Runner while a collector is open.

Every way of running leads through one method of Runner. It is replaced while at least one watch is open, and
put back with the last one. A call is seen by the watches of its own context (thread or task); one from a
context without any is seen by the only watch there is.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol

from roastcoffea.preprocess_watch import METHODS, Preprocessing, measured

__all__ = ["OUTPUT_KEY", "RunnerCall", "RunnerWatch", "Tasks"]

OUTPUT_KEY = "__roastcoffea_metrics__"
_FLAG = "_roastcoffea_collect_metrics"

# From the inside out: the first one that a version of Coffea has is the one that is replaced.
_METHODS = ("_run_impl", "_run", "run")


class Watcher(Protocol):
    """Who is told of the calls."""

    def call_begins(self, call: RunnerCall) -> None: ...

    def call_ends(self, call: RunnerCall) -> None: ...

    def work_is_known(self, call: RunnerCall) -> None: ...

    def preprocessed(self, preprocessing: Preprocessing) -> None: ...


class RunnerCall:
    """One call of a Runner, as far as it has come."""

    def __init__(self, runner: Any, fileset: Any, processor: Any) -> None:
        self.runner = runner
        self.fileset = fileset
        self.processor = processor
        self.chunks: list[list[Any]] = []  # lists of chunk records that were found in outputs
        self.items: list[Any] = []  # the pieces of work, as soon as Coffea has them
        self.tasks = Tasks()
        self.failed: list[Any] = []  # of the pieces, those that a pool of this machine could not do
        self.report: dict[str, Any] | None = None
        self.error: BaseException | None = None

    def take_chunks(self, output: Any) -> None:
        """Takes the records out of an output, which looks as if they had never been there."""
        if isinstance(output, dict) or hasattr(output, "pop"):
            try:
                found = output.pop(OUTPUT_KEY, None)
            except Exception:  # an output of the user's that is no mapping after all
                return
            if isinstance(found, list):
                self.chunks.append(found)


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

    def item(self, key: str) -> Any:
        """None where the key is not known."""
        for stem, digests, items in self._hashed:
            at = digests.find(wanted) if (wanted := _digest(key, stem)) else -1
            while at % _DIGEST_BYTES and at >= 0:
                at = digests.find(wanted, at + 1)
            if at >= 0:
                return items[at // _DIGEST_BYTES]
        return self._by_key.get(key)


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
        self._token: Any = None

    def open(self) -> None:
        with _lock:
            _open.append(self._watcher)
            _here.set((*_here.get(), self._watcher))
            _install()

    def close(self) -> None:
        with _lock:
            if self._watcher in _open:
                _open.remove(self._watcher)
            _here.set(tuple(one for one in _here.get() if one is not self._watcher))
            if not _open:
                _remove()


_lock = threading.RLock()
_open: list[Watcher] = []
_here: ContextVar[tuple[Watcher, ...]] = ContextVar("roastcoffea_watchers", default=())
# The call that is going on in this context, and who is told of it.
_calls: ContextVar[tuple[RunnerCall | None, list[Watcher]]] = ContextVar(
    "roastcoffea_call", default=(None, [])
)
_patched: list[tuple[type, str, Callable[..., Any]]] = []


def _watchers() -> list[Watcher]:
    here = [one for one in _here.get() if one in _open]
    return here or (list(_open) if len(_open) == 1 else [])


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
            _replace(runner, name, _watched)
            break
    if callable(runner.__dict__.get("preprocess")):
        _replace(runner, "preprocess", _untraced)
    for name, fetcher in METHODS.items():
        if callable(runner.__dict__.get(name)):
            _replace(runner, name, functools.partial(_measured, fetcher))


def _replace(runner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = runner.__dict__[name]
    setattr(runner, name, wrap(original))
    _patched.append((runner, name, original))


def _watch_submitting(runner: Any) -> None:
    """The ways in which an executor of Coffea's hands the pieces out: Dask's, and that of its pool."""
    client = getattr(sys.modules.get("distributed.client"), "Client", None)
    pool = getattr(getattr(runner, "executor", None), "pool", None)
    for place, name, wrap in (
        (client, "map", _noted_map),
        (pool if isinstance(pool, type) else type(pool), "submit", _noted_submit),
    ):
        for base in getattr(place, "__mro__", ()):
            if callable(base.__dict__.get(name)):
                if not any(patched is base and at == name for patched, at, _ in _patched):
                    _replace(base, name, wrap)
                break


def _noted_map(original: Callable[..., Any]) -> Callable[..., Any]:
    """A worker that dies does not say which piece of work its tasks had."""

    @functools.wraps(original)
    def submit(self: Any, func: Any, *iterables: Any, **kwargs: Any) -> Any:
        futures = original(self, func, *iterables, **kwargs)
        call, _ = _calls.get()
        if call is not None and iterables:
            items = [_item_in(value) for value in iterables[0]]
            if items and items[0] is not None and len(items) == len(futures):
                call.tasks.note([str(future.key) for future in futures], items)
        return futures

    return submit


def _noted_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of the pieces that a pool could not do, Coffea names the first one only."""

    @functools.wraps(original)
    def submit(self: Any, func: Any, /, *args: Any, **kwargs: Any) -> Any:
        future = original(self, func, *args, **kwargs)
        call, _ = _calls.get()
        item = _item_in(args[0]) if call is not None and args else None
        if call is not None and item is not None:
            future.add_done_callback(functools.partial(_note_failure, call.failed, item))
        return future

    return submit


def _note_failure(failed: list[Any], item: Any, future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        failed.append(item)


def _item_in(value: Any) -> Any:
    """The piece of work in what a task is given, which may be (piece, heavy input)."""
    item = value[0] if isinstance(value, tuple) and value else value
    return item if hasattr(item, "entrystart") else None


def _remove() -> None:
    while _patched:
        runner, name, original = _patched.pop()
        setattr(runner, name, original)


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, fileset: Any, processor_instance: Any, *args: Any, **kwargs: Any) -> Any:
        watchers = _watchers()
        if not watchers:
            return original(self, fileset, processor_instance, *args, **kwargs)
        with _lock:
            _watch_submitting(self)
        call = RunnerCall(self, fileset, processor_instance)
        wanted = self.savemetrics
        for watcher in watchers:
            watcher.call_begins(call)
        self.savemetrics = True
        postprocess = _Postprocess.put_on(call)
        told = _calls.set((call, watchers))
        try:
            result = original(
                self, _noted_items(fileset, call, watchers), processor_instance, *args, **kwargs
            )
            _look_at(call, result, wanted)
            return result
        except BaseException as error:
            call.error = error
            call.take_chunks(getattr(error, "partial_output", None))
            raise
        finally:
            _calls.reset(told)
            self.savemetrics = wanted
            if postprocess is not None:
                postprocess.take_off()
            for watcher in reversed(watchers):
                watcher.call_ends(call)

    return run


def _noted_items(fileset: Any, call: RunnerCall, watchers: list[Watcher]) -> Any:
    """Notes the pieces of work in what is given to a Runner or made by it, which stays what it was."""
    if isinstance(fileset, Generator):
        return _note_each(fileset, call, watchers)
    if isinstance(fileset, list):
        call.items = list(fileset)
        _tell_of_work(call, watchers)
    return fileset


def _note_each(
    items: Generator[Any, Any, Any], call: RunnerCall, watchers: list[Watcher]
) -> Generator[Any, Any, Any]:
    try:
        item = next(items)
        while True:
            call.items.append(item)
            item = items.send((yield item))  # a new chunk size, or None
    except StopIteration as end:
        _tell_of_work(call, watchers)
        return end.value


def _tell_of_work(call: RunnerCall, watchers: list[Watcher]) -> None:
    for watcher in watchers:
        watcher.work_is_known(call)


def _untraced(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tracing calls process() on arrays without data, to see what it touches: that is no chunk."""

    @functools.wraps(original)
    def preprocess(self: Any, *args: Any, **kwargs: Any) -> Any:
        call, watchers = _calls.get()
        made = untraced(self, *args, **kwargs)
        return made if call is None else _noted_items(made, call, watchers)

    def untraced(self: Any, *args: Any, **kwargs: Any) -> Any:
        processor = kwargs.get("processor_instance")
        if kwargs.get("trace") is None or processor is None:
            return original(self, *args, **kwargs)
        own = vars(processor)
        before = {_FLAG: own[_FLAG]} if _FLAG in own else {}
        own[_FLAG] = False
        try:
            return original(self, *args, **kwargs)
        finally:
            del own[_FLAG]
            own.update(before)

    return preprocess


def _measured(fetcher: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Preprocessing reads what no report counts."""
    run = measured(original, fetcher)

    @functools.wraps(original)
    def preprocess_fileset(self: Any, *args: Any, **kwargs: Any) -> Any:
        watchers = _watchers()
        if not watchers:
            return original(self, *args, **kwargs)
        preprocessing = Preprocessing()
        try:
            return run(self, preprocessing, *args, **kwargs)
        finally:
            for watcher in watchers:
                watcher.preprocessed(preprocessing)

    return preprocess_fileset


def _look_at(call: RunnerCall, result: Any, metrics_wanted: bool) -> None:
    """Takes report and records out of what Coffea is about to return."""
    wrapped = result
    if hasattr(result, "unwrap") and not isinstance(result, dict):  # Ok(...) of a Result
        try:
            wrapped = result.unwrap()
        except Exception:  # Err(...)
            error = getattr(result, "exception", None)
            call.error = error if isinstance(error, BaseException) else None
            return
    if not isinstance(wrapped, dict):
        return
    report = wrapped.get("metrics")
    if isinstance(report, dict):
        call.report = dict(report)
        if not metrics_wanted:
            del wrapped["metrics"]
    call.take_chunks(wrapped.get("out"))
    error = wrapped.get("exception", 0)
    if isinstance(error, BaseException):
        call.error = error


class _Postprocess:
    """Stands in for the processor's postprocess() while it runs: the user's own does not see our records."""

    def __init__(self, call: RunnerCall, original: Callable[[Any], Any]) -> None:
        self._call = call
        self._original = original

    @classmethod
    def put_on(cls, call: RunnerCall) -> _Postprocess | None:
        original = getattr(call.processor, "postprocess", None)
        if not callable(original):
            return None
        made = cls(call, original)
        try:
            call.processor.postprocess = made
        except Exception:  # a processor that takes no attributes: then it does see them
            return None
        return made

    def take_off(self) -> None:
        self._call.processor.__dict__.pop("postprocess", None)

    def __call__(self, accumulator: Any) -> Any:
        self._call.take_chunks(accumulator)
        return self._original(accumulator)

    def __reduce__(self) -> tuple[Any, ...]:
        # Travels with the processor to where it is never called.
        return (_nothing, ())


def _nothing() -> None:
    """What a worker gets in place of postprocess()."""
