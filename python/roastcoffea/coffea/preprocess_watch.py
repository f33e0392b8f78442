"""Measures Coffea's preprocessing: each file is opened once to learn its length.

Coffea's report does not count it. The numbers travel with the metadata of a file, and are removed before Coffea reads
them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from roastcoffea._core import now
from roastcoffea.backends.executors import kind_of, sends_by_value, takes_in_turn
from roastcoffea.backends.dask.remote import by_value
from roastcoffea.coffea.closures import find, replace
from roastcoffea.common.endings import is_interrupt, message_of
from roastcoffea.common.guard import hook, words
from roastcoffea.coffea.skips import noting_skips

__all__ = ["METHODS", "BadFile", "InTurn", "Preprocessing", "watch_files"]

# The methods of Runner that preprocess, and the function from which each gets a file's metadata.
METHODS = {
    "_preprocess_fileset_root": "metadata_fetcher_root",
    "_preprocess_fileset_parquet": "metadata_fetcher_parquet",
}
_KEY = "__roastcoffea_preprocessing__"
_SKIPPED = "__roastcoffea_skipped__"


class InTurn(list[Any]):
    """Items for an executor that takes one after the other."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self._items = items
        self.begun = time.time()  # as a chunk reads the clock
        self.at = 0  # how many were done before the one in work

    def __iter__(self) -> Iterator[Any]:
        # The user's run is in the middle of it: nothing here can fail.
        self.at = 0
        for item in self._items:
            yield item
            self.at += 1

    @property
    def in_work(self) -> Any:
        """The item that the executor has; None after the last one."""
        return self[self.at] if self.at < len(self) else None


@dataclass
class BadFile:
    """A file that failed in preprocessing, or was left out as a bad one."""

    dataset: Any
    file: Any
    treename: Any = None
    reason: str | None = None  # None: not known
    metadata: Any = None  # the user's, of the dataset
    preload: Any = None


