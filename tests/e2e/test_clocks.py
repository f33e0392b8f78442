"""Clocks that are wrong, and clocks that somebody sets during a run: no number and no timeline may show it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import distributed
import pytest
from clocks import Clocks, worker_of
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from dask_parts import BARE_SCHEDULER, SCHEDULER, eventually, process

from roastcoffea import MetricsCollector, load_measurement, open_run, track_metrics

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


def within(moments, start, end, slack=1.5):
    """All of them in the run. What is told of a worker's clock is as exact as messages are quick."""
    return [moment for moment in moments if not start - slack <= moment <= end + slack] == []


# ---- machines whose clock is wrong ----


@contextlib.contextmanager
def cluster_of(worker_clocks, scheduler_clock, script=SCHEDULER):
    """A client of a scheduler and of workers with these clocks."""
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(process("-c", script, env=scheduler_clock.env))
        address = scheduler.stdout.readline().strip()
        workers = [
            stack.enter_context(worker_of(address, clock, f"worker-{i}"))
            for i, clock in enumerate(worker_clocks)
        ]
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        client.wait_for_workers(len(workers), timeout=60)
        yield client, workers


def run_on(client, fileset, folder, afterwards=lambda: None):
    runner = processor.Runner(
        executor=processor.DaskExecutor(client=client, status=False),
        schema=NanoAODSchema, chunksize=400,
    )
    with MetricsCollector(client, output_dir=folder, worker_tracking_interval=0.1) as mc:
        output = runner(fileset, Dozes())
        afterwards()
    assert output["events"] == 6300
    metrics = mc.get_metrics()
    assert metrics["total_events"] == 6300
    assert metrics["data_rate_gbps"] > 0
    assert mc.replayed_chunks == 0
    assert len({chunk["worker"] for chunk in mc.chunk_metrics}) == 2
    for name in ("t_start", "t_end"):
        assert within([chunk[name] for chunk in mc.chunk_metrics], mc.t_start, mc.t_end)
    ticks = [when.timestamp() for when in metrics["tracking_data"]["worker_counts"]]
    assert within(ticks, mc.t_start, mc.t_end)
    return mc


def check_note(mc, saying, subject):
    (note,) = [note for note in mc.notes if saying in note]
    assert subject in note
    check_saved(mc, note)


@pytest.mark.parametrize("seconds", [-30, 45])
def test_a_worker_with_a_wrong_clock(clocks, fileset, tmp_path, seconds):
    right, wrong = clocks.wrong_by(0), clocks.wrong_by(seconds)
    with cluster_of([right, wrong], right) as (client, _):
        address = address_of(client, "worker-1")
        mc = run_on(client, fileset, tmp_path)
    check_attempts(mc)
    check_note(mc, f"is {abs(seconds)}.0 s {'behind' if seconds < 0 else 'ahead of'}", address)
    assert json.loads(mc.run.meta["clock_offsets"]) == {address: pytest.approx(-seconds, abs=0.5)}


def address_of(client, name):
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return next(address for address, worker in workers.items() if worker["name"] == name)


def test_a_worker_with_a_wrong_clock_that_has_left(clocks, fileset, tmp_path):
    right, wrong = clocks.wrong_by(0), clocks.wrong_by(-30)
    with cluster_of([right, wrong], right) as (client, workers):
        address = address_of(client, "worker-1")

        def end_worker():
            workers[1].kill()
            eventually(lambda: address not in client.scheduler_info(n_workers=-1)["workers"])

        mc = run_on(client, fileset, tmp_path, end_worker)
    check_attempts(mc)
    check_note(mc, "s behind", address)


@pytest.mark.parametrize("script", [SCHEDULER, BARE_SCHEDULER], ids=["with", "without_this_package"])
def test_a_scheduler_with_a_wrong_clock(clocks, fileset, tmp_path, script):
    """All times are on its clock."""
    right, wrong = clocks.wrong_by(0), clocks.wrong_by(100)
    before = time.time()
    with cluster_of([right, right], wrong, script) as (client, _):
        mc = run_on(client, fileset, tmp_path)
    assert within([mc.t_start, mc.t_end], before + 100, time.time() + 100)
    if script is SCHEDULER:
        check_attempts(mc)
    check_note(mc, "is 100.0 s ahead of that of the client", "the clock of the scheduler")


@pytest.mark.parametrize("script", [SCHEDULER, BARE_SCHEDULER], ids=["with", "without_this_package"])
def test_the_clock_of_the_scheduler_is_set(clocks, fileset, tmp_path, script):
    right, other = clocks.wrong_by(0), clocks.wrong_by(0)
    with cluster_of([right, right], other, script) as (client, _):
        timer = threading.Timer(1.0, other.set, [HOUR])
        timer.start()
        mc = run_on(client, fileset, tmp_path, timer.join)
    assert not [note for note in mc.notes if "clock" in note]
    if script is SCHEDULER:
        check_attempts(mc)


def check_attempts(mc):
    """The chunk lies within the try of its task, which Dask put onto the scheduler's clock.

    Dask's estimate of a worker's clock is as wrong as a heartbeat is slow; we take out what is more than a second.
    """
    tries = {one["key"]: one for one in mc.attempts if one["kind"] == "processing"}
    for chunk in mc.chunk_metrics:
        one = tries[chunk["task_key"]]
        assert within([chunk["t_start"], chunk["t_end"]], one["start"], one["stop"], slack=1.2)


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


def test_the_clock_of_a_machine_with_a_cluster_is_set(clocks, fileset, tmp_path):
    """Only forwards: while it is set back, Dask itself sends no heartbeats."""
    seen = run_and_set(clocks, "cluster", HOUR, fileset, tmp_path)
    check_times(seen)
    start, end = seen["run"]
    assert within(seen["ticks"], start, end)
    assert within([moment for one in seen["attempts"] for moment in one if moment], start, end)
    assert not [note for note in seen["notes"] if "clock" in note]


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
