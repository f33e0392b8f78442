"""Backends: which one belongs to what, backends of others, and the one of this machine."""

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
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from socket import gethostname
from types import SimpleNamespace
from typing import Any

import pytest
from samples import forks, make_log

from roastcoffea import _core, channel
from roastcoffea.aggregation.backends import _PARSERS, get_parser, known_parsers
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends import known_backends, make_backend, register_backend
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.local import LocalMetricsBackend
from roastcoffea.backends.registry import _REGISTERED, backend_name

DATA = Path(__file__).resolve().parent.parent / "data"
REPORT = {"entries": 1000, "bytesread": 2000, "processtime": 3.0, "chunks": 4}
OWN = f"{gethostname()}:{os.getpid()}"


@pytest.fixture
def registry():
    """What a test registers is forgotten."""
    before = dict(_REGISTERED), dict(_PARSERS)
    yield
    for table, kept in zip((_REGISTERED, _PARSERS), before):
        table.clear()
        table.update(kept)


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


# ---- stand-ins for Coffea's classes, as far as a backend looks at them ----

class ExecutorBase:
    pass


class IterativeExecutor(ExecutorBase):
    workers = 1


class FuturesExecutor(ExecutorBase):
    def __init__(self, pool=ProcessPoolExecutor, workers=2, mergepool=None):
        self.pool, self.workers, self.mergepool = pool, workers, mergepool


class DaskExecutor(ExecutorBase):
    def __init__(self, client=None):
        self.client = client


class TaskVineExecutor(ExecutorBase):
    pass


class Runner:
    def __init__(self, executor):
        self.executor = executor


class Minimal(AbstractMetricsBackend):
    """Nothing but what is abstract, and no super().__init__()."""

    def __init__(self, manager):
        self.manager = manager

    def start_tracking(self, interval):
        self.interval = interval

    def stop_tracking(self):
        return {}

    def create_span(self, name):
        return None

    def get_span_metrics(self, span_info):
        return {}

    def supports_fine_metrics(self):
        return False


class Bare(Minimal):
    def __init__(self):
        self.manager = "own"


# ---- the abstract class ----

def test_base_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        AbstractMetricsBackend()
    assert AbstractMetricsBackend.__abstractmethods__ == {
        "start_tracking", "stop_tracking", "create_span", "get_span_metrics", "supports_fine_metrics"}


def test_defaults_are_harmless():
    backend = Minimal(None)
    assert backend.series is None
    assert backend.notes == []
    assert backend.open_channel() is None
    assert backend.close_channel() == []
    assert backend.confirm_workers({1, 2}) is None


# ---- which backend ----

@pytest.mark.parametrize("spec", [None, IterativeExecutor(), FuturesExecutor(), TaskVineExecutor(),
                                  Runner(FuturesExecutor())], ids=lambda spec: type(spec).__name__)
def test_local_is_the_default(spec):
    backend = make_backend(spec)
    assert type(backend) is LocalMetricsBackend
    assert backend.executor is (spec.executor if isinstance(spec, Runner) else spec)
    assert backend_name(backend) == "local"


def test_backend_that_is_ready_wins():
    backend = Minimal(1)
    assert make_backend(IterativeExecutor(), backend) is backend
    assert make_backend(backend) is backend
    assert type(make_backend(7, Minimal)) is Minimal
    assert make_backend(7, Minimal).manager == 7


def test_dask_executor_without_a_client():
    with pytest.raises(ValueError, match="DaskExecutor has no client.*distributed.Client"):
        make_backend(DaskExecutor())
    with pytest.raises(ValueError, match="client"):
        make_backend(None, "dask")


def test_dask_belongs_to_clients(registry):
    made = []

    class Fake(Minimal):
        def __init__(self, client):
            made.append(client)

    register_backend("dask", Fake)
    client = SimpleNamespace(run_on_scheduler=None)
    executor = DaskExecutor(client)
    make_backend(client), make_backend(executor), make_backend(Runner(executor))
    # a class of one's own under this name is handed the executor itself
    assert made == [client, executor, executor]


def test_unknown_name():
    with pytest.raises(ValueError, match=r"Unsupported backend: 'slurm'. Known: dask, local"):
        make_backend(None, "slurm")


@pytest.mark.parametrize("spec", [3, "dask", object(), [IterativeExecutor()]])
def test_what_is_no_executor(spec):
    with pytest.raises(TypeError, match="cannot be measured; a distributed.Client"):
        make_backend(spec)


