"""Hundreds of runs in one process, as in a notebook that stays open: none of them leaves anything."""

from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema

from roastcoffea import MetricsCollector, track_metrics
from roastcoffea.coffea import identity
from roastcoffea.common import marks
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog, get_process_memory

WARM, RUNS = 100, 300
RAISES = "ROAST_TEST_RAISES_ONCE"


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        if os.environ.pop(RAISES, None):  # the record of such a try waits for another one
            raise OSError("once")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.root"
    with uproot.recreate(path) as file:
        file.mktree("Events", {"x": "i4"})
        file["Events"].extend({"x": np.arange(10, dtype="i4")})
    return {"tiny": {"files": {str(path): "Events"}}}


def kept():
    """What could grow: entries, open files, threads."""
    gc.collect()
    return {"held": len(channel._held), "kept": len(channel._kept), "marks": len(marks._attributes),
            "runs": len(identity._open), "files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
            "collectors": sum(type(one) is MetricsCollector for one in gc.get_objects())}


def test_local_runs(tiny):
    def run():
        runner = processor.Runner(executor=processor.IterativeExecutor(status=False, retries=1), schema=BaseSchema)
        os.environ[RAISES] = "yes"
        with MetricsCollector(runner) as mc:
            assert runner(tiny, Analysis()) == {"events": 10}
        assert len(mc.chunk_metrics) == 2

    for _ in range(WARM):
        run()
    before, memory = kept(), get_process_memory()
    for _ in range(RUNS - WARM):
        run()
    assert kept() == before and before["held"] == before["kept"] == 0
    assert get_process_memory() - memory < 8e6


def test_a_worker_that_is_never_told_of_an_end():
    """A process of a pool of the user's, or of Parsl: the collector is elsewhere."""
    log = ChunkLog([{"num_events": 1}])
    for i in range(RUNS):
        channel.put(f"run:{i}", log.copy(), True)
    assert len(channel._held) <= 64
    assert len(channel.put(f"run:{RUNS - 1}", log.copy(), False)) == 2, "the one that waited, and this one"
    channel._held.clear()
