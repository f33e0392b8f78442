"""The kind of an executor or pool, found without importing Coffea, Dask or any pool."""

from __future__ import annotations

import functools
from typing import Any, Literal

__all__ = ["Kind", "class_names", "kind_of", "sends_by_value", "takes_in_turn", "threads_of"]

Kind = Literal["serial", "threads", "processes", "unknown", "elsewhere"]


def class_names(thing: Any) -> list[str]:
    """The names of an object's class and of those it is derived from, the nearest first."""
    return [cls.__name__ for cls in type(thing).__mro__]


def kind_of(executor: Any) -> Kind:
    """Where an executor runs its chunks; "unknown" means on this machine."""
    if executor is None:
        return "unknown"
    names = class_names(executor)
    if "IterativeExecutor" in names:
        return "serial"
    if "FuturesExecutor" in names:
        return _kind_of_pool(getattr(executor, "pool", None))
    return "elsewhere"


def takes_in_turn(executor: Any) -> bool:
    """Whether it takes its items one after the other; a class of the user's own may do otherwise."""
    return class_names(executor)[0] == "IterativeExecutor"


def sends_by_value(executor: Any) -> bool:
    """Whether workers elsewhere are sent the code of a function of no module; of other executors it is not known."""
    return "DaskExecutor" in class_names(executor)


def _kind_of_pool(pool: Any) -> Kind:
    """`pool` is an instance, a class, or a function that makes one; None: Coffea makes one of this machine."""
    while isinstance(pool, functools.partial):
        pool = pool.func
    names = [cls.__name__ for cls in pool.__mro__] if isinstance(pool, type) else class_names(pool)
    if "ThreadPoolExecutor" in names:
        return "threads"
    if "ProcessPoolExecutor" in names:
        return "processes"
    # Pools of Parsl, of Dask or of MPI take the place of one of this machine.
    return "elsewhere" if "Executor" in names else "unknown"


def threads_of(executor: Any) -> int:
    """How many threads of this process run chunks."""
    pool = getattr(executor, "pool", None)
    for owner, name in ((pool, "_max_workers"), (executor, "workers")):
        threads = getattr(owner, name, None)
        if isinstance(threads, int) and threads > 0:
            return threads
    return 1
