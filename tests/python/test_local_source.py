"""The source of this machine: its processes, and the records that they send."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from socket import gethostname

import pytest
from samples import forks, make_log
from stand_ins import FuturesExecutor, IterativeExecutor, TaskVineExecutor, run_python, wait_for

from roastcoffea import _core
from roastcoffea.worker import channel
from roastcoffea._core import ChunkLog
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.local import LocalSource
from roastcoffea.backends.source import Collected, Ran

DATA = Path(__file__).resolve().parent.parent / "data"
REPORT = {"entries": 1000, "bytesread": 2000, "processtime": 3.0, "chunks": 4}
OWN = f"{gethostname()}:{os.getpid()}"


# ---- ProcessTree ----

def test_process_tree_of_files():
    tree = _core.ProcessTree(100, str(DATA / "proc" / "tree"))
    assert tree.sample() is True
    assert tree.sample() is False
    assert [process["pid"] for process in tree.processes] == [90, 100, 101, 102]
    assert [process["parent"] for process in tree.processes] == [102, 5, 100, 100]
    assert all(process["left"] is None for process in tree.processes)
    assert len(tree) == 4
    series = tree.series({101: 1, 90: 1, 100: None, 4711: 1}, "höst")
    data = series.as_tracking_data()
    page = os.sysconf("SC_PAGESIZE")
    assert {name: [value for _, value in rows] for name, rows in data["worker_memory"].items()} == {
        "höst:90": [90 * page] * 2, "höst:100": [100 * page] * 2, "höst:101": [110 * page] * 2}
    assert list(data["worker_counts"].values()) == [2, 2]
    assert {name: rows[0][1] for name, rows in data["worker_cores"].items()} == {
        "höst:90": 1, "höst:101": 1}
    # one look has no rate
    assert [value for _, value in data["worker_cpu"]["höst:90"]] == [0.0]
    assert set(series.hosts.values()) == {"höst"}
    assert [(event["worker"], event["kind"], event["threads"]) for event in series.changes] == [
        ("höst:90", "joined", 1), ("höst:101", "joined", 1)]
    last = list(data["worker_counts"])[-1]
    assert data["worker_last_seen"]["höst:90"][-1][1] == pytest.approx(last.timestamp(), abs=0.001)


def test_process_tree_refuses():
    for arguments, error in (((-1,), ValueError), ((0, "nowhere"), ValueError), ((1, "nowhere"), OSError),
                             ((4711, str(DATA / "proc" / "tree")), KeyError), (("x",), TypeError)):
        with pytest.raises(error):
            _core.ProcessTree(*arguments)
    tree = _core.ProcessTree()
    tree.sample()
    for workers, host, error in (([], "h", TypeError), ({}, None, TypeError), ({}, "h" * 5000, ValueError),
                                 ({os.getpid(): 0}, "h", ValueError), ({os.getpid(): "1"}, "h", TypeError),
                                 ({os.getpid(): 2**40}, "h", ValueError)):
        with pytest.raises(error):
            tree.series(workers, host)


def test_process_tree_before_its_first_look():
    tree = _core.ProcessTree()
    assert tree.processes == [] and len(tree) == 0
    assert len(tree.series({os.getpid(): 1}, "h")) == 0


def test_process_tree_without_memory():
    tree = _core.ProcessTree()
    tree.sample()
    for use in (_core.ProcessTree, tree.sample, lambda: tree.series({os.getpid(): 1}, "h")):
        failures = 0
        for after in range(1000):
            _core._fail_allocations(after)
            try:
                use()
                break
            except MemoryError:
                failures += 1
            finally:
                _core._fail_allocations(None)
        assert failures > 0 or use == tree.sample
        assert failures < 999
    # it goes on as if nothing had been
    tree.sample()
    series = tree.series({os.getpid(): 1}, "h")
    assert series.workers == [f"h:{os.getpid()}"]
    assert [event["kind"] for event in series.changes] == ["joined"]


def test_process_tree_is_looked_at_by_one_thread_at_a_time():
    tree = _core.ProcessTree()
    refused, looks = [], []

    def look():
        for _ in range(300):
            try:
                looks.append(tree.sample())
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looks) + len(refused) == 1200
    assert set(refused) <= {"another thread is looking at the processes"}
    assert len(tree.series({os.getpid(): 1}, "h")) == len(looks)


# ---- the local backend ----

def track(executor, body, interval=0.02, pids=(), host=gethostname(), elsewhere=()):
    """What a source tells of `body`, which it gets; its tracking data; and what `body` returns."""
    source = LocalSource(executor)
    source.begin(interval)
    try:
        result = body(source)
    finally:
        found = source.end(Ran(records=[{"pid": pid, "host": host} for pid in pids], elsewhere=elsewhere))
    return found, found.tracking_data if found.series is None else TrackingData(found.series), result


def peak(tracking):
    return max(tracking["worker_counts"].values())


@pytest.mark.parametrize("executor,cores", [
    (None, 1), (IterativeExecutor(), 1), (FuturesExecutor(ThreadPoolExecutor, 3), 3),
    (FuturesExecutor(partial(ThreadPoolExecutor, thread_name_prefix="x"), 3), 3),
    (FuturesExecutor(ThreadPoolExecutor(5), 3), 5),
], ids=["none", "iterative", "threads", "partial", "instance"])
def test_this_process_is_the_worker(executor, cores):
    backend, tracking, _ = track(executor, lambda backend: time.sleep(0.1), pids={os.getpid()})
    assert isinstance(tracking, dict)
    assert set(tracking["worker_counts"].values()) == {1}
    assert {value for _, value in tracking["worker_cores"][OWN]} == {cores}
    assert list(tracking["worker_memory"]) == [OWN]
    assert backend.series.workers == [OWN]
    assert backend.series.as_tracking_data() == tracking
    (joined,) = backend.series.changes
    assert joined["threads"] == cores and joined["when"] == min(tracking["worker_counts"])
    assert backend.notes == []
    metrics = MetricsAggregator("local").aggregate(REPORT, backend.series, 0.0, 1.0)
    assert metrics["avg_workers"] == 1 and metrics["total_cores"] == cores


def test_all_that_can_be_seen_of_a_process():
    _, tracking, _ = track(None, lambda backend: time.sleep(0.1))
    absent = {"worker_active_tasks", "worker_executing", "worker_nbytes", "worker_occupancy",
              "worker_spilled_bytes", "worker_net_read_bps", "worker_net_write_bps"}
    for key, rows in tracking.items():
        assert (not rows) == (key in absent), key
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    assert all(0 < value <= limit for _, value in tracking["worker_memory_limit"][OWN])
    memory = tracking["worker_memory"][OWN][-1][1]
    assert memory == pytest.approx(_core.get_process_memory() * 1e6, rel=0.2)


@pytest.fixture
def sleeper():
    """A child that is no worker."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child
    child.kill()
    child.wait()


