"""The backend of this machine around real runs of Coffea, and burners of a known size in its pools."""

from __future__ import annotations

import concurrent.futures
import gc
import mmap
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from importlib.metadata import requires
from pathlib import Path
from socket import gethostname

import loky
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import _core, track_metrics
from roastcoffea._core import ChunkLog
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends import make_backend
from roastcoffea.aggregation.tracking import TrackingData
from roastcoffea.backends.local import LocalSource
from roastcoffea.backends.registry import source_of
from roastcoffea.backends.source import Ran

OWN = f"{gethostname()}:{os.getpid()}"
POOLS = {
    "processes": partial(concurrent.futures.ProcessPoolExecutor),
    "process class": concurrent.futures.ProcessPoolExecutor,
    "loky": loky.ProcessPoolExecutor,
}


class Analysis(processor.ProcessorABC):
    _roastcoffea_collect_metrics = True

    def __init__(self, topic=None, pause=0.0):
        self._roastcoffea_topic = topic
        self.pause = pause

    @track_metrics
    def process(self, events):
        time.sleep(self.pause)
        if self.pause < 0.04 and events.metadata["dataset"] == "wjets":
            raise ValueError("bad luck")
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class NoMapping(Analysis):
    @track_metrics
    def process(self, events):
        return len(events)


class DiesOnce(Analysis):
    @track_metrics
    def process(self, events):
        time.sleep(0.2)
        if events.metadata["dataset"] == "wjets" and events.metadata["entrystart"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"events": len(events)}


def run(executor, fileset, make_analysis, interval=0.02, **options):
    """What was collected, tracking data, records that were sent, and output; an exception is handed back."""
    backend = make_backend(executor)
    assert type(backend) is LocalSource and backend.executor is executor
    source = source_of(backend)
    topic = source.begin(interval).topic
    output, error = None, None
    try:
        runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400, **options)
        output = runner(fileset, processor_instance=make_analysis(topic))
    except Exception as caught:
        error = caught
    found = source.end(Ran())
    tracking = found.tracking_data if found.series is None else TrackingData(found.series)
    records = ChunkLog()
    for data in found.records:
        records.merge_unique(ChunkLog.from_bytes(data))
    if topic.startswith("file:"):
        assert not Path(topic.partition(":")[2]).exists()
    return found, tracking, records, output, error


def tracked(source):
    return source.end(Ran()).series.as_tracking_data()


def quiet(executor_class, **options):
    return executor_class(status=False, **options)


def peak(tracking):
    return max(tracking["worker_counts"].values())


# ---- each executor ----

@pytest.mark.parametrize("make,cores", [
    (lambda: quiet(processor.IterativeExecutor), 1),
    (lambda: quiet(processor.FuturesExecutor, pool=concurrent.futures.ThreadPoolExecutor, workers=2), 2),
], ids=["iterative", "threads"])
def test_chunks_in_this_process(fileset, make, cores):
    executor = make()
    backend, tracking, records, output, error = run(executor, fileset, partial(Analysis, pause=0.05))
    assert error is None and output["events"] == 6300
    assert sum(chunk["num_events"] for chunk in records) == 6300
    assert {chunk["pid"] for chunk in records} == {os.getpid()}
    assert set(tracking["worker_counts"].values()) == {1}
    assert list(tracking["worker_memory"]) == [OWN]
    assert {value for _, value in tracking["worker_cores"][OWN]} == {cores}
    metrics = MetricsAggregator("local").aggregate(None, backend.series, 0.0, 1.0)
    assert metrics["total_cores"] == cores and metrics["peak_workers"] == 1
    assert backend.notes == []


