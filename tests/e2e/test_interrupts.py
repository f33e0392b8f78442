"""Ctrl-C in a real run that lands in code of Coffea's, uproot's or ours, called by the engine."""

from __future__ import annotations

import signal

import awkward as ak
import pytest
import uproot.source.chunk
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from coffea.nanoevents.factory import NanoEventsFactory
from interrupting import interrupts_are_heard  # noqa: F401

from roastcoffea import MetricsCollector, channel, track_metrics, track_time


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
