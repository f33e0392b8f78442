"""Whether a call gives back all that it took."""

import gc
import os
import sys
from pathlib import Path

from roastcoffea import _core

ROUNDS = 40  # caches of some interpreters fill up in more than twenty
# A file: leak tests only append to it what of the extension they call, as test_leaks.py asks them to.
CALLS = "ROAST_LEAK_CALLS"


def calls_of(use):
    """The functions, methods and types of the extension that a use really calls, by their qualified names. A call that
    raises is none, nor is a type or a function that is only named."""
    called = set()
    types = {value: name for name, value in vars(_core).items() if isinstance(value, type)}

    def see(value):
        called.update({types.get(type(value))} - {None})

    def profile(frame, event, argument):
        if event == "c_return":
            owner = getattr(argument, "__self__", None)
            see(owner)
            if owner is _core or (owner if isinstance(owner, type) else type(owner)) in types:
                called.add(argument.__qualname__)
        elif event == "return":
            # A type that is called is no event: the object that it made is seen where it is kept.
            for value in (argument, *frame.f_locals.values()):
                see(value)

    sys.setprofile(profile)
    try:
        use()
    finally:
        sys.setprofile(None)
    return called


def assert_nothing_is_kept(use, times, megabytes=None):
    """One object kept by each use would be `times` more in every round; caches fill up once, so one round
    without such growth is enough. `megabytes`: how much the whole process may grow meanwhile."""
    if CALLS in os.environ:
        with Path(os.environ[CALLS]).open("a") as file:
            file.writelines(f"{name}\n" for name in sorted(calls_of(use)))
        return

    def blocks():
        for _ in range(times):
            use()
        gc.collect()
        return sys.getallocatedblocks()

    growth, before = [], blocks()
    memory = _core.get_process_memory()
    while len(growth) < ROUNDS and not any(more < times / 2 for more in growth):
        after = blocks()
        growth.append(after - before)
        before = after
    assert min(growth) < times / 2, growth
    if megabytes is not None and "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what is freed
        assert _core.get_process_memory() - memory < megabytes