def test_what_is_no_backend():
    with pytest.raises(TypeError, match="backend: a name or a backend"):
        make_backend(None, 3)


# ---- backends of others ----

def test_register(registry):
    register_backend("taskvine", Minimal)
    assert "taskvine" in known_backends()
    assert "taskvine" in known_parsers()
    executor = TaskVineExecutor()
    for backend in (make_backend(executor), make_backend(Runner(executor)),
                    make_backend(executor, "taskvine")):
        assert type(backend) is Minimal
        assert backend.manager is executor
        assert backend_name(backend) == "taskvine"
    assert type(make_backend(IterativeExecutor())) is LocalMetricsBackend


def test_class_without_arguments(registry):
    register_backend("bare", Bare)
    assert make_backend(IterativeExecutor(), "bare").manager == "own"


def test_error_of_a_constructor_is_not_hidden(registry):
    class Broken(Minimal):
        def __init__(self, manager):
            raise TypeError("my own fault")

    register_backend("broken", Broken)
    with pytest.raises(TypeError, match="my own fault"):
        make_backend(1, "broken")


def test_what_cannot_be_registered():
    for name in ("", None, 3):
        with pytest.raises(ValueError, match="no name of a backend"):
            register_backend(name, Minimal)
    for backend_class in (None, Minimal(1), dict):
        with pytest.raises(TypeError, match="AbstractMetricsBackend"):
            register_backend("x", backend_class)
    with pytest.raises(TypeError, match="parse_tracking_data"):
        register_backend("x", Minimal, parser=3)
    assert "x" not in known_backends()


def test_backend_that_was_never_registered(registry):
    class CondorMetricsBackend(Minimal):
        pass

    backend = CondorMetricsBackend(1)
    assert backend_name(backend) == "condor"
    assert MetricsAggregator("condor").aggregate(REPORT, {}, 0.0, 2.0)["wall_time"] == 2.0


class TripleParser:
    """Counts a worker a letter."""

    def parse_tracking_data(self, tracking_data):
        return {"avg_workers": float(len(tracking_data["letters"])), "cores_per_worker": 1.0,
                "total_cores": float(len(tracking_data["letters"]))}


@pytest.mark.parametrize("parser", [TripleParser, TripleParser()], ids=["class", "object"])
def test_parser_of_its_own(registry, parser):
    register_backend("letters", Minimal, parser=parser)
    metrics = MetricsAggregator("letters").aggregate(REPORT, {"letters": "abc"}, 0.0, 2.0)
    assert metrics["avg_workers"] == 3.0
    assert metrics["core_efficiency"] == pytest.approx(3.0 / (2.0 * 3.0))
    assert metrics["tracking_data"] == {"letters": "abc"}
    assert MetricsAggregator("letters").aggregate(REPORT, None, 0.0, 2.0)["avg_workers"] is None


def example_of_the_documentation():
    """The class of the page "Advanced Usage", as it stands; the page forgets to import Any."""
    text = (DATA / "seeds" / "advanced-usage.txt").read_text(encoding="utf-8")
    start = text.index("from roastcoffea.backends.base import AbstractMetricsBackend")
    end = text.index("Register it in aggregation/backends.py")
    namespace: dict[str, Any] = {"Any": Any}
    exec(text[start:end], namespace)
    return namespace["TaskVineMetricsBackend"]


def test_example_of_the_documentation(registry):
    taskvine = example_of_the_documentation()
    register_backend("taskvine", taskvine)
    backend = make_backend(TaskVineExecutor())
    assert type(backend) is taskvine
    assert backend_name(backend) == "taskvine"
    backend.start_tracking(1.0)
    tracking = backend.stop_tracking()
    assert tracking == {"taskvine_metrics": ...}
    assert backend.get_span_metrics(backend.create_span("x")) == {}
    assert get_parser("taskvine").parse_tracking_data(tracking)["avg_workers"] is None
    metrics = MetricsAggregator("taskvine").aggregate(
        REPORT, tracking, 10.0, 14.0, span_metrics=backend.get_span_metrics(None))
    assert metrics["wall_time"] == 4.0
    assert metrics["total_events"] == 1000
    assert metrics["tracking_data"] == {"taskvine_metrics": ...}
    for key in ("avg_workers", "peak_workers", "total_cores", "peak_memory_bytes", "core_efficiency",
                "cpu_utilization_avg_pct", "cpu_time_seconds"):
        assert metrics.get(key) is None, key


