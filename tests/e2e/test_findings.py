"""What is found in real runs whose fault is known. Costs are sleeps: they do not depend on the machine."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema, NanoAODSchema
from conftest import need_free_cores, write_nanoaod

from roastcoffea import MetricsCollector, track_metrics, track_time


def run_with(executor, fileset, instance, chunksize, schema=NanoAODSchema):
    run = processor.Runner(executor=executor, schema=schema, chunksize=chunksize, metadata_cache={})
    with MetricsCollector(executor) as mc:
        run(fileset, processor_instance=instance)
    return mc


def iterative():
    return processor.IterativeExecutor(status=False)


def kinds(mc):
    return [finding["kind"] for finding in mc.diagnose()]


def found(mc, kind):
    """The one finding of that kind."""
    (finding,) = [one for one in mc.diagnose() if one["kind"] == kind]
    return finding


class Sections(processor.ProcessorABC):
    """A section that is all of a short process()."""

    @track_metrics
    def process(self, events):
        with track_time(self, "sel"):
            return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.mark.parametrize("chunks", [40, 12])
def test_time_before_process_comes_first(chunks, tmp_path):
    """Not the section that is 99 % of a process() that hardly takes any time."""
    fileset = {"a": {"files": {write_nanoaod(tmp_path / "a.root", 4000, 1): "Events"}}}
    mc = run_with(iterative(), fileset, Sections(), 4000 // chunks)
    assert mc.get_metrics()["num_chunks"] == chunks
    assert kinds(mc)[0] in ("chunks_too_small", "before_process_dominates")


class SlowFile(processor.ProcessorABC):
    """Each chunk of file_3.root takes twenty times as long in process()."""

    @track_metrics
    def process(self, events):
        time.sleep(0.4 if events.metadata["filename"].endswith("file_3.root") else 0.02)
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def test_a_file_that_is_slow_inside_process(tmp_path):
    files = {write_nanoaod(tmp_path / f"file_{i}.root", 500, i): "Events" for i in range(8)}
    mc = run_with(iterative(), {"a": {"files": files}}, SlowFile(), 100)
    file, sizes = found(mc, "straggler_file"), found(mc, "chunks_too_small")
    assert "file_3.root" in file["title"] + file["evidence"]
    assert file["saving_core_seconds"] > 0 and sizes["saving_core_seconds"] > 0


class FixedCost(processor.ProcessorABC):
    """Every chunk sleeps as long, whatever its size."""

    @track_metrics
    def process(self, events):
        time.sleep(0.05)
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class SlowToBuild(BaseSchema):
    """Events that take some time before process()."""

    def __init__(self, *args, **kwargs):
        time.sleep(0.15)
        super().__init__(*args, **kwargs)


def write_columns(path, events):
    """A file of four columns, with one basket each."""
    rng = np.random.default_rng(3)
    with uproot.recreate(path) as file:
        file.mktree("Events", {f"x{i}": "f4" for i in range(4)})
        file["Events"].extend({f"x{i}": rng.random(events).astype("f4") for i in range(4)})
    return {"a": {"files": {str(path): "Events"}}}


UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60}


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def test_the_interval_of_a_prediction_holds_the_truth(tmp_path):
    """With chunks of one size the fixed part of process() is not known."""
    fileset = write_columns(tmp_path / "a.root", 4000)
    advice = found(run_with(iterative(), fileset, FixedCost(), 100, SlowToBuild), "chunks_too_small")["advice"]
    size, least, most = re.match(r"chunksize=([\d_]+) → predicted wall time (.+?) to (.+?) \(now", advice).groups()
    took = run_with(iterative(), fileset, FixedCost(), int(size), SlowToBuild).get_metrics()["wall_time"]
    # What is no sleep may take half of the time: other programs run on this machine.
    assert seconds(least) / 2 <= took <= seconds(most)


class Reads(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return {"sum": sum(float(events[f"x{i}"].to_numpy().sum()) for i in range(4))}

    def postprocess(self, accumulator):
        return accumulator


@pytest.mark.parametrize("kind", ["iterative", "dask"])
def test_baskets_that_are_read_by_every_chunk(kind, request, tmp_path):
    """4 MB in one basket a branch, read 20 times; that chunks are too small as well is a finding of its own."""
    fileset = write_columns(tmp_path / "a.root", 240_000)
    mc = run_with(executor_of(kind, request), fileset, Reads(), 12_000, SlowToBuild)
    finding, sizes = found(mc, "reread_branches"), found(mc, "chunks_too_small")
    assert finding["title"] == "The same bytes are read 20 times"
    assert finding["saving_core_seconds"] > 0 and sizes["saving_core_seconds"] > 0


class Opens(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["dask", "threads"])
def test_threads_that_compete_while_they_open_files(kind, tmp_path):
    """Four threads of one process: all they do is under Python's lock."""
    import distributed

    need_free_cores()  # on a busy machine nobody can tell a wait for the lock from one for a core
    first = write_nanoaod(tmp_path / "file_0.root", 300, 1, branches=400)
    files = [first, *(shutil.copy(first, tmp_path / f"file_{i}.root") for i in range(1, 8))]
    with contextlib.ExitStack() as stack:
        if kind == "dask":
            client = stack.enter_context(distributed.Client(
                n_workers=1, threads_per_worker=4, dashboard_address=None))
            executor, cure = processor.DaskExecutor(client=client, status=False), "threads_per_worker=1"
        else:
            pool = stack.enter_context(ThreadPoolExecutor(4))
            executor, cure = processor.FuturesExecutor(pool=pool, status=False), "FuturesExecutor(workers=4)"
        mc = run_with(executor, {"a": {"files": dict.fromkeys(map(str, files), "Events")}}, Opens(), 60)
    finding = found(mc, "gil_contention")
    assert "while they open files" in finding["title"] and cure in finding["advice"]