@pytest.mark.parametrize("pool", POOLS)
def test_chunks_in_a_pool_of_processes(fileset, pool):
    executor = quiet(processor.FuturesExecutor, pool=POOLS[pool], workers=2)
    backend, tracking, records, output, error = run(executor, fileset, partial(Analysis, pause=0.05))
    assert error is None and output["events"] == 6300
    assert sum(chunk["num_events"] for chunk in records) == 6300
    pids = {chunk["pid"] for chunk in records}
    assert 1 <= len(pids) <= 2 and os.getpid() not in pids
    workers = set(tracking["worker_cores"])
    assert workers >= {f"{gethostname()}:{pid}" for pid in pids}
    # Coffea makes a pool for the metadata first, and then one for the chunks.
    assert len(workers) <= 4
    assert set(tracking["worker_memory"]) == workers | {OWN}
    assert peak(tracking) == 2
    assert list(tracking["worker_counts"].values())[-1] == 0 or pool == "loky"
    joins = [event for event in backend.series.changes if event["kind"] == "joined"]
    assert sorted(event["worker"] for event in joins) == sorted(workers)
    first = {chunk["pid"]: chunk["t_start"] for chunk in reversed(list(records))}
    for event in joins:
        pid = int(event["worker"].rpartition(":")[2])
        if pid in first:
            assert event["when"].timestamp() <= first[pid] + 0.02
    # nothing else that this process has started: trackers of resources, servers of forks
    assert len(joins) == len(workers)
    metrics = MetricsAggregator("local").aggregate(None, backend.series, 0.0, 1.0)
    assert metrics["peak_workers"] == 2 and metrics["cores_per_worker"] == 1
    assert 0 < metrics["avg_workers"] <= 2


def test_pool_with_a_helper_that_is_no_worker(fileset):
    """A pool that is spawned has a process that tracks resources; it is a child like the others."""
    import multiprocessing

    made = partial(concurrent.futures.ProcessPoolExecutor, mp_context=multiprocessing.get_context("forkserver"))
    with made(max_workers=2) as pool:
        pids = {pool.submit(os.getpid).result() for _ in range(20)} | set(pool._processes)
        executor = quiet(processor.FuturesExecutor, pool=pool, workers=2)
        source = LocalSource(executor)
        source.begin(0.02)
        for future in [pool.submit(time.sleep, 0.05) for _ in range(4)]:
            future.result()
        pids |= set(pool._processes)
        tree = source._sampler.tree
        tracking = source.end(Ran()).series.as_tracking_data()
    assert set(tracking["worker_cores"]) == {f"{gethostname()}:{pid}" for pid in pids}
    # they were there: the server of forks, and the tracker
    assert len({process["pid"] for process in tree.processes} - pids - {os.getpid()}) >= 2


@pytest.mark.parametrize("pool", [None, concurrent.futures.ThreadPoolExecutor, *POOLS.values()],
                         ids=["iterative", "threads", *POOLS])
def test_records_of_chunks_that_raise(fileset, pool):
    executor = quiet(processor.IterativeExecutor, retries=0) if pool is None else quiet(
        processor.FuturesExecutor, pool=pool, workers=1, retries=0)
    backend, tracking, records, output, error = run(executor, fileset, partial(Analysis, pause=0.01))
    assert "bad luck" in str(error) and output is None
    failed = [chunk for chunk in records if "error" in chunk]
    assert failed and all("bad luck" in str(chunk["error"]) for chunk in failed)
    assert peak(tracking) == 1


@pytest.mark.parametrize("pool", [concurrent.futures.ThreadPoolExecutor, *POOLS.values()],
                         ids=["threads", *POOLS])
def test_records_of_an_output_that_is_no_mapping(fileset, pool):
    executor = quiet(processor.FuturesExecutor, pool=pool, workers=2)
    *_, records, output, error = run(executor, fileset, NoMapping)
    assert error is None and output == 6300
    assert sum(chunk["num_events"] for chunk in records) == 6300


