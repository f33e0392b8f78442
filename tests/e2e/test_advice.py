"""Runs whose fault is known, and the next run made with the advice: the part that the finding named costs less. What is
compared are counts, and sleeps that do not depend on the machine."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema
from conftest import need_free_cores

from roastcoffea import MetricsCollector, track_metrics


def iterative():
    return processor.IterativeExecutor(status=False)


def measure(executor, fileset, instance, schema=BaseSchema, **arguments):
    runner = processor.Runner(**{"chunksize": 100_000, **arguments}, executor=executor, schema=schema,
                              metadata_cache={})
    with MetricsCollector(executor) as mc:
        runner(fileset, processor_instance=instance)
    return mc


def item_of(advice, setting, finding):
    """The only change of that setting, which comes from that finding; its prediction, or why there is none."""
    (item,) = [item for item in advice.items if item["setting"] == setting]
    assert item["finding"] == finding
    assert ("wall_time" in item["prediction"]) != ("reason" in item["prediction"])
    return item


def part(mc, name):
    """Core-seconds in a part of the budget."""
    return mc.get_metrics()["budget"]["parts"][name]


def write_columns(path, events, columns=8):
    """One basket per column."""
    rng = np.random.default_rng(3)
    with uproot.recreate(path) as file:
        file.mktree("Events", {f"x{i}": "f4" for i in range(columns)})
        file["Events"].extend({f"x{i}": rng.random(events).astype("f4") for i in range(columns)})
    return str(path)


class Counts(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Reads(Counts):
    """Uses the first columns, one after the other."""

    def __init__(self, columns=8):
        self.columns = columns

    @track_metrics
    def process(self, events):
        return {"sum": sum(float(np.asarray(events[f"x{i}"]).sum()) for i in range(self.columns))}


@pytest.fixture
def executor(client, tmp_path):
    """On two workers that have imported what they need."""
    made = processor.DaskExecutor(client=client, status=False)
    files = {write_columns(tmp_path / f"warm{i}.root", 10, 1): "Events" for i in range(4)}
    processor.Runner(executor=made, schema=BaseSchema)({"warm": {"files": files}}, processor_instance=Counts())
    return made


class SlowToBuild(BaseSchema):
    """Events that take some time before process()."""

    def __init__(self, *args, **kwargs):
        time.sleep(0.1)
        super().__init__(*args, **kwargs)


def test_chunks_that_are_too_small(tmp_path):
    fileset = {"a": {"files": {write_columns(tmp_path / "a.root", 2400): "Events"}}}
    first = measure(iterative(), fileset, Counts(), SlowToBuild, chunksize=100)
    advice = first.advice()
    item_of(advice, "chunksize", "chunks_too_small")
    second = measure(iterative(), advice.fileset(fileset), Counts(), SlowToBuild, **advice.runner_arguments)
    assert first.get_metrics()["num_chunks"] == 24 and second.get_metrics()["num_chunks"] <= 4
    assert part(second, "before_process") < part(first, "before_process") / 2
    assert second.get_metrics()["total_events"] == 2400


def test_baskets_that_every_chunk_reads(tmp_path):
    fileset = {"a": {"files": {write_columns(tmp_path / "a.root", 150_000): "Events"}}}
    first = measure(iterative(), fileset, Reads(), chunksize=10_000)
    advice = first.advice()
    assert "reread_branches" in {finding["kind"] for finding in first.diagnose()}
    assert advice.runner_arguments["chunksize"] >= 50_000
    second = measure(iterative(), advice.fileset(fileset), Reads(), **advice.runner_arguments)
    assert second.get_metrics()["branch_read_bytes"] < first.get_metrics()["branch_read_bytes"] / 4


class Storage(http.server.SimpleHTTPRequestHandler):
    """Files by HTTP, with a wait before each answer; one range per request."""

    requests = 0

    def do_GET(self):
        type(self).requests += 1
        time.sleep(0.03)
        data = Path(self.directory, self.path.lstrip("/")).read_bytes()
        begin, _, end = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        if "," in end:
            return self.send_error(416)
        body = data[int(begin) : int(end or len(data) - 1) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{int(begin) + len(body) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(Path(self.directory, self.path.lstrip("/")).stat().st_size))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def storage(tmp_path):
    """The address at which the folder is served."""
    handler = functools.partial(Storage, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        Storage.requests = 0
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_reads_that_wait_one_after_the_other(storage, tmp_path):
    write_columns(tmp_path / "a.root", 2000)
    fileset = {"a": {"files": {f"{storage}/a.root": "Events"}}}
    first = measure(iterative(), fileset, Reads(), chunksize=250)
    asked, advice = Storage.requests, first.advice()
    item_of(advice, "preload", "preload")
    assert sorted(advice.preload["a"]) == [f"x{i}" for i in range(8)]
    Storage.requests = 0
    second = measure(iterative(), advice.fileset(fileset), Reads(), chunksize=250)
    # Eight reads of each chunk became one.
    assert Storage.requests <= asked - 8 * 7
    assert second.get_metrics()["num_chunks"] == first.get_metrics()["num_chunks"] == 8
    assert part(second, "read") < part(first, "read") / 4


def test_columns_that_are_preloaded_for_nothing(executor, tmp_path):
    columns = [f"x{i}" for i in range(40)]
    files = {write_columns(tmp_path / f"{i}.root", 5000, 40): "Events" for i in range(6)}
    fileset = {"a": {"files": files, "preload": columns}}
    first = measure(executor, fileset, Reads(2), SlowToBuild)
    advice = first.advice()
    item_of(advice, "preload", "unused_branches")
    assert sorted(advice.preload["a"]) == ["x0", "x1"]
    second = measure(executor, advice.fileset(fileset), Reads(2), SlowToBuild)
    assert second.get_metrics()["bytes_read_from_chunks"] < first.get_metrics()["bytes_read_from_chunks"] / 4


class SlowFile(Counts):
    """One file takes many times as long as any other."""

    @track_metrics
    def process(self, events):
        time.sleep(1.5 if events.metadata["filename"].endswith("slow.root") else 0.1)
        return {"n": len(events)}


def order_of(mc):
    """The files in the order in which their tasks began."""
    begun = sorted(mc.chunk_metrics, key=lambda chunk: chunk["t_start"] - chunk["before_process_s"])
    return [Path(chunk["file"]).name for chunk in begun]


def test_a_slow_file_at_the_end(executor, tmp_path):
    names = [f"f{i}.root" for i in range(12)] + ["slow.root"]
    fileset = {"a": {"files": {write_columns(tmp_path / name, 100, 1): "Events" for name in names}}}
    first = measure(executor, fileset, SlowFile())
    advice = first.advice()
    item_of(advice, "first_files", "straggler_file")
    second = measure(executor, advice.fileset(fileset), SlowFile())
    # Dask gives each of the two workers two tasks at once, which begin in any order.
    assert "slow.root" in order_of(first)[-4:] and "slow.root" in order_of(second)[:4]
    assert part(second, "idle_tail") < part(first, "idle_tail")


class Sleeps(Counts):
    @track_metrics
    def process(self, events):
        time.sleep(0.8)
        return {"n": len(events)}


def unused(mc):
    """Core-seconds without a chunk."""
    metrics = mc.get_metrics()
    return metrics["budget"]["available_core_seconds"] - sum(chunk["duration"] for chunk in mc.chunk_metrics)


def on_dask(fileset, **workers):
    import distributed

    with distributed.LocalCluster(processes=False, dashboard_address=None, **workers) as cluster, \
            distributed.Client(cluster) as client:
        return measure(processor.DaskExecutor(client=client, status=False), fileset, Sleeps())


def on_a_pool(fileset, **workers):
    executor = processor.FuturesExecutor(pool=ThreadPoolExecutor, status=False, **workers)
    return measure(executor, fileset, Sleeps())


@pytest.mark.parametrize(("on", "arguments", "workers"), [
    (on_dask, "cluster_arguments", {"n_workers": 1, "threads_per_worker": 12}),
    (on_a_pool, "executor_arguments", {"workers": 12}),
])
def test_more_threads_than_chunks(on, arguments, workers, tmp_path):
    fileset = {"a": {"files": {write_columns(tmp_path / f"{i}.root", 100, 1): "Events" for i in range(3)}}}
    first = on(fileset, **workers)
    advice = first.advice()
    item_of(advice, "workers", "too_many_workers")
    assert advice.workers == 1 and 3 <= advice.threads < 8
    assert set(getattr(advice, arguments)) == set(workers)
    second = on(fileset, **getattr(advice, arguments))
    assert unused(second) < unused(first)


class Loops(Counts):
    """Needs Python's lock all the time."""

    @track_metrics
    def process(self, events):
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        return {"n": len(events)}