def work_in_pool(pool, n=2):
    def body(backend):
        """Every process of the pool gets something to do, and is seen."""
        futures = [pool.submit(time.sleep, 0.05) for _ in range(4 * n)]
        pids = set(pool._processes)
        for future in futures:
            future.result()
        wait_for(lambda: pids <= seen_by(backend))
        return pids
    return body


def test_pool_processes_are_the_workers(sleeper):
    def body(backend):
        with ProcessPoolExecutor(3) as pool:
            return work_in_pool(pool, 3)(backend)

    backend, tracking, pids = track(FuturesExecutor(ProcessPoolExecutor, 3), body)
    assert len(pids) == 3
    names = {f"{gethostname()}:{pid}" for pid in pids}
    assert set(tracking["worker_cores"]) == names
    assert set(tracking["worker_memory"]) == names | {OWN}
    assert f"{gethostname()}:{sleeper.pid}" not in tracking["worker_memory"]
    assert peak(tracking) == 3
    counts = list(tracking["worker_counts"].values())
    assert counts[0] == 0 and counts[-1] == 0
    events = backend.series.changes
    assert sorted(event["worker"] for event in events if event["kind"] == "joined") == sorted(names)
    assert sorted(event["worker"] for event in events if event["kind"] == "left") == sorted(names)
    times = [event["when"] for event in events]
    assert times == sorted(times)
    assert all(event["threads"] == (1 if event["kind"] == "joined" else None) for event in events)
    metrics = MetricsAggregator("local").aggregate(REPORT, backend.series, 0.0, 1.0)
    assert metrics["cores_per_worker"] == 1 and metrics["peak_workers"] == 3


