"""Every way of calling a Runner is seen, and leaves no trace."""

from __future__ import annotations

import pickle
import threading
import time

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from coffea.processor.executor import Runner

from roastcoffea import track_metrics
from roastcoffea._core import ChunkLog
from roastcoffea.channel import take_memory
from roastcoffea.guard import listen, unlisten
from roastcoffea.runner_watch import OUTPUT_KEY, RunnerWatch

METHODS = {
    name: Runner.__dict__[name]
    for name in ("_run_impl", "_run", "run", "__call__", "preprocess", "_preprocess_fileset_root",
                 "_preprocess_fileset_parquet", "metadata_fetcher_root", "_cache_and_populate")
}


class Listener:
    def __init__(self):
        self.begun, self.ended, self.known, self.preprocessings, self.notes = [], [], [], [], []

    def call_begins(self, call):
        self.begun.append(call)

    def call_ends(self, call):
        self.ended.append(call)

    def work_is_known(self, call):
        self.known.append(len(call.items))

    def preprocessed(self, preprocessing):
        self.preprocessings.append(preprocessing)

    def note(self, text):
        self.notes.append(text)


class Analysis(processor.ProcessorABC):
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        assert OUTPUT_KEY not in accumulator
        accumulator["seen"] = sorted(accumulator)


class Raises(Analysis):
    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets":
            raise OSError("bad file")
        return {"events": len(events)}


class RaisesLate(Analysis):
    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "data":
            time.sleep(1)
            raise OSError("bad file")
        return {"events": len(events)}


@pytest.fixture
def watched():
    listener = Listener()
    watch = RunnerWatch(listener)
    listen(listener.note)
    watch.open()
    yield listener
    watch.close()
    unlisten(listener.note)
    assert listener.notes == []
    assert {name: Runner.__dict__[name] for name in METHODS} == METHODS


def make_runner(executor=None, **options):
    executor = executor or processor.IterativeExecutor(status=False, retries=0)
    return Runner(executor=executor, schema=NanoAODSchema, chunksize=400, **options)


def check_call(listener, entries=6300):
    (call,) = listener.ended
    assert listener.begun == [call]
    assert call.report["entries"] == entries
    assert call.report["chunks"] == sum(len(chunks) for chunks in call.chunks) > 0
    return call


def test_call(watched, fileset):
    analysis = Analysis()
    before = pickle.dumps(vars(analysis))
    output = make_runner()(fileset, analysis)
    assert output == {"events": 6300, "seen": ["events"]}
    call = check_call(watched)
    assert call.processor is analysis
    assert call.fileset is fileset
    assert pickle.dumps(vars(analysis)) == before


def test_call_with_metrics(watched, fileset):
    output, report = make_runner(savemetrics=True)(fileset, processor_instance=Analysis())
    assert output == {"events": 6300, "seen": ["events"]}
    assert check_call(watched).report == report


@pytest.mark.parametrize("savemetrics", [False, True])
def test_run(watched, fileset, savemetrics):
    runner = make_runner(savemetrics=savemetrics)
    wrapped = runner.run(fileset, Analysis())
    assert runner.savemetrics is savemetrics
    assert ("metrics" in wrapped) is savemetrics
    assert OUTPUT_KEY not in wrapped["out"]
    check_call(watched)


def test_work_items(watched, fileset):
    runner = make_runner()
    items = list(runner.preprocess(fileset))
    assert not watched.begun
    assert runner.run(items, Analysis())["out"]["events"] == 6300
    check_call(watched)


def test_results(watched, fileset):
    ok = make_runner(use_result_type=True, skipbadfiles=True)(fileset, Analysis())
    assert ok.unwrap()["events"] == 6300
    check_call(watched)


def test_a_result_that_is_an_error(watched, fileset):
    result = make_runner(use_result_type=True, skipbadfiles=True)(fileset, Raises())
    assert not result.is_ok()
    (call,) = watched.ended
    assert "bad file" in str(call.error)


def test_bad_files_that_are_skipped(watched, fileset):
    with pytest.warns(UserWarning, match="Skipping bad file"):
        output = make_runner(skipbadfiles=True)(fileset, Raises())
    assert output["events"] == 4200
    (call,) = watched.ended
    assert call.report["entries"] == 4200
    assert sum(c["num_events"] for chunks in call.chunks for c in chunks) == 4200


def test_an_exception(watched, fileset):
    with pytest.raises(Exception, match="bad file"):
        make_runner()(fileset, Raises())
    (call,) = watched.ended
    assert "bad file" in str(call.error)
    assert call.report is None


def test_partial_output(watched, fileset):
    executor = processor.FuturesExecutor(status=False, workers=2, recoverable=True, retries=0,
                                         merging=(2, 2, 4))
    with pytest.raises(Exception, match="bad file") as caught:
        make_runner(executor)(fileset, RaisesLate())
    (call,) = watched.ended
    assert OUTPUT_KEY not in caught.value.partial_output
    assert sum(c["num_events"] for chunks in call.chunks for c in chunks) == (
        caught.value.partial_output["events"]
    )


def test_a_plain_callable(watched, fileset):
    def count(events):
        return {"events": len(events)}

    assert make_runner()(fileset, count) == {"events": 6300}
    (call,) = watched.ended
    assert call.report["entries"] == 6300


def test_several_calls(watched, fileset):
    for _ in range(2):
        make_runner()(fileset, Analysis())
    assert len(watched.ended) == 2


def test_nested_and_in_threads(fileset):
    outer, inner, other = Listener(), Listener(), Listener()
    watches = [RunnerWatch(outer), RunnerWatch(inner)]
    watches[0].open()
    watches[1].open()

    def elsewhere():
        watch = RunnerWatch(other)
        watch.open()
        make_runner()(fileset, Analysis())
        watch.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert (len(outer.ended), len(inner.ended), len(other.ended)) == (0, 0, 1)
    make_runner()(fileset, Analysis())
    watches[1].close()
    make_runner()(fileset, Analysis())
    watches[0].close()
    assert (len(outer.ended), len(inner.ended), len(other.ended)) == (2, 1, 1)
    make_runner()(fileset, lambda events: {"events": len(events)})
    assert len(outer.ended) == 2
    assert {name: Runner.__dict__[name] for name in METHODS} == METHODS


def test_a_runner_in_a_thread_of_the_users(watched, fileset):
    thread = threading.Thread(target=lambda: make_runner()(fileset, Analysis()))
    thread.start()
    thread.join()
    check_call(watched)


def test_a_trace_is_no_chunk(watched, fileset):
    from coffea.nanoevents.trace import trace

    analysis = Analysis()
    analysis._roastcoffea_topic = "memory:traced"
    assert make_runner()(fileset, analysis, trace=trace)["events"] == 6300
    check_call(watched)
    delivered = sum(len(ChunkLog.from_bytes(part)) for part in take_memory("memory:traced"))
    assert delivered == sum(len(chunks) for chunks in watched.ended[0].chunks)
