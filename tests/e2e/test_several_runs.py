"""Runs compared with each other: real ones, whose difference is known. Costs are sleeps."""

from __future__ import annotations

import time

import distributed
import pytest
from coffea import processor
from coffea.nanoevents import BaseSchema
from conftest import write_nanoaod

import roastcoffea
from roastcoffea import MetricsCollector, track_metrics, track_time


class Sleeps(processor.ProcessorABC):
    """Two sections in each chunk; one of them may be slower in one dataset."""

    def __init__(self, slower: float = 1.0) -> None:
        self.slower = slower

    @track_metrics
    def process(self, events):
        dataset = events.metadata["dataset"]
        with track_time(self, "jets"):
            time.sleep(0.05)
        with track_time(self, "selection"):
            time.sleep(0.05 * (self.slower if dataset == "ttbar" else 1))
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def fileset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return {
        name: {"files": {write_nanoaod(folder / f"{name}.root", 1200, seed, branches=10): "Events"}}
        for seed, name in enumerate(("ttbar", "wjets"))
    }


def measure(executor, fileset, instance, chunksize=100, **options):
    runner = processor.Runner(executor=executor, schema=BaseSchema, chunksize=chunksize, savemetrics=True)
    with MetricsCollector(executor, **options) as mc:
        runner(fileset, processor_instance=instance)
    return mc


def test_a_section_that_became_slower(fileset, tmp_path):
    first = measure(processor.IterativeExecutor(status=False), fileset, Sleeps(), output_dir=tmp_path)
    # by more than the time before process() may change on a busy machine
    second = measure(processor.IterativeExecutor(status=False), fileset, Sleeps(slower=6))
    comparison = second.compare(first.measurement_path)
    process = next(one for one in comparison.figures if one["name"] == "process")  # the rest is as busy as the machine
    assert comparison.paired and process["verdict"] == "more"
    cause = next(one for one in comparison.causes if one["kind"] == "section")
    assert (cause["name"], cause["dataset"]) == ("selection", "ttbar")
    assert cause["low"] < 6 < cause["high"] * 1.1
    failed, why = comparison.gate("section:selection>20%")
    assert failed, why
    assert not comparison.gate("section:jets>20%")[0]


def test_another_chunk_size(fileset):
    """Without pairs: the seconds per event."""
    first = measure(processor.IterativeExecutor(status=False), fileset, Sleeps())
    second = measure(processor.IterativeExecutor(status=False), fileset, Sleeps(), chunksize=300)
    comparison = second.compare(first)
    assert not comparison.paired
    assert "Chunk Size" in [one["what"] for one in comparison.conditions]
    assert comparison.cost["ratio"] < 0.85  # a third of the sleeps for as many events; the rest is as busy as the machine


def test_one_and_two_workers(fileset):
    measured = []
    for workers in (1, 2):
        with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            executor = processor.DaskExecutor(client=client, status=False)
            measured.append(measure(executor, fileset, Sleeps()))
    found = roastcoffea.scaling(measured)
    assert found.kind == "strong"
    assert [round(point["cores"]) for point in found.points] == [1, 2]
    # which of the two was faster is the machine's affair; that it is told truly is ours
    walls = [one.get_metrics()["wall_time"] for one in measured]
    assert [point["wall_time"] for point in found.points] == pytest.approx(walls)
    assert found.points[1]["speedup"] / found.points[0]["speedup"] == pytest.approx(walls[0] / walls[1])
    assert found.laws == {} and found.losses
    compared = roastcoffea.compare(*measured)
    assert "Workers" in [one["what"] for one in compared.conditions]
