"""What Coffea reads before it runs is measured, and shown apart from what the report counts."""

from __future__ import annotations

import concurrent.futures

import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector

KEYS = ("preprocess_bytes_read", "preprocess_read_requests")


class Analysis(processor.ProcessorABC):
    def process(self, events):
        return {"events": len(events), "keys": {key for key in events.metadata}}

    def postprocess(self, accumulator):
        return accumulator


def files_of(fileset):
    return [file for entry in fileset.values() for file in entry["files"]]


def expected(files):
    """Opened as Coffea opens them."""
    requested = requests = 0
    for path in files:
        with uproot.open({path: None}) as file:
            _ = file["Events"].num_entries, file.file.fUUID
            requested += file.file.source.num_requested_bytes
            requests += file.file.source.num_requests
    return requested, requests


def measure(executor, fileset):
    # Coffea keeps what it learnt for all Runners, unless it is told where.
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, metadata_cache={})
    with MetricsCollector(executor) as mc:
        output = runner(fileset, processor_instance=Analysis())
    return runner, output, mc.get_metrics()


@pytest.mark.parametrize("kind", ["iterative", "threads", "processes", "dask"])
def test_bytes_of_every_executor(kind, fileset, request):
    executor = {
        "iterative": lambda: processor.IterativeExecutor(status=False),
        "threads": lambda: processor.FuturesExecutor(
            status=False, pool=concurrent.futures.ThreadPoolExecutor, workers=2),
        "processes": lambda: processor.FuturesExecutor(status=False, workers=2),
        "dask": lambda: processor.DaskExecutor(client=request.getfixturevalue("client"), status=False),
    }[kind]()
    runner, output, metrics = measure(executor, fileset)
    files = files_of(fileset)
    assert tuple(metrics[key] for key in KEYS) == expected(files)
    assert metrics["preprocess_files"] == len(files)
    assert 0 < metrics["preprocess_seconds"] < metrics["wall_time"]
    # Nobody else sees any of it.
    assert not any("roast" in str(key).lower() for key in output["keys"])
    assert all("roast" not in str(key) for item in runner.metadata_cache.values() for key in item)
    assert not {"metadata_fetcher_root", "_cache_and_populate"} & set(vars(runner))


def test_what_is_known_is_not_read_again(fileset):
    executor = processor.IterativeExecutor(status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema)
    runner(fileset, processor_instance=Analysis())
    with MetricsCollector(executor) as mc:
        runner(fileset, processor_instance=Analysis())
    metrics = mc.get_metrics()
    assert (metrics["preprocess_files"], metrics["preprocess_bytes_read"]) == (0, 0)


def test_a_file_that_is_not_there(fileset, tmp_path):
    broken = {"data": {"files": {str(tmp_path / "none.root"): "Events"}}}
    with pytest.raises(FileNotFoundError), MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        processor.Runner(executor=processor.IterativeExecutor(status=False), schema=NanoAODSchema)(
            broken, processor_instance=Analysis())
    assert mc.metrics["preprocess_seconds"] > 0
    assert mc.metrics["preprocess_files"] == 0


def test_without_preprocessing_it_is_not_known():
    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        pass
    assert mc.metrics["preprocess_bytes_read"] is None
    assert mc.metrics["preprocess_seconds"] is None


class Fetches(processor.Runner):
    """Its function that opens a file has an argument with a default that is given by name only."""

    @staticmethod
    def metadata_fetcher_root(timeout, clusters, options, item, *, era="2016"):
        with uproot.open({item.filename: None}, timeout=timeout, **options) as file:
            metadata = {"numentries": file[item.treename].num_entries, "uuid": file.file.fUUID, "era": era}
        return processor.set_accumulator([type(item)(item.dataset, item.filename, item.treename, metadata)])


@pytest.mark.parametrize("kind", ["iterative", "dask"])
def test_an_argument_by_name_only(kind, fileset, request):
    executor = processor.IterativeExecutor(status=False)
    if kind == "dask":
        executor = processor.DaskExecutor(client=request.getfixturevalue("client"), status=False)
    runner = Fetches(executor=executor, schema=NanoAODSchema, metadata_cache={})
    with MetricsCollector(executor) as mc:
        output = runner(fileset, processor_instance=Analysis())
    assert "era" in output["keys"] and output["events"] == 6300
    assert tuple(mc.metrics[key] for key in KEYS) == expected(files_of(fileset))
