"""Runs on a real kernel of Parsl: processes on this machine, and threads."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import suppress

import pytest
from parsl_parts import (
    CHUNKS,
    EVENTS,
    AlwaysRaises,
    Dies,
    InASection,
    LosesItsPool,
    Plain,
    Raises,
    expect_the_job,
    expect_the_section,
    kernel,
    make_file,
    runner,
)

from roastcoffea import MetricsCollector, load_measurement

pytest.importorskip("parsl")

RESULT = {"n": EVENTS, "sum": EVENTS * (EVENTS - 1) / 2}


def measure(run, processor, folder, **settings):
    """A measured run, and the kernel and the user's output as they are without us."""
    with MetricsCollector(run, **settings) as mc:
        output = run(make_file(folder), processor_instance=processor)
    assert output == RESULT
    assert mc.backend == "parsl" and mc.metrics["outcome"] == "done" and mc.metrics["notes"] == []
    return mc


def expect_budget(mc):
    """Everything that was available is in one of the parts, and every chunk was found in its try."""
    budget = mc.budget()
    parts = budget["parts"]
    available = budget["available_core_seconds"]
    assert available == pytest.approx(mc.metrics["total_cores"] * mc.metrics["wall_time"], rel=0.001)
    assert sum(parts.values()) == pytest.approx(available, rel=0.001)
    assert parts["unaccounted"] == pytest.approx(0, abs=0.01 * available)
    inside = parts["read"] + parts["compute_cpu"] + parts["compute_offcpu"]
    done = [chunk["duration"] for chunk in mc.chunk_metrics if not chunk.get("error")]
    assert len(done) == CHUNKS and inside == pytest.approx(sum(done), rel=0.01)
    assert parts["before_process"] > 0
    return parts


class TestWithTwoWorkers:
    """Several runs on one kernel: only one can be loaded at a time."""

    @pytest.fixture(scope="class")
    @classmethod
    def htex(cls, tmp_path_factory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SLURM_JOB_ID", "4711")  # as in a job of a batch system
            with kernel(tmp_path_factory.mktemp("htex"), retries=2) as loaded:
                yield loaded

    def test_a_run(self, htex, tmp_path):
        mc = measure(runner(merging=(2, 2, 4)), Plain(), tmp_path, output_dir=tmp_path, measurement_name="m")
        tries = mc.attempts
        kinds = Counter(row["kind"] for row in tries)
        assert kinds["processing"] == CHUNKS and kinds["other"] == 1 and kinds["reduction"] > 0
        assert {row["outcome"] for row in tries} == {"done"}
        assert {row["worker"] for row in tries if row["kind"] == "processing"} == {
            chunk["worker"] for chunk in mc.chunk_metrics}
        assert all(name.startswith("block-0/") for name in mc.run.series.workers)
        assert mc.metrics["peak_workers"] == 2 and mc.metrics["peak_memory_bytes"] is None
        parts = expect_budget(mc)
        assert parts["reduction"] > 0 and parts["preprocessing"] > 0 and parts["lost"] == 0
        assert mc.run.series.hosts == dict.fromkeys(mc.run.series.workers, os.uname().nodename)
        assert "launch_task" not in vars(htex)
        metrics, _, _ = load_measurement(tmp_path / "m")
        assert metrics["budget"]["parts"] == pytest.approx(parts)
        assert metrics["avg_workers"] == pytest.approx(mc.metrics["avg_workers"])

    def test_a_chunk_that_raises(self, htex, tmp_path):
        mc = measure(runner(retries=0), Raises(tmp_path), tmp_path)
        (raised,) = [row for row in mc.attempts if row["outcome"] == "raised"]
        assert raised["exception"] == "ValueError: a bad event"  # not Coffea's around it
        assert raised["wasted_seconds"] >= 0.2
        assert all(chunk["before_process_s"] > 0 for chunk in mc.chunk_metrics if not chunk.get("error"))
        again = [row for row in mc.attempts if row["key"] == raised["key"]]
        assert [row["outcome"] for row in again] == ["raised", "done"]
        parts = expect_budget(mc)
        assert parts["lost"] == pytest.approx(raised["wasted_seconds"], abs=0.01)
        assert mc.metrics["workers_seen"] == 2
        assert any("lost" in finding["title"] for finding in mc.diagnose())

    def test_a_chunk_that_raises_inside_its_task(self, htex, tmp_path):
        """Coffea tries it again; its record comes with the next output."""
        mc = measure(runner(retries=1), Raises(tmp_path), tmp_path)
        assert {row["outcome"] for row in mc.attempts} == {"done"}
        (raised,) = [chunk for chunk in mc.chunk_metrics if chunk.get("error")]
        assert raised["entry_start"] == 300 and raised["duration"] >= 0.2
        assert expect_budget(mc)["lost"] == pytest.approx(raised["duration"], abs=0.01)
        assert mc.metrics["num_failed_chunks"] == 1 and mc.metrics["total_events_from_chunks"] == EVENTS

    def test_a_run_that_fails(self, htex, tmp_path):
        """The outputs, and the records in them, are lost; the tasks of the pieces are known."""
        run = runner(retries=0)
        with pytest.raises(Exception, match="always bad"), MetricsCollector(run) as mc:
            run(make_file(tmp_path), processor_instance=AlwaysRaises())
        ending = mc.run.ending
        done = [row for row in mc.attempts if row["kind"] == "processing" and row["outcome"] == "done"]
        assert ending["pieces"] == CHUNKS and ending["pieces_done"] == len(done) > 0
        assert {"ValueError: always bad"} == {row["exception"] for row in mc.attempts if row["outcome"] == "raised"}
        failed = [(item.entrystart, item.entrystop) for item in mc.failed_fileset()]
        assert (700, 800) in failed and len(failed) == ending["pieces_failed"]
        assert "submit" not in vars(htex)

    def test_findings(self, htex, tmp_path):
        """The same as in test_engines.py."""
        mc = measure(runner(retries=0), InASection(), tmp_path)
        expect_budget(mc)
        expect_the_section(mc)
        expect_the_job(mc, "Slurm 4711")

    def test_a_worker_that_is_killed(self, htex, tmp_path):
        mc = measure(runner(retries=0), Dies(tmp_path), tmp_path)
        pid, when = (tmp_path / "died").read_text().split()
        (lost,) = [row for row in mc.attempts if row["outcome"] == "lost"]
        assert lost["exception"].startswith("WorkerLost") and lost["thread"] == int(pid)
        assert lost["start"] < float(when) <= lost["stop"] + 0.01
        (gone,) = mc.lost_workers
        assert gone["worker"] == lost["worker"] and gone["running"] == [lost["key"]]
        assert [row["outcome"] for row in mc.attempts if row["key"] == lost["key"]] == ["lost", "done"]
        assert expect_budget(mc)["lost"] == pytest.approx(lost["wasted_seconds"], abs=0.01)

    def test_a_collector_that_does_not_know_of_parsl(self, htex, tmp_path):
        """Processes of Parsl that descend from this one are not taken for workers."""
        run = runner(retries=0)
        with MetricsCollector() as mc:
            assert run(make_file(tmp_path), processor_instance=Plain()) == RESULT
        assert mc.backend == "local" and mc.budget() is None
        assert mc.metrics["avg_workers"] is None and mc.metrics["total_cores"] is None
        (note,) = mc.notes
        assert note.startswith("ParslExecutor: workers, cores and the budget are not known")
        assert len(mc.chunk_metrics) == CHUNKS


def test_a_pool_that_is_killed(tmp_path):
    """Its worker finishes the chunk all the same, which counts once."""
    try:
        with kernel(tmp_path, workers=1, blocks=2, retries=2):
            mc = measure(runner(retries=0), LosesItsPool(tmp_path), tmp_path)
    finally:  # what the pool had started, and cannot end any more
        with suppress(FileNotFoundError):
            for pid in (tmp_path / "children").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGTERM)
    _, when = (tmp_path / "died").read_text().split()
    assert len(mc.chunk_metrics) == CHUNKS and mc.metrics["total_events_from_chunks"] == EVENTS
    (lost,) = [row for row in mc.attempts if row["outcome"] == "lost"]
    assert lost["exception"].startswith("ManagerLost") and lost["start"] < float(when) < lost["stop"] < lost["ended"]
    (gone,) = mc.lost_workers
    assert gone["worker"] == lost["worker"]
    assert mc.metrics["workers_seen"] == 2
    assert expect_budget(mc)["lost"] == pytest.approx(lost["stop"] - lost["start"], abs=0.01)