def waited(mc):
    """Core-seconds in process() in which a thread neither ran nor could have run."""
    return sum(max(0.0, chunk["duration"] - chunk["cpu_user_s"] - chunk["cpu_system_s"] - chunk["runqueue_wait_s"])
               for chunk in mc.chunk_metrics)


@pytest.mark.alone
def test_threads_that_share_the_lock(tmp_path):
    import distributed

    need_free_cores()  # on a busy machine nobody can tell a wait for the lock from one for a core
    fileset = {"a": {"files": {write_columns(tmp_path / "a.root", 1000, 1): "Events"}}}

    def on(**workers):
        with distributed.LocalCluster(dashboard_address=None, **workers) as cluster, \
                distributed.Client(cluster) as client:
            return measure(processor.DaskExecutor(client=client, status=False), fileset, Loops(), chunksize=100)

    first = on(n_workers=1, threads_per_worker=2)
    advice = first.advice()
    item = item_of(advice, "workers", "gil_contention")
    assert (advice.workers, advice.threads) == (2, 1) and "Python's lock" in item["prediction"]["reason"]
    second = on(**advice.cluster_arguments)
    assert waited(second) < waited(first)


def opened(monkeypatch):
    """The names of the files that are opened from now on."""
    names, original = [], uproot.open

    def watch(files, *args, **kwargs):
        names.extend(Path(name).name for name in (files if isinstance(files, dict) else [files]))
        return original(files, *args, **kwargs)

    monkeypatch.setattr(uproot, "open", watch)
    return names


