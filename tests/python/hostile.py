"""Objects that do in the middle of the engine's work what no object should do.

Each case runs in a process of its own (see test_hostile.py): `hostile.py NAME`. A case that returns has
passed; one that crashes the interpreter is seen by its exit code.
"""

from __future__ import annotations

import gc
import sys

from samples import Events

from roastcoffea._core import Summary

KEY = "__roastcoffea_metrics__"
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def refused(call, *args, **kwargs):
    """What cannot be read is the caller's mistake, told as one."""
    try:
        call(*args, **kwargs)
    except (TypeError, ValueError):
        return
    raise AssertionError(f"{args} {kwargs} were taken")


def collected():
    """Memory that was freed is used again, so that a stale pointer shows."""
    gc.collect()
    return [bytearray(size) for size in (16, 32, 64, 128, 256) for _ in range(200)]


def current(processor):
    return processor._roastcoffea_current_chunk


class Attributes:
    def __init__(self, **values):
        self.__dict__.update(values)


def with_factory(**parts):
    events = Events()
    events.attrs = {"@events_factory": Attributes(**parts)}
    return events


def used(run):
    """Everything that is made of a run."""
    run.metrics()
    run.diagnose()
    run.budget()
    Summary(run).draw()
    for table in ("chunks", "sections", "reads", "samples", "files"):
        len(getattr(run, table, ()))


def run(name):
    """One case by its name, of any of the files."""
    import hostile_hooks  # noqa: F401
    import hostile_mappings  # noqa: F401
    import hostile_numbers  # noqa: F401
    import hostile_scheduler  # noqa: F401

    CASES[name]()


if __name__ == "__main__":
    from hostile import run as run_case

    run_case(sys.argv[1])
