"""Chunks that a checkpoint of Coffea replays are no work of this run, however soon that is; and what is work is
never taken for a replay."""

from __future__ import annotations

import threading

import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics
from roastcoffea.backends.base import AbstractMetricsBackend

EVENTS = 6300


class Counts(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Fails(Counts):
    """Its last dataset cannot be processed, as long as it is told so."""

    fails = True

    @track_metrics
    def process(self, events):
        if self.fails and events.metadata["dataset"] == "data":
            raise ValueError("not yet")
        return {"events": len(events)}


class NoChannel(AbstractMetricsBackend):
    """A backend that has nothing but what every one has."""

    def start_tracking(self, interval):
        return None

    def stop_tracking(self):
        return {}

    def create_span(self, name):
        return None

    def get_span_metrics(self, span_info):
        return {}

    def supports_fine_metrics(self):
        return False


def iterative():
    return processor.IterativeExecutor(status=False, retries=0)


@pytest.fixture(params=["iterative", "futures", "dask"])
def executor(request):
    if request.param == "iterative":
        return iterative()
    if request.param == "futures":
        return processor.FuturesExecutor(status=False, workers=2)
    client = request.getfixturevalue("idle_client")()
    return processor.DaskExecutor(client=client, status=False)


@pytest.fixture
def make_runner(tmp_path):
    """Runners that have their checkpoints in one folder."""
    points = processor.SimpleCheckpointer(str(tmp_path / "points"), overwrite=False)

    def make(executor, checkpointer=points):
        return processor.Runner(
            executor=executor, schema=NanoAODSchema, chunksize=400, checkpointer=checkpointer
        )

    return make


def subject_of(executor):
    return getattr(executor, "client", None) or executor


def check(mc, work, replayed=0):
    """So many events were processed here, and so many came from a checkpoint."""
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == work
    assert mc.get_metrics()["total_events"] == work
    assert mc.get_metrics()["num_chunks"] == len(mc.chunk_metrics)
    assert (mc.replayed_chunks > 0) == (replayed > 0)
    assert any("checkpoint" in note for note in mc.notes) == (replayed > 0)


# ---- replays ----


def test_a_replay_right_after_the_run(executor, make_runner, fileset):
    def run():
        with MetricsCollector(subject_of(executor)) as mc:
            output = make_runner(executor)(fileset, Counts())
        assert output == {"events": EVENTS}
        return mc

    first, second = run(), run()
    check(first, EVENTS)
    check(second, 0, replayed=EVENTS)
    assert second.replayed_chunks == len(first.chunk_metrics)


def test_a_replay_in_the_same_block(executor, make_runner, fileset):
    with MetricsCollector(subject_of(executor)) as mc:
        make_runner(executor)(fileset, Counts())
        make_runner(executor)(fileset, Counts())
    check(mc, EVENTS, replayed=EVENTS)


def test_the_rest_of_a_run_that_failed(make_runner, fileset):
    analysis = Fails()
    with pytest.raises(Exception, match="not yet"), MetricsCollector(iterative()):
        make_runner(iterative())(fileset, analysis)
    analysis.fails = False
    with MetricsCollector(iterative()) as mc:
        output = make_runner(iterative())(fileset, analysis)
    assert output == {"events": EVENTS}
    check(mc, 2100, replayed=4200)


def test_an_inner_collector_replays_what_the_outer_one_has_seen(make_runner, fileset):
    analysis = Counts()
    with MetricsCollector(iterative(), processor_instance=analysis) as outer:
        make_runner(iterative())(fileset, analysis)
        with MetricsCollector(iterative(), processor_instance=analysis) as inner:
            make_runner(iterative())(fileset, analysis)
    check(inner, 0, replayed=EVENTS)
    check(outer, EVENTS, replayed=EVENTS)


# ---- no replays ----


def test_collectors_inside_each_other(executor, make_runner, fileset):
    subject = subject_of(executor)
    with MetricsCollector(subject) as outer, MetricsCollector(subject) as inner:
        make_runner(executor, None)(fileset, Counts())
    check(inner, EVENTS)
    check(outer, EVENTS)


def test_collectors_around_a_processor_that_is_called_by_hand(make_runner, fileset):
    analysis = Counts()
    with MetricsCollector(iterative(), processor_instance=analysis) as outer:
        with MetricsCollector(iterative(), processor_instance=analysis) as inner:
            events = [event_like(i) for i in range(3)]
            for one in events:
                analysis.process(one)
            inner.set_chunk_metrics(analysis._chunk_metrics)
        outer.set_chunk_metrics(analysis._chunk_metrics)
    for mc in (outer, inner):
        assert mc.replayed_chunks == 0
        assert [chunk["num_events"] for chunk in mc.chunk_metrics] == [0, 1, 2]


def event_like(size):
    class Events(list):
        metadata = {"dataset": "x"}

    return Events(range(size))


def test_collectors_in_two_threads(make_runner, fileset):
    both, seen = threading.Barrier(2, timeout=30), {}

    def run(name):
        with MetricsCollector(iterative()) as seen[name]:
            both.wait()
            make_runner(iterative())({name: fileset[name]}, Counts())

    def run_both():
        threads = [threading.Thread(target=run, args=(name,)) for name in ("ttbar", "wjets")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run_both()
    for mc in seen.values():
        check(mc, 2100)
    run_both()
    for mc in seen.values():
        check(mc, 0, replayed=2100)


def test_a_backend_without_a_channel(make_runner, fileset):
    def run():
        with MetricsCollector(backend=NoChannel()) as mc:
            make_runner(iterative())(fileset, Counts())
        assert not [note for note in mc.notes if "failed" in note]
        return mc

    check(run(), EVENTS)
    check(run(), 0, replayed=EVENTS)


def test_records_that_no_collector_asked_for(make_runner, fileset):
    """They belong to no run, and so to whoever is told of them."""
    analysis = Counts()
    analysis._roastcoffea_collect_metrics = True
    output = make_runner(iterative())(fileset, analysis)
    with MetricsCollector(iterative()) as mc:
        pass
    mc.extract_metrics_from_output(output)
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == EVENTS
    mc.record_chunk_metrics({"num_events": 5, "t_start": 1.0, "t_end": 2.0})
    assert sum(chunk["num_events"] for chunk in mc.chunk_metrics) == EVENTS + 5
    assert mc.replayed_chunks == 0