def test_entry_point(tmp_path):
    """A package that somebody installed: its backend is there without an import of it."""
    (tmp_path / "condor_roast.py").write_text(textwrap.dedent("""
        from roastcoffea.backends.base import AbstractMetricsBackend
        class Parser:
            def parse_tracking_data(self, tracking_data):
                return {"avg_workers": tracking_data["slots"]}
        class Condor(AbstractMetricsBackend):
            parser = Parser
            def __init__(self, pool): self.pool = pool
            def start_tracking(self, interval): pass
            def stop_tracking(self): return {"slots": 12.0}
            def create_span(self, name): return None
            def get_span_metrics(self, span_info): return {}
            def supports_fine_metrics(self): return False
    """))
    info = tmp_path / "condor_roast-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: condor-roast\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[roastcoffea.backends]\ncondor = condor_roast:Condor\n")
    script = textwrap.dedent("""
        import sys
        from roastcoffea.aggregation.core import MetricsAggregator
        from roastcoffea.backends import known_backends, make_backend
        from roastcoffea.backends.registry import backend_name
        class ExecutorBase: pass
        class CondorExecutor(ExecutorBase): pass
        assert known_backends() == ["condor", "dask", "local"], known_backends()
        assert "condor_roast" not in sys.modules
        if sys.argv[1] == "parser first":
            assert MetricsAggregator("condor").parser.parse_tracking_data({"slots": 1}) == {"avg_workers": 1}
        backend = make_backend(CondorExecutor())
        assert type(backend).__name__ == "Condor" and backend_name(backend) == "condor"
        assert type(make_backend(3, "condor")).__name__ == "Condor"
        metrics = MetricsAggregator("condor").aggregate({}, backend.stop_tracking(), 0.0, 1.0)
        assert metrics["avg_workers"] == 12.0
    """)
    for order in ("parser first", "backend first"):
        run_python(script, order, path=tmp_path)


