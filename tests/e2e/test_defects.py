"""Real runs with one known defect each: the first finding names it. A healthy run has none worth a warning."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import distributed
import numpy as np
import pytest
from coffea import processor
from coffea.nanoevents import BaseSchema
from conftest import need_free_cores
from files import nano_columns, write_ttree

from roastcoffea import MetricsCollector, track_metrics, track_time

pytestmark = pytest.mark.alone

EVENTS = 1000
FILES = 4


def burn(seconds):
    """So much CPU time of this thread, in pure Python, which holds the lock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Burns(processor.ProcessorABC):
    """CPU time in proportion to the events."""

    def __init__(self, seconds_per_1000=0.4):
        self.cost = seconds_per_1000 / 1000

    @track_metrics
    def process(self, events):
        with track_time(self, "loop"):
            burn(self.cost * len(events))
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Sleeps(Burns):
    @track_metrics
    def process(self, events):
        with track_time(self, "loop"):
            burn(0.05)
        with track_time(self, "ask_the_server"):
            time.sleep(0.8)
        return {"events": len(events)}


class Hogs(Burns):
    """Fills most of the memory of its worker for a while."""

    def __init__(self, total):
        super().__init__(0.2)
        self.total = total

    @track_metrics
    def process(self, events):
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        hog = np.ones(max(0, self.total - used) // 8)
        burn(0.4)
        return {"events": len(events), "sum": float(hog[:10].sum())}


class KillsOnce(Burns):
    def __init__(self, flag):
        super().__init__(0.3)
        self.flag = str(flag)

    @track_metrics
    def process(self, events):
        burn(1.0)
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return {"events": len(events)}
        os.kill(os.getpid(), signal.SIGKILL)
        return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("defects")


def make_files(folder, sizes):
    """One file a size, {"data": {"files": ...}}; written once."""
    paths = []
    for number, size in enumerate(sizes):
        path = folder / f"{size}_{number}.root"
        if not path.exists():
            write_ttree(path, nano_columns(size, seed=number))
        paths.append(str(path))
    return {"data": {"files": dict.fromkeys(paths, "Events")}}


@contextmanager
def cluster(workers=2, threads=1, **options):
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, dashboard_address=None, **options
    ) as made, distributed.Client(made) as client:
        yield client


def measure(client, fileset, analysis, chunksize):
    """The findings of a run. What workers load at their first task is not part of it."""
    executor = processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=BaseSchema, chunksize=chunksize)
    warm_up(client, fileset)
    with MetricsCollector(client, processor_instance=analysis, worker_tracking_interval=0.2) as mc:
        runner(fileset, analysis)
    found = mc.run.diagnose()
    for finding in found:
        print(f"{finding['severity']:8} {finding['kind']} {finding['saving_core_seconds']:.2f} s "
              f"{finding['confidence']:.1f}: {finding['title']}\n    {finding['evidence']}"
              f"\n    {finding['advice']}")
    return found


def warm_up(client, fileset):
    executor = processor.DaskExecutor(client=client, status=False)
    file = next(iter(fileset["data"]["files"]))
    small = {"data": {"files": {file: "Events"}}}
    processor.Runner(executor=executor, schema=BaseSchema, chunksize=100)(small, Burns(0.1))


def check_first(found, kind):
    """The defect comes first, and is more than a note."""
    assert found, "nothing was found"
    assert found[0]["kind"] == kind
    assert found[0]["severity"] in ("warning", "critical")
    return found[0]


def test_healthy(client, folder):
    """No finding above a note."""
    fileset = make_files(folder, [EVENTS] * FILES)
    need_free_cores()
    found = measure(client, fileset, Burns(1.0), chunksize=250)
    assert [finding["title"] for finding in found if finding["severity"] != "note"] == []


def test_tiny_chunks(client, folder):
    fileset = make_files(folder, [EVENTS] * FILES)
    finding = check_first(measure(client, fileset, Burns(0.05), chunksize=10), "chunks_too_small")
    assert "chunksize=" in finding["advice"]
    assert "predicted wall time" in finding["advice"]


def test_sleep_in_a_section(client, folder):
    fileset = make_files(folder, [EVENTS] * FILES)
    finding = check_first(measure(client, fileset, Sleeps(), chunksize=500), "slow_section")
    assert "ask_the_server" in finding["title"]


def pin(cores):
    """This process with all its threads."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def test_worker_beside_busy_loops(client, folder):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core: nothing can run beside")
    fileset = make_files(folder, [EVENTS] * FILES)
    need_free_cores()
    slow, quick = client.run(os.getpid)
    warm_up(client, fileset)  # so that the threads are there
    client.run(pin, {cores[0]}, workers=[slow])
    client.run(pin, {cores[1]}, workers=[quick])
    loop = f"import os; os.sched_setaffinity(0, [{cores[0]}])\nwhile True: pass"
    burners = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(4)]
    try:
        found = measure(client, fileset, Burns(1.5), chunksize=50)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        client.run(pin, set(cores))
    finding = check_first(found, "straggler_worker")
    assert slow in finding["title"]


def test_one_file_of_twenty_times_the_size(client, folder):
    fileset = make_files(folder, [250] * 10 + [5000])
    finding = check_first(measure(client, fileset, Burns(1.0), chunksize=10000), "straggler_file")
    assert "5000_10.root" in finding["title"]


def test_memory_hog(folder):
    fileset = make_files(folder, [EVENTS] * FILES)
    limit = 1_000_000_000
    with cluster(memory_limit=limit) as client:
        found = measure(client, fileset, Hogs(int(0.9 * limit)), chunksize=500)
    assert "memory_limit" in check_first(found, "memory_pressure")["advice"]


def test_killed_worker(folder, tmp_path):
    fileset = make_files(folder, [EVENTS] * FILES)
    with cluster() as client:
        found = measure(client, fileset, KillsOnce(tmp_path / "killed"), chunksize=500)
    finding = check_first(found, "lost_work")
    assert "1 worker left unexpectedly" in finding["title"]
    assert "piece" not in finding["title"] + finding["evidence"]  # another worker did it


def test_threads_that_hold_the_lock(folder):
    fileset = make_files(folder, [EVENTS] * FILES)
    with cluster(workers=1, threads=2) as client:
        found = measure(client, fileset, Burns(1.5), chunksize=500)
    finding = check_first(found, "gil_contention")
    assert "threads_per_worker=1" in finding["advice"]
