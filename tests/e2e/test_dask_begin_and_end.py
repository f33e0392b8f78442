"""The beginning and the end of a run on Dask: all that the backend has to ask is asked at once, and nothing is lost where
that fails."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("distributed")

from dask_parts import LATER, cpu, run_burns, send, traces  # noqa: E402
from roastcoffea.backends import _scheduler  # noqa: E402
from roastcoffea.backends import dask as backend_module  # noqa: E402
from roastcoffea.backends.dask import DaskMetricsBackend  # noqa: E402

pytestmark = pytest.mark.usefixtures("no_trace_of_other_tests")


def collected(client, backend, topic, span, at_once):
    """A small run: its span metrics, messages and series."""
    run_burns(client, 4)
    client.submit(send, topic, 0, 3, pure=False).result()
    if at_once:
        backend.end_run(span)
    return backend.get_span_metrics(span), backend.close_channel(), backend.stop_tracking()


def begin(client, at_once=False):
    backend = DaskMetricsBackend(client)
    if at_once:
        backend.begin_run(LATER)
    topic = backend.open_channel()
    backend.start_tracking(LATER)
    return backend, topic, backend.create_span("run")


def assert_complete(client, backend, found):
    metrics, messages, tracking = found
    assert cpu(metrics, "burn") == pytest.approx(0.08, rel=0.2)
    assert sorted(messages) == [b"0", b"1", b"2"]
    assert set(tracking["worker_counts"].values()) == {len(client.nthreads())}
    assert len(backend.series) == 2 and backend.attempts is not None
    assert traces(client) == []


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

def test_the_interval_that_is_tracked_with_is_the_last_one(client, calls):
    backend = DaskMetricsBackend(client)
    backend.begin_run(LATER)
    backend.start_tracking(0.05)
    time.sleep(0.5)
    assert len(backend.stop_tracking()["worker_counts"]) > 3
    assert calls[:2] == ["install", "command"] and traces(client) == []


def test_each_series_begins_anew(client):
    backend = DaskMetricsBackend(client)
    backend.begin_run(LATER)
    topic = backend.open_channel()
    first, second = [], []
    for found in (first, second):
        backend.start_tracking(LATER)
        found += backend.stop_tracking()["worker_counts"]
    assert len(first) == len(second) == 2 and min(second) > max(first)
    assert topic is not None and backend.close_channel() == [] and traces(client) == []


@pytest.mark.parametrize("interval", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_beginning_without_tracking(client, interval):
    backend = DaskMetricsBackend(client)
    backend.begin_run(interval)
    backend.open_channel()
    assert backend.close_channel() == [] and backend.series is None
    assert traces(client) == [] and backend.notes == []


def test_a_beginning_that_nothing_follows(client):
    backend = DaskMetricsBackend(client)
    backend.begin_run(LATER)
    backend.close()
    assert traces(client) == [] and backend.notes == []


@pytest.mark.parametrize("failures", [1, 2])
def test_workers_that_cannot_be_sampled_at_once(client, monkeypatch, failures):
    real, left = _scheduler.SchedulerPost._tick, [RuntimeError("no look at them")] * failures

    def fails(self):
        if left:
            raise left.pop()
        real(self)

    monkeypatch.setattr(_scheduler.SchedulerPost, "_tick", fails)
    backend, topic, span = begin(client, at_once=True)
    run_burns(client, 4)
    assert cpu(backend.get_span_metrics(span), "burn") == pytest.approx(0.08, rel=0.2)
    assert bool(backend.stop_tracking()) == (failures == 1)
    assert [("no look at them" in note) for note in backend.notes] == [True] * (failures - 1)
    assert topic is not None and backend.close_channel() == [] and traces(client) == []


def test_a_post_that_cannot_be_set_up_is_set_up_here(client, monkeypatch):
    async def fails(self, scheduler):
        raise RuntimeError("no room for a plugin")

    monkeypatch.setattr(_scheduler.SchedulerPost, "start", fails)
    backend, topic, span = begin(client, at_once=True)
    metrics, messages, tracking = collected(client, backend, topic, span, at_once=True)
    assert cpu(metrics, "burn") == pytest.approx(0.08, rel=0.2)
    assert sorted(messages) == [b"0", b"1", b"2"] and tracking["worker_counts"]
    (note,) = backend.notes
    assert "no room for a plugin" in note and traces(client) == []


# ---- the end ----

@pytest.mark.parametrize(("at_once", "asked"), [(True, 1), (False, 4)])
def test_the_end_of_a_run(client, calls, at_once, asked):
    backend, topic, span = begin(client)
    found = collected(client, backend, topic, span, at_once)
    assert calls.count("finish") == asked
    assert_complete(client, backend, found)
    assert backend.notes == []


def test_the_collector_asks_once_and_says_that_it_has_the_answer(client, calls):
    from roastcoffea import MetricsCollector

    with MetricsCollector(client) as collector:
        run_burns(client, 4)
    assert calls == ["install", "finish", "discard"] and collector.notes == []
    assert set(collector.tracking_data["worker_counts"].values()) == {len(client.nthreads())}
    assert cpu(collector.span_metrics, "burn") == pytest.approx(0.08, rel=0.2)


def test_an_end_that_fails_is_asked_for_one_by_one(client, monkeypatch):
    backend, topic, span = begin(client)
    real, failures = backend._on_scheduler, [OSError("the line was cut")]

    def cut_once(function, *args):
        if function is backend_module.finish and failures:
            raise failures.pop()
        return real(function, *args)

    monkeypatch.setattr(backend, "_on_scheduler", cut_once)
    assert_complete(client, backend, collected(client, backend, topic, span, at_once=True))
    (note,) = backend.notes
    assert "the line was cut" in note


def test_the_end_of_a_run_leaves_other_spans_alone(client):
    backend, topic, span = begin(client)
    other = backend.create_span("another")
    run_burns(client, 2)
    other.close()
    backend.end_run(span)
    assert cpu(backend.get_span_metrics(span), "burn") == pytest.approx(0.04, rel=0.2)
    backend.stop_tracking()
    assert backend.close_channel() == []
    assert cpu(backend.get_span_metrics(other), "burn") == pytest.approx(0.04, rel=0.2)
    assert traces(client) == []


def test_what_the_end_of_a_run_told_is_not_told_of_the_next(client):
    backend, topic, span = begin(client)
    another = backend.create_span("another")
    another.close()
    first = collected(client, backend, topic, span, at_once=True)[-1]["worker_counts"]
    backend.start_tracking(LATER)
    second = backend.stop_tracking()["worker_counts"]
    assert len(second) == 2 and min(second) > max(first)
    backend.get_span_metrics(another)
    assert traces(client) == []


def test_what_fails_on_the_scheduler_costs_no_record(client, monkeypatch):
    real, failures = _scheduler.SchedulerPost.stop_sampling, [RuntimeError("no last look")]

    def fails_once(self):
        if self.series is not None and failures:
            raise failures.pop()
        return real(self)

    backend, topic, span = begin(client)
    monkeypatch.setattr(_scheduler.SchedulerPost, "stop_sampling", fails_once)
    assert_complete(client, backend, collected(client, backend, topic, span, at_once=True))
    (note,) = backend.notes
    assert "no last look" in note