def run_python(script, *arguments, path=None):
    """In a process of its own, which finds the package where this one does."""
    folders = [str(path)] if path else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, *filter(None, sys.path)])}
    result = subprocess.run([sys.executable, "-c", script, *arguments], env=environment, text=True,
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_nothing_foreign_is_imported():
    """Neither the package nor the local backend needs Dask or Coffea, not even to tell what an object is."""
    run_python(textwrap.dedent("""
        import sys
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("dask", "distributed", "coffea", "numpy"):
                    raise ImportError(f"{name} must not be imported")
        sys.meta_path.insert(0, Refuse())
        import roastcoffea
        from roastcoffea.backends import make_backend
        backend = make_backend(None)
        topic = backend.open_channel()
        backend.start_tracking(0.01)
        backend.stop_tracking()
        backend.close_channel()
        assert backend.series.workers
    """))


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
    assert [(event["worker"], event["kind"], event["threads"]) for event in series.events] == [
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
    assert [event["kind"] for event in series.events] == ["joined"]


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

def track(executor, body, interval=0.02):
    backend = LocalMetricsBackend(executor)
    backend.start_tracking(interval)
    try:
        result = body(backend)
    finally:
        tracking = backend.stop_tracking()
    return backend, tracking, result


def peak(tracking):
    return max(tracking["worker_counts"].values())


@pytest.mark.parametrize("executor,cores", [
    (None, 1), (IterativeExecutor(), 1), (FuturesExecutor(ThreadPoolExecutor, 3), 3),
    (FuturesExecutor(partial(ThreadPoolExecutor, thread_name_prefix="x"), 3), 3),
    (FuturesExecutor(ThreadPoolExecutor(5), 3), 5),
], ids=["none", "iterative", "threads", "partial", "instance"])
def test_this_process_is_the_worker(executor, cores):
    backend, tracking, _ = track(executor, lambda backend: time.sleep(0.1))
    backend.confirm_workers({os.getpid()})
    assert isinstance(tracking, dict)
    assert set(tracking["worker_counts"].values()) == {1}
    assert {value for _, value in tracking["worker_cores"][OWN]} == {cores}
    assert list(tracking["worker_memory"]) == [OWN]
    assert backend.series.workers == [OWN]
    assert backend.series.as_tracking_data() == tracking
    (joined,) = backend.series.events
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
    events = backend.series.events
    assert sorted(event["worker"] for event in events if event["kind"] == "joined") == sorted(names)
    assert sorted(event["worker"] for event in events if event["kind"] == "left") == sorted(names)
    times = [event["when"] for event in events]
    assert times == sorted(times)
    assert all(event["threads"] == (1 if event["kind"] == "joined" else None) for event in events)
    metrics = MetricsAggregator("local").aggregate(REPORT, backend.series, 0.0, 1.0)
    assert metrics["cores_per_worker"] == 1 and metrics["peak_workers"] == 3


def test_workers_that_only_the_records_know(sleeper):
    """A pool of another kind: who delivered a chunk is a worker."""
    backend, tracking, _ = track(FuturesExecutor(lambda max_workers: None), lambda backend: time.sleep(0.1))
    assert backend.series.workers == [OWN]
    backend.confirm_workers({sleeper.pid, 999999999})
    name = f"{gethostname()}:{sleeper.pid}"
    assert set(tracking["worker_cores"]) == {name}
    assert set(tracking["worker_memory"]) == {name, OWN}
    assert backend.series.workers == [OWN, name] or backend.series.workers == [name, OWN]


def test_workers_that_are_confirmed_before_the_end(sleeper):
    def body(backend):
        backend.confirm_workers({sleeper.pid})

    _, tracking, _ = track(IterativeExecutor(), body)
    assert set(tracking["worker_cores"]) == {f"{gethostname()}:{sleeper.pid}"}


def test_pool_that_is_the_users_own():
    with ProcessPoolExecutor(2) as own, ProcessPoolExecutor(1) as other:
        foreign = other.submit(os.getpid).result()
        backend, tracking, pids = track(FuturesExecutor(own), work_in_pool(own))
        assert set(tracking["worker_cores"]) == {f"{gethostname()}:{pid}" for pid in pids}
        assert foreign not in pids
        # it goes on: nobody has left
        assert {event["kind"] for event in backend.series.events} == {"joined"}


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


def test_executor_that_works_elsewhere():
    backend, tracking, _ = track(TaskVineExecutor(), lambda backend: None)
    (note,) = backend.notes
    assert "TaskVineExecutor" in note and "this machine" in note
    assert tracking["worker_counts"] == {} and backend.series is None
    backend.confirm_workers({os.getpid()})
    assert backend.series.workers == [OWN]


def test_short_pool_between_two_ticks():
    """With an interval of a minute there are looks all the same when processes come and go."""
    def body(backend):
        wait_for(lambda: len(backend._sampler.tree) >= 1)
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
    (left,) = [event for event in backend.series.events
               if event["worker"] == name and event["kind"] == "left"]
    last = tracking["worker_memory"][name][-1][0]
    ticks = sorted(tracking["worker_counts"])
    assert left["when"] == ticks[ticks.index(last) + 1]
    assert len(pids) == 2 and peak(tracking) == 2


def test_tracking_twice_and_wrongly():
    backend = LocalMetricsBackend()
    assert backend.stop_tracking() == {}
    assert backend.series is None
    for interval in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="interval"):
            backend.start_tracking(interval)
    backend.start_tracking(0.05)
    with pytest.raises(RuntimeError, match="already"):
        backend.start_tracking(0.05)
    assert backend.series is None
    first = backend.stop_tracking()
    backend.start_tracking(0.05)
    second = backend.stop_tracking()
    assert max(first["worker_counts"]) < min(second["worker_counts"])
    assert backend.stop_tracking() == {}


def test_two_backends_at_once():
    one, two = LocalMetricsBackend(), LocalMetricsBackend()
    one.start_tracking(0.02)
    two.start_tracking(0.02)
    time.sleep(0.1)
    first = one.stop_tracking()
    second = two.stop_tracking()
    assert peak(first) == peak(second) == 1
    assert max(first["worker_counts"]) < max(second["worker_counts"])


def test_what_cannot_be_looked_at_is_a_note(monkeypatch):
    import roastcoffea.backends.local as local

    class Broken:
        processes = []

        def __init__(self, fails):
            self.fails = fails

        def sample(self):
            if self.fails:
                raise OSError("no /proc here")
            self.fails = True
            return True

        def series(self, workers, host):
            return _core.WorkerSeries()

    monkeypatch.setattr(local, "ProcessTree", lambda: Broken(True))
    backend = LocalMetricsBackend()
    backend.start_tracking(0.01)
    assert backend.stop_tracking() == {} and backend.series is None
    assert "no /proc here" in backend.notes[0]
    monkeypatch.setattr(local, "ProcessTree", lambda: Broken(False))
    backend = LocalMetricsBackend()
    backend.start_tracking(0.01)
    backend.stop_tracking()
    assert "looks at the processes failed" in backend.notes[0] and "no /proc here" in backend.notes[0]


def test_there_are_no_spans():
    backend = LocalMetricsBackend()
    assert backend.create_span("coffea-processing") is None
    assert backend.get_span_metrics(None) == {}
    assert backend.get_span_metrics(None, max_retries=3, retry_delay=1, delay=2) == {}
    assert backend.supports_fine_metrics() is False


# ---- records beside the output ----

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
    backend = LocalMetricsBackend(FuturesExecutor())
    topic = backend.open_channel()
    assert topic.startswith("file:/proc/")
    data = make_log(2).to_bytes()
    in_child(channel.deliver, topic, data)
    in_child(channel.deliver, topic, data + b"")
    assert backend.news()[0] == [data, data] and backend.news()[0] == []
    in_child(channel.deliver, topic, b"behind")
    assert backend.close_channel() == [data, data, b"behind"]
    assert backend.close_channel() == []
    assert backend.notes == []


def test_channel_with_damage():
    backend = LocalMetricsBackend(FuturesExecutor())
    path = backend.open_channel().removeprefix("file:").rpartition("?")[0]
    with open(path, "ab") as file:
        file.write(b"x" * 100)
    assert backend.close_channel() == []
    assert "damaged in 1 places" in backend.notes[0]


@pytest.mark.parametrize("executor", [IterativeExecutor(), FuturesExecutor(ThreadPoolExecutor)])
def test_channel_in_memory(executor):
    one, two = LocalMetricsBackend(executor), LocalMetricsBackend(executor)
    topics = one.open_channel(), two.open_channel()
    assert topics[0] != topics[1] and all(topic.startswith("memory:") for topic in topics)
    channel.deliver(topics[0], b"a")
    channel.deliver(topics[1], b"b")
    assert one.close_channel() == [b"a"]
    assert two.close_channel() == [b"b"]
    assert one.close_channel() == []


@pytest.mark.parametrize("executor", [IterativeExecutor(), FuturesExecutor()])
def test_news_that_could_not_be_told_are_told_later(executor, monkeypatch):
    backend = LocalMetricsBackend(executor)
    topic = backend.open_channel()
    backend.start_tracking(3600)
    channel.deliver(topic, b"first")
    assert backend.news()[0] == [b"first"]
    channel.deliver(topic, b"second")
    with monkeypatch.context() as patch:
        patch.setattr("roastcoffea.backends.local._Tracked._workers", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            backend.news()
    channel.deliver(topic, b"third")
    assert backend.news()[0] == [b"second", b"third"] and backend.news()[0] == []
    assert backend.close_channel() == [b"first", b"second", b"third"]
    backend.stop_tracking()


def test_pieces_of_the_series_are_told_once():
    backend = LocalMetricsBackend(IterativeExecutor())
    backend.open_channel()
    backend.start_tracking(0.02)
    pieces = []
    for _ in range(10):
        time.sleep(0.03)
        pieces.append(backend.news()[1])
    backend.stop_tracking()
    backend.close_channel()
    whole, joined = backend.series, _core.WorkerSeries()
    for piece in pieces:
        joined.extend(piece)
    assert 10 <= len(joined) < len(whole) and len(joined.events) == len(whole.events) == 1
    told, all_of_them = (one.as_tracking_data()["worker_memory"][OWN] for one in (joined, whole))
    assert told == all_of_them[: len(told)]


def test_channel_that_is_never_closed():
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    backend = LocalMetricsBackend()
    backend.open_channel()
    backend.open_channel()
    assert descriptors() == before + 1
    del backend
    assert descriptors() == before


def test_a_system_without_such_files(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    backend = LocalMetricsBackend()
    assert backend.open_channel() is None
    assert backend.close_channel() == [] and "in the output alone" in backend.notes[0]


def test_program_that_ends_in_the_middle(tmp_path):
    """No file is left, whether or not the channel was closed."""
    run_python(textwrap.dedent("""
        import sys, tempfile
        from roastcoffea.backends.local import LocalMetricsBackend
        from roastcoffea.channel import deliver
        tempfile.tempdir = sys.argv[1]
        backend = LocalMetricsBackend()
        deliver(backend.open_channel(), b"x")
        backend.start_tracking(0.01)
        raise SystemExit(0)
    """), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# ---- nothing stays behind ----

def test_a_hundred_in_a_row():
    def counts():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

    def use():
        backend = LocalMetricsBackend(FuturesExecutor())
        topic = backend.open_channel()
        backend.start_tracking(0.001)
        channel.deliver(topic, b"x")
        backend.stop_tracking()["worker_memory"]
        assert backend.close_channel() == [b"x"]
        return backend.series

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