def test_workers_that_only_the_records_know(sleeper):
    """A pool of another kind: who delivered a chunk is a worker."""
    executor = FuturesExecutor(lambda max_workers: None)
    assert track(executor, lambda backend: time.sleep(0.1))[0].series.workers == [OWN]
    backend, tracking, _ = track(executor, lambda backend: time.sleep(0.1), pids={sleeper.pid, 999999999})
    name = f"{gethostname()}:{sleeper.pid}"
    assert set(tracking["worker_cores"]) == {name}
    assert set(tracking["worker_memory"]) == {name, OWN}
    assert backend.series.workers == [OWN, name] or backend.series.workers == [name, OWN]


@forks
def test_workers_that_only_the_records_that_were_sent_know(sleeper):
    """The records say which process made them."""
    def body(source):
        log = ChunkLog([{"duration": 1.0, "pid": sleeper.pid, "host": gethostname()}])
        channel.deliver(source._topic, log.to_bytes())
        channel.deliver(source._topic, b"damaged")

    found, tracking, _ = track(FuturesExecutor(lambda max_workers: None), body)
    assert set(tracking["worker_cores"]) == {f"{gethostname()}:{sleeper.pid}"}
    assert len(found.records) == 2 and len(found.notes) == 1


def test_pool_that_is_the_users_own():
    with ProcessPoolExecutor(2) as own, ProcessPoolExecutor(1) as other:
        foreign = other.submit(os.getpid).result()
        backend, tracking, pids = track(FuturesExecutor(own), work_in_pool(own))
        assert set(tracking["worker_cores"]) == {f"{gethostname()}:{pid}" for pid in pids}
        assert foreign not in pids
        # it goes on: nobody has left
        assert {event["kind"] for event in backend.series.changes} == {"joined"}


def test_pools_that_were_there_before_are_somebody_elses():
    with ProcessPoolExecutor(1) as other:
        foreign = other.submit(os.getpid).result()

        def body(backend):
            with ProcessPoolExecutor(2) as pool:
                return work_in_pool(pool)(backend)

        _, tracking, pids = track(FuturesExecutor(ProcessPoolExecutor), body)
    assert set(tracking["worker_cores"]) == {f"{gethostname()}:{pid}" for pid in pids}
    assert foreign not in pids


def test_pool_that_nobody_saw():
    """No worker was seen: how many there were is not known, which is not 0."""
    backend, tracking, _ = track(FuturesExecutor(ProcessPoolExecutor), lambda backend: None)
    assert tracking["worker_counts"] == {} and tracking["worker_cores"] == {}
    assert list(tracking["worker_memory"]) == [OWN]
    assert backend.series is None
    metrics = MetricsAggregator("local").aggregate(REPORT, tracking, 0.0, 1.0)
    assert metrics["avg_workers"] is None and metrics["total_cores"] is None
    assert metrics["peak_memory_bytes"] > 1e6


def test_pids_of_another_host_are_other_processes():
    def body(backend):
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            wait_for(lambda: child.pid in seen_by(backend))
            child.communicate(b"\n")
            return child.pid

    pids = set()
    _, tracking, pid = track(FuturesExecutor(ProcessPoolExecutor), lambda backend: pids.add(body(backend)),
                             pids=pids, host="another-host")
    assert tracking["worker_counts"] == {} and pids
    pids.clear()
    found, _, _ = track(FuturesExecutor(ProcessPoolExecutor), lambda backend: pids.add(body(backend)), pids=pids)
    assert f"{gethostname()}:{pids.pop()}" in found.series.workers


class GridPool(Executor):
    """A pool of another package."""


@pytest.mark.parametrize("executor,elsewhere,named", [
    (TaskVineExecutor(), (), "TaskVineExecutor"),
    (FuturesExecutor(GridPool), (), "FuturesExecutor with GridPool"),
    (FuturesExecutor(GridPool()), (), "FuturesExecutor with GridPool"),
    (None, {"TaskVineExecutor"}, "TaskVineExecutor"),  # known from the calls of the Runner alone
    (IterativeExecutor(), {"ParslExecutor"}, "ParslExecutor"),
])
def test_executor_that_works_elsewhere(executor, elsewhere, named):
    """Not even a process of this machine that delivered chunks makes workers, cores or a budget."""
    found, tracking, _ = track(executor, lambda backend: None, pids={os.getpid()}, elsewhere=elsewhere)
    (note,) = found.notes
    assert note.startswith(f"{named}: workers, cores and the budget are not known")
    assert found.series is None and tracking is None and found.counters is None


