"""Attempts and the budget on real clusters: every core-second once, every try of every task."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import awkward as ak
import distributed
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics

pytestmark = pytest.mark.alone

CHUNKS = 5  # of a dataset, at 400 events each


# ---- processors ----

class Quick(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        jets = int(ak.sum(ak.num(events.Jet[events.Jet.pt > 30])))
        time.sleep(0.05)
        return {"jets": jets}

    def postprocess(self, accumulator):
        return accumulator


class Truth:
    """Notes in a file of each process how long something took, by clocks of its own."""

    def __init__(self, folder):
        self.folder = str(folder)

    @contextlib.contextmanager
    def note(self, part, off_part=None):
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            lines = f"{part} {cpu}\n{off_part} {wall - cpu}\n" if off_part else f"{part} {wall}\n"
            with open(f"{self.folder}/{os.getpid()}", "a") as file:
                file.write(lines)

    def totals(self):
        totals = Counter()
        for path in Path(self.folder).iterdir():
            for line in path.read_text().splitlines():
                part, seconds = line.split()
                totals[part] += float(seconds)
        return totals


class SlowOutput(dict):
    """Takes its time to be pickled and to be merged."""

    def __init__(self, truth, pickled=False):
        super().__init__(n=1)
        self.truth, self.pickled = truth, pickled

    def __reduce__(self):
        if not self.pickled:
            with self.truth.note("after_process"):
                time.sleep(0.3)
        return (SlowOutput, (self.truth, True))


class Known(Quick):
    """0.1 s on the CPU and 0.1 s off it, 0.3 s to pickle; the first try of one chunk comes to nothing."""

    def __init__(self, truth):
        self.truth = truth

    @track_metrics
    def process(self, events):
        if events.metadata["entrystart"] == 0 and events.metadata["dataset"] == "data":
            with contextlib.suppress(FileExistsError):
                os.close(os.open(f"{self.truth.folder}.tried", os.O_CREAT | os.O_EXCL))
                with self.truth.note("lost"):
                    time.sleep(0.5)
                raise ValueError("the first time")
        with self.truth.note("compute_cpu", "compute_offcpu"):
            start = time.thread_time()
            while time.thread_time() < start + 0.1:
                pass
            time.sleep(0.1)
        return SlowOutput(self.truth)


class KillsOnce(Quick):
    """One chunk kills its worker, once; the others have been done by then."""

    def __init__(self, flag):
        self.flag = str(flag)

    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets":
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
        return {"events": len(events)}


class Raises(Quick):
    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets" and events.metadata["entrystart"] == 0:
            raise ValueError("bad luck")
        return {"events": len(events)}


# ---- parts ----

@contextlib.contextmanager
def cluster(workers):
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made, distributed.Client(made, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    """One of our own: tasks of a run that raised may outlive it, and others would see them."""
    with cluster(2) as made:
        yield made


def collect(target, executor, fileset, instance, **options):
    options.setdefault("worker_tracking_interval", 0.1)
    # Not Coffea's own cache, which knows the files of the tests before.
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400, metadata_cache={})
    with MetricsCollector(target, **options) as mc:
        with contextlib.suppress(Exception):
            runner(fileset, instance)
    return mc


def on_dask(client, fileset, instance, **options):
    executor = processor.DaskExecutor(client=client, status=False, retries=options.pop("retries", 3))
    return collect(client, executor, fileset, instance, **options)


def run_of(mc):
    return mc.run


def assert_adds_up(run, unaccounted=0.03):
    budget = run.budget()
    available, parts = budget["available_core_seconds"], budget["parts"]
    assert sum(parts.values()) == pytest.approx(available)
    assert min(parts.values()) >= -1e-9
    for by in ("dataset", "worker", "host", "file"):
        rows = run.budget(by).values()
        assert sum(row["available_core_seconds"] for row in rows) == pytest.approx(available)
        for part, seconds in parts.items():
            assert sum(row["parts"][part] for row in rows) == pytest.approx(seconds, abs=1e-6)
    assert parts["unaccounted"] <= unaccounted * available
    return budget


def left_on(client):
    def look(dask_scheduler):
        handler = dask_scheduler.stream_handlers["task-erred"]
        plugins = [name for name in dask_scheduler.plugins if "roastcoffea" in name]
        return plugins, handler == dask_scheduler.handle_task_erred

    return client.run_on_scheduler(look)


# ---- every core-second ----

@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_healthy_cluster(fileset, workers):
    small = {"ttbar": fileset["ttbar"]}
    with cluster(workers) as client:
        run = run_of(on_dask(client, small, Quick()))
        assert left_on(client) == ([], True)
    budget = assert_adds_up(run)
    wall = run.t_end - run.t_start
    assert budget["available_core_seconds"] == pytest.approx(workers * wall, rel=1e-3)
    assert len(run.budget("worker")) == workers
    attempts = run.attempts.records()
    kinds = Counter(attempt["kind"] for attempt in attempts)
    assert kinds["processing"] == len(run.chunks) == CHUNKS
    assert kinds["reduction"] >= 1 and kinds["other"] >= 1  # preprocessing
    assert {attempt["outcome"] for attempt in attempts} == {"done"}
    assert budget["parts"]["lost"] == 0
    # the CPU time of the reads is taken for computing
    assert budget["parts"]["compute_offcpu"] + budget["parts"]["read"] >= CHUNKS * 0.05
    assert run.budget("dataset")["ttbar"]["parts"]["read"] > 0
    for attempt in attempts:
        assert attempt["ready"] <= attempt["sent"] <= attempt["ended"]
        # clocks of worker and scheduler, on one machine
        assert attempt["sent"] - 0.1 < attempt["start"] <= attempt["stop"] < attempt["ended"] + 0.1
        assert attempt["thread"] and attempt["nbytes"] > 0 and attempt["wasted_seconds"] == 0
    assert run.lost_workers() == run.failed_pieces() == []


def test_a_known_split(client, fileset, tmp_path):
    truth = Truth(tmp_path / "truth")
    os.mkdir(truth.folder)
    small = {name: fileset[name] for name in ("ttbar", "data")}
    run = run_of(on_dask(client, small, Known(truth)))
    parts = assert_adds_up(run)["parts"]
    true = truth.totals()
    for part in ("compute_cpu", "compute_offcpu"):
        assert parts[part] == pytest.approx(true[part], rel=0.05), part
    # Coffea and Dask do more after process() than to pickle, and before one that raises.
    chunks = len(run.chunks) - 1
    # Dask's times of a try and ours of a chunk are of two clocks: milliseconds apart.
    assert 0.99 * true["after_process"] <= parts["after_process"] < 1.05 * true["after_process"] + 0.05 * chunks
    assert true["lost"] <= parts["lost"]
    outcomes = Counter(a["outcome"] for a in run.attempts.records() if a["kind"] == "processing")
    assert outcomes == {"done": len(run.chunks) - 1, "raised": 1}
    (raised,) = [a for a in run.attempts.records() if a["outcome"] == "raised"]
    assert "ValueError('the first time')" in raised["exception"]
    assert run.failed_pieces() == []  # it went well the second time
    assert raised["wasted_seconds"] == pytest.approx(parts["lost"], rel=0.05)


def test_tasks_of_others_are_no_idle_time(client, fileset):
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        futures = other.map(time.sleep, [0.3] * 6, pure=False)
        run = run_of(on_dask(client, {"ttbar": fileset["ttbar"]}, Quick()))
        other.gather(futures)
    assert_adds_up(run)
    foreign = [a for a in run.attempts.records(foreign=True) if a["kind"] == "foreign"]
    assert foreign and {a["key"] for a in foreign} == {None}
    assert "sleep" not in {a["prefix"] for a in run.attempts.records()}
    inside = sum(
        max(0.0, min(a["stop"], run.t_end) - max(a["start"], run.t_start)) for a in foreign
    )
    assert run.budget()["parts"]["other_tasks"] >= inside * 0.95


# ---- what came to nothing ----

def test_a_worker_that_is_killed(fileset, tmp_path):
    with cluster(2) as client:
        small = {name: fileset[name] for name in ("ttbar", "wjets")}
        run = run_of(on_dask(client, small, KillsOnce(tmp_path / "killed")))
    budget = assert_adds_up(run)
    (lost,) = run.lost_workers()
    assert lost["expected"] is False
    assert lost["worker"] in run.attempts.workers and run.t_start < lost["when"] < run.t_end
    attempts = run.attempts.records()
    gone = [a for a in attempts if a["outcome"] == "lost"]
    assert gone and {a["worker"] for a in gone} == {lost["worker"]}
    assert sorted(a["key"] for a in gone) == sorted(lost["running"])
    again = [a["key"] for a in attempts if a["outcome"] == "recomputed"]
    done = [a["key"] for a in attempts if a["outcome"] == "done"]
    assert set(again) | {a["key"] for a in gone} <= set(done) and len(done) == len(set(done))
    assert len(again) == lost["lost_results"]
    assert budget["parts"]["lost"] >= 0.5
    assert isinstance(lost["cause"], str) and 0 < lost["memory_fraction"] < 1


def test_a_run_that_raises(client, fileset):
    small = {name: fileset[name] for name in ("ttbar", "wjets")}
    mc = on_dask(client, small, Raises(), retries=1)
    run = run_of(mc)
    assert_adds_up(run)
    raised = [a for a in run.attempts.records() if a["outcome"] == "raised"]
    assert len(raised) >= 2  # every bad piece is tried again
    assert all("bad luck" in a["exception"] and a["wasted_seconds"] > 0 for a in raised)
    keys = {a["key"] for a in raised}
    called_off = [a for a in run.attempts.records() if a["outcome"] == "lost"]
    assert all(a["exception"].startswith("called off") for a in called_off)
    pieces = run.failed_pieces()
    assert {(dataset, tree, start) for dataset, _, tree, start, _ in pieces} == {("wjets", "Events", 0)}
    # The other bad one may raise while the run is being called off: then it has a record, and its task no end.
    assert len(keys) <= len(pieces) == len(set(pieces)) <= len(fileset["wjets"]["files"])
    assert {file for _, file, _, _, _ in pieces} <= set(fileset["wjets"]["files"])
    assert left_on(client) == ([], True)


def test_collectors_inside_each_other_leave_nothing_behind(client, fileset):
    small = {"ttbar": fileset["ttbar"]}
    with MetricsCollector(client) as outer:
        inner = on_dask(client, small, Quick())
        assert left_on(client)[0] and not left_on(client)[1]
    assert left_on(client) == ([], True)
    counts = [
        Counter(a["kind"] for a in mc.attempts) for mc in (inner, outer)
    ]
    assert sum(counts[0].values()) == sum(counts[1].values()) > 0
    mc = on_dask(client, small, Quick(), track_workers=False)
    assert len(mc.attempts) == sum(counts[0].values())
    assert run_of(mc).budget() is None


# ---- executors of this machine ----

class Plain(processor.ProcessorABC):
    """Without the decorator: 0.2 s on the CPU a chunk."""

    def process(self, events):
        start = time.thread_time()
        while time.thread_time() < start + 0.2:
            pass
        return {"events": len(events)}

    def postprocess(self, accumulator):
        time.sleep(0.3)
        return accumulator


class Decorated(Plain):
    @track_metrics
    def process(self, events):
        return super().process(events)


LOCAL = {
    "iterative": lambda: processor.IterativeExecutor(status=False),
    "futures": lambda: processor.FuturesExecutor(workers=2, status=False),
    "threads": lambda: processor.FuturesExecutor(pool=ThreadPoolExecutor, workers=2, status=False),
}


@pytest.mark.parametrize("executor", LOCAL.values(), ids=LOCAL)
def test_executors_of_this_machine(executor, fileset):
    made = executor()
    run = run_of(collect(made, made, {"data": fileset["data"]}, Quick()))
    budget = assert_adds_up(run)
    assert budget["from_attempts"] is False and run.attempts is None
    assert budget["parts"]["before_process"] > 0
    # the CPU time of the reads is taken for computing
    assert budget["parts"]["compute_offcpu"] + budget["parts"]["read"] >= CHUNKS * 0.05
    assert "worker_overhead" not in budget["parts"]  # nobody could tell


@pytest.mark.parametrize("instance", [Plain, Decorated])
@pytest.mark.parametrize("executor", LOCAL.values(), ids=LOCAL)
def test_idle_is_only_what_was_seen_to_be_idle(executor, instance, fileset):
    """Preprocessing and the client's work have their parts; the CPU time of a process is no idle time."""
    made = executor()
    run = run_of(collect(made, made, {"data": fileset["data"]}, instance()))
    budget = assert_adds_up(run, unaccounted=1)
    available, parts = budget["available_core_seconds"], budget["parts"]
    assert parts["preprocessing"] > 0
    threads = available / (run.t_end - run.t_start)
    # No worker is there while a pool of processes is closed: then nobody waits for postprocess().
    assert parts["client"] >= 0.3 * threads or "FuturesExecutor" in run.meta["executor"]
    assert parts["compute_cpu"] >= 0.8 * CHUNKS * 0.2
    assert not {"idle_ramp_up", "idle_starved", "idle_between"} & parts.keys()
    if instance is Plain:
        assert "before_process" not in parts and "idle_tail" not in parts
    else:
        assert parts["before_process"] > 0


# ---- preprocessing and the client, on a cluster ----

def test_preprocessing_and_client_are_parts(client, fileset):
    run = run_of(on_dask(client, {"ttbar": fileset["ttbar"]}, Decorated()))
    budget = assert_adds_up(run)
    parts = budget["parts"]
    read = [a["stop"] - a["start"] for a in run.attempts.records() if a["kind"] == "other"]
    assert read and parts["preprocessing"] >= 0.99 * sum(read)
    assert parts["other_tasks"] < 0.01 * budget["available_core_seconds"]
    assert parts["client"] >= 0.3 * 2  # two threads waited for postprocess()
    saved = {kind: end - start for kind, start, end in run.phases}
    assert saved.keys() == {"preprocessing", "execution"}
    assert parts["preprocessing"] <= 2 * saved["preprocessing"] + 0.05
