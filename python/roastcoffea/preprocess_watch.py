"""Measures what Coffea reads before it runs: each file is opened once to learn how long it is.

The report does not count it. The numbers come back with what Coffea learns of a file, and are taken out
before it looks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from roastcoffea.backends._executors import class_names, kind_of
from roastcoffea.backends._remote import by_value
from roastcoffea.closures import find, replace
from roastcoffea.guard import hook

__all__ = ["METHODS", "Preprocessing", "count_reading"]

# The methods of Runner that do it, and where each gets a file's metadata from.
METHODS = {
    "_preprocess_fileset_root": "metadata_fetcher_root",
    "_preprocess_fileset_parquet": "metadata_fetcher_parquet",
}
_KEY = "__roastcoffea_preprocessing__"


class Preprocessing:
    """One call: how long it took, of how many files, and what was read if that is known of all of them."""

    def __init__(self, fetcher: Any = None) -> None:
        """`fetcher` is the function of Coffea's that opens a file."""
        self.fetcher = fetcher
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
    """Runs where the file is opened: `fetch`, with its own view of uproot, which counts what it reads.

    Whatever cannot be counted is left out; what `fetch` does and raises is never changed.
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
    """What an executor is to do instead, and who takes the counts out of its result; None where reading cannot be
    counted."""
    fetch = into.fetcher
    call = find(closure, fetch)
    if call is None:
        call, args, keywords = fetch, (), {}
    else:
        args, keywords = call.args, call.keywords
    # Dask's workers may lack this package; processes of this machine have it, and need a name to import.
    if "DaskExecutor" in class_names(executor):
        function: Any = by_value(fetch_and_count)
    elif kind_of(executor) != "elsewhere":
        function = fetch_and_count
    else:
        return None
    counting = functools.partial(function, _KEY, fetch, *args, **keywords)
    return replace(closure, call, counting), functools.partial(_take_counts, into)


@hook("what preprocessing read is not known")
def _take_counts(into: Preprocessing, result: Any) -> None:
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
