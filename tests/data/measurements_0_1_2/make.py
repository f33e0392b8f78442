"""Writes the measurements beside this file again, with the real roastcoffea 0.1.2.

    python make.py FOLDER

in an environment of its own with roastcoffea 0.1.2, coffea 2026.9 and distributed 2026.8. Each measurement gets a
file NAME.loaded.json: what 0.1.2's own load_measurement made of it, with types that JSON has not spelled out
(see `spelled`).
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import awkward as ak
import numpy as np
import uproot
from coffea.nanoevents import BaseSchema
from coffea.processor import DaskExecutor, IterativeExecutor, ProcessorABC, Runner
from distributed import Client, LocalCluster
from roastcoffea import MetricsCollector, track_bytes, track_memory, track_metrics, track_time
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.export.measurements import load_measurement, save_measurement

EVENTS = 400
CONFIG = {"executor": "iterative", "chunksize": 200, "note": "größer", "nested": {"list": [1, 2.5, None]}}


def write_file(name: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3, EVENTS)
    jets = ak.zip({k: ak.unflatten(rng.exponential(40, counts.sum()).astype("f4"), counts) for k in ("pt", "eta")})
    columns = {"event": np.arange(EVENTS), "Jet": jets, "MET_pt": rng.exponential(30, EVENTS)}
    with uproot.recreate(name) as file:
        file.mktree("Events", {"event": "i8", "Jet": jets.type.content, "MET_pt": "f8"}).extend(columns)
    return name


def fileset() -> dict[str, dict]:
    names = {"ttbar": ["data/ttbar_0.root", "data/ttbar_1.root"], "W+jets": ["data/wjets.root"]}
    Path("data").mkdir(exist_ok=True)
    for seed, name in enumerate(name for group in names.values() for name in group):
        write_file(name, seed)
    return {dataset: {"files": dict.fromkeys(group, "Events")} for dataset, group in names.items()}


class Analysis(ProcessorABC):
    """Sections of every kind, one of them used twice."""

    @track_metrics
    def process(self, events):
        with track_time(self, "selection"):
            jets = events.Jet_pt[events.Jet_pt > 30]
            time.sleep(0.05)
        with track_time(self, "histogram"):
            filled = ak.num(jets)
        with track_memory(self, "histogram memory"):
            table = np.ones(100_000)
        with track_bytes(self, events, "met"):
            met = ak.sum(events.MET_pt)
        with track_time(self, "selection"):
            time.sleep(0.01)
        current = getattr(self, "_roastcoffea_current_chunk", None)
        if current is not None:
            current["custom_count"] = int(len(table) + len(filled))
        return {"met": float(met), "events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class Failing(Analysis):
    """One file in which every chunk fails."""

    @track_metrics
    def process(self, events):
        with track_time(self, "selection"):
            time.sleep(0.02)
            if "wjets" in events.metadata["filename"]:
                raise ValueError("no: such jets")
        return {"events": len(events)}


def runner(executor, **options) -> Runner:
    return Runner(executor=executor, schema=BaseSchema, chunksize=200, savemetrics=True, **options)


def on_cluster(client, folder: Path) -> None:
    analysis = Analysis()
    with MetricsCollector(client, worker_tracking_interval=0.2, processor_instance=analysis) as collector:
        output, report = runner(DaskExecutor(client=client))(fileset(), analysis)
        collector.extract_metrics_from_output(output)
        collector.set_coffea_report(report)
    collector.save_measurement(folder, "sections")


def without_workers(client, folder: Path) -> None:
    analysis = Analysis()
    with MetricsCollector(client, track_workers=False) as collector:
        _, report = runner(DaskExecutor(client=client))(fileset(), analysis)
        collector.set_coffea_report(report)
    collector.save_measurement(folder, "report_only")


def failing(client, folder: Path) -> None:
    analysis = Failing()
    files = fileset()
    collector = MetricsCollector(client, worker_tracking_interval=0.2, processor_instance=analysis)
    with collector:
        good, report = runner(DaskExecutor(client=client))({"ttbar": files["ttbar"]}, analysis)
        collector.extract_metrics_from_output(good)
        try:
            runner(DaskExecutor(client=client, retries=0))(files, analysis)
        except Exception as error:
            print("as expected:", type(error).__name__)
        collector.set_coffea_report(report)
        # The records of failed chunks never reach the client: they are put in as its users do.
        now = time.time()
        collector.record_chunk_metrics(
            {"t_start": now - 0.02, "t_end": now, "duration": 0.02, "dataset": "W+jets",
             "file": "data/wjets.root", "entry_start": 0, "entry_stop": 200, "error": "ValueError: no: such jets"}
        )
        collector.record_section_metrics({"name": "by hand", "duration": 0.5, "type": "time"})
    collector.save_measurement(folder, "failed_chunks")


def aggregated(folder: Path) -> None:
    """Without a cluster: what the aggregator makes of a local run."""
    analysis = Analysis()
    analysis._roastcoffea_collect_metrics = True
    start = time.time()
    output, report = runner(IterativeExecutor())(fileset(), analysis)
    chunks = output["__roastcoffea_metrics__"]
    end = time.time()
    metrics = MetricsAggregator("dask").aggregate(report, None, start, end, chunk_metrics=chunks)
    metrics["raw_chunk_metrics"] = chunks
    save_measurement(metrics, start, end, folder, "local", CONFIG)


def odd(folder: Path) -> None:
    """Values that no run makes but that a user may store."""
    moment = datetime(2025, 3, 30, 1, 30, 0, 5, tzinfo=timezone.utc)
    metrics = {
        "wall_time": 10.0, "total_events": 2**53 + 1, "overall_rate_gbps": float("nan"), "high": float("inf"),
        "low": float("-inf"), "none": None, "yes": True, "text": "µ \U0001f600 \u0000 \"quoted\"", "empty": {},
        ("a", 1): "tuple key", "chunk_info": {("file", 0, 100): (1.0, 2.0, 3), ("it's", -1, None): (0.5, 1.5, 0)},
        "nested": {"when": moment, "pair": (1, "two"), "numpy": np.float64(0.1), 3: "int key"},
        "tracking_data": {
            "worker_counts": {moment: 1, datetime(2025, 3, 30, 1, 30, 1): 2},
            "worker_memory": {"tcp://127.0.0.1:1": [(moment, 100), (datetime(2025, 3, 30, 1, 30, 1), 200)]},
            "worker_cpu": {},
        },
        "raw_chunk_metrics": [], "raw_span_metrics": {("execute", "f", "thread-cpu", "seconds"): 1.5},
    }
    save_measurement(metrics, 1743298200.25, 1743298210.25, folder, "odd_values")


def spelled(value):
    """The value in JSON, with the types of Python that JSON has not."""
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, (tuple, set)):
        return {type(value).__name__: [spelled(item) for item in value]}
    if isinstance(value, list):
        return [spelled(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[spelled(key), spelled(item)] for key, item in value.items()]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def record_loaded(folder: Path, name: str) -> None:
    loaded = load_measurement(folder / name)
    (folder / f"{name}.loaded.json").write_text(json.dumps(spelled(loaded), ensure_ascii=False) + "\n")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        on_cluster(client, folder)
        without_workers(client, folder)
        failing(client, folder)
    aggregated(folder)
    odd(folder)
    for name in ("sections", "report_only", "failed_chunks", "local", "odd_values"):
        record_loaded(folder, name)


if __name__ == "__main__":
    destination = Path(sys.argv[1]).resolve()
    # 0.1.2 writes local times without a zone; not UTC, so that a reader has to notice.
    os.environ["TZ"] = "Europe/Zurich"
    time.tzset()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)  # so that every path in a measurement is a relative one
        main(destination)
        os.chdir(destination)
