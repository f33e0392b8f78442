"""The Dask backend on real clusters: series, spans, records beside the output, and no traces."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import dask
import distributed
import pytest
from dask_parts import (
    BARE_SCHEDULER,
    LATER,
    burn,
    cluster,
    cpu,
    doze,
    eventually,
    nothing_left,
    process,
    run_burns,
    send,
    traces,
)

from roastcoffea import _core
from roastcoffea.backends.dask import scheduler as _scheduler
from roastcoffea.backends.dask import source as backend_module
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.dask.source import DaskBackend, DaskMetricsBackend, DaskSource
from roastcoffea.backends.source import Collected, News, Ran

pytestmark = pytest.mark.usefixtures("no_trace_of_other_tests")


def collected(source, interval=None):
    """A run in which nothing happens."""
    source.begin(interval)
    return source.end(Ran())


# ---- what it needs ----

def test_a_client_is_needed():
    with pytest.raises(ValueError, match="client"):
        DaskMetricsBackend(None)
    assert DaskBackend is DaskMetricsBackend
    assert issubclass(DaskMetricsBackend, AbstractMetricsBackend)


@pytest.mark.parametrize("interval", [0, -1.0, float("nan"), float("inf")])
def test_an_interval_that_is_none(client, interval):
    backend = DaskMetricsBackend(client)
    with pytest.raises(ValueError, match="interval"):
        backend.start_tracking(interval)
    assert nothing_left(client)


def test_an_asynchronous_client_is_refused():
    async def attempt():
        async with distributed.Client(
            asynchronous=True, processes=False, n_workers=1, dashboard_address=":0"
        ) as client:
            with pytest.raises(RuntimeError, match="synchronous one"):
                DaskMetricsBackend(client)
            with pytest.raises(RuntimeError, match="synchronous one"):
                DaskSource(client)

    asyncio.run(attempt())


# ---- workers ----

def test_the_series(client):
    backend = DaskMetricsBackend(client)
    before = datetime.now(UTC)
    backend.start_tracking(0.05)
    with pytest.raises(RuntimeError, match="already"):
        backend.start_tracking(0.05)
    run_burns(client, 40)
    tracking = backend.stop_tracking()
    after = datetime.now(UTC)

    addresses = set(client.scheduler_info(n_workers=-1)["workers"])
    series = tracking.series
    assert set(series.workers) == set(series.hosts) == addresses
    assert set(series.hosts.values()) == {"127.0.0.1"}
    assert {(e["worker"], e["kind"], e["threads"]) for e in series.changes} == {
        (address, "joined", 1) for address in addresses
    }
    assert isinstance(tracking, dict)
    times = list(tracking["worker_counts"])
    assert len(times) == len(series) >= 5
    assert before <= times[0] <= times[-1] <= after
    assert set(tracking["worker_counts"].values()) == {2}
    for key in set(tracking) - {"worker_counts"}:
        assert set(tracking[key]) == addresses, key
        assert all(len(samples) == len(times) for samples in tracking[key].values()), key
    assert {value for _, value in sum(tracking["worker_cores"].values(), [])} == {1}
    assert max(value for _, value in sum(tracking["worker_active_tasks"].values(), [])) > 0
    assert all(value > 1e7 for _, value in sum(tracking["worker_memory"].values(), []))
    assert backend.notes == []
    assert nothing_left(client)
    assert backend.stop_tracking() == {}


def test_tracking_data_is_a_dict_that_is_made_when_looked_at():
    series = _core.WorkerSeries()
    series.tick_values(1.0, {"a": {"memory": 5, "cores": 2}})
    plain = series.as_tracking_data()
    looks = [
        dict, copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)), lambda d: {**d},
        lambda d: d | {}, lambda d: {} | d, lambda d: d.copy(), lambda d: dict(d.items()),
        lambda d: dict(zip(d.keys(), d.values())), lambda d: {k: d[k] for k in d},
        lambda d: {k: d.get(k) for k in reversed(d)}, lambda d: d if d == plain else None,
        lambda d: d if plain == d else None, lambda d: d if not d != plain else None,
    ]
    for look in looks:
        fresh = TrackingData(series)
        assert isinstance(fresh, dict) and fresh and len(fresh) == len(plain)
        assert look(fresh) == plain
        assert repr(TrackingData(series)) == repr(plain)
    assert "worker_memory" in TrackingData(series) and "other" not in TrackingData(series)
    assert TrackingData(series).pop("worker_memory") == plain["worker_memory"]
    changed = TrackingData(series)
    changed["worker_memory"] = {}
    assert changed["worker_cores"] == plain["worker_cores"] and changed["worker_memory"] == {}
    assert _core.worker_metrics(TrackingData(series)) == _core.worker_metrics(plain)


def test_workers_that_come_and_go_between_ticks():
    with cluster(n_workers=1, processes=False) as (local, client):
        first = next(iter(local.scheduler.workers))
        source = DaskSource(client)
        source.begin(LATER)
        local.scale(3)
        client.wait_for_workers(3)
        guests = set(local.scheduler.workers) - {first}
        local.scale(1)
        eventually(lambda: len(local.scheduler.workers) == 1)
        series = source.end(Ran()).series
        events = series.changes
        assert len(series) == 2  # the first and the last look
        for guest in guests:
            came, went = (e for e in events if e["worker"] == guest)
            assert (came["kind"], went["kind"]) == ("joined", "left")
            assert came["when"] < went["when"]
            assert came["threads"] == 1
            assert series.hosts[guest] == series.hosts[first] is not None
        assert nothing_left(client)


def test_adaptive_scaling():
    with cluster(n_workers=0, processes=False) as (local, client):
        # Workers that are not needed stay for a second: what they measure is told by then.
        local.adapt(minimum=0, maximum=2, interval="50ms", wait_count=20)
        backend = DaskMetricsBackend(client)
        backend.start_tracking(0.05)
        span = backend.create_span("adaptive")
        burnt = run_burns(client, 20)
        metrics = backend.get_span_metrics(span)
        eventually(lambda: not local.scheduler.workers)
        tracking = backend.stop_tracking()
        kinds = [e["kind"] for e in tracking.series.changes]
        counts = list(tracking["worker_counts"].values())
        assert counts[0] == counts[-1] == 0 < max(counts) <= 2
        assert kinds.count("joined") == kinds.count("left") >= 1
        assert cpu(metrics, "burn") == pytest.approx(burnt, rel=0.05)


def test_threads_in_workers():
    with cluster(n_workers=1, threads_per_worker=4, processes=False) as (_, client):
        source = DaskSource(client)
        topic = source.begin(0.05).topic
        burnt = run_burns(client)
        client.gather(client.map(lambda i: send(topic, i, 1), range(8), pure=False))
        found = source.end(Ran())
        assert cpu(found.figures, "burn") == pytest.approx(burnt, rel=0.05)
        assert sorted(found.records) == [b"%d" % i for i in range(8)]
        assert set(found.series.as_tracking_data()["worker_cores"].popitem()[1][0][1:]) == {4}
        assert found.notes == []
        assert nothing_left(client)


def test_a_worker_is_killed():
    with cluster() as (local, client):
        pids = client.run(os.getpid)
        victim, pid = next(iter(pids.items()))
        source = DaskSource(client)
        topic = source.begin(0.05).topic
        client.gather(client.map(lambda i: send(topic, i, 1), range(8), pure=False))
        # A message takes some milliseconds from a worker to the scheduler.
        eventually(lambda: len(local.scheduler.plugins[topic[5:]]._messages) == 8)
        futures = client.map(burn, [0.1] * 10, range(10), pure=False)
        killed = datetime.now(UTC)
        os.kill(pid, signal.SIGKILL)
        client.gather(futures)
        client.wait_for_workers(2)
        found = source.end(Ran())

        # A task whose result died with its worker may have run twice.
        assert set(found.records) == {b"%d" % i for i in range(8)}
        (left,) = (e for e in found.series.changes if e["kind"] == "left")
        assert left["worker"] == victim and left["when"] >= killed
        assert sum(e["kind"] == "joined" for e in found.series.changes) == 3
        tracking = found.series.as_tracking_data()
        assert all(when <= left["when"] for when, _ in tracking["worker_memory"][victim])
        # The survivors tell all of theirs; what the victim had not told is named.
        assert 0.1 <= cpu(found.figures, "burn") <= 1.5
        (note,) = found.notes
        assert victim in note and "left" in note
        assert nothing_left(client)


# ---- spans ----

def test_span_metrics_are_complete_at_once(client):
    backend = DaskMetricsBackend(client)
    assert backend.supports_fine_metrics()
    run_burns(client)  # before
    for _ in range(3):
        span = backend.create_span("truth")
        burnt = run_burns(client, 20)
        client.gather(client.map(doze, [0.05] * 4, pure=False))
        backend.close_span(span)
        client.gather(client.map(len, ["after"] * 4, pure=False))
        metrics = backend.get_span_metrics(span)
        assert cpu(metrics, "burn") == pytest.approx(burnt, rel=0.05)
        assert cpu(metrics, "doze", "thread-noncpu") > 0.19
        assert cpu(metrics, "doze") < 0.1
        assert {key[1] for key in metrics} == {"burn", "doze", "N/A"}
        assert {key[0] for key in metrics} == {"execute"}
    assert backend.notes == []
    assert nothing_left(client)


def test_a_span_without_tasks(client):
    backend = DaskMetricsBackend(client)
    with backend.create_span("idle") as span:
        assert set(dask.get_annotations()) == {"span", "roastcoffea"}
    assert traces(client) != []  # until it has been asked for
    assert backend.get_span_metrics(span) == {}
    (note,) = backend.notes
    assert "idle" in note and "no task" in note
    assert backend.get_span_metrics(None) == {}
    assert nothing_left(client)


def test_tasks_that_fail_have_a_span(client):
    def fail():
        burn(0.02)
        raise ValueError("bad luck")

    backend = DaskMetricsBackend(client)
    span = backend.create_span("failing")
    with pytest.raises(ValueError, match="bad luck"):
        client.submit(fail, pure=False).result()
    metrics = backend.get_span_metrics(span)
    assert metrics["execute", "fail", "failed", "seconds"] > 0.02


@pytest.mark.parametrize("first_out", ["inner", "outer"])
def test_spans_in_one_another(client, first_out):
    outer, inner = DaskMetricsBackend(client), DaskMetricsBackend(client)
    outer_span = outer.create_span("outer")
    client.gather(client.map(doze, [0.01] * 2, pure=False))
    inner_span = inner.create_span("inner")
    burnt = run_burns(client, 4)
    ends = [(inner, inner_span), (outer, outer_span)]
    got = {}
    for backend, span in ends if first_out == "inner" else reversed(ends):
        got[span.name[-1]] = backend.get_span_metrics(span)
    assert cpu(got["inner"], "burn") == pytest.approx(burnt, rel=0.05)
    assert cpu(got["outer"], "burn") == pytest.approx(burnt, rel=0.05)
    assert {key[1] for key in got["inner"]} == {"burn", "N/A"}
    assert {key[1] for key in got["outer"]} == {"burn", "doze", "N/A"}
    assert outer.notes == inner.notes == []
    assert nothing_left(client)


@pytest.mark.parametrize("first_out", ["inner", "outer"])
def test_two_spans_of_one_backend(client, first_out):
    backend = DaskMetricsBackend(client)
    spans = {name: backend.create_span(name) for name in ("outer", "inner")}
    burnt = run_burns(client, 2)
    for name in sorted(spans, reverse=first_out == "outer"):
        assert cpu(backend.get_span_metrics(spans[name]), "burn") == pytest.approx(burnt, rel=0.05)
    assert backend.notes == [] and nothing_left(client)


def test_spans_of_two_threads(client):
    results, failures = {}, []
    both = threading.Barrier(2)

    def collect(name, work):
        try:
            source = DaskSource(client, name)
            topic = source.begin(0.05).topic
            both.wait(20)
            work(topic)
            both.wait(20)
            found = source.end(Ran())
            results[name] = found.figures, found.records, found.series, found.notes
        except BaseException as error:
            failures.append(error)
            both.abort()

    def work_a(topic):
        run_burns(client, 4)
        client.submit(send, topic, 0, 5, pure=False).result()

    def work_b(topic):
        client.gather(client.map(doze, [0.02] * 4, pure=False))

    works = (("a", work_a), ("b", work_b))
    threads = [threading.Thread(target=collect, args=args) for args in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {key[1] for key in results["a"][0]} == {"burn", "send", "N/A"}
    assert {key[1] for key in results["b"][0]} == {"doze", "N/A"}
    assert sorted(results["a"][1]) == [b"0", b"1", b"2", b"3", b"4"] and results["b"][1] == []
    assert all(len(r[2].workers) == 2 and r[3] == [] for r in results.values())
    assert nothing_left(client)


def test_a_span_that_is_closed_in_another_thread(client):
    backend = DaskMetricsBackend(client)
    made = []

    def elsewhere():
        made.append(backend.create_span("moved"))
        made.append(run_burns(client, 4))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert cpu(backend.get_span_metrics(made[0]), "burn") == pytest.approx(made[1], rel=0.05)
    assert nothing_left(client)


def test_merged_spans_are_told(client):
    first = DaskMetricsBackend(client)
    span = first.create_span("first")
    alive = client.map(burn, [0.01] * 4, range(4), pure=False)
    distributed.wait(alive)
    first.get_span_metrics(span)
    assert first.notes == []

    second = DaskMetricsBackend(client)
    span = second.create_span("second")
    run_burns(client, 3)
    assert second.get_span_metrics(span) == {}
    (note,) = second.notes
    assert "3 tasks named burn" in note and "another span" in note

    third = DaskMetricsBackend(client)
    span = third.create_span("third")
    run_burns(client, 3)
    client.gather(client.map(doze, [0.01] * 2, pure=False))
    assert {key[1] for key in third.get_span_metrics(span)} == {"doze", "N/A"}
    (note,) = third.notes
    assert "3 tasks named burn" in note and "doze" not in note
    assert nothing_left(client)


def test_tasks_that_are_submitted_again_are_not_of_others(client):
    backend = DaskMetricsBackend(client)
    span = backend.create_span("again")
    parts = client.map(burn, [0.01] * 4, range(4), pure=False)
    client.submit(sum, parts, pure=False).result()
    client.submit(max, parts, pure=False).result()
    client.gather([client.submit(doze, 0.01, key="doze-1") for _ in range(2)])
    metrics = backend.get_span_metrics(span)
    assert {key[1] for key in metrics} == {"burn", "sum", "max", "doze", "N/A"}
    assert backend.notes == []


def test_tasks_of_others_that_dask_counts_in_our_span_are_told(client):
    backend = DaskMetricsBackend(client)
    span = backend.create_span("ours")
    mine = client.map(burn, [0.01] * 3, range(3), pure=False)
    distributed.wait(mine)
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        theirs = threading.Thread(target=run_burns, args=(other, 5))
        theirs.start()
        theirs.join()
        quiet = threading.Thread(target=lambda: other.gather(other.map(doze, [0.01], pure=False)))
        quiet.start()
        quiet.join()
    metrics = backend.get_span_metrics(span)
    assert {key[1] for key in metrics} == {"burn", "N/A"}
    (note,) = backend.notes
    assert "5 tasks named burn" in note and "elsewhere" in note
    assert nothing_left(client)


def test_workers_with_a_metric_that_takes_its_time():
    async def slow_metric(worker):
        await asyncio.sleep(0.05)
        return 1

    with cluster(processes=False, metrics={"slow": slow_metric}) as (local, client):
        workers = set(local.scheduler.workers)
        backend = DaskMetricsBackend(client)
        for _ in range(3):
            span = backend.create_span("slow")
            burnt = run_burns(client, 4)
            assert cpu(backend.get_span_metrics(span), "burn") == pytest.approx(burnt, rel=0.05)
        assert set(local.scheduler.workers) == workers


def test_a_worker_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(backend_module, "WORKER_TIMEOUT", 0.5)
    with cluster() as (_, client):
        pids = client.run(os.getpid)
        (quiet, pid), (other, _) = pids.items()
        source = DaskSource(client)
        source.retries = [0.0, 0.01]
        topic = source.begin(0.05).topic
        client.submit(burn, 0.02, workers=[other], pure=False).result()
        client.submit(send, topic, 0, 3, workers=[other], pure=False).result()
        os.kill(pid, signal.SIGSTOP)
        try:
            found = source.end(Ran())
        finally:
            os.kill(pid, signal.SIGCONT)
        assert cpu(found.figures, "burn") == pytest.approx(0.02, rel=0.2)
        assert sorted(found.records) == [b"0", b"1", b"2"]
        (note,) = found.notes
        assert quiet in note and other not in note and "0.5 s" in note
        assert len(found.series.workers) == 2
        assert nothing_left(client)


# ---- records that are sent ----

def test_more_messages_than_the_scheduler_keeps(client):
    source = DaskSource(client, None)
    topic = source.begin(None).topic
    assert topic.startswith("dask:roastcoffea-")
    client.gather([client.submit(send, topic, i * 250, 250, pure=False) for i in range(12)])
    found = source.end(Ran())
    assert sorted(map(int, found.records)) == list(range(3000))
    assert found.notes == [] and found.series is None and found.figures is None
    assert source.news() == News() and source.end(Ran()) == Collected()
    assert nothing_left(client)


def test_what_workers_hold_back_is_asked_for(client):
    def hold(dask_worker):
        from roastcoffea.worker import channel

        def flush(topic=None):
            channel.deliver(topic, dask_worker.address.encode())

        channel._real_flush, channel.flush = channel.flush, flush

    def release():
        from roastcoffea.worker import channel

        channel.flush = channel._real_flush
        del channel._real_flush

    addresses = client.run(hold)
    try:
        found = collected(DaskSource(client, None))
        assert sorted(found.records) == sorted(a.encode() for a in addresses)
    finally:
        client.run(release)
    assert found.notes == []


def test_a_worker_that_cannot_send(client):
    def spoil():
        from roastcoffea.worker import channel

        def flush(topic=None):
            raise OSError("no way out")

        channel._real_flush, channel.flush = channel.flush, flush

    def mend():
        from roastcoffea.worker import channel

        channel.flush = channel._real_flush
        del channel._real_flush

    spoilt = client.run(spoil)
    try:
        found = collected(DaskSource(client, None))
    finally:
        client.run(mend)
    assert found.records == [] and len(found.notes) == len(spoilt)
    assert all("no way out" in note for note in found.notes)


def test_messages_that_find_no_room_are_told(client, monkeypatch):
    monkeypatch.setattr(backend_module, "MESSAGE_LIMIT", 10)
    source = DaskSource(client, None)
    client.submit(send, source.begin(None).topic, 0, 15, pure=False).result()
    found = source.end(Ran())
    assert found.records == [b"%d" % i for i in range(10)]
    (note,) = found.notes
    assert "5 messages" in note


# ---- others on the cluster, and what remains ----

def test_other_users_of_the_cluster(client):
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        source = DaskSource(client)
        topic = source.begin(0.05).topic
        mine = client.map(burn, [0.01] * 10, range(10), pure=False)
        theirs = threading.Thread(
            target=lambda: other.gather(other.map(doze, [0.01] * 20, pure=False))
        )
        theirs.start()
        other.log_event("their topic", {"roastcoffea": b"not ours"})
        client.gather(mine)
        theirs.join()
        found = source.end(Ran())
        assert {key[1] for key in found.figures} == {"burn", "N/A"}
        assert found.records == [] and found.notes == []
        assert topic not in client.get_events()
        assert len(found.series.workers) == 2


def test_nothing_grows(client):
    def count():
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    def collect():
        source = DaskSource(client)
        client.submit(send, source.begin(LATER).topic, 0, 1, pure=False).result()
        found = source.end(Ran())
        assert cpu(found.figures, "send") > 0
        assert found.records == [b"0"] and len(found.series) == 2 and found.notes == []

    for _ in range(3):
        collect()
    before = count()
    topics = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler._broker._topics))
    for _ in range(20):
        collect()
    threads, descriptors = count()
    # Dask's pool of connections has one more or less at times.
    assert threads <= before[0] and descriptors < before[1] + 10
    assert topics == client.run_on_scheduler(
        lambda dask_scheduler: len(dask_scheduler._broker._topics)
    )
    assert nothing_left(client)


def test_a_client_that_never_comes_back(monkeypatch):
    monkeypatch.setattr(_scheduler, "GRACE_SECONDS", 0.05)
    with cluster(n_workers=1, processes=False) as (local, client):
        with distributed.Client(local, set_as_default=False) as gone:
            source = DaskSource(gone, None)
            source.begin(0.05)
            assert len(traces(client)) >= 2
        assert nothing_left(client)
        found = source.end(Ran())
        assert found.records == [] and found.series is None
        assert any("client is closed" in note for note in found.notes)


def test_close_ends_all(client):
    backend = DaskMetricsBackend(client)
    backend.start_tracking(0.05)
    span = backend.create_span("left open")
    backend.close()
    assert nothing_left(client)
    assert backend.stop_tracking() == {} and backend.get_span_metrics(span) == {}


def test_a_source_that_is_abandoned(client):
    source = DaskSource(client)
    source.begin(0.05)
    for _ in range(2):
        source.abandon()
        assert nothing_left(client)


def test_the_cluster_goes_before_the_end():
    with cluster(processes=False) as (local, client):
        source = DaskSource(client)
        source.begin(0.05)
        run_burns(client, 4)
        local.close()
        eventually(lambda: client.status != "running")
        found = source.end(Ran())
        assert found.figures == {} and found.records == [] and found.series is None
        assert found.notes != []
        assert dask.get_annotations() == {}


# ---- a scheduler without this package ----

def bare_worker(address):
    return process("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny",
                   "--no-dashboard")


def test_a_scheduler_without_this_package():
    with process("-c", BARE_SCHEDULER) as scheduler:
        address = scheduler.stdout.readline().strip()
        with (
            bare_worker(address),
            distributed.Client(address, set_as_default=False) as client,
        ):
            client.wait_for_workers(1)
            (worker,) = client.scheduler_info(n_workers=-1)["workers"]
            source = DaskSource(client)
            topic = source.begin(0.1).topic
            burnt = run_burns(client, 10)
            client.gather([client.submit(send, topic, i * 300, 300, pure=False) for i in range(5)])
            started = datetime.now(UTC)
            with bare_worker(address):
                client.wait_for_workers(2)
                (guest,) = set(client.scheduler_info(n_workers=-1)["workers"]) - {worker}
            eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 1)
            found = source.end(Ran())

            assert cpu(found.figures, "burn") == pytest.approx(burnt, rel=0.05)
            assert sorted(map(int, found.records)) == list(range(1500))
            assert [(e["worker"], e["kind"]) for e in found.series.changes] == [
                (worker, "joined"), (guest, "joined"), (guest, "left")
            ]
            moments = [e["when"] for e in found.series.changes]
            assert moments == sorted(moments) and moments[1] > started
            assert set(found.series.hosts.values()) == {"127.0.0.1"}
            tracking = found.series.as_tracking_data()
            assert worker in tracking["worker_memory"]
            assert {value for _, value in tracking["worker_cores"][worker]} == {1}
            (note,) = found.notes
            assert "sampled from the client" in note and "ModuleNotFoundError" in note
            assert found.attempts is None and "attempts of the tasks are not known" in note
            assert nothing_left(client)

            alive = client.map(burn, [0.01] * 2, range(2), pure=False)
            distributed.wait(alive)
            backend = DaskMetricsBackend(client)
            span = backend.create_span("merged")
            merged = client.map(burn, [0.01] * 3, range(3), pure=False)
            distributed.wait(merged)
            assert backend.get_span_metrics(span) == {}
            assert any("3 tasks named burn" in note for note in backend.notes)

            source = DaskSource(client)
            source.begin(0.05)
            scheduler.kill()
            scheduler.wait()
            eventually(lambda: client.status != "running")
            found = source.end(Ran())
            assert found.records == [] and found.series.workers == [worker]
            assert any("could not be asked" in note for note in found.notes)
            assert not [t for t in threading.enumerate() if "roastcoffea" in t.name]
