"""MetricsCollector around real runs: every level, every executor, nothing lost."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import awkward as ak
import numpy as np
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from conftest import write_nanoaod

from roastcoffea import MetricsCollector, track_memory, track_metrics, track_time
from roastcoffea._core import ChunkLog

KEY = "__roastcoffea_metrics__"


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "jets"):
            jets = int(ak.sum(ak.num(events.Jet[events.Jet.pt > 30])))
        with track_memory(self, "muons"):
            muons = int(ak.sum(events.Muon.pt > 20))
        return {"events": len(events), "jets": jets, "muons": muons}

    def postprocess(self, accumulator):
        assert KEY not in accumulator
        return accumulator


class Bare(processor.ProcessorABC):
    """Not decorated."""

    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


class NoMapping(Analysis):
    @track_metrics
    def process(self, events):
        return np.array([len(events)])

    def postprocess(self, accumulator):
        return accumulator


class Raises(Analysis):
    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets":
            raise ValueError("bad luck")
        return {"events": len(events)}


class Burns(Analysis):
    """0.2 s of CPU and 0.1 s of sleep in every chunk."""

    @track_metrics
    def process(self, events):
        wall, cpu = time.perf_counter(), time.thread_time()
        with track_time(self, "cpu"):
            while time.thread_time() < cpu + 0.2:
                pass
        with track_time(self, "sleep"):
            time.sleep(0.1)
        # what really passed, by other clocks: a busy machine makes it more
        return {"wall": time.perf_counter() - wall, "cpu": time.thread_time() - cpu}


class KillsOnce(Analysis):
    """The first chunk of a dataset kills its worker, once."""

    def __init__(self, flag):
        self.flag = str(flag)

    @track_metrics
    def process(self, events):
        if events.metadata["dataset"] == "wjets":
            try:
                os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                time.sleep(1.5)  # so that records of others have been sent
                os.kill(os.getpid(), signal.SIGKILL)
        return {"events": len(events)}


def make_runner(executor, **options):
    return processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=400, **options)


def iterative():
    return processor.IterativeExecutor(status=False, retries=0)


def check_chunks(chunks, entries=6300):
    assert isinstance(chunks, ChunkLog)
    assert sum(c["num_events"] for c in chunks) == entries
    places = {(c["file"], c["entry_start"]) for c in chunks}
    assert len(places) == len(chunks)


# ---- what a user writes ----


def test_all_three_levels_on_dask(client, fileset):
    analysis = Analysis()
    runner = make_runner(processor.DaskExecutor(client=client, status=False), savemetrics=True)
    with MetricsCollector(client, processor_instance=analysis) as mc:
        assert analysis._roastcoffea_collect_metrics is True
        output, report = runner(fileset, processor_instance=analysis)
        mc.set_coffea_report(report)
    assert analysis._roastcoffea_collect_metrics is False
    assert KEY not in output
    assert output["events"] == 6300
    metrics = mc.get_metrics()
    check_chunks(mc.chunk_metrics)
    assert metrics["wall_time"] == pytest.approx(mc.t_end - mc.t_start)
    assert metrics["total_events"] == 6300
    assert metrics["total_bytes_read"] == report["bytesread"]
    assert metrics["event_rate_wall_khz"] == pytest.approx(6300 / metrics["wall_time"] / 1000)
    assert metrics["peak_workers"] == 2
    assert metrics["total_cores"] == pytest.approx(2, rel=0.01)
    assert metrics["processor_cpu_time_seconds"] > 0
    # the spans' CPU holds that of the chunks, and what came before process()
    chunk_cpu = sum(c["cpu_user_s"] + c["cpu_system_s"] for c in mc.chunk_metrics)
    assert metrics["processor_cpu_time_seconds"] > chunk_cpu
    assert set(metrics["sections"]) == {"jets", "muons"}
    assert {c["worker"] for c in mc.chunk_metrics} <= set(mc.tracking_data["worker_memory"])
    assert all(c["before_process_s"] > 0 for c in mc.chunk_metrics)
    assert mc.notes == []
    mc.print_summary()


def test_the_least_a_user_can_write(client, fileset):
    with MetricsCollector(client) as mc:
        output = make_runner(processor.DaskExecutor(client=client, status=False))(fileset, Analysis())
    assert output.keys() == {"events", "jets", "muons"}
    check_chunks(mc.chunk_metrics)
    assert mc.get_metrics()["total_events"] == 6300
    assert mc.processor_name == "Analysis"


@pytest.mark.parametrize("make", [iterative, lambda: processor.FuturesExecutor(workers=2, status=False)])
def test_local_executors(make, fileset):
    executor = make()
    with MetricsCollector(executor) as mc:
        output = make_runner(executor)(fileset, Analysis())
    assert output["events"] == 6300
    check_chunks(mc.chunk_metrics)
    metrics = mc.get_metrics()
    assert mc.backend == "local"
    assert metrics["peak_memory_bytes"] > 1e7
    assert metrics["processor_cpu_time_seconds"] is None
    mc.print_summary()


def test_a_runner_as_the_first_argument(fileset):
    runner = make_runner(iterative())
    with MetricsCollector(runner) as mc:
        runner(fileset, Analysis())
    check_chunks(mc.chunk_metrics)


def test_without_the_decorator(fileset):
    with MetricsCollector(iterative()) as mc:
        output = make_runner(iterative())(fileset, Bare())
    assert output == {"events": 6300}
    assert mc.get_metrics()["total_events"] == 6300
    assert list(mc.chunk_metrics) == []
    assert mc.metrics["num_successful_chunks"] in (0, None)


def test_work_that_bypasses_the_runner(client):
    with MetricsCollector(client) as mc:
        assert client.submit(sum, [1, 2, 3]).result() == 6
    assert mc.metrics["wall_time"] > 0
    assert mc.metrics["peak_workers"] == 2
    assert any(key[0] == "execute" for key in mc.span_metrics)
    with pytest.raises(RuntimeError, match="report"):
        mc.get_metrics()
    mc.print_summary()


# ---- nothing lost ----


def test_an_output_that_is_no_mapping(fileset):
    with MetricsCollector(iterative()) as mc:
        output = make_runner(iterative())(fileset, NoMapping())
    assert output == np.array([6300])
    check_chunks(mc.chunk_metrics)


@pytest.mark.parametrize("where", ["iterative", "futures", "dask"])
def test_a_run_that_raises(where, client, fileset):
    executor = {
        "iterative": iterative,
        "futures": lambda: processor.FuturesExecutor(workers=2, status=False, retries=0),
        "dask": lambda: processor.DaskExecutor(client=client, status=False, retries=0),
    }[where]()
    analysis = Raises()
    with pytest.raises(Exception, match="bad luck"):
        with MetricsCollector(executor, processor_instance=analysis) as mc:
            make_runner(executor)(fileset, analysis)
    assert analysis._roastcoffea_collect_metrics is False
    assert mc.t_end is not None
    errors = [c["error"] for c in mc.chunk_metrics if "error" in c]
    assert errors
    assert set(errors) == {"ValueError: bad luck"}
    assert mc.metrics["num_failed_chunks"] == len(errors)
    assert mc.metrics["wall_time"] > 0


def test_a_worker_that_is_killed(fileset, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as own:
        executor = processor.DaskExecutor(client=own, status=False)
        with MetricsCollector(own) as mc:
            output = make_runner(executor)(fileset, KillsOnce(tmp_path / "killed"))
    assert output["events"] == 6300
    chunks = mc.chunk_metrics
    # every piece is there; one that ran twice, because its result died with the worker, is there twice
    assert {(c["file"], c["entry_start"]) for c in chunks if "error" not in c} == {
        (c["file"], c["entry_start"]) for c in chunks
    }
    done = {}
    for c in chunks:
        done.setdefault((c["file"], c["entry_start"]), c["num_events"])
    assert sum(done.values()) == 6300
    assert mc.metrics["total_events"] == 6300


def test_the_share_of_cpu_of_a_known_load(fileset):
    small = {"ttbar": fileset["ttbar"]}
    with MetricsCollector(iterative()) as mc:
        true = make_runner(iterative())(small, Burns())
    n = len(mc.chunk_metrics)
    cpu = sum(c["cpu_user_s"] + c["cpu_system_s"] for c in mc.chunk_metrics)
    wall = sum(c["duration"] for c in mc.chunk_metrics)
    assert cpu == pytest.approx(0.2 * n, rel=0.05)
    assert cpu == pytest.approx(true["cpu"], rel=0.01)
    assert wall - cpu == pytest.approx(true["wall"] - true["cpu"], rel=0.05)
    assert mc.metrics["sections"]["sleep"]["total_duration"] >= 0.1 * n


def test_several_calls_are_summed_and_each_is_kept(fileset):
    with MetricsCollector(iterative()) as mc:
        runner = make_runner(iterative())
        runner(fileset, Analysis())
        runner({"ttbar": fileset["ttbar"]}, Analysis())
    assert [r["entries"] for r in mc.reports] == [6300, 2100]
    assert mc.get_metrics()["total_events"] == 8400
    assert sum(c["num_events"] for c in mc.chunk_metrics) == 8400


def test_explicit_settings_win(fileset):
    with MetricsCollector(iterative()) as mc:
        make_runner(iterative())(fileset, Analysis())
        mc.set_coffea_report({"entries": 10, "bytesread": 1000, "processtime": 2.0, "chunks": 1})
    assert mc.get_metrics()["total_events"] == 10
    mc.set_coffea_report({"entries": 20, "bytesread": 1000, "processtime": 2.0, "chunks": 1})
    assert mc.get_metrics()["total_events"] == 20
    mc.set_chunk_metrics([{"duration": 1.0, "num_events": 5}])
    assert mc.get_metrics()["total_events_from_chunks"] == 5


def test_the_dialect_of_the_seeds(fileset):
    analysis = Analysis()
    with MetricsCollector(iterative(), processor_instance=analysis) as mc:
        output, report = make_runner(iterative(), savemetrics=True)(fileset, analysis)
        mc.set_coffea_report(report)
        mc.set_chunk_metrics(analysis._chunk_metrics)
    check_chunks(mc.chunk_metrics)
    assert len(analysis._chunk_metrics) == len(mc.chunk_metrics)


# ---- collectors beside and after each other ----


def test_two_at_once(client, fileset):
    executor = processor.DaskExecutor(client=client, status=False)
    with MetricsCollector(client) as outer:
        with MetricsCollector(client) as inner:
            make_runner(executor)(fileset, Analysis())
        make_runner(executor)({"ttbar": fileset["ttbar"]}, Analysis())
    check_chunks(inner.chunk_metrics)
    check_chunks_sum = sum(c["num_events"] for c in outer.chunk_metrics)
    assert check_chunks_sum == 8400
    assert inner.get_metrics()["total_events"] == 6300
    assert outer.get_metrics()["total_events"] == 8400


def test_many_in_a_row_leave_nothing(tmp_path):
    small = {"ttbar": {"files": {write_nanoaod(tmp_path / "small.root", 100, 1, branches=5): "Events"}}}

    def once():
        executor = iterative()
        with MetricsCollector(executor, worker_tracking_interval=0.05) as mc:
            make_runner(executor)(small, Analysis())
        return mc

    def state():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    for _ in range(5):
        once()
    before, memory = state(), rss()
    for _ in range(100):
        once()
    # a hundred leaks would be seen; Dask's client in this process has threads that come and go
    after = state()
    assert all(now <= then + 5 for then, now in zip(before, after, strict=True)), (before, after)
    assert rss() - memory < 30


def rss():
    from roastcoffea.utils import get_process_memory

    return get_process_memory()


def test_misuse():
    with pytest.raises(ValueError, match="Unsupported backend"):
        MetricsCollector(backend="carrier pigeon")
    mc = MetricsCollector(iterative())
    with pytest.raises(RuntimeError, match="with"):
        mc.get_metrics()
    with pytest.raises(RuntimeError):
        mc.print_summary()
