"""Ctrl-C in a real run: it reaches the user, and nothing of ours stays. `tests/soak/interrupts.py` presses it at random."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import awkward as ak
import distributed
import pytest
import uproot.source.chunk
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from coffea.nanoevents.factory import NanoEventsFactory
from dask_parts import eventually, nothing_left
from interrupting import interrupts_are_heard  # noqa: F401
from test_no_harm import left_behind

from roastcoffea import MetricsCollector, open_run, track_metrics, track_time
from roastcoffea.worker import channel

sys.path.append(str(Path(__file__).parents[1] / "soak"))


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "jets"):
            return {"events": len(events), "jets": int(ak.sum(ak.num(events.Jet.pt)))}

    def postprocess(self, accumulator):
        return accumulator


class CtrlC:
    """Pressed once, at a call of the engine's that is counted from the first chunk on."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self):
        self.calls += 1
        if self.calls == self.at:
            signal.raise_signal(signal.SIGINT)


def interrupted_property(owner, name, press, monkeypatch):
    """The same property, in Python, in which the signal arrives."""
    real = getattr(owner, name)

    def get(self):
        press()
        return real.__get__(self)

    monkeypatch.setattr(owner, name, property(get))


def in_the_requested_bytes(press, monkeypatch):
    interrupted_property(uproot.source.chunk.Source, "num_requested_bytes", press, monkeypatch)


def in_the_file_handle(press, monkeypatch):
    interrupted_property(NanoEventsFactory, "file_handle", press, monkeypatch)


def in_the_access_log(press, monkeypatch):
    interrupted_property(NanoEventsFactory, "access_log", press, monkeypatch)


def run(fileset, analysis):
    runner = processor.Runner(executor=processor.IterativeExecutor(status=False, retries=0),
                              schema=NanoAODSchema, chunksize=400)
    return runner(fileset, processor_instance=analysis)


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("place", [in_the_requested_bytes, in_the_file_handle, in_the_access_log])
def test_ctrl_c_reaches_the_user(place, at, fileset, monkeypatch):
    fileset = {"ttbar": fileset["ttbar"]}
    analysis = Analysis()
    press = CtrlC(at)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), MetricsCollector() as collector:
        place(press, patch)
        run(fileset, analysis)
    assert press.calls >= at
    assert not [name for name in vars(analysis) if "current_chunk" in name]
    assert collector.metrics is not None
    # and the next run is what it is without us
    bare = run(fileset, Analysis())
    with MetricsCollector() as second:
        assert run(fileset, analysis) == bare
    assert second.metrics["total_events"] == bare["events"] == 2100


class Fails(Analysis):
    @track_metrics
    def process(self, events):
        raise ValueError("bad luck")


def test_ctrl_c_while_a_record_is_sent(fileset, monkeypatch):
    """The record of a chunk that raised is sent at once."""
    monkeypatch.setattr(channel, "deliver", lambda topic, data: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as raised, MetricsCollector():
        run({"ttbar": fileset["ttbar"]}, Fails())
    assert isinstance(raised.value.__context__, ValueError)


# ---- nothing stays ----

def press_when(condition):
    """Presses Ctrl-C in another thread, as soon as the condition holds."""
    def wait():
        eventually(condition)
        os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=wait, daemon=True)
    presses.start()
    return presses


@pytest.fixture
def slow_cluster():
    """Its scheduler is in this process; one of its two workers is stopped, so that it takes its time."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        pids = list(client.run(os.getpid).values())
        os.kill(pids[0], signal.SIGSTOP)
        try:
            yield cluster, client, lambda: os.kill(pids[0], signal.SIGCONT)
        finally:
            os.kill(pids[0], signal.SIGCONT)


def test_ctrl_c_while_the_scheduler_is_asked(slow_cluster):
    """The order is on the scheduler already, the answer is not here yet."""
    cluster, client, wake = slow_cluster
    presses = press_when(lambda: any("roastcoffea" in name for name in cluster.scheduler.plugins))
    with pytest.raises(KeyboardInterrupt):
        MetricsCollector(client, worker_tracking_interval=0.05).__enter__()
    presses.join()
    wake()
    assert nothing_left(client)


def test_ctrl_c_while_the_end_is_asked(slow_cluster, tmp_path):
    cluster, client, wake = slow_cluster
    mc = MetricsCollector(client, worker_tracking_interval=0.05, output_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt), mc:
        presses = press_when(lambda: mc._state == "ending" and mc._source._asking._waiting)
    presses.join()
    wake()
    assert nothing_left(client)
    saved = open_run(mc.measurement_path)
    assert saved.state == "unfinished" and any("was interrupted" in note for note in saved.run.notes)


def test_ctrl_c_while_the_sampler_starts(monkeypatch):
    """The thread runs already, and `start` has not returned."""
    start = threading.Thread.start

    def interrupted(self):
        start(self)
        if self.name == "roastcoffea-local":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            MetricsCollector().__enter__()
    assert left_behind() == []


@pytest.mark.parametrize("kind", ["iterative", "dask"])
def test_random_interrupts(kind, capfd):
    from interrupts import main

    before = signal.getsignal(signal.SIGALRM)
    try:
        assert main(kind, "40" if kind == "iterative" else "6", "seed") == 0, capfd.readouterr().out[-3000:]
    finally:
        signal.signal(signal.SIGALRM, before)
