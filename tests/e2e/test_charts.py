"""Trace, plots and report of real runs: names, times, one zero, and bars of all tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, open_run, track_memory, track_metrics, track_time
from roastcoffea.visualization import plots

ROAST = os.environ.get("ROAST_PROGRAM") or Path(sys.executable).with_name("roast")


class Jets(processor.ProcessorABC):
    fails = False

    @track_metrics
    def process(self, events):
        with track_time(self, "jets"), track_memory(self, "memory of jets"), track_time(self, ""):
            found = len(events.Jet[events.Jet.pt > 30])
        if self.fails and events.metadata["dataset"] == "data":
            raise ValueError("no jets")
        return {"jets": found}

    def postprocess(self, accumulator):
        return accumulator


class Failing(Jets):
    fails = True


class Undecorated(processor.ProcessorABC):
    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


EXECUTORS = {
    "iterative": lambda client: processor.IterativeExecutor(status=False),
    "futures": lambda client: processor.FuturesExecutor(workers=2, status=False),
    "dask": lambda client: processor.DaskExecutor(client=client, status=False, retries=0),
}
ROADS = [("iterative", Jets), ("futures", Jets), ("dask", Jets), ("iterative", Failing), ("dask", Failing),
         ("futures", Undecorated), ("dask", Undecorated)]


@pytest.fixture(params=ROADS, ids=lambda road: f"{road[0]}-{road[1].__name__}")
def collector(request, fileset, idle_client):
    executor, kind = request.param
    client = idle_client() if executor == "dask" else None
    runner = processor.Runner(EXECUTORS[executor](client), schema=NanoAODSchema, chunksize=500, savemetrics=True)
    collector = MetricsCollector(runner, worker_tracking_interval=0.1)
    try:
        with collector:
            runner(fileset, processor_instance=kind())
    except Exception:
        assert kind is Failing
    return collector


def events_of(trace):
    return json.loads(trace)["traceEvents"]


def zero_of(axes):
    (text,) = (text.get_text() for text in axes.texts if text.get_text().startswith("start: "))
    return text


def times_of(axes):
    """The drawn times in seconds since the zero."""
    unit = axes.get_xlabel().rpartition("(")[2][:-1]
    lines = [line.get_xdata() for line in axes.get_lines()]
    stairs = [np.asarray(patch.get_data().edges) for patch in axes.patches if hasattr(patch, "get_data")]
    bars = [path.vertices[:, 0] for drawn in axes.collections for path in drawn.get_paths()]
    found = np.concatenate([np.asarray(one, float) for one in (*lines, *stairs, *bars) if len(one)])
    return found * {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]


def test_trace_and_zero(collector, tmp_path):
    saved = collector.save_measurement(tmp_path, "run")
    trace = subprocess.run([ROAST, "export", "--trace", saved], capture_output=True, text=True, check=True).stdout
    events = events_of(trace)
    for event in events:
        assert event["name"], event
        assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0, event
    tasks = [event for event in events if event["ph"] == "X" and event["cat"] in ("task", "chunk")]
    assert len([one for one in tasks if one["cat"] == "chunk"]) == len(collector.chunk_metrics)

    shown = f"start: {datetime.fromtimestamp(collector.t_start, UTC):%Y-%m-%d %H:%M:%S} UTC"
    lasted = collector.t_end - collector.t_start
    metrics, tracking = collector.get_metrics(), collector.tracking_data
    drawn = [plots.plot_worker_count_timeline(tracking), plots.plot_memory_utilization_mean_timeline(tracking)]
    if collector.chunk_metrics:
        drawn += [plots.plot_throughput_timeline(metrics["chunk_info"], tracking),
                  plots.plot_throughput_timeline(collector.run), plots.plot_chunk_gantt(collector.run)]
        (_, bars) = drawn[-1]
        first = min(chunk["t_start"] for chunk in collector.chunk_metrics) - collector.t_start
        assert times_of(drawn[-2][1]).min() == pytest.approx(first, abs=0.01)
        assert times_of(bars).min() <= first + 0.01
    for _, axes in drawn:
        assert zero_of(axes) == shown
        times = times_of(axes)
        # Samples begin a little before the run, and end a little after it: by how much, the load of the machine decides.
        assert -1.5 < times.min() and times.max() < lasted + 1.5

    again = open_run(saved)
    made = again.plot_all(tmp_path / "plots")
    assert ("chunk_gantt" in made) == bool(collector.chunk_metrics or collector.attempts)
    again.save_report(tmp_path / "report.html")