def test_short_pool_between_two_ticks():
    """With an interval of a minute there are looks all the same when processes come and go."""
    def body(backend):
        wait_for(lambda: seen_by(backend))
        with ProcessPoolExecutor(2) as pool:
            return work_in_pool(pool)(backend)

    backend, tracking, pids = track(FuturesExecutor(ProcessPoolExecutor), body, interval=60.0)
    assert set(tracking["worker_cores"]) == {f"{gethostname()}:{pid}" for pid in pids}
    assert peak(tracking) == 2


def test_looks_are_not_more_than_needed():
    backend, tracking, _ = track(IterativeExecutor(), lambda backend: time.sleep(0.5), interval=60.0)
    # at the start, then after 0.02 s, 0.04 s, ..., and at the end
    assert 3 <= len(tracking["worker_counts"]) <= 7


def seen_by(backend):
    """The processes that the sampler has found; none while it is just looking."""
    try:
        return {process["pid"] for process in backend._sampler.tree.processes}
    except RuntimeError:
        return set()


def test_worker_that_is_killed():
    def body(backend):
        with ProcessPoolExecutor(2) as pool:
            futures = [pool.submit(time.sleep, 30) for _ in range(2)]
            pids = set(pool._processes)
            wait_for(lambda: pids <= seen_by(backend))
            victim = min(pids)
            os.kill(victim, signal.SIGKILL)
            with pytest.raises(BrokenProcessPool):
                futures[0].result()
        return victim, pids

    backend, tracking, (victim, pids) = track(FuturesExecutor(ProcessPoolExecutor), body)
    name = f"{gethostname()}:{victim}"
    (left,) = [event for event in backend.series.changes
               if event["worker"] == name and event["kind"] == "left"]
    last = tracking["worker_memory"][name][-1][0]
    ticks = sorted(tracking["worker_counts"])
    assert left["when"] == ticks[ticks.index(last) + 1]
    assert len(pids) == 2 and peak(tracking) == 2


def test_a_source_begins_anew():
    source = LocalSource()
    for interval in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="interval"):
            source.begin(interval)
    found = []
    for _ in range(2):
        source.begin(0.05)
        found.append(source.end(Ran()).series.as_tracking_data())
    assert max(found[0]["worker_counts"]) < min(found[1]["worker_counts"])
    assert source.end(Ran()) == Collected()


def test_two_sources_at_once():
    one, two = LocalSource(), LocalSource()
    one.begin(0.02)
    two.begin(0.02)
    time.sleep(0.1)
    first, second = (source.end(Ran()).series.as_tracking_data() for source in (one, two))
    assert peak(first) == peak(second) == 1
    assert max(first["worker_counts"]) < max(second["worker_counts"])


def test_what_cannot_be_looked_at_is_a_note(monkeypatch):
    import roastcoffea.backends.local as local

    class Broken:
        processes = []

        def __init__(self, fails):
            self.fails = fails

        def pause(self, interval):
            return interval

        def sample(self):
            if self.fails:
                raise OSError("no /proc here")
            self.fails = True
            return True

        def series(self, workers, host):
            return _core.WorkerSeries()

    monkeypatch.setattr(local, "ProcessTree", lambda: Broken(True))
    source = LocalSource()
    assert "no /proc here" in source.begin(0.01).cannot[0]
    found = source.end(Ran())
    assert found.series is None and found.tracking_data is None and "no /proc here" in found.notes[0]
    monkeypatch.setattr(local, "ProcessTree", lambda: Broken(False))
    notes = track(None, lambda source: None, interval=0.01)[0].notes
    assert "samples of the processes failed" in notes[0] and "no /proc here" in notes[0]


# ---- records that are sent ----