class Preprocessing:
    """One call: duration, number of files, and the reads if they are known for all files."""

    def __init__(self, fetcher: Any = None) -> None:
        """`fetcher` is the function of Coffea's that opens a file, `retries` the one that skips bad files."""
        self.fetcher = fetcher
        self.retries: Any = None
        self.executing = False  # whether an executor has it
        self.in_turn: InTurn | None = None  # the files, where they are opened one after the other
        self.asked: list[Any] = []  # the files that are to be opened
        self.bad_files: list[BadFile] = []
        self.begun = self.ended = now()
        self.seconds = 0.0
        self.files = 0
        self.bytes: int | None = 0
        self.requests: int | None = 0

    def __add__(self, other: Preprocessing) -> Preprocessing:
        made = Preprocessing()
        made.seconds = self.seconds + other.seconds
        made.files = self.files + other.files
        made.bytes = _sum(self.bytes, other.bytes)
        made.requests = _sum(self.requests, other.requests)
        return made

    def add(self, counted: tuple[int, int] | None) -> None:
        self.files += 1
        if counted is None:
            self.bytes = self.requests = None
        else:
            self.bytes = _sum(self.bytes, counted[0])
            self.requests = _sum(self.requests, counted[1])


    def add_bad_file(self, file: Any, reason: str | None) -> None:
        self.bad_files.append(
            BadFile(
                file.dataset, file.filename, file.treename, reason, file.metadata, getattr(file, "preload", None)
            )
        )

    def find_bad_files(self, error: BaseException) -> None:
        """The files for which preprocessing raised: known already, or in work, or named by the error."""
        if is_interrupt(error) or self.bad_files:
            return
        found = [] if self.in_turn is None or self.in_turn.in_work is None else [self.in_turn.in_work]
        if not found:
            text = message_of(error)
            named = [file for file in self.asked if str(file.filename) in text]
            longest = max((len(str(file.filename)) for file in named), default=0)
            found = [file for file in named if len(str(file.filename)) == longest]
        for file in found:
            self.add_bad_file(file, words(error))

    def forget_files(self) -> None:
        """Of thousands only the bad ones are kept."""
        self.asked, self.in_turn = [], None


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def fetch_and_count(key: str, fetch: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs in the process that opens the file: calls `fetch` with its own view of uproot, which counts the reads.

    Reads that cannot be counted are left out; results and exceptions of `fetch` do not change.
    """
    import types

    opened: list[Any] = []
    original: Any = fetch
    try:
        class View:
            def __init__(self, module: Any) -> None:
                self._module = module

            def __getattr__(self, name: str) -> Any:
                return getattr(self._module, name)

            def open(self, *args: Any, **kwargs: Any) -> Any:
                original = self._module.open
                file = original(*args, **kwargs)
                opened[:0] = [file]
                return file

        if isinstance(fetch, types.FunctionType) and "uproot" in fetch.__globals__:
            original = types.FunctionType(
                fetch.__code__, {**fetch.__globals__, "uproot": View(fetch.__globals__["uproot"])}, fetch.__name__,
                fetch.__defaults__, fetch.__closure__,
            )
            original.__kwdefaults__ = fetch.__kwdefaults__
    except Exception:
        pass
    found = original(*args, **kwargs)
    try:
        counted = None
        if opened:
            sources = [file.file.source for file in opened]
            counted = (
                sum(source.num_requested_bytes for source in sources),
                sum(source.num_requests for source in sources),
            )
        for item in found:
            item.metadata[key] = counted
    except Exception:
        pass
    return found


def mark_skipped(key: str, item: Any, reason: str) -> Any:
    """Runs in the process that could not open the file: a result that says why."""
    from coffea.processor import set_accumulator  # type: ignore[import-untyped]

    return set_accumulator([type(item)(item.dataset, item.filename, item.treename, {key: reason})])


def watch_files(
    executor: Any, retries: Any, items: Any, closure: Any, into: Preprocessing
) -> tuple[Any, Any, Callable[[Any], None]]:
    """The files and the function to execute instead, and the one that takes our entries out of the result. `retries` is
    Coffea's function that skips bad files."""
    into.executing = True
    into.asked = list(items)
    if takes_in_turn(executor):
        into.in_turn = items = InTurn(into.asked)
    counting = count_reading(executor, closure, into)
    watched = noting_skips(executor, counting, retries, mark_skipped, _SKIPPED)
    return items, watched, functools.partial(_take_entries, into)


def count_reading(executor: Any, closure: Any, into: Preprocessing) -> Any:
    """The function to execute instead; the closure itself if reads cannot be counted."""
    fetch = into.fetcher
    call = find(closure, fetch)
    if call is None:
        call, args, keywords = fetch, (), {}
    else:
        args, keywords = call.args, call.keywords
    # Workers elsewhere may lack this package; processes of this machine have it, and need a name to import.
    if sends_by_value(executor):
        function: Any = by_value(fetch_and_count)
    elif kind_of(executor) != "elsewhere":
        function = fetch_and_count
    else:
        return closure
    return replace(closure, call, functools.partial(function, _KEY, fetch, *args, **keywords))


def _take_skipped(into: Preprocessing, found: Any) -> None:
    """Removes the files that were skipped from those that were found."""
    reasons = {item: item.metadata[_SKIPPED] for item in found if _SKIPPED in (item.metadata or {})}
    for item in reasons:
        found.discard(item)
    for file in into.asked:
        if file not in found:
            into.add_bad_file(file, reasons.get(file))


@hook("the reads of preprocessing are not known")
def _take_entries(into: Preprocessing, result: Any) -> None:
    into.executing = False
    found, _ = result
    counts = []
    for item in found:
        metadata = item.metadata or {}
        if _SKIPPED not in metadata:
            counts += [metadata[_KEY] if _KEY in metadata else None]
        # Before anything that may fail: Coffea remembers these metadata.
        if _KEY in metadata:
            del metadata[_KEY]
    _take_skipped(into, found)
    for counted in counts:
        into.add(counted)
