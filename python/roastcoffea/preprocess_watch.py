"""Measures Coffea's preprocessing: each file is opened once to learn its length.

Coffea's report does not count it. The numbers travel with the metadata of a file, and are removed before Coffea reads
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from roastcoffea._core import now
from roastcoffea.backends._executors import kind_of, sends_by_value
from roastcoffea.backends._remote import by_value
from roastcoffea.closures import find, replace
from roastcoffea.guard import hook

__all__ = ["METHODS", "Preprocessing", "count_reading"]

# The methods of Runner that preprocess, and the function from which each gets a file's metadata.
METHODS = {
    "_preprocess_fileset_root": "metadata_fetcher_root",
    "_preprocess_fileset_parquet": "metadata_fetcher_parquet",
}
_KEY = "__roastcoffea_preprocessing__"


class Preprocessing:
    """One call: duration, number of files, and the reads if they are known for all files."""

    def __init__(self, fetcher: Any = None) -> None:
        """`fetcher` is the function of Coffea's that opens a file."""
        self.fetcher = fetcher
        self.executing = False  # whether an executor has it
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


def count_reading(
    executor: Any, closure: Any, into: Preprocessing
) -> tuple[Any, Callable[[Any], None]] | None:
    """The function to execute instead, and the one that removes the counts from its result; None if reads cannot be
    counted."""
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
        return None
    into.executing = True
    counting = functools.partial(function, _KEY, fetch, *args, **keywords)
    return replace(closure, call, counting), functools.partial(_take_counts, into)


@hook("the reads of preprocessing are not known")
def _take_counts(into: Preprocessing, result: Any) -> None:
    into.executing = False
    found, _ = result
    counts = []
    for item in found:
        metadata = item.metadata or {}
        counts += [metadata[_KEY] if _KEY in metadata else None]
        # Before anything that may fail: Coffea remembers these metadata.
        if _KEY in metadata:
            del metadata[_KEY]
    for counted in counts:
        into.add(counted)
