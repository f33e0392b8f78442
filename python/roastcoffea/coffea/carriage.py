"""Takes the records of a chunk along beside the output of process().

Coffea puts the output of process() into a dict, and merges these dicts entry by entry. The records are one more entry:
so they arrive on every executor, whatever process() returns, and the output itself does not change.
"""

from __future__ import annotations

import functools
from typing import Any

from roastcoffea.backends.executors import kind_of, sends_by_value
from roastcoffea.backends.dask.remote import by_value
from roastcoffea.decorator import needs_us

__all__ = ["carrying_records"]


def carrying_records(executor: Any, work: Any, processor: Any, key: str) -> Any:
    """`work` with the records of its chunk under `key` in its result; `work` itself if the workers may lack this
    package."""
    if kind_of(executor) == "elsewhere" and not needs_us(processor):
        return work
    return functools.partial(by_value(carry) if sends_by_value(executor) else carry, key, work)


def carry(key: str, original: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs in the process that has a piece of work."""
    from contextlib import ExitStack

    logs: list[Any] = []
    with ExitStack() as stack:
        try:
            from roastcoffea.worker.channel import carried

            logs = stack.enter_context(carried())
        except Exception:  # another release: the output has what it has
            pass
        result = original(*args, **kwargs)
    try:
        if logs and type(result) is dict:  # with use_dataframes it is a table
            whole = logs[0]
            for log in logs[1:]:
                whole += log
            return {**result, key: whole}
    except Exception:  # the channel has the records as well
        pass
    return result