def test_monitoring(tmp_path):
    """It knows the CPU time of the workers."""
    with kernel(tmp_path, monitoring=True):
        mc = measure(runner(retries=0), Plain(), tmp_path)
    expect_budget(mc)
    used = mc._collected.counters["worker", "process-cpu", "seconds"]
    chunks = sum(chunk["cpu_user_s"] + chunk["cpu_system_s"] for chunk in mc.chunk_metrics)
    assert chunks < used < mc.budget()["available_core_seconds"] + 5  # workers import before they join


def test_threads(tmp_path):
    with kernel(tmp_path, threads=2, retries=2) as loaded:
        mc = measure(runner(retries=0, merging=(2, 2, 4)), Raises(tmp_path), tmp_path, worker_tracking_interval=0.05)
        assert "submit" not in vars(loaded.executors["jobs"].executor)
    own = f"{os.uname().nodename}:{os.getpid()}"
    assert mc.run.series.workers == [own]
    assert (mc.metrics["peak_workers"], mc.metrics["total_cores"]) == (1, pytest.approx(2))
    assert mc.metrics["peak_memory_bytes"] > 1e6
    assert Counter(row["outcome"] for row in mc.attempts if row["kind"] == "processing") == {"done": 8, "raised": 1}
    assert {row["worker"] for row in mc.attempts} == {own}
    parts = expect_budget_of_threads(mc)
    assert parts["lost"] >= 0.2


def expect_budget_of_threads(mc):
    """The record of the try that raised arrives too: it is no part of what was done."""
    parts = mc.budget()["parts"]
    assert sum(parts.values()) == pytest.approx(mc.budget()["available_core_seconds"], rel=0.001)
    inside = parts["read"] + parts["compute_cpu"] + parts["compute_offcpu"]
    done = sum(chunk["duration"] for chunk in mc.chunk_metrics if not chunk.get("error"))
    assert inside == pytest.approx(done, rel=0.01)
    return parts


def test_without_a_kernel(tmp_path):
    """Coffea says so, and so do we."""
    run = runner()
    with pytest.raises(Exception, match="kernel|Kernel|config"), MetricsCollector(run) as mc:
        run(make_file(tmp_path), processor_instance=Plain())
    assert any("parsl.load(config)" in note for note in mc.notes)
    assert mc.budget() is None and mc.metrics["avg_workers"] is None
