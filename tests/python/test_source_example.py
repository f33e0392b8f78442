"""The source of the page on backends, as it stands there, with a log that a run writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from stand_ins import ExecutorBase

from roastcoffea import MetricsCollector, open_run
from roastcoffea._core import now
from roastcoffea.aggregation.backends import _PARSERS
from roastcoffea.backends.registry import _REGISTERED

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "backends.md"


class GridExecutor(ExecutorBase):
    def __init__(self, log):
        self.log = log


class Analysis:
    pass


@pytest.fixture
def grid(tmp_path):
    """The source is registered; an executor of a grid whose log holds another run."""
    (code,) = [block for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
               if "class GridSource" in block]
    assert len(code.splitlines()) < 100
    before = dict(_REGISTERED), dict(_PARSERS)
    exec(code, {})
    log = tmp_path / "grid.log"
    log.write_text("1000.0 worker old joined 64\n")
    yield GridExecutor(log)
    for table, kept in zip((_REGISTERED, _PARSERS), before):
        table.clear()
        table.update(kept)


def write(executor, *events):
    """Events of the last ten seconds: (seconds after their beginning, text)."""
    start = now() - 10
    with open(executor.log, "a") as log:
        log.writelines(f"{start + seconds:.6f} {text}\n" for seconds, text in events)


RUN = [
    (0, "worker node-a joined 2"),
    (0, "worker node-b joined 1"),
    (0, "task 1 sent processing"), (0, "task 1 started node-a"), (4, "task 1 ended done 3.5"),
    (0, "task 2 sent processing"), (1, "task 2 started node-a"), (3, "task 2 ended raised OSError"),
    (3, "task 2 sent processing"), (3.5, "task 2 started node-a"), (6, "task 2 ended done 1.5"),
    (0, "task 3 sent processing"), (1, "task 3 started node-b"),
    (5, "worker node-b left"),
    (6, "task 4 sent reduction"), (6.5, "task 4 started node-a"), (7, "task 4 ended done 0.5"),
    (8, "no sense"),
    (9, "worker node-a left"),
]


def test_the_example(grid, tmp_path):
    with MetricsCollector(grid, processor_instance=Analysis(), output_dir=tmp_path / "out") as mc:
        write(grid, *RUN)
        mc.t_start = mc.t_start - 10  # the log is written at once
    assert mc.backend == "grid"
    assert mc.run.meta["engine"] == "grid 1.0"
    tries = [(one["key"], one["kind"], one["worker"], one["outcome"], one["exception"]) for one in mc.attempts]
    assert sorted(tries, key=str) == [
        ("1", "processing", "node-a", "done", None),
        ("2", "processing", "node-a", "done", None),
        ("2", "processing", "node-a", "raised", "OSError"),
        ("3", "processing", "node-b", "lost", None),
        ("4", "reduction", "node-a", "done", None),
    ]
    (lost,) = [one for one in mc.lost_workers if not one["expected"]]
    assert lost["worker"] == "node-b" and lost["running"] == ["3"]
    budget = mc.budget()
    assert budget["available_core_seconds"] == pytest.approx(2 * 9 + 5, abs=0.1)
    assert sum(budget["parts"].values()) == pytest.approx(budget["available_core_seconds"])
    assert budget["parts"]["lost"] == pytest.approx(2 + 4, abs=0.1)
    assert budget["parts"]["reduction"] == pytest.approx(0.5, abs=0.1)
    assert mc.metrics["processor_cpu_time_seconds"] == pytest.approx(5.0)
    assert mc.metrics["overhead_cpu_time_seconds"] == pytest.approx(0.5)
    assert mc.metrics.get("peak_memory_bytes") is None
    told = ["how much memory" in note for note in mc.notes], ["cannot be read" in note for note in mc.notes]
    assert any(told[0]) and sum(told[1]) == 1 and len(mc.notes) == 2
    saved = open_run(mc.measurement_path)
    assert len(saved.attempts) == 5 and saved.budget()["available_core_seconds"] == budget["available_core_seconds"]


def test_a_log_that_is_gone_is_a_note(grid):
    with MetricsCollector(grid) as mc:
        grid.log.unlink()
    assert any("FileNotFoundError" in note for note in mc.notes)
    assert mc.metrics["wall_time"] >= 0 and mc.budget() is None
