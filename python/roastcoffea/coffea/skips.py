"""Learns why Coffea left out a bad file.

With ``skipbadfiles``, Coffea swallows an exception in the process that has the file, and the file is missing in the
result. The reason travels back in place of the result, and is removed before Coffea reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from roastcoffea.backends.executors import kind_of, sends_by_value
from roastcoffea.backends.dask.remote import by_value

__all__ = ["noting_skips"]


def noting_skips(executor: Any, closure: Any, retries: Any, mark: Callable[..., Any], *args: Any) -> Any:
    """`closure` with `mark(*args, item, reason)` as the result for an item that Coffea skips. The closure itself if
    nothing is skipped, or if the workers may lack this package. `retries` is Coffea's function that skips."""
    if not isinstance(closure, functools.partial) or closure.func is not retries or len(closure.args) != 3:
        return closure
    if not closure.args[1] or closure.keywords.get("use_result_type"):
        return closure
    if sends_by_value(executor):
        function, mark = by_value(automatic_retries), by_value(mark)
    elif kind_of(executor) != "elsewhere":
        function = automatic_retries
    else:
        return closure
    return functools.partial(function, retries, functools.partial(mark, *args), *closure.args, **closure.keywords)


# An engine may name the tasks after it: so it has the name of Coffea's function.
def automatic_retries(
    original: Callable[..., Any], mark: Callable[..., Any], retries: int, skip: Any, work: Callable[..., Any],
    item: Any, **options: Any,
) -> Any:
    """Runs in the process that has the file: calls Coffea's function, and keeps the last exception of `work`."""
    reasons: list[str] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        try:
            return work(*args, **kwargs)
        except Exception as error:
            cause: BaseException = error
            for _ in range(8):  # Coffea puts the whole WorkItem before the reason
                cause = cause.__cause__ or cause
            try:
                reasons[:] = [f"{type(cause).__name__}: {cause}"]
            except Exception:
                reasons[:] = [type(cause).__name__]
            raise

    found = original(retries, skip, noted, item, **options)
    return mark(item, reasons[0]) if found is None and reasons else found
