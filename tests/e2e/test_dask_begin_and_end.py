"""The beginning and the end of a run on Dask: all that the source has to ask is asked at once, and nothing is lost where
that fails."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dask_parts import LATER, cpu, nothing_left, run_burns, send

from roastcoffea.backends.dask import scheduler as _scheduler, task_watch as _task_watch
from roastcoffea.backends.dask import source as backend_module
from roastcoffea.backends.dask.source import DaskMetricsBackend, DaskSource
from roastcoffea.backends.source import Ran

pytestmark = pytest.mark.usefixtures("no_trace_of_other_tests")


def small_run(client, source, topic):
    run_burns(client, 4)
    client.submit(send, topic, 0, 3, pure=False).result()
    return source.end(Ran())


def assert_complete(client, found):
    assert cpu(found.figures, "burn") == pytest.approx(0.08, rel=0.2)
    assert sorted(found.records) == [b"0", b"1", b"2"]
    assert set(found.series.as_tracking_data()["worker_counts"].values()) == {len(client.nthreads())}
    assert len(found.series) == 2 and found.attempts is not None
    assert nothing_left(client)


@pytest.fixture
def calls(client, monkeypatch):
    """The functions that the scheduler was asked to run."""
    made, real = [], client.run_on_scheduler

    def counted(function, *args, **kwargs):
        made.append(function.__name__)
        return real(function, *args, **kwargs)

    monkeypatch.setattr(client, "run_on_scheduler", counted)
    return made


# ---- the beginning ----

def test_each_series_begins_anew(client):
    backend = DaskMetricsBackend(client)
    first, second = [], []
    for found in (first, second):
        backend.start_tracking(LATER)
        found += backend.stop_tracking()["worker_counts"]
    assert len(first) == len(second) == 2 and min(second) > max(first)
    assert nothing_left(client)


def test_a_beginning_without_tracking(client):
    source = DaskSource(client)
    assert source.begin(None).cannot == []
    found = small_run(client, source, source._topic)
    assert found.series is None and found.attempts is not None
    assert nothing_left(client) and found.notes == []


def test_a_source_begins_anew(client):
    source = DaskSource(client)
    runs = []
    for count in (3, 2):
        source.begin(LATER)
        source.notes.add(f"run of {count}")
        client.submit(send, source._topic, 0, count, pure=False).result()
        source.news()
        runs.append(source.end(Ran()))
    assert [sorted(found.records) for found in runs] == [[b"0", b"1", b"2"], [b"0", b"1"]]
    assert [found.notes for found in runs] == [["run of 3"], ["run of 2"]]
    assert all(len(found.series) == 2 for found in runs) and nothing_left(client)


def test_a_source_that_begins_twice_leaves_nothing(client):
    source = DaskSource(client)
    source.begin(LATER)
    source.begin(None)
    assert source.end(Ran()).series is None and nothing_left(client)


@pytest.mark.parametrize("interval", [0.0, -1.0, float("nan"), float("inf")])
def test_an_interval_that_is_none(client, interval):
    with pytest.raises(ValueError, match="interval"):
        DaskSource(client).begin(interval)
    assert nothing_left(client)


def test_workers_that_cannot_be_sampled(client, monkeypatch):
    def fails(self):
        raise RuntimeError("no look at them")

    monkeypatch.setattr(_scheduler.RunPlugin, "_tick", fails)
    source = DaskSource(client)
    engine = source.begin(LATER)
    found = small_run(client, source, engine.topic)
    assert cpu(found.figures, "burn") == pytest.approx(0.08, rel=0.2) and len(found.records) == 3
    assert found.series is None and nothing_left(client)
    assert [("no look at them" in note) for note in found.notes] == [True] and engine.cannot == found.notes


def test_a_plugin_that_cannot_be_set_up_is_replaced_by_the_client(client, monkeypatch):
    async def fails(self, scheduler):
        raise RuntimeError("no room for a plugin")

    monkeypatch.setattr(_scheduler.RunPlugin, "start", fails)
    source = DaskSource(client)
    found = small_run(client, source, source.begin(LATER).topic)
    assert cpu(found.figures, "burn") == pytest.approx(0.08, rel=0.2)
    assert sorted(found.records) == [b"0", b"1", b"2"] and len(found.series) == 2
    (note,) = found.notes
    assert "no room for a plugin" in note and nothing_left(client)


# ---- the end ----

def test_one_question_at_each_end(client, calls):
    source = DaskSource(client)
    engine = source.begin(LATER)
    assert engine.name.startswith("Dask 20") and engine.cannot == [] and engine.span is not None
    found = small_run(client, source, engine.topic)
    assert calls == ["install", "finish", "discard"]
    assert_complete(client, found)
    assert found.notes == []


def test_the_collector_asks_once_and_says_that_it_has_the_answer(client, calls):
    from roastcoffea import MetricsCollector

    with MetricsCollector(client) as collector:
        run_burns(client, 4)
    assert calls == ["install", "finish", "discard"] and collector.notes == []
    assert set(collector.tracking_data["worker_counts"].values()) == {len(client.nthreads())}
    assert cpu(collector.span_metrics, "burn") == pytest.approx(0.08, rel=0.2)


def test_an_end_that_fails_is_asked_for_again(client, monkeypatch):
    source = DaskSource(client)
    topic = source.begin(LATER).topic
    real, failures = source._on_scheduler, [OSError("the line was cut")]

    def cut_once(function, *args):
        if function is backend_module.finish and failures:
            raise failures.pop()
        return real(function, *args)

    monkeypatch.setattr(source, "_on_scheduler", cut_once)
    found = small_run(client, source, topic)
    assert_complete(client, found)
    (note,) = found.notes
    assert "the line was cut" in note


def test_the_end_of_a_run_leaves_other_spans_alone(client):
    backend, source = DaskMetricsBackend(client), DaskSource(client)
    source.begin(LATER)
    other = backend.create_span("another")
    run_burns(client, 2)
    other.close()
    assert cpu(source.end(Ran()).figures, "burn") == pytest.approx(0.04, rel=0.2)
    assert cpu(backend.get_span_metrics(other), "burn") == pytest.approx(0.04, rel=0.2)
    assert nothing_left(client)


def test_what_fails_on_the_scheduler_costs_no_record(client, monkeypatch):
    real, failures = _scheduler.RunPlugin.stop_sampling, [RuntimeError("no last look")]

    def fails_once(self):
        if self.series is not None and failures:
            raise failures.pop()
        return real(self)

    source = DaskSource(client)
    topic = source.begin(LATER).topic
    monkeypatch.setattr(_scheduler.RunPlugin, "stop_sampling", fails_once)
    found = small_run(client, source, topic)
    assert_complete(client, found)
    (note,) = found.notes
    assert "no last look" in note


def test_messages_about_tasks_that_cannot_be_read_are_told(client, monkeypatch):
    source = DaskSource(client)
    topic = source.begin(LATER).topic
    monkeypatch.setattr(_task_watch.TaskWatch, "_send", lambda *args: 1 / 0, raising=True)
    found = small_run(client, source, topic)
    assert sorted(found.records) == [b"0", b"1", b"2"]
    (note,) = found.notes
    assert "messages about tasks could not be read" in note


def test_a_handler_that_somebody_else_has_wrapped_is_left_alone():
    watch = _task_watch.TaskWatch({})
    scheduler = SimpleNamespace(stream_handlers={"task-erred": lambda **message: message})
    tap = _scheduler._RaisedTap.put_on(scheduler, watch)
    scheduler.stream_handlers["task-erred"] = theirs = lambda **message: tap(**message)
    tap.take_off(scheduler, watch)
    assert scheduler.stream_handlers == {"task-erred": theirs} and tap.watches == []
    assert theirs(key="x") == {"key": "x"}