def test_worker_that_is_killed(fileset):
    executor = quiet(processor.FuturesExecutor, pool=concurrent.futures.ProcessPoolExecutor, workers=2,
                     retries=0)
    backend, tracking, records, output, error = run(executor, fileset, DiesOnce)
    assert isinstance(error, concurrent.futures.process.BrokenProcessPool)
    left = [event for event in backend.series.changes if event["kind"] == "left"]
    assert left and set(tracking["worker_cores"]) >= {event["worker"] for event in left}
    assert len(tracking["worker_counts"]) > 2 and peak(tracking) == 2
    # what the dead one and its neighbour had done before is known
    assert all(chunk["num_events"] > 0 for chunk in records)
    assert backend.notes == []


# ---- burners ----

def burn(cpu_seconds, sleep_seconds):
    """Uses so much CPU time, then none; what the process itself counts."""
    before = time.process_time()
    while time.process_time() - before < cpu_seconds:
        pass
    time.sleep(sleep_seconds)
    return os.getpid(), time.process_time() - before


def hold_memory(size, seconds):
    block = mmap.mmap(-1, size)
    for page in range(0, size, 4096):
        block[page] = 1
    time.sleep(seconds)
    block.close()
    return os.getpid()


def cpu_seconds(rows):
    """CPU time between the first row and the last: each is a mean since the one before it."""
    times = [when.timestamp() for when, _ in rows]
    return sum(value / 100 * (b - a) for a, b, (_, value) in zip(times, times[1:], rows[1:]))


@pytest.fixture
def pool():
    with concurrent.futures.ProcessPoolExecutor(2) as made:
        # both processes are there before anything is measured
        for future in [made.submit(time.sleep, 0.1) for _ in range(4)]:
            future.result()
        yield made


def test_cpu_of_a_burner(pool):
    source = LocalSource(quiet(processor.FuturesExecutor, pool=pool, workers=2))
    source.begin(0.1)
    time.sleep(0.3)
    pid, burned = pool.submit(burn, 0.8, 0.5).result()
    time.sleep(0.3)
    tracking = tracked(source)
    rows = tracking["worker_cpu"][f"{gethostname()}:{pid}"]
    assert burned == pytest.approx(0.8, rel=0.05)
    assert cpu_seconds(rows) == pytest.approx(burned, rel=0.1)
    # one thread: never more than a core; asleep at the end
    assert max(value for _, value in rows) <= 110
    assert rows[-1][1] < 10
    (other,) = set(tracking["worker_cores"]) - {f"{gethostname()}:{pid}"}
    assert cpu_seconds(tracking["worker_cpu"][other]) < 0.1


def test_cpu_of_threads_adds_up():
    """Two threads that compute outside the interpreter's lock show up to 200 %."""
    import hashlib

    block = bytes(1 << 20)

    def work(until):
        while time.monotonic() < until:
            hashlib.sha256(block)

    source = LocalSource(
        quiet(processor.FuturesExecutor, pool=concurrent.futures.ThreadPoolExecutor, workers=2))
    source.begin(0.05)
    time.sleep(0.1)
    before = time.process_time()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(work, [time.monotonic() + 0.6] * 2))
    burned = time.process_time() - before
    time.sleep(0.2)
    tracking = tracked(source)
    assert cpu_seconds(tracking["worker_cpu"][OWN]) == pytest.approx(burned, rel=0.1)
    metrics = MetricsAggregator("local").aggregate(None, tracking, 0.0, 1.0)
    # per core
    assert metrics["cpu_utilization_max_pct"] <= 110


def test_memory_of_a_burner(pool):
    size = 300_000_000
    source = LocalSource(quiet(processor.FuturesExecutor, pool=pool, workers=2))
    source.begin(0.05)
    time.sleep(0.2)
    pid = pool.submit(hold_memory, size, 0.4).result()
    time.sleep(0.2)
    tracking = tracked(source)
    memory = [value for _, value in tracking["worker_memory"][f"{gethostname()}:{pid}"]]
    assert max(memory) - memory[0] == pytest.approx(size, rel=0.05)
    assert memory[-1] - memory[0] < 0.05 * size
    metrics = MetricsAggregator("local").aggregate(None, tracking, 0.0, 1.0)
    assert metrics["peak_memory_bytes"] >= max(memory)