def copies(path, count, branches=100):
    """That many files, and one chunk in each."""
    first = write_nanoaod(path / "file_0.root", 100, 1, branches=branches)
    files = [first, *(shutil.copy(first, path / f"file_{i}.root") for i in range(1, count))]
    return {"a": {"files": dict.fromkeys(map(str, files), "Events")}}


@pytest.mark.alone
def test_bytes_that_cost_no_time_are_no_finding(client, tmp_path):
    """Most bytes are descriptions of trees, but few of them: opening takes long for another reason."""
    mc = run_with(processor.DaskExecutor(client=client, status=False), copies(tmp_path, 24, branches=5), Opens(), 1000)
    metrics = mc.get_metrics()
    assert metrics["metadata_bytes_read"] > 0.5 * metrics["bytes_read_from_chunks"]
    assert "metadata_bound" not in kinds(mc) and "before_process_dominates" in kinds(mc)


def executor_of(kind, request):
    return iterative() if kind == "iterative" else processor.DaskExecutor(
        client=request.getfixturevalue("client"), status=False)


@pytest.mark.parametrize("kind", ["iterative", "dask"])
def test_time_of_the_client(kind, request, tmp_path):
    fileset, executor = copies(tmp_path, 2), executor_of(kind, request)
    run = processor.Runner(executor=executor, schema=NanoAODSchema)
    run(fileset, processor_instance=Opens())  # the workers import what they need
    with MetricsCollector(executor) as mc:
        time.sleep(4)  # the fileset could be made here
        run(fileset, processor_instance=Opens())
    assert "client_bound" in kinds(mc)


@pytest.mark.parametrize("kind", ["iterative", "dask"])
def test_preprocessing_that_takes_long(kind, request, tmp_path):
    """Many files are opened for their lengths, and one of them is analysed."""
    fileset, executor = copies(tmp_path, 24), executor_of(kind, request)
    run = processor.Runner(executor=executor, schema=NanoAODSchema, metadata_cache={})
    with MetricsCollector(executor) as mc:
        for _ in range(3):
            run.metadata_cache.clear()
            pieces = list(run.preprocess(fileset))
        run(pieces[:1], processor_instance=Opens())
    assert "preprocessing_bound" in kinds(mc)
