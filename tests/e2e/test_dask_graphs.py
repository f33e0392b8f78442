"""Graphs that no Runner made, and the table of tasks of every Dask run."""

from __future__ import annotations

from itertools import pairwise

import awkward as ak
import dask
import pytest
from coffea import processor
from coffea.nanoevents import NanoAODSchema

from roastcoffea import MetricsCollector, track_metrics
from roastcoffea._core import Summary


def table_of(mc, name):
    """{first cell: numbers of the row}, and the texts of the row."""
    (table,) = (table for table in Summary(mc.run).tables if table["id"] == name)
    return {row[0]: dict(zip(table["columns"][1:], numbers[1:]))
            for row, numbers in zip(table["rows"], table["numbers"], strict=True)}


def quality_of(mc):
    (table,) = (table for table in Summary(mc.run).tables if table["id"] == "quality")
    return dict(table["rows"])


def one_after_the_other(attempts):
    """Whether no two tries of a worker overlap."""
    spans = {}
    for attempt in attempts:
        spans.setdefault(attempt["worker"], []).append((attempt["start"], attempt["stop"]))
    return all(before[1] <= after[0] for of in spans.values() for before, after in pairwise(sorted(of)))


def double(x):
    return 2 * x


def total_of(values):
    return sum(values)


def test_a_plain_graph(client, capsys):
    with MetricsCollector(client) as mc:
        doubled = [dask.delayed(double)(i) for i in range(5)]
        assert dask.compute(dask.delayed(total_of)(doubled)) == (20,)
    tasks = table_of(mc, "tasks")
    assert sum(row["Tries"] for row in tasks.values()) == len(mc.attempts)
    assert tasks["total_of"]["Tries"] == 1
    assert tasks["total_of"]["Failed"] == 0
    assert tasks["total_of"]["Time"] > 0
    assert tasks["total_of"]["Results"] > 0
    quality = quality_of(mc)
    assert "dask.compute()" in quality["No Runner"]
    assert not {"No Chunks", "No Report of Coffea"} & set(quality)
    mc.print_summary(full=True)
    assert "decorated" not in capsys.readouterr().out


def test_dask_awkward(client, fileset, capsys):
    pytest.importorskip("dask_awkward")
    from coffea.dataset_tools import apply_to_fileset, preprocess

    def jets(events):
        return {"jets": ak.sum(ak.num(events.Jet.pt, axis=1))}

    # dask-awkward 2026.2 cannot fuse the layers of a graph of Dask 2026.8.
    with dask.config.set({"awkward.optimization.which": ["columns"]}), MetricsCollector(client) as mc:
        ready, _ = preprocess(fileset, step_size=500)
        (output,) = dask.compute(apply_to_fileset(jets, ready, schemaclass=NanoAODSchema))
    assert all(found["jets"] > 0 for found in output.values())
    assert sum(row["Tries"] for row in table_of(mc, "tasks").values()) == len(mc.attempts) > 0
    assert "dask-awkward" in quality_of(mc)["No Runner"]
    mc.print_summary(full=True)
    assert "decorated" not in capsys.readouterr().out
    from roastcoffea.visualization.binning import tasks
    from roastcoffea.visualization.plots import plot_chunk_gantt

    bars = tasks(mc.run)
    assert len(bars.chunk) == len(mc.attempts) and set(bars.chunk) == {-1}
    _, axes = plot_chunk_gantt(mc.run)
    assert sum(len(drawn.get_paths()) for drawn in axes.collections) >= len(mc.attempts)


class Counts(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def test_tasks_of_a_runner(client, fileset, tmp_path):
    """The table has every try once; the chart of the report has all tasks, with the chunks inside of theirs."""
    runner = processor.Runner(executor=processor.DaskExecutor(client=client, status=False), schema=NanoAODSchema,
                              chunksize=400, savemetrics=True)
    with MetricsCollector(client) as mc:
        runner(fileset, Counts())
    tasks = table_of(mc, "tasks")
    tries = {}
    for attempt in mc.attempts:
        tries.setdefault(attempt["kind"], []).append(attempt)
    assert tasks["Counts"]["Tries"] == len(tries["processing"]) == len(mc.chunk_metrics)
    assert sum(row["Tries"] for row in tasks.values()) == len(mc.attempts)
    assert tasks["Counts"]["Time"] == pytest.approx(
        sum(attempt["stop"] - attempt["start"] for attempt in tries["processing"]), rel=1e-3)
    assert 0 < tasks["Counts"]["CPU"]
    assert "No Runner" not in quality_of(mc)

    from roastcoffea.visualization.binning import tasks as task_bars

    bars = task_bars(mc.run)
    assert len(bars.chunk) == len(mc.attempts)
    assert sorted(bars.chunk[bars.chunk >= 0]) == list(range(len(mc.chunk_metrics)))
    assert (bars.chunk < 0).sum() == len(mc.attempts) - len(mc.chunk_metrics) > 0
    for place, number in zip(range(len(bars.chunk)), bars.chunk):
        if number < 0:
            continue
        chunk = mc.chunk_metrics[int(number)]
        left = bars.bars.start + bars.bars.left[place]
        assert left <= chunk["t_start"]
        assert left + bars.bars.width[place] >= chunk["t_end"] - 1e-3
    # Two workers of one thread each: a thread runs one task at a time, unless Dask has corrected its clock in between.
    if one_after_the_other(mc.attempts):
        assert bars.bars.first_row.tolist() == list(range(len(bars.workers) + 1))
    mc.save_report(tmp_path / "report.html")
    assert 'id="table-task"' in (tmp_path / "report.html").read_text()
