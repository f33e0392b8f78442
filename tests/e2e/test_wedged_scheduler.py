"""A scheduler that is stopped in the middle of a run: the block ends all the same, soon, and a note says what is missing."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import distributed
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from dask_parts import BARE_SCHEDULER, SCHEDULER, eventually, process, traces

from roastcoffea import MetricsCollector, open_run, track_metrics
from roastcoffea.collector import live_writer as live
from roastcoffea.backends.source import Source

ENDS = 60  # seconds: without a limit it takes five minutes
# What a worker still sends after the end makes a topic on the scheduler, which is removed after a minute.
REMOVED = 100


class Counting:
    """Made as a decorated processor in the task, which knows nothing of this file."""

    @staticmethod
    def make():
        class Analysis(processor.ProcessorABC):
            @track_metrics
            def process(self, events):
                return {"events": len(events)}

            def postprocess(self, accumulator):
                return accumulator

        return Analysis()


@contextlib.contextmanager
def cluster_of(scheduler):
    with process("-c", scheduler) as boss:
        address = boss.stdout.readline().strip()
        with process("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"):
            with distributed.Client(address, set_as_default=False, timeout=60) as client:
                client.wait_for_workers(1, 60)
                try:
                    yield boss, client
                finally:
                    boss.send_signal(signal.SIGCONT)


def is_asking(mc):
    return bool(mc._source._asking._waiting)


@pytest.mark.parametrize("scheduler", [SCHEDULER, BARE_SCHEDULER], ids=["with us", "without us"])
@pytest.mark.parametrize("in_the_middle", [False, True], ids=["at the end", "while it is asked for news"])
def test_leaving_ends(fileset, tmp_path, monkeypatch, scheduler, in_the_middle):
    monkeypatch.setattr(Source, "seconds_at_end", 2.0)
    monkeypatch.setattr(live.LiveWriter, "interval", 0.05)
    fileset = {"ttbar": fileset["ttbar"]}
    with cluster_of(scheduler) as (boss, client):
        executor = processor.DaskExecutor(client=client, status=False)
        runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400)
        mc = MetricsCollector(client, output_dir=tmp_path, worker_tracking_interval=0.1)
        found = []

        def run():
            with mc:
                found.append(runner(fileset, Counting.make()))
                boss.send_signal(signal.SIGSTOP)
                if in_the_middle:
                    # A call that was answered before the signal took hold is followed by one that is not.
                    eventually(lambda: is_asking(mc))
                    threading.Event().wait(0.3)
            found.append("left")

        runs = threading.Thread(target=run, daemon=True)
        runs.start()
        runs.join(ENDS)
        assert len(found) == 2 and not runs.is_alive()
        assert found[0]["events"] == mc.metrics["total_events"] == 2100
        (told,) = [note for note in mc.notes if "did not answer at the end of the run" in note]
        assert "are missing" in told
        saved = open_run(mc.measurement_path)
        assert saved.state == "finished" and len(saved.chunk_metrics) == len(mc.chunk_metrics) > 0
        boss.send_signal(signal.SIGCONT)
        eventually(lambda: traces(client) == [], REMOVED)


def test_the_next_run_is_whole(fileset):
    """The same client, when the scheduler answers again."""
    with pytest.MonkeyPatch.context() as patch, cluster_of(SCHEDULER) as (boss, client):
        patch.setattr(Source, "seconds_at_end", 1.0)
        mc = MetricsCollector(client)
        with mc:
            os.kill(boss.pid, signal.SIGSTOP)
        assert any("did not answer" in note for note in mc.notes)
        boss.send_signal(signal.SIGCONT)
        patch.undo()
        runner = processor.Runner(executor=processor.DaskExecutor(client=client, status=False), schema=NanoAODSchema)
        with mc:
            runner({"ttbar": fileset["ttbar"]}, Counting.make())
        assert not any("answer" in note for note in mc.notes) and mc.run.attempts
        eventually(lambda: traces(client) == [], REMOVED)
