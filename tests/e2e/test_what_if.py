"""A real run, played again."""

from __future__ import annotations

import time

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics

EVENTS = 400  # of a chunk


class Sleeper(processor.ProcessorABC):
    """Takes as long on a busy machine as on a quiet one, nearly."""

    @track_metrics
    def process(self, events):
        time.sleep(0.1 + 0.0002 * len(events))
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def runner_of(executor, events=EVENTS):
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=events, savemetrics=True)


def collected(executor, backend, fileset):
    with MetricsCollector(backend) as collector:
        runner_of(executor)(fileset, processor_instance=Sleeper())
    return collector


def assert_plays(collector, executor, fileset):
    asis = collector.what_if()
    assert asis.chunks == len(collector.chunk_metrics)
    assert asis.replayed_wall_time == pytest.approx(asis.recorded_wall_time, rel=0.2)
    assert asis.wall_time == pytest.approx(asis.recorded_wall_time, rel=0.01)
    parts = sum(value for name, value in asis.budget.items() if name != "available")
    assert parts == pytest.approx(asis.budget["available"])
    for events in (100, 150, 1_000, 1_000_000):
        truth = len(list(runner_of(executor, events).preprocess(fileset)))
        assert collector.what_if(chunksize=events).chunks == truth
    # One thread takes the work of all of them, and no number of threads less than a chunk.
    alone, many = collector.what_if(workers=1, threads=1), collector.what_if(workers=1_000)
    assert many.wall_time <= asis.wall_time <= alone.wall_time * 1.01
    assert many.wall_time >= 0.1


def test_on_a_cluster(client, fileset):
    executor = processor.DaskExecutor(client=client, status=False)
    collector = collected(executor, client, fileset)
    assert_plays(collector, executor, fileset)
    known = {limit["limit"] for limit in collector.what_if().limits}
    assert {"workers", "longest_chunk", "reduction", "outside"} <= known


@pytest.mark.parametrize("executor", [
    processor.IterativeExecutor(status=False), processor.FuturesExecutor(workers=2, status=False),
], ids=["iterative", "futures"])
def test_on_this_machine(executor, fileset):
    assert_plays(collected(executor, executor, fileset), executor, fileset)