def in_child(function, *arguments):
    """Runs it in a forked child that ends like a worker that is killed: no clean-up of any kind."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@forks
def test_channel_of_files():
    source = LocalSource(FuturesExecutor())
    topic = source.begin(None).topic
    assert topic.startswith("file:/proc/")
    data = make_log(2).to_bytes()
    in_child(channel.deliver, topic, data)
    in_child(channel.deliver, topic, data + b"")
    assert source.news().records == [data, data] and source.news().records == []
    in_child(channel.deliver, topic, b"behind")
    assert source.end(Ran()) == Collected(records=[data, data, b"behind"])



def test_channel_with_damage():
    source = LocalSource(FuturesExecutor())
    path = source.begin(None).topic.removeprefix("file:").rpartition("?")[0]
    with open(path, "ab") as file:
        file.write(b"x" * 100)
    found = source.end(Ran())
    assert found.records == [] and "damaged in 1 places" in found.notes[0]


@pytest.mark.parametrize("executor", [IterativeExecutor(), FuturesExecutor(ThreadPoolExecutor)])
def test_channel_in_memory(executor):
    one, two = LocalSource(executor), LocalSource(executor)
    topics = one.begin(None).topic, two.begin(None).topic
    assert topics[0] != topics[1] and all(topic.startswith("memory:") for topic in topics)
    channel.deliver(topics[0], b"a")
    channel.deliver(topics[1], b"b")
    assert one.end(Ran()).records == [b"a"]
    assert two.end(Ran()).records == [b"b"]


@pytest.mark.parametrize("executor", [IterativeExecutor(), FuturesExecutor()])
def test_news_that_could_not_be_told_are_told_later(executor, monkeypatch):
    backend = LocalSource(executor)
    topic = backend.begin(3600).topic
    channel.deliver(topic, b"first")
    assert backend.news()[0] == [b"first"]
    channel.deliver(topic, b"second")
    with monkeypatch.context() as patch:
        patch.setattr("roastcoffea.backends.local._Sampler.workers", lambda self, confirmed: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            backend.news()
    channel.deliver(topic, b"third")
    assert backend.news()[0] == [b"second", b"third"] and backend.news()[0] == []
    assert backend.end(Ran()).records == [b"first", b"second", b"third"]


def test_samples_are_told_once():
    source = LocalSource(IterativeExecutor())
    source.begin(0.02)
    told = []
    for _ in range(10):
        time.sleep(0.03)
        told.append(source.news().series)
    whole, joined = source.end(Ran()).series, _core.WorkerSeries()
    for samples in told:
        joined.extend(samples)
    assert 10 <= len(joined) < len(whole) and len(joined.changes) == len(whole.changes) == 1
    told, all_of_them = (one.as_tracking_data()["worker_memory"][OWN] for one in (joined, whole))
    assert told == all_of_them[: len(told)]


def test_channel_that_is_never_closed():
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    source = LocalSource()
    source.begin(None)
    source.begin(None)
    assert descriptors() == before + 1
    del source
    assert descriptors() == before


def test_a_system_without_such_files(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    source = LocalSource()
    engine = source.begin(None)
    assert engine.topic is None and "in the output alone" in engine.cannot[0]
    assert source.end(Ran()).records == []


def test_program_that_ends_in_the_middle(tmp_path):
    """No file is left, whether or not the channel was closed."""
    run_python(textwrap.dedent("""
        import sys, tempfile
        from roastcoffea.backends.local import LocalSource
        from roastcoffea.worker.channel import deliver
        tempfile.tempdir = sys.argv[1]
        source = LocalSource()
        deliver(source.begin(0.01).topic, b"x")
        raise SystemExit(0)
    """), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# ---- nothing stays behind ----

def test_a_hundred_in_a_row():
    def counts():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

    def use():
        source = LocalSource(FuturesExecutor())
        channel.deliver(source.begin(0.001).topic, b"x")
        found = source.end(Ran())
        assert found.records == [b"x"] and found.tracking_data["worker_memory"]

    for _ in range(20):
        use()
    before, memory = counts(), _core.get_process_memory()
    for _ in range(100):
        use()
    # a thread has ended for Python a moment before it has for the kernel
    wait_for(lambda: counts() == before)
    # the sanitizers keep what is freed for a while
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        assert _core.get_process_memory() - memory < 3, "MB"
