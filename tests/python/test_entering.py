"""A collector and its source: entering it, and answers of a source that are wrong or half empty. No Coffea is needed."""

from __future__ import annotations

import threading

import pytest

from roastcoffea import MetricsCollector
from roastcoffea._core import ChunkLog
from roastcoffea.aggregation.backends import _PARSERS
from roastcoffea.backends import Collected, Engine, Source, WorkerSeries


class Scripted(Source):
    """Answers with what it was given; `waits` names a method that waits until it is let go."""

    def __init__(self, engine=None, found=None, waits=""):
        self.engine, self.found, self.waits = engine or Engine("scripted"), found or Collected(), waits
        self.reached, self.let_go = threading.Event(), threading.Event()
        self.told = []

    def _tell(self, name):
        self.told.append(name)
        if name == self.waits:
            self.reached.set()
            assert self.let_go.wait(20)

    def begin(self, interval):
        self._tell("begin")
        return self.engine

    def end(self, ran):
        self._tell("end")
        return self.found

    def abandon(self):
        self._tell("abandon")


@pytest.fixture(autouse=True)
def same_parsers():
    before = dict(_PARSERS)
    yield
    _PARSERS.clear()
    _PARSERS.update(before)


@pytest.mark.parametrize("waits", ["begin", "end"])
def test_two_threads_cannot_enter_one_collector(waits):
    source = Scripted(waits=waits)
    mc = MetricsCollector(source)

    def run():
        with mc:
            pass

    thread = threading.Thread(target=run)
    thread.start()
    assert source.reached.wait(20)
    with pytest.raises(RuntimeError, match="measuring already"):
        mc.__enter__()
    source.let_go.set()
    thread.join()
    assert source.told == ["begin", "end"] and mc.notes == [] and mc.metrics is not None


def test_a_second_run_has_nothing_of_the_first():
    source = Scripted(found=Collected(notes=["of the first"], clock_offsets={"w": 1.0}))
    mc = MetricsCollector(source)
    with mc:
        mc.record_chunk_metrics({"duration": 1.0})
        mc.record_section_metrics({"section_name": "s", "time_delta": 1.0})
        mc.set_coffea_report({"entries": 1, "bytesread": 1, "processtime": 1.0, "chunks": 1})
    first, begun = mc.metrics, mc.t_start
    source.found = Collected()
    with mc:
        assert (mc.t_end, mc.metrics, mc.run, mc.notes, mc.chunk_metrics) == (None, None, None, [], [])
    assert first["total_events"] == 1 and first["notes"] == ["of the first"] and len(first["raw_chunk_metrics"]) == 1
    assert mc.metrics["total_events"] is None and mc.notes == [] and mc.t_start > begun
    assert list(mc.chunk_metrics) == mc.section_metrics == [] and "clock_offsets" not in mc.run.meta


def test_a_source_that_begins_with_no_engine():
    source = Scripted()
    source.engine = None
    with pytest.raises(TypeError, match="begin.*Engine is expected, not NoneType"):
        MetricsCollector(source).__enter__()
    assert source.told == ["begin", "abandon"]


def test_a_source_that_ends_with_nothing():
    source = Scripted()
    source.found = None
    with MetricsCollector(source) as mc:
        pass
    assert source.told == ["begin", "end", "abandon"]
    assert mc.metrics["wall_time"] >= 0 and any("Collected is expected, not NoneType" in note for note in mc.notes)


def test_any_part_may_be_missing():
    series = WorkerSeries()
    series.join("w", 1.0, cores=1)
    series.sample("w", 1.0, memory=1e9)
    empty = dict(attempts=None, figures=None, records=None, clock_offsets=None, notes=None)
    with MetricsCollector(Scripted(found=Collected(series=series, **empty))) as mc:
        pass
    assert mc.notes == [] and mc.attempts == [] and mc.span_metrics is None and len(mc.chunk_metrics) == 0
    assert mc.metrics["peak_memory_bytes"] == 1e9 and mc.tracking_data["worker_counts"]


def test_records_that_are_no_list_cost_nothing_else():
    series = WorkerSeries()
    series.sample("w", 1.0, memory=1e9)
    log = ChunkLog([{"duration": 1.0}])
    for records, kept in (([b"junk", log.to_bytes()], 1), (3, 0)):
        with MetricsCollector(Scripted(found=Collected(series=series, records=records, figures={}))) as mc:
            pass
        assert len(mc.notes) == 1 and len(mc._recorder.records) == kept
        assert mc.metrics["peak_memory_bytes"] == 1e9 and mc.span_metrics == {}


def test_a_part_that_the_engine_can_tell_and_did_not():
    engine = Engine("grid 1.0", tells=("series", "attempts"))
    with MetricsCollector(Scripted(engine, Collected(series=WorkerSeries()))) as mc:
        pass
    assert mc.notes == ["grid 1.0 reported no attempts for this run"]
    with MetricsCollector(Scripted(engine, Collected(notes=["the log is gone"]))) as mc:
        pass
    assert mc.notes == ["the log is gone"]
