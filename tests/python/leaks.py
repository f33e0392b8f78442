"""Whether a call gives back all that it took."""

import gc
import os
import sys

from roastcoffea import _core

ROUNDS = 12


def assert_nothing_is_kept(use, times, megabytes=None):
    """One object kept by each use would be `times` more in every round; caches fill up once, so one round
    without such growth is enough. `megabytes`: how much the whole process may grow meanwhile."""

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
