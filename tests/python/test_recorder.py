"""What the calls of a Runner tell, without Coffea: records, reports, pieces of work; and what is computed from it."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import pytest

from roastcoffea import track_metrics
from roastcoffea._core import ChunkLog, Run
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends.source import Ran
from roastcoffea.collector.computed import Inputs, compute
from roastcoffea.common.guard import Notes
from roastcoffea.coffea.identity import RunIdentity
from roastcoffea.coffea.preprocess_watch import Preprocessing
from roastcoffea.coffea.recorder import Recorder
from roastcoffea.coffea.runner_watch import RunnerCall, Tasks

REPORT = {"entries": 10, "bytesread": 20, "processtime": 3.0, "chunks": 1}


class Analysis:
    def process(self, events):
        return {}


def item(start):
    return SimpleNamespace(dataset="d", filename="f.root", treename="Events", entrystart=start, entrystop=start + 10)


def record(start, **more):
    return {"dataset": "d", "file": "f.root", "treename": "Events", "entry_start": start, "entry_stop": start + 10, "duration": 1.0, **more}


def make(processor=None, lacking="", advice=""):
    notes = Notes()
    source = SimpleNamespace(workers_without_us=lambda: lacking, how_to_install=advice)
    recorder = Recorder(processor, notes, source)
    recorder.identity = RunIdentity("memory:test")
    return recorder, notes


def call_of(recorder, processor, **results):
    call = RunnerCall(SimpleNamespace(executor=None, chunksize=10), {"d": {"files": {"f.root": "Events"}}}, processor)
    call.watchers = [recorder]
    recorder.call_begins(call)
    for name, value in results.items():
        setattr(call, name, value)
    recorder.call_ends(call)
    return call


def test_a_call():
    recorder, notes = make()
    analysis = Analysis()
    call_of(recorder, analysis, report=dict(REPORT), chunks=[ChunkLog([record(0)])], replayed=2)
    assert recorder.processor is analysis and recorder.processor_names == {"Analysis"}
    assert recorder.calls == [{"executor": "NoneType", "chunksize": 10, "processor": "Analysis", "datasets": 1, "files": 1}]
    assert recorder.reports == [REPORT] and len(recorder.records) == 1 and recorder.replayed == 2 and notes == []
    assert analysis._roastcoffea_collect_metrics is False and not hasattr(analysis, "_roastcoffea_topic")
    assert len(analysis._chunk_metrics) == 1


def test_functions_as_processors():
    """A run has the name of the function. Coffea names its tasks after the class."""
    def plain(events):
        return {}

    recorder, _ = make()
    call_of(recorder, plain)
    call_of(recorder, track_metrics(plain))
    call_of(recorder, functools.partial(plain))
    assert [call["processor"] for call in recorder.calls] == ["plain"] * 3
    assert recorder.processor_names == {"function", "track_metrics", "partial"}


def test_the_processor_has_flag_and_topic_during_a_call():
    recorder, _ = make()
    analysis = Analysis()
    recorder.call_begins(RunnerCall(SimpleNamespace(), None, analysis))
    assert analysis._roastcoffea_collect_metrics and analysis._roastcoffea_topic == "memory:test"
    recorder.unmark_all()
    assert analysis._roastcoffea_collect_metrics is False and not hasattr(analysis, "_roastcoffea_topic")


def test_what_is_wrong_in_an_output_costs_nothing_else():
    recorder, notes = make()
    call_of(recorder, Analysis(), report=3, chunks=[[3], ChunkLog([record(0)])])
    assert len(recorder.records) == 1 and recorder.reports == []
    assert len(notes) == 2 and any("report" in note for note in notes)


def test_workers_that_lack_this_package():
    recorder, notes = make(lacking="node-a")
    call_of(recorder, Analysis())
    assert len(notes) == 1 and "node-a cannot import roastcoffea" in notes[0] and notes[0].endswith("is measured")
    recorder, notes = make(lacking="node-a", advice="ask for it")
    call_of(recorder, Analysis())
    assert notes[0].endswith("is measured; ask for it")


def test_chunks_that_run_elsewhere():
    """Their processes cannot write to a file of this machine: that no record came does not mean that nothing is done."""
    class GridExecutor:
        pass

    for executor, elsewhere in ((GridExecutor(), {"GridExecutor"}), (None, set())):
        recorder, _ = make()
        recorder.identity = RunIdentity("file:/proc/1/fd/3?00")
        recorder.call_begins(RunnerCall(SimpleNamespace(executor=executor), None, Analysis()))
        assert recorder.elsewhere == elsewhere and recorder.pieces.records_arrive == (not elsewhere)


def test_a_message_counts_for_recorders_around_it_that_are_open():
    inner, _ = make()
    outer, _ = make()
    gone, _ = make()
    outer.identity.open()
    call = RunnerCall(SimpleNamespace(), None, Analysis())
    call.watchers = [inner, outer, gone]
    inner.call_begins(call)
    inner.take_message(ChunkLog([record(0, pid=7, host="here"), record(1, pid=8, host="there")]).to_bytes())
    outer.identity.close()
    assert (len(inner.records), len(outer.records), len(gone.records)) == (2, 2, 0)
    assert Ran(records=inner.records).processes("here") == {7}
    with pytest.raises(ValueError):
        inner.take_message(b"junk")
    inner.unmark_all()


def test_figures_of_preprocessing():
    recorder, _ = make()
    assert recorder.figures() == {}
    for counted in ((100, 2), (50, 1)):
        one = Preprocessing()
        one.seconds = 0.5
        one.add(counted)
        recorder.preprocessed(one)
    assert recorder.figures() == {
        ("preprocess", "wall", "seconds"): 1.0, ("preprocess", "files", "count"): 2,
        ("preprocess", "read", "bytes"): 150, ("preprocess", "read", "count"): 3,
    }
    one.add(None)
    assert set(recorder.figures()) == {("preprocess", "wall", "seconds"), ("preprocess", "files", "count")}


def test_pieces_that_failed():
    recorder, _ = make()
    items = [item(0), item(10), item(20)]
    records = ChunkLog([record(0), record(10, error="bad luck"), record(20, error="bad luck"), record(20)])
    call_of(recorder, Analysis(), items=items, failed=[items[1], items[2]], chunks=[records])
    recorder.settle(lambda: Run(chunks=records))
    assert recorder.work.failed_items == [items[1]]
    recorder.settle(lambda: Run(chunks=records))
    assert recorder.work.failed_items == [items[1]]


def test_records_that_are_missing():
    recorder, _ = make()
    recorder._expected = [item(0), item(10), item(20)]
    chunks = ChunkLog([record(0), record(10, error="bad luck"), record(0)])
    for _ in range(2):
        assert recorder.count_missing(chunks, 0).startswith("1 of 3 chunks have a record")
    assert recorder.count_missing(ChunkLog([record(0), record(10), record(20)]), 2) is None


def test_tasks_and_their_pieces():
    tasks, more = Tasks(), Tasks()
    tasks.note(["a-1", "a-2"], ["first", "second"])
    more.note(["b-1"], ["third"])
    tasks.add(more)
    assert tasks.items(["b-1", "a-2", "unknown"]) == ["second", "third"]


# ---- what is computed ----

def inputs(**more):
    known = dict(times=(0.0, 2.0), processor_name=None, meta={}, replayed=0, report=REPORT, chunks=[], tracking=None,
                 figures={}, span_metrics=None, attempts=None, phases=[], custom_metrics=None, sections=[])
    return Inputs(**{**known, **more})


def test_computed():
    made = compute(MetricsAggregator("local"), lambda left_out: inputs(), Notes(["told before"]))
    assert made.metrics["total_events"] == 10 and made.run is not None
    assert made.notes == ["told before"] == made.run.notes


@pytest.mark.parametrize("bad", [
    {"tracking": 17}, {"report": {"entries": "many"}}, {"attempts": 17}, {"tracking": 17, "attempts": 17},
    {"report": {"entries": "many"}, "tracking": 17, "custom_metrics": 3},
])
def test_a_bad_part_costs_none_of_the_others(bad):
    made = compute(MetricsAggregator("local"), lambda left_out: inputs(chunks=[record(0)], **bad), Notes())
    without = [note.split()[4].rstrip(":") for note in made.notes if note.startswith("the metrics are without")]
    names = {"tracking": "series"}
    assert sorted(without) == sorted(names.get(name, name) for name in bad)
    assert len(made.run.chunks) == 1 and ("total_events" in made.metrics) == ("report" not in bad)
    assert made.lacks is not None and made.run.notes == made.notes


def test_what_fails_once_costs_nothing():
    fails = [MemoryError("once")]

    def make_inputs(left_out):
        if fails:
            raise fails.pop()
        return inputs(chunks=[record(0)])

    made = compute(MetricsAggregator("local"), make_inputs, Notes())
    assert made.lacks is None and len(made.run.chunks) == 1 and made.metrics["total_events"] == 10
    assert "once" in made.notes[0]


def test_nothing_can_be_computed():
    made = compute(MetricsAggregator("local"), lambda left_out: 1 / 0, Notes())
    assert made.metrics is None and made.run is None
    assert "could not be computed at all" in made.notes[-1]
