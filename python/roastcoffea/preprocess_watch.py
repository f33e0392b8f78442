"""Measures what Coffea reads before it runs: each file is opened once to learn how long it is.

The report does not count it. The numbers come back with what Coffea learns of a file, and are taken out
before it looks.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from roastcoffea.backends._remote import by_value

__all__ = ["METHODS", "Preprocessing", "measured"]

# The methods of Runner that do it, and where each gets a file's metadata from.
METHODS = {
    "_preprocess_fileset_root": "metadata_fetcher_root",
    "_preprocess_fileset_parquet": "metadata_fetcher_parquet",
}
_POPULATE = "_cache_and_populate"
_KEY = "__roastcoffea_preprocessing__"


class Preprocessing:
    """One call: how long it took, of how many files, and what was read if that is known of all of them."""

    def __init__(self) -> None:
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


def fetch_and_count(key: str, fetch: Callable[..., Any], *args: Any) -> Any:
    """Runs where the file is opened: `fetch`, with its own view of uproot, which counts what it reads.

    Whatever cannot be counted is left out; what `fetch` does and raises is never changed.
    """
    import types

    class View:
        def __init__(self, module: Any) -> None:
            self._module = module
            self.opened: list[Any] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(self._module, name)

        def open(self, *args: Any, **kwargs: Any) -> Any:
            file = self._module.open(*args, **kwargs)
            self.opened.append(file)
            return file

    view = None
    function: Any = fetch
    if isinstance(fetch, types.FunctionType) and "uproot" in fetch.__globals__:
        view = View(fetch.__globals__["uproot"])
        function = types.FunctionType(
            fetch.__code__, {**fetch.__globals__, "uproot": view}, fetch.__name__,
            fetch.__defaults__, fetch.__closure__,
        )
    found = function(*args)
    try:
        counted = None
        if view is not None and view.opened:
            sources = [file.file.source for file in view.opened]
            counted = (
                sum(source.num_requested_bytes for source in sources),
                sum(source.num_requests for source in sources),
            )
        for item in found:
            item.metadata[key] = counted
    except Exception:
        pass
    return found


def measured(original: Callable[..., Any], fetcher: str) -> Callable[..., Any]:
    """A method that runs `original` on a Runner and fills a Preprocessing."""

    def run(runner: Any, into: Preprocessing, *args: Any, **kwargs: Any) -> Any:
        _measure_fetching(runner, fetcher, into)
        begun = time.perf_counter()
        try:
            return original(runner, *args, **kwargs)
        finally:
            into.seconds += time.perf_counter() - begun
            for name in (fetcher, _POPULATE):
                vars(runner).pop(name, None)

    return run


def _measure_fetching(runner: Any, fetcher: str, into: Preprocessing) -> None:
    fetch = getattr(type(runner), fetcher, None)
    populate = getattr(type(runner), _POPULATE, None)
    if not callable(fetch) or not callable(populate):
        return
    executor = type(getattr(runner, "pre_executor", None))
    # Dask's workers may lack this package; processes of this machine do not, and need a name to import.
    on_dask = any(base.__name__ == "DaskExecutor" for base in executor.__mro__)
    function: Any = by_value(fetch_and_count) if on_dask else fetch_and_count

    def take_out(fileset: Any, found: Any) -> Any:
        for item in found:
            into.add((item.metadata or {}).pop(_KEY, None))
        return populate(runner, fileset, found)

    setattr(runner, fetcher, functools.partial(function, _KEY, fetch))
    setattr(runner, _POPULATE, take_out)
