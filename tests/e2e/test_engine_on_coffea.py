"""The engine inside real Coffea runs: what the decorator records under each executor."""

from __future__ import annotations

import os

import awkward as ak
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import track_bytes, track_memory, track_metrics, track_time
from roastcoffea._core import ChunkLog


class Analysis(processor.ProcessorABC):
    _roastcoffea_collect_metrics = True

    @track_metrics
    def process(self, events):
        with track_time(self, "jets"), track_bytes(self, events, "jets"):
            jets = events.Jet[events.Jet.pt > 30]
            n_jets = int(ak.sum(ak.num(jets)))
        with track_memory(self, "muons"):
            muons = int(ak.sum(events.Muon.pt > 20))
        self._roastcoffea_current_chunk["n_jets"] = n_jets
        return {"events": len(events), "jets": n_jets, "muons": muons}

    def postprocess(self, accumulator):
        return accumulator


class Raises(Analysis):
    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets":
            raise ValueError("bad luck")
        return super().process(events)


def run(executor, fileset, analysis=None, **options):
    runner = processor.Runner(
        executor=executor, schema=NanoAODSchema, chunksize=400, savemetrics=True, **options
    )
    return runner(fileset, processor_instance=analysis or Analysis())


def check(output, report, fileset):
    chunks = output["__roastcoffea_metrics__"]
    assert type(chunks) is ChunkLog
    assert len(chunks) == report["chunks"] >= 12
    assert sum(c["num_events"] for c in chunks) == output["events"] == report["entries"] == 6300
    assert sum(c["n_jets"] for c in chunks) == output["jets"]
    assert sum(c["bytes_read"] for c in chunks) == report["bytesread"]
    assert sum(c["duration"] for c in chunks) == pytest.approx(report["processtime"], rel=0.2)
    spans = {}
    for chunk in chunks:
        assert chunk["file"] in fileset[chunk["dataset"]]["files"]
        spans.setdefault(chunk["file"], []).append((chunk["entry_start"], chunk["entry_stop"]))
        assert chunk["entry_stop"] - chunk["entry_start"] == chunk["num_events"]
        assert set(chunk["accessed_branches"]) == {"nJet", "Jet_pt", "nMuon", "Muon_pt"} | (
            set(chunk["accessed_branches"]) & {"Jet_eta", "Jet_phi", "Jet_mass"}
        )
        assert 0 < chunk["metadata_bytes"] < chunk["bytes_read"]
        assert 0 < chunk["bytes"]["jets"] <= chunk["bytes_read"] - chunk["metadata_bytes"]
        assert 0 < chunk["timing"]["jets"] < chunk["duration"]
        assert "muons" in chunk["memory"]
        assert 0 <= chunk["cpu_user_s"] + chunk["cpu_system_s"] <= chunk["duration"] * 1.02 + 1e-3
        assert chunk["mem_peak_mb"] >= chunk["mem_after_mb"]
        with uproot.open(chunk["file"]) as file:
            assert chunk["uuid"] == str(file.file.uuid)
    for places in spans.values():
        places.sort()
        assert places[0][0] == 0
        assert all(a[1] == b[0] for a, b in zip(places, places[1:]))
    assert "error" not in {key for chunk in chunks for key in chunk}
    return chunks


def test_iterative(fileset):
    output, report = run(processor.IterativeExecutor(status=False), fileset)
    chunks = check(output, report, fileset)
    assert {c["pid"] for c in chunks} == {os.getpid()}
    assert {c["worker"] for c in chunks} == {None}


def test_futures(fileset):
    output, report = run(processor.FuturesExecutor(workers=2, status=False), fileset)
    chunks = check(output, report, fileset)
    assert os.getpid() not in {c["pid"] for c in chunks}


def test_threads(fileset):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        output, report = run(processor.FuturesExecutor(pool=pool, status=False), fileset)
    check(output, report, fileset)


def test_dask(fileset, client):
    output, report = run(processor.DaskExecutor(client=client, status=False), fileset)
    chunks = check(output, report, fileset)
    workers = set(client.scheduler_info(n_workers=-1)["workers"])
    assert {c["worker"] for c in chunks} <= workers
    keys = [c["task_key"] for c in chunks]
    assert len(set(keys)) == len(keys)
    for chunk in chunks:
        assert chunk["task_key"].startswith("Analysis-")
        # opening the file and building the events comes before process()
        assert 0 < chunk["before_process_s"] < 30


def test_a_function(fileset):
    @track_metrics
    def count(events):
        with track_time(None, "sum"), track_bytes(events, events, "read"):
            ak.sum(events.Jet.pt)
        return {"events": len(events)}

    count._roastcoffea_collect_metrics = True
    output, report = run(processor.IterativeExecutor(status=False), fileset, count)
    chunks = output["__roastcoffea_metrics__"]
    assert output["events"] == sum(c["num_events"] for c in chunks)
    for chunk in chunks:
        assert chunk["timing"]["sum"] > 0
        assert chunk["bytes"]["read"] == chunk["bytes_read"] - chunk["metadata_bytes"] > 0


def test_an_exception_reaches_coffea(fileset):
    with pytest.raises(Exception, match="bad luck"):
        run(processor.IterativeExecutor(status=False), fileset, Raises())


def test_switched_off(fileset):
    analysis = Analysis()
    analysis._roastcoffea_collect_metrics = False

    class Off(Analysis):
        _roastcoffea_collect_metrics = False

        @track_metrics
        def process(self, events):
            assert not hasattr(self, "_roastcoffea_current_chunk")
            return {"events": len(events)}

    output, report = run(processor.IterativeExecutor(status=False), fileset, Off())
    assert output == {"events": 6300}
