"""CPU time of the workers and of their machine, against loads that are known."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import distributed
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from files import nano_columns, write_ttree

from roastcoffea import MetricsCollector, _core, track_metrics

pytestmark = pytest.mark.alone

CHUNKS = 5  # of a dataset, at 400 events each


def burn(seconds):
    """So many seconds on the CPU."""
    start = time.thread_time()
    while time.thread_time() < start + seconds:
        pass


class Burns(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        burn(0.2)
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@contextlib.contextmanager
def cluster(workers, **options):
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50, **options
    ) as made, distributed.Client(made, set_as_default=False) as client:
        yield client


def used_by(client):
    """CPU seconds of each worker's process, by its address."""
    return client.run(time.process_time)


def left_on_workers(client):
    def look(dask_worker):
        return [name for name in dask_worker.plugins if "roastcoffea" in str(name)]

    return [name for names in client.run(look).values() for name in names]


def machine():
    """(busy, all) CPU seconds of this machine, read without the engine."""
    with open("/proc/stat") as file:
        ticks = [int(number) / os.sysconf("SC_CLK_TCK") for number in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


@contextlib.contextmanager
def burner():
    """A process that is no part of the run, and no descendant of this one."""
    command = f"{sys.executable} -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    pid = int(subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, check=True).stdout)
    try:
        time.sleep(0.2)
        yield
    finally:
        os.kill(pid, signal.SIGKILL)


def shown(mc):
    """The rows of the summary, {label: text}."""
    tables = _core.Summary(mc.metrics, mc.run).tables
    return {row[0]: row[1] for table in tables for row in table["rows"] if len(row) == 2}


# ---- Dask ----

def test_one_busy_worker_and_an_idle_one():
    with cluster(2) as client:
        before = used_by(client)
        busy, idle = sorted(before)
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.submit(burn, 1.5, workers=[busy], pure=False).result()
            time.sleep(1.0)
            after = used_by(client)
        assert left_on_workers(client) == []
    metrics, true = mc.metrics, sum(after.values()) - sum(before.values())
    assert after[idle] - before[idle] < 0.5
    assert metrics["worker_cpu_seconds"] >= 1.5
    assert metrics["worker_cpu_seconds"] == pytest.approx(true, abs=0.1)
    cores = metrics["wall_time"] * metrics["total_cores"]
    assert metrics["worker_cpu_percent"] == pytest.approx(100 * metrics["worker_cpu_seconds"] / cores)
    assert metrics["cpu_utilization_avg_pct"] is not None  # from samples; it stays a metric
    rows = shown(mc)
    assert rows["CPU"] == f"{_core.format_value(metrics['worker_cpu_percent'], '%')} of the cores on average"
    assert "CPU Efficiency" not in rows  # one figure on a page


def test_a_worker_that_is_retired_counts():
    with cluster(2) as client:
        before = used_by(client)
        stays, leaves = sorted(before)
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.submit(burn, 1.0, workers=[leaves], pure=False).result()
            last = used_by(client)[leaves]
            client.retire_workers([leaves])
            client.submit(burn, 0.5, workers=[stays], pure=False).result()
        after = used_by(client)
    known = last - before[leaves] + after[stays] - before[stays]
    assert 1.5 <= known <= mc.metrics["worker_cpu_seconds"] + 0.1
    assert mc.metrics["worker_cpu_seconds"] <= known + 0.3  # closing a worker takes CPU time
    assert mc.metrics["other_work_percent"] is not None


def test_the_cluster_is_scaled_down():
    with cluster(3) as client:
        before = used_by(client)
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.gather([client.submit(burn, 0.5, workers=[one], pure=False) for one in before])
            client.cluster.scale(1)
            while len(client.scheduler_info()["workers"]) > 1:
                time.sleep(0.05)
            time.sleep(0.3)
    assert mc.metrics["worker_cpu_seconds"] >= 1.5
    assert not [note for note in mc.notes if "CPU time" in note]


def test_the_cpu_time_of_a_killed_worker_is_not_known():
    with cluster(2) as client:
        gone, _ = sorted(used_by(client))
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            os.kill(client.run(os.getpid)[gone], signal.SIGKILL)
            while gone in client.scheduler_info()["workers"]:
                time.sleep(0.05)
    assert mc.metrics["worker_cpu_seconds"] is None and mc.metrics["worker_cpu_percent"] is None
    assert mc.metrics["other_work_percent"] is None
    (note,) = [note for note in mc.notes if gone in note]
    assert "CPU time" in note and "is not known" in note


def test_a_worker_that_joins_counts():
    with cluster(1) as client:
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.cluster.scale(2)
            client.wait_for_workers(2)
            before = used_by(client)
            client.gather([client.submit(burn, 0.6, workers=[one], pure=False) for one in before])
            burned = sum(used_by(client).values()) - sum(before.values())
        assert left_on_workers(client) == []
    assert 1.2 <= burned <= mc.metrics["worker_cpu_seconds"] <= burned + 1.0
    assert mc.metrics["workers_seen"] == 2


def test_workers_of_one_process_count_once():
    with cluster(2, processes=False) as client:
        before = time.process_time()
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.gather(client.map(burn, [0.5, 0.5], pure=False))
        used = time.process_time() - before
    assert 1.0 <= mc.metrics["worker_cpu_seconds"] <= used


def test_a_run_that_is_abandoned_leaves_nothing_on_the_workers():
    from roastcoffea.backends.dask.source import DaskSource

    with cluster(2) as client:
        source = DaskSource(client)
        source.begin(0.1)
        assert len(left_on_workers(client)) == 2
        source.abandon()
        end = time.monotonic() + 10
        while left_on_workers(client) and time.monotonic() < end:
            time.sleep(0.05)
        assert left_on_workers(client) == []


# ---- this machine ----

LOCAL = {
    "iterative": lambda: processor.IterativeExecutor(status=False),
    "threads": lambda: processor.FuturesExecutor(pool=ThreadPoolExecutor, workers=2, status=False),
    "futures": lambda: processor.FuturesExecutor(workers=2, status=False),
}


def used_here(children):
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime if children else time.process_time()


@pytest.mark.parametrize("executor", LOCAL)
def test_executors_of_this_machine(executor, fileset):
    made = LOCAL[executor]()
    before = used_here(executor == "futures")
    runner = processor.Runner(executor=made, schema=NanoAODSchema, chunksize=400, metadata_cache={})
    with MetricsCollector(made, worker_tracking_interval=0.1) as mc:
        runner({"data": fileset["data"]}, Burns())
    used = used_here(executor == "futures") - before
    assert CHUNKS * 0.2 <= mc.metrics["worker_cpu_seconds"] <= used
    assert mc.metrics["worker_cpu_seconds"] == pytest.approx(used, rel=0.1, abs=0.1)
    assert shown(mc)["CPU"].startswith(_core.format_value(mc.metrics["worker_cpu_percent"], "%"))


# ---- other work on the machine ----

@pytest.mark.parametrize("executor", LOCAL)
def test_work_of_others_on_this_machine(executor, fileset):
    made = LOCAL[executor]()
    runner = processor.Runner(executor=made, schema=NanoAODSchema, chunksize=400, metadata_cache={})
    with burner():
        begun, own = machine(), used_here(True) + used_here(False)
        with MetricsCollector(made, worker_tracking_interval=0.1) as mc:
            runner({"data": fileset["data"]}, Burns())
        ended, own = machine(), used_here(True) + used_here(False) - own
    true = 100 * (ended[0] - begun[0] - own) / (ended[1] - begun[1])
    assert mc.metrics["other_work_percent"] == pytest.approx(true, abs=5)
    assert true > 5  # the burner alone has a third of two cores
    assert mc.metrics["machine_cores"] == len(os.sched_getaffinity(0))


def test_work_of_others_on_the_machine_of_a_cluster():
    with cluster(2) as client, burner():
        begun, own = machine(), sum(used_by(client).values()) + time.process_time()
        with MetricsCollector(client, worker_tracking_interval=0.1) as mc:
            client.gather(client.map(burn, [0.7] * 4, pure=False))
        ended, own = machine(), sum(used_by(client).values()) + time.process_time() - own
    true = 100 * (ended[0] - begun[0] - own) / (ended[1] - begun[1])
    assert mc.metrics["other_work_percent"] == pytest.approx(true, abs=5)
    assert true > 5  # the burner alone has a third of two cores
    assert mc.metrics["machine_cores"] == len(os.sched_getaffinity(0))


class Hashes(processor.ProcessorABC):
    """Some 0.1 s on the CPU a chunk, without Python's lock."""

    @track_metrics
    def process(self, events):
        block = bytes(1 << 22)
        start = time.thread_time()
        while time.thread_time() < start + 0.1:
            hashlib.sha256(block)
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.mark.parametrize("others", [True, False], ids=["others", "own"])
def test_a_finding_tells_whose_work_takes_the_cores(others, tmp_path):
    cores = len(os.sched_getaffinity(0))
    threads = 1 if others else 4 * cores
    made = processor.FuturesExecutor(pool=ThreadPoolExecutor, workers=threads, status=False)
    files = [write_ttree(tmp_path / f"{i}.root", nano_columns(2000, seed=i)) for i in range(2)]
    runner = processor.Runner(executor=made, schema=NanoAODSchema, chunksize=150, metadata_cache={})
    with contextlib.ExitStack() as stack:
        for _ in range(3 * cores if others else 0):
            stack.enter_context(burner())
        with MetricsCollector(made, worker_tracking_interval=0.1) as mc:
            runner({"data": {"files": dict.fromkeys(files, "Events")}}, Hashes())
    (finding,) = [one for one in mc.diagnose() if one["kind"] == "too_many_workers"]
    said = re.search(r"other work on the machines took \D*([\d.]+)% of the cores", finding["evidence"])
    assert float(said[1]) == pytest.approx(mc.metrics["other_work_percent"], abs=0.6)  # it is rounded there
    if others:
        assert finding["title"].startswith("The machines were busy with other work: chunks waited")
        assert "Find what else runs there" in finding["advice"]
    else:
        assert finding["title"].startswith("More threads than cores: chunks waited")
        assert f"There were {threads} threads for {cores} cores" in finding["evidence"]
        assert finding["advice"].startswith("Start no more than")
