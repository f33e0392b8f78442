"""A run in a process of its own, whose clock is set by so many seconds in the middle of it.

clock_run.py KIND SECONDS DATA, with KIND iterative, futures, cluster or the address of a scheduler, and DATA a
JSON file: {"fileset": ..., "answer": file}. What was measured goes to the file of the answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics


class SetsTheClock(processor.ProcessorABC):
    """One chunk sets the clock, as somebody else does."""

    def __init__(self, clock: str, seconds: int) -> None:
        self.clock = clock
        self.seconds = seconds

    @track_metrics
    def process(self, events):
        time.sleep(0.15)
        if events.metadata["dataset"] == "wjets":
            Path(self.clock).write_text(f"{self.seconds}\n")
        time.sleep(0.15)
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def main(kind: str, seconds: str, data: str) -> None:
    given = json.loads(Path(data).read_text())
    client = None
    if kind == "iterative":
        executor = processor.IterativeExecutor(status=False)
    elif kind == "futures":
        executor = processor.FuturesExecutor(status=False, workers=2)
    else:
        from distributed import Client, LocalCluster

        client = Client(
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
            if kind == "cluster" else kind
        )
        executor = processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400)
    analysis = SetsTheClock(os.environ["SET_CLOCK"], int(seconds))
    collector = MetricsCollector(client or executor, worker_tracking_interval=0.1, output_dir=given["folder"])
    start = time.monotonic()
    with collector as mc:
        output = runner(given["fileset"], analysis)
    wall = time.monotonic() - start
    metrics = mc.get_metrics()
    answer = {
        "events": output["events"],
        "counted": metrics["total_events"],
        "wall": wall,
        "wall_time": metrics["wall_time"],
        "run": [mc.t_start, mc.t_end],
        "chunks": [[chunk["t_start"], chunk["t_end"]] for chunk in mc.chunk_metrics],
        "before": [chunk.get("before_process_s") for chunk in mc.chunk_metrics],
        "ticks": [when.timestamp() for when in metrics["tracking_data"]["worker_counts"]],
        "events_of_workers": [event["when"].timestamp() for event in mc.tracking_data.series.changes],
        "attempts": [[one["start"], one["stop"]] for one in mc.attempts or []],
        "budget": metrics["budget"]["available_core_seconds"] if metrics.get("budget") else None,
        "notes": mc.notes,
    }
    Path(given["answer"]).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