@pytest.mark.parametrize("skips", [True, False])
def test_a_file_that_cannot_be_read(skips, tmp_path, monkeypatch):
    """A run goes on without it, after some tries, or fails."""
    fileset = {"a": {"files": {write_columns(tmp_path / f"{i}.root", 100, 1): "Events" for i in range(3)}},
               "b": {"files": {write_columns(tmp_path / "b.root", 100, 1): "Events",
                               str(tmp_path / "bad.root"): "Events"}}}
    tried = opened(monkeypatch)
    runner = processor.Runner(executor=iterative(), schema=BaseSchema, skipbadfiles=skips, metadata_cache={})
    with MetricsCollector(runner) as first:
        if skips:
            runner(fileset, processor_instance=Counts())
        else:
            with pytest.raises(OSError, match="bad.root"):
                runner(fileset, processor_instance=Counts())
    assert "bad.root" in tried
    tried.clear()
    advice = first.advice()
    assert advice.exclude_files == {"b": [str(tmp_path / "bad.root")]}
    with MetricsCollector(runner) as second:
        runner(advice.fileset(fileset), processor_instance=Counts())
    assert "bad.root" not in tried
    assert second.outcome == "done" and second.get_metrics()["total_events"] == 400
    assert not second.get_metrics().get("skipped_files")


def test_a_healthy_run_gets_no_advice(tmp_path):
    fileset = {"a": {"files": {write_columns(tmp_path / f"{i}.root", 100, 1): "Events" for i in range(3)}}}
    advice = measure(iterative(), fileset, Sleeps()).advice()
    assert not advice and str(advice).startswith("No advice: ") and str(advice).count("\n") == 1
    assert advice.fileset(fileset) == fileset
    assert advice.runner_arguments == advice.executor_arguments == advice.cluster_arguments == {}