def test_writes_of_a_burner(pool, tmp_path):
    """Rates of storage times time are what was written, where the kernel keeps the count."""
    source = LocalSource(quiet(processor.FuturesExecutor, pool=pool, workers=2))
    source.begin(0.05)
    time.sleep(0.2)
    pid, counted = pool.submit(write_file, str(tmp_path / "data"), 20_000_000).result()
    time.sleep(0.2)
    rows = tracked(source)["worker_disk_write_bps"][f"{gethostname()}:{pid}"]
    # cpu_seconds() takes percents
    assert cpu_seconds(rows) * 100 == pytest.approx(counted, rel=0.1, abs=1e6)


def write_file(path, size):
    def counted():
        with open("/proc/self/io") as file:
            return int(dict(line.split(": ") for line in file)["write_bytes"])

    before = counted()
    with open(path, "wb") as file:
        file.write(bytes(size))
        file.flush()
        os.fsync(file.fileno())
    return os.getpid(), counted() - before


# ---- what it must not do ----

def test_without_dask(fileset):
    """Real Coffea, with Dask missing: the levels below spans are all there."""
    if any(needed.startswith("dask") and "extra ==" not in needed for needed in requires("coffea") or ()):
        pytest.skip("this Coffea is not installed without Dask")
    script = textwrap.dedent("""
        import sys
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("dask", "distributed"):
                    raise ImportError(f"{name} is not installed")
        sys.meta_path.insert(0, Refuse())
        import ast, concurrent.futures
        from coffea import processor
        from coffea.nanoevents import NanoAODSchema
        from roastcoffea import track_metrics
        from roastcoffea.backends import Ran, make_backend
        class Analysis(processor.ProcessorABC):
            _roastcoffea_collect_metrics = True
            @track_metrics
            def process(self, events):
                return {"events": len(events)}
            def postprocess(self, accumulator):
                return accumulator
        for executor in (
            processor.IterativeExecutor(status=False),
            processor.FuturesExecutor(status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
            processor.FuturesExecutor(status=False, pool=concurrent.futures.ProcessPoolExecutor, workers=2),
        ):
            backend = make_backend(processor.Runner(executor=executor))
            assert backend.executor is executor
            analysis, source = Analysis(), backend
            analysis._roastcoffea_topic = source.begin(0.02).topic
            runner = processor.Runner(executor=executor, schema=NanoAODSchema)
            output = runner(ast.literal_eval(sys.argv[1]), processor_instance=analysis)
            found = source.end(Ran(records=output["__roastcoffea_metrics__"]))
            assert output["events"] == 6300
            assert found.records
            assert max(found.series.as_tracking_data()["worker_counts"].values()) >= 1
        assert not {"dask", "distributed"} & set(sys.modules)
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, "-c", script, repr(fileset)], env=environment, text=True,
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_runs_in_a_row_leave_nothing(fileset, tmp_path, monkeypatch):
    import tempfile

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    small = {"data": fileset["data"]}

    def use():
        executor = quiet(processor.FuturesExecutor, pool=concurrent.futures.ProcessPoolExecutor, workers=1)
        assert run(executor, small, Analysis)[3]["events"] > 0

    def counts():
        gc.collect()
        return (len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")),
                threading.active_count(), list(folder.iterdir()))

    for _ in range(3):
        use()
    before, memory = counts(), _core.get_process_memory()
    for _ in range(8):
        use()
    until = time.monotonic() + 10
    # fewer is fine: other tests of this process have left clients that close in their own time
    now = counts()
    while not all(left <= right for left, right in zip(now, before, strict=True)) and time.monotonic() < until:
        time.sleep(0.01)
        now = counts()
    assert all(left <= right for left, right in zip(now, before, strict=True)), (now, before)
    assert _core.get_process_memory() - memory < 10, "MB"
