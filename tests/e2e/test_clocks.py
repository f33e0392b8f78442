"""Clocks that are wrong, and clocks that somebody sets during a run: no number and no timeline may show it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clocks import Clocks, start_worker
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, load_measurement, open_run, track_metrics

distributed = pytest.importorskip("distributed")

HOUR = 3600


class Dozes(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        time.sleep(0.1)
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def clocks(tmp_path_factory):
    return Clocks(tmp_path_factory.mktemp("clocks"))


def within(moments, start, end, slack=0.3):
    """All of them in the run. What is told of a worker's clock is as exact as messages are quick."""
    return [moment for moment in moments if not start - slack <= moment <= end + slack] == []


# ---- a worker whose clock is wrong ----


@pytest.mark.parametrize("seconds", [-30, 45])
def test_a_worker_with_a_wrong_clock(clocks, fileset, tmp_path, seconds):
    clock = clocks.wrong_by(seconds)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        worker = start_worker(cluster.scheduler_address, clock, "wrong")
        try:
            client.wait_for_workers(2, timeout=60)
            runner = processor.Runner(
                executor=processor.DaskExecutor(client=client, status=False),
                schema=NanoAODSchema, chunksize=400,
            )
            with MetricsCollector(client, output_dir=tmp_path, worker_tracking_interval=0.1) as mc:
                output = runner(fileset, Dozes())
        finally:
            worker.terminate()
            worker.wait()
    assert output["events"] == 6300
    metrics = mc.get_metrics()
    assert metrics["total_events"] == 6300
    assert metrics["data_rate_gbps"] > 0
    assert mc.replayed_chunks == 0
    by_worker = {}
    for chunk in mc.chunk_metrics:
        by_worker.setdefault(chunk["worker"], []).append(chunk)
    assert len(by_worker) == 2
    for chunks in by_worker.values():
        assert within([c["t_start"] for c in chunks], mc.t_start, mc.t_end)
        assert within([c["t_end"] for c in chunks], mc.t_start, mc.t_end)
    check_attempts(mc)
    saying = f"is {abs(seconds)}.0 s {'behind' if seconds < 0 else 'ahead'}"
    said = [note for note in mc.notes if saying in note]
    assert len(said) == 1 and any(address in said[0] for address in by_worker)
    check_saved(mc, said[0])


def check_attempts(mc):
    """The chunk lies within the try of its task, which Dask put onto the scheduler's clock."""
    tries = {one["key"]: one for one in mc.attempts if one["kind"] == "processing"}
    for chunk in mc.chunk_metrics:
        one = tries[chunk["task_key"]]
        assert within([chunk["t_start"], chunk["t_end"]], one["start"], one["stop"])


def check_saved(mc, note):
    """Who reads the measurement later sees the same times, and why."""
    run = open_run(mc.measurement_path)
    assert note in run.notes
    assert sorted(c["t_start"] for c in run.chunk_metrics) == sorted(c["t_start"] for c in mc.chunk_metrics)
    metrics, t0, t1 = load_measurement(mc.measurement_path)
    assert (t0, t1) == (mc.t_start, mc.t_end)
    assert metrics["total_events"] == 6300


# ---- a clock that is set during the run ----


def run_and_set(clocks, kind, seconds, fileset, tmp_path):
    clock = clocks.wrong_by(0)
    data, answer = tmp_path / "data.json", tmp_path / "answer.json"
    data.write_text(json.dumps(
        {"fileset": fileset, "answer": str(answer), "folder": str(tmp_path / "measurements")}
    ))
    script = Path(__file__).parent / "clock_run.py"
    subprocess.run(
        [sys.executable, script, kind, str(seconds), data], env=clock.env, check=True, timeout=120
    )
    return json.loads(answer.read_text())


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
@pytest.mark.parametrize("kind", ["iterative", "futures"])
def test_the_clock_of_this_machine_is_set(clocks, fileset, tmp_path, kind, seconds):
    seen = run_and_set(clocks, kind, seconds, fileset, tmp_path)
    check_times(seen)
    start, end = seen["run"]
    assert within(seen["ticks"], start, end)
    assert seen["ticks"] == sorted(seen["ticks"])
    # ticks go on at their pace: no gap of an hour, and none that holds half of the run
    assert max(b - a for a, b in zip(seen["ticks"], seen["ticks"][1:])) < seen["wall"] / 2


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_the_clock_of_the_client_is_set(client, clocks, fileset, tmp_path, seconds):
    seen = run_and_set(clocks, client.scheduler.address, seconds, fileset, tmp_path)
    check_times(seen)
    start, end = seen["run"]
    assert within(seen["ticks"], start, end)
    assert within([moment for one in seen["attempts"] for moment in one], start, end)


def check_times(seen):
    assert seen["events"] == seen["counted"] == 6300
    assert seen["wall_time"] <= seen["wall"]
    # what is in the run: each of its chunks takes 0.3 s, on two workers at most
    assert seen["wall_time"] > 0.15 * len(seen["chunks"])
    start, end = seen["run"]
    assert end - start == pytest.approx(seen["wall_time"])
    assert within([moment for chunk in seen["chunks"] for moment in chunk], start, end)
    assert all(before is None or before < seen["wall"] for before in seen["before"])
