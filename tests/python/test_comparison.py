"""Comparisons of made runs; the intervals are checked against the tests of scipy."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from leaks import assert_nothing_is_kept

import roastcoffea
from roastcoffea import _core
from roastcoffea._core import Run
from roastcoffea.export.measurements import save_measurement

ALPHA = 0.05
NEAR = 1e-9


def run_of(durations, events=1000, sections=None, **more):
    """One chunk each, of one file."""
    chunks = [
        {
            "t_start": float(i), "t_end": i + duration, "duration": duration, "num_events": events, "dataset": "ttbar",
            "file": "a.root", "entry_start": i * events, "entry_stop": (i + 1) * events,
            "sections": [{"section_name": "selection", "time_delta": sections[i]}] if sections is not None else [],
        }
        for i, duration in enumerate(durations)
    ]
    return Run(chunks=chunks, t_start=0.0, t_end=100.0, **more)


def figure(comparison, name):
    return next(one for one in comparison.figures if one["name"] == name)


def logs(values):
    # The engine keeps nanoseconds, and seconds as floats of 32 bits.
    return np.log(np.array(values, np.float32).astype(float))


@pytest.mark.parametrize("count", [6, 20, 50, 51, 300])
def test_pairs_agree_with_wilcoxon(count):
    rng = np.random.default_rng(count)
    a, b = rng.lognormal(0, 0.3, count), rng.lognormal(0.05, 0.3, count)
    cost = roastcoffea.compare(run_of(a), run_of(b)).cost
    differences = logs(b) - logs(a)

    def p_value(ratio):
        return scipy.stats.wilcoxon(
            differences - math.log(ratio), method="exact" if count <= 50 else "asymptotic", correction=True,
        ).pvalue

    # Inside of the interval the test accepts the ratio, outside it does not.
    assert p_value(cost["low"] * (1 + 1e-6)) > ALPHA >= p_value(cost["low"] * (1 - 1e-6))
    assert p_value(cost["high"] * (1 - 1e-6)) > ALPHA >= p_value(cost["high"] * (1 + 1e-6))


@pytest.mark.parametrize(("first", "second"), [(4, 4), (12, 20), (30, 45)])
def test_groups_agree_with_mann_whitney(first, second):
    rng = np.random.default_rng(first)
    a, b = rng.lognormal(0, 0.3, first), rng.lognormal(0.3, 0.3, second)
    comparison = roastcoffea.compare(run_of(a, 1000), run_of(b, 2000))
    assert not comparison.paired
    cost = comparison.cost
    per_event = logs(a) - math.log(1000), logs(b) - math.log(2000)
    method = "exact" if max(first, second) <= 20 else "asymptotic"

    def p_value(ratio):
        return scipy.stats.mannwhitneyu(per_event[1] - math.log(ratio), per_event[0], method=method).pvalue

    assert p_value(cost["low"] * (1 + 1e-6)) > ALPHA >= p_value(cost["low"] * (1 - 1e-6))
    assert p_value(cost["high"] * (1 - 1e-6)) > ALPHA >= p_value(cost["high"] * (1 + 1e-6))


def test_several_runs_agree_with_welch():
    walls = [10.0, 11.0, 10.5], [12.0, 12.5, 13.5]
    sides = [[Run(t_start=0.0, t_end=wall) for wall in side] for side in walls]
    found = figure(roastcoffea.compare(*sides), "wall_time")
    expected = scipy.stats.ttest_ind(
        np.log(walls[1]), np.log(walls[0]), equal_var=False
    ).confidence_interval()
    assert found["low"] == pytest.approx(math.exp(expected.low), rel=NEAR)
    assert found["high"] == pytest.approx(math.exp(expected.high), rel=NEAR)
    assert found["verdict"] == "more"


def test_what_can_be_compared(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    run = run_of(durations)
    path = save_measurement(run.metrics(), 0.0, 100.0, tmp_path, "saved")
    saved = roastcoffea.open_run(path)
    for other in (run, path, str(path), saved, [path, saved]):
        assert "chunk" in roastcoffea.compare(run, other).headline
    assert isinstance(saved.compare(path), roastcoffea.Comparison)
    assert len(roastcoffea.compare(run, path, saved)) == 2
    with pytest.raises(TypeError, match="B: a measurement"):
        roastcoffea.compare(run, 3)
    with pytest.raises(ValueError, match="A: there is no run"):
        roastcoffea.compare([], run)
    with pytest.raises(FileNotFoundError):
        roastcoffea.compare(run, tmp_path / "nothing")


def test_gate():
    rng = np.random.default_rng(5)
    a = rng.lognormal(0, 0.1, 40)
    comparison = roastcoffea.compare(run_of(a, sections=a / 2), run_of(a * 1.2, sections=a / 2 * 1.2))
    assert comparison.gate("section:selection>10%") == (
        True, "section:selection changed by +20.0% (+20.0% to +20.0%); the limit is +10.0%"
    )
    assert not comparison.gate("section:selection>30%")[0]
    assert not comparison.gate("wall_time>-1%")[0]
    assert comparison.gate("wall_time>-1%", strict=True)[0]
    with pytest.raises(ValueError, match="is no condition"):
        comparison.gate("wall_time")


def test_text_is_that_of_the_program(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    paths = [
        save_measurement(run_of(durations[:n]).metrics(), 0.0, 100.0, tmp_path, f"run{n}") for n in (10, 20)
    ]
    comparison = roastcoffea.compare(*paths)
    program = Path(sys.executable).with_name("roast")
    printed = subprocess.run([program, "compare", *paths], capture_output=True, text=True, check=True,
                             env={"COLUMNS": "80"})
    assert str(comparison) == printed.stdout
    told = subprocess.run([program, "compare", "--json", *paths], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["headline"] == comparison.headline
    assert repr(comparison) == f"<Comparison: {comparison.headline}>"
    assert [table["id"] for table in comparison.tables] == ["conditions", "causes", "figures", "budget", "findings"]


def test_page_and_notebook(tmp_path):
    durations = [1.0 + i / 100 for i in range(20)]
    path = save_measurement(run_of(durations).metrics(), 0.0, 100.0, tmp_path, "<b>odd")
    comparison = roastcoffea.compare(path, run_of(durations[:15]))
    page = comparison.save_report(tmp_path / "folder" / "page.html").read_text(encoding="utf-8")
    for text in (page, comparison._repr_html_()):
        assert comparison.headline.split(":")[0] in text and "Wall Time" in text
        assert "<b>odd" not in text
    assert "&lt;b&gt;odd" in page and "Content-Security-Policy" in page
    assert "http" not in page.replace("http-equiv", "")


# ---- memory that leaks, or runs short ----


def use():
    durations = [1.0 + i / 100 for i in range(8)]
    run = run_of(durations, sections=durations)
    compared = _core.Comparison([("a", run)], [("b", run_of(durations, 2000)), ("c", run)])
    return compared.draw(100, True), compared.json(), compared.gate("process>5%"), compared.tables, compared.headline


def test_nothing_leaks():
    assert_nothing_is_kept(use, 50)


def test_every_failing_allocation():
    """Memory that runs short anywhere is a MemoryError, and the next try works."""
    run = run_of([1.0, 2.0], sections=[0.5, 0.6])
    run.metrics(), run.diagnose()
    use()
    failures = 0
    for after in range(10_000):
        _core._fail_allocations(after)
        try:
            _core.Comparison([("a", run)], [("b", run)]).json()
            break
        except MemoryError:
            failures += 1
        finally:
            _core._fail_allocations(None)
    assert failures > 10


@pytest.mark.parametrize("side", [None, 3, [3], [("a",)], [("a", 3)], [(3, Run())], ["ab"]])
def test_a_side_is_a_list_of_runs(side):
    with pytest.raises(TypeError):
        _core.Comparison([("a", Run())], side)
    with pytest.raises(TypeError):
        _core.Comparison(side, [("a", Run())])


def test_a_side_that_changes_while_it_is_read():
    """The name of a run may be a str of another class, and the list may be changed by another thread: a copy is read."""

    class Names(list):
        def __iter__(self):
            yield from list.__iter__(self)
            self.clear()

    side = Names([("a", Run())])
    assert _core.Comparison(side, [("b", Run())]).headline
