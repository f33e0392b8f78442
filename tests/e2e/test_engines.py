"""One analysis on every engine that is there: what holds on all of them."""

from __future__ import annotations

import contextlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from coffea import processor
from coffea.nanoevents import BaseSchema
from parsl_parts import CHUNKS, EVENTS, InASection, expect_the_job, expect_the_section, kernel, make_file

from roastcoffea import MetricsCollector

# The same on processes of Parsl is in test_parsl.py, on a kernel that is there; TaskVine is in test_taskvine.py, in a process
# of its own.
TELL_TRIES = ("dask", "parsl-threads")


@contextlib.contextmanager
def executor_of(engine, request, folder):
    """An executor with two workers, or two threads in one."""
    settings = {"status": False, "retries": 0}
    if engine == "iterative":
        yield processor.IterativeExecutor(**settings)
    elif engine in ("threads", "processes"):
        pool = ThreadPoolExecutor if engine == "threads" else ProcessPoolExecutor
        yield processor.FuturesExecutor(pool=pool, workers=2, **settings)
    elif engine == "dask":
        pytest.importorskip("distributed")
        yield processor.DaskExecutor(client=request.getfixturevalue("client"), **settings)
    else:
        pytest.importorskip("parsl")
        with kernel(folder, threads=2):
            yield processor.ParslExecutor(**settings)


@pytest.mark.parametrize("engine", ["iterative", "threads", "processes", *TELL_TRIES])
def test_budget_tries_and_findings(engine, request, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")  # as on a machine of a batch system
    with executor_of(engine, request, tmp_path) as executor:
        run = processor.Runner(executor, schema=BaseSchema, chunksize=EVENTS // CHUNKS)
        run(make_file(tmp_path), processor_instance=InASection())  # workers have imported everything
        with MetricsCollector(run, worker_tracking_interval=0.1) as mc:
            output = run(make_file(tmp_path), processor_instance=InASection())
    assert output == {"n": EVENTS, "sum": EVENTS * (EVENTS - 1) / 2}
    assert len(mc.chunk_metrics) == CHUNKS and mc.metrics["outcome"] == "done"
    # the budget: all that was available, and all of process()
    budget = mc.budget()
    assert sum(budget["parts"].values()) == pytest.approx(budget["available_core_seconds"], rel=0.001)
    inside = sum(budget["parts"][part] for part in ("read", "compute_cpu", "compute_offcpu"))
    assert inside == pytest.approx(sum(chunk["duration"] for chunk in mc.chunk_metrics), rel=0.02)
    assert mc.metrics["peak_workers"] in (1, 2) and mc.metrics["total_cores"] > 0
    # tries, where the engine tells them
    tries = [row for row in mc.attempts if row["kind"] == "processing"]
    assert bool(tries) == (engine in TELL_TRIES)
    if tries:
        assert len(tries) == CHUNKS and {row["outcome"] for row in tries} == {"done"}
        assert mc.lost_workers == [] and budget["parts"]["lost"] == 0
    expect_the_section(mc)
    if engine == "processes":  # the others were there before
        expect_the_job(mc, "Slurm 4711")
