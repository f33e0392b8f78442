"""One value for one thing: a figure is the same wherever it is shown and whatever it was computed from."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import awkward as ak
import distributed
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from files import nano_columns, write_parquet, write_projected, write_rntuple, write_ttree

from roastcoffea import MetricsCollector, _core, track_metrics, track_time

pytestmark = pytest.mark.alone


class Plain(processor.ProcessorABC):
    """Without the decorator: Coffea's report alone tells which columns were read."""

    def process(self, events):
        found = ak.sum(events.Jet.pt) + ak.sum(events.Muon.eta) + ak.sum(events.event)
        if events.metadata["entrystart"] == 0:
            found += ak.sum(events.Muon.phi)
        time.sleep(0.05)
        return {"sum": float(found)}

    def postprocess(self, accumulator):
        return accumulator


class Decorated(Plain):
    @track_metrics
    def process(self, events):
        return super().process(events)


class Sections(Plain):
    @track_metrics
    def process(self, events):
        with track_time(self, "all"):
            return super().process(events)


READ = {"nJet", "Jet_pt", "nMuon", "Muon_eta", "Muon_phi", "event"}


def run(executor, files, instance, target=None, **options):
    runner = processor.Runner(
        executor=executor, schema=NanoAODSchema, chunksize=400, metadata_cache={}, savemetrics=True, **options
    )
    with MetricsCollector(target or executor, worker_tracking_interval=0.1) as mc:
        runner({"data": {"files": dict.fromkeys(files, "Events")}}, instance)
    return mc


def rows_of(mc, table):
    """{label: text} of a table of the summary."""
    (found,) = [one for one in _core.Summary(mc.metrics, mc.run).tables if one["id"] == table]
    return {row[0]: row[1:] for row in found["rows"]}


# ---- branches ----

FORMATS = {"ttree": write_ttree, "rntuple": write_rntuple, "projected": write_projected, "parquet": write_parquet}


@pytest.mark.parametrize("form", FORMATS)
def test_branches_accessed_at_every_level(form, tmp_path):
    file = FORMATS[form](tmp_path / "nano", nano_columns(1000, seed=1))
    options = {"format": "parquet"} if form == "parquet" else {}
    for instance in (Plain(), Decorated(), Sections()):
        mc = run(processor.IterativeExecutor(status=False), [file], instance, **options)
        assert mc.metrics["total_branches_read"] == len(READ)
        accessed = {branch for chunk in mc.chunk_metrics for branch in chunk["accessed_branches"]}
        assert accessed == (set() if type(instance) is Plain else READ)
        assert rows_of(mc, "files")["Branches Accessed"][0].startswith(f"{len(READ)} different")


# ---- times ----

@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50
    ) as made, distributed.Client(made, set_as_default=False) as client:
        yield client


EXECUTORS = {
    "iterative": lambda client: processor.IterativeExecutor(status=False),
    "threads": lambda client: processor.FuturesExecutor(pool=ThreadPoolExecutor, workers=4, status=False),
    "futures": lambda client: processor.FuturesExecutor(workers=2, status=False),
    "dask": lambda client: processor.DaskExecutor(client=client, status=False),
}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_times_of_chunks(executor, tmp_path, request):
    client = request.getfixturevalue("client") if executor == "dask" else None
    files = [write_ttree(tmp_path / f"{i}.root", nano_columns(2000, seed=i), step=200) for i in range(2)]
    made = EXECUTORS[executor](client)
    mc = run(made, files, Decorated(), target=client)
    metrics, parts = mc.metrics, mc.run.budget()["parts"]
    assert len(mc.chunk_metrics) == 10
    found = {
        "branch_read_seconds": ("read", [
            read["seconds"] for chunk in mc.chunk_metrics for read in chunk["reads"].values()]),
        "before_process_seconds": ("before_process", [chunk["before_process_s"] for chunk in mc.chunk_metrics]),
    }
    if executor in ("threads", "futures"):  # there is no task that could tell when it began: the budget alone estimates it
        _, told = found.pop("before_process_seconds")
        assert set(told) == {None} and metrics["before_process_seconds"] is None
        assert parts["before_process"] > 0
    for metric, (part, told) in found.items():
        value = sum(told)
        assert value > 0 and metrics[metric] == pytest.approx(value, rel=1e-9), metric
        assert parts[part] == pytest.approx(value, rel=1e-6), part
        for by in ("dataset", "worker", "host", "file"):
            rows = mc.run.budget(by).values()
            assert sum(row["parts"][part] for row in rows) == pytest.approx(value, rel=1e-6)
    assert _core.format_value(metrics["branch_read_seconds"], "s") in rows_of(mc, "files")["Reads in process()"][0]
    assert rows_of(mc, "timing")["Time before process()"] == [_core.format_value(metrics["before_process_seconds"], "s")]
