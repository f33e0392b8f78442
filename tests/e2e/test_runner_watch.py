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
from roastcoffea.coffea import runner_watch
from roastcoffea._core import ChunkLog
from roastcoffea.worker.channel import take_memory
from roastcoffea.common.guard import listen, unlisten
from roastcoffea.coffea.runner_watch import OUTPUT_KEY, RunnerWatch

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


def test_two_threads_two_runners_two_collectors(fileset):
    """Each sees its own call, whichever ends first, and nothing stays wrapped."""
    from roastcoffea import MetricsCollector

    found, both = {}, threading.Barrier(2)

    def measure(dataset):
        for _ in range(3):
            both.wait(60)
            with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
                output = make_runner()({dataset: fileset[dataset]}, Analysis())
            found.setdefault(dataset, []).append((output["events"], mc.get_metrics()["total_events"],
                                                  {chunk["dataset"] for chunk in mc.chunk_metrics}, list(mc.notes)))

    threads = [threading.Thread(target=measure, args=[dataset]) for dataset in ("ttbar", "wjets")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for dataset in ("ttbar", "wjets"):
        assert found[dataset] == [(2100, 2100, {dataset}, [])] * 3
    assert {name: Runner.__dict__[name] for name in METHODS} == METHODS


def test_one_collector_around_two_threads(fileset):
    from roastcoffea import MetricsCollector

    outputs = []

    def run(dataset):
        outputs.append(make_runner()({dataset: fileset[dataset]}, Analysis()))

    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        threads = [threading.Thread(target=run, args=[dataset]) for dataset in ("ttbar", "wjets")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [output["events"] for output in outputs] == [2100, 2100]
    assert mc.get_metrics()["total_events"] == 4200 == sum(chunk["num_events"] for chunk in mc.chunk_metrics)
    assert len(mc.calls) == len(mc.reports) == 2 and mc.notes == []
    assert {name: Runner.__dict__[name] for name in METHODS} == METHODS


def count(events):
    return {"events": len(events)}


@pytest.mark.parametrize("inside", [False, True])
def test_what_somebody_else_has_wrapped_is_left_alone(fileset, request, inside):
    """Whether or not the other one calls what was there before."""
    seen, original = [], Runner.__dict__["_run_impl"]
    listener = Listener()
    watch = RunnerWatch(listener)
    watch.open()
    ours = Runner.__dict__["_run_impl"] if inside else original

    def theirs(self, *args, **kwargs):
        seen.append(1)
        return ours(self, *args, **kwargs)

    request.addfinalizer(lambda: setattr(Runner, "_run_impl", original))
    Runner._run_impl = theirs
    make_runner()(fileset, count)
    assert len(listener.ended) == inside
    watch.close()
    assert Runner.__dict__["_run_impl"] is theirs
    make_runner()(fileset, count)
    assert len(listener.ended) == inside and len(seen) == 2
    watch.open()
    make_runner()(fileset, count)
    watch.close()
    assert len(listener.ended) == inside + 1 and listener.ended[-1].report["entries"] == 6300
    assert Runner.__dict__["_run_impl"] is theirs and len(seen) == 3


class Derived(processor.IterativeExecutor):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


def test_an_executor_that_calls_another_one(watched, fileset):
    """Both are wrapped, and each piece counts once."""
    make_runner(metadata_cache={})(fileset, count)
    known = list(watched.known)
    runner = make_runner(Derived(status=False, retries=0), metadata_cache={})
    assert "metrics" not in runner.run(fileset, count)
    assert watched.known == 2 * known
    first, second = (call.report for call in watched.ended)
    assert all(first[name] == second[name] for name in ("entries", "bytesread", "chunks"))
    first, second = watched.preprocessings
    assert (second.files, second.bytes, second.requests) == (first.files, first.bytes, first.requests)


def test_a_call_that_begins_as_the_last_watch_closes_wraps_nothing(fileset, monkeypatch):
    watch, real = RunnerWatch(Listener()), runner_watch._watchers

    def closes():
        found = real()
        watch.close()
        return found

    monkeypatch.setattr(runner_watch, "_watchers", closes)
    watch.open()
    before = dict(vars(processor.IterativeExecutor))
    make_runner()(fileset, count)
    assert dict(vars(processor.IterativeExecutor)) == before and runner_watch._patched == []
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
